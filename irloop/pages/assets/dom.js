// Makes elements. Text enters the page only as text nodes, never as markup: names in a model may
// be hostile.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

/** An HTML element with attributes (onclick and others are listeners) and children. */
function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element with attributes and children. */
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The text, shortened in the middle. */
function shortened(text, most) {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - tail)}…${text.slice(text.length - tail)}`;
}

/** A number as text, rounded to five digits unless it is a small integer. */
function shown(value) {
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(3) : String(Number(value.toPrecision(5)));
}

/** A count and its noun, with thousands separated. */
function counted(count, word) {
  const ending = count === 1 ? "" : word.endsWith("x") ? "es" : "s";
  return `${count.toLocaleString("en")} ${word}${ending}`;
}

/** For each font a context that measures with it, and the widths of texts that were asked for. */
const rulers = new Map();

/** The width of a text in pixels. */
function widthOf(text, font) {
  if (!rulers.has(font)) {
    const context = document.createElement("canvas").getContext("2d");
    context.font = font;
    rulers.set(font, { context, widths: new Map() });
  }
  const { context, widths } = rulers.get(font);
  if (!widths.has(text)) widths.set(text, context.measureText(text).width);
  return widths.get(text);
}
