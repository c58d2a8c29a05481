//! Secrets in unusual places: file names, ids, keys, choices and odd values.

#![allow(clippy::disallowed_methods, reason = "tests look at the files that the binary wrote")]

use brigade_tests::Site;

const LABEL: &str = r#"env_labels = ["GITHUB_TOKEN"]
"#;

const CANARY: &str = "cAnary-4711-secret_VALUE-zz";

/// Fails the test if the output, or the name or content of a file, contains the secret.
#[track_caller]
fn nowhere(site: &Site, secret: &str, run: &brigade_testkit::Run) {
    for stream in [&run.stdout, &run.stderr] {
        let holds = stream.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!holds, "the output holds it\n{run}");
    }
    site.assert_nowhere(secret.as_bytes(), &[]);
    let names = site.workspace.files("");
    assert!(!names.keys().any(|name| name.contains(secret)), "a name holds it: {:?}", names.keys());
}

#[test]
fn names_and_ids_of_checkpoints() {
    for body in [
        r#"echo '{' > "$BRIGADE_TOOL_CHECKPOINT_DIR/$GITHUB_TOKEN.json""#,
        r#"echo "{\"id\":\"ok\",\"context\":{\"$GITHUB_TOKEN\":1,\"b\":{\"x $GITHUB_TOKEN\":[]}}}" > "$BRIGADE_TOOL_CHECKPOINT_DIR/a.json""#,
    ] {
        let site = Site::script_with(body, LABEL).env("CANARY", CANARY);
        let id = site.approved("tool", "{}");
        let run = site.tools(["call", "run", &id, "--json"]);
        assert!(matches!(run.code(), Some(0 | 1)), "{run}");
        nowhere(&site, CANARY, &run);
        for words in [&["run", "latest"][..], &["checkpoint", "list"], &["checkpoint", "show", "ok"]] {
            for json in [&[][..], &["--json"]] {
                nowhere(&site, CANARY, &site.tools(words.iter().chain(json)));
            }
        }
    }
}

#[test]
fn odd_values_neither_leak_nor_break_the_run() {
    for value in ["1", "a\nb\nc-line-three"] {
        let site =
            Site::script_with("printf '<%s>\\n' \"$GITHUB_TOKEN\"; echo fin\n", LABEL).env("CANARY", value);
        let receipt = site.receipt_of("tool", "{}");
        assert_eq!(receipt["status"], "completed", "{value:?}");
        let log = site.log_text(&receipt, "stdout");
        assert!(log.ends_with("fin\n"), "{value:?}: {log}");
        if value.trim().len() >= 8 && value != "[redacted]" {
            assert_eq!(log, "<[redacted]>\nfin\n", "{value:?}");
        }
    }
    // A variable that is empty gives the script an empty value.
    let site = Site::script_with("printf '<%s>' \"$GITHUB_TOKEN\"", LABEL).env("CANARY", "");
    let answer = site.json(["call", "plan", "tool"]);
    if answer.code == 0 {
        assert_eq!(site.log_text(&site.receipt_of("tool", "{}"), "stdout"), "<>");
    }
}

#[test]
fn a_value_that_is_not_text_is_masked() {
    use std::os::unix::ffi::OsStringExt;
    let value = std::ffi::OsString::from_vec(b"\xff\xfecanary\x80value".to_vec());
    let site = Site::script_with("printf '<%s>\\n' \"$GITHUB_TOKEN\"\n", LABEL).env("CANARY", value);
    let receipt = site.receipt_of("tool", "{}");
    assert_eq!(site.log(&receipt, "stdout"), b"<[redacted]>\n");
    site.assert_nowhere(b"canary\x80value", &[]);
}

#[test]
fn a_secret_in_the_place_of_an_id_is_not_repeated() {
    let site = Site::script("true");
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let commands: [&[&str]; 6] = [
        &["show", token],
        &["describe", token],
        &["apply", token],
        &["call", "plan", token],
        &["call", "queue", token],
        &["policy", "explain", token],
    ];
    for words in commands {
        let run = site.tools(words.iter().chain(&["--json"]));
        run.assert_code(1);
        assert!(run.stdout_text().contains("no tool has the id"), "{run}");
        nowhere(&site, token, &run);
    }
    // Text and JSON are made from the same error.
    let shown = site.tools(["show", token]);
    assert!(shown.assert_code(1).stderr_text().contains("no tool has the id"), "{shown}");
    nowhere(&site, token, &shown);
    for words in [
        &["call", "show", token][..],
        &["call", "approve", token],
        &["call", "run", token],
        &["run", "show", token],
        &["pins", "show", token],
        &["runtime", "start", token],
        &["runtime", "show", token],
        &["checkpoint", "show", token],
        &["call", "plan", "tool", "--args-json", token],
    ] {
        let run = site.tools(words.iter().chain(&["--json"]));
        assert!(matches!(run.code(), Some(1 | 2)), "{run}");
        nowhere(&site, token, &run);
    }
    for json in [&[][..], &["--json"]] {
        let run = site.brigade.run(["work", "inbox", "dismiss", token].iter().chain(json));
        nowhere(&site, token, &run);
    }
}
