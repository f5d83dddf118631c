/**
 * The engine in a worker: a classic script that follows the generated half of crates/web, so that a worker from a blob
 * needs no other file. A message is answered by one with the same number.
 */
"use strict";
(() => {
  const UNLIMITED = 1e9;
  /** Longest and shortest simulated time between two looks at the clock, in milliseconds. */
  const SLICE = { max: 5, min: 0.001 };
  /** Time between two looks at the clock, in milliseconds: outside these bounds the simulated time changes. */
  const LOOK = { min: 1, max: 10 };
  /** Share of the time that reading the state of the UEs may take: with a thousand of them it takes as long as a TTI. */
  const READING = 0.05;

  /** @type {WebAssembly.Memory} */
  let memory;
  /** @type {wasm_bindgen.Session | null} */
  let session = null;
  /** @type {wasm_bindgen.Scenario | null} */
  let scenario = null;
  /** @type {Tasks["watch"][0]} */
  let watched = { flows: [], columns: [] };
  /**
   * The newest state of the UEs: when it was read, and how long that took, in milliseconds.
   *
   * @type {{ ues: Numbers | null, at: number, took: number }}
   */
  let seen = { ues: null, at: 0, took: 0 };
  /**
   * Simulated time up to the next look at the clock, in milliseconds. It begins short: a scenario may have millions of
   * packets in the longest one, during which no message is answered.
   */
  let slice = SLICE.min;
  /** Period of the time series in milliseconds, and the number of the newest one that was read. */
  let series = { interval: 0, read: 0 };
  /** @type {string | null} */
  let panic = null;

  /** A column of numbers, or indices and a list of words. @typedef {Float64Array | Uint32Array | [Uint32Array, string[]]} Column */

  /** The present simulation. */
  function present() {
    if (!session) throw "no simulation has begun";
    return session;
  }

  /** @type {{ [Task in Exclude<keyof Tasks, "explore">]: (values: Tasks[Task][0], number: number) => Tasks[Task][1] }} */
  const tasks = {
    /** Prepares the compiled module. */
    load({ module }) {
      ({ memory } = wasm_bindgen.initSync({ module }));
      wasm_bindgen.onPanic((/** @type {string} */ text) => (panic = text));
      return {};
    },

    describe({ families }) {
      return Object.fromEntries(families.map((family) => [family, JSON.parse(wasm_bindgen.describe(family))]));
    },

    /** Checks a scenario, begins a simulation of it, and passes its warm-up. */
    begin({ toml, seed, interval, memory, packetsOf }) {
      release();
      const found = new wasm_bindgen.Scenario(toml, []);
      scenario = found;
      const begun = found.begin(seed ?? found.seed(), interval, memory, packetsOf);
      session = begun;
      watched = { flows: [], columns: [] };
      seen = { ues: null, at: 0, took: 0 };
      series = { interval, read: 0 };
      slice = SLICE.min;
      while (begun.now < 0) begun.advance(Math.max(-begun.now * 1e3, 1e-6));
      return { resolved: JSON.parse(found.resolved()), cells: plain(found.cells()), flows: JSON.parse(begun.flows()), tti: begun.tti, ...state(begun) };
    },

    /** Sets a value of a flow or UE: cwnd, rwnd, pacing, rate or weight. */
    set({ what, target, value }) {
      present().set(what, target, value);
      return {};
    },

    check({ toml, overrides }) {
      const checked = new wasm_bindgen.Scenario(toml, overrides ?? []);
      const found = { resolved: JSON.parse(checked.resolved()), written: JSON.parse(checked.written()) };
      checked.free();
      return found;
    },

    /** Selects the flows whose time series are returned, and the columns of these. */
    watch({ flows, columns }) {
      watched = { flows, columns };
      return {};
    },

    /** Advances to a time in seconds, as far as the budget of wall-clock milliseconds permits. */
    advance({ to, budget, ttis }) {
      const session = present();
      const start = performance.now();
      const end = start + (budget ?? UNLIMITED);
      let at = start;
      let ended = false;
      const min = ttis ? session.tti * ttis : 0;
      if (min > 0) {
        ended = session.advance(min);
        seen.at = -Infinity;
      }
      while (!ended && (to - session.now) * 1e3 > 1e-6 && at < end) {
        ended = session.advance(Math.min(slice, (to - session.now) * 1e3));
        const took = performance.now() - at;
        at += took;
        if (took > LOOK.max) slice = Math.max(slice / 2, SLICE.min);
        else if (took < LOOK.min) slice = Math.min(slice * 2, SLICE.max);
      }
      return { ended, memory: memory.buffer.byteLength, series: newRows(session, ended), events: eventsOf(columns(session.events())), allocations: plain(session.allocations()), packets: plain(session.packets()), blocks: plain(session.blocks()), ...state(session) };
    },

    /** Ends the simulation and returns its results. */
    finish() {
      const outcome = present().finish();
      session = null;
      return { outcome };
    },

    /**
     * Runs a scenario to its end without a session, with messages about the progress. Time series and events are texts,
     * or rows if `rows` is set.
     */
    run({ toml, overrides, seed, interval, progress, rows }, number) {
      const checked = new wasm_bindgen.Scenario(toml, overrides ?? []);
      const run = checked.begin(seed ?? checked.seed(), interval ?? 0, 4e9);
      const { duration } = JSON.parse(checked.resolved());
      for (let ended = false; !ended; ) {
        ended = run.advance(100);
        if (progress) self.postMessage({ number, progress: run.now, duration });
      }
      const table = rows ? plain : text;
      const series = interval ? table(run.series()) : null;
      const events = rows ? plain(run.events()) : null;
      const outcome = run.finish();
      checked.free();
      return { outcome, series, events };
    },
  };

  function release() {
    session?.free();
    scenario?.free();
    session = scenario = null;
  }

  /** @returns {Present} */
  function state(/** @type {wasm_bindgen.Session} */ session) {
    const at = performance.now();
    let { ues } = seen;
    if (ues === null || at - seen.at >= seen.took / READING) {
      ues = session.ues();
      seen = { ues, at, took: performance.now() - at };
    }
    return { now: session.now, ues, use: session.cells() };
  }

  /** Rows of the watched flows. Between samples there are none, and the names of all flows would be copied in vain. */
  function newRows(/** @type {wasm_bindgen.Session} */ session, /** @type {boolean} */ ended) {
    const sample = Math.floor((session.now * 1e3) / series.interval + 1e-6);
    if (sample === series.read && !ended) return {};
    series.read = sample;
    const rows = columns(session.series());
    return Object.fromEntries(watched.flows.map((id) => [id, rowsOf(rows, id)]));
  }

  /** The columns of a table of the module. @returns {Record<string, Column>} */
  function columns(/** @type {any} */ table) {
    return table;
  }

  /** Indices and words of a column; none if the table is empty. @returns {[ArrayLike<number>, string[]]} */
  function wordsOf(/** @type {Column | undefined} */ column) {
    return Array.isArray(column) ? column : [[], []];
  }

  /** Rows of one flow. @returns {Columns} */
  function rowsOf(/** @type {Record<string, Column>} */ rows, /** @type {string} */ id) {
    const [places, words] = wordsOf(rows.flow);
    const flow = words.indexOf(id);
    /** @type {number[]} */
    const own = [];
    for (let i = 0; i < places.length; i++) if (places[i] === flow) own.push(i);
    return Object.fromEntries(watched.columns.map((name) => [name, Float64Array.from(own, (row) => /** @type {Float64Array} */ (rows[name])[row])]));
  }

  /** Events of the watched flows. */
  function eventsOf(/** @type {Record<string, Column>} */ events) {
    const [places, ids] = wordsOf(events.flow);
    const [kinds, words] = wordsOf(events.event);
    const times = /** @type {Float64Array} */ (events.time_s);
    /** @type {FlowEvent[]} */
    const found = [];
    for (let i = 0; i < places.length; i++) {
      if (watched.flows.includes(ids[places[i]])) found.push({ time: times[i], flow: ids[places[i]], kind: words[kinds[i]] });
    }
    return found;
  }

  /** A table without its words, by column. */
  function plain(/** @type {any} */ table) {
    return /** @type {any} */ (Object.fromEntries(Object.entries(columns(table)).map(([name, column]) => [name, Array.isArray(column) ? Array.from(column[0], (place) => column[1][place]) : column])));
  }

  /** A table as text that has every bit of its numbers. */
  function text(/** @type {any} */ table) {
    const bits = (/** @type {Float64Array | Uint32Array} */ values) => Array.from(new Uint8Array(values.buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
    return Object.entries(columns(table)).map(([name, column]) => `${name} ${Array.isArray(column) ? `${bits(column[0])} ${column[1]}` : bits(column)}`).join("\n");
  }

  self.onmessage = ({ data }) => {
    const { number, task, ...values } = data;
    try {
      self.postMessage({ number, result: /** @type {any} */ (tasks)[task](values, number) });
    } catch (error) {
      // Errors of the engine are texts. After a panic the module is unusable.
      const fatal = typeof error !== "string";
      const message = fatal ? `internal error: ${panic ?? error}` : error;
      self.postMessage({ number, error: message.split("\n").slice(0, fatal ? 2 : 1).join(" "), fatal });
    }
  };
})();
