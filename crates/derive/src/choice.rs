//! `#[derive(Choice)]`: a closed set of words.

use crate::attributes::{doc, no_generics};
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, LitStr, Meta, Result, Variant};

pub fn expand(item: Tokens) -> Result<Tokens> {
    let input: DeriveInput = syn::parse2(item)?;
    no_generics(&input.generics)?;
    let name = &input.ident;
    doc(&input.attrs, name)?;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(name.span(), "`Choice` can be derived for enums only"));
    };
    let words = data.variants.iter().map(word).collect::<Result<Vec<_>>>()?;
    for (place, word) in words.iter().enumerate() {
        if words[..place].iter().any(|other| other.value() == word.value()) {
            return Err(Error::new(word.span(), format!("duplicate word \"{}\"", word.value())));
        }
    }
    let variants: Vec<&Ident> = data.variants.iter().map(|variant| &variant.ident).collect();
    let meanings = data.variants.iter().map(|variant| doc(&variant.attrs, &variant.ident));
    let meanings = meanings.collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        impl #name {
            /// Word of the variant in a scenario.
            pub fn word(self) -> &'static str {
                match self { #(#name::#variants => #words,)* }
            }
        }

        impl ::airwnd_catalog::Param for #name {
            fn read(node: &::airwnd_catalog::Node) -> Result<Self, ::airwnd_catalog::Error> {
                let word = <String as ::airwnd_catalog::Param>::read(node)?;
                match word.as_str() {
                    #(#words => Ok(#name::#variants),)*
                    other => Err(node.error(::airwnd_catalog::unknown_word("word", other, &[#(#words),*]))),
                }
            }
            fn to_json(&self) -> ::airwnd_catalog::serde_json::Value {
                self.word().into()
            }
            fn schema() -> ::airwnd_catalog::serde_json::Value {
                ::airwnd_catalog::derived::words(&[#((#words, #meanings)),*])
            }
        }
    })
}

/// Returns the word of a variant.
fn word(variant: &Variant) -> Result<LitStr> {
    let name = &variant.ident;
    if !matches!(variant.fields, Fields::Unit) {
        return Err(Error::new(name.span(), format!("`{name}` must be a unit variant")));
    }
    let attribute = variant.attrs.iter().find(|attribute| attribute.path().is_ident("word"));
    match attribute.map(|attribute| &attribute.meta) {
        Some(Meta::NameValue(pair)) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(word), .. }) => Ok(word.clone()),
            _ => Err(Error::new(name.span(), "the word must be a string literal, #[word = \"...\"]")),
        },
        _ => Err(Error::new(name.span(), format!("`{name}` needs #[word = \"...\"]"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_needs_a_doc_comment_and_a_unique_word() {
        let refusal = |variants: Tokens| {
            expand(quote! {
                /// A direction.
                enum Way { #variants }
            })
            .unwrap_err()
            .to_string()
        };
        assert_eq!(
            refusal(quote!(
                #[word = "up"]
                Up
            )),
            "`Up` needs a doc comment: its meaning"
        );
        assert_eq!(
            refusal(quote!(
                #[doc = "Up."]
                Up
            )),
            "`Up` needs #[word = \"...\"]"
        );
        assert_eq!(
            refusal(quote!(
                #[doc = "Up."]
                #[word = "up"]
                Up(u8)
            )),
            "`Up` must be a unit variant"
        );
        let twice = quote!(
            #[doc = "Up."]
            #[word = "up"]
            Up,
            #[doc = "Down."]
            #[word = "up"]
            Down
        );
        assert_eq!(refusal(twice), "duplicate word \"up\"");
    }
}
