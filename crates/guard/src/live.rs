//! The flows of the running guards as a table that is redrawn every second.

use crate::control;
use crate::processes::{PROCESS, Processes};
use crate::signals::Signals;
use crate::table::{self, list, number, text};
use crate::{Error, system};
use airwnd_units::Span;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Paragraph, Row, Table};
use serde_json::Value;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::time::Duration;

/// Interval between drawings.
const INTERVAL: Span = Span::from_secs(1);
/// Width from which on the receivers are shown, too.
const WIDE: u16 = 112;
/// Figures: heading, key, unit in terms of the key's unit. In 80 columns an IPv4 address with its port fits beside them.
const FIGURES: [(&str, &str, f64); 5] = [
    ("Mbit/s", "rate_kbps", 1e3),
    ("RTT ms", "rtt_ms", 1.0),
    ("RTTmin", "rtt_ms_min", 1.0),
    ("wnd kB", "window_bytes", 1e3),
    ("off kB", "offered_bytes", 1e3),
];
const LEGEND: &str = "wnd: window wanted; off: window offered; alone: why it is left alone; q: quit";
/// Width of a figure, of a process in a narrow and in a wide terminal, and of the reasons why flows are left alone.
const FIGURE: u16 = 6;
const PROCESS_WIDTHS: [u16; 2] = [12, 24];
const REASON: u16 = 10;

/// Shows the flows until `q`, Ctrl-C or a signal.
pub(crate) fn run(shown: usize) -> Result<(), Error> {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(Error::new("--live requires a terminal"));
    }
    let signals = Signals::open()?;
    let mut processes = Processes::default();
    let mut states = control::states(&mut processes, shown)?;
    let mut terminal =
        ratatui::try_init().map_err(|why| Error::failed("cannot draw on this terminal", &why))?;
    let mut show = || {
        loop {
            let drawn = terminal.draw(|frame| draw(frame, &states));
            drawn.map_err(|why| Error::failed("cannot draw on this terminal", &why))?;
            if is_quit(&signals)? {
                return Ok(());
            }
            states = control::states(&mut processes, shown)?;
        }
    };
    let outcome = show();
    ratatui::restore();
    outcome
}

/// Waits until the next drawing; returns whether the user wants to quit.
fn is_quit(signals: &Signals) -> Result<bool, Error> {
    let until = system::now() + INTERVAL;
    let failed = |why: io::Error| Error::failed("cannot read keys", &why);
    loop {
        let left = until.since(system::now());
        if left == Span::ZERO {
            return Ok(false);
        }
        let input = io::stdin();
        let mut events = [signals.as_fd(), input.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        // Rounded up, so that a rest below a millisecond is waited for as well.
        let timeout = PollTimeout::try_from(left.0.div_ceil(1_000_000)).expect("at most a second");
        match poll(&mut events, timeout) {
            // The size of the terminal has changed.
            Err(Errno::EINTR) => return Ok(false),
            Err(why) => return Err(failed(why.into())),
            Ok(_) => {}
        }
        if signals.arrived().is_some() {
            return Ok(true);
        }
        // The terminal has gone.
        if events[1].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) {
            return Ok(true);
        }
        while event::poll(Duration::ZERO).map_err(failed)? {
            if let Event::Key(key) = event::read().map_err(failed)? {
                let is_interrupt =
                    key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
                if is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                    return Ok(true);
                }
            }
        }
    }
}

fn draw(frame: &mut Frame<'_>, states: &[(String, Value)]) {
    let places: Vec<(String, &Value)> = states
        .iter()
        .flat_map(|(guard, state)| list(&state["places"]).iter().map(move |place| (guard.clone(), place)))
        .collect();
    // Two lines above the flows of each place.
    let heights = places
        .iter()
        .map(|(_, place)| u16::try_from(list(&place["flows"]).len()).unwrap_or(u16::MAX).saturating_add(2));
    let heights: Vec<Constraint> =
        heights.map(Constraint::Max).chain([Constraint::Fill(1), Constraint::Length(1)]).collect();
    let areas = Layout::vertical(heights).split(frame.area());
    for ((guard, place), area) in places.iter().zip(areas.iter()) {
        draw_place(frame, *area, guard, place);
    }
    if let Some(area) = areas.last() {
        frame.render_widget(Paragraph::new(LEGEND).style(Style::new().add_modifier(Modifier::DIM)), *area);
    }
}

fn draw_place(frame: &mut Frame<'_>, area: Rect, guard: &str, place: &Value) {
    let flows = list(&place["flows"]);
    let title = table::title(guard, place);
    let [top, below] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(title), top);
    let is_wide = area.width >= WIDE;
    let receivers = if is_wide { vec![Constraint::Fill(1)] } else { Vec::new() };
    let widths: Vec<Constraint> = [Constraint::Length(PROCESS_WIDTHS[usize::from(is_wide)])]
        .into_iter()
        .chain(receivers)
        .chain([Constraint::Fill(1)])
        .chain(FIGURES.map(|_| Constraint::Length(FIGURE)))
        .chain([Constraint::Length(REASON)])
        .collect();
    let right = |text: String| Cell::from(Text::from(text).alignment(Alignment::Right));
    let cells = |process: String, receiver: String, sender: String, figures: [String; 5], reason: String| {
        let ends = if is_wide { vec![receiver, sender] } else { vec![sender] };
        let texts = [process].into_iter().chain(ends).map(Cell::from);
        Row::new(texts.chain(figures.map(right)).chain([Cell::from(reason)]))
    };
    let rows = flows.iter().map(|flow| {
        let figures = FIGURES.map(|(_, key, unit)| number(flow, key, unit));
        cells(
            text(flow, PROCESS),
            text(flow, "receiver"),
            text(flow, "sender"),
            figures,
            text(flow, "untouched"),
        )
    });
    let headings = FIGURES.map(|(heading, ..)| heading.to_string());
    let [process, receiver, sender, reason] = ["process", "receiver", "sender", "alone"].map(String::from);
    let header = cells(process, receiver, sender, headings, reason);
    let header = header.style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_widget(Table::new(rows, widths).header(header), below);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use serde_json::json;

    fn flow(sender: &str, rate_kbps: f64, untouched: Option<&str>) -> Value {
        let window = untouched.is_none().then_some(37_000);
        json!({
            "process": "curl 4321", "receiver": "192.0.2.1:4000", "sender": sender, "rate_kbps": rate_kbps,
            "rtt_ms": 30.04, "rtt_ms_min": 20.3, "window_bytes": window, "offered_bytes": 41_000,
            "untouched": untouched,
        })
    }

    fn screen(width: u16, height: u16, state: Value) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &[("7".to_string(), state)])).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_string()).collect()
    }

    #[test]
    fn flows_fit_the_terminal() {
        let flows = [flow("198.51.100.2:443", 9650.0, None), flow("198.51.100.1:443", 500.0, Some("quiet"))];
        let total = json!({"flows": 2, "controlled": 1, "rate_kbps": 10_150.0});
        let state = json!({"places": [{"place": "receiver", "total": total, "flows": flows}]});
        let expected = [
            "guard 7, receiver: 2 flows, 1 controlled, 10.2 Mbit/s",
            "process      sender                Mbit/s RTT ms RTTmin wnd kB off kB alone",
            "curl 4321    198.51.100.2:443         9.7   30.0   20.3   37.0   41.0 -",
            "curl 4321    198.51.100.1:443         0.5   30.0   20.3      -   41.0 quiet",
        ];
        let found = screen(80, 6, state.clone());
        assert!(found.iter().all(|line| line.chars().count() <= 80));
        assert_eq!(found[..4], expected, "{found:#?}");
        assert_eq!(found[5], LEGEND);
        assert!(screen(120, 6, state.clone())[1].contains("receiver"));
        // As small as a terminal can be.
        for (width, height) in [(1, 1), (10, 2), (20, 3)] {
            screen(width, height, state.clone());
        }
        // More than a terminal can have lines.
        let flows = vec![flow("198.51.100.2:443", 1.0, None); 70_000];
        let state = json!({"places": [{"place": "receiver", "flows": flows}]});
        assert!(screen(80, 6, state)[2].contains("198.51.100.2"));
    }
}
