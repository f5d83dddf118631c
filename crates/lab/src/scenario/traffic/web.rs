//! Web browsing.

use super::{FlowContext, Part, Reaction, Source, Transport, Write};
use crate::scenario::size::{Size, Sizes, Spec, lognormal};
use airwnd_catalog::{Choice, Params};
use airwnd_kernel::Stream;
use airwnd_units::{Bytes, Span, Time};
use std::collections::VecDeque;

/// Scale of the Pareto distribution of the number of objects: the number is the draw minus the scale.
const OBJECTS_SCALE: f64 = 2.0;
/// Sizes of embedded objects.
const OBJECT: lognormal::Params =
    lognormal::Params { mu: 6.17, sigma: 2.36, min: Bytes(50), max: Bytes(2_000_000) };

/// Order of the requests for a page's embedded objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Requests {
    /// Sequential: each object is requested when the previous one has arrived, as in HTTP/1.1.
    #[word = "in-turn"]
    InTurn,
    /// Concurrent: all objects are requested at once, as in HTTP/2.
    #[word = "together"]
    Together,
}

/// Web: pages over one persistent TCP connection, each requested by the receiver of the data.
///
/// The receiver opens the connection and requests a page. After its main object has arrived and the parsing time has
/// passed, it requests the embedded objects. After the last object and the reading time it requests the next page. The
/// number of embedded objects is a Pareto draw with scale 2, minus 2, limited to `max_objects` and rounded down. The
/// completion time of a page is measured from its request (for the first page: the first SYN) to the in-order arrival
/// of its last byte.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "3GPP R1-070674, HTTP traffic model; ns-3 ThreeGppHttpClient")]
pub struct Params {
    /// Number of pages, after which the connection is closed; `none`: unlimited, until the flow stops.
    #[param(basic)]
    #[param(default = None, range = 1..=1_000_000, unit = "pages", source = "3GPP R1-070674: unlimited")]
    pub pages: Option<u32>,
    /// Size of a request.
    #[param(default = Bytes(350), range = Bytes(1)..=Bytes(1_000_000))]
    #[param(unit = "B", source = "ns-3 ThreeGppHttpVariables::RequestSize")]
    pub request: Bytes,
    /// Size of a page's main object: a constant such as `"10kB"`, or a [distribution](size.md).
    #[param(basic, default = Size(Spec::Lognormal(lognormal::Params::default())))]
    #[param(unit = "B", source = "3GPP R1-070674, HTTP traffic model")]
    pub page: Size,
    /// Size of an embedded object: a constant such as `"10kB"`, or a [distribution](size.md).
    #[param(default = Size(Spec::Lognormal(OBJECT)))]
    #[param(unit = "B", source = "3GPP R1-070674, HTTP traffic model")]
    pub object: Size,
    /// Shape parameter (exponent) of the Pareto-distributed number of embedded objects.
    #[param(default = 1.1, range = 0.1..=20.0, unit = "1", source = "3GPP R1-070674, HTTP traffic model")]
    pub objects_shape: f64,
    /// Maximum number of embedded objects per page.
    #[param(default = 53, range = 0..=10_000)]
    #[param(unit = "objects", source = "3GPP R1-070674, HTTP traffic model")]
    pub max_objects: u32,
    /// Order of the requests for embedded objects.
    #[param(default = Requests::InTurn, unit = "1", source = "ns-3 ThreeGppHttpClient")]
    pub requests: Requests,
    /// Mean parsing time of a main object (exponentially distributed).
    #[param(default = Span::from_millis(130), range = Span::ZERO..=Span::from_secs(3600))]
    #[param(unit = "time", source = "3GPP R1-070674, HTTP traffic model")]
    pub parsing: Span,
    /// Mean reading time of a page (exponentially distributed).
    #[param(basic, default = Span::from_secs(30), range = Span::ZERO..=Span::from_secs(31_536_000))]
    #[param(unit = "time", source = "3GPP R1-070674, HTTP traffic model")]
    pub reading: Span,
}

/// State of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Idle: the next page is not requested yet.
    Reading,
    /// Waiting for the main object.
    Page,
    /// Parsing the main object, or about to request the next object.
    Parsed,
    /// Waiting for requested objects.
    Objects,
}

/// A request without a response.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Total bytes of requests up to the end of this one.
    requested: Bytes,
    /// Size of the response.
    size: Bytes,
}

/// A browser and its server.
//= exception web-one-connection
pub struct Web {
    page: Box<dyn Sizes>,
    object: Box<dyn Sizes>,
    params: Params,
    stream: Stream,
    phase: Phase,
    pages: u32,
    /// Embedded objects not requested yet.
    objects: u32,
    /// Total bytes of requests.
    requested: Bytes,
    pending: VecDeque<Pending>,
    /// Total bytes of the responses to all requests.
    expected: Bytes,
    /// Page requested last.
    part: Part,
}

impl Web {
    /// Creates a browser that has not started.
    pub fn new(params: Params, ctx: &FlowContext) -> Self {
        Web {
            page: params.page.0.build(),
            object: params.object.0.build(),
            params,
            stream: ctx.stream,
            phase: Phase::Reading,
            pages: 0,
            objects: 0,
            requested: Bytes::ZERO,
            pending: VecDeque::with_capacity(64),
            expected: Bytes::ZERO,
            part: Part { began: Time::ZERO, size: Bytes::ZERO },
        }
    }

    fn request(&mut self, size: Bytes) {
        self.requested += self.params.request;
        self.expected += size;
        self.part.size += size;
        self.pending.push_back(Pending { requested: self.requested, size });
    }

    fn draw_objects(&mut self) -> u32 {
        let tail = 1.0 - self.stream.uniform();
        let drawn = OBJECTS_SCALE * libm::pow(tail, -1.0 / self.params.objects_shape) - OBJECTS_SCALE;
        drawn.min(f64::from(self.params.max_objects)) as u32
    }

    fn exponential(&mut self, mean: Span) -> Span {
        Span::from_secs_f64(-mean.as_secs() * libm::log1p(-self.stream.uniform()))
    }

    fn complete(&mut self, now: Time) -> Reaction {
        self.pages += 1;
        self.phase = Phase::Reading;
        let is_last = self.params.pages == Some(self.pages);
        let read = self.exponential(self.params.reading);
        Reaction { write_at: (!is_last).then(|| now + read), completed: Some(self.part), is_last }
    }
}

impl Source for Web {
    fn transport(&self) -> Transport {
        Transport::Tcp
    }
    fn ends(&self) -> bool {
        self.params.pages.is_some()
    }

    fn write(&mut self, now: Time) -> Write {
        let before = self.requested;
        if self.phase == Phase::Reading {
            self.part = Part { began: now, size: Bytes::ZERO };
            let size = self.page.draw(&mut self.stream);
            self.request(size);
            self.phase = Phase::Page;
        } else {
            let together = match self.params.requests {
                Requests::InTurn => 1,
                Requests::Together => self.objects,
            };
            for _ in 0..together {
                let size = self.object.draw(&mut self.stream);
                self.request(size);
            }
            self.objects -= together;
            self.phase = Phase::Objects;
        }
        Write::Request(self.requested - before)
    }

    fn is_requested(&self) -> bool {
        true
    }

    // The server responds at once, as in ns-3 by default; `core.server_delay` can include a constant response time.
    fn answer(&mut self, requested: Bytes) -> Bytes {
        let mut answer = Bytes::ZERO;
        while let Some(next) = self.pending.front().filter(|next| next.requested <= requested) {
            answer += next.size;
            self.pending.pop_front();
        }
        answer
    }

    fn arrived(&mut self, now: Time, received: Bytes) -> Reaction {
        if received < self.expected {
            return Reaction::default();
        }
        match self.phase {
            Phase::Reading | Phase::Parsed => Reaction::default(),
            Phase::Page => {
                self.objects = self.draw_objects();
                if self.objects == 0 {
                    return self.complete(now);
                }
                self.phase = Phase::Parsed;
                let parsed = now + self.exponential(self.params.parsing);
                Reaction { write_at: Some(parsed), ..Reaction::default() }
            }
            Phase::Objects if self.objects > 0 => {
                self.phase = Phase::Parsed;
                Reaction { write_at: Some(now), ..Reaction::default() }
            }
            Phase::Objects => self.complete(now),
        }
    }

    fn unfinished(&self) -> Option<Part> {
        (self.phase != Phase::Reading).then_some(self.part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browser(params: Params) -> Web {
        Web::new(
            params,
            &FlowContext {
                stream: Stream::new(1, "web"),
                size: None,
                transport: Transport::Tcp,
                identity: Default::default(),
            },
        )
    }

    #[test]
    fn a_page_is_requested_sent_and_read() {
        let mut web = browser(Params {
            pages: Some(1),
            page: Size::fixed(Bytes(1000)),
            object: Size::fixed(Bytes(200)),
            objects_shape: 0.1,
            max_objects: 2,
            parsing: Span::ZERO,
            ..Params::default()
        });
        assert_eq!(web.write(Time(5)), Write::Request(Bytes(350)));
        assert_eq!((web.answer(Bytes(349)), web.answer(Bytes(350))), (Bytes::ZERO, Bytes(1000)));
        assert_eq!(web.arrived(Time(7), Bytes(999)), Reaction::default());
        assert_eq!(web.arrived(Time(8), Bytes(1000)).write_at, Some(Time(8)));
        for received in [1200, 1400] {
            assert_eq!(web.unfinished().map(|part| part.began), Some(Time(5)));
            assert_eq!(web.write(Time(8)), Write::Request(Bytes(350)));
            assert_eq!(web.answer(web.requested), Bytes(200));
            let reaction = web.arrived(Time(9), Bytes(received));
            let whole = Part { began: Time(5), size: Bytes(1400) };
            assert_eq!(
                (reaction.completed, reaction.is_last),
                match received {
                    1400 => (Some(whole), true),
                    _ => (None, false),
                }
            );
        }
        assert_eq!(web.unfinished(), None);
    }

    #[test]
    fn all_objects_may_be_requested_at_once() {
        let mut web = browser(Params {
            page: Size::fixed(Bytes(1000)),
            object: Size::fixed(Bytes(200)),
            objects_shape: 0.1,
            max_objects: 7,
            requests: Requests::Together,
            ..Params::default()
        });
        web.write(Time(0));
        web.answer(Bytes(350));
        web.arrived(Time(1), Bytes(1000));
        assert_eq!(web.write(Time(2)), Write::Request(Bytes(7 * 350)));
        assert_eq!(web.answer(Bytes(350 * 4)), Bytes(600));
        assert_eq!(web.answer(Bytes(350 * 8)), Bytes(800));
        assert!(web.arrived(Time(3), Bytes(2400)).completed.is_some());
    }

    #[test]
    fn the_number_of_objects_has_its_mean() {
        // R1-070674 gives 5.64 for the continuous distribution; rounding down to whole objects subtracts one half.
        let mut web = browser(Params::default());
        let mean = (0..200_000).map(|_| f64::from(web.draw_objects())).sum::<f64>() / 2e5;
        // E[floor] = sum over n = 1..53 of P(X >= n + 2) = (2 / (n + 2))^1.1
        let expected: f64 = (1..=53).map(|n| (2.0 / (f64::from(n) + 2.0)).powf(1.1)).sum();
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean}, not {expected}");
        assert!((expected - 5.64 + 0.5).abs() < 0.15, "{expected}");
    }
}
