//! Queues many calls at once.

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Arc;

use brigade_access::builtin::may_start_a_program;
use brigade_call::{BatchLine, Plan, PlanFacts, plan};
use brigade_catalog::Reads;
use brigade_queue::OnDuplicate;
use brigade_workspace::{Config, FactReader, WorkspaceContext, gather, load};

use crate::calls::Calls;
use crate::calls::request::OnBlocked;
use crate::error::{Error, ErrorKind};
use crate::report::{BatchReport, BatchRow, Report as _};

/// Number of calls committed with one sync.
const GROUP: usize = 1_000;

/// The maximum length of a line, in bytes.
const LINE_LIMIT: usize = 16 << 20;

impl Calls {
    /// Queues calls from lines such as `{"tool": ID, "args": {…}}`. Each group is durable before its rows are passed to
    /// `found`.
    ///
    /// An invalid line or a blocked call becomes a row with reasons. The other calls are stored.
    ///
    /// # Errors
    /// Returns errors of files and of the input. Calls already passed to `found` are stored.
    pub fn queue_lines(
        &self,
        input: &mut dyn BufRead,
        blocked: OnBlocked,
        found: &mut dyn FnMut(&BatchRow),
    ) -> Result<BatchReport, Error> {
        let config = gather::config(&self.context)?;
        let mut report = BatchReport {
            schema: BatchReport::SCHEMA,
            target: self.context.target(),
            calls_path: self.context.calls_path(),
            store: self.context.store_kind(),
            created: 0,
            skipped: 0,
            refused: 0,
        };
        let mut group: Vec<Line> = Vec::new();
        let mut facts: HashMap<String, PlanFacts<'_>> = HashMap::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = std::io::Read::take(&mut *input, LINE_LIMIT as u64 + 1).read_until(b'\n', &mut line);
            let read = read.map_err(|error| {
                Error::new(ErrorKind::Environment, format!("the input cannot be read: {}", error.kind()))
            })?;
            if read == 0 {
                break;
            }
            if LINE_LIMIT < read {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("line {number} is longer than {LINE_LIMIT} bytes"),
                ));
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let refused = |error: Error, plan: Option<&Plan>| {
                Line::Refused(Box::new(BatchRow::refused(
                    number,
                    error.failure(),
                    plan,
                    &self.context.speller(),
                )))
            };
            group.push(match plan_line(&self.context, &config, &mut facts, &line) {
                Ok(plan) => match plan.not_to_be_queued(blocked) {
                    None => Line::Planned(number, Box::new(plan)),
                    Some(reason) => refused(Error::new(ErrorKind::Refused, reason), Some(&plan)),
                },
                Err(error) => refused(error, None),
            });
            if group.len() == GROUP {
                commit(&self.context, &mut group, &mut report, found)?;
            }
        }
        commit(&self.context, &mut group, &mut report, found)?;
        Ok(report)
    }
}

/// Plans the call of a line. The facts of a tool are read once per batch.
fn plan_line<'c>(
    context: &WorkspaceContext,
    config: &'c Arc<Config>,
    facts: &mut HashMap<String, PlanFacts<'c>>,
    line: &[u8],
) -> Result<Plan, Error> {
    let BatchLine { tool_id, args } = BatchLine::parse(line)?;
    // The arguments of such a call decide which server it reads from or what it runs.
    if Reads::of_tool_id(&tool_id).is_some() || may_start_a_program(&tool_id) {
        let tool = gather::entry(context, config, &tool_id, &args)?;
        return Ok(
            gather::plan_call(context, config, tool, Ok(args), context.caller.clone(), None, None)?.plan
        );
    }
    if !facts.contains_key(&tool_id) {
        let tool = load::named_tool(&config.catalog, &tool_id)?;
        let reader = FactReader::new(context.host(), config);
        facts.insert(tool_id.clone(), reader.plan(tool, context.caller.clone())?.facts);
    }
    let known = facts.get(&tool_id).expect("the facts were put there above").clone();
    Ok(plan(config.with_args(&context.host(), known, Ok(args), None, None)).spelled(&context.speller()))
}

/// Stores a group with one sync, and passes the result of each line in input order.
fn commit(
    context: &WorkspaceContext,
    group: &mut Vec<Line>,
    report: &mut BatchReport,
    found: &mut dyn FnMut(&BatchRow),
) -> Result<(), Error> {
    if group.is_empty() {
        return Ok(());
    }
    let now = context.now();
    let plans: Vec<&Plan> = group.iter().filter_map(Line::plan).collect();
    let stored = if plans.is_empty() {
        Vec::new()
    } else {
        let queue = context.queue();
        let mut locked = queue.lock(now)?;
        locked.enqueue_all(plans.len(), OnDuplicate::Skip, &mut |index, is_taken| {
            plans[index].to_call(now, None, is_taken)
        })?
    };
    let mut stored = stored.into_iter();
    for line in group.drain(..) {
        let (line, plan, stored) = match line {
            Line::Refused(row) => {
                report.refused += 1;
                found(&row);
                continue;
            }
            Line::Planned(line, plan) => {
                (line, plan, stored.next().expect("each call that was handed in comes back"))
            }
        };
        let (call, reason) = stored.into_call();
        let is_new = reason.is_none();
        report.created += usize::from(is_new);
        report.skipped += usize::from(!is_new);
        found(&BatchRow::stored(line, is_new, &call.call, &plan));
    }
    Ok(())
}

/// A line of the input.
enum Line {
    /// A call to store.
    Planned(usize, Box<Plan>),
    /// An invalid line, or a call that is not stored.
    Refused(Box<BatchRow>),
}

impl Line {
    fn plan(&self) -> Option<&Plan> {
        match self {
            Line::Planned(_, plan) => Some(plan),
            Line::Refused(_) => None,
        }
    }
}
