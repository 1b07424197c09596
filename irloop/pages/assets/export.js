// Saves the picture as SVG or PNG, and values as .npy, from what is in the page.

/** The largest side of a PNG in pixels, which browsers can draw. */
const MOST_PIXELS = 8000;

/** The style of the page that concerns pictures, with its colours. */
function pictureStyle() {
  const root = getComputedStyle(document.documentElement);
  const rules = [...document.styleSheets[0].cssRules];
  const names = new Set();
  const found = rules
    .filter((rule) =>
      /^\.(box|cap|of-|wire|port|toggle|owner|body|group|parameter|result|constant)/.test(
        rule.selectorText ?? "",
      ),
    )
    .map((rule) => {
      for (const [, name] of rule.cssText.matchAll(/var\((--[\w-]+)/g)) names.add(name);
      return rule.cssText;
    });
  for (let at = 0; at < 8; at++) names.add(`--state${at}`);
  const values = [...names].map((name) => `${name}:${root.getPropertyValue(name)}`);
  return `svg{${values.join(";")}}${found.join("")}.toggle{display:none}`;
}

/** The whole picture as the text of an SVG file. */
function svgText(picture) {
  const { width, height } = picture.scene.root;
  picture.camera.writeBoxes();
  const world = picture.canvas.querySelector(".world").cloneNode(true);
  world.removeAttribute("transform");
  world.querySelector(".names").remove();
  const paper = getComputedStyle(document.body).backgroundColor;
  const whole = svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}` },
    svg("style", {}, pictureStyle()),
    svg("rect", { width, height, style: `fill:${paper}` }),
    world,
  );
  return new XMLSerializer().serializeToString(whole);
}

function saveSvg(picture, name) {
  save(new Blob([svgText(picture)], { type: "image/svg+xml" }), `${name}.svg`);
}

async function savePng(picture, name) {
  const { width, height } = picture.scene.root;
  const scale = Math.min(2, MOST_PIXELS / width, MOST_PIXELS / height);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  save(blob, `${name}.png`);
}

/** The bytes of a text in base64; a loop is several times as fast as `from` for large ones. */
function bytesOf(text) {
  const chars = atob(text);
  const bytes = new Uint8Array(chars.length);
  for (let at = 0; at < chars.length; at++) bytes[at] = chars.charCodeAt(at);
  return bytes;
}

/** A file in NumPy's format: the parts of `bytes` in base64 are its elements, `type` such as "<f4". */
function npy({ type, shape, bytes }) {
  const list = shape.join(", ") + (shape.length === 1 ? "," : "");
  const head = `{'descr': '${type}', 'fortran_order': False, 'shape': (${list}), }`;
  const padding = " ".repeat((64 - ((10 + head.length + 1) % 64)) % 64);
  const text = `${head}${padding}\n`;
  const length = String.fromCharCode(text.length % 256, Math.floor(text.length / 256));
  const start = Uint8Array.from(`\x93NUMPY\x01\x00${length}${text}`, (char) => char.charCodeAt(0));
  return new Blob([start, bytesOf(bytes.join(""))], { type: "application/octet-stream" });
}

/** A button that saves an array of the page, if the page has all its elements. */
function npyButton(array, name) {
  if (!array) return null;
  const file = `${name.replace(/[^\w.-]+/g, "_").slice(-80) || "value"}.npy`;
  return html("button", { class: "link npy", onclick: () => save(npy(array), file) }, "save .npy");
}

function save(blob, name) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
