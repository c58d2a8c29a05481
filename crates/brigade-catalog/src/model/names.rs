//! The keywords that an entry may use.

use brigade_core::{open_words, words};

words! {
    /// The kind of tool.
    Family {
        /// Instructions that an agent loads on demand.
        Skill = "skill",
        /// A command that a user types in a harness.
        SlashCommand = "slash-command",
        /// Instructions that change how an agent works.
        Superpower = "superpower",
        /// A tool of a local MCP server.
        Mcp = "mcp",
        /// An operation of an HTTP service with an OpenAPI description.
        Openapi = "openapi",
        /// An operation of a GraphQL service.
        Graphql = "graphql",
        /// A local program.
        Script = "script",
        /// Anything else that has a command.
        Custom = "custom",
        /// A tool that is part of Brigade. No entry of a file has this family.
        Builtin = "builtin",
    }
}

impl Family {
    /// The families that entries of files may have.
    pub fn of_entries() -> impl Iterator<Item = Family> {
        Family::ALL.iter().copied().filter(|family| *family != Family::Builtin)
    }

    /// Returns whether calls of the family can run: scripts, MCP tools and tools of Brigade.
    pub fn is_executable(self) -> bool {
        matches!(self, Family::Script | Family::Mcp | Family::Builtin)
    }
}

words! {
    /// How an MCP server is reached.
    ServerTransport {
        /// Over the standard streams of a local process.
        Stdio = "stdio",
        /// Over HTTP.
        Http = "http",
        /// Over HTTP with server-sent events.
        Sse = "sse",
    }
}

open_words! {
    /// What a call does. Risk and sandbox follow from it. Entries and policies may name others.
    Effect {
        /// It reads the workspace.
        LocalRead = "local-read",
        /// It writes in the workspace.
        LocalWrite = "local-write",
        /// It deletes files.
        LocalDelete = "local-delete",
        /// It changes the repository.
        GitWrite = "git-write",
        /// It changes its own session.
        Session = "session",
        /// It changes records of Brigade.
        StateWrite = "state-write",
        /// It changes memories.
        MemoryWrite = "memory-write",
        /// It uses the network.
        Network = "network",
        /// It reads from other machines.
        RemoteRead = "remote-read",
        /// It changes something on other machines.
        RemoteMutation = "remote-mutation",
        /// It starts programs.
        ProcessExec = "process-exec",
        /// It ends programs or signals them.
        ProcessControl = "process-control",
        /// It installs programs.
        Install = "install",
        /// It reads secrets.
        SecretRead = "secret-read",
    }
}

impl Effect {
    /// Returns the words that this version knows, in the documented order.
    pub fn known() -> impl Iterator<Item = &'static str> {
        Effect::ALL.iter().map(Effect::as_str)
    }

    /// Returns whether this version knows the word.
    pub fn is_known(word: &str) -> bool {
        Effect::known().any(|known| known == word)
    }
}

words! {
    /// When a user must approve a call.
    ApprovalMode {
        /// The tool does not ask for approval.
        Never = "never",
        /// A user approves if the caller asks for it.
        OnRequest = "on-request",
        /// A user approves every call.
        Always = "always",
    }
}

words! {
    /// How much a tool can do, according to its author.
    RiskClass {
        /// Only reads.
        Read = "read",
        /// Changes local files.
        LocalWrite = "local-write",
        /// Uses the network.
        Network = "network",
        /// Needs more than ordinary user rights.
        Privileged = "privileged",
    }
}

words! {
    /// Where a tool comes from.
    ToolSource {
        /// A program of the workspace.
        Script = "script",
        /// A program on `PATH`.
        Cli = "cli",
        /// A tool of an MCP server.
        Mcp = "mcp",
        /// Instructions for an agent.
        Skill = "skill",
        /// A tool that only its harness can run.
        Harness = "harness",
    }
}

words! {
    /// Whether a tool is expected to be there, according to its author.
    Availability {
        /// There is nothing to install.
        Always = "always",
        /// It should be installed.
        Installed = "installed",
        /// It may be missing.
        Conditional = "conditional",
    }
}
