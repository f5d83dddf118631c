//! Receiver-based flow control from the rate of the radio link (RTFC): a reconstruction.

use super::parts::small_windows::MIN_SEGMENTS;
use super::{Advertisement, Arrival, Capabilities, DeviceNeeds, ReceiverContext, RecvView, RwndController};
use airwnd_catalog::{Choice, Params};
use airwnd_units::{Bytes, Span, Time};

/// RTT filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Filter {
    /// Minimum of all samples.
    #[word = "min"]
    Min,
    /// Moving average, which includes queueing delay.
    #[word = "mean"]
    Mean,
}

/// RTFC (reconstruction): rwnd = rate x RTT, with the rate that the radio link currently offers to the UE.
///
/// Liu and others read the available bandwidth of the wireless link from the UE's own radio and calculate the receive
/// window from it as it changes. Only the abstracts of the paper and of a later chapter, which calls the method ABRWDA,
/// were available. The formula is therefore ours, with a minimum of two segments:
///
/// ```math
/// \mathrm{rwnd} = \mathrm{rate} \cdot \mathit{RTT}
/// ```
///
/// With `filter = "min"` the RTT is the minimum measured by the receiver. With `filter = "mean"` it is a moving
/// average of its samples in which the previous average has weight `weight`. With the mean a queue sustains itself: the
/// data in flight while the queue existed is the next window.
///
/// The rate is the one that `oracle` uses, the payload rate of full segments; no real UE knows it that precisely. It is
/// the rate of the device: several connections of one device offer too much. Before the first RTT sample the receiver
/// offers `initial`.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(
    source = "after the abstracts of Liu, Ren, Shu, Zhang, Dai: Mitigating Bufferbloat with Receiver-based \
              TCP Flow Control Mechanism in Cellular Networks, and of doi:10.1201/9781003337096-5; the rest \
              is airwnd's"
)]
pub struct Params {
    /// RTT filter.
    #[param(basic, default = Filter::Min)]
    #[param(unit = "word", source = "not in the paper: with the mean queues sustain themselves")]
    pub filter: Filter,
    /// Weight of the previous average in the mean.
    #[param(default = 0.875, range = 0.0..=0.999)]
    #[param(unit = "1", source = "not in the paper: RFC 6298 §2, alpha")]
    pub weight: f64,
    /// Window offered before the first RTT sample.
    #[param(default = Bytes(64 * 1024), range = Bytes(1024)..=Bytes(1 << 30))]
    #[param(unit = "B", source = "our reconstruction; Linux tcp_rmem (second value) less its overhead")]
    pub initial: Bytes,
}

/// State of RTFC.
#[derive(Clone, Debug)]
pub struct Rtfc {
    params: Params,
    rtt: Option<Span>,
}

impl Rtfc {
    /// Creates the state before the first measurement.
    //= exception rtfc-reconstructed
    pub fn new(params: Params, _: &ReceiverContext) -> Rtfc {
        Rtfc { params, rtt: None }
    }
}

impl RwndController for Rtfc {
    fn capabilities(&self) -> Capabilities {
        Capabilities { needs: DeviceNeeds { connections: false, link: true }, ..Capabilities::default() }
    }

    fn on_segment(&mut self, arrival: &Arrival, _: &RecvView) {
        let Some(sample) = arrival.rtt else { return };
        let former = self.rtt.unwrap_or(sample);
        self.rtt = Some(match self.params.filter {
            Filter::Min => former.min(sample),
            Filter::Mean => {
                let weight = self.params.weight;
                Span((weight * former.0 as f64 + (1.0 - weight) * sample.0 as f64) as u64)
            }
        });
    }

    fn window(&self, _: Time, view: &RecvView) -> Advertisement {
        let known = view.device.link.zip(self.rtt);
        let window = known.map_or(self.params.initial, |(link, rtt)| {
            Bytes((link.rate.0 as f64 * rtt.as_secs() / 8.0) as u64)
        });
        view.offer(window, MIN_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceLink;
    use crate::tests_support::{MSS, arrival, ctx, view};
    use airwnd_units::BitRate;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the reconstruction's definition, in floating-point seconds.
        #[test]
        fn agrees_with_a_literal_transcription(
            steps in prop::collection::vec((10_000..50_000_000_u64, prop::option::of(5..400_u64)), 1..200),
            mean in any::<bool>(),
        ) {
            let filter = if mean { Filter::Mean } else { Filter::Min };
            let mut rtfc = Rtfc::new(Params { filter, ..Params::default() }, &ctx());
            let mut rtt = None;
            for (rate, sample) in steps {
                let mut view = view(None);
                view.device.link = Some(DeviceLink { rate: BitRate(rate), base_rtt: Span::from_secs(9) });
                let measured = sample.map(Span::from_millis);
                rtfc.on_segment(&Arrival { rtt: measured, ..arrival(Time(0), Time(0), MSS) }, &view);
                if let Some(sample) = sample {
                    let sample = sample as f64 / 1000.0;
                    rtt = Some(match rtt {
                        None => sample,
                        Some(former) if mean => 7.0 / 8.0 * former + 1.0 / 8.0 * sample,
                        Some(former) => sample.min(former),
                    });
                }
                let expected = rtt.map_or(65_536.0, |rtt: f64| (rate as f64 / 8.0 * rtt).max(2.0 * MSS as f64));
                let Advertisement::Window(window) = rtfc.window(Time(0), &view) else { panic!("no codes") };
                prop_assert!((window.0 as f64 - expected).abs() <= 1.0 + 1e-6 * expected, "{} {}", window.0, expected);
            }
        }
    }
}
