//! Commands of `find` that run found files, which an approval cannot bind.

use std::path::Path;

use super::{NotBound, Reads};
use crate::programs::{Finds, Program, Script};

/// Records commands after `-exec` and similar options that run a found file, or a file beside it.
pub(super) fn find_runs(args: &[String], reads: &mut Reads) {
    for (at, word) in args.iter().enumerate() {
        let in_folder_of_file = match word.as_str() {
            "-exec" | "-ok" | "-x" | "-X" | "--exec" | "--exec-batch" => false,
            "-execdir" | "-okdir" => true,
            _ => continue,
        };
        let command: Vec<&str> = args[at + 1..]
            .iter()
            .map(String::as_str)
            .take_while(|word| !matches!(*word, ";" | "+"))
            .collect();
        let is_unknown =
            |file: &str| file.contains('{') || (in_folder_of_file && !Path::new(file).is_absolute());
        // `env` and similar programs may come before the program.
        let runs = command.iter().enumerate().any(|(at, word)| {
            let script = command[at + 1..].iter().find(|word| !word.starts_with('-'));
            let Some(row) = Program::of(word).map(|known| known.row()) else { return false };
            let takes_script = row.script != Script::Unknown;
            // Some find their code in the directory by themselves.
            let finds_there = in_folder_of_file
                && (!row.files.is_empty()
                    || (!takes_script && !matches!(row.finds, Finds::Nothing | Finds::GitCommands)));
            finds_there || (takes_script && script.is_some_and(|script| is_unknown(script)))
        });
        let program = command
            .first()
            .is_some_and(|program| program.contains('{') || (program.contains('/') && is_unknown(program)));
        if runs || program {
            reads.unbound.insert(NotBound::FoundFiles);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_not_run() {
        for (command, expect) in [
            (". -name *.sh -exec {} ;", true),
            (". -exec sh {} ;", true),
            (". -exec env X=1 python3 -u {} +", true),
            (". -execdir ./a.sh ;", true),
            (". -execdir sh a.sh ;", true),
            (". -exec sh ./a.sh {} ;", false),
            (". -exec ./a.sh {} ;", false),
            (". -execdir grep -l x {} +", false),
            (". -execdir make ;", true),
            (". -execdir env npm test ;", true),
            (". -exec make ;", false),
            (". -execdir /usr/bin/sh /opt/a.sh {} ;", false),
            (". -name {} -print", false),
        ] {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            let mut reads = Reads::default();
            find_runs(&words, &mut reads);
            assert_eq!(reads.unbound.contains(&NotBound::FoundFiles), expect, "{command}");
        }
    }
}
