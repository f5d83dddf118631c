//! Size distributions of transfers and objects.

use airwnd_catalog::{Defaults, Error, Fault, Files, Node, Param, Value, family, range_text};
use airwnd_kernel::Stream;
use airwnd_units::Bytes;
use serde_json::{Value as Json, json};

/// Size: distribution of the size of a transfer or object.
#[family(name = "size", build = fn() -> Box<dyn Sizes>)]
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    Fixed(fixed::Params),
    Exponential(exponential::Params),
    Pareto(pareto::Params),
    Lognormal(lognormal::Params),
    Empirical(empirical::Params),
}

/// Maximum size.
pub const MAX: Bytes = Bytes(1 << 40);

/// A distribution of sizes.
pub trait Sizes: Send {
    /// Draws a size of at least 1 byte. Takes at most one number from the stream.
    fn draw(&self, stream: &mut Stream) -> Bytes;
}

/// Minimum probability mass within the bounds of a truncated distribution: below it the inverse CDF loses its
/// precision.
const MIN_PART: f64 = 1e-9;

fn check_bounds(min: Bytes, max: Bytes) -> Result<(), (&'static str, String)> {
    if min >= max {
        return Err(("max", format!("the maximum size {max} is not above the minimum {min}")));
    }
    Ok(())
}

/// Checks the probability mass within the bounds of a distribution.
fn check_part(part: f64) -> Result<(), (&'static str, String)> {
    if part < MIN_PART {
        return Err(("min", format!("less than {MIN_PART:e} of the distribution lies between min and max")));
    }
    Ok(())
}

/// A size parameter: a number of bytes, or a member of the family.
#[derive(Clone, Debug, PartialEq)]
pub struct Size(pub Spec);

impl Size {
    /// A constant size.
    pub const fn fixed(bytes: Bytes) -> Size {
        Size(Spec::Fixed(fixed::Params { bytes }))
    }
}

impl Param for Size {
    fn read(node: &Node) -> Result<Self, Error> {
        let is_member = match &node.value {
            Value::Table(_) => true,
            Value::Text(text) => text.starts_with(|first: char| first.is_ascii_alphabetic()),
            _ => false,
        };
        if is_member {
            return Spec::read(node).map(Size);
        }
        let bytes = Bytes::read(node)?;
        if !fixed::RANGE.contains(&bytes) {
            let (low, high) = range_text(&fixed::RANGE);
            return Err(node.error(format!("{bytes} is outside {low}..{high}")));
        }
        Ok(Size::fixed(bytes))
    }

    fn to_json(&self) -> Json {
        match &self.0 {
            Spec::Fixed(params) => params.bytes.to_json(),
            drawn => drawn.to_json(),
        }
    }

    fn schema() -> Json {
        let mut members = Spec::schema()["anyOf"].as_array().cloned().unwrap_or_default();
        let (low, high) = range_text(&fixed::RANGE);
        let mut bytes = Bytes::schema();
        bytes["x-range"] = json!([low, high]);
        members.push(bytes);
        json!({"anyOf": members})
    }

    fn complete(node: &mut Node, defaults: &Defaults) {
        Spec::complete(node, defaults);
    }

    fn adopt(&mut self, own: Option<&Node>, quirks: &Defaults) -> Result<(), Error> {
        self.0.adopt(own, quirks)
    }

    fn check_values(&self) -> Result<(), Fault> {
        self.0.check_values()
    }

    fn read_files(&mut self, files: &dyn Files) -> Result<(), Fault> {
        self.0.read_files(files)
    }
}

/// Rounds to whole bytes, at least one.
fn whole(size: f64) -> Bytes {
    Bytes((libm::round(size) as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(toml: &str) -> Spec {
        let node = Node::from_toml(toml, "test").unwrap();
        let spec = Spec::read(&node).unwrap();
        spec.check_values().unwrap();
        spec
    }

    fn draws(spec: &Spec) -> Vec<f64> {
        let (sizes, mut stream) = (spec.build(), Stream::new(5, "sizes"));
        let mut draws: Vec<f64> = (0..50_000).map(|_| sizes.draw(&mut stream).0 as f64).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    /// Checks mean and quantiles; the standard error of the mean of 5e4 draws is below 1 % here.
    fn agrees(spec: &Spec, mean: f64, quantiles: &[(f64, f64)]) {
        let draws = draws(spec);
        let found = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((found / mean - 1.0).abs() < 0.015, "{spec:?}: mean {found}, not {mean}");
        for (part, expected) in quantiles {
            let found = draws[(part * draws.len() as f64) as usize];
            assert!((found / expected - 1.0).abs() < 0.02, "{spec:?}: {part}: {found}, not {expected}");
        }
    }

    #[test]
    fn an_exponential_size_has_its_mean_and_quantiles() {
        let wide = spec("kind = \"exponential\"\nmean = \"100kB\"");
        agrees(&wide, 1e5, &[(0.5, 1e5 * std::f64::consts::LN_2), (0.95, 1e5 * 20f64.ln())]);
        // Between a and b the mean of the memoryless distribution is a + m - (b - a) / (e^((b - a)/m) - 1).
        let narrow = spec("kind = \"exponential\"\nmean = \"100kB\"\nmin = \"50kB\"\nmax = \"150kB\"");
        agrees(&narrow, 1.5e5 - 1e5 / (1f64.exp() - 1.0), &[]);
    }

    #[test]
    fn a_bounded_pareto_size_has_its_mean_and_quantiles() {
        let (a, low, high) = (1.2f64, 1e4f64, 1e6f64);
        let spec = spec("kind = \"pareto\"\nshape = 1.2\nmin = \"10kB\"\nmax = \"1MB\"");
        let within = 1.0 - (low / high).powf(a);
        let mean = low.powf(a) / within * a / (a - 1.0) * (low.powf(1.0 - a) - high.powf(1.0 - a));
        let quantile = |part: f64| low * (1.0 - part * within).powf(-1.0 / a);
        agrees(&spec, mean, &[(0.5, quantile(0.5)), (0.95, quantile(0.95))]);
    }

    #[test]
    fn a_lognormal_size_has_its_mean_and_quantiles() {
        let wide = spec("kind = \"lognormal\"\nmu = 10.0\nsigma = 0.5\nmin = \"1B\"\nmax = \"1GB\"");
        let median = 10f64.exp();
        agrees(&wide, (10f64 + 0.125).exp(), &[(0.5, median), (0.975, median * (0.5f64 * 1.959_964).exp())]);
        let upper = spec("kind = \"lognormal\"\nmu = 10.0\nsigma = 0.5\nmin = \"22026B\"\nmax = \"1GB\"");
        // Above the median: e^(mu + sigma^2/2) Phi(sigma) / (1/2), and Phi(0.5) = 0.691462.
        agrees(
            &upper,
            (10f64 + 0.125).exp() * 0.691_462 * 2.0,
            &[(0.5, median * (0.5f64 * 0.674_490).exp())],
        );
    }

    #[test]
    fn an_empirical_size_is_one_of_the_list_or_between_points() {
        let rows = |rows: &[[f64; 2]]| {
            Spec::Empirical(empirical::Params { path: String::new(), rows: rows.to_vec() })
        };
        agrees(&rows(&[[1000.0, -1.0], [3000.0, -1.0]]), 2000.0, &[(0.4, 1000.0), (0.6, 3000.0)]);
        // One tenth has 1000 bytes; the rest is uniform between 1000 and 3000.
        let points = rows(&[[1000.0, 0.1], [3000.0, 1.0]]);
        agrees(&points, 0.1 * 1000.0 + 0.9 * 2000.0, &[(0.05, 1000.0), (0.55, 2000.0)]);
    }

    #[test]
    fn bounds_are_kept() {
        for toml in [
            "kind = \"exponential\"\nmin = \"9kB\"\nmax = \"11kB\"",
            "kind = \"pareto\"\nmin = \"9kB\"\nmax = \"11kB\"",
            "kind = \"lognormal\"\nmin = \"9kB\"\nmax = \"11kB\"",
        ] {
            let draws = draws(&spec(toml));
            assert!(draws[0] >= 9e3 && draws[draws.len() - 1] <= 11e3, "{toml}");
        }
    }

    #[test]
    fn a_constant_size_is_written_as_a_number_of_bytes() {
        let read = |toml: &str| {
            let node = Node::from_toml(toml, "test").unwrap();
            let Value::Table(entries) = &node.value else { unreachable!() };
            Size::read(&entries[0].1)
        };
        let plain = read("size = \"3kB\"").unwrap();
        assert_eq!((plain.clone(), plain.to_json()), (Size::fixed(Bytes(3000)), json!("3kB")));
        assert_eq!(read("size = {kind = \"fixed\", bytes = \"3kB\"}").unwrap(), plain);
        assert!(matches!(read("size = \"pareto\"").unwrap(), Size(Spec::Pareto(_))));
        let refusal = |toml: &str| read(toml).unwrap_err().to_string();
        assert_eq!(refusal("size = \"0B\""), "test:1: 0B is outside 1B..1024GiB");
        assert_eq!(
            refusal("size = \"parto\""),
            "test:1: unknown size `parto`; did you mean `pareto`?; allowed: `fixed`, `exponential`, `pareto`, `lognormal`, `empirical`"
        );
    }
}
