//! Rows of scripts, volumes, lists, questions and turns.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests prepare files themselves")]

use std::os::unix::fs::symlink;
use std::time::Duration;

use brigade_core::{ErrorCode, Timestamp};
use brigade_db::questions::{
    Answer, AnswerInput, AskedQuestion, Asker, Decision, QuestionForm, QuestionStatus,
};
use brigade_db::scripts::ScriptText;
use brigade_db::todos::{Todo, TodoStatus};
use brigade_db::turns::TurnClass;
use brigade_db::volumes::{Limits, VolumeFiles};
use brigade_db::{Store, StoreError};
use brigade_fs::{DiskFs, Fs as _};
use brigade_redact::Redactor;

const TIMEOUT: Duration = Duration::from_secs(5);

fn at(second: i64) -> Timestamp {
    Timestamp::from_unix_micros(second * 1_000_000)
}

fn workspace() -> (tempfile::TempDir, DiskFs, Store) {
    let folder = tempfile::tempdir().unwrap();
    let fs = DiskFs::open(folder.path()).unwrap();
    let store = Store::open(&fs, TIMEOUT).unwrap();
    (folder, fs, store)
}

#[track_caller]
fn code<T: std::fmt::Debug>(result: Result<T, StoreError>) -> ErrorCode {
    result.unwrap_err().answered_code()
}

fn script(name: &str, code: &str) -> ScriptText {
    ScriptText { name: name.to_owned(), code: code.to_owned(), description: None, tags: None, language: None }
}

#[test]
fn versions_rise_and_a_deleted_name_is_free() {
    let (_folder, _, store) = workspace();
    let text = ScriptText {
        description: Some("Says hello".to_owned()),
        tags: Some(vec!["greeting".to_owned()]),
        language: Some("python".to_owned()),
        ..script("hello", "print(1)")
    };
    let saved = store.save_script("ada", &text, at(1)).unwrap();
    assert_eq!((saved.version, saved.language.as_str()), (1, "python"));
    assert_eq!(code(store.save_script("ada", &text, at(2))), ErrorCode::NameTaken);
    // Another agent uses separate names and does not see this script.
    let other = store.save_script("bob", &script("hello", "x"), at(2)).unwrap();
    assert_eq!(other.language, "typescript");
    assert_eq!(code(store.script(Some("bob"), &saved.id)), ErrorCode::NotFound);
    let updated = store.update_script(Some("ada"), &saved.id, &script("hello2", "print(2)"), at(3)).unwrap();
    assert_eq!(
        (updated.version, updated.description.as_str(), updated.name.as_str()),
        (2, "Says hello", "hello2")
    );
    let (_, versions) = store.script(Some("ada"), &saved.id).unwrap();
    let codes: Vec<&str> = versions.iter().map(|version| version.code.as_str()).collect();
    assert_eq!(codes, ["print(1)", "print(2)"]);
    store.save_script("ada", &script("taken", "x"), at(4)).unwrap();
    assert_eq!(
        code(store.update_script(Some("ada"), &saved.id, &script("taken", "x"), at(5))),
        ErrorCode::NameTaken
    );
    assert_eq!(store.scripts(Some("ada"), Some("greeting"), None).unwrap().len(), 1);
    assert_eq!(store.scripts(Some("ada"), None, Some("HELLO")).unwrap().len(), 1);
    assert_eq!(store.scripts(None, None, None).unwrap().len(), 3);
    assert_eq!(code(store.delete_script(Some("bob"), &saved.id, at(6))), ErrorCode::NotFound);
    store.delete_script(Some("ada"), &saved.id, at(6)).unwrap();
    assert_eq!(code(store.script(Some("ada"), &saved.id)), ErrorCode::NotFound);
    assert_eq!(store.save_script("ada", &script("hello2", "x"), at(7)).unwrap().version, 1);
}

#[test]
fn a_volume_is_a_folder_with_a_limit_of_one_agent() {
    let (folder, fs, store) = workspace();
    let limits = Limits { max_count: 2, max_bytes: 100, max_file_bytes: 40, ..Limits::default() };
    let create = |size| store.create_volume(&fs, "ada", "data", size, &limits, at(1));
    let volume = create(60).unwrap();
    assert_eq!(code(create(41)), ErrorCode::QuotaExceeded);
    assert_eq!(code(create(0)), ErrorCode::InvalidArguments);
    create(40).unwrap();
    assert_eq!(code(create(1)), ErrorCode::TooMany);
    assert!(store.create_volume(&fs, "bob", "data", 100, &limits, at(1)).is_ok());
    assert_eq!(code(store.volume(Some("bob"), &volume.id)), ErrorCode::NotFound);
    let path = folder.path().join(".brigade/volumes").join(&volume.id);
    assert!(path.is_dir());

    let files = VolumeFiles::open(&fs, &volume, &limits, Some(TIMEOUT)).unwrap();
    files.write("a/b/c.txt", &[b'x'; 40]).unwrap();
    assert_eq!(code(files.write("big", &[b'x'; 41])), ErrorCode::FileTooLarge);
    assert_eq!(code(files.write("more", &[b'x'; 21])), ErrorCode::QuotaExceeded);
    // A refused write leaves nothing, and replacing a file counts against the limit.
    assert_eq!(files.used().unwrap(), 40);
    files.write("a/b/c.txt", &[b'y'; 30]).unwrap();
    files.write("more", &[b'x'; 30]).unwrap();
    assert_eq!(files.used().unwrap(), 60);
    let names: Vec<String> = files.list("").unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a", "more"]);
    assert_eq!(files.read("/a/b/c.txt").unwrap(), [b'y'; 30]);
    assert_eq!(code(files.read("a")), ErrorCode::NotAFile);
    assert_eq!(code(files.read("none")), ErrorCode::NotFound);
    assert_eq!(code(files.delete("a", false)), ErrorCode::IsADirectory);
    assert_eq!(code(files.delete("/", true)), ErrorCode::InvalidArguments);
    files.delete("a", true).unwrap();
    files.make_folder("x/y").unwrap();
    assert_eq!(code(files.make_folder("more/y")), ErrorCode::NotADirectory);
    drop(files);
    assert_eq!(code(store.delete_volume(&fs, Some("bob"), &volume.id)), ErrorCode::NotFound);
    assert!(path.with_extension("lock").exists());
    store.delete_volume(&fs, Some("ada"), &volume.id).unwrap();
    assert!(!path.exists() && !path.with_extension("lock").exists());
}

#[test]
fn a_volume_holds_so_many_files_and_folders() {
    let (folder, fs, store) = workspace();
    let limits = Limits { max_entries: 3, ..Limits::default() };
    let volume = store.create_volume(&fs, "ada", "data", 1_000, &limits, at(1)).unwrap();
    let files = VolumeFiles::open(&fs, &volume, &limits, Some(TIMEOUT)).unwrap();
    files.write("a/b", b"x").unwrap();
    assert_eq!(code(files.write("c/d", b"x")), ErrorCode::TooMany);
    assert_eq!(code(files.make_folder("c/d")), ErrorCode::TooMany);
    files.make_folder("c").unwrap();
    assert_eq!(code(files.write("e", b"")), ErrorCode::TooMany);
    // Existing files can still be written. New ones fit again after a deletion.
    files.write("a/b", b"more").unwrap();
    files.make_folder("c").unwrap();
    files.delete("c", true).unwrap();
    files.write("e", b"").unwrap();
    assert_eq!(files.used().unwrap(), 4);
    drop(folder);
}

#[test]
fn no_path_and_no_link_leads_out_of_a_volume() {
    let (folder, fs, store) = workspace();
    let limits = Limits::default();
    let volume = store.create_volume(&fs, "ada", "data", 1_000, &limits, at(1)).unwrap();
    let path = folder.path().join(".brigade/volumes").join(&volume.id);
    std::fs::write(folder.path().join("secret"), "precious").unwrap();
    symlink("../../../secret", path.join("out")).unwrap();
    symlink("../..", path.join("up")).unwrap();
    symlink(folder.path(), path.join("absolute")).unwrap();
    let files = VolumeFiles::open(&fs, &volume, &limits, Some(TIMEOUT)).unwrap();
    for outside in ["../x", "a/../../x", "out", "up/tools/state.db", "absolute/secret"] {
        assert_eq!(code(files.read(outside)), ErrorCode::PathOutside, "{outside}");
    }
    assert_eq!(code(files.write("out", b"changed")), ErrorCode::NotAFile);
    assert_eq!(code(files.write("up/x", b"changed")), ErrorCode::PathOutside);
    assert_eq!(code(files.make_folder("absolute/new")), ErrorCode::PathOutside);
    // Deleting a link keeps its target.
    files.delete("up", true).unwrap();
    files.delete("out", false).unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("secret")).unwrap(), "precious");
    drop(files);
    // A folder that became a link is not a volume.
    std::fs::remove_dir_all(&path).unwrap();
    symlink(folder.path(), &path).unwrap();
    assert_eq!(
        VolumeFiles::open(&fs, &volume, &limits, None).err().unwrap().answered_code(),
        ErrorCode::NotFound
    );
    store.delete_volume(&fs, Some("ada"), &volume.id).unwrap();
    assert!(fs.exists(&"secret".parse().unwrap()).unwrap());
}

#[test]
fn a_list_is_replaced_as_a_whole() {
    let (_folder, _, store) = workspace();
    let todo = |id: &str, status| Todo { id: id.to_owned(), content: "Cook".to_owned(), status };
    let two = [todo("1", TodoStatus::Completed), todo("2", TodoStatus::InProgress)];
    store.write_todos("s", &two, at(1)).unwrap();
    assert_eq!(store.read_todos("s").unwrap(), two);
    assert_eq!(store.read_todos("other").unwrap(), []);
    store.write_todos("s", &two[1..], at(2)).unwrap();
    assert_eq!(store.read_todos("s").unwrap(), two[1..]);
    assert_eq!(
        code(store.write_todos("s", &[two[0].clone(), two[0].clone()], at(3))),
        ErrorCode::DuplicateId
    );
    let many: Vec<Todo> = (0..201).map(|number| todo(&number.to_string(), TodoStatus::Pending)).collect();
    assert_eq!(code(store.write_todos("s", &many, at(3))), ErrorCode::TooLong);
    // The next write removes a list that did not change for a month.
    store.write_todos("late", &[], at(40 * 86_400)).unwrap();
    assert_eq!(store.read_todos("s").unwrap(), []);
}

#[test]
fn a_question_is_asked_once_and_answered_once() {
    let (_folder, _, store) = workspace();
    let redactor = Redactor::new(&[]);
    let text = "Which port? ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let question =
        AskedQuestion { id: "q".to_owned(), question: text.to_owned(), ..AskedQuestion::default() };
    let asked = QuestionForm { questions: vec![question], ..QuestionForm::default() };
    let ask = |agent: &str, session: &str, now: i64| {
        let is_same = |other: &str| other == session;
        let asker = Asker { agent, session, is_same: &is_same, a_minute: Some(4) };
        store.ask(&asker, &asked, &redactor, at(now))
    };
    let first = ask("ada", "s", 1).unwrap();
    assert!(!first.asked.questions[0].question.contains("ghp_0123456789"));
    assert_eq!(ask("ada", "s", 2).unwrap().id, first.id);
    assert_ne!(ask("bob", "s", 2).unwrap().id, first.id);
    let other = ask("ada", "t", 2).unwrap();
    assert_ne!(other.id, first.id);
    assert_eq!(store.waiting_questions().unwrap().len(), 3);
    store.withdraw_question(&other.id).unwrap();
    let given = AnswerInput { text: Some("8080".to_owned()), ..AnswerInput::default() };
    let answer = asked.answer(&given).unwrap();
    assert_eq!(code(store.take_answer("bob", &first.id)), ErrorCode::NotFound);
    assert_eq!(store.take_answer("ada", &first.id).unwrap().status, QuestionStatus::Waiting);
    store.answer_question(&first.id, &answer, "person", &redactor, at(3)).unwrap();
    assert_eq!(
        code(store.answer_question(&first.id, &answer, "person", &redactor, at(4))),
        ErrorCode::AlreadyAnswered
    );
    // Asking again returns the unread answer. After that, the question is new.
    assert_eq!(ask("ada", "s", 5).unwrap().id, first.id);
    let taken = store.take_answer("ada", &first.id).unwrap();
    assert_eq!(taken.answer.unwrap().answers["q"], ["8080"]);
    let second = ask("ada", "s", 6).unwrap();
    assert_ne!(second.id, first.id);
    // A question over the limit of one minute is refused. A waiting question is returned without counting.
    ask("ada", "u", 6).unwrap();
    assert_eq!(code(ask("ada", "v", 6)), ErrorCode::RateLimited);
    assert_eq!(ask("ada", "s", 6).unwrap().id, second.id);
    store.withdraw_question(&second.id).unwrap();
    let late =
        store.answer_question(&second.id, &Answer::declined(Decision::Decline), "person", &redactor, at(7));
    assert_eq!(code(late), ErrorCode::Gone);
    assert_eq!(
        code(store.answer_question("ask-none", &answer, "person", &redactor, at(7))),
        ErrorCode::NotFound
    );
}

#[test]
fn a_turn_needs_a_search_until_there_was_one() {
    let (_folder, _, store) = workspace();
    assert_eq!(store.turn("ada").unwrap(), None);
    store.note_search("ada").unwrap();
    let turn = store.begin_turn("ada", "Fix the login", at(1)).unwrap();
    assert_eq!((turn.number, turn.class, turn.needs_search()), (1, TurnClass::Required, true));
    assert_eq!(store.turn("ada").unwrap().unwrap(), turn);
    store.note_search("ada").unwrap();
    assert!(!store.turn("ada").unwrap().unwrap().needs_search());
    assert_eq!(store.turn("bob").unwrap(), None);
    let next = store.begin_turn("ada", "Fix the logout", at(2)).unwrap();
    assert_eq!((next.number, next.needs_search()), (2, true));
    assert!(!store.begin_turn("ada", "thanks", at(3)).unwrap().needs_search());
}
