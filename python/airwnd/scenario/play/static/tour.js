/** The guided tour: each step is a cell, a question, and an answer from the figures of the run that is on the page. */

import { valueText } from "airwnd/scale.js";
import { defaults, withCell } from "airwnd/settings.js";

/**
 * @import { Kind, Side } from "airwnd/side.js"
 *
 * @typedef {object} Step of the tour
 * @property {string} title
 * @property {Settings} a
 * @property {Settings | null} b
 * @property {string} text
 * @property {string} question
 * @property {(sides: Side[]) => string} answer
 */

/** Simulated seconds after which the answer can be read, and of the end of the interval of its figures. */
export const ENOUGH = 15;
const RECENT = 10;
/** Start of the download in the scenarios of the page. */
const START = 3;

const mean = (/** @type {Side} */ side, /** @type {Kind} */ kind, /** @type {string} */ column) => side.mean(kind, column, ENOUGH - RECENT, ENOUGH);
const mbps = (/** @type {Side} */ side) => mean(side, "download", "throughput_kbps") / 1e3;
const delay = (/** @type {Side} */ side) => mean(side, "game", "delay_ms");
const before = (/** @type {Side} */ side) => side.mean("game", "delay_ms", 0, START);
const cwnd = (/** @type {Side} */ side) => mean(side, "download", "cwnd_bytes") / 1e3;
const rwnd = (/** @type {Side} */ side) => mean(side, "download", "rwnd_bytes") / 1e3;
const queue = (/** @type {Side} */ side) => mean(side, "download", "queue_bytes") / 1e3;
const percent = (/** @type {number} */ part, /** @type {number} */ whole) => `${valueText((100 * part) / whole, 0)} %`;
const ms = (/** @type {number} */ value) => `${valueText(value, value < 10 ? 1 : 0)} ms`;
const rate = (/** @type {number} */ value) => `${valueText(value, 1)} Mbit/s`;
const kB = (/** @type {number} */ value) => `${valueText(value, 0)} kB`;

/**
 * How a figure compares with another one, as words.
 *
 * @param {number} value
 * @param {number} with_
 * @param {string[]} words
 */
function compared(value, with_, [less, equal, more]) {
  if (value > 1.05 * with_) return more;
  return value < 0.95 * with_ ? less : equal;
}

/**
 * "A has x, B y": both configurations side by side.
 *
 * @param {Side[]} sides
 * @param {(side: Side) => number} of
 * @param {(value: number) => string} text
 */
function both([a, b], of, text) {
  return `A has ${text(of(a))}, B ${text(of(b))}`;
}

/** What the second configuration gains and costs. */
function verdict(/** @type {Side[]} */ [a, b]) {
  const wait = compared(delay(b), delay(a), ["less", "the same", "more"]);
  const speed = compared(mbps(b), mbps(a), ["slower", "as fast", "faster"]);
  return `Game: ${both([a, b], delay, ms)} (B waits ${wait}, ${percent(delay(b), delay(a))} of A). Download: ${both([a, b], mbps, rate)} (B is ${speed}).`;
}

/** Which window limits the senders: the smaller one. */
function limits(/** @type {Side[]} */ sides) {
  const [a, b] = sides.map((side) => (rwnd(side) < cwnd(side) ? "rwnd" : "cwnd"));
  return a === b ? `The smaller one limits: ${a}.` : `The smaller one limits: ${a} in A, ${b} in B.`;
}

const one = (/** @type {Settings} */ a) => ({ a: { ...defaults(), ...a }, b: null });

const two = (/** @type {Settings} */ a, /** @type {Settings} */ b) => {
  const first = { ...defaults(), ...a };
  return { a: first, b: withCell(first, { ...defaults(), ...b }) };
};

/** @type {Step[]} */
export const STEPS = [
  {
    title: "A download alone",
    ...one({ game: "off" }),
    text: "One phone downloads in a cell with four other phones. The sender's window (cwnd) grows with every ACK. Watch the windows and the RLC queue at the base station.",
    question: "The window keeps growing. Does the download get faster?",
    answer: ([a]) =>
      `Throughput is ${rate(mbps(a))}, on average from second ${ENOUGH - RECENT} to ${ENOUGH}. The window is ${kB(cwnd(a))}, and ${kB(queue(a))} of it only wait in the RLC queue. What the cell can send per second does not depend on the window: more of it makes a longer queue.`,
  },
  {
    title: "A ping beside it",
    ...one({}),
    text: "The same phone plays a game: 60 packets of 100 bytes per second, a thousandth of the download. The download starts at second 3.",
    question: "The game needs almost nothing. What does the download do to it?",
    answer: ([a]) =>
      `A game packet took ${ms(before(a))} before the download and takes ${ms(delay(a))} now, ${valueText(delay(a) / before(a), 1)} times as long, up to ${ms(a.max("game", "delay_ms", ENOUGH - RECENT, ENOUGH))}. Both share the RLC queue of the phone, in which ${kB(queue(a))} wait on average. That is bufferbloat.`,
  },
  {
    title: "A small buffer",
    ...two({}, { buffer: "30kB" }),
    text: "Two cells with the same seed: the same places, the same fading. A has a buffer of 1 MB for each phone, B one of 30 kB.",
    question: "A queue cannot be longer than its buffer. Is a small buffer the solution?",
    answer: (sides) => `${verdict(sides)} Losses of the download: ${both(sides, (side) => side.drops, (value) => valueText(value, 0))}. A size that suits this cell is too small for a phone that is alone in a fast one: take away the other UEs and look again.`,
  },
  {
    title: "CoDel",
    ...two({}, { queue: "codel" }),
    text: "A keeps its full buffer. B measures how long packets wait, and drops one if all have waited more than 5 ms for 100 ms.",
    question: "CoDel has no setting for the rate or the number of phones. Can it be right for all of them?",
    answer: (sides) => `${verdict(sides)} CoDel controls time instead of bytes, so that its queue follows the rate of the phone. It needs the base station's operator.`,
  },
  {
    title: "The phone helps itself: DRWA and standing",
    ...two({ rwnd: "drwa" }, { rwnd: "standing" }),
    text: "Base station and server stay as they are. The phone advertises a smaller receive window (rwnd): with DRWA (A) as the RTT grows, with standing (B) from the rate at which queued segments arrive.",
    question: "Which of the two windows is the limit now, cwnd or rwnd?",
    answer: (sides) =>
      `${limits(sides)} rwnd: ${both(sides, rwnd, kB)}; cwnd: ${both(sides, cwnd, kB)}. ${verdict(sides)} Step 2 had no such control: compare its delay.`,
  },
  {
    title: "BBR",
    ...two({}, { cc: "bbr" }),
    text: "A has CUBIC, which looks for losses. B has BBR, which measures rate and minimum RTT of the path and sends no more than twice their product.",
    question: "One product of rate and minimum RTT keeps the path busy. Where is the second one?",
    answer: (sides) => `${verdict(sides)} In the RLC queue: ${both(sides, queue, kB)}; cwnd: ${both(sides, cwnd, kB)}. Half of BBR's window may be in the queue. With RTTs this short, how much that is depends on the rate that it measures in a cell that serves in turns.`,
  },
];

/** The panel of the tour. */
export class Tour {
  /** Number of the step, from 1; 0: the tour is closed. */
  step = 0;
  /** The answer, when the run is long enough.
   * @type {string | null} */
  found = null;

  /**
   * @param {HTMLElement} element
   * @param {(step: number | null) => void} show called with the number of a step, from 1; `null`: the tour ends
   */
  constructor(element, show) {
    this.element = element;
    const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (element.querySelector(`[data-part="${name}"]`));
    const button = (/** @type {string} */ name) => /** @type {HTMLButtonElement} */ (part(name));
    this.title = part("title");
    this.text = part("text");
    this.question = part("question");
    this.reply = part("answer");
    this.reveal = button("reveal");
    this.back = button("back");
    this.next = button("next");
    this.back.addEventListener("click", () => show(this.step - 1));
    this.next.addEventListener("click", () => show(this.step < STEPS.length ? this.step + 1 : null));
    button("end").addEventListener("click", () => show(null));
    this.reveal.addEventListener("click", () => (this.reply.textContent = this.found));
  }

  open(/** @type {number | null} */ step) {
    this.step = step ?? 0;
    this.element.hidden = step === null;
    if (step === null) return;
    const { title, text, question } = STEPS[step - 1];
    this.title.textContent = `Step ${step} of ${STEPS.length}: ${title}`;
    this.text.textContent = text;
    this.question.textContent = question;
    this.back.disabled = step === 1;
    this.next.textContent = step < STEPS.length ? "next step" : "finish";
    this.begin();
  }

  /** Takes back the answer: a run begins, possibly of another cell. */
  begin() {
    this.reply.textContent = "";
    this.found = null;
    this.wait([], -Infinity);
  }

  /**
   * Makes the answer, and permits to read it, when the run is long enough.
   *
   * @param {Side[]} sides
   * @param {number} now
   */
  wait(sides, now) {
    if (this.step === 0) return;
    if (now >= ENOUGH) this.found ??= STEPS[this.step - 1].answer(sides);
    this.reveal.disabled = this.found === null;
    const text = this.found !== null ? "show the answer" : `answer after ${ENOUGH} s of simulated time`;
    if (this.reveal.textContent !== text) this.reveal.textContent = text;
  }
}
