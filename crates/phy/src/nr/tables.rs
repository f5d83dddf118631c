//! MCS and CQI tables of TS 38.214.

pub use crate::tables::Modulation;
use crate::{Cqi, Mcs};

/// A code rate in units of 1 / 2048: the tables have multiples of 1 / 2048.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CodeRate(pub u32);

impl CodeRate {
    /// As a ratio, 0 to 1.
    pub fn ratio(self) -> f64 {
        f64::from(self.0) / 2048.0
    }
}

/// A modulation and a target code rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// Modulation.
    pub modulation: Modulation,
    /// Target code rate R.
    pub rate: CodeRate,
}

impl Scheme {
    /// Information bits per modulation symbol and layer.
    pub fn efficiency(self) -> f64 {
        f64::from(self.modulation.order()) * self.rate.ratio()
    }
}

/// An MCS table and the CQI table of the same modulations and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Table 1: up to 64QAM.
    Qam64,
    /// Table 2: up to 256QAM.
    Qam256,
    /// Table 3: up to 64QAM with low spectral efficiency, for 1e-5 block errors.
    LowEfficiency,
}

/// Target rates of consecutive rows of a table, in units of 1 / 2048, by modulation.
type Rows = [&'static [u32]; 4];

//= TS 38.214 Table 5.1.3.1-1
const MCS_1: Rows = [
    &[240, 314, 386, 502, 616, 758, 898, 1052, 1204, 1358],
    &[680, 756, 868, 980, 1106, 1232, 1316],
    &[876, 932, 1034, 1134, 1232, 1332, 1438, 1544, 1644, 1746, 1820, 1896],
    &[],
];

//= TS 38.214 Table 5.1.3.1-2
const MCS_2: Rows = [
    &[240, 386, 616, 898, 1204],
    &[756, 868, 980, 1106, 1232, 1316],
    &[932, 1034, 1134, 1232, 1332, 1438, 1544, 1644, 1746],
    &[1365, 1422, 1508, 1594, 1682, 1770, 1833, 1896],
];

//= TS 38.214 Table 5.1.3.1-3
const MCS_3: Rows = [
    &[60, 80, 100, 128, 156, 198, 240, 314, 386, 502, 616, 758, 898, 1052, 1204],
    &[680, 756, 868, 980, 1106, 1232],
    &[876, 932, 1034, 1134, 1232, 1332, 1438, 1544],
    &[],
];

//= TS 38.214 Table 5.2.2.1-2
const CQI_1: Rows =
    [&[156, 240, 386, 616, 898, 1204], &[756, 980, 1232], &[932, 1134, 1332, 1544, 1746, 1896], &[]];

//= TS 38.214 Table 5.2.2.1-3
const CQI_2: Rows =
    [&[156, 386, 898], &[756, 980, 1232], &[932, 1134, 1332, 1544, 1746], &[1422, 1594, 1770, 1896]];

//= TS 38.214 Table 5.2.2.1-4
const CQI_3: Rows =
    [&[60, 100, 156, 240, 386, 616, 898, 1204], &[756, 980, 1232], &[932, 1134, 1332, 1544], &[]];

const MODULATIONS: [Modulation; 4] =
    [Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256];

fn row(rows: Rows, index: usize) -> Option<Scheme> {
    let schemes = MODULATIONS.iter().zip(rows).flat_map(|(modulation, rates)| {
        rates.iter().map(|rate| Scheme { modulation: *modulation, rate: CodeRate(*rate) })
    });
    schemes.into_iter().nth(index)
}

impl Table {
    /// Every table, in the standard's order.
    pub const ALL: [Table; 3] = [Table::Qam64, Table::Qam256, Table::LowEfficiency];

    /// Modulation and rate of an MCS; `None` for the MCSs that only mark retransmissions, and above 31.
    pub fn mcs(self, mcs: Mcs) -> Option<Scheme> {
        let rows = match self {
            Table::Qam64 => MCS_1,
            Table::Qam256 => MCS_2,
            Table::LowEfficiency => MCS_3,
        };
        row(rows, usize::from(mcs.0))
    }

    /// The highest MCS with its own code rate.
    pub fn highest(self) -> Mcs {
        match self {
            Table::Qam64 | Table::LowEfficiency => Mcs(28),
            Table::Qam256 => Mcs(27),
        }
    }

    /// Modulation and rate of a CQI; `None` for CQI 0, out of range, and above 15.
    pub fn cqi(self, cqi: Cqi) -> Option<Scheme> {
        let rows = match self {
            Table::Qam64 => CQI_1,
            Table::Qam256 => CQI_2,
            Table::LowEfficiency => CQI_3,
        };
        usize::from(cqi.0).checked_sub(1).and_then(|index| row(rows, index))
    }

    /// The highest MCS that is not more efficient than the CQI; MCS 0 for CQI 0.
    pub fn mcs_of(self, cqi: Cqi) -> Mcs {
        let limit = self.cqi(cqi).map_or(0.0, Scheme::efficiency);
        let within = |mcs: &Mcs| self.mcs(*mcs).is_some_and(|scheme| scheme.efficiency() <= limit);
        (0..=self.highest().0).map(Mcs).rfind(within).unwrap_or(Mcs(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn efficiencies_are_those_printed_in_the_tables() {
        // the tables state R x 1024 and, beside it, Q_m x R with four decimals
        let printed: [(Table, &[f64], &[f64]); 3] = [
            (
                Table::Qam64,
                &[
                    0.2344, 0.3066, 0.3770, 0.4902, 0.6016, 0.7402, 0.8770, 1.0273, 1.1758, 1.3262, 1.3281,
                    1.4766, 1.6953, 1.9141, 2.1602, 2.4063, 2.5703, 2.5664, 2.7305, 3.0293, 3.3223, 3.6094,
                    3.9023, 4.2129, 4.5234, 4.8164, 5.1152, 5.3320, 5.5547,
                ],
                &[
                    0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223,
                    3.9023, 4.5234, 5.1152, 5.5547,
                ],
            ),
            (
                Table::Qam256,
                &[
                    0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.6953, 1.9141, 2.1602, 2.4063, 2.5703,
                    2.7305, 3.0293, 3.3223, 3.6094, 3.9023, 4.2129, 4.5234, 4.8164, 5.1152, 5.3320, 5.5547,
                    5.8906, 6.2266, 6.5703, 6.9141, 7.1602, 7.4063,
                ],
                &[
                    0.1523, 0.3770, 0.8770, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023, 4.5234, 5.1152,
                    5.5547, 6.2266, 6.9141, 7.4063,
                ],
            ),
            (
                Table::LowEfficiency,
                &[
                    0.0586, 0.0781, 0.0977, 0.1250, 0.1523, 0.1934, 0.2344, 0.3066, 0.3770, 0.4902, 0.6016,
                    0.7402, 0.8770, 1.0273, 1.1758, 1.3281, 1.4766, 1.6953, 1.9141, 2.1602, 2.4063, 2.5664,
                    2.7305, 3.0293, 3.3223, 3.6094, 3.9023, 4.2129, 4.5234,
                ],
                &[
                    0.0586, 0.0977, 0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063,
                    2.7305, 3.3223, 3.9023, 4.5234,
                ],
            ),
        ];
        for (table, mcs, cqi) in printed {
            let mcs = mcs.iter().zip(0..).map(|(printed, mcs)| (*printed, table.mcs(Mcs(mcs))));
            let cqi = cqi.iter().zip(1..).map(|(printed, cqi)| (*printed, table.cqi(Cqi(cqi))));
            for (row, (printed, scheme)) in mcs.chain(cqi).enumerate() {
                let found = scheme.unwrap().efficiency();
                assert!((found - printed).abs() < 6e-5, "{table:?} {row}: {found}");
            }
        }
    }

    #[test]
    fn tables_have_their_rows_and_rise() {
        for table in Table::ALL {
            let highest = table.highest();
            assert!(table.mcs(highest).is_some() && table.mcs(Mcs(highest.0 + 1)).is_none());
            assert!(
                table.cqi(Cqi(0)).is_none() && table.cqi(Cqi(15)).is_some() && table.cqi(Cqi(16)).is_none()
            );
            // table 1 falls slightly where 64QAM begins, from 2.5703 to 2.5664
            let mcs: Vec<f64> =
                (0..=highest.0).map(|mcs| table.mcs(Mcs(mcs)).unwrap().efficiency()).collect();
            assert!(mcs.windows(2).all(|pair| pair[1] > pair[0] - 0.004));
            let cqi: Vec<f64> = (1..=15).map(|cqi| table.cqi(Cqi(cqi)).unwrap().efficiency()).collect();
            assert!(cqi.windows(2).all(|pair| pair[1] > pair[0]));
        }
    }

    #[test]
    fn a_cqi_has_an_mcs_of_its_rate_except_where_the_mcs_table_is_coarser() {
        for table in Table::ALL {
            for cqi in (1..=15).map(Cqi) {
                let (mcs, reported) = (table.mcs_of(cqi), table.cqi(cqi).unwrap());
                let scheme = table.mcs(mcs).unwrap();
                let lowest = mcs == Mcs(0);
                assert!(lowest || scheme == reported, "{table:?} {cqi:?}: {scheme:?} {reported:?}");
            }
        }
    }
}
