//! Queueing delay as defined by RFC 6817.

use airwnd_units::{Span, Time};
use std::collections::VecDeque;

/// RFC 6817 §2.4.2: interval of one base delay entry.
const BASE_INTERVAL: Span = Span::from_secs(60);

/// Minimum of the newest samples less the minimum of the last minutes.
#[derive(Clone, Debug)]
pub struct QueueingDelay {
    current: VecDeque<Span>,
    base: VecDeque<Span>,
    minute_began: Time,
    samples: usize,
    minutes: usize,
}

impl QueueingDelay {
    /// Creates a filter over `samples` samples, with a base history of `minutes` minutes.
    pub fn new(samples: u32, minutes: u32) -> QueueingDelay {
        let (samples, minutes) = (samples as usize, minutes as usize);
        let current = VecDeque::with_capacity(samples + 1);
        let base = VecDeque::with_capacity(minutes + 1);
        QueueingDelay { current, base, minute_began: Time::ZERO, samples, minutes }
    }

    /// Adds a sample.
    pub fn add(&mut self, now: Time, sample: Span) {
        self.current.push_back(sample);
        if self.current.len() > self.samples {
            self.current.pop_front();
        }
        match self.base.back_mut() {
            Some(min) if now - self.minute_began < BASE_INTERVAL => *min = sample.min(*min),
            _ => {
                self.minute_began = now;
                self.base.push_back(sample);
                if self.base.len() > self.minutes {
                    self.base.pop_front();
                }
            }
        }
    }

    /// Returns the base delay: the minimum of the remembered minutes.
    pub fn base(&self) -> Option<Span> {
        self.base.iter().min().copied()
    }

    /// Returns the queueing delay: the minimum of the newest samples less the base delay.
    pub fn get(&self) -> Option<Span> {
        let (current, base) = (*self.current.iter().min()?, self.base()?);
        Some(current - base.min(current))
    }
}
