/** Strokes and fills; `x` and `y` give places on the canvas. */

/** A line through points; what is not a number is a gap. */
export function follow(context, { time, values }, x, y, { colour, width, dashes = [] }) {
  context.beginPath();
  let joined = false;
  for (let i = 0; i < values.length; i++) {
    const known = values[i] === values[i];
    if (known) {
      const [right, down] = [x(time[i]), y(values[i])];
      // A line of no length is not drawn: what stands alone between gaps gets a little of it.
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

/** The ground between two curves, whose points `x` places; a gap ends a piece of it. */
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

/** A straight line. */
export function rule(context, [left, top], [right, bottom], colour, dashes = []) {
  context.beginPath();
  context.moveTo(left, top);
  context.lineTo(right, bottom);
  context.lineWidth = 1;
  context.strokeStyle = colour;
  context.setLineDash(dashes);
  context.stroke();
  context.setLineDash([]);
}
