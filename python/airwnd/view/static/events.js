/** Events of all runs: kind, time, flow and cause. */

import { lowerBound } from "airwnd/scale.js";

const NULL = 0xffffffff;

export class Events {
  constructor(facts, arrays) {
    this.runs = facts.runs.map(({ events }, run) => {
      const array = (name) => arrays.get(`${run}/event-${name}`) ?? [];
      return { ...events, time: array("time"), flow: array("flow"), kind: array("kind"), cause: array("cause"), bytes: array("bytes") };
    });
    /** Kinds that occur. */
    this.kinds = Object.keys(facts.kinds).filter((kind) => this.runs.some((run) => run.kinds.includes(kind)));
  }

  /** Calls `visit(kind, line, run, index)` for events of shown kinds and lines between two times. */
  visit(state, from, to, visit) {
    this.runs.forEach((events, run) => {
      if (!state.runsShown.has(run)) return;
      const shown = events.kinds.map((kind) => state.kindsShown.has(kind));
      const first = state.firstLine[run];
      const end = lowerBound(events.time, to);
      for (let i = lowerBound(events.time, from); i < end; i++) {
        if (!shown[events.kind[i]] || events.flow[i] === NULL) continue;
        const line = state.lines[first + events.flow[i]];
        if (state.shown.has(line)) visit(events.kinds[events.kind[i]], line, events, i);
      }
    });
  }

  /** Describes an event. */
  static text(kind, line, events, index, label) {
    const cause = events.causes[events.cause[index]];
    const bytes = events.bytes[index];
    const facts = [kind, cause, Number.isNaN(bytes) ? undefined : `${bytes} bytes`].filter(Boolean).join(", ");
    return `${events.time[index].toFixed(4)} s ${line.id}${label ? ` · ${label}` : ""}: ${facts}`;
  }
}
