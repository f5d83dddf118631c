//! A congestion control written in Python.

use super::CongestionControl;
use airwnd_catalog::outside::{Class, Described, Outside};

/// The class and the arguments of its constructor.
pub type Params = Outside<Class, dyn CongestionControl>;

impl Described<Class> for dyn CongestionControl {
    const DOC: &'static str = "\
Python: a congestion control written as a class in Python.

`cc = {kind = \"python\", class = \"gentle.py:Gentle\", gain = 0.5}` runs the class `Gentle`, a subclass of
`airwnd.CongestionControl`, from the file gentle.py in the scenario's folder. `\"package.module:Gentle\"` names a
class of an installed package, and `\"Gentle\"` a class registered in this process with `airwnd.register`. Files and
modules are executed only with `--code gentle.py` (in Python: `allow_code=True`). All other keys are arguments of the
constructor; docs/how-to/write-a-plugin.md has a complete example.";
}
