// Draws a scene with positions as SVG.

const CORNER = 6;

/** The drawing of a laid out scene; `actions` has `select` and `toggle`. */
function drawing(scene, laid, actions) {
  const places = new Map();
  const boxes = [];
  // The texts of open boxes are drawn over the wires that cross them.
  const heads = [];
  const walk = (item) => {
    for (const port of item.ports ?? []) places.set(port.id, port);
    for (const child of item.children ?? []) {
      places.set(child.id, child);
      const box = scene.boxes.get(child.id);
      const group = drawnBox(box, child, actions);
      const head = svg("g", { class: "head", transform: group.getAttribute("transform") });
      const place = box.isOpen ? head : group;
      place.append(...textsOf(box, child));
      if (box.key) place.append(toggleOf(box, child, actions));
      boxes.push(group);
      if (box.isOpen) heads.push(head);
      walk(child);
    }
  };
  walk(laid);
  const edges = laid.edges.map((edge) => drawnEdge(scene.wires.get(edge.id), edge));
  const ports = [...places.values()]
    .filter((place) => scene.boxes.get(place.id)?.kind === "port")
    .map((place) => drawnPort(scene.boxes.get(place.id), place));
  const group = svg("g", { class: "world" }, boxes, edges, ports, heads);
  return { group, places };
}

function drawnBox(box, place, actions) {
  const classes = ["box", box.kind, box.mark ? `mark-${box.mark}` : "", box.isOpen ? "open" : ""];
  const group = svg("g", {
    class: classes.filter(Boolean).join(" "),
    transform: `translate(${place.x},${place.y})`,
    "data-id": box.id,
  });
  const size = { width: place.width, height: place.height };
  group.append(
    svg("rect", { ...size, rx: box.kind === "parameter" || box.kind === "result" ? 14 : 6 }),
  );
  if (box.number !== undefined) {
    group.append(svg("title", {}, box.title));
    group.setAttribute("tabindex", "0");
    group.addEventListener("click", () => actions.select(box.number));
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") actions.select(box.number);
    });
  }
  return group;
}

/** Title, lines, and room for a value. */
function textsOf(box, place) {
  const x = place.width / 2;
  const rows = box.shownLines.map((line, at) =>
    svg("text", { class: "line", x, y: 21 + LINE * (at + 1) }, line),
  );
  const title = svg("text", { class: "title", x, y: 21 }, box.shownTitle);
  if (box.number === undefined) return [title, ...rows];
  const value = { class: "value", x, y: 21 + LINE * (rows.length + 1), "data-value": box.number };
  return [title, ...rows, svg("text", value)];
}

function toggleOf(box, place, actions) {
  const x = place.width - 17;
  const words = box.isOpen ? "close" : "open";
  const toggle = svg(
    "g",
    { class: "toggle", role: "button", tabindex: "0", "data-toggle": box.key, "aria-label": words },
    svg("title", {}, words),
    svg("circle", { cx: x, cy: 16, r: 8 }),
    svg("path", { d: `M${x - 4},16h8${box.isOpen ? "" : `M${x},12v8`}` }),
  );
  const act = (event) => {
    event.stopPropagation();
    actions.toggle(box.key);
  };
  toggle.addEventListener("click", act);
  toggle.addEventListener("keydown", (event) => {
    if (event.key === "Enter") act(event);
  });
  return toggle;
}

function drawnPort(box, place) {
  const x = place.x + place.width / 2;
  const y = place.y + place.height / 2;
  const labels = (place.labels ?? []).map((label) => {
    const at = { x: label.x + label.width / 2, y: label.y + 10 };
    return svg("text", { class: "words", ...at }, label.text);
  });
  return svg(
    "g",
    { class: "port" },
    svg("circle", { cx: x, cy: y, r: 4 }, svg("title", {}, box.label)),
    labels,
  );
}

function drawnEdge(wire, edge) {
  const group = svg("g", { class: `wire ${wire.kind}` });
  if (wire.state !== undefined && wire.state !== null) {
    group.style.setProperty("--wire", `var(--state${wire.state % 8})`);
  }
  for (const section of edge.sections ?? []) {
    const points = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
    if (wire.kind === "back") points.reverse();
    group.append(svg("path", { d: rounded(points) }), arrow(points));
  }
  for (const label of edge.labels ?? []) {
    const x = label.x + label.width / 2;
    group.append(
      svg("rect", {
        class: "plate",
        x: label.x,
        y: label.y,
        width: label.width,
        height: label.height,
        rx: 4,
      }),
      svg("text", { class: "words", x, y: label.y + 11 }, label.text),
    );
  }
  const count = wire.count > 1 ? ` (${wire.count} edges)` : "";
  group.append(svg("title", {}, (wire.words || "edge") + count));
  return group;
}

/** Straight lines with rounded corners. */
function rounded(points) {
  let text = `M${points[0].x},${points[0].y}`;
  for (let at = 1; at < points.length - 1; at++) {
    const [before, corner, after] = points.slice(at - 1, at + 2);
    const start = towards(corner, before);
    const end = towards(corner, after);
    text += `L${start.x},${start.y}Q${corner.x},${corner.y} ${end.x},${end.y}`;
  }
  const last = points.at(-1);
  return `${text}L${last.x},${last.y}`;
}

function towards(start, end) {
  const far = Math.hypot(end.x - start.x, end.y - start.y);
  const part = far ? Math.min(CORNER, far / 2) / far : 0;
  return { x: start.x + (end.x - start.x) * part, y: start.y + (end.y - start.y) * part };
}

function arrow(points) {
  const tip = points.at(-1);
  const from = points.at(-2);
  const angle = (Math.atan2(tip.y - from.y, tip.x - from.x) * 180) / Math.PI;
  const place = `translate(${tip.x},${tip.y}) rotate(${angle})`;
  return svg("path", { class: "arrow", d: "M0,0L-7,-3.4L-7,3.4z", transform: place });
}
