//! Plans of `cmd.run`: what blocks a command of an agent.

use std::os::unix::fs::symlink;

use super::*;
use crate::testing::codes;

const RULES: &str = r#"allowed_families = ["builtin"]
allowed_effects = ["local-read", "local-write", "process-exec", "network"]

[env_bindings]
GREETING = "CANARY"
"#;

/// A workspace whose agent `local` may run these commands; `None` for any.
fn bench(commands: Option<&[&str]>) -> Bench {
    let context = if commands.is_some() { ", \"context.commands\"" } else { "" };
    let gateway = format!("[[agent]]\nname = \"local\"\nprofiles = [\"permission.full-auto\"{context}]\n");
    let profile = format!(
        "[[profile]]\nname = \"context.commands\"\n[[profile.rule]]\nmatch = \"id:cmd.run\"\n\
         action = \"allow\"\nconstrain = {{ commands = {:?} }}\n",
        commands.unwrap_or_default()
    );
    let files = [
        (".brigade/tools/policy.toml", RULES),
        (".brigade/tools.toml", ""),
        (".brigade/tools/gateway.toml", &*gateway),
        (".brigade/tools/profiles.toml", &*profile),
        ("a.txt", "one\ntwo\n"),
    ];
    let mut bench = Bench::on_disk(&files);
    bench =
        bench.with_variables(&[("PATH", "/usr/local/bin:/usr/bin:/bin"), ("CANARY", "canary-4711-value")]);
    bench.context.caller = Caller::Agent("local".to_owned());
    bench
}

#[track_caller]
fn check_args(bench: &Bench, args: &str, expect: &[&str]) {
    let plan = bench.plan("cmd.run", args);
    assert_eq!(codes(plan.blockers()), expect, "{args}: {:?}", plan.blockers());
}

#[track_caller]
fn check(bench: &Bench, command: &str, expect: &[&str]) {
    let args = Json::object([("command", Json::from(command))]);
    check_args(bench, &args.to_compact(), expect);
}

fn link(bench: &Bench, target: &str, name: &str) {
    symlink(target, bench.path(name)).unwrap();
}

#[test]
fn only_commands_of_the_context_are_allowed() {
    let bench = bench(Some(&["cat", "git --version", "./tool.sh", "find", "python3 ok.py"]));
    bench.write("ok.py", "print(1)");
    bench.write("sub/ok.py", "print(2)");
    bench.program("tool.sh", "#!/bin/sh\n");
    bench.program("env", "#!/bin/sh\n");
    bench.folder("bin");
    let cat = ["/usr/bin/cat", "/bin/cat"].into_iter().find(|path| Path::new(path).exists()).unwrap();
    link(&bench, cat, "bin/cat");
    link(&bench, cat, "bin/dog");
    link(&bench, "/usr/bin/env", "bin/git");
    for command in [
        "cat a.txt",
        &format!("{cat} a.txt"),
        "bin/cat a.txt",
        "env cat a.txt",
        "timeout 5 env LC_ALL=C cat a.txt",
        "git --version",
        "./tool.sh",
        "'cat' \"a.txt\"",
        "python3 ok.py",
    ] {
        check(&bench, command, &[]);
    }
    for command in [
        "ls",
        // A path to the same file does not match, and neither does another file of the same name.
        "bin/dog a.txt",
        "bin/git --version",
        "git status",
        "git -c a.b=c --version",
        // Launchers are skipped. A file with the name of a launcher is not one.
        "env ls",
        "timeout 5 ls",
        "nice -n 5 env ls",
        "./env cat a.txt",
        // A path relative to another directory does not match the profile.
        "env -C sub ./tool.sh",
        "env --chdir=sub ./tool.sh",
        "timeout 5 env -Csub ./tool.sh",
        "find . -exec ls {} +",
        "env",
    ] {
        let plan = bench.plan("cmd.run", &format!("{{\"command\": {command:?}}}"));
        assert!(codes(plan.blockers()).contains(&"outside_context"), "{command}: {:?}", plan.blockers());
    }
    // A script in the profile does not match another file of the same name.
    check_args(&bench, r#"{"command": "python3 ok.py", "cwd": "sub"}"#, &["outside_context"]);
}

#[test]
fn a_text_that_is_not_a_command_line_is_refused() {
    for commands in [None, Some(&["cat"][..])] {
        let bench = bench(commands);
        for args in [r#"{"command": "cat 'x"}"#, r#"{"command": "cat a.txt", "args": ["b\u0000c"]}"#] {
            let plan = bench.plan("cmd.run", args);
            assert!(codes(plan.blockers()).contains(&"invalid_command"), "{args}: {:?}", plan.blockers());
        }
    }
}

#[test]
fn shell_syntax_is_refused_before_other_checks() {
    for commands in [None, Some(&["ls"][..])] {
        let bench = bench(commands);
        for command in [
            "ls; pwd",
            "ls;pwd",
            "ls|cat",
            "ls>x",
            "ls&&pwd",
            "ls&",
            "(ls)",
            "{ ls; }",
            "nosuch | cat",
            "$(ls)",
            "cat < a.txt",
            "cat *.txt",
            "cat $HOME/x",
        ] {
            let plan = bench.plan("cmd.run", &format!("{{\"command\": {command:?}}}"));
            assert_eq!(
                codes(plan.blockers()).first(),
                Some(&"shell_syntax"),
                "{command}: {:?}",
                plan.blockers()
            );
        }
        let plan = bench.plan("cmd.run", r#"{"command": "nosuch 'a;b'"}"#);
        assert!(!codes(plan.blockers()).contains(&"shell_syntax"), "{:?}", plan.blockers());
    }
}

/// All command shapes in docs/security.md, and texts for interpreters, which `[commands]` can allow elsewhere.
const SHAPES: &[&str] = &[
    "bash -lc ls",
    "env -S 'sh -c ls'",
    "script -c ls",
    "tar --to-command=sh -xf a.tar",
    "git -c core.sshCommand=ls fetch",
    "git -c 'alias.x=!ls' x",
    "make '--eval=x:;ls'",
    "gdb -ex 'shell ls'",
    "awk 'BEGIN { system(\"ls\") }'",
    "xargs -a a.txt python3 -c %",
    "find . -exec python3 -c {} ';'",
    "sh -s",
    "python3 -",
    "bash",
    "sudo ls",
    "su",
    "rm -rf build",
    "rm -r --force build",
    "find . -delete",
    "git clean -fd",
    "python3 -c 'print(1)'",
    "node -e 1",
    "perl -e 1",
    "timeout 5 python3 -c 'print(1)'",
];

#[test]
fn disguised_commands_are_always_refused() {
    let bench = bench(None);
    bench.write(".brigade/tools/policy.toml", &format!("{RULES}\n[commands]\ninline_code = \"allow\"\n"));
    let is_refused = |args: &str| {
        let plan = bench.plan("cmd.run", args);
        assert!(codes(plan.blockers()).contains(&"high_risk_command"), "{args}: {:?}", plan.blockers());
    };
    for command in SHAPES {
        is_refused(&format!("{{\"command\": {command:?}}}"));
    }
    // The words of `args` are checked together with the command.
    is_refused(r#"{"command": "python3", "args": ["-c", "print(1)"]}"#);
}

#[test]
fn a_link_of_another_name_hides_no_shape() {
    // Issue 17: only the typed name was checked.
    let bench = bench(None);
    bench.folder("sub");
    link(&bench, "/usr/bin/python3", "check");
    link(&bench, "/bin/sh", "sub/shell");
    link(&bench, "sub/shell", "git");
    link(&bench, "/usr/bin/env", "around");
    for command in [
        "./check -c 1",
        "sub/shell -c id",
        "./git -c id",
        "timeout 5 sub/shell -c id",
        "./around ./check -c 1",
        "env -C sub ./shell -c id",
        "watch 'sub/shell -c id'",
    ] {
        let plan = bench.plan("cmd.run", &format!("{{\"command\": {command:?}}}"));
        assert!(codes(plan.blockers()).contains(&"high_risk_command"), "{command}: {:?}", plan.blockers());
    }
    check_args(&bench, r#"{"command": "./shell -c id", "cwd": "sub"}"#, &["high_risk_command"]);
    // A script does not count as its interpreter, whatever its name.
    bench.write("ok.py", "print(1)");
    check(&bench, "./check ok.py", &[]);
}

#[test]
fn directory_variables_and_time_have_limits() {
    let bench = bench(None);
    for (args, code) in [
        (r#"{"command": "ls", "cwd": "../.."}"#, "path_outside"),
        (r#"{"command": "ls", "cwd": ".brigade"}"#, "protected_path"),
        (r#"{"command": "ls", "env": {"LD_PRELOAD": true}}"#, "unsafe_env_label"),
        (r#"{"command": "nosuchprogram-4711"}"#, "program_not_found"),
    ] {
        let plan = bench.plan("cmd.run", args);
        assert!(codes(plan.blockers()).contains(&code), "{args}: {:?}", plan.blockers());
    }
}
