// Scenarios of a page run in place: edit, run, see. `live-engine.js`, loaded on the first run, has the engine.
"use strict";

const PERIOD_MS = 100;
const MEMORY = 1e9;
/** Flows whose figures are shown. */
const ROWS = 8;
/** Simulated seconds between two looks at the progress. */
const STEP_S = 0.25;

const COLUMNS = ["time_s", "throughput_kbps", "delay_ms"];

const isScenario = (/** @type {string} */ text) => /^\[\[flow\]\]/m.test(text) && /^\[\[(site|link)\]\]/m.test(text);
/** @type {Promise<{ compiled: WebAssembly.Module, worker: string }> | null} */
let loading = null;

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {(Node | string)[]} children
 */
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;

/** Loads the engine once. Scripts work from disk, where `fetch` does not. */
function engine() {
  if (loading) return loading;
  /** @type {Promise<NonNullable<typeof airwndEngine>>} */
  const loaded = new Promise((resolve, reject) => {
    const script = element("script", { src: new URL("live-engine.js", here).href, onerror: () => reject(new Error("live-engine.js is missing")) });
    script.onload = () => (globalThis.airwndEngine ? resolve(globalThis.airwndEngine) : reject(new Error("live-engine.js has no engine")));
    document.head.append(script);
  });
  loading = loaded.then(async ({ module, worker }) => {
    const bytes = Uint8Array.from(atob(module), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return { compiled: await WebAssembly.compile(await new Response(stream).arrayBuffer()), worker };
  });
  return loading;
}

class Run {
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  #waiting = new Map();
  #number = 0;

  constructor(/** @type {Worker} */ worker) {
    this.worker = worker;
    worker.onmessage = (/** @type {{ data: Answer }} */ { data }) => {
      const waiting = this.#waiting.get(data.number);
      this.#waiting.delete(data.number);
      if (data.error === undefined) waiting?.resolve(data.result);
      else waiting?.reject(new Error(data.error));
    };
  }

  static async begin() {
    const { compiled, worker } = await engine();
    const run = new Run(new Worker(URL.createObjectURL(new Blob([worker], { type: "text/javascript" }))));
    await run.ask("load", { module: compiled });
    return run;
  }

  /**
   * @template {keyof Tasks} Task
   * @param {Task} task
   * @param {Tasks[Task][0]} values
   * @returns {Promise<Tasks[Task][1]>}
   */
  ask(task, values) {
    const number = this.#number++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, task, ...values });
    });
  }

  end() {
    this.worker.terminate();
  }
}

/**
 * Runs a scenario and returns its results, and throughput and delay of its first flow over time.
 *
 * @param {string} toml
 * @param {(progress: string) => void} tell
 */
async function simulate(toml, tell) {
  const run = await Run.begin();
  try {
    const { flows, resolved } = await run.ask("begin", { toml, interval: PERIOD_MS, memory: MEMORY });
    const first = flows[0]?.id ?? "";
    await run.ask("watch", { flows: [first], columns: COLUMNS });
    /** @type {Record<string, number[]>} */
    const points = Object.fromEntries(COLUMNS.map((name) => [name, []]));
    let now = 0;
    for (let ended = false; !ended; ) {
      const done = await run.ask("advance", { to: now + STEP_S });
      for (const [name, values] of Object.entries(done.series[first] ?? {})) points[name].push(...values);
      ({ now, ended } = done);
      tell(`${now.toFixed(1)} s of ${resolved.duration}`);
    }
    return { outcome: JSON.parse((await run.ask("finish", {})).outcome), points, first };
  } finally {
    run.end();
  }
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * A small chart with its largest value.
 *
 * @param {string} title
 * @param {string} unit
 * @param {number[]} time
 * @param {number[]} values
 */
function chart(title, unit, time, values) {
  const [width, height, top] = [320, 90, 18];
  const known = values.map((value, index) => [time[index], value]).filter(([, value]) => value === value);
  const max = Math.max(...known.map(([, value]) => value), 1e-9);
  const end = time.at(-1) || 1;
  const points = known.map(([at, value]) => `${((at / end) * width).toFixed(1)},${(top + (1 - value / max) * (height - top - 1)).toFixed(1)}`);
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: up to ${max.toPrecision(3)} ${unit}`);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.join(" "));
  const text = document.createElementNS(SVG, "text");
  text.setAttribute("y", "12");
  text.textContent = `${title}, up to ${max.toPrecision(3)} ${unit}`;
  svg.append(line, text);
  return svg;
}

/** A table of the flows of a run. */
function figures(/** @type {any} */ outcome) {
  /** @type {any[]} */
  const rows = outcome.flows.slice(0, ROWS);
  /** @type {[string, (row: any) => string][]} */
  const columns = [["flow", ({ id }) => id], ["goodput, Mbit/s", (row) => (row.goodput_kbps / 1e3).toFixed(2)], ["mean delay, ms", (row) => row.delay_ms_mean?.toFixed(1) ?? "–"], ["retransmissions", (row) => row.retransmissions ?? "–"]];
  const head = element("tr", {}, ...columns.map(([name]) => element("th", { textContent: name })));
  const body = rows.map((row) => element("tr", {}, ...columns.map(([, value]) => element("td", { textContent: value(row) }))));
  const more = outcome.flows.length - rows.length;
  const caption = element("caption", { textContent: `Seed ${outcome.seed}${more > 0 ? `; ${more} more flows` : ""}` });
  return element("table", { className: "docutils" }, caption, element("thead", {}, head), element("tbody", {}, ...body));
}

/** Adds the controls below the block of a scenario. */
function enliven(/** @type {Element} */ block, /** @type {HTMLPreElement} */ pre) {
  const original = pre.textContent;
  const text = element("textarea", { value: original, rows: original.split("\n").length, spellcheck: false, hidden: true, ariaLabel: "Scenario" });
  const edit = element("button", { type: "button", textContent: "edit" });
  const start = element("button", { type: "button", textContent: "run here" });
  const status = element("span", { role: "status" });
  const result = element("div", { className: "live-result" });
  edit.addEventListener("click", () => {
    text.hidden = !text.hidden;
    pre.hidden = !text.hidden;
    if (text.hidden) text.value = original;
    edit.textContent = text.hidden ? "edit" : "original";
  });
  start.addEventListener("click", async () => {
    start.disabled = true;
    status.className = "";
    status.textContent = "starts…";
    try {
      const { outcome, points, first } = await simulate(text.value, (progress) => (status.textContent = progress));
      result.replaceChildren(
        figures(outcome),
        chart(`Throughput of ${first}`, "Mbit/s", points.time_s, points.throughput_kbps.map((value) => value / 1e3)),
        chart(`One-way delay of ${first}`, "ms", points.time_s, points.delay_ms),
      );
      status.textContent = "";
    } catch (error) {
      status.className = "live-error";
      status.textContent = error instanceof Error ? error.message : String(error);
    }
    start.disabled = false;
  });
  block.append(element("div", { className: "live" }, start, edit, status), text, result);
}

for (const block of document.querySelectorAll("div.highlight-toml")) {
  const pre = block.querySelector("pre");
  if (pre && isScenario(pre.textContent)) enliven(block, pre);
}
