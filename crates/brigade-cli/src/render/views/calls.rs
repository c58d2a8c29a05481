//! Plans and calls.

mod folded;
pub(crate) mod offers;

use std::borrow::Cow;

use brigade::core::text::escape_blanks;
use brigade::core::{Fingerprint, Json, NextStep, Number};
use brigade::daily::visible_word;
use brigade::policy::{Access, BlockerDetail, CallKind};
use brigade::records::{Binding, BoundBy, BoundCode, CodeNote, ContractLabels, MayLoad};
use brigade::report::{CallReport, PassedOver, PlanReport, QueueReport, ReviewReport, RunReport};
use brigade::{Call, CallStatus, ErrorCode, Preview};

use super::runs;
use crate::render::blockers;
use crate::render::next::with_named_option;
use crate::render::page::{Page, Sheet};
use crate::render::shell::quote;
use crate::render::text::{Text, Tone};
use crate::render::when::Now;
use crate::render::{View, when, words};

impl View for PlanReport {
    fn show(&self, page: &mut Page) {
        let invalid = self.blocker_details.iter().filter(|detail| detail.is_of_invalid_policy());
        let invalid: Vec<BlockerDetail> = invalid.cloned().collect();
        if !invalid.is_empty() {
            // If an error was reported, nothing else is certain.
            blockers::show(&invalid, &mut page.trouble);
            return;
        }
        let sheet = &mut page.data;
        sheet.field("tool", Text::new(Tone::Strong, &self.tool_id));
        let mut contract = self.plan.contract.clone();
        if self.blocker_details.iter().any(|blocker| hides(blocker, "approval_mode")) {
            contract.approval_mode = None;
        }
        show_contract(self.plan.family.as_deref(), self.plan.command.as_deref(), &contract, sheet);
        sheet.field_if("command line", command_line(&self.argv));
        if let Some(sandbox) = &self.policy.sandbox {
            sheet.field_if(
                "can also read",
                Some(sandbox.program_paths.join(", ")).filter(|paths| !paths.is_empty()),
            );
            sheet.field_if(
                "stays closed",
                Some(sandbox.closed_paths.join(", ")).filter(|paths| !paths.is_empty()),
            );
            sheet.field_if("can also write", sandbox.git_write.then_some(".git (history and index)"));
        }
        sheet.field_if("binds", Some(files_by(&self.bound_code, BoundBy::Command).join(", ")));
        show_code(&self.bound_code, !self.argv.is_empty(), sheet);
        sheet.field("can be queued", words::yes_no(self.valid));
        show_arguments(&self.plan.args, sheet);
        show_blockers(&self.blocker_details, sheet);
        for warning in &self.warnings {
            page.note(warning);
        }
        if self.valid {
            page.next(&queue_command(&self.tool_id, &self.plan.args));
        } else {
            page.next_step(&NextStep::DescribeTool(self.tool_id.clone()));
        }
    }
}

/// Returns the command that queues a planned call.
fn queue_command(tool_id: &str, arguments: &Json) -> String {
    let queue = |options: &str| with_named_option("brigade tools call queue", tool_id, options);
    match arguments.as_object().filter(|arguments| !arguments.is_empty()) {
        Some(arguments) => {
            let json = Json::Object(arguments.clone()).to_compact();
            if LONG < json.len() {
                return format!("{} (with the same arguments)", queue("--args-json FILE"));
            }
            queue(&format!("--args {}", quote(&json)))
        }
        None => queue(""),
    }
}

/// The maximum number of bytes shown of an argument, of a word, or of all arguments in a command.
const LONG: usize = 4_000;

/// Returns the shown part of a text and, for a long one, a note: how many bytes are left out, where the rest can be
/// read, and the sha256. With it, a text that was read elsewhere can be compared with the approved one.
fn shortened(text: &str) -> (&str, Option<String>) {
    if text.len() <= LONG {
        return (text, None);
    }
    let shown = &text[..text.floor_char_boundary(LONG)];
    let left_out = text.len() - shown.len();
    let sha256 = Fingerprint::of_bytes(text.as_bytes()).to_hex();
    (shown, Some(format!(" … {left_out} MORE BYTES NOT SHOWN; --json shows them (sha256 of all: {sha256})")))
}

/// Formats a long text. Different texts look different, except for the part that is reported as left out.
fn whole(tone: Tone, text: &str, written: impl Fn(&str) -> Cow<'_, str>) -> Text {
    let (shown, left_out) = shortened(text);
    let shown = Text::new(tone, &written(shown));
    match left_out {
        Some(left_out) => shown.then(Tone::Warning, &left_out),
        None => shown,
    }
}

/// Formats a command line, quoted for a shell.
fn command_line(argv: &[String]) -> Option<Text> {
    let mut line = Text::default();
    for word in argv {
        if !line.is_empty() {
            line = line.then(Tone::Accent, " ");
        }
        line = line.and(whole(Tone::Accent, word, |word| Cow::Owned(quote(&escape_blanks(word)))));
    }
    (!line.is_empty()).then_some(line)
}

/// Returns whether a blocker makes a field of the entry unknown. A syntax error has no field and affects all of them.
fn hides(blocker: &BlockerDetail, field: &str) -> bool {
    let is_its = blocker.field.as_deref().is_none_or(|broken| broken == field);
    is_its && blocker.code.as_ref().is_some_and(|code| *code == ErrorCode::InvalidEntry)
}

/// Shows the contract of a plan or a stored call.
fn show_contract(family: Option<&str>, command: Option<&str>, contract: &ContractLabels, sheet: &mut Sheet) {
    sheet.field_if("family", family);
    sheet.field_if("command", command);
    sheet.field_if("cwd", contract.cwd.as_deref());
    sheet.field_if("approval mode", contract.approval_mode.as_deref());
    sheet.field_if("permissions", Some(contract.permissions.join(", ")));
    if let Some((origin, transport)) = contract.mcp_origin.as_ref().zip(contract.mcp_transport.as_ref()) {
        sheet.field("connects to", format!("{origin} ({transport})"));
    }
    sheet.field_if("effects", Some(contract.effects.join(", ")));
    sheet.field_if("env labels", Some(contract.env_labels.join(", ")));
    let limit = |seconds: &Option<Number>| seconds.as_ref().map(|seconds| when::limit(seconds.as_f64()));
    sheet.field_if("timeout", limit(&contract.timeout));
    sheet.field_if("idle timeout", limit(&contract.idle_timeout));
    sheet.field_if("runtime", contract.runtime_id.as_deref());
    sheet.field_if("mcp tool", contract.mcp_tool_name.as_deref());
}

fn show_arguments(arguments: &Json, sheet: &mut Sheet) {
    let Some(arguments) = arguments.as_object().filter(|arguments| !arguments.is_empty()) else { return };
    sheet.line(Text::new(Tone::Faint, "arguments:"));
    for (name, value) in arguments {
        let value = value.to_compact();
        let name = Text::new(Tone::Strong, &escape_blanks(name)).then(Tone::Plain, " = ");
        sheet.indented(2, name.and(whole(Tone::Plain, &value, escape_blanks)));
    }
}

/// Shows the number of blockers, and each blocker.
fn show_blockers(details: &[BlockerDetail], sheet: &mut Sheet) {
    if details.is_empty() {
        return;
    }
    sheet.line(Text::new(Tone::Faint, "blockers: ").then(Tone::Bad, &details.len().to_string()));
    blockers::show(details, sheet);
}

impl View for QueueReport {
    fn show(&self, page: &mut Page) {
        page.data.field("call", Text::new(Tone::Accent, self.call.id.as_str()));
        page.data.field("tool", &self.call.tool_id);
        page.data.field("status", words::status(self.call.status.as_str()));
        page.data.field("queued", if self.created == 1 { "yes" } else { "no, already in the queue" });
        page.data.field_if("reason", self.reason.as_ref());
        show_blockers(&self.blocker_details, &mut page.data);
        next_step(&self.call, page);
    }
}

/// Adds the next step for a call.
fn next_step(call: &Call, page: &mut Page) {
    let id = &call.id;
    match &call.status {
        CallStatus::Pending if call.blockers.is_empty() => {
            page.next_step(&NextStep::Approve(id.clone()));
        }
        // Its files may have changed while it was on hold.
        CallStatus::Held => page.next_step(&NextStep::ShowCall(id.clone())),
        CallStatus::Approved => match call.caller.agent() {
            Some(agent) => page.next_step(&NextStep::AgentGoesOn(agent.to_owned())),
            None => page.next_step(&NextStep::RunCall(id.clone())),
        },
        CallStatus::Waiting => page.next_step(&NextStep::ListCheckpoints),
        CallStatus::ResumePending => {
            if let Some(agent) = call.caller.agent() {
                page.next_step(&NextStep::AgentGoesOn(agent.to_owned()));
            } else if let Some(checkpoint) = call.checkpoint_ids.first() {
                page.next_step(&NextStep::Resume(checkpoint.clone()));
            }
        }
        CallStatus::Completed | CallStatus::Failed | CallStatus::TimedOut | CallStatus::Interrupted => {
            if let Some(claim) = &call.claim {
                page.next_step(&NextStep::ShowRun(claim.run_id.clone()));
            }
        }
        CallStatus::Pending | CallStatus::Running | CallStatus::Rejected | CallStatus::Other(_) => {}
    }
}

/// The maximum number of bound files that are shown.
const MAX_SHOWN_FILES: usize = 8;

/// Shows the words of the command line, each on a line if quotes would hide where one ends.
fn show_runs(preview: &Preview, sheet: &mut Sheet) {
    let is_quoted = |word: &String| word.contains(char::is_whitespace) || visible_word(word) != *word;
    if preview.argv.iter().any(is_quoted) {
        sheet.line(Text::new(Tone::Faint, "runs:"));
        for word in &preview.argv {
            sheet.indented(2, whole(Tone::Accent, word, visible_word));
        }
    } else {
        sheet.field_if("runs", command_line(&preview.argv));
    }
    if let Some(unchecked) = &preview.unchecked {
        sheet.line(Text::new(Tone::Warning, unchecked));
    }
}

/// Shows what a call would run and access, and how it differs from the last approved call of the tool.
fn show_preview(preview: &Preview, call: &Call, sheet: &mut Sheet) {
    show_runs(preview, sheet);
    let list = |paths: &[String]| if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") };
    let Access { read, write, closed, network, sandbox } = &preview.access;
    sheet.field("reads", list(read));
    sheet.field("writes", list(write));
    sheet.field_if("stays closed", Some(closed.join(", ")).filter(|closed| !closed.is_empty()));
    sheet.field("network", words::yes_no(*network));
    sheet.field(
        "sandbox",
        match sandbox.as_str() {
            "off" => Text::new(Tone::Warning, "off, so nothing enforces this"),
            mode => Text::from(mode),
        },
    );
    if !preview.server_effects.is_empty() {
        let tools = few(preview.server_tools.clone(), "tools").join(", ");
        let server = format!("kept, opened for {} of {tools}", preview.server_effects.join(", "));
        sheet.field("server", Text::from(server.as_str()));
    }
    sheet.field("binds", preview_bound(preview));
    show_code(&preview.bound_code, preview.binding.program.is_some(), sheet);
    sheet.field("asked by", call.caller.to_string());
    show_differences(preview, sheet);
}

/// Names the program that a call binds, and the one that it had when it was queued, if that was another.
fn bound_program(preview: &Preview) -> Option<String> {
    let program = preview.binding.program.as_ref()?;
    Some(match &preview.queued_program {
        Some(was) => format!("program {} (when the call was queued, PATH led to {was})", program.path),
        None => format!("program {}", program.path),
    })
}

/// Shows how a call differs from the last approved one of its tool.
fn show_differences(preview: &Preview, sheet: &mut Sheet) {
    let Some(earlier) = &preview.last_approved else {
        sheet.field("last approved", "none among the newest runs");
        return;
    };
    let same = match (earlier.is_unbound, earlier.is_none()) {
        (false, true) => ", with the same inputs",
        (false, false) => ", which differs in:",
        (true, true) => " by Brigade 0.30, which bound no files; its arguments were the same",
        (true, false) => " by Brigade 0.30, which bound no files; it differs in:",
    };
    sheet.field("last approved", Text::new(Tone::Accent, earlier.call_id.as_str()).then(Tone::Plain, same));
    let value = |value: &Json| match value {
        Json::Null => Text::from("not given"),
        value => whole(Tone::Plain, &value.to_compact(), escape_blanks),
    };
    for argument in earlier.arguments.iter().chain(&earlier.contract) {
        let name = Text::new(Tone::Strong, &argument.name).then(Tone::Plain, ": ");
        let change = value(&argument.before).then(Tone::Plain, " -> ").and(value(&argument.value));
        sheet.indented(2, name.and(change));
    }
    for changed in &earlier.changed {
        sheet.indented(2, Text::new(Tone::Warning, changed));
    }
}

/// Shows what an approval bound.
fn show_bound(binding: &Binding, sheet: &mut Sheet) {
    let program = binding.program.as_ref().map(|program| format!("program {}", program.path));
    let bound = bound(binding, program, few(binding.files.keys().cloned().collect(), FILES));
    sheet.field_if("approved", Some(bound));
}

/// Lists what an approval would bind.
fn preview_bound(preview: &Preview) -> String {
    let files = files_by(&preview.bound_code, BoundBy::Command);
    bound(&preview.binding, bound_program(preview), files)
}

/// Lists what a binding covers.
fn bound(binding: &Binding, program: Option<String>, files: Vec<String>) -> String {
    let named = binding.named.keys().cloned();
    let directory = binding.directory.iter().map(|directory| format!("directory {directory}"));
    let pin = binding.pin.iter().map(|_| "the server's listing".to_owned());
    program.into_iter().chain(files).chain(named).chain(directory).chain(pin).collect::<Vec<_>>().join(", ")
}

/// Lists some of the bound files, and the number of others.
fn files_by(code: &BoundCode, by: BoundBy) -> Vec<String> {
    few(code.files.iter().filter(|file| file.by == by).map(|file| file.path.clone()).collect(), FILES)
}

/// The noun for most lists.
const FILES: &str = "files";

/// Shortens a list. `kind` names its elements.
fn few(mut things: Vec<String>, kind: &str) -> Vec<String> {
    let more = things.len().saturating_sub(MAX_SHOWN_FILES);
    things.truncate(MAX_SHOWN_FILES);
    things.extend((0 < more).then(|| format!("{more} more {kind}")));
    things
}

/// Shows which files the approval binds in addition to the command, and which it does not. Only a started program loads
/// files.
fn show_code(code: &BoundCode, is_started: bool, sheet: &mut Sheet) {
    let list = |files: Vec<String>| Some(files.join(", "));
    sheet.field_if("binds as code", list(files_by(code, BoundBy::Code)));
    if let Some(learned) = &code.learned {
        let count = match learned.files.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let shown = few(learned.files.clone(), FILES).join(", ");
        sheet.field("learned", format!("{count}, from {}: {shown}", learned.run_id));
    }
    sheet.field_if("reads as data", list(few(code.data.clone(), FILES)));
    if is_started {
        match code.may_also_load {
            MayLoad::Workspace => sheet.field("may also load", "anything in the workspace"),
            MayLoad::Nothing => sheet.indented(0, Text::from("may load nothing else")),
        };
    }
    for CodeNote { message, .. } in code.notes.iter().take(MAX_SHOWN_FILES) {
        sheet.field("not bound", Text::new(Tone::Faint, message));
    }
    if !code.unbound.is_empty() {
        let shown =
            format!("{} (used by the last observed run)", few(code.unbound.clone(), FILES).join(", "));
        sheet.field("not bound", Text::new(Tone::Warning, &shown));
    }
}

impl View for CallReport {
    fn show(&self, page: &mut Page) {
        match page.is_full {
            true => show_call(&self.call, page.now, &mut page.data),
            false => folded::show_lead(&self.call, page.now, &mut page.data),
        }
        // Current blockers replace the stored ones.
        if self.blocker_details.is_empty() {
            show_stored_blockers(&self.call, &mut page.data);
        } else {
            page.data.gap();
            show_blockers(&self.blocker_details, &mut page.data);
        }
        if let Some(preview) = &self.preview {
            if page.is_full {
                page.data.gap();
            }
            if let Some(approval) = self.call.approval.as_ref().filter(|_| !self.changed.is_empty()) {
                show_bound(&approval.binding, &mut page.data);
                page.data.line(Text::new(Tone::Bad, "what it would run now, which was not approved:"));
            }
            match page.is_full {
                true => show_preview(preview, &self.call, &mut page.data),
                false => folded::show_preview(preview, &mut page.data),
            }
        }
        if !page.is_full {
            folded::show_rest(&self.call, &mut page.data);
            if let Some(preview) = &self.preview {
                show_differences(preview, &mut page.data);
            }
        }
        offers::show(&self.offers, page);
        if let Some(pin) = &self.pin {
            super::mcp::waiting_change(pin, page);
        }
        // If the program was found elsewhere, a blocker reports it with the next step.
        let is_explained = self.next.is_none() && !self.blocker_details.is_empty();
        if !self.changed.is_empty() && !is_explained {
            page.data.field("changed", Text::new(Tone::Bad, &self.changed.join(", ")));
            page.note(
                "changed since it was approved, so it cannot run; queue it again and approve the new call",
            );
        }
        match &self.next {
            Some(NextStep::QueueCall(tool)) => page.next(&queue_command(tool, &self.call.args)),
            Some(step) => page.next_step(step),
            None => {}
        }
    }
}

/// Shows a stored call.
pub(crate) fn show_call(call: &Call, now: Now, sheet: &mut Sheet) {
    sheet.field("call", Text::new(Tone::Accent, call.id.as_str()));
    sheet.field("tool", Text::new(Tone::Strong, &call.tool_id));
    sheet.field("status", words::status(call.status.as_str()));
    for (at, name) in [
        (call.created_at, "created"),
        (call.reviewed_at, "reviewed"),
        (call.started_at, "started"),
        (call.completed_at, "completed"),
    ] {
        sheet.field_if(name, at.map(|at| when::at(at, now)));
    }
    sheet.field_if("reason", call.review_reason.as_deref());
    sheet.field_if("replay of", call.replay.as_ref().map(|replay| &replay.run_id));
    show_entry(call, sheet);
    sheet.field_if("exit code", Some(words::number(call.exit_code)));
    sheet.field_if("run", call.claim.as_ref().map(|claim| claim.run_id.as_str()));
    sheet.field_if("receipt", call.receipt.as_ref().map(|receipt| &receipt.path));
    let waits = matches!(call.status, CallStatus::Waiting | CallStatus::ResumePending);
    let checkpoint = call.checkpoint_ids.first().filter(|_| waits);
    sheet.field_if("waits on", checkpoint.map(|id| id.as_str()));
    show_arguments(&call.args, sheet);
}

/// Shows fields of a call that come from the entry of its tool.
fn show_entry(call: &Call, sheet: &mut Sheet) {
    sheet.field_if("installs", Some(&call.tool_id).filter(|_| call.kind() == CallKind::Install));
    show_contract(Some(call.family.as_str()), call.command.as_deref(), &call.contract, sheet);
    // Paths in the arguments are relative to this directory.
    sheet.field_if("works in", call.session.as_ref().and_then(|session| session.root_of(&call.tool_id)));
}

/// Shows the blockers that a call had when it was queued.
pub(crate) fn show_stored_blockers(call: &Call, sheet: &mut Sheet) {
    let details: Vec<BlockerDetail> = call.blockers.iter().map(BlockerDetail::from).collect();
    show_blockers(&details, sheet);
}

impl View for ReviewReport {
    fn show(&self, page: &mut Page) {
        if !page.is_full {
            folded::show_lead(&self.call, page.now, &mut page.data);
            if let Some(preview) = &self.preview {
                folded::show_preview(preview, &mut page.data);
                folded::show_rest(&self.call, &mut page.data);
                show_differences(preview, &mut page.data);
            }
            offers::show(&self.offers, page);
            show_pin(self, page);
            return next_step(&self.call, page);
        }
        page.data.field("call", Text::new(Tone::Accent, self.call.id.as_str()));
        page.data.field("tool", &self.call.tool_id);
        page.data.field("status", words::status(self.call.status.as_str()));
        page.data.field_if("reason", self.call.review_reason.as_deref());
        if let Some(preview) = &self.preview {
            show_entry(&self.call, &mut page.data);
            show_arguments(&self.call.args, &mut page.data);
            page.data.gap();
            show_preview(preview, &self.call, &mut page.data);
        }
        offers::show(&self.offers, page);
        show_pin(self, page);
        next_step(&self.call, page);
    }
}

/// Shows the pin after a review.
fn show_pin(report: &ReviewReport, page: &mut Page) {
    if let Some(pin) = &report.pin {
        super::mcp::accepted_change(pin, &report.accepted_changes, page);
    }
}

/// Reports the skipped calls. Reasons that several calls share are listed once.
pub(in crate::render) fn show_skipped(passed_over: &[PassedOver], page: &mut Page) {
    let mut by_reasons: Vec<(&[String], Vec<String>)> = Vec::new();
    for passed in passed_over {
        let call = passed.call_id.to_string();
        match by_reasons.iter_mut().find(|(reasons, _)| *reasons == passed.reasons) {
            Some((_, calls)) => calls.push(call),
            None => by_reasons.push((&passed.reasons, vec![call])),
        }
    }
    for (reasons, calls) in by_reasons {
        page.note(&format!("skipped {}: {}", calls.join(", "), reasons.join("; ")));
    }
}

impl View for RunReport {
    fn show(&self, page: &mut Page) {
        show_skipped(&self.passed_over, page);
        for warning in &self.warnings {
            page.note(warning);
        }
        if let Some(failure) = &self.failure {
            page.error(ErrorCode::RunFailed, failure);
        }
        runs::show_receipt(&self.receipt, page);
        runs::next_step(&self.receipt, page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issue 14: the tools of a kept server are not files.
    #[test]
    fn a_shortened_list_names_its_elements() {
        let ids = |count: usize| (0..count).map(|number| format!("t{number}")).collect::<Vec<_>>();
        assert_eq!(few(ids(MAX_SHOWN_FILES), "tools").len(), MAX_SHOWN_FILES);
        assert_eq!(few(ids(MAX_SHOWN_FILES + 2), "tools").last().unwrap(), "2 more tools");
    }
}
