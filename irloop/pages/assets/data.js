// The models of the page, and what can be looked up in them.
//
// A model has numbered `nodes` and `graphs`. The nodes of a graph are a tree: a list in it is a
// group of consecutive nodes. Groups and operations with bodies can be opened; the key of a group
// is "g" and a number, that of an operation "n" and its number.

class Model {
  constructor(data) {
    Object.assign(this, data);
    this.open = new Set();
    this.groups = [];
    /** Keys that must be open for a node to be seen, outermost first, without those of its graph. */
    this.inside = this.nodes.map(() => []);
    this.trees = this.graphs.map((graph) => this.tree(graph.nodes, []));
    this.marks = data.marks ?? {};
    this.byPath = new Map(this.nodes.map((node, at) => [node.path, at]));
    this.openAtFirst();
  }

  /** The nodes of a graph with groups as objects {key, items, members}. */
  tree(items, around) {
    return items.map((item) => {
      if (!Array.isArray(item)) {
        this.inside[item] = around;
        return item;
      }
      const group = { key: `g${this.groups.length}`, items: [], members: [] };
      this.groups.push(group);
      group.items = this.tree(item, [...around, group.key]);
      group.members = item.flat(Infinity);
      return group;
    });
  }

  /** Open bodies as long as the picture stays small. */
  openAtFirst() {
    let seen = this.trees[0].length;
    this.graphs.forEach((graph, at) => {
      if (graph.owner === null || !this.isVisible(graph.owner)) return;
      const more = this.trees[at].length;
      if (seen + more > 60) return;
      seen += more;
      this.open.add(`n${graph.owner}`);
    });
  }

  /** The keys that must be open for a node to be seen. */
  keysAround(number) {
    const keys = [...this.inside[number]];
    let owner = this.graphs[this.nodes[number].graph].owner;
    while (owner !== null) {
      keys.push(`n${owner}`, ...this.inside[owner]);
      owner = this.graphs[this.nodes[owner].graph].owner;
    }
    return keys;
  }

  isVisible(number) {
    return this.keysAround(number).every((key) => this.open.has(key));
  }

  /** Open everything that hides a node; returns true if something was closed. */
  reveal(number) {
    const closed = this.keysAround(number).filter((key) => !this.open.has(key));
    for (const key of closed) this.open.add(key);
    return closed.length > 0;
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
