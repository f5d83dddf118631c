//! Writes the table of `bit_channel`, to be formatted with rustfmt:
//! `cargo run -p airwnd-phy --example bit_channel > crates/phy/src/bit_channel/table.rs`.

use airwnd_phy::bit_channel::tabulate;

fn main() {
    let (information, dispersion) = tabulate();
    println!(
        "//! Written by the example `bit_channel`. Each number is the shortest text that gives its value back."
    );
    println!();
    println!("use super::POINTS;");
    println!();
    println!("/// Per modulation, the mutual information of a coded bit at the grid's SINR.");
    println!("pub static INFORMATION: [[f64; POINTS]; 4] = {information:?};");
    println!();
    println!("/// The dispersion of a coded bit of QPSK, that is of a binary channel.");
    println!("pub static BINARY_DISPERSION: [f64; POINTS] = {dispersion:?};");
}
