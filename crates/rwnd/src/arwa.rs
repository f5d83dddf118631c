//! Adaptive receive window adjustment (ARWA): the receiver estimates congestion, the sender adjusts cwnd.

use super::{
    Advertisement, Arrival, Capabilities, Carriage, Instruction, ReceiverContext, RecvView, RwndController,
    SenderHalf,
};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};
use std::num::NonZeroU8;

/// Definition of a packet's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Delay {
    /// One-way delay by both ends' clocks, as in the ARWA paper.
    #[word = "one-way"]
    OneWay,
    /// One-way delay in excess of its minimum, plus half the minimum RTT.
    // Clocks of real hosts differ by milliseconds at best; a constant offset cancels in the excess over the minimum.
    #[word = "queueing"]
    Queueing,
}

/// ARWA: the receiver detects congestion from one-way delay and sends codes that change the sender's cwnd by
/// percentages.
///
/// The receiver (Algorithm 1) compares the rate of the packets since the last estimation, sum of sizes over sum of
/// one-way delays, with the rate of the packet of minimum delay:
///
/// ```math
/// \mathrm{diff} = 100 \, (1 - \frac{\mathrm{rate}}{\mathrm{rate}_{\max}})
/// ```
///
/// With equal sizes this is `100 (1 - Dmin / mean(D))`. Every `period` or `count` packets it derives a code from
/// `diff`:
///
/// ```math
/// \mathrm{code} = \begin{cases}
/// \mathrm{diff} - \mathrm{low} & \mathrm{diff} \ge \mathrm{high} \\
/// \frac{(\mathrm{diff} - \mathrm{low})^2}{\mathrm{high} - \mathrm{low}} &
/// \mathrm{low} \le \mathrm{diff} < \mathrm{high} \\
/// 100 + \mathrm{lowest} - \mathrm{diff} & \mathrm{diff} \le \mathrm{lowest}
/// \end{cases}
/// ```
///
/// For any other `diff`, and between estimations, it offers the ordinary window without a code. The sender (Algorithm
/// 2) reduces cwnd by the code in percent if the code is 1..=100, but not below `floor`. It increases cwnd by the
/// excess over 100 in percent if the code is 101..=120, and by half of that if cwnd is above `ceiling`.
///
/// Where the paper is silent or contradicts itself: codes are rounded down, those above 100 up, because its "101 to
/// 120" would otherwise start at 100, "lower by 100 percent". A code that rounds to 0 is not sent. A code waits for the
/// next ACK if ACKs are delayed, and is sent once. In the window field it is sent only while the whole ordinary window is
/// free, because on a code the sender keeps the largest window offered so far. cwnd does not exceed that window. An ACK that carries a code does not
/// grow cwnd otherwise. During loss recovery codes are ignored. In the window field a code is not scaled, and ordinary
/// field values of 1 to 120 become 0. ssthresh is unchanged: a cwnd reduced below ssthresh grows by slow start.
///
/// Clocks of real hosts are not synchronised. With `delay = "queueing"`, D is the excess of the one-way delay over its
/// minimum, in which a clock offset cancels, plus half the minimum RTT measured by the receiver. No code is sent before
/// the first RTT sample. Drift does not cancel: 1 ppm adds 0.06 ms to D per minute. If the receiver's clock is the
/// slower one, drift subtracts nothing, because the minimum follows it.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "Adesh, Renuka: Adaptive Receiver-Window Adjustment for Delay Reduction in LTE Networks, J. \
              Computer Networks and Communications 2019, ID 3645717, section 3"
)]
pub struct Params {
    /// Number of packets after which congestion is estimated.
    #[param(default = 15, range = 1..=10_000)]
    #[param(unit = "packets", source = "ARWA 2019 Alg. 1 line 5 (targetcounter)")]
    pub count: u32,
    /// Time after which congestion is estimated.
    #[param(default = Span::from_millis(30), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "ARWA 2019 Alg. 1 line 6 (targetperiod)")]
    pub period: Span,
    /// Minimum `diff`, the loss of rate, that reduces cwnd.
    #[param(basic)]
    #[param(default = 30.0, range = 0.0..=100.0, unit = "%", source = "ARWA 2019 Alg. 1 line 6 (limit_low)")]
    pub low: f64,
    /// Minimum `diff` that reduces cwnd aggressively.
    #[param(basic)]
    #[param(default = 90.0, range = 0.0..=100.0, unit = "%", source = "ARWA 2019 Alg. 1 line 6 (limit_high)")]
    pub high: f64,
    /// Maximum `diff` that increases cwnd.
    #[param(basic)]
    #[param(default = 20.0, range = 0.0..=20.0, unit = "%", source = "ARWA 2019 Alg. 1 line 6 (lowest)")]
    pub lowest: f64,
    /// Maximum of the ordinary window, which is otherwise the free buffer.
    #[param(default = Bytes(131_072), range = Bytes(1)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "not in the paper: ns-3.26 TcpSocket::RcvBufSize")]
    pub window: Bytes,
    /// Minimum cwnd after a code.
    #[param(default = Bytes(3000), range = Bytes(1)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "ARWA 2019 Alg. 2 line 5 (targetlimit_low)")]
    pub floor: Bytes,
    /// cwnd above which a code increases cwnd by half its percentage.
    #[param(default = Bytes(10_000), range = Bytes(1)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "ARWA 2019 Alg. 2 line 5 (targetlimit_high)")]
    pub ceiling: Bytes,
    /// Header field that carries the codes. Only the option is deployable: a real sender cannot distinguish a window of
    /// 100 bytes from code 100.
    #[param(default = Carriage::WindowField)]
    #[param(unit = "word", source = "ARWA 2019 §3.4; `tcp-option` is not in the paper")]
    pub carriage: Carriage,
    /// Definition of a packet's delay. Only `queueing` is deployable.
    #[param(default = Delay::OneWay)]
    #[param(unit = "word", source = "ARWA 2019 Alg. 1 line 8; `queueing` is not in the paper")]
    pub delay: Delay,
    /// Tick of the clocks that measure one-way delay: D is a difference of whole ticks. Zero: an ideal clock.
    #[param(expert, default = Span::from_millis(1), range = Span::ZERO..=Span::from_secs(1))]
    #[param(unit = "time", source = "ns-3.26 TcpOptionTS counts milliseconds")]
    pub clock_tick: Span,
    /// Offset of the receiver's clock, positive if ahead of the sender's. Any offset distorts the ratio Dmin / D.
    #[param(default = 0.0, range = -1e6..=1e6)]
    #[param(unit = "ms", source = "ARWA 2019 §3.1 assumes synchronised clocks")]
    pub clock_offset: f64,
    /// Drift of the receiver's clock, positive if faster than the sender's.
    #[param(default = 0.0, range = -1e4..=1e4)]
    #[param(unit = "ppm", source = "ARWA 2019 §3.1 assumes synchronised clocks")]
    pub clock_drift: f64,
}

/// State of ARWA's receiver (Algorithm 1).
#[derive(Clone, Debug)]
pub struct Arwa {
    params: Params,
    /// Ordinary window while no data is unread.
    whole: Bytes,
    /// Minimum difference of the two clocks so far, in ticks.
    min_difference: f64,
    /// Minimum delay in seconds, and the rate of its packet in B/s.
    min_delay: f64,
    max_rate: f64,
    total_delay: f64,
    total_data: f64,
    counter: u32,
    last_time: Time,
    old_code: f64,
    pending: Option<NonZeroU8>,
}

impl Arwa {
    /// Creates the state before the first measurement.
    pub fn new(params: Params, ctx: &ReceiverContext) -> Arwa {
        Arwa {
            whole: params.window.min(ctx.buffer),
            params,
            min_difference: f64::INFINITY,
            min_delay: f64::INFINITY,
            max_rate: 0.0,
            total_delay: 0.0,
            total_data: 0.0,
            counter: 0,
            last_time: Time::ZERO,
            old_code: 0.0,
            pending: None,
        }
    }

    /// Returns the delay of a packet in seconds, at least one tick so that rates are finite; `None`: not known yet.
    // Timestamps have ticks, and a real receiver's clock has an offset and a drift. With offset and drift of zero this
    // is the paper's one-way delay.
    fn delay(&mut self, arrival: &Arrival, view: &RecvView) -> Option<f64> {
        let tick = self.params.clock_tick.0.max(1) as f64;
        let drift = arrival.now.0 as f64 * self.params.clock_drift * 1e-6;
        let receiver = arrival.now.0 as f64 + self.params.clock_offset * 1e6 + drift;
        // Negative if the clock offset exceeds the time since the start.
        let sent_at = arrival.now.0 as i64 - arrival.one_way_delay?.0 as i64;
        let difference = libm::floor(receiver / tick) - libm::floor(sent_at as f64 / tick);
        let ticks = match self.params.delay {
            Delay::OneWay => difference,
            Delay::Queueing => {
                self.min_difference = self.min_difference.min(difference);
                difference - self.min_difference + view.min_rtt?.0 as f64 / (2.0 * tick)
            }
        };
        Some(ticks.max(1.0) * tick * 1e-9)
    }

    /// Lines 19 to 43: returns the code of an estimation, if it yields one.
    fn estimate(&mut self, now: Time) -> Option<NonZeroU8> {
        let Params { low, high, lowest, period, .. } = self.params;
        let diff = 100.0 - 100.0 * (self.total_data / self.total_delay) / self.max_rate;
        let mut code = if diff >= high {
            Some(diff - low)
        } else if diff >= low {
            Some((diff - low) * ((diff - low) / (high - low)))
        } else if diff <= lowest {
            Some(100.0 + libm::ceil(lowest - diff).min(20.0))
        } else {
            None
        };
        self.old_code = match code {
            Some(lower) if now - self.last_time < period && lower < 100.0 => {
                if lower > self.old_code {
                    code = Some(lower - self.old_code);
                    lower - self.old_code
                } else {
                    lower
                }
            }
            _ => 0.0,
        };
        self.last_time = now;
        self.total_data = 0.0;
        self.total_delay = 0.0;
        self.counter = 0;
        //= exception arwa-rounding
        // 100 is the only value in both ranges.
        NonZeroU8::new(code.filter(|code| *code != 100.0)? as u8)
    }
}

impl RwndController for Arwa {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            needs_timestamps: true,
            uses_one_way_delay: true,
            sender_half: Some(self.params.carriage),
            ..Capabilities::default()
        }
    }

    fn sender_half(&self) -> Option<Box<dyn SenderHalf>> {
        Some(Box::new(ArwaSender::new(&self.params)))
    }

    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        let size = arrival.len.0 as f64;
        let Some(delay) = self.delay(arrival, view) else { return };
        // A merged arrival counts as `segments` segments of equal size and delay.
        let segments = f64::from(arrival.segments);
        if delay < self.min_delay {
            self.min_delay = delay;
            self.max_rate = size / segments / delay;
        }
        self.total_delay += delay * segments;
        self.total_data += size;
        self.counter += arrival.segments;
        if arrival.now - self.last_time > self.params.period || self.counter > self.params.count {
            self.pending = self.estimate(arrival.now);
        }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        let window = self.whole.min(view.free);
        //= exception arwa-code-and-window
        let is_hidden = self.params.carriage == Carriage::WindowField && window != self.whole;
        let code = self.pending.filter(|_| !is_hidden);
        code.map_or(Advertisement::Window(window), |code| Advertisement::Code { code, window })
    }

    fn on_advertised(&mut self, _: Time, advertisement: &Advertisement) {
        if let Advertisement::Code { .. } = advertisement {
            self.pending = None;
        }
    }
}

/// ARWA's sender (Algorithm 2).
#[derive(Clone, Debug)]
pub struct ArwaSender {
    floor: u64,
    ceiling: u64,
}

impl ArwaSender {
    /// Creates the sender half for these parameters.
    pub fn new(params: &Params) -> ArwaSender {
        ArwaSender { floor: params.floor.0, ceiling: params.ceiling.0 }
    }

    /// Returns cwnd after an ACK with a code.
    fn on_code(&self, code: NonZeroU8, cwnd: Bytes) -> Bytes {
        let code = u64::from(code.get());
        let cwnd = cwnd.0;
        Bytes(if code <= 100 {
            (cwnd - cwnd * code / 100).max(self.floor)
        } else {
            let share = if cwnd > self.ceiling { 200 } else { 100 };
            cwnd + cwnd * (code.min(120) - 100) / share
        })
    }
}

impl SenderHalf for ArwaSender {
    //= exception arwa-sender
    fn on_ack(&mut self, instruction: &Instruction) -> Bytes {
        let Instruction { code, cwnd, largest_window } = *instruction;
        //= ARWA 2019 Alg. 2 line 20: cwnd <- min(rwnd, cwnd)
        code.map_or(cwnd, |code| self.on_code(code, cwnd)).min(largest_window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{arrival, ctx, view};
    use proptest::prelude::*;

    const DEFAULT_WINDOW: f64 = 131_072.0;

    /// Algorithm 1 line by line, for an ideal clock; times in microseconds, so that they are exact.
    struct Algorithm1 {
        rwnd: f64,
        dmin: f64,
        totaldelay: f64,
        totaldata: f64,
        counter: u32,
        dataratemax: f64,
        oldrwnd: f64,
        last_time: f64,
    }

    impl Algorithm1 {
        fn new() -> Algorithm1 {
            Algorithm1 {
                rwnd: DEFAULT_WINDOW,
                dmin: f64::INFINITY,
                totaldelay: 0.0,
                totaldata: 0.0,
                counter: 0,
                dataratemax: 0.0,
                oldrwnd: 0.0,
                last_time: 0.0,
            }
        }

        fn packet(&mut self, current_time: f64, packet_sent_time: f64, packet_size: f64) -> f64 {
            let (targetcounter, targetperiod) = (15, 30_000.0);
            let (limitlow, limithigh, lowest) = (30.0, 90.0, 20.0);
            let d = current_time - packet_sent_time;
            if d < self.dmin {
                self.dmin = d;
                let dpktsize = packet_size;
                self.dataratemax = dpktsize / self.dmin;
            }
            self.totaldelay += d;
            self.totaldata += packet_size;
            self.counter += 1;
            self.rwnd = DEFAULT_WINDOW;
            if current_time - self.last_time > targetperiod || self.counter > targetcounter {
                let datarate = self.totaldata / self.totaldelay;
                let currentpercentage = datarate / self.dataratemax * 100.0;
                let diffpercentage = 100.0 - currentpercentage;
                if diffpercentage >= limithigh {
                    self.rwnd = diffpercentage - limitlow;
                } else if diffpercentage >= limitlow {
                    self.rwnd =
                        (diffpercentage - limitlow) * ((diffpercentage - limitlow) / (limithigh - limitlow));
                } else if diffpercentage <= lowest {
                    self.rwnd = lowest - diffpercentage + 100.0;
                }
                if current_time - self.last_time < targetperiod && self.rwnd < 100.0 {
                    if self.rwnd > self.oldrwnd {
                        self.rwnd -= self.oldrwnd;
                        self.oldrwnd = self.rwnd;
                    } else {
                        self.oldrwnd = self.rwnd;
                    }
                } else {
                    self.oldrwnd = 0.0;
                }
                self.last_time = current_time;
                self.totaldata = 0.0;
                self.totaldelay = 0.0;
                self.counter = 0;
            }
            self.rwnd
        }
    }

    /// Algorithm 2 line by line.
    fn algorithm2(rwnd: f64, cwnd: f64) -> f64 {
        let (targetlimithigh, targetlimitlow) = (10_000.0, 3000.0);
        if rwnd <= 100.0 && rwnd < cwnd {
            let rwnd = rwnd / 100.0;
            let cwnd = cwnd - cwnd * rwnd;
            if cwnd < targetlimitlow { targetlimitlow } else { cwnd }
        } else if rwnd <= 120.0 && rwnd < cwnd {
            let rwnd = if cwnd > targetlimithigh { (rwnd - 100.0) / 200.0 } else { (rwnd - 100.0) / 100.0 };
            cwnd + cwnd * rwnd
        } else {
            rwnd.min(cwnd)
        }
    }

    fn advertised(arwa: &mut Arwa) -> Option<u8> {
        let advertisement = arwa.window(Time::ZERO, &view(None));
        assert_eq!(arwa.window(Time::ZERO, &view(None)), advertisement, "repeated calls agree");
        arwa.on_advertised(Time::ZERO, &advertisement);
        match advertisement {
            Advertisement::Code { code, .. } => Some(code.get()),
            Advertisement::Window(window) => {
                assert_eq!(window, Bytes(DEFAULT_WINDOW as u64));
                None
            }
        }
    }

    fn ideal_clock() -> Params {
        Params { clock_tick: Span::ZERO, ..Params::default() }
    }

    proptest! {
        #[test]
        fn receiver_agrees_with_algorithm_1(
            packets in prop::collection::vec((100..20_000_u64, 5_000..400_000_u64, 1..3_u64), 1..400),
        ) {
            let mut arwa = Arwa::new(ideal_clock(), &ctx());
            let mut literal = Algorithm1::new();
            let mut now = 1_000_000;
            for (gap, delay, size) in packets {
                now += gap;
                arwa.on_segment(&arrival(Time(now * 1000), Time((now - delay) * 1000), size * 500), &view(None));
                let rwnd = literal.packet(now as f64, (now - delay) as f64, size as f64 * 500.0);
                let code = advertised(&mut arwa);
                // Our reading: codes are integers, rounded down below 100 and up above; 0 and 100 are not codes.
                let close = |expected: f64| code.is_some_and(|code| f64::from(code) == expected);
                if (120.0..1000.0).contains(&rwnd) {
                    prop_assert_eq!(code, Some(120));
                } else if rwnd >= 1000.0 || (rwnd - 100.0).abs() < 1e-6 || rwnd < 1.0 {
                    prop_assert!(code.is_none() || rwnd < 1000.0 && (rwnd - rwnd.round()).abs() < 1e-6);
                } else if rwnd > 100.0 {
                    prop_assert!(close(rwnd.ceil()) || (rwnd - rwnd.round()).abs() < 1e-6, "{:?} {}", code, rwnd);
                } else {
                    prop_assert!(close(rwnd.floor()) || (rwnd - rwnd.round()).abs() < 1e-6, "{:?} {}", code, rwnd);
                }
            }
        }

        #[test]
        fn sender_agrees_with_algorithm_2(code in 1..=120_u8, cwnd in 200..1_000_000_u64) {
            let sender = ArwaSender::new(&Params::default());
            let cwnd_after = sender.on_code(NonZeroU8::new(code).unwrap(), Bytes(cwnd)).0 as f64;
            let literal = algorithm2(f64::from(code), cwnd as f64);
            prop_assert!((cwnd_after - literal).abs() <= 1.0, "{} {}", cwnd_after, literal);
        }
    }

    /// Returns the code after `count` packets of equal delay; the first packet has the minimum delay.
    fn code_at(params: Params, first_ms: u64, then_ms: u64) -> Option<u8> {
        let mut arwa = Arwa::new(params, &ctx());
        let mut now = Time(1_000_000_000);
        arwa.on_segment(&arrival(now, now - Span::from_millis(first_ms), 512), &view(None));
        advertised(&mut arwa);
        for _ in 0..16 {
            now += Span::from_millis(1);
            arwa.on_segment(&arrival(now, now - Span::from_millis(then_ms), 512), &view(None));
        }
        advertised(&mut arwa)
    }

    #[test]
    fn codes_follow_from_the_ratio_of_delays() {
        // diff = 100 (1 - 10/10) = 0: 100 + 20
        assert_eq!(code_at(ideal_clock(), 10, 10), Some(120));
        // diff = 100 (1 - 10/20) = 50: 20 * 20 / 60 = 6.67
        assert_eq!(code_at(ideal_clock(), 10, 20), Some(6));
        // diff = 95: 65
        assert_eq!(code_at(ideal_clock(), 10, 200), Some(65));
        // diff = 23 is between `lowest` and `low`.
        assert_eq!(code_at(ideal_clock(), 10, 13), None);
    }

    #[test]
    fn a_clock_offset_distorts_the_ratio() {
        // 190 ms more on both: diff = 100 (1 - 200/210) = 4.8, so the code increases cwnd.
        let params = Params { clock_offset: 190.0, ..ideal_clock() };
        assert_eq!(code_at(params, 10, 20), Some(116));
    }

    /// Returns the code for packets of 10 ms and 20 ms of one-way delay, `minutes` after the first packet.
    fn code_after(params: Params, minutes: u64) -> Option<u8> {
        let mut arwa = Arwa::new(params, &ctx());
        let seen = view(Some(Span::from_millis(20)));
        let mut now = Time(1_000_000_000);
        arwa.on_segment(&arrival(now, now - Span::from_millis(10), 512), &seen);
        now += Span::from_secs(60 * minutes);
        for _ in 0..17 {
            arwa.on_segment(&arrival(now, now - Span::from_millis(20), 512), &seen);
            now += Span::from_millis(1);
        }
        arwa.pending.map(NonZeroU8::get)
    }

    /// D is 10 ms above the minimum plus half of 20 ms at any offset; one-way delay is right only without an offset.
    #[test]
    fn an_offset_cancels_in_the_queueing_delay() {
        for clock_offset in [-100.0, -5.0, 0.0, 5.0, 20.0, 100.0] {
            let params = Params { clock_offset, ..ideal_clock() };
            let by_queueing = Params { delay: Delay::Queueing, ..params.clone() };
            // diff = 100 (1 - 10/20) = 50: 20 * 20 / 60 = 6.67
            assert_eq!(code_after(by_queueing, 0), Some(6), "{clock_offset} ms");
            assert_eq!(code_after(params, 0) == Some(6), clock_offset == 0.0, "{clock_offset} ms");
        }
    }

    /// 0.06 ms of delay per ppm and minute, if the receiver's clock is the faster one.
    #[test]
    fn drift_looks_like_a_queue() {
        let code = |clock_drift, minutes| {
            code_after(Params { delay: Delay::Queueing, clock_drift, ..ideal_clock() }, minutes)
        };
        assert_eq!(code(0.0, 10), Some(6));
        // 50 ppm over 10 minutes are 30 ms: diff = 100 (1 - 10/50) = 80: 50 * 50 / 60 = 41.67
        assert_eq!(code(50.0, 10), Some(41));
        assert_eq!(code(500.0, 1), Some(41));
        // A slower clock gives the newest packet the minimum delay: no queueing delay.
        assert_eq!(code(-50.0, 10), Some(120));
    }

    #[test]
    fn no_code_is_sent_before_the_first_rtt_sample() {
        let mut arwa = Arwa::new(Params { delay: Delay::Queueing, ..ideal_clock() }, &ctx());
        for at in 1..100 {
            let now = Time(at * 50_000_000);
            arwa.on_segment(&arrival(now, now - Span::from_millis(10 * at), 512), &view(None));
        }
        assert_eq!(advertised(&mut arwa), None);
    }

    #[test]
    fn a_code_is_sent_once_and_only_while_the_whole_window_is_free() {
        let mut arwa = Arwa::new(ideal_clock(), &ctx());
        let now = Time(1_000_000_000);
        arwa.on_segment(&arrival(now, now - Span::from_millis(10), 512), &view(None));
        let narrow = RecvView { free: Bytes(5000), ..view(None) };
        assert_eq!(arwa.window(now, &narrow), Advertisement::Window(Bytes(5000)));
        assert_eq!(advertised(&mut arwa), Some(120));
        assert_eq!(advertised(&mut arwa), None);
    }
}
