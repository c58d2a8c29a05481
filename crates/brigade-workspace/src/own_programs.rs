//! The programs of Brigade's own use, and the directories that they never come from.

use std::path::{Path, PathBuf};

use brigade_exec::HostEnvironment;
use brigade_fs::Fs;
use brigade_policy::PolicyState;
use brigade_process::OwnPrograms;

use crate::config::policy_on_disk;

/// Finds the programs that Brigade starts for its own use, with the rule of [`OwnPrograms`]. Agents and runs can write
/// the workspace, with its lanes and volumes, and what the policy opens for writing.
pub fn own_programs(fs: &dyn Fs, environment: &HostEnvironment) -> OwnPrograms {
    let writable = writable_directories(fs.root(), environment.home(), &policy_on_disk(fs));
    OwnPrograms::new(environment.get("PATH"), writable)
}

/// Lists the directories that agents and runs can write.
pub fn writable_directories(root: &Path, home: Option<&Path>, policy: &PolicyState) -> Vec<PathBuf> {
    let policy = policy.policy();
    let opened = policy.into_iter().flat_map(|policy| policy.all_sandbox_rules());
    let opened = opened.flat_map(|rules| rules.write_paths.iter().map(|path| path.value.as_str()));
    let workers = policy.into_iter().flat_map(|policy| policy.kitchen.worker_write_paths.values());
    let absolute = |path: &str| match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => root.join(path),
    };
    let opened = opened.chain(workers.map(String::as_str)).map(absolute);
    std::iter::once(root.to_owned()).chain(opened).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_policy_are_writable() {
        let text =
            b"[sandbox]\nmode = \"enforce\"\nwrite_paths = [\"~/.local\", \"out\"]\n[sandbox.tool.x]\nwrite_paths = [\"/srv\"]\n\
            [sandbox.install]\nwrite_paths = [\"~\"]\n[kitchen]\nworker_write_paths = [\"/opt/w\"]\n";
        let policy = PolicyState::parse("policy.toml", Some(text));
        let found = writable_directories(Path::new("/ws"), Some(Path::new("/home/ann")), &policy);
        let expect = ["/ws", "/home/ann/.local", "/ws/out", "/home/ann/", "/srv", "/opt/w"];
        assert_eq!(found, expect.map(PathBuf::from));
    }

    #[test]
    fn without_a_home_a_path_of_the_home_is_one_of_the_workspace() {
        let policy = PolicyState::parse("p", Some(b"[sandbox]\nmode = 'enforce'\nwrite_paths = ['~/x']\n"));
        assert_eq!(
            writable_directories(Path::new("/ws"), None, &policy),
            ["/ws", "/ws/~/x"].map(PathBuf::from)
        );
        let invalid = PolicyState::parse("p", Some(b"max_timeout = 'x'\n"));
        assert_eq!(writable_directories(Path::new("/ws"), None, &invalid), [PathBuf::from("/ws")]);
    }
}
