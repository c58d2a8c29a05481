#![allow(clippy::unwrap_used, reason = "a test fails when it cannot continue")]

use std::sync::Arc;

use brigade_fs::MemoryFs;

use super::*;
use crate::run_log::RunLogs;

const CAP: u64 = 100;

/// Writes 4 bytes at a time, and reads after every `every` writes. Returns what the reader saw, and the whole log.
fn followed(count: usize, every: usize) -> (String, String) {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let (path, other): (RelPath, RelPath) =
        ("runs/r.stdout.log".parse().unwrap(), "runs/r.stderr.log".parse().unwrap());
    let mut logs = RunLogs::create(&fs, (path.clone(), other), None, CAP, &[]).unwrap();
    let mut reader = LogReader { path: path.clone(), offset: 0 };
    let mut seen = Vec::new();
    let mut look = |row: Option<&LogRow>| {
        let passed = reader.pass(&*fs, row, None, &mut |bytes| {
            seen.extend_from_slice(bytes);
            Ok(())
        });
        assert!(passed.unwrap().is_continue());
    };
    for number in 0..count {
        // A line feed makes the redactor pass on its input.
        logs.write(Stream::Stdout, format!("{number:03}\n").as_bytes()).unwrap();
        if number % every == every - 1 {
            look(None);
        }
    }
    let row = logs.finish(|_, _, _| ()).unwrap().stdout;
    look(Some(&row));
    look(Some(&row));
    let whole = fs.read(&path, 1 << 20).unwrap();
    (String::from_utf8(seen).unwrap(), String::from_utf8(whole).unwrap())
}

fn numbers(count: usize) -> String {
    (0..count).map(|number| format!("{number:03}\n")).collect()
}

#[test]
fn a_follower_that_looks_often_sees_everything_once() {
    for count in [0, 1, 12, 13, 25, 26, 40, 400] {
        assert_eq!(followed(count, 1).0, numbers(count), "{count}");
    }
}

#[test]
fn slow_follower_sees_kept_and_omitted_bytes() {
    // No reads while it runs.
    let (seen, whole) = followed(400, 1000);
    assert_eq!(seen, whole);
    // Two reads, after parts were removed.
    let (seen, _) = followed(400, 150);
    assert!(seen.starts_with(&numbers(13)[..50]) && seen.ends_with(&numbers(400)[1550..]), "{seen}");
    assert_eq!(seen.matches("bytes are left out]").count(), 3, "{seen}");
    // Lines arrive in order, and no line arrives twice.
    let lines: Vec<u32> =
        seen.lines().filter(|line| line.len() == 3).filter_map(|line| line.parse().ok()).collect();
    assert!(lines.is_sorted_by(|a, b| a < b), "{lines:?}");
}

#[test]
fn the_place_after_an_offset_is_found_in_a_whole_log() {
    let sha256 = brigade_core::Fingerprint::of_bytes(b"");
    let row = |bytes, left_out| LogRow { path: String::new(), bytes, sha256, left_out };
    assert_eq!(place_in(&row(10, 0), 4), (4, 10));
    assert_eq!(place_in(&row(10, 0), 40), (10, 10));
    let note = left_out(900).len() as u64;
    let row = row(100 + note, 900);
    assert_eq!(place_in(&row, 0), (0, 1000));
    assert_eq!(place_in(&row, 50), (50, 1000));
    assert_eq!(place_in(&row, 51), (50, 1000));
    assert_eq!(place_in(&row, 950), (50, 1000));
    assert_eq!(place_in(&row, 960), (60 + note, 1000));
    assert_eq!(place_in(&row, 1000), (100 + note, 1000));
}

#[test]
fn a_tail_is_one_mebibyte_of_whole_characters() {
    let mut tail = Tail::default();
    for _ in 0..4 {
        tail.take("ä".repeat(300_000).as_bytes());
    }
    tail.take(b"x");
    let (text, dropped) = tail.text();
    assert!(text.ends_with("äx") && text.starts_with('ä') && text.len() as u64 <= LOG_SHOWN);
    assert_eq!(text.len() as u64 + dropped, 2_400_001);
}
