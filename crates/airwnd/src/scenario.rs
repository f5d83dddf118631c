//! Scenarios from TOML or from a builder.

use crate::Ue;
use airwnd_catalog::{Error, Node, Value};
use airwnd_lab::radio::RadioFilter;
use airwnd_lab::{Outcome, Records};
use std::path::Path as FilePath;
use std::time::Duration;

/// A network with its UEs and simulated flows, checked.
///
/// A scenario is TOML; [its keys](https://github.com/airwnd/airwnd/blob/main/docs/reference/README.md) are those of the
/// command line. A key that is not set has a default with a source.
///
/// ```
/// let scenario = airwnd::Scenario::from_toml(r#"
///     duration = "2s"
///     [[site]]
///     [[ue]]
///     [[flow]]
///     cc = "cubic"
/// "#)?;
/// let outcome = scenario.run(1)?;
/// assert!(outcome.flows()[0].goodput_kbps > 1000.0);
/// # Ok::<(), airwnd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    node: Node,
    checked: airwnd_lab::Scenario,
}

impl Scenario {
    /// Reads a scenario from a TOML text. File names in it are relative to the working directory.
    ///
    /// # Errors
    /// An invalid scenario; the message is one line with line, key and allowed values.
    ///
    /// ```
    /// let error = airwnd::Scenario::from_toml("duration = \"1s\"\n[[ue]]\ncuont = 2\n[[site]]\n").unwrap_err();
    /// assert!(error.to_string().starts_with("scenario:3: ue[0]: unknown key `cuont`"), "{error}");
    /// ```
    pub fn from_toml(text: &str) -> Result<Scenario, Error> {
        Scenario::from_node(Node::from_toml(text, "scenario")?)
    }

    /// Reads a scenario from a file. File names in it are relative to the file's folder.
    ///
    /// # Errors
    /// A file that cannot be read, or an invalid scenario.
    pub fn read(path: impl AsRef<FilePath>) -> Result<Scenario, Error> {
        let path = path.as_ref();
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::new(&origin, None, format!("cannot be read: {error}")))?;
        Scenario::from_node(Node::from_toml(&text, &origin)?)
    }

    /// Begins an empty scenario.
    pub fn builder() -> ScenarioBuilder {
        ScenarioBuilder { node: Ok(Node::new(Value::Table(Vec::new()), "scenario")) }
    }

    /// A scenario that was checked elsewhere, with its source.
    #[doc(hidden)]
    pub fn of(node: Node, checked: airwnd_lab::Scenario) -> Scenario {
        Scenario { node, checked }
    }

    fn from_node(node: Node) -> Result<Scenario, Error> {
        let checked = airwnd_lab::Scenario::from_node(&node)?;
        Ok(Scenario { node, checked })
    }

    /// Returns the scenario with another value of a key, as `airwnd run --set` does. The value is TOML; a bare word is
    /// a text.
    ///
    /// # Errors
    /// A key that does not exist, or a scenario that is invalid with this value.
    ///
    /// ```
    /// # let scenario = airwnd::Scenario::from_toml("duration = \"1s\"\n[[site]]\n[[ue]]\n[[flow]]\n")?;
    /// let codel = scenario.with("rlc.queue", "codel")?.with("ue[0].count", "4")?;
    /// assert_eq!(codel.ue_names(), ["ue-0", "ue-1", "ue-2", "ue-3"]);
    /// # Ok::<(), airwnd::Error>(())
    /// ```
    pub fn with(&self, key: &str, value: &str) -> Result<Scenario, Error> {
        let mut node = self.node.clone();
        node.set(key, value)?;
        Scenario::from_node(node)
    }

    /// Duration of a run; a [`Path`](crate::Path) may last longer or shorter.
    pub fn duration(&self) -> Duration {
        Duration::from_nanos(self.checked.duration().0)
    }

    /// Names of the UEs in the order of their numbers: that of their group and a number within it.
    pub fn ue_names(&self) -> Vec<String> {
        let groups = self.checked.ue.iter();
        groups.flat_map(|group| (0..group.count).map(|index| format!("{}-{index}", group.name))).collect()
    }

    /// All values, defaults included, as JSON.
    pub fn to_json(&self) -> String {
        self.checked.to_json().to_string()
    }

    /// Simulates the scenario for its duration with a seed.
    ///
    /// # Errors
    /// A scenario without flows, or one whose network cannot be built.
    pub fn run(&self, seed: u64) -> Result<Outcome, Error> {
        self.run_recorded(seed, &Records::default())
    }

    /// Simulates the scenario and keeps the requested records, such as time series.
    ///
    /// # Errors
    /// As [`Scenario::run`], or records that the scenario cannot provide.
    pub fn run_recorded(&self, seed: u64, records: &Records) -> Result<Outcome, Error> {
        airwnd_lab::run_tapped(&self.checked, seed, records, None, &mut |_| true)
    }

    /// Selects records of the radio interface for [`Records::radio`]: those of these layers (`mac`, `rlc`, `rrc`; none:
    /// all) and of these UEs (none: all).
    ///
    /// # Errors
    /// A scenario without cells, an unknown layer, or an unknown UE.
    ///
    /// ```
    /// use airwnd::{Path, Records, Scenario, Ue};
    /// let scenario = Scenario::from_toml("duration = \"1s\"\n[[site]]\n[[ue]]\n[[flow]]\n")?;
    /// let radio = Some(scenario.radio_filter(&["mac"], &[Ue(0)])?);
    /// let mut path = Path::recorded(&scenario, 1, &Records { radio, ..Records::default() })?;
    /// path.advance(std::time::Duration::from_millis(100))?;
    /// let (_, tables) = path.finish_traced()?;
    /// assert_eq!(tables[0].0, "radio_grants");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn radio_filter(&self, layers: &[&str], ues: &[Ue]) -> Result<RadioFilter, Error> {
        let layers: Vec<String> = layers.iter().map(|layer| layer.to_string()).collect();
        let ues: Vec<String> = ues.iter().map(|Ue(number)| format!("ue-{number}")).collect();
        self.checked.radio_filter(&layers, &ues, None)
    }

    pub(crate) fn checked(&self) -> &airwnd_lab::Scenario {
        &self.checked
    }
}

/// Builds a [`Scenario`] key by key.
///
/// ```
/// let scenario = airwnd::Scenario::builder()
///     .set("duration", "60s")
///     .set("rlc.queue", r#"{ kind = "drop-tail", buffer = "1MB" }"#)
///     .add("site", [])
///     .add("ue", [("name", "phone"), ("placement.kind", "disc"), ("placement.radius", "300m")])
///     .add("ue", [("name", "others"), ("count", "4")])
///     .add("flow", [("ue", "others"), ("cc", "cubic")])
///     .build()?;
/// assert_eq!(scenario.ue_names().len(), 5);
/// # Ok::<(), airwnd::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScenarioBuilder {
    /// The first error ends the construction.
    node: Result<Node, Error>,
}

impl ScenarioBuilder {
    /// Sets a key such as `rlc.queue` or `ue[0].count`. The value is TOML; a bare word or a quantity such as `20ms` is a
    /// text.
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.node = self.node.and_then(|mut node| {
            node.set(key, value)?;
            Ok(node)
        });
        self
    }

    /// Adds an entry of a list, such as `ue`, `flow`, `site` or `link`, with these keys.
    pub fn add<const N: usize>(mut self, list: &str, keys: [(&str, &str); N]) -> Self {
        self.node = self.node.and_then(|mut node| {
            let mut entry = Node::new(Value::Table(Vec::new()), "scenario");
            keys.iter().try_for_each(|(key, value)| entry.set(key, value))?;
            let Value::Table(entries) = &mut node.value else { unreachable!("the root is a table") };
            match entries.iter_mut().find(|(name, _)| name == list).map(|(_, existing)| &mut existing.value) {
                Some(Value::List(items)) => items.push(entry),
                Some(_) => return Err(Error::new("scenario", None, format!("`{list}` is not a list"))),
                None => {
                    let items = Node::new(Value::List(vec![entry]), "scenario");
                    entries.push((list.to_string(), items));
                }
            }
            Ok(node)
        });
        self
    }

    /// Checks the scenario.
    ///
    /// # Errors
    /// The first invalid key or value, in one line.
    pub fn build(self) -> Result<Scenario, Error> {
        Scenario::from_node(self.node?)
    }
}
