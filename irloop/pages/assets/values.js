// The values of a run, and the slider over the iterations of a loop.

class Values {
  constructor(model) {
    this.model = model;
    this.byNode = model.values?.by_node ?? {};
    /** The iterations with values, and the current one, of each loop. */
    this.iterations = new Map();
    this.current = new Map();
    const found = new Map();
    for (const [number, entries] of Object.entries(this.byNode)) {
      const loops = model.loopsAround(Number(number));
      for (const key of loops.length ? Object.keys(entries) : []) {
        key.split(",").forEach((index, at) => {
          if (!found.has(loops[at])) found.set(loops[at], new Set());
          found.get(loops[at]).add(Number(index));
        });
      }
    }
    for (const [loop, indices] of [...found].sort(([a], [b]) => a - b)) {
      this.iterations.set(
        loop,
        [...indices].sort((a, b) => a - b),
      );
      this.current.set(loop, this.iterations.get(loop)[0]);
    }
  }

  get any() {
    return this.model.values !== undefined;
  }

  /** The values of a node in the current iteration of each loop around it, by output. */
  of(number) {
    if (!this.any) return undefined;
    const key = this.model
      .loopsAround(number)
      .map((loop) => this.current.get(loop))
      .join(",");
    return this.byNode[number]?.[key] ?? this.read(number, key) ?? null;
  }

  /** The value of a body result: the value of the node that it returns. */
  read(number) {
    const node = this.model.nodes[number];
    if (node.kind !== "result") return undefined;
    const edge = this.model.graphs[node.graph].edges.find(([, , target]) => target === number);
    const found = edge && this.of(edge[0])?.[edge[1]];
    return found && { 0: found };
  }

  /** The value of a node in one line. */
  line(number) {
    const found = this.of(number)?.[0];
    if (!found) return "";
    if (found.values && found.values.length <= 4) return shortened(listed(found.values), 24);
    if (found.min === undefined) return found.type;
    const nan = found.nan ? `, ${found.nan} NaN` : "";
    return `${shown(found.min)} … ${shown(found.max)}${nan}`;
  }

  /** The controls: a loop and one of its iterations. */
  controls(changed) {
    if (!this.iterations.size) return null;
    const loops = [...this.iterations.keys()];
    const label = (loop) => shortened(this.model.nodes[loop].path, 48);
    const choice = html(
      "select",
      { "aria-label": "loop", id: "loop" },
      loops.map((loop) => html("option", { value: loop }, label(loop))),
    );
    const slider = html("input", {
      type: "range",
      min: 0,
      step: 1,
      id: "iteration",
      "aria-label": "iteration",
    });
    const words = html("output", { for: "iteration" });
    const show = () => {
      const loop = Number(choice.value);
      const indices = this.iterations.get(loop);
      slider.max = indices.length - 1;
      slider.value = indices.indexOf(this.current.get(loop));
      words.textContent = `iteration ${this.current.get(loop)} of 0 to ${indices.at(-1)}`;
    };
    choice.addEventListener("change", show);
    slider.addEventListener("input", () => {
      const loop = Number(choice.value);
      this.current.set(loop, this.iterations.get(loop)[Number(slider.value)]);
      show();
      changed();
    });
    show();
    return html("div", { class: "slider" }, choice, slider, words);
  }
}
