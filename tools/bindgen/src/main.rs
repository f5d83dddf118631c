//! Generates the JavaScript half of a WebAssembly module: `airwnd-bindgen MODULE.wasm FOLDER`.
//!
//! A library of wasm-bindgen does what its command line does. As a dependency it has the version of the module's half in
//! `Cargo.lock`, and needs no installation.

use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("airwnd-bindgen: expected a module and a folder");
        return ExitCode::from(2);
    };
    match generate(module, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("airwnd-bindgen: {module}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a classic script, which a worker that begins from a blob can contain, its types, and the module.
fn generate(module: &str, folder: &str) -> Result<(), Box<dyn std::error::Error>> {
    Ok(Bindgen::new().input_path(module).no_modules(true)?.typescript(true).generate(folder)?)
}
