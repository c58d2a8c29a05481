//! What a run used, for its receipt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brigade_call::{
    ObservedAddress, ObservedCounts, ObservedDenial, ObservedFile, ObservedState, RunObserved,
};
use brigade_core::text::escape_terminal;
use brigade_core::{Fingerprint, Hint, NextStep, RunId, Spell};
use brigade_fs::Fs;
use brigade_process::{Observation, Observed};
use brigade_redact::Redactor;

use crate::closed::KEPT;
use crate::folder::links_on;

/// Whether to observe a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Observe it.
    Observe,
    /// Do not observe it, because this earlier equal run was observed.
    Unchanged(RunId),
    /// Do not observe it, and do not mention it in the receipt.
    Nothing,
}

/// What is said of full lists.
const FULL: &str = "a list was full: each has at most 2,000 entries, and what lies outside of the workspace at most 64 first folders";

/// Returns the observation for the receipt.
pub(crate) fn observed(
    watch: &Watch,
    observation: Option<&Observation>,
    redactor: &Redactor,
) -> Option<RunObserved> {
    match (watch, observation) {
        (Watch::Unchanged(run), _) => Some(RunObserved {
            state: ObservedState::Unchanged.as_str().to_owned(),
            run_id: Some(run.to_string()),
            ..RunObserved::default()
        }),
        (_, Some(Observation::Done(observed))) => Some(seen(observed, redactor)),
        (_, Some(Observation::Unavailable(reason))) => Some(RunObserved {
            state: ObservedState::Unavailable.as_str().to_owned(),
            reason: Some(redactor.redact_str(reason)),
            ..RunObserved::default()
        }),
        (Watch::Observe | Watch::Nothing, None) => None,
    }
}

fn seen(observed: &Observed, redactor: &Redactor) -> RunObserved {
    // Names come from the program and may have any content.
    let text = |path: &Path| redactor.redact_str(&path.to_string_lossy());
    let files = |files: &[brigade_process::ObservedFile]| {
        let file = |file: &brigade_process::ObservedFile| {
            let name = text(&file.path);
            let path = match (file.is_folder, name.is_empty()) {
                (true, true) => "./".to_owned(),
                (true, false) => format!("{name}/"),
                (false, _) => name,
            };
            let sha256 = file.sha256.map(Fingerprint::from_sha256);
            ObservedFile { path, sha256, ..ObservedFile::default() }
        };
        Some(files.iter().map(file).collect())
    };
    let address = |seen: &brigade_process::ObservedAddress| ObservedAddress {
        address: redactor.redact_str(&seen.address),
        port: seen.port,
        what: if seen.is_bound { "bind" } else { "connect" }.to_owned(),
        ..ObservedAddress::default()
    };
    let denial = |denied: &brigade_process::ObservedDenial| ObservedDenial {
        path: text(&denied.path),
        what: denied.what.name().to_owned(),
        ..ObservedDenial::default()
    };
    let full = observed.is_truncated.then_some(FULL);
    let unseen: Vec<String> = observed.unseen.iter().copied().chain(full).map(str::to_owned).collect();
    let counts = observed.counts;
    RunObserved {
        state: ObservedState::Observed.as_str().to_owned(),
        complete: unseen.is_empty(),
        unseen: Some(unseen).filter(|unseen| !unseen.is_empty()),
        truncated: observed.is_truncated,
        counts: Some(ObservedCounts {
            read: counts.read,
            executed: counts.executed,
            written: counts.written,
            connected: counts.connected,
            denied: counts.denied,
            ..ObservedCounts::default()
        }),
        read: files(&observed.read),
        executed: files(&observed.executed),
        written: files(&observed.written),
        connected: Some(observed.connected.iter().map(address).collect()),
        denied: Some(observed.denied.iter().map(denial).collect()),
        outside: Some(observed.outside.iter().map(|(path, count)| (text(path), *count)).collect()),
        ..RunObserved::default()
    }
}

/// Says which bound files were used with other bytes than those that were approved.
pub fn other_bytes(
    files: &BTreeMap<String, Fingerprint>,
    program: Option<(&str, Fingerprint)>,
    observed: &RunObserved,
) -> Option<String> {
    const MOST: usize = 5;
    let approved = |path: &str| {
        let of_program = program.filter(|(bound, _)| *bound == path).map(|(_, sha256)| sha256);
        files.get(path).copied().or(of_program)
    };
    let used = observed.executed.iter().chain(&observed.read).flatten();
    let differs = used.filter(|file| {
        file.sha256.zip(approved(&file.path)).is_some_and(|(sha256, approved)| sha256 != approved)
    });
    let paths: BTreeSet<&str> = differs.map(|file| file.path.as_str()).collect();
    let shown: Vec<_> = paths.iter().take(MOST).map(|path| escape_terminal(path)).collect();
    let more = if MOST < paths.len() { format!(" and {} more", paths.len() - MOST) } else { String::new() };
    (!paths.is_empty()).then(|| {
        let shown = shown.join(", ");
        format!("used with other bytes than those that were approved, because they changed during the run: {shown}{more}")
    })
}

/// Says which files a closed workspace kept from a run of a tool, and how they are opened.
pub fn denied_reads(fs: &dyn Fs, observed: &RunObserved, tool: &str, speller: &dyn Spell) -> Vec<String> {
    const MOST: usize = 20;
    let denied = observed.denied.iter().flatten();
    let mut paths: Vec<&str> = denied
        .filter(|denied| denied.what != "write" && !denied.path.starts_with('/'))
        .map(|denied| denied.path.as_str())
        .collect();
    paths.dedup();
    let more = paths.len().saturating_sub(MOST);
    let way = NextStep::DeclareUsed(tool.to_owned());
    let told = paths.into_iter().take(MOST).map(|path| {
        let shown = escape_terminal(path);
        if path.split('/').any(|part| KEPT.contains(&part)) {
            return format!("denied: {shown}: what belongs to git or to Brigade stays closed");
        }
        if !links_on(fs, &fs.root().join(path)).is_empty() {
            return format!(
                "denied: {shown}, a link, and a closed workspace follows none: let the tool name its target"
            );
        }
        let said = format!("denied: {shown}; add it to code or data of the tool: ");
        Hint::from(said).then(way.clone()).spelled(speller, None).to_string()
    });
    told.chain((0 < more).then(|| format!("denied: {more} more files, which the receipt lists"))).collect()
}

#[cfg(test)]
mod tests {
    use brigade_process::Attempt;
    use brigade_redact::SecretValue;

    use super::*;

    #[test]
    fn what_was_seen_is_masked_and_complete() {
        let file = |path: &str, is_folder, sha256| brigade_process::ObservedFile {
            path: path.into(),
            is_folder,
            sha256,
        };
        let observed = Observed {
            read: vec![file("lib/a", false, Some([7; 32])), file("", true, None), file("lib", true, None)],
            written: vec![file("out-hunter2hunter2.txt", false, None)],
            denied: vec![brigade_process::ObservedDenial { path: "/etc/x".into(), what: Attempt::Read }],
            outside: BTreeMap::from([("/usr".into(), 3)]),
            ..Observed::default()
        };
        let redactor = Redactor::new(&[SecretValue::new(b"hunter2hunter2")]);
        let observation = Observation::Done(Box::new(observed.clone()));
        let shown = super::observed(&Watch::Observe, Some(&observation), &redactor).unwrap();
        let paths = |files: Option<Vec<ObservedFile>>| {
            files.unwrap().into_iter().map(|file| file.path).collect::<Vec<_>>()
        };
        assert_eq!(paths(shown.read.clone()), ["lib/a", "./", "lib/"]);
        assert_eq!(shown.read.unwrap()[0].sha256, Some(Fingerprint::from_sha256([7; 32])));
        assert!(!paths(shown.written)[0].contains("hunter2"));
        assert_eq!((shown.complete, shown.truncated, shown.unseen), (true, false, None));
        for other in [
            Observed { unseen: vec!["a file could not be looked at"], ..observed.clone() },
            Observed { is_truncated: true, ..observed },
        ] {
            let observation = Observation::Done(Box::new(other));
            let shown = super::observed(&Watch::Observe, Some(&observation), &redactor).unwrap();
            assert!(!shown.complete && shown.unseen.is_some_and(|unseen| !unseen.is_empty()));
        }
    }

    #[test]
    fn a_run_that_was_not_observed_says_so() {
        let redactor = Redactor::new(&[]);
        let unavailable = Observation::Unavailable("no such thing".to_owned());
        let shown = observed(&Watch::Observe, Some(&unavailable), &redactor).unwrap();
        assert_eq!((shown.state.as_str(), shown.reason.as_deref()), ("unavailable", Some("no such thing")));
        let shown = observed(&Watch::Unchanged("run-1".parse().unwrap()), None, &redactor).unwrap();
        assert_eq!((shown.state.as_str(), shown.run_id.as_deref()), ("unchanged", Some("run-1")));
        assert_eq!((shown.read, shown.complete), (None, false));
        assert_eq!(observed(&Watch::Nothing, None, &redactor), None);
    }
}
