use super::model::{Definition, Packet, Queue, Signals, compare};

/// RFC 9332 appendix A: figures 2, 3, 4 (recur), 5, 7 and 8; the scheduler is the WRR of appendix A.1's notes on Linux,
/// or the TS-FIFO of figure 10.
struct DualPi2 {
    limit: f64,
    k: f64,
    target: f64,
    p_cmax: f64,
    tupdate: f64,
    alpha: f64,
    beta: f64,
    min_th: f64,
    range: f64,
    th_len: usize,
    mtu: f64,
    classic_weight: f64,
    tshift: Option<f64>,
    lq: Queue,
    cq: Queue,
    lq_count: f64,
    cq_count: f64,
    p: f64,
    p_cl: f64,
    p_c: f64,
    prevq: f64,
    credit: f64,
    updates: u64,
}

fn time(queue: &Queue, now: f64) -> f64 {
    queue.0.front().map_or(0.0, |packet| now - packet.tstamp)
}

fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

impl DualPi2 {
    fn update(&mut self, now: f64) {
        let curq = f64::max(time(&self.cq, now), time(&self.lq, now));
        self.p += self.alpha * (curq - self.target) + self.beta * (curq - self.prevq);
        self.p = self.p.clamp(0.0, 1.0);
        self.p_cl = self.p * self.k;
        self.p_c = self.p * self.p;
        self.prevq = curq;
    }

    fn pass(&mut self, now: f64) {
        while (self.updates + 1) as f64 * self.tupdate <= now + 1e-12 {
            self.updates += 1;
            self.update(self.updates as f64 * self.tupdate);
        }
    }

    fn laqm(&self, qdelay: f64) -> f64 {
        // Times are whole nanoseconds.
        if qdelay >= self.min_th + self.range - 1e-12 {
            1.0
        } else if qdelay > self.min_th {
            (qdelay - self.min_th) / self.range
        } else {
            0.0
        }
    }

    fn scheduler_is_lq(&self, now: f64) -> bool {
        if self.lq.0.is_empty() || self.cq.0.is_empty() {
            return self.cq.0.is_empty();
        }
        match self.tshift {
            Some(tshift) => time(&self.lq, now) + tshift >= time(&self.cq, now),
            None => self.credit <= 0.0,
        }
    }
}

impl Definition for DualPi2 {
    fn enqueue(&mut self, now: f64, packet: Packet, held: f64, signals: &mut Signals) {
        self.pass(now);
        let mtu = f64::max(self.mtu, packet.size);
        if self.lq.bytes() + self.cq.bytes() + held + mtu > self.limit {
            signals.full.push(packet.id);
        } else if packet.ecn % 2 == 1 {
            self.lq.0.push_back(packet);
        } else {
            self.cq.0.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: f64, signals: &mut Signals) -> Option<Packet> {
        self.pass(now);
        while self.lq.bytes() + self.cq.bytes() > 0.0 {
            let contended = !self.lq.0.is_empty() && !self.cq.0.is_empty();
            let change;
            let mut pkt;
            if self.scheduler_is_lq(now) {
                pkt = self.lq.0.pop_front().expect("scheduled");
                change = self.classic_weight * pkt.size;
                if self.p_cl < 1.0 {
                    let native =
                        if self.lq.0.len() > self.th_len { self.laqm(now - pkt.tstamp) } else { 0.0 };
                    let p_l = f64::max(native, self.p_cl);
                    if recur(&mut self.lq_count, p_l) {
                        signals.mark(&mut pkt);
                    }
                } else {
                    if recur(&mut self.lq_count, self.p_c) {
                        signals.early.push(pkt.id);
                        continue;
                    }
                    if recur(&mut self.lq_count, self.p_cl) {
                        signals.mark(&mut pkt);
                    }
                }
            } else {
                pkt = self.cq.0.pop_front().expect("scheduled");
                change = -(1.0 - self.classic_weight) * pkt.size;
                if recur(&mut self.cq_count, self.p_c) {
                    if pkt.ecn == 0 || self.p_c >= self.p_cmax {
                        signals.early.push(pkt.id);
                        continue;
                    }
                    signals.mark(&mut pkt);
                }
            }
            if contended {
                self.credit += change;
            }
            return Some(pkt);
        }
        self.credit = self.mtu * (self.classic_weight - (1.0 - self.classic_weight));
        None
    }

    fn len(&self) -> usize {
        self.lq.0.len() + self.cq.0.len()
    }
}

#[test]
fn dualpi2() {
    let seen = compare(|draws, _| {
        let (target, rtt_max) = (draws.whole(500, 40_000), draws.whole(2000, 200_000));
        let (min_th, th_len) = (draws.whole(0, 5000), draws.whole(0, 3));
        let range = if draws.flag() { 0 } else { draws.whole(1, 5000) };
        let (mtu, weight) = (draws.whole(40, 3000), draws.between(0.0, 0.5));
        let (limit, tshift) = (draws.whole(10_000, 600_000), draws.whole(0, 60_000));
        // A power of two keeps the sums of marks exact on both sides.
        let k = [0.5, 1.0, 2.0, 4.0][draws.whole(0, 3) as usize];
        let by_shift = draws.flag();
        let scheduler = if by_shift { "ts-fifo" } else { "wrr" };
        let toml = format!(
            "kind = \"dualpi2\"\ntarget = \"{target}us\"\nrtt_max = \"{rtt_max}us\"\nmin_th = \"{min_th}us\"\n\
             range = \"{range}us\"\nth_len = {th_len}\nmtu = \"{mtu}B\"\nclassic_weight = {weight}\nk = {k}\n\
             buffer = \"{limit}B\"\ntshift = \"{tshift}us\"\nscheduler = \"{scheduler}\"\n"
        );
        let seconds = |us: u64| us as f64 / 1e6;
        let tupdate = u64::min(target * 1000, rtt_max * 1000 / 3) as f64 / 1e9;
        let definition = DualPi2 {
            limit: limit as f64,
            k,
            target: seconds(target),
            p_cmax: f64::min(1.0 / (k * k), 1.0),
            tupdate,
            alpha: 0.1 * tupdate / (seconds(rtt_max) * seconds(rtt_max)),
            beta: 0.3 / seconds(rtt_max),
            min_th: seconds(min_th),
            range: seconds(range),
            th_len: th_len as usize,
            mtu: mtu as f64,
            classic_weight: weight,
            tshift: by_shift.then_some(seconds(tshift)),
            lq: Queue::default(),
            cq: Queue::default(),
            lq_count: 0.0,
            cq_count: 0.0,
            p: 0.0,
            p_cl: 0.0,
            p_c: 0.0,
            prevq: 0.0,
            credit: mtu as f64 * (2.0 * weight - 1.0),
            updates: 0,
        };
        (toml, Box::new(definition))
    });
    assert!(seen.early > 5000 && seen.marked > 10_000 && seen.full > 1000, "{seen:?}");
}
