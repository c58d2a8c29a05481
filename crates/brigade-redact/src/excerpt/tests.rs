use super::*;

/// Formats a line with the marks below it, one per column.
fn shown(excerpt: &Excerpt) -> String {
    let before = width(&excerpt.text()[..excerpt.marked().start]);
    let marks = width(&excerpt.text()[excerpt.marked()]).max(1);
    format!("{}\n{}{}", excerpt.text(), " ".repeat(before), "^".repeat(marks))
}

fn source(file: &[u8]) -> Source {
    Source::new(file, &Redactor::new(&[]))
}

fn excerpt_at(file: &[u8], line: usize, column: usize) -> Option<Excerpt> {
    source(file).excerpt(&Place::at("file", line, column))
}

#[track_caller]
fn check(line: &str, column: usize, expect: &str) {
    assert_eq!(shown(&excerpt_at(line.as_bytes(), 1, column).unwrap()), expect);
}

#[test]
fn the_item_at_the_place_is_marked() {
    check("timeout = 3", 1, "timeout = 3\n^^^^^^^");
    check("a.b-c = 3", 1, "a.b-c = 3\n^^^^^");
    check("timeout = 3", 11, "timeout = 3\n          ^");
    check("timeout = 3", 9, "timeout = 3\n        ^");
    check("[[tool]] # x", 1, "[[tool]] # x\n^^^^^^^^");
    check(r#"a = "b \" c" # "#, 5, "a = \"b \\\" c\" #\n    ^^^^^^^^");
    check(r"a = 'b \' c", 5, "a = 'b \\' c\n    ^^^^^");
    check(r#"a = """b" c""" d"#, 5, "a = \"\"\"b\" c\"\"\" d\n    ^^^^^^^^^^");
    check(r#"a = "" d"#, 5, "a = \"\" d\n    ^^");
    check(r#"a = ["]", [1]] # "#, 5, "a = [\"]\", [1]] #\n    ^^^^^^^^^^");
    check(r#"{"a": {"b": 1}, "c"}"#, 7, "{\"a\": {\"b\": 1}, \"c\"}\n      ^^^^^^^^");
}

#[test]
fn items_that_span_lines_are_marked_on_their_line() {
    check("a = [1,", 5, "a = [1,\n    ^");
    check("a = [1, # ]", 5, "a = [1, # ]\n    ^");
    check("a = \"soon", 5, "a = \"soon\n    ^^^^^");
    check("\"", 1, "\"\n^");
}

#[test]
fn a_place_past_the_end_of_the_line_is_marked_there() {
    check("a =", 4, "a =\n   ^");
    check("a =", 40, "a =\n   ^");
    check("", 1, "\n^");
    assert_eq!(excerpt_at(b"a =", 1, 4).unwrap().length(), 0);
}

#[test]
fn columns_count_characters_and_marks_count_columns() {
    check("größe = 3", 1, "größe = 3\n^^^^^");
    check("日本 = \"語\"", 6, "日本 = \"語\"\n       ^^^^");
    // `e` and a combining accent are two characters in one column.
    check("e\u{301}a = 3", 1, "e\u{301}a = 3\n^^");
    check("e\u{301}a = 3", 7, "e\u{301}a = 3\n     ^");
    assert_eq!(excerpt_at("größe = 3".as_bytes(), 1, 1).unwrap().length(), 5);
}

#[test]
fn invisible_characters_become_visible() {
    check("\ta\t= 3", 2, "    a    = 3\n    ^");
    check("a = \u{202e}b", 1, "a = \\u{202e}b\n^");
    check("a\u{1b}[2J = 3", 7, "a\\u{1b}[2J = 3\n           ^");
    check("\"\u{200b}\" = 3", 1, "\"\\u{200b}\" = 3\n^^^^^^^^^^");
}

#[test]
fn a_line_without_a_column_is_marked_as_a_whole() {
    let place = Place { column: None, ..Place::at("file", 1, 1) };
    let excerpt = source(b"  timeout = 3  \n").excerpt(&place).unwrap();
    assert_eq!(shown(&excerpt), "  timeout = 3\n  ^^^^^^^^^^^");
    assert_eq!(source(b"a").excerpt(&Place::file("file")), None);
}

#[test]
fn a_word_is_found_in_its_line_as_a_whole() {
    let of = |word| source("größe_b = { b = 1 }".as_bytes()).column_of(&Place::at("file", 1, 1), word);
    assert_eq!([of("b"), of("größe_b"), of("größe"), of("c")], [Some(13), Some(1), None, None]);
}

#[test]
fn lines_end_as_in_editors() {
    let file = b"\xef\xbb\xbfa = 1\r\nb = 2\r\n";
    assert_eq!(shown(&excerpt_at(file, 1, 1).unwrap()), "a = 1\n^");
    assert_eq!(shown(&excerpt_at(file, 2, 5).unwrap()), "b = 2\n    ^");
    assert_eq!(shown(&excerpt_at(file, 3, 1).unwrap()), "\n^");
    // The file became shorter.
    assert_eq!(excerpt_at(file, 4, 1), None);
    assert_eq!(shown(&excerpt_at(b"", 1, 1).unwrap()), "\n^");
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced() {
    let excerpt = excerpt_at(b"a = \"\xff\" # \x9b2J", 1, 5).unwrap();
    assert_eq!(shown(&excerpt), "a = \"\u{fffd}\" # \u{fffd}2J\n    ^^^");
}

#[test]
fn a_secret_is_masked_and_the_mark_follows() {
    check("x = 1 ; password = \"hunter2EXAMPLE\"", 1, "x = 1 ; password = \"[redacted]\"\n^");
    let line = r#"a = { token = "hunter2EXAMPLE", timeout = 3 }"#;
    check(line, 33, "a = { token = \"[redacted]\", timeout = 3 }\n                            ^^^^^^^");
    check(line, 7, "a = { token = \"[redacted]\", timeout = 3 }\n      ^^^^^");
    // The place refers to the secret, or to a part of it.
    check(line, 15, "a = { token = \"[redacted]\", timeout = 3 }\n              ^^^^^^^^^^^^");
    check(line, 18, "a = { token = \"[redacted]\", timeout = 3 }\n               ^^^^^^^^^^");
}

#[test]
fn secrets_found_by_word_order_are_masked() {
    for (line, shown) in [
        (
            r#"command = "curl -ubob:hunter2-4711 https://example.com""#,
            r#"command = "curl -ubob:[redacted] https://example.com""#,
        ),
        ("command = 'sshpass -p hunter2 ssh h'", "command = 'sshpass -p [redacted] ssh h'"),
        ("command = 'sh x.sh --password hunter2-4711'", "command = 'sh x.sh --password [redacted]'"),
        ("command: curl -ubob:hunter2-4711 https://x", "[redacted]"),
        ("curl -ubob:hunter2-4711 https://x", "[redacted]"),
        (r#"command = "curl https://example.com""#, r#"command = "curl https://example.com""#),
    ] {
        assert_eq!(excerpt_at(line.as_bytes(), 1, 1).unwrap().text(), shown);
    }
}

/// The names of variables are not secrets.
#[test]
fn names_of_variables_are_shown() {
    for line in [
        "env_bindings = { GITHUB_TOKEN = \"GH_TOKEN\" }",
        "GITHUB_TOKEN = \"MY_GITHUB_TOKEN\"",
        "pass = [\"NPM_TOKEN\"]",
    ] {
        assert_eq!(excerpt_at(line.as_bytes(), 1, 1).unwrap().text(), line);
    }
    assert_eq!(
        excerpt_at(b"GITHUB_TOKEN = \"hunter2\"", 1, 1).unwrap().text(),
        "GITHUB_TOKEN = \"[redacted]\""
    );
}

#[test]
fn a_secret_that_spans_lines_is_masked_on_each() {
    let body = "MIIEowIBAAKCAQEAexampleexampleexampleexampleexampleexampleexampl";
    let file = format!(
        "a = 1\nkey = \"\"\"\n-----BEGIN PRIVATE KEY-----\n{body}\n{body}\n-----END PRIVATE KEY-----\n\"\"\"\nb = 2\n"
    );
    for line in 1..=8 {
        let text = excerpt_at(file.as_bytes(), line, 1).unwrap().text().to_owned();
        assert!(!text.contains("MIIE") && !text.contains("PRIVATE"), "line {line}: {text}");
    }
    assert_eq!(excerpt_at(file.as_bytes(), 1, 1).unwrap().text(), "a = 1");
    assert_eq!(excerpt_at(file.as_bytes(), 8, 1).unwrap().text(), "b = 2");
}

#[test]
fn long_files_are_scanned_only_around_the_line() {
    let filler = "name = 'harmless'\n".repeat(10_000);
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n".repeat(300);
    let file = format!("{filler}-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n{filler}");
    for line in [10_001, 10_002, 10_150, 10_301, 10_302] {
        let text = excerpt_at(file.as_bytes(), line, 1).unwrap().text().to_owned();
        assert!(!text.contains("MIIE") && !text.contains("PRIVATE"), "line {line}: {text}");
    }
    for line in [1, 10_000, 10_303, 20_302] {
        assert_eq!(excerpt_at(file.as_bytes(), line, 1).unwrap().text(), "name = 'harmless'", "line {line}");
    }
}

#[test]
fn long_lines_are_cut_around_the_mark() {
    let check = |line: &str, column, columns, expect: &str| {
        let cut = excerpt_at(line.as_bytes(), 1, column).unwrap().cut(columns);
        assert_eq!(shown(&cut), expect);
        assert!(width(cut.text()) <= columns.max(2 * GAP.len() + 1));
    };
    let line = format!("{}word {}", "a ".repeat(20), "b ".repeat(20));
    check(&line, 41, 24, "...a a word b b b b b...\n       ^^^^");
    check(&line, 1, 24, "a a a a a a a a a ...\n^");
    check(&line, 84, 24, "... b b b b b b b b b\n                    ^");
    check(&line, 41, 8, "...wo...\n   ^^");
    check(&line, 41, 1, "...w...\n   ^");
    check("short", 1, 5, "short\n^^^^^");
    let wide = "語".repeat(40);
    check(&wide, 20, 20, "...語語語語語語語...\n   ^^^^^^^^^^^^^^");
}

#[test]
fn a_line_that_is_too_long_is_not_shown() {
    assert_eq!(excerpt_at(&vec![b'a'; LONGEST + 1], 1, 1), None);
    assert!(excerpt_at(&vec![b'a'; LONGEST], 1, 1).is_some());
}

proptest::proptest! {
    #[test]
    fn every_place_of_every_file_can_be_shown(
        file in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80),
        line in 0usize..6,
        column in 0usize..90,
        columns in 0usize..40,
    ) {
        if let Some(excerpt) = excerpt_at(&file, line, column) {
            let cut = excerpt.cut(columns);
            proptest::prop_assert!(cut.text().get(cut.marked()).is_some());
            proptest::prop_assert!(excerpt.text().get(excerpt.marked()).is_some());
            proptest::prop_assert!(escape_terminal(excerpt.text()) == excerpt.text());
        }
    }
}
