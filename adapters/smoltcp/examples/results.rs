//! The results of a smoltcp download in a loaded cell as JSON, which are the same bytes on every platform.

use airwnd::{Pair, Path, Scenario};
use airwnd_smoltcp::{Control, OPTIONS, download};
use std::error::Error;
use std::time::Duration;

const CELL: &str = r#"
    duration = "5s"
    rlc.queue = { kind = "drop-tail", buffer = "300kB" }
    radio.fading = "epa"
    [[site]]
    [[ue]]
    name = "phone"
    placement = { kind = "ring", radius = "300m" }
    [[ue]]
    name = "others"
    count = 4
    placement = { kind = "disc", radius = "500m" }
    [[flow]]
    ue = "others"
    cc = "cubic"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut path = Path::new(&Scenario::from_toml(CELL)?, 1)?;
    let flow = path.open(path.ue("phone")?, OPTIONS)?;
    let (mut ue, mut server) = download(Control::Cubic, 1);
    path.run(&mut [Pair { flow, ue: &mut ue, server: &mut server }], Duration::from_secs(5))?;
    println!("{}", path.finish()?.to_json());
    Ok(())
}
