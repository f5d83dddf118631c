//! Results of a test: figures and grades.

use super::schedule::{Load, Step};

/// Percentiles of pings.
pub(super) const RANKS: [f64; 3] = [50.0, 95.0, 99.0];
/// Grades of the latency that a load adds, each with the number of milliseconds that it stays below: "Bufferbloat
/// Grades" of the speed test of DSLReports, https://www.dslreports.com/faq/17930. DSLReports grades the mean of both
/// directions; here each load has a grade, as the guard changes one of them.
const GRADES: [(&str, f64); 5] = [("A+", 5.0), ("A", 30.0), ("B", 60.0), ("C", 200.0), ("D", 400.0)];
const WORST: &str = "F";
/// Rule of the grades in words.
pub(super) const RULE: &str = "grade: median ping under load less that of the idle link; A+ below 5 ms, A below 30, B below 60, C below 200, D \
     below 400, otherwise F (thresholds of DSLReports' speed test)";

/// Returns the grade of an added latency.
pub(super) fn grade(added_ms: f64) -> &'static str {
    GRADES.into_iter().find(|(_, below)| added_ms < *below).map_or(WORST, |(grade, _)| grade)
}

/// A ping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ping {
    /// Time of sending since the start of the test.
    pub at_s: f64,
    /// `None`: no reply has arrived.
    pub rtt_ms: Option<f64>,
}

/// Payload of all transfers of a direction until a time since the start of the test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub at_s: f64,
    pub bytes: u64,
}

/// A phase. Payload of downloads is what has arrived, that of uploads what was acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub step: Step,
    pub begin_s: f64,
    /// End of the part that the percentiles of pings leave out.
    pub counted_s: f64,
    pub end_s: f64,
    pub down: Vec<Point>,
    pub up: Vec<Point>,
    /// Bytes that the server has received, including the time in which the queue drains.
    pub server_received_bytes: Option<u64>,
}

/// A test.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// As the user has named it.
    pub server: String,
    pub address: String,
    /// Real time of the start.
    pub unix_s: u64,
    pub flows: usize,
    /// The guard's receive-window control; `None`: there was no guard.
    pub rwnd: Option<String>,
    /// Congestion control of downloads and of uploads.
    pub congestion_control: [String; 2],
    /// Interface that leads to the server.
    pub interface: Option<String>,
    pub notes: Vec<String>,
    pub pings: Vec<Ping>,
    pub phases: Vec<Phase>,
}

/// Figures of all phases with the same load, without or with the guard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub step: Step,
    pub down_kbps: Option<f64>,
    pub up_kbps: Option<f64>,
    /// Percentiles of [`RANKS`].
    pub rtt_ms: [Option<f64>; 3],
    pub loss_percent: Option<f64>,
    /// Median less that of the idle link.
    pub added_ms: Option<f64>,
}

impl Row {
    pub fn grade(&self) -> Option<&'static str> {
        self.added_ms.map(grade)
    }

    /// Its name in the JSON object.
    pub fn id(&self) -> String {
        self.step.id()
    }
}

impl Measured {
    /// Returns a row for each load, without and with the guard, the idle link first.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for load in Load::ALL {
            for is_guarded in [false, true] {
                let step = Step { load, is_guarded };
                if self.phases.iter().any(|phase| phase.step == step) {
                    let idle_ms = rows.first().and_then(|row| row.rtt_ms[0]);
                    rows.push(self.row(step, idle_ms));
                }
            }
        }
        rows
    }

    /// Returns the row of a load, without or with the guard.
    pub fn row_of(rows: &[Row], load: Load, is_guarded: bool) -> Option<&Row> {
        rows.iter().find(|row| row.step == Step { load, is_guarded })
    }

    fn row(&self, step: Step, idle_ms: Option<f64>) -> Row {
        let phases: Vec<&Phase> = self.phases.iter().filter(|phase| phase.step == step).collect();
        let is_counted =
            |ping: &&Ping| phases.iter().any(|phase| (phase.counted_s..phase.end_s).contains(&ping.at_s));
        let pings: Vec<&Ping> = self.pings.iter().filter(is_counted).collect();
        let mut rtts_ms: Vec<f64> = pings.iter().filter_map(|ping| ping.rtt_ms).collect();
        rtts_ms.sort_by(f64::total_cmp);
        let rtt_ms = RANKS.map(|rank| percentile(&rtts_ms, rank));
        let loss = 100.0 * (1.0 - rtts_ms.len() as f64 / pings.len() as f64);
        let added_ms = (step.load != Load::Idle).then(|| Some(rtt_ms[0]? - idle_ms?)).flatten();
        let goodput = |points: fn(&Phase) -> &[Point]| goodput_kbps(&phases, points);
        Row {
            step,
            down_kbps: step.load.is_down().then(|| goodput(|phase| &phase.down)).flatten(),
            up_kbps: step.load.is_up().then(|| goodput(|phase| &phase.up)).flatten(),
            rtt_ms,
            loss_percent: (!pings.is_empty()).then_some(loss),
            added_ms,
        }
    }
}

/// Payload per time, from the request to the end of each phase, as in `airwnd link --battery`. A part would count what has
/// arrived before it, and was waiting for a lost segment.
fn goodput_kbps(phases: &[&Phase], points: fn(&Phase) -> &[Point]) -> Option<f64> {
    let ends = phases.iter().filter_map(|phase| points(phase).first().zip(points(phase).last()));
    let (mut bytes, mut seconds) = (0, 0.0);
    for (first, last) in ends {
        bytes += last.bytes.saturating_sub(first.bytes);
        seconds += last.at_s - first.at_s;
    }
    (seconds > 0.0).then(|| bytes as f64 * 8e-3 / seconds)
}

/// Returns a percentile by the nearest rank; `None`: there are no values.
pub(super) fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * percent / 100.0).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A test of two downloads, the first one without the guard and with a long queue, and an upload.
    pub fn example() -> Measured {
        let phase = |load, is_guarded, begin_s: f64, mbps: f64| {
            let point = |tenth: u32| Point {
                at_s: begin_s + f64::from(tenth) / 10.0,
                bytes: (mbps * 12_500.0 * f64::from(tenth)) as u64,
            };
            let points: Vec<Point> = (0..=60).map(point).collect();
            Phase {
                step: Step { load, is_guarded },
                begin_s,
                counted_s: begin_s + if load == Load::Idle { 0.0 } else { 2.0 },
                end_s: begin_s + 6.0,
                down: if load.is_down() { points.clone() } else { Vec::new() },
                up: if load.is_up() { points } else { Vec::new() },
                server_received_bytes: load.is_up().then_some(3_100_000),
            }
        };
        let phases = vec![
            phase(Load::Idle, false, 0.0, 0.0),
            phase(Load::Download, false, 7.0, 9.6),
            phase(Load::Download, true, 14.0, 9.4),
            phase(Load::Upload, false, 21.0, 4.0),
        ];
        let rtt_ms = |at_s: f64| match at_s {
            at_s if (7.0..13.0).contains(&at_s) => 420.0,
            at_s if (14.0..20.0).contains(&at_s) => 45.0,
            at_s if at_s >= 21.0 => 95.0,
            _ => 20.0,
        };
        // One of the pings of the first download is lost.
        let ping = |number: u32| {
            let at_s = f64::from(number) / 20.0;
            Ping { at_s, rtt_ms: (number != 200).then(|| rtt_ms(at_s)) }
        };
        Measured {
            server: "test.example".to_string(),
            address: "192.0.2.1:9551".to_string(),
            unix_s: 1_796_000_000,
            flows: 4,
            rwnd: Some("standing".to_string()),
            congestion_control: ["cubic".to_string(), "cubic".to_string()],
            interface: Some("wlan0".to_string()),
            notes: Vec::new(),
            pings: (0..540).map(ping).collect(),
            phases,
        }
    }

    #[test]
    fn grades_are_those_of_the_source() {
        let grades = [-3.0, 4.9, 5.0, 29.0, 30.0, 60.0, 199.9, 200.0, 399.0, 400.0, 5000.0].map(grade);
        assert_eq!(grades, ["A+", "A+", "A", "A", "B", "C", "C", "D", "D", "F", "F"]);
        for (grade, below) in GRADES {
            assert!(RULE.contains(&format!("{grade} below {below}")), "{grade}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(percentile(&values, 50.0), Some(2.0));
        assert_eq!(percentile(&values, 95.0), Some(4.0));
        assert_eq!(percentile(&values, 0.0), Some(1.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn rows_are_those_of_the_phases_without_their_beginning() {
        let rows = example().rows();
        let ids: Vec<String> = rows.iter().map(Row::id).collect();
        assert_eq!(ids, ["idle", "download", "download_guarded", "upload"]);
        let [idle, download, guarded, upload] = rows.as_slice() else { panic!("four") };
        assert_eq!((idle.rtt_ms, idle.added_ms, idle.grade()), ([Some(20.0); 3], None, None));
        assert_eq!((idle.down_kbps, idle.up_kbps, idle.loss_percent), (None, None, Some(0.0)));
        assert_eq!((download.added_ms, download.grade()), (Some(400.0), Some("F")));
        assert!((download.down_kbps.unwrap() - 9600.0).abs() < 1.0 && download.up_kbps.is_none());
        assert!((download.loss_percent.unwrap() - 1.25).abs() < 0.1, "one of 80");
        assert_eq!((guarded.added_ms, guarded.grade()), (Some(25.0), Some("A")));
        assert_eq!((upload.added_ms, upload.grade()), (Some(75.0), Some("C")));
        assert!((upload.up_kbps.unwrap() - 4000.0).abs() < 1.0 && upload.down_kbps.is_none());
    }

    #[test]
    fn without_any_reply_there_are_no_percentiles() {
        let mut measured = example();
        measured.pings.iter_mut().for_each(|ping| ping.rtt_ms = None);
        let rows = measured.rows();
        assert!(rows.iter().all(|row| row.rtt_ms == [None; 3] && row.added_ms.is_none()));
        assert!(rows.iter().all(|row| row.loss_percent == Some(100.0)));
        measured.pings.clear();
        assert!(measured.rows().iter().all(|row| row.loss_percent.is_none()));
    }
}
