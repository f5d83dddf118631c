/** Time series of the recent past, in memory that does not grow. */

/** Seconds that pictures show. */
export const SPAN = 20;
/** Seconds that are kept, for the CSV. */
const KEPT = 120;
/** Columns of the engine's time series. */
export const COLUMNS = ["time_s", "cwnd_bytes", "rwnd_bytes", "in_flight_bytes", "rtt_ms", "delay_ms", "queue_bytes", "queue_packets", "sinr_db", "rate_kbps", "throughput_kbps"];

export class History {
  /** @type {Map<string, number[]>} */
  columns = new Map();

  /** Appends rows by column. */
  append(/** @type {Columns} */ rows) {
    for (const [name, values] of Object.entries(rows)) {
      const column = this.columns.get(name);
      if (column) column.push(...values);
      else this.columns.set(name, [...values]);
    }
    const times = this.times;
    const end = times.at(-1);
    if (end === undefined || end - times[0] <= 1.25 * KEPT) return;
    const first = times.findIndex((time) => time >= end - KEPT);
    for (const [name, values] of this.columns) this.columns.set(name, values.slice(first));
  }

  get times() {
    return this.columns.get("time_s") ?? [];
  }

  /**
   * Returns times and values of a column from a time on; means over `size` samples.
   *
   * @param {string} column
   * @param {number} from
   */
  points(column, from, size = 1) {
    const [times, all] = [this.times, this.columns.get(column) ?? []];
    let first = times.length;
    while (first > 0 && times[first - 1] >= from) first--;
    // Windows stay where they are as time goes on.
    const step = Math.max(1, size);
    const time = [];
    const values = [];
    for (let i = first; i < times.length; i += 1) {
      const begin = Math.max(0, i - step + 1);
      let [sum, known] = [0, 0];
      for (let j = begin; j <= i; j++) {
        if (all[j] !== all[j]) continue;
        sum += all[j];
        known++;
      }
      time.push(times[i]);
      values.push(known ? sum / known : NaN);
    }
    return { time, values };
  }

  /**
   * Mean of a column over the samples between two times; NaN if there are none.
   *
   * @param {string} column
   * @param {number} from
   */
  mean(column, from, to = Infinity) {
    const all = this.#known(column, from, to);
    return all.length ? all.reduce((sum, value) => sum + value, 0) / all.length : NaN;
  }

  /**
   * @param {string} column
   * @param {number} from
   */
  max(column, from, to = Infinity) {
    const all = this.#known(column, from, to);
    return all.length ? all.reduce((max, value) => Math.max(max, value)) : NaN;
  }

  /**
   * @param {string} column
   * @param {number} from
   * @param {number} to
   */
  #known(column, from, to) {
    const values = this.columns.get(column) ?? [];
    return values.filter((value, i) => value === value && this.times[i] >= from && this.times[i] <= to);
  }
}
