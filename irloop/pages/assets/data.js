// The models of the page, and what can be looked up in them.
//
// A model has numbered `nodes` and `graphs`. The nodes of a graph are a tree of numbers and groups
// {names, copies}. A group of one copy is a scope; one of several is a block that repeats, drawn
// once. What is open is a set of keys: "n" and a number for the bodies of an operation, "g" and a
// number for a group, with "*" for all copies of a block, with "/" and a number for a part of its
// copies, and with "." and a number for one copy.

/** The number of boxes in the first picture, and up to which everything is open at first. */
const FIRST = 60;

/** The number of boxes that "Open all" shows at most. */
const MOST_BOXES = 2500;

/** More copies of a block than this are shown in parts. */
const PART = 50;

class Model {
  constructor(data) {
    Object.assign(this, data);
    this.open = new Set();
    this.groups = [];
    /** The groups around a node in its graph as steps {group, copy, index}, outermost first. */
    this.steps = this.nodes.map(() => []);
    this.trees = this.graphs.map((graph) => this.tree(graph.nodes, []));
    // A result may have the path of the operation that it returns, which comes first.
    this.byPath = new Map(this.nodes.map((node, at) => [node.path, at]).reverse());
    this.marks = new Map(
      Object.entries(data.marks ?? {}).map(([path, mark]) => [this.byPath.get(path), mark]),
    );
    /** The operations with marks in their bodies. */
    this.markedInside = new Set(
      [...this.marks.keys()]
        .filter((number) => number !== undefined)
        .flatMap((number) => this.ownersOf(number)),
    );
    this.openAtFirst();
  }

  /** The operations around a node, innermost first. */
  ownersOf(number) {
    const found = [];
    let { owner } = this.graphs[this.nodes[number].graph];
    while (owner !== null) {
      found.push(owner);
      owner = this.graphs[this.nodes[owner].graph].owner;
    }
    return found;
  }

  tree(items, around) {
    return items.map((item) => {
      if (typeof item === "number") {
        this.steps[item] = around;
        return item;
      }
      const group = { key: `g${this.groups.length}`, names: item.names, times: item.names.length };
      this.groups.push(group);
      group.copies = item.copies.map((copy) => membersOf(copy));
      group.members = group.copies.flat();
      group.index = new Map(group.copies.flatMap((copy) => copy.map((number, at) => [number, at])));
      const trees = item.copies.map((copy, at) =>
        this.tree(copy, [...around, { group, copy: at }]),
      );
      group.parts = trees.map((tree, at) => ({
        key: `${group.key}.${at}`,
        name: item.names[at],
        items: tree,
        members: group.copies[at],
      }));
      return group;
    });
  }

  /** Open what tells most, as long as the picture stays small. */
  openAtFirst() {
    let seen = this.trees[0].length;
    let level = this.trees[0];
    const all = this.nodes.length;
    while (level.length) {
      const closed = level.flatMap((item) => this.closedIn(item));
      const more = closed.reduce((sum, each) => sum + each.count, 0);
      // Open a whole level, or else only what holds most of the model.
      const chosen =
        seen + more <= FIRST
          ? closed
          : closed.filter(({ size, count }) => size > all / 3 && count <= 2 * FIRST);
      for (const { key, count } of chosen) {
        this.open.add(key);
        seen += count;
      }
      level = chosen.flatMap(({ items }) => items);
    }
  }

  /** What can be opened in an item: {key, count, size, items}. */
  closedIn(item) {
    if (typeof item !== "number") {
      const { items } = item.parts[0];
      return [{ key: item.key, count: items.length, size: item.members.length, items }];
    }
    const bodies = this.nodes[item].bodies ?? [];
    if (!bodies.length) return [];
    const items = bodies.flatMap((at) => this.trees[at]);
    return [{ key: `n${item}`, count: items.length, size: this.insideOf(item), items }];
  }

  /** The number of nodes in the bodies of a node. */
  insideOf(number) {
    let count = 0;
    const pending = [number];
    while (pending.length) {
      for (const at of this.nodes[pending.pop()].bodies ?? []) {
        const members = membersOf(this.graphs[at].nodes);
        count += members.length;
        pending.push(...members.filter((member) => this.nodes[member].bodies));
      }
    }
    return count;
  }

  /** The key of the box that stands for a node in its graph. */
  shownAs(number) {
    let shown = number;
    for (let at = 0; at < this.steps[shown].length; at++) {
      const { group, copy } = this.steps[shown][at];
      if (!this.open.has(group.key)) return group.key;
      if (group.times === 1) continue;
      if (this.open.has(`${group.key}*`)) {
        const span = spanOf(group, copy);
        if (span && !this.open.has(span)) return span;
        const { key, items } = group.parts[copy];
        if (items.length > 1 && !this.open.has(key)) return key;
      } else if (copy) {
        shown = group.copies[0][group.index.get(shown)];
      }
    }
    return `n${shown}`;
  }

  /** The key of a block that is drawn once if an edge leads from one of its copies to another. */
  blockBetween(source, target) {
    const [a, b] = [this.steps[source], this.steps[target]];
    for (let at = 0; at < Math.min(a.length, b.length) && a[at].group === b[at].group; at++) {
      const { key } = a[at].group;
      if (a[at].copy !== b[at].copy) return this.open.has(`${key}*`) ? null : key;
    }
    return null;
  }

  /** The group that has most in common with nodes, as [key, a node of it]; null if none has. */
  groupLike(numbers) {
    const wanted = new Set(numbers);
    let best = null;
    let most = 0;
    for (const group of this.groups) {
      const isOpen = this.open.has(`${group.key}*`);
      for (const { key, members } of isOpen ? [group, ...group.parts] : [group]) {
        const same = members.filter((number) => wanted.has(number)).length;
        const alike = same / (wanted.size + members.length - same);
        if (alike > most) [best, most] = [[key, members[0]], alike];
      }
    }
    return best;
  }

  /** The keys that must be open for a node itself to be drawn, innermost graph last. */
  keysAround(number) {
    const { owner } = this.graphs[this.nodes[number].graph];
    const outer = owner === null ? [] : [...this.keysAround(owner), `n${owner}`];
    const own = this.steps[number].flatMap(({ group, copy }) => {
      const part = group.parts[copy];
      const all = this.open.has(`${group.key}*`) || copy > 0;
      if (!all || group.times === 1) return [group.key];
      return [group.key, `${group.key}*`, spanOf(group, copy), part.key].filter(Boolean);
    });
    return [...outer, ...own];
  }

  /** Open what hides a node, or the group `until` around it; returns true if it was closed. */
  reveal(number, until = null) {
    const keys = this.keysAround(number);
    const hiding = until === null ? keys : keys.slice(0, keys.indexOf(until));
    const closed = hiding.filter((key) => !this.open.has(key));
    for (const key of closed) this.open.add(key);
    return closed.length > 0;
  }

  /** Open every group and body from the outside in, blocks once, up to a number of boxes. */
  openAll() {
    let level = this.trees[0];
    let seen = level.length;
    while (level.length) {
      const next = [];
      for (const { key, count, items } of level.flatMap((item) => this.closedIn(item))) {
        if (seen + count > MOST_BOXES) continue;
        seen += count;
        this.open.add(key);
        next.push(...items);
      }
      level = next;
    }
  }

  /** The loops around a node, outermost first. */
  loopsAround(number) {
    const found = [];
    let graph = this.graphs[this.nodes[number].graph];
    while (graph.owner !== null) {
      if (graph.label === "body") found.unshift(graph.owner);
      graph = this.graphs[this.nodes[graph.owner].graph];
    }
    return found;
  }
}

/** The key of the box of neighbouring copies, if a block has many. */
function spanOf(group, copy) {
  return group.times > PART ? `${group.key}/${Math.floor(copy / PART)}` : null;
}

/** The numbers of the nodes in a tree, in order. */
function membersOf(items) {
  return items.flatMap((item) =>
    typeof item === "number" ? [item] : item.copies.flatMap((copy) => membersOf(copy)),
  );
}
