//! Packet captures written to files.

use super::ScenarioError;
use airwnd_capture::radio::RadioLayer;
use airwnd_capture::{Capture, Format, Settings};
use airwnd_lab::Scenario;
use airwnd_lab::tap::Node;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The file, the names of the nodes, the snap length, and the layers of the radio interface.
pub type Wanted = (PathBuf, Vec<String>, Option<u32>, Vec<String>);

/// Returns the layers of the radio interface with these names.
fn layers(words: &[String]) -> PyResult<Vec<RadioLayer>> {
    let known = |word: &String| RadioLayer::ALL.into_iter().find(|layer| layer.word() == word);
    let layer = |word| {
        let unknown =
            || ScenarioError::new_err(format!("there is no layer `{word}` to capture; layers: mac, rlc"));
        known(word).ok_or_else(unknown)
    };
    words.iter().map(layer).collect()
}

/// Returns the nodes with these names; `all` selects all nodes.
pub fn nodes(scenario: &Scenario, words: &[String]) -> PyResult<Vec<Node>> {
    if words.iter().any(|word| word == "all") {
        return Ok(scenario.nodes());
    }
    let mut nodes = Vec::new();
    for word in words {
        let node = scenario.node(word).map_err(ScenarioError::new_err)?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

/// A capture and its file.
pub struct File {
    path: PathBuf,
    pub capture: Capture<BufWriter<fs::File>>,
}

impl File {
    /// Creates the file: pcap for the extension `.pcap`, otherwise pcapng.
    pub fn new(scenario: &Scenario, seed: u64, (path, words, snaplen, radio): Wanted) -> PyResult<File> {
        let older = path.extension().is_some_and(|extension| extension == "pcap");
        let format = if older { Format::Pcap } else { Format::Pcapng };
        let (nodes, radio) = (nodes(scenario, &words)?, layers(&radio)?);
        let settings = Settings { format, nodes, snaplen, real_only: false, radio };
        let begun = fs::File::create(&path)
            .and_then(|file| Capture::new(BufWriter::new(file), settings, scenario, seed));
        match begun {
            Ok(capture) => Ok(File { path, capture }),
            Err(error) => Err(unwritten(&path, &error)),
        }
    }

    /// Writes buffered data and closes the file.
    pub fn finish(self) -> PyResult<()> {
        self.capture.finish().map_err(|error| unwritten(&self.path, &error))
    }
}

/// Converts an I/O error to the corresponding Python exception, with the file name.
fn unwritten(path: &Path, error: &io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else { return PyOSError::new_err(error.to_string()) };
    Python::attach(|py| {
        let reason =
            py.import("os").and_then(|os| os.call_method1("strerror", (number,))?.extract::<String>());
        reason.map_or_else(|raised| raised, |reason| PyOSError::new_err((number, reason, path.to_path_buf())))
    })
}
