//! Registers `server.json` of the official MCP registry.

use std::collections::BTreeMap;

use brigade_cmdline::is_dangerous_variable;
use brigade_core::text::{self, escape_terminal};
use brigade_core::{ErrorCode, Json, Label, Object};
use brigade_redact::{is_secret_name, looks_like_token};

use super::seed::server;
use super::{
    ADDRESS, HEADER_LABEL, Members, RegisterError, Registration, Registrations, URL_LEFT_OUT, id_of_name,
    is_server, quoted, remote_server,
};
use crate::model::{Family, Runtime, ServerTransport, SourceDetail, Tool, ToolSource};

/// The maximum length of the name of a registry in a message, in characters.
const MAX_REGISTRY: usize = 40;

/// Returns whether a document is a `server.json`: it names its schema, or has packages or remotes of a server, and no
/// id of a tool.
pub(super) fn is_one(object: &Object) -> bool {
    let object = object.get("server").and_then(Json::as_object).unwrap_or(object);
    let schema = object.get("$schema").and_then(Json::as_str);
    let is_manifest = schema.is_some_and(|schema| schema.ends_with("server.schema.json"));
    let is_reached = object.contains_key("packages") || object.contains_key("remotes");
    (is_reached || is_manifest) && (object.contains_key("name") || !object.contains_key("id"))
}

pub(super) fn read(object: &Object, container: Option<&str>) -> Registrations {
    let mut found = Registrations::default();
    let object = match object.get("server").and_then(Json::as_object) {
        Some(server) => {
            let mut around = Members::new(object, "");
            let _ = around.get("server");
            around.rest(&mut found);
            server
        }
        None => object,
    };
    let mut members = Members::new(object, "");
    let Some(name) = members.text("name") else {
        found.errors.push(RegisterError::new(ErrorCode::FieldInvalid, "a server needs a name").field("name"));
        return found;
    };
    let short = name.rsplit('/').next().unwrap_or(&name).to_owned();
    let title = members.text("title").unwrap_or_else(|| name.clone());
    let description = members.text("description");
    let version = members.text("version");
    // `$schema` is not about the server.
    let _ = members.get("$schema");
    let base = |id: &str, transport: ServerTransport, found: &mut Registrations| {
        let Ok(tool) = Tool::new(&id_of_name(id), Family::Mcp) else {
            found.errors.push(
                RegisterError::new(ErrorCode::FieldInvalid, "the name is not a usable id").field("name"),
            );
            return None;
        };
        let source = SourceDetail {
            kind: Some(ToolSource::Mcp),
            server: Some(name.clone()),
            transport: Some(transport),
            ..SourceDetail::default()
        };
        let (name, description) = (title.clone(), description.clone());
        Some(Tool { name, description, source: Some(Box::new(source)), ..tool })
    };
    let mut is_taken = false;
    for (index, object) in members.objects("packages") {
        let prefix = format!("packages[{index}]");
        if is_taken {
            found.note(ErrorCode::PackageIgnored, prefix, "an earlier package is taken");
            continue;
        }
        let mut package = Members::new(object, prefix.clone());
        let command = command_of(&mut package, version.as_deref(), container, &mut found);
        let Some(command) = command else {
            package.pass_faults(&mut found);
            continue;
        };
        is_taken = true;
        let Variables { labels: env_labels, plain } = variables(&mut package, &mut found);
        package.rest(&mut found);
        let Some(mut tool) = base(&short, ServerTransport::Stdio, &mut found) else { continue };
        tool.env_labels = env_labels;
        let is_container = container.is_some_and(|program| command.starts_with(&format!("{program} run ")));
        let runtime = server(&mut tool, &command, plain);
        let runtime = runtime.map(|runtime| Runtime { container: is_container, ..runtime });
        found.tools.push(Registration {
            tool: tool.with_chosen_code(),
            runtime,
            detail: "mcp server".to_owned(),
        });
    }
    for (index, object) in members.objects("remotes") {
        let mut remote = Members::new(object, format!("remotes[{index}]"));
        let kind = remote.text("type").or_else(|| remote.text("transport_type"));
        let transport = match kind.as_deref() {
            Some("streamable-http" | "http") => ServerTransport::Http,
            Some("sse") => ServerTransport::Sse,
            Some(_) | None => {
                let message = "expected how the server is reached: streamable-http, sse or http";
                let error = RegisterError::new(ErrorCode::DefinitionUnclear, message);
                found.errors.push(error.field(remote.field("type")));
                ServerTransport::Http
            }
        };
        // Its defaults are in the URL.
        let _ = remote.get("variables");
        let url = remote.text("url").map(|url| with_defaults(&url, object)).filter(|url| is_server(url));
        if url.is_none() {
            found
                .errors
                .push(RegisterError::new(ErrorCode::DefinitionUnclear, ADDRESS).field(remote.field("url")));
        }
        let is_first = found.tools.is_empty();
        let id = if is_first { short.clone() } else { format!("{short}-remote-{index}") };
        if let Some(mut tool) = base(&id, transport, &mut found) {
            let headers: Vec<(String, Option<String>)> = named(&mut remote, "headers", "header")
                .into_iter()
                .map(|(name, header)| (name.to_owned(), plain_value(name, header)))
                .collect();
            let stated = headers.iter().cloned();
            let runtime = url.and_then(|url| remote_server(&mut tool, &url, transport, stated));
            if runtime.is_none() {
                found.note(ErrorCode::UrlNotKept, remote.field("url"), URL_LEFT_OUT);
            }
            for (name, _) in headers.iter().filter(|(_, value)| value.is_none()) {
                let field = format!("{}.{name}", remote.field("headers"));
                found.note(ErrorCode::ValueNotKept, field, HEADER_LABEL);
            }
            remote.rest(&mut found);
            found.tools.push(Registration {
                tool: tool.with_chosen_code(),
                runtime,
                detail: "remote mcp server".to_owned(),
            });
        }
    }
    members.rest(&mut found);
    if found.tools.is_empty() && found.errors.is_empty() {
        let registries = object.get("packages").and_then(Json::as_array).into_iter().flatten();
        let registries = registries.filter_map(|package| package.get("registryType")?.as_str());
        let registries: Vec<String> = registries
            .map(|name| format!("`{}`", escape_terminal(&text::short(name, MAX_REGISTRY))))
            .collect();
        let message = match registries.is_empty() {
            true => {
                "the manifest has neither `packages` nor `remotes`, so nothing in it says how the server is \
                     started; add a package of npm, PyPI or oci, or write the command as a runtime by hand"
                    .to_owned()
            }
            false => format!(
                "no package can be started: npm, PyPI and oci packages over stdio are taken, and it has {}",
                registries.join(", ")
            ),
        };
        found.errors.push(RegisterError::new(ErrorCode::PackageUnsupported, message).field("packages"));
    }
    found.name_tool(&id_of_name(&short));
    found
}

/// Makes the command that starts a pinned package.
fn command_of(
    package: &mut Members<'_>,
    version: Option<&str>,
    container: Option<&str>,
    found: &mut Registrations,
) -> Option<String> {
    let registry = package.text("registryType").or_else(|| package.text("registry_type"));
    let registry = registry.or_else(|| package.text("registry_name")).unwrap_or_default();
    let identifier = package.text("identifier").or_else(|| package.text("name"));
    let stated = package.text("version");
    let field = package.field("registryType");
    let (program, of, public) = match registry.as_str() {
        "npm" => ("npx -y", Index::Npm, "https://registry.npmjs.org"),
        "pypi" => ("uvx", Index::PyPi, "https://pypi.org"),
        "oci" => ("", Index::Oci, ""),
        _ => {
            found.note(ErrorCode::PackageIgnored, field, "only packages of npm, PyPI and oci are taken");
            return None;
        }
    };
    let transport = package.object("transport").and_then(|transport| transport.get("type"));
    if transport.is_some_and(|word| word.as_str().is_none()) {
        package.fault("transport.type", "expected text in quotes");
    }
    if transport.and_then(Json::as_str).is_some_and(|word| word != "stdio") {
        found.note(
            ErrorCode::PackageIgnored,
            package.field("transport"),
            "only servers over stdio are started",
        );
        return None;
    }
    // The program would ask the public registry, where the name may belong to another package.
    for key in ["registryBaseUrl", "registry_base_url"] {
        let stated = package.get(key);
        if stated.is_some_and(|url| url.as_str().is_none()) {
            // A wrong type is reported as a fault, and says nothing about the registry.
            let _ = package.text(key);
            return None;
        }
        if stated.is_some()
            && of != Index::Oci
            && package.text(key).is_none_or(|url| url.trim_end_matches('/') != public)
        {
            let message = "the package is of another registry than the public one, which is not taken; \
                           write the command that asks its registry by hand";
            let error = RegisterError::new(ErrorCode::PackageUnsupported, message);
            found.errors.push(error.field(package.field(key)));
            return None;
        }
    }
    let Some(identifier) = identifier.filter(|name| of.is_name(image_and_tag(name, of).0)) else {
        let message = format!("a package needs a plain name, {}", of.form());
        let error = RegisterError::new(ErrorCode::FieldInvalid, message);
        found.errors.push(error.field(package.field("identifier")));
        return None;
    };
    let (identifier, tag) = image_and_tag(&identifier, of);
    let pinned = stated.as_deref().or(tag).or(version).filter(|version| of.is_version(version));
    let Some(pinned) = pinned else {
        let error = RegisterError::new(ErrorCode::VersionNotPinned, "a package needs one exact version");
        found.errors.push(error.field(package.field("version")));
        return None;
    };
    if package.get("version").is_none() && tag.is_none() {
        let message =
            "the package names no version, so that of the server is taken; compare it with the package";
        found.note(ErrorCode::VersionOfServer, package.field("version"), message);
    }
    // A hint is ignored if it names the program that is started anyway.
    for key in ["runtimeHint", "runtime_hint"] {
        if of != Index::Oci && package.text(key).is_some_and(|hint| !program.starts_with(&hint)) {
            let message = format!("the package is started with `{program}`");
            found.note(ErrorCode::UnknownKey, package.field(key), &message);
        }
    }
    let mut command = match of {
        Index::Oci => containerized(package, identifier, pinned, container, found)?,
        Index::Npm | Index::PyPi => format!("{program} {identifier}@{pinned}"),
    };
    for name in ["packageArguments", "package_arguments"] {
        for (index, argument) in package.objects(name) {
            let faults = package.faults.len();
            let mut text = |key: &str| {
                let value = argument.get(key).filter(|value| **value != Json::Null)?;
                if value.as_str().is_none() {
                    package.fault(&format!("{name}[{index}].{key}"), "expected text in quotes");
                }
                value.as_str().filter(|text| !text.is_empty())
            };
            let (option, value, default) = (text("name"), text("value"), text("default"));
            let stated = value.or(default).map(|text| with_defaults(text, argument));
            let stated = stated.as_deref();
            let is_wrong = package.faults.len() != faults;
            let field = format!("{}[{index}]", package.field(name));
            let is_secret = argument.get("isSecret").or_else(|| argument.get("is_secret"));
            let is_secret = is_secret.is_some_and(|secret| *secret != Json::Bool(false));
            match stated {
                Some(value) if is_secret && !value.contains('{') => {
                    let message = "the argument is a secret, which no entry may hold; \
                                   let the server read it from a variable";
                    found.errors.push(RegisterError::new(ErrorCode::SecretInEntry, message).field(field));
                }
                Some(value) if !value.contains('{') => {
                    let words = option.into_iter().chain([value]);
                    words.for_each(|word| command.push_str(&format!(" {}", quoted(word))));
                }
                // The fault was reported.
                None if is_wrong => {}
                Some(_) => {
                    let message = "its value has variables, which are not known; add it to the command";
                    found.note(ErrorCode::ArgumentMissing, field, message);
                }
                None => found.note(
                    ErrorCode::ArgumentMissing,
                    field,
                    "its value is not known; add it to the command",
                ),
            }
        }
    }
    if package.get("runtimeArguments").is_some() || package.get("runtime_arguments").is_some() {
        let field = package.field("runtimeArguments");
        found.note(ErrorCode::RuntimeArgumentsIgnored, field, "options of the launcher are not taken over");
    }
    Some(command)
}

/// Splits the name of an image from its tag or digest.
fn image_and_tag(identifier: &str, of: Index) -> (&str, Option<&str>) {
    if of != Index::Oci {
        return (identifier, None);
    }
    if let Some((image, digest)) = identifier.split_once('@') {
        return (image, Some(digest));
    }
    match identifier.rsplit_once(':') {
        // After a colon that belongs to a port comes a path.
        Some((image, tag)) if !tag.contains('/') => (image, Some(tag)),
        _ => (identifier, None),
    }
}

/// Makes the command that starts an image: without network and mounts, which follow from the effects of each tool.
fn containerized(
    package: &mut Members<'_>,
    image: &str,
    pinned: &str,
    container: Option<&str>,
    found: &mut Registrations,
) -> Option<String> {
    let field = package.field("registryType");
    let Some(program) = container else {
        let message =
            "an image needs docker or podman, and neither is on PATH; install one, or name another package";
        found.errors.push(RegisterError::new(ErrorCode::PackageUnsupported, message).field(field));
        return None;
    };
    let message = "the container has a network only for tools with such effects, and sees the workspace at /workspace \
                   only for tools that read it";
    found.note(ErrorCode::RuntimeArgumentsIgnored, field, message);
    let names = ["environmentVariables", "environment_variables"]
        .iter()
        .filter_map(|key| package.object.get(*key)?.as_array())
        .flatten()
        .filter_map(|variable| variable.get("name")?.as_str());
    let variables: String = names.map(|name| format!(" -e {}", quoted(name))).collect();
    let separator = if pinned.contains(':') { '@' } else { ':' };
    Some(format!("{program} run --rm -i --network none{variables} {image}{separator}{pinned}"))
}

/// Replaces `{name}` by the value or the default of a variable. Others stay.
fn with_defaults(text: &str, holder: &Object) -> String {
    let Some(variables) = holder.get("variables").and_then(Json::as_object) else { return text.to_owned() };
    let mut expanded = text.to_owned();
    for (name, variable) in variables {
        let is_secret = variable.get("isSecret").or_else(|| variable.get("is_secret"));
        let known = variable.get("value").or_else(|| variable.get("default")).and_then(Json::as_str);
        if let Some(value) = known.filter(|value| !value.contains('{') && is_secret.is_none_or(is_false)) {
            expanded = expanded.replace(&format!("{{{name}}}"), value);
        }
    }
    expanded
}

fn is_false(json: &Json) -> bool {
    matches!(json, Json::Null | Json::Bool(false))
}

/// The variables of a package.
struct Variables {
    /// Names whose values the policy binds.
    labels: Vec<String>,
    /// Plain values.
    plain: BTreeMap<String, String>,
}

/// Takes plain values of variables over, and lists the other names, with a note that their values are not stored.
fn variables(package: &mut Members<'_>, found: &mut Registrations) -> Variables {
    let mut known = Variables { labels: Vec::new(), plain: BTreeMap::new() };
    for key in ["environmentVariables", "environment_variables"] {
        for (name, variable) in named(package, key, "variable") {
            let stated = stated_value(variable);
            let is_usable = name.parse::<Label>().is_ok() && !is_dangerous_variable(name);
            if let Some(value) = plain_value(name, variable).filter(|_| is_usable) {
                known.plain.insert(name.to_owned(), value);
                continue;
            }
            if stated.is_some() {
                let field = format!("{}.{name}", package.field(key));
                found.note(ErrorCode::ValueNotKept, field, "bind it under env_bindings of the policy");
            }
            known.labels.push(name.to_owned());
        }
    }
    known
}

/// Returns the value or default of a variable or header.
fn stated_value(variable: &Object) -> Option<String> {
    let stated = variable.get("value").or_else(|| variable.get("default")).and_then(Json::as_str);
    stated.map(|text| with_defaults(text, variable)).filter(|text| !text.is_empty())
}

/// Returns the value or default of a variable or header, if it is complete and not secret.
fn plain_value(name: &str, variable: &Object) -> Option<String> {
    let is_secret = variable.get("isSecret").or_else(|| variable.get("is_secret"));
    stated_value(variable).filter(|value| is_secret.is_none_or(is_false) && is_plain_text(name, value))
}

/// Returns whether the value of a variable is complete and not secret.
pub(super) fn is_plain_text(name: &str, value: &str) -> bool {
    !value.contains('{')
        && !is_secret_name(name)
        && !looks_like_token(value)
        && !value.chars().any(char::is_control)
}

/// Lists the objects of a list with their names. Objects without a name are faults.
fn named<'o>(members: &mut Members<'o>, key: &'static str, what: &str) -> Vec<(&'o str, &'o Object)> {
    let mut found = Vec::new();
    for (index, object) in members.objects(key) {
        match object.get("name").and_then(Json::as_str).filter(|name| !name.is_empty()) {
            Some(name) => found.push((name, object)),
            None => members.fault(&format!("{key}[{index}].name"), &format!("expected the name of a {what}")),
        }
    }
    found
}

/// A registry of packages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Index {
    Npm,
    PyPi,
    Oci,
}

impl Index {
    const fn form(self) -> &'static str {
        match self {
            Index::Npm => "NAME or @SCOPE/NAME",
            Index::PyPi => "of letters, digits, `.`, `_` and `-`",
            Index::Oci => "REGISTRY/NAME",
        }
    }

    /// Returns whether a text is the name of a package. Other texts may mean a directory, a repository or a URL.
    fn is_name(self, text: &str) -> bool {
        let is_part = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric() || (c == '~' && matches!(self, Index::Npm)))
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-~".contains(&byte))
        };
        match self {
            Index::Npm => match text.strip_prefix('@') {
                Some(scoped) => {
                    scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name))
                }
                None => is_part(text),
            },
            Index::Oci => {
                let is_host = |part: &str| is_part(&part.replacen(':', "", 1));
                let mut parts = text.split('/');
                parts.next().is_some_and(is_host) && parts.all(is_part) && !text.contains('~')
            }
            Index::PyPi => {
                is_part(text) && !text.contains('~') && text.ends_with(|c: char| c.is_ascii_alphanumeric())
            }
        }
    }

    /// Returns whether a version is exact: not a range or a tag.
    fn is_version(self, version: &str) -> bool {
        match self {
            Index::Npm => is_semantic(version),
            Index::PyPi => is_of_python(version),
            // A tag can be moved, but only a digest cannot, and few manifests have one.
            Index::Oci => {
                let is_word = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                let digest = version.strip_prefix("sha256:");
                digest.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
                    || (version != "latest" && !version.is_empty() && version.chars().all(is_word))
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a version follows semver.org: `1.2.3`, `1.2.3-rc.1+build`. Numbers have no leading zeros, except in
/// the build.
fn is_semantic(version: &str) -> bool {
    let is_short = |word: &str| word.len() == 1 || !word.starts_with('0') || !is_number(word);
    let are_words = |text: &str| {
        text.split('.').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        })
    };
    let (version, build) = version.split_once('+').unwrap_or((version, "0"));
    let (numbers, before) = version.split_once('-').unwrap_or((version, "0"));
    numbers.split('.').count() == 3
        && numbers.split('.').all(|number| is_number(number) && is_short(number))
        && before.split('.').all(is_short)
        && are_words(before)
        && are_words(build)
}

/// Returns whether a version follows PEP 440: `1!2.0rc1.post2.dev3+local.1`.
fn is_of_python(version: &str) -> bool {
    const WORDS: &[&str] =
        &["a", "alpha", "b", "beta", "c", "dev", "post", "pre", "preview", "r", "rc", "rev"];
    let (public, local) = version.split_once('+').unwrap_or((version, "0"));
    let (epoch, release) = public.split_once('!').unwrap_or(("0", public));
    let is_local = local
        .split(['.', '-', '_'])
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    // Numbers and known words alternate, with or without separators.
    let is_part = |part: &str| {
        let letters = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let word = letters.trim_end_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
        !part.is_empty() && (letters.is_empty() || WORDS.contains(&word.as_str()))
    };
    is_number(epoch)
        && is_local
        && release.starts_with(|c: char| c.is_ascii_digit())
        && release.split(['.', '-', '_']).all(is_part)
}
