//! The states, each with what it alone knows.

use super::Params;
use super::probe_bw::ProbeBw;
use super::probe_rtt::ProbeRtt;
use super::startup::Drain;

/// What the sender is doing.
//= draft-ietf-ccwg-bbr-06 §5.1
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    /// Looks for the bandwidth of an unknown path.
    Startup,
    /// Empties the queue that Startup has filled.
    Drain(Drain),
    /// Cycles through the phases of a probe for bandwidth.
    ProbeBw(ProbeBw),
    /// Keeps little in flight, to measure the round-trip time.
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

    /// Whether it looks for more bandwidth, so that losses are no surprise.
    pub fn is_probing(&self) -> bool {
        matches!(self, State::Startup | State::ProbeBw(ProbeBw::Refill | ProbeBw::Up(_)))
    }

    /// Gain of the pace.
    pub fn pacing_gain(&self, params: &Params) -> f64 {
        match self {
            State::Startup => params.startup_gain,
            State::Drain(_) => params.drain_gain,
            State::ProbeBw(ProbeBw::Down(_)) => params.down_gain,
            State::ProbeBw(ProbeBw::Up(_)) => params.up_gain,
            State::ProbeBw(ProbeBw::Cruise(_) | ProbeBw::Refill) | State::ProbeRtt(_) => 1.0,
        }
    }

    /// Gain of the window.
    pub fn cwnd_gain(&self, params: &Params) -> f64 {
        match self {
            State::ProbeBw(ProbeBw::Up(_)) => params.up_cwnd_gain,
            State::ProbeRtt(_) => params.probe_rtt_gain,
            _ => params.cwnd_gain,
        }
    }
}
