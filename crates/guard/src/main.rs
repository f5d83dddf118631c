//! The command `airwnd-guard`: `airwnd guard` without Python.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    return ExitCode::from(airwnd_guard::main("airwnd-guard", std::env::args_os().skip(1)));
    #[cfg(not(target_os = "linux"))]
    {
        eprintln!("airwnd-guard: needs Linux");
        ExitCode::from(2)
    }
}
