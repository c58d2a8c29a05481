//! Progress messages of a runtime start.

use brigade::tools::StartProgress;

/// Describes a step of a start. The text does not depend on the duration of the step.
pub(crate) fn step(progress: &StartProgress) -> String {
    match progress {
        StartProgress::Cleared => "removed files of an earlier start".to_owned(),
        StartProgress::Spawned { pid } => format!("process {pid} started"),
        StartProgress::Waiting { detail, .. } => format!("waiting: {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn waiting_has_the_same_words_however_long_it_takes() {
        let waiting = |seconds| StartProgress::Waiting {
            elapsed: Duration::from_secs(seconds),
            detail: "nothing listens on port 1".to_owned(),
        };
        assert_eq!(step(&waiting(1)), "waiting: nothing listens on port 1");
        assert_eq!(step(&waiting(1)), step(&waiting(9)));
    }
}
