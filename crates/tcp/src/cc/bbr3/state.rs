//! States of the sender, each with its own data.

use super::Params;
use super::probe_bw::ProbeBw;
use super::probe_rtt::ProbeRtt;
use super::startup::Drain;

/// State of the sender.
//= draft-ietf-ccwg-bbr-06 §5.1
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// Searches for the bandwidth of an unknown path.
    Startup,
    /// Drains the queue that Startup has built.
    Drain(Drain),
    /// Cycles through the phases of bandwidth probing.
    ProbeBw(ProbeBw),
    /// Limits the bytes in flight to measure the minimum RTT.
    ProbeRtt(ProbeRtt),
}

impl State {
    pub fn is_up(&self) -> bool {
        matches!(self, State::ProbeBw(ProbeBw::Up(_)))
    }

    pub fn is_probe_bw(&self) -> bool {
        matches!(self, State::ProbeBw(_))
    }

    pub fn is_probe_rtt(&self) -> bool {
        matches!(self, State::ProbeRtt(_))
    }

    /// Returns whether the sender probes for bandwidth, so that losses are expected.
    pub fn is_probing(&self) -> bool {
        matches!(self, State::Startup | State::ProbeBw(ProbeBw::Refill | ProbeBw::Up(_)))
    }

    /// Returns the pacing gain.
    pub fn pacing_gain(&self, params: &Params) -> f64 {
        match self {
            State::Startup => params.startup_gain,
            State::Drain(_) => params.drain_gain,
            State::ProbeBw(ProbeBw::Down(_)) => params.down_gain,
            State::ProbeBw(ProbeBw::Up(_)) => params.up_gain,
            State::ProbeBw(ProbeBw::Cruise(_) | ProbeBw::Refill) | State::ProbeRtt(_) => 1.0,
        }
    }

    /// Returns the window gain.
    pub fn cwnd_gain(&self, params: &Params) -> f64 {
        match self {
            State::ProbeBw(ProbeBw::Up(_)) => params.up_cwnd_gain,
            State::ProbeRtt(_) => params.probe_rtt_gain,
            _ => params.cwnd_gain,
        }
    }
}
