//! The picture of a test: ping over time, and goodput below. An SVG file that stands alone, for light and dark pages.

use super::results::{Measured, Phase, Point};
use super::schedule::Load;
use std::fmt::Write as _;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 520.0;
/// Left and right edge of both panels.
const X: (f64, f64) = (70.0, 884.0);
/// Upper and lower edge of the panels.
const PING: (f64, f64) = (96.0, 320.0);
const RATE: (f64, f64) = (344.0, 464.0);
/// Space above the largest value.
const MARGIN: f64 = 1.06;
/// Interval over which goodput is drawn, in seconds.
const MEAN_S: f64 = 0.5;
/// Colours and dashes: downlink and uplink differ by both. The second set is for dark pages.
const STYLE: &str = "\
text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.small{font-size:11px}\
.paper{fill:#fff}.grid{stroke:#ccc;stroke-width:.6}.frame{fill:none;stroke:#666}\
.guarded{fill:#0072b2;fill-opacity:.16}.free{fill:#d55e00;fill-opacity:.1}\
.ping,.down,.up{fill:none;stroke-width:1.3;stroke-linejoin:round}\
.ping{stroke:#222}.down{stroke:#0072b2}.up{stroke:#d55e00;stroke-dasharray:5 2}\
@media (prefers-color-scheme:dark){text{fill:#ddd}.paper{fill:#16191d}.grid{stroke:#3a3f45}.frame{stroke:#888}\
.guarded{fill:#56b4e9}.free{fill:#e69f00}.ping{stroke:#eee}.down{stroke:#56b4e9}.up{stroke:#e69f00}}";

/// Returns the file.
pub(super) fn svg(measured: &Measured) -> String {
    let end_s = measured.phases.iter().map(|phase| phase.end_s).fold(1.0, f64::max);
    let rtts_ms = measured.pings.iter().filter_map(|ping| ping.rtt_ms);
    let time = Scale::new(end_s, X.0, X.1);
    let ping = Scale::new(rtts_ms.fold(1.0, f64::max) * MARGIN, PING.1, PING.0);
    let rates = |points: fn(&Phase) -> &[Point]| {
        measured.phases.iter().map(|phase| rates_mbps(points(phase))).collect::<Vec<_>>()
    };
    let (down, up) = (rates(|phase| &phase.down), rates(|phase| &phase.up));
    let largest = down.iter().chain(&up).flatten().map(|(_, mbps)| *mbps).fold(0.1, f64::max);
    let rate = Scale::new(largest * MARGIN, RATE.1, RATE.0);

    let title = title(measured);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n"
    );
    label(&mut out, "title", (X.0, 26.0), "start", &title);
    label(&mut out, "small", (X.0, 46.0), "start", &subtitle(measured));
    measured.phases.iter().for_each(|phase| shade(&mut out, phase, &time));
    panel(&mut out, PING, &ping, "Ping (ms)");
    panel(&mut out, RATE, &rate, "Goodput (Mbit/s)");
    time_axis(&mut out, &time, end_s);
    let pings = measured.pings.iter().filter(|ping| ping.at_s <= end_s);
    path(&mut out, "ping", pings.map(|each| Some((time.at(each.at_s), ping.at(each.rtt_ms?)))));
    for (class, phases) in [("down", down), ("up", up)] {
        for points in phases {
            path(
                &mut out,
                class,
                points.into_iter().map(|(at_s, mbps)| Some((time.at(at_s), rate.at(mbps)))),
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn title(measured: &Measured) -> String {
    let with =
        measured.rwnd.as_ref().map_or(String::new(), |rwnd| format!(", without and with the guard ({rwnd})"));
    escaped(&format!("Ping and goodput to {}{with}", measured.server))
}

/// Grades, and what the lines are.
fn subtitle(measured: &Measured) -> String {
    let rows = measured.rows();
    let grades = rows.iter().filter_map(|row| {
        let guarded = if row.step.is_guarded { " with guard" } else { "" };
        Some(format!("{}{guarded}: {}", row.step.load.word(), row.grade()?))
    });
    format!("Grades: {}. Goodput: downlink solid, uplink dashed", grades.collect::<Vec<_>>().join(", "))
}

/// Values from 0 to a maximum as places between two edges.
struct Scale {
    largest: f64,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(largest: f64, from: f64, to: f64) -> Scale {
        Scale { largest, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (self.to - self.from) * value / self.largest
    }

    /// Values of four to ten lines: 1, 2 or 5 times a power of ten.
    fn ticks(&self) -> Vec<f64> {
        let power = 10_f64.powf((self.largest / 4.0).log10().floor());
        let step = [5.0, 2.0, 1.0].into_iter().map(|factor| factor * power);
        let step = step.into_iter().find(|step| self.largest / step >= 4.0).unwrap_or(power);
        (0..=(self.largest / step) as u32).map(|number| f64::from(number) * step).collect()
    }
}

fn panel(out: &mut String, (upper, lower): (f64, f64), scale: &Scale, name: &str) {
    for tick in scale.ticks() {
        let y = scale.at(tick);
        line(out, (X.0, y), (X.1, y));
        label(out, "small", (X.0 - 6.0, y + 4.0), "end", &number(tick));
    }
    let (height, middle) = (lower - upper, f64::midpoint(upper, lower));
    let _ = writeln!(
        out,
        "<rect class=\"frame\" x=\"{}\" y=\"{upper}\" width=\"{}\" height=\"{height}\"/>\n\
         <text text-anchor=\"middle\" transform=\"translate(18 {middle}) rotate(-90)\">{name}</text>",
        X.0,
        X.1 - X.0
    );
}

fn time_axis(out: &mut String, time: &Scale, end_s: f64) {
    for tick in time.ticks().into_iter().filter(|tick| *tick <= end_s) {
        let x = time.at(tick);
        [PING, RATE].into_iter().for_each(|(upper, lower)| line(out, (x, upper), (x, lower)));
        label(out, "small", (x, RATE.1 + 16.0), "middle", &number(tick));
    }
    label(
        out,
        "",
        (f64::midpoint(X.0, X.1), HEIGHT - 14.0),
        "middle",
        "Time since the start of the test (s)",
    );
}

/// Shades a phase and names it.
fn shade(out: &mut String, phase: &Phase, time: &Scale) {
    let (left, right) = (time.at(phase.begin_s), time.at(phase.end_s));
    let middle = f64::midpoint(left, right);
    let guard = if phase.step.is_guarded { "with guard" } else { "without" };
    label(out, "small", (middle, PING.0 - 20.0), "middle", phase.step.load.word());
    if phase.step.load == Load::Idle {
        return;
    }
    label(out, "small", (middle, PING.0 - 6.0), "middle", guard);
    let class = if phase.step.is_guarded { "guarded" } else { "free" };
    for (upper, lower) in [PING, RATE] {
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{upper}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            right - left,
            lower - upper
        );
    }
}

/// Times, and the mean of the interval before each.
fn rates_mbps(points: &[Point]) -> Vec<(f64, f64)> {
    let Some(mut last) = points.first() else { return Vec::new() };
    let mut rates = Vec::new();
    for point in points {
        let seconds = point.at_s - last.at_s;
        if seconds >= MEAN_S {
            rates.push((point.at_s, point.bytes.saturating_sub(last.bytes) as f64 * 8e-6 / seconds));
            last = point;
        }
    }
    rates
}

/// Draws a line, with a gap for each `None`.
fn path(out: &mut String, class: &str, points: impl Iterator<Item = Option<(f64, f64)>>) {
    let mut data = String::new();
    let mut command = 'M';
    for point in points {
        let Some((x, y)) = point else {
            command = 'M';
            continue;
        };
        let _ = write!(data, "{command}{x:.1} {y:.1}");
        command = 'L';
    }
    if !data.is_empty() {
        let _ = writeln!(out, "<path class=\"{class}\" d=\"{data}\"/>");
    }
}

fn line(out: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ =
        writeln!(out, "<line class=\"grid\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

fn label(out: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

/// A tick without superfluous digits.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The name of a server comes from the user.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' => "&amp;".to_string(),
            '<' => "&lt;".to_string(),
            '>' => "&gt;".to_string(),
            '"' => "&quot;".to_string(),
            c if c.is_control() => "?".to_string(),
            c => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::results::tests::example;

    fn count(text: &str, part: &str) -> usize {
        text.matches(part).count()
    }

    #[test]
    fn the_picture_has_both_panels_all_phases_and_units() {
        let svg = svg(&example());
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        for text in
            ["Ping (ms)", "Goodput (Mbit/s)", "start of the test (s)", "prefers-color-scheme", "<title>Ping"]
        {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!((count(&svg, "class=\"free\""), count(&svg, "class=\"guarded\"")), (4, 2), "two panels");
        assert_eq!((count(&svg, "class=\"down\""), count(&svg, "class=\"up\"")), (2, 1));
        assert!(svg.contains("Grades: download: F, download with guard: A, upload: C."), "{svg}");
        assert!(!svg.contains("<script") && !svg.contains("NaN") && !svg.contains("inf"));
    }

    /// A picture that shows a lost ping as a value would be wrong.
    #[test]
    fn a_lost_ping_is_a_gap() {
        let mut measured = example();
        let ping_path = |measured: &Measured| {
            let svg = svg(measured);
            svg.lines().find(|line| line.starts_with("<path class=\"ping\"")).unwrap().to_string()
        };
        assert_eq!(count(&ping_path(&measured), "M"), 2);
        measured.pings.iter_mut().for_each(|ping| ping.rtt_ms = Some(20.0));
        assert_eq!(count(&ping_path(&measured), "M"), 1);
    }

    #[test]
    fn nothing_measured_is_a_picture_without_lines() {
        let mut measured = example();
        measured.phases.clear();
        measured.pings.clear();
        assert_eq!(count(&svg(&measured), "<path"), 0);
    }

    #[test]
    fn names_of_servers_are_text() {
        let mut measured = example();
        measured.server = "<a&\"b\">".to_string();
        assert!(svg(&measured).contains("to &lt;a&amp;&quot;b&quot;&gt;, "));
    }

    #[test]
    fn ticks_are_round_numbers() {
        let ticks =
            |largest: f64| Scale::new(largest, 0.0, 1.0).ticks().into_iter().map(number).collect::<Vec<_>>();
        assert_eq!(ticks(9.6), ["0", "2", "4", "6", "8"]);
        assert_eq!(ticks(420.0), ["0", "100", "200", "300", "400"]);
        assert_eq!(ticks(0.1).len(), 6);
    }
}
