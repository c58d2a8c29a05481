//! Learnings and backlog in files that other programs also write.

use brigade_redact::Redactor;

use super::*;
use crate::projections::{Projections, Targets};

const OF_BASH: &str =
    "# Brigade Learnings\n\nMy own notes.\n\n## [US-001] Line Cook (2026-01-19)\nUse tabs\n---\n";

fn path(world: &World, name: &str) -> PathBuf {
    world.folder.join("work/brigade/tasks").join(name)
}

fn lists(world: &World) -> Projections {
    let (fs, name): (_, PrdName) = (world.fs(), "prd-a".parse().unwrap());
    let targets = Targets::new(&*fs, &world.prd(), &name, &Settings::default());
    Projections::new(fs, name, targets, Redactor::new(&[]), 0, 1000)
}

#[test]
fn entries_of_people_and_the_shell_program_stay() {
    let script = r#"result '"signal":"complete","learnings":["new"],"backlog":["later"]'; echo x > "$BRIGADE_TASK.txt"; done_"#;
    let world = World::new(&tasks(&[("a", "true", &[])]), "learnings_archive = false", script);
    for name in ["brigade-learnings.md", "brigade-backlog.md"] {
        fs::write(path(&world, name), OF_BASH).unwrap();
    }
    world.approve();
    assert_eq!(world.serve().outcome, Outcome::Complete);
    let read = |name| fs::read_to_string(path(&world, name)).unwrap();
    assert_eq!(read("brigade-learnings.md"), format!("{OF_BASH}\n# Learnings\n\n- new\n"));
    assert_eq!(read("brigade-backlog.md"), format!("{OF_BASH}\n# Backlog\n\n- later\n"));
    assert!(world.note("prompt-work-a-1").contains("Use tabs"));
}

#[test]
fn a_file_that_is_not_text_is_kept_and_reported() {
    let script = r#"result '"signal":"complete","learnings":["new"]'; echo x > "$BRIGADE_TASK.txt"; done_"#;
    let world = World::new(&tasks(&[("a", "true", &[])]), "learnings_archive = false", script);
    let other = b"- old\n\xff\xfe\n";
    fs::write(path(&world, "brigade-learnings.md"), other).unwrap();
    world.approve();
    let report = world.serve();
    assert_eq!(report.issues, ["`brigade/tasks/brigade-learnings.md` was not written: it is not UTF-8 text"]);
    assert_eq!(fs::read(path(&world, "brigade-learnings.md")).unwrap(), other);
}

#[test]
fn services_that_learn_at_once_lose_nothing() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", "");
    let services = ["a", "b"].map(|service| {
        let mut lists = lists(&world);
        std::thread::spawn(move || {
            for number in 0..100 {
                lists.keep(&[format!("{service}{number}")], &[]);
            }
        })
    });
    services.into_iter().for_each(|service| service.join().unwrap());
    assert_eq!(lists(&world).learnings().len(), 200);
}
