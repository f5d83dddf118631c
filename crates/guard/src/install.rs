//! The guard as a service: of systemd, or of procd with its settings in UCI (OpenWrt).
//!
//! Everything that is made is in a list, by which it is removed again. What exists and is not in the list stays.

use crate::{Error, output};
use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The list of what was made, one path per line, in the order in which it was made.
const LIST: &str = "etc/airwnd-guard/installed";
const UNIT: &str = include_str!("install/airwnd-guard.service");
const INIT: &str = include_str!("install/airwnd-guard.init");
/// Place of the command in them.
const COMMAND: &str = "COMMAND";

/// Program that starts services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Init {
    Systemd,
    Procd,
}

/// Where and how to install.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Folder of the system.
    pub root: PathBuf,
    pub is_dry: bool,
}

/// Service to install.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// `None`: what the system has.
    pub init: Option<Init>,
    /// Interfaces towards receivers; empty: all sockets of the machine are guarded.
    pub router: Vec<String>,
    pub rwnd: Option<String>,
    /// How the guard is started.
    pub program: Program,
}

/// How the guard is started.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// This file is copied into the system.
    Copy(PathBuf),
    /// A command of the system, which is there.
    Command(String),
}

/// A thing that is made.
enum Item {
    File(&'static str, Vec<u8>, u32),
    Link(&'static str, &'static str),
}

impl Item {
    fn path(&self) -> &'static str {
        match self {
            Item::File(path, ..) | Item::Link(path, _) => path,
        }
    }
}

impl Place {
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn is_running(&self) -> bool {
        !self.is_dry && self.root == Path::new("/")
    }

    fn init(&self) -> Init {
        let is_openwrt = ["etc/openwrt_release", "sbin/procd"].iter().any(|path| self.at(path).exists());
        if is_openwrt { Init::Procd } else { Init::Systemd }
    }

    /// Reads what was made.
    fn list(&self) -> Result<Vec<String>, Error> {
        match fs::read_to_string(self.at(LIST)) {
            Ok(text) => Ok(text.lines().filter(|path| is_inside(path)).map(String::from).collect()),
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(why) => Err(Error::failed(self.at(LIST).display(), &why)),
        }
    }

    /// Runs a command of the running system, and returns whether it succeeds; elsewhere does nothing.
    fn run(&self, command: &[&str]) -> bool {
        if !self.is_running() {
            return true;
        }
        say(&format!("run: {}", command.join(" ")));
        match Command::new(command[0]).args(&command[1..]).status() {
            Ok(status) if status.success() => return true,
            Ok(status) => eprintln!("{}: {status}", command[0]),
            Err(why) => eprintln!("{}", Error::failed(command[0], &why)),
        }
        false
    }
}

/// Prints a line. The work goes on without a reader.
fn say(line: &dyn Display) {
    let _ = output::print(format!("{line}\n"));
}

/// A list may have been edited: nothing outside the root is removed.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// Makes the service; a second time, makes it anew.
pub(crate) fn install(place: &Place, service: &Service) -> Result<(), Error> {
    let init = service.init.unwrap_or_else(|| place.init());
    let items = items(place, init, service)?;
    let mut list = place.list()?;
    let known: BTreeSet<String> = list.iter().cloned().collect();
    for item in &items {
        if !known.contains(item.path()) && fs::symlink_metadata(place.at(item.path())).is_ok() {
            return Err(Error::new(format!(
                "{}: exists, and is not of airwnd guard; remove it first",
                place.at(item.path()).display()
            )));
        }
    }
    for item in &items {
        say(&place.at(item.path()).display());
        if !place.is_dry {
            make(place, item, &mut list)?;
        }
    }
    say(&place.at(LIST).display());
    let is_started = match init {
        Init::Systemd => {
            place.run(&["systemctl", "daemon-reload"]) && place.run(&["systemctl", "restart", "airwnd-guard"])
        }
        Init::Procd => place.run(&["/etc/init.d/airwnd-guard", "restart"]),
    };
    if is_started {
        return Ok(());
    }
    let log = if init == Init::Systemd { "journalctl -u airwnd-guard" } else { "logread -e airwnd-guard" };
    Err(Error::new(format!(
        "installed, but not started: `{log}` says why; `airwnd guard uninstall` undoes it"
    )))
}

/// Ends the service and removes everything that `install` has made.
pub(crate) fn uninstall(place: &Place) -> Result<(), Error> {
    let list = place.list()?;
    if list.is_empty() {
        say(&"nothing is installed");
        return Ok(());
    }
    // The guard detaches its programs at its end.
    let has_procd = list.iter().any(|path| path.starts_with("etc/init.d/"));
    if has_procd {
        place.run(&["/etc/init.d/airwnd-guard", "stop"]);
    } else {
        place.run(&["systemctl", "stop", "airwnd-guard"]);
    }
    // The list itself goes before its folder, which is the first entry.
    for path in std::iter::once(LIST).chain(list.iter().rev().map(String::as_str)) {
        let path = place.at(path);
        say(&path.display());
        if place.is_dry {
            continue;
        }
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir());
        let removed = if is_folder { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        match removed {
            Ok(()) => {}
            Err(why) if why.kind() == ErrorKind::NotFound => {}
            // Files of others have come into a folder.
            Err(why) if is_folder && why.kind() == ErrorKind::DirectoryNotEmpty => {}
            Err(why) => return Err(Error::failed(path.display(), &why)),
        }
    }
    if !has_procd {
        place.run(&["systemctl", "daemon-reload"]);
    }
    Ok(())
}

fn items(place: &Place, init: Init, service: &Service) -> Result<Vec<Item>, Error> {
    let path = if init == Init::Systemd { "usr/local/bin/airwnd-guard" } else { "usr/sbin/airwnd-guard" };
    let mut items = Vec::new();
    let command = match &service.program {
        Program::Copy(file) => {
            let is_there = fs::canonicalize(file).ok() == Some(place.at(path));
            let is_own = place.list()?.iter().any(|known| known == path);
            if !is_there || is_own {
                let bytes = fs::read(file).map_err(|why| Error::failed(file.display(), &why))?;
                items.push(Item::File(path, bytes, 0o755));
            }
            format!("/{path}")
        }
        Program::Command(command) => command.clone(),
    };
    let scope: Vec<String> =
        service.router.iter().map(|name| format!("--forward {}", quoted(name))).collect();
    let scope = if scope.is_empty() { "--all".to_string() } else { scope.join(" ") };
    let rwnd = service.rwnd.as_deref();
    match init {
        Init::Systemd => {
            let rwnd = rwnd.map(|spec| format!(" --rwnd {}", quoted(spec))).unwrap_or_default();
            let unit = UNIT.replace(COMMAND, &format!("{command} {scope}{rwnd}"));
            const NAME: &str = "etc/systemd/system/airwnd-guard.service";
            items.push(Item::File(NAME, unit.into_bytes(), 0o644));
            items.push(Item::Link(
                "etc/systemd/system/multi-user.target.wants/airwnd-guard.service",
                "../airwnd-guard.service",
            ));
        }
        Init::Procd => {
            let scope = if service.router.is_empty() { " --all" } else { "" };
            let init = INIT.replace(COMMAND, &format!("{command}{scope}"));
            let lists = service.router.iter().map(|name| format!("\tlist interface {}\n", in_uci(name)));
            let rwnd = rwnd.map(|spec| format!("\toption rwnd {}\n", in_uci(spec))).unwrap_or_default();
            let config =
                format!("config guard 'main'\n\toption enabled '1'\n{}{rwnd}", lists.collect::<String>());
            items.push(Item::File("etc/init.d/airwnd-guard", init.into_bytes(), 0o755));
            items.push(Item::File("etc/config/airwnd-guard", config.into_bytes(), 0o644));
            items.push(Item::Link("etc/rc.d/S95airwnd-guard", "../init.d/airwnd-guard"));
            items.push(Item::Link("etc/rc.d/K10airwnd-guard", "../init.d/airwnd-guard"));
        }
    }
    Ok(items)
}

/// A word of a command line in a unit (systemd.service(5)), where percent and dollar signs have a meaning.
fn quoted(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{word}\"")
}

/// A value in a file of UCI, as `uci export` writes it.
fn in_uci(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn make(place: &Place, item: &Item, list: &mut Vec<String>) -> Result<(), Error> {
    let path = place.at(item.path());
    let failed = |why: io::Error| Error::failed(path.display(), &why);
    let folders = |path: &str| -> Vec<String> {
        let above = Path::new(path).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        let mut above: Vec<String> = above.map(|folder| folder.display().to_string()).collect();
        above.reverse();
        above
    };
    // The list has each item before it is made, so that a failure leaves nothing behind that is not in it.
    for folder in folders(LIST).into_iter().chain(folders(item.path())) {
        if !place.at(&folder).exists() {
            fs::create_dir(place.at(&folder)).map_err(failed)?;
            list.push(folder);
        }
    }
    if !list.iter().any(|known| known == item.path()) {
        list.push(item.path().to_string());
    }
    let text: String = list.iter().map(|path| format!("{path}\n")).collect();
    fs::write(place.at(LIST), text).map_err(|why| Error::failed(place.at(LIST).display(), &why))?;
    match item {
        Item::File(_, bytes, mode) => {
            // A running program cannot be written, only replaced.
            let beside = path.with_extension("new");
            fs::write(&beside, bytes)
                .and_then(|()| fs::set_permissions(&beside, Permissions::from_mode(*mode)))
                .and_then(|()| fs::rename(&beside, &path))
                .map_err(failed)
        }
        Item::Link(_, target) => match fs::remove_file(&path) {
            Err(why) if why.kind() != ErrorKind::NotFound => Err(failed(why)),
            _ => symlink(target, &path).map_err(failed),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A system without a running init, removed at the end.
    struct Root(PathBuf);

    impl Root {
        fn create(name: &str, files: &[&str]) -> Root {
            let path = std::env::temp_dir().join(format!("airwnd-install-{name}-{}", std::process::id()));
            for file in files {
                let file = path.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "of the system\n").unwrap();
            }
            fs::create_dir_all(&path).unwrap();
            Root(path)
        }

        fn place(&self, is_dry: bool) -> Place {
            Place { root: self.0.clone(), is_dry }
        }

        /// All paths with the contents of files.
        fn contents(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
            let mut found = BTreeMap::new();
            let mut folders = vec![self.0.clone()];
            while let Some(folder) = folders.pop() {
                for entry in fs::read_dir(folder).unwrap().flatten() {
                    let path = entry.path();
                    if entry.file_type().unwrap().is_dir() {
                        folders.push(path.clone());
                    }
                    found.insert(path.clone(), fs::read(&path).ok());
                }
            }
            found
        }

        fn text(&self, path: &str) -> String {
            fs::read_to_string(self.0.join(path)).unwrap()
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn service(router: &[&str], program: Program) -> Service {
        let router = router.iter().map(ToString::to_string).collect();
        Service { init: None, router, rwnd: Some("{kind = \"drwa\"}".to_string()), program }
    }

    fn copy() -> Program {
        Program::Copy(std::env::current_exe().unwrap())
    }

    #[test]
    fn what_is_installed_is_removed_again() {
        let debian = ["etc/debian_version"];
        let openwrt = ["etc/openwrt_release", "sbin/procd", "etc/config/network", "etc/init.d/network"];
        for (files, router) in
            [(&debian[..0], &[][..]), (&debian[..], &[][..]), (&openwrt[..], &["br-lan", "br-guest"][..])]
        {
            let root = Root::create(&format!("both-{}", files.len()), files);
            let before = root.contents();
            let service = service(router, copy());
            install(&root.place(true), &service).unwrap();
            assert_eq!(root.contents(), before, "a dry run");
            install(&root.place(false), &service).unwrap();
            let once = root.contents();
            assert!(once.len() > before.len() + 4);
            install(&root.place(false), &service).unwrap();
            assert_eq!(root.contents(), once, "twice");
            uninstall(&root.place(true)).unwrap();
            assert_eq!(root.contents(), once, "a dry run");
            uninstall(&root.place(false)).unwrap();
            assert_eq!(root.contents(), before, "removed");
            uninstall(&root.place(false)).unwrap();
            assert_eq!(root.contents(), before, "removed twice");
        }
    }

    #[test]
    fn the_service_starts_the_guard_with_the_options() {
        let root = Root::create("options", &["etc/debian_version"]);
        let command = "/opt/venv/bin/python -I -m airwnd guard";
        let by_command = Program::Command(command.to_string());
        install(&root.place(false), &service(&["lan0", "lan1"], by_command)).unwrap();
        let unit = root.text("etc/systemd/system/airwnd-guard.service");
        let start = format!(
            "ExecStart={command} --forward \"lan0\" --forward \"lan1\" --rwnd \"{{kind = \\\"drwa\\\"}}\""
        );
        assert!(unit.lines().any(|line| line == start), "{unit}");
        assert!(unit.contains("\nType=notify\n") && unit.contains("\nMemoryMax="));
        assert!(!root.0.join("usr").exists(), "the command is there already");
        let link = fs::read(root.0.join("etc/systemd/system/multi-user.target.wants/airwnd-guard.service"));
        assert_eq!(link.unwrap(), unit.as_bytes());

        let root = Root::create("openwrt", &["etc/openwrt_release"]);
        install(&root.place(false), &service(&["br-lan"], copy())).unwrap();
        let script = root.text("etc/rc.d/S95airwnd-guard");
        assert!(script.contains("procd_set_param command /usr/sbin/airwnd-guard\n"), "{script}");
        let config = root.text("etc/config/airwnd-guard");
        assert!(
            config.contains("\tlist interface 'br-lan'\n\toption rwnd '{kind = \"drwa\"}'\n"),
            "{config}"
        );
        let mode = fs::metadata(root.0.join("usr/sbin/airwnd-guard")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn values_of_uci_are_quoted() {
        assert_eq!(in_uci("{kind = 'drwa'}"), r"'{kind = '\''drwa'\''}'");
    }

    #[test]
    fn files_of_others_stay() {
        let other = "etc/systemd/system/airwnd-guard.service";
        let root = Root::create("others", &[other]);
        let before = root.contents();
        let error = install(&root.place(false), &service(&[], copy())).unwrap_err().to_string();
        assert!(error.ends_with(": exists, and is not of airwnd guard; remove it first"), "{error}");
        assert_eq!(root.contents(), before);
        // Rules of the user, and a list that was edited.
        let root = Root::create("rules", &[]);
        install(&root.place(false), &service(&[], copy())).unwrap();
        fs::write(root.0.join("etc/airwnd-guard/rules.toml"), "").unwrap();
        fs::write(root.0.join("kept"), "").unwrap();
        let list = root.text(LIST) + "../kept\n/kept\n";
        fs::write(root.0.join(LIST), list).unwrap();
        uninstall(&root.place(false)).unwrap();
        let left: Vec<PathBuf> = root.contents().into_keys().filter(|path| path.is_file()).collect();
        assert_eq!(left, [root.0.join("etc/airwnd-guard/rules.toml"), root.0.join("kept")]);
    }
}
