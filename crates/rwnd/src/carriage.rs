//! How an instruction of a receiver to its sender travels in the TCP header.

use airwnd_catalog::Choice;
use std::num::NonZeroU8;
use std::ops::RangeInclusive;

/// Field values that mean a code, where codes travel in the window field.
const CODES: RangeInclusive<u16> = 1..=120;

/// How a window code travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Carriage {
    /// In place of the window, as the ARWA paper has it: field values 1..=120 are codes.
    #[word = "window-field"]
    WindowField,
    /// In an experimental TCP option, beside an ordinary window.
    // A real sender cannot tell a window of 100 bytes from code 100.
    #[word = "tcp-option"]
    TcpOption,
}

/// Header fields of an outgoing segment that advertise a window or a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The window field.
    pub field: u16,
    /// The code in the experimental option.
    pub option: Option<NonZeroU8>,
    /// Whether the window field holds a code.
    pub is_code: bool,
}

/// What the fields of an incoming segment mean to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The window field; `None` where a code took its place.
    pub field: Option<u16>,
    /// The code.
    pub code: Option<NonZeroU8>,
}

impl Carriage {
    /// Puts a code, if there is one, beside a window field or in its place. `carriage` is `None` where the
    /// receiver has no codes.
    #[inline]
    pub fn encode(carriage: Option<Carriage>, field: u16, code: Option<NonZeroU8>) -> Encoded {
        match (carriage, code) {
            (Some(Carriage::WindowField), Some(code)) => {
                Encoded { field: u16::from(code.get()), option: None, is_code: true }
            }
            // An ordinary window whose field is 1 to 120 would be obeyed as a code.
            (Some(Carriage::WindowField), None) if CODES.contains(&field) => {
                Encoded { field: 0, option: None, is_code: false }
            }
            _ => Encoded { field, option: code, is_code: false },
        }
    }

    /// Reads what a receiver with this `carriage` has [encoded](Carriage::encode).
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
    fn codes_come_back_by_either_carriage_and_windows_never_become_codes() {
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
