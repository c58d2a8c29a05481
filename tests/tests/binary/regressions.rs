//! Regression tests.

use std::process::Stdio;

use brigade_tests::Site;
use serde_json::json;

#[test]
fn many_runners_take_one_call_each() {
    let site = Site::script_with("echo ran >> ran.txt\n", "argument_template = { a = \"{a}\" }\n");
    let count = 6;
    for number in 0..count {
        site.approved("tool", &json!({ "a": number.to_string() }).to_string());
    }
    let mut runners: Vec<_> = (0..count)
        .map(|_| {
            let mut command = site.brigade.command(["tools", "call", "run", "--next"]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the runner starts")
        })
        .collect();
    for runner in &mut runners {
        assert!(runner.wait().expect("the runner ends").success());
    }
    assert_eq!(site.workspace.read_text("ran.txt").lines().count(), count);
}
