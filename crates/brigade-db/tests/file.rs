//! The database file: created, read, refused, set aside, and written by several processes that are killed.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests prepare files and start processes themselves"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use brigade_core::{ErrorCode, Timestamp};
use brigade_db::memory::{Category, Importance, NewMemory, Owners, Query, Scope, WriteMode};
use brigade_db::todos::{Todo, TodoStatus};
use brigade_db::{Access, STATE_DB, Store, StoreError, Stores};
use brigade_fs::DiskFs;
use brigade_redact::Redactor;

const TIMEOUT: Duration = Duration::from_secs(20);

fn open(folder: &Path) -> Result<Store, StoreError> {
    Store::open(&DiskFs::open(folder).unwrap(), TIMEOUT)
}

fn read(folder: &Path) -> Result<Option<Store>, StoreError> {
    Store::read(&DiskFs::open(folder).unwrap(), TIMEOUT)
}

fn now() -> Timestamp {
    Timestamp::from_unix_micros(1_700_000_000_000_000)
}

fn todo(text: &str) -> Todo {
    Todo { id: "1".to_owned(), content: text.to_owned(), status: TodoStatus::Pending }
}

fn write(store: &Store, text: &str) -> Result<(), StoreError> {
    store.write_todos("session", &[todo(text)], now())
}

fn new(content: String) -> NewMemory {
    NewMemory {
        content,
        category: Category::Fact,
        scope: Scope::Project,
        owner: String::new(),
        author: "ada".to_owned(),
        importance: Importance::Medium,
        pin: false,
        mode: WriteMode::Default,
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join(".brigade/tools")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_store_is_private_and_reading_creates_none() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read(folder.path()).unwrap().is_none());
    assert!(!folder.path().join(".brigade").exists());
    let store = open(folder.path()).unwrap();
    assert_eq!(store.access(), Access::Write);
    write(&store, "one").unwrap();
    for name in ["state.db", "state.db-wal", "state.db-shm"] {
        let mode =
            fs::metadata(folder.path().join(".brigade/tools").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let mode = fs::metadata(folder.path().join(".brigade/tools")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let reader = read(folder.path()).unwrap().unwrap();
    assert_eq!(reader.read_todos("session").unwrap(), [todo("one")]);
    assert_eq!(reader.read_todos("another").unwrap(), []);
}

#[test]
fn a_link_anywhere_on_the_path_is_refused() {
    for link in ["state.db", "state.db-wal", "state.db-shm", "state.db-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let target = outside.path().join("target");
        fs::write(&target, "precious").unwrap();
        let tools = folder.path().join(".brigade/tools");
        fs::create_dir_all(&tools).unwrap();
        symlink(&target, tools.join(link)).unwrap();
        for result in [open(folder.path()).map(|_| ()), read(folder.path()).map(|_| ())] {
            let error = result.unwrap_err();
            assert_eq!(error.answered_code(), ErrorCode::PathOutside, "{link}: {error}");
        }
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    }
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".brigade")).unwrap();
    symlink(outside.path(), folder.path().join(".brigade/tools")).unwrap();
    assert_eq!(open(folder.path()).unwrap_err().answered_code(), ErrorCode::PathOutside);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn directories_and_pipes_are_not_a_store() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(STATE_DB)).unwrap();
    assert_eq!(open(folder.path()).unwrap_err().answered_code(), ErrorCode::NotAFile);
}

#[test]
fn a_file_of_a_newer_version_is_read_and_not_written() {
    let folder = tempfile::tempdir().unwrap();
    write(&open(folder.path()).unwrap(), "old").unwrap();
    let path = folder.path().join(STATE_DB);
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    for store in [open(folder.path()).unwrap(), read(folder.path()).unwrap().unwrap()] {
        assert_eq!(store.access(), Access::Newer(99));
        assert_eq!(store.read_todos("session").unwrap(), [todo("old")]);
        assert_eq!(write(&store, "new").unwrap_err(), StoreError::Newer(99));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_migrated_by_a_newer_version_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    write(&store, "old").unwrap();
    let newer = rusqlite::Connection::open(folder.path().join(STATE_DB)).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(write(&store, "new").unwrap_err(), StoreError::Newer(99));
    assert_eq!(store.read_todos("session").unwrap(), [todo("old")]);
}

#[test]
fn a_broken_file_is_set_aside_and_said_so() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".brigade/tools")).unwrap();
    fs::write(folder.path().join(STATE_DB), "this is not a database, but long enough to be one").unwrap();
    // Reading does not move the file.
    assert_eq!(read(folder.path()).map(|_| ()).unwrap_err(), StoreError::Broken);
    let error = open(folder.path()).unwrap_err();
    assert_eq!(error, StoreError::SetAside(format!("{STATE_DB}.quarantine-1")));
    assert_eq!(error.answered_code(), ErrorCode::StoreBroken);
    assert!(names(folder.path()).contains(&"state.db.quarantine-1".to_owned()));
    let store = open(folder.path()).unwrap();
    write(&store, "new").unwrap();
    assert_eq!(store.read_todos("session").unwrap(), [todo("new")]);
}

#[test]
fn a_file_with_broken_pages_is_set_aside_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    for number in 0..200 {
        let text = format!("memory number{number} about topic{number} and more words");
        store.add_memory(&new(text), &Redactor::new(&[]), now()).unwrap();
    }
    drop(store);
    let path = folder.path().join(STATE_DB);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5a);
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(open(folder.path()).unwrap_err(), StoreError::SetAside(_)));
    assert_eq!(fs::read(folder.path().join(format!("{STATE_DB}.quarantine-1"))).unwrap(), bytes);
    assert!(open(folder.path()).unwrap().memories(None, &Owners::Everybody).unwrap().is_empty());
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".brigade/tools")).unwrap();
    let path = folder.path().join(STATE_DB);
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(open(folder.path()).unwrap_err(), StoreError::Foreign);
    assert_eq!(read(folder.path()).map(|_| ()).unwrap_err(), StoreError::Foreign);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_replaced_file_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskFs::open(folder.path()).unwrap();
    let stores = Stores::new(TIMEOUT, Arc::new(brigade_fs::WorkspaceKey::temporary()));
    assert!(stores.reading(&disk).unwrap().is_none());
    let first = stores.writing(&disk).unwrap();
    write(&first, "one").unwrap();
    assert!(Arc::ptr_eq(&first, &stores.writing(&disk).unwrap()));
    assert!(Arc::ptr_eq(&first, &stores.reading(&disk).unwrap().unwrap()));
    drop(first);
    for name in names(folder.path()) {
        fs::remove_file(folder.path().join(".brigade/tools").join(name)).unwrap();
    }
    assert!(stores.reading(&disk).unwrap().is_none());
    let second = stores.writing(&disk).unwrap();
    assert_eq!(second.read_todos("session").unwrap(), []);
    write(&second, "two").unwrap();
    assert_eq!(read(folder.path()).unwrap().unwrap().read_todos("session").unwrap(), [todo("two")]);
}

#[test]
fn a_writer_waits_for_another_one_and_then_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let short = Duration::from_millis(50);
    let store = Store::open(&DiskFs::open(folder.path()).unwrap(), short).unwrap();
    let other = rusqlite::Connection::open(folder.path().join(STATE_DB)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(write(&store, "one").unwrap_err(), StoreError::Busy);
    // Reading does not wait, and failing to count uses is not an error.
    assert_eq!(store.read_todos("session").unwrap(), []);
    other.execute_batch("ROLLBACK").unwrap();
    write(&store, "one").unwrap();
}

/// The variable that makes a test run as the child.
const CHILD: &str = "BRIGADE_STORE_CHILD";

/// Starts one of these tests as a child process.
fn child(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(CHILD, folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn as_child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Adds memories until the process is killed, and prints each stored one.
fn add_forever(folder: &Path) {
    let store = open(folder).unwrap();
    let process = std::process::id();
    for number in 0.. {
        let text = format!("memory{process}x{number} about topic{number} by process{process}");
        store.add_memory(&new(text.clone()), &Redactor::new(&[]), now()).unwrap();
        println!("added {text}");
    }
}

#[test]
fn committed_writes_survive_kill_9() {
    if let Some(folder) = as_child() {
        add_forever(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..6 {
        let mut writer = child("committed_writes_survive_kill_9", folder.path()).spawn().unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        // The child is killed right after a line, somewhere in its next transaction.
        let added =
            lines.map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("added ")?.to_owned()));
        acknowledged.extend(added.take(3 + round * 5));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let store = open(folder.path()).unwrap();
        let stored = store.memories(None, &Owners::Everybody).unwrap();
        for text in &acknowledged {
            assert!(stored.iter().any(|memory| memory.content == *text), "{text}");
        }
        // The full-text index matches the rows: each stored memory is found.
        for memory in &stored {
            let word = memory.content.split(' ').next().unwrap();
            let query = Query { text: word, scope: None, mission: None, owners: Owners::Everybody, limit: 5 };
            assert_eq!(store.search_memories(&query, now()).unwrap().len(), 1, "{word}");
        }
    }
    assert!(3 < acknowledged.len());
}

#[test]
fn several_processes_write_at_once() {
    const WRITES_PER_PROCESS: usize = 25;
    if let Some(folder) = as_child() {
        let store = open(&folder).unwrap();
        let process = std::process::id();
        for number in 0..WRITES_PER_PROCESS {
            let text = format!("memory{process}x{number} about topic{number} by process{process}");
            store.add_memory(&new(text), &Redactor::new(&[]), now()).unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // The children also race to create the file.
    let writers: Vec<_> = (0..4)
        .map(|_| {
            child("several_processes_write_at_once", folder.path()).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert_eq!(
        open(folder.path()).unwrap().memories(None, &Owners::Everybody).unwrap().len(),
        4 * WRITES_PER_PROCESS
    );
}

#[test]
fn a_file_size_limit_is_an_error_and_loses_nothing() {
    let folder = match as_child() {
        Some(folder) => folder,
        None => {
            let folder = tempfile::tempdir().unwrap();
            write(&open(folder.path()).unwrap(), "kept").unwrap();
            let test = "a_file_size_limit_is_an_error_and_loses_nothing";
            let mut shell = Command::new("sh");
            let line = "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact \"$1\" --nocapture";
            shell
                .args(["-c", line])
                .arg(std::env::current_exe().unwrap())
                .arg(test)
                .env(CHILD, folder.path());
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let store = open(folder.path()).unwrap();
            assert_eq!(store.read_todos("session").unwrap(), [todo("kept")]);
            write(&store, "more").unwrap();
            return;
        }
    };
    // Either the file cannot be opened for writing, or the write fails.
    let long = "x".repeat(1_000);
    let todos: Vec<Todo> = (0..100).map(|number| Todo { id: number.to_string(), ..todo(&long) }).collect();
    let failed = open(&folder).and_then(|store| store.write_todos("session", &todos, now()));
    let error = failed.unwrap_err();
    assert!(
        matches!(error, StoreError::Database(_) | StoreError::Full | StoreError::Unopened(_)),
        "{error:?}"
    );
}
