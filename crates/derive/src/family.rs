//! `#[family(...)]`: declaration of a family of algorithms.

use crate::attributes::{doc, each_key, no_generics, plain, unknown_key, value};
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{
    Attribute, Error, Fields, Ident, ItemEnum, LitStr, Path, Result, ReturnType, Type, TypeFnPtr, Variant,
};

/// Arguments of the attribute.
#[derive(Default)]
struct Arguments {
    name: Option<LitStr>,
    build: Option<TypeFnPtr>,
}

/// A member: one variant of the enum.
struct Member<'a> {
    variant: &'a Ident,
    /// Module, named like its file.
    module: &'a Ident,
    /// Type of its parameters.
    params: &'a Path,
    /// Word that selects it.
    kind: String,
    /// Conditions of its existence, `#[cfg(..)]`.
    conditions: Vec<&'a Attribute>,
    /// Where its file is, `#[path = ".."]`, if not beside the family.
    path: Option<&'a Attribute>,
    /// Whether its parameters create it, `#[outside]`: its type is not known to the engine.
    is_outside: bool,
}

pub fn expand(arguments: Tokens, item: Tokens) -> Result<Tokens> {
    let arguments = self::arguments.parse2(arguments)?;
    let item: ItemEnum = syn::parse2(item)?;
    no_generics(&item.generics)?;
    let name = &item.ident;
    let doc = doc(&item.attrs, name)?;
    let family = arguments.name.ok_or_else(|| Error::new(name.span(), "a family needs a `name`"))?;
    let members = item.variants.iter().map(member).collect::<Result<Vec<_>>>()?;

    let modules = members
        .iter()
        .map(|Member { module, conditions, path, .. }| quote!(#(#conditions)* #path pub mod #module;));
    let conditions: Vec<Tokens> = members.iter().map(Member::conditions).collect();
    let variants: Vec<&Ident> = members.iter().map(|member| member.variant).collect();
    let params: Vec<&Path> = members.iter().map(|member| member.params).collect();
    let kinds: Vec<&String> = members.iter().map(|member| &member.kind).collect();
    let documented = documented(&item, &members);
    let outside = arguments.build.as_ref().and_then(|build| outside(name, build, &members));
    let build = arguments.build.map(|build| constructor(name, &build, &members)).transpose()?;

    Ok(quote! {
        #(#modules)*

        #documented

        impl #name {
            /// Words of all members, in order of declaration.
            pub fn kinds() -> Vec<String> {
                Vec::from([#(#conditions #kinds.to_string()),*])
            }

            /// Word of this member.
            pub fn kind(&self) -> String {
                match self { #(#conditions #name::#variants(_) => #kinds.to_string(),)* }
            }

            /// Names of the parameters of a member; none if there is no such member.
            pub fn keys(kind: &str) -> Vec<&'static str> {
                match kind {
                    #(#conditions #kinds => ::airwnd_catalog::derived::keys::<#params>(),)*
                    _ => Vec::new(),
                }
            }

            /// Description of the family for `airwnd list` and `airwnd explain`.
            pub fn catalogue() -> ::airwnd_catalog::FamilyInfo {
                ::airwnd_catalog::FamilyInfo {
                    name: #family,
                    summary: ::airwnd_catalog::split_doc(#doc).0,
                    members: Vec::from([#(#conditions ::airwnd_catalog::derived::member::<#params>(#kinds)),*]),
                    schema: <#name as ::airwnd_catalog::Param>::schema(),
                }
            }
        }

        #build

        #outside

        impl ::airwnd_catalog::Param for #name {
            fn read(node: &::airwnd_catalog::Node) -> Result<Self, ::airwnd_catalog::Error> {
                let kind = ::airwnd_catalog::read_kind(node, #family, &Self::kinds())?;
                let table = ::airwnd_catalog::without_kind(node);
                match kind {
                    #(#conditions #kinds => ::airwnd_catalog::Param::read(&table).map(#name::#variants),)*
                    _ => unreachable!("read_kind accepts the family's kinds only"),
                }
            }
            fn to_json(&self) -> ::airwnd_catalog::serde_json::Value {
                let params = match self {
                    #(#conditions #name::#variants(params) => ::airwnd_catalog::Param::to_json(params),)*
                };
                ::airwnd_catalog::derived::with_kind(self.kind(), params)
            }
            fn schema() -> ::airwnd_catalog::serde_json::Value {
                ::airwnd_catalog::derived::any_of(
                    [#(#conditions (#kinds, ::airwnd_catalog::derived::member_schema::<#params>(#kinds))),*],
                )
            }
            fn complete(node: &mut ::airwnd_catalog::Node, defaults: &::airwnd_catalog::Defaults) {
                ::airwnd_catalog::derived::complete_member(node, #family, defaults, |kind, node, defaults| match kind {
                    #(#conditions #kinds => <#params as ::airwnd_catalog::Param>::complete(node, defaults),)*
                    _ => {}
                });
            }
            fn adopt(
                &mut self,
                _own: Option<&::airwnd_catalog::Node>,
                quirks: &::airwnd_catalog::Defaults,
            ) -> Result<(), ::airwnd_catalog::Error> {
                match self {
                    #(#conditions #name::#variants(params) => {
                        ::airwnd_catalog::Param::adopt(params, quirks.member(#family, #kinds), quirks)
                    })*
                }
            }
            fn check_values(&self) -> Result<(), ::airwnd_catalog::Fault> {
                match self {
                    #(#conditions #name::#variants(params) => ::airwnd_catalog::Param::check_values(params),)*
                }
            }
            fn read_files(
                &mut self,
                files: &dyn ::airwnd_catalog::Files,
            ) -> Result<(), ::airwnd_catalog::Fault> {
                match self {
                    #(#conditions #name::#variants(params) => ::airwnd_catalog::Param::read_files(params, files),)*
                }
            }
        }
    })
}

fn arguments(input: ParseStream) -> Result<Arguments> {
    let mut arguments = Arguments::default();
    each_key(input, &mut Vec::new(), &mut |key, input| {
        match key.to_string().as_str() {
            "name" => arguments.name = Some(value(input)?),
            "build" => arguments.build = Some(value(input)?),
            _ => return Err(unknown_key(key, "name, build")),
        }
        Ok(())
    })?;
    Ok(arguments)
}

impl Member<'_> {
    /// The attributes of what exists under its conditions only.
    fn conditions(&self) -> Tokens {
        let conditions = &self.conditions;
        quote!(#(#conditions)*)
    }
}

/// Parses a member: `Variant(module::Params)`.
fn member(variant: &Variant) -> Result<Member<'_>> {
    let wrong = || {
        let name = &variant.ident;
        let message = format!("a member is declared as `{name}(file::Params)`");
        Error::new(name.span(), message)
    };
    let Fields::Unnamed(fields) = &variant.fields else { return Err(wrong()) };
    let mut types = fields.unnamed.iter().map(|field| &field.ty);
    let (Some(Type::Path(params)), None) = (types.next(), types.next()) else { return Err(wrong()) };
    if params.path.segments.len() != 2 {
        return Err(wrong());
    }
    let module = &params.path.segments[0].ident;
    let kind = plain(module).replace('_', "-");
    let named = |name| variant.attrs.iter().filter(move |attribute| attribute.path().is_ident(name));
    Ok(Member {
        variant: &variant.ident,
        module,
        params: &params.path,
        kind,
        conditions: named("cfg").collect(),
        path: named("path").next(),
        is_outside: named("outside").next().is_some(),
    })
}

/// Adds a doc comment to each variant without one, and removes what belongs to its module.
fn documented(item: &ItemEnum, members: &[Member<'_>]) -> ItemEnum {
    let mut item = item.clone();
    for (variant, member) in item.variants.iter_mut().zip(members) {
        if !variant.attrs.iter().any(|attribute| attribute.path().is_ident("doc")) {
            let doc = format!("Selected by `{}`, the name of its file.", member.kind);
            variant.attrs.push(syn::parse_quote!(#[doc = #doc]));
        }
        variant
            .attrs
            .retain(|attribute| !["path", "outside"].iter().any(|own| attribute.path().is_ident(own)));
    }
    item
}

/// Generates the constructor. It passes a copy of the parameters and its own arguments to the member's `new`; the
/// parameters of a member from outside create it.
fn constructor(name: &Ident, build: &TypeFnPtr, members: &[Member<'_>]) -> Result<Tokens> {
    let mut arguments = Vec::new();
    for input in &build.inputs {
        let Some((argument, _)) = &input.name else {
            return Err(Error::new(build.fn_token.span, "the arguments of `build` need names"));
        };
        arguments.push((argument, &input.ty));
    }
    let ReturnType::Type(_, object) = &build.output else {
        return Err(Error::new(build.fn_token.span, "`build` returns a box, `-> Box<dyn Trait>`"));
    };
    let declared = arguments.iter().map(|(argument, ty)| quote!(#argument: #ty));
    let passed: Vec<&Ident> = arguments.iter().map(|(argument, _)| *argument).collect();
    let arms = members.iter().map(|member| {
        let Member { variant, module, .. } = member;
        let conditions = member.conditions();
        let object = format_ident!("{variant}");
        if member.is_outside {
            return quote!(#conditions #name::#variant(params) => params.build(#(#passed),*),);
        }
        quote!(#conditions #name::#variant(params) => Box::new(#module::#object::new(params.clone() #(, #passed)*)),)
    });
    Ok(quote! {
        impl #name {
            /// Creates the algorithm that this member declares.
            pub fn build(&self, #(#declared),*) -> #object {
                match self { #(#arms)* }
            }
        }
    })
}

/// Generates the methods of a family with members from outside; `None`: it has no such members.
fn outside(name: &Ident, build: &TypeFnPtr, members: &[Member<'_>]) -> Option<Tokens> {
    let own = members.iter().filter(|member| member.is_outside);
    let (variants, kinds): (Vec<&Ident>, Vec<&String>) =
        own.map(|member| (member.variant, &member.kind)).unzip();
    let ReturnType::Type(_, object) = &build.output else { return None };
    (!variants.is_empty()).then(|| {
        quote! {
            impl #name {
                /// Words of the members that are not external to the engine, in order of declaration.
                pub fn built_in() -> Vec<String> {
                    let outside = [#(#kinds),*];
                    Self::kinds().into_iter().filter(|kind| !outside.contains(&kind.as_str())).collect()
                }

                /// Whether the member is external to the engine.
                pub fn is_outside(&self) -> bool {
                    matches!(self, #(#name::#variants(_))|*)
                }

                /// The parameters of an external member; `None`: it is built in.
                pub fn external(&mut self) -> Option<&mut dyn ::airwnd_catalog::outside::External> {
                    match self {
                        #(#name::#variants(params) => Some(params),)*
                        _ => None,
                    }
                }

                /// Resolves the constructor of an external member; built-in members need none. `node` is the table in the
                /// scenario, `folder` the folder that relative paths refer to.
                ///
                /// # Errors
                /// The plug-in is not registered, or it rejects its settings.
                pub fn link(
                    &mut self,
                    node: &::airwnd_catalog::Node,
                    folder: &::std::path::Path,
                    plugins: &::airwnd_catalog::outside::RegistryOf<#object>,
                ) -> Result<(), ::airwnd_catalog::Error> {
                    match self {
                        #(#name::#variants(params) => {
                            ::airwnd_catalog::outside::Linked::link(params, node, folder, plugins)
                        })*
                        _ => Ok(()),
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: Tokens, variants: Tokens) -> Result<String> {
        let item = quote! {
            /// A family.
            pub enum Spec { #variants }
        };
        expand(arguments, item).map(|tokens| tokens.to_string())
    }

    #[test]
    fn a_variant_declares_the_module_and_the_word() {
        let arguments = quote!(name = "f", build = fn(ctx: &Ctx) -> Box<dyn Rule>);
        let code = expanded(arguments, quote!(DropTail(drop_tail::Params), Still(r#static::Params))).unwrap();
        assert!(code.contains("pub mod drop_tail ;") && code.contains("pub mod r#static ;"), "{code}");
        assert!(code.contains("\"drop-tail\"") && code.contains("\"static\""), "{code}");
        assert!(code.contains("drop_tail :: DropTail :: new (params . clone () , ctx)"), "{code}");
    }

    #[test]
    fn the_parameters_of_a_member_from_outside_create_it() {
        let arguments = quote!(name = "f", build = fn(ctx: &Ctx) -> Box<dyn Rule>);
        let code = expanded(
            arguments,
            quote!(
                #[outside]
                Python(python::Params)
            ),
        )
        .unwrap();
        assert!(code.contains("Spec :: Python (params) => params . build (ctx)"), "{code}");
        assert!(!code.contains("# [outside]"), "{code}");
    }

    #[test]
    fn a_condition_holds_for_everything_of_a_variant() {
        let arguments = quote!(name = "f", build = fn() -> Box<dyn Rule>);
        let plain = expanded(arguments.clone(), quote!(Pie(pie::Params))).unwrap();
        let code = expanded(
            arguments,
            quote!(
                #[cfg(test)]
                #[path = "a/pie.rs"]
                Pie(pie::Params)
            ),
        )
        .unwrap();
        assert!(code.contains("# [cfg (test)] # [path = \"a/pie.rs\"] pub mod pie ;"), "{code}");
        // Each condition removed, there remains what a variant without one has.
        let without = code.replace("# [path = \"a/pie.rs\"] ", "").replace("# [cfg (test)] ", "");
        assert_eq!(without, plain);
        // Module, variant, kinds, kind, keys, catalogue, build, and seven of `Param`.
        assert_eq!(code.matches("# [cfg (test)]").count(), 14, "{code}");
    }

    #[test]
    fn a_malformed_variant_is_rejected() {
        let refusal = |arguments, variants| expanded(arguments, variants).unwrap_err().to_string();
        let named = quote!(name = "f");
        let line = "a member is declared as `Pie(file::Params)`";
        for wrong in [quote!(Pie), quote!(Pie(Params)), quote!(Pie(pie::Params, u8)), quote!(Pie { a: u8 })] {
            assert_eq!(refusal(named.clone(), wrong), line);
        }
        assert_eq!(refusal(quote!(), quote!()), "a family needs a `name`");
        assert_eq!(refusal(quote!(nam = "f"), quote!()), "unknown key `nam`; allowed: name, build");
        assert_eq!(
            refusal(quote!(name = "f", build = fn(u8) -> Box<dyn Rule>), quote!()),
            "the arguments of `build` need names"
        );
    }
}
