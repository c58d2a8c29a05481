//! Services with fake workers, and the invariants that always hold.

use proptest::prelude::*;

use super::*;

/// The next random behavior of a fake worker, command or person.
#[derive(Clone, Copy, Debug)]
struct Chance(u8);

fn chances() -> impl Strategy<Value = Vec<Chance>> {
    prop::collection::vec(any::<u8>().prop_map(Chance), 1..200)
}

/// Runs a service with fake workers. Checks the invariants after each step.
fn run(book: &mut TestJournal, chances: &[Chance], kill_at: usize) {
    let ids = ["a", "b", "c", "d"];
    let mut done: Vec<TaskId> = Vec::new();
    for (at, Chance(chance)) in chances.iter().copied().enumerate() {
        if at == kill_at {
            // Only the journal survives a restart.
            book.life = book.again();
            let is_running =
                |task: &&&str| matches!(book.life.task(&id(task)).stage, Stage::Attempting { .. });
            let tasks = ids.iter().filter(is_running).map(|task| id(task)).collect();
            book.write(Record::Interrupted { tasks });
        }
        for (task, tier) in book.chosen() {
            let task = ids[task];
            for need in book.prd.graph().needs(book.prd.graph().position(&id(task)).unwrap()) {
                assert!(book.life.is_done(&id(ids[*need])), "{task} began before {}", ids[*need]);
            }
            assert!(!done.contains(&id(task)), "{task} ran again");
            let before = book.life.task(&id(task)).tier;
            assert!(before.is_none_or(|before| before <= tier), "{task} went down");
            book.begin(task);
        }
        let running: Vec<&str> = ids
            .into_iter()
            .filter(|task| matches!(book.life.task(&id(task)).stage, Stage::Attempting { .. }))
            .collect();
        assert!(running.len() <= book.settings.parallel() as usize);
        assert!(!(running.contains(&"a") && running.contains(&"b")), "exclusive tasks run together");
        let task = ids[usize::from(chance) % 4];
        let value = chance / 4;
        match book.step(task) {
            Step::Running => {
                let Stage::Attempting { run, .. } = book.life.task(&id(task)).stage else {
                    panic!("it runs")
                };
                let said = |signal| Ending::Said { signal, by: SignalSource::Tag };
                let ending = match value % 8 {
                    0..=3 => said(Signal::Complete),
                    4 => said(Signal::Blocked),
                    5 => no_signal(),
                    6 => Ending::Iteration(Iteration::Failed(Exit::Signal(9))),
                    _ => Ending::TimeLimit,
                };
                book.end(task, &run, &ending, value % 3 != 0);
            }
            Step::Verify { from } => {
                let Stage::Checking(checking) = book.life.task(&id(task)).stage else {
                    panic!("it is checked")
                };
                let result = if value % 4 == 0 { CommandResult::Failed } else { CommandResult::Passed };
                book.verified(task, &checking.run, from as u64, result);
            }
            Step::Scan => {
                let Stage::Checking(checking) = book.life.task(&id(task)).stage else {
                    panic!("it is checked")
                };
                book.write(Record::Todo { task: id(task), run: checking.run, found: vec![] });
            }
            Step::Commit => {
                let Stage::Checking(checking) = book.life.task(&id(task)).stage else {
                    panic!("it is checked")
                };
                let commit = Some(format!("c{at}"));
                book.write(Record::Committed { task: id(task), run: checking.run, commit, refused: None });
            }
            Step::Integrate => {
                let Stage::Checking(checking) = book.life.task(&id(task)).stage else {
                    panic!("it is checked")
                };
                let moved = value % 3 == 0;
                let commit = (!moved && value % 3 == 1).then(|| format!("c{at}"));
                let conflict = vec!["x".to_owned()];
                book.write(Record::Integrated {
                    task: id(task),
                    run: checking.run,
                    commit,
                    conflict,
                    moved,
                    tree: None,
                });
            }
            Step::Ask(_) => drop(book.ask(task)),
            Step::Wait(decision) => {
                let choice = if value % 2 == 0 { "retry" } else { "skip" };
                book.answer(&decision, choice, AnsweredBy::Executive);
            }
            Step::Escalate { .. } | Step::End { .. } => {
                book.bookkeep(task);
            }
            Step::Attempt { .. } | Step::Ended(_) => {}
            Step::Test | Step::Review => panic!("neither is configured"),
        }
        done.extend(ids.iter().map(|task| id(task)).filter(|task| book.life.is_done(task)));
        for (at, is_unreachable) in unreachable(&book.prd, &book.life).into_iter().enumerate() {
            assert!(
                !is_unreachable
                    || book.life.task(&id(ids[at])).attempts == 0
                    || !book.chosen().iter().any(|(task, _)| *task == at)
            );
        }
    }
    for task in &done {
        assert!(book.life.is_done(task), "{task} is no longer done");
    }
}

fn four() -> TestJournal {
    let exclusive = ",\"complexity\":\"junior\",\"exclusive\":\"x\",\"verification\":[\"npm test\"]";
    let mut book = TestJournal::new(prd(&[
        ("a", exclusive),
        ("b", exclusive),
        ("c", ",\"complexity\":\"senior\",\"dependsOn\":[\"a\"]"),
        ("d", ",\"dependsOn\":[\"a\",\"c\"]"),
    ]));
    book.settings.max_iterations = 6;
    book
}

proptest! {
    #[test]
    fn the_life_always_follows_from_the_journal(chances in chances(), kill_at in 0..200usize) {
        let mut book = four();
        run(&mut book, &chances, kill_at);
        prop_assert_eq!(&book.again(), &book.life);
        let bytes = book.life.to_bytes().unwrap();
        prop_assert_eq!(&Life::from_bytes(&bytes).unwrap(), &book.life);
        prop_assert_eq!(Life::from_bytes(&bytes[..bytes.len() - 1]), None);
        // Sequence numbers have no gaps.
        prop_assert!(book.lines.iter().enumerate().all(|(at, line)| line.seq == at as u64 + 1));
    }

    #[test]
    fn a_service_whose_workers_succeed_completes(seed in any::<u8>()) {
        let mut book = four();
        // Every worker completes with a change, every command passes, every integration succeeds.
        let all: Vec<Chance> = (0..160_u8).map(|at| Chance((at % 4) + 4 * (if seed % 2 == 0 { 1 } else { 25 }))).collect();
        run(&mut book, &all, 1000);
        prop_assert_eq!(book.progress().outcome(), Outcome::Complete);
    }
}
