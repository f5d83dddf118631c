/** The page: controls, the loop that advances the simulations, and the pictures. */

import { readTheme } from "airwnd/canvas.js";
import { CellMap, Grid, PHONE, QueuePicture, ue } from "airwnd/cell.js";
import { Chart, CHARTS } from "airwnd/charts.js";
import { csv, drawn, offer, picture, vector } from "airwnd/exports.js";
import { movable, nameOf, placeText } from "airwnd/move.js";
import { Side } from "airwnd/side.js";
import { defaults, FARTHEST, fault, fragment, learn, LIVE, PACES, readFragment, SETTINGS, toml, withCell } from "airwnd/settings.js";
import { valueText } from "airwnd/scale.js";
import { SPANS, Timeline } from "airwnd/timeline.js";
import { STEPS, Tour } from "airwnd/tour.js";

/**
 * @import { ChartSpec } from "airwnd/charts.js"
 * @import { Setting } from "airwnd/settings.js"
 *
 * @typedef {object} Elements elements of the page that are more than an `HTMLElement`
 * @property {HTMLButtonElement} theme
 * @property {HTMLSelectElement} pace
 * @property {HTMLSelectElement} span
 * @property {HTMLSelectElement} kind
 * @property {HTMLSelectElement} live
 * @property {HTMLInputElement} live-value
 * @property {HTMLTextAreaElement} toml
 */

/** @type {<Id extends string>(id: Id) => Id extends keyof Elements ? Elements[Id] : HTMLElement} */
const find = (id) => /** @type {any} */ (document.getElementById(id));
const canvasIn = (/** @type {string} */ id) => /** @type {HTMLCanvasElement} */ (find(id).querySelector("canvas"));

/** @type {{ looks: [TwoColours, TwoColours], remote: boolean, scenario: string | null }} */
const facts = JSON.parse(find("facts").textContent);
/** Wall-clock milliseconds that a step of the engine may take, so that the page stays smooth. */
const BUDGET = 25;
/** Least time between two updates of texts, in milliseconds: a screen reader and an eye need it. */
const TEXTS = 250;
/** Simulated time of a step without a pace, in seconds. */
const STRIDE = 0.25;
/** Seconds that a replay goes back. */
const BACK = 5;

const sides = [new Side("a", facts.looks[0], facts.remote), new Side("b", facts.looks[1], facts.remote)];
/** @type {PlaygroundState} */
const state = { a: defaults(), b: null, places: new Map(), own: null, pace: "1", tour: null, playing: true };
const charts = CHARTS.map((spec) => new Chart(spec, chartElement(spec)));
const map = new CellMap(canvasIn("map"));
const queue = new QueuePicture(canvasIn("queue"));
const grid = new Grid(canvasIn("prbs"));
const timeline = new Timeline(canvasIn("timeline"));
const tour = new Tour(find("tour"), (step) => openTour(step));

/** Number of the newest restart: replies of earlier ones are ignored. */
let generation = 0;
/** The newest restart, until the cell has begun.
 * @type {Promise<void>} */
let beginning = Promise.resolve();
let clock = 0;
/** Time of the last frame that advanced the simulations, in milliseconds; `null`: the next one begins to count.
 * @type {number | null} */
let last = null;
let advancing = false;
let told = 0;
/** Sum of the times of the shown configurations in the newest picture. */
let pictured = NaN;
/** Simulated time up to which a replay runs as fast as possible. */
let skipTo = 0;
/** Frames and simulated time since `since`, and the rates of the last second. */
let rates = { since: 0, count: 0, clock: 0, frames: NaN, pace: NaN };

function shown() {
  return sides.filter((side, index) => (index === 0 || state.b !== null) && side.ready);
}

function chartElement(/** @type {ChartSpec} */ { title, unit }) {
  const figure = document.createElement("figure");
  figure.className = "chart";
  const caption = document.createElement("figcaption");
  const name = document.createElement("span");
  const measure = document.createElement("span");
  measure.className = "unit";
  measure.textContent = ` (${unit})`;
  name.append(title, measure);
  const values = document.createElement("span");
  values.className = "values";
  caption.append(name, values);
  const area = document.createElement("div");
  area.className = "area";
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title);
  area.append(canvas);
  figure.append(caption, area);
  find("charts").append(figure);
  return { element: figure, canvas, values };
}

// Controls.

/** A control of a setting: two of them if configurations may differ in it and there are two. */
function fieldElement(/** @type {Setting} */ setting) {
  const { label, both } = setting;
  const field = document.createElement("div");
  field.className = "field";
  /** @type {[string, Settings][]} */
  const configurations = both && state.b ? [["a", state.a], ["b", state.b]] : [["a", state.a]];
  const inputs = configurations.map(([name, settings]) => control(setting, name, settings));
  const title = document.createElement("label");
  title.textContent = label;
  title.htmlFor = inputs[0].id;
  if (inputs.length === 1) {
    field.append(title, inputs[0]);
    return field;
  }
  const pair = document.createElement("span");
  pair.className = "pair";
  inputs.forEach((input, index) => {
    const part = document.createElement("span");
    const mark = document.createElement("b");
    const [name] = configurations[index];
    mark.textContent = name.toUpperCase();
    mark.className = `side-${name}`;
    mark.setAttribute("aria-hidden", "true");
    input.setAttribute("aria-label", `${label}, configuration ${name.toUpperCase()}`);
    part.append(mark, input);
    pair.append(part);
  });
  field.classList.add("double");
  field.append(title, pair);
  return field;
}

/** The input of a setting of a configuration. */
function control(/** @type {Setting} */ { key, values = {}, range }, /** @type {string} */ name, /** @type {Settings} */ settings) {
  const value = settings[key];
  const input = document.createElement(range ? "input" : "select");
  input.id = `${name}-${key}`;
  if (range) {
    Object.assign(input, { type: "number", min: range[0], max: range[1], step: 1, value });
  } else {
    input.append(...Object.entries(values).map(([each, text]) => new Option(text, each)));
    input.value = value;
  }
  input.addEventListener("change", () => {
    const error = fault(key, input.value);
    if (error) {
      input.value = settings[key];
      say(error, true);
      return;
    }
    settings[key] = input.value;
    if (state.b) state.b = withCell(state.a, state.b);
    // A place that a control sets replaces the chosen one, and a list of places is for one number of UEs.
    if (key === "distance") state.places.delete(PHONE);
    if (key === "ues") for (const number of [...state.places.keys()]) if (number !== PHONE) state.places.delete(number);
    if (key === "move" && [...state.places.values()].some(({ x, y }) => Math.max(Math.abs(x), Math.abs(y)) > FARTHEST[input.value])) state.places.clear();
    restart();
  });
  return input;
}

function showControls() {
  find("fields").replaceChildren(...SETTINGS.map(fieldElement));
  find("fields").hidden = find("algorithms").hidden = state.own !== null;
  const chosen = SETTINGS.flatMap(({ key, summaries }) => (summaries ? configurations().map((each) => summaries[each[key]]) : []));
  find("algorithm-list").replaceChildren(
    ...[...new Set(chosen)].map((text) => Object.assign(document.createElement("li"), { textContent: text })),
  );
  find("reset").hidden = state.own === null;
  find("second").hidden = state.own !== null;
  find("second").setAttribute("aria-pressed", String(state.b !== null));
  find("pace").value = state.pace;
  find("toml").value = state.own ?? toml(state.a, state.places);
  find("places").hidden = !state.places.size || state.own !== null;
  const seed = state.own === null || seedOf() === undefined ? "" : ` --set seed=${seedOf()}`;
  find("local").textContent = `airwnd run playground.toml --set duration=60s${seed} --series 20ms --out playground && airwnd view playground`;
  // Map and PRBs are those of the first configuration.
  for (const caption of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("figcaption[data-name]"))) (caption.querySelector("span") ?? caption).textContent = caption.dataset.name + (state.b ? " (A)" : "");
  find("legend").replaceChildren(
    ...legend().map(({ name, text }) => {
      const line = document.createElement("span");
      line.className = `side-${name}`;
      line.textContent = text;
      return line;
    }),
  );
}

/** The configurations of the controls. */
function configurations() {
  return state.b ? [state.a, state.b] : [state.a];
}

/** A line for each of two configurations. */
function legend() {
  const all = state.own === null && state.b ? configurations() : [];
  return all.map((settings, index) => ({ name: sides[index].name, text: `${sides[index].name.toUpperCase()}: ${words(settings)}`, colour: sides[index].colour() }));
}

/** What distinguishes a configuration. */
function words(/** @type {Settings} */ settings) {
  const differing = SETTINGS.filter(({ key, both }) => both && (state.a[key] !== state.b?.[key] || ["cc", "rwnd", "queue"].includes(key)));
  return differing.map(({ key, values = {} }) => values[settings[key]]).join(", ");
}

function say(/** @type {string} */ text, isError = false) {
  const line = find("status");
  line.textContent = text;
  line.classList.toggle("error", isError);
}

// Simulation.

/** Begins all configurations from the start; `message` is shown when they have begun. */
function restart(message = "") {
  beginning = begin(message);
  return beginning;
}

async function begin(/** @type {string} */ message) {
  const mine = ++generation;
  for (const side of sides) {
    side.engine.stop();
    side.clear();
  }
  [clock, last, advancing, skipTo] = [0, null, false, 0];
  grid.reset();
  timeline.reset();
  showControls();
  tour.begin();
  say("building the cell…");
  await showAddress();
  const seed = seedOf();
  try {
    await Promise.all(scenarios().map((text, index) => sides[index].begin(text, seed)));
    if (mine !== generation) return;
    clock = sides[0].now;
    for (const chart of charts) chart.top = 0;
    say(message);
  } catch (error) {
    if (mine === generation) say(messageOf(error), true);
  }
}

/** Puts the state into the address: the step of the tour, unless its cell was changed. */
async function showAddress() {
  const { tour: step, a, b, places } = state;
  const begun = step === null ? null : stateOf(step);
  const isChanged = begun !== null && (places.size > 0 || JSON.stringify([a, b]) !== JSON.stringify([begun.a, begun.b]));
  history.replaceState(null, "", `${location.pathname}${location.search}${await fragment({ ...state, tour: isChanged ? null : step })}`);
}

/** The scenarios of the page in TOML. */
function scenarios() {
  return state.own !== null ? [state.own] : configurations().map((each) => toml(each, state.places));
}

/** The line of an error. */
function messageOf(/** @type {unknown} */ error) {
  return error instanceof Error ? error.message : String(error);
}

/** Seed of the run; `undefined`: that of an own scenario. */
function seedOf() {
  return state.own !== null && state.a.seed === defaults().seed ? undefined : Number(state.a.seed);
}

/** Advances all configurations to the same time. */
async function advance(/** @type {AdvanceRequest} */ request) {
  const mine = generation;
  advancing = true;
  try {
    const done = await Promise.all(shown().map((side) => (side.ended ? null : side.advance(request))));
    if (mine !== generation) return;
    clock = Math.max(...shown().map(({ now }) => now));
    document.documentElement.dataset.memory = String(Math.max(...done.map((each) => each?.memory ?? 0)));
    if (done[0]) grid.append(done[0].allocations, sides[0]);
    if (shown().every(({ ended }) => ended)) pause("the scenario has ended");
  } catch (error) {
    if (mine === generation) pause(messageOf(error), true);
  } finally {
    if (mine === generation) advancing = false;
  }
}

/** Simulated time that the next frame should show; a configuration that is behind catches up first. */
function target(/** @type {number} */ elapsed) {
  const behind = Math.min(...shown().filter(({ ended }) => !ended).map(({ now }) => now));
  if (behind < clock - 1e-6) return clock;
  if (clock < skipTo) return Math.min(skipTo, clock + STRIDE);
  return state.pace === "max" ? clock + STRIDE : clock + Math.min(elapsed, 0.1) * Number(state.pace);
}

function frame(/** @type {number} */ at) {
  requestAnimationFrame(frame);
  measure(at);
  const elapsed = last === null ? 0 : (at - last) / 1000;
  if (state.playing && !advancing && shown().length && shown().length === (state.b ? 2 : 1)) {
    last = at;
    advance({ to: target(elapsed), budget: BUDGET });
  }
  // A slow simulation, or one that is paused, has nothing new in most frames.
  const present = shown().reduce((sum, { now }) => sum + now, 0);
  if (present === pictured && !map.moved && at - told < TEXTS) return;
  pictured = present;
  draw(at);
}

/** Measures frames and simulated seconds per second. */
function measure(/** @type {number} */ at) {
  rates.count++;
  const seconds = (at - rates.since) / 1000;
  if (seconds < 1) return;
  rates = { since: at, count: 0, clock, frames: rates.count / seconds, pace: Math.max(0, clock - rates.clock) / seconds };
  document.documentElement.dataset.frames = rates.frames.toFixed(1);
  document.documentElement.dataset.pace = rates.pace.toFixed(3);
}

function draw(/** @type {number} */ at) {
  const all = shown();
  if (!all.length) return;
  for (const chart of charts) if (!chart.element.hidden) chart.draw(all, clock);
  const isDue = at - told >= TEXTS;
  find("pictures").hidden = find("timeline").hidden = !all[0].hasCells;
  if (all[0].hasCells) {
    map.draw(all[0]);
    queue.draw(all);
    // At full speed single TTIs would only flicker.
    const isSlow = !state.playing || Number(state.pace) < 1;
    if (isDue || isSlow) grid.draw(all[0]);
    if (isDue || isSlow || timeline.span >= 0.5) timeline.draw(all[0]);
  }
  if (!isDue) return;
  told = at;
  tell(all);
}

function tell(/** @type {Side[]} */ all) {
  for (const chart of charts) {
    const isHidden = !all.some((side) => side.has(chart.spec.of));
    if (chart.element.hidden !== isHidden) chart.element.hidden = isHidden;
    if (!isHidden) chart.tell(all);
  }
  const { sinr } = ue(all[0].ues, PHONE);
  const digits = state.playing && !(Number(state.pace) < 1) ? 1 : 3;
  const isSlow = state.playing && rates.pace > 0 && rates.pace < 0.9 * Number(state.pace);
  const pace = isSlow ? `, ${valueText(rates.pace, 2)} s per second: this machine is slower than the pace` : "";
  const radio = Number.isNaN(sinr) ? "" : `, SINR of the phone ${valueText(sinr, 1)} dB`;
  find("clock").textContent = `t = ${clock.toFixed(digits)} s${radio}${pace}`;
  grid.canvas.setAttribute("aria-label", `PRBs of the last TTIs of the cell by UE; those of the phone are coloured`);
  timeline.canvas.setAttribute("aria-label", `Way of the packets of the ${timeline.flow} through sender, RLC queue, air and receiver`);
  const words = timeline.words(all[0]);
  if (find("packet").textContent !== words) find("packet").textContent = words;
  // A configuration that is behind has not all figures yet.
  tour.wait(all, Math.min(...all.map(({ now }) => now)));
  const root = document.documentElement;
  root.dataset.time = clock.toFixed(3);
  root.dataset.ready = "";
}

function pause(text = "", isError = false) {
  state.playing = false;
  find("play").textContent = "go on";
  say(text, isError);
}

function play() {
  state.playing = true;
  last = null;
  find("play").textContent = "pause";
  say("");
}

/** Begins again, and goes on from some seconds before the present: the run is the same. */
async function replay() {
  const from = Math.max(0, clock - BACK);
  play();
  await restart();
  skipTo = from;
}

/** Lets a UE begin at another place. */
function move(/** @type {number} */ number, /** @type {Place} */ place) {
  // The other UEs of the group stay where they begin: a list has all of them.
  const begin = sides[0].places;
  if (number !== PHONE) {
    for (let other = PHONE + 1; other <= Number(state.a.ues); other++) {
      const { x, y } = ue(begin, other);
      if (!state.places.has(other)) state.places.set(other, { x: Math.round(x), y: Math.round(y) });
    }
  }
  state.places.set(number, place);
  play();
  restart(`${nameOf(number)} begins at ${placeText(place)}: the cell has started again`);
}

async function oneTti() {
  pause();
  if (!advancing && shown().length) await advance({ to: -Infinity, ttis: 1 });
}

// Tour.

/** State of a step of the tour. */
function stateOf(/** @type {number} */ step) {
  const { a, b } = STEPS[step - 1];
  return { a: { ...a }, b: b && { ...b }, places: new Map(), own: null };
}

function openTour(/** @type {number | null} */ step) {
  state.tour = step;
  tour.open(step);
  find("start-tour").hidden = step !== null;
  if (step !== null) {
    Object.assign(state, stateOf(step));
    tour.title.focus();
    play();
  }
  restart();
}

// Listeners.

function listen() {
  find("play").addEventListener("click", () => (state.playing ? pause("paused") : play()));
  find("step").addEventListener("click", oneTti);
  find("again").addEventListener("click", () => {
    play();
    restart();
  });
  find("back").addEventListener("click", replay);
  find("places").addEventListener("click", () => {
    state.places.clear();
    restart();
  });
  movable(map, {
    limit: () => (state.own === null && sides[0].ready ? FARTHEST[state.a.move] : null),
    done: move,
    tell: (text) => say(text),
  });
  find("span").append(...Object.entries(SPANS).map(([value, text]) => new Option(text, value)));
  find("span").append(...[...find("span").options].sort((a, b) => Number(a.value) - Number(b.value)));
  find("span").value = String(timeline.span);
  find("span").addEventListener("change", () => (timeline.span = Number(find("span").value)));
  find("kind").addEventListener("change", () => {
    timeline.flow = find("kind").value === "game" ? "game" : "download";
    timeline.reset();
  });
  find("follow").addEventListener("click", () => timeline.followNext());
  timeline.canvas.addEventListener("click", (event) => sides[0].ready && timeline.pick(sides[0], event.offsetX));
  find("pace").append(...Object.entries(PACES).map(([value, text]) => new Option(text, value)));
  // Keys of objects that look like whole numbers come first in any case; the order here is that of the pace.
  find("pace").append(...[...find("pace").options].sort((a, b) => (a.value === "max" ? 1 : b.value === "max" ? -1 : Number(a.value) - Number(b.value))));
  find("pace").addEventListener("change", () => {
    state.pace = find("pace").value;
    showAddress();
  });
  find("second").addEventListener("click", () => {
    state.b = state.b ? null : { ...state.a, cc: state.a.cc === "bbr" ? "cubic" : "bbr" };
    restart();
  });
  find("live").append(...Object.entries(LIVE).map(([value, { label }]) => new Option(label, value)));
  find("set").addEventListener("click", setLive);
  find("start-tour").addEventListener("click", () => openTour(1));
  find("apply").addEventListener("click", () => {
    Object.assign(state, { own: find("toml").value, b: null, tour: null });
    tour.open(null);
    find("start-tour").hidden = false;
    play();
    restart();
  });
  find("reset").addEventListener("click", () => {
    state.own = null;
    restart();
  });
  find("settings").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", key);
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-export]"))) button.addEventListener("click", () => exportAs(button.dataset.export));
  document.getElementById("explore")?.addEventListener("click", explore);
  window.addEventListener("hashchange", () => open(location.hash));
}

/** Keys of the whole page, unless the focus is in a control that uses them. */
function key(/** @type {KeyboardEvent} */ event) {
  const uses = event.target instanceof Element && event.target.closest("input, select, textarea, button, summary");
  if (uses || event.ctrlKey || event.metaKey || event.altKey) return;
  /** @type {Record<string, () => void>} */
  const actions = { " ": () => find("play").click(), ArrowRight: oneTti, Home: () => find("again").click() };
  if (!(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
}

/** Sets a value in every configuration; the first refusal is shown. */
async function setLive() {
  const what = find("live").value;
  const value = find("live-value").valueAsNumber * LIVE[what].factor;
  await beginning;
  try {
    await Promise.all(shown().map((side) => side.set(what, value)));
    say(`${LIVE[what].label.split(" ")[0]} is set`);
  } catch (error) {
    say(messageOf(error), true);
  }
}

async function exportAs(/** @type {string | undefined} */ kind) {
  const scenario = state.own ?? toml(state.a, state.places);
  if (kind === "toml") offer("playground.toml", scenario, "application/toml");
  else if (kind === "csv") offer("playground.csv", csv(shown()), "text/csv");
  else if (kind === "timeline") offer("timeline.svg", drawn(timeline, sides[0]), "image/svg+xml");
  else if (kind === "png" || kind === "svg") {
    const visible = charts.filter(({ element }) => !element.hidden);
    if (kind === "png") offer("playground.png", await picture(visible, legend()), "image/png");
    else offer("playground.svg", vector(visible, legend(), shown(), clock), "image/svg+xml");
  } else {
    await copy(kind === "link" ? location.href : find("local").textContent);
  }
}

/** Runs what was shown once more for the explorer, and opens that. */
async function explore() {
  // The click permits a new window; the page that it will show takes a while.
  const opened = window.open("", "_blank");
  say("runs the scenarios for the explorer…");
  try {
    const { page } = await sides[0].engine.request("explore", { scenarios: scenarios(), seed: seedOf(), seconds: clock, fragment: location.hash });
    const address = new URL(page, location.href).href;
    if (opened) opened.location.replace(address);
    say(opened ? "the explorer is open" : `the explorer is at ${address}`);
  } catch (error) {
    opened?.close();
    say(messageOf(error), true);
  }
}

async function copy(/** @type {string} */ text) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied");
  } catch {
    say("the browser does not permit to copy; the text is in the address bar or beside the button", true);
  }
}

/** Follows the theme of the system until the button overrides it. */
function themes() {
  const button = find("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const apply = () => {
    readTheme();
    for (const side of sides) root.style.setProperty(`--side-${side.name}`, side.colour());
    const dark = (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    button.setAttribute("aria-pressed", String(dark));
    button.textContent = dark ? "light" : "dark";
    button.title = `Show the page in ${button.textContent} colours`;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = button.textContent;
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

/** Takes the state from the fragment of an address. */
async function open(/** @type {string} */ hash) {
  const { errors, ...found } = await readFragment(hash);
  if (hash.length < 2) found.own = facts.scenario;
  Object.assign(state, found);
  if (state.tour !== null) Object.assign(state, stateOf(state.tour));
  tour.open(state.tour);
  find("start-tour").hidden = state.tour !== null;
  await restart();
  if (errors.length) say(errors[0], true);
}

themes();
listen();
try {
  const families = SETTINGS.flatMap(({ family }) => family ?? []);
  learn(await sides[0].engine.request("describe", { families }));
  await open(location.hash);
  requestAnimationFrame(frame);
} catch (error) {
  say(`the engine does not start in this browser: ${messageOf(error)}`, true);
}
