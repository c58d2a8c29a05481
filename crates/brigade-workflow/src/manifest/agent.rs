//! The agent manifest: its types, their schema and their checks.

use std::collections::BTreeMap;

use brigade_core::yaml::{Node, Value};
use brigade_core::{Json, Object, words};

use crate::manifest::document::{Kind, Manifest, Root};
use crate::manifest::member::{Member, Reader, any_of, below, with};
use crate::manifest::metadata::Metadata;
use crate::manifest::value::{SchemaText, Span};

/// The manifest of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// Name, version and labels.
    pub metadata: Metadata,
    /// What the agent does and what it may use.
    pub spec: AgentSpec,
}

members! {
    /// What an agent does and what it may use.
    AgentSpec {
        /// A named profile that narrows what its tasks may do.
        security_context = "security_context": maybe String,
        /// The runtime that the agent needs.
        runtime = "runtime": needed Runtime,
        /// The instructions for the agent.
        task = "task": maybe Task,
        /// A JSON Schema of the input of its tasks.
        input_schema = "input_schema": maybe SchemaText,
        /// Limits on network, files and resources.
        security = "security": maybe Security,
        /// Volumes that the agent keeps.
        volumes = "volumes": maybe Vec<Object>,
        /// How often the agent tries, and when its output is accepted.
        execution = "execution": maybe Execution,
        /// Tools that it may call.
        tools = "tools": maybe Vec<ToolRef>,
        /// Commands that it may run.
        builtin_dispatchers = "builtin_dispatchers": maybe Vec<Dispatcher>,
        /// Environment variables of its program.
        env = "env": maybe BTreeMap<String, String>,
        /// Additional context for its tasks.
        context = "context": maybe Vec<Json>,
        /// Schedule on which the agent starts.
        schedule = "schedule": maybe Object,
        /// Where its output goes.
        delivery = "delivery": maybe Json,
        /// Receivers of its output.
        output_handler = "output_handler": maybe Object,
        /// Settings of another host.
        advanced = "advanced": maybe Object,
        /// The kind of agent of another host.
        kind = "type": maybe String,
    }
}

members! {
    /// The runtime of an agent: a language and its version, or an image.
    Runtime check one_runtime, rule runtime_rule {
        /// The language, such as python.
        language = "language": maybe String,
        /// The version of the language, as a string.
        version = "version": maybe String,
        /// A container image, with its registry or folder.
        image = "image": maybe String,
        /// When the image is pulled.
        image_pull_policy = "image_pull_policy": maybe PullPolicy,
        /// How a task is isolated.
        isolation = "isolation": maybe Isolation,
        /// The model that the worker should use.
        model = "model": maybe String,
        /// The temperature of the model.
        temperature = "temperature": maybe f64,
    }
}

words! {
    /// When an image is pulled.
    PullPolicy {
        /// Before each task.
        Always = "Always",
        /// If the image is missing.
        IfNotPresent = "IfNotPresent",
        /// Never.
        Never = "Never",
    }
}

words! {
    /// How a task is isolated.
    Isolation {
        /// As the host does by default.
        Inherit = "inherit",
        /// In a virtual machine.
        Firecracker = "firecracker",
        /// In a container.
        Docker = "docker",
        /// As a process in the sandbox.
        Process = "process",
    }
}

/// Checks that a runtime is named in exactly one way.
fn one_runtime(runtime: &Runtime, node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    let message = match (&runtime.language, &runtime.version, &runtime.image) {
        (Some(_), Some(_), None) => return Some(()),
        (None, None, Some(image)) if image.contains('/') => return Some(()),
        (None, None, Some(_)) => {
            reader.fault(node.at, &below(path, "image"), "expected a registry or folder before `/`");
            return None;
        }
        (None, None, None) => "expected `language` and `version`, or `image`",
        (_, _, Some(_)) => "has `image` and also `language` or `version`: name exactly one of the two",
        (Some(_), None, None) => "has `language` without `version`",
        (None, Some(_), None) => "has `version` without `language`",
    };
    reader.fault(node.at, path, message);
    None
}

fn runtime_rule(schema: Json) -> Json {
    let alternative = |needed: &[&str], never: &[&str]| {
        let needed: Vec<Json> = needed.iter().copied().map(Json::from).collect();
        let never = never.iter().map(|name| ((*name).to_owned(), Json::from(false)));
        Json::object([
            ("required", Json::from(needed)),
            ("properties", Json::Object(never.collect::<Object>())),
        ])
    };
    let alternatives = vec![
        alternative(&["language", "version"], &["image"]),
        alternative(&["image"], &["language", "version"]),
    ];
    with(schema, "anyOf", Json::from(alternatives))
}

members! {
    /// The instructions for an agent.
    Task {
        /// What the agent does, in general.
        instruction = "instruction": maybe String,
        /// A template of the prompt.
        prompt_template = "prompt_template": maybe String,
        /// Default input of tasks that give none.
        input_data = "input_data": maybe Object,
    }
}

members! {
    /// Limits of an agent. They only narrow what its caller may do.
    Security {
        /// Limits on the network.
        network = "network": maybe Network,
        /// Files.
        filesystem = "filesystem": maybe Filesystem,
        /// Limits on resources.
        resources = "resources": maybe Resources,
    }
}

words! {
    /// How the lists of hosts are read.
    NetworkMode {
        /// Only the listed hosts may be reached.
        Allow = "allow",
        /// All hosts may be reached except the listed ones.
        Deny = "deny",
        /// No host may be reached.
        None = "none",
    }
}

members! {
    /// Which hosts an agent may reach.
    Network {
        /// How the lists are read.
        mode = "mode": maybe NetworkMode,
        /// Hosts that may be reached.
        allowlist = "allowlist": maybe Vec<String>,
        /// Hosts that may not be reached.
        denylist = "denylist": maybe Vec<String>,
    }
}

members! {
    /// Which files an agent may use.
    Filesystem {
        /// Paths that the agent may read.
        read = "read": maybe Vec<String>,
        /// Paths that the agent may write.
        write = "write": maybe Vec<String>,
        /// Whether all writing is denied.
        read_only = "read_only": maybe bool,
    }
}

members! {
    /// How much an agent may use.
    Resources {
        /// Thousandths of a processor.
        cpu = "cpu": maybe i64,
        /// Memory, such as 512Mi.
        memory = "memory": maybe String,
        /// Disk, such as 1Gi.
        disk = "disk": maybe String,
        /// The time limit of a whole task.
        timeout = "timeout": maybe Span,
    }
}

words! {
    /// How often an agent tries.
    ExecutionMode {
        /// Once.
        OneShot = "one-shot",
        /// Until all validators accept the output.
        Iterative = "iterative",
    }
}

members! {
    /// How often an agent tries, and when its output is accepted.
    Execution check few_iterations, rule iterations_rule {
        /// Once, or until all validators accept the output. Default: one-shot.
        mode = "mode": maybe ExecutionMode,
        /// Maximum number of tries, 1 to 20. Default: 10.
        max_iterations = "max_iterations": maybe i64,
        /// The time limit of one try. Default: 300s.
        iteration_timeout = "iteration_timeout": maybe Span,
        /// Whether another host remembers what it learned.
        memory = "memory": maybe bool,
        /// How long another host waits for a model.
        llm_timeout_seconds = "llm_timeout_seconds": maybe i64,
        /// Validators of the output, in this order.
        validation = "validation": maybe Vec<Validator>,
        /// Validators of its tool calls.
        tool_validation = "tool_validation": maybe Vec<Validator>,
    }
}

const ITERATIONS: std::ops::RangeInclusive<i64> = 1..=20;

fn few_iterations(execution: &Execution, node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    if execution.max_iterations.is_some_and(|count| !ITERATIONS.contains(&count)) {
        let at = node.get("max_iterations").map_or(node.at, |inner| inner.at);
        reader.fault(at, &below(path, "max_iterations"), "expected a number from 1 to 20");
        return None;
    }
    Some(())
}

fn iterations_rule(schema: Json) -> Json {
    let Json::Object(mut members) = schema else { return schema };
    if let Some(Json::Object(properties)) = members.get_mut("properties")
        && let Some(Json::Object(count)) = properties.get_mut("max_iterations")
    {
        count.insert("minimum".to_owned(), Json::from(*ITERATIONS.start()));
        count.insert("maximum".to_owned(), Json::from(*ITERATIONS.end()));
    }
    Json::Object(members)
}

impl Execution {
    /// Returns the maximum number of tries.
    pub fn iterations(&self) -> u64 {
        match self.mode {
            Some(ExecutionMode::Iterative) => {
                self.max_iterations.and_then(|count| u64::try_from(count).ok()).unwrap_or(10)
            }
            Some(ExecutionMode::OneShot) | None => 1,
        }
    }
}

words! {
    /// How a validator checks the output.
    ValidatorKind {
        /// Compares the exit code of the worker.
        ExitCode = "exit_code",
        /// Checks the output against a JSON Schema.
        JsonSchema = "json_schema",
        /// Matches a regular expression.
        Regex = "regex",
        /// Asks a judge.
        Semantic = "semantic",
        /// Asks several judges.
        MultiJudge = "multi_judge",
    }
}

words! {
    /// The text that a regular expression is matched against.
    Stream {
        /// The output of the task.
        Stdout = "stdout",
        /// The standard error of the worker.
        Stderr = "stderr",
    }
}

members! {
    /// A check of the output.
    Validator check whole_validator, rule validator_rule {
        /// The kind of check.
        kind = "type": needed ValidatorKind,
        /// The expected exit code. Default: 0.
        expected = "expected": maybe i64,
        /// A JSON Schema of the output.
        schema = "schema": maybe SchemaText,
        /// A regular expression.
        pattern = "pattern": maybe String,
        /// The text that the expression is matched against. Default: stdout.
        target = "target": maybe Stream,
        /// The agent that judges.
        judge_agent = "judge_agent": maybe String,
        /// The agents that judge.
        judges = "judges": maybe Vec<String>,
        /// How verdicts are combined.
        consensus = "consensus": maybe String,
        /// The required number of verdicts.
        min_judges_required = "min_judges_required": maybe i64,
        /// The criteria for the judges.
        criteria = "criteria": maybe String,
        /// The minimum score.
        min_score = "min_score": maybe f64,
        /// The minimum confidence.
        min_confidence = "min_confidence": maybe f64,
        /// The time limit of a verdict.
        timeout_seconds = "timeout_seconds": maybe i64,
    }
}

/// The members that each kind of validator needs.
const VALIDATORS: &[(ValidatorKind, &[&str])] = &[
    (ValidatorKind::ExitCode, &[]),
    (ValidatorKind::JsonSchema, &["schema"]),
    (ValidatorKind::Regex, &["pattern"]),
    (ValidatorKind::Semantic, &["judge_agent", "criteria"]),
    (ValidatorKind::MultiJudge, &["judges", "criteria"]),
];

fn whole_validator(validator: &Validator, node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    let needs = VALIDATORS.iter().find(|(kind, _)| *kind == validator.kind).map(|(_, needs)| *needs);
    needs_all(needs.unwrap_or_default(), node, path, reader)?;
    if let Some(pattern) = &validator.pattern
        && expression(pattern).is_none()
    {
        let at = node.get("pattern").map_or(node.at, |inner| inner.at);
        reader.fault(at, &below(path, "pattern"), "not a supported regular expression");
        return None;
    }
    Some(())
}

/// Reports each required member that is missing.
pub(crate) fn needs_all(needs: &[&str], node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    let missing: Vec<&&str> = needs.iter().filter(|name| node.get(name).is_none()).collect();
    for name in &missing {
        reader.fault(node.at, &below(path, name), "is missing");
    }
    missing.is_empty().then_some(())
}

/// Adds the required members of each kind to a schema.
pub(crate) fn by_kind(schema: Json, tag: &str, rows: &[(&str, &[&str])]) -> Json {
    let row = |(kind, needs): &(&str, &[&str])| {
        let needs: Vec<Json> = needs.iter().copied().map(Json::from).collect();
        let tag = Json::object([(tag, Json::object([("const", Json::from(*kind))]))]);
        let mut members = Object::new();
        members.insert("properties".to_owned(), tag);
        if !needs.is_empty() {
            members.insert("required".to_owned(), Json::from(needs));
        }
        Json::Object(members)
    };
    with(schema, "anyOf", Json::from(rows.iter().map(row).collect::<Vec<_>>()))
}

fn validator_rule(schema: Json) -> Json {
    let rows: Vec<(&str, &[&str])> = VALIDATORS.iter().map(|(kind, needs)| (kind.as_str(), *needs)).collect();
    by_kind(schema, "type", &rows)
}

fn expression(pattern: &str) -> Option<regex::Regex> {
    regex::RegexBuilder::new(pattern).size_limit(1 << 20).build().ok()
}

impl Validator {
    /// Returns the compiled regular expression, if the validator has one.
    pub fn expression(&self) -> Option<regex::Regex> {
        expression(self.pattern.as_deref()?)
    }
}

/// A tool that an agent may call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolRef {
    /// The name of the tool.
    Name(String),
    /// The name of the tool, with a server, an executor or settings.
    Detailed(DetailedTool),
}

members! {
    /// A tool with further settings.
    DetailedTool {
        /// The name.
        name = "name": needed String,
        /// The server that offers the tool.
        server = "server": maybe String,
        /// What runs the tool.
        executor = "executor": maybe String,
        /// Its settings.
        config = "config": maybe Object,
    }
}

impl ToolRef {
    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        match self {
            ToolRef::Name(name) => name,
            ToolRef::Detailed(tool) => &tool.name,
        }
    }

    /// Returns whether the entry is for the command dispatcher and so names a program instead of a tool.
    pub fn is_command(&self) -> bool {
        matches!(self, ToolRef::Detailed(tool) if tool.executor.as_deref() == Some("builtin:cmd"))
    }
}

impl Member for ToolRef {
    fn read(node: &Node, path: &str, reader: &mut Reader) -> Option<ToolRef> {
        match node.value {
            Value::Map(_) => DetailedTool::read(node, path, reader).map(ToolRef::Detailed),
            Value::Scalar(_) | Value::List(_) => String::read(node, path, reader).map(ToolRef::Name),
        }
    }

    fn schema() -> Json {
        any_of(vec![String::schema(), DetailedTool::schema()])
    }
}

members! {
    /// Commands that an agent may run.
    Dispatcher {
        /// The name of the dispatcher, such as cmd.
        name = "name": needed String,
        /// What the dispatcher may do.
        capabilities = "capabilities": maybe Vec<Capability>,
    }
}

members! {
    /// What a dispatcher may do.
    Capability {
        /// The tool, such as cmd.run.
        name = "name": needed String,
        /// Allowed beginnings of commands.
        subcommand_allowlist = "subcommand_allowlist": maybe Vec<String>,
    }
}

word_member!(PullPolicy, Isolation, NetworkMode, ExecutionMode, ValidatorKind, Stream);

/// Members for other hosts. Brigade keeps them and does not act on them.
const FOREIGN_MEMBERS: &[&[&str]] = &[
    &["spec", "task", "prompt_template"],
    &["spec", "security", "network"],
    &["spec", "security", "filesystem"],
    &["spec", "runtime", "model"],
    &["spec", "execution", "tool_validation"],
    &["spec", "volumes"],
    &["spec", "env"],
    &["spec", "context"],
    &["spec", "schedule"],
    &["spec", "delivery"],
    &["spec", "output_handler"],
    &["spec", "advanced"],
    &["spec", "type"],
    &["spec", "runtime", "image"],
    &["spec", "runtime", "temperature"],
    &["spec", "security", "resources", "cpu"],
    &["spec", "security", "resources", "memory"],
    &["spec", "security", "resources", "disk"],
    &["spec", "execution", "memory"],
    &["spec", "execution", "llm_timeout_seconds"],
];

impl Manifest for Agent {
    const KIND: Kind = Kind::Agent;

    type Spec = AgentSpec;

    fn from_parts(metadata: Metadata, spec: AgentSpec) -> Agent {
        Agent { metadata, spec }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn check(&self, root: &Root<'_>, reader: &mut Reader) {
        for path in FOREIGN_MEMBERS {
            if let Some(at) = root.find(path) {
                reader.warn(at, &path.join("."), "is kept, but has no effect here");
            }
        }
    }
}
