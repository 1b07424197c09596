// Makes what is open into containers for the layout: boxes with texts and sizes, ports, wires.

const BOLD = "600 13px system-ui, sans-serif";
const PLAIN = "11.5px system-ui, sans-serif";
const MONO = "11px ui-monospace, Menlo, Consolas, monospace";
const SMALL = "10.5px system-ui, sans-serif";
const LINE = 15;
const HEAD = 24;
const RANKS = { weights: 0, loop: 0, types: 3, shape: 2 };

class Scene {
  /** `look` tells what boxes show, and whether the picture runs `sideways`. */
  constructor(model, withValues, look) {
    this.model = model;
    this.withValues = withValues;
    this.look = look;
    /** The drawn boxes and containers by id. */
    this.boxes = new Map();
    /** The pairs of boxes that wires connect. */
    this.links = [];
    this.sideways = look.sideways;
    this.root = container({ id: "root", kind: "root" }, null, 0);
    this.items(this.root, model.trees[0]);
    this.connect(0);
    layout(this.root, this.sideways);
    absolute(this.root, this.sideways);
  }

  items(parent, tree) {
    for (const item of tree) {
      if (typeof item === "number") this.node(parent, item);
      else this.group(parent, item);
    }
  }

  add(parent, box) {
    box.parent = parent;
    parent.children.push(box);
    this.boxes.set(box.id, box);
    return box;
  }

  node(parent, number) {
    const node = this.model.nodes[number];
    const id = `n${number}`;
    const isBorder = node.kind === "parameter" || node.kind === "result";
    const box = {
      id,
      number,
      kind: node.kind,
      family: node.family,
      mark: this.model.marks.get(number),
    };
    if (this.model.markedInside.has(number)) box.mark ??= "inside";
    box.title = isBorder ? node.name : node.label;
    box.lines = this.lines(node, isBorder);
    if (node.bodies) box.key = id;
    if (node.bodies && this.model.open.has(id)) return this.openOwner(parent, node, box);
    if (node.bodies)
      box.lines.push(["soft", `${counted(this.model.insideOf(number), "node")} inside`]);
    return this.add(parent, this.sized(box));
  }

  /** The lines below a title: name or role, attributes, constants, the type of the first output. */
  lines(node, isBorder) {
    const { names, attributes, constants, types } = this.look;
    const lines = isBorder || !names ? [] : [["soft", node.name]];
    if (node.role) lines.push(["soft", node.role]);
    for (const [key, value] of attributes ? node.attributes : [])
      lines.push(["constant", `${key} = ${value}`]);
    for (const row of (constants && node.rows) || []) lines.push(["constant", row]);
    if (!types) return lines;
    const type = node.outputs.length ? node.outputs[0].type : node.inputs[0]?.type;
    const more = node.outputs.length > 1 ? ` and ${node.outputs.length - 1} more` : "";
    if (type) lines.push(["type", `${type}${more}`]);
    return lines;
  }

  sized(box) {
    box.shownTitle = shortened(box.title, 34) + (box.times ?? "");
    box.shownLines = box.lines.map(([kind, line]) => [kind, shortened(line, 38)]);
    const hasValue = this.withValues && box.number !== undefined;
    const widths = [
      widthOf(box.shownTitle, BOLD) + (box.key ? 44 : 0),
      ...box.shownLines.map(([kind, line]) => widthOf(line, kind === "constant" ? MONO : PLAIN)),
      hasValue ? 160 : 48,
    ];
    const rows = box.shownLines.length + (hasValue ? 1 : 0);
    box.width = Math.ceil(Math.max(...widths) + 20);
    box.height = HEAD + (rows ? LINE * rows + 7 : 0);
    return box;
  }

  /** A container with the texts of a box on its bar. */
  opened(parent, box) {
    this.sized(box);
    const made = container(box, parent, box.height);
    made.isOpen = true;
    made.leastWidth = box.width + 44;
    return this.add(parent, made);
  }

  openOwner(parent, node, box) {
    box.lines = box.lines.filter(([kind]) => kind !== "constant");
    const owner = this.opened(parent, box);
    const graphs = node.bodies.map((at) => ({ at, graph: this.model.graphs[at] }));
    this.ports(owner, node, graphs);
    for (const { at, graph } of graphs) {
      let inside = owner;
      if (graphs.length > 1) {
        const body = { id: `b${at}`, kind: "body", title: graph.label, lines: [] };
        inside = this.opened(owner, body);
      }
      this.items(inside, this.model.trees[at]);
      this.wire(owner, at, graph);
    }
  }

  /** The ports of an open operation: inputs at the top, outputs at the bottom. */
  ports(owner, node, graphs) {
    const wired = new Map(
      graphs.flatMap(({ graph }) => graph.in.map(([, external, , words]) => [external, words])),
    );
    const count = Math.max(0, ...wired.keys(), ...Object.keys(node.ports ?? {}).map(Number)) + 1;
    for (let at = 0; at < count; at++) {
      const label = node.ports?.[at];
      if (!label && !wired.has(at)) continue;
      const words = wired.has(at) ? (label?.[1] ?? "") : label.join(" = ");
      const title = [label?.join(" = ") ?? `input ${at}`, wired.get(at)].filter(Boolean).join(": ");
      this.port(owner, `i${at}`, "in", shortened(words, 26), title);
    }
    node.outputs.forEach((output, at) => {
      const words = graphs.map(({ graph }) => graph.out.find(([, , to]) => to === at)?.[3]);
      const title = `output ${at}: ${output.name} ${output.type}`;
      this.port(owner, `o${at}`, "out", words.find(Boolean) ?? "", title);
    });
  }

  port(owner, name, side, words, title) {
    const known = owner.ports.get(name);
    if (known) return known;
    const width = words ? Math.ceil(widthOf(words, SMALL)) + 8 : 12;
    const port = { id: `${owner.id}:${name}`, isPort: true, side, words, title, width };
    port.height = words ? 20 : 6;
    owner.ports.set(name, port);
    (side === "in" ? owner.ins : owner.outs).push(port);
    return port;
  }

  /** The wires of a body, and the edges inside of it. */
  wire(owner, at, graph) {
    for (const [kind, external, parameter, words, state] of graph.in) {
      const port = owner.ports.get(`i${external}`);
      this.link({ item: port, parent: owner }, this.end(parameter), { kind, words, state });
    }
    for (const [kind, result, external, words] of graph.out) {
      const port = owner.ports.get(`o${external}`);
      if (port) this.link(this.end(result), { item: port, parent: owner }, { kind, words });
    }
    for (const [result, parameter, state] of graph.back) {
      const [from, to] = [this.end(result), this.end(parameter)];
      if (from.parent !== to.parent || from.item === to.item) continue;
      from.parent.backs.push({ from, to, wire: { kind: "back", words: "next iteration", state } });
    }
    this.connect(at);
  }

  connect(at) {
    for (const [source, output, target, input] of this.model.graphs[at].edges) {
      const block = this.model.blockBetween(source, target);
      if (block) {
        this.toNextCopy(block, source, target);
        continue;
      }
      const from = this.end(source);
      const to = this.end(target);
      from.port = from.item.ports?.get(`o${output}`);
      from.output = from.item.number === undefined ? 0 : output;
      from.outputs = from.item.number === undefined ? 1 : this.model.nodes[source].outputs.length;
      to.port = to.item.ports?.get(`i${input}`);
      from.value = `${source}:${output}`;
      const { type } = this.model.nodes[source].outputs[output] ?? {};
      this.link(from, to, { kind: "edge", words: type, ends: [source, target] });
    }
  }

  /** A wire from one copy of a block to another, if the block is drawn once and is open. */
  toNextCopy(key, source, target) {
    const block = this.boxes.get(key);
    if (!block?.children) return;
    const [from, to] = [source, target].map((number) => {
      let { item } = this.end(number);
      while (item.parent !== block) item = item.parent;
      return { item, parent: block };
    });
    const isKnown = ({ from: a, to: b }) => a.item === from.item && b.item === to.item;
    if (block.backs.some(isKnown)) return;
    block.backs.push({ from, to, wire: { kind: "copy", words: "to the next copy" } });
  }

  end(number) {
    const item = this.boxes.get(this.model.shownAs(number));
    return { item, parent: item.parent };
  }

  /** Lead a wire from one end to another, through the borders of the containers between them. */
  link(from, to, wire) {
    if (from.item === to.item) return;
    this.links.push([from.item, to.item]);
    const around = new Set();
    for (let each = to.parent; each; each = each.parent) around.add(each);
    const key = `${from.item.id}:${from.value ?? from.port?.id ?? ""}:${wire.kind}`;
    let tail = from;
    let parent = from.parent;
    for (; !around.has(parent); parent = parent.parent) {
      const port = this.port(parent, `>${key}`, "out", "", wire.words);
      segment(parent, tail, { item: port }, wire);
      tail = { item: parent, port };
    }
    let head = to;
    for (let each = to.parent; each !== parent; each = each.parent) {
      const port = this.port(each, `<${key}`, "in", "", wire.words);
      segment(each, { item: port }, head, wire);
      head = { item: each, port };
    }
    segment(parent, tail, head, wire);
  }

  group(parent, group) {
    const box = this.groupBox(group.key, group.members, group.names);
    if (!this.model.open.has(group.key)) {
      this.add(parent, this.sized(box));
      return;
    }
    const opened = this.opened(parent, box);
    if (group.times === 1) {
      this.items(opened, group.parts[0].items);
      return;
    }
    opened.all = { key: `${group.key}*`, isOpen: this.model.open.has(`${group.key}*`) };
    if (!opened.all.isOpen) this.items(opened, group.parts[0].items);
    else this.copiesOf(opened, group);
  }

  copiesOf(opened, group) {
    for (let first = 0; first < group.times; first += PART) {
      const parts = group.parts.slice(first, first + PART);
      const span = spanOf(group, first);
      if (span) this.span(opened, span, parts, first);
      else this.copies(opened, parts);
    }
  }

  /** Neighbouring copies of a block that has many. */
  span(parent, key, parts, first) {
    const members = parts.flatMap((part) => part.members);
    const name = `copies ${first + 1} to ${first + parts.length}`;
    const box = this.groupBox(key, members, [name]);
    if (this.model.open.has(key)) this.copies(this.opened(parent, box), parts);
    else this.add(parent, this.sized(box));
  }

  copies(parent, parts) {
    for (const part of parts) {
      if (part.items.length === 1) {
        this.items(parent, part.items);
        continue;
      }
      const copy = this.groupBox(part.key, part.members, [part.name]);
      if (this.model.open.has(part.key)) this.items(this.opened(parent, copy), part.items);
      else this.add(parent, this.sized(copy));
    }
  }

  /** A box for several nodes: its scope, how often it occurs, its operations, and its result. */
  groupBox(key, members, names) {
    const nodes = members.map((number) => this.model.nodes[number]);
    const once = nodes.slice(0, members.length / names.length);
    const operations = summaryOf(once);
    const name = namesOf(names);
    const kind = names.length > 1 ? "group repeated" : "group";
    const box = { id: key, key, kind, members };
    const isTelling = /[a-z]/i.test(name);
    box.title = isTelling ? name : operations.slice(0, 2).join(", ");
    box.times = names.length > 1 ? `  × ${names.length}` : "";
    box.lines = [["soft", fewOf(operations)]];
    if (!isTelling && name) box.lines.unshift(["soft", name]);
    const each = names.length > 1 ? `${once.length} nodes each` : counted(members.length, "node");
    const { outputs } = nodes.at(-1);
    box.lines.push(["type", [each, outputs[0]?.type].filter(Boolean).join(" → ")]);
    const { marks, markedInside } = this.model;
    if (members.some((number) => marks.has(number) || markedInside.has(number))) {
      box.mark = "inside";
    }
    box.family = "group";
    const layer = layerOf(nodes);
    if (layer) {
      box.title = layer.type;
      box.lines.unshift(["soft", name]);
      box.source = layer.node;
    }
    return box;
  }
}

/** The layer of an old IR that all these nodes replace: {type, node}; null if there is none. */
function layerOf(nodes) {
  const [node] = nodes;
  if (node.layer === null || nodes.some(({ layer }) => layer !== node.layer)) return null;
  const value = (tag, name) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  // A line may hold several layers.
  const [tag] = [...(node.xml ?? "").matchAll(/<layer\b[^>]*>/g)].flat().filter((each) => {
    const isNamed = `/${nodes.at(-1).name}`.endsWith(`/${value(each, "name")}`);
    return isNamed && value(each, "id") === node.layer;
  });
  const type = tag && value(tag, "type");
  return type ? { type, node } : null;
}

function container(box, parent, head) {
  const empty = { children: [], ins: [], outs: [], edges: [], backs: [], ports: new Map() };
  return Object.assign(box, empty, { parent, head, seen: new Map() });
}

/** A wire between two ends in one container; equal ones are drawn once. */
function segment(parent, from, to, wire) {
  const key = [
    from.item.id,
    from.port?.id ?? from.output,
    to.item.id,
    to.port?.id,
    wire.kind,
    wire.state,
  ].join(">");
  const known = parent.seen.get(key);
  if (known) {
    known.ends.push(wire.ends);
    known.count += 1;
    return;
  }
  const edge = { from: { ...from }, to: { ...to }, wire, count: 1, ends: [wire.ends] };
  parent.seen.set(key, edge);
  parent.edges.push(edge);
}

/** "Conv 3", "Relu 2", "Add": what computes most first, conversions and shapes last. */
function summaryOf(nodes) {
  const counts = new Map();
  for (const { label, family } of nodes) {
    const known = counts.get(label) ?? { count: 0, rank: RANKS[family] ?? 1 };
    counts.set(label, { ...known, count: known.count + 1 });
  }
  return [...counts]
    .sort(([, a], [, b]) => a.rank - b.rank || b.count - a.count)
    .map(([label, { count }]) => (count > 1 ? `${label} ${count}` : label));
}

/** As many words as fit into a line. */
function fewOf(words) {
  const fits = words.findIndex((_, at) => words.slice(0, at + 1).join(", ").length > 34);
  const count = fits < 0 ? words.length : Math.max(1, fits);
  return words.slice(0, count).join(", ") + (count < words.length ? ", …" : "");
}

/** One name, or "layer.0 … 11" for several that begin alike. */
function namesOf(names) {
  const [first, last] = [names[0], names.at(-1)];
  const whole = `${first} … ${last}`;
  if (first === last || whole.length <= 34) return first === last ? first : whole;
  let same = 0;
  while (first[same] === last[same]) same += 1;
  // Numbers stay whole.
  while (same && /\d/.test(first[same - 1])) same -= 1;
  return `${first} … ${last.slice(same) || last}`;
}
