//! Calls one tool for several targets of this workspace: `fleet.*`.
//!
//! A target is a lane or a volume. The call names it in an argument of the tool. Each call is planned and approved
//! separately.

use brigade_access::builtin::{BuiltinName, Definition, own_name};
use brigade_core::{ErrorCode, Glob, Json, Object};
use brigade_db::records::{FleetCall, FleetCommand, Lane};
use serde::{Deserialize, Serialize};

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};

/// The tools of this family.
pub(crate) const TOOLS: &[(&str, Function)] =
    &[("fleet.cancel", cancel), ("fleet.invoke", invoke), ("fleet.list", list)];

/// The maximum number of targets of one command.
const MAX_TARGETS: usize = 50;

/// Members of `target` for machines, which only other hosts support.
const MACHINES: &[&str] = &["host", "hosts", "machine", "machines", "node", "nodes", "region", "edge"];

/// The kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Lane,
    Volume,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Lane => "lane",
            Kind::Volume => "volume",
        }
    }

    /// Returns the argument of a tool that takes such a target.
    fn argument(self, tool: &Definition) -> Option<&'static str> {
        let names: &[&str] = match self {
            Kind::Lane => &["lane_id", "laneId"],
            Kind::Volume => &["volume_id"],
        };
        let properties = tool.input_schema().get("properties")?;
        names.iter().copied().find(|name| properties.get(name).is_some())
    }
}

/// A lane or a volume.
#[derive(Clone, Debug, Serialize)]
struct Target {
    kind: Kind,
    id: String,
    name: String,
    /// Why no call is made for it.
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
}

/// The result of `fleet.list`.
#[derive(Serialize)]
struct Targets {
    resolved: Vec<Target>,
    skipped: Vec<Target>,
}

/// The result of `fleet.invoke`.
#[derive(Serialize)]
struct FleetInvoked<'a> {
    fleet_command_id: String,
    calls: Vec<TargetCall<'a>>,
}

/// The call for one target, or the code of the refusal.
#[derive(Serialize)]
struct TargetCall<'a> {
    target: &'a Target,
    call_id: Option<String>,
    status: String,
}

/// The result of `fleet.cancel`.
#[derive(Serialize)]
struct FleetCancelled {
    cancelled: bool,
}

/// Selects targets.
#[derive(Debug, Default)]
struct TargetFilter {
    kind: Option<Kind>,
    ids: Option<Vec<String>>,
    name: Option<Glob>,
}

fn invalid_argument(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::InvalidArguments, message)
}

impl TargetFilter {
    fn read(target: &Json) -> Result<TargetFilter, Failure> {
        let members = target.as_object().cloned().unwrap_or_default();
        let mut filter = TargetFilter::default();
        for (name, value) in &members {
            match (name.as_str(), value.as_str()) {
                ("kind", Some("lane")) => filter.kind = Some(Kind::Lane),
                ("kind", Some("volume")) => filter.kind = Some(Kind::Volume),
                ("kind", _) => return Err(invalid_argument("$.target.kind: must be `lane` or `volume`")),
                ("id", Some(id)) => filter.ids = Some(vec![id.to_owned()]),
                ("id", None) => {
                    let ids = value.as_array().unwrap_or_default().iter().map(Json::as_str);
                    let ids: Option<Vec<&str>> = ids.collect();
                    let ids = ids.filter(|ids| !ids.is_empty());
                    let ids =
                        ids.ok_or_else(|| invalid_argument("$.target.id: must be an id or a list of ids"))?;
                    filter.ids = Some(ids.into_iter().map(str::to_owned).collect());
                }
                ("name", Some(name)) if !name.trim().is_empty() => filter.name = Some(Glob::new(name)),
                ("name", _) => {
                    return Err(invalid_argument(
                        "$.target.name: must be a name, in which `*` matches any text",
                    ));
                }
                (name, _) if MACHINES.contains(&name) => {
                    let message =
                        "machines are not supported: targets are lanes and volumes of this workspace";
                    return Err(Failure::new(ErrorCode::NotAvailableHere, message));
                }
                _ => return Err(invalid_argument("$.target: the members are `kind`, `id` and `name`")),
            }
        }
        if members.is_empty() {
            return Err(invalid_argument("$.target: set at least one of `kind`, `id` and `name`"));
        }
        Ok(filter)
    }

    fn matches(&self, target: &Target) -> bool {
        self.kind.is_none_or(|kind| kind == target.kind)
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&target.id))
            && self.name.as_ref().is_none_or(|name| name.matches(&target.name))
    }
}

/// Returns the matching targets: lanes of the workspace, then volumes of the caller.
fn targets(context: &Context<'_>, filter: &TargetFilter) -> Result<Vec<Target>, Failure> {
    let Some(store) = context.stored()? else { return Ok(Vec::new()) };
    let lanes = store.records::<Lane>(None)?.into_iter().map(|kept| {
        let is_there = |id: &str| {
            let path = format!("{}/{id}", brigade_access::LANES).parse();
            path.is_ok_and(|path| context.fs.exists(&path).unwrap_or(false))
        };
        let skipped = match () {
            () if kept.record.is_archived => Some("it is archived"),
            () if !is_there(&kept.id) => Some("its worktree is gone"),
            () => None,
        };
        Target { kind: Kind::Lane, name: kept.record.name, id: kept.id, skipped }
    });
    let volumes = store.volumes(Some(&context.owner()))?.into_iter().map(|volume| Target {
        kind: Kind::Volume,
        name: volume.label,
        id: volume.id,
        skipped: None,
    });
    Ok(lanes.chain(volumes).filter(|target| filter.matches(target)).collect())
}

#[derive(Deserialize)]
struct ListArgs {
    target: Json,
}

fn list(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let ListArgs { target } = arguments(input)?;
    let (skipped, resolved): (Vec<Target>, Vec<Target>) = targets(context, &TargetFilter::read(&target)?)?
        .into_iter()
        .partition(|target| target.skipped.is_some());
    Ok(Output::from_result(&Targets { resolved, skipped }))
}

#[derive(Deserialize)]
struct InvokeArgs {
    target: Json,
    tool_name: String,
    args: Json,
}

/// Finds the tool to call and normalizes the argument names. Tools that the caller is not shown count as unknown.
fn named(
    tool: &str,
    args: Object,
    shows: impl Fn(&str) -> bool,
) -> Result<(&'static Definition, Object), Failure> {
    match own_name(tool) {
        Some(BuiltinName::Tool(row, _)) if !shows(row.id) => Err(Failure::missing("tool")),
        None if !shows(tool) => Err(Failure::missing("tool")),
        Some(BuiltinName::Tool(row, _)) if row.id.starts_with("fleet.") => {
            Err(invalid_argument("$.tool_name: tools of `fleet` cannot be called for targets"))
        }
        Some(BuiltinName::Tool(row, None)) => Ok((row, args)),
        Some(BuiltinName::Tool(row, Some(alias))) => {
            let args = alias.arguments_of(args).map_err(|problem| invalid_argument(problem.to_string()))?;
            Ok((row, args))
        }
        Some(BuiltinName::Control(_) | BuiltinName::Never(_)) => {
            Err(invalid_argument("$.tool_name: this tool cannot be called for targets"))
        }
        None => {
            let message = "only built-in tools have an argument for a lane or a volume";
            Err(Failure::new(ErrorCode::NotAvailableHere, message))
        }
    }
}

fn invoke(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let InvokeArgs { target, tool_name, args } = arguments(input)?;
    let filter = TargetFilter::read(&target)?;
    let further = context.further()?;
    let given = args.as_object().cloned().unwrap_or_default();
    let (row, args) = named(&tool_name, given, |tool| further.shows(tool))?;
    let mut found = targets(context, &filter)?;
    found.retain(|target| target.skipped.is_none());
    if found.is_empty() {
        return Err(Failure::new(ErrorCode::NotFound, "none of your lanes and volumes matches"));
    }
    if MAX_TARGETS < found.len() {
        return Err(Failure::new(
            ErrorCode::TooMany,
            format!("{} targets match; the maximum is {MAX_TARGETS}", found.len()),
        ));
    }
    let further = context.further()?;
    let (mut calls, mut lines, mut first) = (Vec::new(), Vec::new(), None);
    let mut members = Vec::new();
    for target in &found {
        let requested = match target.kind.argument(row) {
            Some(argument) if args.contains_key(argument) => {
                Err(invalid_argument(format!("$.args.{argument}: is set for each target, so leave it out")))
            }
            Some(argument) => {
                let mut args = args.clone();
                args.insert(argument.to_owned(), Json::from(target.id.as_str()));
                further.ask(row.id, Json::Object(args))
            }
            None => {
                let kind = target.kind.as_str();
                let message = format!("`{}` has no argument for a {kind}", row.id);
                Err(Failure::new(ErrorCode::NotAvailableHere, message))
            }
        };
        let (call_id, status) = match requested {
            Ok(call) => {
                lines.push(format!("{}: call {} is {}", target.id, call.id, call.status));
                calls.push(FleetCall { target: target.id.clone(), call: call.id.clone() });
                (Some(call.id), call.status)
            }
            Err(failure) => {
                let status = failure.code.to_string();
                lines.push(format!("{}: {}", target.id, failure.message));
                first.get_or_insert(failure);
                (None, status)
            }
        };
        members.push(TargetCall { target, call_id, status });
    }
    if let Some(failure) = first.filter(|_| calls.is_empty()) {
        return Err(failure);
    }
    let command = FleetCommand { tool: row.id.to_owned(), calls };
    let store = context.store()?;
    let id = store.new_record_id::<FleetCommand>()?;
    store.put_record(&id, &context.owner(), &command, context.clock.now())?;
    lines.push("`call.wait` with the id of a call runs it when it is approved".to_owned());
    let invoked = FleetInvoked { fleet_command_id: id, calls: members };
    Ok(Output::from_result(&invoked).text(lines.join("\n")))
}

#[derive(Deserialize)]
struct CancelArgs {
    fleet_command_id: String,
}

fn cancel(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let CancelArgs { fleet_command_id } = arguments(input)?;
    let store = context.stored_or_missing("command")?;
    let command = store.record::<FleetCommand>(Some(&context.owner()), &fleet_command_id);
    let command = command.map_err(|_| Failure::missing("command"))?.record;
    let further = context.further()?;
    let mut lines = Vec::new();
    let mut is_any = false;
    for call in &command.calls {
        let is_ended = further.end(&call.call)?;
        is_any |= is_ended;
        let what = if is_ended { "is ended" } else { "had ended, or runs in another process" };
        lines.push(format!("{}: call {} {what}", call.target, call.call));
    }
    if !is_any {
        return Err(Failure::new(ErrorCode::AlreadyEnded, lines.join("; ")));
    }
    Ok(Output::from_result(&FleetCancelled { cancelled: true }).text(lines.join("\n")))
}
