//! Agents.

use std::collections::BTreeMap;

use brigade_core::yaml::{Node, Value};
use brigade_core::{Json, Object, words};

use crate::common::Metadata;
use crate::manifest::{Kind, Manifest, Root};
use crate::member::{Member, Reader, any_of, below, with};
use crate::value::{SchemaText, Span};

/// A manifest of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// What it is called.
    pub metadata: Metadata,
    /// What it is.
    pub spec: AgentSpec,
}

members! {
    #[doc = "What an agent is."]
    AgentSpec {
        #[doc = "A named profile that narrows what its tasks may do."]
        security_context = "security_context": maybe String,
        #[doc = "What it runs on."]
        runtime = "runtime": needed Runtime,
        #[doc = "What it is told."]
        task = "task": maybe Task,
        #[doc = "A JSON Schema of the input of its tasks."]
        input_schema = "input_schema": maybe SchemaText,
        #[doc = "What it may reach."]
        security = "security": maybe Security,
        #[doc = "Folders that it keeps."]
        volumes = "volumes": maybe Vec<Object>,
        #[doc = "How often it tries, and what counts as done."]
        execution = "execution": maybe Execution,
        #[doc = "Tools that it may call."]
        tools = "tools": maybe Vec<ToolRef>,
        #[doc = "Commands that it may run."]
        builtin_dispatchers = "builtin_dispatchers": maybe Vec<Dispatcher>,
        #[doc = "Variables of its program."]
        env = "env": maybe BTreeMap<String, String>,
        #[doc = "More that its tasks get."]
        context = "context": maybe Vec<Json>,
        #[doc = "When it begins by itself."]
        schedule = "schedule": maybe Object,
        #[doc = "Where its output goes."]
        delivery = "delivery": maybe Json,
        #[doc = "What gets its output."]
        output_handler = "output_handler": maybe Object,
        #[doc = "Settings of another host."]
        advanced = "advanced": maybe Object,
        #[doc = "The kind of agent of another host."]
        kind = "type": maybe String,
    }
}

members! {
    #[doc = "What an agent runs on: a language and its version, or an image."]
    Runtime check one_runtime, rule runtime_rule {
        #[doc = "The language, such as python."]
        language = "language": maybe String,
        #[doc = "The version of the language, as a text."]
        version = "version": maybe String,
        #[doc = "An image of a container, with its registry or folder."]
        image = "image": maybe String,
        #[doc = "When the image is fetched."]
        image_pull_policy = "image_pull_policy": maybe PullPolicy,
        #[doc = "How a task is kept apart."]
        isolation = "isolation": maybe Isolation,
        #[doc = "The model that the worker is asked for."]
        model = "model": maybe String,
        #[doc = "The temperature of the model."]
        temperature = "temperature": maybe f64,
    }
}

words! {
    /// When an image is fetched.
    PullPolicy {
        /// For each task.
        Always = "Always",
        /// If it is not there.
        IfNotPresent = "IfNotPresent",
        /// Never.
        Never = "Never",
    }
}

words! {
    /// How a task is kept apart.
    Isolation {
        /// As the host does it.
        Inherit = "inherit",
        /// In a virtual machine.
        Firecracker = "firecracker",
        /// In a container.
        Docker = "docker",
        /// As a process in the sandbox.
        Process = "process",
    }
}

/// Exactly one way to name what an agent runs on.
fn one_runtime(runtime: &Runtime, node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    let message = match (&runtime.language, &runtime.version, &runtime.image) {
        (Some(_), Some(_), None) => return Some(()),
        (None, None, Some(image)) if image.contains('/') => return Some(()),
        (None, None, Some(_)) => {
            reader.fault(node.at, &below(path, "image"), "expected a registry or folder before `/`");
            return None;
        }
        (None, None, None) => "expected `language` and `version`, or `image`",
        (_, _, Some(_)) => "has `image` and also `language` or `version`: exactly one way is named",
        (Some(_), None, None) => "has `language` without `version`",
        (None, Some(_), None) => "has `version` without `language`",
    };
    reader.fault(node.at, path, message);
    None
}

fn runtime_rule(schema: Json) -> Json {
    let way = |needed: &[&str], never: &[&str]| {
        let needed: Vec<Json> = needed.iter().copied().map(Json::from).collect();
        let never = never.iter().map(|name| ((*name).to_owned(), Json::from(false)));
        Json::object([
            ("required", Json::from(needed)),
            ("properties", Json::Object(never.collect::<Object>())),
        ])
    };
    let ways = vec![way(&["language", "version"], &["image"]), way(&["image"], &["language", "version"])];
    with(schema, "anyOf", Json::from(ways))
}

members! {
    #[doc = "What an agent is told."]
    Task {
        #[doc = "What it does, in general."]
        instruction = "instruction": maybe String,
        #[doc = "A template of the prompt."]
        prompt_template = "prompt_template": maybe String,
        #[doc = "Input that tasks have unless they give their own."]
        input_data = "input_data": maybe Object,
    }
}

members! {
    #[doc = "What an agent may reach. It only narrows what its caller may."]
    Security {
        #[doc = "The network."]
        network = "network": maybe Network,
        #[doc = "Files."]
        filesystem = "filesystem": maybe Filesystem,
        #[doc = "How much it may use."]
        resources = "resources": maybe Resources,
    }
}

words! {
    /// Which hosts may be reached.
    NetworkMode {
        /// Those that are listed.
        Allow = "allow",
        /// All but those that are listed.
        Deny = "deny",
        /// None.
        None = "none",
    }
}

members! {
    #[doc = "Which hosts an agent may reach."]
    Network {
        #[doc = "What the lists mean."]
        mode = "mode": maybe NetworkMode,
        #[doc = "Hosts that may be reached."]
        allowlist = "allowlist": maybe Vec<String>,
        #[doc = "Hosts that may not be reached."]
        denylist = "denylist": maybe Vec<String>,
    }
}

members! {
    #[doc = "Which files an agent may use."]
    Filesystem {
        #[doc = "Paths that it may read."]
        read = "read": maybe Vec<String>,
        #[doc = "Paths that it may write."]
        write = "write": maybe Vec<String>,
        #[doc = "Whether it may write nothing."]
        read_only = "read_only": maybe bool,
    }
}

members! {
    #[doc = "How much an agent may use."]
    Resources {
        #[doc = "Thousandths of a processor."]
        cpu = "cpu": maybe i64,
        #[doc = "Memory, such as 512Mi."]
        memory = "memory": maybe String,
        #[doc = "Disk, such as 1Gi."]
        disk = "disk": maybe String,
        #[doc = "How long a task may take in all."]
        timeout = "timeout": maybe Span,
    }
}

words! {
    /// How often an agent tries.
    ExecutionMode {
        /// Once.
        OneShot = "one-shot",
        /// Until its validators are content.
        Iterative = "iterative",
    }
}

members! {
    #[doc = "How often an agent tries, and what counts as done."]
    Execution check few_iterations, rule iterations_rule {
        #[doc = "Once, or until the validators are content; one-shot if it is missing."]
        mode = "mode": maybe ExecutionMode,
        #[doc = "How often it tries at most, 1 to 20; 10 if it is missing."]
        max_iterations = "max_iterations": maybe i64,
        #[doc = "How long one try may take; 300s if it is missing."]
        iteration_timeout = "iteration_timeout": maybe Span,
        #[doc = "Whether another host remembers what it learned."]
        memory = "memory": maybe bool,
        #[doc = "How long another host waits for a model."]
        llm_timeout_seconds = "llm_timeout_seconds": maybe i64,
        #[doc = "What its output must be, in this order."]
        validation = "validation": maybe Vec<Validator>,
        #[doc = "What its calls of tools must be."]
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
    /// Returns how often it tries at most.
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
    /// How output is looked at.
    ValidatorKind {
        /// By the exit code of the worker.
        ExitCode = "exit_code",
        /// Against a JSON Schema.
        JsonSchema = "json_schema",
        /// By a regular expression.
        Regex = "regex",
        /// By a judge.
        Semantic = "semantic",
        /// By several judges.
        MultiJudge = "multi_judge",
    }
}

words! {
    /// What a regular expression is looked for in.
    Stream {
        /// The output of the task.
        Stdout = "stdout",
        /// The standard error of the worker.
        Stderr = "stderr",
    }
}

members! {
    #[doc = "What output must be."]
    Validator check whole_validator, rule validator_rule {
        #[doc = "How it is looked at."]
        kind = "type": needed ValidatorKind,
        #[doc = "The exit code that is expected; 0 if it is missing."]
        expected = "expected": maybe i64,
        #[doc = "A JSON Schema of the output."]
        schema = "schema": maybe SchemaText,
        #[doc = "A regular expression."]
        pattern = "pattern": maybe String,
        #[doc = "What the expression is looked for in; stdout if it is missing."]
        target = "target": maybe Stream,
        #[doc = "The agent that judges."]
        judge_agent = "judge_agent": maybe String,
        #[doc = "The agents that judge."]
        judges = "judges": maybe Vec<String>,
        #[doc = "How verdicts become one."]
        consensus = "consensus": maybe String,
        #[doc = "How many verdicts are needed."]
        min_judges_required = "min_judges_required": maybe i64,
        #[doc = "What is judged."]
        criteria = "criteria": maybe String,
        #[doc = "The least score."]
        min_score = "min_score": maybe f64,
        #[doc = "The least confidence."]
        min_confidence = "min_confidence": maybe f64,
        #[doc = "How long a verdict may take."]
        timeout_seconds = "timeout_seconds": maybe i64,
    }
}

/// What each kind of validator needs.
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
        reader.fault(at, &below(path, "pattern"), "is no regular expression that is read in linear time");
        return None;
    }
    Some(())
}

/// Finds members that are missing.
pub(crate) fn needs_all(needs: &[&str], node: &Node, path: &str, reader: &mut Reader) -> Option<()> {
    let missing: Vec<&&str> = needs.iter().filter(|name| node.get(name).is_none()).collect();
    for name in &missing {
        reader.fault(node.at, &below(path, name), "is missing");
    }
    missing.is_empty().then_some(())
}

/// Says in a schema what each kind needs.
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
    /// Returns the regular expression of a validator that has one.
    pub fn expression(&self) -> Option<regex::Regex> {
        expression(self.pattern.as_deref()?)
    }
}

/// A tool that an agent may call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolRef {
    /// Its name.
    Name(String),
    /// Its name, and more about it.
    Detailed(DetailedTool),
}

members! {
    #[doc = "A tool with more about it."]
    DetailedTool {
        #[doc = "The name."]
        name = "name": needed String,
        #[doc = "The server that has it."]
        server = "server": maybe String,
        #[doc = "What runs it."]
        executor = "executor": maybe String,
        #[doc = "Its settings."]
        config = "config": maybe Object,
    }
}

impl ToolRef {
    /// Returns the name.
    pub fn name(&self) -> &str {
        match self {
            ToolRef::Name(name) => name,
            ToolRef::Detailed(tool) => &tool.name,
        }
    }

    /// Returns whether it is the dispatcher of commands, whose name is its own.
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

    fn to_json(&self) -> Json {
        match self {
            ToolRef::Name(name) => Json::from(name.as_str()),
            ToolRef::Detailed(tool) => tool.to_json(),
        }
    }
}

members! {
    #[doc = "Commands that an agent may run."]
    Dispatcher {
        #[doc = "The name, such as cmd."]
        name = "name": needed String,
        #[doc = "What it may do."]
        capabilities = "capabilities": maybe Vec<Capability>,
    }
}

members! {
    #[doc = "What a dispatcher may do."]
    Capability {
        #[doc = "The tool, such as cmd.run."]
        name = "name": needed String,
        #[doc = "First words of commands that may be run."]
        subcommand_allowlist = "subcommand_allowlist": maybe Vec<String>,
    }
}

word_member!(PullPolicy, Isolation, NetworkMode, ExecutionMode, ValidatorKind, Stream);

/// Members that another host acts on, and Brigade keeps and leaves alone.
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

    fn parts(&self) -> (&Metadata, &AgentSpec) {
        (&self.metadata, &self.spec)
    }

    fn check(&self, root: &Root<'_>, reader: &mut Reader) {
        for path in FOREIGN_MEMBERS {
            if let Some(at) = root.find(path) {
                reader.warn(at, &path.join("."), "is kept, and does nothing here");
            }
        }
    }
}
