// One model as a picture: what is open, what is selected, and the keys.

const KEYS = [
  ["↑ ↓", "to an operation that is read, or that reads"],
  ["← →", "to the box beside"],
  ["Enter", "open or close"],
  ["Backspace", "to the box around"],
  ["Shift + arrows", "move the picture"],
  ["+ −", "larger, smaller"],
  ["0", "everything"],
  ["1", "readable size"],
  ["A, C", "open all, close all"],
  ["/", "search"],
  ["Escape", "the whole model"],
];

/** The keys that mean the same in a picture from left to right. */
const TURNED = {
  ArrowUp: "ArrowLeft",
  ArrowLeft: "ArrowUp",
  ArrowDown: "ArrowRight",
  ArrowRight: "ArrowDown",
};

class Picture {
  constructor(page) {
    this.page = page;
    this.selected = null;
    this.canvas = svg("svg", {
      class: "canvas",
      tabindex: 0,
      role: "application",
      "aria-label": "graph",
    });
    this.camera = new Camera(this.canvas);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("written", () => this.showValues());
    this.canvas.addEventListener("click", () => this.select(null));
    this.actions = { select: (id) => this.select(id), toggle: (key) => this.toggle(key) };
    this.element = html("div", { class: "stage" }, this.canvas);
  }

  use(model) {
    this.model = model;
    this.values = new Values(model);
    this.selected = null;
    this.draw();
    this.camera.fit();
  }

  /** Draw what is open; the box `keep` stays where it is on the screen. */
  draw(keep = null) {
    const before = keep && this.scene?.boxes.get(keep);
    this.scene = new Scene(this.model, this.values.any, this.page.look);
    const world = drawing(this.scene, this.actions);
    this.canvas.replaceChildren(world);
    this.camera.show(world, this.scene);
    const after = before && this.scene.boxes.get(keep);
    if (after) {
      this.camera.x += (before.x - after.x) * this.camera.zoom;
      this.camera.y += (before.y - after.y) * this.camera.zoom;
      this.camera.hold(after);
    }
    this.page.drawn(this);
    this.highlight();
  }

  toggle(key) {
    if (!this.model.open.delete(key)) this.model.open.add(key);
    this.draw(key.replace("*", ""));
  }

  /** Draw in another manner; what is selected stays in sight. */
  redraw() {
    const kept = this.selected;
    this.draw();
    if (kept) this.show(kept);
    else this.camera.fit();
  }

  openAll() {
    this.model.openAll();
    this.draw();
    this.camera.whole();
  }

  closeAll() {
    this.model.open.clear();
    this.draw();
    this.camera.fit();
  }

  /** Open what hides a node, select it, and bring it into sight. */
  reveal(number) {
    if (this.model.reveal(number)) this.draw();
    this.select(`n${number}`);
    this.show(`n${number}`);
  }

  show(id) {
    const box = this.scene.boxes.get(id);
    if (box) this.camera.centre(box);
  }

  /** Select a box; null selects the whole model. */
  select(id, isEcho = false) {
    if (this.canvas.classList.contains("moving")) return;
    this.selected = this.scene.boxes.has(id) ? id : null;
    this.highlight();
    this.page.selected(this, isEcho);
  }

  get selectedBox() {
    return this.scene.boxes.get(this.selected);
  }

  highlight() {
    for (const old of this.canvas.querySelectorAll(".selected, .lit")) {
      old.classList.remove("selected", "lit");
    }
    const box = this.selectedBox;
    if (!box) return;
    this.canvas.querySelector(`[data-id="${box.id}"]`)?.classList.add("selected");
    if (box.number === undefined) return;
    for (const wire of this.canvas.querySelectorAll("[data-ends]")) {
      const isEnd = wire.dataset.ends.split(" ").includes(String(box.number));
      if (isEnd) wire.classList.add("lit");
    }
  }

  showValues() {
    if (!this.values.any) return;
    for (const text of this.canvas.querySelectorAll(".value")) {
      text.textContent = this.values.line(Number(text.dataset.value));
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      ArrowUp: () => this.step(([from, to]) => to === this.selectedBox && from),
      ArrowDown: () => this.step(([from, to]) => from === this.selectedBox && to),
      ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1),
      Enter: () => this.selectedBox?.key && this.toggle(this.selectedBox.key),
      Backspace: () => this.go(this.selectedBox?.parent),
      Escape: () => this.select(null),
      a: () => this.openAll(),
      c: () => this.closeAll(),
      1: () => this.camera.fit(),
    };
    const key = this.scene.sideways ? (TURNED[event.key] ?? event.key) : event.key;
    const act = event.shiftKey && event.key.startsWith("Arrow") ? null : acts[key];
    if (!act) return this.camera.key(event);
    event.preventDefault();
    return act();
  }

  /** Select the other end of the first wire that fits. */
  step(end) {
    if (!this.selectedBox) return this.go(this.scene.root.children[0]);
    for (const link of this.scene.links) {
      const found = end(link);
      if (found) return this.go(found);
    }
    return undefined;
  }

  beside(direction) {
    const box = this.selectedBox;
    if (!box) return;
    const { sideways } = this.scene;
    const across = (each) => (sideways ? each.y + each.height / 2 : each.x + each.width / 2);
    const along = (each) => (sideways ? each.x : each.y);
    const near = box.parent.children
      .filter((other) => (across(other) - across(box)) * direction > 1)
      .map((other) => [
        Math.abs(across(other) - across(box)) + 3 * Math.abs(along(other) - along(box)),
        other,
      ])
      .sort((a, b) => a[0] - b[0]);
    if (near.length) this.go(near[0][1]);
  }

  go(box) {
    if (!box || box.kind === "root") return this.select(null);
    this.select(box.id);
    return this.camera.reach(box);
  }
}
