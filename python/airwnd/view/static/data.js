/** Decodes the arrays of the page: the inverse of airwnd.view.pack. */

const TYPES = { f4: Float32Array, f8: Float64Array, u4: Uint32Array };

/** Returns all arrays of the page by name. */
export async function readArrays() {
  const elements = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("script[data-array]")]);
  const arrays = await Promise.all(elements.map(read));
  return new Map(elements.map((element, index) => [element.dataset.array, arrays[index]]));
}

async function read(/** @type {HTMLElement} */ element) {
  const { shape, kind } = /** @type {{ shape: string, kind: keyof typeof TYPES }} */ (/** @type {unknown} */ (element.dataset));
  const columns = Number(shape.split(",").at(-1));
  const planes = await inflate(bytesOf(element.textContent));
  // The text takes most of the page's memory, and is needed only once.
  element.textContent = "";
  const Type = TYPES[kind];
  const size = Type.BYTES_PER_ELEMENT;
  const count = planes.length / size;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < size; plane++) {
    for (let i = 0, from = plane * count, to = plane; i < count; i++, from++, to += size) bytes[to] = planes[from];
  }
  const whole = size === 8 ? new BigUint64Array(bytes.buffer) : new Uint32Array(bytes.buffer);
  for (let i = 1; i < count; i++) {
    if (i % columns !== 0) /** @type {any} */ (whole)[i] += whole[i - 1];
  }
  return new Type(bytes.buffer);
}

/** Decodes base64. */
export function bytesOf(/** @type {string} */ text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/**
 * Decompresses data; more than `max` bytes are an error.
 *
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export async function inflate(bytes, max = Infinity) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bounded = max < Infinity ? stream.pipeThrough(atMost(max)) : stream;
  return new Uint8Array(await new Response(bounded).arrayBuffer());
}

function atMost(/** @type {number} */ max) {
  let size = 0;
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length;
      if (size > max) throw new RangeError(`more than ${max} bytes`);
      controller.enqueue(chunk);
    },
  });
}
