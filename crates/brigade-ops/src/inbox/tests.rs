use brigade_core::{ErrorCode, Hint};

use super::*;
use crate::testing::Bench;

const ROWS: &str = "{\"id\":\"row-one\",\"status\":\"pending\"}\n{\"id\":\"row-two\",\"status\":\"done\"}\n\
    {\"id\":\"row\",\"status\":\"pending\"}\n{\"kind\":\"note\"}\n";
const QUARANTINE: &str = ".brigade/work/imports/inbox.quarantine-1.jsonl";

fn now() -> Timestamp {
    "2026-01-02T00:00:00Z".parse().unwrap()
}

fn find(prefix: &str) -> Result<usize, ErrorCode> {
    InboxFile::parse(ROWS.as_bytes()).find(&IdPrefix::new(prefix)).map_err(|failure| failure.code())
}

#[test]
fn a_row_is_found_by_its_id_or_a_prefix() {
    for (prefix, expect) in [
        ("row-one", Ok(0)),
        ("row-t", Ok(1)),
        // An equal id wins over longer ones.
        ("row", Ok(2)),
        ("row-", Err(ErrorCode::Ambiguous)),
        ("ro", Err(ErrorCode::Ambiguous)),
        ("nope", Err(ErrorCode::NotFound)),
        ("", Err(ErrorCode::NotFound)),
    ] {
        assert_eq!(find(prefix), expect, "{prefix}");
    }
    let inbox = InboxFile::parse(ROWS.as_bytes());
    let failure = inbox.find(&IdPrefix::new("row-")).unwrap_err();
    assert_eq!(failure.could_be(), ["row-one", "row-two"]);
    let failure = inbox.find(&IdPrefix::new("no\u{1b}")).unwrap_err();
    assert_eq!(failure.to_string(), "no row of the inbox matches `no\\u{1b}`");
    assert_eq!(failure.hints(), [Hint::from(NextStep::ListInbox)]);
}

#[test]
fn of_two_rows_with_one_id_the_last_is_meant() {
    let inbox =
        InboxFile::parse(b"{\"id\":\"a\",\"status\":\"done\"}\n{\"id\":\"a\",\"status\":\"pending\"}\n");
    assert_eq!(inbox.find(&IdPrefix::new("a")).unwrap(), 1);
}

#[test]
fn lines_are_rows_or_unreadable() {
    for (text, rows, unreadable, torn) in [
        (&b""[..], 0, 0, false),
        (b"\xef\xbb\xbf{\"id\":\"a\"}\n", 1, 0, false),
        (b"\n  \n{}\n", 1, 0, false),
        (b"{\"a\": NaN, \"b\": 1.50}\n", 1, 0, false),
        (b"[1]\n7\n\"x\"\nnull\n", 0, 4, false),
        (b"garb\xffage\n{}\n", 1, 1, false),
        (b"{}\n{\"to", 1, 1, true),
        (b"{}", 1, 0, true),
    ] {
        let inbox = InboxFile::parse(text);
        assert_eq!(
            (inbox.rows().count(), inbox.unreadable(), inbox.is_torn),
            (rows, unreadable, torn),
            "{text:?}"
        );
    }
}

#[test]
fn a_decision_changes_status_time_and_reason() {
    let mut inbox = InboxFile::parse(ROWS.as_bytes());
    let one = IdPrefix::new("row-one");
    let row = inbox.decide(&one, InboxStatus::Dismissed, Some("known".to_owned()), now()).unwrap();
    assert_eq!(
        (row.status.as_ref(), row.review_reason.as_deref()),
        (Some(&InboxStatus::Dismissed), Some("known"))
    );
    assert_eq!(row.updated_at.as_deref(), Some("2026-01-02T00:00:00+00:00"));
    // Without a new reason, the last one stays.
    let row = inbox.decide(&one, InboxStatus::Done, None, now()).unwrap();
    assert_eq!(row.review_reason.as_deref(), Some("known"));
    let (failure, row) = inbox.decide(&one, InboxStatus::Done, None, now()).unwrap_err();
    assert_eq!(
        (failure.kind(), failure.to_string().as_str()),
        (ErrorKind::Refused, "the row is done already")
    );
    assert!(row.is_some());
    let (_, row) = inbox.decide(&IdPrefix::new("nope"), InboxStatus::Done, None, now()).unwrap_err();
    assert_eq!(row, None);
}

/// Changes an inbox with this content. Returns the content after it.
#[track_caller]
fn changed(before: &str, change: impl FnOnce(&mut InboxFile)) -> (String, Bench) {
    let bench = Bench::new(&[(INBOX, before)]);
    InboxStore::new(&bench.context).change(change).unwrap();
    (bench.read(INBOX).unwrap(), bench)
}

#[test]
fn other_rows_keep_their_bytes() {
    let before = "{ \"id\": \"a\",  \"odd\": 1.50 }\n{\"id\":\"b\"}\n";
    let decide = |inbox: &mut InboxFile| {
        inbox.decide(&IdPrefix::new("b"), InboxStatus::Done, None, now()).unwrap();
    };
    let (after, _) = changed(before, decide);
    let (first, second) = after.split_once('\n').unwrap();
    assert_eq!(first, "{ \"id\": \"a\",  \"odd\": 1.50 }");
    assert!(second.contains("\"status\":\"done\"") && second.ends_with('\n'), "{second}");
}

#[test]
fn rows_are_appended_after_whole_lines() {
    let row = InboxItem { id: Some("new".to_owned()), ..InboxItem::default() };
    let appended = String::from_utf8(line(&row)).unwrap() + "\n";
    for (before, kept) in
        [("", ""), ("{\"id\":\"a\"}\n", "{\"id\":\"a\"}\n"), ("{\"id\":\"a\"}", "{\"id\":\"a\"}\n")]
    {
        let (after, _) = changed(before, |inbox| inbox.append(&row));
        assert_eq!(after, format!("{kept}{appended}"), "{before}");
    }
}

#[test]
fn without_a_change_nothing_is_written() {
    let bench = Bench::new(&[]);
    let ((), aside) = InboxStore::new(&bench.context).change(|_| ()).unwrap();
    assert_eq!((aside, bench.read(INBOX)), (QuarantinedLines::default(), None));
    assert_eq!(InboxStore::new(&bench.context).read().unwrap(), InboxFile::default());
    let torn = "{\"id\":\"a\"}";
    assert_eq!(changed(torn, |_| ()).0, torn);
}

#[test]
fn unreadable_lines_are_moved_beside_the_inbox() {
    let (after, bench) = changed("garbage\n{\"id\":\"a\"}\n[1]\n", |_| ());
    assert_eq!(after, "{\"id\":\"a\"}\n");
    assert_eq!(bench.read(QUARANTINE).as_deref(), Some("garbage\n[1]\n"));
    // Other lines get another file, and a copy of an interrupted change is used again.
    for (broken, file) in [("other\n", 2), ("other\n", 2), ("garbage\n[1]\n", 1), ("third\n", 3)] {
        bench.write(INBOX, broken);
        let ((), aside) = InboxStore::new(&bench.context).change(|_| ()).unwrap();
        let path = format!(".brigade/work/imports/inbox.quarantine-{file}.jsonl");
        assert_eq!((aside.lines, aside.file), (broken.lines().count(), Some(path)));
    }
}

#[test]
fn an_inbox_that_is_a_directory_is_an_error() {
    let bench = Bench::new(&[(".brigade/work/imports/inbox.jsonl/file", "")]);
    assert!(InboxStore::new(&bench.context).read().is_err());
    assert!(InboxStore::new(&bench.context).change(|_| ()).is_err());
}
