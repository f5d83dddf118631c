//! Simulates block errors and fits curves to them; see the crate's documentation.

use airwnd_linklevel::campaign::{ENOUGH, SEED, at_most, formats, points};
use airwnd_linklevel::crc::CRC_BITS;
use airwnd_linklevel::decoder::Settings;
use airwnd_linklevel::record;
use cpu_time::ProcessTime;
use std::fs::File;
use std::io::{Error, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: airwnd-linklevel simulate POINTS.csv DATE | fit POINTS.csv CURVES.csv";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["simulate", file, date] => simulate(file, date).map_err(|error| format!("{file}: {error}")),
        ["fit", from, to] => fit(from, to),
        _ => Err(USAGE.to_string()),
    };
    let Err(message) = done else { return ExitCode::SUCCESS };
    eprintln!("{message}");
    ExitCode::from(2)
}

/// Writes each curve's points as soon as they are known, and the total processor time at the end.
fn simulate(file: &str, date: &str) -> Result<(), Error> {
    let Settings { iterations, extrinsic_scale } = Settings::default();
    let mut file = File::create(file)?;
    write!(
        file,
        "# Block errors of LTE's turbo code in white noise, simulated by airwnd-linklevel {}, {date}, seed {SEED}.\n\
         # Max-log demapper, max-log-MAP decoder, {iterations} iterations at most, extrinsic information x {extrinsic_scale:.2}, \
         stop by CRC.\n\
         # A point ends after {ENOUGH} failed and {ENOUGH} decoded blocks, or after {} blocks ({} of 2048 bits, {} of 4096, {} of 6144).\n\
         # Each block is one code block of {CRC_BITS} CRC bits and random bits; its transmissions have versions 0, 2, 3, 1.\n\
         # modulation_order,code_block_bits,coded_bits,transmissions,snr_db,blocks,failed\n",
        env!("CARGO_PKG_VERSION"),
        at_most(1024),
        at_most(2048),
        at_most(4096),
        at_most(6144),
    )?;
    let (start, formats) = (ProcessTime::now(), formats());
    for (number, format) in formats.iter().enumerate() {
        for point in points(*format) {
            writeln!(file, "{}", record::row(format, &point))?;
        }
        eprintln!("{} of {} curves, {:.0} s", number + 1, formats.len(), start.elapsed().as_secs_f64());
    }
    writeln!(file, "# {:.0} s of processor time", start.elapsed().as_secs_f64())
}

/// Fits curves to the points of single transmissions and writes them.
fn fit(from: &str, to: &str) -> Result<(), String> {
    let points = std::fs::read_to_string(from).map_err(|error| format!("{from}: {error}"))?;
    let curves = record::curves(&points).map_err(|error| format!("{from}: {error}"))?;
    std::fs::write(to, curves).map_err(|error| format!("{to}: {error}"))
}
