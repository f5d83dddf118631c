//! Parsing shared by the macros: doc comments, and attributes of `key = value` pairs.

use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result, Token};

/// Returns the doc comment, line by line.
///
/// # Errors
/// A missing doc comment.
pub fn doc(attributes: &[Attribute], ident: &Ident) -> Result<String> {
    let mut doc = String::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && attribute.path().is_ident("doc")
            && let Some(line) = literal(&pair.value)
        {
            doc += &line.value();
            doc.push('\n');
        }
    }
    if doc.trim().is_empty() {
        return Err(Error::new(ident.span(), format!("`{ident}` needs a doc comment: its meaning")));
    }
    Ok(doc)
}

/// Returns a string literal, also one that a declarative macro passed on.
fn literal(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

/// Calls `take` for each key of all attributes of this name; `take` parses the rest of the pair.
///
/// # Errors
/// A duplicate key, and the errors of `take`.
pub fn keys(
    attributes: &[Attribute],
    name: &str,
    mut take: impl FnMut(&Ident, ParseStream) -> Result<()>,
) -> Result<()> {
    let mut seen: Vec<Ident> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        let list = attribute.meta.require_list()?;
        list.parse_args_with(|input: ParseStream| each_key(input, &mut seen, &mut take))?;
    }
    Ok(())
}

/// Calls `take` for each key of a list.
///
/// # Errors
/// As [`keys`].
pub fn each_key(
    input: ParseStream,
    seen: &mut Vec<Ident>,
    take: &mut impl FnMut(&Ident, ParseStream) -> Result<()>,
) -> Result<()> {
    while !input.is_empty() {
        let key: Ident = input.parse()?;
        if seen.contains(&key) {
            return Err(Error::new(key.span(), format!("`{key}` appears twice")));
        }
        take(&key, input)?;
        seen.push(key);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(())
}

/// Parses `= value`.
pub fn value<T: syn::parse::Parse>(input: ParseStream) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// Error for an unknown key of an attribute.
pub fn unknown_key(key: &Ident, allowed: &str) -> Error {
    Error::new(key.span(), format!("unknown key `{key}`; allowed: {allowed}"))
}

/// Returns the name without `r#`.
pub fn plain(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_string()
}

/// Rejects type parameters: declarations do not support them.
///
/// # Errors
/// A type parameter.
pub fn no_generics(generics: &syn::Generics) -> Result<()> {
    if generics.params.is_empty() {
        return Ok(());
    }
    Err(Error::new(generics.span(), "type parameters are not supported here"))
}
