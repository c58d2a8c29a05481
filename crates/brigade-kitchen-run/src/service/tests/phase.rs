//! Phase reviews, including one after the last task.

use super::*;

/// Returns a world whose last task is done, with this phase review.
fn reviewed(action: &str, said: &str) -> World {
    let script = format!(
        "if [ $BRIGADE_ROLE = phase ]; then result '\"status\":\"needs_attention\",\"content\":\"look here\"{said}'\n\
         exit 0; fi\necho x > \"$BRIGADE_TASK.txt\"\ndone_"
    );
    let config = "phase_review_enabled = true\nphase_review_after = 1\nphase_review_action";
    let world = World::new(&tasks(&[("a", "true", &[])]), &format!("{config} = \"{action}\""), &script);
    world.approve();
    world
}

#[test]
fn a_question_after_the_last_task_pauses() {
    let world = reviewed("pause", "");
    for _ in 0..2 {
        let report = world.serve();
        assert_eq!((report.outcome, report.done, report.decisions.len()), (Outcome::Paused, 1, 1));
        assert_eq!(report.reason.as_deref(), Some("a decision about the PRD waits"));
    }
    world.answer("continue");
    assert_eq!(world.serve().outcome, Outcome::Complete);
    assert_eq!(world.starts("phase", ""), 1);
}

#[test]
fn a_last_question_takes_precedence_over_a_budget() {
    let world = reviewed("pause", "");
    let flags = Flags { max_attempts: Some(2), ..Flags::default() };
    let options = ServiceOptions { flags, ..ServiceOptions::default() };
    let report = world.try_serve(&options, &NoFollower).unwrap();
    assert_eq!((report.outcome, report.done), (Outcome::Paused, 1));
    assert_eq!(report.reason.as_deref(), Some("a decision about the PRD waits"));
}

#[test]
fn tasks_that_are_added_after_the_last_one_pause() {
    let task = r#","remediation":[{"id":"b","title":"Fix b","verification":["test -f b.txt"],"dependsOn":["a"],"passes":true}]"#;
    let world = reviewed("remediate", task);
    let report = world.serve();
    // What the review says is not done.
    let prd = fs::read_to_string(world.folder.join("work/brigade/tasks/prd-a.json")).unwrap();
    let prd = brigade_core::Json::parse(&prd).unwrap();
    let added = &prd.get("tasks").unwrap().as_array().unwrap()[1];
    assert_eq!(added.get("passes"), Some(&brigade_core::Json::from(false)));
    assert_eq!((report.outcome, report.done), (Outcome::Paused, 1));
    assert!(report.reason.unwrap().contains("added b, which needs approval"));
    world.approve();
    let report = world.serve();
    assert_eq!((report.done, report.total, world.starts("work", "b")), (2, 2, 1));
}

#[test]
fn a_person_who_pauses_after_the_last_task_is_heeded() {
    struct Person;
    impl Follower for Person {
        fn can_ask(&self) -> bool {
            true
        }
        fn ask(&self, _: &PrdName, _: &Decision, _: &CancelToken) -> Option<Answer> {
            let (choice, by) = ("pause".to_owned(), AnsweredBy::Person);
            Some(Answer { choice, by, reason: None, guidance: None, is_clear: true })
        }
    }
    let world = reviewed("pause", "");
    let report = world.try_serve(&ServiceOptions::default(), &Person).unwrap();
    assert_eq!((report.outcome, report.done), (Outcome::Paused, 1));
    assert_eq!(report.reason.as_deref(), Some("paused by a person"));
    assert_eq!(world.serve().outcome, Outcome::Complete);
}
