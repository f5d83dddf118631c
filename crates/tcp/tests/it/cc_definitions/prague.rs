use super::{AckInfo, Definition, compare, compare_marked};

/// Prague as in its draft and its Linux code, with rate control below the virtual RTT.
struct Prague {
    target_rtt: f64,
    transition_delay: u32,
    cwnd: f64,
    ssthresh: f64,
    alpha: f64,
    saw_ce: bool,
    delivered: f64,
    delivered_ce: f64,
    next_seq: u64,
    round: u32,
    alpha_stamp: f64,
    cwr_stamp: f64,
    srtt: f64,
}

impl Prague {
    fn is_rtt_indep(&self) -> bool {
        self.cwnd >= self.ssthresh && self.round >= self.transition_delay
    }

    /// The engine's times are whole nanoseconds.
    fn target_rtt_elapsed(&self, now: f64, since: f64) -> bool {
        now - since > self.target_rtt - 1e-10
    }
}

impl Definition for Prague {
    fn measure(&mut self, info: &AckInfo) {
        self.srtt = info.srtt;
        self.delivered += info.acked;
        self.delivered_ce += info.marked;
        self.saw_ce |= info.marked > 0.0;
        let elapsed = !self.is_rtt_indep() || self.target_rtt_elapsed(info.now, self.alpha_stamp);
        if info.round > self.next_seq && elapsed {
            if self.saw_ce {
                self.alpha += (self.delivered_ce / self.delivered - self.alpha) / 16.0;
            }
            self.alpha_stamp = info.now;
            self.next_seq = info.round;
            self.delivered = 0.0;
            self.delivered_ce = 0.0;
            if self.cwnd >= self.ssthresh {
                self.round += 1;
            }
        }
    }

    fn ack(&mut self, info: &AckInfo) {
        let acked = info.acked - info.marked;
        if !info.limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd = f64::min(self.cwnd + acked, self.ssthresh);
            return;
        }
        let scaled = self.round >= self.transition_delay && self.srtt < self.target_rtt;
        let ai = if scaled { self.srtt * self.srtt / (self.target_rtt * self.target_rtt) } else { 1.0 };
        self.cwnd += acked * ai / self.cwnd;
    }

    fn mark(&mut self, now: f64) {
        if self.is_rtt_indep() && !self.target_rtt_elapsed(now, self.cwr_stamp) {
            return;
        }
        self.cwr_stamp = now;
        let alpha = if self.saw_ce { self.alpha } else { 1.0 };
        self.ssthresh = f64::max(2.0, self.cwnd - alpha * self.cwnd / 2.0);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn loss(&mut self, _: f64, _: f64) {
        self.ssthresh = f64::max(2.0, self.cwnd - self.cwnd / 2.0);
        self.cwnd = f64::min(self.cwnd, self.ssthresh);
    }

    fn timeout(&mut self, _: f64, _: f64, again: bool) {
        if !again {
            self.ssthresh = f64::max(2.0, self.cwnd - self.cwnd / 2.0);
        }
        self.cwnd = 1.0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }
}

fn definition(target_rtt: f64, transition_delay: u32) -> impl Fn(f64) -> Box<dyn Definition> {
    move |cwnd| {
        Box::new(Prague {
            target_rtt,
            transition_delay,
            cwnd,
            ssthresh: f64::INFINITY,
            alpha: 1.0,
            saw_ce: false,
            delivered: 0.0,
            delivered_ce: 0.0,
            next_seq: 0,
            round: 0,
            alpha_stamp: 0.0,
            cwr_stamp: f64::NEG_INFINITY,
            srtt: 0.0,
        })
    }
}

#[test]
fn prague() {
    compare("kind = \"prague\"", definition(0.025, 500));
    compare_marked(100_000, "kind = \"prague\"", definition(0.025, 500));
}

/// With these settings the path of 80 ms is a short one.
#[test]
fn prague_on_a_short_path() {
    let short = "kind = \"prague\"\nrtt_virtual = \"300ms\"\ntransition = 3";
    compare_marked(60_000, short, definition(0.3, 3));
}
