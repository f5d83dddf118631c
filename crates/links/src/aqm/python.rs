//! A queue discipline written in Python.

use super::{QueueContext, QueueDisc, drop_tail};
use airwnd_catalog::outside::{Class, Described, Family, Outside};

/// The class and the arguments of its constructor.
pub type Params = Outside<Class, dyn QueueDisc>;

impl Family for dyn QueueDisc {
    type Context = QueueContext;

    fn substitute(ctx: &QueueContext) -> Box<Self> {
        Box::new(drop_tail::DropTail::new(drop_tail::Params::default(), ctx))
    }
}

impl Described<Class> for dyn QueueDisc {
    const DOC: &'static str = "\
Python: a queue discipline written as a class in Python.

`{kind = \"python\", class = \"mine.py:Mine\", buffer_bytes = 100000}` runs the class `Mine`, a subclass of
`airwnd.QueueDiscipline`, from the file mine.py in the scenario's folder. It is executed only with `--code mine.py`
(in Python: `allow_code=True`). All other keys are arguments of the constructor; docs/how-to/write-a-plugin.md has a
complete example.";
}
