//! Reads what a worker program printed: answer, cost, tokens, and whether its provider's limit is reached.

use std::sync::LazyLock;

use brigade_core::json::Dialect;
use brigade_core::{Json, Timestamp};
use brigade_macros::part;
use regex::Regex;

use super::limit::{Limit, reset_time};
use super::table::pattern;
use super::{Adapter, Source};

/// The output of an attempt.
#[derive(Clone, Copy, Debug, Default)]
pub struct Output<'a> {
    /// The standard output. The middle may be cut out.
    pub stdout: &'a [u8],
    /// The standard error.
    pub stderr: &'a [u8],
    /// The answer file, if there is one.
    pub answer_file: Option<&'a [u8]>,
    /// Whether the program exited with 0.
    pub succeeded: bool,
}

/// Tokens that a worker used.
#[part(Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens that the model read.
    pub input: u64,
    /// Tokens that it wrote.
    pub output: u64,
}

/// What a worker program answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Its last message. `None` if the output has no message at the adapter's place.
    pub text: Option<String>,
    /// Whether the program says that it failed.
    pub failed: bool,
    /// Its cost in dollars.
    pub cost_usd: Option<f64>,
    /// Its tokens.
    pub tokens: Option<Tokens>,
    /// The limit that it reports. It counts only if the answer has no signal.
    pub limit: Option<Limit>,
    /// A flag of the adapter that the program rejects as unknown. It counts only right after the start.
    pub unknown_flag: Option<String>,
}

/// Messages of programs about unknown flags. The flag follows the text.
const UNKNOWN: [&str; 9] = [
    "provided but not defined",
    "unknown option",
    "unknown argument",
    "unknown flag",
    "unexpected argument",
    "unrecognized argument",
    "unrecognized option",
    "no such option",
    "invalid option",
];

/// Words about limits in texts that no known message matches.
static MENTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b(?:limits?|limited|quotas?|throttl\w+|overload\w*|at capacity|out of credits|allowance|429|529)\b")
        .expect("a pattern of ours compiles")
});

/// How much of the end of a text is searched for such words.
const MENTION_BYTES: usize = 600;

/// A longer answer may mention limits because the task is about them.
const SHORT_ANSWER: usize = 600;

impl Adapter {
    /// Reads the output of an attempt. `now` and the local offset are needed to compute when a limit ends.
    pub fn answer(&self, output: &Output<'_>, now: Timestamp, local_offset_minutes: i32) -> Answer {
        let document =
            self.is_document().then(|| Json::parse_bytes(output.stdout.trim_ascii(), Dialect::Lenient).ok());
        let document = document.flatten();
        let lines = if self.is_lines() { json_lines(output.stdout) } else { Vec::new() };
        let view = View { output, document: document.as_ref(), lines: &lines };
        let text = view.text(&self.answer);
        let failed = self.failed.as_ref().is_some_and(|source| view.truth(source)) || !output.succeeded;
        let cost = self.cost.as_ref().and_then(|source| view.number(source));
        let tokens = self.tokens.as_ref().and_then(|(input, output)| {
            let (input, output) = (view.number(input), view.number(output));
            (input.is_some() || output.is_some())
                .then(|| Tokens { input: whole(input), output: whole(output) })
        });
        let is_short = |text: &&str| failed || text.len() <= SHORT_ANSWER;
        let answer = text.as_deref().filter(is_short);
        let stderr = String::from_utf8_lossy(tail(output.stderr));
        // Without an answer, the reason of a failure is on standard output.
        let printed = String::from_utf8_lossy(tail(output.stdout));
        let places = [answer, failed.then_some(&*stderr), (failed && text.is_none()).then_some(&*printed)];
        let texts = || places.into_iter().flatten();
        let limit = texts().find_map(|text| self.limit(text, now, local_offset_minutes));
        let mentions = || failed && texts().any(|text| MENTION.is_match(last_lines(text)));
        let limit = limit.or_else(|| mentions().then_some(Limit { until: None, is_known: false }));
        let cost_usd = cost.filter(|cost| cost.is_finite() && 0.0 <= *cost);
        let streams = [&*stderr, &*printed].into_iter().filter(|_| !output.succeeded);
        let unknown_flag = streams.flat_map(str::lines).find_map(|line| self.unknown_flag(line));
        Answer { text, failed, cost_usd, tokens, limit, unknown_flag }
    }

    /// Returns the flag of the adapter that a line reports as unknown.
    fn unknown_flag(&self, line: &str) -> Option<String> {
        let lower = line.to_ascii_lowercase();
        let (_, rest) = UNKNOWN.iter().find_map(|words| lower.split_once(words))?;
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
        let named: Vec<&str> = rest.split(is_end).collect();
        let own = self.args.iter().chain(&self.narrow).chain(&self.skip);
        let mut flags = own.filter(|word| word.starts_with('-') && 1 < word.len());
        // Some programs print a long flag without its dashes.
        let is_bare = rest.starts_with(':') || rest.starts_with("s:");
        flags
            .find(|flag| {
                let flag = flag.to_ascii_lowercase();
                let bare = flag.strip_prefix("--").filter(|_| is_bare);
                named.contains(&flag.as_str()) || bare.is_some_and(|bare| named.contains(&bare))
            })
            .cloned()
    }

    fn limit(&self, text: &str, now: Timestamp, local_offset_minutes: i32) -> Option<Limit> {
        let captures = self.limit.patterns().iter().find_map(|pattern| pattern.captures(text))?;
        let reset =
            captures.name("reset").and_then(|reset| reset_time(reset.as_str(), now, local_offset_minutes));
        Some(Limit { until: reset, is_known: true })
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        let tokens = self.tokens.iter().flat_map(|(input, output)| [input, output]);
        [&self.answer].into_iter().chain(&self.failed).chain(&self.cost).chain(tokens)
    }

    /// Returns whether the whole output is one JSON document, which must not be cut.
    pub fn is_document(&self) -> bool {
        self.sources().any(|source| matches!(source, Source::Json(_)))
    }

    fn is_lines(&self) -> bool {
        self.sources().any(|source| matches!(source, Source::Lines { .. }))
    }
}

/// Returns the end of a text, where a program says why it failed.
fn last_lines(text: &str) -> &str {
    let from = text.len().saturating_sub(MENTION_BYTES);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    &text[from..]
}

/// Returns the end of an output, where programs report why they failed.
fn tail(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.len().saturating_sub(8192)..]
}

fn whole(number: Option<f64>) -> u64 {
    // A negative number becomes 0.
    number.unwrap_or_default() as u64
}

/// Parses the lines that are JSON objects and skips all others, such as a mark where the output was cut.
fn json_lines(bytes: &[u8]) -> Vec<Json> {
    let lines =
        bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| line.starts_with(b"{"));
    lines.filter_map(|line| Json::parse_bytes(line, Dialect::Lenient).ok()).collect()
}

struct View<'a> {
    output: &'a Output<'a>,
    document: Option<&'a Json>,
    lines: &'a [Json],
}

impl View<'_> {
    fn values(&self, source: &Source) -> Vec<&Json> {
        let mut found = Vec::new();
        match source {
            Source::Json(path) => {
                self.document.into_iter().for_each(|document| follow(document, path, &mut found))
            }
            Source::Lines { kind, path } => {
                let is_kind = |line: &&Json| line.get("type").and_then(Json::as_str) == Some(kind);
                self.lines.iter().filter(is_kind).for_each(|line| follow(line, path, &mut found));
            }
            Source::Text | Source::File => {}
        }
        found
    }

    fn text(&self, source: &Source) -> Option<String> {
        match source {
            Source::Text => Some(String::from_utf8_lossy(self.output.stdout).into_owned()),
            Source::File => self.output.answer_file.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            Source::Json(_) | Source::Lines { .. } => {
                let texts: Vec<&str> = self.values(source).into_iter().filter_map(Json::as_str).collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
        }
    }

    fn number(&self, source: &Source) -> Option<f64> {
        let numbers: Vec<f64> = self.values(source).into_iter().filter_map(Json::as_f64).collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum())
    }

    fn truth(&self, source: &Source) -> bool {
        self.values(source).into_iter().any(|value| value.as_bool() == Some(true))
    }
}

/// Collects the values at a path. `*` matches every member or element.
fn follow<'j>(value: &'j Json, path: &[String], found: &mut Vec<&'j Json>) {
    let Some((name, rest)) = path.split_first() else {
        found.push(value);
        return;
    };
    match (name.as_str(), value) {
        ("*", Json::Object(members)) => members.values().for_each(|value| follow(value, rest, found)),
        ("*", Json::Array(elements)) => elements.iter().for_each(|value| follow(value, rest, found)),
        (name, value) => value.get(name).into_iter().for_each(|value| follow(value, rest, found)),
    }
}
