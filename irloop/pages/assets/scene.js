// Makes the graph for elkjs from what is open: boxes with sizes, ports, edges and wires.

const BOLD = "600 13px system-ui, sans-serif";
const PLAIN = "11.5px system-ui, sans-serif";
const SMALL = "10.5px system-ui, sans-serif";
const LINE = 15;

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.json.shapeCoords": "ROOT",
  "elk.json.edgeCoords": "ROOT",
  "elk.layered.considerModelOrder.strategy": "PREFER_EDGES",
  "elk.layered.nodePlacement.strategy": "BRANDES_KOEPF",
  "elk.layered.nodePlacement.bk.fixedAlignment": "BALANCED",
  "elk.layered.thoroughness": "3",
  "elk.layered.spacing.nodeNodeBetweenLayers": "30",
  "elk.spacing.nodeNode": "22",
  "elk.spacing.edgeNode": "14",
  "elk.spacing.edgeEdge": "10",
  "elk.spacing.edgeLabel": "3",
};

class Scene {
  constructor(model, withValues) {
    this.model = model;
    this.withValues = withValues;
    /** The drawn boxes and ports by their id in elkjs. */
    this.boxes = new Map();
    this.wires = new Map();
    this.edges = [];
    this.seen = new Map();
    const children = this.items(0, model.trees[0]);
    this.connect(0);
    this.root = {
      id: "root",
      layoutOptions: { ...OPTIONS, "elk.padding": "[top=20,left=20,bottom=20,right=20]" },
      children,
      edges: this.edges,
    };
  }

  items(graph, tree) {
    return tree.map((item) =>
      typeof item === "number" ? this.node(item) : this.group(graph, item),
    );
  }

  node(number) {
    const node = this.model.nodes[number];
    const id = `n${number}`;
    const box = { id, kind: node.kind, number, title: node.type, lines: this.lines(node) };
    if (node.kind === "parameter" || node.kind === "result") box.title = node.name;
    box.mark = this.model.marks[node.path];
    box.key = node.bodies ? id : undefined;
    this.boxes.set(id, box);
    if (node.bodies && this.model.open.has(id)) return this.openOwner(node, box);
    if (node.bodies) {
      const inside = node.bodies.reduce(
        (sum, at) => sum + this.model.graphs[at].nodes.flat(9).length,
        0,
      );
      box.lines.push(counted(inside, "node") + " inside");
    }
    return this.sized(box);
  }

  /** The lines below a title: name or role, the type of the first output, room for a value. */
  lines(node) {
    const border = node.kind === "parameter" || node.kind === "result";
    const lines = border ? [] : [node.name];
    if (node.role) lines.push(node.role);
    const type = node.outputs.length ? node.outputs[0].type : node.inputs[0]?.type;
    if (type)
      lines.push(node.outputs.length > 1 ? `${type} and ${node.outputs.length - 1} more` : type);
    return lines;
  }

  sized(box) {
    const title = shortened(box.title, 34);
    box.shownTitle = title;
    box.shownLines = box.lines.map((line) => shortened(line, 38));
    const widths = [
      widthOf(title, BOLD) + (box.key ? 22 : 0),
      ...box.shownLines.map((line) => widthOf(line, PLAIN)),
    ];
    if (this.withValues && box.number !== undefined) widths.push(160);
    const rows = box.shownLines.length + (this.withValues && box.number !== undefined ? 1 : 0);
    box.width = Math.ceil(Math.max(64, ...widths) + 22);
    box.height = 16 + LINE * (rows + 1);
    return { id: box.id, width: box.width, height: box.height };
  }

  openOwner(node, box) {
    box.isOpen = true;
    const own = this.sized(box);
    const head = own.height + 14;
    const graphs = node.bodies.map((at) => ({ at, graph: this.model.graphs[at] }));
    const inner = graphs.map(({ at }) => this.items(at, this.model.trees[at]));
    const ports = this.ports(node, box);
    let children = inner[0];
    if (graphs.length > 1) {
      children = graphs.map(({ at, graph }, index) => {
        const id = `b${at}`;
        this.boxes.set(id, {
          id,
          kind: "body",
          shownTitle: graph.label,
          shownLines: [],
          isOpen: true,
        });
        const padding = "[top=36,left=14,bottom=18,right=14]";
        return { id, children: inner[index], layoutOptions: { "elk.padding": padding } };
      });
    }
    for (const { at, graph } of graphs) this.wire(box.number, at, graph);
    return {
      id: box.id,
      children,
      ports,
      layoutOptions: {
        "elk.padding": `[top=${head},left=18,bottom=26,right=18]`,
        "elk.portConstraints": "FIXED_SIDE",
        "elk.portLabels.placement": "OUTSIDE",
        "elk.nodeSize.constraints": "MINIMUM_SIZE",
        "elk.nodeSize.minimum": `(${own.width}, ${head})`,
      },
    };
  }

  /** The ports of an open operation: inputs at the top, outputs at the bottom. */
  ports(node, box) {
    const port = (id, side, label, words) => {
      this.boxes.set(id, { id, kind: "port", label, owner: box.number });
      const made = { id, width: 8, height: 8, layoutOptions: { "elk.port.side": side } };
      if (words)
        made.labels = [{ text: words, width: Math.ceil(widthOf(words, SMALL)) + 6, height: 14 }];
      return made;
    };
    const wired = new Set(
      node.bodies.flatMap((at) => this.model.graphs[at].in.map(([, external]) => external)),
    );
    const ins = Object.entries(node.ports ?? {}).map(([at, label]) => {
      // A port without a wire, or without an edge from outside, gets a label.
      const words = label.length > 1 || !wired.has(Number(at)) ? label : null;
      const shownWords =
        words && shortened(wired.has(Number(at)) ? words.at(-1) : words.join(" = "), 26);
      return port(`${box.id}:i${at}`, "NORTH", label.join(" = "), shownWords);
    });
    const outs = node.outputs.map((output, at) =>
      port(`${box.id}:o${at}`, "SOUTH", `output ${at}: ${output.name} ${output.type}`),
    );
    return [...ins, ...outs];
  }

  /** The wires of a body, and the edges inside of it. */
  wire(owner, at, graph) {
    for (const [kind, external, parameter, words, state] of graph.in) {
      this.add(`n${owner}:i${external}`, this.shownAs(parameter), kind, words, state);
    }
    for (const [kind, result, external, words] of graph.out) {
      this.add(this.shownAs(result), `n${owner}:o${external}`, kind, words);
    }
    for (const [result, parameter, state] of graph.back) {
      const words = "next iteration";
      this.add(this.shownAs(result), this.shownAs(parameter), "back", words, state);
    }
    this.connect(at);
  }

  connect(at) {
    for (const [source, output, target, input] of this.model.graphs[at].edges) {
      this.add(this.shownAs(source, `o${output}`), this.shownAs(target, `i${input}`), "edge");
    }
  }

  /** The box or port where an edge ends: a closed group stands for its nodes. */
  shownAs(number, port) {
    const hidden = this.model.inside[number].find((key) => !this.model.open.has(key));
    if (hidden) return hidden;
    const id = `n${number}`;
    const box = this.boxes.get(id);
    return box?.isOpen && port ? `${id}:${port}` : id;
  }

  add(source, target, kind, words, state) {
    if (source === target && kind !== "back") return;
    const key = `${source}>${target}>${kind}>${state ?? ""}`;
    const known = this.seen.get(key);
    if (known) {
      known.count += 1;
      return;
    }
    const wire = { id: `e${this.edges.length}`, kind, words, state, count: 1 };
    this.seen.set(key, wire);
    this.wires.set(wire.id, wire);
    // A back edge is laid out the other way round, so that there are no cycles.
    const [above, below] = kind === "back" ? [target, source] : [source, target];
    const edge = { id: wire.id, sources: [above], targets: [below] };
    if (words && kind !== "plain" && kind !== "back") {
      edge.labels = [{ text: words, width: Math.ceil(widthOf(words, SMALL)) + 8, height: 15 }];
    }
    this.edges.push(edge);
  }

  group(graph, group) {
    const first = this.model.nodes[group.members[0]];
    const last = this.model.nodes[group.members.at(-1)];
    const box = {
      id: group.key,
      key: group.key,
      kind: "group",
      title: counted(group.members.length, "node"),
      lines: [`from ${first.name}`, `to ${last.name}`],
    };
    if (group.members.some((number) => this.model.marks[this.model.nodes[number].path])) {
      box.mark = "inside";
    }
    this.boxes.set(box.id, box);
    const own = this.sized(box);
    if (!this.model.open.has(group.key)) return own;
    box.isOpen = true;
    return {
      id: box.id,
      children: this.items(graph, group.items),
      layoutOptions: { "elk.padding": `[top=${own.height + 14},left=16,bottom=16,right=16]` },
    };
  }
}
