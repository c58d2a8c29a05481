//! Generates the table of built-in tools from `src/builtin/rows`, so that the program need not read them at each start.

use std::env::var;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

/// The members that every row has.
const REQUIRED: [&str; 8] = ["id", "title", "description", "effects", "access", "tiers", "approval", "judge"];

#[allow(clippy::disallowed_methods, reason = "a build script reads its source and writes what is compiled")]
fn main() {
    println!("cargo::rerun-if-changed=src/builtin/rows");
    let mut rows: Vec<Map<String, Value>> = Vec::new();
    for file in fs::read_dir("src/builtin/rows").expect("the rows are beside the module") {
        let path = file.expect("the folder of the rows can be read").path();
        let text = fs::read_to_string(&path).expect("the rows can be read");
        let read = serde_json::from_str::<Vec<Map<_, _>>>(&text);
        let read = read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (row, key) in read.iter().flat_map(|row| REQUIRED.map(|key| (row, key))) {
            assert!(row.contains_key(key), "{}: a row has no `{key}`: {row:?}", path.display());
        }
        rows.extend(read);
    }
    rows.sort_by(|one, other| one["id"].as_str().cmp(&other["id"].as_str()));
    let table: String = rows.iter().map(|row| format!("    {},\n", literal("Definition", row))).collect();
    let code = format!("static DEFINITIONS: [Definition; {}] = [\n{table}];\n", rows.len());
    let folder = var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("definitions.rs"), code).expect("the table can be written");
}

/// Writes a value of a struct. Members that are missing have their default.
fn literal(name: &str, members: &Map<String, Value>) -> String {
    let members = members.iter().map(|(key, value)| format!("{key}: {}, ", expression(key, value)));
    format!("{name} {{ {}..{name}::DEFAULT }}", members.collect::<String>())
}

/// Writes the value of a member. A word such as `web-domains` is the variant `WebDomains`.
fn expression(key: &str, value: &Value) -> String {
    let words = match key {
        "access" => "AccessLevel",
        "approval" => "ToolApproval",
        "judge" => "Judge",
        "modes" => "Mode",
        "needs" => "Fact",
        "tier" | "tiers" => "Tier",
        _ => "",
    };
    match value {
        Value::String(text) if words.is_empty() => format!("{text:?}"),
        Value::String(word) => {
            let parts = word.split('-').map(|part| format!("{}{}", part[..1].to_uppercase(), &part[1..]));
            let variant = format!("{words}::{}", parts.collect::<String>());
            if key == "tier" { format!("Some({variant})") } else { variant }
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| expression(key, item) + ", ");
            format!("&[{}]", items.collect::<String>())
        }
        Value::Object(alias) if key == "aliases" => literal("Alias", alias),
        Value::Object(texts) => {
            let texts = texts.iter().map(|(name, text)| format!("({name:?}, {text}), "));
            format!("&[{}]", texts.collect::<String>())
        }
        other => other.to_string(),
    }
}
