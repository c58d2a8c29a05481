//! Counts the calls of the last hour and those that wait for a person, so that limits cost the same however many calls
//! came before.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use brigade_call::{ApprovedBy, CallStatus, Caller};
use brigade_core::json::{from_json, members};
use brigade_core::{CallId, Dialect, RunId, Timestamp};

use crate::store::{FoundReceipt, StoredCall};
use crate::{QueueError, View};

/// How long calls are counted.
const COUNTED: Duration = Duration::from_secs(3600);

/// Returns the moment that was a stretch of time ago, in microseconds since 1970.
fn start(now: Timestamp, window: Duration) -> i64 {
    let micros = i64::try_from(window.min(COUNTED).as_micros()).expect("at most an hour");
    now.unix_micros().saturating_sub(micros)
}

/// Counters of the last hour. Longer windows count as an hour. The costs do not grow with the number of calls.
#[expect(clippy::missing_errors_doc, reason = "all fail when the store cannot be read")]
impl View<'_> {
    fn recent(&self, now: Timestamp, question: &mut dyn FnMut(&mut RecentCalls)) -> Result<(), QueueError> {
        self.snapshot().recent(start(now, COUNTED), question)
    }

    /// Sums up what a caller asked for in the last stretch of time. The printed bytes are summed up on demand, because
    /// each receipt must be read once for that.
    pub fn caller_usage(
        &self,
        caller: &Caller,
        now: Timestamp,
        window: Duration,
        with_output: bool,
    ) -> Result<CallerUsage, QueueError> {
        let (caller, since) = (caller.as_record(), start(now, window));
        let mut unmeasured = Vec::new();
        if with_output {
            self.recent(now, &mut |recent| unmeasured = recent.unmeasured(&caller))?;
        }
        let mut measured = Vec::new();
        for (sequence, run) in unmeasured {
            if let Some(FoundReceipt::Good(stored)) = self.receipt(run.as_str())? {
                let output = stored.receipt.output.as_ref();
                let bytes = output.map_or(0, |output| output.stdout.bytes + output.stderr.bytes);
                measured.push((sequence, run, bytes));
            }
        }
        let mut usage = CallerUsage::default();
        self.recent(now, &mut |recent| {
            measured.iter().for_each(|(sequence, run, bytes)| recent.measure(*sequence, run, *bytes));
            usage = recent.usage(&caller, since);
        })?;
        Ok(usage)
    }

    /// Returns how many calls of a caller wait for a person, of any age.
    pub fn waiting_calls(&self, caller: &Caller, now: Timestamp) -> Result<WaitingCalls, QueueError> {
        let (caller, mut waiting) = (caller.as_record(), WaitingCalls::default());
        self.recent(now, &mut |recent| waiting = recent.waiting(&caller))?;
        Ok(waiting)
    }

    /// Counts the calls of all callers that a rule approved in the last hour.
    pub fn approved_in_last_hour(&self, rule: &str, now: Timestamp) -> Result<u64, QueueError> {
        let mut approved = 0;
        self.recent(now, &mut |recent| approved = recent.approved(rule, start(now, COUNTED)))?;
        Ok(approved)
    }

    /// Returns when a caller asked for a tool in the last stretch of time, and the last run of each call, newest first.
    /// Stops after `most` calls.
    pub fn requests_of_tool(
        &self,
        caller: &Caller,
        tool: &str,
        (now, window): (Timestamp, Duration),
        most: usize,
    ) -> Result<Vec<(Timestamp, Option<RunId>)>, QueueError> {
        let (caller, since) = (caller.as_record(), start(now, window));
        let mut found = Vec::new();
        self.recent(now, &mut |recent| {
            let requests = recent.of_tool(&caller, tool, since).take(most);
            found = requests.map(|(at, run)| (at, run.cloned())).collect();
        })?;
        Ok(found)
    }

    /// Returns the call with the latest run of the last hour that had this request of this caller.
    pub(crate) fn last_run_of(
        &self,
        caller: &Caller,
        request: &str,
        now: Timestamp,
    ) -> Result<Option<CallId>, QueueError> {
        let (caller, mut found) = (caller.as_record(), None);
        self.recent(now, &mut |recent| found = recent.last_run(&caller, request).cloned())?;
        Ok(found)
    }
}

/// What the counters know of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecentCall {
    pub(crate) id: CallId,
    pub(crate) sequence: u64,
    created: i64,
    /// The caller as records name it.
    caller: Box<str>,
    tool: Box<str>,
    /// The rule that approved it.
    rule: Option<Box<str>>,
    /// The fingerprint of its request.
    request: Option<Box<str>>,
    /// The last run.
    run: Option<RunId>,
    /// When that run ended.
    ended: Option<i64>,
    /// How long that run took, in microseconds.
    took: u64,
    /// The length of its record.
    bytes: u64,
    /// Whether a person has to decide about it.
    waits: bool,
    pub(crate) is_finished: bool,
    /// The bytes that its last run printed, once its receipt was read.
    output: Option<u64>,
}

impl RecentCall {
    /// Reads a record without parsing all of it. `None` if it cannot be counted.
    pub(crate) fn from_line(line: &[u8], sequence: u64) -> Option<RecentCall> {
        let mut texts: [Option<Box<str>>; 9] = Default::default();
        let (mut own, mut rule) = (None, None);
        members(line, |key, value| {
            let place = match key.raw() {
                "id" => 0,
                "status" => 1,
                "tool_id" => 2,
                "created_at" => 3,
                "caller" => 4,
                "call_fingerprint" => 5,
                "run_id" => 6,
                "started_at" => 7,
                "completed_at" => 8,
                "sequence" => return own = value.natural(),
                "approved_by" => {
                    let by = value.parse(Dialect::Lenient).ok();
                    let by = by.and_then(|by| from_json::<ApprovedBy>(&by).ok());
                    return rule = by.as_ref().and_then(ApprovedBy::rule).map(Box::from);
                }
                _ => return,
            };
            texts[place] = value.text().map(|text| text.as_ref().into());
        })
        .ok()?;
        let [id, status, tool, created, caller, request, run, started, ended] = texts;
        let time =
            |text: &Option<Box<str>>| text.as_ref()?.parse::<Timestamp>().ok().map(Timestamp::unix_micros);
        let (status, ended) = (CallStatus::from_word(&status?), time(&ended));
        let took = time(&started).zip(ended).map_or(0, |(started, ended)| ended - started);
        Some(RecentCall {
            id: id?.parse().ok()?,
            sequence: own.unwrap_or(sequence),
            created: time(&created)?,
            caller: caller.unwrap_or_default(),
            tool: tool?,
            rule,
            request,
            run: run.and_then(|run| run.parse().ok()),
            ended,
            took: u64::try_from(took).unwrap_or(0),
            bytes: line.len() as u64,
            waits: matches!(status, CallStatus::Pending | CallStatus::Held),
            is_finished: status.is_finished(),
            output: None,
        })
    }

    /// Returns when something last happened to it.
    fn last(&self) -> i64 {
        self.ended.map_or(self.created, |ended| ended.max(self.created))
    }
}

/// What a caller asked for in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallerUsage {
    /// The number of calls.
    pub calls: u64,
    /// How long their last runs took, in microseconds.
    pub micros: u64,
    /// The bytes that their last runs printed.
    pub output: u64,
    /// When the oldest of them was asked for.
    pub oldest: Option<Timestamp>,
}

/// The calls of a caller that wait for a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingCalls {
    /// Their number.
    pub calls: u64,
    /// The length of their records.
    pub bytes: u64,
}

/// Times and sequences of calls, oldest first.
type Times = VecDeque<(i64, u64)>;

/// Returns how many of these are not older than a moment.
fn count(times: &Times, since: i64) -> usize {
    times.len() - times.partition_point(|(created, _)| *created < since)
}

fn insert(times: &mut Times, entry: (i64, u64)) {
    let place = times.partition_point(|known| *known < entry);
    times.insert(place, entry);
}

fn remove(times: &mut Times, entry: (i64, u64)) {
    if let Ok(place) = times.binary_search(&entry) {
        times.remove(place);
    }
}

/// The sums of one caller.
#[derive(Debug, Default)]
struct CallerSums {
    times: Times,
    micros: u64,
    output: u64,
    /// The calls whose output is not known yet.
    unmeasured: BTreeSet<u64>,
    waiting: WaitingCalls,
}

/// The calls of the last hour and those that wait, with their sums.
#[derive(Debug, Default)]
pub struct RecentCalls {
    /// Older calls are not counted.
    since: i64,
    calls: HashMap<u64, RecentCall>,
    /// All counted calls.
    times: Times,
    by_caller: HashMap<Box<str>, CallerSums>,
    by_tool: HashMap<(Box<str>, Box<str>), Times>,
    by_rule: HashMap<Box<str>, Times>,
    /// The call with the latest run of each caller and request.
    last_runs: HashMap<(Box<str>, Box<str>), (i64, u64)>,
}

impl RecentCalls {
    /// Counts calls since a moment, in microseconds since 1970, and those that wait for a person.
    pub fn since(since: i64) -> RecentCalls {
        RecentCalls { since, ..RecentCalls::default() }
    }

    /// Forgets calls that are older than a moment and do not wait.
    pub(crate) fn forget_before(&mut self, since: i64) {
        self.since = self.since.max(since);
        while let Some((created, sequence)) = self.times.front().copied()
            && created < self.since
        {
            let Some(call) = self.calls.remove(&sequence) else { break };
            self.count_out(&call);
            if call.waits {
                self.note(call);
            }
        }
    }

    /// Counts a call that was parsed.
    pub fn note_stored(&mut self, stored: &StoredCall) {
        let line = stored.to_line();
        if let Some(call) = RecentCall::from_line(line.trim_end().as_bytes(), stored.sequence) {
            self.note(call);
        }
    }

    pub(crate) fn get(&self, sequence: u64) -> Option<&RecentCall> {
        self.calls.get(&sequence)
    }

    /// Counts a call as it is now.
    pub(crate) fn note(&mut self, call: RecentCall) {
        if let Some(before) = self.calls.remove(&call.sequence) {
            self.count_out(&before);
        }
        let is_recent = self.since <= call.created;
        if !is_recent && !call.waits {
            return;
        }
        let entry = (call.created, call.sequence);
        let sums = self.by_caller.entry(call.caller.clone()).or_default();
        if call.waits {
            sums.waiting.calls += 1;
            sums.waiting.bytes += call.bytes;
        }
        if is_recent {
            insert(&mut sums.times, entry);
            sums.micros += call.took;
            sums.output += call.output.unwrap_or(0);
            if call.run.is_some() && !(call.is_finished && call.output.is_some()) {
                sums.unmeasured.insert(call.sequence);
            }
            insert(&mut self.times, entry);
            let tool = (call.caller.clone(), call.tool.clone());
            insert(self.by_tool.entry(tool).or_default(), entry);
            if let Some(rule) = &call.rule {
                insert(self.by_rule.entry(rule.clone()).or_default(), entry);
            }
            if let (Some(request), Some(_)) = (&call.request, &call.run) {
                let last = self.last_runs.entry((call.caller.clone(), request.clone())).or_default();
                *last = (*last).max((call.last(), call.sequence));
            }
        }
        self.calls.insert(call.sequence, call);
    }

    /// Takes a call out of all sums.
    fn count_out(&mut self, call: &RecentCall) {
        let entry = (call.created, call.sequence);
        let Some(sums) = self.by_caller.get_mut(&call.caller) else { return };
        if call.waits {
            sums.waiting.calls -= 1;
            sums.waiting.bytes -= call.bytes;
        }
        if self.times.binary_search(&entry).is_err() {
            return;
        }
        remove(&mut self.times, entry);
        remove(&mut sums.times, entry);
        sums.micros -= call.took;
        sums.output -= call.output.unwrap_or(0);
        sums.unmeasured.remove(&call.sequence);
        let tool = (call.caller.clone(), call.tool.clone());
        remove_from(&mut self.by_tool, &tool, entry);
        if let Some(rule) = &call.rule {
            remove_from(&mut self.by_rule, rule, entry);
        }
        if let Some(request) = &call.request {
            let request = (call.caller.clone(), request.clone());
            if self.last_runs.get(&request).is_some_and(|(_, sequence)| *sequence == call.sequence) {
                self.last_runs.remove(&request);
            }
        }
    }

    /// Sums up what a caller asked for since a moment.
    pub(crate) fn usage(&self, caller: &str, since: i64) -> CallerUsage {
        let Some(sums) = self.by_caller.get(caller) else { return CallerUsage::default() };
        let calls = count(&sums.times, since);
        let first = sums.times.len() - calls;
        let oldest = sums.times.get(first).map(|(created, _)| Timestamp::from_unix_micros(*created));
        let (mut micros, mut output) = (sums.micros, sums.output);
        if first != 0 {
            let counted = sums.times.range(first..).filter_map(|(_, sequence)| self.calls.get(sequence));
            (micros, output) = counted.fold((0, 0), |(micros, output), call| {
                (micros + call.took, output + call.output.unwrap_or(0))
            });
        }
        CallerUsage { calls: calls as u64, micros, output, oldest }
    }

    /// Lists the runs of a caller whose output is not known yet.
    pub(crate) fn unmeasured(&self, caller: &str) -> Vec<(u64, RunId)> {
        let sequences = self.by_caller.get(caller).into_iter().flat_map(|sums| &sums.unmeasured);
        let run = |sequence: &u64| Some((*sequence, self.calls.get(sequence)?.run.clone()?));
        sequences.filter_map(run).collect()
    }

    /// Notes what the last run of a call printed.
    pub(crate) fn measure(&mut self, sequence: u64, run: &RunId, output: u64) {
        if let Some(call) = self.calls.get(&sequence)
            && call.run.as_ref() == Some(run)
        {
            self.note(RecentCall { output: Some(output), ..call.clone() });
        }
    }

    /// Returns what waits for a person.
    pub(crate) fn waiting(&self, caller: &str) -> WaitingCalls {
        self.by_caller.get(caller).map(|sums| sums.waiting).unwrap_or_default()
    }

    /// Counts the calls that a rule approved since a moment.
    pub(crate) fn approved(&self, rule: &str, since: i64) -> u64 {
        self.by_rule.get(rule).map_or(0, |times| count(times, since)) as u64
    }

    /// Returns when a caller asked for a tool since a moment, and the last runs, newest first.
    pub(crate) fn of_tool<'a>(
        &'a self,
        caller: &str,
        tool: &str,
        since: i64,
    ) -> impl Iterator<Item = (Timestamp, Option<&'a RunId>)> {
        let times = self.by_tool.get(&(Box::from(caller), Box::from(tool)));
        let recent = times.into_iter().flat_map(|times| times.iter().rev());
        recent.take_while(move |(created, _)| since <= *created).map(|(created, sequence)| {
            let run = self.calls.get(sequence).and_then(|call| call.run.as_ref());
            (Timestamp::from_unix_micros(*created), run)
        })
    }

    /// Returns the call of a caller with the latest run of a request.
    pub(crate) fn last_run(&self, caller: &str, request: &str) -> Option<&CallId> {
        let (_, sequence) = self.last_runs.get(&(Box::from(caller), Box::from(request)))?;
        self.calls.get(sequence).map(|call| &call.id)
    }
}

/// Removes a call from the times of a key, and the key with its last call.
fn remove_from<K: std::hash::Hash + Eq>(all: &mut HashMap<K, Times>, key: &K, entry: (i64, u64)) {
    if let Some(times) = all.get_mut(key) {
        remove(times, entry);
        if times.is_empty() {
            all.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    /// A record of a call that was asked for at a second.
    fn line(sequence: u64, second: i64, status: &str, more: &str) -> Vec<u8> {
        let created = Timestamp::from_unix_micros(second * SECOND);
        format!(
            r#"{{"id":"call-{sequence}","status":"{status}","tool_id":"t","created_at":"{created}","caller":"agent:a","sequence":{sequence}{more}}}"#
        )
        .into_bytes()
    }

    fn noted(recent: &mut RecentCalls, line: &[u8]) {
        recent.note(RecentCall::from_line(line, 0).unwrap());
    }

    #[test]
    fn sums_follow_every_change_of_a_call() {
        let mut recent = RecentCalls::default();
        noted(&mut recent, &line(1, 10, "pending", ""));
        noted(&mut recent, &line(2, 20, "held", ""));
        assert_eq!(recent.waiting("agent:a").calls, 2);
        let rule = r#","approved_by":{"by":"rule","rule":"r","file":"policy.toml","line":3}"#;
        let started = Timestamp::from_unix_micros(30 * SECOND);
        let ended = Timestamp::from_unix_micros(33 * SECOND);
        let run = format!(
            r#"{rule},"run_id":"run-1","started_at":"{started}","completed_at":"{ended}","call_fingerprint":"f""#
        );
        noted(&mut recent, &line(1, 10, "running", rule));
        noted(&mut recent, &line(1, 10, "completed", &run));
        assert_eq!((recent.approved("r", 0), recent.approved("r", 11 * SECOND)), (1, 0));
        assert_eq!(recent.last_run("agent:a", "f").map(CallId::as_str), Some("call-1"));
        let usage = recent.usage("agent:a", 0);
        assert_eq!((usage.calls, usage.micros, usage.output), (2, 3_000_000, 0));
        assert_eq!(recent.usage("agent:a", 11 * SECOND).micros, 0);
        let [(sequence, run)] = &recent.unmeasured("agent:a")[..] else { panic!("one run") };
        recent.measure(*sequence, &run.clone(), 7);
        assert!(recent.unmeasured("agent:a").is_empty());
        assert_eq!(recent.usage("agent:a", 0).output, 7);
        let times: Vec<i64> =
            recent.of_tool("agent:a", "t", 0).map(|(at, _)| at.unix_micros() / SECOND).collect();
        assert_eq!(times, [20, 10]);
    }

    #[test]
    fn old_calls_count_only_while_they_wait() {
        let mut recent = RecentCalls::default();
        for (sequence, status) in [(1, "pending"), (2, "completed"), (3, "completed")] {
            noted(&mut recent, &line(sequence, 10 * sequence as i64, status, r#","run_id":"run-1""#));
        }
        recent.forget_before(25 * SECOND);
        assert_eq!((recent.usage("agent:a", 0).calls, recent.waiting("agent:a").calls), (1, 1));
        noted(&mut recent, &line(1, 10, "rejected", ""));
        assert_eq!((recent.calls.len(), recent.waiting("agent:a")), (1, WaitingCalls::default()));
        recent.forget_before(99 * SECOND);
        assert!(recent.calls.is_empty() && recent.by_tool.is_empty() && recent.last_runs.is_empty());
        assert_eq!(recent.usage("agent:a", 0), CallerUsage::default());
    }
}
