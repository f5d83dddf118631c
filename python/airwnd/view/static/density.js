/**
 * A density plot of very many lines: the number of lines that cross each pixel, shown as depth of colour.
 *
 * The cost of a stroke grows with its length. Here a line costs two additions per pixel column, so that a hundred lines
 * in each of six panels are drawn quickly even without a graphics card.
 */

export class Density {
  #canvas = document.createElement("canvas");

  constructor(width, height) {
    this.width = width;
    this.height = height;
    // +1 and -1 at the ends of spans in each column; the running sum down a column is the number of lines.
    this.steps = new Int16Array(width * (height + 1));
  }

  /** Adds a line by its minimum and maximum in each column; a value is at `shift + scale * value` from the top. */
  add(low, high, scale, shift) {
    const { steps, width } = this;
    const last = this.height - 1;
    let before = NaN;
    for (let column = 0, at = 0; column < width; column++, at += last + 2) {
      if (low[column] !== low[column]) {
        before = NaN;
        continue;
      }
      const top = shift + scale * high[column];
      const bottom = shift + scale * low[column];
      // The span of a column includes the connection from the previous column.
      const from = Math.round(before < top ? before : top);
      const to = Math.round(before > bottom ? before : bottom);
      steps[at + (from < 0 ? 0 : from > last ? last : from)]++;
      steps[at + (to < 0 ? 0 : to > last ? last : to) + 1]--;
      before = (top + bottom) / 2;
    }
  }

  /** Draws the lines in a colour; `single` is the opacity of one line. */
  draw(context, x, y, colour, single) {
    const { width, height, steps } = this;
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const ink = (blue << 16) | (green << 8) | red;
    const depth = Array.from({ length: 256 }, (_, lines) => ink | (Math.round(255 * (1 - (1 - single) ** lines)) << 24));
    for (let column = 0; column < width; column++) {
      let lines = 0;
      for (let row = 0, at = column * (height + 1); row < height; row++, at++) {
        lines += steps[at];
        if (lines) pixels[row * width + column] = depth[Math.min(lines, 255)];
      }
    }
    this.#canvas.width = width;
    this.#canvas.height = height;
    this.#canvas.getContext("2d").putImageData(image, 0, 0);
    context.drawImage(this.#canvas, x, y);
  }
}
