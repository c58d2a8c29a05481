//! The system: `system.info` and `system.config`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use brigade_access::GatewayConfig;
use brigade_cmdline::find_program;
use brigade_core::{ErrorCode, Json, Object};
use brigade_fs::{FileKind, RelPath};
use brigade_policy::document::{Settings, settings};
use brigade_sandbox::{Mode, SandboxProfile};
use serde::Serialize;

use crate::context::{Context, Failure, Output};
use crate::run::Function;

/// The functions of this family.
pub(crate) const TOOLS: &[(&str, Function)] = &[("system.config", config), ("system.info", info)];

/// The directory of the configuration.
const CONFIG: &str = ".brigade/tools";

/// The files of the configuration, with their names in results.
const FILES: &[(&str, &str)] =
    &[("gateway", "gateway.toml"), ("policy", "policy.toml"), ("profiles", "profiles.toml")];

/// The maximum size of a configuration file.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// The origin of a default value.
const DEFAULT: &str = "default";

fn find(context: &Context<'_>, program: &str) -> Option<PathBuf> {
    let is_program = |path: &std::path::Path| {
        let found = context.fs.metadata_outside(path);
        found.is_ok_and(|found| found.kind == FileKind::File && found.mode & 0o111 != 0)
    };
    find_program(program, context.fs.root(), context.path, is_program)
}

/// The result of `system.info`.
#[derive(Serialize)]
struct SystemInfo {
    version: &'static str,
    status: &'static str,
    /// The names of what is available.
    capabilities: Vec<&'static str>,
    details: Vec<Capability>,
}

#[derive(Serialize)]
struct Capability {
    name: &'static str,
    available: bool,
    detail: Option<String>,
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
    let row = |(name, found): (&'static str, Result<Option<String>, String>)| {
        let available = found.is_ok();
        let detail = found.unwrap_or_else(Some).map(|text| context.redactor.redact_str(&text));
        Capability { name, available, detail }
    };
    let details: Vec<Capability> = rows.into_iter().map(row).collect();
    let capabilities = details.iter().filter(|one| one.available).map(|one| one.name).collect();
    let (version, status) = (env!("CARGO_PKG_VERSION"), if is_healthy { "healthy" } else { "unhealthy" });
    Ok(Output::from_result(&SystemInfo { version, status, capabilities, details }))
}

/// Returns the names of the workers for tasks.
fn workers(context: &Context<'_>) -> Result<Option<String>, String> {
    let workers: Vec<&str> = context.workers.iter().map(|worker| worker.id.as_str()).collect();
    let none = || "gateway.toml names no `[[worker]]`".to_owned();
    (!workers.is_empty()).then(|| Some(workers.join(", "))).ok_or_else(none)
}

/// The result of `system.config`.
#[derive(Serialize)]
struct Config {
    config_path: &'static str,
    /// `content` as a text. JSON is YAML, too.
    content_yaml: String,
    /// The settings of each file, as written.
    content: Json,
    /// The line of each setting.
    origins: BTreeMap<String, String>,
}

/// `system.config`: the effective settings, and the origin of each.
fn config(_: &Json, context: &mut Context<'_>) -> Result<Output, Failure> {
    let (mut content, mut origins) = (Object::new(), BTreeMap::new());
    for (name, file) in FILES {
        let file = format!("{CONFIG}/{file}");
        let path = RelPath::composed(&file);
        let mut read = match context.fs.read(&path, MAX_CONFIG_BYTES) {
            Ok(bytes) => {
                let broken =
                    |_| Failure::new(ErrorCode::ConfigInvalid, format!("`{file}` is not valid TOML"));
                let text = std::str::from_utf8(&bytes).map_err(|_| broken(Vec::new()))?;
                settings(&file, text).map_err(broken)?
            }
            Err(error) if error.is_not_found() => {
                Settings { content: Json::Object(Object::new()), places: BTreeMap::new() }
            }
            Err(error) => {
                return Err(Failure::new(ErrorCode::FileError, format!("`{file}`: {}", error.kind)));
            }
        };
        for (key, place) in &read.places {
            let line = place.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
            origins.insert(format!("{name}.{key}"), line);
        }
        let defaults = if *name == "gateway" { GatewayConfig::defaults() } else { Vec::new() };
        for (key, value) in defaults {
            if set_default(&mut read.content, key, value) {
                origins.insert(format!("{name}.{key}"), DEFAULT.to_owned());
            }
        }
        content.insert((*name).to_owned(), read.content);
    }
    let content = context.redactor.redact_json(&Json::Object(content));
    let content_yaml = content.to_pretty();
    Ok(Output::from_result(&Config { config_path: CONFIG, content_yaml, content, origins }))
}

/// Sets a missing value. Returns whether it was missing.
fn set_default(content: &mut Json, key: &str, value: Json) -> bool {
    let Json::Object(members) = content else { return false };
    match key.split_once('.') {
        None if members.contains_key(key) => false,
        None => {
            members.insert(key.to_owned(), value);
            true
        }
        Some((table, key)) => {
            let inner = members.entry(table.to_owned()).or_insert_with(|| Json::Object(Object::new()));
            set_default(inner, key, value)
        }
    }
}

/// Asks the kernel what it would enforce on a run that only reads the workspace.
fn sandbox(context: &Context<'_>) -> Result<Option<String>, String> {
    let read = vec![context.fs.root().to_owned()];
    let profile = SandboxProfile { read, ..SandboxProfile::nothing(Mode::BestEffort) };
    let enforced = profile.check().map_err(|error| error.to_string())?;
    if enforced.enforced.is_empty() {
        return Err(enforced.missing.join("; "));
    }
    Ok(Some(format!("Landlock {}: {}", enforced.landlock, enforced.enforced.join(", "))))
}

#[cfg(test)]
mod tests {
    use brigade_core::{ErrorCode, Json};
    use brigade_fs::Fs as _;

    use crate::stored::testing::Bench;

    #[test]
    fn every_setting_has_an_origin_and_no_secret() {
        let bench = Bench::new();
        let config = bench.call("system.config", "{}");
        let origin = |config: &Json, key: &str| config.get("origins").unwrap().get(key).cloned();
        assert_eq!(origin(&config, "gateway.page_size"), Some(Json::from("default")));
        let path = ".brigade/tools/gateway.toml".parse().unwrap();
        bench.fs.create_dir_all(&".brigade/tools".parse().unwrap()).unwrap();
        let text = "page_size = 7\n[volumes]\nmax_count = 2\n[[agent]]\nname = \"local\"\n";
        bench.fs.write_atomic(&path, text.as_bytes(), brigade_fs::FileMode::Private).unwrap();
        let policy =
            "max_timeout = 9\n[env_bindings]\nTOKEN = \"ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\"\n";
        let path = ".brigade/tools/policy.toml".parse().unwrap();
        bench.fs.write_atomic(&path, policy.as_bytes(), brigade_fs::FileMode::Private).unwrap();
        let config = bench.call("system.config", "{}");
        for (key, expect) in [
            ("gateway.page_size", ".brigade/tools/gateway.toml:1"),
            ("gateway.agent[0].name", ".brigade/tools/gateway.toml:5"),
            ("gateway.volumes.max_count", ".brigade/tools/gateway.toml:3"),
            ("gateway.volumes.max_bytes", "default"),
            ("policy.max_timeout", ".brigade/tools/policy.toml:1"),
        ] {
            assert_eq!(origin(&config, key), Some(Json::from(expect)), "{key}");
        }
        let content = config.get("content").unwrap();
        assert_eq!(content.get("gateway").unwrap().get("page_size"), Some(&Json::from(7)));
        assert_eq!(content.get("gateway").unwrap().get("list"), Some(&Json::from("full")));
        assert!(!content.to_compact().contains("ghp_0123456789"), "{}", content.to_compact());
        bench.fs.write_atomic(&path, b"= 1", brigade_fs::FileMode::Private).unwrap();
        assert_eq!(bench.code("agent:ada", "system.config", "{}"), ErrorCode::ConfigInvalid);
    }

    #[test]
    fn listed_programs_exist() {
        let bench = Bench::new();
        let info = bench.call("system.info", "{}");
        assert_eq!(info.get("status").and_then(Json::as_str), Some("healthy"));
    }
}
