//! Where the paths among arguments lead, through links.

use brigade_core::Json;
use brigade_fs::{Fs, Location};
use brigade_profile::ToolTraits;
use brigade_profile::builtin::{COMMAND, relative};

/// Writes the paths among arguments as where they lead. A part that does not exist yet is no link.
pub fn real_paths(fs: &dyn Fs, tool: &ToolTraits<'_>, args: Json, root: &str) -> Json {
    let real = |value: &Json| match value.as_str().and_then(|path| relative(path, root)) {
        Some(path) => real_path(fs, &path).map_or_else(|| value.clone(), Json::from),
        None => value.clone(),
    };
    let Json::Object(mut members) = args else { return args };
    for name in tool.arguments.paths {
        let Some(value) = members.get_mut(*name) else { continue };
        *value = match &*value {
            Json::Array(paths) => Json::from(paths.iter().map(real).collect::<Vec<_>>()),
            value => real(value),
        };
    }
    Json::Object(members)
}

/// Returns where a path in the workspace leads; `None` where that is outside.
fn real_path(fs: &dyn Fs, path: &str) -> Option<String> {
    let mut rest: Vec<&str> = Vec::new();
    let mut above = path;
    loop {
        match fs.resolve(if above.is_empty() { "." } else { above }, None) {
            Ok(Location::Inside(real)) => {
                let real = std::iter::once(real.as_str()).chain(rest.into_iter().rev());
                let parts: Vec<&str> = real.filter(|part| !part.is_empty() && *part != ".").collect();
                return Some(parts.join("/"));
            }
            Ok(Location::Outside(_)) => return None,
            Err(_) if above.is_empty() => return None,
            Err(_) => {
                let (folder, name) = above.rsplit_once('/').unwrap_or(("", above));
                rest.push(name);
                above = folder;
            }
        }
    }
}

/// Writes each argument that names something behind a link as where the link leads, and one that leads out of the
/// workspace as nothing. Any text may be a path to the tool that gets it. A command is written with all its words.
pub fn followed(fs: &dyn Fs, tool: &str, args: &Json, root: &str) -> Json {
    let Json::Object(members) = args else { return args.clone() };
    let mut members = members.clone();
    if tool == COMMAND
        && let Some(command) = members.get("command").and_then(Json::as_str)
        && let Some(words) = members.get("args").and_then(Json::as_array)
    {
        let words = words.iter().filter_map(Json::as_str);
        let line: Vec<&str> = std::iter::once(command).chain(words).collect();
        let line = Json::from(line.join(" "));
        members.insert("command".to_owned(), line);
    }
    for (_, value) in members.iter_mut() {
        let Some(path) = value.as_str().and_then(|text| relative(text, root)) else { continue };
        match real_path(fs, &path) {
            Some(real) if real == path => {}
            Some(real) => *value = Json::from(real),
            None => *value = Json::Null,
        }
    }
    Json::Object(members)
}
