//! What a built-in tool needs of the host.

use brigade_core::words;

words! {
    /// Something that must be there for a tool.
    Fact {
        /// The tool is in this build of Brigade.
        Built = "built",
        /// The workspace is a git repository.
        Repository = "git.repository",
        /// The program git.
        Git = "git.program",
        /// A provider for searching the web.
        SearchProvider = "search.provider",
        /// Hosts that may be fetched from.
        WebDomains = "web.domains",
        /// A forge: the one of this workspace, which is rows about lanes, or the one that the program of the policy
        /// reaches.
        Forge = "forge",
        /// A program that captures the screen.
        Screenshot = "cap.screenshot",
        /// A worker program.
        Worker = "worker.cli",
        /// The agent has a core memory.
        Identity = "agent.identity",
        /// A known web framework.
        WebFramework = "web.framework",
        /// An adapter for an issue tracker.
        Issues = "issues.adapter",
        /// Test suites in the catalog.
        TestSuites = "test.suites",
        /// Lanes or volumes to call tools for.
        Fleet = "fleet.targets",
        /// A gateway session.
        Session = "session",
    }
}

impl Fact {
    /// Returns what would make it hold.
    pub fn remedy(self) -> &'static str {
        match self {
            Fact::Built => "use a build of Brigade that has it",
            Fact::Repository => {
                "make the workspace a git repository: `git init`; `git.*` work on clones of `git.clone`, too"
            }
            Fact::Git => "install git, and add its folder to PATH",
            Fact::SearchProvider => {
                "name a provider as `search` under `[web]` in .brigade/tools/gateway.toml"
            }
            Fact::WebDomains => "list hosts as `domains` under `[web]` in .brigade/tools/policy.toml",
            Fact::Forge => {
                "make the workspace a git repository: `git init`; if `forge` under `[programs]` in .brigade/tools/policy.toml \
                 names `gh`, that must be on PATH, and its checks are run by the forge itself"
            }
            Fact::Screenshot => {
                "name a capture program as `capture` under `[programs]` in .brigade/tools/policy.toml, or keep a file with \
                 `proof.attach`"
            }
            Fact::Worker => "name a worker as `[[worker]]` in .brigade/tools/gateway.toml",
            Fact::Identity => "set `identity = true` in the agent's entry of .brigade/tools/gateway.toml",
            Fact::WebFramework => {
                "name a web framework in the dependencies of package.json, at the root of the workspace"
            }
            Fact::Issues => "name an adapter as `command` under `[issues]` in .brigade/tools/gateway.toml",
            Fact::TestSuites => "give catalog entries the category `test`",
            Fact::Fleet => "create lanes or volumes",
            Fact::Session => "call it in a session of the gateway",
        }
    }
}
