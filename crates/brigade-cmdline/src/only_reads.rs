//! Recognizes commands that only read, by a list of programs and their options.

use crate::Argv;

/// A program, or a subcommand of git, with the options with which it only reads.
struct Row {
    /// Its name.
    name: &'static str,
    /// Short options, which may include digits.
    short: &'static str,
    /// Short options whose value may be attached.
    valued: &'static str,
    /// Long options, with a value or without, between blanks.
    long: &'static str,
}

const fn row(name: &'static str, short: &'static str, valued: &'static str, long: &'static str) -> Row {
    Row { name, short, valued, long }
}

/// Known programs. Any other program or option may change something.
const PROGRAMS: &[Row] = &[
    row("[", "abcdefghkLnOprsSuwxzG", "", ""),
    row("basename", "az", "s", "multiple suffix zero"),
    row("cat", "AbeEnstTv", "", "number number-nonblank show-all show-ends show-tabs"),
    row("cmp", "bls", "in", "bytes print-bytes silent quiet verbose"),
    row("cut", "nsz", "bcdf", "bytes characters delimiter fields only-delimited"),
    row("diff", "abBiNqrswyuc0123456789", "UCx", "brief recursive unified color exclude"),
    row("dirname", "z", "", "zero"),
    row("du", "0abchklmsSxD", "dB", "all human-readable max-depth summarize total"),
    row("echo", "eEn", "", ""),
    row("file", "bhikLNrs0", "", "brief mime mime-type mime-encoding dereference"),
    row("grep", "abcEFGhHiIlLnoPqrRsvwxyzTUZ0123456789", "ABCmefdD", GREP),
    row("head", "qvz0123456789", "nc", "bytes lines quiet silent verbose"),
    row("ls", "1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ", "wTI", LS),
    row("nl", "p", "bdfhilnsvw", "body-numbering number-format number-width"),
    row("pwd", "LP", "", "logical physical"),
    row("readlink", "efmnqsvz", "", "canonicalize canonicalize-existing no-newline"),
    row("realpath", "eLmPqsz", "", "canonicalize-existing relative-to relative-base strip"),
    row("rg", "acFiIlLnNoPqsStTuUvwxH.0", "ABCeEgjmMtT", RG),
    row("sha256sum", "bctwz", "", "check binary text quiet status"),
    row("stat", "Lft", "c", "dereference file-system format printf terse"),
    row("tail", "qvz0123456789", "nc", "bytes lines quiet silent verbose"),
    row("test", "abcdefghkLnOprsSuwxzG", "", ""),
    row("uname", "aimnoprsv", "", "all machine kernel-release"),
    row("wc", "clLmw", "", "bytes chars lines words max-line-length"),
    row("which", "a", "", "all"),
];

const GREP: &str = "after-context before-context binary-files byte-offset color colour context count exclude exclude-dir \
    extended-regexp files-with-matches files-without-match fixed-strings ignore-case include \
    invert-match line-number line-regexp max-count no-filename no-messages only-matching perl-regexp \
    quiet recursive regexp text with-filename word-regexp";

const LS: &str = "all almost-all classify color directory file-type format full-time group-directories-first \
    human-readable inode recursive reverse size sort time time-style";

/// Options of ripgrep, without `--pre`, `--hostname-bin` and `--search-zip`, which start programs.
const RG: &str = "after-context before-context case-sensitive color column context count count-matches files \
    files-with-matches files-without-match fixed-strings glob heading hidden iglob ignore-case \
    invert-match json line-number max-count max-depth multiline no-filename no-heading no-ignore \
    no-line-number no-messages only-matching regexp smart-case sort sortr stats type type-not \
    with-filename word-regexp";

/// Subcommands of git. `--output`, `--ext-diff`, `-O` and settings (`git -c`) are not included.
const GIT: &[Row] = &[
    row("blame", "bcefnpstw", "CLM", "date line-porcelain porcelain show-email show-name"),
    row("describe", "", "", "abbrev all always dirty long tags"),
    row("diff", "abpRsuwz", "MSGU", CHANGES),
    row("log", "abpsuwz0123456789", "GLMSUn", CHANGES),
    row("ls-files", "cdkmostvz", "x", "cached deleted exclude-standard modified others stage"),
    row("rev-list", "0123456789", "n", "all count max-count since until"),
    row("rev-parse", "", "", "abbrev-ref short show-toplevel show-prefix verify"),
    row("shortlog", "censw", "", "email numbered summary"),
    row("show", "abpsuwz", "GMSU", CHANGES),
    row("status", "bsvz", "u", "branch ignored long porcelain short untracked-files"),
];

const CHANGES: &str = "abbrev-commit after all author before branches cached color committer date decorate diff-filter \
    first-parent follow format graph grep ignore-all-space ignore-space-change max-count merge-base \
    merges name-only name-status no-color no-ext-diff no-merges no-patch no-textconv numstat oneline \
    patch pretty raw remotes reverse shortstat since skip staged stat summary tags unified until \
    word-diff";

/// Options of `git branch` that list.
const BRANCH: &[&str] =
    &["--all", "--list", "--remotes", "--show-current", "--verbose", "-a", "-l", "-r", "-v", "-vv"];

/// Returns whether a command certainly only reads, because its program and each of its options are on a list.
///
/// The program must be named without a path. The caller must ensure that the name leads to the program of the system.
///
/// ```
/// use brigade_cmdline::{Argv, only_reads};
///
/// assert!(only_reads(&Argv::parse("git log --oneline -n 5")?));
/// assert!(!only_reads(&Argv::parse("git log --output=a.txt")?));
/// assert!(!only_reads(&Argv::parse("sort -o a.txt b.txt")?));
/// # Ok::<(), brigade_cmdline::argv::InvalidCommand>(())
/// ```
pub fn only_reads(argv: &Argv) -> bool {
    match (argv.program(), argv.args()) {
        ("git", args) => {
            let args = if args.first().is_some_and(|word| word == "--no-pager") { &args[1..] } else { args };
            match args.split_first() {
                Some((name, args)) if name == "branch" => lists_branches(args),
                Some((name, args)) => row_of(GIT, name).is_some_and(|row| knows(row, args)),
                None => false,
            }
        }
        (name, args) => row_of(PROGRAMS, name).is_some_and(|row| knows(row, args)),
    }
}

fn row_of(rows: &'static [Row], name: &str) -> Option<&'static Row> {
    rows.iter().find(|row| row.name == name)
}

/// Returns whether a row has all options among these words.
fn knows(row: &Row, args: &[String]) -> bool {
    let options = args.iter().take_while(|word| *word != "--");
    options.filter(|word| word.len() > 1 && word.starts_with('-')).all(|word| match word.strip_prefix("--") {
        Some(long) => row.long.split(' ').any(|known| Some(known) == long.split('=').next()),
        None => {
            // The rest of the word after an option with a value is the value.
            let mut letters = word[1..].chars();
            letters.by_ref().take_while(|c| !row.valued.contains(*c)).all(|c| row.short.contains(c))
        }
    })
}

/// Returns whether `git branch` with these words only lists.
fn lists_branches(args: &[String]) -> bool {
    let is_option = |word: &&String| word.starts_with('-');
    let lists = args.iter().any(|word| word == "--list" || word == "-l");
    args.iter().filter(is_option).all(|word| BRANCH.contains(&word.as_str()))
        && (lists || args.iter().all(|word| word.starts_with('-')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expect: bool, commands: &[&str]) {
        for command in commands {
            assert_eq!(only_reads(&Argv::parse(command).unwrap()), expect, "{command}");
        }
    }

    #[test]
    fn listed_commands_only_read() {
        check(
            true,
            &[
                "ls",
                "ls -la --color=never src",
                "cat -n a.txt -- --odd",
                "head -5 a.txt",
                "head -n 5 a.txt",
                "tail -n+3 a.txt",
                "grep -rn -A3 'x|y' src --include=*.rs",
                "rg -tpy --hidden x",
                "wc -l a.txt",
                "stat -c %s a.txt",
                "git status --short",
                "git --no-pager log -n5 --oneline -- a.txt",
                "git diff --cached --stat",
                "git show HEAD~1",
                "git branch",
                "git branch --list 'x*'",
                "git branch -vv",
            ],
        );
    }

    #[test]
    fn commands_that_may_write_or_start_are_not_reads() {
        check(
            false,
            &[
                "sort -o a.txt b.txt",
                "find . -delete",
                "find . -fprint a.txt",
                "find . -exec ls {} +",
                "sed -i s/a/b/ a.txt",
                "git log --output=a.txt",
                "git diff --output a.txt",
                "git log --outp=a.txt",
                "git diff --ext-diff",
                "git grep -Oless x",
                "git -c core.pager=x log",
                "git -C dir log",
                "git branch x",
                "git branch -D x",
                "git branch --list -d x",
                "git commit -m x",
                "git",
                "rg --pre ./x y",
                "rg --hostname-bin=./x y",
                "rg -z x",
                "file -C -m a",
                "file -z a",
                "./ls",
                "/tmp/ls",
                "env ls",
                "timeout 5 ls",
                "tail -f a.txt",
                "tree -o a.txt",
                "python3 a.py",
            ],
        );
    }
}
