use proptest::prelude::*;

use super::*;
use brigade_core::Json;

const SECRETS: &str = include_str!("../../../fixtures/redaction/secrets.txt");
const HARMLESS: &str = include_str!("../../../fixtures/redaction/harmless.txt");

fn lines(corpus: &'static str) -> impl Iterator<Item = &'static str> {
    corpus.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn rules() -> Redactor {
    Redactor::new(&[])
}

/// Removes the marks from a line of the corpus. Returns the text, the expected output, and the secrets.
fn planted(line: &str) -> (String, String, Vec<String>) {
    let (mut text, mut expect, mut secrets) = (String::new(), String::new(), Vec::new());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('⟦') {
        let (secret, after) = after.split_once('⟧').unwrap();
        text.extend([before, secret]);
        expect.extend([before, MARK]);
        secrets.push(secret.to_owned());
        rest = after;
    }
    (text + rest, expect + rest, secrets)
}

/// Streams a text, split at the given positions.
fn streamed(redactor: &Redactor, text: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut redactor = redactor.clone();
    let mut output = Vec::new();
    let mut rest = text;
    for cut in cuts {
        let (piece, after) = rest.split_at((*cut).min(rest.len()));
        redactor.push(piece, &mut output);
        rest = after;
    }
    redactor.push(rest, &mut output);
    redactor.finish(&mut output);
    output
}

fn byte_by_byte(redactor: &Redactor, text: &str) -> String {
    String::from_utf8(streamed(redactor, text.as_bytes(), &vec![1; text.len()])).unwrap()
}

/// Issue 14: the tokens of our gateway are secrets everywhere, but names that start with our name are not.
#[test]
fn a_token_of_the_gateway_is_masked_everywhere() {
    let token = format!("brigade_{}", "0a1b2c3d".repeat(8));
    let text = format!("profiles = [\"{token}\"], brigade_core::json, brigade_{}, {token}", "a".repeat(40));
    let expect =
        format!("profiles = [\"[redacted]\"], brigade_core::json, brigade_{}, [redacted]", "a".repeat(40));
    assert_eq!(rules().redact_str(&text), expect);
    assert_eq!(byte_by_byte(&rules(), &text), expect);
    let names =
        [&token, "0123456789abcdef0123456789abcdef", "api_key", "brigade_core", "a=b"].map(shown_name);
    assert_eq!(names, [MARK, MARK, "api_key", "brigade_core", "a=b"]);
}

#[test]
fn exactly_the_secrets_of_the_corpus_are_masked() {
    let mut wrong = Vec::new();
    for line in lines(SECRETS) {
        let (text, expect, _) = planted(line);
        let got = rules().redact_str(&text);
        if got != expect {
            wrong.push(format!("{text}\n  gives  {got}\n  not    {expect}"));
            continue;
        }
        assert_eq!(byte_by_byte(&rules(), &text), expect, "byte by byte: {text}");
        assert_eq!(rules().redact_str(&got), got, "redacted twice: {text}");
        assert!(looks_like_shape(&text).is_some(), "looks secret: {text}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn harmless_text_is_unchanged() {
    let mut wrong = Vec::new();
    for line in lines(HARMLESS) {
        for redactor in [rules(), rules().for_output()] {
            let got = redactor.redact_str(line);
            if got != line {
                wrong.push(format!("{line}\n  gives  {got}"));
            }
            assert_eq!(byte_by_byte(&redactor, line), got);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Text that people write, such as code, is shown unchanged.
#[test]
fn names_do_not_matter_in_text_for_agents() {
    for text in [
        "password = \"hunter2EXAMPLE\"",
        "this.token = reply.accessToken",
        "{\"password\": \"Passwort\"}",
        "src/token.rs:2:impl Lexer { pub fn next_kind(&self) -> u8 { 0 } }",
        "curl -u bob:hunter2EXAMPLE https://example.com",
        "if line.starts_with(\"-----BEGIN PRIVATE KEY-----\") { read_the_rest_of_the_key(line) }",
    ] {
        assert_eq!(rules().redact_str(text), text);
    }
}

const PEM: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\n\
    EXAMPLEexampleEXAMPLE0123EXAMPLEexampleEXAMPLEexampleEXAMPLE\n\
    EXAMPLEexample==\n\
    -----END OPENSSH PRIVATE KEY-----";

#[test]
fn a_private_key_is_masked_as_a_block() {
    let escaped = PEM.replace('\n', "\\n");
    for pem in [PEM, &escaped] {
        for (before, after) in
            [("", ""), ("", "\n"), ("key:\n", "\nnext line\n"), ("private_key = \"", "\"\nnext line\n")]
        {
            let text = format!("{before}{pem}{after}");
            let expect = format!("{before}{MARK}{after}");
            assert_eq!(rules().redact_str(&text), expect);
            assert_eq!(byte_by_byte(&rules(), &text), expect);
        }
    }
    let prefixed = PEM.replace('\n', "\n2024-01-01 web | ");
    assert_eq!(rules().redact_str(&prefixed), MARK);
}

#[test]
fn a_key_that_is_cut_off_does_not_hide_the_rest() {
    let cut = PEM.split_once("EXAMPLEexample==").unwrap().0;
    let log = "12:00:00 the server is up and well\n".repeat(20);
    let redacted = rules().redact_str(&format!("{cut}{log}"));
    assert!(redacted.starts_with(MARK));
    assert!(redacted.ends_with("the server is up and well\n"), "{redacted}");
    assert!(!redacted.contains("EXAMPLE"));
}

const VALUE: &str = "Hunter2/ EX\"AMPLE&é+~";

/// The forms of `VALUE` that programs print.
fn forms() -> Vec<String> {
    let hex = |upper: bool| {
        let digits = VALUE.bytes().map(|b| format!("{b:02x}")).collect::<String>();
        if upper { digits.to_uppercase() } else { digits }
    };
    vec![
        VALUE.to_owned(),
        VALUE.replace('"', "\\\""),
        "Hunter2/ EX\\\"AMPLE&\\u00e9+~".to_owned(),
        "Hunter2\\/ EX\\\"AMPLE&é+~".to_owned(),
        "Hunter2%2F%20EX%22AMPLE%26%C3%A9%2B~".to_owned(),
        "Hunter2%2f%20EX%22AMPLE%26%c3%a9%2b~".to_owned(),
        "Hunter2/%20EX%22AMPLE%26%C3%A9%2B~".to_owned(),
        "Hunter2%2F+EX%22AMPLE%26%C3%A9%2B%7E".to_owned(),
        hex(false),
        hex(true),
    ]
}

#[test]
fn a_bound_value_is_masked_in_every_form() {
    for redactor in [Redactor::new(&[VALUE.into()]), Redactor::bound_only(&[VALUE.into()])] {
        for form in forms() {
            let text = format!("a {form} b");
            assert_eq!(redactor.redact_str(&text), "a [redacted] b", "{form}");
            assert_eq!(byte_by_byte(&redactor, &text), "a [redacted] b", "{form}");
        }
    }
}

/// Programs may print a bound value as JSON, quoted once or twice.
#[test]
fn a_bound_value_is_masked_in_quoted_json() {
    let redactor = Redactor::bound_only(&["p\u{e4}/\\ss-QzSecretValue\u{7f}".into()]);
    for printed in [
        r"p\u00e4/\\ss-QzSecretValue\u007f",
        r"p\u00e4\/\\ss-QzSecretValue\u007f",
        r"p\u00E4\/\\ss-QzSecretValue\u007F",
        r"p\\u00e4\\/\\\\ss-QzSecretValue\\u007f",
    ] {
        let text = format!("{{\"v\": \"{printed}\"}}\n");
        assert_eq!(redactor.redact_str(&text), "{\"v\": \"[redacted]\"}\n", "{printed}");
        assert_eq!(byte_by_byte(&redactor, &text), "{\"v\": \"[redacted]\"}\n", "{printed}");
    }
}

#[test]
fn odd_values_neither_leak_nor_hide_the_rest() {
    for value in [
        "1",
        "ab",
        "   ",
        "a\nb\nc-line-three",
        "ünï😀cödé",
        "[redacted]",
        "true",
        "\\x41",
        "%41%42%43%44%45",
    ] {
        let redactor = Redactor::bound_only(&[value.into()]);
        let log = byte_by_byte(&redactor, &format!("<{value}>\nfin\n"));
        assert!(log.ends_with("fin\n"), "{value:?}: {log}");
        if 8 <= value.trim().len() && value != "[redacted]" {
            assert_eq!(log, "<[redacted]>\nfin\n", "{value:?}");
        }
    }
}

#[test]
fn lines_of_an_encoded_value_are_masked_separately() {
    let value = "EXAMPLE-".repeat(20);
    let text = encoded_with_padding(&value, 0);
    for width in [64, 76] {
        let lines: Vec<&str> =
            text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let redacted = Redactor::bound_only(&[value.as_str().into()]).redact_str(&lines.join("\n"));
        for line in redacted.lines() {
            assert!(line.len() < MARK.len() + 8, "{redacted}");
        }
    }
}

#[test]
fn raw_logs_lose_only_the_bound_values() {
    let redactor = Redactor::bound_only(&["EXAMPLEvalue".into()]);
    let text = b"\xff\x00password=hunter2 EXAMPLEvalue\r\n\x1b[0m\xc3";
    assert_eq!(streamed(&redactor, text, &[3, 20, 7]), b"\xff\x00password=hunter2 [redacted]\r\n\x1b[0m\xc3");
}

#[test]
fn values_that_overlap_are_masked_as_a_whole() {
    let redactor = Redactor::bound_only(&["EXAMPLEone".into(), "oneEXAMPLE".into(), "EXAMPLE".into()]);
    assert_eq!(redactor.redact_str("xEXAMPLEoneEXAMPLEy EXAMPLEEXAMPLE"), "x[redacted]y [redacted]");
}

#[test]
fn short_values_are_masked_as_words_only() {
    let redactor = Redactor::bound_only(&["1".into(), "".into(), "  \n".into(), "abc".into()]);
    assert_eq!(redactor.redact_str("1 11 a1 =1, xabcx"), "[redacted] 11 a1 =[redacted], x[redacted]x");
}

#[test]
fn a_value_that_is_part_of_the_mark_is_masked() {
    let redactor = Redactor::new(&["redacted".into(), "acted".into()]);
    assert_eq!(redactor.redact_str("reacted [redacted] redacted"), "re[redacted] [redacted] [redacted]");
    assert_eq!(byte_by_byte(&redactor, "reacted [redacted] redacted"), "re[redacted] [redacted] [redacted]");
}

#[test]
fn lines_of_a_value_are_masked_one_by_one() {
    let redactor = Redactor::bound_only(&["first-EXAMPLE\nsecond-EXAMPLE\n".into()]);
    assert_eq!(redactor.redact_str("> first-EXAMPLE\n> second-EXAMPLE\n"), "> [redacted]\n> [redacted]\n");
}

#[test]
fn an_endless_value_or_line_needs_no_memory() {
    for text in ["password=", "eyJ", "https://a:", "Bearer ", "-----BEGIN PRIVATE KEY-----", ""] {
        for redactor in [Redactor::new(&["EXAMPLEvalue".into()]), rules().for_output()] {
            let mut redactor = redactor;
            let mut output = Vec::new();
            let (mut taken, piece) = (text.len(), [b'a'; 1000]);
            redactor.push(text.as_bytes(), &mut output);
            for _ in 0..300 {
                redactor.push(&piece, &mut output);
                taken += piece.len();
                let pending = redactor.pending().len();
                assert!(pending <= redactor.holds_back() + MARK.len(), "{text}: {pending} of {taken}");
            }
            redactor.finish(&mut output);
        }
    }
}

/// Issue 12: each piece of a long output was compared with the whole of a long value.
#[test]
fn a_long_output_costs_no_more_with_a_long_value() {
    let value: Vec<u8> = (0..20_000_u32).map(|number| b'a' + (number * number / 7 % 26) as u8).collect();
    let mut redactor = Redactor::new(&[std::str::from_utf8(&value).unwrap().into()]);
    let text = b"\\x a \\y b ".repeat(300_000);
    let mut output = Vec::new();
    let mut searches = 0;
    for piece in text.chunks(64 << 10) {
        let before = output.len();
        redactor.push(piece, &mut output);
        searches += usize::from(before < output.len());
        assert!(redactor.stream.pending() <= 2 * redactor.holds_back() + piece.len());
    }
    assert!(0 < searches && searches <= text.len() / redactor.holds_back(), "{searches} searches");
    redactor.push(&value, &mut output);
    redactor.finish(&mut output);
    assert!(output.ends_with(b"y b [redacted]") && output.len() == text.len() + MARK.len());
}

#[test]
fn json_is_redacted_by_the_names_of_its_fields() {
    let json = Json::parse(
        r#"{"user": "bob", "password": "x", "max_tokens": 100, "token": 5, "secrets": {"a": ["y", 1, ""], "b": true},
            "note": "ghp_0123456789abcdefghijABCDEFGHIJ012345", "client_secret": null, "api_key": ""}"#,
    )
    .unwrap();
    let expect = Json::parse(
        r#"{"user": "bob", "password": "[redacted]", "max_tokens": 100, "token": 5,
            "secrets": {"a": ["[redacted]", 1, ""], "b": true}, "note": "[redacted]",
            "client_secret": null, "api_key": ""}"#,
    )
    .unwrap();
    let redacted = rules().redact_fields(&json);
    assert_eq!(redacted, expect);
    assert_eq!(rules().redact_fields(&redacted), redacted);
    assert_eq!(secret_fields(&json), ["$.note", "$.password", "$.secrets.a[0]"]);
    assert_eq!(secret_fields(&redacted), Vec::<String>::new());
    assert_eq!(rules().redact_json(&json).get("password"), json.get("password"));
    assert_eq!(rules().redact_json(&json).get("note"), redacted.get("note"));
}

#[test]
fn paths_of_secret_fields_can_be_shown() {
    let json = Json::object([("a b", Json::object([("token", Json::String("x".to_owned()))]))]);
    assert_eq!(secret_fields(&json), [r#"$["a b"].token"#]);
    let json = Json::object([("AKIAIOSFODNN7EXAMPLE", Json::Null)]);
    assert_eq!(secret_fields(&json), [r#"$["[redacted]"]"#]);
}

/// Pieces of text at the edges of the rules.
fn fragment() -> impl Strategy<Value = String> {
    let pieces = vec![
        "password",
        "DB_TOKEN",
        "Authorization",
        "authorization",
        "Bearer ",
        "Basic ",
        "=",
        ":",
        ": ",
        " = ",
        "\"",
        "'",
        "\\\"",
        "\\",
        "\n",
        " ",
        ",",
        ";",
        "&",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "://",
        "http://",
        "@",
        "%22",
        "Ym9iOmh1bnRlcjJFWEFNUExF",
        "/",
        "eyJ",
        ".",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "-----",
        "ghp_",
        "AKIA",
        "sk-",
        "sk-ant-",
        "IOSFODNN7EXAMPLE",
        "EXAMPLEexampleEXAMPLEexample0123EXAMPLEexample",
        "[redacted]",
        "[redac",
        "é",
        "\x1b[31m",
        "1234",
        "hunter2-4711",
        "a1-b2-c3-d4",
        "$X",
        "&sig=",
        "12345678:AA",
        ".atlasv1.",
        "hooks.slack.com/services/",
        "x-access-token:",
    ];
    prop_oneof![
        6 => prop::sample::select(pieces).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => any::<String>(),
    ]
}

fn messy() -> impl Strategy<Value = String> {
    prop::collection::vec(fragment(), 0..14).prop_map(|pieces| pieces.concat())
}

/// A token of each shape: the first example of each rule.
fn tokens() -> Vec<String> {
    let table: toml::Table = include_str!("../rules.toml").parse().unwrap();
    let rules = table["rule"].as_array().unwrap().iter();
    let rules = rules.filter(|rule| rule.get("keep").is_none());
    rules.map(|rule| rule["positive"][0].as_str().unwrap().to_owned()).collect()
}

proptest! {
    #[test]
    fn a_stream_gives_the_same_as_the_whole_text(
        text in messy(),
        cuts in prop::collection::vec(0usize..40, 0..12),
    ) {
        let bound = Redactor::new(&["EXAMPLEexample".into(), "abc".into(), "a".into()]);
        for redactor in [bound.for_output(), bound.for_settings(), bound] {
            let whole = redactor.redact_str(&text);
            let parts = streamed(&redactor, text.as_bytes(), &cuts);
            prop_assert_eq!(String::from_utf8_lossy(&parts), whole.as_str());
            prop_assert_eq!(byte_by_byte(&redactor, &text), whole);
        }
    }

    // A mark is shorter than the text that it replaces. So a second pass may see more of a line, and mask more of it.
    #[test]
    fn redacting_again_only_masks_more(text in messy()) {
        for redactor in [rules(), rules().for_output()] {
            let once = redactor.redact_str(&text);
            let again = redactor.redact_str(&once);
            let mut rest = once.as_str();
            for kept in again.split(MARK) {
                let place = rest.find(kept);
                prop_assert!(place.is_some(), "{once:?} became {again:?}");
                rest = &rest[place.unwrap_or_default() + kept.len()..];
            }
            prop_assert!(once.matches(MARK).count() == 0 || again.contains(MARK));
        }
    }

    #[test]
    fn text_looks_secret_exactly_if_redaction_changes_it(text in messy()) {
        let is_changed = rules().redact_str(&text) != text;
        prop_assert_eq!(looks_like_shape(&text).is_some(), is_changed);
    }

    #[test]
    fn any_bytes_pass(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
        for redactor in [rules(), rules().for_output()] {
            prop_assert_eq!(streamed(&redactor, &bytes, &[cut]), streamed(&redactor, &bytes, &[]));
        }
    }

    #[test]
    fn text_without_anchors_is_unchanged(words in prop::collection::vec("[a-z0-9 =:,.\"'(){}/]{0,12}", 0..20)) {
        let text = words.join(" ");
        prop_assume!(!text.contains("://") && !text.contains("api-"));
        prop_assert_eq!(rules().redact_str(&text), text);
    }

    #[test]
    fn no_planted_secret_passes(
        before in "[ -~\n]{0,200}",
        line in prop::sample::select(lines(SECRETS).collect::<Vec<_>>()),
        after in "[ -~\n]{0,200}",
        cuts in prop::collection::vec(0usize..60, 0..20),
    ) {
        let (text, _, secrets) = planted(line);
        let text = format!("{before}\n{text}\n{after}");
        let output = String::from_utf8(streamed(&rules(), text.as_bytes(), &cuts)).unwrap();
        for secret in secrets {
            prop_assert!(!output.contains(&secret), "{}", output);
        }
    }

    #[test]
    fn no_token_passes(
        before in "[ -~\n]{0,100}",
        token in prop::sample::select(tokens()),
        after in "[ -~\n]{0,100}",
        cuts in prop::collection::vec(0usize..60, 0..20),
    ) {
        for sign in [" ", "\n", "\"", "=", "\\n", "%20", "\x1b[31m"] {
            let text = format!("{before}{sign}{token} {after}");
            let output = String::from_utf8(streamed(&rules(), text.as_bytes(), &cuts)).unwrap();
            prop_assert!(!output.contains(&token), "{}", output);
        }
    }

    #[test]
    fn no_bound_value_passes(
        value in "[!-~]{8,40}",
        before in any::<String>(),
        after in "[ -~]{0,100}",
        cuts in prop::collection::vec(0usize..60, 0..20),
        offset in 0usize..3,
    ) {
        prop_assume!(!MARK.contains(&value));
        let encoded = encoded_with_padding(&value, offset);
        let text = format!("{before} {value} {encoded} {after}");
        for redactor in [Redactor::new(&[value.as_str().into()]), Redactor::bound_only(&[value.as_str().into()])] {
            let output = String::from_utf8_lossy(&streamed(&redactor, text.as_bytes(), &cuts)).into_owned();
            prop_assert!(!output.contains(&value), "{}", output);
            prop_assert!(!output.contains(&encoded[4..encoded.len() - 4]), "{}", output);
        }
    }
}

/// Returns base64 of a value with some bytes before and after it.
fn encoded_with_padding(value: &str, offset: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = b"xyz"[..offset].to_vec();
    bytes.extend(value.bytes());
    while !bytes.len().is_multiple_of(3) {
        bytes.push(b'z');
    }
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        for shift in [18, 12, 6, 0] {
            text.push(char::from(ALPHABET[(bits >> shift & 63) as usize]));
        }
    }
    text
}
