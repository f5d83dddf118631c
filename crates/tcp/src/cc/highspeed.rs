//! HighSpeed TCP: larger increase and smaller decrease at large windows.

pub use super::newreno::Growth;
use super::parts::window::{Window, keeps_window};
use super::{Ack, Congestion, CongestionControl, SenderContext};
use airwnd_catalog::{Choice, Params};

/// Source of a(w) and b(w).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Response {
    /// Table of RFC 3649, Appendix B, in which a(w) is a whole number.
    #[word = "table"]
    Table,
    /// Equations of RFC 3649 §5, without steps.
    #[word = "formula"]
    Formula,
}

/// Quirks of ns-3's HighSpeed.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "ns-3 TcpHighSpeed")]
pub struct Quirks {
    /// Whether the window grows in whole segments, and acknowledged segments that have not enlarged it are counted on
    /// after a loss, at the smaller window.
    //= exception credit-ends-with-a-loss
    #[param(default = false, unit = "1", source = "ns-3.44 TcpHighSpeed::CongestionAvoidance: m_ackCnt")]
    pub credit_outlives_loss: bool,
}

/// HighSpeed TCP: AIMD whose increase a(w) grows and whose decrease b(w) shrinks with the window w.
///
/// With windows in segments, each acknowledged segment (or each ACK, by `growth`) adds a(w) / w. A congestion event
/// keeps 1 - b(w) of the bytes in flight:
///
/// ```math
/// b(w) = 0.5 - 0.4 \, \frac{\mathrm{log}(w / 38)}{\mathrm{log}(83000 / 38)}
/// ```
///
/// ```math
/// a(w) = w^2 \, p(w) \, \frac{2 \, b(w)}{2 - b(w)}
/// ```
///
/// ```math
/// p(w) = \frac{0.078}{w^{1.2}}
/// ```
///
/// Up to 38 segments a = 1 and b = 0.5, as in NewReno. Above the last row of the table both are constant. Slow start is
/// that of NewReno.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "RFC 3649")]
pub struct Params {
    /// Source of a(w) and b(w).
    #[param(expert)]
    #[param(default = Response::Table, unit = "word", source = "RFC 3649 Appendix B; RFC 3649 §5 (formula)")]
    pub response: Response,
    //= exception growth-by-segments
    /// Unit in which ACKs are counted for growth above ssthresh.
    #[param(default = Growth::PerByte)]
    #[param(
        unit = "word",
        source = "ns-3.26 and ns-3.44 TcpHighSpeed (per-byte); RFC 3649 §5, Linux tcp_highspeed (per-ack)"
    )]
    pub growth: Growth,
    /// Behaviour of other simulators.
    #[param(quirks)]
    pub quirks: Quirks,
}

/// Window up to which the response is that of standard TCP, in segments (RFC 3649 §5: Low_Window).
const LOW_WINDOW: f64 = 38.0;
/// RFC 3649 §5: High_Window and High_Decrease.
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;
/// Maximum window of the last row: beyond it b(w) would become negative.
const LAST_WINDOW: f64 = 94_717.0;

/// Maximum window of each row with its a(w) and 100 b(w) (RFC 3649 Appendix B).
const TABLE: [(u32, u8, u8); 73] = [
    (38, 1, 50),
    (118, 2, 44),
    (221, 3, 41),
    (347, 4, 38),
    (495, 5, 37),
    (663, 6, 35),
    (851, 7, 34),
    (1058, 8, 33),
    (1284, 9, 32),
    (1529, 10, 31),
    (1793, 11, 30),
    (2076, 12, 29),
    (2378, 13, 28),
    (2699, 14, 28),
    (3039, 15, 27),
    (3399, 16, 27),
    (3778, 17, 26),
    (4177, 18, 26),
    (4596, 19, 25),
    (5036, 20, 25),
    (5497, 21, 24),
    (5979, 22, 24),
    (6483, 23, 23),
    (7009, 24, 23),
    (7558, 25, 22),
    (8130, 26, 22),
    (8726, 27, 22),
    (9346, 28, 21),
    (9991, 29, 21),
    (10_661, 30, 21),
    (11_358, 31, 20),
    (12_082, 32, 20),
    (12_834, 33, 20),
    (13_614, 34, 19),
    (14_424, 35, 19),
    (15_265, 36, 19),
    (16_137, 37, 19),
    (17_042, 38, 18),
    (17_981, 39, 18),
    (18_955, 40, 18),
    (19_965, 41, 17),
    (21_013, 42, 17),
    (22_101, 43, 17),
    (23_230, 44, 17),
    (24_402, 45, 16),
    (25_618, 46, 16),
    (26_881, 47, 16),
    (28_193, 48, 16),
    (29_557, 49, 15),
    (30_975, 50, 15),
    (32_450, 51, 15),
    (33_986, 52, 15),
    (35_586, 53, 14),
    (37_253, 54, 14),
    (38_992, 55, 14),
    (40_808, 56, 14),
    (42_707, 57, 13),
    (44_694, 58, 13),
    (46_776, 59, 13),
    (48_961, 60, 13),
    (51_258, 61, 13),
    (53_667, 62, 12),
    (56_230, 63, 12),
    (58_932, 64, 12),
    (61_799, 65, 12),
    (64_851, 66, 11),
    (68_113, 67, 11),
    (71_617, 68, 11),
    (75_401, 69, 10),
    (79_517, 70, 10),
    (84_035, 71, 10),
    (89_053, 72, 10),
    (94_717, 73, 9),
];

/// Returns a(w) and b(w) by RFC 3649 §5.
fn formula(w: f64) -> (f64, f64) {
    if w <= LOW_WINDOW {
        return (1.0, 0.5);
    }
    let w = w.min(LAST_WINDOW);
    let position = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    let b = 0.5 + (HIGH_DECREASE - 0.5) * position;
    let p = 0.078 / libm::pow(w, 1.2);
    (w * w * p * 2.0 * b / (2.0 - b), b)
}

/// Returns a(w) and b(w) of the first row whose window is not below w, or of the last row.
fn table(w: f64) -> (f64, f64) {
    let row = TABLE.partition_point(|(greatest, ..)| f64::from(*greatest) < w.floor()).min(TABLE.len() - 1);
    let (_, a, percent) = TABLE[row];
    (f64::from(a), f64::from(percent) / 100.0)
}

/// State of HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct Highspeed {
    response: fn(f64) -> (f64, f64),
    params: Params,
    window: Window,
    /// Acknowledged segments, times a(w), not yet counted for growth, if they outlive a loss.
    credit: f64,
}

impl Highspeed {
    /// Creates the controller of a new connection.
    pub fn new(params: Params, ctx: &SenderContext) -> Highspeed {
        let response = match params.response {
            Response::Table => table,
            Response::Formula => formula,
        };
        Highspeed { response, params, window: Window::new(ctx), credit: 0.0 }
    }

    /// Adds a segment for each window of `counted` segments, and keeps the rest.
    fn grow_in_whole_segments(&mut self, counted: f64) {
        self.credit += counted;
        let mut w = libm::floor(self.window.segments());
        while self.credit >= w {
            self.credit -= w;
            w += 1.0;
            self.window.set(w);
        }
    }
}

impl CongestionControl for Highspeed {
    fn on_ack(&mut self, ack: &Ack) {
        if self.window.in_slow_start() {
            self.window.slow_start(self.window.count(ack.acked).min(1.0));
        } else {
            let w = self.window.segments();
            let (a, _) = (self.response)(w);
            let counted = self.window.counted(ack.acked, self.params.growth) * a;
            if self.params.quirks.credit_outlives_loss {
                self.grow_in_whole_segments(counted);
            } else {
                self.window.add(counted / w);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let w = self.window.count(event.in_flight);
        let (_, b) = (self.response)(w);
        let kept = (1.0 - b) * w;
        self.window
            .reduce(event, if self.params.quirks.credit_outlives_loss { libm::floor(kept) } else { kept });
    }

    keeps_window!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Signal;
    use crate::cc::tests_support::{ack, congestion, ctx};
    use airwnd_units::Bytes;

    #[test]
    fn the_table_matches_the_formula_at_whole_a() {
        for (row, (greatest, a, percent)) in TABLE.into_iter().enumerate() {
            let (exact_a, exact_b) = formula(f64::from(greatest));
            assert_eq!(usize::from(a), row + 1);
            // The table is rounded to whole windows and percents.
            assert!((f64::from(a) - exact_a).abs() < 0.06, "a({greatest}) = {exact_a}, not {a}");
            assert!(
                (f64::from(percent) - 100.0 * exact_b).abs() <= 0.5,
                "b({greatest}) = {exact_b}, not {percent} %"
            );
        }
    }

    #[test]
    fn response_at_both_ends_of_the_range() {
        assert_eq!((table(38.0), table(39.0)), ((1.0, 0.5), (2.0, 0.44)));
        assert_eq!(table(1e6), (73.0, 0.09));
        // 83000^0.8 x 0.078 x 0.2 / 1.9 = 70.73; with High_P = 10^-7 to all digits it would be 72.52
        let (a, b) = formula(83_000.0);
        assert!((a - 70.73).abs() < 0.01 && (b - 0.1).abs() < 1e-12, "{a} {b}");
    }

    #[test]
    fn large_windows_grow_faster_and_keep_more_than_half() {
        let mut highspeed = Highspeed::new(Params::default(), &ctx(1000, 100));
        highspeed.on_congestion(&congestion(Signal::Loss, 100_000));
        // 100 (1 - 0.44)
        assert_eq!(highspeed.cwnd(), Bytes(56_000));
        // 56 segments are acknowledged; a(56) = 2
        highspeed.on_ack(&ack(56_000));
        assert_eq!(highspeed.cwnd(), Bytes(58_000));
    }
}
