//! Attributes of the types that the documents of Brigade consist of.
//!
//! Owns what every document repeats: its derives, its schema id and its exit code. Does not know any document.
//!
//! [`macro@part`] is for a row or a list, and [`macro@document`] for a whole document.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Marks a part of a document: it is cloned, shown, written and read, has a JSON Schema, and may get more fields.
///
/// More traits to derive are its arguments: `#[part(PartialEq, Eq)]`.
#[proc_macro_attribute]
pub fn part(derives: TokenStream, item: TokenStream) -> TokenStream {
    let attributes = format!(
        "#[derive(Clone, Debug, {derives})]
        #[derive(::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = \"schemas\", derive(::schemars::JsonSchema))]
        #[non_exhaustive]"
    );
    parse(&attributes).into_iter().chain(item).collect()
}

/// Marks a document: a [`macro@part`] that begins with the field `schema`, and implements `brigade_core::Report`.
///
/// Its arguments are the schema id, and a condition without which the operation counts as refused:
/// `#[document("brigade.state.v1", if self.valid)]`.
#[proc_macro_attribute]
pub fn document(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut arguments = arguments.into_iter();
    let id = arguments.next().expect("a document has a schema id");
    let condition: TokenStream = arguments.skip(1).collect();
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let is_struct = |token: &TokenTree| token.to_string() == "struct";
    let at = tokens.iter().position(is_struct).expect("a document is a struct");
    let (name, Some(TokenTree::Group(fields))) = (tokens[at + 1].clone(), tokens.pop()) else {
        panic!("a document has named fields");
    };
    let schema = format!(
        "#[doc = \"The schema id.\"]
        #[serde(deserialize_with = \"<{name} as ::brigade_core::Report>::read_schema\")]
        pub schema: ::brigade_core::SchemaId,"
    );
    let fields = parse(&schema).into_iter().chain(fields.stream()).collect();
    tokens.push(TokenTree::Group(Group::new(Delimiter::Brace, fields)));
    let exit = match condition.is_empty() {
        true => String::new(),
        false => format!(
            "fn exit(&self) -> ::brigade_core::Exit {{
                {condition} {{ ::brigade_core::Exit::Done }} else {{ ::brigade_core::Exit::Refused }}
            }}"
        ),
    };
    let report = format!(
        "impl ::brigade_core::Report for {name} {{
            const SCHEMA: ::brigade_core::SchemaId = {id};
            {exit}
        }}"
    );
    part(TokenStream::new(), tokens.into_iter().collect()).into_iter().chain(parse(&report)).collect()
}

fn parse(text: &str) -> TokenStream {
    text.parse().expect("the text is Rust")
}
