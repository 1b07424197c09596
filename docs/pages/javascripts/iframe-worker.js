/* Browsers start no workers on pages that are opened from disk, and the search of the site is a
   worker. On such pages this class takes its place: it runs the script of the worker in a hidden
   frame. */
class FrameWorker extends EventTarget {
  constructor(url) {
    super()
    this.waiting = []
    this.frame = document.createElement("iframe")
    this.frame.hidden = true
    document.body.append(this.frame)
    const inner = this.frame.contentDocument
    inner.open()
    inner.write("<!doctype html><body></body>")
    inner.close()
    const scope = this.frame.contentWindow
    scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", {data}))
    const script = inner.createElement("script")
    script.onload = () => {
      const waiting = this.waiting
      this.waiting = null
      waiting.forEach(data => this.postMessage(data))
    }
    script.src = url
    inner.body.append(script)
  }

  postMessage(data) {
    if (this.waiting) this.waiting.push(data)
    else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data}))
  }

  terminate() {
    this.frame.remove()
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker
