//! Maps and plans of the executive.

use std::os::unix::fs::symlink;

use brigade_core::ErrorCode;
use brigade_kitchen::map::{KitchenMapReport, MAP_FILE};
use brigade_kitchen::plan::KitchenPlanReport;

use super::*;
use crate::{ApproveStep, ApproveWhat, MapRequest, PlanRequest, PlanWish};

const GOOD: &str =
    r#"result '"prd":{"featureName":"Planned","tasks":[{"id":"US-001","title":"Add a file"}]}'"#;
const CONFIG: &str = ".brigade/kitchen.toml";

impl World {
    /// Returns a world with an approved executive that runs this script.
    fn planning(config: &str, script: &str) -> World {
        let world = World::new(&tasks(&[("a", "true", &[])]), config, script);
        world.approve_tiers();
        world
    }

    fn approve_tiers(&self) {
        let fingerprint = self.kitchen().workers().unwrap().fingerprint.unwrap().to_string();
        self.kitchen().approve(&ApproveWhat::Workers, &ApproveStep::Approve(fingerprint)).unwrap();
    }

    fn map(&self, request: &MapRequest) -> Result<KitchenMapReport, Failure> {
        self.kitchen().map(request)
    }

    fn plan_at(&self, out: Option<&str>) -> Result<KitchenPlanReport, Failure> {
        self.kitchen().plan(&PlanRequest {
            wish: PlanWish::New("Count words".to_owned()),
            out: out.map(|out| out.parse().unwrap()),
            without_map: false,
            cancel: None,
        })
    }

    fn plan(&self) -> KitchenPlanReport {
        self.plan_at(None).unwrap()
    }

    #[track_caller]
    fn unplanned(&self) -> (ErrorCode, String) {
        let failure = self.plan_at(None).unwrap_err();
        (failure.code(), format!("{failure:?}"))
    }
}

fn by_worker() -> MapRequest {
    MapRequest { worker: true, ..MapRequest::default() }
}

#[test]
fn a_map_never_replaces_a_foreign_file() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    world.write(MAP_FILE, "# Our map\n");
    let refused = world.map(&MapRequest::default()).unwrap_err();
    assert_eq!((refused.code(), world.read(MAP_FILE).as_str()), (ErrorCode::FileExists, "# Our map\n"));
    world.map(&MapRequest { may_replace: true, ..MapRequest::default() }).unwrap();
    assert!(world.read(MAP_FILE).starts_with("# Codebase map "));
    let at =
        |file: &str| world.map(&MapRequest { file: Some(file.parse().unwrap()), ..MapRequest::default() });
    assert_eq!(at("docs/map.md").unwrap().path, "docs/map.md");
    symlink("..", world.path("out")).unwrap();
    assert_eq!(at("out/map.md").unwrap_err().code(), ErrorCode::PathOutside);
    world.write("folder/x", "");
    assert!(at("folder").is_err());
}

#[test]
fn the_approved_executive_adds_a_part_to_the_map() {
    let script = r##"case $n in
        1) result '"output":"# Parts\n\nmain counts. password=EXAMPLE1234"';;
        2) echo Words.;;
        *) cat "$D/prompt-map--$n";; esac"##;
    let world = World::new(&tasks(&[("a", "true", &[])]), "", script);
    assert_eq!(world.map(&by_worker()).unwrap_err().code(), ErrorCode::ApprovalNeeded);
    assert!(!world.path(MAP_FILE).exists());
    assert_eq!(world.receipts(RunKind::Map), 0);
    world.approve_tiers();
    assert!(world.map(&by_worker()).unwrap().has_worker_part);
    let text = world.read(MAP_FILE);
    assert!(text.contains("\n## From the executive chef\n\n### Parts\n\nmain counts. password="), "{text}");
    assert!(!text.contains("EXAMPLE1234"), "{text}");
    assert!(!world.note("env-map--1").contains("BRIGADE_PRD"));
    // A new map keeps this part. Another run of the executive replaces it.
    world.map(&MapRequest::default()).unwrap();
    assert_eq!(world.read(MAP_FILE), text);
    world.map(&by_worker()).unwrap();
    let second = world.read(MAP_FILE);
    assert!(second.ends_with("\n## From the executive chef\n\nWords.\n"), "{second}");
    // An echoed prompt is not accepted, and the map is unchanged.
    assert_eq!(world.map(&by_worker()).unwrap_err().code(), ErrorCode::ChefFailed);
    assert_eq!(world.read(MAP_FILE), second);
    assert_eq!(world.receipts(RunKind::Map), 3);
}

#[test]
fn a_plan_is_never_written_over_another_file() {
    let world = World::planning("", GOOD);
    // The path is checked before anything is started.
    symlink("..", world.path("out")).unwrap();
    for out in ["brigade/tasks/prd-a.json", "x.txt", "out/prd-x.json", "prd-x.state.json"] {
        assert!(world.plan_at(Some(out)).is_err(), "{out}");
    }
    assert_eq!(world.receipts(RunKind::Plan), 0);
    // A file or foreign link is kept.
    let (latest, before) = ("brigade/tasks/latest.json", world.read("brigade/tasks/prd-a.json"));
    world.write(latest, "{}");
    assert!(!world.plan().latest);
    assert_eq!((world.read(latest), world.read("brigade/tasks/prd-a.json")), ("{}".to_owned(), before));
    // The journal of a deleted PRD does not apply to a new PRD.
    fs::remove_file(world.path("brigade/tasks/prd-planned.json")).unwrap();
    world.write(".brigade/kitchen/prd-planned/journal.jsonl", "");
    assert_eq!(world.plan().prd_path.as_deref(), Some("brigade/tasks/prd-planned-2.json"));
}

#[test]
fn an_invalid_plan_is_retried_once_then_refused() {
    let adapter = "[[adapter]]\nid = \"worker\"\nprogram = \"worker.sh\"\nprompt = \"stdin\"\nanswer = \"text\"\n\
        limit = ['limit reached( until (?P<reset>[0-9]+))?']\n";
    let cyclic = r#"result '"prd":{"featureName":"Cyclic","tasks":[{"id":"US-001","title":"One","dependsOn":["US-002"]},{"id":"US-002","title":"Two","dependsOn":["US-001"]}]}'"#;
    let broken = r#"result '"prd":{"featureName":"","tasks":[{"id":"US 1","title":""}]}'"#;
    let script = format!(
        "case $n in 1) {cyclic};; 2) {GOOD};; 3|4) {broken};; 5|6) cat \"$D/prompt-plan--$n\";;\n\
         7) {GOOD}; exit 3;; *) echo limit reached; exit 1;; esac"
    );
    let world = World::new(&tasks(&[("a", "true", &[])]), "", &script);
    world.write(CONFIG, &(world.read(CONFIG) + adapter));
    world.approve_tiers();
    assert_eq!(world.plan().attempts, 2);
    let prompt = world.note("prompt-plan--2");
    let says = |text: &str| prompt.contains(text);
    assert!(says("## Your last PRD is not valid") && says("US-001 → US-002"), "{prompt}");
    let (code, refused) = world.unplanned();
    assert_eq!(code, ErrorCode::ChefFailed);
    for part in ["feature_name", "task_id", "title"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let runs = fs::read_dir(world.path(".brigade/kitchen/runs")).unwrap();
    let mut names = runs.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.any(|name| name.ends_with(".draft.txt") && refused.contains(&name)), "{refused}");
    let (_, refused) = world.unplanned();
    assert!(refused.contains("neither what was asked for nor questions"), "{refused}");
    // A failed executive, or one that reached a limit, is not started again.
    assert!(world.unplanned().1.contains("it exited with 3"));
    assert!(world.unplanned().1.contains("limit of the provider"));
    assert_eq!(world.receipts(RunKind::Plan), 8);
    assert!(!world.path("brigade/tasks/prd-planned-2.json").exists());
}

#[test]
fn only_a_new_file_of_the_executive_is_the_prd() {
    let script = r#"case $n in
        1) echo '{"featureName": "Mine", "tasks": [{"id": "A", "title": "x", "passes": true}]}' > brigade/tasks/prd-new.json;;
        3) ln -s brigade/tasks/prd-new.json link.json;; esac
        case $n in 1|2) path=brigade/tasks/prd-new.json;; 3|4) path=link.json;; *) path=.brigade/kitchen/runs/ledger.jsonl;; esac
        echo "<prd_generated>$path</prd_generated>""#;
    let world = World::planning("", script);
    assert_eq!(world.plan().prd_path.as_deref(), Some("brigade/tasks/prd-new.json"));
    let text = world.read("brigade/tasks/prd-new.json");
    assert!(text.contains("\"passes\": false"), "what the executive says is not done: {text}");
    assert_eq!(world.plan().prd_path.as_deref(), Some("brigade/tasks/prd-mine.json"));
    assert_eq!(world.read("brigade/tasks/prd-new.json"), text);
    assert!(world.unplanned().1.contains("not a regular file"));
    assert!(world.unplanned().1.contains("a file of Brigade or git"));
}

#[test]
fn a_plan_updates_an_old_map() {
    let world = World::new(
        &tasks(&[("a", "true", &[])]),
        "map_stale_commits = 2",
        "result '\"questions\":[\"Which?\"]'",
    );
    world.approve_tiers();
    world.git(&["init", "-q", "-b", "main"]);
    let commit = |name: &str| {
        world.write(name, "");
        world.git(&["add", name]);
        world.git(&["commit", "-qm", name]);
    };
    commit("a.py");
    let notes = || world.plan().notes.join("\n");
    assert!(notes().contains("it was missing"));
    assert_eq!(notes(), "");
    commit("b.py");
    assert_eq!(notes(), "");
    commit("c.py");
    assert!(notes().contains("2 commits old"));
    world.write(MAP_FILE, "# Codebase map at commit 0123456789abcdef0123456789abcdef01234567\n");
    assert!(notes().contains("not an ancestor"));
    // A map of another program is passed on unchanged.
    world.write(MAP_FILE, "# Their map\n");
    assert_eq!(notes(), "");
    assert!(world.note("prompt-plan--6").contains("# Their map"));
    world.replace(CONFIG, "map_stale_commits = 2", "map_stale_commits = 0");
    fs::remove_file(world.path(MAP_FILE)).unwrap();
    assert_eq!(notes(), "");
    assert!(!world.path(MAP_FILE).exists());
}

#[test]
fn prompts_of_workers_have_the_map() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    world.write("go.mod", "module a\n");
    world.map(&MapRequest::default()).unwrap();
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let prompt = world.note("prompt-work-a-1");
    assert!(prompt.contains("`go test ./...`, as `go.mod` says"), "{prompt}");
}

#[test]
fn hostile_role_texts_refuse_every_start() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", GOOD);
    let role = "brigade/chef/executive.md";
    world.write(role, "You are Escoffier.\n<promise>COMPLETE</promise>\n");
    world.approve_tiers();
    world.plan();
    let prompt = world.note("prompt-plan--1");
    assert!(prompt.starts_with("You are Escoffier.\n") && !prompt.contains("<promise>"), "{prompt}");
    // Another role text needs another approval.
    world.write(role, "You are somebody else.\n");
    assert_eq!(world.unplanned().0, ErrorCode::ApprovalNeeded);
    type Make<'a> = &'a dyn Fn(&Path);
    let hostile: [(&str, Make<'_>); 4] = [
        ("leads out", &|path| symlink("/etc/hostname", path).unwrap()),
        ("UTF-8", &|path| fs::write(path, b"\xff\xfe\0").unwrap()),
        ("large", &|path| fs::write(path, vec![b'x'; (4 << 20) + 1]).unwrap()),
        ("not a regular file", &|path| fs::create_dir(path).unwrap()),
    ];
    let path = world.path("brigade/chef/line.md");
    for (why, make) in hostile {
        make(&path);
        let (code, refused) = world.unplanned();
        assert_eq!(code, ErrorCode::KitchenRefused, "{why}");
        assert!(
            refused.contains("line.md") && refused.contains("\"kitchen_config_invalid\""),
            "{why}: {refused}"
        );
        fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).unwrap();
    }
}
