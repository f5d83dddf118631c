//! A congestion control written in Python.

use super::outside::{self, Guarded, Outside};
use airwnd_catalog::Params;

/// Python: a congestion control written as a class in Python.
///
/// `cc = {kind = "python", class = "gentle.py:Gentle", gain = 0.5}` runs the class `Gentle`, a subclass of
/// `airwnd.CongestionControl`, from the file gentle.py in the scenario's folder. `"package.module:Gentle"` names a
/// class of an installed package, and `"Gentle"` a class registered in this process with `airwnd.register`. Files and
/// modules are executed only with `--allow-code` (in Python: `allow_code=True`). All other keys are arguments of the
/// constructor; docs/how-to/write-a-plugin.md has a complete example.
#[derive(Clone, Debug, PartialEq, Params)]
#[params(source = "the class")]
pub struct Head {
    /// The class: "file.py:Class", relative to the scenario's folder, "package.module:Class" or "Class".
    #[param(unit = "text", source = "the scenario")]
    pub class: String,
    /// Digest of the source text of the class and its bases. `none`: filled in when the scenario is read; a given value
    /// is compared.
    #[param(expert, default = None, unit = "text", source = "the class; FIPS 180-4")]
    pub sha256: Option<String>,
}

impl outside::Head for Head {
    fn label(&self) -> String {
        self.class.clone()
    }
}

/// The class and the arguments of its constructor.
pub type Params = Outside<Head>;
/// State of an object of the class.
pub type Python = Guarded;
