//! Types for the manifests of agents and workflows.
//!
//! This crate owns:
//!
//! * the contents of a manifest: [`Agent`] and [`Workflow`];
//! * the YAML reader, which reports every fault with its position, and the JSON writer (JSON is valid YAML);
//! * the JSON Schemas, which are generated from the same tables as the readers;
//! * the evaluation of a manifest: template values ([`Scope`]), command words and the next state ([`decide`]).
//!
//! It does not know disks, stores, workers or rights. Other crates carry out what a manifest asks for.
//!
//! ```
//! use brigade_manifest::{Agent, read};
//!
//! let text = "
//! apiVersion: 100monkeys.ai/v1
//! kind: Agent
//! metadata: {name: greeter, version: 1.0.0}
//! spec:
//!   runtime: {language: python, version: '3.11'}
//!   tools: [fs.read]
//!   colour: blue
//! ";
//! let read = read::<Agent>(text);
//! let agent = read.manifest.expect("it has no fault");
//! assert_eq!(agent.metadata.name.as_str(), "greeter");
//! assert_eq!(read.warnings[0].to_string(), "line 8, column 3: spec.colour: unknown field, ignored");
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[macro_use]
mod member;

mod agent;
mod common;
mod fault;
mod manifest;
mod value;
mod workflow;

pub use agent::{
    Agent, AgentSpec, Capability, DetailedTool, Dispatcher, Execution, ExecutionMode, Filesystem, Isolation,
    Network, Resources, Runtime, Security, Stream, Task, ToolRef, Validator, ValidatorKind,
};
pub use common::{API_VERSION, Metadata};
pub use fault::Fault;
pub use manifest::{Kind, Manifest, ManifestReading, read, schema_of};
pub use value::{Name, SchemaText, Span, Version};
pub use workflow::{
    Condition, Consensus, DECLINED, ExecutionState, MAX_RENDERED, NextAction, Outcome, ParallelAgent, Scope,
    State, StateCommand, StateKind, StateOutput, Strategy, Template, TemplateTooLong, Transition, Verdict,
    Workflow, WorkflowSpec, consent, decide, words_with_options,
};
