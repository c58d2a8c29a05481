//! Attributes of the types that the documents of Brigade consist of.
//!
//! Owns what every document repeats: its derives, its schema id and its exit code. Does not know any document.
//!
//! [`macro@part`] is for a row or a list, [`macro@document`] for a whole document, and [`macro@record`] for a stored
//! record.

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
    let (mut tokens, name, fields) = split_struct(item);
    let schema = format!(
        "#[doc = \"The schema id.\"]
        #[serde(deserialize_with = \"<{name} as ::brigade_core::Report>::read_schema\")]
        pub schema: ::brigade_core::SchemaId,"
    );
    let fields = parse(&schema).into_iter().chain(fields).collect();
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

/// Marks a record: a struct with the derives and the serde form of `brigade_core::record!`, and a JSON Schema. It gets
/// the field `extra` for members that this version does not know.
///
/// More traits to derive are its arguments. With `Default`, every member may be missing.
#[proc_macro_attribute]
pub fn record(derives: TokenStream, item: TokenStream) -> TokenStream {
    let (mut tokens, name, fields) = split_struct(item);
    let is_default = |token: TokenTree| token.to_string() == "Default";
    let default = if derives.clone().into_iter().any(is_default) { ", default" } else { "" };
    let attributes = format!(
        "#[derive(Clone, Debug, ::serde::Serialize, ::serde::Deserialize, {derives})]
        #[cfg_attr(feature = \"schemas\", derive(::schemars::JsonSchema))]
        #[serde(remote = \"Self\"{default})]"
    );
    let extra = parse(
        "#[doc = \"Members that this version does not know.\"]
        #[serde(skip)]
        pub extra: ::brigade_core::Extra,",
    );
    let fields = fields.into_iter().chain(extra).collect();
    tokens.push(TokenTree::Group(Group::new(Delimiter::Brace, fields)));
    let form = format!("::brigade_core::record!({name});");
    parse(&attributes).into_iter().chain(tokens).chain(parse(&form)).collect()
}

/// Splits a struct with named fields into the tokens before the fields, its name, and the fields.
fn split_struct(item: TokenStream) -> (Vec<TokenTree>, TokenTree, TokenStream) {
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let is_struct = |token: &TokenTree| token.to_string() == "struct";
    let at = tokens.iter().position(is_struct).expect("it is a struct");
    match (tokens[at + 1].clone(), tokens.pop()) {
        (name, Some(TokenTree::Group(fields))) => (tokens, name, fields.stream()),
        _ => panic!("a struct has named fields"),
    }
}

fn parse(text: &str) -> TokenStream {
    text.parse().expect("the text is Rust")
}
