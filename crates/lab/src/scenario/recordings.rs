//! Link traces included in airwnd.

/// Names and texts; `data/traces/README.md` states source and licence of each.
macro_rules! shipped {
    ($($name:literal: $file:literal,)*) => {
        [$(($name, include_str!(concat!("../../data/traces/", $file)))),*]
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

/// Text of the link trace with this name.
pub(crate) fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Names of the link traces that are included.
pub fn link_traces() -> Vec<&'static str> {
    SHIPPED.iter().map(|(name, _)| *name).collect()
}
