//! Resources and prompts of MCP servers that gateway.toml offers to agents.

use brigade_catalog::{Catalog, Family, Reads, Tool};
use brigade_core::{Glob, Json, Place};

use crate::gateway::{GatewayConfig, Upstream};

/// The longest URI or name that is offered, in bytes.
const MAX_URI_BYTES: usize = 2048;

/// Resources or prompts of one MCP server, and the entry of the tool that reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// The server.
    pub server: String,
    /// The entry: it starts the server like the server's tools, and has the effects from gateway.toml.
    pub entry: Tool,
    /// What is read.
    pub reads: Reads,
    /// The place in gateway.toml.
    pub place: Place,
    /// Patterns for the URIs or names.
    patterns: Vec<Glob>,
}

impl Offer {
    /// Returns all offers of gateway.toml, in file order. A server needs an enabled tool in the catalog: the first one
    /// says how the server is started.
    pub fn all(catalog: &Catalog, gateway: &GatewayConfig) -> Vec<Offer> {
        let offers_of = |upstream: &Upstream| -> Vec<Offer> {
            let is_its = |tool: &&Tool| {
                tool.enabled
                    && !tool.is_broken
                    && tool.family == Some(Family::Mcp)
                    && tool.mcp_server() == Some(upstream.id.as_str())
            };
            let Some(tool) = catalog.tools().iter().find(is_its) else { return Vec::new() };
            let offer = |reads, patterns: &Vec<Glob>| Offer {
                server: upstream.id.clone(),
                entry: tool.reading(reads, upstream.effects.clone()),
                reads,
                place: upstream.place.clone(),
                patterns: patterns.clone(),
            };
            let both = [(Reads::Resource, &upstream.resources), (Reads::Prompt, &upstream.prompts)];
            both.into_iter()
                .filter(|(_, patterns)| !patterns.is_empty())
                .map(|(reads, patterns)| offer(reads, patterns))
                .collect()
        };
        gateway.upstreams.iter().flat_map(offers_of).collect()
    }

    /// Returns the patterns for URIs or names, as written in the file.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(Glob::as_str)
    }

    /// Returns the URIs or names that the patterns write out, without a wildcard.
    pub fn exact_names(&self) -> impl Iterator<Item = &str> {
        self.patterns().filter(|pattern| !pattern.contains(['*', '?', '[', '{', '\\']))
    }

    /// Returns whether two offers are equal except for their places.
    pub fn is_same(&self, other: &Offer) -> bool {
        let start = |offer: &Offer| {
            let Tool { command, cwd, env_labels, effects, .. } = &offer.entry;
            (command.clone(), cwd.clone(), env_labels.clone(), effects.clone())
        };
        self.server == other.server
            && self.reads == other.reads
            && self.patterns == other.patterns
            && start(self) == start(other)
    }

    /// Returns whether the URI or name is offered: a pattern matches it, and it has no hidden parts.
    ///
    /// URIs with `.` or `..` segments, even encoded ones, are refused, because they may lead outside of the pattern.
    /// Brigade's own URIs are refused, too.
    pub fn includes(&self, name: &str) -> bool {
        is_plain(name)
            && (self.reads == Reads::Prompt || is_straight(name))
            && self.patterns.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns whether a call with these arguments reads something that is offered.
    pub fn covers(&self, args: &Json) -> bool {
        let text = |name: &str| args.get(name).and_then(Json::as_str);
        text("server") == Some(&self.server)
            && text(self.reads.argument()).is_some_and(|name| self.includes(name))
    }
}

/// Returns whether a name is short and without spaces and invisible characters. So sentences are not names.
fn is_plain(name: &str) -> bool {
    (1..=MAX_URI_BYTES).contains(&name.len()) && !name.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Returns whether a URI has no `.` or `..` segments and is not one of Brigade's.
fn is_straight(uri: &str) -> bool {
    let decoded = uri.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "\\");
    let leads = |part: &str| matches!(part, "." | "..");
    !decoded.starts_with("brigade:") && !decoded.split(['/', '\\', '?', '#']).any(leads)
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Level;

    use super::*;
    use crate::profiles::Profiles;

    const CATALOG: &str = "[[tool]]\nid = 'list'\nname = 'List'\nfamily = 'mcp'\ncommand = 'serve'\n\
        mcp_server_id = 'files'\nmcp_tool_name = 'list'\ntimeout = 5\neffects = ['local-write']\n";

    fn offers(upstream: &str) -> Vec<Offer> {
        let catalog = Catalog::parse("tools.toml", Level::Project, CATALOG.as_bytes());
        let text = format!("[[upstream]]\n{upstream}effects = ['local-read']\n");
        let gateway = GatewayConfig::parse("gateway.toml", Some(text.as_bytes()), Profiles::shipped());
        Offer::all(&catalog, &gateway.unwrap())
    }

    #[test]
    fn offers_start_their_server_with_their_effects() {
        let all = offers("id = 'files'\nresources = ['file:///docs/**']\nprompts = ['review-*']\n");
        let ids: Vec<_> = all.iter().map(|offer| offer.entry.id.as_str()).collect();
        assert_eq!(ids, ["resource.read", "prompt.get"]);
        for offer in &all {
            assert_eq!((offer.server.as_str(), offer.entry.command.as_deref()), ("files", Some("serve")));
            assert_eq!(offer.entry.effects, ["local-read"]);
        }
        assert!(offers("id = 'other'\nprompts = ['*']\n").is_empty());
        assert!(offers("id = 'files'\n").is_empty());
    }

    #[track_caller]
    fn check(pattern: &str, uri: &str, expect: bool) {
        let offer = offers(&format!("id = 'files'\nresources = ['{pattern}']\n")).remove(0);
        assert_eq!(offer.includes(uri), expect, "{pattern} {uri}");
    }

    #[test]
    fn only_what_a_pattern_really_matches_is_offered() {
        check("file:///docs/**", "file:///docs/a/b.md", true);
        check("file:///docs/**", "file:///docs/{name}", true);
        check("file:///docs/*", "file:///docs/a/b.md", false);
        check("file:///docs/**", "file:///etc/passwd", false);
        check("file:///docs/**", "file:///docs/../etc/passwd", false);
        check("file:///docs/**", "file:///docs/%2E%2e/etc/passwd", false);
        check("file:///docs/**", "file:///docs/..%2fetc/passwd", false);
        check("file:///docs/**", "file:///docs/..\\\\etc", false);
        check("file:///docs/**", "file:///docs/a b", false);
        check("file:///docs/**", "file:///docs/a\nb", false);
        check("**", "brigade://tool/x", false);
        check("**", "BRIGADE://tool/x", false);
        check("**", "", false);
    }

    #[test]
    fn a_sentence_is_no_name_of_a_prompt() {
        let offer = offers("id = 'files'\nprompts = ['review-*']\n").remove(0);
        assert!(offer.includes("review-code"));
        assert!(!offer.includes("review-code and then obey"));
        let args = |text: &str| Json::parse(text).unwrap();
        assert!(offer.covers(&args(r#"{"server": "files", "name": "review-code"}"#)));
        assert!(!offer.covers(&args(r#"{"server": "other", "name": "review-code"}"#)));
        assert!(!offer.covers(&args(r#"{"server": "files", "uri": "review-code"}"#)));
    }
}
