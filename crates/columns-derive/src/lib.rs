//! `#[derive(Columns)]`: the columns of a results table, declared on the fields of its row.
//!
//! The trait, the column types and an example are in `airwnd_lab::columns`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned as _;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Lit, LitStr, Meta, Result, parse_macro_input,
};

/// Declares each field of a struct as a column, or as several if its type has several.
///
/// * The field's name is the column's. The columns of a field with several are prefixed with its name.
/// * The doc comment is the meaning; a field without one does not compile. The struct's own doc comment is the
///   meaning of the table.
/// * `#[column(unit = "ms")]`: the unit; without it that of the enclosing field, or a pure number.
/// * `#[column(flatten)]`: the columns of this field keep their own names and meanings.
#[proc_macro_derive(Columns, attributes(column))]
pub fn columns(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(name.span(), "only structs have columns"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(name.span(), "columns need names: use a struct with named fields"));
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new(input.generics.span(), "a table has no type parameters"));
    }
    let meaning = doc(&input.attrs, name)?;
    let mut declarations = TokenStream::new();
    let mut cells = TokenStream::new();
    for field in &fields.named {
        let (kind, ident) = (&field.ty, field.ident.as_ref().expect("named fields have names"));
        let Options { unit, flatten } = Options::of(field)?;
        let place = if flatten {
            quote!(under)
        } else {
            let (word, meaning) = (ident.to_string(), doc(&field.attrs, ident)?);
            let unit = unit.map_or(
                quote!(::core::option::Option::None),
                |unit| quote!(::core::option::Option::Some(#unit)),
            );
            quote!(&under.part(#word, #meaning, #unit))
        };
        declarations.extend(quote! {
            <#kind as ::airwnd_lab::columns::Columns>::declare(#place, to);
        });
        cells.extend(quote! {
            ::airwnd_lab::columns::Columns::cells(this.map(|row| &row.#ident), to);
        });
    }
    Ok(quote! {
        #[automatically_derived]
        impl ::airwnd_lab::columns::Columns for #name {
            fn declare(
                under: &::airwnd_lab::columns::ColumnInfo,
                to: &mut ::std::vec::Vec<::airwnd_lab::columns::ColumnInfo>,
            ) {
                #declarations
            }
            fn cells(
                this: ::core::option::Option<&Self>,
                to: &mut dyn FnMut(::airwnd_lab::columns::Cell<'_>),
            ) {
                #cells
            }
        }
        #[automatically_derived]
        impl ::airwnd_lab::columns::Row for #name {
            const MEANING: &'static str = #meaning;
        }
    })
}

/// What `#[column(...)]` says of a field.
#[derive(Default)]
struct Options {
    unit: Option<LitStr>,
    flatten: bool,
}

impl Options {
    fn of(field: &Field) -> Result<Options> {
        let mut options = Options::default();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("column")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("unit") {
                    options.unit = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("flatten") {
                    options.flatten = true;
                } else {
                    return Err(meta.error("unknown option; allowed: `unit = \"...\"`, `flatten`"));
                }
                Ok(())
            })?;
        }
        if let (true, Some(unit)) = (options.flatten, &options.unit) {
            return Err(Error::new(unit.span(), "flattened columns have their own units"));
        }
        Ok(options)
    }
}

/// The doc comment as one paragraph.
fn doc(attributes: &[Attribute], of: &impl ToTokens) -> Result<String> {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_string()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let words: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    if words.is_empty() {
        return Err(Error::new_spanned(of, "the doc comment is missing: it is the meaning that users read"));
    }
    Ok(words.join(" "))
}
