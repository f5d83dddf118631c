//! What the macros share: doc comments, and attributes of `key = value` pairs.

use syn::parse::ParseStream;
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result, Token};

/// The doc comment, a line for each of its lines.
///
/// # Errors
/// There is none.
pub fn doc(attributes: &[Attribute], of: &Ident) -> Result<String> {
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
        return Err(Error::new(of.span(), format!("`{of}` needs a doc comment: its meaning")));
    }
    Ok(doc)
}

/// A text, also where a declarative macro has passed it on.
fn literal(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        Expr::Group(group) => literal(&group.expr),
        _ => None,
    }
}

/// Hands each key of all attributes of this name to `take`, which parses what follows the key.
///
/// # Errors
/// A key that appears twice, and what `take` finds wrong.
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

/// Hands each key of a list to `take`.
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

/// What stands behind `=`.
pub fn value<T: syn::parse::Parse>(input: ParseStream) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// The message for a key that an attribute does not have.
pub fn unknown_key(key: &Ident, allowed: &str) -> Error {
    Error::new(key.span(), format!("unknown key `{key}`; allowed: {allowed}"))
}

/// The name without `r#`.
pub fn plain(name: &Ident) -> String {
    name.to_string().trim_start_matches("r#").to_string()
}

/// Refuses type parameters, which no declaration has a use for.
///
/// # Errors
/// There are some.
pub fn no_generics(generics: &syn::Generics) -> Result<()> {
    if generics.params.is_empty() {
        return Ok(());
    }
    Err(Error::new(generics.span(), "a declaration of parameters has no type parameters"))
}
