//! The two directions of every path.

use airwnd_catalog::Choice;

/// Direction of a packet, a link, a radio channel or a flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Choice)]
pub enum Direction {
    /// Downlink: from the server to the UE.
    #[word = "down"]
    Down,
    /// Uplink: from the UE to the server.
    #[word = "up"]
    Up,
}

impl Direction {
    /// Both, downlink first.
    pub const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

    /// Returns the opposite direction, in which ACKs for this direction's data travel.
    pub fn reverse(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }
}
