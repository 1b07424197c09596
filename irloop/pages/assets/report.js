// The parts of a report above and below the picture.
//
// A report has a `verdict` {level, text}, and the sections `before` and `after` the picture, each
// with a `title` and one of `lines`, `table` and `plot`.

function verdictOf({ verdict }) {
  return html("span", { class: `verdict ${verdict.level}` }, verdict.text);
}

function sectionsOf(sections, page) {
  return sections.map((section) => {
    const content = [];
    if (section.note) content.push(html("p", { class: "hint" }, section.note));
    if (section.lines)
      content.push(section.lines.map((line) => html("p", { class: "line" }, line)));
    if (section.plot) content.push(plotOf(section.plot));
    if (section.table) content.push(tableOf(section.table, page));
    return html("section", {}, html("h2", {}, section.title), content);
  });
}
