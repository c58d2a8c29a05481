//! Registries of tools: URLs with the API of the official MCP registry, and files of its shape.
//!
//! A registry is asked only by a person's command, and a URL only if the policy names its origin in `remote` of
//! `[registry]`. What a registry says about a version of a server is pinned by digest at the first use, and cached.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brigade_core::json::{from_json, pretty_text};
use brigade_core::text::escape_terminal;
use brigade_core::web_url::WebUrl;
use brigade_core::{Dialect, ErrorCode, Fingerprint, Json, Timestamp};
use brigade_fs::{FileMode, Fs, RelPath, require_untracked};
use brigade_policy::Failure;
use brigade_redact::Redactor;
use brigade_remote::oauth::REQUEST_TIMEOUT;
use brigade_remote::{Client, RemoteError};
use brigade_workspace::{WorkspaceContext, load};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::report::{
    KnownRegistry, RegistriesReport, RegistryInfoReport, RegistrySearchReport, RegistryServer, Report as _,
};

/// The file with the registries and the pins.
const REGISTRIES: &str = ".brigade/tools/registries.json";

/// The folder with what registries said, by digest.
const CACHE: &str = ".brigade/tools/registry";

/// The schema id of the file.
const SCHEMA: &str = "brigade.known-registries.v1";

/// The maximum size of the file.
const MAX_BYTES: u64 = 4 << 20;

/// The maximum size of a registry in a file.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The maximum number of pages of a search.
const MAX_PAGES: usize = 3;

/// The maximum number of servers in a page.
const PAGE_SERVERS: usize = 30;

/// The maximum number of registries.
const MAX_REGISTRIES: usize = 32;

/// The maximum number of pins. The oldest go.
const MAX_PINS: usize = 1_000;

/// What a version of a server was at the first use.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PinnedServer {
    digest: String,
    registry: String,
    at: Timestamp,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Document {
    schema: String,
    registries: Vec<KnownRegistry>,
    /// By `NAME@VERSION`.
    pins: BTreeMap<String, PinnedServer>,
}

impl Document {
    /// Reads the file. One that git tracks does not count, because a clone may have brought it.
    fn read(fs: &dyn Fs) -> Result<Document, Error> {
        let path = RelPath::from_static(REGISTRIES);
        let bytes = match fs.read(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => {
                let (registries, pins) = (Vec::new(), BTreeMap::new());
                return Ok(Document { schema: SCHEMA.to_owned(), registries, pins });
            }
            Err(error) => return Err(error.into()),
        };
        require_untracked(fs, REGISTRIES)?;
        let json = Json::parse_bytes(&bytes, Dialect::Strict).ok();
        let document = json.and_then(|json| from_json::<Document>(&json).ok());
        document.filter(|document| document.schema == SCHEMA).ok_or_else(|| {
            let message = format!("{REGISTRIES} is damaged, or of a newer version");
            Error::new(ErrorKind::InvalidConfig, message).hint("remove it, and add the registries again")
        })
    }

    fn write(&mut self, fs: &dyn Fs) -> Result<(), Error> {
        while MAX_PINS < self.pins.len() {
            let oldest = self.pins.iter().min_by_key(|(_, pin)| pin.at).map(|(key, _)| key.clone());
            oldest.map(|key| self.pins.remove(&key));
        }
        let text = pretty_text(self).expect("texts and times are JSON");
        let path = RelPath::from_static(REGISTRIES);
        fs.create_dir_all(&path.parent())?;
        Ok(fs.write_atomic(&path, text.as_bytes(), FileMode::Private)?)
    }

    fn report(self, context: &WorkspaceContext) -> RegistriesReport {
        let (schema, target) = (RegistriesReport::SCHEMA, context.target());
        RegistriesReport { schema, target, registries: self.registries }
    }
}

/// Lists the registries.
///
/// # Errors
/// Fails if their file cannot be read, or git tracks it.
pub fn registries(context: &WorkspaceContext) -> Result<RegistriesReport, Error> {
    Ok(Document::read(&*context.fs)?.report(context))
}

/// Adds a registry: a URL whose origin the policy names, or a file, which is pinned as it is now.
///
/// # Errors
/// Fails if the policy does not name the origin, the file is not a registry, or the name is taken, and inside a run.
pub fn add_registry(
    context: &WorkspaceContext,
    source: &str,
    name: Option<&str>,
) -> Result<RegistriesReport, Error> {
    context.require_outside_run()?;
    let mut known = Document::read(&*context.fs)?;
    let url = WebUrl::parse(source).ok().filter(|url| !url.target().contains('?'));
    let (location, digest, usual) = match url {
        Some(url) => {
            allowed(context, &url)?;
            let host = url.origin();
            let host = host.split_once("://").map_or(&*host, |(_, host)| host).to_owned();
            (url.to_string(), None, host)
        }
        None if source.contains("://") => {
            let message =
                "the URL of a registry is `https://HOST`, perhaps with a path, without user and query";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        None => {
            let path = context.typed_path(Path::new(source));
            let bytes = context.fs.read_outside(&path, MAX_FILE_BYTES)?;
            servers_of(&path, &bytes)?;
            let usual =
                path.file_stem().map_or_else(|| "file".into(), |stem| stem.to_string_lossy().into_owned());
            (path.display().to_string(), Some(Fingerprint::of_bytes(&bytes).to_hex()), usual)
        }
    };
    let name = escape_terminal(name.unwrap_or(&usual).trim()).into_owned();
    let is_other = |other: &KnownRegistry| other.name == name && other.location != location;
    if name.is_empty() || known.registries.iter().any(is_other) || MAX_REGISTRIES <= known.registries.len() {
        let message =
            format!("the name `{name}` is empty or taken, or there are {MAX_REGISTRIES} registries");
        return Err(Error::new(ErrorKind::Refused, message).hint("give another name"));
    }
    known.registries.retain(|other| other.name != name);
    known.registries.push(KnownRegistry { name, location, digest, added_at: context.now() });
    known.write(&*context.fs)?;
    Ok(known.report(context))
}

/// Forgets a registry. Pins and registered tools stay.
///
/// # Errors
/// Fails if no registry has the name, and inside a run.
pub fn remove_registry(context: &WorkspaceContext, name: &str) -> Result<RegistriesReport, Error> {
    context.require_outside_run()?;
    let mut known = Document::read(&*context.fs)?;
    let before = known.registries.len();
    known.registries.retain(|registry| registry.name != name);
    if known.registries.len() == before {
        let message = format!("no registry has the name `{}`", escape_terminal(name));
        return Err(Error::new(ErrorKind::NotFound, message));
    }
    known.write(&*context.fs)?;
    Ok(known.report(context))
}

/// Searches the registries. One that does not answer is a note.
///
/// # Errors
/// Fails without a registry, and inside a run.
pub fn search_registries(context: &WorkspaceContext, words: &str) -> Result<RegistrySearchReport, Error> {
    context.require_outside_run()?;
    let known = some_registries(Document::read(&*context.fs)?)?;
    let (mut servers, mut notes) = (Vec::new(), Vec::new());
    for registry in &known.registries {
        match search_one(context, registry, words) {
            Ok((found, is_whole)) => {
                if !is_whole {
                    notes.push(format!("`{}` has more; give more words", registry.name));
                }
                servers.extend(found);
            }
            Err(error) => notes.push(format!("`{}`: {error}", registry.name)),
        }
    }
    Ok(RegistrySearchReport {
        schema: RegistrySearchReport::SCHEMA,
        target: context.target(),
        query: words.to_owned(),
        server_count: servers.len(),
        servers,
        notes,
    })
}

/// Shows a server: its newest version, or the one after `@`. Pins and caches it.
///
/// # Errors
/// Fails if no registry has it, if its content changed since it was pinned, and inside a run. `accept` pins it anew.
pub fn registry_info(
    context: &WorkspaceContext,
    name: &str,
    accept: bool,
) -> Result<RegistryInfoReport, Error> {
    let found = find_server(context, name, accept)?;
    Ok(RegistryInfoReport {
        schema: RegistryInfoReport::SCHEMA,
        target: context.target(),
        server: found.server,
        digest: found.digest,
        cached: found.cached,
        manifest: found.manifest,
    })
}

/// A server of a registry, whose content is the pinned one.
pub(crate) struct FoundServer {
    /// The server.
    pub(crate) server: RegistryServer,
    /// The sha256 of its normal form.
    pub(crate) digest: String,
    /// Whether it was read from the cache.
    pub(crate) cached: bool,
    /// Its `server.json`.
    pub(crate) manifest: Json,
}

impl FoundServer {
    /// Returns the reference for its entry.
    pub(crate) fn reference(&self) -> String {
        let version = self.server.version.as_deref().unwrap_or("latest");
        format!("registry:{}@{version}", self.server.name)
    }
}

/// Finds a server in the cache by its pinned version, or in the registries.
pub(crate) fn find_server(
    context: &WorkspaceContext,
    name: &str,
    accept: bool,
) -> Result<FoundServer, Error> {
    context.require_outside_run()?;
    let mut known = Document::read(&*context.fs)?;
    let (name, version) = match name.rsplit_once('@') {
        Some((name, version)) if !version.is_empty() => (name, Some(version)),
        _ => (name, None),
    };
    if let Some(pin) =
        version.filter(|_| !accept).and_then(|version| known.pins.get(&format!("{name}@{version}")))
        && let Some(manifest) = cached(context, &pin.digest)
    {
        let server = row(&manifest, &pin.registry).ok_or_else(|| unclear(&pin.registry))?;
        return Ok(FoundServer { server, digest: pin.digest.clone(), cached: true, manifest });
    }
    known = some_registries(known)?;
    let mut problems = Vec::new();
    for registry in &known.registries {
        let manifest = match read_one(context, registry, name, version) {
            Ok(Some(manifest)) => manifest,
            Ok(None) => continue,
            Err(error) => {
                problems.push(format!("`{}`: {error}", registry.name));
                continue;
            }
        };
        let server = row(&manifest, &registry.name).ok_or_else(|| unclear(&registry.name))?;
        let is_asked =
            server.name == name && version.is_none_or(|version| server.version.as_deref() == Some(version));
        if !is_asked {
            return Err(unclear(&registry.name));
        }
        let digest = Fingerprint::of_bytes(manifest.to_compact().as_bytes()).to_hex();
        let key = format!("{name}@{}", server.version.as_deref().unwrap_or("latest"));
        if !accept && known.pins.get(&key).is_some_and(|pin| pin.digest != digest) {
            let message = format!(
                "`{}` serves other content for {} than when it was used first",
                registry.name,
                escape_terminal(&key)
            );
            let error = Error::new(ErrorKind::Refused, message).coded(ErrorCode::RegistryChanged);
            return Err(error.hint("look at what it is now, and accept it if you trust it"));
        }
        let pin = PinnedServer { digest: digest.clone(), registry: registry.name.clone(), at: context.now() };
        let text = manifest.to_compact();
        let path = RelPath::composed(&format!("{CACHE}/{digest}.json"));
        context.fs.create_dir_all(&path.parent())?;
        context.fs.write_atomic(&path, text.as_bytes(), FileMode::Private)?;
        known.pins.insert(key, pin);
        known.write(&*context.fs)?;
        return Ok(FoundServer { server, digest, cached: false, manifest });
    }
    let message = match &problems[..] {
        [] => format!("no registry has a server with the name `{}`", escape_terminal(name)),
        problems => format!("no registry has given the server: {}", problems.join("; ")),
    };
    Err(Error::new(ErrorKind::NotFound, message).coded(ErrorCode::RefUnknown))
}

/// Reads a manifest from the cache, if it is what its name says.
fn cached(context: &WorkspaceContext, digest: &str) -> Option<Json> {
    let path = format!("{CACHE}/{digest}.json").parse().ok()?;
    let bytes = context.fs.read(&path, MAX_ANSWER_BYTES as u64).ok()?;
    let is_it = Fingerprint::of_bytes(&bytes).to_hex() == digest;
    Json::parse_bytes(&bytes, Dialect::Strict).ok().filter(|_| is_it)
}

fn some_registries(known: Document) -> Result<Document, Error> {
    if known.registries.is_empty() {
        let error = Error::new(ErrorKind::NotFound, "no registry was added");
        return Err(error.hint("add one, such as https://registry.modelcontextprotocol.io"));
    }
    Ok(known)
}

fn unclear(registry: &str) -> Error {
    let message = format!("the answer of `{registry}` is not the server that was asked for");
    Error::new(ErrorKind::Refused, message).coded(ErrorCode::RegistryFailed)
}

/// Returns the origins of `[registry] remote`, if the one of a URL is among them.
fn allowed(context: &WorkspaceContext, url: &WebUrl) -> Result<Vec<String>, Failure> {
    let policy = load::policy(context);
    let origins: Vec<String> =
        policy.policy().map(|policy| policy.registry_remote.values().cloned().collect()).unwrap_or_default();
    if origins.contains(&url.origin()) {
        return Ok(origins);
    }
    let message = format!("`{}` is not in remote of [registry] of the policy", url.origin());
    let hint =
        format!("if you trust this registry, add `remote = [\"{}\"]` below `[registry]` there", url.origin());
    Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::PolicyRegistryRemote).hint(hint))
}

/// A registry behind a URL.
struct RemoteRegistry {
    client: Client,
    /// The URL with the version of the API, without a slash at the end.
    base: String,
    name: String,
}

impl RemoteRegistry {
    fn open(context: &WorkspaceContext, registry: &KnownRegistry) -> Result<RemoteRegistry, Error> {
        let url = WebUrl::parse(&registry.location).map_err(|_| unclear(&registry.name))?;
        let origins = allowed(context, &url)?;
        let base = url.to_string().trim_end_matches('/').to_owned();
        let is_versioned =
            base.rsplit('/').next().is_some_and(|last| last == "v0" || last.starts_with("v0."));
        let base = if is_versioned { base } else { format!("{base}/v0.1") };
        let client = Client::new(&origins, Some(REQUEST_TIMEOUT));
        Ok(RemoteRegistry { client, base, name: registry.name.clone() })
    }

    fn get(&self, rest: &str) -> Result<Option<Json>, Error> {
        let read = self.client.document(&format!("{}/{rest}", self.base), MAX_ANSWER_BYTES);
        read.map_err(|error| {
            let message = match &error {
                RemoteError::Redirect(to) => {
                    format!("it redirects to {to}, which is not in remote of [registry] of the policy")
                }
                error => error.to_string(),
            };
            let message = format!("`{}`: {}", self.name, escape_terminal(&message));
            Error::new(ErrorKind::Environment, message).coded(ErrorCode::RegistryFailed)
        })
    }
}

/// Returns the servers of a registry that have all words, and whether these are all.
fn search_one(
    context: &WorkspaceContext,
    registry: &KnownRegistry,
    words: &str,
) -> Result<(Vec<RegistryServer>, bool), Error> {
    let mut found = Vec::new();
    let rows = |servers: &[Json], found: &mut Vec<RegistryServer>| {
        found.extend(servers.iter().filter_map(|item| row(inner(item), &registry.name)));
    };
    if registry.digest.is_some() {
        rows(&servers_of_file(context, registry)?, &mut found);
        let search_words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        found.retain(|server| {
            let text = format!("{} {}", server.name, server.description).to_lowercase();
            search_words.iter().all(|word| text.contains(word))
        });
        let is_whole = found.len() <= MAX_PAGES * PAGE_SERVERS;
        found.truncate(MAX_PAGES * PAGE_SERVERS);
        return Ok((found, is_whole));
    }
    let remote = RemoteRegistry::open(context, registry)?;
    let mut cursor = String::new();
    for _ in 0..MAX_PAGES {
        let rest = format!("servers?search={}&version=latest&limit={PAGE_SERVERS}{cursor}", encoded(words));
        let page = remote.get(&rest)?.ok_or_else(|| unclear(&registry.name))?;
        rows(page.get("servers").and_then(Json::as_array).map_or(&[][..], |servers| servers), &mut found);
        let next =
            page.get("metadata").and_then(|metadata| metadata.get("nextCursor")).and_then(Json::as_str);
        match next.filter(|next| !next.is_empty()) {
            Some(next) => cursor = format!("&cursor={}", encoded(next)),
            None => return Ok((found, true)),
        }
    }
    Ok((found, false))
}

/// Reads one server of a registry. `None` if the registry does not have it.
fn read_one(
    context: &WorkspaceContext,
    registry: &KnownRegistry,
    name: &str,
    version: Option<&str>,
) -> Result<Option<Json>, Error> {
    if registry.digest.is_some() {
        let text = |item: &Json, key: &str| item.get(key).and_then(Json::as_str).map(str::to_owned);
        let servers = servers_of_file(context, registry)?;
        let mut named = servers.iter().map(inner).filter(|item| text(item, "name").as_deref() == Some(name));
        let found = named.find(|item| version.is_none() || text(item, "version").as_deref() == version);
        return Ok(found.cloned());
    }
    let remote = RemoteRegistry::open(context, registry)?;
    let rest = format!("servers/{}/versions/{}", encoded(name), encoded(version.unwrap_or("latest")));
    Ok(remote.get(&rest)?.map(|answer| inner(&answer).clone()))
}

/// Reads the servers of a registry in a file. The file must be as it was when it was added.
fn servers_of_file(context: &WorkspaceContext, registry: &KnownRegistry) -> Result<Vec<Json>, Error> {
    let path = PathBuf::from(&registry.location);
    let bytes = context.fs.read_outside(&path, MAX_FILE_BYTES)?;
    if registry.digest.as_deref() != Some(&*Fingerprint::of_bytes(&bytes).to_hex()) {
        let message = format!("the file of `{}` changed since it was added", registry.name);
        let error = Error::new(ErrorKind::Refused, message).coded(ErrorCode::RegistryChanged);
        return Err(error.hint("look at it, and add it again"));
    }
    servers_of(&path, &bytes)
}

fn servers_of(path: &Path, bytes: &[u8]) -> Result<Vec<Json>, Error> {
    let json = Json::parse_bytes(bytes, Dialect::Strict).ok();
    let servers =
        json.as_ref().and_then(|json| json.get("servers").unwrap_or(json).as_array().map(<[Json]>::to_vec));
    servers.ok_or_else(|| {
        let message =
            format!("{} has no list `servers` in JSON", escape_terminal(&path.display().to_string()));
        Error::new(ErrorKind::InvalidConfig, message).coded(ErrorCode::FileInvalid)
    })
}

/// Returns the `server.json` in an item of a registry.
fn inner(item: &Json) -> &Json {
    item.get("server").filter(|server| server.as_object().is_some()).unwrap_or(item)
}

/// Describes a server. `None` without a name.
fn row(manifest: &Json, registry: &str) -> Option<RegistryServer> {
    const MAX_CHARS: usize = 400;
    let redactor = Redactor::new(&[]);
    let text = |key: &str| {
        let text = manifest.get(key).and_then(Json::as_str)?;
        Some(redactor.redact_str(&text.chars().take(MAX_CHARS).collect::<String>()))
    };
    Some(RegistryServer {
        name: text("name")?,
        version: text("version"),
        description: text("description").unwrap_or_default(),
        registry: registry.to_owned(),
    })
}

/// Encodes a text as a part of a URL.
fn encoded(text: &str) -> String {
    let mut found = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                found.push(char::from(byte))
            }
            byte => found.push_str(&format!("%{byte:02X}")),
        }
    }
    found
}

#[cfg(test)]
mod tests;
