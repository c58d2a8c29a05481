//! The state of the screen, and how it changes.
//!
//! Pure: an event changes the state, and what must be done outside is returned as an action. Its result is another
//! event.

use std::collections::BTreeSet;

use brigade::CallStatus;
use brigade::core::text::shows_nothing;
use brigade::report::{PendingRow, ReviewCall, ReviewQuestion, WaitingItem, WaitingKind, WaitingReport};

use super::input::{Input, Key};
use super::layout::{Areas, is_large_enough, wrapped};
use super::lines::{self, Amount};
use super::question::{Decision, Purpose, Question, Target, TextLine};
use crate::render::text::{Colour, Text, Tone};
use crate::render::when::Now;

/// What happened.
pub(crate) enum Event {
    Input(Input),
    /// The window has this size.
    Resize(u16, u16),
    /// The current state is on the screen.
    Drawn,
    /// What waits now.
    Waiting(Box<WaitingReport>),
    /// The thing that is shown.
    Detail(Detail),
    /// What a decision is about, freshly read.
    Asked(Purpose, Vec<Target>, Vec<Text>),
    /// Text for a pane.
    Pane(Pane),
    /// More text for the pane of a run.
    Output(Vec<Text>),
    /// A run began or ended.
    Running(Option<String>),
    /// A sentence for the status line.
    Note(Text),
}

/// What to do outside.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Read a thing.
    Show(String),
    /// Read what a decision is about.
    Ask(Purpose, Vec<String>),
    /// Decide.
    Decide(Box<Decision>),
    Logs(String),
    Why(String),
    History,
    Board,
    /// Stop this process until it is continued.
    Stop,
    /// End a run.
    EndRun,
    Quit,
}

/// The thing that is shown.
pub(crate) struct Detail {
    pub(crate) id: String,
    pub(crate) content: Content,
}

/// Its content.
pub(crate) enum Content {
    Call(Box<ReviewCall>),
    Question(Box<ReviewQuestion>),
    /// Why it cannot be shown.
    Trouble(Vec<Text>),
}

/// A row of the list.
pub(crate) struct Row {
    pub(crate) item: WaitingItem,
    /// Whether it is approved and can run.
    pub(crate) is_approved: bool,
}

/// A text over the whole body.
pub(crate) struct Pane {
    pub(crate) title: String,
    pub(crate) lines: Vec<Text>,
    pub(crate) scroll: usize,
}

/// Which part the arrows move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    List,
    Detail,
}

/// What the keys mean.
pub(crate) enum Mode {
    Browse,
    Pane(Pane),
    Filter(TextLine),
    /// A line of text that a decision needs.
    Text(Purpose, Vec<Target>, TextLine),
    Question(Question),
}

/// The state of the screen.
pub(crate) struct Model {
    pub(crate) size: (u16, u16),
    pub(crate) now: Now,
    pub(crate) colour: Colour,
    pub(crate) target: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) selected: Option<String>,
    pub(crate) marked: BTreeSet<String>,
    pub(crate) detail: Option<Detail>,
    pub(crate) scroll: usize,
    pub(crate) focus: Focus,
    pub(crate) is_full: bool,
    pub(crate) filter: String,
    pub(crate) mode: Mode,
    pub(crate) note: Option<Text>,
    /// The call that runs here.
    pub(crate) running: Option<String>,
    /// Whether the screen, and the question on it, were drawn. Keys from before are not meant for it.
    is_drawn: bool,
    /// What changed while a question or a text was open.
    later: Option<Box<WaitingReport>>,
}

/// All keys, for `?`.
const KEYS: &str = "\
arrows, j k   move in the list, or scroll what Tab chose
Tab           the arrows move the list or the details
PgUp PgDn     scroll the details
Enter         all details, and back
Space         mark a call; a, r and h then decide about all marked calls
a             approve, or answer a question with a text
r             reject, with a reason
h             put on hold
A             approve, and add the narrowest rule that covers the call to policy.toml
1-9           choose an answer of a checkpoint or decision
x             run an approved call
l             output of the last run
w             why: the life of the call
/             filter the list by words, such as held, high or the name of a tool
g             history
b             board of the PRD
?             this list
Esc           leave a question, a text or a filter
q             quit";

impl Model {
    pub(crate) fn new(size: (u16, u16), now: Now, colour: Colour, target: &str) -> Model {
        Model {
            size,
            now,
            colour,
            target: target.to_owned(),
            rows: Vec::new(),
            selected: None,
            marked: BTreeSet::new(),
            detail: None,
            scroll: 0,
            focus: Focus::List,
            is_full: false,
            filter: String::new(),
            mode: Mode::Browse,
            note: None,
            running: None,
            is_drawn: false,
            later: None,
        }
    }

    /// Returns the areas of the screen.
    pub(crate) fn areas(&self) -> Areas {
        Areas::new(self.size, self.is_full)
    }

    /// Returns the rows that the filter lets through.
    pub(crate) fn visible(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| fits(row, &self.filter)).collect()
    }

    /// Returns the place of the selected row among the visible ones.
    pub(crate) fn place(&self) -> Option<usize> {
        let selected = self.selected.as_deref()?;
        self.visible().iter().position(|row| row.item.id() == selected)
    }

    pub(crate) fn selected_row(&self) -> Option<&Row> {
        let place = self.place()?;
        self.visible().get(place).copied()
    }

    /// Returns the lines of the details, wrapped.
    pub(crate) fn detail_lines(&self) -> Vec<Text> {
        let width = self.areas().detail.width;
        let amount = if self.is_full { Amount::All } else { Amount::Brief };
        let Some(detail) = self.detail.as_ref().filter(|detail| Some(&detail.id) == self.selected.as_ref())
        else {
            return Vec::new();
        };
        match &detail.content {
            Content::Call(review) => wrapped(&lines::call(review, amount, self.now), width),
            Content::Question(question) => wrapped(&lines::question(question, self.now), width),
            Content::Trouble(lines) => wrapped(lines, width),
        }
    }

    /// Returns whether the screen or its question was not drawn yet.
    pub(crate) fn awaits_drawing(&self) -> bool {
        !self.is_drawn
    }

    /// Returns whether the list must stay as it is.
    fn is_frozen(&self) -> bool {
        matches!(self.mode, Mode::Text(..) | Mode::Question(_))
    }

    fn say(&mut self, tone: Tone, text: &str) {
        self.note = Some(Text::new(tone, text));
    }
}

/// Returns whether a question can be answered with a text.
pub(crate) fn takes_text(item: &WaitingItem) -> bool {
    item.row.choices.is_empty() || item.row.kind == WaitingKind::Question
}

/// Returns whether a question can be rejected.
pub(crate) fn takes_no(item: &WaitingItem) -> bool {
    item.row.kind != WaitingKind::Decision
}

fn fits(row: &Row, filter: &str) -> bool {
    let filter = filter.to_lowercase();
    let item = &row.item;
    let status = match (row.is_approved, item.is_call(), item.row.held) {
        (true, ..) => CallStatus::Approved,
        (false, true, true) => CallStatus::Held,
        (false, true, false) => CallStatus::Pending,
        (false, false, _) => CallStatus::Waiting,
    };
    let PendingRow { who, subject, text, kind, .. } = &item.row;
    let texts = [who, subject, text, item.id(), kind.as_str(), status.as_str(), item.risk.as_str()];
    filter.is_empty() || texts.iter().any(|text| text.to_lowercase().contains(&filter))
}

/// Changes the state, and returns what to do.
pub(crate) fn update(model: &mut Model, event: Event) -> Option<Action> {
    match event {
        Event::Resize(width, height) => {
            model.size = (width, height);
            None
        }
        Event::Drawn => {
            model.is_drawn = true;
            if let Mode::Question(question) = &mut model.mode
                && is_large_enough(model.size)
            {
                question.drawn(model.size);
            }
            None
        }
        Event::Waiting(report) => {
            if model.is_frozen() {
                model.later = Some(report);
                model.say(Tone::Warning, "what waits changed meanwhile");
                return None;
            }
            model.show_waiting(*report)
        }
        Event::Detail(detail) => {
            if !model.is_frozen() && Some(&detail.id) == model.selected.as_ref() {
                model.detail = Some(detail);
            }
            None
        }
        Event::Asked(purpose, targets, extra) => {
            (model.note, model.is_drawn) = (None, false);
            model.mode = match purpose.needs_text() {
                true => Mode::Text(purpose, targets, TextLine::default()),
                false => Mode::Question(Question::new(purpose, targets, extra)),
            };
            None
        }
        Event::Pane(pane) => {
            if !model.is_frozen() {
                model.mode = Mode::Pane(pane);
            }
            None
        }
        Event::Output(lines) => {
            if let (Mode::Pane(pane), Some(_)) = (&mut model.mode, &model.running) {
                let height = usize::from(model.size.1.saturating_sub(3));
                let was_at_end = pane.lines.len() <= pane.scroll + height;
                pane.lines = lines;
                if was_at_end {
                    pane.scroll = pane.lines.len().saturating_sub(height);
                }
            }
            None
        }
        Event::Running(call) => {
            model.running = call;
            None
        }
        // What does not fit into the status line is shown in full.
        Event::Note(note) if usize::from(model.size.0) < note.width() && !model.is_frozen() => {
            model.mode = Mode::Pane(Pane { title: "note".to_owned(), lines: vec![note], scroll: 0 });
            None
        }
        Event::Note(note) => {
            model.note = Some(note);
            None
        }
        Event::Input(input) => model.input(input),
    }
}

impl Model {
    /// Shows what waits. The selection follows the thing; if it is gone, the next one is selected.
    fn show_waiting(&mut self, report: WaitingReport) -> Option<Action> {
        let place = self.place().unwrap_or(0);
        let waiting = report.items().into_iter().map(|item| Row { item: item.clone(), is_approved: false });
        let approved = report.approved.iter().map(|item| Row { item: item.clone(), is_approved: true });
        self.rows = waiting.chain(approved).collect();
        let rows = &self.rows;
        self.marked.retain(|id| rows.iter().any(|row| row.item.id() == id && !row.is_approved));
        if self.place().is_none() {
            let visible = self.visible();
            let next = visible.get(place.min(visible.len().saturating_sub(1)));
            let next = next.map(|row| row.item.id().to_owned());
            self.select(next);
        }
        self.selected.clone().map(Action::Show)
    }

    fn select(&mut self, id: Option<String>) {
        if self.selected != id {
            (self.selected, self.scroll) = (id, 0);
        }
    }

    /// Selects the first row if the selected one is not visible.
    fn select_any(&mut self) -> Option<Action> {
        if self.place().is_none() {
            let first = self.visible().first().map(|row| row.item.id().to_owned());
            self.select(first);
        }
        self.selected.clone().map(Action::Show)
    }

    /// Returns to the list. What changed meanwhile is shown now.
    fn leave(&mut self) -> Option<Action> {
        self.mode = Mode::Browse;
        self.note = None;
        match self.later.take() {
            Some(report) => self.show_waiting(*report),
            None => self.selected.clone().map(Action::Show),
        }
    }

    fn input(&mut self, input: Input) -> Option<Action> {
        if !self.is_drawn {
            return None;
        }
        if !is_large_enough(self.size) {
            return match input {
                Input::Key(Key::Char('q') | Key::Control('c')) => self.quit(input),
                _ => None,
            };
        }
        match input {
            Input::Key(Key::Control('c')) => return self.quit(input),
            Input::Key(Key::Control('z')) => return Some(Action::Stop),
            Input::Key(_) | Input::Click(..) | Input::Wheel(..) => {}
        }
        match &mut self.mode {
            Mode::Browse => self.browse(input),
            Mode::Pane(_) => self.pane(input),
            Mode::Filter(_) => self.filter_line(input),
            Mode::Text(..) => self.text_line(input),
            Mode::Question(_) => self.question(input),
        }
    }

    fn quit(&mut self, input: Input) -> Option<Action> {
        if self.running.is_none() {
            return Some(Action::Quit);
        }
        if input == Input::Key(Key::Control('c')) {
            self.say(Tone::Warning, "the run is being ended");
            return Some(Action::EndRun);
        }
        self.say(Tone::Warning, "a call runs; Ctrl-C ends it");
        None
    }

    fn browse(&mut self, input: Input) -> Option<Action> {
        let key = match input {
            Input::Key(key) => key,
            Input::Click(column, row) => return self.click(column, row),
            Input::Wheel(column, row, down) => {
                let list = self.areas().list;
                return match list.contains((column, row).into()) {
                    true => self.step(if down { 1 } else { -1 }),
                    false => self.scroll_by(if down { 3 } else { -3 }),
                };
            }
        };
        self.note = None;
        let page = isize::try_from(self.areas().detail.height.max(2) - 1).unwrap_or(1);
        let is_list = self.focus == Focus::List && !self.is_full;
        match key {
            Key::Char('q') => self.quit(input),
            Key::Down | Key::Char('j') if is_list => self.step(1),
            Key::Up | Key::Char('k') if is_list => self.step(-1),
            Key::Home if is_list => self.step(isize::MIN / 2),
            Key::End if is_list => self.step(isize::MAX / 2),
            Key::Down | Key::Char('j') => self.scroll_by(1),
            Key::Up | Key::Char('k') => self.scroll_by(-1),
            Key::Home => self.scroll_by(isize::MIN / 2),
            Key::End => self.scroll_by(isize::MAX / 2),
            Key::PageDown => self.scroll_by(page),
            Key::PageUp => self.scroll_by(-page),
            Key::Tab => {
                self.focus = if self.focus == Focus::List { Focus::Detail } else { Focus::List };
                None
            }
            Key::Enter => {
                (self.is_full, self.scroll) = (!self.is_full, 0);
                None
            }
            Key::Escape => {
                (self.is_full, self.filter) = (false, String::new());
                self.select_any()
            }
            Key::Char(' ') => self.mark(),
            Key::Char('a') => self.approve(),
            Key::Char('r') => self.ask_about(Purpose::Reject),
            Key::Char('h') => self.ask_about(Purpose::Hold),
            Key::Char('A') => self.ask_about_one(Purpose::Always),
            Key::Char('x') => self.run(),
            Key::Char(digit @ '1'..='9') => self.choose(digit),
            Key::Char('l') => self.selected.clone().map(Action::Logs),
            Key::Char('w') => self.selected.clone().map(Action::Why),
            Key::Char('g') => Some(Action::History),
            Key::Char('b') => Some(Action::Board),
            Key::Char('/') => {
                self.mode = Mode::Filter(TextLine::from(self.filter.as_str()));
                None
            }
            Key::Char('?') => {
                let lines = KEYS.lines().map(Text::from).collect();
                self.mode = Mode::Pane(Pane { title: "keys".to_owned(), lines, scroll: 0 });
                None
            }
            Key::Char(_) | Key::Control(_) | Key::Backspace => None,
        }
    }

    fn click(&mut self, column: u16, row: u16) -> Option<Action> {
        let areas = self.areas();
        if !areas.list.contains((column, row).into()) {
            self.focus = Focus::Detail;
            return None;
        }
        self.focus = Focus::List;
        let visible = self.visible();
        let first = areas.first_row(self.place().unwrap_or(0), visible.len());
        let id = visible.get(first + usize::from(row - areas.list.y)).map(|row| row.item.id().to_owned())?;
        self.select(Some(id.clone()));
        Some(Action::Show(id))
    }

    fn step(&mut self, by: isize) -> Option<Action> {
        let visible = self.visible();
        let last = visible.len().checked_sub(1)?;
        let place = self.place().map_or(0, |place| place.saturating_add_signed(by).min(last));
        let id = visible[place].item.id().to_owned();
        self.select(Some(id.clone()));
        Some(Action::Show(id))
    }

    fn scroll_by(&mut self, by: isize) -> Option<Action> {
        let most = self.detail_lines().len().saturating_sub(usize::from(self.areas().detail.height));
        self.scroll = self.scroll.saturating_add_signed(by).min(most);
        None
    }

    fn mark(&mut self) -> Option<Action> {
        let row = self.selected_row()?;
        if !row.item.is_call() || row.is_approved {
            self.say(Tone::Warning, "only calls that wait can be marked");
            return None;
        }
        let id = row.item.id().to_owned();
        if !self.marked.remove(&id) {
            self.marked.insert(id);
        }
        self.step(1)
    }

    /// Asks about the marked calls, or about the selected thing.
    fn ask_about(&mut self, purpose: Purpose) -> Option<Action> {
        if self.marked.is_empty() {
            return self.ask_about_one(purpose);
        }
        // In the order of the list, including rows that the filter hides.
        let marked = self.rows.iter().map(|row| row.item.id()).filter(|id| self.marked.contains(*id));
        Some(Action::Ask(purpose, marked.map(str::to_owned).collect()))
    }

    fn ask_about_one(&mut self, purpose: Purpose) -> Option<Action> {
        let row = self.selected_row()?;
        let is_call = row.item.is_call();
        if !is_call && !purpose.is_for_questions() {
            self.say(Tone::Warning, "this is not a call: choose an answer with 1-9");
            return None;
        }
        if purpose == Purpose::Reject && !is_call && !takes_no(&row.item) {
            self.say(Tone::Warning, "a decision of the kitchen cannot be rejected: choose with 1-9");
            return None;
        }
        Some(Action::Ask(purpose, vec![self.selected.clone()?]))
    }

    fn approve(&mut self) -> Option<Action> {
        let row = self.selected_row();
        if self.marked.is_empty()
            && let Some(row) = row
        {
            if row.is_approved {
                self.say(Tone::Warning, "it is approved; x runs it");
                return None;
            }
            if !row.item.is_call() && takes_text(&row.item) {
                return self.ask_about_one(Purpose::Answer);
            }
        }
        self.ask_about(Purpose::Approve)
    }

    fn run(&mut self) -> Option<Action> {
        if self.running.is_some() {
            self.say(Tone::Warning, "another call runs");
            return None;
        }
        self.ask_about_one(Purpose::Run)
    }

    fn choose(&mut self, digit: char) -> Option<Action> {
        let row = self.selected_row()?;
        let place = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok())?.checked_sub(1)?;
        let choices = if row.item.is_call() { &[] } else { row.item.row.choices.as_slice() };
        match choices.get(place).cloned() {
            Some(choice) => self.ask_about_one(Purpose::Choose(choice)),
            None => {
                self.say(Tone::Warning, "there is no such choice");
                None
            }
        }
    }

    fn pane(&mut self, input: Input) -> Option<Action> {
        let height = usize::from(self.areas().body.height.saturating_sub(1)).max(1);
        let width = self.size.0;
        let Mode::Pane(pane) = &mut self.mode else { return None };
        let most = wrapped(&pane.lines, width).len().saturating_sub(height);
        let page = isize::try_from(height).unwrap_or(1);
        let by = match input {
            Input::Wheel(_, _, down) => {
                if down {
                    3
                } else {
                    -3
                }
            }
            Input::Click(..) => return None,
            Input::Key(Key::Down | Key::Char('j')) => 1,
            Input::Key(Key::Up | Key::Char('k')) => -1,
            Input::Key(Key::PageDown | Key::Char(' ')) => page,
            Input::Key(Key::PageUp) => -page,
            Input::Key(Key::Home) => isize::MIN / 2,
            Input::Key(Key::End) => isize::MAX / 2,
            Input::Key(Key::Char('q')) => return self.quit(input),
            Input::Key(Key::Escape | Key::Enter) => return self.leave(),
            Input::Key(_) => return None,
        };
        pane.scroll = pane.scroll.saturating_add_signed(by).min(most);
        None
    }

    fn filter_line(&mut self, input: Input) -> Option<Action> {
        let (Mode::Filter(line), Input::Key(key)) = (&mut self.mode, input) else { return None };
        match key {
            Key::Enter => self.mode = Mode::Browse,
            Key::Escape => {
                self.filter.clear();
                self.mode = Mode::Browse;
            }
            key => {
                line.edit(key);
                self.filter = line.as_str().to_owned();
            }
        }
        self.select_any()
    }

    fn text_line(&mut self, input: Input) -> Option<Action> {
        let (Mode::Text(_, _, line), Input::Key(key)) = (&mut self.mode, input) else { return None };
        match key {
            Key::Escape => self.leave(),
            Key::Enter if shows_nothing(line.as_str()) => {
                self.say(Tone::Bad, "an empty text is not taken");
                None
            }
            Key::Enter => {
                let Mode::Text(purpose, targets, line) = std::mem::replace(&mut self.mode, Mode::Browse)
                else {
                    return None;
                };
                Some(self.decide(Decision::new(purpose, targets, Some(line.as_str().trim()))))
            }
            key => {
                line.edit(key);
                None
            }
        }
    }

    fn question(&mut self, input: Input) -> Option<Action> {
        let size = self.size;
        self.note = None;
        let Mode::Question(question) = &mut self.mode else { return None };
        match input {
            Input::Key(Key::Char('y')) => {
                if !question.was_read() {
                    self.say(Tone::Warning, "the end was not shown yet: PgDn");
                    return None;
                }
                let Mode::Question(question) = std::mem::replace(&mut self.mode, Mode::Browse) else {
                    return None;
                };
                Some(self.decide(question.into_decision()))
            }
            Input::Key(Key::Escape | Key::Char('n')) => self.leave(),
            Input::Key(Key::Down | Key::Char('j')) => question.scroll_by(1, size),
            Input::Key(Key::Up | Key::Char('k')) => question.scroll_by(-1, size),
            Input::Key(Key::PageDown | Key::Char(' ')) => question.scroll_page(1, size),
            Input::Key(Key::PageUp) => question.scroll_page(-1, size),
            Input::Key(Key::Home) => question.scroll_by(isize::MIN / 2, size),
            Input::Key(Key::End) => question.scroll_by(isize::MAX / 2, size),
            Input::Wheel(_, _, down) => question.scroll_by(if down { 3 } else { -3 }, size),
            Input::Key(_) | Input::Click(..) => None,
        }
    }

    fn decide(&mut self, decision: Decision) -> Action {
        self.note = None;
        // The list is read again after the decision.
        self.later = None;
        for target in &decision.targets {
            self.marked.remove(&target.id);
        }
        Action::Decide(Box::new(decision))
    }
}
