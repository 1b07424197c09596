// Draws a laid out scene as SVG.

const CORNER = 6;

/** The drawing of a scene; `actions` has `select` and `toggle`. */
function drawing(scene, actions) {
  const boxes = [];
  const wires = [];
  const ports = [];
  const names = [];
  /** A place in the layout as text; the layout of a picture from left to right is turned. */
  const at = ({ x, y }) => (scene.sideways ? `${y},${x}` : `${x},${y}`);
  at.sideways = scene.sideways;
  const walk = (container) => {
    for (const { from, to, ...edge } of container.edges) wires.push(drawnEdge(edge, at));
    for (const back of container.backs) wires.push(drawnBack(back, at));
    for (const port of [...container.ins, ...container.outs]) ports.push(drawnPort(port, at));
    for (const child of container.children) {
      boxes.push(drawnBox(child, actions));
      if (child.children || child.key) names.push(nameOf(child));
      if (child.children) walk(child);
    }
  };
  walk(scene.root);
  return svg("g", { class: "world" }, boxes, wires, ports, svg("g", { class: "names" }, names));
}

/** The name of a box that is written over it while the picture is small. */
function nameOf(box) {
  return svg("text", { x: box.x + 6, y: box.y, "data-name": box.id }, box.shownTitle);
}

function drawnBox(box, actions) {
  const classes = [
    "box",
    box.kind,
    box.family ? `of-${box.family}` : "",
    box.mark ? `mark-${box.mark}` : "",
    box.isOpen ? "open" : "",
  ];
  const group = svg("g", {
    class: classes.filter(Boolean).join(" "),
    transform: `translate(${box.x},${box.y})`,
    "data-id": box.id,
  });
  const size = { width: box.width, height: box.height };
  const rx = box.kind === "parameter" || box.kind === "result" ? 12 : 5;
  if (box.kind.includes("repeated")) {
    for (const shift of [8, 4]) group.append(svg("rect", { ...size, rx, x: shift, y: shift }));
  }
  group.append(svg("rect", { ...size, rx, class: "frame" }));
  group.append(svg("path", { class: "cap", d: barOf(box, rx) }));
  if (box.key) group.append(toggleOf(box, box.key, box.isOpen, box.width - 15, "", actions));
  if (box.all) {
    const words = box.all.isOpen ? "once" : "all";
    group.append(toggleOf(box, box.all.key, box.all.isOpen, box.width - 46, words, actions));
  }
  hinted(group, [box.title, ...box.lines.map(([, line]) => line)].join("\n"));
  group.setAttribute("tabindex", "-1");
  group.addEventListener("click", (event) => {
    event.stopPropagation();
    actions.select(box.id);
  });
  group.addEventListener("dblclick", () => box.key && actions.toggle(box.key));
  return group;
}

/** Give an element a tooltip when it is pointed at: a large picture has thousands of elements. */
function hinted(element, words) {
  const add = () => element.prepend(svg("title", {}, words));
  element.addEventListener("pointerenter", add, { once: true });
}

/** Write the texts of a box; the camera asks for it when the box comes into sight. */
function writeTexts(element, box) {
  element.append(svg("g", { class: "texts" }, textsOf(box)));
}

/** The coloured bar behind a title; that of an open box is behind all its texts. */
function barOf(box, rx) {
  const height = box.isOpen ? box.head : Math.min(HEAD, box.height);
  const round = height === box.height;
  const foot = round
    ? `V${height - rx}Q${box.width},${height} ${box.width - rx},${height}H${rx}Q0,${height} 0,${height - rx}`
    : `V${height}H0`;
  return `M0,${rx}Q0,0 ${rx},0H${box.width - rx}Q${box.width},0 ${box.width},${rx}${foot}Z`;
}

/** Title, lines, and room for a value. */
function textsOf(box) {
  const x = box.isOpen ? 12 : box.width / 2 - (box.key ? 10 : 0);
  const middle = box.isOpen ? 12 : box.width / 2;
  const anchor = box.isOpen ? "start" : "middle";
  const title = svg("text", { class: "title", x, y: 17, "text-anchor": anchor }, box.shownTitle);
  if (!box.isOpen) enlargeable(title, box);
  const texts = [
    title,
    ...box.shownLines.map(([kind, line], at) => {
      const place = { x: middle, y: HEAD + 3 + LINE * at + 11, "text-anchor": anchor };
      return svg("text", { class: `line ${kind}`, ...place }, line);
    }),
  ];
  if (box.number === undefined) return texts;
  const y = HEAD + 3 + LINE * box.shownLines.length + 11;
  const value = { class: "value", x: middle, y, "text-anchor": anchor, "data-value": box.number };
  return [...texts, svg("text", value)];
}

/** How large a title may be, and where, when nothing else is written in its box. */
function enlargeable(title, box) {
  const size = Math.min(26, (13 * (box.width - 8)) / widthOf(box.shownTitle, BOLD), box.height - 4);
  title.style.setProperty("--large", `${size}px`);
  title.style.setProperty("--middle", `${box.height / 2 - 17 + size * 0.36}px`);
}

function toggleOf(box, key, isOpen, x, words, actions) {
  const title = words ? (isOpen ? "show one copy" : "show all copies") : isOpen ? "close" : "open";
  const toggle = svg(
    "g",
    { class: "toggle", role: "button", "data-toggle": key, "aria-label": title },
    svg("title", {}, title),
  );
  if (words) {
    toggle.append(
      svg("rect", { x: x - 18, y: 4, width: 34, height: 16, rx: 8 }),
      svg("text", { class: "words", x: x - 1, y: 16 }, words),
    );
  } else {
    toggle.append(
      svg("circle", { cx: x, cy: 12, r: 8 }),
      svg("path", { d: `M${x - 4},12h8${isOpen ? "" : `M${x},8v8`}` }),
    );
  }
  toggle.addEventListener("click", (event) => {
    event.stopPropagation();
    actions.toggle(key);
  });
  return toggle;
}

function drawnPort(port, { sideways }) {
  const isIn = port.side === "in";
  const [x, y] = sideways
    ? [isIn ? port.x : port.x + port.width, port.y + port.height / 2]
    : [port.x + port.width / 2, isIn ? port.y : port.y + port.height];
  const group = svg("g", { class: "port" });
  if (port.title) {
    group.append(svg("circle", { cx: x, cy: y, r: 4 }, svg("title", {}, port.title)));
  }
  if (port.words) {
    const place = sideways
      ? { x: port.x + port.width / 2 + (isIn ? 4 : -4), y: y + 3.5 }
      : { x, y: isIn ? y + 16 : y - 9 };
    group.append(svg("text", { class: "words", ...place }, port.words));
  }
  return group;
}

function wireGroup(wire) {
  const group = svg("g", { class: `wire ${wire.kind}` });
  if (wire.state !== undefined && wire.state !== null) {
    group.style.setProperty("--wire", `var(--state${wire.state % 8})`);
  }
  return group;
}

function drawnEdge({ wire, count, ends, start, end, bends, rowStart, rowEnd }, at) {
  const group = wireGroup(wire);
  const numbers = new Set(ends.flatMap((pair) => pair ?? []));
  if (numbers.size) group.dataset.ends = [...numbers].slice(0, 40).join(" ");
  const points = [start, { x: start.x, y: Math.max(rowStart, start.y) }];
  for (const { x, top, bottom } of bends) points.push({ x, y: top }, { x, y: bottom });
  points.push({ x: end.x, y: Math.min(rowEnd, end.y) }, end);
  let d = `M${at(start)}`;
  points.slice(1).forEach((next, step) => {
    const before = points[step];
    const y = (before.y + next.y) / 2;
    if (Math.abs(before.x - next.x) < 0.5) d += `L${at(next)}`;
    else d += `C${at({ x: before.x, y })} ${at({ x: next.x, y })} ${at(next)}`;
  });
  group.append(svg("path", { d }), arrow(end, at));
  const edges = count > 1 ? ` (${count} edges)` : "";
  hinted(group, (wire.words || "edge") + edges);
  return group;
}

function drawnBack({ wire, points }, at) {
  const group = wireGroup(wire);
  group.append(svg("path", { d: rounded(points, at) }), arrow(points.at(-1), at));
  group.append(svg("title", {}, wire.words));
  return group;
}

/** Straight lines with rounded corners. */
function rounded(points, at) {
  let text = `M${at(points[0])}`;
  for (let step = 1; step < points.length - 1; step++) {
    const [before, corner, after] = points.slice(step - 1, step + 2);
    text += `L${at(towards(corner, before))}Q${at(corner)} ${at(towards(corner, after))}`;
  }
  return `${text}L${at(points.at(-1))}`;
}

function towards(start, end) {
  const far = Math.hypot(end.x - start.x, end.y - start.y);
  const part = far ? Math.min(CORNER, far / 2) / far : 0;
  return { x: start.x + (end.x - start.x) * part, y: start.y + (end.y - start.y) * part };
}

function arrow(tip, at) {
  const place = `translate(${at(tip)}) rotate(${at.sideways ? 0 : 90})`;
  return svg("path", { class: "arrow", d: "M0,0L-7,-3.4L-7,3.4z", transform: place });
}
