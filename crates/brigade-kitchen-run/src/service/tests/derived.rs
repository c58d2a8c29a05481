//! Derived files after an answer, with and without a running service.

use brigade_core::{Dialect, Json};

use super::*;

const FILES: &str = "max_iterations = 1\nsupervisor_events_file = \"events.jsonl\"\nsupervisor_status_file = \"status.json\"\n";

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.folder.join("work").join(name)).unwrap_or_default()
}

/// Returns the names of the events, in order.
fn events(world: &World) -> Vec<String> {
    let word = |line: &str| {
        let (_, rest) = line.split_once("\"event\":\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    read(world, "events.jsonl").lines().map(word).collect()
}

fn answer(world: &World, choice: &str) {
    let id = world.life().waiting().next().unwrap().id.to_string();
    let choice = choice.to_owned();
    let request = crate::AnswerRequest { id, choice, reason: None, guidance: None };
    world.kitchen().answer(&request).unwrap();
}

#[test]
fn a_file_in_place_of_the_log_folder_is_reported() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "worker_log_dir = \"brigade/logs\"", WRITES);
    fs::write(world.folder.join("work/brigade/logs"), "mine\n").unwrap();
    world.approve();
    let report = world.serve();
    assert_eq!(report.outcome, Outcome::Complete);
    let told = report.issues.iter().find(|issue| issue.contains("worker_log_dir: ")).unwrap();
    assert!(told.contains("a file has this name"), "{told}");
}

#[test]
fn an_answer_without_a_service_updates_files_at_once() {
    let world = World::new(&tasks(&[("a", "true", &[])]), FILES, "exit 0");
    world.approve();
    world.serve();
    assert!(read(&world, "status.json").contains("\"attention\":true"));
    answer(&world, "skip");
    assert_eq!(events(&world)[events(&world).len() - 2..], ["decision_received", "task_skipped"]);
    assert!(read(&world, "status.json").contains("\"attention\":false"));
    assert!(read(&world, "brigade/tasks/prd-a.state.json").contains("\"skipped\""));
    // A deleted file is written again with all events, and none occurs twice.
    let before = events(&world);
    fs::remove_file(world.folder.join("work/events.jsonl")).unwrap();
    world.serve();
    assert_eq!(events(&world)[..before.len()], before);
    let received = |events: &[String]| events.iter().filter(|event| *event == "decision_received").count();
    assert_eq!(received(&events(&world)), 1);
    // Events that were not written are written by the next service.
    let text = read(&world, "events.jsonl");
    let kept = &text[..text.find("decision_received").unwrap()];
    let kept = &kept[..=kept.rfind('\n').unwrap()];
    fs::write(world.folder.join("work/events.jsonl"), kept).unwrap();
    world.serve();
    assert_eq!(received(&events(&world)), 1);
}

#[test]
fn a_running_service_updates_files_for_an_answer() {
    let script = "[ $BRIGADE_TASK = a ] && [ $n = 1 ] && exit 0\n\
        while [ $BRIGADE_TASK = b ] && [ ! -e \"$D/go\" ]; do sleep 0.05; done\n\
        echo x > \"$BRIGADE_TASK.txt\"\ndone_";
    let world = World::new(&tasks(&[("a", "true", &[]), ("b", "true", &[])]), FILES, script);
    world.approve();
    std::thread::scope(|scope| {
        let service = scope.spawn(|| world.serve());
        let waits = || world.life().waiting().next().is_some() && world.starts("work", "b") == 1;
        while !waits() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        answer(&world, "retry");
        while !events(&world).contains(&"decision_received".to_owned()) {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        fs::write(world.folder.join("notes/go"), "").unwrap();
        assert_eq!(service.join().unwrap().outcome, Outcome::Complete);
    });
    let received = events(&world).iter().filter(|event| *event == "decision_received").count();
    assert_eq!(received, 1);
}

#[test]
fn a_scope_answer_of_a_person_is_in_the_state_file() {
    let script = "[ $n = 1 ] && { result '\"signal\":\"question\",\"question\":\"all of it?\"'; exit 0; }\n\
        echo x > a.txt\ndone_";
    let world = World::new(&tasks(&[("a", "true", &[])]), &FILES.replace("= 1", "= 3"), script);
    world.approve();
    world.serve();
    answer(&world, "only the first half");
    let state = Json::parse_bytes(read(&world, "brigade/tasks/prd-a.state.json").as_bytes(), Dialect::Strict);
    let state = state.unwrap();
    let decided = &state.get("scopeDecisions").unwrap().as_array().unwrap()[0];
    let member = |name: &str| decided.get(name).cloned().unwrap();
    assert_eq!((member("question"), member("decision")), ("all of it?".into(), "only the first half".into()));
    assert_eq!(member("reviewedByHuman"), Json::Bool(true));
    assert_eq!(events(&world)[events(&world).len() - 2..], ["scope_decision", "decision_received"]);
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert!(world.note("prompt-work-a-2").contains("only the first half"));
}

#[test]
fn a_folder_in_place_of_a_command_file_is_reported() {
    let config = format!(
        "{FILES}supervisor_cmd_file = \".brigade/kitchen/cmd.json\"\nsupervisor_cmd_poll_interval = 1\n\
        supervisor_cmd_timeout = 2"
    );
    for folder in
        ["cmd.json/inside", "cmd.json.refused/inside"].map(|name| format!(".brigade/kitchen/{name}"))
    {
        let world = World::new(&tasks(&[("a", "true", &[])]), &config, "exit 0");
        fs::create_dir_all(world.folder.join("work").join(&folder)).unwrap();
        fs::create_dir_all(world.folder.join("work/.brigade/kitchen/cmd.json.refused/inside")).unwrap();
        if folder.contains("cmd.json.refused") {
            fs::write(world.folder.join("work/.brigade/kitchen/cmd.json"), "no command").unwrap();
        }
        world.approve();
        let report = world.serve();
        assert_eq!(report.outcome, Outcome::Paused, "{folder}");
        assert!(
            report.issues.iter().any(|issue| issue.contains("`.brigade/kitchen/cmd.json.refused`")),
            "{:?}",
            report.issues
        );
        let refused = events(&world).iter().filter(|event| *event == "command_refused").count();
        assert_eq!((refused, events(&world).last().unwrap().as_str()), (1, "service_complete"));
    }
}

#[test]
fn a_supervisor_answers_only_by_a_valid_file() {
    let config = "max_iterations = 1\nsupervisor_cmd_file = \".brigade/kitchen/cmd.json\"\nsupervisor_events_file = \"brigade/events.jsonl\"\n\
        supervisor_cmd_poll_interval = 1\nsupervisor_cmd_timeout = 0";
    let world =
        World::new(&tasks(&[("a", "true", &[])]), config, "[ $n = 1 ] && exit 0\necho x > a.txt\ndone_");
    world.approve();
    /// Writes wrong commands when a decision is asked, each after the refusal of the one before, and then the right
    /// one.
    struct Supervisor<'w>(&'w World, Mutex<Vec<String>>);
    impl Supervisor<'_> {
        fn path(&self, end: &str) -> PathBuf {
            self.0.folder.join(format!("work/.brigade/kitchen/cmd.json{end}"))
        }
    }
    impl Follower for Supervisor<'_> {
        fn recorded(&self, _: &PrdName, line: &Line, _: &Life) {
            if let Record::DecisionAsked { decision } = &line.record {
                let id = &decision.id;
                let mut commands = vec![
                    format!(
                        "{{\"decision\":\"{id}\",\"action\":\"retry\",\"reason\":\"try\",\"guidance\":\"write the file\"}}"
                    ),
                    "skip".to_owned(),
                    "{\"decision\":\"d-000000000000\",\"action\":\"skip\"}".to_owned(),
                    format!("{{\"decision\":\"{id}\",\"action\":\"pass\"}}"),
                ];
                fs::write(self.path(""), commands.pop().unwrap()).unwrap();
                *self.1.lock().unwrap() = commands;
            }
        }
        fn running(&self, _: &ServiceView) {
            if let Some(command) = self.1.lock().unwrap().pop_if(|_| self.path(".refused").exists()) {
                fs::remove_file(self.path(".refused")).unwrap();
                fs::write(self.path(""), command).unwrap();
            }
        }
    }
    let supervisor = Supervisor(&world, Mutex::default());
    let report = world.try_serve(&ServiceOptions::default(), &supervisor).unwrap();
    assert_eq!((report.outcome, report.attempts), (Outcome::Complete, 2));
    assert!(supervisor.path(".done").exists() && !supervisor.path("").exists());
    assert!(world.note("prompt-work-a-2").contains("write the file"));
    let events = fs::read_to_string(world.folder.join("work/brigade/events.jsonl")).unwrap();
    assert_eq!(events.matches("\"command_refused\"").count(), 3, "{events}");
    for (event, members) in [
        (
            "decision_needed",
            ["\"task\":\"a\"", "\"type\":\"failure\"", "\"choices\":[\"retry\",\"skip\",\"abort\"]"],
        ),
        ("decision_received", ["\"prd\":\"a\"", "\"action\":\"retry\"", "\"by\":\"supervisor\""]),
    ] {
        let line = events.lines().find(|line| line.contains(&format!("\"event\":\"{event}\""))).unwrap();
        assert!(members.iter().all(|member| line.contains(member)), "{line}");
    }
}

#[test]
fn a_rehearsal_shows_only_what_would_run() {
    let prd = tasks(&[("a", "true", &[]), ("b", "true", &["a"]), ("c", "true", &[]), ("d", "true", &[])]);
    let world = World::new(&prd, "max_iterations = 1", "exit 0");
    world.approve();
    let some = ServiceOptions { only: vec!["a".to_owned(), "c".to_owned()], ..ServiceOptions::default() };
    world.try_serve(&some, &NoFollower).unwrap();
    answer(&world, "skip");
    let search = crate::PrdSearch::At(world.prd());
    let report = world.kitchen().rehearse(&[search], &ServiceOptions::default()).unwrap();
    // One task was skipped, one waits for a person, and one depends on the latter.
    assert_eq!(report.waves.unwrap(), [["d".parse().unwrap()]]);
    assert_eq!((report.total, report.tasks.unwrap().len(), report.decisions.len()), (4, 1, 1));
}
