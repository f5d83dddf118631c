//! Reader of the logs of drive tests.

use super::{LATEST, Quantity};
use airwnd_catalog::csv::{Line, Mistake, Table};

/// Maximum number of rows: eleven days at one per second.
const MAX_ROWS: usize = 1_000_000;
const TIMES: [&str; 3] = ["t_s", "time", "timestamp"];

impl Quantity {
    const ALL: [Quantity; 3] = [Quantity::Sinr, Quantity::Rsrp, Quantity::Cqi];

    /// Usual names of its column, in small letters.
    fn names(self) -> &'static [&'static str] {
        match self {
            Quantity::Sinr => &["sinr_db", "sinr", "snr"],
            Quantity::Rsrp => &["rsrp_dbm", "rsrp"],
            Quantity::Cqi => &["cqi"],
        }
    }
}

/// Names that the scenario gives.
pub(super) struct Names<'a> {
    pub quantity: Option<Quantity>,
    pub column: Option<&'a str>,
    pub time: Option<&'a str>,
}

/// The rows of a log, in the order of their times, which count from the first one.
#[derive(Debug, PartialEq)]
pub(super) struct Log {
    pub quantity: Quantity,
    /// Time in seconds, and value.
    pub rows: Vec<[f64; 2]>,
}

/// Reads a log.
///
/// # Errors
/// Line and message of the mistake.
pub(super) fn read(text: &str, names: &Names<'_>) -> Result<Log, Mistake> {
    let table = Table::with_others(text)?;
    let time = match names.time {
        Some(name) => table.need(name)?,
        None => table.find_any(&TIMES).ok_or_else(|| table.lacks(&TIMES))?,
    };
    let (quantity, column) = measure(&table, names)?;
    let row = |line: &Line<'_>| {
        let text = line.text(column);
        if text.is_empty() || text == "-" || text.eq_ignore_ascii_case("nan") {
            return Ok(None);
        }
        let form = "a number of seconds or a date, as 2019-12-16 12:27:05";
        let at = seconds(line.text(time)).ok_or_else(|| line.mistake(time, form))?;
        Ok(Some([at, line.number(column, quantity.range())?]))
    };
    let mut rows: Vec<[f64; 2]> = Vec::new();
    let mut first = None;
    for (place, row) in table.rows(row, "row")?.into_iter().enumerate() {
        let Some([at, value]) = row else { continue };
        let at = at - *first.get_or_insert(at);
        let wrong = |why: &str| (table.line_of(place), why.to_string());
        let is_full = rows.len() == MAX_ROWS;
        match rows.last_mut() {
            Some([last, _]) if at < *last => return Err(wrong("its time is before that of the row before")),
            Some([last, latest]) if at == *last => *latest = value,
            _ if at > LATEST => return Err(wrong("its time is more than a year after the first row")),
            _ if is_full => return Err(wrong("there are more than a million rows")),
            _ => rows.push([at, value]),
        }
    }
    if rows.is_empty() {
        return Err((table.last_line(), format!("no row has a value in column `{}`", table.name(column))));
    }
    Ok(Log { quantity, rows })
}

/// The measure of a table and its column.
fn measure(table: &Table, names: &Names<'_>) -> Result<(Quantity, usize), Mistake> {
    let candidates: Vec<Quantity> = names.quantity.map_or(Quantity::ALL.to_vec(), |quantity| vec![quantity]);
    if let Some(name) = names.column {
        let column = table.need(name)?;
        let small = name.to_ascii_lowercase();
        let of_name =
            || candidates.iter().copied().find(|quantity| quantity.names().contains(&small.as_str()));
        let quantity = names.quantity.or_else(of_name);
        return quantity.map(|quantity| (quantity, column)).ok_or_else(|| {
            (table.header(), format!("the name of column `{name}` does not tell its measure: set `quantity`"))
        });
    }
    let found = |quantity: &Quantity| table.find_any(quantity.names()).map(|column| (*quantity, column));
    candidates.iter().find_map(found).ok_or_else(|| {
        let wanted: Vec<&str> = candidates.iter().flat_map(|quantity| quantity.names()).copied().collect();
        table.lacks(&wanted)
    })
}

/// Seconds of a number, or of a date since the first of March of the year 0; `None`: it is neither.
fn seconds(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    let text = text.trim_end_matches(['Z', 'z']);
    let mut parts = text.splitn(6, ['-', '.', '/', '_', ' ', 'T', ':']);
    let mut whole = |low: u32, high: u32| {
        let part: u32 = parts.next()?.parse().ok()?;
        (low..=high).contains(&part).then_some(part)
    };
    let (year, month, day) = (whole(1900, 9999)?, whole(1, 12)?, whole(1, 31)?);
    let (hour, minute) = (whole(0, 23)?, whole(0, 59)?);
    let second: f64 = parts.next()?.parse().ok()?;
    if !(0.0..61.0).contains(&second) {
        return None;
    }
    // Days of the Gregorian calendar in years that begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some(f64::from(days) * 86_400.0 + f64::from(hour * 3600 + minute * 60) + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Names<'_> = Names { quantity: None, column: None, time: None };

    fn mistake(text: &str, names: &Names<'_>) -> Mistake {
        read(text, names).unwrap_err()
    }

    #[test]
    fn a_log_of_gnettrack_is_read() {
        let text = "Timestamp,Speed,NetworkMode,RSRP,SNR,CQI\n\
            2019.12.31_23.59.58,0,5G,-100,5.0,12\n2019.12.31_23.59.58,0,5G,-100,5.5,12\n\
            2019.12.31_23.59.59,0,LTE,-99,-,11\n2020.01.01_00.00.02,0,5G,-98,-3.0,-\n";
        let rows = vec![[0.0, 5.5], [4.0, -3.0]];
        assert_eq!(read(text, &ANY), Ok(Log { quantity: Quantity::Sinr, rows }));
        let rsrp = Names { quantity: Some(Quantity::Rsrp), ..ANY };
        assert_eq!(read(text, &rsrp).unwrap().rows, [[0.0, -100.0], [1.0, -99.0], [4.0, -98.0]]);
        let named = Names { column: Some("CQI"), ..ANY };
        assert_eq!(
            read(text, &named).unwrap(),
            Log { quantity: Quantity::Cqi, rows: vec![[0.0, 12.0], [1.0, 11.0]] }
        );
    }

    #[test]
    fn times_are_seconds_or_dates() {
        let day = |text| seconds(text).unwrap();
        assert_eq!(seconds("12.5"), Some(12.5));
        assert_eq!(day("2020-03-01 00:00:00") - day("2020-02-28 23:59:59"), 86_401.0);
        assert_eq!(day("2021-03-01T00:00:00Z") - day("2021/02/28_23:59:58.5"), 1.5);
        for wrong in ["", "2020-13-01 00:00:00", "noon", "2020-01-01 24:00:00", "2020-01-01 00:00", "inf"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn mistakes_name_line_and_column() {
        let why = "no column `t_s`, `time`, `timestamp`; the file has `a`, `b`";
        assert_eq!(mistake("a,b\n1,2\n", &ANY), (1, why.into()));
        let (line, why) = mistake("t_s,level\n0,1\n", &ANY);
        assert!(line == 1 && why.contains("`sinr_db`"), "{why}");
        let unnamed = Names { column: Some("level"), ..ANY };
        assert!(mistake("t_s,level\n0,1\n", &unnamed).1.contains("set `quantity`"));
        assert_eq!(mistake("t_s,sinr\n0,1\n1,99\n", &ANY).0, 3);
        assert!(mistake("t_s,sinr\nnoon,1\n", &ANY).1.contains("noon"));
        assert_eq!(
            mistake("t_s,sinr\n1,1\n0,1\n", &ANY),
            (3, "its time is before that of the row before".into())
        );
        assert!(mistake("t_s,sinr\n1,-\n", &ANY).1.contains("no row has a value"));
        assert!(mistake("t_s,sinr\n", &ANY).1.contains("row"));
    }
}
