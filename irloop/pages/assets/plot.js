// Plots curves over iterations: {curves: [{name, points: [[x, y]]}]}, y on a logarithmic scale.

const PLOT = { width: 860, height: 260, left: 64, right: 16, top: 14, bottom: 36 };

function plotOf({ curves }) {
  const all = curves.flatMap(({ points }) => points.map(([x, y]) => [x, numeric(y)]));
  const positive = all.map(([, y]) => y).filter((y) => y > 0 && Number.isFinite(y));
  if (!positive.length && all.every(([, y]) => y === 0)) {
    return html("p", { class: "hint" }, "No state differs in any iteration.");
  }
  const low = positive.length ? Math.floor(Math.log10(Math.min(...positive))) : -1;
  const high = Math.max(
    low + 1,
    positive.length ? Math.ceil(Math.log10(Math.max(...positive))) : 1,
  );
  const last = Math.max(1, ...all.map(([x]) => x));
  const across = (x) => PLOT.left + (x / last) * (PLOT.width - PLOT.left - PLOT.right);
  const tall = PLOT.height - PLOT.top - PLOT.bottom;
  // The lowest step of the scale is zero, above it are powers of ten.
  const up = (y) => {
    const part = y === 0 ? 0 : (Math.log10(Math.min(y, 10 ** high)) - low + 1) / (high - low + 1);
    return PLOT.height - PLOT.bottom - Math.max(0, Math.min(1, part)) * tall;
  };
  const step = Math.max(1, Math.ceil((high - low) / 6));
  const ticks = [[0, "0"]];
  for (let power = low; power <= high; power += step) ticks.push([10 ** power, `1e${power}`]);
  const grid = ticks.map(([y, words]) => [
    svg("line", {
      class: "grid",
      x1: PLOT.left,
      x2: PLOT.width - PLOT.right,
      y1: up(y),
      y2: up(y),
    }),
    svg("text", { class: "tick", x: PLOT.left - 8, y: up(y) + 4, "text-anchor": "end" }, words),
  ]);
  const stride = Math.max(1, Math.ceil(last / 10));
  for (let x = 0; x <= last; x += stride) {
    const place = { class: "tick", x: across(x), y: PLOT.height - PLOT.bottom + 16 };
    grid.push(svg("text", { ...place, "text-anchor": "middle" }, x));
  }
  const middle = { class: "tick", x: PLOT.width / 2, y: PLOT.height - 4, "text-anchor": "middle" };
  grid.push(svg("text", middle, "iteration"));
  const lines = curves.map(({ name, points }, at) => {
    const places = points.map(([x, y]) => `${across(x)},${up(numeric(y))}`);
    const group = svg("g", { class: "curve" }, svg("title", {}, name));
    group.style.setProperty("--wire", `var(--state${at % 8})`);
    group.append(svg("polyline", { points: places.join(" ") }));
    if (points.length <= 60) {
      for (const [x, y] of points) {
        const words = `${name}, iteration ${x}: ${shown(y)}`;
        group.append(
          svg("circle", { cx: across(x), cy: up(numeric(y)), r: 3 }, svg("title", {}, words)),
        );
      }
    }
    return group;
  });
  const keys = curves.map(({ name }, at) => {
    const line = svg(
      "svg",
      { class: "curve", width: 22, height: 10 },
      svg("path", { d: "M1,5H21" }),
    );
    line.style.setProperty("--wire", `var(--state${at % 8})`);
    return html("span", { class: "row" }, line, html("span", {}, name));
  });
  const view = { class: "plot", viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, role: "img" };
  const label = "error of each state over iterations";
  return [
    html("div", { class: "scroll" }, svg("svg", { ...view, "aria-label": label }, grid, lines)),
    html("div", { class: "legend" }, keys),
  ];
}

function numeric(value) {
  return typeof value === "number" ? value : Number.POSITIVE_INFINITY;
}
