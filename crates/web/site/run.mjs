/**
 * Runs scenarios in node with the code of the page's worker: `node run.mjs FOLDER < scenarios.json`. The scenarios are an
 * array of TOML texts, the output is an array of results.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runInThisContext } from "node:vm";

/** Period of the time series in milliseconds. */
const INTERVAL = 20;

const folder = process.argv[2];
const worker = fileURLToPath(new URL("../../../python/airwnd/play/static/worker.js", import.meta.url));
const answers = [];
globalThis.self = { postMessage: (message) => answers.push(message) };
runInThisContext([`${folder}/airwnd_web.js`, worker].map((file) => readFileSync(file, "utf8")).join("\n"));

function ask(message) {
  self.onmessage({ data: message });
  const { result, error } = answers.pop();
  if (error !== undefined) throw new Error(error);
  return result;
}

ask({ task: "load", module: new WebAssembly.Module(readFileSync(`${folder}/airwnd_web_bg.wasm`)) });
const scenarios = JSON.parse(readFileSync(0, "utf8"));
const runs = scenarios.map((toml) => ask({ task: "run", toml, interval: INTERVAL }));
process.stdout.write(JSON.stringify(runs));
