// Tables that are sorted by a click on the head of a column, and can be filtered.
//
// A cell is a text, a number, null, or {text, model, path}: the place of a node in a model,
// {text, key}: a text that is sorted by a number, or {text, href}: a link to a file.

const ROWS_AT_FIRST = 100;

function tableOf({ columns, rows }, page) {
  const body = html("tbody");
  const more = html("button", { class: "more", hidden: true });
  const state = { sorted: null, down: false, wanted: "", most: ROWS_AT_FIRST };
  const show = () => {
    const found = state.wanted
      ? rows.filter((cells) => textOf(cells).includes(state.wanted))
      : [...rows];
    if (state.sorted !== null) {
      const sign = state.down ? -1 : 1;
      found.sort((a, b) => sign * order(a[state.sorted], b[state.sorted]));
    }
    body.replaceChildren(...found.slice(0, state.most).map((cells) => rowOf(cells, columns, page)));
    more.hidden = found.length <= state.most;
    more.textContent = `show ${Math.min(1000, found.length - state.most)} more of ${found.length}`;
  };
  more.addEventListener("click", () => {
    state.most += 1000;
    show();
  });
  const heads = columns.map((column, at) => {
    const button = html("button", {}, column.name);
    const head = html("th", { scope: "col", class: column.kind }, button);
    button.addEventListener("click", () => {
      // Numbers begin with the largest, because readers look for the worst.
      state.down = state.sorted === at ? !state.down : column.kind === "number";
      state.sorted = at;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      show();
    });
    return head;
  });
  const filter = html("input", {
    type: "search",
    placeholder: "Filter",
    "aria-label": "filter rows",
    oninput: (event) => {
      state.wanted = event.target.value.trim().toLowerCase();
      show();
    },
  });
  show();
  const table = html("table", {}, html("thead", {}, html("tr", {}, heads)), body);
  return [rows.length > 12 ? filter : null, html("div", { class: "scroll" }, table), more];
}

function rowOf(cells, columns, page) {
  return html(
    "tr",
    {},
    cells.map((cell, at) => html("td", { class: columns[at].kind }, contentOf(cell, page))),
  );
}

function contentOf(cell, page) {
  if (cell === null) return "–";
  if (typeof cell !== "object") return shown(cell);
  const words = html("span", { class: "name" }, cell.text);
  if (cell.href) return html("a", { href: cell.href, rel: "noreferrer" }, words);
  if (page.models[cell.model]?.byPath.get(cell.path) === undefined) return words;
  const act = () => page.revealPath(cell.model, cell.path);
  return html("button", { class: "link", title: "show it in the picture", onclick: act }, words);
}

function textOf(cells) {
  return cells
    .map((cell) => cell?.text ?? String(cell ?? ""))
    .join("\n")
    .toLowerCase();
}

/** The order of two cells: nothing first, then numbers, then texts. */
function order(a, b) {
  const [x, y] = [keyOf(a), keyOf(b)];
  if (typeof x === "number" && typeof y === "number") return x < y ? -1 : Number(x > y);
  if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
  return x.localeCompare(y, "en", { numeric: true });
}

function keyOf(cell) {
  if (cell === null) return Number.NEGATIVE_INFINITY;
  if (cell === "inf" || cell === "nan") return Number.POSITIVE_INFINITY;
  if (typeof cell === "number") return cell;
  return cell.key ?? cell.text ?? String(cell);
}
