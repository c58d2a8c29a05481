//! Does what the screen asks for: reads the workspace, decides, and runs calls.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use brigade::core::text::escape_terminal_lines;
use brigade::core::{CallId, CheckpointId, Clock, IdPrefix};
use brigade::daily::{CallDecision, ChosenCall, WorkAnswer};
use brigade::report::ReviewCall;
use brigade::{
    CallStatus, CancelToken, Error, ErrorCode, ErrorKind, HistoryFilter, LogStream, Mark, Workspace,
};

use super::model::{Action, Content, Detail, Event, Pane};
use super::question::{Decision, Purpose, Target};
use crate::render::failure::show_error;
use crate::render::page::{Page, TextFormat};
use crate::render::text::{Colour, Text, Tone};
use crate::render::when::Now;
use crate::render::{CommandWords, Escalations, View, show_status, words};

/// The number of runs in the history.
const HISTORY_ROWS: usize = 200;

/// The number of lines of a log.
const LOG_LINES: usize = 5_000;

/// A workspace, as the screen uses it.
pub(super) struct Backend {
    workspace: Workspace,
    words: CommandWords,
    clock: Arc<dyn Clock>,
    offset_minutes: Option<i32>,
    width: u16,
    /// The files of the shown call.
    watched: Vec<String>,
    marks: Vec<Option<Mark>>,
    run: Option<OpenRun>,
    sender: Sender<Vec<Text>>,
    ended: Receiver<Vec<Text>>,
}

/// A call that runs.
struct OpenRun {
    call: String,
    thread: JoinHandle<()>,
    cancel: CancelToken,
}

impl Backend {
    pub(super) fn new(
        workspace: Workspace,
        words: CommandWords,
        clock: Arc<dyn Clock>,
        offset_minutes: Option<i32>,
    ) -> Backend {
        let (sender, ended) = channel();
        Backend {
            workspace,
            words,
            clock,
            offset_minutes,
            width: 80,
            watched: Vec::new(),
            marks: Vec::new(),
            run: None,
            sender,
            ended,
        }
    }

    pub(super) fn now(&self) -> Now {
        Now { at: self.clock.now(), offset_minutes: self.offset_minutes }
    }

    pub(super) fn set_width(&mut self, width: u16) {
        self.width = width;
    }

    /// Reads what waits.
    pub(super) fn waiting(&mut self) -> Event {
        self.marks = self.current_marks();
        match self.workspace.daily().waiting() {
            Ok(report) => Event::Waiting(Box::new(report)),
            Err(error) => Event::Note(Text::new(Tone::Bad, &error.to_string())),
        }
    }

    /// Returns whether a file changed since it was read.
    pub(super) fn is_stale(&self) -> bool {
        self.current_marks() != self.marks
    }

    fn current_marks(&self) -> Vec<Option<Mark>> {
        self.workspace.daily().marks(self.watched.iter().map(String::as_str))
    }

    /// Does what the screen asks for. [`Action::Stop`] and [`Action::Quit`] concern the terminal.
    pub(super) fn perform(&mut self, action: Action) -> Vec<Event> {
        let result = match action {
            Action::Show(id) => Ok(vec![Event::Detail(self.detail(id))]),
            Action::Ask(purpose, ids) => self.ask(purpose, &ids),
            Action::Decide(decision) => return self.decide(*decision),
            Action::Logs(id) => self.logs(&id),
            Action::Why(id) => self.why(&id),
            Action::History => self.history(),
            Action::Board => self.board(),
            Action::EndRun => {
                self.cancel_run();
                Ok(Vec::new())
            }
            Action::Stop | Action::Quit => Ok(Vec::new()),
        };
        result.unwrap_or_else(|error| vec![Event::Note(Text::new(Tone::Bad, &error.to_string()))])
    }

    /// Returns the lines of a page.
    fn lines(&self, show: impl FnOnce(&mut Page)) -> Vec<Text> {
        let mut page = Page::new(self.now(), self.words.clone());
        show(&mut page);
        let look = TextFormat { colour: Colour::On, width: Some(usize::from(self.width)) };
        let text = page.data.write(look, None) + &page.trouble.write(look, None);
        text.lines().map(painted).collect()
    }

    fn detail(&mut self, id: String) -> Detail {
        let content = match is_call(&id) {
            true => self.workspace.daily().review_call(&IdPrefix::new(&id)).map(|review| {
                let review = Box::new(review);
                self.watch(&review);
                Content::Call(review)
            }),
            false => self
                .workspace
                .daily()
                .review_question(&id)
                .map(|question| Content::Question(Box::new(question))),
        };
        let content =
            content.unwrap_or_else(|error| Content::Trouble(self.lines(|page| show_error(&error, page))));
        Detail { id, content }
    }

    /// Watches the files that the approval of a call would bind.
    fn watch(&mut self, review: &ReviewCall) {
        let bound = review.preview.iter().map(|preview| &preview.binding);
        let files = bound.flat_map(|binding| {
            binding.files.keys().cloned().chain(binding.program.iter().map(|program| program.path.clone()))
        });
        let watched: Vec<String> = files.collect();
        if watched != self.watched {
            self.watched = watched;
            self.marks = self.current_marks();
        }
    }

    /// Reads what a decision is about, so that the question shows it as it is now.
    fn ask(&mut self, purpose: Purpose, ids: &[String]) -> Result<Vec<Event>, Error> {
        let mut targets = Vec::new();
        for id in ids {
            if !is_call(id) {
                targets.push(Target::from_question(&self.workspace.daily().review_question(id)?));
                continue;
            }
            let review = self.workspace.daily().review_call(&IdPrefix::new(id))?;
            if !review.offers.contains(&purpose.offer()) {
                return Ok(vec![Event::Note(refusal(&review, &purpose))]);
            }
            targets.push(Target::from_call(&review));
        }
        if targets.is_empty() {
            return Ok(Vec::new());
        }
        if purpose != Purpose::Always {
            return Ok(vec![Event::Asked(purpose, targets, Vec::new())]);
        }
        let proposal = self.workspace.daily().propose_rule(&IdPrefix::new(&targets[0].id))?;
        if !proposal.missing.is_empty() {
            let text = format!("no rule covers it: {}", proposal.missing.join("; "));
            return Ok(vec![Event::Note(Text::new(Tone::Warning, &text))]);
        }
        let mut extra = vec![Text::default(), Text::new(Tone::Strong, "policy.toml would get this rule:")];
        extra.extend(proposal.diff.lines().map(words::diff_line));
        let open = proposal.unrestricted.iter();
        extra.extend(open.map(|name| {
            Text::new(
                Tone::Warning,
                &format!("the rule does not restrict the argument {name}, which is not text"),
            )
        }));
        Ok(vec![Event::Asked(Purpose::AddRule(Box::new(proposal)), targets, extra)])
    }

    fn decide(&mut self, decision: Decision) -> Vec<Event> {
        if decision.purpose == Purpose::Run {
            return match self.start(&decision) {
                Ok(events) => events,
                Err(error) => vec![failures(self.failed(&decision.targets[0], &error))],
            };
        }
        let (mut done, mut events, mut failed) = (0, Vec::new(), Vec::new());
        for target in &decision.targets {
            match self.decide_one(&decision, target) {
                Ok(()) => done += 1,
                Err(error) => failed.extend(self.failed(target, &error)),
            }
        }
        if !failed.is_empty() {
            events.push(failures(failed));
        }
        if 0 < done {
            let what = match (&decision.purpose, done) {
                (Purpose::Approve, 1) => "approved".to_owned(),
                (Purpose::AddRule(proposal), _) => {
                    format!("approved; the rule {} approves such calls", proposal.name)
                }
                (Purpose::Reject, 1) => "rejected".to_owned(),
                (Purpose::Hold, 1) => "put on hold".to_owned(),
                (Purpose::Choose(_) | Purpose::Answer, _) => "answered".to_owned(),
                (Purpose::Reject, count) => format!("{count} rejected"),
                (Purpose::Hold, count) => format!("{count} put on hold"),
                (Purpose::Approve | Purpose::Always | Purpose::Run, count) => format!("{count} approved"),
            };
            events.push(Event::Note(Text::new(Tone::Good, &what)));
        }
        events.insert(0, self.waiting());
        events
    }

    fn decide_one(&self, decision: &Decision, target: &Target) -> Result<(), Error> {
        let (daily, work) = (self.workspace.daily(), self.workspace.work());
        let text = decision.text.clone();
        let choices = match &decision.purpose {
            Purpose::Choose(choice) => vec![choice.clone()],
            _ => Vec::new(),
        };
        if !target.is_call {
            let is_declined = decision.purpose == Purpose::Reject;
            let answer = WorkAnswer { choices, text, is_declined };
            return work.answer_reviewed(&target.id, &target.fingerprint, &answer).map(|_| ());
        }
        let chosen = ChosenCall::Reviewed { id: target.id.clone(), fingerprint: target.fingerprint.clone() };
        let decided = match &decision.purpose {
            Purpose::Reject => CallDecision::Reject(text.unwrap_or_default()),
            Purpose::Hold => CallDecision::Hold(CallDecision::HELD.to_owned()),
            Purpose::Approve
            | Purpose::Always
            | Purpose::AddRule(_)
            | Purpose::Run
            | Purpose::Choose(_)
            | Purpose::Answer => CallDecision::Approve,
        };
        daily.decide(&chosen, &decided)?;
        match &decision.purpose {
            Purpose::AddRule(proposal) => daily.add_rule(proposal),
            _ => Ok(()),
        }
    }

    /// Says why something was not done. If it changed since it was shown, shows the difference.
    fn failed(&self, target: &Target, error: &Error) -> Vec<Text> {
        let mut lines = self.lines(|page| show_error(error, page));
        if error.code() == ErrorCode::ChangedMeanwhile
            && target.is_call
            && let Ok(now) = self.workspace.daily().review_call(&IdPrefix::new(&target.id))
        {
            for difference in now.differences(&target.parts) {
                lines.push(Text::new(Tone::Strong, difference.part));
                lines
                    .extend(difference.removed.iter().map(|line| Text::new(Tone::Bad, &format!("- {line}"))));
                lines.extend(difference.added.iter().map(|line| Text::new(Tone::Good, &format!("+ {line}"))));
            }
        }
        lines.push(Text::default());
        lines
    }

    /// Starts a run.
    fn start(&mut self, decision: &Decision) -> Result<Vec<Event>, Error> {
        let Some(target) = decision.targets.first() else { return Ok(Vec::new()) };
        let review = self.workspace.daily().review_call(&IdPrefix::new(&target.id))?;
        review.check(&target.fingerprint)?;
        let cancel = CancelToken::new().map_err(|error| {
            Error::new(ErrorKind::Environment, format!("the run cannot start: {}", error.kind()))
        })?;
        let workspace = self.workspace.with_env(|env| env.cancel(cancel.clone()));
        let (sender, id) = (self.sender.clone(), review.call.id.clone());
        let (words, now) = (self.words.clone(), self.now());
        let look = TextFormat { colour: Colour::On, width: Some(usize::from(self.width)) };
        let thread = std::thread::spawn(move || {
            let mut page = Page::new(now, words);
            match workspace.calls().run(&id) {
                Ok(report) => report.show(&mut page),
                Err(error) => show_error(&error, &mut page),
            }
            let text = page.trouble.write(look, None) + &page.data.write(look, None);
            // The screen may be gone.
            let _ = sender.send(text.lines().map(painted).collect());
        });
        self.run = Some(OpenRun { call: target.id.clone(), thread, cancel });
        let title = format!("run of {}", review.call.tool_id);
        Ok(vec![
            Event::Running(Some(target.id.clone())),
            Event::Pane(Pane { title, lines: vec![Text::new(Tone::Faint, "it runs")], scroll: 0 }),
        ])
    }

    /// Returns what the run printed since, and its end.
    pub(super) fn follow_run(&mut self) -> Vec<Event> {
        let Some(run) = &self.run else { return Vec::new() };
        let log = self.log_of_call(&run.call).unwrap_or_default();
        let Ok(end) = self.ended.try_recv() else {
            return if log.is_empty() { Vec::new() } else { vec![Event::Output(log)] };
        };
        if let Some(run) = self.run.take() {
            // Its last message was received.
            let _ = run.thread.join();
        }
        vec![
            Event::Output(log.into_iter().chain([Text::default()]).chain(end).collect()),
            Event::Running(None),
            self.waiting(),
        ]
    }

    /// Cancels a run, whose end follows.
    fn cancel_run(&self) {
        if let Some(run) = &self.run {
            run.cancel.cancel();
        }
    }

    /// Cancels a run, and waits for its end.
    pub(super) fn finish_run(&mut self) {
        self.cancel_run();
        if let Some(run) = self.run.take() {
            let _ = run.thread.join();
        }
    }

    fn log_of_call(&self, call: &str) -> Option<Vec<Text>> {
        let report = self.workspace.calls().show(call).ok()?;
        let claim = report.call.claim.filter(|_| report.call.status != CallStatus::Approved)?;
        self.log(claim.run_id.as_str()).ok()
    }

    fn log(&self, run: &str) -> Result<Vec<Text>, Error> {
        let mut lines = Vec::new();
        for stream in [LogStream::Stdout, LogStream::Stderr] {
            let report = self.workspace.runs().log(&IdPrefix::new(run), stream)?;
            let text = escape_terminal_lines(&report.text).into_owned();
            let count = text.lines().count();
            if 0 < count {
                lines.push(Text::new(Tone::Faint, &format!("{} of {}", stream.as_str(), report.run_id)));
            }
            lines.extend(text.lines().skip(count.saturating_sub(LOG_LINES)).map(Text::from));
        }
        Ok(lines)
    }

    fn logs(&self, id: &str) -> Result<Vec<Event>, Error> {
        let run = match id.parse::<CheckpointId>() {
            Ok(id) if !is_call(id.as_str()) => {
                Some(self.workspace.checkpoints().show(&IdPrefix::new(id.as_str()))?.checkpoint.run_id)
            }
            _ if is_call(id) => {
                let review = self.workspace.daily().review_call(&IdPrefix::new(id))?;
                let own = review.call.claim.as_ref().map(|claim| claim.run_id.to_string());
                own.or_else(|| review.runs.first().map(|row| row.run_id.clone()))
            }
            _ => None,
        };
        let Some(run) = run else {
            return Ok(vec![Event::Note(Text::new(Tone::Warning, "nothing ran yet"))]);
        };
        let mut lines = self.log(&run)?;
        if lines.is_empty() {
            lines.push(Text::new(Tone::Faint, "the run printed nothing"));
        }
        Ok(vec![Event::Pane(Pane { title: format!("output of {run}"), lines, scroll: 0 })])
    }

    fn why(&self, id: &str) -> Result<Vec<Event>, Error> {
        if !is_call(id) {
            return Ok(vec![Event::Note(Text::new(Tone::Warning, "only calls have a life"))]);
        }
        let report = self.workspace.daily().why(id)?;
        Ok(vec![self.pane("why", &report)])
    }

    fn history(&self) -> Result<Vec<Event>, Error> {
        let filter = HistoryFilter { limit: HISTORY_ROWS, ..HistoryFilter::default() };
        let mut report = self.workspace.daily().history(&filter)?;
        report.runs.reverse();
        Ok(vec![self.pane("history, newest first", &report)])
    }

    fn board(&self) -> Result<Vec<Event>, Error> {
        let report = self.workspace.kitchen().status(None)?;
        let lines = self.lines(|page| show_status(&report, Escalations::Newest, page));
        Ok(vec![Event::Pane(Pane { title: "board".to_owned(), lines, scroll: 0 })])
    }

    fn pane(&self, title: &str, report: &impl View) -> Event {
        Event::Pane(Pane { title: title.to_owned(), lines: self.lines(|page| report.show(page)), scroll: 0 })
    }
}

fn is_call(id: &str) -> bool {
    id.starts_with("call-") && id.parse::<CallId>().is_ok()
}

/// Says why a call cannot be decided so.
fn refusal(review: &ReviewCall, purpose: &Purpose) -> Text {
    let status = review.call.status.as_str();
    let because = review.blockers.first().map(|blocker| blocker.message.clone());
    let text = match (purpose.offer(), because) {
        (brigade::report::ReviewOffer::Always, _) => "rules approve calls of agents only".to_owned(),
        (brigade::report::ReviewOffer::Run, None) if review.call.status == CallStatus::Approved => {
            "its agent runs it, when it asks again".to_owned()
        }
        (offer, None) => format!("it is {status}, so {offer} is not possible"),
        (offer, Some(because)) => format!("{offer} is not possible: {because}"),
    };
    Text::new(Tone::Warning, &text)
}

fn failures(lines: Vec<Text>) -> Event {
    Event::Pane(Pane { title: "not done".to_owned(), lines, scroll: 0 })
}

/// Reads a line with the colours that pages are written with.
fn painted(line: &str) -> Text {
    let mut pieces = line.split("\x1b[");
    let mut text = Text::from(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (code, rest) = piece.split_once('m').unwrap_or(("0", piece));
        let tone = match code {
            "1" => Tone::Strong,
            "2" => Tone::Faint,
            "31" => Tone::Bad,
            "32" => Tone::Good,
            "33" => Tone::Warning,
            "36" => Tone::Accent,
            _ => Tone::Plain,
        };
        text = text.then(tone, rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painted_lines_are_the_texts_they_were() {
        let text = Text::new(Tone::Good, "yes").then(Tone::Plain, " and ").then(Tone::Bad, "\x1b[2J");
        let mut written = String::new();
        text.write(Colour::On, &mut written);
        let mut again = String::new();
        painted(&written).write(Colour::On, &mut again);
        assert_eq!(again, written);
    }
}
