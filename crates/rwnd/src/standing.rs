//! Rate of the device while a queue exists, times the round trip without the queue.

use super::parts::competition::{Competition, Segment};
use super::parts::downlink::Downlink;
use super::parts::small_windows::{MAX_SHIFT, MIN_SEGMENTS};
use super::{
    Advertisement, Arrival, Capabilities, DeviceLink, DeviceNeeds, Queued, QueuedMeter, ReceiverContext,
    RecvView, RwndController,
};
use airwnd_catalog::Params;
use airwnd_units::{Bytes, Span, Time};

/// Minimum duration of the measurements of a round trip in seconds: one LTE frame.
const MIN_ROUND_S: f64 = 0.01;
/// Share of the time with a queue that a rate needs.
const ENOUGH: f64 = 0.1;
/// Bytes in the presence of a queue that a rate needs, in segments.
const ENOUGH_SEGMENTS: u64 = 4;
/// Maximum of the factor g. If it is exceeded without a queue, the window is doubled per round trip.
const MAX_GROWTH: f64 = 2.0;
/// Excess queueing delay of every segment that indicates a longer route, in seconds. Chosen like the next six
/// on the development sets of experiments/frontier.
const USUAL_EXCESS_S: f64 = 0.002;
/// Time for which every segment must have that excess before the first probe.
const EXCESS_BEFORE_PROBE: Span = Span::from_secs(4);
/// Probes begin with the first arrival after a multiple of this time.
const PROBE_SLOT: Span = Span::from_secs(1);
/// Window in a probe for a longer route: a factor, and segments. If there is one, the minimum factor of the rate and the
/// maximum factor of the minimum RTT.
const PROBE_GAIN: f64 = 1.5;
const PROBE_SEGMENTS: u64 = 2;
const MIN_GAIN: f64 = 1.2;
const MAX_RTT_GAIN: f64 = 1.1;
/// Factor of the window in a dip. Half suffices to show a queue, and costs less than a minimum window.
const DIP_GAIN: f64 = 0.5;
/// Addition to the maximum window after the start, in segments: the initial window of RFC 6928.
const SPARE_SEGMENTS: u64 = 10;
/// Maximum window while the sender starts, and afterwards, as a multiple of the data of an RTT at the measured rate.
const START_HEADROOM: f64 = 4.0;
const HEADROOM: f64 = 2.0;

/// Rate of queued segments: one window for the device, rate while a queue exists x (RTTmin + target).
///
/// An interval between two arrivals is a measurement of the path's capacity if the second segment was at the bottleneck
/// before the first one had arrived, that is if its queueing delay is at least the interval. Arrivals are those of all
/// connections of the device. The queueing delay of segment i is that of the downlink:
///
/// ```math
/// q_i = \mathit{OWD}_i - \mathit{OWD}_{\min} - \frac{\mathrm{tick}}{2} + Q
/// ```
///
/// The one-way delay (OWD) contains neither the wait of a delayed ACK nor that for an uplink grant. Half a tick is the
/// mean error of timestamps. Q is the queue in which this connection began, which its minimum one-way delay contains, if
/// another connection of the device has seen the path without it: the lesser of the excess of its minimum RTT, and of the
/// minimum of U (below). It counts up to the queue that the control itself keeps: which direction had more is unknown, and
/// an uplink's queue must not shrink the window. The capacity is the quotient of two sums over intervals, in which the
/// weight of an interval decreases with its age by `memory`:
///
/// ```math
/// C = \frac{\sum_{q_i \ge t_i - t_{i-1}} e^{-(t - t_i) / \mathrm{memory}}\, \mathrm{bytes}_i}
/// {\sum_{q_i \ge t_i - t_{i-1}} e^{-(t - t_i) / \mathrm{memory}}\, (t_i - t_{i-1})}
/// ```
///
/// Each connection offers an equal share of the window W of the device:
///
/// ```math
/// W = g\, C \left(\mathit{RTT}_{\min} + U + \mathrm{target}\right) + \mathrm{extra} \cdot \mathrm{MSS}
/// ```
///
/// U is the delay that an uplink queue adds: the minimum, over the last two minimum RTTs, of the RTT in excess of its
/// minimum and of the downlink's queueing delay. So an upload of the device or of a neighbour, which delays the ACKs, does
/// not take the window from downloads. Less than half of the minimum RTT does not count, since waits of the ACKs for grants
/// are usual in a cell and g has room for them. U does not depend on the window: with more of it the RTT and the queueing
/// delay grow alike. A one-way delay that is too short by an error raises U by as much, and the queue by no more.
///
/// C is the rate of the times with a queue, which in a channel that varies are more often those of low rates. The factor
/// g, from 1 to 2, corrects that, and gives room for the variation of the channel: with the share s of a round trip in
/// which there was a queue,
///
/// ```math
/// g \leftarrow g \left(1 + \mathrm{gain} \cdot \frac{\mathrm{share} - s}{\mathrm{share}}\right)
/// \;\text{if}\; s < \mathrm{share}, \qquad
/// g \leftarrow g \left(1 - \mathrm{gain} \cdot \frac{s - \mathrm{share}}{1 - \mathrm{share}}\right)
/// \;\text{otherwise}
/// ```
///
/// At the start, and when g exceeds 2 without a queue, the window doubles per round trip until there is one.
///
/// Stability: on a link of constant capacity, C is measured from any small queue, whatever the window is. So the window
/// is no input of itself, the fixed point is g = 1 with a queueing delay of target and extra segments, and a step of the
/// capacity is followed with the time constant `memory`. g is an integrator, which moves by at most `gain` in a round
/// trip, of a measurement that grows with it: more window, more time with a queue. n connections compute W from the same
/// arrivals; the sum of their shares has the fixed point of one.
///
/// With `competes` the window is released where the queue is that of others: if one of more than three RTTs was above what
/// the control aims at throughout each of 16 consecutive round trips, or of at least four in which the rate has fallen to
/// half and by more than the RTT. After 16 round trips with a shorter queue, beyond what drains at the peak rate, a trial of
/// as many offers up to three times the data of an RTT without a queue. If the device's rate is then 1.15 times that of
/// before, the control is released with this limit until a loss or a longer queue, otherwise tried again after twice as
/// long, from 64 round trips on. If a fifth of what arrives at the device has no
/// such control, eight round trips suffice, or two if that traffic has grown by a quarter, or, in the first five, if it has
/// tripled or the queue was there before. Round trips in which more than twice the window is still offered count only
/// then. Released, the receiver offers at most twice the data of a round trip, or what that was before the window shrank. It
/// tries the control again after 256 round trips, or 64 if the queue has shrunk to 0.7 times or the rate grown to 1.3
/// times its mean; if the queue is not short then, it is released for twice as long, up to 1024 round trips. A probe
/// lasts about four round trips. The window is also released while the
/// device uploads and U exceeds the minimum RTT: the ACKs between the upload's segments arrive in groups, and so do
/// the segments of the download (Zhang, Shenker and Clark, SIGCOMM 1991).
///
/// Longer routes: after a change to one, every segment looks queued, C is the delivery rate, and the window shrinks. A
/// queue of the window's own is empty at times. If every segment of 4 s had a queueing delay above target + 2 ms, a probe
/// offers 1.5 W and two segments for two round trips. If the rate in the second of them is at least 1.2 times the former
/// one, and the RTT of the fastest segment at most 1.1 times, then W was the limit and there was no queue: the minima of
/// this round trip replace the former ones, and the control starts again. With a queue of the device the rate cannot
/// grow. After a probe without result the next one needs twice the time. A queue of others may be taken for a longer
/// route, so that W would preserve it after their end. Therefore dips to W/2 for two round trips follow,
/// `probe_interval` after the change and then at doubled times: with a queue of the window's own a dip lowers the
/// minimum RTT, and the next one follows after a second. Connections of a device probe at the same seconds of its clock.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "airwnd: experiments/frontier; the rate of queued segments as in packet trains (Jain and \
              Routhier, IEEE JSAC 1986), the one-way delay as in LEDBAT (RFC 6817)")]
pub struct Params {
    /// Queueing delay aimed at, without the extra segments.
    #[param(basic, default = Span::from_millis(2), range = Span::ZERO..=Span::from_secs(10))]
    #[param(unit = "time", source = "as in the oracle: one TTI in which ACKs accumulate, one for segments")]
    pub target: Span,
    /// Additional segments of the queue, for all connections of the device together.
    #[param(basic, default = 2.0, range = 0.0..=1000.0)]
    #[param(unit = "segments", source = "as in the oracle: an ACK waits for the second segment (RFC 1122)")]
    pub extra: f64,
    /// Time constant of the capacity.
    #[param(default = Span::from_millis(400), range = Span::from_millis(1)..=Span::from_secs(100))]
    #[param(unit = "time", source = "development sets of experiments/frontier")]
    pub memory: Span,
    /// Share of the time in which there is to be a queue.
    #[param(default = 0.9, range = 0.01..=0.99)]
    #[param(unit = "1", source = "development sets of experiments/frontier")]
    pub share: f64,
    /// Growth of the window in a round trip without a queue.
    #[param(default = 0.03, range = 0.0..=1.0)]
    #[param(unit = "1", source = "development sets of experiments/frontier")]
    pub gain: f64,
    /// Window offered before the first data, for all connections of the device together.
    #[param(default = 24, range = 2..=10_000)]
    #[param(
        unit = "segments",
        source = "more than cwnd after one RTT (RFC 6928: 10 segments), before there is an RTT"
    )]
    pub initial: u64,
    /// Tick of the sender's timestamps, to which the time of transmission is rounded down.
    #[param(expert, default = Span::from_millis(1), range = Span::from_micros(1)..=Span::from_secs(1))]
    #[param(unit = "time", source = "Linux: TSval counts milliseconds")]
    pub tick: Span,
    /// Time from the discovery of a longer route to the first dip; `none`: longer routes are not looked for.
    #[param(default = Some(Span::from_secs(10)), range = Span::from_secs(1)..=Span::from_secs(86_400))]
    #[param(
        unit = "time",
        source = "BBR (Cardwell et al., ACM Queue 14(5), 2016): minima of the RTT last for 10 s"
    )]
    pub probe_interval: Option<Span>,
    /// Whether the sender's own congestion control competes where the queue is that of others.
    #[param(default = true)]
    #[param(unit = "1", source = "Copa (Arun and Balakrishnan, NSDI 2018), section 2.2: competitive mode")]
    pub competes: bool,
    /// Time constant of the oracle's mean window, from which the factor follows; `none`: the factor is measured. A receiver
    /// cannot know it: this shows what the measured factor lacks.
    #[param(expert, default = None, range = Span::from_millis(1)..=Span::from_secs(86_400))]
    #[param(unit = "time", source = "airwnd: experiments/frontier")]
    pub calibration: Option<Span>,
}

/// Bytes and time of recent intervals between arrivals, weighted by age.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    queued_bytes: f64,
    queued_s: f64,
    bytes: f64,
    all_s: f64,
}

impl Recent {
    fn add(&mut self, bytes: f64, gap_s: f64, queued: Queued, memory: Span) {
        let kept = libm::exp(-gap_s / memory.as_secs());
        self.queued_bytes = kept * self.queued_bytes + queued.bytes.0 as f64;
        self.queued_s = kept * self.queued_s + queued.time.as_secs();
        self.bytes = kept * self.bytes + bytes;
        self.all_s = kept * self.all_s + gap_s;
    }

    /// Returns the rate in bytes per second while a queue exists, if enough has arrived then.
    fn capacity(&self, mss: Bytes) -> Option<f64> {
        let is_enough =
            self.queued_s > ENOUGH * self.all_s && self.queued_bytes > (mss * ENOUGH_SEGMENTS).0 as f64;
        is_enough.then(|| self.queued_bytes / self.queued_s)
    }

    /// Returns the rate in bytes per second.
    fn rate(&self) -> f64 {
        if self.all_s > 0.0 { self.bytes / self.all_s } else { 0.0 }
    }
}

/// Measurements of a round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    since: Time,
    bytes: f64,
    min_delay: Span,
    rtts_s: f64,
    rtts: u32,
    min_rtt_s: f64,
    queue_s: f64,
    segments: u32,
    queued_s: f64,
}

impl Round {
    fn new(since: Time) -> Round {
        let min_rtt_s = f64::INFINITY;
        Round {
            since,
            bytes: 0.0,
            min_delay: Span::MAX,
            rtts_s: 0.0,
            rtts: 0,
            min_rtt_s,
            queue_s: 0.0,
            segments: 0,
            queued_s: 0.0,
        }
    }

    fn add(&mut self, rtt: Option<Span>, bytes: f64, delay: Span, queue_s: f64, queued_s: f64) {
        self.bytes += bytes;
        self.min_delay = self.min_delay.min(delay);
        if let Some(rtt) = rtt {
            self.rtts_s += rtt.as_secs();
            self.rtts += 1;
            self.min_rtt_s = self.min_rtt_s.min(rtt.as_secs());
        }
        self.queue_s += queue_s;
        self.segments += 1;
        self.queued_s += queued_s;
    }

    /// Returns the duration and the mean RTT in seconds, once that has passed.
    fn end(&self, now: Time) -> Option<(f64, f64)> {
        let duration_s = now.since(self.since).as_secs();
        let rtt_s = self.rtts_s / f64::from(self.rtts);
        (self.rtts > 0 && duration_s >= rtt_s.max(MIN_ROUND_S)).then_some((duration_s, rtt_s))
    }
}

/// A probe: a different window for two round trips.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// Window of the device: larger to find a longer route, smaller in a dip.
    window: f64,
    is_dip: bool,
    /// Minimum RTT before.
    former_base: Option<Span>,
    /// Bytes per second, and minimum one-way delay of the round trip before.
    former_rate: f64,
    former_delay: Span,
    /// Second round trip: the arrivals that this window allowed.
    effect: Round,
    end: Time,
}

/// State of the control.
#[derive(Clone, Debug)]
pub struct Standing {
    params: Params,
    /// Time of the first arrival.
    since: Option<Time>,
    /// Time of the last arrival, and the device's bytes then.
    last: (Time, u64),
    /// Queueing delay of the last arrival.
    queueing_delay: Option<Span>,
    /// Intervals with a queue of this connection's arrivals, and those of the device's at the last one.
    own: QueuedMeter,
    of_device: Queued,
    /// Minimum RTT of the route, and the queueing delay of its downlink.
    base_rtt: Option<Span>,
    downlink: Downlink,
    /// `None`: the control is never released.
    competition: Option<Competition>,
    /// Minimum RTT of the path, from other connections.
    path_rtt: Option<Span>,
    /// Time since which every segment has had that excess, and its duration before the next probe.
    excess_since: Option<Time>,
    excess_before_probe: Span,
    probe: Option<Probe>,
    /// Time before which no probe begins.
    next_probe: Time,
    /// Time to the next dip; `None`: no probe has found a longer route.
    dip_interval: Option<Span>,
    recent: Recent,
    /// Bytes per second while a queue exists; 0: unknown.
    capacity: f64,
    growth: f64,
    /// Sums over time of the oracle's window and of that without a factor, less its extra segments.
    calibration: [f64; 2],
    round: Round,
    /// Minimum one-way delay of the last round trip.
    round_delay: Span,
    /// Mean RTT of the last round trip in seconds.
    rtt_s: f64,
    /// Window of the device.
    window: Option<f64>,
    /// Whether there has been no queue yet.
    is_starting: bool,
    /// Whether the last arrival had no one-way delay.
    is_blind: bool,
}

impl Standing {
    /// Creates the state before the first measurement.
    pub fn new(params: Params, _: &ReceiverContext) -> Standing {
        let tick = params.tick;
        let competition = params.competes.then(Competition::new);
        Standing {
            params,
            since: None,
            last: (Time::ZERO, 0),
            queueing_delay: None,
            own: QueuedMeter::default(),
            of_device: Queued::default(),
            base_rtt: None,
            downlink: Downlink::new(tick),
            competition,
            path_rtt: None,
            excess_since: None,
            excess_before_probe: EXCESS_BEFORE_PROBE,
            probe: None,
            next_probe: Time::ZERO,
            dip_interval: None,
            recent: Recent::default(),
            capacity: 0.0,
            growth: 1.0,
            calibration: [0.0; 2],
            round: Round::new(Time::ZERO),
            round_delay: Span::ZERO,
            rtt_s: 0.0,
            window: None,
            is_starting: true,
            is_blind: false,
        }
    }

    /// Window of the device before the first data.
    fn initial(&self, view: &RecvView) -> f64 {
        (view.mss * self.params.initial).0 as f64
    }

    /// Window of the device.
    fn whole(&self, view: &RecvView) -> f64 {
        match self.probe {
            Some(probe) => probe.window,
            None => self.window.unwrap_or_else(|| self.initial(view)),
        }
    }

    /// Returns the one-way delay from the tick in which a segment was sent.
    fn delay(&self, now: Time, exact: Span) -> Span {
        // The clocks of both ends may differ by any constant.
        let sent = i128::from(now.0) - i128::from(exact.0);
        exact + Span(sent.rem_euclid(i128::from(self.params.tick.0)) as u64)
    }

    /// Returns the minimum RTT.
    fn path_rtt(&self, view: &RecvView) -> Option<Span> {
        // Minima of other connections may be those of a former route.
        let is_same = self.dip_interval.is_none();
        let others = [view.device.min_rtt, self.path_rtt].into_iter().flatten().filter(|_| is_same);
        self.base_rtt.map(|own| others.chain([own]).min().unwrap_or(own))
    }

    /// Target of the queueing delay in seconds.
    fn target_s(&self, view: &RecvView) -> f64 {
        self.params.target.as_secs() + self.params.extra * view.mss.0 as f64 / self.capacity.max(1.0)
    }

    /// Records since when the queueing delay of every segment has exceeded the target by more than the usual excess.
    fn note_excess(&mut self, now: Time, queue_s: f64) {
        // A probe for competitors changes the rate by itself.
        let is_probing = self.competition.as_ref().is_some_and(Competition::is_probing);
        if queue_s > self.params.target.as_secs() + USUAL_EXCESS_S && !is_probing {
            self.excess_since.get_or_insert(now);
        } else {
            (self.excess_since, self.excess_before_probe) = (None, EXCESS_BEFORE_PROBE);
        }
    }

    /// Returns what has arrived in the presence of a queue since the last arrival, at the device if it has several
    /// connections.
    fn measure(&mut self, now: Time, queueing_delay: Span, received: Bytes, view: &RecvView) -> Queued {
        self.queueing_delay = Some(queueing_delay);
        let own = self.own.add(now, received, queueing_delay);
        let Some(of_device) = view.device.queued else { return own };
        let new = of_device - std::mem::replace(&mut self.of_device, of_device);
        if view.device.connections > 1 { new } else { own }
    }

    /// Begins a probe if one is due. `last`: time of the arrival before.
    fn begin_probe(&mut self, now: Time, last: Time, view: &RecvView) {
        // The connections of a device have the same clock, so that they probe together.
        let is_slot = now.0 / PROBE_SLOT.0 > last.0 / PROBE_SLOT.0;
        if !is_slot || now < self.next_probe {
            return;
        }
        let has_lasting_excess =
            self.excess_since.is_some_and(|since| now.since(since) >= self.excess_before_probe);
        let (former_rate, window) = (self.recent.rate(), self.window.unwrap_or(0.0));
        let window = match self.dip_interval {
            // The window may just be small, or be quantized to few segments.
            _ if has_lasting_excess => {
                PROBE_GAIN * window.max(former_rate * self.rtt_s) + (view.mss * PROBE_SEGMENTS).0 as f64
            }
            Some(_) => DIP_GAIN * window,
            None => return,
        };
        let rtt = Span::from_secs_f64(self.rtt_s);
        self.probe = Some(Probe {
            window,
            is_dip: !has_lasting_excess,
            former_base: self.base_rtt,
            former_rate,
            former_delay: self.round_delay,
            effect: Round::new(now + rtt),
            end: now + rtt * 2,
        });
    }

    /// Begins, continues or ends a probe.
    fn probe(
        &mut self,
        arrival: &Arrival,
        bytes: f64,
        delay: Span,
        last: Time,
        interval: Span,
        view: &RecvView,
    ) {
        let now = arrival.now;
        let Some(probe) = &mut self.probe else { return self.begin_probe(now, last, view) };
        if now >= probe.effect.since {
            probe.effect.add(arrival.rtt, bytes, delay, 0.0, 0.0);
        }
        if now >= probe.end && probe.effect.rtts > 0 {
            let probe = *probe;
            self.probe = None;
            self.end_probe(now, &probe, interval, view);
        }
    }

    /// Learns a longer route if a larger window has increased the rate and not the minimum RTT: the window was the limit,
    /// and there was no queue.
    fn end_probe(&mut self, now: Time, probe: &Probe, interval: Span, view: &RecvView) {
        self.excess_since = None;
        if probe.is_dip {
            self.end_dip(now, probe.former_base, interval);
            return;
        }
        let Round { since, bytes, min_rtt_s, min_delay, .. } = probe.effect;
        let has_gained = bytes >= MIN_GAIN * probe.former_rate * now.since(since).as_secs();
        // The RTT without waits for uplink grants and delayed ACKs, which vary more than the gain.
        let [base_rtt_s, base_delay_s] =
            [self.base_rtt, self.downlink.min_delay()].map(|base| base.map_or(0.0, |base| base.as_secs()));
        let rtt_s = |delay: Span| base_rtt_s + delay.as_secs() - base_delay_s;
        if !has_gained || rtt_s(min_delay) > MAX_RTT_GAIN * rtt_s(probe.former_delay) {
            self.excess_before_probe = self.excess_before_probe * 2;
            return;
        }
        self.excess_before_probe = EXCESS_BEFORE_PROBE;
        self.base_rtt = Some(Span::from_secs_f64(min_rtt_s));
        self.downlink.replace_min_delay(min_delay);
        (self.dip_interval, self.next_probe) = (Some(interval), now + interval);
        (self.recent, self.growth, self.is_starting) = (Recent::default(), 1.0, true);
        self.window = Some(probe.window.max(self.initial(view)));
    }

    /// Sets the time of the next dip: soon if this one has found a lower minimum RTT, otherwise later each time.
    fn end_dip(&mut self, now: Time, former_base: Option<Span>, interval: Span) {
        let is_lower = self.base_rtt < former_base.map(|base| base * 9 / 10);
        let wait = if is_lower { PROBE_SLOT } else { self.dip_interval.unwrap_or(interval) * 2 };
        self.dip_interval = Some(wait.max(interval));
        self.next_probe = now + wait;
    }

    fn end_round(&mut self, now: Time, duration_s: f64, rtt_s: f64, view: &RecvView) {
        let round = std::mem::replace(&mut self.round, Round::new(now));
        self.rtt_s = rtt_s;
        self.round_delay = round.min_delay;
        self.is_starting &= round.queue_s / f64::from(round.segments) <= self.target_s(view);
        if !self.is_starting && self.params.calibration.is_none() {
            self.grow((round.queued_s / duration_s).min(1.0));
        }
        if self.is_starting {
            let initial = self.initial(view);
            let max = START_HEADROOM * self.recent.rate() * rtt_s + initial;
            self.window = Some((2.0 * self.window.unwrap_or(initial)).min(max));
        }
    }

    /// Sets the factor to the mean of the oracle's window, over that without a factor.
    fn calibrate(&mut self, gap_s: f64, time: Span, base_s: f64, link: &DeviceLink) {
        if self.capacity <= 0.0 {
            return;
        }
        let target_s = self.params.target.as_secs();
        let oracle = link.rate.0 as f64 / 8.0 * (link.base_rtt.as_secs() + target_s);
        let kept = libm::exp(-gap_s / time.as_secs());
        let [known, own] = self.calibration;
        let [known, own] =
            [kept * known + gap_s * oracle, kept * own + gap_s * self.capacity * (base_s + target_s)];
        self.calibration = [known, own];
        if own > 0.0 {
            self.growth = known / own;
        }
    }

    /// Looks whether the queue is that of others. `base_s`: RTT without a queue, and `back_s`: what the uplink's adds.
    fn compete(&mut self, arrival: &Arrival, base_s: f64, back_s: f64, queue_s: f64, view: &RecvView) {
        let base_s = base_s + back_s;
        let connections = view.device.connections.max(1);
        let aim_s = (self.growth - 1.0) * base_s + self.growth * self.params.target.as_secs();
        let extra = self.params.extra * view.mss.0 as f64 / f64::from(connections);
        let segment = Segment {
            now: arrival.now,
            new: arrival.new,
            rtt: view.rtt,
            base_rtt: Span::from_secs_f64(base_s),
            queue: Span::from_secs_f64(queue_s.max(0.0)),
            aim: Span::from_secs_f64(aim_s) + self.params.tick,
            extra: Bytes(extra as u64),
            mss: view.mss,
            way_back: Span::from_secs_f64(back_s),
            device: &view.device,
            window: Bytes((self.whole(view) / f64::from(connections)) as u64),
            offered: view.offered,
            has_gap: view.early > Bytes::ZERO,
        };
        if let Some(competition) = &mut self.competition {
            competition.on_segment(&segment);
        }
    }

    /// Adapts the factor of the window to the share of a round trip in which there was a queue.
    fn grow(&mut self, queued: f64) {
        let aim = self.params.share;
        let off = if queued < aim { (aim - queued) / aim } else { (aim - queued) / (1.0 - aim) };
        self.growth = (self.growth * (1.0 + self.params.gain * off)).max(1.0);
        if self.growth > MAX_GROWTH {
            self.growth = MAX_GROWTH;
            if queued < ENOUGH {
                (self.growth, self.is_starting) = (1.0, true);
            }
        }
    }

    /// Returns the window of the device with this RTT without a queue, once there has been a queue.
    fn next(&self, base_s: f64, view: &RecvView) -> Option<f64> {
        if self.is_starting || self.capacity <= 0.0 {
            return None;
        }
        let target_s = self.params.target.as_secs();
        let room_s = base_s + target_s;
        let extra = self.params.extra * view.mss.0 as f64;
        // The sender or the application may limit the rate.
        let rate = self.recent.rate().max(self.capacity);
        let max = HEADROOM * rate * (self.rtt_s + target_s) + (view.mss * SPARE_SEGMENTS).0 as f64;
        let min = (view.mss * MIN_SEGMENTS).0 as f64 * f64::from(view.device.connections.max(1));
        Some((self.growth * self.capacity * room_s + extra).min(max).max(min))
    }
}

impl RwndController for Standing {
    fn on_segment(&mut self, arrival: &Arrival, view: &RecvView) {
        let now = arrival.now;
        self.is_blind = arrival.one_way_delay.is_none();
        self.queueing_delay = None;
        let Some(exact) = arrival.one_way_delay else { return };
        let delay = self.delay(now, exact);
        self.base_rtt = self.base_rtt.into_iter().chain(arrival.rtt).min();
        let received = view.device.received.max(view.received).0;
        let (last, before) = std::mem::replace(&mut self.last, (now, received));
        let is_first = self.since.is_none();
        if is_first {
            self.since = Some(now);
            self.round = Round::new(now);
        }
        let base = self.path_rtt(view);
        let base_s = base.unwrap_or_default().as_secs();
        let queue = self.downlink.add(now, delay, arrival.rtt, base);
        let late_s = self.downlink.late(Span::from_secs_f64(self.target_s(view))).as_secs();
        let queue_s = queue.as_secs() - self.params.tick.as_secs() / 2.0 + late_s;
        self.note_excess(now, queue_s);
        let queued = self.measure(now, Span::from_secs_f64(queue_s.max(0.0)), Bytes(received), view);
        if !is_first {
            let gap_s = now.since(last).as_secs();
            let bytes = received.saturating_sub(before) as f64;
            self.recent.add(bytes, gap_s, queued, self.params.memory);
            self.capacity = self.recent.capacity(view.mss).unwrap_or(self.capacity);
            if let (Some(time), Some(link)) = (self.params.calibration, view.device.link) {
                self.calibrate(gap_s, time, base_s, &link);
            }
            self.round.add(arrival.rtt, bytes, delay, queue_s, queued.time.as_secs());
            if let Some((duration_s, rtt_s)) = self.round.end(now) {
                self.end_round(now, duration_s, rtt_s, view);
            }
            if let Some(interval) = self.params.probe_interval {
                self.probe(arrival, bytes, delay, last, interval, view);
            }
        }
        let back_s = (self.downlink.way_back().as_secs() - late_s).max(0.0);
        self.window = self.next(base_s + back_s, view).or(self.window);
        self.compete(arrival, base_s, back_s, queue_s, view);
    }

    fn on_path_rtt(&mut self, _: Time, rtt: Span) {
        self.path_rtt = Some(self.path_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    fn queueing_delay(&self) -> Option<Span> {
        self.queueing_delay
    }

    fn is_released(&self) -> bool {
        self.competition.as_ref().is_some_and(Competition::is_released)
    }

    fn is_beside_others(&self) -> bool {
        self.competition.as_ref().is_some_and(Competition::is_beside_others)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            needs_timestamps: true,
            uses_one_way_delay: true,
            max_window_scale: MAX_SHIFT,
            needs: DeviceNeeds { connections: true, link: self.params.calibration.is_some() },
            ..Capabilities::default()
        }
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        if self.is_blind {
            return Advertisement::Window(view.free);
        }
        if let Some(window) = self.competition.as_ref().and_then(|competition| competition.window(view.mss)) {
            return view.offer(window, MIN_SEGMENTS);
        }
        let whole = self.whole(view);
        view.offer(Bytes((whole / f64::from(view.device.connections.max(1))) as u64), MIN_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_support::{MSS, ctx, view};
    use crate::{Advertisement, Device};
    use airwnd_units::BitRate;

    const BASE: Span = Span::from_millis(40);
    /// Segments that the link carries per millisecond.
    const CAPACITY: f64 = 2.0;

    /// Connections of a device whose senders always use the window, over a link of constant capacity.
    struct Bench {
        flows: Vec<Standing>,
        received: Bytes,
        queued: QueuedMeter,
        now: Time,
    }

    impl Bench {
        fn new(connections: usize, probe_interval: Option<Span>) -> Bench {
            let params = Params { probe_interval, ..Params::default() };
            let flows = vec![Standing::new(params, &ctx()); connections];
            let queued = QueuedMeter::default();
            Bench { flows, received: Bytes::ZERO, queued, now: Time(1_000_000_000) }
        }

        fn view(&self) -> RecvView {
            let mut view = view(None);
            let connections = self.flows.len() as u32;
            let min_rtt = self.flows.iter().filter_map(|flow| flow.base_rtt).min();
            let queued = Some(self.queued.total());
            view.device =
                Device { connections, received: self.received, min_rtt, queued, ..Device::default() };
            view
        }

        fn windows(&self) -> Vec<f64> {
            let window = |flow: &Standing| match flow.window(self.now, &self.view()) {
                Advertisement::Window(window) => window.0 as f64 / MSS as f64,
                Advertisement::Code { .. } => panic!("no codes"),
            };
            self.flows.iter().map(window).collect()
        }

        /// One arrival at each connection per millisecond. Returns the sum of the windows in segments afterwards.
        fn run(&mut self, ms: u64, capacity: f64, base: Span) -> f64 {
            // Windows whose data arrives now: those of one RTT ago.
            let mut flight = std::collections::VecDeque::new();
            for _ in 0..ms {
                self.now += Span::from_millis(1);
                flight.push_back(self.windows());
                let rtt_of = |windows: &[f64]| (windows.iter().sum::<f64>() / capacity).max(base.as_millis());
                while flight.len() as f64 > rtt_of(&flight[0]) {
                    flight.pop_front();
                }
                let rtt_ms = rtt_of(&flight[0]);
                for (at, window) in flight[0].clone().into_iter().enumerate() {
                    let bytes = Bytes((window / rtt_ms * MSS as f64) as u64);
                    let arrival = Arrival {
                        now: self.now,
                        // The downlink has half of the base RTT and the queue.
                        one_way_delay: Some(Span(((rtt_ms - base.as_millis() / 2.0) * 1e6) as u64)),
                        segments: 1,
                        len: bytes,
                        new: bytes,
                        in_order: true,
                        rtt: Some(Span((rtt_ms * 1e6) as u64)),
                        retransmission: false,
                    };
                    let view = self.view();
                    self.flows[at].on_segment(&arrival, &view);
                    self.received += bytes;
                    self.queued.add(self.now, self.received, self.flows[at].queueing_delay().unwrap());
                }
            }
            self.windows().iter().sum()
        }
    }

    #[test]
    fn the_queue_is_the_target_and_the_extra_segments_for_any_number_of_connections() {
        // 2 segments per ms: 2 * (40 + 2) and 2 more; ticks add up to 1 ms.
        for connections in [1, 2, 5] {
            let window = Bench::new(connections, None).run(6000, CAPACITY, BASE);
            assert!((window / 86.0 - 1.0).abs() < 0.05, "{connections}: {window}");
        }
    }

    #[test]
    fn the_window_follows_the_capacity_within_round_trips() {
        let mut bench = Bench::new(1, None);
        bench.run(6000, CAPACITY, BASE);
        // 0.5 * (40 + 2) and 2 more.
        let less = bench.run(3000, CAPACITY / 4.0, BASE);
        assert!((less - 23.0).abs() < 2.0, "{less}");
        // Growth by 5 % per round trip until there is a queue: a factor of four within 29 of 50 ms.
        let more = bench.run(3000, CAPACITY, BASE);
        assert!((more - 86.0).abs() < 3.0, "{more}");
    }

    #[test]
    fn the_minimum_rtt_is_that_of_the_device_unless_the_route_has_become_longer() {
        let mut late = Standing::new(Params::default(), &ctx());
        let queue = Span::from_millis(30);
        let mut view = view(None);
        view.device.min_rtt = Some(BASE);
        assert_eq!(late.path_rtt(&view), None);
        late.base_rtt = Some(BASE + queue);
        assert_eq!(late.path_rtt(&view), Some(BASE));
        late.dip_interval = Some(Span::from_secs(10));
        assert_eq!(late.path_rtt(&view), Some(BASE + queue));
    }

    #[test]
    fn the_capacity_is_that_of_queued_segments() {
        let mut recent = Recent::default();
        let memory = Span::from_secs(100);
        // Pairs of segments 1 ms apart, every 5 ms: the interval between pairs says nothing about the link.
        for _ in 0..10 {
            recent.add(1000.0, 0.004, Queued::default(), memory);
            recent.add(1000.0, 0.001, Queued { bytes: Bytes(1000), time: Span::from_millis(1) }, memory);
        }
        assert!((recent.capacity(Bytes(1000)).unwrap() / 1e6 - 1.0).abs() < 1e-9);
        assert!((recent.rate() / 4e5 - 1.0).abs() < 1e-3);
        assert_eq!(recent.capacity(Bytes(5000)), None);
    }

    #[test]
    fn several_connections_measure_the_capacity_of_the_device() {
        // Arrivals every 2 ms with a queue of 2 ms, at two connections in turn: each has one every 4 ms. The bottleneck
        // was busy between the arrivals of the device; those of a connection alone do not show it.
        let measured = |connections| {
            let mut flow = Standing::new(Params::default(), &ctx());
            let (mut meter, mut received, mut sum) = (QueuedMeter::default(), 0, Queued::default());
            for n in 1..=20 {
                let (now, delay) = (Time(n * 2_000_000), Span::from_millis(2));
                if n % 2 == 0 {
                    let mut view = view(None);
                    view.device = Device { connections, queued: Some(meter.total()), ..Device::default() };
                    sum += flow.measure(now, delay, Bytes(n * MSS), &view);
                }
                received += MSS;
                meter.add(now, Bytes(received), delay);
            }
            sum
        };
        // All 18 intervals before the last arrival.
        assert_eq!(measured(2), Queued { bytes: Bytes(18 * MSS), time: Span::from_millis(36) });
        assert_eq!(measured(1), Queued::default());
    }

    #[test]
    fn the_window_grows_while_the_share_of_time_with_a_queue_is_small() {
        let mut flow = Standing::new(Params::default(), &ctx());
        let mut rounds = |count: u32, queued: f64| {
            for _ in 0..count {
                flow.grow(queued);
            }
            flow.growth
        };
        // Half of the gain at half of the share of 0.9.
        assert!((rounds(10, 0.45) - 1.015_f64.powi(10)).abs() < 1e-9);
        // From 1 to 2.
        assert_eq!(rounds(100, 1.0), 1.0);
        assert_eq!(rounds(100, 0.2), MAX_GROWTH);
        // Without any queue the control starts again.
        assert_eq!(rounds(1, 0.0), 1.0);
        assert!(flow.is_starting);
    }

    #[test]
    fn a_calibrated_factor_gives_the_mean_window_of_the_oracle() {
        let mut bench = Bench::new(1, None);
        bench.run(6000, CAPACITY, BASE);
        let flow = &mut bench.flows[0];
        // Twice the measured rate half of the time, with the same RTT: on average one and a half times the window.
        let base_s = flow.base_rtt.unwrap().as_secs();
        for n in 0..10_000 {
            let rate = BitRate((8.0 * flow.capacity) as u64 * (1 + n % 2));
            let link = DeviceLink { rate, base_rtt: flow.base_rtt.unwrap() };
            flow.calibrate(0.001, Span::from_secs(1000), base_s, &link);
        }
        assert!((flow.growth - 1.5).abs() < 0.001, "{}", flow.growth);
    }

    #[test]
    fn a_probe_learns_a_longer_route() {
        // After 10 and 13 s on the longer route.
        let windows = |connections, probe_interval, longer| {
            let mut bench = Bench::new(connections, probe_interval);
            bench.run(4000, CAPACITY, BASE);
            [10_000, 3000].map(|ms| bench.run(ms, CAPACITY, BASE + longer))
        };
        for longer in [20, 30, 100].map(Span::from_millis) {
            let of_long_route = CAPACITY * (BASE + longer).as_millis();
            let [former, _] = windows(1, None, longer);
            assert!(former < 0.7 * of_long_route, "{longer:?}: {former}");
            for connections in [1, 3] {
                let [learned, settled] = windows(connections, Params::default().probe_interval, longer);
                assert!(learned > 0.9 * of_long_route, "{longer:?}, {connections}: {learned}");
                // The target of 2 ms, and 2 more segments.
                let expected = of_long_route + CAPACITY * 2.0 + 2.0;
                assert!((settled / expected - 1.0).abs() < 0.05, "{longer:?}, {connections}: {settled}");
            }
        }
    }

    #[test]
    fn a_probe_does_not_take_a_queue_for_a_longer_route() {
        let mut bench = Bench::new(3, Params::default().probe_interval);
        // Up to the end of a slot.
        bench.run(3999, CAPACITY, BASE);
        for flow in &mut bench.flows {
            flow.excess_since = Some(Time::ZERO);
        }
        // A queue of others.
        bench.run(1, CAPACITY, BASE + Span::from_millis(10));
        assert!(bench.flows.iter().all(|flow| flow.probe.is_some()));
        // 2 * (40 + 2) and 2 more, as before.
        let window = bench.run(4000, CAPACITY, BASE);
        assert!((window / 86.0 - 1.0).abs() < 0.05, "{window}");
        assert!(bench.flows.iter().all(|flow| flow.probe.is_none() && flow.dip_interval.is_none()));
        // The queue was empty in the meantime, so that the next probe waits no longer than the first.
        assert!(bench.flows.iter().all(|flow| flow.excess_before_probe == EXCESS_BEFORE_PROBE));
    }

    #[test]
    fn a_dip_finds_the_end_of_a_queue_that_was_taken_for_a_longer_route() {
        let mut bench = Bench::new(2, Params::default().probe_interval);
        bench.run(4000, CAPACITY, BASE);
        for flow in &mut bench.flows {
            flow.dip_interval = Params::default().probe_interval;
            flow.base_rtt = Some(BASE * 2);
            flow.downlink.replace_min_delay(BASE * 3 / 2);
        }
        // 2 * (40 + 2) and 2 more.
        let window = bench.run(4000, CAPACITY, BASE);
        assert!((window / 86.0 - 1.0).abs() < 0.05, "{window}");
    }

    #[test]
    fn a_slow_sender_does_not_open_the_window_without_limit() {
        let mut standing = Standing::new(Params::default(), &ctx());
        let mut now = Time(1_000_000_000);
        for _ in 0..1000 {
            now += Span::from_millis(20);
            let arrival =
                Arrival { rtt: Some(BASE), ..crate::tests_support::arrival(now, now - BASE / 2, MSS) };
            standing.on_segment(&arrival, &view(None));
        }
        // 50 segments per second: at most 4 * 2 segments and 24 more.
        let window = standing.window.unwrap() / MSS as f64;
        assert!(window <= 32.0, "{window}");
    }

    #[test]
    fn without_one_way_delay_the_window_is_the_free_buffer() {
        let mut standing = Standing::new(Params::default(), &ctx());
        let blind = Arrival { one_way_delay: None, ..crate::tests_support::arrival(Time(9), Time(0), MSS) };
        standing.on_segment(&blind, &view(None));
        assert_eq!(standing.queueing_delay(), None);
        assert_eq!(standing.window(Time(9), &view(None)), Advertisement::Window(view(None).free));
    }
}
