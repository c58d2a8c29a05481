//! The keywords that an entry may use.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// An unknown keyword. Does not contain the keyword itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected one of {expected}")]
pub struct UnknownName {
    /// The known keywords, separated by commas.
    pub expected: &'static str,
}

/// Defines an enum of keywords, listing each keyword once.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $expected:literal, { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// All variants, in the documented order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// All keywords, separated by commas, for messages.
            pub const EXPECTED: &'static str = $expected;

            /// Returns the keyword used in files and reports.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            fn from_str(word: &str) -> Result<Self, UnknownName> {
                match word {
                    $($word => Ok($name::$variant),)+
                    _ => Err(UnknownName { expected: Self::EXPECTED }),
                }
            }
        }
    };
}

words! {
    /// The kind of tool.
    Family, "skill, slash-command, superpower, mcp, openapi, graphql, script, custom", {
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
    }
}

words! {
    /// When a user must approve a call.
    ApprovalMode, "never, on-request, always", {
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
    RiskClass, "read, local-write, network, privileged", {
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
    ToolSource, "script, cli, mcp, skill, harness", {
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
    Availability, "always, installed, conditional", {
        /// There is nothing to install.
        Always = "always",
        /// It should be installed.
        Installed = "installed",
        /// It may be missing.
        Conditional = "conditional",
    }
}

words! {
    /// How an MCP server is reached.
    Transport, "stdio, http, sse", {
        /// Through the input and output of a local process.
        Stdio = "stdio",
        /// Through HTTP.
        Http = "http",
        /// Through HTTP with a stream of events.
        Sse = "sse",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_reads_back() {
        for family in Family::ALL {
            assert_eq!(family.as_str().parse(), Ok(*family));
        }
        for mode in ApprovalMode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(*mode));
        }
        for class in RiskClass::ALL {
            assert_eq!(class.as_str().parse(), Ok(*class));
        }
    }

    #[test]
    fn the_expected_list_names_all_words() {
        let words: Vec<_> = Family::ALL.iter().map(|family| family.as_str()).collect();
        assert_eq!(words.join(", "), Family::EXPECTED);
        let words: Vec<_> = ApprovalMode::ALL.iter().map(|mode| mode.as_str()).collect();
        assert_eq!(words.join(", "), ApprovalMode::EXPECTED);
        let words: Vec<_> = RiskClass::ALL.iter().map(|class| class.as_str()).collect();
        assert_eq!(words.join(", "), RiskClass::EXPECTED);
        let words: Vec<_> = ToolSource::ALL.iter().map(|word| word.as_str()).collect();
        assert_eq!(words.join(", "), ToolSource::EXPECTED);
        let words: Vec<_> = Availability::ALL.iter().map(|word| word.as_str()).collect();
        assert_eq!(words.join(", "), Availability::EXPECTED);
        let words: Vec<_> = Transport::ALL.iter().map(|word| word.as_str()).collect();
        assert_eq!(words.join(", "), Transport::EXPECTED);
    }

    #[test]
    fn words_are_exact() {
        assert_eq!("Script".parse::<Family>(), Err(UnknownName { expected: Family::EXPECTED }));
        assert!("".parse::<ApprovalMode>().is_err());
    }
}
