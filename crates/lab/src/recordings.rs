//! The recordings that airwnd brings along.

use std::borrow::Cow;
use std::path::Path;

/// Names and texts; `data/traces/README.md` says where each comes from and under which licence.
macro_rules! shipped {
    ($($name:literal: $file:literal,)*) => {
        [$(($name, include_str!(concat!("../data/traces/", $file)))),*]
    };
}
const SHIPPED: [(&str, &str); 6] = shipped! {
    "norway-bus-1": "norway-bus-1.txt",
    "norway-ferry-3": "norway-ferry-3.txt",
    "norway-metro-2": "norway-metro-2.txt",
    "norway-train-1": "norway-train-1.txt",
    "nyc-subway": "nyc-subway.mm",
    "nyc-times": "nyc-times.mm",
};

/// A recording's origin for messages, and its text.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn text(file: &str, folder: &Path) -> Result<(String, Cow<'static, str>), String> {
    if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == file) {
        return Ok((name.to_string(), Cow::Borrowed(*text)));
    }
    let path = folder.join(file);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path.display().to_string(), Cow::Owned(text))),
        Err(error) => {
            let names: Vec<String> = SHIPPED.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!(
                "{} cannot be read: {error}; airwnd brings along {}",
                path.display(),
                names.join(", ")
            );
            Err(message)
        }
    }
}
