//! What the screen shows of a call or question, as lines.

use brigade::core::text::escape_blanks;
use brigade::daily::visible_word;
use brigade::policy::RiskLevel;
use brigade::report::{HistoryRow, LifeEvent, ReviewCall, ReviewQuestion, RulingReport, WaitingItem};

use crate::render::text::{Text, Tone};
use crate::render::views::calls::offers;
use crate::render::when::{self, Now};
use crate::render::words;

/// How much is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    /// What most decisions need.
    Brief,
    /// Everything.
    All,
}

/// The maximum number of files in a list of the brief form.
const MAX_BRIEF: usize = 6;

/// Returns a heading.
pub(crate) fn heading(text: &str) -> Text {
    Text::new(Tone::Strong, text)
}

fn field(key: &str, value: &str) -> Text {
    Text::new(Tone::Faint, &format!("{key:<8} ")).then(Tone::Plain, value)
}

/// Shows a risk.
pub(crate) fn risk(risk: RiskLevel) -> Text {
    Text::new(risk_tone(risk), risk.as_str())
}

/// Shows the words that run, one a line with its place, and the arguments.
pub(crate) fn command(review: &ReviewCall) -> Vec<Text> {
    let mut lines = Vec::new();
    if !review.argv.is_empty() {
        lines.push(heading("runs"));
    }
    for (place, word) in review.argv.iter().enumerate() {
        lines.push(Text::new(Tone::Faint, &format!("{place:>4} ")).then(Tone::Accent, word));
    }
    let arguments = review.call.args.as_object().filter(|arguments| !arguments.is_empty());
    for (name, value) in arguments.into_iter().flatten() {
        if lines.is_empty() || lines.len() == usize::from(!review.argv.is_empty()) + review.argv.len() {
            lines.push(heading("arguments"));
        }
        let value = escape_blanks(&value.to_compact()).into_owned();
        let name = Text::new(Tone::Plain, &format!("  {}", visible_word(name)));
        lines.push(name.then(Tone::Faint, " = ").then(Tone::Accent, &value));
    }
    lines
}

/// Shows what it may read, write and reach.
pub(crate) fn touches(review: &ReviewCall) -> Vec<Text> {
    let Some(access) = &review.touches else { return Vec::new() };
    let list = |paths: &[String]| if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") };
    let mut lines = vec![field("reads", &list(&access.read)), field("writes", &list(&access.write))];
    if !access.closed.is_empty() {
        lines.push(field("closed", &list(&access.closed)));
    }
    let reach = match (&review.call.contract.mcp_origin, access.network) {
        (Some(origin), _) => origin.clone(),
        (None, true) => "the network".to_owned(),
        (None, false) => "nothing".to_owned(),
    };
    lines.push(field("reaches", &reach));
    lines.push(match access.sandbox.as_str() {
        "off" => field("sandbox", "").then(Tone::Warning, "off, so nothing enforces this"),
        mode => field("sandbox", mode),
    });
    lines
}

/// Shows a call.
pub(crate) fn call(review: &ReviewCall, amount: Amount, now: Now) -> Vec<Text> {
    let call = &review.call;
    let title = Text::new(Tone::Strong, &call.tool_id).then(Tone::Plain, "  ");
    let mut lines =
        vec![title.and(words::status(call.status.as_str())).then(Tone::Plain, "  ").and(risk(review.risk))];
    lines.push(field("call", call.id.as_str()));
    let age = call.created_at.map(|at| when::distance(at, now)).unwrap_or_default();
    lines.push(field("asked by", &format!("{} {age}", call.caller)));
    let effects = call.contract.effects.join(", ");
    lines.push(field("effects", &effects));
    if let Some(reason) = &call.review_reason {
        lines.push(field("reason", reason));
    }
    for blocker in &review.blockers {
        lines.push(Text::new(Tone::Bad, "blocked: ").then(Tone::Plain, &blocker.message));
    }
    if !review.changed.is_empty() {
        lines.push(
            Text::new(Tone::Bad, "changed since it was approved: ")
                .then(Tone::Plain, &review.changed.join(", ")),
        );
    }
    lines.extend(command(review));
    lines.push(heading("touches"));
    lines.extend(touches(review));
    lines.extend(code(review, amount));
    if !review.host_offers.is_empty() {
        lines.push(heading("offered by"));
        lines.extend(review.host_offers.iter().map(offers::line));
    }
    lines.extend(server(review));
    lines.extend(difference(review));
    lines.extend(policy(review, amount));
    lines.push(heading("last runs"));
    lines.extend(review.runs.iter().map(|row| run(row, now)));
    if review.runs.is_empty() {
        lines.push(Text::new(Tone::Faint, "  none"));
    }
    lines.push(heading("so far"));
    lines.extend(review.events.iter().flat_map(|row| event(row, amount, now)));
    lines
}

fn code(review: &ReviewCall, amount: Amount) -> Vec<Text> {
    let Some(code) = &review.code else { return Vec::new() };
    let most = if amount == Amount::All { usize::MAX } else { MAX_BRIEF };
    let list = |paths: Vec<&str>| {
        let more = paths.len().saturating_sub(most);
        let shown: Vec<&str> = paths.into_iter().take(most).collect();
        let rest = if more == 0 { String::new() } else { format!(", and {more} more (Enter)") };
        shown.join(", ") + &rest
    };
    let mut lines = vec![heading("code")];
    let program = review.preview.iter().filter_map(|preview| preview.binding.program.as_ref());
    let bound: Vec<&str> = program
        .map(|program| program.path.as_str())
        .chain(code.files.iter().map(|file| file.path.as_str()))
        .collect();
    lines.push(field("bound", &if bound.is_empty() { "nothing".to_owned() } else { list(bound) }));
    if let Some(learned) = &code.learned {
        lines.push(field("learned", &list(learned.files.iter().map(String::as_str).collect())));
    }
    if !code.data.is_empty() {
        lines.push(field("data", &list(code.data.iter().map(String::as_str).collect())));
    }
    lines.push(field("may load", &code.may_also_load.to_string()));
    if !code.unbound.is_empty() {
        let unbound = list(code.unbound.iter().map(String::as_str).collect());
        lines.push(field("unbound", "").then(Tone::Warning, &unbound));
    }
    for note in &code.notes {
        lines.push(field("unbound", "").then(Tone::Warning, &note.message));
    }
    if let Some(queued) = review.preview.as_ref().and_then(|preview| preview.queued_program.as_ref()) {
        lines.push(field("was", &format!("{queued} when it was queued")));
    }
    lines
}

/// Shows the changes of its MCP server.
fn server(review: &ReviewCall) -> Vec<Text> {
    let changes = review.pin.iter().flat_map(|pin| &pin.changes);
    changes.map(|change| Text::new(Tone::Warning, "server changed: ").then(Tone::Plain, change)).collect()
}

/// Shows the rules; in the brief form only what refuses, and what a line of the policy decided.
fn policy(review: &ReviewCall, amount: Amount) -> Vec<Text> {
    let is_shown = |ruling: &&RulingReport| amount == Amount::All || !ruling.allowed || ruling.line.is_some();
    let shown: Vec<&RulingReport> = review.policy.iter().filter(is_shown).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let line = |ruling: &&RulingReport| {
        let (verdict, tone) = if ruling.allowed { ("allows", Tone::Plain) } else { ("refuses", Tone::Bad) };
        let subject = ruling.subject.as_ref().map(|subject| format!(" {subject}")).unwrap_or_default();
        let text = format!("  {verdict} {}{subject}: {}", ruling.topic, ruling.message);
        let place = match (&ruling.file, ruling.line) {
            (Some(file), Some(line)) => format!("  {file}:{line}"),
            (Some(file), None) => format!("  {file}"),
            (None, _) => String::new(),
        };
        Text::new(tone, &text).then(Tone::Faint, &place)
    };
    std::iter::once(heading("policy")).chain(shown.iter().map(line)).collect()
}

/// Shows how it differs from the last approved call.
fn difference(review: &ReviewCall) -> Vec<Text> {
    let mut lines = vec![heading("last approved")];
    let Some(earlier) = &review.diff else {
        lines.push(Text::new(Tone::Faint, "  none among the newest runs"));
        return lines;
    };
    let id = Text::new(Tone::Faint, &format!("  {}", earlier.call_id));
    lines.push(if earlier.is_none() { id.then(Tone::Plain, ", with the same inputs") } else { id });
    for change in earlier.arguments.iter().chain(&earlier.contract) {
        let value = |value: &brigade::core::Json| escape_blanks(&value.to_compact()).into_owned();
        lines.push(Text::new(Tone::Bad, &format!("- {} = {}", change.name, value(&change.before))));
        lines.push(Text::new(Tone::Good, &format!("+ {} = {}", change.name, value(&change.value))));
    }
    for changed in &earlier.changed {
        lines.push(Text::new(Tone::Warning, &format!("~ {changed}")));
    }
    lines
}

fn run(row: &HistoryRow, now: Now) -> Text {
    let time = row.started_at.map_or_else(String::new, |at| now.brief(at));
    let took =
        row.duration_seconds.map(|seconds| format!(" {}", when::format_seconds(seconds))).unwrap_or_default();
    Text::new(Tone::Faint, &format!("  {time}  "))
        .and(words::status(&row.status))
        .then(Tone::Faint, &took)
        .then(Tone::Plain, &format!("  {}", row.text))
        .then(Tone::Bad, &row.failure.as_ref().map(|failure| format!("  {failure}")).unwrap_or_default())
}

fn event(row: &LifeEvent, amount: Amount, now: Now) -> Vec<Text> {
    let time = row.at.map_or_else(|| " ".repeat(8), |at| now.brief(at));
    let mut lines = vec![Text::new(Tone::Faint, &format!("  {time}  ")).then(Tone::Plain, &row.text)];
    if amount == Amount::All {
        lines.extend(
            row.details.iter().map(|detail| Text::new(Tone::Faint, &format!("            {detail}"))),
        );
    }
    lines
}

/// Shows a checkpoint, a decision or a question.
pub(crate) fn question(question: &ReviewQuestion, now: Now) -> Vec<Text> {
    let age = question.created_at.map(|at| when::distance(at, now)).unwrap_or_default();
    let mut lines = vec![
        Text::new(Tone::Strong, question.kind.as_str()).then(Tone::Faint, &format!("  {}", question.id)),
        field("asked by", &format!("{} {age}", question.who)),
        Text::default(),
    ];
    lines.extend(question.text.lines().map(Text::from));
    lines.push(Text::default());
    for (place, choice) in question.choices.iter().enumerate() {
        lines.push(Text::new(Tone::Accent, &format!("{:>3} ", place + 1)).then(Tone::Plain, choice));
    }
    if question.choices.is_empty() {
        lines.push(Text::new(Tone::Faint, "a answers with a text"));
    }
    lines.extend(context(question));
    if let Some(checkpoint) = &question.checkpoint {
        lines.push(field("call", checkpoint.call_id.as_str()));
    }
    lines
}

/// Returns what a run says about its checkpoint.
pub(crate) fn context(question: &ReviewQuestion) -> Vec<Text> {
    let context = question.checkpoint.as_ref().map(|checkpoint| checkpoint.context.to_compact());
    match context {
        Some(context) if context != "null" && context != "{}" => {
            vec![heading("context"), Text::from(context)]
        }
        _ => Vec::new(),
    }
}

/// Shows a row of the list.
pub(crate) fn row(item: &WaitingItem, is_marked: bool, is_approved: bool, now: Now) -> Text {
    let mark = if is_marked { "*" } else { " " };
    let risk_text = format!("{:<8} ", item.risk.as_str());
    let line = Text::new(Tone::Strong, mark);
    let line = match (is_approved, item.is_call()) {
        (true, _) => line.then(Tone::Good, "approved "),
        (false, true) => line.then(risk_tone(item.risk), &risk_text),
        (false, false) => line.then(Tone::Accent, &format!("{:<8} ", "answer")),
    };
    let held = if item.row.held { " (held)" } else { "" };
    let blocked = if item.row.blocker_count == 0 { "" } else { " (blocked)" };
    line.then(Tone::Faint, &format!("{:>3} ", when::age(item.row.created_at, now)))
        .then(Tone::Plain, &format!("{} ", item.row.who))
        .then(Tone::Strong, &item.row.subject)
        .then(Tone::Warning, held)
        .then(Tone::Bad, blocked)
        .then(Tone::Plain, &format!(" {}", item.row.text))
}

fn risk_tone(risk: RiskLevel) -> Tone {
    match risk {
        RiskLevel::Low => Tone::Faint,
        RiskLevel::Medium => Tone::Warning,
        RiskLevel::High | RiskLevel::Critical => Tone::Bad,
    }
}
