//! Usage errors, help and the version.

use std::error::Error as _;
use std::ffi::OsString;
use std::mem::ManuallyDrop;

use brigade::command::argv::Argv;
use brigade::core::{Json, UnknownWord, closest};
use brigade::records::typed_value;
use brigade::redact::Redactor;
use brigade::report::SchemaId;
use brigade::{Exit, Report};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};
use serde::{Deserialize, Serialize};

use crate::arguments::ColorWhen;
use crate::command_line::Arguments;
use crate::lazy;
use crate::output::{Output, Shape};
use crate::render::failure::ErrorReport;
use crate::surroundings::{Streams, Surroundings};
use crate::verbs;

/// Parses a command line. `brigade help tools call` is `brigade tools call --help`.
pub(crate) fn parse(words: &[OsString]) -> Result<Arguments, clap::Error> {
    let words = verbs::rearrange(words);
    lazy::sparing(&words, || parse_rearranged(&words)).or_else(|_| parse_rearranged(&words))
}

fn parse_rearranged(words: &[OsString]) -> Result<Arguments, clap::Error> {
    // This is never freed: the program is about to end, and freeing the tree takes as long as building it.
    let mut command = ManuallyDrop::new(Arguments::command());
    let matches = match words {
        [program, help, command_words @ ..] if help == "help" => {
            let help = OsString::from("--help");
            command.try_get_matches_from_mut([program].into_iter().chain(command_words).chain([&help]))
        }
        words => command.try_get_matches_from_mut(words),
    };
    let mut matches = ManuallyDrop::new(matches?);
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Returns whether a command line has `--json`, even if it does not parse.
pub(crate) fn wants_json(words: &[OsString]) -> bool {
    words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Prints help, the version or a usage error.
pub(crate) fn explain(
    trouble: &clap::Error,
    words: &[OsString],
    surroundings: &Surroundings,
    streams: &mut Streams<'_>,
) -> Exit {
    let no_pager = words.iter().any(|word| word == "--no-pager");
    let shape = Shape { json: wants_json(words), color: wanted_color(words), quiet: false, no_pager };
    let mut output = Output::new(shape, surroundings, streams);
    match trouble.kind() {
        ErrorKind::DisplayHelp => {
            let help = trouble.render();
            let text = if output.is_coloured() { help.ansi().to_string() } else { help.to_string() };
            output.text(&text)
        }
        ErrorKind::DisplayVersion if shape.json => output.document(&VersionReport::new(), Exit::Done),
        ErrorKind::DisplayVersion => output.text(&trouble.render().to_string()),
        _ => {
            let text = in_our_words(trouble, words, &trouble.render().to_string());
            let text = Redactor::new(&[]).redact_str(&text);
            if shape.json { output.document(&report(&text), Exit::Usage) } else { output.misuse(&text) }
        }
    }
}

/// Rewrites a message of clap so that it has one next step in our form: the probable correction, or the help of the
/// command.
fn in_our_words(trouble: &clap::Error, words: &[OsString], text: &str) -> String {
    const TIP: &str = "  tip: ";
    const TRAILER: &str = "For more information, try '--help'.";
    let kept = |line: &&str| !line.starts_with(TIP) && *line != TRAILER;
    let mut text = text.lines().filter(kept).collect::<Vec<_>>().join("\n").replace("\n\n\n", "\n\n");
    let is_error = text.starts_with("error: ");
    if !is_error {
        // Without a command, clap prints help instead of an error.
        return text;
    }
    let did_you_mean = |command: String| format!("did you mean `{command}`?");
    let tip = suggested_command(trouble, words)
        .map(did_you_mean)
        .or_else(|| only_in_v030(trouble, words))
        .or_else(|| nearest_word(trouble).map(did_you_mean))
        .unwrap_or_else(|| help_command(words));
    text.truncate(text.trim_end().len());
    match text.split_once("\n\n") {
        Some((first, rest)) => format!("{first}\n\n{TIP}{tip}\n\n{rest}\n"),
        None => format!("{text}\n\n{TIP}{tip}\n"),
    }
}

/// The commands of `brigade-cli` 0.30.0 that Brigade does not have.
const ONLY_IN_V030: &str = "add budgets care code daily evidence extras fleet governance guard handoff handoff-template \
    harness ingest init mcp memory model node operator outcome profiles projection receipts reconfigure roster route run \
    run-cloud runs scrub search security setup skills stations tokens update version";

/// The commands below `work` of `brigade-cli` 0.30.0 that Brigade does not have.
const ONLY_IN_V030_WORK: &str = "acceptance backup bootstrap claim closeout doctor end hooks import latest list next note \
    phases plan-promote plan-proposals plans ready reassign rebind-authority recap release resolve-target resume review \
    run scanners show start status sweep sweep-review sweep-show sweeps task tasks verify";

/// Explains a command that only `brigade-cli` 0.30.0 has.
fn only_in_v030(trouble: &clap::Error, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(typed)) = trouble.get(ContextKind::InvalidSubcommand) else { return None };
    let at = words.iter().position(|word| word == typed.as_str())?;
    let is_below_work = words[..at].iter().any(|word| word == "work");
    let (known, command) = match is_below_work {
        true => (ONLY_IN_V030_WORK, format!("work {typed}")),
        false => (ONLY_IN_V030, typed.clone()),
    };
    known.split_whitespace().any(|name| name == typed).then(|| {
        format!("`brigade {command}` is a command of brigade-cli 0.30.0; docs/switching.md lists what to use")
    })
}

/// Returns the known word that is most similar to the unknown one.
fn nearest_word(trouble: &clap::Error) -> Option<String> {
    let context = |kinds: &[ContextKind]| kinds.iter().find_map(|kind| trouble.get(*kind));
    let typed = context(&[
        ContextKind::InvalidSubcommand,
        // The invalid value of a known option.
        ContextKind::InvalidValue,
        ContextKind::InvalidArg,
    ]);
    let Some(ContextValue::String(typed)) = typed else { return None };
    let known = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
        ContextKind::ValidValue,
    ];
    let mut names: Vec<String> = Vec::new();
    for kind in known {
        match trouble.get(kind) {
            Some(ContextValue::String(name)) => names.push(name.clone()),
            Some(ContextValue::Strings(all)) => names.extend(all.iter().cloned()),
            _ => {}
        }
    }
    let unknown = trouble.source().and_then(|source| source.downcast_ref::<UnknownWord>());
    names.extend(unknown.iter().flat_map(|word| word.expected.split(", ")).map(str::to_owned));
    closest(typed, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns the command line that shows the help of the command that was typed.
fn help_command(words: &[OsString]) -> String {
    let mut command = Arguments::command();
    command.build();
    let mut typed = vec!["brigade"];
    let mut known = &command;
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        let Some(next) = known.find_subcommand(word) else { continue };
        typed.push(next.get_name());
        known = next;
    }
    let typed = typed.join(" ");
    format!("{typed} --help")
}

/// Returns the command line that was probably meant: the command in the right group, or arguments as JSON.
fn suggested_command(trouble: &clap::Error, words: &[OsString]) -> Option<String> {
    let context_word = |kind: ContextKind| match trouble.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let typed = |parts: &[&[&str]]| {
        let words = std::iter::once("brigade").chain(parts.concat()).map(str::to_owned).collect();
        Argv::new(words).ok().map(|argv| argv.to_string())
    };
    let place = |word: &str| words.iter().position(|typed| *typed == word);
    match trouble.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = context_word(ContextKind::InvalidSubcommand)?;
            let at = place(word)?;
            let (before, rest) = (&words[..at], &words[at + 1..]);
            if word == "help" {
                return typed(&[before, rest, &["--help"]]);
            }
            let mut command = Arguments::command();
            // Groups are built on demand.
            command.build();
            let groups = command.get_subcommands();
            // Leave out the words of the wrong group, but keep the options before them.
            let options: Vec<&str> = before.iter().filter(|word| word.starts_with('-')).copied().collect();
            // The command may be in a nested group.
            let is_deeper = 1 < before.len() - options.len();
            let has_values = options.iter().any(|word| !matches!(*word, "--json" | "--quiet" | "--verbose"));
            let mut groups = groups.filter(|_| !has_values && !is_deeper);
            match groups.find(|group| group.get_name() == word || group.find_subcommand(word).is_some())? {
                group if group.get_name() == word => typed(&[&options, &[word], rest]),
                group => typed(&[&options, &[group.get_name(), word], rest]),
            }
        }
        ErrorKind::UnknownArgument => {
            let word = context_word(ContextKind::InvalidArg)?;
            let at = place(word).filter(|_| !word.starts_with('-'))?;
            match words.as_slice() {
                ["tools", "call", "queue" | "plan", ..]
                    if word.starts_with('@') || word.ends_with(".json") =>
                {
                    let (file, rest) = (word.trim_start_matches('@'), &words[at + 1..]);
                    typed(&[&words[..at], &["--args-json", file], rest])
                }
                ["tools", "call", "queue" | "plan", ..] => {
                    let pairs = words[at..].iter().map(|word| word.split_once('='));
                    let pairs: Vec<(&str, &str)> = pairs.collect::<Option<_>>()?;
                    let args =
                        Json::object(pairs.into_iter().map(|(name, value)| (name, typed_value(value))));
                    typed(&[&words[..at], &["--args", &args.to_compact()]])
                }
                ["tools", "find", query @ ..] if query.iter().all(|word| !word.starts_with('-')) => {
                    typed(&[&["tools", "search", &query.join(" ")]])
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Converts a message of clap to a document: the first paragraph is the error, and tips are hints.
fn report(text: &str) -> ErrorReport {
    let first = text.split("\n\n").next().unwrap_or(text);
    let message = first.strip_prefix("error: ").unwrap_or(first);
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).map(str::to_owned);
    let usage =
        text.lines().filter_map(|line| line.strip_prefix("Usage: ")).map(|line| format!("usage: {line}"));
    match text.trim_start().starts_with("error: ") {
        true => ErrorReport::misuse(message, tips.chain(usage).collect()),
        // Without a command, clap prints help instead of an error.
        false => ErrorReport::misuse("a command is missing".to_owned(), usage.collect()),
    }
}

fn wanted_color(words: &[OsString]) -> ColorWhen {
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    let mut color = ColorWhen::Auto;
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        match value {
            Some("never") => color = ColorWhen::Never,
            Some("always") => color = ColorWhen::Always,
            Some(_) | None => {}
        }
    }
    color
}

/// `--version`.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct VersionReport {
    #[serde(deserialize_with = "VersionReport::read_schema")]
    schema: SchemaId,
    /// The program.
    name: String,
    /// Its version.
    version: String,
}

impl VersionReport {
    fn new() -> VersionReport {
        VersionReport {
            schema: VersionReport::SCHEMA,
            name: "brigade".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl Report for VersionReport {
    const SCHEMA: SchemaId = "brigade.version.v1";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn help_is_a_word_and_an_option() {
        let text = |line: &str| parse(&words(line)).unwrap_err().render().to_string();
        assert_eq!(text("brigade help tools call"), text("brigade tools call --help"));
        assert_eq!(text("brigade help"), text("brigade --help"));
        assert!(text("brigade help tools coll").contains("'coll'"));
    }

    /// Issue 13: a command in the wrong place was only refused.
    #[test]
    fn a_misplaced_command_gets_the_right_one_proposed() {
        for (line, command) in [
            ("brigade doctor", Some("brigade tools doctor")),
            ("brigade --json list", Some("brigade --json tools list")),
            ("brigade brief", Some("brigade work brief")),
            ("brigade call run --next", Some("brigade tools call run --next")),
            ("brigade tools work brief", Some("brigade work brief")),
            ("brigade tools help call", Some("brigade tools call --help")),
            (
                "brigade tools call queue words path=a.txt n=1",
                Some(r#"brigade tools call queue words --args '{"n":1,"path":"a.txt"}'"#),
            ),
            (
                "brigade tools call plan words @args.json",
                Some("brigade tools call plan words --args-json args.json"),
            ),
            (
                "brigade tools call queue words in/args.json --json",
                Some("brigade tools call queue words --args-json in/args.json --json"),
            ),
            ("brigade tools keys list", None),
            ("brigade nonsense", None),
            ("brigade tools list words", None),
        ] {
            let words = words(line);
            assert_eq!(suggested_command(&parse(&words).unwrap_err(), &words).as_deref(), command, "{line}");
        }
    }

    #[test]
    fn the_next_step_is_a_correction_or_the_help() {
        for (line, tip) in [
            ("brigade tools lst", "did you mean `list`?"),
            ("brigade tools list --availabl", "did you mean `--available`?"),
            ("brigade tools list --family scrpt", "did you mean `script`?"),
            ("brigade --color alway tools list", "did you mean `always`?"),
            // No command is similar to these.
            ("brigade tools call approve x --reason y", "brigade tools call approve --help"),
            ("brigade tools script list", "brigade tools script --help"),
            (
                "brigade operator quickstart",
                "`brigade operator` is a command of brigade-cli 0.30.0; docs/switching.md lists what to use",
            ),
            (
                "brigade work task add x",
                "`brigade work task` is a command of brigade-cli 0.30.0; docs/switching.md lists what to use",
            ),
            ("brigade tools keys show", "brigade tools keys --help"),
            ("brigade tools runtime start x --wait -1", "brigade tools runtime start --help"),
            ("brigade tools call approve", "brigade tools call approve --help"),
        ] {
            let words = words(line);
            let trouble = parse(&words).unwrap_err();
            let text = in_our_words(&trouble, &words, &trouble.render().to_string());
            let tips: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
            assert_eq!(tips, [tip], "{line}: {text}");
            assert!(!text.contains("For more information") && !text.contains("\n\n\n"), "{line}: {text}");
        }
    }

    #[test]
    fn json_may_be_anywhere_among_the_options() {
        assert!(wants_json(&words("brigade --json tools")));
        assert!(wants_json(&words("brigade tools nonsense --json")));
        assert!(!wants_json(&words("brigade tools -- --json")));
        assert!(!wants_json(&words("--json tools")));
    }

    #[test]
    fn a_usage_error_does_not_repeat_a_secret() {
        let words = words("brigade tools list ghp_0123456789abcdefghijABCDEFGHIJ012345");
        let trouble = parse(&words).unwrap_err();
        let surroundings = Surroundings::for_test("/");
        let (mut output, mut error) = (Vec::new(), Vec::new());
        let mut streams = Streams { input: &mut std::io::empty(), output: &mut output, error: &mut error };
        assert_eq!(explain(&trouble, &words, &surroundings, &mut streams), Exit::Usage);
        let stderr = String::from_utf8(error).unwrap();
        assert!(stderr.contains("unexpected argument") && !stderr.contains("0123456789"), "{stderr}");
    }
}
