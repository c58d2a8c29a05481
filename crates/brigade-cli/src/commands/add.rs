//! `brigade add`

use std::path::Path;

use brigade::daily::SetupChoice;
use brigade::report::SetupLevel;
use brigade::tools::RegisterSource;
use brigade::{Error, Exit};
use clap::Args;

use super::setup::{StepArgs, propose};
use crate::output::Output;
use crate::session::Session;

/// Put a server behind the gateway, or tools of a file in the catalog
///
/// SERVER is the name or id of a server that `brigade discover` lists. A FILE is what `brigade tools register` takes,
/// and a URL is that of a remote server. The server starts in the sandbox to list its tools. Then the tools with their
/// effects and every change of a file are shown, and nothing is written before the last yes.
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// A server of an agent program, a file with tools, or the URL of a remote server
    #[arg(value_name = "SERVER|FILE|URL")]
    source: String,

    /// Another id for the only server
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    #[command(flatten)]
    step: StepArgs,
}

pub(crate) fn run(
    session: &Session<'_>,
    arguments: &AddArgs,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let asking = arguments.step.asking(session, output)?;
    let workspace = session.workspace_to_run()?;
    let source = arguments.source.trim();
    let (mut servers, mut sources) = (Vec::new(), Vec::new());
    if is_url(source) {
        let id = arguments.id.clone().unwrap_or_else(|| id_of_url(source));
        sources.push((source.to_owned(), RegisterSource::Text("the URL".to_owned(), remote(&id, source))));
    } else if is_file(source) {
        let path = session.absolute(Path::new(source))?;
        sources.push((source.to_owned(), RegisterSource::File(path)));
    } else if ["skill:", "harness:"].iter().any(|kind| source.starts_with(kind)) {
        sources.push((source.to_owned(), RegisterSource::Reference(source.to_owned())));
    } else {
        servers.push(source.to_owned());
    }
    let (id, reads) = (arguments.id.clone(), arguments.step.reads());
    let choice = SetupChoice { servers, sources, id, reads, ..SetupChoice::default() };
    propose(&workspace.onboarding(SetupLevel::Project), &choice, &arguments.step, asking, output)
}

fn is_url(source: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| source.starts_with(scheme))
}

/// Returns whether a source looks like the path of a file. Ids of servers have no slash before an `@`.
fn is_file(source: &str) -> bool {
    let name = source.split('@').next().unwrap_or_default();
    let is_path = !source.starts_with("mcp:") && name.contains('/');
    is_path || [".json", ".toml", ".yaml", ".yml"].iter().any(|ending| source.ends_with(ending))
}

/// Returns the tool of a remote server, as a file would have it.
fn remote(id: &str, url: &str) -> String {
    serde_json::json!({ "tools": [{ "id": id, "source": { "type": "mcp", "url": url } }] }).to_string()
}

/// Returns an id for a remote server: the first name of its host that says something.
fn id_of_url(url: &str) -> String {
    let host =
        url.split("://").nth(1).unwrap_or_default().split(['/', ':', '?', '#']).next().unwrap_or_default();
    let usual = ["mcp", "api", "www"];
    let name = host.split('.').find(|name| !name.is_empty() && !usual.contains(name)).unwrap_or("remote");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart() {
        for (source, expect) in [
            ("git", (false, false)),
            ("mcp:git@claude/user", (false, false)),
            ("git@claude/user", (false, false)),
            ("server.json", (false, true)),
            ("./tools/a", (false, true)),
            ("https://mcp.example.com/mcp", (true, true)),
        ] {
            assert_eq!((is_url(source), is_file(source)), expect, "{source}");
        }
        for (url, expect) in [
            ("https://mcp.linear.app/sse", "linear"),
            ("http://127.0.0.1:8000/x", "127"),
            ("https://mcp", "remote"),
        ] {
            assert_eq!(id_of_url(url), expect);
        }
    }
}
