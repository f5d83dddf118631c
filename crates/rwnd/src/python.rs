//! A receive-window control written in Python.

use super::RwndController;
use airwnd_catalog::outside::{Class, Described, Outside};

/// The class and the arguments of its constructor.
pub type Params = Outside<Class, dyn RwndController>;

impl Described<Class> for dyn RwndController {
    const DOC: &'static str = "\
Python: a receive-window control written as a class in Python.

`rwnd = {kind = \"python\", class = \"mine.py:Mine\", target_s = 0.05}` runs the class `Mine`, a subclass of
`airwnd.ReceiveWindowControl`, from the file mine.py in the scenario's folder. It is executed only with `--code mine.py`
(in Python: `allow_code=True`). All other keys are arguments of the constructor; docs/how-to/write-a-plugin.md has a
complete example.";
}
