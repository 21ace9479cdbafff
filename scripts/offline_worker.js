"use strict";
// A browser starts no worker for a page that was opened from disk. This one runs its script in a hidden frame instead,
// so that the search of the documentation asks nobody outside.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = Object.assign(document.createElement("iframe"), { hidden: true });
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      const load = (address) => new Promise((done, failed) => {
        const script = inner.document.createElement("script");
        Object.assign(script, { src: new URL(address, document.baseURI).href, onload: done, onerror: failed });
        inner.document.body.append(script);
      });
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...addresses) => addresses.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
      load(url).then(() => {
        this.ready = true;
        for (const data of this.waiting.splice(0)) this.postMessage(data);
      });
    }
    postMessage(data) {
      if (this.ready) this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
    terminate() { this.frame.remove(); }
  };
}
