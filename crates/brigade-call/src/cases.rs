//! A call without blockers, for tables of test cases. Each case changes one fact.

use std::collections::{BTreeMap, BTreeSet};

use brigade_catalog::{Catalog, FIELDS_FOR_CALLS, Level};
use brigade_core::{Fingerprint, Json, Timestamp};
use brigade_policy::{Blocker, CallFacts, PolicyState, decide};
use brigade_projection::ProjectionSummary;
use brigade_redact::SecretValue;
use brigade_schema::Schema;

use crate::session::CallSession;
use crate::{
    ApprovedBy, ArgsProblem, Call, Caller, CodeFacts, DirectoryFact, FileFact, PinFact, Plan, PlanFacts,
    ProgramBinding, ProgramFact, ProjectionFacts, SchemaFact, plan,
};

/// The policy's file.
pub(crate) const POLICY: &str = ".brigade/tools/policy.toml";

/// Returns the moment of a case, some seconds later.
pub(crate) fn after(seconds: i64) -> Timestamp {
    Timestamp::from_unix_micros((1_800_000_000 + seconds) * 1_000_000)
}

/// Every fact of a call of the tool `greet`.
#[derive(Clone)]
pub(crate) struct Case {
    /// The lines of the tool's entry.
    pub(crate) entry: String,
    pub(crate) policy: String,
    /// The variables that are set.
    pub(crate) variables: Vec<&'static str>,
    pub(crate) args: Result<Json, ArgsProblem>,
    pub(crate) input_schema: SchemaFact,
    pub(crate) output_schema: FileFact,
    pub(crate) examples: FileFact,
    pub(crate) source: FileFact,
    pub(crate) directory: DirectoryFact,
    pub(crate) real_directory: Option<String>,
    pub(crate) outside: Vec<&'static str>,
    pub(crate) program: ProgramFact,
    pub(crate) files: BTreeMap<String, Fingerprint>,
    pub(crate) pin: PinFact,
    pub(crate) projections: Vec<Blocker>,
    pub(crate) projections_mark: Fingerprint,
    pub(crate) bound_values: Vec<SecretValue>,
    pub(crate) caller: Caller,
    pub(crate) session: Option<CallSession>,
}

/// Returns a fingerprint that differs for each text.
pub(crate) fn mark(text: &str) -> Fingerprint {
    Fingerprint::of_bytes(text.as_bytes())
}

/// Returns the receipt of a completed run.
pub(crate) fn receipt() -> crate::Receipt {
    crate::Receipt::new("run-1".parse().unwrap(), "call-1".parse().unwrap(), crate::RunStatus::Completed)
}

/// Reads JSON that a test wrote.
pub(crate) fn json(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Compiles a schema that a test wrote.
pub(crate) fn schema(text: &str) -> SchemaFact {
    match Schema::compile_root(&json(text).to_serde()) {
        Ok(schema) => SchemaFact::Sound { schema: std::sync::Arc::new(schema), fingerprint: mark(text) },
        Err(problems) => SchemaFact::Unsound(problems),
    }
}

impl Case {
    pub(crate) fn new() -> Case {
        Case {
            entry: "name = 'Greet'\nfamily = 'script'\ncommand = 'sh bin/greet.sh'\n\
                    source_path = 'docs/greet.md'\ninput_schema_path = 'schemas/greet.json'\n\
                    argument_template = { name = '{name}' }\nenv_labels = ['GREETING']\n\
                    effects = ['local-read']\napproval_mode = 'always'\n"
                .to_owned(),
            policy: "allowed_families = ['script', 'mcp']\nallowed_effects = ['local-read']\n\
                     required_approval_modes = ['always']\nenv_bindings = { GREETING = 'SECRET_GREETING' }\n"
                .to_owned(),
            variables: vec!["SECRET_GREETING"],
            args: Ok(json(r#"{"name":"Ada"}"#)),
            input_schema: schema(
                r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#,
            ),
            output_schema: FileFact::NotNamed,
            examples: FileFact::NotNamed,
            source: FileFact::Present(mark("source")),
            directory: DirectoryFact::Present,
            real_directory: None,
            outside: Vec::new(),
            program: ProgramFact::Found(ProgramBinding { path: "/bin/sh".to_owned(), sha256: mark("sh") }),
            files: BTreeMap::from([("bin/greet.sh".to_owned(), mark("greet"))]),
            pin: PinFact::None,
            projections: Vec::new(),
            projections_mark: mark("projections"),
            bound_values: vec![SecretValue::new(b"bound-EXAMPLE-4711")],
            caller: Caller::CommandLine,
            session: None,
        }
    }

    /// A call of an MCP tool.
    pub(crate) fn mcp() -> Case {
        let mut case = Case::new();
        case.set("family", "'mcp'");
        for (field, value) in [
            ("runtime_id", "'voice'"),
            ("mcp_tool_name", "'echo'"),
            ("timeout", "5"),
            ("permissions", "['speak']"),
        ] {
            case.set(field, value);
        }
        case.policy.push_str("allowed_runtimes = ['voice']\n");
        case
    }

    /// Sets a field of the tool's entry; an empty value removes it.
    pub(crate) fn set(&mut self, field: &str, value: &str) {
        let others = self.entry.lines().filter(|line| line.split(" = ").next() != Some(field));
        let mut entry: String = others.flat_map(|line| [line, "\n"]).collect();
        if !value.is_empty() {
            entry.push_str(&format!("{field} = {value}\n"));
        }
        self.entry = entry;
    }

    /// Sets the arguments.
    pub(crate) fn args(&mut self, text: &str) {
        self.args = Ok(json(text));
    }

    pub(crate) fn plan(&self) -> Plan {
        let text = format!("[[tool]]\nid = 'greet'\n{}", self.entry);
        let catalog = Catalog::parse(".brigade/tools.toml", Level::Project, text.as_bytes());
        let tool = catalog.tool("greet").expect("the entry has an id");
        let policy = PolicyState::parse(POLICY, Some(self.policy.as_bytes()));
        let is_set = |name: &str| self.variables.contains(&name);
        let decision = decide(&policy, &CallFacts::from_tool(tool), &is_set);
        plan(PlanFacts {
            tool,
            installs: None,
            root: "/work".into(),
            entry_errors: if tool.is_broken { catalog.issues().iter().collect() } else { Vec::new() },
            misspelt: FIELDS_FOR_CALLS
                .iter()
                .filter_map(|field| Some((*field, catalog.misspelt(tool, field)?)))
                .collect(),
            args: self.args.clone(),
            near_schema: None,
            input_schema: self.input_schema.clone(),
            output_schema: self.output_schema.clone(),
            examples: self.examples.clone(),
            source: self.source.clone(),
            directory: self.directory,
            real_directory: self.real_directory.clone(),
            outside: self.outside.iter().map(|field| (*field).to_owned()).collect(),
            program: self.program.clone(),
            home: Some("/home/ann".into()),
            files: self.files.clone(),
            code: CodeFacts::default(),
            health: Default::default(),
            pin: self.pin,
            server: None,
            projections: ProjectionFacts {
                summary: ProjectionSummary::default(),
                blockers: self.projections.clone(),
                fingerprint: self.projections_mark,
            },
            policy: decision.to_document(&policy, &tool.env_labels),
            decision,
            bound_values: self.bound_values.clone(),
            behind_links: Vec::new(),
            ways: BTreeSet::new(),
            absent: BTreeSet::new(),
            modules: BTreeSet::new(),
            builtin: None,
            caller: self.caller.clone(),
            session: self.session.clone(),
        })
    }

    /// Plans and queues the call.
    pub(crate) fn queued(&self) -> Call {
        self.plan().to_call(after(0), None, |_| false)
    }

    /// Queues the call and has it approved.
    #[track_caller]
    pub(crate) fn approved(&self) -> Call {
        let plan = self.plan();
        let call = self.queued();
        let binding = plan.approvable(&call).unwrap_or_else(|reasons| panic!("{reasons:#?}"));
        call.approve(binding, ApprovedBy::command_line(), after(1)).expect("a pending call can be approved")
    }
}
