/** A canvas context that writes SVG: the part of it that the charts of the page use. */

import { contextOf } from "airwnd/canvas.js";

const number = (/** @type {number} */ value) => String(Math.round(value * 100) / 100);
const escaped = (/** @type {string} */ text) => String(text).replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
/**
 * Distance of the baseline from the given height, in sizes of the font.
 *
 * @type {Partial<Record<CanvasTextBaseline, number>>}
 */
const BASELINES = { top: 0.8, middle: 0.34, bottom: -0.2, alphabetic: 0 };

export class SvgContext {
  /** @type {string | CanvasGradient | CanvasPattern} */
  fillStyle = "#000";
  /** @type {string | CanvasGradient | CanvasPattern} */
  strokeStyle = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  /** @type {CanvasTextAlign} */
  textAlign = "left";
  /** @type {CanvasTextBaseline} */
  textBaseline = "alphabetic";
  /** @type {CanvasLineJoin} */
  lineJoin = "miter";
  /** @type {number[]} */
  dashes = [];
  offset = [0, 0];
  /** @type {string[]} */
  #parts = [];
  #path = "";
  /** @type {number[]} */
  #saved = [];
  #clips = 0;
  #open = 0;
  #measure = contextOf(document.createElement("canvas"));

  /**
   * @param {number} width
   * @param {number} height
   * @param {string} font
   */
  constructor(width, height, font) {
    this.width = width;
    this.height = height;
    this.font = font;
  }

  /**
   * Everything that follows is moved.
   *
   * @param {number} x
   * @param {number} y
   */
  moveOrigin(x, y) {
    this.offset = [x, y];
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  #at(x, y) {
    return `${number(x + this.offset[0])} ${number(y + this.offset[1])}`;
  }

  beginPath() {
    this.#path = "";
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  moveTo(x, y) {
    this.#path += `M${this.#at(x, y)}`;
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  lineTo(x, y) {
    this.#path += `${this.#path ? "L" : "M"}${this.#at(x, y)}`;
  }

  closePath() {
    this.#path += "Z";
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  rect(x, y, width, height) {
    this.#path += `M${this.#at(x, y)}h${number(width)}v${number(height)}h${number(-width)}Z`;
  }

  /**
   * A whole circle.
   *
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   */
  arc(x, y, radius) {
    const half = `a${number(radius)} ${number(radius)} 0 1 0`;
    this.#path += `M${this.#at(x - radius, y)}${half} ${number(2 * radius)} 0${half} ${number(-2 * radius)} 0Z`;
  }

  setLineDash(/** @type {number[]} */ dashes) {
    this.dashes = dashes;
  }

  save() {
    this.#saved.push(this.#open);
  }

  restore() {
    const before = this.#saved.pop() ?? 0;
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

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  fillRect(x, y, width, height) {
    const right = Math.min(width, this.width - x);
    if (right > 0) this.#parts.push(`<path d="M${this.#at(x, y)}h${number(right)}v${number(height)}h${number(-right)}Z" fill="${this.fillStyle}"${this.#alpha()}/>`);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   */
  fillText(text, x, y) {
    const lower = y + (BASELINES[this.textBaseline] ?? 0) * parseFloat(this.font);
    const [left, top] = this.#at(x, lower).split(" ");
    this.#parts.push(`<text x="${left}" y="${top}" text-anchor="${ANCHORS[this.textAlign]}" fill="${this.fillStyle}">${escaped(text)}</text>`);
  }

  measureText(/** @type {string} */ text) {
    this.#measure.font = this.font;
    return this.#measure.measureText(text);
  }

  #alpha() {
    return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
  }

  /** The picture on a ground of this colour. */
  text(/** @type {string} */ ground) {
    const [, size = "", family = ""] = /([\d.]+)px (.*)$/.exec(this.font) ?? [];
    const box = `width="${number(this.width)}" height="${number(this.height)}"`;
    const open = `<svg xmlns="http://www.w3.org/2000/svg" ${box} viewBox="0 0 ${number(this.width)} ${number(this.height)}" font-size="${size}" font-family="${escaped(family)}">`;
    return `${open}\n<rect ${box} fill="${ground}"/>\n${this.#parts.join("\n")}\n</svg>\n`;
  }
}
