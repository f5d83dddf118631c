//! The three declarations.

use crate::param::unknown;
use crate::{Error, Node, Params};

/// The message for a word that a [`choice!`](crate::choice) does not have.
#[doc(hidden)]
pub fn unknown_word(what: &str, word: &str, allowed: &[&str]) -> String {
    unknown(what, word, allowed)
}

#[doc(hidden)]
pub use crate::param::{read_kind, without_kind};

/// Reads the keys of a block from the table that takes it in.
#[doc(hidden)]
pub fn read_block<T: Params>(node: &Node) -> Result<T, Error> {
    let infos = T::infos();
    T::read(&node.entries(|key| infos.iter().any(|info| info.name == key)))
}

/// Adds the entries of a block's object.
#[doc(hidden)]
pub fn join(object: &mut serde_json::Map<String, serde_json::Value>, block: serde_json::Value) {
    if let serde_json::Value::Object(block) = block {
        object.extend(block);
    }
}

/// Declares a struct of parameters: a scenario section or an algorithm's settings.
///
/// `pub struct` wants a default for every field and implements `Default`; `pub section` lets a field be
/// required by leaving its default out. Each field has a doc comment, `unit`, optionally `range` (both ends
/// included) and `source`. See the crate's example.
///
/// A last line `flatten block: Block;` takes in another struct of parameters, whose keys all have defaults: they stand
/// in the same table of a scenario, behind the struct's own, and are declared once for all who share them.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident ($source:literal) {$(
            $(#[doc = $field_doc:literal])+
            pub $field:ident: $type:ty = $default:expr, unit $unit:literal
            $(, range $range:expr)?, source $field_source:literal;
        )* $(flatten $block:ident: $block_type:ty;)?}
    ) => {
        $crate::params! {
            $(#[doc = $doc])+
            pub section $name ($source) {$(
                $(#[doc = $field_doc])+
                pub $field: $type = $default, unit $unit $(, range $range)?, source $field_source;
            )* $(flatten $block: $block_type;)?}
        }
        impl Default for $name {
            fn default() -> Self {
                $name {$($field: $default,)* $($block: <$block_type>::default(),)?}
            }
        }
    };
    (
        $(#[doc = $doc:literal])+
        pub section $name:ident ($source:literal) {$(
            $(#[doc = $field_doc:literal])+
            pub $field:ident: $type:ty $(= $default:expr)?, unit $unit:literal
            $(, range $range:expr)?, source $field_source:literal;
        )* $(flatten $block:ident: $block_type:ty;)?}
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                $(#[doc = $field_doc])+
                pub $field: $type,
            )*
            $(
                #[doc = concat!("The keys of [`", stringify!($block_type), "`].")]
                pub $block: $block_type,
            )?
        }

        impl $crate::Param for $name {
            fn read(node: &$crate::Node) -> Result<Self, $crate::Error> {
                #[allow(unused_variables, reason = "a struct without parameters takes none")]
                let fields = $crate::Fields::of(node, &$crate::__keys!([$($field)*] [$($block_type)?]))?;
                Ok($name {
                    $($field: $crate::__take!(fields, $field, $type, [$($default)?], [$($range)?]),)*
                    $($block: $crate::read_block::<$block_type>(node)?,)?
                })
            }
            fn to_json(&self) -> $crate::serde_json::Value {
                #[allow(unused_mut, reason = "a struct without parameters has none")]
                let mut object = $crate::serde_json::Map::new();
                $(
                    let value = $crate::Param::to_json(&self.$field);
                    if !value.is_null() {
                        object.insert(stringify!($field).into(), value);
                    }
                )*
                $(
                    let block: &$block_type = &self.$block;
                    $crate::join(&mut object, $crate::Param::to_json(block));
                )?
                $crate::serde_json::Value::Object(object)
            }
            fn schema() -> $crate::serde_json::Value {
                #[allow(unused_mut, reason = "a struct without parameters has none")]
                let mut properties = $crate::serde_json::Map::new();
                let infos = <$name as $crate::Params>::infos();
                let required: Vec<&str> =
                    infos.iter().filter(|info| info.default.is_none()).map(|info| info.name).collect();
                $(
                    let mut schema = <$type as $crate::Param>::schema();
                    let info = infos.iter().find(|info| info.name == stringify!($field)).expect("declared above");
                    $crate::describe(&mut schema, info);
                    properties.insert(stringify!($field).into(), schema);
                )*
                $(
                    let mut block = <$block_type as $crate::Param>::schema();
                    $crate::join(&mut properties, block["properties"].take());
                )?
                $crate::serde_json::json!({
                    "type": "object", "additionalProperties": false,
                    "properties": properties, "required": required,
                })
            }
        }

        impl $crate::Params for $name {
            const DOC: &'static str = concat!($($doc, "\n"),+);
            const SOURCE: &'static str = $source;
            fn infos() -> Vec<$crate::ParamInfo> {
                #[allow(unused_mut, reason = "only a struct with a block adds to it")]
                let mut infos = vec![$($crate::ParamInfo {
                    name: stringify!($field),
                    meaning: $crate::split_doc(concat!($($field_doc, "\n"),+)).0,
                    unit: $unit,
                    default: $crate::__default!($type, [$($default)?]).as_ref().map($crate::Param::to_json),
                    range: $crate::__range!($type, [$($range)?]),
                    source: $field_source,
                },)*];
                $(infos.extend(<$block_type as $crate::Params>::infos());)?
                infos
            }
        }
    };
}

/// The keys that a table may have.
#[doc(hidden)]
#[macro_export]
macro_rules! __keys {
    ([$($field:ident)*] []) => {
        [$(stringify!($field)),*]
    };
    ([$($field:ident)*] [$block_type:ty]) => {{
        let block = <$block_type as $crate::Params>::infos();
        [$(stringify!($field)),*].into_iter().chain(block.iter().map(|info| info.name)).collect::<Vec<_>>()
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    ($type:ty, []) => {
        None::<$type>
    };
    ($type:ty, [$default:expr]) => {
        Some::<$type>($default)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __range {
    ($type:ty, []) => {
        None
    };
    ($type:ty, [$range:expr]) => {{
        let range: std::ops::RangeInclusive<<$type as $crate::Bounded>::Scalar> = $range;
        Some($crate::range_text(&range))
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __take {
    ($fields:ident, $field:ident, $type:ty, [$($default:expr)?], []) => {
        $fields.take::<$type>(stringify!($field), $crate::__default!($type, [$($default)?]))?
    };
    ($fields:ident, $field:ident, $type:ty, [$($default:expr)?], [$range:expr]) => {
        $fields.take_within::<$type>(stringify!($field), $crate::__default!($type, [$($default)?]), $range)?
    };
}

/// Declares a closed set of words.
///
/// ```
/// use airwnd_catalog::{Node, Param, choice};
/// choice! {
///     /// Where a thing goes.
///     pub enum Way { /// Up.
///         Up = "up", /// Down.
///         Down = "down" }
/// }
/// let node = Node::from_json("\"dwn\"", "x").unwrap();
/// let message = Way::read(&node).unwrap_err().to_string();
/// assert_eq!(message, "x: unknown word `dwn`; did you mean `down`?; allowed: `up`, `down`");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident {$(
            $(#[doc = $word_doc:literal])+
            $variant:ident = $word:literal
        ),+ $(,)?}
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {$($(#[doc = $word_doc])+ $variant,)+}

        impl $name {
            /// The word in a scenario.
            pub fn word(self) -> &'static str {
                match self {$($name::$variant => $word,)+}
            }
        }

        impl $crate::Param for $name {
            fn read(node: &$crate::Node) -> Result<Self, $crate::Error> {
                let word = <String as $crate::Param>::read(node)?;
                match word.as_str() {
                    $($word => Ok($name::$variant),)+
                    other => Err(node.error($crate::unknown_word("word", other, &[$($word),+]))),
                }
            }
            fn to_json(&self) -> $crate::serde_json::Value {
                self.word().into()
            }
            fn schema() -> $crate::serde_json::Value {
                $crate::serde_json::json!({"enum": [$($word),+]})
            }
        }
    };
}

/// Lists the algorithms of a family: the one line that a new algorithm adds.
///
/// `stem: Type` declares the module `stem` (the file `stem.rs`, in which `Params` and `Type` live) and makes
/// it selectable as `"stem"` (with `-` for `_`) or `{kind = "stem", ...}`. The optional `build` clause
/// declares the constructor that hands a copy of the parameters and its own arguments to `Type::new` and
/// boxes the result.
#[macro_export]
macro_rules! family {
    (
        $(#[doc = $doc:literal])+
        pub family $spec:ident ($family:literal) {$($stem:ident: $type:ident),+ $(,)?}
        $(build fn $build:ident($($arg:ident: $arg_type:ty),*) -> Box<$object:ty>;)?
    ) => {
        $(pub mod $stem;)+

        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub enum $spec {$(
            #[doc = concat!("Selected by the kind of `", stringify!($stem), ".rs`.")]
            $type($stem::Params),
        )+}

        impl $spec {
            /// The words of the family's members, in the order of their list.
            pub fn kinds() -> Vec<String> {
                vec![$($crate::kind_of(stringify!($stem))),+]
            }

            /// The word of this member.
            pub fn kind(&self) -> String {
                match self {$($spec::$type(_) => $crate::kind_of(stringify!($stem)),)+}
            }

            /// What `airwnd list` and `airwnd explain` show.
            pub fn catalogue() -> $crate::FamilyInfo {
                $crate::FamilyInfo {
                    name: $family,
                    summary: $crate::split_doc(concat!($($doc, "\n"),+)).0,
                    members: vec![$($crate::AlgorithmInfo {
                        name: $crate::kind_of(stringify!($stem)),
                        summary: <$stem::Params as $crate::Params>::summary(),
                        details: <$stem::Params as $crate::Params>::details(),
                        source: <$stem::Params as $crate::Params>::SOURCE,
                        params: <$stem::Params as $crate::Params>::infos(),
                    }),+],
                }
            }
        }

        $crate::__build!($spec, [$($stem $type),+] $(, $build [$($arg: $arg_type),*] [$($arg),*] $object)?);

        impl $crate::Param for $spec {
            fn read(node: &$crate::Node) -> Result<Self, $crate::Error> {
                let kind = $crate::read_kind(node, $family, &Self::kinds())?;
                let table = $crate::without_kind(node);
                $(
                    if kind == $crate::kind_of(stringify!($stem)) {
                        return <$stem::Params as $crate::Param>::read(&table).map($spec::$type);
                    }
                )+
                unreachable!("read_kind accepts the family's kinds only")
            }
            fn to_json(&self) -> $crate::serde_json::Value {
                let mut object = $crate::serde_json::Map::new();
                object.insert("kind".into(), self.kind().into());
                let params = match self {$($spec::$type(params) => $crate::Param::to_json(params),)+};
                if let $crate::serde_json::Value::Object(params) = params {
                    object.extend(params);
                }
                $crate::serde_json::Value::Object(object)
            }
            fn schema() -> $crate::serde_json::Value {
                let mut members = vec![$crate::serde_json::json!({"enum": Self::kinds()})];
                $({
                    let mut schema = <$stem::Params as $crate::Param>::schema();
                    let kind = $crate::kind_of(stringify!($stem));
                    schema["properties"]["kind"] = $crate::serde_json::json!({"const": kind});
                    if let Some(required) = schema["required"].as_array_mut() {
                        required.push("kind".into());
                    }
                    schema["description"] = <$stem::Params as $crate::Params>::summary().into();
                    members.push(schema);
                })+
                $crate::serde_json::json!({"anyOf": members})
            }
        }
    };
}

/// The constructor of a family. The arguments pass as one token tree, because a repetition over the members
/// cannot hold another over the arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __build {
    ($spec:ident, [$($members:tt)*]) => {};
    ($spec:ident, [$($stem:ident $type:ident),+], $build:ident [$($params:tt)*] $args:tt $object:ty) => {
        impl $spec {
            /// Makes the algorithm that this member describes.
            pub fn $build(&self, $($params)*) -> Box<$object> {
                match self {$($spec::$type(params) => $crate::__call!($stem $type, params.clone(), $args),)+}
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __call {
    ($stem:ident $type:ident, $params:expr, [$($arg:ident),*]) => {
        Box::new($stem::$type::new($params, $($arg),*))
    };
}
