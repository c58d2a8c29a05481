//! `brigade complete`: what a shell offers for the word that is being typed.
//!
//! The scripts of `brigade completions` ask for it at each press of Tab, so the words fit the workspace.

mod values;

use std::path::PathBuf;

use brigade::Exit;
use clap::{Arg, Args, Command};

use crate::arguments::Globals;
use crate::output::Output;
use crate::session::Session;
use crate::surroundings::Surroundings;

/// Print what can follow on a command line
#[derive(Args, Debug)]
pub(crate) struct CompleteArgs {
    /// Words after the program name; the last one is being typed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Prints one candidate per line, with its description after a tab. Without any, the shell offers files.
pub(crate) fn run(
    arguments: &CompleteArgs,
    globals: &Globals,
    surroundings: &Surroundings,
    output: &mut Output<'_, '_>,
) -> Exit {
    let mut root = crate::command();
    root.build();
    let Some((typed, before)) = arguments.words.split_last() else { return Exit::Done };
    let position = Position::find(&root, before);
    let target = position.target.clone().or_else(|| globals.target.clone());
    let globals = Globals { target, ..globals.clone() };
    let session = Session::new(&globals, surroundings);
    let candidates = position.candidates(typed, &|kind| values::list(kind, &session));
    let mut text = String::new();
    for Candidate { word, description } in candidates {
        let line = if description.is_empty() { word } else { format!("{word}\t{description}") };
        text.push_str(line.lines().next().unwrap_or_default());
        text.push('\n');
    }
    output.text(&text)
}

/// A word that a shell may offer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    word: String,
    description: String,
}

impl Candidate {
    fn new(word: impl Into<String>, description: impl Into<String>) -> Candidate {
        Candidate { word: word.into(), description: description.into() }
    }
}

/// Where on the command line the typed word is.
struct Position<'c> {
    command: &'c Command,
    /// The names of the commands, without the program.
    path: Vec<&'c str>,
    /// The option whose value is typed.
    option: Option<&'c Arg>,
    /// The positional arguments before the typed word.
    positional: Vec<String>,
    /// Whether options may still follow.
    has_options: bool,
    /// The workspace that the line names.
    target: Option<PathBuf>,
}

impl<'c> Position<'c> {
    fn find(root: &'c Command, words: &[String]) -> Position<'c> {
        let mut at = Position {
            command: root,
            path: Vec::new(),
            option: None,
            positional: Vec::new(),
            has_options: true,
            target: None,
        };
        for word in words {
            at.pass(word);
        }
        at
    }

    /// Passes a whole word.
    fn pass(&mut self, word: &str) {
        if let Some(option) = self.option.take() {
            self.note_target(option, word);
        } else if self.has_options && word == "--" {
            self.has_options = false;
        } else if self.has_options && word.len() > 1 && word.starts_with('-') {
            let (option, value) = self.option_of(word);
            match value {
                Some(value) => option.into_iter().for_each(|option| self.note_target(option, value)),
                None => self.option = option.filter(|option| option.get_action().takes_values()),
            }
        } else if let Some(next) = self.command.find_subcommand(word).filter(|_| self.positional.is_empty()) {
            self.command = next;
            self.path.push(next.get_name());
        } else {
            self.positional.push(word.to_owned());
        }
    }

    /// Returns the option of a word, and the value in the word.
    fn option_of<'w>(&self, word: &'w str) -> (Option<&'c Arg>, Option<&'w str>) {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            return (self.command.get_arguments().find(|arg| arg.get_long() == Some(name)), value);
        }
        // Of several short options, only the last may have a value.
        let short = word.chars().last();
        (self.command.get_arguments().find(|arg| arg.get_short().is_some() && arg.get_short() == short), None)
    }

    fn note_target(&mut self, option: &Arg, value: &str) {
        if option.get_id() == "target" {
            self.target = Some(PathBuf::from(value));
        }
    }

    /// Returns what can stand in place of the typed word. `dynamic` lists values that depend on the workspace.
    fn candidates(&self, typed: &str, dynamic: &dyn Fn(values::Kind) -> Vec<Candidate>) -> Vec<Candidate> {
        let mut found = Vec::new();
        let mut prefix = String::new();
        if let Some(option) = self.option {
            prefix = before_last(option, typed).to_owned();
            found = self.values(option, dynamic);
        } else if self.has_options
            && typed.starts_with("--")
            && let (Some(option), Some(value)) = self.option_of(typed)
        {
            prefix = typed[..typed.len() - value.len()].to_owned() + before_last(option, value);
            found = self.values(option, dynamic);
        } else if self.has_options && typed.starts_with('-') {
            let options = self.command.get_arguments().filter(|arg| !arg.is_hide_set());
            found.extend(options.filter_map(|arg| {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                Some(Candidate::new(format!("--{}", arg.get_long()?), help))
            }));
        } else {
            if self.positional.is_empty() {
                let commands = self.command.get_subcommands().filter(|command| !command.is_hide_set());
                found.extend(commands.map(|command| {
                    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                    Candidate::new(command.get_name(), about)
                }));
            }
            if let Some(arg) = self.positional_arg() {
                found.extend(self.values(arg, dynamic));
            }
        }
        found.iter_mut().for_each(|candidate| candidate.word.insert_str(0, &prefix));
        found.retain(|candidate| candidate.word.starts_with(typed));
        found
    }

    /// Returns the positional argument that is typed. The last one may take several words.
    fn positional_arg(&self) -> Option<&'c Arg> {
        let args: Vec<&Arg> = self.command.get_positionals().collect();
        let takes_several = |arg: &&&Arg| arg.get_num_args().is_some_and(|range| 1 < range.max_values());
        let several = args.last().filter(takes_several);
        args.get(self.positional.len()).or(several).copied()
    }

    fn values(&self, arg: &Arg, dynamic: &dyn Fn(values::Kind) -> Vec<Candidate>) -> Vec<Candidate> {
        let listed = arg.get_possible_values();
        if !listed.is_empty() {
            let shown = listed.iter().filter(|value| !value.is_hide_set());
            return shown
                .map(|value| {
                    let help = value.get_help().map(ToString::to_string).unwrap_or_default();
                    Candidate::new(value.get_name(), help)
                })
                .collect();
        }
        let name = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
        values::kinds(&self.path, name).into_iter().flat_map(dynamic).collect()
    }
}

/// Returns the part of a list of values before the last one.
fn before_last<'v>(option: &Arg, typed: &'v str) -> &'v str {
    let after = |delimiter| typed.rfind(delimiter).map_or(0, |at| at + 1);
    &typed[..option.get_value_delimiter().map_or(0, after)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completes a line, with the name of the kind instead of the values of the workspace.
    #[track_caller]
    fn check(line: &str, expect: &[&str]) {
        let mut root = crate::command();
        root.build();
        let words: Vec<String> = line.split(' ').skip(1).map(str::to_owned).collect();
        let (typed, before) = words.split_last().unwrap();
        let position = Position::find(&root, before);
        let dynamic = |kind: values::Kind| vec![Candidate::new(format!("{kind:?}"), "")];
        let found = position.candidates(typed, &dynamic);
        let words: Vec<&str> = found.iter().map(|candidate| candidate.word.as_str()).collect();
        assert_eq!(words, expect, "{line}");
    }

    #[test]
    fn each_place_offers_what_fits() {
        check("brigade too", &["tools"]);
        check("brigade tools poli", &["policy"]);
        check("brigade tools call approve ", &["OpenCalls"]);
        check("brigade tools call run ", &["ApprovedCalls"]);
        check("brigade tools call show ", &["Calls"]);
        check("brigade tools call plan --quie", &["--quiet"]);
        check("brigade --color ", &["auto", "always", "never"]);
        check("brigade --color=al", &["--color=always"]);
        check("brigade -t dir tools show ", &["Tools"]);
        check("brigade tools policy explain x --as ", &["Agents"]);
        check("brigade tools call queue --args ", &[]);
        check("brigade approve ", &["OpenCalls", "Tools"]);
        check("brigade approve x ", &["OpenCalls", "Tools"]);
        check("brigade log --agent ", &["Agents"]);
        check("brigade log --tool ", &["Tools"]);
        check("brigade why ", &["Calls", "Runs"]);
        check("brigade show ", &["Calls", "Runs", "Tools", "Agents", "Runtimes", "Prds", "Tasks"]);
        check("brigade status ", &["Prds"]);
        check("brigade kitchen log ", &["Tasks", "Prds"]);
        check("brigade kitchen log calc ", &["Tasks"]);
        check("brigade service a ", &["Prds"]);
        check("brigade tools runtime stop ", &["Runtimes"]);
        check("brigade setup --agents ", &["Programs"]);
        check("brigade setup --servers git,S", &["git,Servers"]);
        check("brigade setup --servers=git,S", &["--servers=git,Servers"]);
        check("brigade add ", &["Servers"]);
        check("brigade tools connect ", &["Programs"]);
        check("brigade nonsense ", &[]);
    }

    #[test]
    fn the_workspace_of_the_line_is_used() {
        let mut root = crate::command();
        root.build();
        for line in ["-t x tools show", "tools --target=x show", "tools show --target x"] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(Position::find(&root, &words).target, Some(PathBuf::from("x")), "{line}");
        }
    }
}
