//! Writes the JSON Schema of every document of `--json`, and of files that people write, as one JSON object from
//! schema id to schema.
//!
//! `cargo run -p brigade-cli --features schemas --example schemas`; `cargo xtask schemas` keeps them under
//! `docs/schemas/`.

#![allow(clippy::print_stdout, reason = "printing is all that this program does")]

use brigade_cli::documents;
use serde_json::Value;

fn main() {
    let schemas = documents::all().into_iter().map(|document| (document.id().to_owned(), document.schema()));
    let formats = documents::formats().into_iter().map(|(id, schema)| (id.to_owned(), schema));
    println!("{}", Value::from_iter(schemas.chain(formats)));
}
