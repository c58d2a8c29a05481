use brigade_core::Exit;
use brigade_fs::MemoryFs;

use super::*;
use crate::report::{TeamCheck, TeamDoctorReport, TeamJoinReport};
use crate::testing::Bench;

fn team() -> (Team, Bench) {
    let bench = Bench::new(&[]);
    (Team::new(Arc::new(WorkspaceContext::new(bench.context.fs.clone()))), bench)
}

#[test]
fn the_name_of_a_workspace_has_plain_characters() {
    for (name, expect) in [
        ("shop", true),
        ("Shop_2.main-x", true),
        (&*"a".repeat(64), true),
        (&*"a".repeat(65), false),
        ("", false),
        ("a b", false),
        ("a/b", false),
        ("caf\u{e9}", false),
    ] {
        assert_eq!(check_workspace(name).is_ok(), expect, "{name}");
    }
}

#[test]
fn every_change_of_the_roster_is_said() {
    let keys = |rows: &[(&str, &str)]| -> BTreeMap<String, String> {
        rows.iter().map(|(name, key)| ((*name).to_owned(), (*key).to_owned())).collect()
    };
    let rule =
        |approvals| JoinedRule { effect: None, tool: None, family: None, approvals, added_at: String::new() };
    let joined = JoinedTeam {
        url: "postgresql://db.example/team".parse().unwrap(),
        schema: Schema::default(),
        workspace: "shop".to_owned(),
        team_id: "t".to_owned(),
        keys: keys(&[("ann", "1"), ("bob", "2")]),
        rules: vec![rule(2)],
    };
    let changes = |now: &[(&str, &str)], rules: &[JoinedRule]| -> Vec<String> {
        let starts = roster_changes(&joined, &keys(now), rules).into_iter();
        starts.map(|change| change.split(',').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(changes(&[("ann", "1"), ("bob", "2")], &[rule(2)]), [""; 0]);
    assert_eq!(
        changes(&[("ann", "9"), ("eve", "3")], &[rule(2)]),
        ["the reviewer `ann` has another key", "the reviewer `eve` is new", "the reviewer `bob` is gone"]
    );
    assert_eq!(
        changes(&[("ann", "1"), ("bob", "2")], &[rule(1)]),
        ["the rules have changed; where they ask for less"]
    );
    assert_eq!(shown_rule(&rule(-1)).approvals, 0);
    assert_eq!((shown_rule(&rule(2)).approvals, shown_rule(&rule(2)).id), (2, 0));
}

#[test]
fn without_a_team_nothing_is_connected_to() {
    let (team, _bench) = team();
    let status = team.status().unwrap();
    assert_eq!((status.joined, &status.team_id, status.exit()), (false, &None, Exit::Done));
    assert!(!team.leave().unwrap().left);
    for code in [
        team.verify().unwrap_err().code(),
        team.roster(JoinStep::Show).unwrap_err().code(),
        team.accept_failover().unwrap_err().code(),
        team.members(TeamPlace::default()).unwrap_err().code(),
        team.rules(TeamPlace::default()).unwrap_err().code(),
    ] {
        assert_eq!(code, ErrorCode::TeamNotJoined);
    }
}

#[test]
fn an_address_is_checked_before_anything_is_sent() {
    let (team, _bench) = team();
    for url in ["http://db.example/team", "postgresql://ann:secret@db.example/team", ""] {
        let place = TeamPlace { url: Some(url), schema: None };
        let error = team.join(place, "shop", JoinStep::Show).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(team.init(place, None).is_err(), "{url}");
    }
}

#[test]
fn calls_are_in_the_files_until_a_team_was_joined() {
    let fs: Arc<dyn Fs> = Arc::new(MemoryFs::new());
    let key = Arc::new(WorkspaceKey::temporary());
    let environment = Arc::new(HostEnvironment::default());
    let store = || joined_store(&fs, &key, &environment, Duration::ZERO, None);
    assert!(store().is_none());
    let path = RelPath::from_static(TEAM_FILE);
    fs.create_dir_all(&path.parent()).unwrap();
    fs.write_atomic(&path, b"{", brigade_fs::FileMode::Private).unwrap();
    // A file that does not count makes every use fail.
    let store = store().unwrap();
    assert!(store.read().is_err());
    assert_eq!(store.shared_name().as_deref(), Some(TEAM_FILE));
}

#[test]
fn a_file_of_passwords_counts_only_if_it_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let fs = DiskFs::open(folder.path()).unwrap();
    let name = RelPath::from_static("pgpass");
    let read = |mode| {
        fs.write_atomic(&name, b"db:5432:*:ann:x\n", brigade_fs::FileMode::Exactly(mode)).unwrap();
        passwords(&fs, &fs.root().join("pgpass")).is_some()
    };
    assert_eq!([0o600, 0o400, 0o640, 0o604].map(read), [true, true, false, false]);
    assert!(passwords(&fs, Path::new("/no/such/file")).is_none());
}

#[test]
fn a_report_fails_if_a_person_has_to_act() {
    let check = |state| TeamCheck { name: "x".to_owned(), state, message: String::new(), fix: None };
    let doctor = |states: &[CheckState]| {
        let checks = states.iter().map(|state| check(*state)).collect();
        TeamDoctorReport { schema: TeamDoctorReport::SCHEMA, target: String::new(), checks }.exit()
    };
    assert_eq!(doctor(&[]), Exit::Done);
    assert_eq!(doctor(&[CheckState::Failed]), Exit::Refused);
    let join = |joined| {
        TeamJoinReport {
            schema: TeamJoinReport::SCHEMA,
            target: String::new(),
            joined,
            team_id: String::new(),
            workspace: String::new(),
            member: String::new(),
            roles: Vec::new(),
            team_path: String::new(),
            reviewers: Vec::new(),
            rules: Vec::new(),
        }
        .exit()
    };
    assert_eq!((join(true), join(false)), (Exit::Done, Exit::Refused));
}
