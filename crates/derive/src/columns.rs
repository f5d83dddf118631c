//! `#[derive(Columns)]`: columns of a results table, declared on the fields of its row.
//!
//! * The name of the field is the name of the column. A field with several columns prefixes their names with its own.
//! * The doc comment is the meaning; a field without one does not compile. The doc comment of the struct is the meaning
//!   of the table.
//! * `#[column(unit = "ms")]`: unit. Default: the unit of the enclosing field, or a dimensionless number.
//! * `#[column(range = 0.0..=1.0)]`: minimum and maximum possible value. Default: the range of the enclosing field, or
//!   the range implied by the unit.
//! * `#[column(flatten)]`: the columns of this field keep their own names and meanings.

use crate::attributes::{doc, keys, no_generics, unknown_key, value};
use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Result};

pub fn expand(item: Tokens) -> Result<Tokens> {
    let input: DeriveInput = syn::parse2(item)?;
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(name.span(), "only structs have columns"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new(name.span(), "columns need names: use a struct with named fields"));
    };
    no_generics(&input.generics)?;
    let meaning = paragraph(&input.attrs, name)?;
    let mut declarations = Tokens::new();
    let mut cells = Tokens::new();
    for field in &fields.named {
        let (kind, ident) = (&field.ty, field.ident.as_ref().expect("named fields have names"));
        let Options { unit, range, flatten } = Options::of(field)?;
        let place = if flatten {
            quote!(under)
        } else {
            let (word, meaning) = (ident.to_string(), paragraph(&field.attrs, ident)?);
            let (unit, range) = (option(unit), option(range));
            quote!(&under.part(#word, #meaning, #unit, #range))
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

/// Options of `#[column(...)]`.
#[derive(Default)]
struct Options {
    unit: Option<LitStr>,
    range: Option<Expr>,
    flatten: bool,
}

impl Options {
    fn of(field: &Field) -> Result<Options> {
        let mut options = Options::default();
        keys(&field.attrs, "column", |key, input| {
            match key.to_string().as_str() {
                "unit" => options.unit = Some(value(input)?),
                "range" => options.range = Some(value(input)?),
                "flatten" => options.flatten = true,
                _ => return Err(unknown_key(key, "unit, range, flatten")),
            }
            Ok(())
        })?;
        if let (true, Some(unit)) = (options.flatten, &options.unit) {
            return Err(Error::new(unit.span(), "flattened columns have their own units"));
        }
        if let (true, Some(range)) = (options.flatten, &options.range) {
            return Err(Error::new_spanned(range, "flattened columns have their own ranges"));
        }
        Ok(options)
    }
}

/// Code of an `Option` with this value.
fn option(written: Option<impl ToTokens>) -> Tokens {
    written.map_or(
        quote!(::core::option::Option::None),
        |written| quote!(::core::option::Option::Some(#written)),
    )
}

/// Returns the doc comment as one paragraph.
fn paragraph(attributes: &[Attribute], of: &Ident) -> Result<String> {
    let doc = doc(attributes, of)?;
    Ok(doc.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
}
