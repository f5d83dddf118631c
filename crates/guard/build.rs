//! Compiles the eBPF programs with clang, as the Python package `ziglang` contains it.

use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::{env, fs};

/// The target has no libc; only its descriptions of kernel structures are used.
const TARGET: &str = "bpfel-freestanding";
/// The interpreter imports nothing from the current folder. `-I` would also ignore `PYTHONPATH`, by which pip names the
/// packages of a build.
const SAFE_PATH: &str = "-P";
/// Version 3 of the instructions, of Linux 5.12, has atomic comparisons.
const FLAGS: [&str; 7] = ["-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-c"];

fn main() {
    let bpf = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("bpf");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo"));
    println!("cargo::rerun-if-changed=bpf");
    println!("cargo::rerun-if-env-changed=PYO3_PYTHON");
    let python = env::var("PYO3_PYTHON").unwrap_or_else(|_| "python3".into());
    let headers = headers(&python);
    for entry in fs::read_dir(&bpf).expect("a folder of this crate") {
        let source = entry.expect("readable").path();
        if source.extension().is_some_and(|extension| extension == "c") {
            let object = out.join(source.with_extension("o").file_name().expect("a file"));
            compile(&python, &headers, &source, &object, &out.join("zig"));
        }
    }
}

/// Folder of the kernel's headers for user space.
fn headers(python: &str) -> PathBuf {
    let script = "import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent)";
    match Command::new(python).args([SAFE_PATH, "-c", script]).output() {
        Ok(output) if output.status.success() => {
            PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("lib/libc/include")
        }
        Ok(_) => fail(&format!(
            "the eBPF programs need clang: install it with: {python} -m pip install ziglang; \
             or name another interpreter in PYO3_PYTHON"
        )),
        Err(why) => fail(&format!("cannot run {python}: {why}; name the interpreter in PYO3_PYTHON")),
    }
}

fn compile(python: &str, headers: &Path, source: &Path, object: &Path, cache: &Path) {
    let mut command = Command::new(python);
    command.args([SAFE_PATH, "-m", "ziglang", "cc", "-target", TARGET]).args(FLAGS);
    for folder in ["any-linux-any", "x86-linux-any"] {
        command.arg("-isystem").arg(headers.join(folder));
    }
    command.arg(source).arg("-o").arg(object);
    // The default is a folder of the user.
    command.env("ZIG_GLOBAL_CACHE_DIR", cache).env("ZIG_LOCAL_CACHE_DIR", cache);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("clang ended with {status} for {}", source.display())),
        Err(why) => fail(&format!("cannot run {python}: {why}")),
    }
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1)
}
