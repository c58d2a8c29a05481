//! The system: `system.info` and `runtime.list`.

use std::path::PathBuf;

use brigade_command::find_program;
use brigade_core::Json;
use brigade_fs::FileKind;
use brigade_process::{LocalSockets, Mode, Network, SandboxProfile};
use serde::Deserialize;

use crate::context::{Context, Failure, Output};
use crate::run::{Function, arguments};
use crate::task::Tasks;

/// What the tools of this family do.
pub(crate) const TOOLS: &[(&str, Function)] = &[("runtime.list", runtimes), ("system.info", info)];

/// A language runtime, and the programs that it is known by, best first.
struct Language {
    name: &'static str,
    programs: &'static [&'static str],
    description: &'static str,
    is_deprecated: bool,
}

const fn language(
    name: &'static str,
    programs: &'static [&'static str],
    description: &'static str,
) -> Language {
    Language { name, programs, description, is_deprecated: false }
}

const LANGUAGES: &[Language] = &[
    language("bash", &["bash"], "the shell Bash"),
    language("bun", &["bun"], "JavaScript and TypeScript with Bun"),
    language("deno", &["deno"], "JavaScript and TypeScript with Deno"),
    language("go", &["go"], "the Go toolchain"),
    language("java", &["java"], "the Java virtual machine"),
    language("node", &["node"], "JavaScript with Node.js"),
    language("perl", &["perl"], "Perl 5"),
    language("php", &["php"], "PHP"),
    language("python", &["python3"], "Python 3"),
    Language { is_deprecated: true, ..language("python2", &["python2", "python2.7"], "Python 2") },
    language("ruby", &["ruby"], "Ruby"),
    language("rust", &["cargo", "rustc"], "the Rust toolchain"),
];

#[derive(Deserialize)]
struct RuntimeArgs {
    language: Option<String>,
}

fn find(context: &Context<'_>, program: &str) -> Option<PathBuf> {
    let is_program = |path: &std::path::Path| {
        let found = context.fs.metadata_outside(path);
        found.is_ok_and(|found| found.kind == FileKind::File && found.mode & 0o111 != 0)
    };
    find_program(program, context.fs.root(), context.path, is_program)
}

/// `runtime.list`: what PATH has. Nothing is started, so no version is known.
fn runtimes(input: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let RuntimeArgs { language } = arguments(input)?;
    let is_wanted =
        |row: &&Language| language.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(row.name));
    let row = |row: &Language| {
        let path = row.programs.iter().find_map(|program| find(context, program))?;
        Some(Json::object([
            ("language", Json::from(row.name)),
            ("version", Json::Null),
            ("path", Json::from(path.display().to_string())),
            ("image", Json::Null),
            ("description", Json::from(row.description)),
            ("deprecated", Json::from(row.is_deprecated)),
        ]))
    };
    let rows: Vec<Json> = LANGUAGES.iter().filter(is_wanted).filter_map(row).collect();
    Ok(Output::new([("runtimes", Json::from(rows)), ("custom_runtime_supported", Json::from(false))]))
}

/// `system.info`
fn info(_: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let store = context.stores.reading(context.fs).map(drop).map_err(|error| error.to_string());
    let is_healthy = store.is_ok();
    let git = find(context, "git").map(|path| path.display().to_string());
    let rows = [
        ("store", store.map(|()| None)),
        ("sandbox", sandbox(context)),
        ("workers", workers(context)),
        ("git", git.map(Some).ok_or_else(|| "no program `git` is on PATH".to_owned())),
    ];
    let row = |(name, found): (&str, Result<Option<String>, String>)| {
        let is_there = found.is_ok();
        let detail = found.unwrap_or_else(Some).map(|text| context.redactor.redact_str(&text));
        Json::object([
            ("name", Json::from(name)),
            ("available", Json::from(is_there)),
            ("detail", Json::from(detail)),
        ])
    };
    let rows: Vec<Json> = rows.into_iter().map(row).collect();
    let status = if is_healthy { "healthy" } else { "unhealthy" };
    Ok(Output::new([
        ("version", Json::from(env!("CARGO_PKG_VERSION"))),
        ("status", Json::from(status)),
        ("capabilities", Json::from(rows)),
    ]))
}

/// Names the programs that do tasks.
fn workers(context: &Context<'_>) -> Result<Option<String>, String> {
    let workers = context.tasks.map(Tasks::workers).unwrap_or_default();
    let none = || "gateway.toml names no `[[worker]]`".to_owned();
    (!workers.is_empty()).then(|| Some(workers.join(", "))).ok_or_else(none)
}

/// Asks the kernel what it would enforce on a run that only reads the workspace.
fn sandbox(context: &Context<'_>) -> Result<Option<String>, String> {
    let profile = SandboxProfile {
        workspace: None,
        hidden: None,
        installed: Vec::new(),
        read: vec![context.fs.root().to_owned()],
        write: Vec::new(),
        deny_write: Vec::new(),
        closed: None,
        network: Network::Denied,
        local_sockets: LocalSockets::Denied,
        mode: Mode::BestEffort,
        landlock_at_most: None,
    };
    let enforced = profile.check().map_err(|error| error.to_string())?;
    if enforced.enforced.is_empty() {
        return Err(enforced.missing.join("; "));
    }
    Ok(Some(format!("Landlock {}: {}", enforced.landlock, enforced.enforced.join(", "))))
}

#[cfg(test)]
mod tests {
    use crate::stored::testing::Bench;

    #[test]
    fn what_is_found_is_really_there() {
        let bench = Bench::new();
        let info = bench.call("system.info", "{}");
        assert_eq!(info.get("status").and_then(brigade_core::Json::as_str), Some("healthy"));
        let none = bench.call("runtime.list", r#"{"language": "cobol"}"#);
        assert_eq!(none.get("runtimes").unwrap().to_compact(), "[]");
        // Without a PATH, nothing is found.
        assert_eq!(bench.call("runtime.list", "{}").get("runtimes").unwrap().to_compact(), "[]");
    }
}
