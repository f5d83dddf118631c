//! The options of `test` and `serve`.

use super::requirement::Requirement;
use super::run::Outcome;
use super::{run, server};
use crate::Error;
use crate::spec;
use clap::{Args, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Exit code if a requirement is not met, as of `airwnd link`, and that of a shell for a command that SIGINT has ended.
const UNMET: u8 = 3;
const INTERRUPTED: u8 = 130;
/// Receive-window control of the guard's own rules.
const DEFAULT: &str = "standing";

#[derive(Debug, Args)]
pub(crate) struct Test {
    /// Machine that runs `airwnd guard serve`: a name or an address, with the port unless it is 9551
    #[arg(value_name = "SERVER[:PORT]")]
    server: String,
    /// Length of the test; queues that drain slowly make it longer
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(30..=600))]
    seconds: u64,
    /// Receive-window control of the guarded downloads, as in scenarios; default: that of the guard
    #[arg(long, value_name = "SPEC")]
    rwnd: Option<String>,
    /// Connections in each direction
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=16))]
    flows: u8,
    /// Measure both directions at the same time as well
    #[arg(long)]
    both: bool,
    /// End with exit code 3 unless a figure keeps a bound, as in 'download_guarded.added_ms < 30': row, key and unit are
    /// those of --json; repeatable
    #[arg(long, value_name = "CONDITION")]
    require: Vec<String>,
    /// Write figures and samples to FILE, as a JSON object
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json: Option<PathBuf>,
    /// Draw ping and goodput over time to FILE, in SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Address and port, TCP and UDP; default: port 9551 of all addresses
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Tests at the same time; one client has at most half of them
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    clients: u8,
    /// Data of a test, in both directions together
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    gigabytes: u16,
}

/// Measures; returns the exit code.
pub(crate) fn test(options: Test) -> Result<u8, Error> {
    let Test { server, seconds, rwnd, flows, both, require, json, svg } = options;
    let rules = spec::rules(rwnd.as_deref())?;
    let required = require.iter().map(|text| Requirement::parse(text)).collect::<Result<_, _>>()?;
    let outcome = run::run(&run::Options {
        server,
        length: Duration::from_secs(seconds),
        flows: flows.into(),
        has_both: both,
        rules,
        rwnd: rwnd.unwrap_or(DEFAULT.to_string()),
        required,
        json,
        svg,
    })?;
    Ok(match outcome {
        Outcome::Met => 0,
        Outcome::Unmet => UNMET,
        Outcome::Interrupted => INTERRUPTED,
    })
}

/// Serves until it is interrupted.
pub(crate) fn serve(options: &Serve) -> Result<(), Error> {
    let bytes = u64::from(options.gigabytes) * 1_000_000_000;
    server::run(options.listen, server::Limits { clients: options.clients.into(), bytes })
}
