// Zooms and pans the picture.

class Camera {
  constructor(frame) {
    this.frame = frame;
    this.world = null;
    this.size = { width: 1, height: 1 };
    Object.assign(this, { x: 0, y: 0, zoom: 1 });
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.down(event));
    frame.addEventListener("keydown", (event) => this.key(event));
  }

  show(world, size) {
    this.world = world;
    this.size = size;
    this.apply();
  }

  apply() {
    this.world?.setAttribute("transform", `translate(${this.x},${this.y}) scale(${this.zoom})`);
  }

  /** Show the top of the picture, large enough to be read. */
  fit() {
    const { width, height } = this.frame.getBoundingClientRect();
    const whole = Math.min(width / this.size.width, height / this.size.height);
    // A large picture is shown from its top, so that its text can be read.
    this.zoom = Math.min(1, Math.max(0.85, whole));
    this.x = (width - this.size.width * this.zoom) / 2;
    this.y = Math.max(0, (height - this.size.height * this.zoom) / 2);
    this.apply();
  }

  /** Show everything, however small. */
  whole() {
    const { width, height } = this.frame.getBoundingClientRect();
    this.zoom = Math.min(1, Math.min(width / this.size.width, height / this.size.height));
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

  scale(factor, at) {
    const { left, top, width, height } = this.frame.getBoundingClientRect();
    const x = at ? at.clientX - left : width / 2;
    const y = at ? at.clientY - top : height / 2;
    const zoom = Math.min(3, Math.max(0.02, this.zoom * factor));
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
