#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests may panic, and use the disk directly"
)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brigade_access::builtin::{Guards, definition};
use brigade_access::{CallLimits, RuleLimits};
use brigade_core::{AgentFiles, ErrorCode, Fingerprint, Json, Place, SystemClock};
use brigade_db::Stores;
use brigade_fs::DiskFs;
use brigade_redact::{Redactor, SecretValue};

use crate::context::{Context, Failure, Output, TouchedPath};
use crate::run::run;

mod closed;

struct Work {
    folder: tempfile::TempDir,
    fs: DiskFs,
    readable: Vec<String>,
    max_bytes: u64,
    /// `constrain.max_bytes` of the caller's profile.
    most: Option<u64>,
    cancel: Option<brigade_process::CancelToken>,
}

fn limits(max_bytes: u64) -> CallLimits {
    let mut limits = CallLimits::default();
    let constrain = RuleLimits { max_bytes: Some(max_bytes), ..RuleLimits::default() };
    limits.add(&"context.small".parse().unwrap(), &Place::file("profiles.toml"), &constrain);
    limits
}

impl Work {
    fn new() -> Work {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        std::fs::create_dir(&root).unwrap();
        let fs = DiskFs::open(&root).unwrap();
        Work { folder, fs, readable: Vec::new(), max_bytes: 1 << 20, most: None, cancel: None }
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("work").join(path)
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), bytes).unwrap();
    }

    fn get(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.at(path)).unwrap()
    }

    fn call_touching(&self, id: &str, args: &str) -> (Result<Output, Failure>, Vec<TouchedPath>) {
        let redactor = Redactor::new(&[SecretValue::new(BOUND)]);
        let stores = Stores::new(Duration::from_secs(1), Arc::new(brigade_fs::WorkspaceKey::temporary()));
        let mut context = Context {
            guards: Guards { readable: self.readable.clone(), ..Guards::default() },
            max_bytes: self.max_bytes,
            limits: Some(self.most.map_or_else(CallLimits::default, limits)),
            cancel: self.cancel.as_ref(),
            ..Context::new(&self.fs, "agent:a", &SystemClock, &redactor, &stores)
        };
        let result = run(definition(id).unwrap(), &Json::parse(args).unwrap(), &mut context);
        (result, context.touched)
    }

    fn call(&self, id: &str, args: &str) -> Result<Output, Failure> {
        self.call_touching(id, args).0
    }

    #[track_caller]
    fn ok(&self, id: &str, args: &str) -> Json {
        self.call(id, args).unwrap_or_else(|failure| panic!("{id} {args}: {failure:?}")).structured
    }

    #[track_caller]
    fn refused(&self, id: &str, args: &str, code: &str) {
        match self.call(id, args) {
            Ok(output) => panic!("{id} {args}: {output:?}"),
            Err(failure) => assert_eq!(failure.code.as_str(), code, "{id} {args}: {failure:?}"),
        }
    }
}

fn text<'j>(json: &'j Json, name: &str) -> &'j str {
    json.get(name).and_then(Json::as_str).unwrap()
}

fn flag(json: &Json, name: &str) -> bool {
    json.get(name).and_then(Json::as_bool).unwrap()
}

/// A value that the policy binds.
const BOUND: &str = "zq7Canary#Wert-9931";

#[test]
fn the_parts_of_a_file_make_the_whole_file() {
    let mut work = Work::new();
    let lines: Vec<String> = (0..900).map(|n| format!("line \"{n}\"\t\u{1}\n")).collect();
    work.put("t.txt", lines.concat().as_bytes());
    for most in [600, 1_024, 2_000, 5_000, 9_000] {
        work.max_bytes = most;
        let (mut all, mut offset) = (String::new(), 0);
        loop {
            let read = work.ok("fs.read", &format!(r#"{{"path": "t.txt", "offset": {offset}}}"#));
            assert!(read.to_compact().len() <= usize::try_from(most).unwrap(), "{most}: {offset}");
            all.push_str(text(&read, "content"));
            match read.get("next_offset") {
                Some(next) => offset = next.to_compact().parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(all, lines.concat(), "{most}");
    }
}

#[test]
fn a_cut_shows_no_part_of_a_bound_value() {
    let mut work = Work::new();
    work.max_bytes = 16_000 + (1 << 10);
    for short in [2, 8, 18] {
        work.put("line.txt", format!("{}{BOUND} more\n", "q".repeat(2_000 - short)).as_bytes());
        work.put("long.txt", format!("{}{BOUND} more\nlast\n", "q".repeat(16_000 - short)).as_bytes());
        let found = work.ok("fs.grep", r#"{"pattern": "qqq", "path": "line.txt"}"#);
        let read = work.ok("fs.read", r#"{"path": "long.txt"}"#);
        assert!(flag(&read, "truncated"));
        assert_eq!(read.get("next_offset").unwrap().to_compact(), "1");
        for output in [found, read] {
            let shown = output.to_compact();
            assert!(!shown.contains(&BOUND[..2]) && shown.contains("[redacted]"), "{short}: {shown}");
        }
    }
}

#[test]
fn a_cancelled_call_hashes_no_long_file() {
    // Issue 17: cancelling did not stop reading and deleting. Hashing this file would take hours.
    let mut work = Work::new();
    work.put("long.bin", b"");
    std::fs::File::options().write(true).open(work.at("long.bin")).unwrap().set_len(4 << 40).unwrap();
    work.put("dir/a.txt", b"a");
    let cancel = brigade_process::CancelToken::new().unwrap();
    cancel.cancel();
    work.cancel = Some(cancel);
    for (tool, args) in [
        ("fs.read", r#"{"path": "long.bin"}"#),
        ("fs.delete", r#"{"path": "long.bin"}"#),
        ("fs.write", r#"{"path": "long.bin", "content": "x"}"#),
    ] {
        work.refused(tool, args, "cancelled");
        assert_eq!(std::fs::metadata(work.at("long.bin")).unwrap().len(), 4 << 40);
    }
}

#[test]
fn a_file_is_read_in_pieces_of_lines() {
    let mut work = Work::new();
    work.put("a.txt", b"one\r\ntwo\nthree");
    let all = work.ok("fs.read", r#"{"path": "/workspace/a.txt"}"#);
    assert_eq!((text(&all, "content"), flag(&all, "truncated")), ("one\r\ntwo\nthree", false));
    assert_eq!(text(&all, "sha256"), Fingerprint::of_bytes(b"one\r\ntwo\nthree").to_hex());
    let part = work.ok("fs.read", r#"{"path": "a.txt", "offset": 1, "limit": 1}"#);
    assert_eq!((text(&part, "content"), flag(&part, "truncated")), ("two\n", true));
    assert_eq!(part.get("next_offset").unwrap().to_compact(), "2");
    let rest = work.ok("fs.read", r#"{"path": "a.txt", "offset": 2}"#);
    assert_eq!((text(&rest, "content"), flag(&rest, "truncated")), ("three", false));
    // A long file is continued by its offset, at the start of a line.
    work.max_bytes = 20;
    let first = work.ok("fs.read", r#"{"path": "a.txt"}"#);
    assert_eq!((text(&first, "content"), flag(&first, "truncated")), ("one\r\n", true));
    assert_eq!(first.get("next_offset").unwrap().to_compact(), "1");
    work.put("long.txt", "äöüäöüäöü\nend\n".as_bytes());
    let cut = work.ok("fs.read", r#"{"path": "long.txt"}"#);
    assert_eq!(text(&cut, "content"), "äöüäö");
    assert_eq!(cut.get("next_offset").unwrap().to_compact(), "1");
}

#[test]
fn binary_files_are_described_and_others_refused() {
    let work = Work::new();
    work.put("b", b"\x7fELF\0\0");
    work.put("latin", b"caf\xe9\n");
    for path in ["b", "latin"] {
        let read = work.ok("fs.read", &format!(r#"{{"path": "{path}"}}"#));
        assert!(flag(&read, "is_binary") && read.get("content").is_none(), "{path}");
    }
    std::fs::create_dir(work.at("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(work.at("socket")).unwrap();
    for path in ["folder", "socket"] {
        work.refused("fs.read", &format!(r#"{{"path": "{path}"}}"#), "not_a_file");
    }
    work.refused("fs.read", r#"{"path": "none"}"#, "not_found");
}

#[test]
fn paths_outside_and_to_keys_are_refused() {
    let mut work = Work::new();
    std::fs::write(work.folder.path().join("secret"), "s").unwrap();
    work.put("in.txt", b"inside");
    work.put(".env", b"KEY=1");
    work.put(".git/config", b"[core]");
    symlink("../secret", work.at("out")).unwrap();
    symlink("..", work.at("up")).unwrap();
    symlink(".git/config", work.at("config")).unwrap();
    symlink(".env", work.at("settings")).unwrap();
    symlink("in.txt", work.at("link")).unwrap();
    for path in ["../secret", "out", "up/secret", "/etc/passwd", "a/../../secret"] {
        work.refused("fs.read", &format!(r#"{{"path": "{path}"}}"#), "path_outside");
        work.refused("fs.list", &format!(r#"{{"path": "{path}"}}"#), "path_outside");
        work.refused("fs.grep", &format!(r#"{{"pattern": "s", "path": "{path}"}}"#), "path_outside");
    }
    for path in [".env", ".git/config", "config", "settings"] {
        work.refused("fs.read", &format!(r#"{{"path": "{path}"}}"#), "protected_path");
        work.refused("fs.grep", &format!(r#"{{"pattern": "K", "path": "{path}"}}"#), "protected_path");
    }
    assert_eq!(text(&work.ok("fs.read", r#"{"path": "link"}"#), "content"), "inside");
    for (path, code) in [("up/new", "path_outside"), (".git/x", "protected_path"), (".env", "protected_path")]
    {
        work.refused("fs.write", &format!(r#"{{"path": "{path}", "content": "x"}}"#), code);
        work.refused("fs.delete", &format!(r#"{{"path": "{path}"}}"#), code);
    }
    // A write never replaces a link, wherever it leads.
    for path in ["out", "link"] {
        work.refused("fs.write", &format!(r#"{{"path": "{path}", "content": "x"}}"#), "is_a_link");
    }
    assert_eq!(std::fs::read(work.folder.path().join("secret")).unwrap(), b"s");
    work.readable = vec![".env".to_owned()];
    assert_eq!(text(&work.ok("fs.read", r#"{"path": ".env"}"#), "content"), "KEY=1");
    work.refused("fs.write", r#"{"path": ".env", "content": "x"}"#, "protected_path");
}

#[test]
fn a_directory_that_becomes_a_link_is_refused() {
    let work = Work::new();
    let outside = work.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "secret").unwrap();
    work.put("d/f", b"inside");
    let (place, hidden) = (work.at("d"), work.at("d-away"));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::fs::rename(&place, &hidden).unwrap();
                if symlink(&outside, &place).is_ok() {
                    std::fs::remove_file(&place).unwrap();
                }
                // A concurrent write creates the directory again.
                while std::fs::rename(&hidden, &place).is_err() {
                    let _ = std::fs::remove_dir_all(&place);
                }
            }
        });
        for at in 0..300 {
            if let Ok(read) = work.call("fs.read", r#"{"path": "d/f"}"#) {
                assert_ne!(text(&read.structured, "content"), "secret");
            }
            let _ = work.call("fs.write", &format!(r#"{{"path": "d/new", "content": "{at}"}}"#));
            let _ = work.call(
                "fs.edit",
                r#"{"path": "d/f", "target_content": "secret", "replacement_content": "x"}"#,
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(std::fs::read(outside.join("f")).unwrap(), b"secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "nothing was written outside");
}

#[test]
fn writing_does_not_change_hard_links_outside() {
    let work = Work::new();
    let outside = work.folder.path().join("outside");
    std::fs::write(&outside, "one").unwrap();
    std::fs::hard_link(&outside, work.at("hard")).unwrap();
    let (result, touched) = work.call_touching("fs.write", r#"{"path": "hard", "content": "two"}"#);
    assert_eq!(result.unwrap().structured.get("bytes_written").unwrap().to_compact(), "3");
    let hash = |text: &[u8]| Some(Fingerprint::of_bytes(text));
    let expect = TouchedPath { path: "hard".to_owned(), before: hash(b"one"), after: hash(b"two") };
    assert_eq!(touched, [expect]);
    assert_eq!((std::fs::read(&outside).unwrap(), work.get("hard")), (b"one".to_vec(), b"two".to_vec()));
    work.ok("fs.write", r#"{"path": "a/b/c.txt", "content": ""}"#);
    assert_eq!(work.get("a/b/c.txt"), b"");
    work.refused("fs.write", r#"{"path": "a/b", "content": ""}"#, "not_a_file");
    work.refused("fs.write", r#"{"path": "hard/x", "content": ""}"#, "not_a_directory");
    work.refused("fs.write", r#"{"path": ".", "content": ""}"#, "not_a_file");
    work.ok("fs.create_dir", r#"{"path": "x/y"}"#);
    assert!(work.at("x/y").is_dir());
}

#[test]
fn the_second_writer_sees_that_the_file_changed() {
    let work = Work::new();
    work.put("shared", b"v1");
    let seen = Fingerprint::of_bytes(b"v1").to_hex();
    let write = |content: &str| {
        format!(r#"{{"path": "shared", "content": "{content}", "expected_sha256": "{seen}"}}"#)
    };
    work.ok("fs.write", &write("v2"));
    work.refused("fs.write", &write("v3"), "changed_since_read");
    let edit = format!(
        r#"{{"path": "shared", "target_content": "v", "replacement_content": "w", "expected_sha256": "{seen}"}}"#
    );
    work.refused("fs.edit", &edit, "changed_since_read");
    work.refused(
        "fs.delete",
        &format!(r#"{{"path": "shared", "expected_sha256": "{seen}"}}"#),
        "changed_since_read",
    );
    assert_eq!(work.get("shared"), b"v2");
}

#[test]
fn an_edit_is_literal_and_leaves_the_rest_as_it_is() {
    let work = Work::new();
    // A byte order mark, both kinds of line ends, and bytes that are not UTF-8.
    work.put("f", b"\xef\xbb\xbfone\r\ntwo\n\xff\xfe end");
    let edit = |target: &str, replacement: &str| {
        let text = |text: &str| Json::from(text).to_compact();
        format!(
            r#"{{"path": "f", "target_content": {}, "replacement_content": {}}}"#,
            text(target),
            text(replacement)
        )
    };
    work.ok("fs.edit", &edit("two", "$& $1 \\0"));
    assert_eq!(work.get("f"), b"\xef\xbb\xbfone\r\n$& $1 \\0\n\xff\xfe end");
    work.ok("fs.edit", &edit("$& $1 \\0\n", ""));
    assert_eq!(work.get("f"), b"\xef\xbb\xbfone\r\n\xff\xfe end", "a shorter text removes the rest");
    work.refused("fs.edit", &edit("TWO", "x"), "target_not_found");
    work.refused("fs.edit", &edit("", "x"), "empty_target");
    work.put("f", b"aXaXa");
    let failure = work.call("fs.edit", &edit("a", "b")).unwrap_err();
    assert_eq!(
        (failure.code, failure.data.unwrap().to_compact()),
        (ErrorCode::TargetNotUnique, r#"{"count":3}"#.to_owned())
    );
    let edits = |second: &str| {
        let edit =
            |target: &str| format!(r#"{{"target_content": "{target}", "replacement_content": "aXa"}}"#);
        format!(r#"{{"path": "f", "edits": [{}, {}]}}"#, edit("aXaXa"), edit(second))
    };
    for (second, data) in [("a", r#"{"count":2,"edit":2}"#), ("Z", r#"{"count":null,"edit":2}"#)] {
        let failure = work.call("fs.multi_edit", &edits(second)).unwrap_err();
        assert_eq!(failure.data.unwrap().to_compact(), data, "{second}");
    }
    let all = r#"{"path": "f", "target_content": "a", "replacement_content": "aa", "replace_all": true}"#;
    assert_eq!(work.ok("fs.edit", all).get("replacements").unwrap().to_compact(), "3");
    assert_eq!(work.get("f"), b"aaXaaXaa");
}

#[test]
fn the_result_of_an_edit_is_bounded() {
    let work = Work::new();
    let text = "a".repeat(1 << 20);
    work.put("f", text.as_bytes());
    let edit = |target: &str, times: usize| {
        let more = "b".repeat(times);
        format!(r#""target_content": "{target}", "replacement_content": "{more}", "replace_all": true"#)
    };
    let one = |times: usize| format!(r#"{{"path": "f", {}}}"#, edit("a", times));
    work.refused("fs.edit", &one(65), "file_too_large");
    // No text of this size is created, not even in between: the second edit alone would give 4 TiB.
    let edits = [edit("a", 64), edit("b", 1 << 16), edit("b", 0)];
    let edits = edits.map(|edit| format!("{{{edit}}}")).join(", ");
    let failure = work.call("fs.multi_edit", &format!(r#"{{"path": "f", "edits": [{edits}]}}"#)).unwrap_err();
    assert_eq!(failure.code, ErrorCode::FileTooLarge);
    assert!(failure.message.starts_with("edit 2:"), "{}", failure.message);
    assert_eq!(work.get("f"), text.as_bytes());
    work.ok("fs.edit", &one(64));
    assert_eq!(work.get("f").len(), 64 << 20);
    work.ok(
        "fs.edit",
        r#"{"path": "f", "target_content": "bb", "replacement_content": "b", "replace_all": true}"#,
    );
}

#[test]
fn no_edit_exceeds_the_size_limit_of_the_profile() {
    let mut work = Work::new();
    work.most = Some(10);
    work.put("f", b"aaaa");
    let edit = |target: &str, replacement: &str| {
        format!(
            r#"{{"path": "f", "target_content": "{target}", "replacement_content": "{replacement}", "replace_all": true}}"#
        )
    };
    work.refused("fs.edit", &edit("a", "bbb"), "outside_context");
    work.ok("fs.edit", &edit("a", "bb"));
    work.put("f", b"aaaaaaaaaaaa");
    work.refused("fs.edit", &edit("aaaaaaaaaaaa", "aaaaaaaaaaaaa"), "outside_context");
    work.ok("fs.edit", &edit("aaaaaaaaaaaa", "aaaaaaaaaaa"));
}

#[test]
fn several_edits_are_atomic_and_ordered() {
    let work = Work::new();
    work.put("f", b"one two");
    let edits = |last: &str| {
        format!(
            r#"{{"path": "f", "edits": [
                {{"target_content": "one", "replacement_content": "three"}},
                {{"target_content": "three two", "replacement_content": "four"}},
                {{"target_content": "{last}", "replacement_content": "five"}}]}}"#
        )
    };
    work.refused("fs.multi_edit", &edits("one"), "target_not_found");
    assert_eq!(work.get("f"), b"one two");
    assert_eq!(work.ok("fs.multi_edit", &edits("four")).get("applied").unwrap().to_compact(), "3");
    assert_eq!(work.get("f"), b"five");
}

#[test]
fn a_directory_with_protected_files_is_not_deleted() {
    let work = Work::new();
    std::fs::write(work.folder.path().join("outside"), "o").unwrap();
    work.put("d/sub/f", b"f");
    symlink("../../outside", work.at("d/link")).unwrap();
    work.refused("fs.delete", r#"{"path": "d"}"#, "is_a_directory");
    work.put("d/sub/.env", b"K");
    work.refused("fs.delete", r#"{"path": "d", "recursive": true}"#, "protected_path");
    assert!(work.at("d/sub/f").exists(), "nothing went");
    std::fs::remove_file(work.at("d/sub/.env")).unwrap();
    let (result, touched) = work.call_touching("fs.delete", r#"{"path": "d", "recursive": true}"#);
    result.unwrap();
    assert!(!work.at("d").exists() && work.folder.path().join("outside").exists());
    let file = touched.iter().find(|touched| touched.path == "d/sub/f").unwrap();
    assert_eq!((file.before, file.after), (Some(Fingerprint::of_bytes(b"f")), None));
    work.refused("fs.delete", r#"{"path": ".", "recursive": true}"#, "not_a_file");
    work.refused("fs.delete", r#"{"path": "none"}"#, "not_found");
}

#[test]
fn searching_leaves_out_ignored_and_protected_files() {
    let work = Work::new();
    work.put(".gitignore", b"target/\n*.log\n!keep.log\n");
    work.put("src/main.rs", b"fn main() {}\n// needle one\nlet x;\n// needle two\n");
    work.put("src/.gitignore", b"generated.rs\n");
    work.put("src/generated.rs", b"needle\n");
    work.put("target/out.rs", b"needle\n");
    work.put("a.log", b"needle\n");
    work.put("keep.log", b"needle kept\n");
    work.put(".env", b"needle\n");
    work.put(".git/HEAD", b"needle\n");
    work.put("binary", b"needle\0needle\n");
    symlink("src", work.at("linked")).unwrap();
    let lines = |args: &str| work.call("fs.grep", args).unwrap().text.unwrap();
    assert_eq!(
        lines(r#"{"pattern": "needle", "path": "."}"#),
        "keep.log:1:needle kept\nsrc/main.rs:2:// needle one\nsrc/main.rs:4:// needle two"
    );
    assert_eq!(lines(r#"{"pattern": "needle$", "path": "."}"#), "");
    assert_eq!(
        lines(r#"{"pattern": "n.*two", "path": "src", "glob": "*.rs"}"#),
        "src/main.rs:4:// needle two"
    );
    assert_eq!(lines(r#"{"pattern": "needle", "path": "src/main.rs"}"#).lines().count(), 2);
    // Issue 17: a glob also applies to a named file, as if its directory were searched.
    for (glob, count) in [("*.rs", 2), ("main.*", 2), ("src/*.rs", 0), ("*.txt", 0)] {
        let args = format!(r#"{{"pattern": "needle", "path": "src/main.rs", "glob": "{glob}"}}"#);
        assert_eq!(lines(&args).lines().count(), count, "{glob}");
    }
    let capped = work.ok("fs.grep", r#"{"pattern": "needle", "path": ".", "limit": 1, "context": 1}"#);
    assert!(flag(&capped, "truncated") && capped.get("count").unwrap().to_compact() == "1");
    // Wanted protected files are reported, and so is a cut.
    let found = work.ok("fs.grep", r#"{"pattern": "needle", "path": "."}"#);
    let unread = r#"[{"path":".env","reason":"its path is protected"}]"#;
    assert_eq!(found.get("unread").unwrap().to_compact(), unread);
    let of_rust = work.ok("fs.grep", r#"{"pattern": "needle", "path": ".", "glob": "*.rs"}"#);
    assert!(of_rust.get("unread").is_none());
    let all = work.ok("fs.glob", r#"{"pattern": "**/*", "path": "."}"#);
    assert_eq!(all.get("unread").unwrap().to_compact(), unread);
    assert!(lines(r#"{"pattern": "needle", "path": ".", "limit": 1}"#).contains("[cut after 1 match;"));
    work.refused("fs.grep", r#"{"pattern": "(", "path": "."}"#, "invalid_pattern");
    // Issue 17: nested alternatives crashed the process.
    for count in [400, 1_000, 100_000] {
        let glob = Json::from(format!("{}{}", "{a,".repeat(count), "}".repeat(count))).to_compact();
        work.refused("fs.glob", &format!(r#"{{"pattern": {glob}, "path": "."}}"#), "invalid_pattern");
        let args = format!(r#"{{"pattern": "needle", "glob": {glob}, "path": "."}}"#);
        work.refused("fs.grep", &args, "invalid_pattern");
    }
    let files = |args: &str| work.call("fs.glob", args).unwrap().text.unwrap();
    assert_eq!(files(r#"{"pattern": "*.rs", "path": "."}"#), "");
    assert_eq!(files(r#"{"pattern": "**/*.rs", "path": "."}"#), "src/main.rs");
    assert_eq!(files(r#"{"pattern": "*.rs", "path": "src"}"#), "src/main.rs");
    assert_eq!(
        files(r#"{"pattern": "**/*", "path": "."}"#),
        ".gitignore\nbinary\nkeep.log\nsrc/.gitignore\nsrc/main.rs"
    );
}

/// Issue 17: a line was kept in memory, whatever its length.
#[test]
fn a_line_that_is_too_long_is_not_searched() {
    let work = Work::new();
    work.put("a/long", &vec![b'x'; 33 << 20]);
    work.put("b/short", b"x\n");
    let found = work.ok("fs.grep", r#"{"pattern": "x", "path": "."}"#);
    assert_eq!(found.get("count").unwrap().to_compact(), "1");
    let unread = found.get("unread").unwrap().as_array().unwrap().to_vec();
    assert_eq!(text(&unread[0], "path"), "a/long", "{unread:?}");
    assert!(text(&unread[0], "reason").contains("a line has more than"), "{unread:?}");
}

#[test]
fn names_that_are_not_utf8_are_reported_as_unread() {
    use std::os::unix::ffi::OsStrExt;
    let work = Work::new();
    work.put("a", b"x\n");
    let odd = work.at("").join(Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9")));
    if std::fs::write(&odd, "x\n").is_err() {
        // Some file systems do not allow such names.
        return;
    }
    let listed = work.ok("fs.list", r#"{"path": "."}"#);
    assert_eq!(listed.get("total").unwrap().to_compact(), "2");
    let found = work.ok("fs.grep", r#"{"pattern": "x", "path": "."}"#);
    assert_eq!(found.get("count").unwrap().to_compact(), "1");
    assert_eq!(found.get("unread").and_then(Json::as_array).unwrap().len(), 1);
}

#[test]
fn edits_at_the_same_time_lose_nothing() {
    let work = Work::new();
    let words: Vec<String> = (0..8).map(|number| format!("<{number}>")).collect();
    for _ in 0..20 {
        work.put("shared.txt", words.concat().as_bytes());
        let work = &work;
        std::thread::scope(|scope| {
            for word in &words {
                let args = format!(
                    r#"{{"path": "shared.txt", "target_content": "{word}", "replacement_content": "done "}}"#
                );
                scope.spawn(move || work.ok("fs.edit", &args));
            }
        });
        assert_eq!(work.get("shared.txt"), "done ".repeat(words.len()).as_bytes());
    }
}

#[test]
fn a_target_that_overlaps_itself_is_not_unique() {
    let work = Work::new();
    work.put("a.txt", b"aaa");
    let edit = r#"{"path": "a.txt", "target_content": "aa", "replacement_content": "b"}"#;
    assert_eq!(work.call("fs.edit", edit).unwrap_err().code, ErrorCode::TargetNotUnique);
}

#[test]
fn paths_mean_what_they_say() {
    use std::os::unix::fs::PermissionsExt as _;

    let work = Work::new();
    work.put("~t.txt", b"x");
    work.ok("fs.read", r#"{"path": "~t.txt"}"#);
    work.refused("fs.read", r#"{"path": "."}"#, "not_a_file");
    work.refused("fs.read", r#"{"path": "~t.txt/"}"#, "not_a_directory");
    work.refused("fs.write", r#"{"path": "new/", "content": ""}"#, "not_a_file");
    work.refused("fs.delete", r#"{"path": "~t.txt/"}"#, "not_a_directory");
    work.ok("fs.create_dir", r#"{"path": "folder/"}"#);
    work.ok("fs.list", r#"{"path": "folder/"}"#);
    // A directory with the name of a key file is protected.
    std::fs::create_dir(work.at(".env.d")).unwrap();
    work.put(".env.d/v", b"KEY=1");
    for (tool, args) in [
        ("fs.read", r#"{"path": ".env.d/v"}"#),
        ("fs.list", r#"{"path": ".env.d"}"#),
        ("fs.glob", r#"{"path": ".env.d", "pattern": "*"}"#),
        ("fs.grep", r#"{"path": ".env.d/v", "pattern": "K"}"#),
    ] {
        work.refused(tool, args, "protected_path");
    }
    let found = work.ok("fs.grep", r#"{"path": ".", "pattern": "KEY"}"#);
    assert_eq!(found.get("count"), Some(&Json::from(0)));
    // New content does not inherit set-user-ID rights.
    work.put("suid", b"old");
    std::fs::set_permissions(work.at("suid"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    work.ok("fs.write", r#"{"path": "suid", "content": "new"}"#);
    assert_eq!(std::fs::metadata(work.at("suid")).unwrap().permissions().mode() & 0o7777, 0o755);
}

#[test]
#[cfg(target_os = "linux")]
fn unusable_names_are_reported() {
    use std::os::unix::ffi::OsStrExt as _;

    let work = Work::new();
    std::fs::write(work.at("").join(std::ffi::OsStr::from_bytes(b"caf\xe9")), b"x").unwrap();
    work.put("plain", b"x");
    let listed = work.ok("fs.list", r#"{"path": "."}"#);
    let names = listed.get("entries").unwrap().as_array().unwrap();
    assert_eq!((names.len(), text(&names[0], "name")), (1, "plain"));
    let unread = listed.get("unread").unwrap().as_array().unwrap();
    assert_eq!(text(&unread[0], "reason"), "its name is not UTF-8");
}

#[test]
fn a_result_of_rows_fits_the_limit() {
    let mut work = Work::new();
    work.max_bytes = 8 << 10;
    for at in 0..200 {
        work.put(&format!("d/{}-{at:03}", "n".repeat(100)), format!("{}\n", "needle ".repeat(30)).as_bytes());
    }
    let size = |result: &Json| result.to_compact().len();
    let flag = |result: &Json| result.get("truncated").and_then(Json::as_bool);
    for (tool, args) in [
        ("fs.list", r#"{"path": "d"}"#),
        ("fs.glob", r#"{"path": "d", "pattern": "**"}"#),
        ("fs.grep", r#"{"path": "d", "pattern": "needle"}"#),
    ] {
        let result = work.ok(tool, args);
        assert!(4 << 10 < size(&result) && size(&result) <= 8 << 10, "{tool}: {}", size(&result));
        assert_eq!(flag(&result), Some(true), "{tool}");
    }
    // The next part begins where the previous one says.
    let (mut next, mut seen) = (Some(Json::from(0)), 0);
    while let Some(offset) = next {
        let page = work.ok("fs.list", &format!(r#"{{"path": "d", "offset": {}}}"#, offset.to_compact()));
        seen += page.get("entries").and_then(Json::as_array).unwrap().len();
        next = page.get("next_offset").cloned();
    }
    assert_eq!(seen, 200);
    // Even with little space, reading reaches the end.
    work.max_bytes = 64;
    let page = work.ok("fs.list", r#"{"path": "d", "offset": 198}"#);
    assert_eq!(page.get("next_offset").map(Json::to_compact).as_deref(), Some("199"));
    work.max_bytes = 8 << 10;
    // A match without space for its context is returned alone.
    let long = format!("{}\n", "x".repeat(1900)).repeat(10);
    work.put("long", format!("{long}needle\n{long}").as_bytes());
    let result = work.ok("fs.grep", r#"{"path": "long", "pattern": "needle", "context": 10}"#);
    assert!(size(&result) <= 8 << 10 && flag(&result) == Some(true));
    assert_eq!(result.get("count").unwrap().to_compact(), "1");
}

/// Issue 17: deleting thousands of nested directories crashed the process, and a search did not report those that it
/// left out.
#[test]
fn too_deep_directories_are_reported() {
    let work = Work::new();
    let deep = format!("d{}", "/x".repeat(300));
    work.put(&format!("{deep}/f"), b"needle\n");
    for (tool, args) in
        [("fs.grep", r#"{"path": "d", "pattern": "e"}"#), ("fs.glob", r#"{"path": "d", "pattern": "**"}"#)]
    {
        let unread = work.ok(tool, args).get("unread").unwrap().as_array().unwrap().to_vec();
        assert!(text(&unread[0], "path").starts_with("d/x/x"), "{tool}");
    }
    work.refused("fs.delete", r#"{"path": "d", "recursive": true}"#, "too_many_files");
    assert_eq!(work.get(&format!("{deep}/f")), b"needle\n");
    work.ok("fs.delete", &format!(r#"{{"path": "d{}", "recursive": true}}"#, "/x".repeat(150)));
    work.ok("fs.delete", r#"{"path": "d", "recursive": true}"#);
    assert!(!work.at("d").exists());
    // The failure names the path that prevents the deletion.
    work.put("e/sub/.env", b"KEY=1");
    let failure = work.call("fs.delete", r#"{"path": "e", "recursive": true}"#).unwrap_err();
    assert!(
        failure.code == ErrorCode::ProtectedPath && failure.message.starts_with("`e/sub/.env`: "),
        "{failure:?}"
    );
}

#[test]
fn deleting_a_directory_binds_its_contents() {
    let work = Work::new();
    for name in ["a", "b", "c", "d"] {
        work.put(&format!("d/sub/{name}"), b"1");
    }
    let things = |args: &str| {
        let redactor = Redactor::new(&[]);
        let stores = Stores::new(Duration::from_secs(1), Arc::new(brigade_fs::WorkspaceKey::temporary()));
        let context = Context::new(&work.fs, "agent:a", &SystemClock, &redactor, &stores);
        let reference = crate::references::reference("fs.delete").unwrap();
        let args = Json::parse(args).unwrap();
        crate::references::argument_references(reference, "fs.delete", &args, &context).things
    };
    let whole = r#"{"path": "d", "recursive": true}"#;
    let first = things(whole);
    let names: Vec<&String> = first.keys().collect();
    assert_eq!(names, ["d with 4 files: d/sub/a, d/sub/b, d/sub/c and 1 more"]);
    assert_eq!(things(whole), first);
    work.put("d/sub/d", b"22");
    assert_ne!(things(whole), first, "a file that changed is another one");
    work.put("d/e", b"1");
    assert!(things(whole).keys().all(|name| name.starts_with("d with 5 files: d/e")));
    assert!(
        things(r#"{"path": "d"}"#).is_empty() && things(r#"{"path": "none", "recursive": true}"#).is_empty()
    );
}
