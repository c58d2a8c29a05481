//! Shows a running service on standard error, and asks the person at the terminal.
//!
//! On a terminal, a progress line and a line per running task are redrawn in place, and events scroll above them.
//! Elsewhere each line is written when it arrives.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use brigade::CancelToken;
use brigade::kitchen::{
    Answer, AnsweredBy, Decision, DecisionKind, Follower, Life, Line, PrdName, PrintedLines, Record,
    ServiceView,
};
use brigade::process::{TypedLine, read_typed_line};

use crate::render::attention::Attention;
use crate::render::happened::{event_line, left_out, printed_line, progress, running};
use crate::render::text::{Colour, Text, Tone};
use crate::surroundings::Terminal;

/// The size of a terminal of unknown size, in columns and rows.
const USUAL_SIZE: (usize, usize) = (80, 24);

/// The maximum number of lines that are held back while a person types.
const MAX_HELD_LINES: usize = 500;

/// How much of a service is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiveDetail {
    /// Everything.
    All,
    /// Only questions to a person.
    Questions,
}

/// Whether questions can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptMode {
    /// The person at the terminal.
    APerson,
    /// No person is present.
    Nobody,
}

/// The display of a service.
pub(crate) struct Live<'s> {
    stage: Mutex<Stage<'s>>,
    /// Only one question is asked at a time.
    asking: Mutex<()>,
    detail: LiveDetail,
    asks: PromptMode,
    /// How the terminal calls the person when something waits.
    rings: Option<Attention>,
}

struct Stage<'s> {
    out: &'s mut (dyn Write + Send),
    colour: Colour,
    /// The area that is redrawn in place.
    region: Option<Region>,
    /// The lines below all others.
    scene: Option<ServiceView>,
    /// Whether a person is typing. Nothing else is written then.
    is_asking: bool,
    held: VecDeque<Text>,
}

/// Lines at the end of a terminal that are redrawn in place.
pub(crate) struct Region {
    terminal: Terminal,
    /// The widths of the drawn lines.
    drawn: Vec<usize>,
}

impl Region {
    pub(crate) fn new(terminal: Terminal) -> Region {
        Region { terminal, drawn: Vec::new() }
    }

    /// Returns the current numbers of columns and rows.
    pub(crate) fn size(&self) -> (usize, usize) {
        let (columns, rows) = (self.terminal.measure)().unwrap_or(USUAL_SIZE);
        // A terminal of unknown size reports zeroes.
        let or_usual = |size: usize, usual: usize| if size == 0 { usual } else { size };
        (or_usual(columns, USUAL_SIZE.0), or_usual(rows, USUAL_SIZE.1))
    }

    /// Moves to the start of the drawn lines and erases them. If the terminal became narrower, it has wrapped them.
    pub(crate) fn erase(&mut self, out: &mut String) {
        let (columns, _) = self.size();
        let rows: usize = self.drawn.iter().map(|width| width.div_ceil(columns).max(1)).sum();
        if 0 < rows {
            out.push('\r');
            if 1 < rows {
                out.push_str(&format!("\x1b[{}A", rows - 1));
            }
            out.push_str("\x1b[J");
        }
        self.drawn.clear();
    }

    /// Moves below the drawn lines and keeps them. Returns whether there were any.
    pub(crate) fn leave(&mut self, out: &mut String) -> bool {
        let was_drawn = !self.drawn.is_empty();
        if was_drawn {
            out.push('\n');
        }
        self.drawn.clear();
        was_drawn
    }

    /// Draws lines at the cursor. Cuts each to the width, and leaves out lines that do not fit.
    pub(crate) fn draw(&mut self, lines: impl IntoIterator<Item = Text>, colour: Colour, out: &mut String) {
        let (columns, rows) = self.size();
        for line in lines.into_iter().take(rows.saturating_sub(1).max(1)) {
            if !self.drawn.is_empty() {
                out.push('\n');
            }
            // The last column stays free, because terminals differ in when they wrap.
            let line = line.cut(columns.saturating_sub(1).max(1));
            self.drawn.push(line.width());
            line.write(colour, out);
        }
    }
}

impl<'s> Live<'s> {
    pub(crate) fn new(
        out: &'s mut (dyn Write + Send),
        colour: Colour,
        terminal: Option<Terminal>,
        detail: LiveDetail,
        asks: PromptMode,
    ) -> Live<'s> {
        let region = terminal.map(Region::new);
        let stage = Stage { out, colour, region, scene: None, is_asking: false, held: VecDeque::new() };
        Live { stage: Mutex::new(stage), asking: Mutex::new(()), detail, asks, rings: None }
    }

    /// Sets how the terminal calls the person.
    #[must_use]
    pub(crate) fn with_bell(mut self, rings: Option<Attention>) -> Live<'s> {
        self.rings = rings;
        self
    }

    fn stage(&self) -> MutexGuard<'_, Stage<'s>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        let mut stage = self.stage();
        stage.scene = None;
        stage.say(Vec::new());
    }
}

impl Stage<'_> {
    /// Writes lines above the redrawn area.
    fn say(&mut self, lines: Vec<Text>) {
        if self.is_asking {
            self.held.extend(lines);
            let surplus = self.held.len().saturating_sub(MAX_HELD_LINES);
            self.held.drain(..surplus);
            return;
        }
        let mut text = String::new();
        if let Some(region) = &mut self.region {
            region.erase(&mut text);
        }
        for line in lines {
            line.write(self.colour, &mut text);
            text.push('\n');
        }
        if let (Some(region), Some(scene)) = (&mut self.region, &self.scene) {
            let room = region.size().1.saturating_sub(3).max(1);
            region.draw(scene_lines(scene, room), self.colour, &mut text);
        }
        // A failed write does not affect the service.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    /// Writes the prompt of the input line.
    fn prompt(&mut self, prompt: &str) {
        let mut text = String::new();
        Text::new(Tone::Strong, prompt).write(self.colour, &mut text);
        text.push(' ');
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// Returns the progress line and a line for each running task, up to the available rows.
pub(crate) fn scene_lines(scene: &ServiceView, room: usize) -> Vec<Text> {
    let mut lines = vec![progress(scene)];
    let fits = if scene.rows.len() <= room { scene.rows.len() } else { room.saturating_sub(1) };
    lines.extend(scene.rows[..fits].iter().map(running));
    if fits < scene.rows.len() {
        lines.push(Text::new(Tone::Faint, &format!("  and {} more", scene.rows.len() - fits)));
    }
    lines
}

/// The reply to a prompt.
enum Reply {
    Text(String),
    /// The person decides later.
    Later,
    /// Another answer was given, or the service ends.
    Withdrawn,
}

impl Live<'_> {
    fn line(&self, prompt: &str, withdrawn: &CancelToken) -> Reply {
        self.stage().prompt(prompt);
        match read_typed_line(withdrawn) {
            Ok(TypedLine::Line(line)) => Reply::Text(line.trim().to_owned()),
            Ok(TypedLine::Withdrawn) => Reply::Withdrawn,
            Ok(TypedLine::End) | Err(_) => Reply::Later,
        }
    }

    /// Writes a line about the question above the next prompt.
    fn remark(&self, tone: Tone, text: &str) {
        let mut stage = self.stage();
        let mut line = String::new();
        Text::new(tone, text).write(stage.colour, &mut line);
        line.push('\n');
        let _ = stage.out.write_all(line.as_bytes()).and_then(|()| stage.out.flush());
    }

    fn answer(&self, decision: &Decision, withdrawn: &CancelToken) -> PromptOutcome {
        let choices = decision.about.choices();
        let choice = loop {
            let prompt = match choices {
                [] => "Answer, or later:".to_owned(),
                choices => format!("{}, or later?", choices.join(", ")),
            };
            let typed = match self.line(&prompt, withdrawn) {
                Reply::Text(typed) => typed,
                Reply::Later => return PromptOutcome::Later,
                Reply::Withdrawn => return PromptOutcome::Withdrawn,
            };
            if typed.is_empty() {
                continue;
            }
            if typed == "later" {
                return PromptOutcome::Later;
            }
            match match_choice(choices, &typed) {
                Some(choice) => break choice,
                None => self.remark(Tone::Warning, &format!("expected one of {}", choices.join(", "))),
            }
        };
        let more = match (decision.about, choice.as_str()) {
            (DecisionKind::Failure, "retry") => Some("What should the next attempt know? (nothing: Enter)"),
            (DecisionKind::Manual, "fail") => Some("What is wrong? (nothing: Enter)"),
            _ => None,
        };
        let mut answer = None;
        if let Some(prompt) = more {
            match self.line(prompt, withdrawn) {
                Reply::Text(text) => answer = Some(text).filter(|text| !text.is_empty()),
                Reply::Later => {}
                Reply::Withdrawn => return PromptOutcome::Withdrawn,
            }
        }
        let (reason, guidance) = match decision.about {
            DecisionKind::Manual => (answer, None),
            _ => (None, answer),
        };
        PromptOutcome::Answer(Answer { choice, by: AnsweredBy::Person, reason, guidance, is_clear: true })
    }
}

/// The outcome of a question.
enum PromptOutcome {
    Answer(Answer),
    Later,
    Withdrawn,
}

/// Returns the choice with this name or prefix. Without choices, any text is accepted.
fn match_choice(choices: &[&str], typed: &str) -> Option<String> {
    let typed_word = typed.to_lowercase();
    match choices {
        [] => Some(typed.to_owned()),
        choices => {
            choices.iter().find(|choice| choice.starts_with(&typed_word)).map(|choice| (*choice).to_owned())
        }
    }
}

/// Returns what a person is notified of: a decision that is asked, and the end of the service.
fn call_for(prd: &PrdName, line: &Line) -> Option<String> {
    match &line.record {
        Record::DecisionAsked { decision } => {
            let about = decision.task.as_ref().map(|task| prd.shown(task));
            Some(format!("{} needs a decision", about.as_deref().unwrap_or(prd.prefix())))
        }
        Record::ServiceEnded { .. } => Some(format!("the service of {} ended", prd.prefix())),
        _ => None,
    }
}

fn question(prd: &PrdName, decision: &Decision) -> Vec<Text> {
    let about = match &decision.task {
        Some(task) => prd.shown(task),
        None => prd.prefix().to_owned(),
    };
    let what = match decision.about {
        DecisionKind::Failure => "did not succeed. What now?",
        DecisionKind::Scope => "asks what belongs to it:",
        DecisionKind::Manual => "has to be checked by hand:",
        DecisionKind::Verdict => "has a review without a clear verdict:",
        DecisionKind::Phase => "was reviewed as a whole:",
        DecisionKind::Gate => "is complete. Continue with the next PRD?",
    };
    let head = Text::new(Tone::Warning, "?").then(Tone::Strong, &format!(" {about}"));
    let mut lines = vec![head.then(Tone::Plain, &format!(" {what}"))];
    lines.extend(decision.context.lines().map(|line| Text::from(format!("  {line}"))));
    lines
}

impl Follower for Live<'_> {
    fn recorded(&self, prd: &PrdName, line: &Line, life: &Life) {
        if let Some(text) = self.rings.and_then(|rings| Some(rings.sequences(&call_for(prd, line)?))) {
            let mut stage = self.stage();
            let _ = stage.out.write_all(text.as_bytes()).and_then(|()| stage.out.flush());
        }
        if self.detail == LiveDetail::All
            && let Some(text) = event_line(prd, line, life)
        {
            self.stage().say(vec![text]);
        }
    }

    fn warned(&self, prd: &PrdName, warning: &str) {
        if self.detail == LiveDetail::All {
            let text = Text::new(Tone::Warning, &format!("{}  {warning}", prd.prefix()));
            self.stage().say(vec![text]);
        }
    }

    fn running(&self, scene: &ServiceView) {
        if self.detail == LiveDetail::All {
            let mut stage = self.stage();
            if stage.region.is_some() {
                stage.scene = Some(scene.clone());
                stage.say(Vec::new());
            }
        }
    }

    fn shows_output(&self) -> bool {
        self.detail == LiveDetail::All
    }

    fn printed(&self, task: &str, what: &PrintedLines) {
        let mut lines = Vec::new();
        if 0 < what.left_out {
            lines.push(left_out(task, what.left_out));
        }
        lines.extend(what.lines.iter().map(|line| printed_line(task, line)));
        self.stage().say(lines);
    }

    fn can_ask(&self) -> bool {
        self.asks == PromptMode::APerson
    }

    fn ask(&self, prd: &PrdName, decision: &Decision, withdrawn: &CancelToken) -> Option<Answer> {
        let _one_at_a_time = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if withdrawn.is_cancelled() {
            return None;
        }
        {
            let mut stage = self.stage();
            let scene = stage.scene.take();
            stage.say(question(prd, decision));
            (stage.scene, stage.is_asking) = (scene, true);
        }
        let replied = self.answer(decision, withdrawn);
        let mut stage = self.stage();
        stage.is_asking = false;
        let mut lines: Vec<Text> = stage.held.drain(..).collect();
        let answer = match replied {
            PromptOutcome::Answer(answer) => Some(answer),
            PromptOutcome::Later => {
                lines.insert(0, Text::new(Tone::Faint, &format!("{} stays open", decision.id)));
                None
            }
            PromptOutcome::Withdrawn => {
                lines.splice(0..0, [Text::default(), Text::new(Tone::Faint, "this is no longer asked")]);
                None
            }
        };
        stage.say(lines);
        answer
    }
}
