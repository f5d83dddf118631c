/** Claims of an experiment judged again: levels, a value and seeds of the reader's choice, run here. */

import { Engine, EngineError, RemoteEngine } from "airwnd/engine.js";
import { HOLDS, judge, MIN_SEEDS, placesOf, read, restored, settingsOf, Space } from "airwnd/judge.js";
import { valueText } from "airwnd/scale.js";

const find = (id) => document.getElementById(id);
const facts = JSON.parse(find("facts").textContent);
const experiment = restored(facts.experiment);
/** Engines that run at once; behind the page there is one. */
const ENGINES = facts.remote ? 1 : Math.max(1, Math.min(8, (navigator.hardwareConcurrency ?? 2) - 1));
/** Memory limit of a run in bytes. */
const MEMORY = 1.5e9;
/** A number with its unit. */
const NUMBER = /^([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*(\D*)$/i;

const chosen = Object.fromEntries(experiment.axes.map(({ name, levels, open, shown }) => [name, new Set(levels.map((level) => level.name).filter((level) => !open || level === shown))]));
/** Tables that measures read, by scenario and seed. */
const done = new Map();
let engines = [];
/** Number of the newest run: earlier ones have been stopped. */
let generation = 0;

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

/** The key and value that the reader sets in all runs; `null`: none. */
function own() {
  const [key, value] = [find("key").value.trim(), find("value").value.trim()];
  return key && value ? [key, value] : null;
}

/** Keys and values of a setting, in the order of `airwnd reproduce`. */
function overrides(setting) {
  const pairs = [...(isQuick() ? Object.entries(experiment.quick.set) : []), ...(own() ? [own()] : [])];
  for (const { name, levels } of experiment.axes) {
    if (name in setting) pairs.push(...Object.entries(levels.find((level) => level.name === setting[name]).set));
  }
  return pairs.flat();
}

/** Rows of the tables that the levels of a setting select. */
function rowsOf(setting) {
  const levels = experiment.axes.filter(({ name }) => name in setting).map(({ name, levels }) => levels.find((level) => level.name === setting[name]));
  return Object.assign({}, ...levels.map(({ rows }) => rows));
}

/** Settings that the claim needs. */
function needed() {
  const all = space();
  return claim().checks.flatMap((check) => settingsOf(all, check, placesOf(all, check, chosen)));
}

/** Runs that are not done yet: each scenario with each seed once, the first seeds first. */
function missing() {
  const scenarios = new Map(needed().map((setting) => [JSON.stringify(overrides(setting)), setting]));
  const tasks = [];
  for (let seed = 1; seed <= seeds(); seed++) for (const key of scenarios.keys()) if (!done.has(`${seed} ${key}`)) tasks.push({ key: `${seed} ${key}`, seed, overrides: JSON.parse(key) });
  return tasks;
}

async function work(engine, tasks, mine, tell) {
  for (let task = tasks.shift(); task && mine === generation; task = tasks.shift()) {
    const { outcome, series, events } = await engine.request("run", { toml: experiment.toml, overrides: task.overrides, seed: task.seed, interval: experiment.interval, memory: MEMORY, rows: true });
    const found = JSON.parse(outcome);
    done.set(task.key, { ...found, totals: [found.totals], series: rowsOfTable(series ?? {}), events: rowsOfTable(events ?? {}) });
    tell();
  }
}

/** Rows of a table by columns, of which the page keeps those that a measure reads. */
function rowsOfTable(table) {
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
    const tell = () => mine === generation && ++count < total && say(`run ${count + 1} of ${total}`);
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
  const value = (setting, name, seed) => read(byName[name], done.get(`${seed} ${JSON.stringify(overrides(setting))}`), rowsOf(setting));
  const lookup = (setting, name) => Array.from({ length: seeds() }, (_, index) => value(setting, name, index + 1));
  const { checks, verdict } = judge(all, claim(), chosen, lookup, experiment.quantiles, isPreview());
  find("verdict").replaceChildren(verdict === null ? "No point of a check is among these levels." : badge(verdict), ` ${effort()}`);
  find("checks").replaceChildren(...checks.filter(({ findings }) => findings.length).map(checkElement));
  find("result").hidden = false;
}

function badge(verdict) {
  return element("span", { className: `verdict ${experiment.classes[verdict]}`, textContent: verdict });
}

/** What distinguishes these runs from a full reproduction. */
function effort() {
  const words = [`${seeds()} of ${experiment.seeds} seeds`];
  if (isQuick()) words.push("short runs");
  if (own()) words.push(`${own().join(" = ")} in all runs`);
  const left = experiment.axes.filter(({ name, levels }) => chosen[name].size < levels.length).map(({ label }) => label);
  if (left.length) words.push(`not all levels of ${left.join(", ")}`);
  const added = experiment.axes.filter(({ levels }) => levels.some((level) => level.own)).map(({ label }) => label);
  if (added.length) words.push(`own values of ${added.join(", ")}`);
  return `with ${words.join("; ")}.`;
}

function checkElement({ check, findings, verdict }) {
  const unit = check.unit ? ` ${check.unit}` : "";
  const text = (number) => (Number.isNaN(number) ? "–" : number.toFixed(check.digits));
  const cell = (each) => (isPreview() ? `${text(each.mean)}${unit}` : `${text(each.mean)} [${text(each.low)}, ${text(each.high)}]${unit}`);
  const rows = findings.map(({ place, found, verdict: there }) =>
    element("tr", {}, element("td", { className: "text", textContent: placeText(place) }), element("td", { textContent: cell(found) }), element("td", { textContent: there === HOLDS ? "" : there })),
  );
  const head = ["Where", isPreview() ? "Mean" : "Mean, 95 % interval", ""].map((name, index) => element(index === 2 ? "td" : "th", { textContent: name, className: index ? "" : "text" }));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  const title = element("p", {}, `${check.text}: `, element("span", { className: "required", textContent: check.required }), " ", badge(verdict));
  return element("div", { className: "check" }, title, element("div", { className: "scroll", tabIndex: 0, role: "group", ariaLabel: check.text }, table));
}

function placeText(place) {
  const parts = experiment.axes.filter(({ name }) => name in place).map(({ label, name, levels }) => `${label}: ${levels.find((level) => level.name === place[name]).label}`);
  return parts.join(", ") || "all runs";
}

// Controls.

function say(text, isError = false) {
  find("status").textContent = text;
  find("status").classList.toggle("error", isError);
}

function busy(isBusy) {
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
  const setting = experiment.axes.find(({ levels }) => levels.some(({ set }) => own() && own()[0] in set));
  if (setting) find("plan").textContent = `the axis ${setting.label} sets ${own()[0]}: choose among its levels`;
  find("run").disabled = needed().length === 0 || setting !== undefined;
  const set = own() ? ` --set '${own().join("=").replaceAll("'", "'\\''")}'` : "";
  find("command").textContent = `airwnd reproduce ${experiment.name}${isQuick() ? " --quick" : ""} --seeds ${seeds()}${set}`;
  find("claim-text").textContent = `${claim().text} (${claim().source})`;
}

function axisElement(axis) {
  const box = element("fieldset", {}, element("legend", { textContent: axis.label + (axis.open ? " (left open by the paper)" : "") }));
  const options = element("div", { className: "levels" });
  const option = (level) => {
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
  if (axis.key) {
    const input = element("input", { type: "text", ariaLabel: `Another value of ${axis.label}`, placeholder: "another value" });
    const add = element("button", { type: "button", textContent: "add" });
    add.addEventListener("click", () => {
      const text = input.value.trim();
      if (!text || axis.levels.some((level) => level.name === text)) return;
      axis.levels = ordered([...axis.levels, { name: text, label: text, set: { [axis.key]: /^[-+]?[\d.]+$/.test(text) ? text : JSON.stringify(text) }, rows: {}, own: true }]);
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
function ordered(levels) {
  const numbers = levels.map(({ name }) => NUMBER.exec(name));
  if (!numbers.every((each) => each && each[2] === numbers[0][2])) return levels;
  return levels.toSorted((a, b) => Number(NUMBER.exec(a.name)[1]) - Number(NUMBER.exec(b.name)[1]));
}

find("claim").append(...experiment.claims.map(({ id }) => new Option(id, id)));
find("seeds").max = experiment.maxSeeds;
find("seeds").value = Math.min(MIN_SEEDS, experiment.seeds);
find("quick").closest("label").hidden = !Object.keys(experiment.quick.set).length;
find("axes").append(...experiment.axes.map(axisElement));
for (const id of ["claim", "seeds", "quick", "key", "value"]) find(id).addEventListener("input", plan);
find("run").addEventListener("click", run);
find("stop").addEventListener("click", stop);
find("settings").addEventListener("submit", (event) => event.preventDefault());
const named = experiment.claims.findIndex(({ id }) => `#${id}` === location.hash);
if (named >= 0) find("claim").selectedIndex = named;
plan();
document.documentElement.dataset.ready = "";
