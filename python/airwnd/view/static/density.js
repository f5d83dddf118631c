/**
 * Very many lines at once: how many of them cross each pixel, as depth of colour.
 *
 * A stroke costs as much as its length; here a line costs two additions for each pixel column, so that a hundred
 * lines in each of six panels stay quick to draw even without a graphics card.
 */

export class Density {
  #canvas = document.createElement("canvas");

  constructor(width, height) {
    this.width = width;
    this.height = height;
    // Where spans begin and end in each column; their sum down the column is the number of lines.
    this.steps = new Int16Array(width * (height + 1));
  }

  /** Add a line by its least and largest value in each column, whose places are `shift + scale * value` from the top. */
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
      // Beside its own span a column shows the way from where the line was before.
      const from = Math.round(before < top ? before : top);
      const to = Math.round(before > bottom ? before : bottom);
      steps[at + (from < 0 ? 0 : from > last ? last : from)]++;
      steps[at + (to < 0 ? 0 : to > last ? last : to) + 1]--;
      before = (top + bottom) / 2;
    }
  }

  /** Draw in a colour, `single` being the opacity of one line. */
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
