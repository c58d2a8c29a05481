//! Enums whose variants are objects with a name, as the journal and the events file have them.

/// Defines an enum that serde tags by a member, listing each name once, with `KINDS` and `kind`. A member with a
/// function in brackets is left out if the function says so.
macro_rules! tagged_enum {
    ($(#[$head:meta])* $enum:ident by $tag:literal { $(
        $(#[$doc:meta])* $name:ident = $kind:literal {
            $($(#[$field_doc:meta])* $field:ident $([$absent:literal])?: $type:ty,)*
        }
    )+ }) => {
        $(#[$head])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = $tag)]
        pub enum $enum {
            $($(#[$doc])* #[serde(rename = $kind)] $name {
                $($(#[$field_doc])* $(#[serde(default, skip_serializing_if = $absent)])? $field: $type,)*
            },)+
        }

        impl $enum {
            /// The names of all variants, in order.
            pub const KINDS: &[&str] = &[$($kind),+];

            /// Returns the name of the variant.
            pub const fn kind(&self) -> &'static str {
                match self { $($enum::$name { .. } => $kind,)+ }
            }
        }
    };
}

pub(crate) use tagged_enum;
