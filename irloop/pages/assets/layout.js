// Runs elkjs: in a worker made from the text in the page, or, if the browser does not allow
// that, in the page itself.

class Layouter {
  constructor() {
    this.waiting = new Map();
    this.next = 0;
    this.text = document.getElementById("elk").textContent;
    this.inline = null;
    try {
      this.startWorker();
    } catch {
      this.worker = null;
    }
  }

  startWorker() {
    // In a worker the constructor installs the handler of messages, then fails because it has no page.
    const start = "\ntry { new ELK(); } catch {}";
    const blob = new Blob([this.text, start], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(blob));
    this.worker.onmessage = ({ data }) => this.answered(data);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.worker = null;
      const pending = [...this.waiting.values()];
      this.waiting.clear();
      for (const item of pending) this.inPage(item.graph).then(item.resolve, item.reject);
    };
    this.worker.postMessage({ id: -1, cmd: "register", algorithms: ["layered"] });
  }

  answered({ id, error, data }) {
    const item = this.waiting.get(id);
    if (!item) return;
    this.waiting.delete(id);
    if (error) item.reject(new Error(error.message ?? String(error)));
    else item.resolve(data);
  }

  /** The graph with positions. */
  layout(graph) {
    if (!this.worker) return this.inPage(graph);
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { graph, resolve, reject });
      this.worker.postMessage({ id, cmd: "layout", graph, layoutOptions: {}, options: {} });
    });
  }

  async inPage(graph) {
    if (!this.inline) {
      document.head.append(html("script", {}, this.text));
      this.inline = new window.ELK({ algorithms: ["layered"] });
    }
    return this.inline.layout(graph);
  }
}
