//! The delay in queues by RFC 6817.

use airwnd_units::{Span, Time};
use std::collections::VecDeque;

/// RFC 6817 §2.4.2: how long a base delay is collected.
const COLLECTED: Span = Span::from_secs(60);

/// The least of the newest samples over the least of many minutes.
#[derive(Clone, Debug)]
pub struct QueueingDelay {
    current: VecDeque<Span>,
    base: VecDeque<Span>,
    minute_began: Time,
    samples: usize,
    minutes: usize,
}

impl QueueingDelay {
    /// Keeps so many samples, and the least of each of so many minutes.
    pub fn new(samples: u32, minutes: u32) -> QueueingDelay {
        let (samples, minutes) = (samples as usize, minutes as usize);
        let current = VecDeque::with_capacity(samples + 1);
        let base = VecDeque::with_capacity(minutes + 1);
        QueueingDelay { current, base, minute_began: Time::ZERO, samples, minutes }
    }

    /// Takes a sample.
    pub fn add(&mut self, now: Time, sample: Span) {
        self.current.push_back(sample);
        if self.current.len() > self.samples {
            self.current.pop_front();
        }
        match self.base.back_mut() {
            Some(least) if now - self.minute_began < COLLECTED => *least = sample.min(*least),
            _ => {
                self.minute_began = now;
                self.base.push_back(sample);
                if self.base.len() > self.minutes {
                    self.base.pop_front();
                }
            }
        }
    }

    /// The least of the remembered minutes.
    pub fn base(&self) -> Option<Span> {
        self.base.iter().min().copied()
    }

    /// The least of the newest samples, less the base.
    pub fn get(&self) -> Option<Span> {
        let (current, base) = (*self.current.iter().min()?, self.base()?);
        Some(current - base.min(current))
    }
}
