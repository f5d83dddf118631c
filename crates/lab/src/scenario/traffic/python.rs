//! A traffic source written in Python.

use super::{FlowContext, Source, Transport, Write};
use airwnd_catalog::Params as ParamSet;
use airwnd_catalog::outside::{self, Class, Described, Family, Outside};
use airwnd_units::Time;

/// The class, and what a scenario must know of it without executing code.
#[derive(Clone, Debug, PartialEq, ParamSet)]
#[params(source = "the class")]
pub struct Head {
    /// The class: "file.py:Class", relative to the scenario's folder, "package.module:Class" or "Class".
    #[param(unit = "text", source = "the scenario")]
    pub class: String,
    /// Transport protocol.
    #[param(basic, default = Transport::Tcp, unit = "word", source = "a choice")]
    pub transport: Transport,
    /// Whether its flows end by themselves, which `arrivals` that continue require.
    #[param(
        basic,
        default = false,
        unit = "true or false",
        source = "a choice: flows last until their stop"
    )]
    pub ends: bool,
    /// Digest of the source text of the class and its bases. `none`: filled in when the scenario is read; a given value
    /// is compared.
    #[param(expert, default = None, unit = "text", source = "the class; FIPS 180-4")]
    pub sha256: Option<String>,
}

impl outside::Head for Head {
    fn label(&self) -> String {
        self.class.clone()
    }

    fn name(&self) -> &str {
        &self.class
    }
}

impl outside::ClassHead for Head {
    fn class(&self) -> Class {
        Class { class: self.class.clone(), sha256: self.sha256.clone() }
    }

    fn set_digest(&mut self, sha256: String) {
        self.sha256 = Some(sha256);
    }
}

/// The head and the arguments of the constructor.
pub type Params = Outside<Head, dyn Source>;

/// A source without data, in place of one that could not be created.
struct Silent;

impl Source for Silent {
    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    fn write(&mut self, _now: Time) -> Write {
        Write::Later(Time::NEVER)
    }
}

impl Family for dyn Source {
    type Context = FlowContext;

    fn substitute(_ctx: &FlowContext) -> Box<Self> {
        Box::new(Silent)
    }
}

impl Described<Head> for dyn Source {
    const DOC: &'static str = "\
Python: a traffic source written as a class in Python.

`traffic = {kind = \"python\", class = \"mine.py:Mine\", transport = \"udp\", rate_bps = 1e6}` runs the class `Mine`, a
subclass of `airwnd.TrafficSource`, from the file mine.py in the scenario's folder. It is executed only with
`--code mine.py` (in Python: `allow_code=True`). All keys but `transport` and `ends` are arguments of the constructor;
docs/how-to/write-a-plugin.md has a complete example.";
}
