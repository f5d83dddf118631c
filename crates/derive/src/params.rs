//! `#[derive(Params)]`: a struct of parameters.

use crate::attributes::{doc, keys, no_generics, plain, unknown_key, value};
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Expr, Field, Fields, Ident, LitStr, Result, Type};

/// Options of the struct.
#[derive(Default)]
struct Whole {
    source: Option<LitStr>,
    check: bool,
    files: bool,
}

/// A parameter, declared by a field.
struct Parameter<'a> {
    ident: &'a Ident,
    /// Key in a scenario.
    name: String,
    ty: &'a Type,
    doc: String,
    unit: LitStr,
    source: LitStr,
    level: Ident,
    default: Option<Expr>,
    range: Option<Expr>,
}

/// Kind of a field.
enum Declared<'a> {
    Parameter(Box<Parameter<'a>>),
    /// Includes the parameters of another struct.
    Block {
        ident: &'a Ident,
        ty: &'a Type,
    },
    /// Holds quirks, which no scenario sets.
    Quirks {
        ident: &'a Ident,
        ty: &'a Type,
    },
}

pub fn expand(item: Tokens) -> Result<Tokens> {
    let input: DeriveInput = syn::parse2(item)?;
    no_generics(&input.generics)?;
    let name = &input.ident;
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(name.span(), "`Params` can be derived for structs only"));
    };
    let fields: Vec<&Field> = match &data.fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unit | Fields::Unnamed(_) => {
            return Err(Error::new(name.span(), "parameters need names; write `struct ... { ... }`"));
        }
    };
    let doc = doc(&input.attrs, name)?;
    let whole = whole(&input)?;
    let source = whole.source.ok_or_else(|| missing(name, "#[params(source = \"...\")]"))?;
    let declared = fields.into_iter().map(declared).collect::<Result<Vec<_>>>()?;

    let keys = declared.iter().map(key);
    let takes = declared.iter().map(take);
    let entries = declared.iter().map(entry);
    let properties = declared.iter().map(property);
    let infos = declared.iter().map(info);
    let quirks = declared.iter().filter_map(quirks);
    let adoptions = declared.iter().map(adopt);
    let completions = declared.iter().map(complete);
    let checks = declared.iter().map(check_values);
    let reads = declared.iter().map(read_files);
    let default = default(name, &declared);
    let check = whole.check.then(|| quote!(self.check()?;));
    let files = whole.files.then(|| quote!(self.files(files)?;));

    Ok(quote! {
        impl ::airwnd_catalog::Param for #name {
            fn read(node: &::airwnd_catalog::Node) -> Result<Self, ::airwnd_catalog::Error> {
                let keys = ::airwnd_catalog::derived::Keys::default() #(#keys)*;
                #[allow(unused_variables, reason = "a struct without parameters takes none")]
                let fields = ::airwnd_catalog::Fields::of(node, &keys.known, &keys.quirks)?;
                Ok(#name { #(#takes)* })
            }
            fn to_json(&self) -> ::airwnd_catalog::serde_json::Value {
                ::airwnd_catalog::derived::Object::default() #(#entries)* .json()
            }
            fn schema() -> ::airwnd_catalog::serde_json::Value {
                let infos = <#name as ::airwnd_catalog::ParamSet>::infos();
                ::airwnd_catalog::derived::Schema::new(&infos) #(#properties)* .json()
            }
            #[allow(unused_variables, reason = "a struct without parameters completes none")]
            fn complete(node: &mut ::airwnd_catalog::Node, defaults: &::airwnd_catalog::Defaults) {
                #(#completions)*
            }
            #[allow(unused_variables, reason = "a struct without parameters has no quirks")]
            fn adopt(
                &mut self,
                own: Option<&::airwnd_catalog::Node>,
                quirks: &::airwnd_catalog::Defaults,
            ) -> Result<(), ::airwnd_catalog::Error> {
                #(#adoptions)*
                Ok(())
            }
            fn check_values(&self) -> Result<(), ::airwnd_catalog::Fault> {
                #(#checks)*
                #check
                Ok(())
            }
            #[allow(unused_variables, reason = "most structs name no files")]
            fn read_files(
                &mut self,
                files: &dyn ::airwnd_catalog::Files,
            ) -> Result<(), ::airwnd_catalog::Fault> {
                #(#reads)*
                #files
                Ok(())
            }
        }

        impl ::airwnd_catalog::ParamSet for #name {
            const DOC: &'static str = #doc;
            const SOURCE: &'static str = #source;
            fn infos() -> Vec<::airwnd_catalog::ParamInfo> {
                ::airwnd_catalog::derived::Infos::default() #(#infos)* .all
            }
            fn quirks() -> Vec<::airwnd_catalog::ParamInfo> {
                <[Vec<::airwnd_catalog::ParamInfo>]>::concat(&[#(#quirks),*])
            }
        }

        #default
    })
}

fn whole(input: &DeriveInput) -> Result<Whole> {
    let mut whole = Whole::default();
    keys(&input.attrs, "params", |key, input| {
        match key.to_string().as_str() {
            "source" => whole.source = Some(value(input)?),
            "check" => whole.check = true,
            "files" => whole.files = true,
            _ => return Err(unknown_key(key, "source, check, files")),
        }
        Ok(())
    })?;
    Ok(whole)
}

fn declared(field: &Field) -> Result<Declared<'_>> {
    let ident = field.ident.as_ref().expect("the fields have names");
    let (mut default, mut range, mut unit, mut source, mut level) = (None, None, None, None, None);
    let (mut flatten, mut quirks) = (false, false);
    keys(&field.attrs, "param", |key, input| {
        match key.to_string().as_str() {
            "default" => default = Some(value(input)?),
            "range" => range = Some(value(input)?),
            "unit" => unit = Some(value(input)?),
            "source" => source = Some(value(input)?),
            "basic" | "expert" => {
                if let Some(other) = level.replace(key.clone()) {
                    return Err(Error::new(key.span(), format!("`{ident}` is `{other}` already")));
                }
            }
            "flatten" => flatten = true,
            "quirks" => quirks = true,
            _ => {
                return Err(unknown_key(key, "default, range, unit, source, basic, expert, flatten, quirks"));
            }
        }
        Ok(())
    })?;
    if flatten || quirks {
        if default.is_some() || range.is_some() || unit.is_some() || source.is_some() || level.is_some() {
            return Err(Error::new(
                ident.span(),
                "`flatten` and `quirks` exclude other options: the struct declares its own parameters",
            ));
        }
        let ty = &field.ty;
        return Ok(if flatten { Declared::Block { ident, ty } } else { Declared::Quirks { ident, ty } });
    }
    Ok(Declared::Parameter(Box::new(Parameter {
        ident,
        name: plain(ident),
        ty: &field.ty,
        doc: doc(&field.attrs, ident)?,
        unit: unit.ok_or_else(|| missing(ident, "#[param(unit = \"...\")], \"1\" if dimensionless"))?,
        source: source.ok_or_else(|| missing(ident, "#[param(source = \"...\")]"))?,
        level: self::level(level, default.is_none())?,
        default,
        range,
    })))
}

/// Returns the variant of `Level`: the written one, otherwise `Basic` if the parameter is required, and `Advanced`.
///
/// # Errors
/// A written level of a required parameter, which is always basic.
fn level(written: Option<Ident>, is_required: bool) -> Result<Ident> {
    match written {
        Some(written) if is_required => {
            Err(Error::new(written.span(), "a parameter without a default is basic; it needs no level"))
        }
        None if is_required => Ok(format_ident!("Basic")),
        None => Ok(format_ident!("Advanced")),
        Some(written) if written == "basic" => Ok(format_ident!("Basic")),
        Some(_) => Ok(format_ident!("Expert")),
    }
}

fn missing(ident: &Ident, what: &str) -> Error {
    Error::new(ident.span(), format!("`{ident}` needs {what}"))
}

/// Code of the default as an `Option<type>`.
fn default_of(parameter: &Parameter<'_>) -> Tokens {
    let ty = parameter.ty;
    match &parameter.default {
        Some(default) => quote!(Some::<#ty>(#default)),
        None => quote!(None::<#ty>),
    }
}

/// Code that adds to the allowed keys of a table.
fn key(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let name = &parameter.name;
            quote!(.own(#name))
        }
        Declared::Block { ty, .. } => quote!(.block::<#ty>()),
        Declared::Quirks { ty, .. } => quote!(.quirks(&<#ty as ::airwnd_catalog::ParamSet>::infos())),
    }
}

/// Code of the descriptions of the field's quirks; `None`: it has none.
fn quirks(declared: &Declared<'_>) -> Option<Tokens> {
    match declared {
        Declared::Parameter(_) => None,
        Declared::Block { ty, .. } => Some(quote!(<#ty as ::airwnd_catalog::ParamSet>::quirks())),
        Declared::Quirks { ty, .. } => Some(quote!(<#ty as ::airwnd_catalog::ParamSet>::infos())),
    }
}

/// Code that sets the field's quirks from the struct's part of a table.
fn adopt(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let Parameter { ident, name, .. } = &**parameter;
            quote! {
                ::airwnd_catalog::Param::adopt(&mut self.#ident, own.and_then(|own| own.entry(#name)), quirks)
                    .map_err(|error| error.within(#name))?;
            }
        }
        Declared::Block { ident, .. } => {
            quote!(::airwnd_catalog::Param::adopt(&mut self.#ident, own, quirks)?;)
        }
        Declared::Quirks { ident, .. } => quote! {
            if let Some(own) = own {
                ::airwnd_catalog::derived::adopt_quirks(&mut self.#ident, own)?;
            }
        },
    }
}

/// Code that reads the field: a parameter from `fields`, a block from the whole table.
fn take(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let Parameter { ident, name, ty, .. } = &**parameter;
            let default = default_of(parameter);
            match &parameter.range {
                Some(range) => quote!(#ident: fields.take_within::<#ty>(#name, #default, #range)?,),
                None => quote!(#ident: fields.take::<#ty>(#name, #default)?,),
            }
        }
        Declared::Block { ident, ty } => {
            quote!(#ident: ::airwnd_catalog::derived::read_block::<#ty>(node)?,)
        }
        Declared::Quirks { ident, ty } => quote!(#ident: <#ty>::default(),),
    }
}

/// Code that adds to the written object.
fn entry(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let Parameter { ident, name, .. } = &**parameter;
            let default = default_of(parameter);
            quote!(.own(#name, ::airwnd_catalog::Param::to_json(&self.#ident), || {
                #default.is_some_and(|default| !::airwnd_catalog::Param::to_json(&default).is_null())
            }))
        }
        Declared::Block { ident, .. } => quote!(.block(::airwnd_catalog::Param::to_json(&self.#ident))),
        Declared::Quirks { .. } => quote!(),
    }
}

/// Code that adds to the properties of the schema.
fn property(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let Parameter { name, ty, .. } = &**parameter;
            quote!(.own(#name, <#ty as ::airwnd_catalog::Param>::schema()))
        }
        Declared::Block { ty, .. } => quote!(.block(<#ty as ::airwnd_catalog::Param>::schema())),
        Declared::Quirks { .. } => quote!(),
    }
}

/// Code that completes the field, or the block, within the whole table.
fn complete(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let Parameter { name, ty, .. } = &**parameter;
            let default = default_of(parameter);
            quote!(::airwnd_catalog::derived::complete_entry::<#ty>(node, #name, #default, defaults);)
        }
        Declared::Block { ty, .. } => quote!(<#ty as ::airwnd_catalog::Param>::complete(node, defaults);),
        Declared::Quirks { .. } => quote!(),
    }
}

fn check_values(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let Parameter { ident, name, .. } = &**parameter;
            quote! {
                ::airwnd_catalog::Param::check_values(&self.#ident).map_err(|fault| fault.within(#name))?;
            }
        }
        Declared::Block { ident, .. } => quote!(::airwnd_catalog::Param::check_values(&self.#ident)?;),
        Declared::Quirks { .. } => quote!(),
    }
}

fn read_files(declared: &Declared<'_>) -> Tokens {
    match declared {
        Declared::Parameter(parameter) => {
            let Parameter { ident, name, .. } = &**parameter;
            quote! {
                ::airwnd_catalog::Param::read_files(&mut self.#ident, files)
                    .map_err(|fault| fault.within(#name))?;
            }
        }
        Declared::Block { ident, .. } => {
            quote!(::airwnd_catalog::Param::read_files(&mut self.#ident, files)?;)
        }
        Declared::Quirks { .. } => quote!(),
    }
}

/// Code that adds to the parameter descriptions of `airwnd explain`.
fn info(declared: &Declared<'_>) -> Tokens {
    let parameter = match declared {
        Declared::Parameter(parameter) => parameter,
        Declared::Block { ty, .. } => return quote!(.block::<#ty>()),
        Declared::Quirks { .. } => return quote!(),
    };
    let Parameter { name, ty, doc, unit, source, level, .. } = &**parameter;
    let default = default_of(parameter);
    let range = match &parameter.range {
        Some(range) => quote! {
            Some(::airwnd_catalog::range_text::<<#ty as ::airwnd_catalog::Bounded>::Scalar>(&(#range)))
        },
        None => quote!(None),
    };
    quote! {
        .own(::airwnd_catalog::ParamInfo {
            name: #name,
            meaning: ::airwnd_catalog::split_doc(#doc).0,
            unit: #unit,
            default: #default.as_ref().map(::airwnd_catalog::Param::to_json),
            range: #range,
            source: #source,
            level: ::airwnd_catalog::Level::#level,
        })
    }
}

/// Code of `Default`; `None` if a parameter is required. Blocks must implement `Default`.
fn default(name: &Ident, declared: &[Declared<'_>]) -> Option<Tokens> {
    let value = |declared: &Declared<'_>| match declared {
        Declared::Parameter(parameter) => {
            let (ident, default) = (parameter.ident, parameter.default.as_ref()?);
            Some(quote!(#ident: #default,))
        }
        Declared::Block { ident, ty } | Declared::Quirks { ident, ty } => {
            Some(quote!(#ident: <#ty>::default(),))
        }
    };
    let values = declared.iter().map(value).collect::<Option<Vec<_>>>()?;
    Some(quote! {
        impl Default for #name {
            fn default() -> Self {
                #name { #(#values)* }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(item: Tokens) -> String {
        expand(item).unwrap_err().to_string()
    }

    #[test]
    fn a_missing_option_is_named_with_its_field() {
        let whole = quote! {
            /// A controller.
            struct Params {}
        };
        assert_eq!(refusal(whole), "`Params` needs #[params(source = \"...\")]");
        let undocumented = quote! {
            #[params(source = "RFC 0")]
            struct Params {}
        };
        assert_eq!(refusal(undocumented), "`Params` needs a doc comment: its meaning");
        let field = |attributes: Tokens| {
            refusal(quote! {
                /// A controller.
                #[params(source = "RFC 0")]
                struct Params { #attributes gain: f64 }
            })
        };
        assert_eq!(
            field(quote!(#[param(unit = "1", source = "none")])),
            "`gain` needs a doc comment: its meaning"
        );
        assert_eq!(
            field(quote!(#[doc = "Gain."] #[param(source = "none")])),
            "`gain` needs #[param(unit = \"...\")], \"1\" if dimensionless"
        );
        assert_eq!(
            field(quote!(#[doc = "Gain."] #[param(unit = "1")])),
            "`gain` needs #[param(source = \"...\")]"
        );
    }

    #[test]
    fn an_invalid_attribute_is_rejected() {
        let field = |attribute: Tokens| {
            refusal(quote! {
                /// A controller.
                #[params(source = "RFC 0")]
                struct Params {
                    /// Gain.
                    #attribute
                    gain: f64
                }
            })
        };
        assert_eq!(
            field(quote!(#[param(units = "1", source = "none")])),
            "unknown key `units`; allowed: default, range, unit, source, basic, expert, flatten, quirks"
        );
        assert_eq!(
            field(quote!(#[param(basic, default = 1.0, unit = "1", source = "none")] #[param(expert)])),
            "`gain` is `basic` already"
        );
        assert_eq!(
            field(quote!(#[param(expert, unit = "1", source = "none")])),
            "a parameter without a default is basic; it needs no level"
        );
        assert_eq!(
            field(quote!(#[param(unit = "1", source = "none")] #[param(unit = "B")])),
            "`unit` appears twice"
        );
        assert_eq!(
            field(quote!(#[param(flatten, unit = "1")])),
            "`flatten` and `quirks` exclude other options: the struct declares its own parameters"
        );
        let hook = quote! {
            /// A controller.
            #[params(source = "RFC 0", checks)]
            struct Params {}
        };
        assert_eq!(refusal(hook), "unknown key `checks`; allowed: source, check, files");
    }

    #[test]
    fn only_a_plain_struct_with_named_fields_is_accepted() {
        let declared = |item: Tokens| refusal(quote!(#[doc = "A."] #[params(source = "RFC 0")] #item));
        assert_eq!(
            declared(quote!(
                enum A {
                    B,
                }
            )),
            "`Params` can be derived for structs only"
        );
        assert_eq!(
            declared(quote!(
                struct A(u8);
            )),
            "parameters need names; write `struct ... { ... }`"
        );
        assert_eq!(
            declared(quote!(
                struct A<T> {
                    b: T,
                }
            )),
            "type parameters are not supported here"
        );
    }

    #[test]
    fn a_required_parameter_prevents_default() {
        let item = |default: Tokens| {
            let item = quote! {
                /// A controller.
                #[params(source = "RFC 0")]
                struct Params {
                    /// Gain.
                    #[param(unit = "1", source = "none" #default)]
                    gain: f64
                }
            };
            expand(item).unwrap().to_string().contains("impl Default")
        };
        assert!(item(quote!(, default = 1.0)));
        assert!(!item(quote!()));
    }
}
