// Puts the page together. The data has `title` and `models`; for a report also `report`, and `focus`
// where a node is shown at first: the number of the model and the path of the node.

const MARKS = {
  culprit: "differs first",
  gone: "removed",
  new: "added",
  changed: "changed",
  error: "error",
  warning: "warning",
  info: "information",
};

const LEGEND = [
  ["slice", "slice of each iteration"],
  ["state", "initial state"],
  ["back", "back edge, a colour for each state"],
  ["invariant", "invariant"],
  ["joined", "joined over iterations"],
  ["last", "last value"],
];

class Page {
  constructor(data) {
    this.data = data;
    this.models = data.models.map((item) => new Model(item));
    this.layouter = this.models.length ? new Layouter() : null;
    this.selected = null;
    this.turn = 0;
    this.places = new Map();
    this.actions = {
      select: (number) => this.select(number),
      toggle: (key) => this.toggle(key),
      reveal: (number) => this.reveal(number),
    };
  }

  build() {
    document.title = `${this.data.title} · irloop`;
    const page = document.getElementById("page");
    const { report, focus } = this.data;
    page.className = report ? "report" : "view";
    page.append(this.header());
    if (report) page.append(...sectionsOf(report.before, this));
    if (this.models.length) page.append(this.picture());
    if (report) page.append(...sectionsOf(report.after, this));
    if (!this.models.length) return;
    const drawn = this.use(focus ? focus[0] : 0);
    const number = focus && this.model.byPath.get(focus[1]);
    if (number !== undefined && number !== null) drawn.then(() => this.reveal(number));
  }

  header() {
    const first = this.models[0];
    const parts = [html("span", { class: "brand" }, "irloop"), html("h1", {}, this.data.title)];
    if (this.data.report) parts.push(verdictOf(this.data.report));
    else if (first) parts.push(html("span", { class: "format" }, first.format));
    return html("header", {}, parts);
  }

  picture() {
    this.search = new Search(this.actions);
    this.panel = html("aside", { "aria-label": "details" });
    this.details = new Details(this.panel, this.actions);
    this.canvas = svg("svg", {
      class: "canvas",
      tabindex: 0,
      role: "application",
      "aria-label": "graph",
    });
    this.camera = new Camera(this.canvas);
    this.status = html("span", { class: "status", role: "status" });
    this.sliders = html("div", { class: "sliders" });
    const choice = html(
      "select",
      { "aria-label": "model", id: "model", onchange: () => this.use(Number(choice.value)) },
      this.models.map((model, at) => html("option", { value: at }, model.title)),
    );
    this.choice = choice;
    const button = (words, title, act) => html("button", { title, onclick: act }, words);
    const bar = html(
      "div",
      { class: "bar" },
      this.models.length > 1 ? choice : null,
      this.search.element,
      button("Open all", "open every body and group, up to 1,000 boxes", () => this.openAll()),
      button("Close all", "close every body and group", () => this.closeAll()),
      button("−", "smaller (-)", () => this.camera.scale(0.8)),
      button("+", "larger (+)", () => this.camera.scale(1.25)),
      button("Fit", "show everything (0)", () => this.camera.whole()),
      this.status,
    );
    this.legend = html("div", { class: "legend", "aria-label": "wires" });
    const stage = html("div", { class: "stage" }, this.canvas);
    const split = html("div", { class: "split" }, stage, this.panel);
    return html("main", {}, bar, this.legend, split, this.sliders);
  }

  use(at) {
    this.model = this.models[at];
    this.choice.value = at;
    this.values = new Values(this.model);
    this.search.use(this.model);
    this.select(null);
    this.showLegend();
    const controls = this.values.controls(() => this.showValues());
    this.sliders.replaceChildren(...[controls, this.note()].filter(Boolean));
    return this.draw({ fit: true });
  }

  note() {
    const words = [];
    const { values, left_out: leftOut } = this.model;
    if (leftOut)
      words.push(`The page leaves out ${counted(leftOut, "node")} of deep bodies.`);
    if (values?.problem) words.push(`The run failed: ${values.problem}`);
    if (values?.left_out)
      words.push("Of long loops the page keeps only the first iterations and the last one.");
    return words.length ? html("p", { class: "hint" }, words.join(" ")) : null;
  }

  /** The styles of wires that occur in the model. */
  showLegend() {
    const kinds = new Set();
    for (const graph of this.model.graphs) {
      for (const [kind] of [...(graph.in ?? []), ...(graph.out ?? [])]) kinds.add(kind);
      if (graph.back?.length) kinds.add("back");
    }
    const rows = LEGEND.filter(([kind]) => kinds.has(kind)).map(([kind, words]) =>
      html(
        "div",
        { class: "row" },
        svg("svg", { class: `wire ${kind}`, width: 36, height: 10 }, svg("path", { d: "M1,5H35" })),
        words,
      ),
    );
    const marks = new Set(Object.values(this.model.marks));
    for (const [mark, words] of Object.entries(MARKS)) {
      if (!marks.has(mark)) continue;
      const sample = svg("rect", { x: 1, y: 1, width: 16, height: 10, rx: 3 });
      const box = svg("svg", { class: `box mark-${mark}`, width: 18, height: 12 }, sample);
      rows.push(html("div", { class: "row" }, box, words));
    }
    this.legend.hidden = !rows.length;
    this.legend.replaceChildren(...rows);
  }

  /** Lay out and draw what is open; `keep` is a box that stays where it is on the screen. */
  async draw({ fit = false, keep = null } = {}) {
    const turn = ++this.turn;
    this.status.textContent = "laying out …";
    const scene = new Scene(this.model, this.values.any);
    let laid;
    try {
      laid = await this.layouter.layout(scene.root);
    } catch (error) {
      this.status.textContent = `the layout failed: ${error.message}`;
      return;
    }
    // A later click has asked for another picture.
    if (turn !== this.turn) return;
    const before = keep && this.places.get(keep);
    const { group, places } = drawing(scene, laid, this.actions);
    this.places = places;
    this.canvas.replaceChildren(group);
    this.camera.show(group, laid);
    if (fit) this.camera.fit();
    const after = before && places.get(keep);
    if (after) {
      this.camera.x += (before.x - after.x) * this.camera.zoom;
      this.camera.y += (before.y - after.y) * this.camera.zoom;
      this.camera.apply();
    }
    const boxes = this.canvas.querySelectorAll(".box").length;
    this.status.textContent = `${boxes} boxes, ${counted(this.model.nodes.length, "node")}`;
    this.highlight();
    this.showValues();
  }

  toggle(key) {
    if (!this.model.open.delete(key)) this.model.open.add(key);
    return this.draw({ keep: key });
  }

  openAll() {
    const { model } = this;
    let seen = 0;
    // From the outside in, so that a limit leaves out the deepest.
    model.graphs.forEach((graph, at) => {
      const members = graph.nodes.flat(Infinity);
      if (seen + members.length > 1000 || (graph.owner !== null && !model.isVisible(graph.owner)))
        return;
      seen += members.length;
      if (graph.owner !== null) model.open.add(`n${graph.owner}`);
      for (const number of members) for (const key of model.inside[number]) model.open.add(key);
    });
    return this.draw({ fit: true });
  }

  closeAll() {
    this.model.open.clear();
    return this.draw({ fit: true });
  }

  async reveal(number) {
    if (this.model.reveal(number)) await this.draw();
    this.select(number);
    const place = this.places.get(`n${number}`);
    if (place) this.camera.centre(place);
  }

  /** Show the node with a path in one of the models. */
  async revealPath(at, path) {
    if (this.models[at] !== this.model) await this.use(at);
    const number = this.model.byPath.get(path);
    if (number === undefined) return;
    this.canvas.scrollIntoView({ block: "center" });
    await this.reveal(number);
  }

  select(number) {
    if (this.canvas.classList.contains("moving")) return;
    this.selected = number;
    this.panel.classList.toggle("empty", number === null);
    if (number === null) this.details.clear();
    else this.details.show(this.model, number, this.values.of(number));
    this.highlight();
  }

  highlight() {
    for (const box of this.canvas.querySelectorAll(".selected")) box.classList.remove("selected");
    const id = `n${this.selected}`;
    this.canvas.querySelector(`[data-id="${id}"]`)?.classList.add("selected");
  }

  showValues() {
    if (!this.values.any) return;
    for (const text of this.canvas.querySelectorAll(".value")) {
      text.textContent = this.values.line(Number(text.dataset.value));
    }
    if (this.selected === null) return;
    this.details.showValues(this.model.nodes[this.selected], this.values.of(this.selected));
  }
}

function main() {
  const data = JSON.parse(document.getElementById("data").textContent);
  new Page(data).build();
}
