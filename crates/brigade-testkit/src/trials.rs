//! Independent trials, several at a time.

use std::sync::Mutex;
use std::thread;

/// How many trials run at a time.
///
/// More than most machines have cores, because a trial mainly waits for processes and the disk.
const AT_A_TIME: usize = 4;

/// Runs a trial for each case, several at a time. Takes no more cases once a trial returns `false`.
///
/// # Panics
/// Panics if a trial does.
pub fn run_trials<T>(cases: impl IntoIterator<Item = T, IntoIter: Send>, trial: impl Fn(T) -> bool + Sync) {
    let cases = Mutex::new(Some(cases.into_iter()));
    let next = || cases.lock().expect("taking a case does not panic").as_mut().and_then(Iterator::next);
    let stop = || *cases.lock().expect("taking a case does not panic") = None;
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(case) = next() {
                    if !trial(case) {
                        stop();
                    }
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_case_before_the_last_one_is_tried() {
        let tried = Mutex::new(BTreeSet::new());
        run_trials(0.., |case| {
            assert!(tried.lock().unwrap().insert(case), "{case} is tried twice");
            case < 20
        });
        let tried = tried.into_inner().unwrap();
        assert!(tried.len() <= 20 + AT_A_TIME, "{tried:?}");
        assert!((0..=20).all(|case| tried.contains(&case)), "{tried:?}");
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_failed_trial_fails_the_test() {
        run_trials([1, 2, 3], |case| {
            assert!(case < 3);
            true
        });
    }
}
