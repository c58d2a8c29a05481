use brigade_call::StoreKind as Kind;

use super::*;
use crate::testing::Bench;

#[test]
fn a_path_of_a_report_is_absolute() {
    for (root, home, path, expect) in [
        ("/ws", None, "a/b", "/ws/a/b"),
        ("/ws", None, "/etc/x", "/etc/x"),
        ("/ws", Some("/home/ann"), "~/x", "/home/ann/x"),
        ("/ws", None, "~/x", "/ws/~/x"),
        ("/", None, "a", "/a"),
        ("/ws", Some("/home/ann"), "~x", "/ws/~x"),
    ] {
        assert_eq!(absolute(Path::new(root), home.map(Path::new), path), expect, "{path}");
    }
}

#[test]
fn rows_that_outlive_the_operation_have_the_same_paths() {
    let bench = Bench::new(&[]).with_variables(&[("HOME", "/home/ann")]);
    let paths = bench.context.absolute_paths();
    for path in ["a", "~/a", "/a"] {
        assert_eq!(paths(path), bench.context.absolute(path));
    }
    assert_eq!(bench.context.target(), "/memory");
}

#[test]
fn calls_are_in_the_files_of_the_workspace_unless_several_hosts_share_them() {
    let context = Bench::new(&[]).context;
    assert_eq!(context.calls_path(), format!("/memory/{CALLS}"));
    assert_eq!((context.store_kind(), context.journal().is_some()), (Kind::Files, true));
    assert_eq!(context.shared_name(), None);
}

#[test]
fn a_copy_over_other_files_signs_with_another_key() {
    let bench = Bench::new(&[]);
    let over = bench.context.over(Arc::new(brigade_fs::MemoryFs::new()));
    let mac = over.key.sign("d", b"x").unwrap();
    assert!(over.key.verify("d", b"x", Some(&mac)));
    assert!(!bench.context.key.verify("d", b"x", Some(&mac)));
    assert!(Arc::ptr_eq(&over.environment, &bench.context.environment));
}

#[test]
fn files_that_an_embedding_program_keeps_need_no_key_on_the_disk() {
    let bench = Bench::new(&[]);
    let given: Arc<dyn Fs> = bench.context.fs.clone();
    let key = workspace_key(&*bench.context.fs, &bench.context.environment, Some(&given));
    assert!(key.problem().is_none());
    // Without a directory for the state there is no key.
    let none = workspace_key(&*bench.context.fs, &bench.context.environment, None);
    assert!(none.problem().is_some());
}

#[test]
fn a_missing_home_says_what_to_set() {
    for (variables, hint) in [
        (&[][..], "set HOME"),
        (&[("HOME", "")], "set HOME"),
        (&[("HOME", "ann")], "set HOME to an absolute path"),
    ] {
        let bench = Bench::new(&[]).with_variables(variables);
        let failure = bench.context.config_folder().unwrap_err();
        assert_eq!(failure.kind(), ErrorKind::Environment);
        assert_eq!(failure.hints()[0].to_string(), hint, "{variables:?}");
    }
    let bench = Bench::new(&[]).with_variables(&[("HOME", "/home/ann")]);
    assert_eq!(bench.context.config_folder().unwrap(), Path::new("/home/ann/.config"));
}

#[test]
fn a_typed_path_follows_the_home_and_the_current_directory() {
    let bench = Bench::new(&[]).with_variables(&[("HOME", "/home/ann")]);
    assert_eq!(bench.context.typed_path(Path::new("~/x")), Path::new("/home/ann/x"));
    assert_eq!(bench.context.typed_path(Path::new("/x")), Path::new("/x"));
    let here = brigade_process::current_dir().unwrap();
    assert_eq!(bench.context.typed_path(Path::new("x")), here.join("x"));
}

#[test]
fn outside_of_runs_a_person_may_replace_files() {
    let bench = Bench::new(&[]);
    for existing in [OnExisting::Keep, OnExisting::Overwrite] {
        assert!(bench.context.replaces(existing).is_ok());
    }
    assert!(bench.context.require_outside_run().is_ok());
}

#[test]
fn reading_is_cancelled_only_with_a_token() {
    let mut bench = Bench::new(&[]);
    assert!(bench.context.cancels_reading().is_none());
    bench.context.cancel = Some(CancelToken::new().unwrap());
    assert!(bench.context.cancels_reading().is_some());
}
