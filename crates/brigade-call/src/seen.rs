//! What a person sees of a tool before agreeing to its calls: the contract, and each file that decides what runs.
//!
//! The parts of two plans of a tool are equal if the same would run with the same arguments.

use std::collections::BTreeMap;

use brigade_catalog::Tool;
use brigade_core::Fingerprint;

use crate::binding::Binding;
use crate::contract::{ContractFiles, contract_fingerprint};
use crate::facts::{FileFact, PlanFacts};

/// One part of what a person sees of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPart {
    /// Its name for people, such as `file bin/deploy.py`.
    pub name: String,
    /// The path of its file, in the workspace or absolute; `None` if it is in the configuration.
    pub path: Option<String>,
    /// The fingerprint of its content.
    pub fingerprint: Fingerprint,
}

impl SeenPart {
    /// Describes a file by its purpose.
    pub fn file(purpose: &str, path: &str, fingerprint: Fingerprint) -> SeenPart {
        SeenPart { name: format!("{purpose} {path}"), path: Some(path.to_owned()), fingerprint }
    }

    /// Returns the parts of a command: its words, which only the configuration has, and the files that it runs.
    pub fn of_command(command: Fingerprint, files: &BTreeMap<String, Fingerprint>) -> Vec<SeenPart> {
        let command = SeenPart { name: "command".to_owned(), path: None, fingerprint: command };
        let files = files.iter().map(|(path, sha256)| SeenPart::file("file", path, *sha256));
        std::iter::once(command).chain(files).collect()
    }

    /// Returns the parts of a health command, by names such as `health command of db: bin/check`.
    pub fn of_health(files: &BTreeMap<String, Fingerprint>) -> impl Iterator<Item = SeenPart> + '_ {
        files.iter().map(|(name, sha256)| {
            let path = name.split_once(": ").map(|(_, path)| path.to_owned());
            SeenPart { name: name.clone(), path, fingerprint: *sha256 }
        })
    }

    /// Returns the parts of a tool that its binding does not list one by one.
    pub(crate) fn of_entry(facts: &PlanFacts<'_>) -> Vec<SeenPart> {
        let tool = facts.tool;
        let mut parts = Vec::new();
        // Rows of built-in tools belong to Brigade. Their programs are in the binding.
        if !tool.is_built_in() {
            // A rule names its effects itself, and permissions are text for people.
            let narrow = Tool { effects: Vec::new(), permissions: Vec::new(), ..tool.clone() };
            let fingerprint = contract_fingerprint(&narrow, &ContractFiles::default());
            parts.push(SeenPart { name: "contract".to_owned(), path: None, fingerprint });
            let input = facts.input_schema.fingerprint();
            let digest = |fact: &FileFact| fact.fingerprint();
            parts.extend(entry_file(tool, "input schema", |tool| &tool.input_schema_path, input));
            let output = digest(&facts.output_schema);
            parts.extend(entry_file(tool, "output schema", |tool| &tool.output_schema_path, output));
            let examples = digest(&facts.examples);
            parts.extend(entry_file(tool, "examples", |tool| &tool.examples_path, examples));
            parts.extend(entry_file(tool, "source", |tool| &tool.source_path, digest(&facts.source)));
        }
        if let Some(real) = &facts.real_directory {
            let fingerprint = Fingerprint::of_bytes(real.as_bytes());
            let path = tool.cwd.clone();
            parts.push(SeenPart { name: "folder that cwd leads to".to_owned(), path, fingerprint });
        }
        parts.extend(SeenPart::of_health(&facts.health));
        parts
    }

    /// Returns the program and the files of a binding, each once.
    pub(crate) fn of_binding(binding: &Binding) -> impl Iterator<Item = SeenPart> + '_ {
        let program = binding.program.as_ref();
        let others =
            move |(path, _): &(&String, &Fingerprint)| program.is_none_or(|program| program.path != **path);
        let files = binding.files.iter().filter(others);
        let files = files.map(|(path, sha256)| SeenPart::file("file", path, *sha256));
        let program = program.map(|program| SeenPart::file("program", &program.path, program.sha256));
        program.into_iter().chain(files)
    }
}

fn entry_file(
    tool: &Tool,
    purpose: &str,
    path: fn(&Tool) -> &Option<String>,
    sha256: Option<Fingerprint>,
) -> Option<SeenPart> {
    Some(SeenPart::file(purpose, path(tool).as_deref()?, sha256?))
}
