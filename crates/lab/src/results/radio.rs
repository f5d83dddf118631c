//! Traces of the radio interface: records on request, and their tables.

mod rows;

use crate::results::columns::Row;
use crate::results::table::{Rows, Table};
use crate::results::tap::Node;
use crate::scenario::Scenario;
use airwnd_catalog::Error;
use airwnd_units::{Span, Time};
use std::ops::Range;

pub use airwnd_cell::trace::{
    BlockOutcome, BlockRecord, Control, ControlRecord, DrxState, GrantRecord, Layer, PduRecord, RadioEvent,
    RadioFilter, RadioRecord, RrcCause, RrcEvent, RrcRecord, SduEvent, SduRecord, Transmission,
};
pub use airwnd_cell::{BearerId, CarrierId, CellId, UeId};
pub use airwnd_phy::access::Protocol;
pub use airwnd_phy::tables::tbs_index;
pub use airwnd_rlc::am::Nack;
pub use airwnd_rlc::trace::{DataPdu, PduContent, PduFormat, TracedPdu};
pub use airwnd_rlc::{DropCause, RlcMode};
pub(crate) use rows::{BlockRow, ControlRow, DrxRow, GrantRow, PduRow, RrcRow, SduRow};

/// Words of the layers, in the order of [`Layer::ALL`].
pub const LAYERS: [&str; 4] = ["mac", "rlc", "pdcp", "rrc"];

/// Tables of a trace, in their order.
pub const TABLES: [&str; 7] =
    ["radio_grants", "radio_blocks", "radio_control", "radio_drx", "radio_pdus", "radio_sdus", "radio_rrc"];

/// Properties of the radio interface that frames have besides its records.
#[derive(Clone, Copy, Debug)]
pub struct RadioInterface {
    /// Generation.
    pub protocol: Protocol,
    /// Slots in a millisecond; one in LTE.
    pub slots_per_ms: u64,
    /// Whether both directions share the carrier.
    pub is_tdd: bool,
    /// Upper ends in bytes of the levels of a short buffer status report from 1 on; the last level has none.
    pub buffer_levels: &'static [u64],
}

impl Scenario {
    /// The radio interface of the primary carrier; `None` without a site.
    pub fn radio_interface(&self) -> Option<RadioInterface> {
        let carriers = self.carrier.components(&self.radio.access).ok().filter(|_| !self.site.is_empty())?;
        let access = &carriers.first()?.access;
        Some(RadioInterface {
            protocol: self.radio.access.protocol(),
            slots_per_ms: access.clock.per_millisecond(),
            is_tdd: access.timing.plan.len() > 1,
            buffer_levels: access.buffer_levels,
        })
    }

    /// A filter for these layers, UEs (none: all) and this window of the measurement.
    ///
    /// # Errors
    /// A scenario without cells, an unknown layer or UE, or a window that begins behind its end or that of the run.
    pub fn radio_filter(
        &self,
        layers: &[String],
        ues: &[String],
        window: Option<Range<Span>>,
    ) -> Result<RadioFilter, Error> {
        let fail = |message: String| Err(Error::new(&self.name, None, message));
        if self.site.is_empty() {
            return fail("radio: links have no radio interface; add a [[site]]".into());
        }
        let mut wanted = [layers.is_empty(); 4];
        for layer in layers {
            match LAYERS.iter().position(|word| word == layer) {
                Some(place) => wanted[place] = true,
                None => {
                    return fail(format!(
                        "radio: there is no layer `{layer}`; layers: {}",
                        LAYERS.join(", ")
                    ));
                }
            }
        }
        let mut numbers = Vec::new();
        for ue in ues {
            match self.node(ue) {
                Ok(Node::Ue(number)) => numbers.push(number),
                _ => {
                    return fail(format!("radio: there is no UE `{ue}`; UEs: ue-0 to ue-{}", self.ues() - 1));
                }
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        let Range { start, end } = window.unwrap_or(Span::ZERO..Span::MAX);
        if start >= end {
            return fail(format!("radio: the window begins at {start}, not before its end at {end}"));
        }
        if start >= self.duration {
            let end = self.duration;
            return fail(format!("radio: the window begins at {start}, but the run ends at {end}"));
        }
        let begin = Time::ZERO + self.warmup;
        let ues = (!ues.is_empty()).then(|| numbers.into());
        Ok(RadioFilter { layers: wanted, ues, window: begin + start..begin + end })
    }
}

/// Tables of a trace, which are emptied when one has enough rows.
pub struct RadioTables {
    filter: RadioFilter,
    /// End of the warm-up.
    begin: Time,
    /// Rows after which a table is passed on.
    rows: usize,
    grants: Rows<GrantRow>,
    blocks: Rows<BlockRow>,
    control: Rows<ControlRow>,
    drx: Rows<DrxRow>,
    pdus: Rows<PduRow>,
    sdus: Rows<SduRow>,
    rrc: Rows<RrcRow>,
}

impl RadioTables {
    /// Empty tables of the records of a scenario that pass a filter, with at most this many rows.
    pub fn new(scenario: &Scenario, filter: RadioFilter, rows: usize) -> RadioTables {
        RadioTables {
            filter,
            begin: Time::ZERO + scenario.warmup,
            rows,
            grants: Rows::default(),
            blocks: Rows::default(),
            control: Rows::default(),
            drx: Rows::default(),
            pdus: Rows::default(),
            sdus: Rows::default(),
            rrc: Rows::default(),
        }
    }

    /// Adds a record. Returns the name of its table and the table, if it is full; it then begins anew.
    pub fn push(&mut self, record: &RadioRecord) -> Option<(&'static str, Table)> {
        if !self.filter.wants(record.layer(), record.at, record.ue) {
            return None;
        }
        let (begin, rows) = (self.begin, self.rows);
        match &record.event {
            RadioEvent::Grant(event) => self.grants.add(GrantRow::of(record, event, begin), rows, TABLES[0]),
            RadioEvent::Block(event) => self.blocks.add(BlockRow::of(record, event, begin), rows, TABLES[1]),
            RadioEvent::Control(event) => {
                self.control.add(ControlRow::of(record, event, begin), rows, TABLES[2])
            }
            RadioEvent::Drx(state) => self.drx.add(DrxRow::of(record, *state, begin), rows, TABLES[3]),
            RadioEvent::Pdu(event) => self.pdus.add(PduRow::of(record, event, begin), rows, TABLES[4]),
            RadioEvent::Sdu(event) => self.sdus.add(SduRow::of(record, event, begin), rows, TABLES[5]),
            RadioEvent::Rrc(event) => self.rrc.add(RrcRow::of(record, event, begin), rows, TABLES[6]),
        }
    }

    /// The rest of each table whose layer is wanted, by name.
    pub fn finish(self) -> impl Iterator<Item = (&'static str, Table)> {
        let [mac, rlc, pdcp, rrc] = self.filter.layers;
        let tables = [
            (mac, self.grants.table(&[])),
            (mac, self.blocks.table(&[])),
            (mac, self.control.table(&[])),
            (mac, self.drx.table(&[])),
            (rlc, self.pdus.table(&[])),
            (pdcp, self.sdus.table(&[])),
            (rrc, self.rrc.table(&[])),
        ];
        TABLES
            .into_iter()
            .zip(tables)
            .filter(|(_, (is_wanted, _))| *is_wanted)
            .map(|(name, (_, table))| (name, table))
    }
}

impl<R: Row> Rows<R> {
    /// Adds a row. Takes the table with this name if it has enough rows.
    fn add(&mut self, row: R, enough: usize, name: &'static str) -> Option<(&'static str, Table)> {
        self.push(&row);
        (self.len() >= enough).then(|| (name, std::mem::take(self).table(&[])))
    }
}
