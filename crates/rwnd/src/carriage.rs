//! Carriage of a receiver's instruction to its sender in the TCP header.

use airwnd_catalog::Choice;
use std::num::NonZeroU8;
use std::ops::RangeInclusive;

/// Field values that are codes, if codes travel in the window field.
const CODES: RangeInclusive<u16> = 1..=120;

/// Header field that carries a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Carriage {
    /// In place of the window, as in the ARWA paper: field values 1..=120 are codes.
    #[word = "window-field"]
    WindowField,
    /// In an experimental TCP option, next to an ordinary window.
    // A real sender cannot distinguish a window of 100 bytes from code 100.
    #[word = "tcp-option"]
    TcpOption,
}

/// Header fields of an outgoing segment that advertise a window or a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Window field.
    pub field: u16,
    /// Code in the experimental option.
    pub option: Option<NonZeroU8>,
    /// Whether the window field holds a code.
    pub is_code: bool,
}

/// Meaning of an incoming segment's fields to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// Window field; `None`: replaced by a code.
    pub field: Option<u16>,
    /// Code, if any.
    pub code: Option<NonZeroU8>,
}

impl Carriage {
    /// Encodes a window field and, if there is one, a code. `carriage` is `None` if the receiver sends no codes.
    #[inline]
    pub fn encode(carriage: Option<Carriage>, field: u16, code: Option<NonZeroU8>) -> Encoded {
        match (carriage, code) {
            (Some(Carriage::WindowField), Some(code)) => {
                Encoded { field: u16::from(code.get()), option: None, is_code: true }
            }
            // The sender would interpret an ordinary field of 1 to 120 as a code.
            (Some(Carriage::WindowField), None) if CODES.contains(&field) => {
                Encoded { field: 0, option: None, is_code: false }
            }
            _ => Encoded { field, option: code, is_code: false },
        }
    }

    /// Decodes the fields of a receiver with this `carriage`, the inverse of [`encode`](Carriage::encode).
    #[inline]
    pub fn decode(carriage: Option<Carriage>, field: u16, option: Option<NonZeroU8>) -> Decoded {
        if carriage == Some(Carriage::WindowField) && CODES.contains(&field) {
            Decoded { field: None, code: NonZeroU8::new(field as u8) }
        } else {
            Decoded { field: Some(field), code: option }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_either_carriage_and_windows_never_decode_as_codes() {
        for carriage in [None, Some(Carriage::WindowField), Some(Carriage::TcpOption)] {
            for code in [None, NonZeroU8::new(1), NonZeroU8::new(100), NonZeroU8::new(120)] {
                for field in [0, 1, 120, 121, u16::MAX] {
                    let Encoded { field: sent, option, is_code } = Carriage::encode(carriage, field, code);
                    let got = Carriage::decode(carriage, sent, option);
                    assert_eq!(got.code, code);
                    assert_eq!(is_code, got.field.is_none());
                    let in_field = carriage == Some(Carriage::WindowField);
                    let small = in_field && CODES.contains(&field);
                    assert!(is_code || got.field == Some(if small { 0 } else { field }));
                }
            }
        }
    }
}
