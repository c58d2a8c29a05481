//! Resolves links in the paths among arguments.

use std::path::Path;

use brigade_access::ToolTraits;
use brigade_access::builtin::{WORKSPACE, command_argument, relative};
use brigade_core::Json;
use brigade_fs::{Fs, Location, by_words};

/// Replaces the paths among arguments by their targets. Missing parts of a path stay as they are.
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

/// Returns the target of a path in the workspace. `None` if it is outside.
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

/// The target of a text, if a tool reads it as a path.
#[derive(Debug, PartialEq, Eq)]
enum Lead {
    /// Exactly what it names, or nothing.
    There,
    /// Through a link to this path.
    To(String),
    /// Out of the workspace through a link, or to another place than its text says: the kernel applies `..` to a link's
    /// target, but readers of the text apply it to the path.
    Astray,
}

impl Lead {
    fn new(fs: &dyn Fs, text: &str, root: &str) -> Lead {
        let Some(path) = relative(text, root) else { return Lead::of_outside(fs, text) };
        let real = real_path(fs, &path);
        if text.split('/').any(|name| name == "..") {
            let begin = [root.trim_end_matches('/'), WORKSPACE]
                .into_iter()
                .find_map(|start| text.strip_prefix(start).filter(|rest| rest.starts_with('/')));
            if real_path(fs, begin.map_or(text, |rest| rest.trim_start_matches('/'))) != real {
                return Lead::Astray;
            }
        }
        match real {
            Some(real) if real == path => Lead::There,
            Some(real) => Lead::To(real),
            None => Lead::Astray,
        }
    }

    /// A path outside of the workspace by its text.
    fn of_outside(fs: &dyn Fs, text: &str) -> Lead {
        if !text.starts_with('/') {
            return Lead::There;
        }
        match fs.resolve(text, None) {
            Ok(Location::Outside(real)) if real == by_words(Path::new(text)) => Lead::There,
            Ok(Location::Outside(real)) => real.into_os_string().into_string().map_or(Lead::Astray, Lead::To),
            Ok(Location::Inside(_)) | Err(_) => Lead::Astray,
        }
    }
}

/// Replaces each argument that leads through a link by its target, and each that leads out of the workspace by `null`.
/// Any text may be a path for the tool. A command keeps all its words, or becomes `null` if one of them leads astray.
pub fn followed(fs: &dyn Fs, tool: &str, args: &Json, root: &str) -> Json {
    let Json::Object(members) = args else { return args.clone() };
    let mut members = members.clone();
    if let Some(name) = command_argument(tool)
        && let Some(command) = members.get(name).and_then(Json::as_str)
    {
        let words = members.get("args").and_then(Json::as_array).into_iter().flatten();
        let line: Vec<&str> = std::iter::once(command).chain(words.filter_map(Json::as_str)).collect();
        let line = line.join(" ");
        let is_astray = |word: &str| Lead::new(fs, word.trim_matches(['"', '\'']), root) == Lead::Astray;
        let line = if line.split_whitespace().any(is_astray) { Json::Null } else { Json::from(line) };
        members.insert(name.to_owned(), line);
    }
    for (_, value) in members.iter_mut() {
        let Some(text) = value.as_str() else { continue };
        match Lead::new(fs, text, root) {
            Lead::There => {}
            Lead::To(real) => *value = Json::from(real),
            Lead::Astray => *value = Json::Null,
        }
    }
    Json::Object(members)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the files of a test are made directly")]
mod tests {
    use std::os::unix::fs::symlink;

    use brigade_access::builtin::COMMAND;
    use brigade_fs::DiskFs;

    use super::*;

    #[test]
    fn paths_lead_where_the_kernel_goes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("w");
        for name in ["docs/sub/deep", "other/x", "../far/in"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        for (link, to) in [("docs/out", "../other/x"), ("docs/far", "../../far/in"), ("docs/here", "sub")] {
            symlink(to, root.join(link)).unwrap();
        }
        symlink(root.join("docs"), root.join("../far/back")).unwrap();
        symlink("in", root.join("../far/link")).unwrap();
        let fs = DiskFs::open(&root).unwrap();
        let root = root.to_str().unwrap();
        let far = root.replace("/w", "/far");
        let to = |path: &str| Lead::To(path.to_owned());
        for (text, expect) in [
            ("docs/a", Lead::There),
            ("docs/sub/../a", Lead::There),
            ("docs/new/../a", Lead::There),
            ("any text: ../.. of it", Lead::There),
            ("docs/here/a", to("docs/sub/a")),
            ("docs/here/../a", Lead::There),
            ("docs/out/../secret", Lead::Astray),
            ("docs/sub/../out/..//secret", Lead::Astray),
            (&format!("{root}/docs/out/../secret"), Lead::Astray),
            ("docs/far/../x", Lead::Astray),
            ("docs/far/x", Lead::Astray),
            (&format!("{far}/x"), Lead::There),
            (&format!("{far}/link/x"), to(&format!("{far}/in/x"))),
            (&format!("{far}/back/x"), Lead::Astray),
        ] {
            assert_eq!(Lead::new(&fs, text, root), expect, "{text}");
        }
        let command =
            |line: &str| followed(&fs, COMMAND, &Json::object([("command", Json::from(line))]), root);
        assert_eq!(command("cat docs/here/a").get("command").and_then(Json::as_str), Some("cat docs/here/a"));
        assert_eq!(command("cat 'docs/far/x'").get("command"), Some(&Json::Null));
    }
}
