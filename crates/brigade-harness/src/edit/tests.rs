use brigade_core::{Dialect, Json, Object};
use proptest::prelude::*;

use super::*;
use crate::{Connection, client, servers};

fn entry(label: &str) -> (&'static Client, Entry) {
    let client = client(label).unwrap();
    (client, client.entry(&Connection::stdio("brigade", "a", Some("/w"))).unwrap())
}

/// Inserts an entry, removes it again, and inserts it twice.
#[track_caller]
fn check(label: &str, file: &str, expect: &str) {
    let (client, entry) = entry(label);
    let put = put(client, Some(file.as_bytes()), &entry, None).unwrap();
    assert_eq!(put.text, expect);
    assert!(put.text[put.entry_at.clone()].contains(NAME) || label == "codex");
    check_steps(client, file, &entry, &put);
}

fn check_steps(client: &Client, file: &str, entry: &Entry, first: &EntryInsertion) {
    let again = put(client, Some(first.text.as_bytes()), entry, None).unwrap();
    assert_eq!((again.is_unchanged, again.text.as_str()), (true, first.text.as_str()));
    let taken = take(client, first.text.as_bytes(), &first.traces, None).unwrap().unwrap();
    assert_eq!(taken.text.as_deref(), Some(file), "taken out of {}", first.text);
    assert!(first.entry_at.start <= taken.entry_at.start && taken.entry_at.end <= first.entry_at.end);
}

#[track_caller]
fn refused(label: &str, file: &[u8], line: usize, expect: &str) {
    let (client, entry) = entry(label);
    let refusal = put(client, Some(file), &entry, None).unwrap_err();
    assert_eq!((refusal.to_string().as_str(), refusal.at().map_or(0, |at| at.line)), (expect, line));
    let taken = take(client, file, &Traces::default(), None);
    assert!(!matches!(taken, Ok(Some(_))), "{taken:?}");
}

const INLINE: &str =
    r#""brigade": {"command": "brigade", "args": ["serve", "--stdio", "--as", "a", "--target", "/w"]}"#;

/// The entry, with each member on a separate line.
fn lines(indent: &str, unit: &str) -> String {
    format!(
        "{indent}\"brigade\": {{\n{indent}{unit}\"command\": \"brigade\",\n{indent}{unit}\"args\": [\"serve\", \
         \"--stdio\", \"--as\", \"a\", \"--target\", \"/w\"]\n{indent}}}"
    )
}

#[test]
fn an_entry_is_added_in_the_style_of_the_file() {
    let two = lines("    ", "  ");
    let whole = format!("{{\n  \"mcpServers\": {{\n{two}\n  }}\n}}");
    check("cursor", "", &format!("{whole}\n"));
    check("cursor", "\n", &format!("\n{whole}"));
    check("cursor", "\u{feff}", &format!("\u{feff}{whole}"));
    check("cursor", "{}", &format!("{{\n  \"mcpServers\": {{\n{two}\n  }}\n}}"));
    check("cursor", "{\n  \"mcpServers\": {}\n}\n", &format!("{{\n  \"mcpServers\": {{\n{two}\n  }}\n}}\n"));
    check(
        "cursor",
        "{\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}",
        &format!("{{\n\t\"mcpServers\": {{\n\t\t\"x\": {{}},\n{}\n\t}}\n}}", lines("\t\t", "\t")),
    );
    check(
        "cursor",
        "\u{feff}{\n    \"a\": 1\n}\n",
        &format!(
            "\u{feff}{{\n    \"a\": 1,\n    \"mcpServers\": {{\n{}\n    }}\n}}\n",
            lines("        ", "    ")
        ),
    );
    check("cursor", r#"{"mcpServers": {"x": {}}}"#, &format!(r#"{{"mcpServers": {{"x": {{}}, {INLINE}}}}}"#));
    check("cursor", r#"{"a": 1}"#, &format!(r#"{{"a": 1, "mcpServers": {{{INLINE}}}}}"#));
    let tight = INLINE.replace(", ", ",").replace(": ", ":");
    check("cursor", r#"{"a":1,"mcpServers":{}}"#, &format!(r#"{{"a":1,"mcpServers":{{{tight}}}}}"#));
}

#[test]
fn comments_commas_and_line_ends_stay() {
    check(
        "gemini",
        "{ // one\n  \"mcpServers\": {\n    \"x\": {}, // two\n    /* three */\n  }, // four\n}",
        &format!(
            "{{ // one\n  \"mcpServers\": {{\n    \"x\": {{}}, // two\n    /* three */\n{},\n  }}, // four\n}}",
            lines("    ", "  ")
        ),
    );
    check(
        "gemini",
        "{\n  \"mcpServers\": {\n    \"x\": {} // two\n  }\n}",
        &format!("{{\n  \"mcpServers\": {{\n    \"x\": {{}}, // two\n{}\n  }}\n}}", lines("    ", "  ")),
    );
    check(
        "zed",
        "{\r\n  \"theme\": \"x\",\r\n  \"context_servers\": {\r\n    // none\r\n  }\r\n}",
        &format!(
            "{{\r\n  \"theme\": \"x\",\r\n  \"context_servers\": {{\r\n    // none\r\n{}\r\n  }}\r\n}}",
            lines("    ", "  ").replace('\n', "\r\n")
        ),
    );
}

#[test]
fn opencode_has_two_forms() {
    let words = r#"["brigade", "serve", "--stdio", "--as", "a", "--target", "/w"]"#;
    let ours = format!(r#""brigade": {{"type": "local", "command": {words}}}"#);
    check(
        "opencode",
        r#"{"mcp": {"x": {"type": "local", "command": []}}}"#,
        &format!(r#"{{"mcp": {{"x": {{"type": "local", "command": []}}, {ours}}}}}"#),
    );
    check(
        "opencode",
        r#"{"mcp": {"servers": {"x": {"type": "local"}}}}"#,
        &format!(r#"{{"mcp": {{"servers": {{"x": {{"type": "local"}}, {ours}}}}}}}"#),
    );
    // A server named `servers`.
    check(
        "opencode",
        r#"{"mcp": {"servers": {"type": "local", "command": []}}}"#,
        &format!(r#"{{"mcp": {{"servers": {{"type": "local", "command": []}}, {ours}}}}}"#),
    );
}

const TABLE: &str = "[mcp_servers.brigade]\ncommand = \"brigade\"\nargs = [\"serve\", \"--stdio\", \"--as\", \"a\", \
                     \"--target\", \"/w\"]\n";

#[test]
fn toml_gets_a_separate_table() {
    check("codex", "", TABLE);
    check("codex", "model = 'x' # mine\n", &format!("model = 'x' # mine\n\n{TABLE}"));
    check("codex", "model = 'x'", &format!("model = 'x'\n\n{}", TABLE.trim_end()));
    check("codex", "\u{feff}a = 1\r\n", &format!("\u{feff}a = 1\r\n\r\n{}", TABLE.replace('\n', "\r\n")));
    check(
        "codex",
        "[mcp_servers.x]\ncommand = 'y'\n\n# end\n",
        &format!("[mcp_servers.x]\ncommand = 'y'\n\n# end\n\n{TABLE}"),
    );
    let inline = "brigade = { command = \"brigade\", args = [\"serve\", \"--stdio\", \"--as\", \"a\", \"--target\", \"/w\"] }";
    check(
        "codex",
        "mcp_servers = { x = { command = 'y' } } # z\n",
        &format!("mcp_servers = {{ x = {{ command = 'y' }}, {inline} }} # z\n"),
    );
    check("codex", "mcp_servers = {}\n", &format!("mcp_servers = {{{inline}}}\n"));
}

#[test]
fn a_created_file_is_removed_again() {
    for client in crate::clients() {
        let entry = client.entry(&Connection::stdio("brigade", "a", Some("/w"))).unwrap();
        let put = put(client, None, &entry, None).unwrap();
        assert!(put.traces.file && put.text.ends_with('\n') && !put.is_unchanged, "{}", client.label);
        let taken = take(client, put.text.as_bytes(), &put.traces, None).unwrap().unwrap();
        assert_eq!(taken.text, None, "{}", client.label);
    }
    let (client, entry) = entry("cursor");
    let put = put(client, None, &entry, None).unwrap();
    let grown = put.text.replacen("{\n", "{\n  \"other\": 1,\n", 1);
    let taken = take(client, grown.as_bytes(), &put.traces, None).unwrap().unwrap();
    assert_eq!(taken.text.as_deref(), Some("{\n  \"other\": 1\n}\n"));
    let commented = put.text.replacen("{\n", "{ // mine\n", 1);
    let taken = take(client, commented.as_bytes(), &put.traces, None).unwrap().unwrap();
    assert_eq!(taken.text.as_deref(), Some("{ // mine\n}\n"));
}

#[test]
fn codex_keys_of_the_other_transport_are_refused() {
    let client = client("codex").unwrap();
    let stdio = client.entry(&Connection::stdio("/bin/brigade", "local", Some("/w"))).unwrap();
    let http = client.entry(&Connection::http("http://h/mcp", "local")).unwrap();
    let with = |entry: &Entry, more: &str| {
        let text = put(client, None, entry, None).unwrap().text;
        format!("{text}{more}")
    };
    let again = |text: &str, entry: &Entry| put(client, Some(text.as_bytes()), entry, None);
    for (written, more, entry, expect) in [
        (&stdio, "[mcp_servers.brigade.env]\nA = \"b\"\n", &http, Some("env")),
        (&http, "http_headers = { X = \"1\" }\n", &stdio, Some("http_headers")),
        (&stdio, "enabled = true\n", &http, None),
        (&stdio, "[mcp_servers.brigade.env]\nA = \"b\"\n", &stdio, None),
    ] {
        match (again(&with(written, more), entry), expect) {
            (Err(EditRefusal::OtherTransport { key, .. }), Some(expect)) => assert_eq!(key, expect),
            (result, None) => assert!(result.is_ok(), "{result:?}"),
            (result, Some(_)) => panic!("{result:?}"),
        }
    }
}

#[test]
fn our_entry_changes_and_keeps_added_members() {
    let (client, entry) = entry("cursor");
    let file = "{\n  \"mcpServers\": {\n    \"brigade\": {\n      // old\n      \"command\": \"/old/brigade\",\n      \
                \"args\": [\"serve\", \"--stdio\"],\n      \"env\": {\"A\": \"b\"}\n    }, // mine\n    \"x\": 1\n  }\n}\n";
    let changed = put(client, Some(file.as_bytes()), &entry, None).unwrap();
    assert!(changed.has_additions && !changed.is_unchanged);
    assert!(
        changed.text.contains("\"env\": {\n        \"A\": \"b\"\n      }\n    }, // mine\n    \"x\": 1\n")
    );
    let taken = take(client, changed.text.as_bytes(), &changed.traces, None).unwrap().unwrap();
    assert_eq!(taken.text.as_deref(), Some("{\n  \"mcpServers\": { // mine\n    \"x\": 1\n  }\n}\n"));

    let (client, entry) = self::entry("codex");
    let file = "[mcp_servers.brigade] # x\ncommand = '/old/brigade'\nargs = ['serve', '--stdio'] # y\nenabled = true\n# z\n\
                [mcp_servers.brigade.env]\nA = 'b'\n\n[other]\n";
    let changed = put(client, Some(file.as_bytes()), &entry, None).unwrap();
    let rest = "enabled = true\n# z\n[mcp_servers.brigade.env]\nA = 'b'\n\n[other]\n";
    assert_eq!(changed.text, format!("{TABLE}{rest}"));
    let taken = take(client, changed.text.as_bytes(), &changed.traces, None).unwrap().unwrap();
    assert_eq!(taken.text.as_deref(), Some("# z\n\n[other]\n"));
}

#[test]
fn dotted_keys_stay_when_an_entry_changes() {
    let (client, entry) = entry("codex");
    let file =
        b"[mcp_servers.brigade]\ncommand = '/old/brigade'\nargs = ['serve', '--stdio']\nenv.A = 'b'\n\n\
        [[mcp_servers.brigade.x]]\ny = 1\n";
    let changed = put(client, Some(file), &entry, None).unwrap();
    assert_eq!(changed.text, format!("{TABLE}env = {{ A = \"b\" }}\n\n[[mcp_servers.brigade.x]]\ny = 1\n"));
    let taken = take(client, changed.text.as_bytes(), &changed.traces, None).unwrap().unwrap();
    assert_eq!(taken.text.as_deref(), Some(""));
}

#[test]
fn an_entry_that_was_noted_is_ours_whatever_its_shape() {
    let (client, entry) = entry("cursor");
    let file = br#"{"mcpServers": {"brigade": {"command": "renamed"}}}"#;
    let noted = Json::parse(r#"{"command": "renamed"}"#).unwrap();
    assert!(put(client, Some(file), &entry, None).is_err());
    assert!(put(client, Some(file), &entry, Some(&noted)).is_ok());
    assert!(take(client, file, &Traces::default(), Some(&noted)).unwrap().is_some());
}

#[test]
fn refusals_to_edit_have_a_place() {
    refused("cursor", b"\xff\xfe{\x00}\x00", 0, "the file is UTF-16; save it as UTF-8");
    refused("cursor", b"{\n\"a\": \xff}", 2, "not UTF-8");
    refused("cursor", b"{\n  \"mcpServers\": {\n}", 3, "unexpected end of text");
    refused("cursor", b"[]", 1, "expected an object");
    refused("cursor", b"{\n\"mcpServers\": []}", 2, "`mcpServers` is not an object");
    refused("cursor", b"{\n\"mcpServers\": null}", 2, "`mcpServers` is not an object");
    refused("cursor", b"{\"mcpServers\": {},\n\"mcpServers\": {}}", 2, "the key appears twice in its object");
    refused(
        "cursor",
        b"{\"mcpServers\": {\"x\": 1,\n\"\\u0078\": 2}}",
        2,
        "the key appears twice in its object",
    );
    let foreign = "Brigade did not write the existing entry `brigade`";
    refused("cursor", b"{\"mcpServers\": {\n\"brigade\": {\"command\": \"npx\"}}}", 2, foreign);
    refused("cursor", b"{\"mcpServers\": {\n\"brigade\": null}}", 2, foreign);
    refused("codex", b"a = 1\nb c", 2, "not valid TOML: a value is missing");
    refused("codex", b"a = 1\nmcp_servers = 'x'", 2, "`mcp_servers` is not a table");
    refused("codex", b"[[mcp_servers]]\nname = 'x'", 1, "`mcp_servers` is not a table");
    refused("codex", b"\n[mcp_servers.brigade]\ncommand = 'x'\n", 2, foreign);
    let dotted = "the entry `brigade` is written with dotted keys, which cannot be edited";
    let file = b"[mcp_servers]\nbrigade.command = 'brigade'\nbrigade.args = ['serve', '--stdio']\n";
    refused("codex", file, 2, dotted);
}

#[test]
fn comments_in_strict_json_are_reported() {
    let loose = |label: &str, file: &str| {
        let (client, entry) = entry(label);
        put(client, Some(file.as_bytes()), &entry, None).unwrap().loose
    };
    let all = Some("comments, trailing commas or a byte order mark");
    for file in ["{} // x", "{\"a\": 1,}", "\u{feff}{}"] {
        assert_eq!((loose("cursor", file), loose("zed", file)), (all, None), "{file}");
    }
    assert_eq!((loose("cursor", "{}"), loose("cursor", "")), (None, None));
    assert_eq!(
        (loose("gemini", "{} // x"), loose("gemini", "{\"a\": [1,]}")),
        (None, Some("trailing commas"))
    );
}

/// White space and comments.
fn trivia() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(""), 3 => Just(" "), 2 => Just("\n  "), 2 => Just("\n"), 1 => Just("\r\n\t"),
        1 => Just("// a, \"b\" }\n"), 1 => Just("  // c\n    "), 1 => Just("/* , { */"), 1 => Just("/* \n */"),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// An object with these keys. Some of the values are also objects.
fn object(keys: Vec<String>, depth: u32) -> BoxedStrategy<String> {
    let value: BoxedStrategy<String> = if depth == 0 {
        prop_oneof![Just("1".to_owned()), Just("\"//\"".to_owned()), Just("[1, /* 2 */ 2]".to_owned())]
            .boxed()
    } else {
        prop_oneof![
            Just("null".to_owned()),
            object(vec!["k".to_owned(), "l".to_owned()], depth - 1),
            Just("{}".to_owned())
        ]
        .boxed()
    };
    let member = move |key: String| {
        let value = value.clone();
        (trivia(), trivia(), trivia(), value, trivia())
            .prop_map(move |(a, b, c, value, d)| format!("{a}\"{key}\"{b}:{c}{value}{d}"))
    };
    let members: Vec<_> = keys.into_iter().map(member).collect();
    (members, any::<bool>(), trivia())
        .prop_map(|(members, has_comma, last)| {
            let comma = if has_comma && !members.is_empty() { "," } else { "" };
            format!("{{{}{comma}{last}}}", members.join(","))
        })
        .boxed()
}

fn some(keys: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::sample::subsequence(keys, 0..=keys.len())
        .prop_map(|keys| keys.into_iter().map(str::to_owned).collect())
}

/// A document with or without servers.
fn document() -> impl Strategy<Value = String> {
    let servers = some(&["x", "y z", "z"]).prop_flat_map(|keys| object(keys, 2));
    let root = (some(&["a", "b"]), some(&["c"]), prop::option::weighted(0.8, servers)).prop_flat_map(
        |(before, behind, servers)| {
            let mut keys = before;
            let marker = "mcpServers".to_owned();
            keys.extend(servers.is_some().then_some(marker));
            keys.extend(behind);
            object(keys, 0).prop_map(move |text| match &servers {
                // The servers replace the value of the marker.
                Some(servers) => with_servers(&text, servers),
                None => text,
            })
        },
    );
    (prop::bool::weighted(0.2), trivia(), root, trivia()).prop_map(|(has_mark, before, root, behind)| {
        format!("{}{before}{root}{behind}", if has_mark { "\u{feff}" } else { "" })
    })
}

fn with_servers(text: &str, servers: &str) -> String {
    let object =
        brigade_core::json::PlacedValue::parse_object(text.as_bytes(), Dialect::WithComments).unwrap();
    let member = object.all("mcpServers").next().unwrap();
    format!("{}{servers}{}", &text[..member.value.at.start], &text[member.value.at.end..])
}

/// Returns the text without white space and without trailing commas.
fn dense(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

fn lines_of_toml() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("".to_owned()),
        Just("# comment, [x]".to_owned()),
        Just("  ".to_owned()),
        Just("[mcp_servers.@]".to_owned()),
        Just("[t@] # c".to_owned()),
        Just("k@ = 'v' # c".to_owned()),
        Just("k@ = [\n  1, # one\n]".to_owned()),
        Just("k@.d = { a = 1 }".to_owned()),
        Just("k@ = '''\n[mcp_servers.brigade]\n'''".to_owned()),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    (prop::collection::vec(line, 0..8), end, any::<bool>(), any::<bool>()).prop_map(
        |(lines, end, has_mark, has_end)| {
            let numbered =
                lines.iter().enumerate().map(|(index, line)| line.replace('@', &index.to_string()));
            let mut text = numbered.collect::<Vec<_>>().join("\n").replace('\n', end);
            if has_end {
                text.push_str(end);
            }
            format!("{}{text}", if has_mark { "\u{feff}" } else { "" })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn removing_an_inserted_entry_restores_the_file(file in document()) {
        let (client, entry) = entry("gemini");
        let first = put(client, Some(file.as_bytes()), &entry, None).unwrap();
        let json = |text: &str| Json::parse_bytes(text.as_bytes(), Dialect::WithComments).unwrap();
        let (before, mut after) = (json(&file), json(&first.text));
        let Json::Object(root) = &mut after else { unreachable!() };
        let Some(Json::Object(shelf)) = root.get_mut("mcpServers") else { unreachable!() };
        prop_assert_eq!(shelf.remove(NAME), Some(entry.to_json()));
        if before.get("mcpServers").is_none() {
            prop_assert_eq!(root.remove("mcpServers"), Some(Json::Object(Object::new())));
        }
        prop_assert_eq!(after, before);
        let outside = [&first.text[..first.entry_at.start], &first.text[first.entry_at.end..]].concat();
        prop_assert_eq!(dense(&outside), dense(&file));
        check_steps(client, &file, &entry, &first);
    }

    #[test]
    fn toml_keeps_every_other_byte(file in lines_of_toml()) {
        let (client, entry) = entry("codex");
        prop_assume!(servers(client, file.as_bytes()).is_ok());
        let first = put(client, Some(file.as_bytes()), &entry, None).unwrap();
        prop_assert!(first.text.starts_with(&file));
        check_steps(client, &file, &entry, &first);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in any::<Vec<u8>>(), text in r#"[{}\[\]",:a-b/* \n\r]{0,24}"#) {
        for label in ["cursor", "codex"] {
            let (client, entry) = entry(label);
            for file in [&bytes[..], text.as_bytes()] {
                let _ = put(client, Some(file), &entry, None);
                let _ = take(client, file, &Traces::default(), None);
            }
        }
    }

    #[test]
    fn edited_entries_never_break_a_file(cut in 0usize..200, insert in r#"[{}",:/* \n]{0,3}"#) {
        let (client, entry) = entry("cursor");
        let first = put(client, Some(b"{ // c\n  \"mcpServers\": {\"x\": 1}\n}"), &entry, None).unwrap();
        let at = first.text.floor_char_boundary(cut.min(first.text.len()));
        let file = format!("{}{insert}{}", &first.text[..at], &first.text[at..]);
        if let Ok(Some(EntryRemoval { text: Some(text), .. })) = take(client, file.as_bytes(), &first.traces, None) {
            prop_assert!(servers(client, text.as_bytes()).is_ok(), "{}", text);
        }
    }
}
