//! Reads the configuration files.

use std::borrow::Cow;
use std::sync::Arc;

pub use crate::errors_of;
use crate::{
    CATALOG, Config, Host, RUNTIMES, masks, read_catalog, read_policy, read_runtimes, unreadable, with_levels,
};
use brigade_access::{builtin, is_taken};
use brigade_catalog::{Catalog, Masks, Reads, Runtimes, Tool};
use brigade_core::NextStep;
use brigade_policy::{Diagnosis, ErrorLine, Failure, PolicyState};
use brigade_redact::Redactor;

use crate::context::WorkspaceContext;

/// Reads the catalog of the workspace, its tools registries, and the tools of the user. A missing or unreadable file
/// gives an empty catalog with an issue. An unreadable file might hide tools of the user, so then no tools of the user
/// are used.
pub fn catalog(context: &WorkspaceContext) -> Result<Catalog, Failure> {
    Ok(catalog_from(context, context.host())?.masked_by(&masks_of(context)))
}

/// Returns the masks for bound values in texts that are shown or stored.
pub fn masks_of(context: &WorkspaceContext) -> Masks {
    masks(&context.environment, &policy(context))
}

/// Like [`catalog`], with the files of this host.
pub fn catalog_from(context: &WorkspaceContext, host: Host<'_>) -> Result<Catalog, Failure> {
    let project = match read_catalog(host.fs) {
        Ok(catalog) => Ok(catalog),
        Err(error) => {
            let is_missing = error.is_not_found();
            let issue = unreadable(CATALOG, error, context.spelled(NextStep::Init))?;
            let catalog = Catalog::new(Vec::new(), vec![issue]);
            if !is_missing {
                return Ok(catalog);
            }
            Err(catalog)
        }
    };
    let catalog = with_levels(&host, project);
    // Most workspaces have no remote server, so the file is not read.
    Ok(match catalog.names_servers() {
        true => catalog.connect(&read_runtimes(&host).unwrap_or_default()),
        false => catalog,
    })
}

/// Reads the runtimes. A missing or unreadable file gives no runtimes and an issue.
pub fn runtimes(context: &WorkspaceContext) -> Result<Runtimes, Failure> {
    runtimes_from(context, context.host())
}

/// Like [`runtimes`], for a process that makes many calls: reads again only if one of the files changed.
pub fn known_runtimes(context: &WorkspaceContext) -> Result<Arc<Runtimes>, Failure> {
    match &context.memory {
        Some(memory) => memory.runtimes(context.host(), |host| runtimes_from(context, host)),
        None => runtimes(context).map(Arc::new),
    }
}

fn runtimes_from(context: &WorkspaceContext, host: Host<'_>) -> Result<Runtimes, Failure> {
    read_runtimes(&host).or_else(|error| {
        let issue = unreadable(RUNTIMES, error, context.spelled(NextStep::InitRuntimes))?;
        Ok(Runtimes::new(Vec::new(), vec![issue]))
    })
}

/// Returns the code and help of the first error, and the places of all. `None` without errors.
pub fn diagnosis(context: &WorkspaceContext, errors: &[ErrorLine]) -> Option<Diagnosis> {
    let first = errors.first()?.fault();
    let sources = context.sources();
    let label = |error: &ErrorLine| {
        let mut fault = error.fault().clone();
        sources.look_up(&mut fault);
        fault.label()
    };
    Some(Diagnosis {
        code: first.code.clone().into_owned(),
        labels: errors.iter().filter_map(label).collect(),
        help: first.help.clone().map(|help| context.spelled(help).to_string()),
    })
}

/// Reads the policy. An unreadable policy blocks everything.
pub fn policy(context: &WorkspaceContext) -> PolicyState {
    read_policy(&*context.fs, &context.trust)
}

/// Returns the enabled tools of a catalog.
pub fn enabled(catalog: &Catalog) -> Vec<&Tool> {
    catalog.tools().iter().filter(|tool| tool.enabled).collect()
}

/// Finds a tool to show, which may be disabled: a built-in tool by its id, or a catalog tool by its id, an alias or
/// `<source>:<id>`.
pub fn any_tool<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Tool, Failure> {
    match named(catalog, name) {
        Some(tool) => Ok(tool),
        None => named_tool(catalog, name),
    }
}

/// Returns the tool of a typed name, which may be disabled. Built-in tools have precedence over aliases of the catalog.
pub fn named<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Tool> {
    builtin::entry(name.trim()).or_else(|| catalog.named(name, is_taken))
}

/// Finds tools as [`any_tool`] does, each once.
pub fn any_tools<'c>(catalog: &'c Catalog, names: &[String]) -> Result<Vec<&'c Tool>, Failure> {
    let mut tools = names.iter().map(|name| any_tool(catalog, name)).collect::<Result<Vec<_>, Failure>>()?;
    let mut seen = std::collections::HashSet::new();
    tools.retain(|tool| seen.insert(tool.id.as_str()));
    Ok(tools)
}

/// Finds an enabled tool by a typed name: its id, an alias or `<source>:<id>`.
pub fn named_tool<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Tool, Failure> {
    if let Some(tool) = builtin::entry(name.trim()) {
        return Ok(tool);
    }
    Ok(catalog.find_named(name, is_taken)?)
}

/// Finds a tool for explaining decisions: a catalog tool, or the reader of all resources or prompts that gateway.toml
/// offers.
pub fn explained<'c>(
    context: &WorkspaceContext,
    config: &'c Config,
    name: &str,
    find: for<'t> fn(&'t Catalog, &str) -> Result<&'t Tool, Failure>,
) -> Result<Cow<'c, Tool>, Failure> {
    match Reads::of_tool_id(name.trim()) {
        Some(reads) => Ok(Cow::Owned(config.reader(&context.host(), reads)?)),
        None => find(&config.catalog, name).map(|tool| Cow::Borrowed(config.under_policy(tool))),
    }
}

/// Finds an enabled tool by the id in a record.
pub fn tool<'c>(catalog: &'c Catalog, id: &str) -> Result<&'c Tool, Failure> {
    Ok(catalog.find(id)?)
}

/// Returns the id for a tool name in a filter. Unknown names stay, because records hold ids of removed tools, too.
pub fn id_of(context: &WorkspaceContext, name: &str) -> Result<String, Failure> {
    Ok(named(&catalog(context)?, name).map_or(name, |tool| tool.id.as_str()).to_owned())
}

/// Returns an unknown typed id for display. It may be a secret that was typed by mistake.
pub fn shown_id(id: &str) -> String {
    brigade_core::text::escape_terminal(&Redactor::new(&[]).redact_str(id)).into_owned()
}

#[cfg(test)]
mod tests {
    use brigade_access::CONTROL_TOOLS;
    use brigade_catalog::{Family, Level};

    use super::*;
    use crate::testing::{Bench, entry};

    #[test]
    fn aliases_never_replace_names_of_built_in_tools() {
        let rows = builtin::definitions().iter();
        let own = rows.flat_map(|row| row.aliases.iter().map(|alias| alias.name).chain([row.id]));
        let own: Vec<&str> =
            own.chain(CONTROL_TOOLS.iter().copied()).chain(Reads::ALL.map(Reads::tool_id)).collect();
        assert!(100 < own.len());
        for name in own {
            for owners in [&["my-tool"][..], &["my-tool", "other"]] {
                let entry = |id: &&str| {
                    format!(
                        "[[tool]]\nid = '{id}'\nname = 'x'\nfamily = 'script'\naliases = ['fine', '{name}']\n"
                    )
                };
                let text: String = owners.iter().map(entry).collect();
                let catalog = Catalog::parse("t", Level::Project, text.as_bytes());
                let own = builtin::entry(name).map(|tool| tool.id.as_str());
                for typed in [name.to_owned(), format!(" {name} ")] {
                    assert_eq!(named(&catalog, &typed).map(|tool| tool.id.as_str()), own, "{name}");
                    assert_eq!(any_tool(&catalog, &typed).ok().map(|tool| tool.id.as_str()), own, "{name}");
                    let tool = named_tool(&catalog, &typed).ok();
                    assert!(tool.is_none_or(|tool| tool.family == Some(Family::Builtin)), "{name}");
                }
                let fine = named(&catalog, "fine").map(|tool| tool.id.as_str());
                assert_eq!(fine, (owners.len() == 1).then_some("my-tool"));
            }
        }
    }

    #[test]
    fn without_a_catalog_the_issue_says_how_to_make_one() {
        let bench = Bench::new(&[]);
        let read = catalog(&bench.context).unwrap();
        let issue = &read.issues()[0];
        assert_eq!((&*issue.message, issue.place.file.as_str()), ("the file does not exist", CATALOG));
        assert!(issue.hint.is_some() && read.tools().is_empty());
        bench.folder(CATALOG);
        let read = catalog(&bench.context).unwrap();
        let issue = &read.issues()[0];
        assert_eq!((&*issue.message, issue.hint.is_some()), ("it is not a file", false));
    }

    #[test]
    fn an_unreadable_catalog_hides_the_tools_of_the_user() {
        let user = entry("mine", "command = 'x'");
        let bench = Bench::new(&[("home/.config/brigade/tools.toml", &user)]).with_home();
        let ids = || -> Vec<String> {
            catalog(&bench.context).unwrap().tools().iter().map(|tool| tool.id.to_string()).collect()
        };
        assert_eq!(ids(), ["mine"]);
        bench.folder(CATALOG);
        assert!(ids().is_empty());
    }

    #[test]
    fn missing_runtimes_are_an_issue_with_a_next_step() {
        let bench = Bench::new(&[]);
        let read = runtimes(&bench.context).unwrap();
        assert_eq!((read.runtimes().len(), read.issues().len()), (0, 1));
        assert!(read.issues()[0].hint.is_some());
        bench.write(RUNTIMES, "[[runtime]]\nid = 'db'\nname = 'db'\ncommand = 'sleep 9'\n");
        let read = known_runtimes(&bench.context).unwrap();
        assert_eq!((read.runtimes().len(), read.issues().len()), (1, 0));
    }

    #[test]
    fn the_first_error_gives_the_code_and_all_their_places() {
        let bench = Bench::new(&[(CATALOG, &(entry("a", "command = 7") + &entry("b", "command = 8")))]);
        assert_eq!(diagnosis(&bench.context, &[]), None);
        let errors = errors_of(&catalog(&bench.context).unwrap());
        let told = diagnosis(&bench.context, &errors).unwrap();
        assert_eq!((told.labels.len(), &*told.code), (errors.len(), &*errors[0].fault().code));
        assert_eq!(told.labels[0].line, Some(5));
    }

    #[test]
    fn a_name_finds_built_in_tools_then_ids_and_aliases() {
        let text = entry("deploy", "command = 'x'\naliases = ['ship']\nenabled = false");
        let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
        let any = |name: &str| any_tool(&catalog, name).ok().map(|tool| tool.id.to_string());
        let enabled = |name: &str| named_tool(&catalog, name).ok().map(|tool| tool.id.to_string());
        for (name, expect) in [
            ("deploy", Some("deploy")),
            (" ship ", Some("deploy")),
            ("fs.read", Some("fs.read")),
            ("gone", None),
        ] {
            assert_eq!(any(name).as_deref(), expect, "{name}");
            let is_on = expect.filter(|id| *id != "deploy");
            assert_eq!(enabled(name).as_deref(), is_on, "{name}");
        }
        assert!(super::enabled(&catalog).is_empty());
    }

    #[test]
    fn each_tool_is_found_once_and_an_unknown_name_finds_none() {
        let text = entry("deploy", "command = 'x'\naliases = ['ship']");
        let catalog = Catalog::parse(CATALOG, Level::Project, text.as_bytes());
        let all = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            any_tools(&catalog, &names).ok().map(|tools| tools.len())
        };
        assert_eq!(all(&["deploy", "ship", "fs.read", "deploy"]), Some(2));
        assert_eq!((all(&[]), all(&["deploy", "gone"])), (Some(0), None));
    }

    #[test]
    fn a_filter_keeps_the_names_of_removed_tools() {
        let bench = Bench::new(&[(CATALOG, &entry("deploy", "command = 'x'\naliases = ['ship']"))]);
        for (name, expect) in [("ship", "deploy"), ("deploy", "deploy"), ("removed", "removed")] {
            assert_eq!(id_of(&bench.context, name).unwrap(), expect);
        }
    }

    #[test]
    fn an_unknown_id_is_shown_without_secrets_and_escapes() {
        assert_eq!(shown_id("deploy"), "deploy");
        assert!(!shown_id("\u{1b}[2Jdeploy").contains('\u{1b}'));
        let token = format!("ghp_{}", "a1B2".repeat(9));
        assert!(!shown_id(&token).contains(&token));
    }

    #[test]
    fn lists_have_only_the_built_in_tools_with_a_row() {
        let bench = Bench::new(&[(CATALOG, "")]);
        let built: Vec<&str> = bench.config().own_tools().iter().map(|tool| tool.id.as_str()).collect();
        assert!(built.contains(&"fs.read") && !built.contains(&"resource.read"));
    }

    #[test]
    fn a_reader_is_explained_only_if_something_is_offered() {
        let bench = Bench::new(&[(CATALOG, &entry("deploy", "command = 'x'"))]);
        let config = bench.config();
        let explain = |name: &str| {
            explained(&bench.context, &config, name, any_tool).map(|tool| tool.id.to_string()).ok()
        };
        assert_eq!(explain("deploy").as_deref(), Some("deploy"));
        assert_eq!(explain("fs.read").as_deref(), Some("fs.read"));
        assert_eq!((explain("resource.read"), explain("gone")), (None, None));
    }
}
