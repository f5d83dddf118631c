//! The component carriers of a network with its radio access.

use crate::access::{self, Access};
use crate::carrier::Carrier;
use airwnd_kernel::Stream;
use airwnd_units::{Dbm, Hertz};
use std::sync::Arc;

impl Carrier {
    /// Its component carriers with this access, the primary one first.
    ///
    /// # Errors
    /// The key at fault and a message, if the access does not have a carrier, or if two carriers overlap or are one in FDD.
    pub fn components(&self, access: &access::Spec) -> Result<Vec<ComponentCarrier>, (String, String)> {
        let own = |(key, message): (&str, _)| (key.to_string(), message);
        let primary = access.on(self).map_err(own)?;
        access.check_duplex(self).map_err(own)?;
        let mut components = vec![ComponentCarrier {
            number: 0,
            access: Arc::new(primary),
            downlink_frequency: self.downlink_frequency,
            uplink_frequency: access.uplink_frequency(self),
            power: None,
        }];
        for (index, secondary) in self.secondary.iter().enumerate() {
            let within = |(key, message)| (format!("secondary[{index}].{key}"), message);
            let carrier = Carrier {
                bandwidth: secondary.bandwidth.unwrap_or(self.bandwidth),
                downlink_frequency: secondary.downlink_frequency,
                uplink_frequency: None,
                secondary: Vec::new(),
            };
            let component = ComponentCarrier {
                number: index as u8 + 1,
                access: Arc::new(access.on(&carrier).map_err(within)?),
                downlink_frequency: carrier.downlink_frequency,
                uplink_frequency: access.uplink_frequency(&carrier),
                power: secondary.power,
            };
            if let Some(other) = components.iter().find(|other| component.overlaps(other)) {
                let message = format!(
                    "{} overlaps the carrier at {}; their centres are at least {} apart",
                    component.downlink_frequency,
                    other.downlink_frequency,
                    component.min_distance(other)
                );
                return Err(within(("downlink_frequency", message)));
            }
            components.push(component);
        }
        Ok(components)
    }
}

/// A component carrier: the primary one of a network, or a secondary one, of which only the downlink is used.
#[derive(Clone, Debug)]
pub struct ComponentCarrier {
    /// Its number; that of the primary carrier is zero.
    pub number: u8,
    /// Its radio access.
    pub access: Arc<Access>,
    /// Centre frequency of the downlink.
    pub downlink_frequency: Hertz,
    /// Centre frequency of the uplink.
    pub uplink_frequency: Hertz,
    /// Transmit power of each sector; `None`: that of the site.
    pub power: Option<Dbm>,
}

impl ComponentCarrier {
    /// The random stream of something that each carrier has, from that of the primary carrier. Its children are
    /// numbered from zero, so that the last numbers are free.
    pub fn stream(&self, primary: Stream) -> Stream {
        match self.number {
            0 => primary,
            number => primary.child(u64::MAX - u64::from(number)),
        }
    }

    /// Minimum distance to another carrier: their PRBs do not overlap.
    // The nominal spacing of contiguous carriers is larger by the guard bands (TS 36.101 §5.7.1A).
    fn min_distance(&self, other: &ComponentCarrier) -> Hertz {
        let width =
            |carrier: &ComponentCarrier| f64::from(carrier.access.prbs.0) * carrier.access.prb_bandwidth.0;
        Hertz((width(self) + width(other)) / 2.0)
    }

    fn overlaps(&self, other: &ComponentCarrier) -> bool {
        let distance = self.downlink_frequency.0 - other.downlink_frequency.0;
        distance.abs() < self.min_distance(other).0
    }
}
