//! Follows `cd` in the text of a shell: from where the commands behind it may look for what they name.

use std::path::{Component, Path, PathBuf};

use super::{Files, Kind, Reads, Seen};
use crate::programs::base_name;
use crate::risk::Started;

/// From how many directories the commands of one text are followed.
const MOST: usize = 16;

/// The directories in which the commands of a text may start. Whether a `cd` works, and where a subshell ends, only the
/// shell knows, so each directory stays possible.
pub(super) struct Places {
    /// The directories; the first is the one in which the text starts.
    pub(super) folders: Vec<PathBuf>,
    /// Whether a part of the text may run more than once.
    repeats: bool,
    /// What leads to a place that is not known.
    lost: Option<String>,
}

impl Places {
    pub(super) fn new(directory: &Path, words: &[String]) -> Places {
        let may_repeat = |text: &str| {
            text.contains("()")
                || text.split_whitespace().any(|word| matches!(word, "for" | "until" | "while"))
        };
        Places {
            folders: vec![directory.to_owned()],
            repeats: words.iter().any(|word| may_repeat(word)),
            lost: None,
        }
    }

    /// Notes a command that starts where nobody knows before the run, and goes where the command goes.
    pub(super) fn pass(&mut self, command: &Started, files: &dyn Files, reads: &mut Reads) {
        let Some((program, args)) = command.words.split_first() else { return };
        let name = base_name(program);
        if !matches!(&*name, "cd" | "chdir" | "popd" | "pushd") {
            reads.chain.finders.extend(self.lost.clone());
            return;
        }
        if name == "popd" {
            return;
        }
        let Some(to) = literal(args) else {
            self.lost = Some(name.into_owned());
            return;
        };
        let is_folder = |path: &PathBuf| {
            let (Seen::Inside { kind, .. } | Seen::Outside(kind)) = files.look(path) else { return false };
            kind == Some(Kind::Folder)
        };
        // The shell takes `..` from the name of a link, and with `-P` from where the link leads.
        let both = |from: &PathBuf| {
            let path = from.join(to);
            let real = match files.look(&path) {
                Seen::Inside { real, .. } => files.root().join(real),
                Seen::Outside(_) | Seen::Nowhere => path.clone(),
            };
            let by_words = by_words(&path);
            if to.contains("..") { vec![by_words, real] } else { vec![by_words] }
        };
        let found: Vec<PathBuf> = self.folders.iter().flat_map(both).filter(is_folder).collect();
        let repeats = self.repeats && !to.starts_with('/');
        let is_full = MOST < self.folders.len() + found.len();
        if found.is_empty() || repeats || is_full {
            self.lost = Some(name.into_owned());
        }
        for folder in found {
            if self.folders.len() < MOST && !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
    }
}

/// Returns the directory that the words behind `cd` name, if the shell fills nothing in and looks nowhere else.
fn literal(args: &[String]) -> Option<&str> {
    let is_option =
        |word: &&String| matches!(word.as_str(), "--" | "-@" | "-L" | "-LP" | "-P" | "-PL" | "-e");
    let to = args.iter().find(|word| !is_option(word))?;
    let is_late =
        to.is_empty() || to.starts_with(['-', '+', '~', '<', '>']) || to.contains(['$', '*', '?', '[', '{']);
    (!is_late).then_some(to)
}

/// Takes `.` and `..` out of a path by its words.
fn by_words(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(found.pop()),
            Component::CurDir => {}
            part => found.push(part),
        }
    }
    found
}
