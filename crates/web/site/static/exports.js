/** Files of a state: scenario, figures, picture. */

import { FONT, theme } from "airwnd/canvas.js";

const COLUMNS = ["time_s", "cwnd_bytes", "rwnd_bytes", "in_flight_bytes", "rtt_ms", "delay_ms", "queue_bytes", "queue_packets", "sinr_db", "rate_kbps", "throughput_kbps"];

/** Offers a file for download. */
export function offer(name, content, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Time series of the shown flows, by configuration; an empty field is a missing value. */
export function csv(sides) {
  const lines = [["configuration", "flow", ...COLUMNS].join(",")];
  for (const { name, histories } of sides) {
    for (const [flow, history] of histories) {
      const columns = COLUMNS.map((column) => history.columns.get(column) ?? []);
      history.times.forEach((_, row) => {
        const values = columns.map((values) => (values[row] === values[row] ? values[row] : ""));
        lines.push([name, quoted(flow), ...values].join(","));
      });
    }
  }
  return `${lines.join("\n")}\n`;
}

/** A field of a CSV file; a text that a spreadsheet would execute begins with an apostrophe. */
function quoted(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One picture of all charts, with their titles. */
export function picture(charts, legend) {
  const canvases = charts.map(({ canvas }) => canvas);
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.max(...canvases.map(({ clientWidth }) => clientWidth)), canvases.reduce((sum, { clientHeight }) => sum + clientHeight + 24, 24)];
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  let top = 12;
  let left = 8;
  for (const { text, colour } of legend) {
    context.fillStyle = colour;
    context.fillText(text, left, top);
    left += context.measureText(text).width + 16;
  }
  for (const { canvas: each, spec } of charts) {
    top += 24;
    context.fillStyle = theme.ink;
    context.fillText(`${spec.title} (${spec.unit})`, 8, top);
    context.drawImage(each, 0, top + 10, each.clientWidth, each.clientHeight);
    top += each.clientHeight;
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
