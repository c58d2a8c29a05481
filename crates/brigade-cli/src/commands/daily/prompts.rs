//! Goes through everything that waits, one question each.

use brigade::core::text::shows_nothing;
use brigade::core::{Hint, IdPrefix, NextStep};
use brigade::daily::{CallDecision, ChosenCall, ShownThing, WaitingGroup, WorkAnswer};
use brigade::report::{PendingRow, WaitingItem, WaitingKind};
use brigade::{CallStatus, Error, Exit, Workspace};

use super::decide::{DECLINED, outcome_line};
use crate::output::Output;
use crate::render::View as _;
use crate::render::page::{Page, Sheet};
use crate::render::text::{Text, Tone};
use crate::render::words;

/// What happens after an answer.
enum Step {
    Next,
    /// The same question again, because something was shown.
    Again,
    End,
}

/// The number of decisions of a walk.
#[derive(Default)]
struct Count {
    approved: usize,
    rejected: usize,
    held: usize,
    answered: usize,
}

const HELP: &str = "\
y  approve it               n  reject it, with a reason: n too broad
h  put it on hold           a  approve this and all other waiting calls of the tool
A  approve it, and add the narrowest rule that covers it to policy.toml
d  show every detail        s  leave it, and go to the next
q  end                      ?  show this";

/// How the prompts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptStyle {
    /// Oldest first; a rejection needs no reason.
    Brief,
    /// As on the screen: riskiest first; a rejection needs a reason.
    Review,
}

/// Asks about each thing that waits.
pub(super) fn run(
    workspace: &Workspace,
    style: PromptStyle,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let groups = groups(workspace, style)?;
    if groups.is_empty() {
        return Ok(output.text("nothing waits\n"));
    }
    let (count, exit, all_of) = (Count::default(), Exit::Done, Vec::new());
    let mut prompts = DecisionPrompts { workspace, output, style, count, exit, all_of, next: Vec::new() };
    for (place, group) in groups.iter().enumerate() {
        let row = &group.row;
        if prompts.all_of.contains(&row.subject) && is_call(row) {
            prompts.decide(group, &CallDecision::Approve);
            continue;
        }
        let position = format!("[{}/{}]", place + 1, groups.len());
        let step = if is_call(row) { prompts.call(group, &position) } else { prompts.answer(row, &position) };
        if matches!(step, Step::End) || prompts.output.is_broken() {
            break;
        }
    }
    let Count { approved, rejected, held, answered } = prompts.count;
    let counts = [(approved, "approved"), (rejected, "rejected"), (held, "held"), (answered, "answered")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| 0 < *count)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let (exit, next) = (prompts.exit, prompts.next);
    output.note(&if counts.is_empty() { "nothing was decided".to_owned() } else { counts.join(", ") });
    let mut page = output.new_page();
    next.iter().for_each(|(_, next)| page.next(&next.to_string()));
    Ok(output.page(&page, exit))
}

fn groups(workspace: &Workspace, style: PromptStyle) -> Result<Vec<WaitingGroup>, Error> {
    let mut groups = workspace.daily().groups()?;
    if style == PromptStyle::Review {
        let report = workspace.daily().waiting()?;
        let ids: Vec<&str> = report.items().into_iter().map(WaitingItem::id).collect();
        groups.sort_by_key(|group| ids.iter().position(|id| group.row.ids.iter().any(|own| own == id)));
    }
    Ok(groups)
}

fn is_call(row: &PendingRow) -> bool {
    matches!(row.kind, WaitingKind::Approval | WaitingKind::Plan)
}

struct DecisionPrompts<'a, 'o, 's> {
    workspace: &'a Workspace,
    output: &'a mut Output<'o, 's>,
    style: PromptStyle,
    count: Count,
    exit: Exit,
    /// The tools whose remaining calls are approved.
    all_of: Vec<String>,
    /// What continues the work of those who were answered, the last one of each.
    next: Vec<(String, Hint)>,
}

impl DecisionPrompts<'_, '_, '_> {
    /// Shows a call, and asks until it is decided. Each question is about the call as it was just shown.
    fn call(&mut self, group: &WaitingGroup, position: &str) -> Step {
        let mut is_full = false;
        loop {
            let Some(shown) = self.show(group, is_full) else { return Step::Next };
            let question = Text::new(Tone::Strong, position)
                .then(Tone::Plain, &format!(" Approve {}?", group.row.subject))
                .then(Tone::Faint, " [y,n,h,a,A,d,s,q,?]");
            match self.ask(&question, group, &shown) {
                Step::Again => is_full = true,
                step => return step,
            }
        }
    }

    /// Shows the first call of a group, and returns the group as it is now. `None` if it waits no more.
    fn show(&mut self, group: &WaitingGroup, is_full: bool) -> Option<WaitingGroup> {
        let first = group.things.first()?;
        let (report, revision) = match self.workspace.calls().show_revision(first.id.as_str()) {
            Ok(shown) => shown,
            Err(error) => {
                self.fail(&error);
                return None;
            }
        };
        if !matches!(report.call.status, CallStatus::Pending | CallStatus::Held) {
            self.output.note(&format!("{} was decided meanwhile", report.call.id));
            return None;
        }
        self.output.text("\n");
        let mut page = self.output.new_page();
        page.is_full = is_full;
        report.show(&mut page);
        if 1 < group.things.len() {
            page.data.line(Text::new(Tone::Warning, &format!("×{}: equal requests", group.things.len())));
        }
        self.exit = self.exit.max(self.output.page(&without_steps(page), Exit::Done));
        let mut shown = group.clone();
        shown.things[0] = ShownThing { revision, ..first.clone() };
        Some(shown)
    }

    fn ask(&mut self, question: &Text, group: &WaitingGroup, shown: &WaitingGroup) -> Step {
        loop {
            let Some(answer) = self.output.ask_inline(question) else { return Step::End };
            let (word, rest) = answer.split_once(' ').unwrap_or((&answer, ""));
            let reason = |usual: &str| match shows_nothing(rest) {
                true => usual.to_owned(),
                false => rest.trim().to_owned(),
            };
            match word {
                "y" | "yes" => return self.decide(shown, &CallDecision::Approve),
                "n" | "no" if self.style == PromptStyle::Review && shows_nothing(rest) => {
                    let mut page = self.output.new_page();
                    page.notes.line("a rejection needs a reason, such as: n too broad");
                    self.output.print_to_stderr(&page.notes);
                }
                "n" | "no" => return self.decide(shown, &CallDecision::Reject(reason(DECLINED))),
                "h" => return self.decide(shown, &CallDecision::Hold(reason(CallDecision::HELD))),
                "a" => {
                    self.all_of.push(group.row.subject.clone());
                    return self.decide(shown, &CallDecision::Approve);
                }
                "A" => {
                    let step = self.decide(shown, &CallDecision::Approve);
                    if matches!(step, Step::Next)
                        && let Some(first) = shown.things.first()
                    {
                        let exit = propose_rule(self.workspace, &first.id, false, self.output);
                        self.exit = self.exit.max(exit);
                    }
                    return step;
                }
                "d" => return Step::Again,
                "s" => return Step::Next,
                "q" => return Step::End,
                _ => {
                    let mut page = self.output.new_page();
                    HELP.lines().for_each(|line| page.notes.line(line));
                    self.output.print_to_stderr(&page.notes);
                }
            }
        }
    }

    /// Decides about all calls of a group. Asks again if the first one is not what was shown.
    fn decide(&mut self, group: &WaitingGroup, decision: &CallDecision) -> Step {
        for (place, thing) in group.things.iter().enumerate() {
            match self.workspace.daily().decide(&ChosenCall::Shown(thing.clone()), decision) {
                Ok(report) => {
                    match decision {
                        CallDecision::Approve => self.count.approved += 1,
                        CallDecision::Reject(_) => self.count.rejected += 1,
                        CallDecision::Hold(_) => self.count.held += 1,
                    }
                    let mut page = self.output.new_page();
                    page.data.line(outcome_line(&report));
                    self.exit = self.exit.max(self.output.page(&page, Exit::Done));
                }
                Err(error) => {
                    self.output.fail(&error);
                    let now = self.workspace.calls().show_revision(thing.id.as_str());
                    let is_changed = now.is_ok_and(|(_, revision)| revision != thing.revision);
                    if place == 0 && is_changed {
                        return Step::Again;
                    }
                    self.exit = self.exit.max(error.exit());
                }
            }
        }
        Step::Next
    }

    /// Asks for the answer to a question, checkpoint or decision.
    fn answer(&mut self, row: &PendingRow, position: &str) -> Step {
        let id = row.ids.first().map_or("", String::as_str);
        let mut page = self.output.new_page();
        page.data.line(Text::new(Tone::Strong, &row.subject).then(Tone::Plain, &format!(" of {}", row.who)));
        page.data.indented(2, row.text.as_str());
        for (place, choice) in row.choices.iter().enumerate() {
            page.data
                .indented(2, Text::new(Tone::Accent, &format!("{}) ", place + 1)).then(Tone::Plain, choice));
        }
        self.exit = self.exit.max(self.output.page(&page, Exit::Done));
        let what = if row.choices.is_empty() { "Answer" } else { "Choice" };
        let question = Text::new(Tone::Strong, position)
            .then(Tone::Plain, &format!(" {what}?"))
            .then(Tone::Faint, " [empty: later, q: end, ?]");
        loop {
            let answer = match self.output.ask_inline(&question) {
                None => return Step::End,
                Some(answer) if answer == "q" => return Step::End,
                Some(answer) if answer.is_empty() => return Step::Next,
                Some(answer) if answer == "?" => {
                    let numbered = if row.choices.is_empty() { "" } else { "a number or " };
                    self.output.note(&format!("type {numbered}a text, which is the answer"));
                    continue;
                }
                Some(answer) => answer,
            };
            let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let choice = number
                .and_then(|place| row.choices.get(place))
                .or_else(|| row.choices.iter().find(|choice| **choice == answer));
            let reply = match choice {
                Some(choice) => WorkAnswer { choices: vec![choice.clone()], ..WorkAnswer::default() },
                None => WorkAnswer { text: Some(answer), ..WorkAnswer::default() },
            };
            match self.workspace.work().answer(&IdPrefix::new(id), &reply) {
                Ok(report) => {
                    self.count.answered += 1;
                    self.next.retain(|(who, _)| *who != row.who);
                    // The next prompt shows what else waits.
                    if report.next_command.step() != Some(&NextStep::ShowBrief) {
                        self.next.push((row.who.clone(), report.next_command));
                    }
                    return Step::Next;
                }
                Err(error) => {
                    self.output.fail(&error);
                }
            }
        }
    }

    fn fail(&mut self, error: &Error) {
        self.exit = self.exit.max(self.output.fail(error));
    }
}

/// Removes the next steps from a page, because a question follows.
fn without_steps(mut page: Page) -> Page {
    page.notes = Sheet::default();
    page
}

/// Shows the narrowest rule that covers a call as a change of the policy, and adds it after a yes.
pub(super) fn propose_rule(
    workspace: &Workspace,
    call: &str,
    yes: bool,
    output: &mut Output<'_, '_>,
) -> Exit {
    let work = workspace.daily();
    let proposal = match work.propose_rule(&IdPrefix::new(call)) {
        Ok(proposal) => proposal,
        Err(error) => return output.fail(&error),
    };
    if !proposal.missing.is_empty() {
        output.note(&format!("no rule was added: {}", proposal.missing.join("; ")));
        return Exit::Done;
    }
    let mut page = output.new_page();
    proposal.diff.lines().for_each(|line| page.data.line(words::diff_line(line)));
    for argument in &proposal.unrestricted {
        page.note(&format!("the rule does not restrict the argument {argument}, which is not text"));
    }
    let exit = output.page(&page, Exit::Done);
    let question = Text::new(Tone::Strong, "Add this rule?").then(Tone::Faint, " [y,n]");
    let is_agreed = yes || output.ask_inline(&question).is_some_and(|answer| matches!(&*answer, "y" | "yes"));
    if !is_agreed {
        output.note("no rule was added");
        return exit;
    }
    match work.add_rule(&proposal) {
        Ok(()) => {
            output.note(&format!("the rule {} approves such calls from now on", proposal.name));
            exit
        }
        Err(error) => output.fail(&error),
    }
}
