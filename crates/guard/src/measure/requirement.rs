//! Conditions that a test must meet: `--require 'download_guarded.added_ms < 30'`.

use super::report::row_json;
use super::results::{RANKS, Row};
use super::schedule::{Load, Step};
use crate::Error;

type Operator = (&'static str, fn(&f64, &f64) -> bool);

/// Longer ones first: each begins with a shorter one.
const OPERATORS: [Operator; 4] = [("<=", f64::le), (">=", f64::ge), ("<", f64::lt), (">", f64::gt)];
const KEYS: [&str; 4] = ["down_goodput_kbps", "up_goodput_kbps", "loss_percent", "added_ms"];

/// A bound of a figure, in the unit of its key in the JSON object.
#[derive(Clone, Debug)]
pub(super) struct Requirement {
    text: String,
    row: String,
    key: String,
    holds: fn(&f64, &f64) -> bool,
    limit: f64,
}

impl Requirement {
    pub fn parse(text: &str) -> Result<Requirement, Error> {
        let wrong = |why: String| Error::new(format!("--require {text}: {why}"));
        let form = || wrong("expected ROW.KEY, one of < <= > >=, and a number".to_string());
        let found = OPERATORS.into_iter().find_map(|(word, holds)| Some((text.split_once(word)?, holds)));
        let ((figure, limit), holds) = found.ok_or_else(form)?;
        let (row, key) = figure.trim().split_once('.').ok_or_else(form)?;
        let (rows, keys) = (rows(), keys());
        for (what, word, allowed) in [("row", row, rows), ("key", key, keys)] {
            if !allowed.iter().any(|each| each == word) {
                return Err(wrong(format!("unknown {what} `{word}`; allowed: {}", allowed.join(", "))));
            }
        }
        let limit: f64 = limit.trim().parse().map_err(|_| form())?;
        if !limit.is_finite() {
            return Err(form());
        }
        Ok(Requirement { text: text.to_string(), row: row.to_string(), key: key.to_string(), holds, limit })
    }

    /// Returns why it is not met, in one line.
    pub fn failure(&self, rows: &[Row]) -> Option<String> {
        let row = rows.iter().find(|row| row.id() == self.row);
        match row.and_then(|row| row_json(row)[&self.key].as_f64()) {
            Some(value) if (self.holds)(&value, &self.limit) => None,
            Some(value) => Some(format!("required {}: {} is {value:.1}", self.text, self.key)),
            None => Some(format!("required {}: not measured", self.text)),
        }
    }
}

fn rows() -> Vec<String> {
    let steps =
        Load::ALL.into_iter().flat_map(|load| [false, true].map(|is_guarded| Step { load, is_guarded }));
    steps.filter(|step| step.load != Load::Idle || !step.is_guarded).map(Step::id).collect()
}

fn keys() -> Vec<String> {
    let percentiles = RANKS.map(|rank| format!("rtt_ms_p{rank}"));
    KEYS.iter().map(ToString::to_string).chain(percentiles).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::results::tests::example;

    #[test]
    fn figures_are_compared_with_bounds() {
        let rows = example().rows();
        let failure = |text: &str| Requirement::parse(text).unwrap().failure(&rows);
        for text in [
            "download_guarded.added_ms < 30",
            "download_guarded.added_ms<=25",
            "idle.rtt_ms_p99 >= 20",
            "upload.up_goodput_kbps > 3900.5",
        ] {
            assert_eq!(failure(text), None, "{text}");
        }
        let text = "download.added_ms < 30";
        assert_eq!(failure(text).unwrap(), format!("required {text}: added_ms is 400.0"));
        let text = "both.added_ms < 30";
        assert_eq!(failure(text).unwrap(), format!("required {text}: not measured"));
        assert!(failure("upload.down_goodput_kbps > 0").unwrap().ends_with("not measured"));
    }

    #[test]
    fn a_mistake_names_what_is_allowed() {
        let error = |text: &str| Requirement::parse(text).unwrap_err().to_string();
        for text in ["", "idle", "idle.rtt_ms_p50", "idle.rtt_ms_p50 <", "idle.rtt_ms_p50 < inf", "idle < 5"]
        {
            assert_eq!(
                error(text),
                format!("--require {text}: expected ROW.KEY, one of < <= > >=, and a number")
            );
        }
        assert_eq!(
            error("down.added_ms < 5"),
            "--require down.added_ms < 5: unknown row `down`; allowed: idle, download, download_guarded, upload, \
             upload_guarded, both, both_guarded"
        );
        assert!(error("idle.p50 < 5").contains("unknown key `p50`; allowed: down_goodput_kbps, "));
    }
}
