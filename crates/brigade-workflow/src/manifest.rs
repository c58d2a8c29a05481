//! Types for the manifests of agents and workflows.
//!
//! This module owns:
//!
//! * the contents of a manifest: [`Agent`] and [`Workflow`];
//! * the YAML reader, which reports every fault with its position;
//! * the JSON Schemas, which are generated from the same tables as the reader;
//! * the evaluation of a manifest: template values ([`Scope`]), command words and the next state ([`decide`]).
//!
//! It does not know disks, stores, workers or rights. Other modules carry out what a manifest asks for.

#[macro_use]
mod member;

mod agent;
mod document;
mod fault;
mod metadata;
mod value;
mod workflow;

pub(crate) use agent::{Agent, Execution, Isolation, Runtime, Stream, Validator, ValidatorKind};
pub(crate) use document::{Kind, Manifest, read, schema_of};
pub(crate) use fault::Fault;
pub(crate) use value::{Name, Span};
pub(crate) use workflow::{
    Condition, DECLINED, ExecutionState, NextAction, Outcome, Scope, State, StateCommand, StateKind,
    StateOutput, Template, TemplateTooLong, Verdict, Workflow, WorkflowSpec, consent, decide,
    words_with_options,
};

#[cfg(test)]
mod tests;
