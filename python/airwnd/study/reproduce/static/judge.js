/**
 * Rules by which claims are judged: those of airwnd.study.reproduce (expression, claims, space, statistics, verdict), on
 * values by setting and seed. A nightly test compares both.
 */

/**
 * @typedef {Record<string, string>} Levels levels by axis
 * @typedef {{ name: string, label: string, set: Record<string, string>, rows: Rows, own?: boolean }} Level
 * @typedef {{ name: string, label: string, open: boolean, shown: string, when: Record<string, string[]>, key: string | null, levels: Level[] }} Axis
 * @typedef {Record<string, (string | number | boolean)[]>} Rows allowed values by column
 * @typedef {{ measure: string, at: Record<string, string | null> }} Call a measure at other levels; `null`: the level before
 * @typedef {object} Tree an expression: a number, a measure, or a function of others
 * @property {number} [number]
 * @property {string} [measure]
 * @property {Record<string, string | null>} [at]
 * @property {string} [function]
 * @property {Tree[]} [args]
 * @typedef {[low: number, high: number]} Range
 * @typedef {object} Check
 * @property {string} text
 * @property {string} required
 * @property {string} unit
 * @property {number} digits
 * @property {Tree} tree
 * @property {Record<string, string[]>} only
 * @property {number} low
 * @property {number} high
 * @property {boolean} strict
 * @property {Range} bounds
 * @property {number | null} margin
 * @property {boolean} decides
 * @typedef {{ id: string, text: string, source: string, checks: Check[] }} Claim
 * @typedef {{ name: string, table: string, column: string, statistic: string, where: Rows, between: Range | null }} Measure
 * @typedef {Record<string, number>} Quantiles of Student's t by number of values
 * @typedef {object} Experiment
 * @property {string} name
 * @property {string} toml
 * @property {number} seeds
 * @property {number} maxSeeds
 * @property {number} duration
 * @property {number} interval
 * @property {{ set: Record<string, string> }} quick
 * @property {Axis[]} axes
 * @property {Measure[]} measures
 * @property {Claim[]} claims
 * @property {Quantiles} quantiles
 * @property {Record<string, string>} classes of the style sheet by verdict
 * @typedef {{ mean: number, low: number, high: number }} Interval
 * @typedef {{ place: Levels, matters: Levels }} Point
 * @typedef {{ place: Levels, found: Interval, verdict: string }} Finding
 * @typedef {{ check: Check, findings: Finding[], open: string[] }} Result
 * @typedef {(setting: Levels, measure: string) => number[]} Lookup values of a measure, one for each seed
 * @typedef {Record<string, Set<string>>} Chosen levels by axis
 * @typedef {Record<string, any>} Row
 * @typedef {Record<string, Row[]>} TablesOfRun
 */

/** Fewest seeds for an interval. */
export const MIN_SEEDS = 3;
/** Change of a measure whose effect is too close to tell. */
const MARGIN = 0.01;

export const HOLDS = "holds";
const [PART, FAILS, CLOSE, OPEN, AGREES, UNSETTLED] = ["holds in part", "does not hold", "too close to tell", "not decided", "preview: agrees so far", "preview: open"];

/** Returns an experiment of the page with infinite bounds, which JSON does not have. */
export function restored(/** @type {Experiment} */ experiment) {
  /** @type {(range: (number | null)[]) => Range} */
  const infinite = ([low, high]) => [low ?? -Infinity, high ?? Infinity];
  const check = (/** @type {Check} */ each) => {
    const [low, high] = infinite([each.low, each.high]);
    return { ...each, low, high, bounds: infinite(each.bounds) };
  };
  return { ...experiment, claims: experiment.claims.map((claim) => ({ ...claim, checks: claim.checks.map(check) })) };
}

/** Combines verdicts that must all hold. */
export function together(/** @type {string[]} */ verdicts) {
  const found = new Set(verdicts);
  if (found.has(FAILS)) return FAILS;
  if (found.has(AGREES) || found.has(UNSETTLED)) return [...found].every((each) => each === HOLDS || each === AGREES) ? AGREES : UNSETTLED;
  return [OPEN, CLOSE, PART].find((each) => found.has(each)) ?? HOLDS;
}

/** Combines the verdicts of all set-ups that the paper leaves open. */
export function overSetups(/** @type {string[]} */ verdicts) {
  const found = new Set(verdicts);
  if (found.has(AGREES) || found.has(UNSETTLED)) return found.size === 1 && found.has(AGREES) ? AGREES : UNSETTLED;
  if (found.has(HOLDS)) return found.size === 1 ? HOLDS : PART;
  return [OPEN, CLOSE].find((each) => found.has(each)) ?? FAILS;
}

/**
 * Mean of independent values with its Student-t interval within possible values; `quantiles` has those of n values.
 *
 * @param {number[]} values
 * @param {Range} possible
 * @param {Quantiles} quantiles
 */
export function interval(values, [min, max], quantiles) {
  const n = values.length;
  if (values.some(Number.isNaN)) return { mean: NaN, low: NaN, high: NaN, n };
  const mean = values.reduce((sum, value) => sum + value, 0) / n;
  if (n < MIN_SEEDS) return { mean, low: -Infinity, high: Infinity, n };
  if (values.every((value) => value === values[0])) return { mean: values[0], low: values[0], high: values[0], n };
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const half = quantiles[n] * Math.sqrt(squares / (n - 1) / n);
  return { mean, low: Math.max(mean - half, Math.min(min, mean)), high: Math.min(mean + half, Math.max(max, mean)), n };
}

/**
 * @param {Check} check
 * @param {Interval} found
 * @param {number} margin
 */
function requirement({ low, high, strict }, found, margin) {
  if (Number.isNaN(found.mean)) return OPEN;
  const inside = strict ? found.low > low && found.high < high : found.low >= low && found.high <= high;
  const outside = strict ? found.high <= low || found.low >= high : found.high < low || found.low > high;
  if (inside || outside) return inside ? HOLDS : FAILS;
  const contained = [low, high].filter((bound) => found.low <= bound && bound <= found.high);
  return contained.every((bound) => found.low >= bound - margin && found.high <= bound + margin) ? CLOSE : OPEN;
}

/** The axes of an experiment, and the settings that their levels make. */
export class Space {
  constructor(/** @type {Axis[]} */ axes) {
    this.axes = axes;
    /** Axes after those on which they depend.
     * @type {Axis[]} */
    this.sorted = [];
    while (this.sorted.length < axes.length) {
      const known = this.sorted.map(({ name }) => name);
      const next = axes.find(({ name, when }) => !known.includes(name) && Object.keys(when).every((on) => known.includes(on)));
      if (!next) throw new Error("axes depend on one another");
      this.sorted.push(next);
    }
    this.shown = Object.fromEntries(axes.filter(({ open }) => open).map(({ name, shown }) => [name, shown]));
  }

  /** Drops the levels of axes that do not exist at these levels. */
  existing(/** @type {Levels} */ levels) {
    /** @type {Levels} */
    const found = {};
    for (const { name, when } of this.sorted) if (Object.entries(when).every(([on, allowed]) => allowed.includes(found[on]))) found[name] = levels[name];
    return Object.fromEntries(this.axes.filter(({ name }) => name in found).map(({ name }) => [name, found[name]]));
  }

  /** Levels of a setting; those of open axes that are not named are the shown ones. */
  setting(/** @type {Levels} */ levels) {
    return this.existing({ ...this.shown, ...levels });
  }

  /** All combinations of levels of these open axes, as `Space.setups` has them. */
  setups(/** @type {Set<string>} */ names) {
    /** @type {Levels[]} */
    let found = [{}];
    for (const { name, when, levels } of this.sorted.filter((axis) => names.has(axis.name))) {
      const on = Object.keys(when).filter((other) => names.has(other));
      found = found.flatMap((setup) => (on.every((other) => when[other].includes(setup[other])) ? levels.map((level) => ({ ...setup, [name]: level.name })) : [setup]));
    }
    return found;
  }

  levelsOf(/** @type {string} */ name) {
    return this.axes.find((axis) => axis.name === name)?.levels.map((level) => level.name) ?? [];
  }
}

const keyOf = (/** @type {Levels} */ levels) => JSON.stringify(Object.entries(levels).sort());

/** Measures of an expression. @returns {Call[]} */
function callsOf(/** @type {Tree} */ tree) {
  if (tree.measure) return [{ measure: tree.measure, at: tree.at ?? {} }];
  return (tree.args ?? []).flatMap(callsOf);
}

/**
 * Levels of the lookup of a measure at a place: `null` is the level before that of the place.
 *
 * @param {Space} space
 * @param {Call} call
 * @param {Levels} place
 */
function levelsAt(space, call, place) {
  const at = { ...place };
  for (const [axis, level] of Object.entries(call.at)) {
    const levels = space.levelsOf(axis);
    at[axis] = level ?? levels[levels.indexOf(place[axis]) - 1];
  }
  return at;
}

/**
 * Points at which a check is evaluated, among the chosen levels by axis: the place, and the levels that matter.
 *
 * @param {Space} space
 * @param {Check} check
 * @param {Chosen} chosen
 */
export function placesOf(space, check, chosen) {
  const calls = callsOf(check.tree);
  /** @type {Levels[]} */
  let places = [{}];
  for (const { name } of space.axes) {
    if (!calls.some(({ at }) => (at[name] ?? null) === null)) continue;
    const levels = space.levelsOf(name).slice(calls.some(({ at }) => at[name] === null) ? 1 : 0);
    const allowed = levels.filter((level) => chosen[name].has(level) && (check.only[name] ?? [level]).includes(level));
    places = places.flatMap((place) => allowed.map((level) => ({ ...place, [name]: level })));
  }
  /** @type {Map<string, Point>} */
  const found = new Map();
  for (const place of places) {
    /** @type {Set<string>} */
    const exists = new Set();
    for (const call of calls) for (const axis of Object.keys(space.existing(levelsAt(space, call, place)))) if ((call.at[axis] ?? null) === null) exists.add(axis);
    const matters = Object.fromEntries(Object.entries(place).filter(([axis]) => exists.has(axis)));
    if (!found.has(keyOf(matters))) found.set(keyOf(matters), { place, matters });
  }
  return [...found.values()];
}

/**
 * Settings that a check needs at these places.
 *
 * @param {Space} space
 * @param {Check} check
 * @param {Point[]} places
 */
export function settingsOf(space, check, places) {
  return places.flatMap(({ place }) => callsOf(check.tree).map((call) => space.setting(levelsAt(space, call, place))));
}

/** @type {Record<string, (...values: number[]) => number>} */
const FUNCTIONS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => (b === 0 ? NaN : a / b),
  negative: (a) => -a,
  abs: Math.abs,
  min: Math.min,
  max: Math.max,
};

/**
 * @param {Tree} tree
 * @param {(call: Call) => number} lookup
 * @returns {number}
 */
function valueOf(tree, lookup) {
  if (tree.number !== undefined) return tree.number;
  const [call] = tree.measure ? callsOf(tree) : [];
  return call ? lookup(call) : FUNCTIONS[tree.function ?? ""](...(tree.args ?? []).map((arg) => valueOf(arg, lookup)));
}

const finite = (/** @type {number} */ value) => (Number.isFinite(value) ? value : NaN);

/**
 * Largest change of the value when the mean of one of the measures changes by a part.
 *
 * @param {Tree} tree
 * @param {Map<string, number>} means
 * @param {(call: Call) => string} keyed
 */
function sensitivity(tree, means, keyed) {
  const value = (/** @type {string | null} */ changed) => finite(valueOf(tree, (call) => (means.get(keyed(call)) ?? NaN) * (keyed(call) === changed ? 1 + MARGIN : 1)));
  const usual = value(null);
  const found = [...means.keys()].map((key) => Math.abs(value(key) - usual)).reduce((max, each) => (each > max ? each : max));
  return Number.isFinite(found) ? found : 0;
}

/**
 * Judges a claim on values: `lookup(setting, measure)` has one for each seed. `chosen` are the levels by axis to which it
 * is restricted. A preview compares means only.
 *
 * @param {Space} space
 * @param {Claim} claim
 * @param {Chosen} chosen
 * @param {Lookup} lookup
 * @param {Quantiles} quantiles
 * @param {boolean} isPreview
 */
export function judge(space, claim, chosen, lookup, quantiles, isPreview) {
  const checks = claim.checks.map((check) => {
    const findings = placesOf(space, check, chosen).map(({ place, matters }) => {
      const keyed = (/** @type {Call} */ call) => `${call.measure} ${keyOf(space.setting(levelsAt(space, call, place)))}`;
      const known = new Map(callsOf(check.tree).map((call) => [keyed(call), lookup(space.setting(levelsAt(space, call, place)), call.measure)]));
      const count = Math.min(...[...known.values()].map(({ length }) => length));
      const values = Array.from({ length: count }, (_, seed) => finite(valueOf(check.tree, (call) => known.get(keyed(call))?.[seed] ?? NaN)));
      const found = interval(values, check.bounds, quantiles);
      const means = new Map([...known].map(([key, all]) => [key, all.reduce((sum, value) => sum + value, 0) / all.length]));
      const margin = check.margin ?? sensitivity(check.tree, means, keyed);
      const exact = { mean: found.mean, low: found.mean, high: found.mean };
      const verdict = isPreview ? (requirement(check, exact, 0) === HOLDS ? AGREES : UNSETTLED) : requirement(check, found, margin);
      return { place: matters, found, verdict };
    });
    const open = space.axes.filter(({ name, open: isOpen }) => isOpen && findings.some(({ place }) => name in place)).map(({ name }) => name);
    const result = { check, findings, open };
    return { ...result, verdict: overSetups(bySetup(space, [result])) };
  });
  const deciding = checks.filter(({ check, findings }) => check.decides && findings.length);
  return { checks, verdict: deciding.length ? overSetups(bySetup(space, deciding)) : null };
}

/**
 * Verdicts of checks together in each set-up of the open axes on which they depend.
 *
 * @param {Space} space
 * @param {Result[]} results
 */
function bySetup(space, results) {
  const names = new Set(results.flatMap(({ open }) => open));
  return space.setups(names).flatMap((setup) => {
    const isOf = (/** @type {Levels} */ place) => space.axes.every(({ name, open }) => !open || !(name in place) || setup[name] === place[name]);
    const found = results.flatMap(({ findings }) => findings.filter(({ place }) => isOf(place)));
    return found.length ? [together(found.map(({ verdict }) => verdict))] : [];
  });
}

// Measures.

/** @type {Record<string, (values: number[]) => number>} */
const STATISTICS = {
  mean: (values) => sum(values) / values.length,
  median: (values) => percentile(values, 50),
  min: (values) => values.reduce((least, value) => Math.min(least, value)),
  max: (values) => values.reduce((most, value) => Math.max(most, value)),
  sum,
  std: (values) => Math.sqrt(sum(values.map((value) => (value - sum(values) / values.length) ** 2)) / values.length),
  p5: (values) => percentile(values, 5),
  p95: (values) => percentile(values, 95),
  p99: (values) => percentile(values, 99),
  jain: (values) => sum(values) ** 2 / (values.length * sum(values.map((value) => value ** 2))),
};

function sum(/** @type {number[]} */ values) {
  return values.reduce((total, value) => total + value, 0);
}

/**
 * @param {number[]} values
 * @param {number} share
 */
function percentile(values, share) {
  const ordered = [...values].sort((a, b) => a - b);
  const at = ((ordered.length - 1) * share) / 100;
  const below = ordered[Math.floor(at)];
  return below + (ordered[Math.ceil(at)] - below) * (at - Math.floor(at));
}

/**
 * Reads a measure from the tables of a run, from the flows that the levels of a setting select.
 *
 * @param {Measure} measure
 * @param {TablesOfRun} tables
 * @param {Rows} rows
 */
export function read(measure, tables, rows) {
  const { table, column, between, statistic } = measure;
  const isOfFlows = ["flows", "series", "events"].includes(table);
  /** @type {[string, Rows[string]][]} */
  const both = Object.entries(measure.where).map(([key, allowed]) => [key, isOfFlows && rows[key] ? allowed.filter((value) => rows[key].includes(value)) : allowed]);
  const where = { ...(isOfFlows ? rows : {}), ...Object.fromEntries(both) };
  const all = tables[table];
  const flows = new Map(tables.flows.map((flow) => [flow.id, flow]));
  const owner = (/** @type {Row} */ row, /** @type {string} */ key) => (key in row ? row : flows.get(row.flow));
  const isAmong = (/** @type {Row} */ row) => Object.entries(where).every(([key, allowed]) => allowed.map(String).includes(String(owner(row, key)?.[key])));
  const isWithin = (/** @type {Row} */ row) => !between || (row.time_s >= between[0] && row.time_s <= between[1]);
  const values = all.filter((row) => isWithin(row) && isAmong(row)).map((row) => row[column]).filter((value) => typeof value === "number" && !Number.isNaN(value));
  if (statistic === "count") return values.length;
  return values.length ? STATISTICS[statistic](values) : NaN;
}
