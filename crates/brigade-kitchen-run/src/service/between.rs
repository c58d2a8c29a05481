//! Checks before an attempt starts: limits of providers, budgets, settings and approval.

use std::sync::Arc;

use brigade_core::Timestamp;
use brigade_kitchen::Tier;
use brigade_kitchen::life::{Budget, Limits, Record, budget};
use brigade_kitchen::show::Event;
use brigade_policy::Failure;

use super::ServeError;
use super::main_loop::{ServiceLoop, ceiling};
use super::served_prd::{FileStamps, ServedPrd};
use crate::projections::Targets;

/// Formats a failure with its first reason and place.
fn failure_text(failure: &Failure) -> String {
    let Some(first) = failure.blockers().first() else { return failure.to_string() };
    let place = first.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{failure}: {place}{}", first.message)
}

impl ServiceLoop<'_> {
    /// Pauses if all tasks wait for a provider, and the wait is too long.
    pub(super) fn check_limits(&mut self, now: Timestamp) {
        let most = self.settings.limit_wait_max;
        let limit = |tier| Some((tier, self.journal.life().limit(tier, &self.settings)?));
        let late =
            Tier::ALL.iter().copied().filter_map(limit).find(|(_, until)| most < until.since(now).as_secs());
        if let Some((tier, until)) = late
            && self.jobs.is_empty()
        {
            let reason = format!("the limit of the provider of the {tier} tier holds until {until}");
            self.pause(reason, true);
        }
    }

    /// Returns when a tier may start again: the time that its provider gave, or an increasing delay.
    pub(super) fn limit_until(&mut self, tier: Tier, reported: Option<Timestamp>) -> Timestamp {
        let now = self.journal.now();
        let waits = self.limit_waits.entry(tier).or_default();
        *waits += 1;
        let seconds = (60_i64 << (*waits - 1).min(6)).min(3600);
        let until = reported.filter(|until| now < *until);
        until.unwrap_or_else(|| Timestamp::from_unix_micros(now.unix_micros() + seconds * 1_000_000))
    }

    pub(super) fn forget_limit_wait(&mut self, tier: Tier) {
        self.limit_waits.remove(&tier);
    }

    /// Returns the budgets that need a warning or are used up.
    fn budgets(&self) -> Vec<(&'static str, Budget)> {
        let limits = Limits::from_settings(&self.settings, ceiling(&self.served));
        let mut spent = self.journal.life().spent.clone();
        spent.add_usage(&self.unrecorded_usage);
        budget(&spent, &limits, &self.settings)
    }

    /// Returns whether a budget is used up, so that nothing may start.
    pub(super) fn budget_is_used_up(&self) -> bool {
        self.budgets().iter().any(|(_, state)| *state == Budget::Reached)
    }

    pub(super) fn check_budgets(&mut self) -> Result<(), ServeError> {
        let life = self.journal.life();
        let mut records = Vec::new();
        let mut reached = None;
        for (what, state) in self.budgets() {
            let is_reached = state == Budget::Reached;
            if is_reached {
                reached = Some(what);
            }
            if life.budgets.get(what).is_none_or(|known| is_reached && !known) {
                records.push(Record::Budget { what: what.to_owned(), reached: is_reached });
            }
        }
        if !records.is_empty() {
            self.record(records)?;
        }
        if let Some(what) = reached {
            self.pause(format!("the budget `{what}` is used up"), true);
        }
        Ok(())
    }

    /// Shows a warning about the configuration.
    pub(super) fn warn(&self, warning: &str) {
        self.follower.warned(&self.served.name, warning);
    }

    /// Reads changed settings and a changed PRD again. Pauses if a change needs approval.
    pub(super) fn reload(&mut self) -> Result<(), ServeError> {
        let stamps = FileStamps::read(self.kitchen, &self.served.path);
        let approved = self.journal.life().approval.as_ref().map(|approval| approval.fingerprint);
        if stamps == self.stamps && approved == self.approved {
            return Ok(());
        }
        if approved.is_none() {
            self.lost_approval = true;
            let reason = "the approval was revoked".to_owned();
            self.event(Event::ApprovalChanged { reason: reason.clone() });
            self.pause(reason, true);
            return Ok(());
        }
        let served = match ServedPrd::read(self.kitchen, &self.served.path) {
            Ok(served) => served,
            Err(failure) => {
                self.pause(failure_text(&failure), true);
                return Ok(());
            }
        };
        (self.stamps, self.prd_bytes) = (served.stamps.clone(), served.bytes);
        if approved != Some(served.fingerprint) {
            let reason = "what would be executed changed, and is not approved".to_owned();
            self.lost_approval = true;
            self.event(Event::ApprovalChanged { reason: reason.clone() });
            self.pause(reason, true);
            return Ok(());
        }
        let settings = served.settings_with(&self.options.flags);
        let keys: Vec<String> = brigade_kitchen::config::KEYS
            .iter()
            .filter(|key| settings.shown(key) != self.settings.shown(key))
            .map(|key| key.toml.to_owned())
            .collect();
        let options = self.options;
        match options.select(&served.prd) {
            Ok(set) => self.set = set,
            Err(error) => {
                self.pause(error.to_string(), true);
                return Ok(());
            }
        }
        self.approved = Some(served.fingerprint);
        let old = std::mem::replace(&mut self.served, Arc::new(served));
        let targets = Targets::new(&*self.kitchen.fs, &self.served.path, &self.served.name, &settings);
        self.workplace.own(targets.own_files());
        self.projections.retarget(targets, settings.learnings_max);
        self.settings = Arc::new(settings);
        let is_new = |warning: &&String| !old.warnings.contains(warning);
        self.served.warnings.iter().filter(is_new).for_each(|warning| self.warn(warning));
        if keys.is_empty() { Ok(()) } else { self.record(vec![Record::ConfigReloaded { keys }]) }
    }
}
