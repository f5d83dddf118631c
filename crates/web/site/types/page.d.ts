/** Types that several modules of the pages share. They are checked by `make web-lint`; no page has them. */

/** Numbers from the engine: an array from JSON, or a typed one from WebAssembly. */
interface Numbers extends Iterable<number>, ArrayLike<number> {
  map(change: (value: number, index: number) => number): Numbers;
  forEach(call: (value: number, index: number) => void): void;
  at(index: number): number | undefined;
}

/** Columns of numbers by name. */
type Columns = Record<string, Numbers>;

interface Place {
  x: number;
  y: number;
}

/** State of a UE. */
interface UeState extends Place {
  sinr: number;
  bytes: number;
  packets: number;
}

/** A number with times. */
interface Curve {
  time: ArrayLike<number>;
  values: ArrayLike<number>;
}

/** The part of a canvas context that charts use; the writer of SVG has it, too. */
type Pen = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "lineJoin" | "globalAlpha" | "font" | "textAlign" | "textBaseline"
  | "beginPath" | "closePath" | "moveTo" | "lineTo" | "rect" | "arc" | "stroke" | "fill" | "clip" | "save" | "restore"
  | "fillRect" | "fillText" | "setLineDash"
> & { measureText(text: string): { width: number } };

/** A pen with the size of its picture. */
interface Surface {
  context: Pen;
  width: number;
  height: number;
}

// Messages of the engine's worker, and of the engine behind `airwnd play`.

/** A flow of a simulation: `group` is the id of its settings. */
interface FlowOfRun {
  id: string;
  group: string;
  ue: number;
}

/** What the page reads of a resolved scenario. */
interface Resolved {
  duration: string;
  seed: number;
  rlc?: { queue?: { buffer?: string } };
  flow: { id: string; start?: string; traffic?: { kind: string } }[];
}

interface Cells {
  x_m: Numbers;
  y_m: Numbers;
}

/** State of a simulation: present in seconds, six numbers for each UE, PRBs in use and of the carrier for each cell. */
interface Present {
  now: number;
  ues: Numbers;
  use: Numbers;
}

interface Begun extends Present {
  resolved: Resolved;
  cells: Cells;
  flows: FlowOfRun[];
  /** Duration of a TTI in milliseconds. */
  tti: number;
}

/** Downlink transmissions, by columns; masks of RBGs. */
interface Allocations {
  time_s?: Numbers;
  ue?: Numbers;
  rbgs?: Numbers;
  transmission?: Numbers;
  carrier?: Numbers;
  cell?: Numbers;
}

/** Stages of packets, by columns. */
interface Stages {
  time_s: Numbers;
  stage: ArrayLike<"sent" | "queued" | "block" | "received" | "dropped">;
  flow: Numbers;
  up: Numbers;
  id: Numbers;
  bytes: Numbers;
  process: Numbers;
}

/** Transmissions of transport blocks, by columns. */
interface Transmissions {
  time_s: Numbers;
  up: Numbers;
  process: Numbers;
  transmission: Numbers;
  prbs: Numbers;
  mcs: Numbers;
  bytes: Numbers;
  outcome: ArrayLike<"decoded" | "failed" | "unused">;
}

interface FlowEvent {
  time: number;
  flow: string;
  kind: string;
}

interface Advanced extends Present {
  ended: boolean;
  /** Memory of the module in bytes; 0 behind `airwnd play`. */
  memory: number;
  series: Record<string, Columns>;
  events: FlowEvent[];
  allocations: Allocations;
  packets: Partial<Stages>;
  blocks: Partial<Transmissions>;
}

interface AdvanceRequest {
  /** Simulated time in seconds. */
  to: number;
  /** Wall-clock milliseconds. */
  budget?: number;
  ttis?: number;
}

interface RunRequest {
  toml: string;
  overrides?: string[];
  seed?: number;
  interval?: number;
  progress?: boolean;
  rows?: boolean;
  memory?: number;
}

interface RunResult {
  /** Results as JSON. */
  outcome: string;
  series: any;
  events: any;
}

/** Member of a family of algorithms. */
interface Member {
  name: string;
  summary: string;
  params: { name: string; required: boolean }[];
}

/** Requests and results by task. */
interface Tasks {
  load: [{ module: WebAssembly.Module }, {}];
  describe: [{ families: string[] }, Record<string, Member[]>];
  begin: [{ toml: string; seed?: number; interval: number; memory: number; packetsOf?: number }, Begun];
  set: [{ what: string; target: number; value: number }, {}];
  check: [{ toml: string; overrides?: string[] }, { resolved: Resolved; written: unknown }];
  watch: [{ flows: string[]; columns: readonly string[] }, {}];
  advance: [AdvanceRequest, Advanced];
  finish: [{}, { outcome: string }];
  run: [RunRequest, RunResult];
  explore: [{ scenarios: string[]; seed?: number; seconds: number; fragment: string }, { page: string }];
}

/** An engine that a page may begin, ask and stop. */
interface AnyEngine {
  request<Task extends keyof Tasks>(task: Task, values: Tasks[Task][0]): Promise<Tasks[Task][1]>;
  stop(): void;
}

/** Answer of the worker: a result, an error, or the progress of a run. */
interface Answer {
  number: number;
  result?: any;
  error?: string;
  fatal?: boolean;
  progress?: number;
  duration?: string;
}

/** Module and worker for pages that share a script. */
declare var airwndEngine: { module: string; worker: string } | undefined;

interface Uint8ArrayConstructor {
  /** Not in all browsers. */
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

// State of the playground.

/** Values of the controls by key. */
type Settings = Record<string, string>;

interface PlaygroundState {
  a: Settings;
  /** The second configuration. */
  b: Settings | null;
  places: Map<number, Place>;
  /** A scenario instead of the controls. */
  own: string | null;
  pace: string;
  /** Step of the tour. */
  tour: number | null;
  playing: boolean;
}

/** Colour of a configuration in the light and the dark theme. */
interface TwoColours {
  colour: string;
  dark: string;
}

// The explorer.

/** What the page of a run is told besides its arrays; more is in airwnd.view.content. */
interface RunFacts {
  runs: ({ duration: number; columns: string[]; sites: any[]; flows: { id: string; ue: string }[] } & Record<string, any>)[];
  panels: ({ column: string; name: string; title: string; shown: boolean } & Record<string, any>)[];
  /** Titles of the kinds of events. */
  kinds: Record<string, string>;
  [name: string]: any;
}
