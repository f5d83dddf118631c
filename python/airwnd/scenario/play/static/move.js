/** Moves UEs on the map: with the mouse, a finger or keys. */

import { valueText } from "airwnd/scale.js";

/**
 * @import { CellMap } from "airwnd/cell.js"
 */

/** Pixels around a UE in which a pointer takes it: a fingertip is wider than the tip of an arrow. */
/** @type {Record<string, number>} */
const REACH = { mouse: 10, pen: 14, touch: 22 };
/** Steps of the arrow keys in metres. */
const [STEP, LONG] = [10, 50];
/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export const nameOf = (/** @type {number} */ number) => (number === 0 ? "phone" : `UE ${number}`);

/** A position as a reader says it. */
export function placeText(/** @type {Place} */ { x, y }) {
  const east = `${valueText(Math.abs(x), 0)} m ${x < 0 ? "west" : "east"}`;
  return `${east}, ${valueText(Math.abs(y), 0)} m ${y < 0 ? "south" : "north"}`;
}

/**
 * Lets the UEs of a map be moved. `limit` is called for the largest distance from the origin in each axis, or `null` if
 * UEs cannot be moved now; `done` with number and position of a moved UE; `tell` with a text for screen readers.
 *
 * @param {CellMap} map
 * @param {{ limit: () => number | null, done: (number: number, place: Place) => void, tell: (text: string) => void }} calls
 */
export function movable(map, { limit, done, tell }) {
  const { canvas } = map;
  /** @type {number | null} */
  let pointer = null;

  const place = (/** @type {number} */ number, /** @type {number} */ x, /** @type {number} */ y) => {
    const most = limit() ?? 0;
    const within = (/** @type {number} */ value) => Math.round(Math.min(most, Math.max(-most, value)));
    const at = { x: within(x), y: within(y) };
    map.moved = { number, ...at, text: `${nameOf(number)}: ${placeText(at)}` };
    return map.moved;
  };
  const drop = (/** @type {Place & { number: number }} */ { number, x, y }) => {
    map.moved = null;
    done(number, { x, y });
  };
  /** @type {(event: PointerEvent | Touch) => [number, number]} */
  const position = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const taken = (/** @type {PointerEvent | Touch} */ event, /** @type {string} */ kind) => (limit() === null ? -1 : map.at(...position(event), REACH[kind] ?? REACH.mouse));

  canvas.addEventListener("pointerdown", (event) => {
    const number = taken(event, event.pointerType);
    if (number < 0 || event.button !== 0) return;
    pointer = event.pointerId;
    canvas.setPointerCapture(pointer);
    const { x, y } = map.places[number];
    place(number, x, y);
    canvas.style.cursor = "grabbing";
  });
  canvas.addEventListener("pointermove", (event) => {
    if (pointer === null) {
      canvas.style.cursor = taken(event, event.pointerType) < 0 ? "" : "grab";
    } else if (event.pointerId === pointer && map.moved) {
      const { x, y } = map.metres(...position(event));
      place(map.moved.number, x, y);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (event.pointerId !== pointer) return;
    pointer = null;
    canvas.style.cursor = "";
    if (!map.moved) return;
    const { number, x, y } = map.moved;
    const before = map.places[number];
    // A click is no movement.
    if (Math.hypot(before.x - x, before.y - y) * map.view.scale < 4) map.moved = null;
    else drop(map.moved);
  });
  canvas.addEventListener("pointercancel", () => {
    pointer = null;
    map.moved = null;
  });
  // A finger on a UE moves it; anywhere else it scrolls the page.
  canvas.addEventListener("touchstart", (event) => taken(event.touches[0], "touch") >= 0 && event.preventDefault(), { passive: false });

  canvas.addEventListener("keydown", (event) => {
    /** @type {Record<string, number>} */
    const steps = { PageDown: 1, PageUp: -1 };
    const count = map.places.length;
    if (limit() === null || !count || event.ctrlKey || event.metaKey || event.altKey) return;
    const number = map.moved?.number ?? 0;
    let text;
    if (event.key in steps) {
      const next = map.moved ? (number + steps[event.key] + count) % count : 0;
      ({ text } = place(next, map.places[next].x, map.places[next].y));
    } else if (event.key in ARROWS) {
      const { x, y } = map.moved ?? map.places[number];
      const [east, north] = ARROWS[event.key].map((step) => step * (event.shiftKey ? LONG : STEP));
      ({ text } = place(number, x + east, y + north));
    } else if (event.key === "Enter" && map.moved) {
      drop(map.moved);
      event.preventDefault();
      return;
    } else if (event.key === "Escape" && map.moved) {
      map.moved = null;
      tell("not moved");
      return;
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    tell(`${text}; Enter puts it there`);
  });
  canvas.addEventListener("blur", () => pointer === null && (map.moved = null));
}
