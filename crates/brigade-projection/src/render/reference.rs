//! Renders pages about tools that are called instead of read: scripts, MCP tools and others.
//!
//! A page names the tool and explains how to request a call. It contains nothing specific to a harness, so all
//! harnesses share it. Secrets in commands and sources are masked, because every agent may read the page.

use brigade_catalog::{Family, Tool};
use brigade_redact::Redactor;

use crate::facts::SourceText;
use crate::text::one_line;

/// The command that requests a call, before the id of the tool.
///
/// It is part of the file format: a page is current only if its bytes equal what would be written. So it must not
/// depend on the interface in use.
const QUEUE: &str = include_str!("reference/queue.txt");

/// The maximum number of source lines on a page.
const MAX_LINES: usize = 400;

/// The maximum number of source bytes on a page.
const MAX_BYTES: usize = 32 * 1024;

/// Renders the page about a local program.
pub(super) fn script(tool: &Tool, source: &SourceText) -> String {
    let mut page = Page::new(tool);
    page.item("Tool", Some(tool.id.as_str()));
    page.item("Family", Some(Family::Script.as_str()));
    page.item("Source", tool.source_path.as_deref());
    page.item("Command", tool.command.as_deref().map(brigade_redact::shown_command).as_deref());
    page.description(tool);
    page.how_to_call(tool);
    page.source(tool, source);
    page.text
}

/// Renders the page about a tool of an MCP server, without the server's configuration.
pub(super) fn mcp(tool: &Tool) -> String {
    let mut page = Page::new(tool);
    page.item("Tool", Some(tool.id.as_str()));
    page.item("Family", Some(Family::Mcp.as_str()));
    page.item("MCP server", tool.mcp_server_id.as_deref());
    page.item("MCP tool", tool.mcp_tool_name.as_deref());
    page.item("Source", tool.source_path.as_deref());
    page.paragraph("This page only describes the tool. Servers are configured in the harness itself.");
    page.description(tool);
    page.how_to_call(tool);
    page.text
}

/// Renders the page about a tool of any other family.
pub(super) fn other(tool: &Tool, family: Family, source: &SourceText) -> String {
    let mut page = Page::new(tool);
    page.item("Tool", Some(tool.id.as_str()));
    page.item("Family", Some(family.as_str()));
    page.item("Source", tool.source_path.as_deref());
    page.description(tool);
    page.source(tool, source);
    page.text
}

struct Page {
    text: String,
}

impl Page {
    fn new(tool: &Tool) -> Page {
        let title = one_line(if tool.name.is_empty() { tool.id.as_str() } else { &tool.name });
        let mut text = String::with_capacity(1024);
        text.extend(["# ", &title, "\n\nBrigade keeps this page up to date; change its source instead.\n\n"]);
        Page { text }
    }

    fn item(&mut self, label: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.text.extend(["- ", label, ": ", &code(value), "\n"]);
        }
    }

    fn paragraph(&mut self, text: &str) {
        self.text.extend(["\n", text, "\n"]);
    }

    fn description(&mut self, tool: &Tool) {
        let text = one_line(tool.description.as_deref().unwrap_or(""));
        if !text.is_empty() {
            self.paragraph(&text);
        }
    }

    fn how_to_call(&mut self, tool: &Tool) {
        let command = code(&format!("{QUEUE} {}", shell_word(tool.id.as_str())));
        self.paragraph(&format!("Ask for a call with {command}. It runs once a person has approved it."));
    }

    fn source(&mut self, tool: &Tool, source: &SourceText) {
        let text = source.text().trim_end();
        if text.is_empty() {
            return;
        }
        let (shown, left) = excerpt(text);
        let shown = redacted(shown);
        let fence = "`".repeat(longest_run(&shown).max(2) + 1);
        self.text.extend(["\n## Source\n\n", &fence, "text\n", &shown, "\n", &fence, "\n"]);
        if 0 < left {
            let path = tool.source_path.as_deref().map_or_else(|| "the source".to_owned(), code);
            self.paragraph(&format!("{left} more lines stand in {path}."));
        }
    }
}

fn redacted(text: &str) -> String {
    Redactor::new(&[]).redact_str(text)
}

/// Returns the beginning of a text and the number of omitted lines.
fn excerpt(text: &str) -> (&str, usize) {
    if text.len() <= MAX_BYTES && text.bytes().filter(|byte| *byte == b'\n').count() < MAX_LINES {
        return (text, 0);
    }
    let mut end = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let next = end + line.len();
        if MAX_LINES <= index || MAX_BYTES < next {
            return (text[..end].trim_end(), text[end..].lines().count());
        }
        end = next;
    }
    (text, 0)
}

/// Formats a text as inline code on one line, with enough backticks.
fn code(text: &str) -> String {
    let text = one_line(text);
    match longest_run(&text) {
        0 => ["`", &text, "`"].concat(),
        run => {
            let fence = "`".repeat(run + 1);
            [fence.as_str(), " ", &text, " ", &fence].concat()
        }
    }
}

fn longest_run(text: &str) -> usize {
    if !text.contains('`') {
        return 0;
    }
    text.as_bytes().split(|byte| *byte != b'`').map(<[u8]>::len).max().unwrap_or(0)
}

/// Quotes a word for a POSIX shell if necessary.
fn shell_word(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@+%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(family: Family) -> Tool {
        let mut tool = Tool::new("count", family).unwrap();
        tool.name = "Count words".to_owned();
        tool.description = Some("Counts\n words.".to_owned());
        tool.source_path = Some("tools/count.md".to_owned());
        tool.command = Some("python3 bin/count.py".to_owned());
        tool
    }

    #[test]
    fn a_script_is_described_with_its_command_and_source() {
        let text = script(&tool(Family::Script), &SourceText::new("Use `wc`.\n\n"));
        let expect = "# Count words\n\nBrigade keeps this page up to date; change its source instead.\n\n\
            - Tool: `count`\n- Family: `script`\n- Source: `tools/count.md`\n- Command: `python3 bin/count.py`\n\n\
            Counts words.\n\n\
            Ask for a call with `brigade tools call queue count`. It runs once a person has approved it.\n\n\
            ## Source\n\n```text\nUse `wc`.\n```\n";
        assert_eq!(text, expect);
    }

    #[test]
    fn no_server_configuration_is_in_an_mcp_page() {
        let mut tool = tool(Family::Mcp);
        tool.mcp_server_id = Some("local".to_owned());
        let text = mcp(&tool);
        assert!(text.contains("- MCP server: `local`\n"), "{text}");
        assert!(!text.contains("python3"), "{text}");
    }

    #[test]
    fn a_source_cannot_close_its_fence() {
        let text = other(&tool(Family::Custom), Family::Custom, &SourceText::new("````\nx\n````"));
        assert!(text.contains("\n`````text\n````\nx\n````\n`````\n"), "{text}");
        assert!(!other(&tool(Family::Custom), Family::Custom, &SourceText::new(" \n")).contains("## Source"));
    }

    #[test]
    fn secrets_are_redacted() {
        let mut tool = tool(Family::Script);
        tool.command = Some("deploy --password hunter2EXAMPLE".to_owned());
        let text =
            script(&tool, &SourceText::new("api_key = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\"\n"));
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("api_key = \"[redacted]\""), "{text}");
    }

    #[test]
    fn a_long_source_is_cut() {
        let source = SourceText::new(&"line\n".repeat(1000));
        let text = script(&tool(Family::Script), &source);
        assert!(text.ends_with("\n600 more lines stand in `tools/count.md`.\n"), "{text}");
        let whole = SourceText::new(&"line\n".repeat(MAX_LINES));
        assert!(!script(&tool(Family::Script), &whole).contains("more lines"));
        let source = SourceText::new(&"x".repeat(1_000_000));
        assert!(script(&tool(Family::Script), &source).len() < 40_000);
    }

    #[test]
    fn values_stay_in_their_line_and_quotes() {
        let mut tool = tool(Family::Script);
        tool.command = Some("echo `date`\n- Command: `rm`".to_owned());
        let text = script(&tool, &SourceText::new(""));
        assert!(text.contains("- Command: `` echo `date` - Command: `rm` ``\n"), "{text}");
    }
}
