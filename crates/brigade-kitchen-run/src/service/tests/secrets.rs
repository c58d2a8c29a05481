//! Values of labels are masked wherever a worker writes them.

use super::*;

const VALUE: &str = "kitchen EXAMPLE 4711";

#[test]
fn named_worker_variable_is_masked_everywhere() {
    let script = format!(
        "[ $BRIGADE_ROLE = work ] || {{ result '\"review\":\"fail\",\"reason\":\"{VALUE} in C.UTF-8\"'; exit 0; }}\n\
         result '\"signal\":\"complete\",\"learnings\":[\"{VALUE} in C.UTF-8\"],\"backlog\":[\"{VALUE}\"]'\n\
         echo '{VALUE}'; echo $n > a.txt"
    );
    let prd = tasks(&[("a", &format!("echo {VALUE}; test $(cat a.txt) = 1"), &[])]);
    let config = "review_enabled = true\nmax_iterations = 2\nsupervisor_events_file = \"events.jsonl\"";
    let mut world = World::new(&prd, config, &script);
    // The line may print values that only the executive gets. Variables that every program inherits are not secret.
    let path = world.folder.join("work/.brigade/kitchen.toml");
    let text = fs::read_to_string(&path).unwrap() + "env_labels = [\"WORKER_KEY\", \"LANG\"]\n";
    fs::write(&path, text).unwrap();
    let more = [("WORKER_KEY".into(), VALUE.into()), ("LANG".into(), "C.UTF-8".into())];
    let known = world.environment.variables().map(|(name, value)| (name.clone(), value.clone()));
    world.environment = HostEnvironment::new(known.chain(more).collect::<Vec<_>>());
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, world.starts("review", "a")), (Outcome::Paused, 1));
    let id = report.decisions[0].id.to_string();
    let guidance = Some(format!("use {VALUE}"));
    let request = crate::AnswerRequest { id, choice: "retry".to_owned(), reason: None, guidance };
    world.kitchen().answer(&request).unwrap();
    world.serve();
    let search = crate::PrdSearch::At(world.prd());
    let kitchen = world.kitchen();
    let shown = [
        format!("{:?}", kitchen.status(&search).unwrap()),
        format!("{:?}", kitchen.brief(&search).unwrap()),
        format!("{:?}", kitchen.summary(&search, None, false).unwrap()),
        format!("{:?}", kitchen.decisions(None, crate::DecisionFilter::All).unwrap()),
        format!("{:?}", kitchen.validate(&search, crate::FailOn::Errors).unwrap()),
    ];
    assert!(shown.iter().all(|text| !text.contains(VALUE)), "{shown:#?}");
    let mut folders = vec![world.folder.join("work"), world.folder.join("notes")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_own = entry.ends_with("prd-a.json")
                || entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("env-"));
            if entry.is_dir() {
                folders.push(entry);
            } else if !is_own {
                let text = String::from_utf8_lossy(&fs::read(&entry).unwrap()).into_owned();
                assert!(!text.contains(VALUE), "{}: {text}", entry.display());
            }
        }
    }
    let learnings = fs::read_to_string(world.folder.join("work/brigade/tasks/brigade-learnings.md")).unwrap();
    assert_eq!(learnings, "# Learnings\n\n- [redacted] in C.UTF-8\n");
}
