//! Writes the reference pages: `cargo run -p airwnd-lab --example reference -- docs/reference`.

#[path = "../tests/it/support/reference.rs"]
mod reference;

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).expect("the folder to write to"));
    std::fs::create_dir_all(&folder)?;
    for (name, text) in reference::pages() {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
