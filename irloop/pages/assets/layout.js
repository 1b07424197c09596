// Places the boxes and wires of a scene: each container is laid out on its own, from the inside
// out, and then stands in its surroundings as a box with ports.
//
// A container has `children` (boxes with a size, and containers) in an executable order, `ins` and
// `outs` (ports at its top and bottom), `edges` and `backs` from one end to another. An end is
// {item} or, at a container, {item, port}. The layout sets x, y, width and height of items, relative
// to the container, and where edges start, bend and end.
//
// Everything is computed from the top to the bottom. A picture from left to right is laid out with
// x and y exchanged: items and containers are turned back at the end, edges when they are drawn.

const GAP = 22;
const RISE = 34;
const PAD = 16;
/** The distance between the lines of two back edges. */
const TRACK = 9;

function layout(container, sideways) {
  for (const child of container.children) if (child.children) layout(child, sideways);
  const { ins, outs, children } = container;
  const items = [...ins, ...children, ...outs];
  if (sideways) items.forEach(turn);
  container.sideways = sideways;
  const number = new Map(items.map((item, at) => [item, at]));
  const inPorts = new Set(ins.keys());
  const outPorts = new Set(outs.map((port) => number.get(port)));
  const offset = ({ item, port }) => (port ? middleOf(port, sideways) - item.width / 2 : 0);
  // A damaged file may have an edge against the order.
  container.edges = container.edges.filter(
    ({ from, to }) => number.get(from.item) < number.get(to.item),
  );
  const edges = container.edges.map(({ from, to }) => ({
    source: number.get(from.item),
    target: number.get(to.item),
    from: offset(from),
    to: offset(to),
    key: `${from.item.id}:${from.port?.id ?? from.output ?? 0}`,
  }));
  const pairs = edges.map(({ source, target }) => [source, target]);
  const rank = ranksOf(items.length, pairs, inPorts, outPorts);
  const layered = layersOf(rank, edges);
  const widths = items.map((item) => item.width);
  const centres = centresOf(layered, widths, GAP);
  const rows = rowsOf(layered, rank, items, container, number);
  place(container, items, rank, centres, rows);
  routes(container, edges, layered, rank, centres, rows, number);
  if (sideways) [...items, container].forEach(turn);
}

/** Exchange the axes. */
function turn(item) {
  [item.x, item.y, item.width, item.height] = [item.y, item.x, item.height, item.width];
}

/** The place of a port on the border of its container, which is laid out already. */
function middleOf(port, sideways) {
  return sideways ? port.y + port.height / 2 : port.x + port.width / 2;
}

/** The top and height of each layer, with room for the lines of back edges between layers. */
function rowsOf({ layers }, rank, items, container, number) {
  const heights = layers.map(() => 0);
  items.forEach((item, at) => (heights[rank[at]] = Math.max(heights[rank[at]], item.height)));
  const tracks = new Array(layers.length + 1).fill(0);
  for (const back of container.backs) {
    back.above = rank[number.get(back.to.item)];
    back.below = rank[number.get(back.from.item)] + 1;
    back.upper = tracks[back.above]++;
    back.lower = tracks[back.below]++;
  }
  const tops = [];
  const head = container.sideways ? 0 : container.head;
  let y = head + (container.ins.length ? 0 : PAD) + tracks[0] * TRACK;
  heights.forEach((height, at) => {
    tops.push(y);
    y += height + (at < heights.length - 1 ? RISE : 0) + tracks[at + 1] * TRACK;
  });
  const bottom = y + (container.outs.length ? 0 : PAD);
  const least = container.sideways ? (container.leastWidth ?? 0) : 0;
  return { tops, heights, bottom: Math.max(bottom, least) };
}

function place(container, items, rank, centres, rows) {
  const left = items.reduce((least, item, at) => Math.min(least, centres[at] - item.width / 2), 0);
  const bends = centres.slice(items.length);
  const edge = bends.reduce((least, x) => Math.min(least, x), left);
  items.forEach((item, at) => {
    item.x = centres[at] - item.width / 2 - edge + PAD;
    // Ports at the top hang from the bar, those at the bottom stand on the border.
    const spare = rows.heights[rank[at]] - item.height;
    item.y = rows.tops[rank[at]] + (item.isPort ? (item.side === "out" ? spare : 0) : spare / 2);
  });
  const right = items.reduce((most, item) => Math.max(most, item.x + item.width), 0);
  const far = bends.reduce((most, x) => Math.max(most, x - edge + PAD), right);
  const content = far + PAD + container.backs.length * TRACK;
  const { sideways, leastWidth = 0, head } = container;
  container.width = sideways ? content + head : Math.max(leastWidth, content);
  container.height = rows.bottom;
  container.shift = PAD - edge;
  const spare = sideways ? head : (container.width - content) / 2;
  for (const item of items) item.x += spare;
  container.shift += spare;
  container.lane = far + spare + PAD;
}

function routes(container, edges, layered, rank, centres, rows, number) {
  const entries = new Map();
  container.edges.forEach((edge, at) => {
    const route = layered.routes[at];
    const near = route.length ? centres[route.at(-1)] + container.shift : null;
    const source = edge.from.item;
    edge.start = startOf(edge.from, container.sideways);
    edge.near = near ?? edge.start.x;
    if (!edge.to.port && !edge.to.item.isPort) {
      if (!entries.has(edge.to.item)) entries.set(edge.to.item, []);
      entries.get(edge.to.item).push(edge);
    }
    edge.bends = route.map((bend, step) => {
      const layer = rank[number.get(source)] + 1 + step;
      const x = centres[bend] + container.shift;
      return { x, top: rows.tops[layer], bottom: rows.tops[layer] + rows.heights[layer] };
    });
  });
  for (const [item, list] of entries) {
    // Edges that come from the left end further left.
    list.sort((a, b) => a.near - b.near);
    const step = Math.min(16, (item.width - 16) / (list.length + 1));
    list.forEach((edge, at) => {
      const x = item.x + item.width / 2 + (at - (list.length - 1) / 2) * step;
      edge.end = { x, y: item.y };
    });
  }
  for (const edge of container.edges) {
    const { item, port } = edge.to;
    edge.end ??= port
      ? { x: item.x + middleOf(port, container.sideways), y: item.y }
      : { x: item.x + item.width / 2, y: item.y };
    edge.rowEnd = rows.tops[rank[number.get(item)]];
    edge.rowStart =
      rows.tops[rank[number.get(edge.from.item)]] + rows.heights[rank[number.get(edge.from.item)]];
  }
  container.backs.forEach((back, at) => {
    const from = back.from.item;
    const to = back.to.item;
    const low = rows.tops[back.below - 1] + rows.heights[back.below - 1];
    const high = rows.tops[back.above];
    const x = container.lane + at * TRACK;
    const start = { x: from.x + from.width / 2 + 8, y: from.y + from.height };
    const end = { x: to.x + to.width / 2 + 8, y: to.y };
    const below = low + 8 + back.lower * TRACK;
    const above = high - 10 - back.upper * TRACK;
    back.points = [
      start,
      { x: start.x, y: below },
      { x, y: below },
      { x, y: above },
      { x: end.x, y: above },
      end,
    ];
  });
}

function startOf({ item, port, output = 0, outputs = 1 }, sideways) {
  if (port) return { x: item.x + middleOf(port, sideways), y: item.y + item.height };
  const step = Math.min(18, (item.width - 16) / outputs);
  const x = item.x + item.width / 2 + (item.isPort ? 0 : (output - (outputs - 1) / 2) * step);
  return { x, y: item.y + item.height };
}

/** Add the places of the containers, so that all places are relative to the picture. */
function absolute(container, sideways, left = 0, top = 0) {
  const [x, y] = sideways ? [top, left] : [left, top];
  const move = (point) => ({ x: point.x + x, y: point.y + y });
  for (const edge of container.edges) {
    edge.start = move(edge.start);
    edge.end = move(edge.end);
    edge.rowStart += y;
    edge.rowEnd += y;
    edge.bends = edge.bends.map((bend) => ({
      x: bend.x + x,
      top: bend.top + y,
      bottom: bend.bottom + y,
    }));
  }
  for (const back of container.backs) back.points = back.points.map(move);
  for (const item of [...container.ins, ...container.outs, ...container.children]) {
    item.x += left;
    item.y += top;
    if (item.children) absolute(item, sideways, item.x, item.y);
  }
}
