// The panel that describes the selected node.

class Details {
  constructor(element, actions) {
    this.element = element;
    this.actions = actions;
  }

  /** The whole model: what it reads and returns, what it consists of, and who made it. */
  showModel(model) {
    const { about } = model;
    const border = (items) =>
      items.map(([number, name, type], at) =>
        row(at, number === null ? name : this.link(name, number), type),
      );
    const keys = KEYS.map(([key, words]) => [html("kbd", {}, key), words]);
    this.element.replaceChildren(
      html("h2", {}, model.title),
      html("p", { class: "path" }, model.format),
      ...section("Inputs", border(about.inputs)),
      ...section("Outputs", border(about.outputs)),
      ...section("Size", pairs(about.sizes)),
      ...section("Operations", pairs(about.operations)),
      ...section("Metadata", pairs(about.metadata)),
      ...section("Keys", pairs(keys)),
    );
  }

  /** A closed or open group. */
  showGroup(box) {
    this.element.replaceChildren(
      html("h2", {}, box.title, box.times),
      ...box.lines.map(([, line]) => html("p", { class: "path" }, line)),
      ...(box.source ? this.place(box.source) : []),
      html("p", { class: "hint" }, "Enter or a double click opens and closes it."),
    );
  }

  show(model, number, values) {
    const node = model.nodes[number];
    const mark = model.marks.get(number);
    this.element.replaceChildren(
      html("h2", {}, node.kind === "parameter" || node.kind === "result" ? node.name : node.type),
      html("p", { class: "path" }, node.path),
      ...(mark ? [html("p", { class: "badge" }, MARKS[mark] ?? mark)] : []),
      ...(node.role ? [html("p", {}, node.role)] : []),
      ...this.described(model, node),
      ...this.place(node),
      ...section("Attributes", pairs(this.attributes(model, node))),
      ...section("Inputs", this.ends(model, number, node)),
      ...section("Outputs", this.outputs(model, number, node)),
      ...(node.constant === undefined ? [] : section("Weights", constantOf(model, node.constant))),
      ...section("Runtime information", pairs(node.info)),
      ...section("Port map", this.wires(model, node)),
      html("div", { class: "values" }),
    );
    this.showValues(node, values);
  }

  /** The attributes of the file, and those with the value that they have without it. */
  attributes(model, node) {
    const given = new Set(node.attributes.map(([key]) => key));
    const others = (model.descriptions[node.type]?.[2] ?? []).filter(([key]) => !given.has(key));
    const soft = (text) => html("span", { class: "note" }, `${text} (default)`);
    return [...node.attributes, ...others.map(([key, text]) => [key, soft(text)])];
  }

  described(model, node) {
    const [words, all] = model.descriptions[node.type] ?? [];
    if (!words) return [];
    const title = html("summary", { class: "hint" }, "Specification");
    const more = html("details", {}, title, html("pre", {}, all.join("\n")));
    return [html("p", { class: "hint" }, words), all.length ? more : ""];
  }

  place(node) {
    const where = [];
    if (node.line !== null) where.push(`line ${node.line}`);
    if (node.layer !== null) where.push(`layer ${node.layer}`);
    if (!where.length) return [];
    return [
      html("p", { class: "place" }, where.join(", ")),
      ...(node.xml ? [html("pre", {}, node.xml)] : []),
    ];
  }

  ends(model, number, node) {
    const graph = model.graphs[node.graph];
    const sources = new Map();
    for (const [source, output, target, input] of graph.edges) {
      if (target === number) sources.set(input, [source, output]);
    }
    return node.inputs.map((input, at) => {
      if (!input) return row(at, "not connected");
      if (input.constant !== undefined) return constantRow(model, at, input.constant);
      const source = sources.get(at)?.[0];
      const name = source === undefined ? input.name : this.link(input.name, source);
      return row(at, name, input.type);
    });
  }

  outputs(model, number, node) {
    const readers = new Map();
    for (const [source, output, target] of model.graphs[node.graph].edges) {
      if (source === number) readers.set(output, [...(readers.get(output) ?? []), target]);
    }
    return node.outputs.map((output, at) => {
      const links = (readers.get(at) ?? [])
        .slice(0, 20)
        .map((target) => [" ", this.link(shortened(model.nodes[target].name, 24), target)]);
      return [
        row(at, output.name, output.type),
        html("p", { class: "readers" }, links.length ? ["read by", links] : "no readers"),
      ];
    });
  }

  link(words, number) {
    return html("button", { class: "link", onclick: () => this.actions.reveal(number) }, words);
  }

  /** Each wire of an operation with bodies, in words. */
  wires(model, node) {
    return (node.bodies ?? []).flatMap((at) => {
      const graph = model.graphs[at];
      const name = (number) => this.link(model.nodes[number].name, number);
      const list = [
        ...graph.in.map(([kind, external, parameter, words, state]) =>
          wireRow(kind, state, `input ${external} → `, name(parameter), words),
        ),
        ...graph.back.map(([result, parameter, state]) =>
          wireRow("back", state, "next ", [name(parameter), " = ", name(result)], "back edge"),
        ),
        ...graph.out.map(([kind, result, external, words]) =>
          wireRow(kind, null, [name(result), ` → output ${external}`], "", words),
        ),
      ];
      return [...(node.bodies.length > 1 ? [html("h4", {}, graph.label)] : []), ...list];
    });
  }

  /** The values in the current iteration. */
  showValues(node, values) {
    const place = this.element.querySelector(".values");
    if (!place || values === undefined) return;
    const entries = Object.entries(values ?? {});
    const inside = entries.length
      ? entries.map(([at, value]) => valueOf(node, Number(at), value))
      : [
          html(
            "p",
            { class: "hint" },
            "No value: it did not run in this iteration, or the page does not keep it.",
          ),
        ];
    place.replaceChildren(html("h3", {}, "Values"), ...inside.flat(Infinity));
  }
}

function section(title, content) {
  return content.length ? [html("h3", {}, title), ...content.flat(Infinity)] : [];
}

function pairs(items) {
  if (!items.length) return [];
  return [
    html(
      "dl",
      {},
      items.map(([key, value]) => [html("dt", {}, key), html("dd", {}, value)]),
    ),
  ];
}

function row(at, name, type) {
  return html(
    "div",
    { class: "row" },
    html("span", { class: "at" }, at),
    html("span", {}, name),
    html("code", {}, type),
  );
}

function wireRow(kind, state, ...words) {
  const line = svg(
    "svg",
    { class: `wire ${kind}`, width: 30, height: 10 },
    svg("path", { d: "M1,5H29" }),
  );
  if (state !== null && state !== undefined)
    line.style.setProperty("--wire", `var(--state${state % 8})`);
  const note = words.pop();
  return html(
    "div",
    { class: "row" },
    line,
    html("span", {}, words),
    html("span", { class: "note" }, note),
  );
}

function constantRow(model, at, number) {
  const constant = model.constants[number];
  return html(
    "details",
    { class: "constant" },
    html("summary", {}, row(at, constant.name, constant.type)),
    constantOf(model, number),
  );
}

function constantOf(model, number) {
  const constant = model.constants[number];
  const found = constant.weights;
  const rows = [
    ["elements", found.count.toLocaleString("en")],
    ["bytes", found.bytes.toLocaleString("en")],
  ];
  if (found.problem) rows.push(["not shown", found.problem]);
  if (found.sampled < found.count) rows.push(["elements read", found.sampled.toLocaleString("en")]);
  return [
    html("p", { class: "path" }, constant.path),
    html(
      "dl",
      {},
      [...rows, ...ranges(found)].map(([key, value]) => [
        html("dt", {}, key),
        html("dd", {}, value),
      ]),
    ),
    found.values ? html("pre", {}, listed(found.values, found.count)) : null,
    npyButton(found.array, constant.name),
    found.bars?.length ? histogram(found) : null,
    constant.line === null ? null : html("p", { class: "place" }, `line ${constant.line}`),
    constant.xml ? html("pre", {}, constant.xml) : null,
  ].filter(Boolean);
}

/** The range, the mean, and the numbers of NaNs and infinities. */
function ranges(found) {
  const rows = [];
  if (found.min !== undefined) {
    rows.push(["range", `${shown(found.min)} … ${shown(found.max)}`], ["mean", shown(found.mean)]);
  }
  if (found.nan !== undefined) rows.push(["NaN", found.nan]);
  if (found.infinite) rows.push(["infinite", found.infinite]);
  return rows;
}

/** Elements as text; `count` is the number of all, if only the first are given. */
function listed(values, count = values.length) {
  const more = count > values.length ? ", …" : "";
  return `[${values.map(shown).join(", ")}${more}]`;
}

function valueOf(node, at, value) {
  const type = value.shape ? `${value.type}[${value.shape.join(",")}]` : value.type;
  const name = node.outputs[at]?.name ?? node.name;
  return [
    row(at, name, type),
    html(
      "dl",
      {},
      ranges(value).map(([key, text]) => [html("dt", {}, key), html("dd", {}, text)]),
    ),
    value.values ? html("pre", {}, listed(value.values)) : "",
    npyButton(value.array, name) ?? "",
  ];
}

function histogram(found) {
  const most = Math.max(...found.bars);
  const bars = found.bars.map((count, at) => {
    const height = count ? Math.max(1, (count / most) * 46) : 0;
    const bar = { x: at * 10 + 1, y: 48 - height, width: 8, height };
    return svg("rect", bar, svg("title", {}, counted(count, "element")));
  });
  const label = `histogram from ${shown(found.min)} to ${shown(found.max)}`;
  return html(
    "figure",
    {},
    svg(
      "svg",
      { class: "histogram", viewBox: "0 0 240 48", role: "img", "aria-label": label },
      bars,
    ),
    html("figcaption", {}, html("span", {}, shown(found.min)), html("span", {}, shown(found.max))),
  );
}
