//! The command line.

use crate::cgroup;
use crate::check::{self, Finding};
use crate::command;
use crate::control;
use crate::daemon::{self, Options, Source};
use crate::error::Error;
use crate::install::{self, Init, Program, Service};
use crate::live;
use crate::log;
use crate::measure;
use crate::output;
use crate::processes::Processes;
use crate::rules::OFFERED;
use crate::shape::{self, Discipline};
use crate::spec;
use crate::table;
use airwnd_shape::capacity::Way;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::{Value as Json, json};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Exit code for bad input, and for a system on which the guard cannot run.
const REFUSED: u8 = 2;
/// Value of an option that is the name or table of a receive-window control.
const SPEC: &str = "SPEC";

/// Keep the queue of your access link short: limit the receive windows of downloads on this machine.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the flows of the running guards: rate, RTT, window, and why a flow is left alone
    Status {
        /// Print the states as JSON, one line per guard, with all flows
        #[arg(long)]
        json: bool,
        /// Show the N fastest flows of each place
        #[arg(long, value_name = "N", default_value_t = log::SHOWN, conflicts_with = "all")]
        top: usize,
        /// Show all flows
        #[arg(long, conflicts_with = "live")]
        all: bool,
        /// Print them anew every second, sorted by rate, until Ctrl-C
        #[arg(long, conflicts_with = "json")]
        live: bool,
    },
    /// Run a command, and guard its connections alone, until it ends: airwnd guard run -- curl -O URL
    Run(Single),
    /// Shape what an access link carries in both directions, at rates that follow its capacity
    Shape(Shape),
    /// Run the guard as a service, from now on and after each start of the machine: of systemd, or of procd on OpenWrt
    Install(Install),
    /// Undo `install`: end the service, and remove everything that was made
    Uninstall {
        #[command(flatten)]
        place: Place,
    },
    /// Measure ping and goodput of your link to a server, without and with the guard, with a grade for each load
    Test(measure::Test),
    /// Be the server of `airwnd guard test`: downloads, uploads and replies to pings, bounded for use on the Internet
    Serve(measure::Serve),
    /// Report what this kernel can do and what is missing; exit code 2 if the guard cannot run
    Check,
    /// Show a download with a ping beside it in a cell of `airwnd link`, without and with the guard
    Demo {
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Print the completion script of `airwnd-guard` for a shell
    Completions {
        /// Shell that reads it
        #[arg(value_parser = ["bash", "zsh", "fish"])]
        shell: String,
    },
    /// Print the man page of `airwnd-guard`
    Man,
}

#[derive(Debug, Args)]
struct Shape {
    /// Interface that leads to the access link, such as the WAN side of a router
    #[arg(value_name = "INTERFACE")]
    interface: String,
    /// Shape one direction only
    #[arg(long, value_parser = ["up", "down"])]
    only: Option<String>,
    /// Queue discipline; default: the first of them that the kernel has
    #[arg(long, value_parser = ["cake", "fq_codel", "tbf"])]
    qdisc: Option<String>,
    /// Append rates, load and queues to FILE every second, as one JSON object per line; from 16 MiB on FILE is renamed to
    /// FILE.1 and begins anew
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json_log: Option<PathBuf>,
    /// Remove the shapers of a guard that was killed
    #[arg(long, conflicts_with_all = ["only", "qdisc", "json_log"])]
    undo: bool,
}

#[derive(Debug, Args)]
struct Single {
    /// Rules: which flows get which receive-window control
    #[arg(long, value_name = "RULES.toml", value_hint = ValueHint::FilePath, conflicts_with = "rwnd")]
    rules: Option<PathBuf>,
    /// Receive-window control of all flows, as in scenarios; without rules and this option: that of the guard
    #[arg(long, value_name = SPEC)]
    rwnd: Option<String>,
    /// The command with its arguments, which runs as the user of the guard: put `sudo -u USER` before it for another one
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    words: Vec<OsString>,
}

#[derive(Debug, Args)]
struct Install {
    /// On a router: guard what is forwarded to this interface, which leads to the receivers; repeatable; without it,
    /// all sockets of the machine are guarded
    #[arg(long, value_name = "INTERFACE")]
    router: Vec<String>,
    /// Receive-window control of all flows, as in scenarios
    #[arg(long, value_name = SPEC)]
    rwnd: Option<String>,
    /// Program that starts services; default: the one of the system
    #[arg(long, value_parser = ["systemd", "procd"])]
    init: Option<String>,
    /// Executable to install; default: this one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    binary: Option<PathBuf>,
    /// Command by which the service starts the guard
    #[arg(long, hide = true, conflicts_with = "binary")]
    command: Option<String>,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Args)]
struct Place {
    /// Folder of the system, where nothing is started or ended unless it is /
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    root: PathBuf,
    /// Only list the files
    #[arg(long)]
    dry_run: bool,
}

impl From<Place> for install::Place {
    fn from(place: Place) -> install::Place {
        install::Place { root: place.root, is_dry: place.dry_run }
    }
}

#[derive(Debug, Args)]
struct Run {
    /// Guard the sockets of this cgroup (version 2) and of those below; repeatable
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    cgroup: Vec<PathBuf>,
    /// Guard all sockets of the machine, or of the container: the root cgroup
    #[arg(long)]
    all: bool,
    /// On a router: guard what is forwarded to this interface, which leads to the receivers; repeatable
    #[arg(long, value_name = "INTERFACE")]
    forward: Vec<String>,
    /// Rules: which flows get which receive-window control; read again when it changes, and on SIGHUP
    #[arg(value_name = "RULES.toml", value_hint = ValueHint::FilePath, conflicts_with = "rwnd")]
    rules: Option<PathBuf>,
    /// Receive-window control of all flows, as in scenarios: `drwa` or `{kind = "drwa", lambda = 2.0}`; without rules and
    /// this option: `standing`, and `{kind = "drwa", lambda = 1.5}` for flows without TCP timestamps
    #[arg(long, value_name = SPEC)]
    rwnd: Option<String>,
    /// Append the state of the 20 fastest flows of each place to FILE every second, as one JSON object per line; from
    /// 16 MiB on FILE is renamed to FILE.1 and begins anew
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    json_log: Option<PathBuf>,
    /// Serve the state of the 20 fastest flows of each place to Prometheus at ADDRESS, as in 127.0.0.1:9550; there is no authentication
    #[arg(long, value_name = "ADDRESS")]
    prometheus: Option<SocketAddr>,
    /// Record every observation and its answer in FILE, up to 144 kB per second and flow
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    record: Option<PathBuf>,
}

/// The command without Python.
const BINARY: &str = "airwnd-guard";
/// Commands that it alone has.
const BINARY_ONLY: [&str; 2] = ["completions", "man"];

/// Runs the command `name` with these arguments; returns the exit code.
pub fn main(name: &'static str, arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut command = Cli::command().name(name).bin_name(name);
    let refused: &[&str] = if name == BINARY { &[] } else { &BINARY_ONLY };
    for own in refused {
        command = command.mut_subcommand(own, |each| each.hide(true));
    }
    let words = std::iter::once(name.into()).chain(arguments);
    let parsed = command.try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let outcome = match parsed {
        Ok(Cli { command: None, run: options }) => run(&options),
        Ok(Cli { command: Some(Command::Status { live: true, top, .. }), .. }) => live::run(top),
        Ok(Cli { command: Some(Command::Status { json, top, all, .. }), .. }) => {
            status(json, if all || json { usize::MAX } else { top })
        }
        Ok(Cli { command: Some(Command::Check), .. }) => check(),
        Ok(Cli { command: Some(Command::Shape(options)), .. }) => shape(options),
        Ok(Cli { command: Some(Command::Test(options)), .. }) => match measure::test(options) {
            Ok(code) if code > 0 => return code,
            outcome => outcome.map(drop),
        },
        Ok(Cli { command: Some(Command::Run(options)), .. }) => match run_command(&options) {
            Ok(code) if code > 0 => return code,
            outcome => outcome.map(drop),
        },
        Ok(Cli { command: Some(Command::Serve(options)), .. }) => measure::serve(&options),
        Ok(Cli { command: Some(Command::Install(options)), .. }) => install(options),
        Ok(Cli { command: Some(Command::Uninstall { place }), .. }) => install::uninstall(&place.into()),
        Ok(Cli { command: Some(Command::Demo { .. }), .. }) => {
            Err(Error::new("demo needs Python: install the package airwnd, then run: sudo airwnd guard demo"))
        }
        Ok(Cli { command: Some(Command::Completions { .. } | Command::Man), .. }) if name != BINARY => Err(
            Error::new("this is a command of airwnd-guard; use: airwnd completion SHELL, man airwnd-guard"),
        ),
        Ok(Cli { command: Some(Command::Completions { shell }), .. }) => completions(&shell),
        Ok(Cli { command: Some(Command::Man), .. }) => man(),
        Err(help) if !help.use_stderr() => output::print(help.to_string()),
        Err(error) => Err(Error::new(one_line(&error))),
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{name}: {error}");
            REFUSED
        }
    }
}

/// The message with the nearest word that exists, without usage.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let message = line.strip_prefix("error: ").unwrap_or(line);
    let nearest = |kind| match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.first().cloned(),
        _ => None,
    };
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    // The lines below the first name several arguments.
    let listed = [ContextKind::InvalidArg, ContextKind::PriorArg].into_iter().find_map(|kind| {
        match error.get(kind)? {
            ContextValue::Strings(words) if message.ends_with(':') => Some(words.join(", ")),
            _ => None,
        }
    });
    match (kinds.into_iter().find_map(nearest), listed) {
        (Some(word), _) => format!("{message}; did you mean `{word}`?"),
        (None, Some(listed)) => format!("{message} {listed}"),
        (None, None) => message.to_string(),
    }
}

fn run(run: &Run) -> Result<(), Error> {
    let mut cgroups = run.cgroup.clone();
    if let Some(root) = cgroups.iter().find(|path| !run.all && cgroup::is_root(path)) {
        return Err(Error::new(format!(
            "--cgroup {}: this is every socket of the machine; confirm with --all",
            root.display()
        )));
    }
    if run.all {
        cgroups.push(cgroup::root()?);
    }
    let interfaces = run.forward.clone();
    if cgroups.is_empty() && interfaces.is_empty() {
        return Err(Error::new(
            "nothing to guard; name a cgroup: --cgroup PATH, or --all for all sockets; \
             on a router: --forward INTERFACE",
        ));
    }
    let source = source(run.rules.as_deref(), run.rwnd.as_deref())?;
    daemon::run(&Options {
        cgroups,
        interfaces,
        source,
        json_log: run.json_log.clone(),
        prometheus: run.prometheus,
        record: run.record.clone(),
    })
}

fn source(rules: Option<&Path>, rwnd: Option<&str>) -> Result<Source, Error> {
    match rules {
        Some(path) => Source::of(path),
        None => Ok(Source::Options(spec::rules(rwnd)?)),
    }
}

fn run_command(options: &Single) -> Result<u8, Error> {
    let rules = source(options.rules.as_deref(), options.rwnd.as_deref())?.read()?;
    let (program, arguments) = options.words.split_first().expect("the command line requires a word");
    command::run(program, arguments, rules)
}

fn status(json: bool, shown: usize) -> Result<(), Error> {
    for (process, state) in control::states(&mut Processes::default(), shown)? {
        output::print(if json { format!("{state}\n") } else { table::table(&process, &state) })?;
    }
    Ok(())
}

fn check() -> Result<(), Error> {
    let mut missing = 0;
    for Finding { what, outcome } in check::findings() {
        match outcome {
            Ok(()) => output::print(format!("{what}: ok\n"))?,
            Err(why) => {
                missing += 1;
                output::print(format!("{what}: {why}\n"))?;
            }
        }
    }
    if missing == 0 { Ok(()) } else { Err(Error::new("not everything can run here, see above")) }
}

fn shape(options: Shape) -> Result<(), Error> {
    let Shape { interface, only, qdisc, json_log, undo } = options;
    if undo {
        let what = if shape::undo(&interface)? { "removed the shapers" } else { "there are no shapers" };
        return output::print(format!("{interface}: {what}\n"));
    }
    let ways = match only.as_deref() {
        Some("up") => vec![Way::Up],
        Some(_) => vec![Way::Down],
        None => vec![Way::Up, Way::Down],
    };
    let discipline =
        qdisc.and_then(|word| Discipline::ALL.into_iter().find(|discipline| discipline.word() == word));
    shape::run(&shape::Options { interface, ways, discipline, json_log })
}

fn install(options: Install) -> Result<(), Error> {
    let Install { router, rwnd, init, binary, command, place } = options;
    if let Some(spec) = &rwnd {
        spec::read(spec)?;
    }
    let program = match (command, binary) {
        (Some(command), _) => Program::Command(command),
        (None, Some(file)) => Program::Copy(file),
        (None, None) => Program::Copy(
            std::env::current_exe().map_err(|why| Error::failed("cannot find this program", &why))?,
        ),
    };
    let init = init.map(|name| if name == "procd" { Init::Procd } else { Init::Systemd });
    install::install(&place.into(), &Service { init, router, rwnd, program })
}

fn completions(shell: &str) -> Result<(), Error> {
    let shell: Shell = shell.parse().map_err(|_| Error::new(format!("no completion for {shell}")))?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), BINARY, &mut script);
    output::print(script)
}

fn man() -> Result<(), Error> {
    let mut page = Vec::new();
    write_man(&mut page).map_err(|why| Error::failed("cannot write the man page", &why))?;
    output::print(page)
}

/// One page: the commands have sections in it instead of pages of their own.
fn write_man(page: &mut Vec<u8>) -> io::Result<()> {
    let mut command = Cli::command().name(BINARY).disable_help_subcommand(true);
    command.build();
    let man = Man::new(command.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    for each in command.get_subcommands() {
        let about = each.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(page, ".SH \"{BINARY} {}\"\n{about}.", each.get_name())?;
        let mut options = Vec::new();
        Man::new(each.clone()).render_options_section(&mut options)?;
        let options = String::from_utf8_lossy(&options);
        page.write_all(options.replace(".SH OPTIONS\n", "").as_bytes())?;
    }
    Ok(())
}

/// Describes the command line for other front ends: `about`, `options` with `names`, `value`, `help` and `is_path`, and
/// `commands` by name.
pub fn commands() -> Json {
    let mut command = Cli::command();
    command.build();
    describe(&command)
}

fn describe(command: &clap::Command) -> Json {
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string).unwrap_or_default();
    let is_path = |arg: &Arg| matches!(arg.get_value_hint(), ValueHint::FilePath | ValueHint::DirPath);
    let value = |arg: &Arg| {
        let names = arg.get_value_names().filter(|_| arg.get_action().takes_values());
        names.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    let visible = || command.get_arguments().filter(|arg| !arg.is_hide_set());
    let options = visible().map(|arg| {
        let short = arg.get_short().map(|letter| format!("-{letter}"));
        let names: Vec<String> =
            short.into_iter().chain(arg.get_long().map(|name| format!("--{name}"))).collect();
        let possible = arg.get_possible_values();
        let values: Vec<&str> = match value(arg).as_deref() {
            Some(SPEC) => OFFERED.to_vec(),
            _ => possible.iter().map(|value| value.get_name()).collect(),
        };
        json!({
            "names": names, "value": value(arg), "values": values, "is_path": is_path(arg),
            "help": text(arg.get_help()),
        })
    });
    let commands = command.get_subcommands().filter(|each| each.get_name() != "help");
    json!({
        "about": text(command.get_about()),
        "options": options.collect::<Vec<_>>(),
        "commands": commands.map(|each| (each.get_name().to_string(), describe(each)))
            .collect::<serde_json::Map<_, _>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_mistake_names_the_nearest_word() {
        let said = |words: &[&str]| {
            let words = std::iter::once(&BINARY).chain(words);
            one_line(&Cli::command().try_get_matches_from(words).unwrap_err())
        };
        assert_eq!(said(&["--al"]), "unexpected argument '--al' found; did you mean `--all`?");
        assert_eq!(
            said(&["status", "--lives"]),
            "unexpected argument '--lives' found; did you mean `--live`?"
        );
        assert_eq!(said(&["completions", "bsh"]), "invalid value 'bsh' for '<SHELL>'; did you mean `bash`?");
        assert_eq!(said(&["--bogus"]), "unexpected argument '--bogus' found");
        let missing = "the following required arguments were not provided:";
        assert_eq!(said(&["run"]), format!("{missing} <COMMAND>..."));
        assert_eq!(said(&["shape"]), format!("{missing} <INTERFACE>"));
        assert_eq!(
            said(&["shape", "lo", "--undo", "--only", "up", "--qdisc", "cake"]),
            "the argument '--undo' cannot be used with: --only <ONLY>, --qdisc <QDISC>"
        );
    }

    #[test]
    fn the_man_page_has_all_commands_and_options() {
        let mut page = Vec::new();
        write_man(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap().replace('\\', "");
        for text in ["airwnd-guard status", "airwnd-guard check", "--record", "--live", "--forward"] {
            assert!(page.contains(text), "{text}\n{page}");
        }
    }

    #[test]
    fn each_shell_has_a_completion_with_all_options() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), BINARY, &mut script);
            let script = String::from_utf8(script).unwrap();
            for option in ["cgroup", "forward", "record", "live"] {
                assert!(script.contains(option), "{shell}: {option}");
            }
        }
    }

    #[test]
    fn the_description_has_options_and_commands() {
        let found = commands();
        let names: Vec<&str> = found["options"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|each| each["names"][0].as_str())
            .collect();
        assert!(names.contains(&"--forward"), "{names:?}");
        assert_eq!(found["commands"]["completions"]["options"][0]["values"], json!(["bash", "zsh", "fish"]));
        assert_eq!(found["commands"].get("help"), None);
    }
}
