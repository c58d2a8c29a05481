//! Questions to the person, and the decisions that follow.

use brigade::daily::{ReviewPart, RuleProposal};
use brigade::report::{ReviewCall, ReviewOffer, ReviewQuestion};

use super::input::Key;
use super::layout::{Areas, wrapped};
use super::lines;
use super::model::Action;
use crate::render::text::{Text, Tone};

/// The longest typed text, in characters.
const MAX_TEXT: usize = 2_000;

/// What a question is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Purpose {
    Approve,
    Reject,
    Hold,
    /// Approve, and add a rule.
    Always,
    /// Add this rule.
    AddRule(Box<RuleProposal>),
    Run,
    /// Answer with this choice.
    Choose(String),
    /// Answer with a text.
    Answer,
}

impl Purpose {
    /// Returns whether the decision needs a line of text.
    pub(crate) fn needs_text(&self) -> bool {
        matches!(self, Purpose::Reject | Purpose::Answer)
    }

    /// Returns whether checkpoints, decisions and questions can be decided so.
    pub(crate) fn is_for_questions(&self) -> bool {
        matches!(self, Purpose::Reject | Purpose::Answer | Purpose::Choose(_))
    }

    /// Returns what a call must offer.
    pub(crate) fn offer(&self) -> ReviewOffer {
        match self {
            Purpose::Approve | Purpose::Choose(_) | Purpose::Answer => ReviewOffer::Approve,
            Purpose::Reject => ReviewOffer::Reject,
            Purpose::Hold => ReviewOffer::Hold,
            Purpose::Always | Purpose::AddRule(_) => ReviewOffer::Always,
            Purpose::Run => ReviewOffer::Run,
        }
    }

    /// Returns the sentence that asks about a subject.
    fn sentence(&self, subject: &str) -> String {
        match self {
            Purpose::Approve => format!("Approve {subject}?"),
            Purpose::Reject => format!("Reject {subject}?"),
            Purpose::Hold => format!("Put {subject} on hold?"),
            Purpose::Always | Purpose::AddRule(_) => format!("Approve {subject}, and add the rule below?"),
            Purpose::Run => format!("Run {subject}?"),
            Purpose::Choose(choice) => format!("Answer {subject} with {choice}?"),
            Purpose::Answer => format!("Answer {subject}?"),
        }
    }

    /// Returns what the line of text is.
    pub(crate) fn prompt(&self) -> &'static str {
        if *self == Purpose::Answer { "Answer" } else { "Reason to reject" }
    }
}

/// A thing that is decided about, as it was shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Target {
    pub(crate) id: String,
    pub(crate) fingerprint: String,
    pub(crate) is_call: bool,
    /// What the decision covers.
    pub(crate) parts: Vec<ReviewPart>,
    /// What the question shows of it.
    pub(crate) lines: Vec<Text>,
}

impl Target {
    /// Shows a call in a question: who asks, the whole command, and what it touches.
    pub(crate) fn from_call(review: &ReviewCall) -> Target {
        let call = &review.call;
        let head = Text::new(Tone::Strong, &call.tool_id)
            .then(Tone::Plain, "  ")
            .and(lines::risk(review.risk))
            .then(Tone::Plain, &format!("  for {}", call.caller))
            .then(Tone::Faint, &format!("  {}", call.id));
        let mut shown = vec![head];
        shown.extend(lines::command(review));
        shown.extend(lines::touches(review));
        Target {
            id: call.id.to_string(),
            fingerprint: review.review_fingerprint.clone(),
            is_call: true,
            parts: review.parts(),
            lines: shown,
        }
    }

    /// Shows a checkpoint, decision or question in a question.
    pub(crate) fn from_question(question: &ReviewQuestion) -> Target {
        let head = Text::new(Tone::Strong, question.kind.as_str())
            .then(Tone::Plain, &format!("  of {}", question.who))
            .then(Tone::Faint, &format!("  {}", question.id));
        let text = question.text.lines().map(Text::from);
        Target {
            id: question.id.clone(),
            fingerprint: question.review_fingerprint.clone(),
            is_call: false,
            parts: question.parts(),
            lines: std::iter::once(head).chain(text).chain(lines::context(question)).collect(),
        }
    }
}

/// A decision of the person.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    pub(crate) purpose: Purpose,
    pub(crate) targets: Vec<Target>,
    /// The reason or the answer.
    pub(crate) text: Option<String>,
}

impl Decision {
    pub(crate) fn new(purpose: Purpose, targets: Vec<Target>, text: Option<&str>) -> Decision {
        Decision { purpose, targets, text: text.map(str::to_owned) }
    }
}

/// A question on the screen. Only `y` says yes, and only after its end was shown.
pub(crate) struct Question {
    purpose: Purpose,
    targets: Vec<Target>,
    lines: Vec<Text>,
    scroll: usize,
    was_read: bool,
}

impl Question {
    pub(crate) fn new(purpose: Purpose, targets: Vec<Target>, extra: Vec<Text>) -> Question {
        let subject = match (targets.len(), targets.first()) {
            (1, Some(target)) if target.is_call => "this call".to_owned(),
            (1, _) => "this".to_owned(),
            (count, _) => format!("these {count} calls"),
        };
        let head = Text::new(Tone::Warning, &purpose.sentence(&subject));
        let mut lines = vec![head];
        for target in &targets {
            lines.push(Text::default());
            lines.extend(target.lines.iter().cloned());
        }
        lines.extend(extra);
        Question { purpose, targets, lines, scroll: 0, was_read: false }
    }

    /// Returns the wrapped lines that are visible, and the number of those below.
    pub(crate) fn page(&self, size: (u16, u16)) -> (Vec<Text>, usize) {
        let (lines, height) = (self.wrapped(size), height(size));
        let below = lines.len().saturating_sub(self.scroll + height);
        (lines.into_iter().skip(self.scroll).take(height).collect(), below)
    }

    fn wrapped(&self, size: (u16, u16)) -> Vec<Text> {
        wrapped(&self.lines, size.0)
    }

    /// Notes that it is on the screen.
    pub(crate) fn drawn(&mut self, size: (u16, u16)) {
        self.was_read |= self.page(size).1 == 0;
    }

    pub(crate) fn was_read(&self) -> bool {
        self.was_read
    }

    pub(crate) fn scroll_by(&mut self, by: isize, size: (u16, u16)) -> Option<Action> {
        let most = self.wrapped(size).len().saturating_sub(height(size));
        self.scroll = self.scroll.saturating_add_signed(by).min(most);
        None
    }

    pub(crate) fn scroll_page(&mut self, by: isize, size: (u16, u16)) -> Option<Action> {
        let page = isize::try_from(height(size)).unwrap_or(1);
        self.scroll_by(by * page, size)
    }

    pub(crate) fn into_decision(self) -> Decision {
        Decision::new(self.purpose, self.targets, None)
    }
}

/// Returns the number of rows of a question.
fn height(size: (u16, u16)) -> usize {
    usize::from(Areas::new(size, false).body.height).max(1)
}

/// A line of text that is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextLine(String);

impl From<&str> for TextLine {
    fn from(text: &str) -> TextLine {
        TextLine(text.to_owned())
    }
}

impl TextLine {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn edit(&mut self, key: Key) {
        match key {
            Key::Char(c) if self.0.chars().count() < MAX_TEXT => self.0.push(c),
            Key::Backspace => {
                self.0.pop();
            }
            Key::Control('u') => self.0.clear(),
            _ => {}
        }
    }
}
