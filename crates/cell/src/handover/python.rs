//! A handover algorithm written in Python.

use super::{Context, Handover, none};
use airwnd_catalog::outside::{Class, Described, Family, Outside};

/// The class and the arguments of its constructor.
pub type Params = Outside<Class, dyn Handover>;

impl Family for dyn Handover {
    type Context = Context;

    fn substitute(ctx: &Context) -> Box<Self> {
        Box::new(none::Never::new(none::Params::default(), ctx))
    }
}

impl Described<Class> for dyn Handover {
    const DOC: &'static str = "\
Python: a handover algorithm written as a class in Python.

`algorithm = {kind = \"python\", class = \"mine.py:Mine\", margin_db = 3}` runs the class `Mine`, a subclass of
`airwnd.HandoverAlgorithm`, from the file mine.py in the scenario's folder. It is executed only with `--code mine.py`
(in Python: `allow_code=True`). All other keys are arguments of the constructor; docs/how-to/write-a-plugin.md has a
complete example.";
}
