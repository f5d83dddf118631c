//! The table of the running guards, printed anew every second.

use crate::processes::Processes;
use crate::signals::Signals;
use crate::{Error, control, table};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use terminal_size::{Height, Width, terminal_size_of};

/// Milliseconds between two tables.
const INTERVAL_MS: u16 = 1000;

/// Shows the flows until a signal, such as that of Ctrl-C.
pub(crate) fn run(shown: usize) -> Result<(), Error> {
    if !io::stdout().is_terminal() {
        return Err(Error::new("--live requires a terminal"));
    }
    let signals = Signals::open()?;
    let mut processes = Processes::default();
    let mut states = control::states(&mut processes, shown)?;
    let screen = Screen::open();
    loop {
        // A terminal that has gone ends it, too.
        if screen.show(&states).is_err() || has_ended(&signals)? {
            return Ok(());
        }
        states = control::states(&mut processes, shown)?;
    }
}

/// Waits until the next table; returns whether a signal has arrived.
fn has_ended(signals: &Signals) -> Result<bool, Error> {
    match poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], PollTimeout::from(INTERVAL_MS)) {
        // The size of the terminal has changed.
        Err(Errno::EINTR) => Ok(false),
        Err(why) => Err(Error::failed("cannot wait for signals", &why)),
        Ok(_) => Ok(signals.arrived().is_some()),
    }
}

/// The alternate screen of the terminal, without a cursor, until the value is dropped.
struct Screen;

impl Screen {
    const OPEN: &str = "\x1b[?1049h\x1b[?25l";
    const CLOSE: &str = "\x1b[?25h\x1b[?1049l";
    /// Size where the terminal has none.
    const SIZE: (Width, Height) = (Width(80), Height(24));

    fn open() -> Screen {
        let screen = Screen;
        // `show` reports a terminal that has gone.
        let _ = screen.print(Screen::OPEN);
        screen
    }

    fn print(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn show(&self, states: &[(String, Value)]) -> io::Result<()> {
        let (Width(width), Height(height)) = terminal_size_of(io::stdout()).unwrap_or(Screen::SIZE);
        self.print(&frame(states, width.into(), height.into()))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.print(Screen::CLOSE);
    }
}

/// The control codes and lines of a screen: from its top left corner, each line with the rest of its former one erased.
fn frame(states: &[(String, Value)], width: usize, height: usize) -> String {
    const HOME: &str = "\x1b[H";
    const ERASE_LINE: &str = "\x1b[K";
    const ERASE_BELOW: &str = "\x1b[J";
    let lines: Vec<String> =
        states.iter().flat_map(|(process, state)| table::lines(process, state, Some(width))).collect();
    let cut = |line: &String| line.chars().take(width).collect::<String>() + ERASE_LINE;
    let shown: Vec<String> = lines.iter().take(height).map(cut).collect();
    format!("{HOME}{}{ERASE_BELOW}", shown.join("\r\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flow(sender: &str) -> Value {
        json!({
            "process": "curl 4321", "receiver": "192.0.2.1:4000", "sender": sender, "rate_kbps": 9650.0,
            "rtt_ms": 30.04, "rtt_ms_min": 20.3, "window_bytes": 37_000, "clamp_bytes": null, "untouched": null,
        })
    }

    /// Lines without control codes.
    fn screen(width: usize, height: usize, state: Value) -> Vec<String> {
        let text = frame(&[("7".to_string(), state)], width, height);
        let text =
            text.strip_prefix("\x1b[H").and_then(|text| text.strip_suffix("\x1b[J")).unwrap().to_string();
        text.split("\r\n").map(|line| line.strip_suffix("\x1b[K").unwrap().to_string()).collect()
    }

    #[test]
    fn the_table_fits_the_terminal() {
        let flows = [flow("198.51.100.2:443"), flow("198.51.100.1:443")];
        let total = json!({"flows": 30, "controlled": 2, "rate_kbps": 10_150.0});
        let state = json!({"places": [{"place": "receiver", "total": total, "flows": flows}]});
        let wide = screen(120, 10, state.clone());
        assert_eq!(wide[0], "guard 7, receiver: 30 flows, 2 controlled, 10.2 Mbit/s");
        assert!(wide[1].contains("receiver") && wide[2].contains("192.0.2.1:4000"), "{wide:#?}");
        assert_eq!(wide[4], "and 28 flows with a lower rate; --all shows all");
        assert_eq!(wide.len(), 5);
        let narrow = screen(90, 3, state.clone());
        assert!(narrow[2].contains("198.51.100.2:443") && !narrow[2].contains("192.0.2.1"), "{narrow:#?}");
        assert_eq!(narrow.len(), 3);
        // As small as a terminal can be.
        for (width, height) in [(1, 1), (10, 2), (20, 3)] {
            let lines = screen(width, height, state.clone());
            assert!(lines.len() <= height && lines.iter().all(|line| line.chars().count() <= width));
        }
    }
}
