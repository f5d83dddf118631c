/** Settings of a cell: their allowed values, the scenario that they stand for, and the fragment of an address. */

import { bytesOf, inflate } from "airwnd/data.js";
import { printable } from "airwnd/engine.js";

/** Longest scenario in an address, in characters. */
const MAX_TOML = 64_000;

const yes = { on: "on", off: "off" };

/**
 * @typedef {object} Setting
 * @property {string} key
 * @property {string} label
 * @property {string} start default
 * @property {Record<string, string>} [values] labels of allowed values
 * @property {string} [family] family of algorithms, whose members the engine lists
 * @property {Record<string, string>} [summaries] of the members
 * @property {[number, number]} [range] of a whole number
 * @property {boolean} [both] whether configurations may differ in it; the others define the cell, which they share
 */

/**
 * Settings in their order on the page.
 *
 * @type {Setting[]}
 */
export const SETTINGS = [
  { key: "cc", label: "Congestion control", family: "cc", start: "cubic", both: true },
  { key: "rwnd", label: "Receive window", family: "rwnd", start: "autotuning", both: true },
  { key: "queue", label: "Queue discipline", family: "aqm", start: "drop-tail", both: true },
  { key: "buffer", label: "Buffer per UE", values: { "10kB": "10 kB", "30kB": "30 kB", "100kB": "100 kB", "300kB": "300 kB", "1MB": "1 MB", "3MB": "3 MB", "10MB": "10 MB" }, start: "1MB", both: true },
  { key: "scheduler", label: "Scheduler", family: "sched", start: "pf", both: true },
  { key: "access", label: "Radio access", values: { lte: "LTE, 10 MHz", nr: "NR, 20 MHz", "nr-tdd": "NR TDD, 40 MHz at 3.5 GHz" }, start: "lte" },
  { key: "cells", label: "Cells", values: { 1: "one", 3: "3, sectors of a site", 21: "21, sectors of 7 sites" }, start: "1" },
  { key: "ues", label: "Other UEs", range: [0, 999], start: "4" },
  { key: "background", label: "Their traffic", values: { downloads: "downloads", web: "web pages", video: "video", none: "none" }, start: "downloads" },
  { key: "game", label: "Game beside the download", values: yes, start: "on" },
  { key: "distance", label: "Distance of the phone in m", range: [10, 2000], start: "300" },
  { key: "move", label: "UEs", values: { stay: "stay", walk: "walk", drive: "drive" }, start: "walk" },
  { key: "seed", label: "Seed", range: [0, 4294967295], start: "1" },
];

/**
 * Largest distance of a UE from the site in each axis, in metres; moving UEs stay in a square.
 *
 * @type {Record<string, number>}
 */
export const FARTHEST = { stay: 2000, walk: 500, drive: 500 };
/** Most UEs: the phone and others. */
const MAX_UES = 1000;
const SECTORS = ["sectors = 3", 'antenna = "parabolic"'];
/**
 * Sites by number of cells.
 *
 * @type {Record<string, string[]>}
 */
const CELLS = { 1: [], 3: SECTORS, 21: [...SECTORS, "rings = 1"] };

/**
 * Speeds of moving UEs.
 *
 * @type {Record<string, [string, string]>}
 */
const SPEEDS = { walk: ["0.5m/s", "1.5m/s"], drive: ["8m/s", "14m/s"] };

/**
 * Values that change while a cell runs: labels, and the factor to the engine's unit. `set` in Rust's `Session` has the rules.
 *
 * @type {Record<string, { label: string, factor: number }>}
 */
export const LIVE = {
  cwnd: { label: "cwnd of the download in kB", factor: 1e3 },
  rwnd: { label: "rwnd of the download in kB", factor: 1e3 },
  weight: { label: "weight of the phone in the scheduler", factor: 1 },
};

/**
 * Paces of the page: simulated seconds per second.
 *
 * @type {Record<string, string>}
 */
export const PACES = { "0.005": "200 times slower", "0.05": "20 times slower", 1: "real time", 4: "4 times faster", max: "as fast as possible" };

/** @type {() => Settings} */
export const defaults = () => Object.fromEntries(SETTINGS.map(({ key, start }) => [key, start]));

/** Adds the members of families to the allowed values. Members that need a value, such as the name of a file, are left out. */
export function learn(/** @type {Record<string, Member[]>} */ families) {
  for (const setting of SETTINGS) {
    if (!setting.family) continue;
    const members = families[setting.family].filter(({ params }) => !params.some(({ required }) => required));
    setting.values = Object.fromEntries(members.map(({ name, summary }) => [name, named(name, summary.split(":")[0])]));
    setting.summaries = Object.fromEntries(members.map(({ name, summary }) => [name, summary]));
  }
}

/**
 * Title of an algorithm, after its name in scenarios if that does not follow from the title.
 *
 * @param {string} name
 * @param {string} title
 */
function named(name, title) {
  const letters = (/** @type {string} */ text) => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  return letters(title).includes(letters(name)) ? title : `${name}: ${title}`;
}

/**
 * Returns the error of a value; `null`: it is allowed.
 *
 * @param {string} key
 * @param {string} value
 */
export function fault(key, value) {
  const setting = SETTINGS.find((each) => each.key === key);
  if (!setting) return `unknown setting \`${shortened(key)}\``;
  const { values, range } = setting;
  if (values && !Object.hasOwn(values, value)) return `${key}: unknown value \`${shortened(value)}\`; expected ${Object.keys(values).join(", ")}`;
  if (range && !(/^\d{1,10}$/.test(value) && Number(value) >= range[0] && Number(value) <= range[1])) {
    return `${key}: \`${shortened(value)}\` is not a whole number from ${range[0]} to ${range[1]}`;
  }
  return null;
}

const shortened = (/** @type {string} */ text) => printable(text.length > 40 ? `${text.slice(0, 40)}…` : text);

/**
 * Placement of UEs at places that a reader chose: `places` has them by number of the UE; `null`: it lacks one.
 *
 * @param {Map<number, Place>} places
 * @param {number} first
 * @param {number} count
 */
function chosen(places, first, count) {
  const points = Array.from({ length: count }, (_, index) => places.get(first + index));
  if (!points.every((point) => point !== undefined)) return null;
  return `placement = { kind = "list", points = [${points.map(({ x, y }) => `["${x}m", "${y}m"]`).join(", ")}] }`;
}

/**
 * The scenario of a configuration, with UEs at chosen places.
 *
 * @param {Settings} settings
 * @param {Map<number, Place>} places
 */
export function toml(settings, places = new Map(), duration = "1h") {
  const { cc, rwnd, queue, buffer, scheduler, access, cells, ues, background, game, distance, move, seed } = settings;
  /** @type {Record<string, string[]>} */
  const radios = {
    lte: [],
    nr: ['carrier = { bandwidth = "20MHz", downlink_frequency = "763MHz", uplink_frequency = "718MHz" }', 'radio.access = "nr"'],
    "nr-tdd": ['carrier = { bandwidth = "40MHz", downlink_frequency = "3.5GHz" }', 'radio.access = { kind = "nr", numerology = 1, pattern = "DDDSU" }'],
  };
  const speeds = SPEEDS[move];
  const moving = speeds ? [`mobility = { kind = "random-waypoint", min_speed = "${speeds[0]}", max_speed = "${speeds[1]}", pause = "0s", x = ["-${FARTHEST[move]}m", "${FARTHEST[move]}m"], y = ["-${FARTHEST[move]}m", "${FARTHEST[move]}m"] }`] : [];
  /** @type {Record<string, string[] | undefined>} */
  const kinds = { downloads: [], web: ['traffic = "web"'], video: ['traffic = "video"'] };
  const traffic = kinds[background];
  const control = [`cc = "${cc}"`, `rwnd = "${rwnd}"`];
  const lines = [
    'name = "playground"', `duration = "${duration}"`, `seed = ${seed}`, `rlc.queue = { kind = "${queue}", buffer = "${buffer}" }`,
    `mac.scheduler = "${scheduler}"`, ...radios[access], "[[site]]", ...CELLS[cells],
    "[[ue]]", 'name = "phone"', chosen(places, 0, 1) ?? `placement = { kind = "ring", radius = "${distance}m" }`, ...moving,
  ];
  if (Number(ues) > 0) lines.push("[[ue]]", 'name = "others"', `count = ${ues}`, chosen(places, 1, Number(ues)) ?? 'placement = { kind = "disc", radius = "500m" }', ...moving);
  lines.push("[[flow]]", 'id = "download"', 'ue = "phone"', ...control, 'start = "3s"');
  if (game === "on") lines.push("[[flow]]", 'id = "game"', 'ue = "phone"', 'traffic = { kind = "cbr", rate = "48kbps", packet = "100B" }');
  if (Number(ues) > 0 && traffic) lines.push("[[flow]]", 'id = "others"', 'ue = "others"', ...traffic, ...(background === "video" ? [] : control));
  return `${lines.join("\n").replaceAll("\n[[", "\n\n[[")}\n`;
}

/**
 * Reads the fragment of an address. Returns the settings of both configurations (`b` is `null` for one), places of UEs,
 * an own scenario, pace and step of the tour, and the errors of values that were replaced by the defaults.
 *
 * @param {string} fragment
 */
export async function readFragment(fragment) {
  /** @type {Omit<PlaygroundState, "playing"> & { errors: string[] }} */
  const found = { a: defaults(), b: null, places: new Map(), own: null, pace: "1", tour: null, errors: [] };
  /** @type {Settings} */
  const other = {};
  for (const [key, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (key === "toml") {
      found.own = await unpacked(value).catch((error) => {
        found.errors.push(`toml: ${error.message}`);
        return null;
      });
    } else if (key === "at") {
      const places = placesOf(value);
      if (places) found.places = places;
      else found.errors.push(`at: \`${shortened(value)}\` are no places; expected number:east,north;… in metres up to ${FARTHEST.stay}`);
    } else if (key === "pace") {
      if (Object.hasOwn(PACES, value)) found.pace = value;
      else found.errors.push(`pace: unknown value \`${shortened(value)}\`; expected ${Object.keys(PACES).join(", ")}`);
    } else if (key === "tour") {
      if (/^[1-6]$/.test(value)) found.tour = Number(value);
      else found.errors.push("tour: expected a step from 1 to 6");
    } else {
      const second = key.startsWith("b.");
      const name = second ? key.slice(2) : key;
      const error = fault(name, value);
      if (error) found.errors.push(error);
      else if (!second) found.a[name] = value;
      else other[name] = value;
    }
  }
  if (Object.keys(other).length) found.b = withCell(found.a, { ...found.a, ...other });
  return found;
}

/** Places in a fragment, such as `0:120,-40;1:15,300`; `null`: others. */
function placesOf(/** @type {string} */ text) {
  /** @type {Map<number, Place>} */
  const places = new Map();
  for (const part of text.split(";")) {
    const [number, x, y] = (/^(\d{1,3}):(-?\d{1,4}),(-?\d{1,4})$/.exec(part) ?? []).slice(1).map(Number);
    if (number === undefined || number >= MAX_UES || Math.max(Math.abs(x), Math.abs(y)) > FARTHEST.stay) return null;
    places.set(number, { x, y });
  }
  return places;
}

/**
 * The second configuration, with the cell of the first one.
 *
 * @param {Settings} a
 * @param {Settings} b
 * @returns {Settings}
 */
export function withCell(a, b) {
  return Object.fromEntries(SETTINGS.map(({ key, both }) => [key, both ? b[key] : a[key]]));
}

/**
 * Returns the fragment of a state; settings with default values are left out.
 *
 * @param {PlaygroundState} state
 */
export async function fragment({ a, b, places, own, pace, tour }) {
  /** @type {string[]} */
  const parts = [];
  const add = (/** @type {string} */ key, /** @type {string | number} */ value) => parts.push(`${key}=${encodeURIComponent(value)}`);
  if (tour !== null) {
    add("tour", tour);
  } else if (own !== null) {
    add("toml", await packed(own));
    if (a.seed !== defaults().seed) add("seed", a.seed);
  } else {
    for (const { key, start } of SETTINGS) if (a[key] !== start) add(key, a[key]);
    const list = [...places].map(([number, { x, y }]) => `${number}:${x},${y}`).join(";");
    // These characters need no encoding here, and a reader can change the places.
    if (list) parts.push(`at=${list}`);
    if (b) {
      const different = SETTINGS.filter(({ key, both }) => both && b[key] !== a[key]);
      for (const { key } of different) add(`b.${key}`, b[key]);
      // A second configuration that does not differ yet.
      if (!different.length) add("b.cc", b.cc);
    }
  }
  if (pace !== "1") add("pace", pace);
  return parts.length ? `#${parts.join("&")}` : "";
}

async function packed(/** @type {string} */ text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(/** @type {string} */ text) {
  if (!/^[\w-]+$/.test(text) || text.length > MAX_TOML) throw new Error("not a packed scenario");
  let bytes;
  try {
    const padded = text.replaceAll("-", "+").replaceAll("_", "/").padEnd(Math.ceil(text.length / 4) * 4, "=");
    bytes = await inflate(bytesOf(padded), MAX_TOML);
  } catch {
    throw new Error(`not a packed scenario of at most ${MAX_TOML} bytes`);
  }
  return new TextDecoder().decode(bytes);
}
