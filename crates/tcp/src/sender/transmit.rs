//! Transmission: selection of the next segment, and the limit if none may be sent.

use super::frto::Frto;
use super::limit::Limit;
use super::scoreboard::Sent;
use super::tlp::Tlp;
use super::{AfterSending, Fin, Outgoing, Phase, Probe, Probed, Sender};
use crate::cc::Departure;
use crate::segment::{Codepoint, Flags};
use crate::stack::{Pacing, WindowUse};
use airwnd_units::{BitRate, Bytes, Span, Time};

/// Data segments at the start of a connection without a pacing credit (Linux tcp_update_skb_after_send).
const PACED_IN_FULL: u64 = 10;

impl Sender {
    /// Returns the next segment to send now, if any.
    // Inlined for the end that only receives, which asks after each segment.
    #[inline]
    pub fn next(&mut self, now: Time) -> Option<Outgoing> {
        if self.at_rest {
            return None;
        }
        if self.is_idle(now) {
            self.note_limit(now, Limit::Application);
            debug_assert_eq!(self.next_deadline(), None, "an idle sender has no timer");
            self.at_rest = true;
            return None;
        }
        self.next_of_data(now)
    }

    fn next_of_data(&mut self, now: Time) -> Option<Outgoing> {
        match self.choose(now) {
            Ok(outgoing) => Some(outgoing),
            Err(Limit::SendBuffer) if self.fit_buffer() => self.next_of_data(now),
            Err(limit) => {
                self.note_limit(now, limit);
                None
            }
        }
    }

    /// Notes the limit for its duration and, if the congestion control samples rates, for the samples.
    #[inline]
    fn note_limit(&mut self, now: Time, limit: Limit) {
        self.limits.note(now, limit);
        if self.config.window_use == WindowUse::PerWindow {
            self.observe_usage(limit);
        }
        if self.notifies_all && limit == Limit::Application {
            self.note_app_limit();
        }
    }

    // Out of line, so that the note of a limit is inlined.
    #[inline(never)]
    fn observe_usage(&mut self, limit: Limit) {
        // The sequence number of a FIN takes no room of its own.
        let fin = u32::from(self.fin == Fin::Sent && self.board.outstanding() > 0);
        self.usage.observe(AfterSending {
            una: self.una,
            nxt: self.nxt,
            outstanding: self.board.outstanding() - fin,
            is_full: self.leaves_no_room(u64::from(self.board.pipe().saturating_sub(fin))),
            is_waiting: matches!(limit, Limit::CongestionWindow | Limit::ReceiveWindow | Limit::Pacing),
        });
    }

    #[inline(never)]
    fn note_app_limit(&mut self) {
        if self.flight() + u64::from(self.mss) <= self.window() {
            self.board.note_app_limit();
        }
    }

    /// Returns true if nothing is to be sent and nothing outstanding, as at an end that only receives.
    #[inline]
    fn is_idle(&self, now: Time) -> bool {
        let has_data = self.has_more() || self.source.refused || self.fin == Fin::Queued;
        let may_probe = self.probe.is_some() || self.frto == Frto::Forward || self.forced;
        !has_data && self.board.outstanding() == 0 && !may_probe && now >= self.pace_at && !self.paced
    }

    pub(super) fn choose(&mut self, now: Time) -> Result<Outgoing, Limit> {
        if self.probe.is_some_and(|probe| probe.due) {
            return self.send_probe(now).ok_or(Limit::Application);
        }
        if self.tlp.as_mut().is_some_and(Tlp::take_due)
            && let Some(outgoing) = self.send_tail_probe(now)
        {
            return Ok(outgoing);
        }
        self.paced = now < self.pace_at;
        if self.paced {
            return Err(Limit::Pacing);
        }
        if std::mem::take(&mut self.forced)
            && let Some(index) = self.board.next_lost()
        {
            return Ok(self.resend(index, now));
        }
        let room = self.window().saturating_sub(self.flight());
        if self.frto == Frto::Forward {
            let sent = self.send_new(now, room);
            if sent.is_ok() || self.recover.is_some_and(|recover| self.nxt.is_after(recover)) {
                return sent;
            }
            self.frto = Frto::Off;
        }
        if let Some(index) = self.board.next_lost() {
            let fits = room >= u64::from(self.board.get(index).space());
            return fits.then(|| self.resend(index, now)).ok_or(Limit::CongestionWindow);
        }
        let limit = match self.send_new(now, room) {
            Err(limit) => limit,
            sent => return sent,
        };
        if matches!(self.phase, Phase::Recovery(_))
            && self.sack
            && !self.detects_by_time()
            && room >= u64::from(self.mss)
        {
            let index = self.board.next_hole().ok_or(limit)?;
            return Ok(self.resend(index, now));
        }
        Err(limit)
    }

    /// Returns the pacing rate of payload, if segments are paced.
    pub fn pacing_rate(&self) -> Option<BitRate> {
        if self.config.pacing == Pacing::Never {
            return None;
        }
        self.cc
            .pacing_rate()
            .or_else(|| if self.config.pacing == Pacing::Always { self.rate_of_window() } else { None })
    }

    /// Returns the multiple of cwnd / SRTT at which Linux paces, or sizes what it sends at a time.
    fn rate_of_window(&self) -> Option<BitRate> {
        let srtt = self.rtt.srtt()?;
        let cwnd = self.cc.cwnd().0;
        let in_slow_start = cwnd < self.cc.ssthresh().0 / 2;
        let factor = if in_slow_start { self.config.pacing_slow_start } else { self.config.pacing_avoidance };
        Some(BitRate((factor * 8.0 * cwnd as f64 / srtt.as_secs()) as u64))
    }

    /// Returns the bytes that count against the congestion window.
    pub(super) fn flight(&self) -> u64 {
        let withholds_new = matches!(self.phase, Phase::Disorder) && !self.config.limited_transmit;
        u64::from(if withholds_new { self.board.outstanding() } else { self.board.pipe() })
    }

    /// Returns the unsent bytes of the application.
    pub(super) fn available(&mut self) -> u64 {
        if self.source.endless && self.source.queued < u64::from(self.mss) {
            self.refill();
        }
        self.source.queued
    }

    /// Returns the payload of a sent socket buffer: with segmentation offload, what Linux sends at a time at the present
    /// rate (tcp_tso_autosize), 1/1024 s of it and more on short paths.
    pub(super) fn payload_of_buffer(&self) -> u64 {
        const MAX_BYTES: u64 = 65_536;
        const MIN_SEGMENTS: u64 = 2;
        let mss = u64::from(self.mss);
        if !self.config.segmentation_offload {
            return mss;
        }
        let rate = self.cc.pacing_rate().or_else(|| self.rate_of_window());
        let of_rate = rate.map_or(MAX_BYTES, |rate| rate.0 / 8 / 1024);
        // A path is short if its minimum RTT is below 32 units of 512 us.
        let units = self.rtt.min().map_or(u64::MAX, |min| min.0 / 512_000);
        let of_path = if units < 32 { MAX_BYTES >> units } else { 0 };
        ((of_rate + of_path).min(MAX_BYTES) / mss).max(MIN_SEGMENTS) * mss
    }

    /// Returns the limit of a sender that has sent all data in its buffer.
    fn limit_of_source(&self) -> Limit {
        //= exception full-buffer-is-not-idleness
        let has_more = self.source.endless || self.source.refused;
        if has_more { Limit::SendBuffer } else { Limit::Application }
    }

    pub(super) fn send_new(&mut self, now: Time, room: u64) -> Result<Outgoing, Limit> {
        let available = self.available();
        if available == 0 {
            // A FIN occupies no buffer, so it needs no window.
            return (self.fin == Fin::Queued).then(|| self.push_new(0, now)).ok_or(self.limit_of_source());
        }
        let usable = self.offer.edge.since(self.nxt);
        let max = available.min(u64::from(self.mss)) as u32;
        let len = max.min(usable);
        let idle = self.board.outstanding() == 0;
        let room = if idle { self.restart_after_idle(now, room) } else { room };
        //= RFC 9293 §3.8.6.2.1: a full segment, all data, or at least half of the maximum window
        let is_worth_sending = len == self.mss
            || (u64::from(len) == available && (idle || !self.config.nagle))
            || (len > 0 && 2 * len >= self.offer.max);
        if !is_worth_sending {
            if idle && (usable == 0 || self.config.quirks.probe_small_windows) {
                self.start_probing(now);
            }
            return Err(if u64::from(len) < available {
                Limit::ReceiveWindow
            } else {
                self.limit_of_source()
            });
        }
        (room >= u64::from(len)).then(|| self.push_new(len, now)).ok_or(Limit::CongestionWindow)
    }

    /// Reduces cwnd after an idle time longer than the retransmission timeout; returns the room in the window.
    fn restart_after_idle(&mut self, now: Time, room: u64) -> u64 {
        let is_fresh = std::mem::take(&mut self.source.is_fresh);
        let (idle, rto) = (now.since(self.last_sent), self.rtt.rto());
        let is_over = self.counts.data_segments > 0 && idle > rto;
        if !is_over || !self.config.restart_after_idle || self.cc.governs_recovery() {
            return room;
        }
        let cwnd = self.cc.cwnd();
        let initial = self.context(self.mss).initial_window.min(cwnd);
        if !self.config.restart_by_halving {
            self.cc.restart(initial, self.cc.ssthresh());
        } else if is_fresh {
            let mss = u64::from(self.mss);
            let whole = cwnd.0 / mss;
            let mut segments = whole;
            let mut timeouts = (idle.0 - 1) / rto.0;
            while timeouts > 0 && segments * mss > initial.0 {
                segments /= 2;
                timeouts -= 1;
            }
            let remembered = Bytes((whole / 2 + whole / 4) * mss);
            self.cc.restart(initial.max(Bytes(segments * mss)), self.cc.ssthresh().max(remembered));
        }
        self.window().saturating_sub(self.flight())
    }

    //= RFC 8985 §7.3 TLP_send_probe
    /// Sends new data that fits the peer's window, regardless of cwnd; otherwise retransmits the last segment.
    pub(super) fn send_tail_probe(&mut self, now: Time) -> Option<Outgoing> {
        let last = self.board.last()?;
        let fresh = self.send_new(now, u64::MAX).ok();
        let outgoing = fresh.unwrap_or_else(|| self.resend(last, now));
        self.counts.tail_probes += 1;
        self.rto_at = Some(now + self.rtt.rto());
        let end = self.nxt;
        let tlp = self.tlp.as_mut()?;
        tlp.on_probe(end, fresh.is_none());
        tlp.cancel();
        Some(outgoing)
    }

    pub(super) fn start_probing(&mut self, now: Time) {
        let floor = if self.config.probe_after_timeout { self.rtt.rto() } else { Span::ZERO };
        let interval = self.config.persist_timeout.max(floor);
        self.probe.get_or_insert(Probe { at: now + interval, interval, due: false });
    }

    /// Sends one byte beyond a closed window, or as much as fits into a silly window.
    pub(super) fn send_probe(&mut self, now: Time) -> Option<Outgoing> {
        let probe = self.probe.as_mut()?;
        //= RFC 9293 §3.8.6.1: increase exponentially the interval between successive probes
        let interval = (probe.interval * 2).min(self.config.max_rto);
        *probe = Probe { at: now + interval, interval, due: false };
        let available = self.available();
        let usable = u64::from(self.offer.edge.since(self.nxt));
        if available == 0 {
            self.probe = None;
            return None;
        }
        self.counts.probes += 1;
        if usable > 0 {
            let len = available.min(u64::from(self.mss)).min(usable);
            return Some(self.push_new(len as u32, now));
        }
        let retransmission = self.probed.is_some();
        self.probed = Some(Probed { sent_at: now, again: retransmission });
        let (ecn, flags) = (Codepoint::NotEct, Flags::default());
        Some(Outgoing { seq: self.nxt, len: 1, fin: false, retransmission, ecn, flags })
    }

    // Inlined with the functions that it calls, as most segments sent are new.
    #[inline(always)]
    pub(super) fn push_new(&mut self, len: u32, now: Time) -> Outgoing {
        let seq = self.nxt;
        self.source.queued -= u64::from(len);
        let fin = self.fin == Fin::Queued && self.source.queued == 0;
        if fin {
            self.fin = Fin::Sent;
        }
        if self.board.outstanding() == 0 {
            self.resume(now);
        }
        self.report_departure(now, len);
        self.board.push(seq, len as u16, fin, now);
        self.usage.on_sent();
        self.nxt += len + u32::from(fin);
        let retransmission = self.probed.take().is_some();
        if retransmission {
            self.board.mark_sent_before();
        }
        self.counts.bytes += u64::from(len);
        self.on_sent(now, len);
        self.schedule_probe(now);
        let (ecn, flags) = self.markable(len, retransmission);
        Outgoing { seq, len: len as u16, fin, retransmission, ecn, flags }
    }

    #[inline(never)]
    fn resume(&mut self, now: Time) {
        if self.counts.data_segments > 0 {
            self.cc.on_resume(now, now.since(self.last_sent));
        }
    }

    pub(super) fn resend(&mut self, index: usize, now: Time) -> Outgoing {
        self.report_departure(now, u32::from(self.board.get(index).len));
        let segment: Sent = self.board.retransmit(index, now);
        if index == 0 && self.config.retransmission_restarts_timer {
            self.rto_at = None;
        }
        self.counts.retransmissions += 1;
        self.undo.on_resend(now);
        self.counts.bytes_retransmitted += u64::from(segment.len);
        self.on_sent(now, u32::from(segment.len));
        let (ecn, flags) = self.markable(u32::from(segment.len), true);
        Outgoing { seq: segment.seq, len: segment.len, fin: segment.fin(), retransmission: true, ecn, flags }
    }

    /// Returns the ECN field and control bits of a segment; segments without data are not ECN-capable (RFC 3168
    /// §6.1.4).
    pub(super) fn markable(&mut self, len: u32, retransmission: bool) -> (Codepoint, Flags) {
        if len == 0 { (Codepoint::NotEct, Flags::default()) } else { self.ecn.on_send(retransmission) }
    }

    pub(super) fn report_departure(&mut self, now: Time, len: u32) {
        if self.notifies_all && len > 0 {
            let in_flight = Bytes(u64::from(self.board.pipe()));
            let app_limited = self.board.is_app_limited();
            let srtt = self.rtt.srtt();
            self.cc.on_send(&Departure { now, len: Bytes(u64::from(len)), in_flight, app_limited, srtt });
        }
    }

    #[inline(always)]
    pub(super) fn on_sent(&mut self, now: Time, len: u32) {
        self.counts.data_segments += u64::from(len > 0);
        self.last_sent = now;
        if self.config.window_use == WindowUse::AtLastSegment {
            self.usage.observe_segment(self.leaves_no_room(u64::from(self.board.pipe())));
        }
        if let Some(rate) = self.pacing_rate().filter(|rate| rate.0 > 0) {
            let wait = rate.transmission_time(Bytes(u64::from(len)));
            let has_credit = self.config.pacing_credit && self.counts.data_segments >= PACED_IN_FULL;
            let credit = if has_credit { now.since(self.pace_at).min(wait / 2) } else { Span::ZERO };
            self.pace_at = now + (wait - credit);
        }
        if let Phase::Recovery(repair) = &mut self.phase {
            repair.out += u64::from(len);
        }
        //= RFC 6298 §5 (5.1)
        self.rto_at.get_or_insert(now + self.rtt.rto());
    }
}
