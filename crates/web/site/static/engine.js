/** The engine in workers. */

import { bytesOf, inflate } from "airwnd/data.js";

let compiled = null;

/** Compiles the module of the page once; workers share it. */
function module() {
  const element = document.getElementById("engine");
  compiled ??= inflate(bytesOf(element.textContent)).then((bytes) => WebAssembly.compile(bytes));
  return compiled;
}

/** A rejected request: one line for the reader. */
export class EngineError extends Error {}

export class Engine {
  #worker = null;
  #waiting = new Map();
  #number = 0;

  /** Sends a task to the worker, which is started first if there is none. */
  async request(task, values = {}, onProgress = null) {
    if (!this.#worker) await this.#start();
    return this.#send(task, values, onProgress);
  }

  /** Ends the worker, and with it any computation; the next request starts another one. */
  stop(why = "stopped") {
    this.#worker?.terminate();
    this.#worker = null;
    for (const { reject } of this.#waiting.values()) reject(new EngineError(why));
    this.#waiting.clear();
  }

  async #start() {
    const shared = await module();
    if (this.#worker) return;
    const source = new Blob([document.getElementById("worker").textContent], { type: "text/javascript" });
    const address = URL.createObjectURL(source);
    this.#worker = new Worker(address);
    this.#worker.onmessage = ({ data }) => this.#answer(data);
    this.#worker.onerror = (event) => this.stop(event.message);
    await this.#send("load", { module: shared });
    URL.revokeObjectURL(address);
  }

  #send(task, values, onProgress = null) {
    const number = this.#number++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject, onProgress });
      this.#worker.postMessage({ number, task, ...values });
    });
  }

  #answer({ number, result, error, fatal, progress, duration }) {
    const waiting = this.#waiting.get(number);
    if (!waiting) return;
    if (progress !== undefined) {
      waiting.onProgress?.(progress, duration);
      return;
    }
    this.#waiting.delete(number);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(new EngineError(error));
    if (fatal) this.stop(error);
  }
}
