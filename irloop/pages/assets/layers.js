// Assigns vertices to layers with edges leading down, and orders each layer for few crossings.
//
// K. Sugiyama, S. Tagawa, M. Toda (1981): layers by longest paths, bends where an edge crosses a
// layer, and sweeps that order each layer by barycentres.

const SWEEPS = 12;

/** The layer of each vertex; every edge [source, target] leads to a higher number. */
function ranksOf(count, edges, first, last) {
  const above = lists(count);
  const below = lists(count);
  for (const [source, target] of edges) {
    above[target].push(source);
    below[source].push(target);
  }
  const rank = new Array(count).fill(0);
  const top = first.size ? 1 : 0;
  for (let at = 0; at < count; at++) {
    if (first.has(at)) continue;
    rank[at] = above[at].reduce((most, source) => Math.max(most, rank[source] + 1), top);
  }
  const inner = rank.filter((_, at) => !last.has(at));
  const bottom = inner.reduce((most, each) => Math.max(most, each), -1) + 1;
  for (const at of last) rank[at] = bottom;
  // A vertex that reads nothing moves down to its first reader.
  for (let at = count - 1; at >= 0; at--) {
    if (above[at].length || !below[at].length || first.has(at) || last.has(at)) continue;
    rank[at] = below[at].reduce((least, target) => Math.min(least, rank[target] - 1), Infinity);
  }
  return rank;
}

function lists(count) {
  return Array.from({ length: count }, () => []);
}

/**
 * Layers of vertices, with bends for edges that cross layers; vertices from `count` on are bends.
 * Edges of one source end [source, ., offset] share their bends. `up` and `down` hold the
 * neighbours of each vertex as [vertex, own offset, offset of the neighbour].
 */
function layersOf(rank, edges) {
  const layers = lists(rank.reduce((most, each) => Math.max(most, each), -1) + 1);
  rank.forEach((layer, at) => layers[layer].push(at));
  const up = lists(rank.length);
  const down = lists(rank.length);
  const connect = (a, b, from, to) => {
    down[a].push([b, from, to]);
    up[b].push([a, to, from]);
  };
  const shared = new Map();
  const routes = edges.map(({ source, target, from, to, key }) => {
    const route = [];
    let before = source;
    let offset = from;
    for (let layer = rank[source] + 1; layer < rank[target]; layer++) {
      const name = `${key}>${layer}`;
      let bend = shared.get(name);
      if (bend === undefined) {
        bend = up.length;
        shared.set(name, bend);
        up.push([]);
        down.push([]);
        layers[layer].push(bend);
        connect(before, bend, offset, 0);
      }
      route.push(bend);
      before = bend;
      offset = 0;
    }
    connect(before, target, offset, to);
    return route;
  });
  const found = { count: rank.length, layers, up, down, routes };
  reduceCrossings(found);
  return found;
}

/** Order the layers so that few edges cross. */
function reduceCrossings({ layers, up, down }) {
  if (layers.every((layer) => layer.length < 2)) return;
  const place = new Array(up.length).fill(0);
  const number = (layer) => layer.forEach((vertex, at) => (place[vertex] = at));
  layers.forEach(number);
  const isSmall = up.length < 4000;
  let best = isSmall ? crossings(layers, down, place) : 0;
  let kept = layers.map((layer) => [...layer]);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const downwards = sweep % 2 === 0;
    const sides = downwards ? up : down;
    const ordered = downwards ? layers : [...layers].reverse();
    for (const layer of ordered) {
      if (layer.length < 2) continue;
      const centre = new Map(
        layer.map((vertex) => {
          const near = sides[vertex];
          if (!near.length) return [vertex, place[vertex]];
          // An offset orders the ends at one neighbour.
          const sum = near.reduce((all, [other, , to]) => all + place[other] + to / 1e4, 0);
          return [vertex, sum / near.length];
        }),
      );
      layer.sort((a, b) => centre.get(a) - centre.get(b));
      number(layer);
    }
    if (!isSmall) continue;
    const count = crossings(layers, down, place);
    if (count < best) {
      best = count;
      kept = layers.map((layer) => [...layer]);
    }
    if (!best) break;
  }
  if (isSmall) layers.forEach((layer, at) => layer.splice(0, layer.length, ...kept[at]));
}

/** The number of crossings between neighbouring layers. */
function crossings(layers, down, place) {
  let total = 0;
  layers.forEach((layer, at) => {
    const ends = layer.flatMap((vertex) =>
      [...down[vertex]]
        .sort((a, b) => a[1] - b[1] || place[a[0]] - place[b[0]])
        .map(([other]) => place[other]),
    );
    // Count inversions with a binary indexed tree.
    const size = (layers[at + 1]?.length ?? 0) + 1;
    const tree = new Array(size + 1).fill(0);
    ends.forEach((end, seen) => {
      let before = 0;
      for (let slot = end + 1; slot > 0; slot -= slot & -slot) before += tree[slot];
      total += seen - before;
      for (let slot = end + 1; slot <= size; slot += slot & -slot) tree[slot] += 1;
    });
  });
  return total;
}

/**
 * The horizontal centre of each vertex. Each sweep moves the vertices of a layer as close as their
 * order allows to where their edges are straight.
 */
function centresOf({ layers, up, down, count }, widths, gap) {
  const width = (vertex) => (vertex < count ? widths[vertex] : 2);
  const x = new Array(up.length).fill(0);
  for (const layer of layers) {
    let right = 0;
    layer.forEach((vertex, at) => {
      if (at) right += apart(width, layer[at - 1], vertex, gap, count);
      x[vertex] = right;
    });
    for (const vertex of layer) x[vertex] -= right / 2;
  }
  const sides = [[up], [down], [up], [down], [up], [down], [up, down], [up, down], [up]];
  sides.forEach((used, sweep) => {
    const ordered = sweep % 2 ? [...layers].reverse() : layers;
    for (const layer of ordered) {
      const wanted = layer.map((vertex) => {
        let sum = 0;
        let weight = 0;
        for (const side of used) {
          for (const [other, own, to] of side[vertex]) {
            // Long edges stay straight, and a vertex that reads nothing follows its reader.
            const isAlone = side === up && !up[other].length;
            const pull = (vertex >= count ? 3 : 1) * (other >= count ? 3 : 1) * (isAlone ? 0.1 : 1);
            sum += pull * (x[other] + to - own);
            weight += pull;
          }
        }
        return weight ? [sum / weight, weight] : [x[vertex], 0.05];
      });
      settle(layer, wanted, x, (a, b) => apart(width, a, b, gap, count));
    }
  });
  return x;
}

function apart(width, left, right, gap, count) {
  const room = left >= count && right >= count ? 10 : left >= count || right >= count ? 14 : gap;
  return (width(left) + width(right)) / 2 + room;
}

/** Put a layer as close as possible to `wanted` [place, weight], in its order and apart. */
function settle(layer, wanted, x, distance) {
  const blocks = [];
  let shift = 0;
  layer.forEach((vertex, at) => {
    if (at) shift += distance(layer[at - 1], vertex);
    const [place, weight] = wanted[at];
    let block = { sum: (place - shift) * weight, weight, vertices: [[vertex, shift]] };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).weight > block.sum / block.weight) {
      const before = blocks.pop();
      for (const each of block.vertices) before.vertices.push(each);
      block = {
        sum: before.sum + block.sum,
        weight: before.weight + block.weight,
        vertices: before.vertices,
      };
    }
    blocks.push(block);
  });
  for (const { sum, weight, vertices } of blocks) {
    for (const [vertex, offset] of vertices) x[vertex] = sum / weight + offset;
  }
}
