/** Strokes and fills; `x` and `y` map values to positions on the canvas. */

/** @typedef {(value: number) => number} Mapping maps values to positions on the canvas */

/**
 * Draws a line through points; NaN is a gap.
 *
 * @param {Pen} context
 * @param {Curve} curve
 * @param {Mapping} x
 * @param {Mapping} y
 * @param {{ colour: string, width: number, dashes?: number[] }} look
 */
export function follow(context, { time, values }, x, y, { colour, width, dashes = [] }) {
  context.beginPath();
  let joined = false;
  for (let i = 0; i < values.length; i++) {
    const known = values[i] === values[i];
    if (known) {
      const [right, down] = [x(time[i]), y(values[i])];
      // A line of zero length is invisible, so a single point between gaps gets a short line.
      if (!joined) context.moveTo(right - 0.6, down);
      context.lineTo(joined ? right : right + 0.6, down);
    }
    joined = known;
  }
  context.lineWidth = width;
  context.lineJoin = "round";
  context.strokeStyle = colour;
  context.setLineDash(dashes);
  context.stroke();
  context.setLineDash([]);
}

/**
 * Fills the area between two curves, whose points are at `x`; a gap ends a piece of it.
 *
 * @param {Pen} context
 * @param {ArrayLike<number>} low
 * @param {ArrayLike<number>} high
 * @param {Mapping} x
 * @param {Mapping} y
 * @param {string} colour
 */
export function ground(context, low, high, x, y, colour) {
  context.beginPath();
  for (let start = 0; start < low.length; start++) {
    let end = start;
    while (end < low.length && low[end] === low[end]) end++;
    if (end === start) continue;
    context.moveTo(x(start), y(high[start]));
    for (let i = start; i < end; i++) context.lineTo(x(i), y(high[i]));
    for (let i = end - 1; i >= start; i--) context.lineTo(x(i), y(low[i]));
    context.closePath();
    start = end;
  }
  context.fillStyle = colour;
  context.fill();
}

/**
 * Draws a straight line.
 *
 * @param {Pen} context
 * @param {number[]} from
 * @param {number[]} to
 * @param {string} colour
 */
export function rule(context, [left, top], [right, bottom], colour, dashes = /** @type {number[]} */ ([])) {
  context.beginPath();
  context.moveTo(left, top);
  context.lineTo(right, bottom);
  context.lineWidth = 1;
  context.strokeStyle = colour;
  context.setLineDash(dashes);
  context.stroke();
  context.setLineDash([]);
}
