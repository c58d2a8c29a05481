//! Resolves programs that are links with another name.

use std::path::Path;

use super::Reading;
use crate::Argv;
use crate::programs::Program;

/// Returns the equivalent command lines in which programs are replaced by the names of their files: `bin/check -c 1`
/// becomes `python3 -c 1` if `bin/check` is a link to `python3`.
///
/// `file_name` returns the name of the file that a word leads to in a directory, relative to that of the command line.
/// A word is replaced only if its file is another known program. Returns nothing if no word is replaced.
///
/// ```
/// use brigade_cmdline::{Argv, risk};
///
/// let argv = Argv::parse("env bin/check -c 1")?;
/// let names = |_: &std::path::Path, word: &str| (word == "bin/check").then(|| "python3.11".to_owned());
/// let meant = risk::behind_links(&argv, &names);
/// assert_eq!(meant[0].words(), ["env", "python3.11", "-c", "1"]);
/// assert!(risk::behind_links(&Argv::parse("env ls")?, &names).is_empty());
/// # Ok::<(), brigade_cmdline::argv::InvalidCommand>(())
/// ```
pub fn behind_links(argv: &Argv, file_name: &dyn Fn(&Path, &str) -> Option<String>) -> Vec<Argv> {
    let mut meant = Vec::new();
    let words = argv.words();
    let of_line: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(at, word)| {
            let may_be_link = at == 0 || word.contains('/');
            let name = may_be_link.then(|| name(Path::new(""), word, file_name)).flatten();
            name.unwrap_or_else(|| word.clone())
        })
        .collect();
    if of_line != words {
        meant.push(of_line);
    }
    // Commands in texts, and those that start in another directory.
    for command in Reading::new(words).started {
        let Some((program, args)) = command.words.split_first() else { continue };
        if let Some(name) = name(&command.directory, program, file_name) {
            meant.push([&[name], args].concat());
        }
    }
    meant.into_iter().filter_map(|words| Argv::new(words).ok()).collect()
}

/// Returns the name of the file that a word leads to, if that is another known program.
fn name(directory: &Path, word: &str, file_name: &dyn Fn(&Path, &str) -> Option<String>) -> Option<String> {
    let name = file_name(directory, word)?;
    let known = Program::from_word(&name)?;
    // These programs do what the name of the link says.
    let is_many = matches!(known.name, "busybox" | "toybox");
    (!is_many && Program::from_word(word).is_none_or(|typed| typed.name != known.name)).then_some(name)
}
