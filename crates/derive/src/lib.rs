//! Macros of `airwnd-catalog` and `airwnd_lab::columns`. Both crates re-export them and document them with examples.

mod attributes;
mod choice;
mod columns;
mod family;
mod params;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;

/// See `airwnd_catalog::Params`.
#[proc_macro_derive(Params, attributes(params, param))]
pub fn derive_params(item: TokenStream) -> TokenStream {
    finish(params::expand(item.into()))
}

/// See `airwnd_catalog::Choice`.
#[proc_macro_derive(Choice, attributes(word))]
pub fn derive_choice(item: TokenStream) -> TokenStream {
    finish(choice::expand(item.into()))
}

/// See `airwnd_lab::columns`.
#[proc_macro_derive(Columns, attributes(column))]
pub fn derive_columns(item: TokenStream) -> TokenStream {
    finish(columns::expand(item.into()))
}

/// See `airwnd_catalog::family`.
#[proc_macro_attribute]
pub fn family(arguments: TokenStream, item: TokenStream) -> TokenStream {
    finish(family::expand(arguments.into(), item.into()))
}

/// Returns the generated code, or a compiler error at the place of the mistake.
fn finish(expanded: syn::Result<Tokens>) -> TokenStream {
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
