//! Tests of the screen without a terminal: rules of the keys, and random keys.

use std::sync::Arc;

use brigade::core::text::shows_nothing;
use brigade::core::{Clock, IdPrefix, Timestamp};
use brigade::report::{ReviewCall, WaitingReport};
use brigade::{Env, NewFile, Request, Workspace};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::{Color, Modifier};

use super::draw::draw;
use super::input::{Input, Key};
use super::model::{Action, Content, Detail, Event, Mode, Model, update};
use super::question::{Purpose, Target};
use crate::render::text::Colour;

/// A clock that always shows the same time.
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_micros(1_800_000_000_000_000)
    }
}

const POLICY: &str = "allowed_families = [\"script\"]\nallowed_effects = [\"local-read\", \"local-write\"]\n\
    required_approval_modes = [\"on-request\"]\n";
const CATALOG: &str = "[[tool]]\nid = 'look'\nname = 'Look'\nfamily = 'script'\ncommand = 'sh a.sh'\n\
    effects = ['local-read']\napproval_mode = 'on-request'\ninput_schema_path = 'a.json'\n\
    [tool.argument_template]\nname = '{name}'\n\n[[tool]]\nid = 'write'\nname = 'Write'\nfamily = 'script'\n\
    command = 'sh a.sh'\neffects = ['local-write']\napproval_mode = 'on-request'\ninput_schema_path = 'a.json'\n\
    [tool.argument_template]\nname = '{name}'\n";
const SCHEMA: &str = r#"{"type": "object", "properties": {"name": {"type": "string"}}}"#;

/// What waits in a workspace, and each call in full, read once.
struct Office {
    _folder: tempfile::TempDir,
    report: WaitingReport,
    reviews: Vec<ReviewCall>,
}

impl Office {
    fn new() -> Office {
        let long = "long ".repeat(120);
        Office::with(CATALOG, &[("look", "a"), ("look", "b\u{202e}"), ("write", &long), ("write", "d")])
    }

    fn with(catalog: &str, calls: &[(&str, &str)]) -> Office {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            (".brigade/tools.toml", catalog),
            (".brigade/tools/policy.toml", POLICY),
            ("a.json", SCHEMA),
            ("a.sh", "echo"),
        ];
        let files = files.map(|(path, text)| NewFile::new(path, text));
        let env = Env::of_process().clock(Arc::new(FixedClock));
        let workspace = Workspace::with_files(folder.path(), &files, env).unwrap();
        for (tool, name) in calls {
            workspace.calls().queue(Request::new(*tool).arg("name", *name)).unwrap();
        }
        let report = workspace.daily().waiting().unwrap();
        let ids = report.items().into_iter().map(|item| IdPrefix::new(item.id()));
        let reviews = ids.map(|id| workspace.daily().review_call(&id).unwrap()).collect();
        Office { _folder: folder, report, reviews }
    }

    fn review(&self, id: &str) -> &ReviewCall {
        self.reviews.iter().find(|review| review.call.id.as_str() == id).expect("the call waits")
    }

    fn id(&self, place: usize) -> String {
        self.report.items()[place].id().to_owned()
    }

    fn model(&self, size: (u16, u16)) -> Model {
        let now = FixedClock.now().into();
        let mut model = Model::new(size, now, Colour::On, "/work");
        self.act(&mut model, Event::Waiting(Box::new(self.report.clone())));
        model
    }

    /// Passes an event on, and answers what the screen asks for. Returns what it wants to do outside.
    fn act(&self, model: &mut Model, event: Event) -> Option<Action> {
        match update(model, event)? {
            Action::Show(id) => {
                let content = Content::Call(Box::new(self.review(&id).clone()));
                self.act(model, Event::Detail(Detail { id, content }))
            }
            Action::Ask(purpose, ids) => {
                let targets = ids.iter().map(|id| Target::from_call(self.review(id))).collect();
                self.act(model, Event::Asked(purpose, targets, Vec::new()))
            }
            action => Some(action),
        }
    }

    /// Types keys, and draws after each.
    fn keys(&self, model: &mut Model, keys: &str) -> Option<Action> {
        let mut last = None;
        for key in keys.chars() {
            let key = match key {
                '\n' => Key::Enter,
                '\x1b' => Key::Escape,
                '>' => Key::PageDown,
                c => Key::Char(c),
            };
            last = self.act(model, Event::Input(Input::Key(key)));
            drawn(model);
        }
        last
    }
}

/// Draws, and returns the text of the screen.
fn drawn(model: &mut Model) -> String {
    let mut terminal = Terminal::new(TestBackend::new(model.size.0, model.size.1)).unwrap();
    terminal.draw(|frame| draw(model, frame)).unwrap();
    update(model, Event::Drawn);
    terminal.backend().to_string()
}

#[test]
fn the_riskiest_is_first_and_selected() {
    let office = Office::new();
    let mut model = office.model((100, 30));
    let screen = drawn(&mut model);
    assert!(screen.contains("> medium ") && screen.contains("4 waiting"), "{screen}");
    assert_eq!(model.selected, Some(office.id(0)));
    let mut screens = screen;
    for _ in 0..3 {
        office.keys(&mut model, "j");
        screens.push_str(&drawn(&mut model));
    }
    assert!(screens.contains(r"$'b\u{202e}'") && !screens.contains('\u{202e}'), "{screens}");
}

#[test]
fn only_y_after_the_end_was_shown_approves() {
    let office = Office::new();
    let long = office.reviews.iter().find(|review| 500 < review.argv.concat().len()).unwrap();
    let mut model = office.model((60, 16));
    drawn(&mut model);
    while model.selected.as_deref() != Some(long.call.id.as_str()) {
        office.keys(&mut model, "j");
    }
    assert_eq!(office.keys(&mut model, "ay"), None, "the end was not shown");
    assert!(matches!(model.mode, Mode::Question(_)));
    assert_eq!(office.keys(&mut model, "Yx\n"), None);
    office.keys(&mut model, &">".repeat(100));
    let Some(Action::Decide(decision)) = office.keys(&mut model, "y") else { panic!("nothing was decided") };
    assert_eq!((decision.purpose, decision.targets.len()), (Purpose::Approve, 1));
    assert_eq!(decision.targets[0].fingerprint, long.review_fingerprint);
    // Esc leaves the question, and never the screen.
    assert_eq!(office.keys(&mut model, "a\x1b\x1b\x1by"), None);
}

#[test]
fn keys_before_the_drawing_do_not_count() {
    let office = Office::new();
    let mut model = office.model((100, 30));
    let typed = |model: &mut Model, key| office.act(model, Event::Input(Input::Key(Key::Char(key))));
    assert_eq!(typed(&mut model, 'q'), None);
    drawn(&mut model);
    assert_eq!((typed(&mut model, 'a'), typed(&mut model, 'y')), (None, None));
    assert!(matches!(model.mode, Mode::Question(_)));
    drawn(&mut model);
    assert!(matches!(typed(&mut model, 'y'), Some(Action::Decide(_))));
}

#[test]
fn marked_calls_are_decided_together() {
    let office = Office::new();
    let mut model = office.model((100, 30));
    drawn(&mut model);
    let Some(Action::Decide(decision)) = office.keys(&mut model, " j hy") else { panic!("one question") };
    assert_eq!(decision.purpose, Purpose::Hold);
    let ids: Vec<&str> = decision.targets.iter().map(|target| target.id.as_str()).collect();
    assert_eq!(ids, [office.id(0), office.id(2)]);
    assert!(model.marked.is_empty());
}

#[test]
fn a_reason_is_needed_and_nothing_moves_under_it() {
    let office = Office::new();
    let mut model = office.model((100, 30));
    drawn(&mut model);
    office.keys(&mut model, "r\n too");
    let before = drawn(&mut model);
    let mut changed = office.report.clone();
    changed.calls.remove(0);
    office.act(&mut model, Event::Waiting(Box::new(changed)));
    assert_eq!(model.rows.len(), 4);
    assert!(drawn(&mut model).contains("too") && before.contains("too"));
    let Some(Action::Decide(decision)) = office.keys(&mut model, " broad\n") else { panic!("a reason") };
    assert_eq!((decision.purpose, decision.text.as_deref()), (Purpose::Reject, Some("too broad")));
}

#[test]
fn the_selection_follows_the_call() {
    let office = Office::new();
    let mut model = office.model((100, 30));
    drawn(&mut model);
    office.keys(&mut model, "jj");
    assert_eq!(model.selected, Some(office.id(2)));
    let mut changed = office.report.clone();
    changed.calls.remove(0);
    office.act(&mut model, Event::Waiting(Box::new(changed.clone())));
    assert_eq!((model.selected.clone(), model.place()), (Some(office.id(2)), Some(1)));
    // Once it is gone, the next one is selected.
    changed.calls.remove(1);
    office.act(&mut model, Event::Waiting(Box::new(changed)));
    assert_eq!(model.selected, Some(office.id(3)));
}

#[test]
fn colours_can_be_left_out() {
    let office = Office::new();
    let mut model = office.model((100, 30));
    model.colour = Colour::Off;
    let mut terminal = Terminal::new(TestBackend::new(100, 30)).unwrap();
    terminal.draw(|frame| draw(&model, frame)).unwrap();
    let cells = terminal.backend().buffer().content().iter();
    assert!(cells.into_iter().all(|cell| cell.fg == Color::Reset));
}

/// Writes the screen with the colours of a terminal.
fn coloured(model: &Model) -> String {
    let mut terminal = Terminal::new(TestBackend::new(model.size.0, model.size.1)).unwrap();
    terminal.draw(|frame| draw(model, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in buffer.content().chunks(usize::from(model.size.0)) {
        let blanks = row
            .iter()
            .rev()
            .take_while(|cell| cell.symbol() == " " && !cell.modifier.contains(Modifier::REVERSED))
            .count();
        for part in row[..row.len() - blanks].chunk_by(|left, right| left.style() == right.style()) {
            let codes = [(Modifier::BOLD, "1"), (Modifier::DIM, "2"), (Modifier::REVERSED, "7")];
            let codes =
                codes.iter().filter(|(code, _)| part[0].modifier.contains(*code)).map(|(_, code)| *code);
            let colour = match part[0].fg {
                Color::Red => Some("31"),
                Color::Green => Some("32"),
                Color::Yellow => Some("33"),
                Color::Cyan => Some("36"),
                _ => None,
            };
            let codes: Vec<&str> = codes.chain(colour).collect();
            let symbols: String = part.iter().map(|cell| cell.symbol()).collect();
            text.push_str(&match codes.is_empty() {
                true => symbols,
                false => format!("\u{1b}[{}m{symbols}\u{1b}[0m", codes.join(";")),
            });
        }
        text.push('\n');
    }
    text
}

/// `cargo xtask pictures` draws it in docs/pictures.
#[test]
fn the_picture_of_the_documentation_is_this_screen() {
    let catalog = CATALOG.replace("'look'", "'count-words'").replace("'write'", "'save-note'");
    let catalog = catalog.replace("sh a.sh", "echo");
    let office = Office::with(
        &catalog,
        &[("count-words", "README.md"), ("save-note", "buy\u{200b} milk"), ("count-words", "docs/review.md")],
    );
    let mut model = office.model((104, 16));
    drawn(&mut model);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tests/binary/snapshots/review");
    brigade_testkit::assert_snapshot(format!("{folder}/picture.txt"), &coloured(&model));
}

/// A small generator of numbers, so that a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn random_keys_decide_only_what_was_shown() {
    let office = Office::new();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut model = office.model((80, 24));
    drawn(&mut model);
    let (mut decided, mut report) = (0, office.report.clone());
    let keys: Vec<char> = "jk arhAxlwgb/?12ynnq\n\x1b>qz".chars().collect();
    for step in 0..10_000 {
        let event = match numbers.below(40) {
            0 => {
                let place = usize::try_from(numbers.below(3)).unwrap();
                let size = [(60, 16), (80, 24), (200, 60)][place];
                Event::Resize(size.0, size.1)
            }
            1 => Event::Waiting(Box::new(report.clone())),
            2 => Event::Input(Input::Click(3, u16::try_from(numbers.below(20)).unwrap())),
            3 => Event::Input(Input::Wheel(70, 9, numbers.below(2) == 0)),
            number => {
                let key = keys[usize::try_from(numbers.below(keys.len() as u64)).unwrap()];
                Event::Input(Input::Key(match (key, number) {
                    ('\n', _) => Key::Enter,
                    ('\x1b', _) => Key::Escape,
                    ('>', _) => Key::PageDown,
                    (_, 4) => Key::Tab,
                    (_, 5) => Key::Backspace,
                    (c, _) => Key::Char(c),
                }))
            }
        };
        let is_yes = matches!(event, Event::Input(Input::Key(Key::Char('y'))));
        let is_enter = matches!(event, Event::Input(Input::Key(Key::Enter)));
        let was_read = matches!(&model.mode, Mode::Question(question) if question.was_read());
        let has_text = matches!(&model.mode, Mode::Text(_, _, line) if !shows_nothing(line.as_str()));
        let action = office.act(&mut model, event);
        if let Some(Action::Decide(decision)) = action {
            assert!(is_yes && was_read || is_enter && has_text, "step {step}");
            for target in &decision.targets {
                assert_eq!(target.fingerprint, office.review(&target.id).review_fingerprint, "step {step}");
            }
            decided += 1;
            // Sometimes the decided calls are gone, until none is left.
            if numbers.below(4) == 0 {
                report.calls.retain(|item| decision.targets.iter().all(|target| target.id != item.id()));
            }
            if report.calls.is_empty() {
                report = office.report.clone();
            }
            office.act(&mut model, Event::Waiting(Box::new(report.clone())));
        }
        drawn(&mut model);
        let is_selected = model.visible().is_empty() || model.place().is_some();
        assert!(is_selected || matches!(model.mode, Mode::Filter(_)), "step {step}: nothing is selected");
    }
    assert!(100 < decided, "only {decided} decisions");
}
