// Puts the page together. The data has `title` and `models`; for a report also `report`, `focus`
// where a node is shown at first: the number of the model and the path of the node, and `pairs` for
// two models side by side: the numbers of nodes that correspond.

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
  ["copy", "from one copy of a block to the next"],
  ["invariant", "invariant"],
  ["joined", "joined over iterations"],
  ["last", "last value"],
];

const LOOKS = {
  names: "names",
  attributes: "attributes",
  constants: "weights and constants",
  types: "types and shapes",
  sideways: "from left to right",
};

class Page {
  constructor(data) {
    this.data = data;
    this.models = data.models.map((item) => new Model(item));
    /** The node that corresponds to one, for each of two models. */
    this.twins = [new Map(data.pairs ?? []), new Map((data.pairs ?? []).map(([a, b]) => [b, a]))];
    this.isPair = Boolean(data.pairs);
    /** What the pictures show. */
    this.look = { names: true, attributes: false, constants: true, types: true, sideways: false };
  }

  build() {
    document.title = `${this.data.title} · irloop`;
    const page = document.getElementById("page");
    const { report, focus } = this.data;
    page.className = report ? "report" : "view";
    page.append(this.header());
    if (report) page.append(...sectionsOf(report.before, this));
    if (this.models.length) page.append(this.stage());
    if (report) page.append(...sectionsOf(report.after, this));
    if (!this.models.length) return;
    const first = focus ? focus[0] : 0;
    this.pictures.forEach((picture, at) => this.use(picture, this.isPair ? at : first));
    this.active = this.isPair ? this.pictures[first] : this.picture;
    this.selected(this.active, true);
    const number = focus && this.models[first].byPath.get(focus[1]);
    if (number !== undefined && number !== null) this.reveal(number);
  }

  header() {
    const first = this.models[0];
    const parts = [html("span", { class: "brand" }, "irloop"), html("h1", {}, this.data.title)];
    if (this.data.report) parts.push(verdictOf(this.data.report));
    else if (first) parts.push(html("span", { class: "format" }, first.format));
    return html("header", {}, parts);
  }

  stage() {
    this.pictures = (this.isPair ? [0, 1] : [0]).map(() => new Picture(this));
    [this.active] = this.pictures;
    this.search = new Search({ reveal: (number) => this.reveal(number) });
    this.panel = html("aside", { "aria-label": "details" });
    this.details = new Details(this.panel, { reveal: (number) => this.reveal(number) });
    this.status = html("span", { class: "status", role: "status" });
    this.sliders = html("div", { class: "sliders" });
    this.legend = html("div", { class: "legend", "aria-label": "wires" });
    const split = html("div", { class: "split" }, this.frames(), this.panel);
    return html("main", {}, this.bar(), this.legend, split, this.sliders);
  }

  frames() {
    if (!this.isPair) return this.pictures.map((picture) => picture.element);
    return this.pictures.map((picture, at) => {
      const head = html("h2", { class: "side" }, this.models[at].title);
      picture.element.prepend(head);
      return picture.element;
    });
  }

  bar() {
    this.choice = html(
      "select",
      {
        "aria-label": "model",
        id: "model",
        onchange: () => this.choose(Number(this.choice.value)),
      },
      this.models.map((model, at) => html("option", { value: at }, model.title)),
    );
    const button = (words, title, act) => html("button", { title, onclick: act }, words);
    const each = (act) => () => this.pictures.forEach(act);
    const name = () => this.picture.model.title.replace(/[^\w.-]+/g, "_");
    return html(
      "div",
      { class: "bar" },
      this.models.length > 1 ? this.choice : null,
      this.search.element,
      button(
        "Open all",
        "open every body and group (A)",
        each((picture) => picture.openAll()),
      ),
      button(
        "Close all",
        "close every body and group (C)",
        each((picture) => picture.closeAll()),
      ),
      button(
        "−",
        "smaller (-)",
        each(({ camera }) => camera.scale(0.8)),
      ),
      button(
        "+",
        "larger (+)",
        each(({ camera }) => camera.scale(1.25)),
      ),
      button(
        "Fit",
        "show everything (0)",
        each(({ camera }) => camera.whole()),
      ),
      this.looks(),
      button("SVG", "save the picture as SVG", () => saveSvg(this.picture, name())),
      button("PNG", "save the picture as PNG", () => savePng(this.picture, name())),
      button("Model", "about the whole model (Escape)", () => this.picture.select(null)),
      this.status,
    );
  }

  /** What to show in boxes, and the direction. */
  looks() {
    const rows = Object.entries(LOOKS).map(([key, words]) => {
      const box = html("input", { type: "checkbox", name: key });
      box.checked = this.look[key];
      box.addEventListener("change", () => {
        this.look[key] = box.checked;
        for (const picture of this.pictures) picture.redraw();
      });
      return html("label", {}, box, words);
    });
    return html("details", { class: "looks" }, html("summary", {}, "Show"), html("div", {}, rows));
  }

  /** The picture to which buttons and the panel refer. */
  get picture() {
    return this.active;
  }

  choose(at) {
    if (this.isPair) this.active = this.pictures[at];
    else this.use(this.picture, at);
    this.selected(this.active, true);
  }

  use(picture, at) {
    picture.use(this.models[at]);
    if (!this.isPair) this.active = picture;
    const controls = picture.values.controls(() => {
      picture.showValues();
      this.showValues();
    });
    this.sliders.replaceChildren(...[controls, this.note(picture)].filter(Boolean));
    this.showLegend();
  }

  note({ model }) {
    const words = [];
    const { values, left_out: leftOut } = model;
    if (leftOut) words.push(`The page leaves out ${counted(leftOut, "node")} of deep bodies.`);
    if (values?.problem) words.push(`The run failed: ${values.problem}`);
    if (values?.left_out)
      words.push("Of long loops the page keeps only the first iterations and the last one.");
    return words.length ? html("p", { class: "hint" }, words.join(" ")) : null;
  }

  /** The styles of wires and marks that occur in the models shown. */
  showLegend() {
    const kinds = new Set();
    const marks = new Set();
    for (const { model } of this.pictures.filter((picture) => picture.model)) {
      for (const graph of model.graphs) {
        for (const [kind] of [...(graph.in ?? []), ...(graph.out ?? [])]) kinds.add(kind);
        if (graph.back?.length) kinds.add("back");
      }
      if (model.groups.some(({ times }) => times > 1)) kinds.add("copy");
      for (const mark of model.marks.values()) marks.add(mark);
    }
    const rows = LEGEND.filter(([kind]) => kinds.has(kind)).map(([kind, words]) =>
      html(
        "div",
        { class: "row" },
        svg("svg", { class: `wire ${kind}`, width: 36, height: 10 }, svg("path", { d: "M1,5H35" })),
        words,
      ),
    );
    for (const [mark, words] of Object.entries(MARKS)) {
      if (!marks.has(mark)) continue;
      const sample = svg("rect", { class: "frame", x: 1, y: 1, width: 16, height: 10, rx: 3 });
      const box = svg("svg", { class: `box mark-${mark}`, width: 18, height: 12 }, sample);
      rows.push(html("div", { class: "row" }, box, words));
    }
    this.legend.hidden = !rows.length;
    this.legend.replaceChildren(...rows);
  }

  /** A picture has been drawn anew. */
  drawn(picture) {
    const count = this.pictures.reduce((sum, each) => sum + (each.scene?.boxes.size ?? 0), 0);
    this.status.textContent = `${counted(count, "box")}, ${counted(picture.model.nodes.length, "node")}`;
  }

  /** Something was selected in a picture: describe it, and show its counterpart. */
  selected(picture, isEcho) {
    if (isEcho && picture !== this.active) return;
    this.active = picture;
    this.choice.value = this.models.indexOf(picture.model);
    if (this.search.model !== picture.model) this.search.use(picture.model);
    const box = picture.selectedBox;
    this.panel.classList.toggle("empty", !box);
    if (!box) this.details.showModel(picture.model);
    else if (box.number === undefined) this.details.showGroup(box);
    else this.details.show(picture.model, box.number, picture.values.of(box.number));
    if (this.isPair && !isEcho) this.showTwin(picture, box);
  }

  showTwin(picture, box) {
    const at = this.pictures.indexOf(picture);
    const other = this.pictures[1 - at];
    if (box?.members) return this.showTwins(at, box.members);
    const twin = box?.number === undefined ? undefined : this.twins[at].get(box.number);
    if (twin === undefined) return other.select(null, true);
    if (other.model.reveal(twin)) other.draw();
    other.select(`n${twin}`, true);
    return other.show(`n${twin}`);
  }

  /** Show the group that corresponds to a group of the picture `at`. */
  showTwins(at, members) {
    const other = this.pictures[1 - at];
    const twins = members.map((number) => this.twins[at].get(number));
    const [key, number] = other.model.groupLike(twins.filter((twin) => twin !== undefined)) ?? [];
    if (key === undefined) return other.select(null, true);
    if (other.model.reveal(number, key)) other.draw();
    other.select(key, true);
    return other.show(key);
  }

  reveal(number) {
    this.active.reveal(number);
  }

  /** Show the node with a path in one of the models. */
  revealPath(at, path) {
    if (this.isPair) this.active = this.pictures[at];
    else if (this.models[at] !== this.picture.model) this.use(this.picture, at);
    const number = this.picture.model.byPath.get(path);
    if (number === undefined) return;
    this.picture.canvas.scrollIntoView({ block: "center" });
    this.reveal(number);
  }

  showValues() {
    const { selectedBox: box, model, values } = this.picture;
    if (box?.number === undefined) return;
    this.details.showValues(model.nodes[box.number], values.of(box.number));
  }
}

async function main() {
  try {
    const packed = document.getElementById("data").textContent;
    const stream = new Blob([bytesOf(packed)]).stream().pipeThrough(new DecompressionStream("gzip"));
    new Page(await new Response(stream).json()).build();
  } catch (error) {
    // Browsers before 2023 cannot unpack the data.
    document.getElementById("page").textContent = `The page cannot be shown: ${error.message}`;
    throw error;
  }
}
