//! Error models: probability that a transport block is decoded.

mod as_in_ns3;
mod combining;
pub mod segment;

use super::bit_channel::information;
use super::{Scheme, Sinr};
use airwnd_catalog::family;
use airwnd_units::{Bytes, Db};

/// Error model: the probability that a transport block is not decoded.
#[family(name = "error-model", build = fn() -> Box<dyn ErrorModel>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    BlockErrorCurves(block_error_curves::Params),
    MutualInformation(mutual_information::Params),
    NoErrors(none::Params),
}

/// A link-to-system mapping from a transmission and its channel to an error probability. Pure.
///
/// At each reception of a block, new or retransmitted, the MAC calls [`ErrorModel::receive`] with the state of its soft
/// buffer (empty for a new block), stores the result, and passes it to [`ErrorModel::block_error`]:
///
/// ```
/// use airwnd_phy::{Mcs, Sinr, tables};
/// use airwnd_phy::error_model::{ErrorModel, SoftBits, Transmission, mutual_information};
/// use airwnd_units::{Bytes, Db};
/// let model = mutual_information::MutualInformation::new(Default::default());
/// let sent = Transmission { scheme: tables::scheme(Mcs(20)), block: Bytes(2385), sinr: Sinr::Flat(Db(10.0)) };
/// let first = model.receive(SoftBits::default(), &sent);
/// let second = model.receive(first, &sent);
/// assert!(model.block_error(sent.block, first) > 0.99);
/// assert!(model.block_error(sent.block, second) < 0.01);
/// ```
///
/// Of two receptions that differ by nothing else, that with the higher SINR does not have the higher error probability,
/// and of two soft buffers neither has that with more information; rounding errors do not count. The receivers use it.
pub trait ErrorModel: Send + Sync {
    /// SINR that the receiver loses with a scheme.
    fn loss(&self, scheme: Scheme) -> Db;

    /// The mean information of a coded bit received over a channel, 0 to 1. Over many resource blocks this is the costly
    /// part; it is the same for all schemes of a modulation that have the same [`loss`](ErrorModel::loss).
    fn information(&self, scheme: Scheme, sinr: Sinr) -> f64 {
        let loss = self.loss(scheme);
        sinr.mean(|sinr| information(scheme.modulation, sinr - loss))
    }

    /// The state of the soft buffer after the reception of a block with this mean information.
    fn receive_mean(&self, before: SoftBits, scheme: Scheme, block: Bytes, mean: f64) -> SoftBits;

    /// The state of the soft buffer after this reception.
    fn receive(&self, before: SoftBits, transmission: &Transmission) -> SoftBits {
        let Transmission { scheme, block, sinr } = *transmission;
        self.receive_mean(before, scheme, block, self.information(scheme, sinr))
    }

    /// The probability that a block of this size cannot be decoded from the soft buffer.
    fn block_error(&self, block: Bytes, soft: SoftBits) -> f64;

    /// The probability that a first transmission fails.
    fn first_block_error(&self, transmission: &Transmission) -> f64 {
        self.block_error(transmission.block, self.receive(SoftBits::default(), transmission))
    }
}

/// One transmission of a transport block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission<'a> {
    /// Modulation and code rate.
    pub scheme: Scheme,
    /// Size of the transport block.
    pub block: Bytes,
    /// Channel of the transmission.
    pub sinr: Sinr<'a>,
}

/// Soft buffer of a HARQ process: sums over the transmissions of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SoftBits {
    /// Coded bits received.
    pub coded: f64,
    /// Mutual information between the bits sent and the soft values received, in bits.
    pub information: f64,
    /// Modulation and code rate of the latest transmission.
    pub scheme: Scheme,
    /// Information of the latest transmission that its count of coded bits leaves out; `None`: nothing was combined.
    /// Used by models that count in 16 bits like ns-3.
    pub uncounted: Option<f64>,
}

/// The Gaussian tail probability Q(x).
pub fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}
