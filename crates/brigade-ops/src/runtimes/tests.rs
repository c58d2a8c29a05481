use brigade_core::{ErrorKind, Exit};
use brigade_runtime::LogStream;

use super::*;
use crate::testing::Bench;

const TWO: &str = "[[runtime]]\nid = 'db'\nname = 'Db'\ncommand = 'sleep 9'\n[[runtime]]\nid = 'web'\nname = 'Web'\n\
                   command = 'sleep 9'\nenabled = false\n";

fn runtimes(text: Option<&str>) -> (Runtimes, Bench) {
    let bench = Bench::new(&[]);
    text.iter().for_each(|text| bench.write(RUNTIMES, text));
    let context = WorkspaceContext::new(bench.context.fs.clone());
    (Runtimes::new(Arc::new(context)), bench)
}

#[test]
fn a_list_has_every_entry_and_starts_nothing() {
    let (runtimes, _bench) = runtimes(Some(TWO));
    let list = runtimes.list().unwrap();
    assert_eq!((list.summary.valid, list.summary.runtime_count, list.exit()), (true, 2, Exit::Done));
    assert_eq!(list.summary.counts.get("stopped"), Some(&2));
    assert!(list.diagnosis.is_none() && list.summary.config_path == format!("/memory/{RUNTIMES}"));
}

#[test]
fn a_missing_file_is_invalid_and_an_empty_list() {
    let (runtimes, _bench) = runtimes(None);
    let list = runtimes.list().unwrap();
    assert_eq!((list.summary.valid, list.summary.runtime_count, list.exit()), (false, 0, Exit::Refused));
    assert!(list.diagnosis.and_then(|told| told.help).is_some());
}

#[test]
fn the_top_issue_is_the_first_of_the_worst() {
    let text = "[[runtime]]\nid = 'db'\nname = 'Db'\ncommand = 'sleep 9'\nprot = 3\nport = 0\n";
    let (runtimes, _bench) = runtimes(Some(text));
    let summary = runtimes.list().unwrap().summary;
    assert_eq!(summary.issue_count, summary.issues.len());
    let top = format!("{:?}", summary.top_issue);
    assert!(top.contains("port") && !top.contains("prot"), "{top}");
}

#[test]
fn one_runtime_is_shown_with_its_own_issues() {
    let bad = format!("{TWO}[[runtime]]\nid = 'bad'\nname = 'B'\ncommand = 'sleep 9'\nport = 0\n");
    let (runtimes, _bench) = runtimes(Some(&bad));
    let shown = runtimes.show(" db ").unwrap();
    assert_eq!((shown.summary.valid, shown.summary.runtime_count), (true, 1), "{:?}", shown.summary.errors);
    let bad = runtimes.show("bad").unwrap();
    assert_eq!((bad.summary.valid, bad.exit()), (false, Exit::Refused));
}

#[test]
fn an_unknown_runtime_is_refused_with_what_is_near() {
    let helper = TWO.replace("'db'", "'helper'");
    for (id, hint) in [("helpr", Some("did you mean `helper`?")), ("nothing-like-it", None)] {
        let (runtimes, _bench) = runtimes(Some(&helper));
        let error = runtimes.show(id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        if let Some(hint) = hint {
            assert!(format!("{error:?}").contains(hint), "{error:?}");
        }
        assert!(runtimes.logs(id, LogStream::Stdout, 5).is_err());
    }
}

#[test]
fn without_runtimes_the_reason_is_that_of_the_file() {
    let find = |text: &str| {
        let file = RuntimeFile::parse(RUNTIMES, brigade_catalog::Level::Project, text.as_bytes());
        find_runtime(&file, "db").map(|runtime| runtime.id.to_string()).map_err(|error| error.kind())
    };
    assert_eq!(find(TWO), Ok("db".to_owned()));
    assert_eq!(find("[[runtime]\n"), Err(ErrorKind::InvalidConfig));
    assert_eq!(find(&TWO.replace("'db'", "'cache'")), Err(ErrorKind::NotFound));
}

#[test]
fn a_log_that_is_not_there_is_empty() {
    let (runtimes, _bench) = runtimes(Some(TWO));
    let logs = runtimes.logs("db", LogStream::Stderr, 5).unwrap();
    assert_eq!((logs.line_count, logs.has_earlier, logs.other_has_lines), (0, false, false));
    assert_eq!((logs.stream, logs.other_stream), (LogStream::Stderr, LogStream::Stdout));
}

#[test]
fn following_a_log_needs_a_way_to_end() {
    let (runtimes, _bench) = runtimes(Some(TWO));
    let error = runtimes.follow("db", LogStream::Stdout, 5, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn starter_runtimes_do_not_replace_a_file() {
    let (runtimes, bench) = runtimes(None);
    runtimes.init(OnExisting::Keep).unwrap();
    assert!(bench.read(RUNTIMES).is_some_and(|text| text.contains("[[runtime]]")));
    bench.write(RUNTIMES, TWO);
    assert_eq!(runtimes.init(OnExisting::Keep).unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(bench.read(RUNTIMES).as_deref(), Some(TWO));
    runtimes.init(OnExisting::Overwrite).unwrap();
    assert_ne!(bench.read(RUNTIMES).as_deref(), Some(TWO));
}

#[test]
fn a_disabled_runtime_is_not_started() {
    let (runtimes, _bench) = runtimes(Some(TWO));
    let error = runtimes.start("web", None, &mut |_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(runtimes.start("gone", None, &mut |_| ()).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(runtimes.stop("gone").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(runtimes.stop("db").unwrap().stopped, 0);
}

#[test]
fn a_strict_report_fails_for_every_issue() {
    let warned = "[[runtime]]\nid = 'db'\nname = 'Db'\ncommand = 'sleep 9'\nprot = 3\n";
    let exit = |text: &str, strictness| runtimes(Some(text)).0.doctor(strictness).unwrap().exit();
    assert_eq!(exit(warned, Strictness::Lenient), Exit::Done);
    assert_eq!(exit(warned, Strictness::Strict), Exit::Refused);
    assert_eq!(exit("[[runtime]\n", Strictness::Lenient), Exit::Refused);
}

#[test]
fn entries_with_the_same_id_are_not_started() {
    let other = "[[runtime]]\nid = 'db'\nname = 'Other'\ncommand = 'sleep 8'\n";
    let (runtimes, bench) = runtimes(Some(&format!("{TWO}{other}")));
    for error in
        [runtimes.start("db", None, &mut |_| ()).err(), runtimes.restart("db", None, &mut |_| ()).err()]
    {
        let said = format!("{error:?}");
        assert!(said.contains("2 entries have the id"), "{said}");
    }
    assert_eq!(bench.read(".brigade/tools/runtime/db.pid"), None);
}
