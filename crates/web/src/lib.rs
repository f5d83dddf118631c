//! The engine for web pages: JavaScript classes for [`airwnd_page`], on `wasm32` only.

#[cfg(target_arch = "wasm32")]
mod bindings;
