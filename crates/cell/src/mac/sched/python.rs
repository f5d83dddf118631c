//! A downlink scheduler written in Python.

use super::{Grid, Scheduler, rr};
use airwnd_catalog::outside::{Class, Described, Family, Outside};

/// The class and the arguments of its constructor.
pub type Params = Outside<Class, dyn Scheduler>;

impl Family for dyn Scheduler {
    type Context = Grid;

    fn substitute(grid: &Grid) -> Box<Self> {
        Box::new(rr::Rr::new(rr::Params::default(), grid))
    }
}

impl Described<Class> for dyn Scheduler {
    const DOC: &'static str = "\
Python: a downlink scheduler written as a class in Python.

`{kind = \"python\", class = \"mine.py:Mine\", window = 99}` runs the class `Mine`, a subclass of
`airwnd.DownlinkScheduler`, from the file mine.py in the scenario's folder. It is executed only with `--code mine.py`
(in Python: `allow_code=True`). All other keys are arguments of the constructor; docs/how-to/write-a-plugin.md has a
complete example.";
}
