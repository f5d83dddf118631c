/** A canvas context that writes SVG: the part of it that the charts of the page use. */

const number = (value) => String(Math.round(value * 100) / 100);
const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
/** Distance of the baseline from the given height, in sizes of the font. */
const BASELINES = { top: 0.8, middle: 0.34, bottom: -0.2, alphabetic: 0 };

export class SvgContext {
  #parts = [];
  #path = "";
  #saved = [];
  #clips = 0;
  #open = 0;
  #measure;

  constructor(width, height, font) {
    Object.assign(this, { width, height, font, fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, textAlign: "left", textBaseline: "alphabetic", lineJoin: "miter" });
    this.dashes = [];
    this.offset = [0, 0];
    this.#measure = document.createElement("canvas").getContext("2d");
  }

  /** Everything that follows is moved. */
  moveOrigin(x, y) {
    this.offset = [x, y];
  }

  #at(x, y) {
    return `${number(x + this.offset[0])} ${number(y + this.offset[1])}`;
  }

  beginPath() {
    this.#path = "";
  }

  moveTo(x, y) {
    this.#path += `M${this.#at(x, y)}`;
  }

  lineTo(x, y) {
    this.#path += `${this.#path ? "L" : "M"}${this.#at(x, y)}`;
  }

  closePath() {
    this.#path += "Z";
  }

  rect(x, y, width, height) {
    this.#path += `M${this.#at(x, y)}h${number(width)}v${number(height)}h${number(-width)}Z`;
  }

  /** A whole circle. */
  arc(x, y, radius) {
    const half = `a${number(radius)} ${number(radius)} 0 1 0`;
    this.#path += `M${this.#at(x - radius, y)}${half} ${number(2 * radius)} 0${half} ${number(-2 * radius)} 0Z`;
  }

  setLineDash(dashes) {
    this.dashes = dashes;
  }

  save() {
    this.#saved.push(this.#open);
  }

  restore() {
    const before = this.#saved.pop();
    while (this.#open > before) {
      this.#parts.push("</g>");
      this.#open--;
    }
  }

  clip() {
    const id = `clip-${this.#clips++}`;
    this.#parts.push(`<clipPath id="${id}"><path d="${this.#path}"/></clipPath><g clip-path="url(#${id})">`);
    this.#open++;
  }

  stroke() {
    const dashes = this.dashes.length ? ` stroke-dasharray="${this.dashes.join(" ")}"` : "";
    this.#parts.push(`<path d="${this.#path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="${this.lineJoin}"${this.#alpha()}${dashes}/>`);
  }

  fill() {
    this.#parts.push(`<path d="${this.#path}" fill="${this.fillStyle}"${this.#alpha()}/>`);
  }

  fillRect(x, y, width, height) {
    const right = Math.min(width, this.width - x);
    if (right > 0) this.#parts.push(`<path d="M${this.#at(x, y)}h${number(right)}v${number(height)}h${number(-right)}Z" fill="${this.fillStyle}"${this.#alpha()}/>`);
  }

  fillText(text, x, y) {
    const lower = y + BASELINES[this.textBaseline] * parseFloat(this.font);
    const [left, top] = this.#at(x, lower).split(" ");
    this.#parts.push(`<text x="${left}" y="${top}" text-anchor="${ANCHORS[this.textAlign]}" fill="${this.fillStyle}">${escaped(text)}</text>`);
  }

  measureText(text) {
    this.#measure.font = this.font;
    return this.#measure.measureText(text);
  }

  #alpha() {
    return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
  }

  /** The picture on a ground of this colour. */
  text(ground) {
    const [, size, family] = /([\d.]+)px (.*)$/.exec(this.font);
    const box = `width="${number(this.width)}" height="${number(this.height)}"`;
    const open = `<svg xmlns="http://www.w3.org/2000/svg" ${box} viewBox="0 0 ${number(this.width)} ${number(this.height)}" font-size="${size}" font-family="${escaped(family)}">`;
    return `${open}\n<rect ${box} fill="${ground}"/>\n${this.#parts.join("\n")}\n</svg>\n`;
  }
}
