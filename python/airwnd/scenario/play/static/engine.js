/** The engine: in a worker, or behind the page. */

import { bytesOf, inflate } from "airwnd/data.js";

/** @type {Promise<WebAssembly.Module> | null} */
let compiled = null;

/** Module and worker: those of the page, or of a script that pages share. */
function source() {
  const text = (/** @type {string} */ id) => document.getElementById(id)?.textContent ?? "";
  return globalThis.airwndEngine ?? { module: text("engine"), worker: text("worker") };
}

/** Compiles the module once; workers share it. */
function module() {
  compiled ??= inflate(bytesOf(source().module)).then((bytes) => WebAssembly.compile(bytes));
  return compiled;
}

/** A text of others as one line that reads as it is written: without control characters and changes of direction. */
export const printable = (/** @type {string} */ text) => text.replace(/[\p{C}\u2028\u2029]/gu, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);

/** A rejected request: one line for the reader. */
export class EngineError extends Error {
  constructor(/** @type {string} */ text) {
    super(printable(text));
  }
}

/** The engine of the machine that serves the page, with the tasks of the worker. */
export class RemoteEngine {
  #name = Array.from(crypto.getRandomValues(new Uint32Array(2)), String).join("-");
  #stop = new AbortController();

  /**
   * @template {keyof Tasks} Task
   * @param {Task} task
   * @param {Tasks[Task][0]} values
   * @returns {Promise<Tasks[Task][1]>}
   */
  async request(task, values) {
    const { signal } = this.#stop;
    const body = JSON.stringify({ name: this.#name, task, ...values });
    let reply;
    try {
      reply = await (await fetch("engine", { method: "POST", headers: { "Content-Type": "application/json" }, body, signal })).json();
    } catch {
      throw new EngineError(signal.aborted ? "stopped" : "airwnd play has ended; start it again");
    }
    if (reply.error !== undefined) throw new EngineError(reply.error);
    return known(reply.result);
  }

  stop() {
    this.#stop.abort();
    this.#stop = new AbortController();
  }
}

/**
 * JSON has null for numbers without a value.
 *
 * @param {any} value
 * @returns {any}
 */
function known(value) {
  if (Array.isArray(value)) return value.map((each) => (each === null ? NaN : known(each)));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, known(each)]));
}

/** @typedef {(simulated: number, duration?: string) => void} OnProgress */

export class Engine {
  /** @type {Worker | null} */
  #worker = null;
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: EngineError) => void, onProgress?: OnProgress }>} */
  #waiting = new Map();
  #number = 0;

  /**
   * Sends a task to the worker, which is started first if there is none.
   *
   * @template {keyof Tasks} Task
   * @param {Task} task
   * @param {Tasks[Task][0]} values
   * @param {OnProgress} [onProgress]
   * @returns {Promise<Tasks[Task][1]>}
   */
  async request(task, values, onProgress) {
    return this.#send(this.#worker ?? (await this.#start()), task, values, onProgress);
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
    if (this.#worker) return this.#worker;
    const address = URL.createObjectURL(new Blob([source().worker], { type: "text/javascript" }));
    const worker = new Worker(address);
    this.#worker = worker;
    worker.onmessage = ({ data }) => this.#answer(data);
    worker.onerror = (event) => this.stop(event.message);
    await this.#send(worker, "load", { module: shared });
    URL.revokeObjectURL(address);
    return worker;
  }

  /**
   * @param {Worker} worker
   * @param {string} task
   * @param {object} values
   * @param {OnProgress} [onProgress]
   * @returns {Promise<any>}
   */
  #send(worker, task, values, onProgress) {
    const number = this.#number++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject, onProgress });
      worker.postMessage({ number, task, ...values });
    });
  }

  /** @param {Answer} answer */
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
