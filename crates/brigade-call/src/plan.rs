//! The plan of a call: rendered arguments and all blockers.

mod asked;
mod bound;
mod builtin;
mod entry;
mod install;
mod mcp;
mod missing;
mod read;
mod secret;
mod slips;
mod typed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brigade_access::builtin::{COMMAND, is_for_shell};
use brigade_catalog::{Family, Masks, Tool};
use brigade_cmdline::{Argv, code_of_arguments};
use brigade_core::text::escape_terminal;
use brigade_core::{ErrorCode, Fingerprint, Hint, Json, Number, Object, Place, RecordedWord, closest};
use brigade_macros::part;
use brigade_policy::{Blocker, CallKind, Decision, PolicyDecision, Reads, SandboxMode, ShellUse};
use brigade_projection::ProjectionSummary;
use brigade_redact::{MARK, Redactor};

use crate::binding::Binding;
use crate::code::BoundCode;
use crate::contract::ContractLabels;
use crate::facts::{
    ArgsProblem, DirectoryFact, FileFact, PinFact, PlanFacts, ProgramFact, SchemaFact, ServerFact,
};
use crate::inputs::paths_of_words;
use crate::judged::Judgement;
use crate::seen::SeenPart;
use crate::session::CallSession;
use crate::start::{self, Objection, StartProgram};
use crate::template::{Template, render_all};
use asked::{args_fingerprint, call_fingerprint};
use bound::{binding, contract_of};
use entry::{entry_blockers, family_blocker};
use secret::{holds_mark, secret_blockers, secret_fields};

pub use builtin::shell_blocker;

pub use entry::entry_blocker;
pub use install::install_command;
pub use secret::telling_values;

pub use mcp::unset_for_mcp;
pub use typed::{meant_in_schema, typed_value};

pub use missing::{MissingTool, plan_missing};

/// A call that would be queued, with all its blockers.
///
/// Created only by [`plan`]. Contains no secret: if an argument or the catalog seems to contain one, the plan shows
/// `[redacted]` and can never be queued.
#[derive(Clone, Debug)]
pub struct Plan {
    kind: CallKind,
    tool_id: String,
    family: RecordedWord<Family>,
    /// The exact command, including bound values in it.
    command: Option<String>,
    /// The part that is stored and shown.
    summary: PlanSummary,
    args: Json,
    /// The exact rendered arguments, including bound values in their templates.
    arguments: BTreeMap<String, String>,
    argv: Option<Argv>,
    contract: ContractLabels,
    blockers: Vec<Blocker>,
    violations: Vec<String>,
    secrets: Secrets,
    decision: Decision,
    policy: PolicyDecision,
    projection_summary: ProjectionSummary,
    binding: Binding,
    /// The new listing of an MCP tool, if it differs from the pin.
    waiting_pin: Option<Fingerprint>,
    /// Why no rule approves the call.
    for_person: Option<String>,
    /// Why the arguments were not checked.
    unchecked: Option<String>,
    call_fingerprint: Fingerprint,
    is_executable: bool,
    acts_inside: bool,
    is_built_in: bool,
    env_labels: Vec<String>,
    data: Vec<String>,
    directory: Option<String>,
    code: BoundCode,
    /// What a person sees of the entry.
    seen: Vec<SeenPart>,
    server: Option<ServerFact>,
    session: Option<CallSession>,
    judge: Option<Judgement>,
    /// Hides bound values in what is shown of the command.
    masks: Masks,
}

/// A plan as reports show it.
#[part(PartialEq)]
pub struct PlanSummary {
    /// The tool.
    pub tool_id: String,
    /// Its family; absent if the tool does not exist.
    pub family: Option<String>,
    /// Its command, without arguments.
    pub command: Option<String>,
    /// The arguments as given, without secrets.
    pub args: Json,
    /// The rendered arguments, without secrets.
    pub arguments: BTreeMap<String, String>,
    /// Seconds that the call may take.
    pub effective_timeout: Number,
    /// The labels of the contract.
    #[serde(flatten)]
    pub contract: ContractLabels,
}

/// Whether an argument or the catalog entry seems to contain a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrets {
    None,
    Found,
}

/// Plans a call from facts that were read once. Reads and runs nothing.
pub fn plan(facts: PlanFacts<'_>) -> Plan {
    let mut blockers: Vec<Blocker> = Vec::new();
    entry_blockers(&facts, &mut blockers);
    blockers.extend(family_blocker(facts.tool));
    blockers.extend(mcp::mcp_blockers(facts.tool));
    let args = usable_args(&facts, &mut blockers);
    blockers.extend(args.and_then(|args| builtin::policy_shell(&facts, args)));
    blockers.extend(args.and_then(|args| shell_blocker(facts.tool.id.as_str(), args)));
    let violations = schema_blockers(&facts, args, &mut blockers);
    let secret_fields = args.map(|args| secret_fields(args, &facts.bound_values)).unwrap_or_default();
    secret_blockers(&secret_fields, &mut blockers);
    if args.is_some_and(holds_mark) {
        blockers.push(
            Blocker::new(
                ErrorCode::RedactedArgument,
                format!("an argument contains `{MARK}` instead of its value"),
            )
            .field("args")
            .hint("queue the call with its real arguments; pass secrets through an env label"),
        );
    }
    let empty = Object::new();
    let given = args.and_then(Json::as_object).unwrap_or(&empty);
    // Missing arguments are unknown if the arguments or the schema cannot be read.
    let mut unknown = Vec::new();
    let is_known = args.is_some() && facts.input_schema.schema().is_some();
    let missing = if is_known { &mut blockers } else { &mut unknown };
    let rendered = render_arguments(&facts, given, missing);
    option_blockers(&facts, given, &mut blockers);
    opening_blockers(&facts, &rendered, &mut blockers);
    let argv = command_blockers(&facts, &rendered, &mut blockers);
    let secret_texts = secret::secret_texts(facts.tool, &mut blockers);
    blockers.extend(program_blocker(&facts, argv.as_ref()));
    path_blockers(&facts, &mut blockers);
    builtin::blockers(&facts, args, &mut blockers);
    blockers.extend(facts.projections.blockers.iter().cloned());
    blockers.extend(facts.decision.blockers.iter().cloned());
    slips::settle(&facts, &mut blockers);

    let mut args = args.cloned().unwrap_or_else(|| Json::Object(Object::new()));
    // Do not refuse the same secret twice.
    let templates = match secret_fields.as_slice() {
        [] => {
            let mut found = secret::secret_templates(facts.tool, &rendered, argv.as_ref());
            found.retain(|name| !secret_texts.contains(&format!("argument_template.{name}")));
            found
        }
        [_, ..] => BTreeSet::new(),
    };
    secret::refuse(facts.tool, &templates, &mut args, &mut blockers);
    let none = secret_fields.is_empty() && templates.is_empty() && secret_texts.is_empty();
    let secrets = if none { Secrets::None } else { Secrets::Found };
    let (args, arguments) = match secrets {
        Secrets::None => (args, rendered),
        Secrets::Found => {
            let hidden = rendered.into_keys().map(|name| (name, MARK.to_owned())).collect();
            (Redactor::new(&facts.bound_values).redact_fields(&args), hidden)
        }
    };
    let checked = CheckedFacts { blockers, violations, secrets, args, arguments, argv };
    checked.into_plan(facts)
}

/// Lists the reasons against every call of a tool: those of a plan that do not depend on arguments.
///
/// Arguments, program bytes, code, pins and projections of the facts are not used.
pub fn standing_blockers(facts: &PlanFacts<'_>) -> Vec<Blocker> {
    let mut blockers: Vec<Blocker> = Vec::new();
    entry_blockers(facts, &mut blockers);
    blockers.extend(family_blocker(facts.tool));
    blockers.extend(mcp::mcp_blockers(facts.tool));
    schema_blockers(facts, None, &mut blockers);
    let argv = command_blockers(facts, &BTreeMap::new(), &mut blockers);
    secret::secret_texts(facts.tool, &mut blockers);
    blockers.extend(program_blocker(facts, argv.as_ref()));
    path_blockers(facts, &mut blockers);
    builtin::blockers(facts, None, &mut blockers);
    blockers.extend(facts.decision.blockers.iter().cloned());
    slips::settle(facts, &mut blockers);
    blockers
}

/// What the checks of a plan found.
struct CheckedFacts {
    blockers: Vec<Blocker>,
    violations: Vec<String>,
    secrets: Secrets,
    args: Json,
    arguments: BTreeMap<String, String>,
    argv: Option<Argv>,
}

impl CheckedFacts {
    fn into_plan(self, mut facts: PlanFacts<'_>) -> Plan {
        let CheckedFacts { blockers, violations, secrets, args, arguments, argv } = self;
        let tool = facts.tool;
        let family = tool.family.map(RecordedWord::from).unwrap_or_default();
        let (kind, contract_fingerprint, mut blockers) = contract_of(&facts, blockers);
        let data = ServerFact::all_data(facts.server.as_ref(), &tool.data);
        let seen = match kind {
            CallKind::Run | CallKind::Read => SeenPart::of_entry(&facts),
            CallKind::Install => Vec::new(),
        };
        let code = BoundCode::new(&facts, &data, &Redactor::new(&facts.bound_values));
        let binding = binding(&mut facts, contract_fingerprint, args_fingerprint(&args, &arguments), secrets);
        let call_fingerprint = call_fingerprint(
            tool.id.as_str(),
            family.as_str(),
            binding.args,
            contract_fingerprint,
            &binding.source,
            binding.session,
        );
        let waiting_pin = match facts.pin {
            PinFact::Changed(fingerprint) => Some(fingerprint),
            PinFact::None | PinFact::Pinned(_) => None,
        };
        // The binding covers the catalog entry as it is; stored and shown texts have its secrets masked.
        let exact = tool.without_secrets();
        let contract = ContractLabels::from_tool(&exact);
        let masks = Masks::new(&facts.bound_values);
        for blocker in &mut blockers {
            masks.hide(&mut blocker.message);
            blocker.hint = blocker.hint.take().map(|hint| hint.map_texts(|text| masks.shown(text)));
        }
        let summary = PlanSummary {
            tool_id: tool.id.as_str().to_owned(),
            family: Some(family.as_str().to_owned()),
            command: exact.command.as_ref().map(|text| masks.shown(text)),
            args: args.clone(),
            arguments: arguments.iter().map(|(name, text)| (name.clone(), masks.shown(text))).collect(),
            effective_timeout: Number::from(facts.decision.effective_timeout.get()),
            contract: ContractLabels::from_tool(&tool.masked_by(&masks)),
        };
        Plan {
            kind,
            tool_id: tool.id.as_str().to_owned(),
            family,
            command: exact.command.clone(),
            summary,
            args,
            arguments,
            argv,
            contract,
            blockers,
            violations,
            secrets,
            decision: facts.decision,
            policy: facts.policy.masked(&|text| masks.hide(text)),
            projection_summary: facts.projections.summary,
            binding,
            waiting_pin,
            for_person: match facts.builtin {
                Some(known) => known.named.for_person,
                None => code.unbound_choice(),
            },
            unchecked: facts.input_schema.unchecked(),
            call_fingerprint,
            is_executable: tool.is_executable(),
            acts_inside: tool.acts_inside(),
            is_built_in: tool.is_built_in(),
            env_labels: tool.env_labels.clone(),
            data,
            directory: tool.cwd.clone(),
            code,
            seen,
            server: facts.server,
            session: facts.session,
            judge: None,
            masks,
        }
    }
}

/// Returns the arguments if they are an object.
fn usable_args<'f>(facts: &'f PlanFacts<'_>, blockers: &mut Vec<Blocker>) -> Option<&'f Json> {
    let problem = match &facts.args {
        Ok(args @ Json::Object(_)) => return Some(args),
        Ok(_) => Blocker::new(ErrorCode::InvalidArgs, "$: expected an object of arguments"),
        Err(ArgsProblem::GivenTwice) => {
            Blocker::new(ErrorCode::InvalidArgs, "arguments were given inline and in a file")
                .hint("give only one")
        }
        Err(ArgsProblem::Unreadable { why, meant }) => {
            let redactor = Redactor::new(&[]);
            let why = redactor.redact_str(why);
            let blocker =
                Blocker::new(ErrorCode::InvalidArgs, format!("the file of arguments cannot be read: {why}"));
            match meant {
                Some(meant) => blocker.hint(typed::did_you_mean(&redactor.redact_str(meant))),
                None => blocker,
            }
        }
        Err(ArgsProblem::NotJson { file, error, text }) => {
            let file = file.as_deref().map(|file| Redactor::new(&[]).redact_str(file));
            let source = match (&file, &text) {
                (Some(file), _) => file.as_str(),
                (None, Some(_)) => "the arguments",
                (None, None) => "standard input",
            };
            let blocker =
                Blocker::new(ErrorCode::InvalidArgs, format!("{source}, {error}").replace('\n', " "));
            match file {
                Some(file) => blocker.at(Place::at(file.as_str(), error.line, error.column)),
                None => {
                    let schema = facts.input_schema.schema();
                    let text = text.as_deref().unwrap_or_default();
                    let bound = Redactor::new(&telling_values(&facts.bound_values));
                    let meant = typed::meant(text, schema);
                    blocker.hint(match typed::marked_line(text, error.line, error.column, &bound) {
                        Some(line) => Hint::from(format!("{line}\n")).then(meant),
                        None => meant,
                    })
                }
            }
        }
    };
    blockers.push(problem.field("args"));
    None
}

/// Checks the arguments against the schema and returns the violations.
fn schema_blockers(facts: &PlanFacts<'_>, args: Option<&Json>, blockers: &mut Vec<Blocker>) -> Vec<String> {
    let place = || facts.tool.place_of("input_schema_path");
    let path = facts.tool.input_schema_path.as_deref().unwrap_or_default();
    let mut block = |code: ErrorCode, message: String| {
        blockers.push(Blocker::new(code, message).at(place()).field("input_schema_path"));
    };
    match &facts.input_schema {
        // Only its tools are called.
        SchemaFact::File(FileFact::NotNamed) if facts.tool.is_whole_server() => {}
        SchemaFact::File(FileFact::NotNamed) => {
            block(ErrorCode::MissingInputSchema, "the tool names no input schema".to_owned());
        }
        SchemaFact::File(FileFact::Missing) => {
            let blocker = Blocker::new(
                ErrorCode::MissingInputSchema,
                format!("the input schema `{path}` does not exist"),
            );
            let blocker = blocker.at(place()).field("input_schema_path");
            blockers.push(match &facts.near_schema {
                Some(near) => blocker.hint(typed::did_you_mean(near)),
                None => blocker,
            });
        }
        SchemaFact::File(FileFact::Unreadable(why)) => {
            block(ErrorCode::InvalidInputSchema, format!("the input schema `{path}` cannot be read: {why}"));
        }
        // Reported with the other paths that lead out of the workspace.
        SchemaFact::File(FileFact::Outside | FileFact::Present(_)) => {}
        SchemaFact::NotJson(error) => {
            let message = format!("the input schema `{path}` is not JSON: {error}");
            let place = Place::at(path, error.line, error.column);
            blockers.push(
                Blocker::new(ErrorCode::InvalidInputSchema, message).at(place).field("input_schema_path"),
            );
        }
        SchemaFact::Unsound(problems) => {
            for problem in problems {
                let blocker = Blocker::new(ErrorCode::UnsupportedInputSchema, problem.to_string());
                let at = problem.at.map(|(line, column)| Place::at(path, line, column));
                let blocker = blocker.at(at.unwrap_or_else(|| Place::file(path))).field("input_schema_path");
                blockers.push(match meant_in_schema(problem) {
                    Some(word) => blocker.hint(typed::did_you_mean(word)),
                    None => blocker,
                });
            }
        }
        SchemaFact::Sound { schema, .. } => {
            let violations = args.map(|args| schema.violations(&args.to_serde())).unwrap_or_default();
            if violations.is_empty() {
                return Vec::new();
            }
            let meant = typed::meant_names(schema, &violations);
            let mut messages = Vec::new();
            let bound = Redactor::bound_only(&telling_values(&facts.bound_values));
            for violation in &violations {
                let (path, message) =
                    typed::shown_violation(&violation.path.to_string(), violation.to_string(), &bound);
                messages.push(message.clone());
                if typed::is_misspelt(violation, &meant) {
                    continue;
                }
                let blocker = Blocker::new(ErrorCode::InvalidArgs, message).field(path);
                let blocker = typed::reason(facts, schema, violation, blocker);
                blockers.push(match meant.get(violation.path.as_str()) {
                    Some(name) => blocker.hint(typed::did_you_mean(name)),
                    None => blocker,
                });
            }
            return messages;
        }
    }
    Vec::new()
}

fn render_arguments(
    facts: &PlanFacts<'_>,
    given: &Object,
    blockers: &mut Vec<Blocker>,
) -> BTreeMap<String, String> {
    let is_optional = |name: &str| {
        let property = facts.input_schema.schema().and_then(|schema| schema.property(name));
        property.is_some_and(|property| property.requirement == brigade_schema::Requirement::Optional)
    };
    let (rendered, missing) = render_all(&facts.tool.argument_template, given, is_optional);
    // The schema may have reported it before.
    let unreported: Vec<_> =
        missing.into_iter().filter(|missing| !typed::is_reported(&missing.argument, blockers)).collect();
    for missing in unreported {
        let field = format!("argument_template.{}", missing.template);
        let message = format!(
            "argument_template {} references missing arg {}",
            escape_terminal(&missing.template),
            missing.argument
        );
        let blocker = Blocker::new(ErrorCode::MissingTemplateArgument, message)
            .at(facts.tool.place_of(&field))
            .field(field);
        let described = facts.input_schema.schema().into_iter().flat_map(|schema| schema.properties());
        let names = described.map(|property| property.name).chain(given.keys().map(String::as_str));
        blockers.push(match closest(&missing.argument, names.filter(|name| *name != missing.argument)) {
            Some(name) => blocker.hint(format!("did you mean `{{{}}}`?", escape_terminal(name))),
            None => blocker,
        });
    }
    rendered
}

/// Refuses text that would be read as an option, because it begins a word of the command line with `-`.
///
/// Values that the schema lists are reviewed with the contract, like the template. The entry can allow other values.
fn option_blockers(facts: &PlanFacts<'_>, given: &Object, blockers: &mut Vec<Blocker>) {
    if facts.tool.family == Some(Family::Mcp) {
        return;
    }
    let is_fixed = |name: &str| {
        let property = facts.input_schema.schema().and_then(|schema| schema.property(name));
        property.is_some_and(|property| property.has_fixed_values())
    };
    let mut found = BTreeSet::new();
    for template in facts.tool.argument_template.values() {
        let template = Template::parse(template);
        found.extend(template.begins_option(given).map(str::to_owned));
    }
    let allowed = &facts.tool.allow_option_values;
    for name in found.iter().filter(|name| !allowed.contains(name) && !is_fixed(name)) {
        let message = format!("$.{name}: begins with `-`, so the program would read it as an option");
        blockers.push(
            Blocker::new(ErrorCode::ArgumentLooksLikeOption, message)
                .at(facts.tool.place_of("argument_template"))
                .field(format!("$.{name}"))
                .hint(format!(
                    "put text before it in `argument_template`, such as `--{name}={{{name}}}`, list its values in the schema, or allow it with `allow_option_values = [\"{name}\"]` in the entry"
                )),
        );
    }
}

/// Checks the command and builds the command line.
fn command_blockers(
    facts: &PlanFacts<'_>,
    rendered: &BTreeMap<String, String>,
    blockers: &mut Vec<Blocker>,
) -> Option<Argv> {
    if facts.tool.acts_inside() || facts.tool.is_whole_server() {
        return None;
    }
    let place_of = |field: &str| facts.tool.place_of(field);
    let mut argv = match start::split(facts.tool.command.as_deref()) {
        Ok(argv) => argv,
        Err(objection) => {
            blockers.push(objection.blocker(place_of));
            return None;
        }
    };
    let reviewed = argv.words().len();
    let mut pushed = true;
    // A server gets its arguments as a message, so its command line does not change.
    let appended = rendered.iter().filter(|_| facts.tool.family != Some(Family::Mcp));
    for (name, word) in appended {
        if let Err(error) = argv.push(word.as_str()) {
            blockers.push(
                Blocker::new(
                    ErrorCode::InvalidArgs,
                    format!("the rendered argument `{name}` cannot be passed: {error}"),
                )
                .field(format!("argument_template.{name}")),
            );
            pushed = false;
        }
    }
    let is_sent = facts.tool.family == Some(Family::Mcp);
    if let Some(objection) = start::too_long(&argv).filter(|_| pushed) {
        let blocker = objection.blocker(place_of);
        let hint = "write the long value to a file, and pass its name";
        blockers.push(if is_sent { blocker } else { blocker.hint(hint) });
    }
    // A command that a call names was not reviewed, so code for an interpreter in it is a risk, too.
    let held = if facts.tool.id == COMMAND { 0 } else { reviewed };
    // A person approves the text, as for commands of the kitchen.
    let shell = facts.builtin.as_ref().map_or(ShellUse::Never, |known| known.shell);
    let is_text = shell == ShellUse::Approved && is_for_shell(facts.tool);
    let found = if is_text { start::risks_of_text(&argv) } else { start::risks(&argv, held).collect() };
    let mut risks: Vec<Blocker> = found.into_iter().map(|objection| objection.blocker(place_of)).collect();
    // A risky command is also one whose program is a link to a risky program.
    let linked = facts.behind_links.iter();
    let hidden = linked.flat_map(|argv| start::risks(argv, held)).next();
    let hidden = hidden.filter(|_| risks.is_empty() && !is_text);
    risks.extend(hidden.map(|objection| {
        let blocker = objection.blocker(place_of);
        let message = format!("{}, through a link with another name", blocker.message);
        Blocker { message, ..blocker }
    }));
    if pushed
        && risks.is_empty()
        && let Some(word) = code_of_arguments(&argv, reviewed)
    {
        blockers.push(argument_is_code(facts.tool, rendered, word));
    }
    blockers.extend(risks);
    pushed.then_some(argv)
}

/// Refuses arguments that would open code of a workspace closed to reading: the workspace itself, or a directory that
/// contains bound files.
fn opening_blockers(facts: &PlanFacts<'_>, rendered: &BTreeMap<String, String>, blockers: &mut Vec<Blocker>) {
    let sandbox = &facts.decision.sandbox;
    let is_sent = facts.tool.family == Some(Family::Mcp);
    if is_sent
        || facts.tool.acts_inside()
        || sandbox.mode == SandboxMode::Off
        || sandbox.reads != Reads::Closed
    {
        return;
    }
    let directory = facts.real_directory.as_deref().or(facts.tool.cwd.as_deref()).unwrap_or_default();
    let directory = facts.root.join(directory);
    for (name, word) in rendered {
        for path in paths_of_words([word.as_str()], &directory, &facts.root, &facts.ways) {
            let holds = |file: &String| {
                let file = Path::new(file.trim_end_matches('/'));
                file.starts_with(&path) && file != path
            };
            let message = if path.as_os_str().is_empty() {
                format!("argument `{name}` names the workspace, which is closed to reading")
            } else if facts.files.keys().any(holds) {
                format!("argument `{name}` names a directory with code that the approval binds")
            } else if is_beside_code(facts, &path) {
                format!("argument `{name}` names a path that code bound by the approval would load")
            } else {
                continue;
            };
            let hint = if is_beside_code(facts, &path) {
                "declare it as `code` in the entry, so that an approval binds it, or put it elsewhere"
            } else {
                "name the files, or a directory without code; or declare the files as `data` in the entry"
            };
            let blocker = Blocker::new(ErrorCode::ArgumentOpensCode, message);
            blockers.push(blocker.field(format!("args.{name}")).hint(hint));
            break;
        }
    }
}

/// Returns the words that the given arguments become, by the names of their templates.
pub fn words_of_arguments(tool: &Tool, args: &Object) -> BTreeMap<String, String> {
    render_all(&tool.argument_template, args, |_| true).0
}

/// Returns the blocker for an argument that chooses the code to run.
pub fn argument_is_code(tool: &Tool, rendered: &BTreeMap<String, String>, word: &str) -> Blocker {
    let name = rendered.iter().find(|(_, value)| *value == word).map_or("", |(name, _)| name.as_str());
    let message = format!("the argument `{name}` chooses the code to run, and an approval cannot cover that");
    let hint = "name the script in `command`, so that an approval binds it";
    let blocker = Blocker::new(ErrorCode::ArgumentIsCode, message).at(tool.place_of("argument_template"));
    blocker.field(format!("argument_template.{name}")).hint(hint)
}

/// Returns the name in a binding for a missing path next to code that an argument names. A file that appears there
/// later invalidates the approval and opens nothing.
pub fn absent_name(path: &str) -> String {
    format!("nothing at {path}")
}

/// Returns whether bound code loads the file at a path, or a file below it.
fn is_beside_code(facts: &PlanFacts<'_>, path: &Path) -> bool {
    // A missing file opens nothing, and invalidates the approval when it appears.
    let is_known = |name: &str| facts.files.contains_key(name) || facts.absent.contains(name);
    if path.to_str().is_none_or(is_known) {
        return false;
    }
    facts.modules.iter().any(|module| Path::new(module).starts_with(path))
        || facts.files.keys().any(|file| brigade_cmdline::is_found_beside(Path::new(file), path))
}

/// Returns why the program of an executable family cannot run.
fn program_blocker(facts: &PlanFacts<'_>, argv: Option<&Argv>) -> Option<Blocker> {
    // Without the working directory, the program was not searched.
    if !facts.tool.is_executable() || facts.directory != DirectoryFact::Present {
        return None;
    }
    let program = match &facts.program {
        ProgramFact::Found(_) | ProgramFact::NotExecuted => return None,
        ProgramFact::NotFound => StartProgram::NotFound,
        ProgramFact::Unreadable(why) => StartProgram::Unreadable(why.clone()),
    };
    let objection = start::missing_program(argv?, &program, facts.home.as_deref())?;
    let blocker = objection.blocker(|field| facts.tool.place_of(field));
    Some(install::hinted(facts, blocker))
}

fn path_blockers(facts: &PlanFacts<'_>, blockers: &mut Vec<Blocker>) {
    let mut outside: Vec<&str> = facts.outside.iter().map(String::as_str).collect();
    if facts.directory == DirectoryFact::Outside {
        outside.push("cwd");
    }
    if matches!(facts.input_schema, SchemaFact::File(FileFact::Outside)) {
        outside.push("input_schema_path");
    }
    for (field, fact) in [
        ("output_schema_path", &facts.output_schema),
        ("examples_path", &facts.examples),
        ("source_path", &facts.source),
    ] {
        if *fact == FileFact::Outside {
            outside.push(field);
        }
    }
    outside.sort_unstable();
    outside.dedup();
    for field in outside {
        blockers.push(
            Blocker::new(ErrorCode::PathOutside, format!("{field} leads out of the workspace"))
                .at(facts.tool.place_of(field))
                .field(field)
                .hint("list its directory under `outside` in [paths] of .brigade/tools/policy.toml"),
        );
    }
    if facts.directory == DirectoryFact::Missing {
        blockers.push(Objection::DirectoryMissing.blocker(|field| facts.tool.place_of(field)));
    }
}

#[cfg(test)]
mod tests;
