//! Language runtimes on PATH: `runtime.list`, and the runtime that a manifest names.
//!
//! A runtime is started to print its version: without network, without writing, for at most two seconds. A program that
//! an agent could have written is not started, so its version is unknown.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use brigade_call::{DirectoryFact, StartFacts, StartProgram, StartPurpose, plan_start};
use brigade_cmdline::LanguageRuntime;
use brigade_core::Json;
use brigade_process::{Control, Exit, OwnProgram, OwnPrograms, Program, Sink, Spec, Stream, run};
use brigade_sandbox::{Mode, SandboxProfile};
use brigade_toolset::{Context, Failure, Output, arguments};
use brigade_workspace::own_programs;
use serde::{Deserialize, Serialize};

use crate::manifest::Runtime;
use crate::runner::TaskRunner;
use crate::tools::Function;

/// The functions of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("runtime.list", list)];

/// How long a runtime may take to print its version.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// How much of what it prints is read, in bytes.
const OUTPUT_LIMIT: u64 = 4 << 10;

#[derive(Deserialize)]
struct RuntimeArgs {
    language: Option<String>,
}

/// The result of `runtime.list`.
#[derive(Serialize)]
struct RuntimeList {
    runtimes: Vec<RuntimeRow>,
    custom_runtime_supported: bool,
}

#[derive(Serialize)]
struct RuntimeRow {
    language: &'static str,
    /// `None` if it printed none, or was not started.
    version: Option<String>,
    path: String,
    /// Always `None`: runtimes are programs of this host.
    image: Option<String>,
    description: &'static str,
    deprecated: bool,
}

/// Whether the runtime of a manifest is there.
pub(crate) enum RuntimeStatus {
    /// It names none that has to be on this host.
    NotNeeded,
    /// It is there.
    Available,
    /// It is not there; a sentence says what is.
    Unavailable(String),
}

impl RuntimeStatus {
    /// Returns the word in results.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            RuntimeStatus::NotNeeded => "not_needed",
            RuntimeStatus::Available => "available",
            RuntimeStatus::Unavailable(_) => "unavailable",
        }
    }
}

/// The programs of the host that may be started.
struct Programs<'c> {
    own: OwnPrograms,
    context: &'c Context<'c>,
}

impl<'c> Programs<'c> {
    /// Returns `None` if the process has no variables, so that nothing is looked up.
    fn new(context: &'c Context<'c>) -> Option<Programs<'c>> {
        let own = own_programs(context.fs, context.environment?);
        Some(Programs { own, context })
    }

    /// Returns the row of a runtime, if one of its programs is on PATH.
    fn row(&self, runtime: &LanguageRuntime) -> Option<RuntimeRow> {
        let description = runtime.description?;
        let found = |name: &&str| match self.own.find(name) {
            OwnProgram::Found(path) => Some((path.clone(), self.version(runtime, name, path))),
            OwnProgram::Writable(path) => Some((path, None)),
            OwnProgram::Missing => None,
        };
        let (path, version) = runtime.programs.iter().find_map(found)?;
        Some(RuntimeRow {
            language: runtime.name,
            version,
            path: path.display().to_string(),
            image: None,
            description,
            deprecated: runtime.is_deprecated,
        })
    }

    /// Starts a runtime, and returns the version that it prints.
    fn version(&self, runtime: &LanguageRuntime, name: &str, path: PathBuf) -> Option<String> {
        let directory = self.context.fs.root().to_owned();
        let start = plan_start(StartFacts {
            purpose: StartPurpose::Git,
            is_broken: false,
            command: Some(&format!("{name} {}", runtime.version)),
            directory: directory.clone(),
            directory_fact: DirectoryFact::Present,
            program: StartProgram::Found { path, sha256: None },
            home: None,
            decision: None,
            refuses_inline_code: None,
            unbound: Vec::new(),
            files: BTreeMap::new(),
            data: Vec::new(),
            bindings: BTreeMap::new(),
        })
        .ok()?;
        let mut spec = Spec::new(Program::open(start.program()).ok()?, directory);
        spec.argv = start.argv().words().iter().map(Into::into).collect();
        let home = self.context.environment.and_then(|variables| variables.get("HOME"));
        spec.environment = [("PATH", Some(self.own.path_variable())), ("HOME", home)]
            .into_iter()
            .filter_map(|(name, value)| Some((name.into(), value?.to_owned())))
            .chain([("LC_ALL".into(), "C".into())])
            .collect();
        let read = vec![PathBuf::from("/")];
        spec.sandbox = Some(SandboxProfile { read, ..SandboxProfile::nothing(Mode::BestEffort) });
        let control = Control {
            timeout: Some(TIME_LIMIT),
            cancel: self.context.cancel.cloned(),
            output_cap: OUTPUT_LIMIT,
            ..Control::default()
        };
        let mut printed = PrintedText(Vec::new());
        let outcome = run(&spec, &mut printed, &control).ok()?;
        let text = String::from_utf8_lossy(&printed.0);
        (outcome.exit == Exit::Code(0)).then(|| version_in(&text)).flatten()
    }
}

/// What a program prints on both streams.
struct PrintedText(Vec<u8>);

impl Sink for PrintedText {
    fn write(&mut self, _: Stream, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Returns the first version in a text: numbers with dots between them.
fn version_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.').map(|word| word.trim_matches('.'));
    let is_version = |word: &&str| word.contains('.') && word.split('.').all(|part| !part.is_empty());
    words.filter(is_version).map(str::to_owned).next()
}

/// Returns whether a version fits a wanted one, which may leave out its last numbers.
fn fits(version: &str, requested: &str) -> bool {
    let mut parts = version.split('.');
    requested.split('.').all(|part| parts.next() == Some(part))
}

/// `runtime.list`: the runtimes on PATH.
fn list(input: &Json, context: &mut Context<'_>, _: &TaskRunner<'_>) -> Result<Output, Failure> {
    let RuntimeArgs { language } = arguments(input)?;
    let is_wanted =
        |row: &&LanguageRuntime| language.as_deref().is_none_or(|requested| row.is_called(requested));
    let programs = Programs::new(context);
    let rows = programs.iter().flat_map(|programs| {
        LanguageRuntime::ALL.iter().filter(is_wanted).filter_map(|runtime| programs.row(runtime))
    });
    Ok(Output::from_result(&RuntimeList { runtimes: rows.collect(), custom_runtime_supported: false }))
}

/// Returns whether the runtime that a manifest names is on this host.
pub(crate) fn runtime_status(runtime: &Runtime, context: &Context<'_>) -> RuntimeStatus {
    let (Some(language), Some(requested)) = (&runtime.language, &runtime.version) else {
        return RuntimeStatus::NotNeeded;
    };
    let Some(programs) = Programs::new(context) else { return RuntimeStatus::NotNeeded };
    let named = |runtime: &&LanguageRuntime| runtime.is_called(language);
    let mut rows = LanguageRuntime::ALL.iter().filter(named).filter_map(|runtime| programs.row(runtime));
    if rows.any(|row| row.version.is_none_or(|version| fits(&version, requested))) {
        return RuntimeStatus::Available;
    }
    let all = LanguageRuntime::ALL.iter().filter_map(|runtime| programs.row(runtime));
    let versions = all.map(|row| match row.version {
        Some(version) => format!("{} {version}", row.language),
        None => row.language.to_owned(),
    });
    let versions: Vec<String> = versions.collect();
    RuntimeStatus::Unavailable(format!(
        "{language} {requested} is unavailable on this host, which has {}",
        if versions.is_empty() { "no runtime".to_owned() } else { versions.join(", ") }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[test]
    fn the_first_dotted_number_is_the_version() {
        for (text, version) in [
            ("Python 3.11.2\n", Some("3.11.2")),
            ("v18.19.0", Some("18.19.0")),
            ("go version go1.21.1 linux/amd64", Some("1.21.1")),
            ("openjdk version \"17.0.9\" 2023-10-17", Some("17.0.9")),
            ("GNU bash, version 5.2.15(1)-release (x86_64)", Some("5.2.15")),
            ("This is perl 5, version 36, subversion 0 (v5.36.0)", Some("5.36.0")),
            ("no version.", None),
        ] {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
        assert!(fits("3.11.2", "3.11") && fits("3.11.2", "3") && fits("3.11.2", "3.11.2"));
        assert!(!fits("3.11.2", "3.1") && !fits("3.11", "3.11.2"));
    }

    #[test]
    fn without_variables_no_runtime_is_found() {
        let bench = Bench::new();
        for args in [r#"{"language": "cobol"}"#, "{}"] {
            assert_eq!(bench.call("runtime.list", args).get("runtimes").unwrap().to_compact(), "[]");
        }
    }
}
