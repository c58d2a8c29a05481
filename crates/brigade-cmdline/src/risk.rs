//! Judges whether a command line is too risky to run.
//!
//! [`judge`] examines words, not text. It looks through wrappers such as `env` or `timeout` to find the program that
//! runs, and parses its options like that program. So it finds `bash -lc …` and `rm -r -f …` in any spelling, but not
//! `echo sudo` or `git commit -m 'rm -rf /'`. It parses the text given to a shell roughly like the shell, and judges
//! the commands in it.
//!
//! Words that are only shell syntax (`|`, `;`, `&&`) also separate commands. No shell reads them, but the author of
//! `curl … | sh` intended a pipe.
//!
//! This helps the person who reviews a command. It is not protection: a script may still do anything.
//!
//! | code | whom it helps |
//! | --- | --- |
//! | `shell-text` | the reviewer sees one word where a shell, or an option of another program, runs many commands |
//! | `inline-code` | the reviewer reads a program in the command line, where nothing shows its lines |
//! | `privilege` | the reviewer learns that the command requests another user's rights |
//! | `forced-removal` | the reviewer learns that a directory is removed without confirmation |
//! | `pipe-into-interpreter` | the author learns that no shell reads the pipe, the reviewer that it was intended |
//! | `standard-input` | the reviewer learns that the executed code is not in the command at all |
//! | `downloaded-code` | the reviewer learns that the executed code is not on this machine yet |
//! | `not-judged` | the reviewer learns that the command holds more commands than are looked at |

mod device;
mod git;
mod hook;
mod linked;
mod options;
mod shell_text;
mod starts;
mod wrapper;

use std::fmt;
use std::path::PathBuf;

use crate::argv::Argv;
use crate::programs::{DOWNLOADERS, Program, Role, base_name};

pub use device::raw_devices;
pub(crate) use hook::code_values;
pub use linked::behind_links;
pub(crate) use options::LOADING;
use shell_text::is_separator;
pub use starts::{StartedCommand, started_commands};
pub(crate) use wrapper::{Inner, PlacedWords, find_commands, look_through, wrapped};

/// One reason why a command line is high-risk.
///
/// `word` is the position of the relevant word, counted from 0, which is the program. For a risk in the text of a
/// shell, it is the word with the text. A risk names only programs from a fixed list, and never quotes an argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Risk {
    /// A shell gets its commands as text.
    ShellText {
        /// The position of the option.
        word: usize,
        /// The shell.
        program: &'static str,
    },
    /// An interpreter gets its program as text.
    ///
    /// In a reviewed command the text can be read, so a policy may allow it. [`inline_code`] distinguishes such text
    /// from text that arguments supply.
    InlineCode {
        /// The position of the option or of the code.
        word: usize,
        /// The position of the last word that may contain code; `usize::MAX` if the command line ends before it.
        end: usize,
        /// The interpreter.
        program: &'static str,
    },
    /// A program requests the rights of another user.
    Privilege {
        /// The position of the program.
        word: usize,
        /// The program that gives the rights.
        program: &'static str,
    },
    /// Files are removed recursively without confirmation.
    ForcedRemoval {
        /// The position of the program.
        word: usize,
    },
    /// Output of another command is piped into a shell or interpreter.
    PipeIntoInterpreter {
        /// The position of the shell or interpreter, or of the text with the pipe.
        word: usize,
        /// The shell or interpreter.
        program: &'static str,
    },
    /// A shell or interpreter reads its commands from standard input.
    StandardInput {
        /// The position of the word that says so, or of the program if it has neither script nor code.
        word: usize,
        /// The shell, interpreter, or program that would start one.
        program: &'static str,
    },
    /// A download is run, with `eval "$(…)"`, `bash <(…)` or similar.
    DownloadedCode {
        /// The position of the word with the download.
        word: usize,
        /// The program that downloads.
        program: &'static str,
    },
    /// The command line holds more commands than are judged.
    NotJudged {
        /// The position of the first word that was not judged.
        word: usize,
    },
}

impl Risk {
    /// Returns the stable code of the kind of risk.
    pub fn code(&self) -> &'static str {
        match self {
            Risk::ShellText { .. } => "shell-text",
            Risk::InlineCode { .. } => "inline-code",
            Risk::Privilege { .. } => "privilege",
            Risk::ForcedRemoval { .. } => "forced-removal",
            Risk::PipeIntoInterpreter { .. } => "pipe-into-interpreter",
            Risk::StandardInput { .. } => "standard-input",
            Risk::DownloadedCode { .. } => "downloaded-code",
            Risk::NotJudged { .. } => "not-judged",
        }
    }

    /// Returns the position of the relevant word, counted from 0.
    pub fn word(&self) -> usize {
        match self {
            Risk::ShellText { word, .. }
            | Risk::InlineCode { word, .. }
            | Risk::Privilege { word, .. }
            | Risk::ForcedRemoval { word }
            | Risk::NotJudged { word }
            | Risk::PipeIntoInterpreter { word, .. }
            | Risk::StandardInput { word, .. }
            | Risk::DownloadedCode { word, .. } => *word,
        }
    }
}

/// A sentence for people, without a final period. Words are counted from 1, which is the program.
impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word() + 1;
        match self {
            Risk::ShellText { program, .. } => {
                write!(f, "word {word} gives `{program}` its commands as text")
            }
            Risk::InlineCode { program, .. } => {
                write!(f, "word {word} gives `{program}` its program as text")
            }
            Risk::Privilege { program, .. } => {
                write!(f, "word {word} asks for another user's rights with `{program}`")
            }
            Risk::ForcedRemoval { .. } => write!(f, "word {word} removes recursively and without asking"),
            Risk::PipeIntoInterpreter { program, .. } => {
                write!(f, "word {word} pipes output into `{program}`")
            }
            Risk::StandardInput { program, .. } => {
                write!(f, "word {word} lets `{program}` read its commands from standard input")
            }
            Risk::DownloadedCode { program, .. } => {
                write!(f, "word {word} runs what `{program}` downloads")
            }
            Risk::NotJudged { .. } => {
                write!(f, "word {word} and later ones hold more commands than are judged")
            }
        }
    }
}

/// Lists all risks of a command line, in the order of its words.
///
/// ```
/// use brigade_cmdline::argv::Argv;
/// use brigade_cmdline::risk::judge;
///
/// let codes = |command: &str| judge(&Argv::parse(command).unwrap()).iter().map(|r| r.code()).collect::<Vec<_>>();
/// assert_eq!(codes("timeout 5 bash -lc 'make'"), ["shell-text"]);
/// assert!(codes("git commit -m 'rm -rf /'").is_empty());
/// ```
pub fn judge(argv: &Argv) -> Vec<Risk> {
    let mut risks = Reading::new(argv.words()).risks;
    // After a pipe, standard input is the pipe.
    let piped: Vec<usize> =
        risks.iter().filter(|r| matches!(r, Risk::PipeIntoInterpreter { .. })).map(Risk::word).collect();
    risks.retain(|risk| !(matches!(risk, Risk::StandardInput { .. }) && piped.contains(&risk.word())));
    risks.sort_by_key(Risk::word);
    let mut seen = std::collections::HashSet::new();
    risks.retain(|risk| seen.insert(risk.clone()));
    risks
}

/// Returns the risks that are inline code in the first words of a command line, which a reviewed file contains. Code
/// that later words supply or continue is not included.
///
/// ```
/// use brigade_cmdline::argv::Argv;
/// use brigade_cmdline::risk::{inline_code, judge};
///
/// let of_file = |command: &str, words| inline_code(&judge(&Argv::parse(command).unwrap()), words).count();
/// assert_eq!(of_file("python3 -c 'print(1)' name", 3), 1);
/// assert_eq!(of_file("python3 -c 'print(1)'", 2), 0);
/// ```
pub fn inline_code(risks: &[Risk], words: usize) -> impl Iterator<Item = &Risk> {
    risks.iter().filter(move |risk| matches!(risk, Risk::InlineCode { end, .. } if *end < words))
}

/// A command that a command line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StartedWords {
    /// Its words.
    pub(crate) words: Vec<String>,
    /// The working directory, if wrappers change it, relative to that of the command line.
    pub(crate) directory: PathBuf,
    /// How certain it is.
    pub(crate) certainty: Certainty,
}

/// How certain it is that a command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// It certainly starts, and finds files like the command line.
    Certain,
    /// It starts, but may have another root or working directory.
    Moved,
    /// Words after a launcher that may be a command.
    Guessed,
}

/// A word, and the position of its source word in the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) at: usize,
}

pub(crate) fn numbered(words: &[String]) -> Vec<Word> {
    words.iter().enumerate().map(|(at, text)| Word { text: text.clone(), at }).collect()
}

/// The maximum nesting of texts and wrappers.
const MAX_DEPTH: usize = 16;

/// How many words after a launcher are tried as the start of a command.
const MAX_SUFFIXES: usize = 256;

/// How many words are judged, counted again for each command that they may belong to. Nested commands would otherwise
/// take time in the square of their words.
const MAX_JUDGED_WORDS: usize = 100_000;

/// How many bytes of a shell's text count as one word.
const BYTES_PER_WORD: usize = 4;

/// Whether a command starts here, or may start here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandSearch {
    OneCommand,
    EverySuffix,
}

/// The analysis of a command line: what it starts, and its risks.
struct Reading {
    risks: Vec<Risk>,
    started: Vec<StartedWords>,
    /// The working directory and certainty of the next command.
    directory: PathBuf,
    certainty: Certainty,
    depth: usize,
    trying: CommandSearch,
    /// How many more words are judged.
    left: usize,
}

impl Reading {
    fn new(words: &[String]) -> Reading {
        let mut reading = Reading {
            risks: Vec::new(),
            started: Vec::new(),
            directory: PathBuf::new(),
            certainty: Certainty::Certain,
            depth: 0,
            trying: CommandSearch::OneCommand,
            left: MAX_JUDGED_WORDS,
        };
        reading.words(&numbered(words));
        reading
    }

    /// Judges words, some of which may be shell syntax.
    fn words(&mut self, words: &[Word]) {
        let mut rest = words;
        let mut piped = false;
        loop {
            let cut = rest.iter().position(|word| is_separator(&word.text)).unwrap_or(rest.len());
            self.command(&rest[..cut]);
            if piped {
                self.pipe_target(&rest[..cut]);
            }
            let Some(separator) = rest.get(cut) else { break };
            piped = matches!(separator.text.as_str(), "|" | "|&");
            rest = &rest[cut + 1..];
        }
        // No shell splits the words of a command line.
        if self.depth == 0 && wrapper::has_values_like_separators(words) {
            let known = self.risks.len();
            self.command(words);
            let found = self.risks.split_off(known);
            self.risks.extend(
                found.into_iter().filter(|risk| !self.risks[..known].contains(risk)).collect::<Vec<_>>(),
            );
        }
        // `curl … |sh` splits to a word `|sh`.
        for word in words.iter().skip(1) {
            if let Some(name) = word.text.strip_prefix('|')
                && let Some(program) = Program::from_word(name).and_then(Program::interpreter)
            {
                self.risks.push(Risk::PipeIntoInterpreter { word: word.at, program });
            }
        }
    }

    /// Returns whether so many words may be judged, and counts them.
    fn may_judge(&mut self, words: usize, first: Option<&Word>) -> bool {
        match self.left.checked_sub(words) {
            Some(left) => self.left = left,
            None if self.left == 0 => return false,
            None => {
                self.left = 0;
                self.risks.push(Risk::NotJudged { word: first.map_or(0, |word| word.at) });
                return false;
            }
        }
        true
    }

    /// Judges one command: its program, or the program that a wrapper runs.
    fn command(&mut self, words: &[Word]) {
        if MAX_DEPTH <= self.depth || !self.may_judge(words.len(), words.first()) {
            return;
        }
        self.depth += 1;
        // Words that are only tried after a launcher may not be a command.
        if self.trying == CommandSearch::OneCommand && !words.is_empty() {
            self.started.push(StartedWords {
                words: words.iter().map(|word| word.text.clone()).collect(),
                directory: self.directory.clone(),
                certainty: self.certainty,
            });
        }
        self.program(words);
        self.depth -= 1;
    }

    /// Judges a command that another one certainly runs, possibly in another place.
    fn moved_command(&mut self, words: &[Word]) {
        let before = self.certainty;
        if before == Certainty::Certain {
            self.certainty = Certainty::Moved;
        }
        self.command(words);
        self.certainty = before;
    }

    fn program(&mut self, words: &[Word]) {
        let Some((head, args)) = words.split_first() else { return };
        self.hooks(head, args);
        let Some(known) = Program::from_word(&head.text) else { return };
        let program = known.name;
        match known.role() {
            Role::Shell => {
                if let Some(found) = options::shell_text(program, args) {
                    self.risks.push(Risk::ShellText { word: args[found.option].at, program });
                    for text in found.texts {
                        self.shell_text(&text);
                    }
                } else {
                    self.standard_input(head, known, args);
                }
                self.process_substitutions(args);
            }
            Role::Interpreter => {
                let texts = options::inline_code(program, args);
                self.risks.extend(texts.iter().map(|text| {
                    let word = args[text.option].at;
                    // If the text is missing, the next argument would become the text.
                    let end = args.get(text.end).map_or(usize::MAX, |last| last.at);
                    Risk::InlineCode { word, end, program }
                }));
                if let Some(text) = options::command_text(program, args) {
                    self.risks.push(Risk::ShellText { word: args[text].at, program });
                } else if texts.is_empty() {
                    self.standard_input(head, known, args);
                }
                self.process_substitutions(args);
            }
            // `sg` is also the name of ast-grep, which has subcommands instead of a group.
            Role::Privilege if program == "sg" && args.first().is_none_or(|word| is_ast_grep(&word.text)) => {
            }
            Role::Privilege => {
                self.risks.push(Risk::Privilege { word: head.at, program });
                self.any_suffix(args);
            }
            Role::Remove => {
                if options::removes_by_force(args) {
                    self.risks.push(Risk::ForcedRemoval { word: head.at });
                }
            }
            Role::Eval => self.process_substitutions(args),
            Role::Launcher if program == "start-stop-daemon" => self.any_suffix(&wrapper::of_daemon(args)),
            Role::Launcher | Role::Container => {
                if program == "tmux" {
                    let texts =
                        args.iter().filter(|word| word.text.len() > 1 && wrapper::needs_a_shell(&word.text));
                    self.risks.extend(texts.map(|text| Risk::ShellText { word: text.at, program }));
                }
                self.any_suffix(args);
            }
            Role::Subcommands(names) => {
                if let Some(launched) = wrapper::launched(known, names, args) {
                    self.any_suffix(launched);
                }
            }
            Role::Git => self.git(head, args),
            Role::Find => {
                if wrapper::find_removes(args) {
                    self.risks.push(Risk::ForcedRemoval { word: head.at });
                }
                for inner in find_commands(args) {
                    if inner.first().is_some_and(|word| !removes(&word.text)) {
                        self.moved_command(inner);
                    }
                }
            }
            Role::Wrapper { .. } => self.wrapper(head, known, args),
            Role::Other => {}
        }
    }

    fn git(&mut self, head: &Word, args: &[Word]) {
        for runs in git::git_runs(args) {
            match runs {
                git::GitRuns::Text(text) => {
                    self.risks.push(Risk::ShellText { word: text.at, program: "git" });
                    self.shell_text(&text);
                }
                git::GitRuns::Words(words) => self.moved_command(&words),
                git::GitRuns::Removes => self.risks.push(Risk::ForcedRemoval { word: head.at }),
            }
        }
    }

    fn wrapper(&mut self, head: &Word, known: Program, args: &[Word]) {
        match look_through(known, args) {
            Inner::Command { words, directory } => {
                if known.name == "setpriv"
                    && let Some(word) = wrapper::setpriv_option(args)
                {
                    self.risks.push(Risk::Privilege { word, program: "setpriv" });
                }
                let before = (self.directory.clone(), self.certainty);
                self.directory.push(directory);
                if wrapper::moves(known) && self.certainty == Certainty::Certain {
                    self.certainty = Certainty::Moved;
                }
                self.command(&words);
                (self.directory, self.certainty) = before;
            }
            Inner::Shell => {
                self.risks.push(Risk::StandardInput { word: head.at, program: known.name });
            }
            Inner::ShellText { option, program, text } => {
                if let Some(option) = option {
                    self.risks.push(Risk::ShellText { word: option, program });
                }
                self.shell_text(&text);
            }
            Inner::Unread | Inner::Nothing => {}
        }
    }

    /// Records what a program runs because of its options.
    fn hooks(&mut self, head: &Word, args: &[Word]) {
        for hooked in hook::hooked(&head.text, args) {
            match hooked {
                hook::OptionCommand::ShellText { option, program, text } => {
                    self.risks.push(Risk::ShellText { word: option, program });
                    self.shell_text(&text);
                }
                hook::OptionCommand::Command(text) => self.shell_text(&text),
                // It starts nothing on this machine.
                hook::OptionCommand::Remote(text) => {
                    let before = self.started.len();
                    self.shell_text(&text);
                    self.started.truncate(before);
                }
                hook::OptionCommand::InlineCode { word, end, program } => {
                    self.risks.push(Risk::InlineCode { word, end, program });
                }
                hook::OptionCommand::StandardInput { word, program } => {
                    self.risks.push(Risk::StandardInput { word, program });
                }
            }
        }
    }

    /// Records a shell or interpreter that reads its commands from standard input.
    ///
    /// After a launcher, a word that is only the name of a shell may have another meaning.
    fn standard_input(&mut self, head: &Word, known: Program, args: &[Word]) {
        let program = known.name;
        let is_asked = |word: &&Word| matches!(word.text.as_str(), "-" | "-s" | "/dev/stdin");
        let asked = args.iter().find(is_asked);
        // The effect of an unknown interpreter option cannot be determined.
        let is_unknown =
            known.role() == Role::Interpreter && args.iter().any(|word| word.text.starts_with("--"));
        if options::only_informs(args)
            || asked.is_none() && is_unknown
            || asked.is_none() && self.trying == CommandSearch::EverySuffix
            || !options::reads_program_from_stdin(program, args)
        {
            return;
        }
        self.risks.push(Risk::StandardInput { word: asked.map_or(head.at, |word| word.at), program });
    }

    /// Judges every word as the start of a command, for programs with too many options to list.
    fn any_suffix(&mut self, args: &[Word]) {
        // Nesting this would find nothing new, because every suffix is tried anyway, and would have unbounded cost.
        if std::mem::replace(&mut self.trying, CommandSearch::EverySuffix) == CommandSearch::EverySuffix {
            return;
        }
        let certainty = std::mem::replace(&mut self.certainty, Certainty::Guessed);
        for from in 0..args.len().min(MAX_SUFFIXES) {
            if Program::from_word(&args[from].text).is_some_and(|known| !starts_what_follows(known)) {
                self.command(&args[from..]);
            }
            // `ssh host 'sudo reboot'` and `su -c 'rm -rf x'` pass a text.
            if args[from].text.contains(' ') {
                self.trying = CommandSearch::OneCommand;
                self.shell_text(&args[from]);
                self.trying = CommandSearch::EverySuffix;
            }
        }
        self.trying = CommandSearch::OneCommand;
        self.certainty = certainty;
    }

    /// Judges the text of a shell.
    fn shell_text(&mut self, text: &Word) {
        if MAX_DEPTH <= self.depth || !self.may_judge(text.text.len() / BYTES_PER_WORD, Some(text)) {
            return;
        }
        self.depth += 1;
        let certainty = self.certainty;
        if certainty == Certainty::Certain {
            self.certainty = Certainty::Moved;
        }
        let parsed = shell_text::parse(&text.text);
        for command in &parsed.commands {
            let words = command.words.iter().map(|word| Word { text: word.clone(), at: text.at });
            let words: Vec<Word> = words.collect();
            let words = wrapper::skip_shell_syntax(&words);
            self.command(words);
            if command.piped {
                self.pipe_target(words);
            }
        }
        for inner in parsed.substitutions {
            self.shell_text(&Word { text: inner, at: text.at });
        }
        self.certainty = certainty;
        self.depth -= 1;
    }

    /// Records a pipe into a shell or interpreter, also after wrappers.
    fn pipe_target(&mut self, words: &[Word]) {
        let mut words = words.to_vec();
        for _ in 0..MAX_DEPTH {
            let Some((head, args)) = words.split_first() else { return };
            let Some(known) = Program::from_word(&head.text) else { return };
            match known.role() {
                Role::Wrapper { .. } => match look_through(known, args) {
                    Inner::Command { words: inner, .. } => words = inner,
                    Inner::ShellText { .. } | Inner::Shell | Inner::Unread | Inner::Nothing => return,
                },
                Role::Privilege => words = wrapper::after_privilege(args),
                _ => {
                    if let Some(program) = known.interpreter()
                        && options::reads_program_from_stdin(program, args)
                    {
                        self.risks.push(Risk::PipeIntoInterpreter { word: head.at, program });
                    }
                    return;
                }
            }
        }
    }

    /// Records downloads in `$(…)`, backquotes and `<(…)` that are passed to something that runs them.
    fn process_substitutions(&mut self, args: &[Word]) {
        for word in args.iter().filter(|word| word.text.contains(['(', '`'])) {
            for inner in shell_text::parse(&word.text).substitutions {
                for command in shell_text::parse(&inner).commands {
                    for name in &command.words {
                        if let Some(program) = downloader(name) {
                            self.risks.push(Risk::DownloadedCode { word: word.at, program });
                        }
                    }
                }
            }
        }
    }
}

/// Returns whether a program only starts the command after it, so that trying each later word finds the same.
fn starts_what_follows(known: Program) -> bool {
    match known.role() {
        Role::Launcher | Role::Container | Role::Subcommands(_) | Role::Wrapper { .. } | Role::Other => true,
        Role::Shell | Role::Interpreter | Role::Privilege | Role::Remove => false,
        Role::Eval | Role::Find | Role::Git => false,
    }
}

/// Returns whether a program removes files.
fn removes(program: &str) -> bool {
    Program::from_word(program).is_some_and(|known| known.role() == Role::Remove)
}

/// Returns whether the first argument of `sg` belongs to ast-grep.
fn is_ast_grep(argument: &str) -> bool {
    let subcommands = ["completions", "help", "lsp", "new", "run", "scan", "test"];
    argument.starts_with('-') || subcommands.contains(&argument)
}

/// Returns the fixed name of a program that downloads.
fn downloader(program: &str) -> Option<&'static str> {
    let name = base_name(program);
    DOWNLOADERS.iter().copied().find(|entry| *entry == name)
}

#[cfg(test)]
mod tests;
