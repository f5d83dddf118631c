//! RLC and PDCP that belong to a radio access.

use airwnd_catalog::Choice;

/// Generation of RLC and PDCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Protocol {
    /// TS 36.322 and TS 36.323: RLC concatenates SDUs, and reorders.
    #[word = "lte"]
    Lte,
    /// TS 38.322 and TS 38.323: each SDU or segment of one has a PDU of its own, and PDCP reorders.
    #[word = "nr"]
    Nr,
}
