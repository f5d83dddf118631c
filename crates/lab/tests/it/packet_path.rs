//! The page `docs/path-of-a-packet.md`: its functions exist, and its packet passes the nodes at the stated times.

use airwnd_catalog::Node;
use airwnd_kernel::Direction;
use airwnd_lab::tap::{Carried, Crossing, Sight, Tap};
use airwnd_lab::{Records, Scenario, run_tapped};
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/path-of-a-packet.md");

/// The first data segment and the first ACK of data, at each node.
#[derive(Default)]
struct FirstSegment {
    data: Option<u16>,
    acked: bool,
    ack: Option<u16>,
    rows: Vec<String>,
}

impl Tap for FirstSegment {
    fn packet(&mut self, sight: &Sight) {
        let Carried::Segment(segment) = sight.carried else { return };
        let is_first =
            |known: &mut Option<u16>| *known.get_or_insert(sight.identification) == sight.identification;
        let (what, shown) = match sight.direction {
            Direction::Down => ("data", segment.len > 0 && is_first(&mut self.data)),
            Direction::Up => ("ACK", self.acked && is_first(&mut self.ack)),
        };
        if shown {
            let crossing = match sight.crossing {
                Crossing::In => "reaches",
                Crossing::Out => "leaves",
            };
            self.acked |= sight.node.to_string().starts_with("ue") && sight.direction == Direction::Down;
            self.rows.push(format!("{what} {crossing} {}", sight.node));
            self.rows.push(format!("{:.3}", sight.at.as_millis()));
        }
    }
}

#[test]
fn the_packet_passes_the_nodes_at_the_stated_times() {
    let (_, rest) = PAGE.split_once("```toml\n").unwrap();
    let (toml, _) = rest.split_once("```").unwrap();
    let scenario = Scenario::from_node(&Node::from_toml(toml, "path-of-a-packet.md").unwrap()).unwrap();
    let mut tap = FirstSegment::default();
    run_tapped(&scenario, 1, &Records::default(), Some(&mut tap), &mut |_| true).unwrap();
    assert_eq!(tap.rows.len(), 16, "eight crossings: {:?}", tap.rows);
    let start: f64 = tap.rows[1].parse().unwrap();
    let mut rest = PAGE;
    for row in tap.rows.chunks(2) {
        let at: f64 = row[1].parse().unwrap();
        let cell = format!("| {} | {:.3} |", row[0], at - start);
        let Some((_, behind)) = rest.split_once(&cell) else {
            panic!("the page does not have `{cell}` at its place")
        };
        rest = behind;
    }
}

/// The last cells of a row of the page's tables of steps are the file and the function of the step.
#[test]
fn the_functions_of_the_page_exist() {
    let mut steps = 0;
    let (tables, _) =
        PAGE.split_once("\n## Where a packet can be dropped\n").expect("the tables come before");
    for row in tables.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [.., files, functions] = cells[..] else { panic!("a row has a file and a function: {row}") };
        let file = files
            .split_once("](../")
            .and_then(|(_, rest)| rest.split_once(')'))
            .expect("a link to the file")
            .0;
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        for function in functions.split(", ").map(|name| name.trim_matches('`')) {
            let found = [format!("fn {function}("), format!("fn {function}<")]
                .iter()
                .any(|words| text.contains(words));
            assert!(found, "{file} has no function `{function}`");
            steps += 1;
        }
    }
    assert!(steps >= 20, "{steps} functions are named");
}
