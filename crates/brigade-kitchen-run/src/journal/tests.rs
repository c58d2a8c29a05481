use brigade_fs::{Crash, Fault, FaultyFs, FileMode, MemoryFs};
use brigade_kitchen::life::Stage;
use brigade_kitchen::prd::Lints;
use brigade_kitchen::show::Glance;

use super::seen::Source;
use super::signed::split_mac;
use super::*;

/// A clock that a test sets.
struct SettableClock(std::sync::Mutex<i64>);

impl Clock for SettableClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_micros(*self.0.lock().unwrap())
    }
}

fn name() -> PrdName {
    "prd-a".parse().unwrap()
}

fn key() -> Arc<WorkspaceKey> {
    Arc::new(WorkspaceKey::for_given_files())
}

fn open(fs: &Arc<dyn Fs>) -> PrdJournal {
    let clock = Arc::new(SettableClock(std::sync::Mutex::new(1_000_000)));
    PrdJournal::open(fs.clone(), &key(), PrdFiles::new(&name()), clock, Duration::from_secs(60)).unwrap()
}

fn record(task: &str) -> Record {
    let json = format!(r#"{{"kind":"task_started","task":"{task}","tier":"line"}}"#);
    brigade_core::json::from_json(&Json::parse(&json).unwrap()).unwrap()
}

fn tasks(life: &Life) -> Vec<&str> {
    life.tasks.keys().map(|task| task.as_str()).collect()
}

fn text(fs: &dyn Fs) -> String {
    String::from_utf8(fs.read(&PrdFiles::new(&name()).journal(), 1 << 20).unwrap()).unwrap()
}

/// Signs lines again that a test has written or changed.
fn signed(lines: &str) -> String {
    let signer = Signer::new(key(), &PrdFiles::new(&name()));
    let sign = |line: &str| {
        let open = std::str::from_utf8(split_mac(line.as_bytes()).0).unwrap().to_owned();
        signer.sign(&format!("{open}}}")).unwrap() + "\n"
    };
    lines.lines().map(sign).collect()
}

#[test]
fn several_writers_number_and_see_their_records() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    assert!(!PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().exists);
    let (mut one, mut two) = (open(&fs), open(&fs));
    assert_eq!(one.append(record("a")).unwrap(), 1);
    assert!(tasks(two.life()).is_empty());
    assert!(two.refresh().unwrap() && !two.refresh().unwrap());
    assert_eq!(two.append_all(vec![record("b"), record("c")]).unwrap()[1].seq, 3);
    // After a record of another process, the closure appends nothing.
    let seen = one.append_with(|life, _| if life.seq == 1 { vec![record("d")] } else { vec![] }).unwrap();
    assert_eq!((seen, tasks(one.life())), (vec![], vec!["a", "b", "c"]));
    assert_eq!(one.append(record("d")).unwrap(), 4);
    let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
    assert_eq!((read.life.seq, tasks(&read.life), read.faults), (4, vec!["a", "b", "c", "d"], vec![]));
    assert!(
        text(&*fs).starts_with("{\"at\":\"1970-01-01T00:00:01+00:00\",\"kind\":\"task_started\",\"seq\":1,")
    );
    assert_eq!(fs.metadata(&PrdFiles::new(&name()).journal()).unwrap().mode & 0o777, 0o600);
    assert_eq!(fs.metadata(PrdFiles::new(&name()).folder()).unwrap().mode & 0o777, 0o700);
}

#[test]
fn a_clock_that_is_set_back_changes_no_order() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let clock = Arc::new(SettableClock(std::sync::Mutex::new(9_000_000)));
    let mut journal =
        PrdJournal::open(fs.clone(), &key(), PrdFiles::new(&name()), clock.clone(), Duration::ZERO).unwrap();
    journal.append(record("a")).unwrap();
    *clock.0.lock().unwrap() = 1_000_000;
    assert_eq!(journal.now(), Timestamp::from_unix_micros(9_000_000));
    journal.append(record("b")).unwrap();
    assert_eq!(open(&fs).life().tasks.values().last().unwrap().started_at, Some(journal.now()));
}

/// Appends to an edited journal of two records. Expects these faults before, the quarantined lines, and these faults
/// after.
#[track_caller]
fn check(
    edit: impl Fn(&mut Vec<u8>),
    before: &[(Option<u64>, JournalProblem)],
    aside: Option<&str>,
    after: &[(Option<u64>, JournalProblem)],
) {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    open(&fs).append_all(vec![record("a"), record("b")]).unwrap();
    let mut bytes = text(&*fs).into_bytes();
    edit(&mut bytes);
    let path = PrdFiles::new(&name()).journal();
    fs.write_atomic(&path, &bytes, FileMode::Private).unwrap();
    let found = |faults: &[JournalFault]| -> Vec<_> {
        faults.iter().map(|fault| (fault.line, fault.problem)).collect()
    };
    assert_eq!(found(&PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().faults), before);
    // Reading does not change the file.
    assert_eq!(fs.read(&path, 1 << 20).unwrap(), bytes);
    let mut journal = open(&fs);
    journal.append(record("c")).unwrap();
    let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
    assert_eq!((found(&read.faults), found(journal.faults())), (after.to_vec(), after.to_vec()));
    assert_eq!(read.life.seq, journal.life().seq);
    assert!(read.life.tasks.contains_key(&"c".parse().unwrap()));
    let quarantine = fs.read(&".brigade/kitchen/prd-a/journal.quarantine-1.jsonl".parse().unwrap(), 1 << 20);
    assert_eq!(quarantine.ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).as_deref(), aside);
}

#[test]
fn damage_is_reported_and_set_aside() {
    use JournalProblem::{Foreign, Missing, Repeated, Torn};
    check(|_| {}, &[], None, &[]);
    check(|bytes| bytes.extend(b"\n \n"), &[], None, &[]);
    // A record without its line feed is complete.
    check(|bytes| bytes.truncate(bytes.len() - 1), &[], None, &[]);
    check(|bytes| bytes.extend(b"{\"v\":1,"), &[(Some(3), Torn)], Some("{\"v\":1,\n"), &[]);
    check(|bytes| bytes.extend(b"nonsense\n"), &[(Some(3), Foreign)], Some("nonsense\n"), &[]);
    let first = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let spoil = |bytes: &mut Vec<u8>| bytes[0] = b'x';
    let missing = (Some(2), Missing { from: 1, to: 1 });
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    open(&fs).append_all(vec![record("a"), record("b")]).unwrap();
    let line = text(&*fs).lines().next().unwrap().to_owned();
    let spoiled = format!("x{}\n", &line[1..]);
    let after = (Some(1), Missing { from: 1, to: 1 });
    check(spoil, &[(Some(1), Foreign), missing], Some(&spoiled), &[after]);
    check(
        |bytes| {
            let end = first(bytes);
            bytes.extend_from_within(..end);
        },
        &[(Some(3), Repeated(1))],
        Some(&format!("{line}\n")),
        &[],
    );
}

/// Writes records with these numbers, for the tasks `t1`, `t2` and so on. Expects which tasks count, before and after
/// the next append, and how many lines are set aside.
#[track_caller]
fn check_order(numbers: &[u64], counting: &[usize], aside: u64) {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let line = |(at, seq): (usize, &u64)| {
        format!(
            "{{\"at\":\"1970-01-01T00:00:01+00:00\",\"kind\":\"task_started\",\"seq\":{seq},\"task\":\"t{}\",\"tier\":\"line\",\"v\":1}}\n",
            at + 1
        )
    };
    let text = signed(&numbers.iter().enumerate().map(line).collect::<String>());
    fs.create_dir_all(PrdFiles::new(&name()).folder()).unwrap();
    fs.write_atomic(&PrdFiles::new(&name()).journal(), text.as_bytes(), FileMode::Private).unwrap();
    let expected: Vec<String> = counting.iter().map(|at| format!("t{at}")).collect();
    let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
    assert_eq!(tasks(&read.life), expected, "{numbers:?}: {:?}", read.faults);
    let mut journal = open(&fs);
    assert_eq!(journal.lines_after(0).unwrap().len(), counting.len(), "{numbers:?}");
    let seq = journal.append(record("z")).unwrap();
    assert_eq!((journal.set_aside(), seq), (aside, read.life.seq + 1), "{numbers:?}");
    let again = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
    assert_eq!(again.life.tasks.len(), counting.len() + 1, "{numbers:?}");
    assert!(again.faults.iter().all(|fault| !fault.problem.is_set_aside()), "{:?}", again.faults);
}

#[test]
fn a_record_out_of_order_shadows_no_other() {
    check_order(&[1, 2, 3, 4], &[1, 2, 3, 4], 0);
    check_order(&[1, 900, 3, 4, 5], &[1, 3, 4, 5], 1);
    check_order(&[900, 2, 3], &[2, 3], 1);
    check_order(&[1, 2, 900, 4], &[1, 2, 4], 1);
    check_order(&[1, 2, 900, 901, 3, 4, 5], &[1, 2, 5, 6, 7], 2);
    check_order(&[1, 5, 3, 900, 5, 6], &[1, 3, 5, 6], 2);
    check_order(&[1, 0, 3, 4], &[1, 3, 4], 1);
    // A gap is reported even if a later number repeats.
    check_order(&[1, 2, 7, 8, 2], &[1, 2, 3, 4], 1);
    check_order(&[1, 2, 2, 9], &[1, 2, 4], 1);
}

#[test]
fn a_writer_sees_a_record_out_of_order() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let mut journal = open(&fs);
    journal.append_all(vec![record("a"), record("b")]).unwrap();
    let wrong =
        text(&*fs).lines().last().unwrap().replace("\"seq\":2", "\"seq\":99").replace("\"b\"", "\"x\"");
    fs.append_durable(&PrdFiles::new(&name()).journal(), signed(&wrong).as_bytes()).unwrap();
    assert!(journal.refresh().unwrap());
    let right = wrong.replace(":99", ":3").replace("\"x\"", "\"c\"");
    let next = wrong.replace(":99", ":4").replace("\"x\"", "\"d\"");
    fs.append_durable(&PrdFiles::new(&name()).journal(), signed(&format!("{right}\n{next}")).as_bytes())
        .unwrap();
    assert!(journal.refresh().unwrap());
    assert_eq!((tasks(journal.life()), journal.life().seq), (vec!["a", "b", "c", "d"], 4));
    assert_eq!(journal.append(record("e")).unwrap(), 5);
    assert_eq!(journal.set_aside(), 1);
}

#[test]
fn only_records_of_this_host_have_an_effect() {
    #[track_caller]
    fn check(change: impl Fn(&str) -> String, unsigned: u64, effective: &[&str]) {
        let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
        open(&fs).append_all(vec![record("a"), record("b")]).unwrap();
        let changed = change(&text(&*fs));
        fs.write_atomic(&PrdFiles::new(&name()).journal(), changed.as_bytes(), FileMode::Private).unwrap();
        let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
        assert_eq!((read.unsigned, tasks(&read.life), read.life.seq), (unsigned, effective.to_vec(), 2));
        // They count once a person accepts them.
        let mut journal = open(&fs);
        assert_eq!(journal.adopt().unwrap(), unsigned);
        let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
        assert_eq!((read.unsigned, read.life.seq), (0, 2));
        assert_eq!((read.life.tasks.len(), journal.append(record("c")).unwrap()), (2, 3));
    }
    let other = |key: WorkspaceKey, file: &'static str| {
        move |text: &str| {
            let signer = Signer::new(Arc::new(key), &PrdFiles::new(&file.parse().unwrap()));
            let open = |line: &str| String::from_utf8(split_mac(line.as_bytes()).0.to_vec()).unwrap() + "}";
            text.lines().map(|line| signer.sign(&open(line)).unwrap() + "\n").collect::<String>()
        }
    };
    check(str::to_owned, 0, &["a", "b"]);
    check(|text| text.replacen("\"a\"", "\"x\"", 1), 1, &["b"]);
    check(|text| text.replace(",\"mac\"", ",\"mac2\""), 2, &[]);
    let without = |line: &str| String::from_utf8(split_mac(line.as_bytes()).0.to_vec()).unwrap() + "}\n";
    check(|text| text.lines().map(without).collect(), 2, &[]);
    check(|text| text.replace(&text[text.len() - 20..text.len() - 3], "00000000000000000"), 1, &["a"]);
    check(|text| other(WorkspaceKey::temporary(), "prd-a")(text), 2, &[]);
    check(|text| other(WorkspaceKey::for_given_files(), "prd-b")(text), 2, &[]);
}

#[test]
fn something_else_with_the_name_is_set_aside() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    fs.create_dir_all(&PrdFiles::new(&name()).journal()).unwrap();
    let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
    assert_eq!(read.faults, [JournalFault { line: None, problem: JournalProblem::NotAFile }]);
    let mut journal = open(&fs);
    journal.append(record("a")).unwrap();
    assert_eq!(
        (journal.set_aside(), PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().faults),
        (1, vec![])
    );
}

#[test]
fn newer_records_are_read_and_never_changed() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let mut journal = open(&fs);
    journal.append(record("a")).unwrap();
    let newer = format!("{}{{\"v\":2,\"seq\":2,\"kind\":\"approved\"}}\nbroken\n", text(&*fs));
    fs.write_atomic(&PrdFiles::new(&name()).journal(), newer.as_bytes(), FileMode::Private).unwrap();
    let error = journal.append(record("b")).unwrap_err();
    assert!(matches!(error, JournalError::Newer { records: 1, .. }), "{error}");
    assert_eq!((text(&*fs), journal.life().newer, tasks(journal.life())), (newer, 1, vec!["a"]));
}

#[test]
fn acknowledged_records_survive_a_power_loss() {
    let count = {
        let fs = FaultyFs::new(MemoryFs::new(), Fault::None);
        let disk: Arc<dyn Fs> = Arc::new(fs.clone());
        for task in ["a", "b", "c"] {
            open(&disk).append(record(task)).unwrap();
        }
        fs.steps()
    };
    for step in 0..=count {
        for fault in [Fault::PowerLossAt(step), Fault::NoSpaceFrom(step), Fault::BrokenAt(step)] {
            let fs = FaultyFs::new(MemoryFs::new(), fault);
            let disk: Arc<dyn Fs> = Arc::new(fs.clone());
            let mut acknowledged = Vec::new();
            let mut journal = open(&disk);
            for task in ["a", "b", "c"] {
                if journal.append(record(task)).is_ok() {
                    acknowledged.push(task);
                }
            }
            // A directory sync that fails is not noticed later, so a broken step is not combined with a power loss.
            let is_whole = |crash: &Crash| fault != Fault::BrokenAt(step) || *crash == Crash::Everything;
            let crashes = [Crash::SyncedOnly, Crash::Everything, Crash::Some(step as u64)];
            for crash in crashes.into_iter().filter(is_whole) {
                let after: Arc<dyn Fs> = Arc::new(fs.after_crash(crash));
                let mut journal = open(&after);
                assert!(
                    acknowledged.iter().all(|task| tasks(journal.life()).contains(task)),
                    "{fault:?} {crash:?} {acknowledged:?}"
                );
                let last = journal.append(record("z")).unwrap();
                let read = PrdJournal::read(&*after, &key(), &PrdFiles::new(&name())).unwrap();
                assert_eq!((read.life.seq, read.faults), (last, vec![]), "{fault:?} {crash:?}");
                assert!(read.life.tasks.values().all(|task| task.stage == Stage::Open));
            }
        }
    }
}

#[test]
fn an_unfinished_line_is_read_when_complete() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let mut journal = open(&fs);
    journal.append(record("a")).unwrap();
    let line = signed(&JournalLine::new(2, journal.now(), record("b")).to_text().unwrap());
    let mut file = fs.open_append(&PrdFiles::new(&name()).journal()).unwrap();
    file.write(&line.as_bytes()[..10]).unwrap();
    assert!(!journal.refresh().unwrap() && journal.faults().is_empty());
    file.write(&line.as_bytes()[10..]).unwrap();
    assert!(journal.refresh().unwrap());
    assert_eq!((tasks(journal.life()), journal.faults()), (vec!["a", "b"], &[][..]));
}

/// Appends many records, to make the journal long.
fn long(journal: &mut PrdJournal, from: usize) {
    let reason = "x".repeat(400);
    let ended = |number: usize| Record::TaskEnded {
        task: format!("t-{number}").parse().unwrap(),
        outcome: brigade_kitchen::life::TaskOutcome::Failed,
        reason: Some(reason.clone()),
        stuck: false,
    };
    journal.append_all((from..from + 1_000).map(ended).collect()).unwrap();
}

#[test]
fn a_long_journal_is_read_from_where_it_was_read_to() {
    let folder = tempfile::tempdir().unwrap();
    let disks: [Arc<dyn Fs>; 2] =
        [Arc::new(brigade_fs::DiskFs::open(folder.path()).unwrap()), Arc::new(MemoryFs::new())];
    for fs in disks {
        let files = PrdFiles::new(&name());
        let mut journal = open(&fs);
        journal.append(record("a")).unwrap();
        // A short journal is not cached.
        assert_eq!(PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().life, *journal.life());
        assert!(!fs.exists(&files.journal_cache()).unwrap());
        long(&mut journal, 0);
        assert_eq!(PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().life, *journal.life());
        let cache = fs.read(&files.journal_cache(), 1 << 30).unwrap();
        journal.append(record("b")).unwrap();
        let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
        assert_eq!((&read.life, read.faults), (journal.life(), vec![]));
        assert_eq!(fs.read(&files.journal_cache(), 1 << 30).unwrap(), cache, "the end is short");
        long(&mut journal, 1_000);
        let read = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap();
        assert_eq!(read.life, *journal.life());
        let longer = fs.read(&files.journal_cache(), 1 << 30).unwrap();
        assert_ne!(longer, cache);
        // A cache of another time, other bytes or another file is not used.
        for (bytes, what) in [
            (longer[..longer.len() / 2].to_vec(), "torn"),
            (Vec::new(), "empty"),
            (
                longer.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at == longer.len() - 9)).collect(),
                "flipped",
            ),
        ] {
            fs.write_atomic(&files.journal_cache(), &bytes, FileMode::Private).unwrap();
            assert_eq!(
                PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().life,
                *journal.life(),
                "{what}"
            );
            assert_eq!(fs.read(&files.journal_cache(), 1 << 30).unwrap(), longer, "{what}");
        }
        let text = text_of(&*fs);
        let shorter: String = text.lines().take(1_500).map(|line| format!("{line}\n")).collect();
        fs.write_atomic(&files.journal(), shorter.as_bytes(), FileMode::Private).unwrap();
        assert_eq!(PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().life, *open(&fs).life());
    }
}

#[test]
fn a_glance_is_cached_until_prd_or_journal_change() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let files = PrdFiles::new(&name());
    let mut journal = open(&fs);
    journal.append(record("a")).unwrap();
    let text = br#"{"featureName": "A", "tasks": [{"id": "a", "title": "A"}]}"#;
    let Ok(valid) = brigade_kitchen::prd::read("prd-a.json", text, Lints::NONE).valid() else { panic!() };
    let glance = Glance::new(&valid, journal.life());
    let keep = |prd: &[u8]| {
        let covered = PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().covered.unwrap();
        let source = Source::new(prd, covered);
        seen::GLANCE.keep(&*fs, &files, &source, || glance.to_bytes()).unwrap();
    };
    let recall = |prd: &[u8]| seen::GLANCE.recall(&*fs, &files, prd, None, Glance::from_bytes);
    keep(b"{}");
    assert!(!fs.exists(&files.glance_cache()).unwrap(), "a short one needs none");
    let prd = vec![b' '; 300 << 10];
    keep(&prd);
    assert_eq!(recall(&prd), Some(glance.clone()));
    let mut edited = prd.clone();
    edited[1_000] = b'\n';
    for other in [&prd[1..], &edited] {
        assert_eq!(recall(other), None);
    }
    let cache = fs.read(&files.glance_cache(), 1 << 20).unwrap();
    for bytes in [&cache[..cache.len() - 1], b""] {
        fs.write_atomic(&files.glance_cache(), bytes, FileMode::Private).unwrap();
        assert_eq!(recall(&prd), None);
    }
    keep(&prd);
    journal.append(record("b")).unwrap();
    assert_eq!(recall(&prd), None);
    keep(&prd);
    assert!(recall(&prd).is_some());
    assert_eq!(seen::GLANCE.recall(&*fs, &files, &prd, Some("of another"), Glance::from_bytes), None);
    fs.remove(&files.journal()).unwrap();
    assert_eq!(recall(&prd), None);
}

fn text_of(fs: &dyn Fs) -> String {
    String::from_utf8(fs.read(&PrdFiles::new(&name()).journal(), 1 << 30).unwrap()).unwrap()
}

#[test]
fn a_damaged_long_journal_is_read_whole_each_time() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let files = PrdFiles::new(&name());
    long(&mut open(&fs), 0);
    let text = text_of(&*fs) + "no record\n";
    fs.write_atomic(&files.journal(), text.as_bytes(), FileMode::Private).unwrap();
    for _ in 0..2 {
        assert_eq!(PrdJournal::read(&*fs, &key(), &PrdFiles::new(&name())).unwrap().faults.len(), 1);
        assert!(!fs.exists(&files.journal_cache()).unwrap());
    }
}
