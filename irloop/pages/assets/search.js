// Finds nodes and constants by name, type, tensor name or path.

const MOST_FOUND = 50;

class Search {
  constructor(actions) {
    this.actions = actions;
    this.list = html("ul", { class: "found", role: "listbox", hidden: true });
    this.input = html("input", {
      type: "search",
      placeholder: "Search   /",
      "aria-label": "search names and types",
      oninput: () => this.look(),
      onkeydown: (event) => this.key(event),
      onfocus: () => this.look(),
    });
    this.element = html("div", { class: "search" }, this.input, this.list);
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input, select")) return;
      event.preventDefault();
      this.input.focus();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.element.contains(event.target)) this.list.hidden = true;
    });
  }

  use(model) {
    this.model = model;
    const readers = new Map();
    model.nodes.forEach((node, number) => {
      for (const input of node.inputs) {
        if (input?.constant !== undefined && !readers.has(input.constant))
          readers.set(input.constant, number);
      }
    });
    this.entries = [
      ...model.nodes.map((node, number) => {
        const words = [
          node.type,
          node.name,
          node.path,
          ...node.outputs.map((output) => output.name),
        ];
        return { number, text: words.join("\n").toLowerCase(), type: node.type, path: node.path };
      }),
      ...model.constants.flatMap((constant, at) => {
        if (!readers.has(at)) return [];
        const text = `${constant.name}\n${constant.path}`.toLowerCase();
        return [{ number: readers.get(at), text, type: "constant", path: constant.path }];
      }),
    ];
    this.input.value = "";
    this.list.hidden = true;
  }

  look() {
    const wanted = this.input.value.trim().toLowerCase();
    const all = wanted ? this.entries.filter(({ text }) => text.includes(wanted)) : [];
    const found = all
      .slice(0, MOST_FOUND)
      .map((entry) =>
        html(
          "li",
          {},
          html(
            "button",
            { role: "option", onclick: () => this.take(entry) },
            html("strong", {}, entry.type),
            " ",
            html("span", {}, entry.path),
          ),
        ),
      );
    if (all.length > MOST_FOUND)
      found.push(html("li", { class: "hint" }, `and ${all.length - MOST_FOUND} more`));
    if (wanted && !all.length) found.push(html("li", { class: "hint" }, "nothing found"));
    this.list.replaceChildren(...found);
    this.list.hidden = !wanted;
  }

  take(entry) {
    this.list.hidden = true;
    this.actions.reveal(entry.number);
  }

  key(event) {
    if (event.key === "Enter") this.list.querySelector("button")?.click();
    if (event.key === "Escape") this.list.hidden = true;
    if (event.key === "ArrowDown") this.list.querySelector("button")?.focus();
  }
}
