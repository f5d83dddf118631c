//! `#[derive(Columns)]`: columns of a results table, declared on the fields of its row.
//!
//! * The name of the field is the name of the column. A field with several columns prefixes their names with its own.
//! * The doc comment is the meaning; a field without one does not compile. The doc comment of the struct is the meaning
//!   of the table.
//! * `#[column(unit = "ms")]`: unit. Default: the unit of the enclosing field, or a dimensionless number.
//! * `#[column(range = 0.0..=1.0)]`: minimum and maximum possible value. Default: the range of the enclosing field, or
//!   the range implied by the unit.
//! * `#[column(short = "delay")]`: heading in a table. Default: the name without its unit. The columns of a field with
//!   several combine its heading with their own, `delay` and `p95` to `delay p95`; an empty one adds nothing.
//! * `#[column(label = "one-way delay")]`: name on an axis. Default: the heading.
//! * `#[column(digits = 2)]`: decimals. Default: those of the enclosing field, or those of the unit.
//! * `#[column(rank = 3)]`: order of omission in a narrow table, the highest rank first; 0, the default: never. The rank
//!   of a field with several columns is added to theirs.
//! * `#[column(formerly = "delay_ms")]`: name in earlier versions, for the message to those who still use it.
//! * `#[column(flatten)]`: the columns of this field keep their own names and meanings.

use crate::attributes::{doc, keys, no_generics, unknown_key, value};
use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitInt, LitStr, Result};

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
        let options = Options::of(field)?;
        let place = if options.flatten {
            quote!(under)
        } else {
            let (word, meaning) = (ident.to_string(), paragraph(&field.attrs, ident)?);
            let parts = options.parts();
            quote!(&under.part(::airwnd_lab::columns::Part {
                #parts ..::airwnd_lab::columns::Part::new(#word, #meaning)
            }))
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

            fn columns() -> &'static [::airwnd_lab::columns::ColumnInfo] {
                static COLUMNS: ::std::sync::LazyLock<::std::vec::Vec<::airwnd_lab::columns::ColumnInfo>> =
                    ::std::sync::LazyLock::new(::airwnd_lab::columns::declared::<#name>);
                &COLUMNS
            }
        }
    })
}

/// Options of `#[column(...)]`.
#[derive(Default)]
struct Options {
    unit: Option<LitStr>,
    range: Option<Expr>,
    short: Option<LitStr>,
    label: Option<LitStr>,
    formerly: Option<LitStr>,
    digits: Option<LitInt>,
    rank: Option<LitInt>,
    flatten: bool,
}

impl Options {
    fn of(field: &Field) -> Result<Options> {
        let mut options = Options::default();
        keys(&field.attrs, "column", |key, input| {
            match key.to_string().as_str() {
                "unit" => options.unit = Some(value(input)?),
                "range" => options.range = Some(value(input)?),
                "short" => options.short = Some(value(input)?),
                "label" => options.label = Some(value(input)?),
                "formerly" => options.formerly = Some(value(input)?),
                "digits" => options.digits = Some(value(input)?),
                "rank" => options.rank = Some(value(input)?),
                "flatten" => options.flatten = true,
                _ => {
                    return Err(unknown_key(
                        key,
                        "unit, range, short, label, digits, rank, formerly, flatten",
                    ));
                }
            }
            Ok(())
        })?;
        if options.flatten && !options.parts().is_empty() {
            let ident = field.ident.as_ref().expect("named fields have names");
            return Err(Error::new(ident.span(), "flattened columns declare their own options"));
        }
        Ok(options)
    }

    /// Code of the written options as fields of `Part`.
    fn parts(&self) -> Tokens {
        let Options { unit, range, short, label, formerly, digits, rank, flatten: _ } = self;
        let some = |name: &str, written: Option<&dyn ToTokens>| {
            let name = format_ident!("{name}");
            written.map(|written| quote!(#name: ::core::option::Option::Some(#written),))
        };
        let parts = [
            some("unit", unit.as_ref().map(|it| it as _)),
            some("range", range.as_ref().map(|it| it as _)),
            some("short", short.as_ref().map(|it| it as _)),
            some("label", label.as_ref().map(|it| it as _)),
            some("formerly", formerly.as_ref().map(|it| it as _)),
            some("digits", digits.as_ref().map(|it| it as _)),
            some("rank", rank.as_ref().map(|it| it as _)),
        ];
        parts.into_iter().flatten().collect()
    }
}

/// Returns the doc comment as one paragraph.
fn paragraph(attributes: &[Attribute], ident: &Ident) -> Result<String> {
    let doc = doc(attributes, ident)?;
    Ok(doc.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
}
