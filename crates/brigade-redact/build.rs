//! Generates a table from `rules.toml`, so that the program need not read it at each start.

use std::env::var;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

#[allow(clippy::disallowed_methods, reason = "a build script reads its source and writes what is compiled")]
fn main() {
    println!("cargo::rerun-if-changed=rules.toml");
    let text = fs::read_to_string("rules.toml").expect("rules.toml is beside build.rs");
    let table: Table = text.parse().expect("rules.toml is TOML");
    let rules = table.get("rule").and_then(Value::as_array).expect("rules.toml has rules");
    let mut code = format!("pub(crate) static SHAPES: [Shape; {}] = [\n", rules.len());
    for rule in rules {
        code.push_str(&shape(rule.as_table().expect("a rule is a table")));
    }
    code.push_str("];\n");
    let folder = var("OUT_DIR").expect("cargo sets OUT_DIR");
    fs::write(Path::new(&folder).join("shapes.rs"), code).expect("the table can be written");
}

/// Writes a rule as a value of `Shape`.
fn shape(rule: &Table) -> String {
    let text = |key: &str| rule.get(key).and_then(Value::as_str);
    let number = |key: &str| rule.get(key).and_then(Value::as_integer);
    let id = text("id").expect("a rule has an id");
    let must = |value: Option<&str>, key: &str| {
        value.unwrap_or_else(|| panic!("rule {id} of rules.toml has no {key}")).to_owned()
    };
    let length = match (number("exact"), number("least")) {
        (Some(exact), None) => format!("Length::Exactly({exact})"),
        (None, Some(least)) => format!("Length::AtLeast({least})"),
        _ => panic!("rule {id} of rules.toml needs either `exact` or `least`"),
    };
    let need = match text("need") {
        None => "Nothing",
        Some("varied") => "Varied",
        Some("mixed") => "Mixed",
        Some(other) => panic!("rule {id} of rules.toml has the unknown need {other}"),
    };
    let alphabet = must(text("alphabet"), "alphabet");
    let alphabet = format!("{}{}", alphabet[..1].to_uppercase(), &alphabet[1..]);
    let digits = rule.get("digits").map_or("(0, 0)".to_owned(), |range| {
        let range: Vec<i64> = range.as_array().into_iter().flatten().filter_map(Value::as_integer).collect();
        assert!(range.len() == 2, "rule {id} of rules.toml needs two numbers of `digits`");
        format!("({}, {})", range[0], range[1])
    });
    let mut code = String::new();
    writeln!(
        code,
        "    Shape {{ issuer: {:?}, prefix: {:?}, alphabet: Alphabet::{alphabet}, length: {length}, \
         need: Need::{need}, before: {}, digits: {digits}, keeps_prefix: {} }},",
        must(text("issuer"), "issuer"),
        must(text("prefix"), "prefix"),
        number("before").unwrap_or_default(),
        rule.get("keep").and_then(Value::as_bool).unwrap_or_default(),
    )
    .expect("writing to a string cannot fail");
    code
}
