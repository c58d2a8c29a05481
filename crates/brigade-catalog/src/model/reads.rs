//! Resources and prompts of MCP servers.

/// What a call reads from an MCP server instead of calling one of its tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reads {
    /// A resource.
    Resource,
    /// A prompt.
    Prompt,
}

impl Reads {
    /// Both.
    pub const ALL: [Reads; 2] = [Reads::Prompt, Reads::Resource];

    /// Returns the id of the tool that reads it.
    pub const fn tool_id(self) -> &'static str {
        match self {
            Reads::Resource => "resource.read",
            Reads::Prompt => "prompt.get",
        }
    }

    /// Returns what the tool with this id reads. `None` for other tools.
    pub fn of_tool_id(id: &str) -> Option<Reads> {
        Reads::ALL.into_iter().find(|reads| reads.tool_id() == id)
    }

    /// Returns the method of the protocol that reads it.
    pub const fn method(self) -> &'static str {
        match self {
            Reads::Resource => "resources/read",
            Reads::Prompt => "prompts/get",
        }
    }

    /// Returns the argument that names the resource or prompt.
    pub const fn argument(self) -> &'static str {
        match self {
            Reads::Resource => "uri",
            Reads::Prompt => "name",
        }
    }

    /// Returns the member of the server's answer with the content.
    pub const fn result(self) -> &'static str {
        match self {
            Reads::Resource => "contents",
            Reads::Prompt => "messages",
        }
    }

    /// Returns the display name of the tool.
    pub const fn title(self) -> &'static str {
        match self {
            Reads::Resource => "Read a resource",
            Reads::Prompt => "Get a prompt",
        }
    }

    /// Returns what the tool does.
    pub const fn description(self) -> &'static str {
        match self {
            Reads::Resource => "Reads a resource of an MCP server by its URI. The result has its contents.",
            Reads::Prompt => {
                "Gets a prompt of an MCP server by its name, filled in with arguments. The result has its messages."
            }
        }
    }

    /// Returns the JSON Schema of the tool's arguments.
    pub const fn input_schema(self) -> &'static str {
        match self {
            Reads::Resource => include_str!("reads/resource.json"),
            Reads::Prompt => include_str!("reads/prompt.json"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_the_id_of_its_tool() {
        for reads in Reads::ALL {
            assert_eq!(Reads::of_tool_id(reads.tool_id()), Some(reads));
            assert!(reads.input_schema().contains(&format!("\"{}\"", reads.argument())));
        }
        assert_eq!(Reads::of_tool_id("fs.read"), None);
    }
}
