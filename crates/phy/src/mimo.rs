//! Single-user MIMO: the SINR of each layer from that of one antenna at each end.

use airwnd_catalog::{Choice, Params as CatalogParams};
use airwnd_units::Db;

/// Antennas at one end, at most.
const MAX: usize = 4;

/// Correlation of neighbouring antennas: α at the cell, β at the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Correlation {
    /// None: α = 0, β = 0.
    #[word = "low"]
    Low,
    /// α = 0.3, β = 0.9.
    #[word = "medium"]
    Medium,
    /// α = 0.9, β = 0.9.
    #[word = "high"]
    High,
}

/// Single-user MIMO in the downlink: up to four layers in one block, spatial multiplexing with a rank indicator.
///
/// The channel matrix is that of the Kronecker model, whose correlation matrices R_t of the cell and R_r of the UE have
/// the elements α and β to the power of the squared distance of two antennas, relative to the ends of the row. The
/// precoder follows the eigenvectors of R_t, and the UE receives by zero forcing. With the SINR ρ of one antenna at each
/// end with all the power, layer k of v has
///
/// ```math
/// \mathrm{SINR}_k = \frac{\rho}{v} \, \lambda_k(R_t) \, \frac{v \, e_v(R_r)}{e_{v-1}(R_r)}
/// ```
///
/// where λ_k is the k-th largest eigenvalue and e_v the elementary symmetric polynomial of degree v of the eigenvalues:
/// the quotient of the mean determinants of the Gram matrices of v and of v - 1 layers. Without correlation this is ρ (1 +
/// N_r - v) / v, the mean for Rayleigh fading. The UE reports the number of layers with the highest efficiency, and the
/// CQI that goes with it. The mutual information of a block is the mean over its layers.
//= exception layers-by-mean-sinr
#[derive(Clone, Debug, PartialEq, CatalogParams)]
#[params(
    source = "Gore, Heath and Paulraj, IEEE Communications Letters 6(11), 2002: Transmit selection in \
              spatial multiplexing systems; Shin and Lee, IEEE Transactions on Information Theory \
              49(10), 2003: Capacity of multiple-antenna fading channels; TS 36.101 §B.2.3",
    check
)]
pub struct Params {
    /// Antennas of a cell.
    #[param(basic)]
    #[param(default = 2, range = 1..=4, unit = "antennas", source = "TS 36.141 §B.5.1, TS 36.101 §B.2.3.1")]
    pub cell_antennas: u8,
    /// Antennas of a UE.
    #[param(basic)]
    #[param(default = 2, range = 1..=4, unit = "antennas", source = "TS 36.141 §B.5.1, TS 36.101 §B.2.3.1")]
    pub ue_antennas: u8,
    /// Most layers of a block; `none`: the lower number of antennas.
    #[param(default = None, range = 1..=4, unit = "layers")]
    #[param(source = "TS 36.306 Table 4.1-1; TS 38.331 §6.3.2, maxMIMO-Layers")]
    pub max_rank: Option<u8>,
    /// Correlation of neighbouring antennas.
    #[param(default = Correlation::Low, unit = "word", source = "TS 36.101 Table B.2.3.2-1")]
    pub correlation: Correlation,
}

impl Params {
    fn check(&self) -> Result<(), (&'static str, String)> {
        let (cell, ue) = (self.cell_antennas, self.ue_antennas);
        match self.max_rank {
            Some(rank) if rank > cell.min(ue) => Err((
                "max_rank",
                format!("{rank} layers need as many antennas at both ends; a cell has {cell}, a UE {ue}"),
            )),
            _ => Ok(()),
        }
    }

    /// The most layers of a block.
    pub fn max_layers(&self) -> u8 {
        self.max_rank.unwrap_or(self.cell_antennas.min(self.ue_antennas))
    }

    /// By rank, from one layer on: SINR of each layer over that of one antenna at each end.
    pub fn gains(&self) -> Vec<Vec<Db>> {
        let (alpha, beta) = match self.correlation {
            Correlation::Low => (0.0, 0.0),
            Correlation::Medium => (0.3, 0.9),
            Correlation::High => (0.9, 0.9),
        };
        let sent = eigenvalues(self.cell_antennas, alpha);
        let polynomials = elementary(&eigenvalues(self.ue_antennas, beta));
        let at_rank = |rank: usize| {
            let received = polynomials[rank] / polynomials[rank - 1];
            sent[..rank].iter().map(|sent| Db::from_linear(sent * received)).collect()
        };
        (1..=usize::from(self.max_layers())).map(at_rank).collect()
    }
}

/// The eigenvalues, highest first, of the correlation matrix of antennas in a row whose ends have this correlation.
//= TS 36.141 §B.5.1
fn eigenvalues(antennas: u8, ends: f64) -> Vec<f64> {
    let count = usize::from(antennas);
    let element = |i: usize, j: usize| {
        let distance = i.abs_diff(j) as f64 / (count - 1).max(1) as f64;
        if i == j { 1.0 } else { libm::pow(ends, distance * distance) }
    };
    let mut matrix = [[0.0; MAX]; MAX];
    for (i, row) in matrix.iter_mut().enumerate().take(count) {
        for (j, place) in row.iter_mut().enumerate().take(count) {
            *place = element(i, j);
        }
    }
    // Jacobi's rotations; ten sweeps leave nothing beside the diagonal of a 4 x 4 matrix.
    for _ in 0..10 {
        for p in 0..count {
            for q in p + 1..count {
                rotate(&mut matrix, p, q);
            }
        }
    }
    let mut values: Vec<f64> = (0..count).map(|i| matrix[i][i]).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
}

/// Rotates a symmetric matrix so that its element (p, q) is zero.
fn rotate(matrix: &mut [[f64; MAX]; MAX], p: usize, q: usize) {
    if matrix[p][q] == 0.0 {
        return;
    }
    let theta = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
    let tangent = theta.signum() / (theta.abs() + libm::sqrt(theta * theta + 1.0));
    let cosine = 1.0 / libm::sqrt(tangent * tangent + 1.0);
    let sine = tangent * cosine;
    for row in matrix.iter_mut() {
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
    let (rows_p, rows_q) = (matrix[p], matrix[q]);
    matrix[p] = std::array::from_fn(|column| cosine * rows_p[column] - sine * rows_q[column]);
    matrix[q] = std::array::from_fn(|column| sine * rows_p[column] + cosine * rows_q[column]);
}

/// The elementary symmetric polynomials, from degree zero on.
fn elementary(values: &[f64]) -> Vec<f64> {
    let mut polynomials = vec![0.0; values.len() + 1];
    polynomials[0] = 1.0;
    for (count, value) in (1..).zip(values) {
        for degree in (1..=count).rev() {
            polynomials[degree] += value * polynomials[degree - 1];
        }
    }
    polynomials
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mimo(cell: u8, ue: u8, correlation: Correlation) -> Params {
        Params { cell_antennas: cell, ue_antennas: ue, max_rank: None, correlation }
    }

    fn linear(params: &Params) -> Vec<Vec<f64>> {
        let ratios = |gains: Vec<Db>| gains.into_iter().map(Db::linear).collect();
        params.gains().into_iter().map(ratios).collect()
    }

    fn near(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-9)
    }

    #[test]
    fn without_correlation_a_layer_has_its_share_of_the_power_and_the_spare_antennas() {
        // (N_r - v + 1) for the receiver; each layer has the power of one of the N_t eigenvalues, all 1: with four
        // antennas, power is spread over v of them
        let gains = linear(&mimo(4, 4, Correlation::Low));
        for (rank, of_rank) in (1..).zip(&gains) {
            let expected = f64::from(4 - rank + 1) / f64::from(rank);
            assert!(near(of_rank, &vec![expected; rank as usize]), "{rank}: {of_rank:?}");
        }
        assert_eq!(gains.len(), 4);
        assert_eq!(linear(&mimo(1, 1, Correlation::High)), [[1.0]]);
    }

    #[test]
    fn correlation_favours_one_layer() {
        // eigenvalues 1 ± 0.9 at both ends; e_1 = 2, e_2 = 0.19
        let gains = linear(&mimo(2, 2, Correlation::High));
        assert!(near(&gains[0], &[1.9 * 2.0]), "{gains:?}");
        assert!(near(&gains[1], &[1.9 * 0.19 / 2.0, 0.1 * 0.19 / 2.0]), "{gains:?}");
        // 1 ± 0.3 at the cell
        let gains = linear(&mimo(2, 2, Correlation::Medium));
        assert!(near(&gains[1], &[1.3 * 0.19 / 2.0, 0.7 * 0.19 / 2.0]), "{gains:?}");
    }

    #[test]
    fn eigenvalues_of_four_antennas_are_those_of_their_symmetric_and_antisymmetric_parts() {
        // The matrix is persymmetric: its eigenvalues are those of [[1 ± c, a ± b], [a ± b, 1 ± a]].
        let (a, b, c) = (libm::pow(0.9, 1.0 / 9.0), libm::pow(0.9, 4.0 / 9.0), 0.9);
        let mut expected = Vec::new();
        for sign in [1.0, -1.0] {
            let (p, q, r) = (1.0 + sign * c, 1.0 + sign * a, a + sign * b);
            let root = libm::sqrt((p - q) * (p - q) / 4.0 + r * r);
            expected.extend([(p + q) / 2.0 + root, (p + q) / 2.0 - root]);
        }
        expected.sort_by(|a, b| b.total_cmp(a));
        let found = eigenvalues(4, 0.9);
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
        assert!((found.iter().sum::<f64>() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn more_layers_than_antennas_are_refused() {
        let params = Params { max_rank: Some(4), ..mimo(4, 2, Correlation::Low) };
        assert_eq!(params.check().unwrap_err().0, "max_rank");
        assert_eq!(Params { max_rank: Some(2), ..params }.check(), Ok(()));
    }
}
