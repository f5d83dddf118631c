/** Claims of an experiment judged again: levels, a value and seeds of the reader's choice, run here. */

import { Engine, EngineError, RemoteEngine } from "airwnd/engine.js";
import { HOLDS, judge, MIN_SEEDS, placesOf, read, restored, settingsOf, Space } from "airwnd/judge.js";
import { valueText } from "airwnd/scale.js";

/**
 * @import { Axis, Check, Experiment, Finding, Level, Levels, Row, Rows, TablesOfRun } from "airwnd/judge.js"
 *
 * @typedef {object} Elements elements of the page that are more than an `HTMLElement`
 * @property {HTMLSelectElement} claim
 * @property {HTMLInputElement} seeds
 * @property {HTMLInputElement} quick
 * @property {HTMLInputElement} key
 * @property {HTMLInputElement} value
 * @property {HTMLButtonElement} run
 *
 * @typedef {{ key: string, seed: number, overrides: string[] }} Task a run that is to be done
 */

/** @type {<Id extends string>(id: Id) => Id extends keyof Elements ? Elements[Id] : HTMLElement} */
const find = (id) => /** @type {any} */ (document.getElementById(id));
/** @type {{ experiment: Experiment, remote: boolean }} */
const facts = JSON.parse(find("facts").textContent);
const experiment = restored(facts.experiment);
/** Engines that run at once; behind the page there is one. */
const ENGINES = facts.remote ? 1 : Math.max(1, Math.min(8, (navigator.hardwareConcurrency ?? 2) - 1));
/** Memory limit of a run in bytes. */
const MEMORY = 1.5e9;
/** A number with its unit. */
const NUMBER = /^([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*(\D*)$/i;

const chosen = Object.fromEntries(experiment.axes.map(({ name, levels, open, shown }) => [name, new Set(levels.map((level) => level.name).filter((level) => !open || level === shown))]));
/** Tables that measures read, by scenario and seed.
 * @type {Map<string, TablesOfRun>} */
const done = new Map();
/** @type {AnyEngine[]} */
let engines = [];
/** Number of the newest run: earlier ones have been stopped. */
let generation = 0;

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

const claim = () => experiment.claims[find("claim").selectedIndex];
const seeds = () => Number(find("seeds").value);
const isQuick = () => find("quick").checked;
const isPreview = () => isQuick() || seeds() < MIN_SEEDS;
const space = () => new Space(experiment.axes);

/** The key and value that the reader sets in all runs; `null`: none.
 * @returns {[string, string] | null} */
function own() {
  const [key, value] = [find("key").value.trim(), find("value").value.trim()];
  return key && value ? [key, value] : null;
}

/** Keys and values of a setting, in the order of `airwnd reproduce`. */
function overrides(/** @type {Levels} */ setting) {
  const set = own();
  const pairs = [...(isQuick() ? Object.entries(experiment.quick.set) : []), ...(set ? [set] : [])];
  for (const level of levelsOf(setting)) pairs.push(...Object.entries(level.set));
  return pairs.flat();
}

/** Levels of a setting, in the order of the axes. */
function levelsOf(/** @type {Levels} */ setting) {
  return experiment.axes.flatMap(({ name, levels }) => levels.filter((level) => level.name === setting[name]));
}

/** Rows of the tables that the levels of a setting select. */
function rowsOf(/** @type {Levels} */ setting) {
  return Object.assign({}, ...levelsOf(setting).map(({ rows }) => rows));
}

/** Settings that the claim needs. */
function needed() {
  const all = space();
  return claim().checks.flatMap((check) => settingsOf(all, check, placesOf(all, check, chosen)));
}

/** Runs that are not done yet: each scenario with each seed once, the first seeds first. */
function missing() {
  const scenarios = new Map(needed().map((setting) => [JSON.stringify(overrides(setting)), setting]));
  /** @type {Task[]} */
  const tasks = [];
  for (let seed = 1; seed <= seeds(); seed++) for (const key of scenarios.keys()) if (!done.has(`${seed} ${key}`)) tasks.push({ key: `${seed} ${key}`, seed, overrides: JSON.parse(key) });
  return tasks;
}

/**
 * @param {AnyEngine} engine
 * @param {Task[]} tasks
 * @param {number} mine
 * @param {() => void} tell
 */
async function work(engine, tasks, mine, tell) {
  for (let task = tasks.shift(); task && mine === generation; task = tasks.shift()) {
    const { outcome, series, events } = await engine.request("run", { toml: experiment.toml, overrides: task.overrides, seed: task.seed, interval: experiment.interval, memory: MEMORY, rows: true });
    const found = JSON.parse(outcome);
    done.set(task.key, { ...found, totals: [found.totals], series: rowsOfTable(series ?? {}), events: rowsOfTable(events ?? {}) });
    tell();
  }
}

/** Rows of a table by columns, of which the page keeps those that a measure reads. */
function rowsOfTable(/** @type {Record<string, ArrayLike<unknown>>} */ table) {
  const names = Object.keys(table);
  const used = experiment.measures.filter(({ table: of }) => of === "series" || of === "events").flatMap(({ column, where }) => [column, ...Object.keys(where)]);
  const kept = names.filter((name) => ["time_s", "flow", ...used].includes(name));
  return used.length && names.length ? Array.from(table[names[0]], (_, row) => Object.fromEntries(kept.map((name) => [name, table[name][row]]))) : [];
}

async function run() {
  const mine = ++generation;
  const tasks = missing();
  const total = tasks.length;
  let count = 0;
  const started = performance.now();
  busy(true);
  say(total ? `run 1 of ${total}` : "");
  while (engines.length < Math.min(ENGINES, total)) engines.push(facts.remote ? new RemoteEngine() : new Engine());
  try {
    const tell = () => {
      if (mine === generation && ++count < total) say(`run ${count + 1} of ${total}`);
    };
    await Promise.all(engines.map((engine) => work(engine, tasks, mine, tell)));
    if (mine !== generation) return;
    show();
    say(total ? `${total} runs in ${valueText((performance.now() - started) / 1e3, 1)} s` : "all runs were done before");
  } catch (error) {
    if (mine !== generation) return;
    if (!(error instanceof EngineError)) throw error;
    stop();
    say(error.message, true);
  }
  busy(false);
}

function stop() {
  generation++;
  for (const engine of engines) engine.stop();
  engines = [];
  busy(false);
  say("stopped");
}

function show() {
  const all = space();
  const byName = Object.fromEntries(experiment.measures.map((measure) => [measure.name, measure]));
  const value = (/** @type {Levels} */ setting, /** @type {string} */ name, /** @type {number} */ seed) => {
    const tables = done.get(`${seed} ${JSON.stringify(overrides(setting))}`);
    return tables ? read(byName[name], tables, rowsOf(setting)) : NaN;
  };
  const lookup = (/** @type {Levels} */ setting, /** @type {string} */ name) => Array.from({ length: seeds() }, (_, index) => value(setting, name, index + 1));
  const { checks, verdict } = judge(all, claim(), chosen, lookup, experiment.quantiles, isPreview());
  find("verdict").replaceChildren(verdict === null ? "No point of a check is among these levels." : badge(verdict), ` ${effort()}`);
  find("checks").replaceChildren(...checks.filter(({ findings }) => findings.length).map(checkElement));
  find("result").hidden = false;
}

function badge(/** @type {string} */ verdict) {
  return element("span", { className: `verdict ${experiment.classes[verdict]}`, textContent: verdict });
}

/** What distinguishes these runs from a full reproduction. */
function effort() {
  const words = [`${seeds()} of ${experiment.seeds} seeds`];
  if (isQuick()) words.push("short runs");
  const set = own();
  if (set) words.push(`${set.join(" = ")} in all runs`);
  const left = experiment.axes.filter(({ name, levels }) => chosen[name].size < levels.length).map(({ label }) => label);
  if (left.length) words.push(`not all levels of ${left.join(", ")}`);
  const added = experiment.axes.filter(({ levels }) => levels.some((level) => level.own)).map(({ label }) => label);
  if (added.length) words.push(`own values of ${added.join(", ")}`);
  return `with ${words.join("; ")}.`;
}

/** A check with its findings. */
function checkElement(/** @type {{ check: Check, findings: Finding[], verdict: string }} */ { check, findings, verdict }) {
  const unit = check.unit ? ` ${check.unit}` : "";
  const text = (/** @type {number} */ number) => (Number.isNaN(number) ? "–" : number.toFixed(check.digits));
  const cell = (/** @type {Finding["found"]} */ each) => (isPreview() ? `${text(each.mean)}${unit}` : `${text(each.mean)} [${text(each.low)}, ${text(each.high)}]${unit}`);
  const rows = findings.map(({ place, found, verdict: there }) =>
    element("tr", {}, element("td", { className: "text", textContent: placeText(place) }), element("td", { textContent: cell(found) }), element("td", { textContent: there === HOLDS ? "" : there })),
  );
  const head = ["Where", isPreview() ? "Mean" : "Mean, 95 % interval", ""].map((name, index) => element(index === 2 ? "td" : "th", { textContent: name, className: index ? "" : "text" }));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  const title = element("p", {}, `${check.text}: `, element("span", { className: "required", textContent: check.required }), " ", badge(verdict));
  return element("div", { className: "check" }, title, element("div", { className: "scroll", tabIndex: 0, role: "group", ariaLabel: check.text }, table));
}

function placeText(/** @type {Levels} */ place) {
  const parts = experiment.axes.flatMap(({ label, name, levels }) => levels.filter((level) => level.name === place[name]).map((level) => `${label}: ${level.label}`));
  return parts.join(", ") || "all runs";
}

// Controls.

function say(/** @type {string} */ text, isError = false) {
  find("status").textContent = text;
  find("status").classList.toggle("error", isError);
}

function busy(/** @type {boolean} */ isBusy) {
  find("run").hidden = isBusy;
  find("stop").hidden = !isBusy;
  for (const field of document.querySelectorAll("fieldset")) field.disabled = isBusy;
}

/** Says what a run would take, and which command does the same. */
function plan() {
  find("result").hidden = true;
  const total = missing().length;
  const length = isQuick() && experiment.quick.set.duration ? `${JSON.parse(experiment.quick.set.duration)}` : `${experiment.duration} s`;
  find("plan").textContent = total ? `${total} runs of ${length} to do` : "all runs are done";
  const mine = own();
  const setting = experiment.axes.find(({ levels }) => mine && levels.some(({ set }) => mine[0] in set));
  if (mine && setting) find("plan").textContent = `the axis ${setting.label} sets ${mine[0]}: choose among its levels`;
  find("run").disabled = needed().length === 0 || setting !== undefined;
  const set = mine ? ` --set '${mine.join("=").replaceAll("'", "'\\''")}'` : "";
  find("command").textContent = `airwnd reproduce ${experiment.name}${isQuick() ? " --quick" : ""} --seeds ${seeds()}${set}`;
  find("claim-text").textContent = `${claim().text} (${claim().source})`;
}

function axisElement(/** @type {Axis} */ axis) {
  const { key } = axis;
  const box = element("fieldset", {}, element("legend", { textContent: axis.label + (axis.open ? " (left open by the paper)" : "") }));
  const options = element("div", { className: "levels" });
  const option = (/** @type {Level} */ level) => {
    const input = element("input", { type: "checkbox", checked: chosen[axis.name].has(level.name) });
    input.addEventListener("change", () => {
      if (input.checked) chosen[axis.name].add(level.name);
      else chosen[axis.name].delete(level.name);
      plan();
    });
    return element("label", {}, input, ` ${level.label}`);
  };
  const draw = () => options.replaceChildren(...axis.levels.map(option));
  draw();
  box.append(options);
  if (key) {
    const input = element("input", { type: "text", ariaLabel: `Another value of ${axis.label}`, placeholder: "another value" });
    const add = element("button", { type: "button", textContent: "add" });
    add.addEventListener("click", () => {
      const text = input.value.trim();
      if (!text || axis.levels.some((level) => level.name === text)) return;
      axis.levels = ordered([...axis.levels, { name: text, label: text, set: { [key]: /^[-+]?[\d.]+$/.test(text) ? text : JSON.stringify(text) }, rows: {}, own: true }]);
      chosen[axis.name].add(text);
      input.value = "";
      draw();
      plan();
    });
    box.append(element("div", { className: "own" }, input, add));
  }
  return box;
}

/** Levels in the order of their numbers, if all are numbers of one unit. */
function ordered(/** @type {Level[]} */ levels) {
  const parts = (/** @type {Level} */ { name }) => NUMBER.exec(name)?.slice(1) ?? [];
  const [, unit] = parts(levels[0]);
  if (!levels.every((level) => parts(level)[1] === unit && unit !== undefined)) return levels;
  return levels.toSorted((a, b) => Number(parts(a)[0]) - Number(parts(b)[0]));
}

find("claim").append(...experiment.claims.map(({ id }) => new Option(id, id)));
find("seeds").max = String(experiment.maxSeeds);
find("seeds").value = String(Math.min(MIN_SEEDS, experiment.seeds));
const quick = find("quick").closest("label");
if (quick) quick.hidden = !Object.keys(experiment.quick.set).length;
find("axes").append(...experiment.axes.map(axisElement));
for (const id of /** @type {const} */ (["claim", "seeds", "quick", "key", "value"])) find(id).addEventListener("input", plan);
find("run").addEventListener("click", run);
find("stop").addEventListener("click", stop);
find("settings").addEventListener("submit", (event) => event.preventDefault());
const named = experiment.claims.findIndex(({ id }) => `#${id}` === location.hash);
if (named >= 0) find("claim").selectedIndex = named;
plan();
document.documentElement.dataset.ready = "";
