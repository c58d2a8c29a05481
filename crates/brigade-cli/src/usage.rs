//! Usage errors, help and the version.

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use brigade::redact::Redactor;
use brigade::{Exit, Report, SchemaId};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use serde::{Deserialize, Serialize};

use crate::arguments::{Arguments, ColorWhen};
use crate::output::{Output, Shape};
use crate::render::failure::ErrorReport;
use crate::surroundings::{Streams, Surroundings};

/// Parses a command line. `brigade help tools call` is `brigade tools call --help`.
pub(crate) fn parse(words: &[OsString]) -> Result<Arguments, clap::Error> {
    // Never freed: the program is about to end, and freeing the tree takes as long as building it.
    let mut command = ManuallyDrop::new(Arguments::command());
    let matches = match words {
        [program, help, of @ ..] if help == "help" => {
            let help = OsString::from("--help");
            command.try_get_matches_from_mut([program].into_iter().chain(of).chain([&help]))
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
    let shape = Shape { json: wants_json(words), color: wanted_color(words), quiet: false };
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
            let text = Redactor::new(&[]).redact_str(&trouble.render().to_string());
            if shape.json { output.document(&report(&text), Exit::Usage) } else { output.misuse(&text) }
        }
    }
}

/// Converts a message of clap to a document: the first paragraph is the error, tips are hints.
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
    let mut wanted = ColorWhen::Auto;
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        match value {
            Some("never") => wanted = ColorWhen::Never,
            Some("always") => wanted = ColorWhen::Always,
            Some(_) | None => {}
        }
    }
    wanted
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

    #[test]
    fn json_is_wanted_wherever_it_stands_before_the_end_of_options() {
        assert!(wants_json(&words("brigade --json tools")));
        assert!(wants_json(&words("brigade tools nonsense --json")));
        assert!(!wants_json(&words("brigade tools -- --json")));
        assert!(!wants_json(&words("--json tools")));
    }

    #[test]
    fn a_secret_on_a_command_line_that_is_not_understood_is_not_repeated() {
        let words = words("brigade tools list ghp_0123456789abcdefghijABCDEFGHIJ012345");
        let trouble = parse(&words).unwrap_err();
        let surroundings = Surroundings::of_test("/");
        let (mut output, mut error) = (Vec::new(), Vec::new());
        let mut streams = Streams { input: &mut std::io::empty(), output: &mut output, error: &mut error };
        assert_eq!(explain(&trouble, &words, &surroundings, &mut streams), Exit::Usage);
        let said = String::from_utf8(error).unwrap();
        assert!(said.contains("unexpected argument") && !said.contains("0123456789"), "{said}");
    }
}
