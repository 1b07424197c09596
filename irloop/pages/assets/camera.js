// Zooms and pans the picture, and chooses how much of it is written.

/** Below these sizes only titles, and then only the names of groups, can be read. */
const TITLES = 0.55;
const NAMES = 0.3;

class Camera {
  constructor(frame) {
    this.frame = frame;
    this.world = null;
    this.size = { width: 1, height: 1 };
    Object.assign(this, { x: 0, y: 0, zoom: 1 });
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.down(event));
  }

  /** Show a drawing of a scene. */
  show(world, scene) {
    this.world = world;
    this.size = scene.root;
    /** The boxes without texts. */
    this.blank = new Map(
      [...world.querySelectorAll("[data-id]")].map((element) => [
        element,
        scene.boxes.get(element.dataset.id),
      ]),
    );
    this.names = [...world.querySelectorAll("[data-name]")].map((text) => {
      const { width, height, parent, isOpen } = scene.boxes.get(text.dataset.name);
      const { length } = text.textContent;
      return { text, width, height, length, isOpen, isOutermost: parent === scene.root };
    });
    this.apply();
  }

  apply() {
    if (!this.world) return;
    this.world.setAttribute("transform", `translate(${this.x},${this.y}) scale(${this.zoom})`);
    const level = this.zoom < NAMES ? "names" : this.zoom < TITLES ? "titles" : "texts";
    if (this.level !== level) this.frame.dataset.level = level;
    this.level = level;
    this.enlarge();
    if (this.level !== "names") this.write();
  }

  /** Write the texts of the boxes in sight and around: those of all boxes take long to draw. */
  write() {
    const { width, height } = this.frame.getBoundingClientRect();
    const [left, top] = [-(this.x + width / 2) / this.zoom, -(this.y + height) / this.zoom];
    const [right, bottom] = [left + (2 * width) / this.zoom, top + (3 * height) / this.zoom];
    const near = [...this.blank].filter(
      ([, { x, y, width: wide, height: high }]) =>
        x < right && x + wide > left && y < bottom && y + high > top,
    );
    this.writeBoxes(near);
  }

  writeBoxes(boxes = [...this.blank]) {
    for (const [element, box] of boxes) {
      writeTexts(element, box);
      this.blank.delete(element);
    }
    if (boxes.length) this.frame.dispatchEvent(new CustomEvent("written"));
  }

  /** Names of groups keep a readable size while the picture shrinks, as far as they fit. */
  enlarge() {
    const size = this.zoom < TITLES ? Math.round(Math.log2(13 / this.zoom) * 6) : 0;
    if (this.enlarged === size && this.enlargedWorld === this.world) return;
    this.enlarged = size;
    this.enlargedWorld = this.world;
    for (const { text, width, height, isOpen, isOutermost, length } of this.names) {
      const fits = ((isOutermost ? 2.6 : 1.6) * width) / Math.max(4, length);
      const most = Math.min(2 ** (size / 6), fits, height * (isOutermost ? 0.85 : 0.5));
      // Names in small boxes would cover each other.
      const hasRoom = isOutermost || height * this.zoom > 44;
      const isDue = isOpen || this.zoom < NAMES;
      const isShown = size && isDue && hasRoom && most * this.zoom > 6;
      text.style.display = isShown ? "" : "none";
      text.style.fontSize = `${most}px`;
      text.setAttribute("dy", most);
    }
  }

  /** Show the top of the picture, large enough to be read. */
  fit() {
    const { width, height } = this.frame.getBoundingClientRect();
    const whole = Math.min(width / this.size.width, height / this.size.height);
    // A large picture is shown from its top, so that its text can be read.
    this.zoom = Math.min(1, Math.max(0.75, whole));
    this.x = (width - this.size.width * this.zoom) / 2;
    this.y = Math.max(0, (height - this.size.height * this.zoom) / 2);
    const [start] = this.size.children;
    if (this.size.sideways && start) {
      this.x = Math.max(0, this.x);
      const isHigh = this.size.height * this.zoom > height;
      if (isHigh) this.y = height / 2 - (start.y + start.height / 2) * this.zoom;
    } else if (this.x < 0 && start) {
      const top = Math.min(...this.size.children.slice(0, 100).map((box) => box.y));
      const first = this.size.children.find((box) => box.y < top + 40);
      this.x = width / 2 - (first.x + Math.min(first.width, width) / 2) * this.zoom;
    }
    this.apply();
  }

  /** Show everything, however small. */
  whole() {
    const { width, height } = this.frame.getBoundingClientRect();
    this.zoom = Math.min(1, width / this.size.width, height / this.size.height);
    this.x = (width - this.size.width * this.zoom) / 2;
    this.y = Math.max(0, (height - this.size.height * this.zoom) / 2);
    this.apply();
  }

  centre(place) {
    const { width, height } = this.frame.getBoundingClientRect();
    this.zoom = Math.max(this.zoom, 0.8);
    this.x = width / 2 - (place.x + place.width / 2) * this.zoom;
    this.y =
      height / 2 - (place.y + Math.min(place.height, height / this.zoom / 2) / 2) * this.zoom;
    this.apply();
  }

  /** Move no more than needed to have a box in sight. */
  reach(place) {
    const { width, height } = this.frame.getBoundingClientRect();
    const [left, top] = [place.x * this.zoom + this.x, place.y * this.zoom + this.y];
    const right = left + place.width * this.zoom;
    const isInside = left >= 0 && right <= width && top >= 0;
    if (this.zoom < TITLES || !isInside || top + place.height * this.zoom > height) {
      this.centre(place);
    }
  }

  /** Keep the top of an opened box in sight, and as much of its width as fits. */
  hold(place) {
    const { width, height } = this.frame.getBoundingClientRect();
    const wide = place.width * this.zoom;
    const left = place.x * this.zoom + this.x;
    const top = place.y * this.zoom + this.y;
    if (wide > width - 40) this.x += (width - wide) / 2 - left;
    else this.x += Math.max(20 - left, 0) + Math.min(width - 20 - left - wide, 0);
    this.y += Math.max(20 - top, 0) + Math.min(height * 0.5 - top, 0);
    this.apply();
  }

  scale(factor, at) {
    const { left, top, width, height } = this.frame.getBoundingClientRect();
    const x = at ? at.clientX - left : width / 2;
    const y = at ? at.clientY - top : height / 2;
    const zoom = Math.min(3, Math.max(0.01, this.zoom * factor));
    this.x = x - ((x - this.x) * zoom) / this.zoom;
    this.y = y - ((y - this.y) * zoom) / this.zoom;
    this.zoom = zoom;
    this.apply();
  }

  wheel(event) {
    // In a report the wheel scrolls the page until the picture is clicked.
    const scrolls = document.getElementById("page").className === "report";
    if (scrolls && !event.ctrlKey && document.activeElement !== this.frame) return;
    event.preventDefault();
    this.scale(Math.exp(-event.deltaY * (event.deltaMode ? 0.03 : 0.0015)), event);
  }

  down(event) {
    if (event.button !== 0) return;
    this.frame.focus({ preventScroll: true });
    let { clientX: x, clientY: y } = event;
    let moved = 0;
    const move = (next) => {
      moved += Math.abs(next.clientX - x) + Math.abs(next.clientY - y);
      this.x += next.clientX - x;
      this.y += next.clientY - y;
      ({ clientX: x, clientY: y } = next);
      if (moved > 3) this.frame.classList.add("moving");
      this.apply();
    };
    const up = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", up);
      // The click that follows ends the movement and selects nothing.
      setTimeout(() => this.frame.classList.remove("moving"));
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", up);
  }

  key(event) {
    const moves = {
      ArrowLeft: [60, 0],
      ArrowRight: [-60, 0],
      ArrowUp: [0, 60],
      ArrowDown: [0, -60],
    };
    if (event.key === "+" || event.key === "=") this.scale(1.25);
    else if (event.key === "-") this.scale(0.8);
    else if (event.key === "0") this.whole();
    else if (moves[event.key]) {
      this.x += moves[event.key][0];
      this.y += moves[event.key][1];
      this.apply();
    } else return;
    event.preventDefault();
  }
}
