//! One call or question in full, and what a decision about it covers.

use brigade_call::{Call, CallStatus, Step};
use brigade_core::json::to_json;
use brigade_core::{ErrorCode, Hint, IdPrefix, Json, NextStep, Report as _};
use brigade_policy::{Access, risk_of};
use brigade_queue::StoredCall;
use brigade_workspace::{WorkspaceContext, load};

use super::daily::Daily;
use super::parts::{ReviewDifference, ReviewPart, changed_parts, differences, fingerprint, visible_word};
use super::{history, life};
use crate::calls::{finding::find_call, show_stored};
use crate::error::{Error, ErrorKind};
use crate::report::{
    CallReport, OfferGroup, ReviewCall, ReviewOffer, ReviewQuestion, RulingReport, WaitingItem, WaitingKind,
};
use crate::tools::rulings::tool_rulings;

/// The number of earlier runs of the tool.
const MAX_RUNS: usize = 3;

impl Daily {
    /// Shows one call with everything that a decision about it covers, and what was decided so far. Changes nothing.
    ///
    /// # Errors
    /// As [`Calls::show`](crate::Calls::show).
    pub fn review_call(&self, call: &IdPrefix) -> Result<ReviewCall, Error> {
        let context = &*self.context;
        let stored = find_call(context, call, None)?;
        let view = context.queue().read()?;
        let events = life::events(&view, &stored.call)?;
        let runs = history::last_runs(&view, &stored.call.tool_id, MAX_RUNS)?;
        let short_id = view.short_call_id(stored.call.id.as_str())?;
        Ok(ReviewCall { events, runs, short_id, ..review_stored(context, stored)? })
    }

    /// Shows a checkpoint, a decision of the kitchen or a question of an agent. Changes nothing.
    ///
    /// # Errors
    /// Fails if nothing with this id waits, and on file errors.
    pub fn review_question(&self, id: &str) -> Result<ReviewQuestion, Error> {
        let waiting = self.waiting()?;
        let found = waiting.items().into_iter().find(|item| item.id() == id && !item.is_call()).cloned();
        let Some(WaitingItem { row, .. }) = found else {
            let shown = brigade_core::text::escape_terminal(id);
            let error = Error::new(ErrorKind::NotFound, format!("nothing with the id `{shown}` waits"));
            return Err(error.coded(ErrorCode::WaitingMissing).hint(NextStep::ShowBrief));
        };
        let (mut checkpoint, mut decision, mut text) = (None, None, row.text.clone());
        match row.kind {
            WaitingKind::Checkpoint => {
                let stored = self.context.queue().read()?.the_checkpoint(&IdPrefix::new(id))?;
                let shown = stored.shown(&*self.context);
                let parts =
                    [("", &shown.prompt), ("next: ", &shown.requested_action), ("why: ", &shown.reason)];
                let parts = parts.iter().filter_map(|(head, text)| Some(format!("{head}{}", text.as_ref()?)));
                text = parts.collect::<Vec<_>>().join("\n");
                checkpoint = Some(Box::new(shown));
            }
            WaitingKind::Decision => {
                let (decisions, _) = self.source.others()?;
                decision = decisions.into_iter().find(|decision| decision.id.to_string() == id);
                text = decision.as_ref().map_or(text, |decision| decision.context.clone());
            }
            WaitingKind::Question => text = self.source.question_text(id)?.unwrap_or(text),
            WaitingKind::Approval | WaitingKind::Plan => {}
        }
        let mut question = ReviewQuestion {
            schema: ReviewQuestion::SCHEMA,
            target: waiting.target.clone(),
            id: id.to_owned(),
            kind: row.kind,
            who: row.who,
            text,
            choices: row.choices,
            created_at: row.created_at,
            checkpoint,
            decision,
            next: row.next,
            review_fingerprint: String::new(),
        };
        question.review_fingerprint = fingerprint(&question.parts());
        Ok(question)
    }
}

/// Shows a stored call, without history.
pub(crate) fn review_stored(context: &WorkspaceContext, stored: StoredCall) -> Result<ReviewCall, Error> {
    let revision = stored.revision;
    let (report, config) = show_stored(context, stored)?;
    let tool = config.as_ref().and_then(|config| load::named(&config.catalog, &report.call.tool_id));
    let policy = match (&config, tool) {
        (Some(config), Some(tool)) => tool_rulings(context, config, config.under_policy(tool))?.1,
        _ => Vec::new(),
    };
    let risk = risk_of(tool.and_then(|tool| tool.risk_class), &report.call.contract.effects);
    let offers = offers(&report);
    let CallReport { target, call, preview, blocker_details, changed, pin, offers: host_offers, .. } = report;
    let mut review = ReviewCall {
        schema: ReviewCall::SCHEMA,
        target,
        short_id: call.id.to_string(),
        risk,
        argv: preview
            .iter()
            .flat_map(|preview| &preview.argv)
            .map(|word| visible_word(word).into_owned())
            .collect(),
        blockers: blocker_details,
        policy,
        touches: preview.as_ref().map(|preview| preview.access.clone()),
        code: preview.as_ref().map(|preview| preview.bound_code.clone()),
        diff: preview.as_ref().and_then(|preview| preview.last_approved.clone()),
        preview,
        changed,
        pin,
        runs: Vec::new(),
        events: Vec::new(),
        offers,
        host_offers,
        revision,
        review_fingerprint: String::new(),
        call,
    };
    review.review_fingerprint = fingerprint(&review.parts());
    Ok(review)
}

/// Lists what a person can do with a call now.
fn offers(report: &CallReport) -> Vec<ReviewOffer> {
    let call = &report.call;
    let is_free = report.blocker_details.is_empty() && report.changed.is_empty();
    let allows = |step: Step| call.status.check(step).is_ok();
    let mut covered = report.offers.iter().filter(|group| group.covered);
    let can_approve = match call.status {
        // Approved again, for the hosts that passed it over.
        CallStatus::Approved => covered.any(|group| group.passed_over.is_some()),
        _ => allows(Step::Approve) && (is_free || covered.next().is_some()),
    };
    ReviewOffer::ALL
        .iter()
        .copied()
        .filter(|offer| match offer {
            ReviewOffer::Approve => can_approve,
            ReviewOffer::Reject => allows(Step::Reject),
            ReviewOffer::Hold => allows(Step::Hold),
            ReviewOffer::Always => allows(Step::Approve) && call.caller.agent().is_some(),
            ReviewOffer::Run => allows(Step::Claim) && call.caller.agent().is_none() && is_free,
        })
        .collect()
}

impl ReviewCall {
    /// Returns what a decision covers: everything about the call, and not what other calls did, such as the last runs.
    pub fn parts(&self) -> Vec<ReviewPart> {
        let code = self.code.iter().flat_map(|code| {
            let notes = code.notes.iter().map(|note| note.message.clone());
            let data = code.data.iter().map(|path| format!("data {path}"));
            let unbound = code.unbound.iter().map(|path| format!("unbound {path}"));
            std::iter::once(format!("may also load {}", code.may_also_load))
                .chain(data)
                .chain(notes)
                .chain(unbound)
        });
        vec![
            ReviewPart::new("call", call_lines(self)),
            ReviewPart::new("arguments", members(&self.call.args)),
            ReviewPart::new("contract", members(&to_json(&self.call.contract).unwrap_or(Json::Null))),
            ReviewPart::new("command", self.preview.iter().flat_map(|preview| preview.argv.iter().cloned())),
            ReviewPart::new("access", self.touches.iter().flat_map(access_lines)),
            ReviewPart::new("code", bound_lines(self).chain(code)),
            ReviewPart::new("policy", self.policy.iter().map(RulingReport::line)),
            ReviewPart::new("blockers", self.blockers.iter().map(|blocker| blocker.message.clone())),
            ReviewPart::new("offers", self.host_offers.iter().flat_map(OfferGroup::lines)),
            ReviewPart::new("server", self.pin.iter().flat_map(|pin| pin.changes.iter().cloned())),
        ]
    }

    /// Returns how this review differs from the parts that were shown before.
    pub fn differences(&self, shown: &[ReviewPart]) -> Vec<ReviewDifference> {
        differences(shown, &self.parts())
    }

    /// Checks that this is what was shown.
    ///
    /// # Errors
    /// Fails with the names of the parts that changed.
    pub fn check(&self, shown: &str) -> Result<(), Error> {
        let next = NextStep::ShowCall(self.call.id.clone());
        check(&format!("call {}", self.call.id), &self.parts(), shown, next.into())
    }
}

impl OfferGroup {
    /// Writes what these hosts would run, one fact a line.
    pub fn lines(&self) -> Vec<String> {
        let hosts = self.hosts.join(", ");
        let program =
            self.program.iter().map(|program| format!("program {} {}", program.path, program.sha256));
        let files = self.files.iter().map(|(path, sha256)| format!("{path} {sha256}"));
        let parts = [("pin", self.pin), ("policy", self.policy), ("shared part", self.shared_part)];
        let parts = parts.into_iter().filter_map(|(name, part)| Some(format!("{name} {}", part?)));
        let covered = if self.covered { "covered" } else { "not covered" };
        let blockers = self.blockers.iter().map(|blocker| format!("blocked: {blocker}"));
        let passed_over = self.passed_over.iter().map(|reason| format!("passed over: {reason}"));
        let facts = program.chain(files).chain(parts).chain(access_lines(&self.access));
        let facts = facts.chain(blockers).chain(passed_over).map(|fact| format!("{hosts}: {fact}"));
        std::iter::once(format!("{hosts}: {covered}")).chain(facts).collect()
    }
}

impl ReviewQuestion {
    /// Returns what an answer covers.
    pub fn parts(&self) -> Vec<ReviewPart> {
        let asked = [self.id.clone(), self.kind.to_string(), self.who.clone(), self.text.clone()];
        let context = self.checkpoint.iter().map(|checkpoint| checkpoint.context.to_compact());
        vec![
            ReviewPart::new("question", asked),
            ReviewPart::new("context", context),
            ReviewPart::new("choices", self.choices.iter().cloned()),
        ]
    }

    /// Checks that this is what was shown.
    ///
    /// # Errors
    /// Fails with the names of the parts that changed.
    pub fn check(&self, shown: &str) -> Result<(), Error> {
        check(&format!("`{}`", self.id), &self.parts(), shown, self.next.clone())
    }
}

fn check(subject: &str, parts: &[ReviewPart], shown: &str, next: Hint) -> Result<(), Error> {
    let changed = changed_parts(parts, shown);
    if changed.is_empty() {
        return Ok(());
    }
    let message = format!("{subject} changed since it was shown: {}", changed.join(", "));
    Err(Error::new(ErrorKind::Refused, message).coded(ErrorCode::ChangedMeanwhile).hint(next))
}

impl RulingReport {
    /// Creates a ruling that allows something and has no rule.
    pub fn allowing(topic: &str, subject: &str, message: &str) -> RulingReport {
        RulingReport {
            topic: topic.to_owned(),
            subject: Some(subject.to_owned()),
            allowed: true,
            message: message.to_owned(),
            file: None,
            line: None,
            hint: None,
        }
    }

    /// Writes the ruling and its place in one line.
    pub fn line(&self) -> String {
        let verdict = if self.allowed { "allows" } else { "refuses" };
        let subject = self.subject.as_ref().map(|subject| format!(" {subject}")).unwrap_or_default();
        let place = match (&self.file, self.line) {
            (Some(file), Some(line)) => format!(" ({file} line {line})"),
            (Some(file), None) => format!(" ({file})"),
            (None, _) => String::new(),
        };
        format!("{verdict} {}{subject}: {}{place}", self.topic, self.message)
    }
}

fn call_lines(review: &ReviewCall) -> Vec<String> {
    let call: &Call = &review.call;
    let session = call.session.as_ref();
    let is_open = matches!(call.status, CallStatus::Pending | CallStatus::Held);
    let root = session.and_then(|session| session.root_of(&call.tool_id)).unwrap_or_default();
    vec![
        call.id.to_string(),
        call.status.as_str().to_owned(),
        review.revision.to_string(),
        format!("{} {} by {}", call.kind().as_str(), call.tool_id, call.caller.as_record()),
        format!("works in {root}"),
        call.review_reason.clone().unwrap_or_default(),
        if is_open { String::new() } else { review.changed.join(", ") },
    ]
}

fn members(object: &Json) -> Vec<String> {
    match object.as_object() {
        Some(members) => {
            members.iter().map(|(name, value)| format!("{name} = {}", value.to_compact())).collect()
        }
        None => vec![object.to_compact()],
    }
}

fn access_lines(access: &Access) -> Vec<String> {
    let Access { read, write, closed, network, sandbox } = access;
    let lines = |word: &str, paths: &[String]| paths.iter().map(|path| format!("{word} {path}")).collect();
    let lists: [Vec<String>; 3] = [lines("read", read), lines("write", write), lines("closed", closed)];
    let last = [format!("network {network}"), format!("sandbox {sandbox}")];
    lists.into_iter().flatten().chain(last).collect()
}

fn bound_lines(review: &ReviewCall) -> impl Iterator<Item = String> {
    let preview = review.preview.as_ref();
    let lines = preview.map(|preview| {
        let binding = &preview.binding;
        let program =
            binding.program.iter().map(|program| format!("program {} {}", program.path, program.sha256));
        let files =
            binding.files.iter().chain(&binding.named).map(|(path, sha256)| format!("{path} {sha256}"));
        let directory = binding.directory.iter().map(|directory| format!("directory {directory}"));
        let server =
            preview.server_effects.iter().chain(&preview.server_tools).map(|word| format!("server {word}"));
        let unchecked = preview.unchecked.iter().cloned();
        let whole = std::iter::once(format!("all {}", binding.fingerprint()));
        program.chain(files).chain(directory).chain(server).chain(unchecked).chain(whole).collect::<Vec<_>>()
    });
    lines.into_iter().flatten()
}

#[cfg(test)]
mod tests;
