use brigade::core::Place;
use brigade::{Env, NewFile, Workspace};

use super::*;

const PLAIN: TextFormat = TextFormat { colour: Colour::Off, width: Some(60) };

/// Two files with several errors.
const FILES: [(&str, &str); 2] = [
    (
        ".brigade/tools.toml",
        "version = 1\n\n[[tool]]\nid = \"greet\"\n\ttimeout = \"soon\" # later\nenv = { TOKEN = \"hunter2EXAMPLE\" }\n",
    ),
    (".brigade/tools/policy.toml", "denied_effects = [\"network\"]\nnaïve = \"日本\" + \u{202e}\n"),
];

fn faults() -> Vec<Fault> {
    vec![
        Fault::new("effect_denied", "effect `network` is denied")
            .at(Place::at(".brigade/tools/policy.toml", 1, 18))
            .help(Hint::from("strike it off the list")),
        Fault::new("config_invalid", "greet: timeout: not a number of seconds")
            .at(Place::at(".brigade/tools.toml", 5, 12))
            .help(Hint::from("write seconds, such as `timeout = 30`\nor leave it out")),
    ]
}

fn written(faults: Vec<Fault>, look: TextFormat) -> String {
    let folder = tempfile::tempdir().unwrap();
    let files = FILES.map(|(path, text)| NewFile::new(path, text));
    let workspace = Workspace::with_files(&folder.path().join("w"), &files, Env::of_process()).unwrap();
    let mut sheet = Sheet::default();
    list(faults, &mut sheet);
    sheet.write(look, Some(&workspace.sources()))
}

#[track_caller]
fn check(fault: Fault, look: TextFormat, expect: &str) {
    assert_eq!(written(vec![fault], look), expect);
}

#[test]
fn plain_text_has_the_sentence_the_line_and_the_help() {
    check(
        Fault::new("config_invalid", "greet: timeout: not a number")
            .at(Place::at(".brigade/tools.toml", 5, 12))
            .help(Hint::from("write seconds")),
        PLAIN,
        "\
error[config_invalid]: greet: timeout: not a number
 --> .brigade/tools.toml:5:12
  |
5 |     timeout = \"soon\" # later
  |               ^^^^^^
help: write seconds
",
    );
}

#[test]
fn several_faults_are_sorted_by_file_and_counted() {
    assert_eq!(
        written(faults(), PLAIN),
        "\
error[config_invalid]: greet: timeout: not a number of seconds
 --> .brigade/tools.toml:5:12
  |
5 |     timeout = \"soon\" # later
  |               ^^^^^^
help: write seconds, such as `timeout = 30`
help: or leave it out

error[effect_denied]: effect `network` is denied
 --> .brigade/tools/policy.toml:1:18
  |
1 | denied_effects = [\"network\"]
  |                  ^^^^^^^^^^^
help: strike it off the list

2 errors
"
    );
}

#[test]
fn places_whose_line_is_not_known_are_named() {
    let at = |place| Fault::new("x", "it is broken").at(place).severity(Severity::Warning);
    check(at(Place::file("a.toml")), PLAIN, "warning[x]: it is broken\n --> a.toml\n");
    check(at(Place::at("gone.toml", 3, 1)), PLAIN, "warning[x]: it is broken\n --> gone.toml:3:1\n");
    check(
        at(Place::at(".brigade/tools.toml", 30, 1)),
        PLAIN,
        "warning[x]: it is broken\n --> .brigade/tools.toml:30:1\n",
    );
    check(at(Place::at("../outside", 1, 1)), PLAIN, "warning[x]: it is broken\n --> ../outside:1:1\n");
    check(Fault::new("not_found", "no call matches `x`"), PLAIN, "error[not_found]: no call matches `x`\n");
}

#[test]
fn arguments_are_named_and_never_shown() {
    let fault = |message: &str| Fault::new("argument_invalid", message).field("$.paths".to_owned());
    check(fault("required"), PLAIN, "error[argument_invalid]: required\n --> $.paths\n");
    check(fault("$.paths: required"), PLAIN, "error[argument_invalid]: $.paths: required\n");
}

#[test]
fn secrets_and_controls_of_a_line_are_not_shown() {
    check(
        Fault::new("x", "a\u{1b}[2J").at(Place::at(".brigade/tools.toml", 6, 9)),
        PLAIN,
        "\
error[x]: a\\u{1b}[2J
 --> .brigade/tools.toml:6:9
  |
6 | env = { TOKEN = \"[redacted]\" }
  |         ^^^^^
",
    );
    check(
        Fault::new("x", "b").at(Place::at(".brigade/tools/policy.toml", 2, 14)),
        PLAIN,
        "\
error[x]: b
 --> .brigade/tools/policy.toml:2:14
  |
2 | naïve = \"日本\" + \\u{202e}
  |                ^
",
    );
}

#[test]
fn colours_are_ours() {
    let fault = Fault::new("x", "b").at(Place::at(".brigade/tools/policy.toml", 1, 1)).help(Hint::from("c"));
    let text = written(vec![fault], TextFormat { colour: Colour::On, ..PLAIN });
    assert!(text.starts_with("\x1b[31merror[x]\x1b[0m: \x1b[1mb\x1b[0m\n"), "{text:?}");
    assert!(text.contains("\x1b[36m.brigade") && !text.contains("\x1b]8"), "{text:?}");
}
