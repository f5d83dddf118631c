//! Simulates block errors and fits curves to them; see the crate's documentation.

use airwnd_linklevel::campaign::{ENOUGH, SEED, at_most, formats, points};
use airwnd_linklevel::crc::CRC_BITS;
use airwnd_linklevel::curve::Point;
use airwnd_linklevel::decoder::Settings;
use airwnd_linklevel::nr;
use airwnd_linklevel::record;
use cpu_time::ProcessTime;
use std::fs::File;
use std::io::{Error, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

const USAGE: &str = "usage: airwnd-linklevel simulate[-nr] POINTS.csv DATE | fit[-nr] POINTS.csv CURVES.csv";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["simulate", file, date] => simulate(file, date).map_err(|error| format!("{file}: {error}")),
        ["fit", from, to] => fit(from, to, record::curves),
        ["simulate-nr", file, date] => simulate_nr(file, date).map_err(|error| format!("{file}: {error}")),
        ["fit-nr", from, to] => fit(from, to, nr::record::curves),
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
fn fit(from: &str, to: &str, curves: fn(&str) -> Result<String, String>) -> Result<(), String> {
    let points = std::fs::read_to_string(from).map_err(|error| format!("{from}: {error}"))?;
    let curves = curves(&points).map_err(|error| format!("{from}: {error}"))?;
    std::fs::write(to, curves).map_err(|error| format!("{to}: {error}"))
}

/// Simulates NR's formats on all processors and writes them in their order, with the total processor time at the end.
fn simulate_nr(file: &str, date: &str) -> Result<(), Error> {
    let nr::decoder::Settings { iterations } = Default::default();
    let mut file = File::create(file)?;
    write!(
        file,
        "# Block errors of NR's LDPC code in white noise, simulated by airwnd-linklevel {}, {date}, seed {SEED}.\n\
         # Max-log demapper, sum-product decoder row after row, {iterations} iterations at most, stop by CRC.\n\
         # A point ends after {ENOUGH} failed and {ENOUGH} decoded blocks, or after {} blocks ({} of 2560 bits, {} of 8448).\n\
         # Each block is one code block of {CRC_BITS} CRC bits and random bits; its transmissions have versions 0, 2, 3, 1.\n\
         # base_graph,modulation_order,code_block_bits,coded_bits,transmissions,snr_db,blocks,failed\n",
        env!("CARGO_PKG_VERSION"),
        at_most(1024),
        at_most(2560),
        at_most(8448),
    )?;
    let (start, formats) = (ProcessTime::now(), nr::campaign::formats());
    let (next, workers) = (AtomicUsize::new(0), std::thread::available_parallelism()?.get());
    let (sender, results) = mpsc::channel();
    let mut curves: Vec<(usize, Vec<Point>)> = std::thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, formats) = (sender.clone(), &next, &formats);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(format) = formats.get(number) else { break };
                    sender.send((number, nr::campaign::points(*format))).expect("the receiver waits");
                }
            });
        }
        drop(sender);
        let progress = |number: usize| {
            let seconds = start.elapsed().as_secs_f64();
            eprintln!("{number} of {} curves, {seconds:.0} s", formats.len());
        };
        results
            .into_iter()
            .zip(1..)
            .inspect(|(_, number)| progress(*number))
            .map(|(curve, _)| curve)
            .collect()
    });
    curves.sort_by_key(|(number, _)| *number);
    for (number, points) in curves {
        for point in points {
            writeln!(file, "{}", nr::record::row(&formats[number], &point))?;
        }
    }
    writeln!(file, "# {:.0} s of processor time", start.elapsed().as_secs_f64())
}
