use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::{MARK, Redactor, SecretValue};

#[track_caller]
fn check(value: &str, text: &str, expect: &str) {
    let redactor = Redactor::bound_only(&[SecretValue::from(value)]);
    assert_eq!(redactor.redact_str(text), expect, "{text}");
    let (mut streamed, mut output) = (redactor.clone(), Vec::new());
    for byte in text.as_bytes() {
        streamed.push(std::slice::from_ref(byte), &mut output);
    }
    streamed.finish(&mut output);
    assert_eq!(String::from_utf8_lossy(&output), expect, "byte by byte: {text}");
}

#[test]
fn escapes_of_all_styles_are_found_in_any_mixture() {
    let value = "p\u{e4}\\ss/\"x'\u{7f}\u{1f600}\nz";
    for text in [
        // `json.dumps` in Python, `json_encode` in PHP, Jackson; also applied twice.
        r#"p\u00e4\\ss/\"x'\u007f\ud83d\ude00\nz"#,
        r#"p\u00e4\\ss\/\"x'\u007f\ud83d\ude00\nz"#,
        r#"p\u00E4\\ss\/\"x'\u007F\uD83D\uDE00\nz"#,
        r#"p\\u00e4\\\\ss\\/\\\"x'\\u007f\\ud83d\\ude00\\nz"#,
        r#"p\\u00e4\\\\ss\\\/\\\"x'\\u007f\\ud83d\\ude00\\nz"#,
        r#"\u0070\u00e4\u005css\u002f\u0022\u0078\u0027\u007f\ud83d\ude00\u000a\u007a"#,
        // `ascii` and `repr` in Python, of text and of bytes.
        r#"p\xe4\\ss/"x\'\x7f\ud83d\ude00\nz"#,
        r#"p\xc3\xa4\\ss/"x\'\x7f\xf0\x9f\x98\x80\nz"#,
        // `$'…'` and `printf %q` in shells.
        r#"p\303\244\\ss/"x\'\177\360\237\230\200\nz"#,
    ] {
        check(value, &format!("a {text} b"), "a [redacted] b");
        check(value, text, MARK);
    }
    check("it's a $v", r"a it\'s\ a\ \$v b", "a [redacted] b");
    check(r"abcd\", r#"{"v":"abcd\\"}"#, r#"{"v":"[redacted]"}"#);
    check(r"abcd\", r#""{\"v\":\"abcd\\\\\"}""#, r#""{\"v\":\"[redacted]\"}""#);
    check(r"C:\u005cnew", r"C:\\u005cnew", MARK);
    check("abcd\u{e9}", r"\\\\\\\\\\abcd\u00e9", r"\\\\\\\\\\[redacted]");
    check("\u{e9}abcd", r"\\\\\\\\\\u00e9abcd", r"\\\\\\[redacted]");
}

#[test]
fn text_that_only_resembles_a_value_stays() {
    check("nnnnn", r"a\n\n\n\n\n", r"a\n\n\n\n\n");
    check("abc/def", r"abc\def abc\/de abc\u002fdef", r"abc\def abc\/de [redacted]");
    check("C:\\new-dir", "C:\new-dir", "C:\new-dir");
    check("tool", r"\too\t\ool", r"\too\t\ool");
}

/// Escapes a character in one of the styles.
fn spell(character: char, style: u8) -> String {
    let units = |upper: bool| -> String {
        let mut units = [0; 2];
        let unit = |unit: &u16| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        character.encode_utf16(&mut units).iter().map(unit).collect()
    };
    match (character, style % 4) {
        ('"' | '\\', 0 | 1) => format!("\\{character}"),
        ('/', 1) => "\\/".to_owned(),
        ('\n', 0 | 1) => "\\n".to_owned(),
        (_, 2) => units(false),
        (_, 3) => units(true),
        (character, _) if character < ' ' => units(false),
        (character, _) => character.to_string(),
    }
}

#[test]
fn what_languages_and_pages_print_is_found() {
    let value = "p\u{e9}s<\u{1f600}z";
    for text in [
        r"p\xe9s<\U0001f600z",
        r"p\xe9s<\U0001F600z",
        r"p\u00e9s<\U0001f600z",
        r"p\u{e9}s<\u{1f600}z",
        r"p\N{LATIN SMALL LETTER E WITH ACUTE}s<\N{GRINNING FACE}z",
        r"p\351s\74\360\237\230\200z",
        r"p\u{E9}s<\u{0001F600}z",
        r"p\x{e9}s<\x{1f600}z",
        r"p\N{U+E9}s<\N{U+1F600}z",
        r"p\o{351}s<\o{373000}z",
        "p&#xE9;s&lt;&#x1F600;z",
        "p&#xe9;s&#x3c;&#x1f600;z",
        "p&#233;s&#60;&#128512;z",
        "p&#0233;s&#x003C;&#x0001f600;z",
        "p&eacute;s&lt;&#128512;z",
        "&#112;&eacute;s<&#128512;&#x7a;",
    ] {
        check(value, &format!("a {text} b"), &format!("a {MARK} b"));
    }
    // Issue 12: a zero before octal digits, numbers without an end, names of ASCII characters.
    for text in [
        r"\\0160\0303\0251s<\0360\0237\0230\0200z",
        "&#112&#233&#115&#60&#128512&#122;",
        "&#x70&#xE9s&#x3C&#x1f600z",
        r"\N{LATIN SMALL LETTER P}\N{LATIN SMALL LETTER E WITH ACUTE}s\N{LESS-THAN SIGN}\N{GRINNING FACE}\N{latin small letter z}",
    ] {
        check(value, &format!("a {text} b"), &format!("a {MARK} b"));
    }
    check(
        "A1-_z",
        r"\N{LATIN CAPITAL LETTER A}\N{DIGIT ONE}\N{HYPHEN-MINUS}\N{LOW LINE}\N{LATIN SMALL LETTER Z}",
        MARK,
    );
    check("pass12", r"\0160\0141\0163\0163\061\062 \016\060", r"[redacted] \016\060");
    // Also of a backslash in the value.
    let value = r"Zq7\kW9xptL";
    let octal: String = value.bytes().map(|byte| format!("\\0{byte:03o}")).collect();
    check(value, &octal, MARK);
    check("caf\u{e9}&cr\u{e8}me", "caf&eacute;&amp;cr&egrave;me", MARK);
    check(
        "\u{3a9}-Gro\u{df}|`\u{3b1}\u{2264}\u{221e}",
        "&Omega;-Gro&szlig;&VerticalLine;&DiacriticalGrave;&alpha;&le;&infin;",
        MARK,
    );
    check("cafe", "&eacute;cafx &#; &x &#xzz; &", "&eacute;cafx &#; &x &#xzz; &");
}

#[test]
fn long_runs_cost_no_more_than_other_values() {
    let runs = ["A".repeat(1000), "zq".to_owned(), "B".repeat(1000)].concat();
    let other: String = (0..2002u32).map(|at| char::from(b'a' + (at * 7919 % 23) as u8)).collect();
    let cost = |value: &str| {
        let began = Instant::now();
        assert_eq!(Redactor::new(&[SecretValue::from(value)]).redact_str("nothing of it"), "nothing of it");
        began.elapsed()
    };
    let (runs, other) = (cost(&runs), cost(&other));
    assert!(runs < 4 * other + Duration::from_millis(200), "{runs:?}, {other:?}");
}

/// Values that repeat themselves, without or with escape characters, and their forms.
const REPEATED: &[(&str, &str)] = &[
    ("\\\"", "\\\""),
    ("\\\"", "\\\\\\\""),
    ("\\", "\\\\"),
    ("a\\", "a\\\\"),
    ("\\n", "\\\\n"),
    ("\\\\\"\"", "\\\\\\\\\\\"\\\""),
    ("xx", "x\\x78"),
    ("x", "\\u0078"),
    ("xxx", "x&#120;x"),
    ("&&", "&&amp;"),
    ("&x;", "&amp;x;"),
    ("\u{e9}", "\\N{LATIN SMALL LETTER E WITH ACUTE}"),
    ("\u{e9}", "\\303\\251"),
    ("ab\u{e9}", "ab\\xe9"),
    ("\"\\", "\"\\"),
    ("\"\\", "\\\"\\\\"),
    ("\"\\", "\\\\\\\"\\\\\\\\"),
    ("\"\\\\a", "\\\"\\\\\\\\a"),
    ("\\a\\\\a\\\\\\a", "\\\\a\\\\\\\\a\\\\\\\\\\\\a"),
    ("\\a\\\\a\\\\\\a", "\\\\\\a\\\\\\a\\\\\\a"),
    ("&amp;", "&amp;amp;"),
    ("&&amp;", "&amp;&amp;amp;"),
    ("&lt;&gt;", "&amp;lt;&amp;gt;"),
    ("\u{e9}\u{fc}\u{f6}", "\\N{LATIN SMALL LETTER E WITH ACUTE}\\N{A B}\\N{C}"),
    ("\u{e9}a\u{4e2d}", "\\N{A B}a\\N{C D}"),
];

/// Issue 12: a value is found in linear time, whatever it is made of. Printed without its end, it is the hardest text.
#[test]
fn values_that_repeat_themselves_cost_no_more_than_others() {
    let cost = |value: &str, text: &str| {
        let redactor = Redactor::bound_only(&[SecretValue::from(value)]);
        let began = Instant::now();
        redactor.redact_str(text);
        began.elapsed()
    };
    let other: String = (0..6000u32).map(|at| char::from(b'a' + (at * 7919 % 23) as u8)).collect();
    let other = cost(&format!("{other}."), &other.replace('b', "\\x62"));
    for (part, form) in REPEATED {
        let count = 6000 / part.chars().count();
        let value = format!("{}.", part.repeat(count));
        let whole = format!("{}.", form.repeat(count));
        let found = Redactor::bound_only(&[SecretValue::from(&*value)]).redact_str(&whole);
        assert!(found == MARK, "{form} is not found");
        let took = cost(&value, &form.repeat(count));
        assert!(took < 20 * other + Duration::from_millis(500), "{form}: {took:?}, {other:?}");
    }
}

/// Finds what [`Spelled::find`] does, from each beginning anew.
fn found_anew(spelled: &Spelled, text: &[u8]) -> Vec<Range<usize>> {
    let mut masks = Vec::new();
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\\', b'&', &text[from..]).map(|at| from + at) {
        let run = at..at + slashes(&text[at..], usize::MAX);
        from = run.end.max(at + 1);
        let is_entity = text[at] == b'&';
        let entity = entity(text, at).map(|(code, _)| code);
        for value in &spelled.values {
            let plain = value.characters.iter().take_while(|character| character.code != BACKSLASH).count();
            for (position, character) in value.characters.iter().enumerate().take(plain + 1) {
                let before = &value.bytes[..character.at.start];
                if !text[..at].ends_with(before) || (is_entity && entity != Some(character.code)) {
                    continue;
                }
                let first = match before {
                    [] => run.end.saturating_sub(value.most_slashes(position)).max(run.start),
                    _ => at,
                };
                let (mut end, mut here) = (first, position);
                while here < value.characters.len()
                    && let Some(next) = value.step(text, end, here)
                {
                    (end, here) = next;
                }
                if here == value.characters.len() {
                    masks.push(first - before.len()..end);
                }
            }
        }
    }
    masks
}

fn sorted(mut masks: Vec<Range<usize>>) -> Vec<Range<usize>> {
    masks.sort_by_key(|mask| (mask.start, mask.end));
    masks.dedup();
    masks
}

/// A part of a value or of a text, with what reads as an escape, or nearly.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "\\",
        "\"",
        "\\\"",
        "a",
        "x",
        "n",
        "&",
        ";",
        "amp;",
        "&amp;",
        "&#97;",
        "\\n",
        "\\x61",
        "\\u0061",
        "u005c",
        "\\u005c",
        "\u{e9}",
        "\\xe9",
        "\\303\\251",
        "\\N{A B}",
        "\\141",
        "\\0141",
        "1",
        "\\\\\\",
        "&amp;amp;",
        "&lt;",
        "<",
        "\u{fc}",
        "\u{1f600}",
        "\\N{LATIN SMALL LETTER E WITH ACUTE}",
        "\\N{REVERSE SOLIDUS}",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Issue 12: what is found does not depend on what earlier beginnings have matched.
    #[test]
    fn what_is_found_is_what_each_beginning_finds_alone(
        part in prop::collection::vec(piece(), 1..4),
        count in 1usize..24,
        end in prop::collection::vec(piece(), 0..2),
        text in prop::collection::vec((prop::collection::vec(piece(), 1..4), 1usize..30), 1..4),
        own in prop::collection::vec((0u8..4, 0usize..30), 0..3),
    ) {
        let (part, end) = (part.concat(), end.concat());
        let value = format!("{}{end}", part.repeat(count));
        // Forms of the value itself, whole or without an end, among other text.
        let of_value = |(style, cut): (u8, usize)| {
            let form: String = value.chars().map(|c| spell(c, style)).collect();
            let whole = form.chars().count();
            form.chars().take(whole.saturating_sub(cut)).collect::<String>()
        };
        let other = text.into_iter().map(|(parts, count)| parts.concat().repeat(count));
        let text: String = own.into_iter().map(of_value).chain(other).collect();
        let spelled = Spelled::new([value.clone().into_bytes()]);
        let mut masks = Vec::new();
        spelled.find(text.as_bytes(), 0..text.len(), &mut masks);
        let anew = sorted(found_anew(&spelled, text.as_bytes()));
        // All of them are found, and no other.
        prop_assert_eq!(sorted(masks), anew, "{:?} in {:?}", value, text);
    }
}

proptest! {
    #[test]
    fn no_mixture_of_escapes_hides_a_value(
        value in "[a-z]{2}[ -~\u{7f}-\u{ff}\n\u{1f600}\\\\/\"]{4,30}[a-z]{2}",
        styles in prop::collection::vec(0u8..4, 34),
        twice in any::<bool>(),
        before in "[a-z \\\\]{0,9}",
        cut in 0usize..200,
    ) {
        // Text that would itself be read as a number.
        prop_assume!(!["\\u", "\\x", "\\1"].iter().any(|number| value.contains(number)));
        let mut text: String =
            value.chars().zip(styles.iter()).map(|(character, style)| spell(character, *style)).collect();
        if twice {
            text = text.replace('\\', "\\\\").replace('"', "\\\"");
        }
        let text = format!("{before} {text}~");
        let mut redactor = Redactor::bound_only(&[SecretValue::from(value.as_str())]);
        let expect = format!("{before} {MARK}~");
        prop_assert_eq!(redactor.redact_str(&text), expect.as_str());
        let (first, second) = text.as_bytes().split_at(cut.min(text.len()));
        let mut output = Vec::new();
        redactor.push(first, &mut output);
        redactor.push(second, &mut output);
        redactor.finish(&mut output);
        prop_assert_eq!(String::from_utf8_lossy(&output), expect.as_str());
    }
}
