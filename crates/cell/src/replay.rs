//! Channels of recordings: what a drive test measured of the serving cell, in place of path loss, shadowing and
//! interference.

mod log;

use airwnd_catalog::{Choice, Fault, Files, Params};
use airwnd_phy::amc::Amc;
use airwnd_phy::{Cqi, Prbs, Sinr};
use airwnd_units::{Db, Dbm, Span, Time};

/// Latest time in a recording, in seconds: a year.
const LATEST: f64 = 31_536_000.0;
/// Resource elements of a PRB, over which RSRP is averaged (TS 36.214 §5.1.1).
const RESOURCE_ELEMENTS: f64 = 12.0;

/// Measure of a recorded channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Quantity {
    /// SINR in dB.
    #[word = "sinr"]
    Sinr,
    /// RSRP in dBm. There is noise, and no interference.
    #[word = "rsrp"]
    Rsrp,
    /// CQI: the middle of the SINRs for which the scenario's link adaptation reports it on a flat channel.
    #[word = "cqi"]
    Cqi,
}

impl Quantity {
    /// The range of values, in dB, dBm or 1.
    fn range(self) -> std::ops::RangeInclusive<f64> {
        match self {
            Quantity::Sinr => -50.0..=60.0,
            Quantity::Rsrp => -160.0..=-20.0,
            Quantity::Cqi => 0.0..=15.0,
        }
    }
}

/// Replay: the channel of a UE from a recording, such as the log of a drive test.
///
/// The recording determines the mean power that the UE receives from the cell that serves it: `ue.placement`'s cell, or the
/// strongest at its place. Between two rows it is linear in dB, after the last it stays. Path loss, shadowing and blockage do
/// not count; fading varies around the recorded means. Other cells are out of reach, so that there is no handover: in a
/// recording a handover is a change of the channel. With `rsrp` the loss of the uplink is that of the downlink, otherwise
/// it is as without a recording.
///
/// A row has a time and a value; other columns are skipped, and so are rows without a value (empty, `-`, `nan`). Times are
/// in seconds, or dates such as `2019-12-16 12:27:05.5` and G-NetTrack's `2019.12.16_12.27.05`; they count from the first
/// row. Of rows with the same time the last one counts. When a scenario is loaded, `rows` takes the content of the file.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "a log, as of G-NetTrack; TS 36.214 §5.1.1 (RSRP), TS 36.213 §7.2.3 (CQI)", check, files)]
pub struct Params {
    /// CSV file, relative to the scenario's folder; once it has been read, `rows` holds its content.
    #[param(unit = "path", source = "the scenario")]
    pub path: String,
    /// Measure that determines the channel; `none`: the first that the file has of `sinr`, `rsrp`, `cqi`.
    #[param(basic, default = None, unit = "1", source = "the file")]
    pub quantity: Option<Quantity>,
    /// Column of the values; `none`: for `sinr` a column `sinr_db`, `SINR` or `SNR`, for `rsrp` `rsrp_dbm` or `RSRP`, for
    /// `cqi` `CQI`, in any case of letters.
    #[param(default = None, unit = "text", source = "the file")]
    pub column: Option<String>,
    /// Column of the times; `none`: `t_s`, `time` or `Timestamp`, in any case of letters.
    #[param(default = None, unit = "text", source = "the file")]
    pub time: Option<String>,
    /// Time in the recording at which the simulation begins.
    #[param(default = Span::ZERO, range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "the scenario")]
    pub start: Span,
    /// The rows of the file: time in seconds, and value.
    #[param(expert, default = Vec::new(), range = -160.0..=LATEST)]
    #[param(unit = "s, dB, dBm or 1", source = "the file")]
    pub rows: Vec<[f64; 2]>,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let Some(quantity) = self.quantity else {
            return Err(("quantity", "rows need a quantity: `sinr`, `rsrp` or `cqi`".into()));
        };
        let range = quantity.range();
        let wrong = |(place, [_, value]): (usize, &[f64; 2])| {
            let (low, high) = (range.start(), range.end());
            (!range.contains(value))
                .then(|| format!("row {}: {value} is not between {low} and {high}", place + 1))
        };
        if let Some(message) = self.rows.iter().enumerate().find_map(wrong) {
            return Err(("rows", message));
        }
        match self.rows.windows(2).position(|pair| pair[1][0] <= pair[0][0]) {
            Some(place) => {
                Err(("rows", format!("row {}: its time is not after that of the row before", place + 2)))
            }
            None => Ok(()),
        }
    }

    fn files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        if !self.rows.is_empty() {
            return Ok(());
        }
        let file = files.read(&self.path).map_err(|message| Fault::new("path", message))?;
        let names = log::Names {
            quantity: self.quantity,
            column: self.column.as_deref(),
            time: self.time.as_deref(),
        };
        let log =
            log::read(&file.text, &names).map_err(|(line, why)| Fault::in_file(&file.origin, line, why))?;
        (self.quantity, self.rows) = (Some(log.quantity), log.rows);
        Ok(())
    }
}

/// A recorded channel in the course of a simulation.
#[derive(Debug)]
pub(crate) struct Replay {
    /// Mean received power per PRB, in dBm, by time in the recording.
    powers: Vec<(Time, f64)>,
    /// Time of the recording at which the simulation begins.
    start: Span,
    /// Number of rows whose time has passed.
    passed: usize,
    /// Whether the recording tells the loss.
    pub has_loss: bool,
}

/// Properties of a UE by which a recorded measure becomes a received power.
pub(crate) struct Receiver<'a> {
    /// Noise per PRB.
    pub noise: Dbm,
    pub amc: &'a dyn Amc,
    pub prbs: Prbs,
}

impl Replay {
    pub fn new(params: &Params, receiver: &Receiver<'_>) -> Replay {
        let quantity = params.quantity.expect("a recording has a quantity");
        let per_prb = Db::from_linear(RESOURCE_ELEMENTS);
        let power = |value: f64| match quantity {
            Quantity::Sinr => receiver.noise + Db(value),
            Quantity::Rsrp => Dbm(value) + per_prb,
            Quantity::Cqi => receiver.noise + receiver.sinr_of(Cqi(value as u8)),
        };
        let row = |[time, value]: &[f64; 2]| (Time::ZERO + Span((time * 1e9) as u64), power(*value).0);
        Replay {
            powers: params.rows.iter().map(row).collect(),
            start: params.start,
            passed: 0,
            has_loss: quantity == Quantity::Rsrp,
        }
    }

    /// The power per PRB at a time, not before that of the last call.
    pub fn power(&mut self, now: Time) -> Dbm {
        let now = now + self.start;
        while self.powers.get(self.passed).is_some_and(|(at, _)| *at <= now) {
            self.passed += 1;
        }
        let row = |index: usize| self.powers[index.min(self.powers.len() - 1)];
        let ((from, before), (to, after)) = (row(self.passed.saturating_sub(1)), row(self.passed));
        if to <= now || from >= to {
            return Dbm(after);
        }
        let part = now.since(from).0 as f64 / to.since(from).0 as f64;
        Dbm(before + part * (after - before))
    }
}

impl Receiver<'_> {
    /// The middle of the SINRs of a CQI on a flat channel; for the lowest and the highest CQI, and for one that is not
    /// reported, near the end of its range.
    fn sinr_of(&self, cqi: Cqi) -> Db {
        const RANGE_DB: [f64; 2] = [-20.0, 40.0];
        const EDGE_DB: f64 = 1.0;
        let lowest_with = |least: u8| {
            let [mut low, mut high] = RANGE_DB;
            while high - low > 0.01 {
                let middle = 0.5 * (low + high);
                let reached = self.amc.reaches(Cqi(least), Sinr::Flat(Db(middle)), self.prbs);
                if reached { high = middle } else { low = middle }
            }
            high
        };
        match cqi.0 {
            0 => Db(lowest_with(1) - EDGE_DB),
            15 => Db(lowest_with(15) + EDGE_DB),
            cqi => Db(0.5 * (lowest_with(cqi) + lowest_with(cqi + 1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airwnd_phy::access::Access;
    use airwnd_phy::{amc, error_model};
    use std::sync::Arc;

    const NOISE: Dbm = Dbm(-112.0);

    fn replay(quantity: Quantity, start: Span, rows: &[[f64; 2]], amc: &dyn Amc) -> Replay {
        let params = Params {
            path: "drive.csv".into(),
            quantity: Some(quantity),
            column: None,
            time: None,
            start,
            rows: rows.to_vec(),
        };
        params.check().unwrap();
        Replay::new(&params, &Receiver { noise: NOISE, amc, prbs: Prbs(50) })
    }

    fn rule() -> Box<dyn Amc> {
        let errors: Arc<dyn error_model::ErrorModel> =
            error_model::Spec::MutualInformation(Default::default()).build().into();
        amc::Spec::BlockErrorTarget(Default::default()).build(&errors, &Arc::new(Access::lte(Prbs(50))))
    }

    #[test]
    fn powers_are_linear_between_rows_and_stay_after_the_last() {
        let mut replay =
            replay(Quantity::Sinr, Span::from_secs(1), &[[0.0, 10.0], [2.0, 20.0], [3.0, -5.0]], &*rule());
        let mut sinr = |ms: u64| replay.power(Time(ms * 1_000_000)).0 - NOISE.0;
        for (ms, expected) in
            [(0, 15.0), (500, 17.5), (1000, 20.0), (1500, 7.5), (2000, -5.0), (60_000, -5.0)]
        {
            assert!((sinr(ms) - expected).abs() < 1e-9, "{ms} ms: {}", sinr(ms));
        }
    }

    /// RSRP is the power of one of the twelve subcarriers of a PRB.
    #[test]
    fn rsrp_is_the_power_of_a_resource_element() {
        let mut replay = replay(Quantity::Rsrp, Span::ZERO, &[[0.0, -100.0]], &*rule());
        assert!((replay.power(Time::ZERO).0 - (-100.0 + 10.0 * 12f64.log10())).abs() < 1e-9);
        assert!(replay.has_loss);
    }

    #[test]
    fn a_recorded_cqi_is_reported() {
        let rule = rule();
        for cqi in 0..=15 {
            let mut replay = replay(Quantity::Cqi, Span::ZERO, &[[0.0, f64::from(cqi)]], &*rule);
            let sinr = Db(replay.power(Time::ZERO).0 - NOISE.0);
            assert_eq!(rule.cqi(Sinr::Flat(sinr), Prbs(50)), Cqi(cqi), "at {sinr}");
        }
    }

    #[test]
    fn rows_are_checked() {
        let params = |quantity, rows: &[[f64; 2]]| {
            let path = "drive.csv".into();
            let params =
                Params { path, quantity, column: None, time: None, start: Span::ZERO, rows: rows.to_vec() };
            params.check().map_err(|(key, why)| format!("{key}: {why}"))
        };
        assert_eq!(params(None, &[]), Ok(()));
        assert!(params(None, &[[0.0, 1.0]]).unwrap_err().starts_with("quantity"));
        assert!(params(Some(Quantity::Cqi), &[[0.0, 1.0], [1.0, 16.0]]).unwrap_err().contains("row 2"));
        assert!(params(Some(Quantity::Sinr), &[[1.0, 1.0], [1.0, 6.0]]).unwrap_err().contains("row 2"));
    }
}
