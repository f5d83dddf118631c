//! The files that a scenario names.

use crate::recordings;
use airwnd_catalog::{File, Files};
use std::path::Path;

/// The folder that a scenario's files are relative to.
pub(crate) struct Folder<'a>(pub &'a Path);

impl Files for Folder<'_> {
    fn read(&self, name: &str) -> Result<File, String> {
        let path = self.0.join(name);
        let origin = path.display().to_string();
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(File { origin, text: text.into() }),
            Err(error) => Err(format!("{origin} cannot be read: {error}")),
        }
    }

    fn read_recording(&self, name: &str) -> Result<File, String> {
        if let Some(text) = recordings::shipped(name) {
            return Ok(File { origin: name.into(), text: text.into() });
        }
        self.read(name).map_err(|why| format!("{why}; airwnd brings along {}", recordings::names()))
    }
}
