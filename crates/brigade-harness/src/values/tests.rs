//! Tests for finding values.

use super::*;

fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

#[track_caller]
fn check(line: &[&str], expect: &[&str]) {
    let line = words(line);
    let found = values(&line);
    let shown: Vec<&str> = found
        .iter()
        .zip(&line)
        .map(|(held, word)| held.as_ref().map_or(word.as_str(), |held| held.shown.as_str()))
        .collect();
    assert_eq!(shown, expect, "{line:?}");
    assert!(found.iter().flatten().all(|held| held.is_literal), "{line:?}");
}

#[test]
fn values_of_variables_are_found_in_every_spelling() {
    for program in ["docker", "podman", "/usr/bin/nerdctl"] {
        check(&[program, "run", "-e", "dbpw=v", "img"], &[program, "run", "-e", "dbpw=[redacted]", "img"]);
        check(&[program, "run", "-edbpw=v"], &[program, "run", "-edbpw=[redacted]"]);
        check(&[program, "run", "-ie", "dbpw=v"], &[program, "run", "-ie", "dbpw=[redacted]"]);
        check(&[program, "run", "-itedbpw=v"], &[program, "run", "-itedbpw=[redacted]"]);
        check(&[program, "run", "--env=t=v"], &[program, "run", "--env=t=[redacted]"]);
        check(
            &[program, "container", "run", "--env", "t=v"],
            &[program, "container", "run", "--env", "t=[redacted]"],
        );
    }
    check(&["env", "-i", "t=v", "npx", "x"], &["env", "-i", "t=[redacted]", "npx", "x"]);
    check(&["npx", "-y", "cross-env", "t=v", "npx"], &["npx", "-y", "cross-env", "t=[redacted]", "npx"]);
    check(&["env", "-St=v npx x"], &["env", "-St=[redacted] npx x"]);
    check(&["timeout", "5", "TOK=v", "x"], &["timeout", "5", "TOK=[redacted]", "x"]);
    check(&["bwrap", "--setenv", "T", "v", "x"], &["bwrap", "--setenv", "T", "[redacted]", "x"]);
    check(&["sh", "-c", "t=v npx x"], &["sh", "-c", "t=[redacted] npx x"]);
    check(&["sh", "-c", "a; t='b c' npx x"], &["sh", "-c", "a; t=[redacted] npx x"]);
    check(
        &["sh", "-c", "env t=v docker run -e u=w i"],
        &["sh", "-c", "env t=[redacted] docker run -e u=[redacted] i"],
    );
    check(&["sh", "-lc", "T=v npx x"], &["sh", "-lc", "T=[redacted] npx x"]);
    check(&["timeout", "5", "T=v npx x"], &["timeout", "5", "T=[redacted]"]);
    check(&["sh", "-c", "t='b c"], &["sh", "-c", "t=[redacted]"]);
    check(&["sh", "-c", "sh -c 't=v x'"], &["sh", "-c", "sh -c t=[redacted] x"]);
    check(&["pwsh", "-c", "$env:t='v'; npx"], &["pwsh", "-c", "$env:t=[redacted]; npx"]);
    check(&["pwsh", "-c", "$env:t = 'v'; npx"], &["pwsh", "-c", "$env:t = [redacted]; npx"]);
    check(&["fish", "-c", "set -x FOO v; npx x"], &["fish", "-c", "set -x FOO [redacted]; npx x"]);
    check(&["fish", "-c", "set -gx FOO v"], &["fish", "-c", "set -gx FOO [redacted]"]);
    check(&["setx", "FOO", "v"], &["setx", "FOO", "[redacted]"]);
    check(&["sh", "-c", "set -ex; npx server x"], &["sh", "-c", "set -ex; npx server x"]);
}

#[test]
fn a_password_of_a_command_in_a_word_is_found() {
    let word = "ProxyCommand=sshpass -p v ssh x";
    check(&["ssh", "-o", word, "h"], &["ssh", "-o", "ProxyCommand=sshpass -p [redacted]", "h"]);
}

#[test]
fn values_after_their_names_are_found() {
    check(
        &["uvx", "mcp-proxy", "--headers", "X-Key", "v"],
        &["uvx", "mcp-proxy", "--headers", "X-Key", "[redacted]"],
    );
    check(&["x", "-H", "authorization", "v", "u"], &["x", "-H", "authorization", "[redacted]", "u"]);
    check(
        &["uvx", "mcp-proxy", "-e", "MY_VAR", "v", "s"],
        &["uvx", "mcp-proxy", "-e", "MY_VAR", "[redacted]", "s"],
    );
    check(&["x", "--env", "a", "v"], &["x", "--env", "a", "[redacted]"]);
    check(&["sh", "-c", "x --headers A 'b c' d"], &["sh", "-c", "x --headers A [redacted] d"]);
    check(
        &["docker", "run", "-i", "-e", "T", "img", "-e", "A", "v"],
        &["docker", "run", "-i", "-e", "T", "img", "-e", "A", "[redacted]"],
    );
    check(
        &["npx", "-y", "@a/cli@latest", "run", "@a/b", "--key", "9f3c77aa10"],
        &["npx", "-y", "@a/cli@latest", "run", "@a/b", "--key", "[redacted]"],
    );
    check(&["cmd", "/c", "npx", "--key=9f3c77aa10"], &["cmd", "/c", "npx", "--key=[redacted]"]);
    check(
        &["x", "--pat", "9f3c77aa10", "-u", "me:v:w"],
        &["x", "--pat", "[redacted]", "-u", "me:[redacted]"],
    );
    check(&["curl", "--user=me:v"], &["curl", "--user=me:[redacted]"]);
    check(&["x", "Bearer", "q1"], &["x", "Bearer", "[redacted]"]);
    check(
        &["x", "-H", "Authorization:", "Bearer", "q1"],
        &["x", "-H", "Authorization:", "Bearer", "[redacted]"],
    );
    check(&["x", "--PAT=q1", "--pass:q1"], &["x", "--PAT=[redacted]", "--pass:[redacted]"]);
    check(
        &["x", "--proxy-user", "u:q1", "-ubob:q1"],
        &["x", "--proxy-user", "u:[redacted]", "-ubob:[redacted]"],
    );
    check(
        &["curl", "-b", "sid=a1b2c3d4", "--session", "a1b2c3d4"],
        &["curl", "-b", "sid=[redacted]", "--session", "[redacted]"],
    );
    check(&["x", r"D\u:q1@h", "u@s:q1@tcp(h)"], &["x", r"D\u:[redacted]", "u@s:[redacted]"]);
    check(&["sh", "-c", "x --otp 12 Bearer q1"], &["sh", "-c", "x --otp [redacted] Bearer [redacted]"]);
    check(&["x", r#"[{"name": "X", "value": "q1"}]"#], &["x", "[redacted]"]);
    check(&["x", r#"--config={"a": [{"key": "X", "value": "q1"}]}"#], &["x", "--config=[redacted]"]);
    check(
        &["x", "--env", r#"{"X": "q1"}"#, "--env=[\"q1\"]"],
        &["x", "--env", "[redacted]", "--env=[redacted]"],
    );
    for option in ["--pass", "--dbpass", "-pass", "--pw", "--jwt", "--cookie"] {
        check(&["x", option, "v", "y"], &["x", option, "[redacted]", "y"]);
        let attached = |value: &str| format!("{option}={value}");
        check(&["x", &attached("v")], &["x", &attached("[redacted]")]);
        check(&["sh", "-c", &format!("x {option} v")], &["sh", "-c", &format!("x {option} [redacted]")]);
    }
    check(&["java", "-DAPI_KEY=v", "-Dtoken=v"], &["java", "-DAPI_KEY=[redacted]", "-Dtoken=[redacted]"]);
    check(&["x", "--cookie", "sid=v"], &["x", "--cookie", "[redacted]"]);
    check(&["x", "u:v4@host", "u:v4@tcp(h)/d"], &["x", "u:[redacted]", "u:[redacted]"]);
    check(&["x", r#"{"headers": {"A": "v"}}"#], &["x", "[redacted]"]);
    check(&["x", r#"--config={"a":{"env":{"A":"v"}}}"#], &["x", "--config=[redacted]"]);
    check(&["x", "postgres://u:pa ssX@h/x"], &["x", "postgres://[redacted]"]);
    check(&["x", "//u:X@h/"], &["x", "//[redacted]"]);
    check(&["x", "postgresql://me:Zq#x@h/app"], &["x", "postgresql://[redacted]"]);
    let found =
        values(&words(&["x", "-e", "GITHUB_TOKEN", "v", "--key", "a1b2c3d4", "-H", "Authorization", "y"]));
    let by_name = values(&words(&["docker", "run", "-ePASSWORD=v", "i"]));
    assert!(by_name[2].as_ref().unwrap().variable.is_some());
    assert_eq!([3, 5, 8].map(|at| found[at].as_ref().unwrap().is_secret), [true; 3]);
}

#[test]
fn values_of_headers_and_urls_are_found() {
    check(&["curl", "-sH", "X-Foo: v", "h"], &["curl", "-sH", "X-Foo: [redacted]", "h"]);
    check(&["curl", "-sSLH", "X-Foo: v"], &["curl", "-sSLH", "X-Foo: [redacted]"]);
    check(&["curl", "-sHX-Foo:v"], &["curl", "-sHX-Foo:[redacted]"]);
    check(&["rsync", "-aH", "host:x", "y"], &["rsync", "-aH", "host:x", "y"]);
    check(&["npx", "--header", "X-Org-Id: v w"], &["npx", "--header", "X-Org-Id: [redacted]"]);
    check(&["npx", "--header=X:v"], &["npx", "--header=X:[redacted]"]);
    check(&["curl", "-H", "X: v"], &["curl", "-H", "X: [redacted]"]);
    check(&["curl", "-HX: v"], &["curl", "-HX: [redacted]"]);
    check(&["x", "--headers", "{\"X\": \"v\"}"], &["x", "--headers", "[redacted]"]);
    check(&["npx", "https://h/v/mcp?x=v"], &["npx", "https://h/[redacted]"]);
    check(
        &["sh", "-c", "npx 'https://h/v' -H 'X: v'"],
        &["sh", "-c", "npx https://h/[redacted] -H X: [redacted]"],
    );
}

#[test]
fn other_words_than_literal_values_are_kept() {
    for line in [
        &["docker", "run", "-i", "--rm", "--mount", "type=bind,src=/a,dst=/b", "-v", "/a:/b", "-e", "T", "i"]
            [..],
        &["node", "server.js", "mode=stdio", "--port=80", "--max-old-space-size=4096"],
        &["npx", "-y", "@x/y@1.0", "--registry", "https://h", "https://h/"],
        &["docker", "-H", "tcp://h:1", "run", "i"],
        &["sudo", "docker", "run", "--rm", "-e", "T", "--strange", "-e", "U", "i", "a"],
        &["docker", "compose", "-f", "x.yml", "run", "-e", "T", "i"],
        &["npx", "wrangler", "--env", "production", "start"],
        &["sudo", "-H", "npx", "x"],
        &["npx", "--key", "./server.pem", "--key=a.key", "-e", "T", "--x"],
        &["uvx", "--from", "git+https://github.com/a/b", "x"],
        &["sh", "-c", "exec npx -y x"],
        &["npx", "--no-cookies", "-Dmode=a", "--bypass", "x", "npm:a@1", "i:1@sha256:0", r#"{"a": "b"}"#],
        &["x", r#"{"headers": {"A": "${T}"}}"#, "u:${P}@h"],
        &["docker", "run", "--user", "node:node", "-u", "1000:1000", "i"],
        &["x", "-u", "https://h", "--user", "me"],
        &["chown-exec", "--user", "node:node", "--user=1000:staff", "x"],
        &[
            "x",
            "--key=primary",
            "--jwt=none",
            "--session",
            "main",
            "--sid",
            "ORCL",
            "--pin",
            "13",
            "--pass",
            "none",
        ],
        &[
            "x",
            "pkg:npm/x@next",
            "gh:me/tool@feature",
            "git@github.com:me/tool@next",
            "--auth",
            "bearer",
            "serve",
        ],
        &["x", r#"{"name": "x", "args": ["value"]}"#, r#"[{"name": "x"}]"#],
    ] {
        assert!(values(&words(line)).iter().all(Option::is_none), "{line:?}");
    }
    for line in [&["npx", "--header", "Authorization: Bearer ${T}"][..], &["env", "T=${env:T}", "x"]] {
        let found = values(&words(line));
        assert!(found.iter().flatten().all(|held| !held.is_literal && line.contains(&held.shown.as_str())));
    }
    assert!(values(&words(&["env", "T=${X:-v}"]))[1].as_ref().unwrap().is_literal);
}
