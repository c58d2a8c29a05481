//! TOML commands for Gemini CLI and older versions of Qwen Code.

use brigade_catalog::Tool;

use super::description;
use crate::front_matter::{self, Value};

/// Formats a text as the prompt of a TOML command.
///
/// Front matter of the source would become part of the prompt, so only its description is kept. `$ARGUMENTS` becomes
/// `{{args}}`, the name of these harnesses for the text after the command.
pub(super) fn command(tool: &Tool, text: &str) -> String {
    let own = front_matter::split(text).and_then(|front| front.get("description"));
    let about = match own {
        Some(Value::Text(text)) => text,
        Some(Value::Other) | None => description(tool),
    };
    let prompt = match front_matter::without(text).replace("$ARGUMENTS", "{{args}}") {
        // Harnesses ignore a command without a prompt, so the description is used.
        prompt if prompt.trim().is_empty() => format!("{}\n", about.trim()),
        prompt => prompt,
    };
    format!("description = {}\nprompt = {}\n", basic(&about), multi_line(&prompt))
}

fn basic(text: &str) -> String {
    format!("\"{}\"", escaped(text, AllowedControls::Nothing))
}

/// Formats a text over several lines: literally if possible, otherwise with escapes.
fn multi_line(text: &str) -> String {
    let plain = !text.contains("'''")
        && !text.ends_with('\'')
        && text.chars().all(|c| !needs_escape(c, AllowedControls::Lines));
    if plain {
        format!("'''\n{text}'''")
    } else {
        format!("\"\"\"\n{}\"\"\"", escaped(text, AllowedControls::Lines))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowedControls {
    Nothing,
    Lines,
}

fn needs_escape(c: char, keep: AllowedControls) -> bool {
    match c {
        '\n' => keep == AllowedControls::Nothing,
        '\t' => false,
        c => c.is_control(),
    }
}

fn escaped(text: &str, keep: AllowedControls) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if needs_escape(c, keep) => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use brigade_catalog::Family;
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (String, String) {
        let table: toml::Table = text.parse().expect("valid TOML");
        let value = |key: &str| table[key].as_str().unwrap().to_owned();
        (value("description"), value("prompt"))
    }

    #[test]
    fn a_command_becomes_a_prompt() {
        let mut tool = Tool::new("review", Family::SlashCommand).unwrap();
        tool.description = Some("Reviews a change.".to_owned());
        let text = command(&tool, "---\nallowed-tools: Read\n---\nReview $ARGUMENTS.\n");
        assert_eq!(text, "description = \"Reviews a change.\"\nprompt = '''\nReview {{args}}.\n'''\n");
        let text = command(&tool, "---\ndescription: Own words\n---\nReview.\n");
        assert_eq!(read(&text), ("Own words".to_owned(), "Review.\n".to_owned()));
        // A source with only front matter has no prompt.
        let text = command(&tool, "---\ndescription: Own words\n---\n\n");
        assert_eq!(read(&text), ("Own words".to_owned(), "Own words\n".to_owned()));
    }

    proptest! {
        #[test]
        fn any_text_survives(text in any::<String>(), about in any::<String>()) {
            let text = crate::text::line_feeds(&text).into_owned();
            let mut tool = Tool::new("a", Family::SlashCommand).unwrap();
            tool.description = Some(about);
            let prompt = front_matter::without(&text).replace("$ARGUMENTS", "{{args}}");
            let (about, read) = read(&command(&tool, &text));
            let prompt = if prompt.trim().is_empty() { format!("{}\n", about.trim()) } else { prompt };
            prop_assert_eq!(read, prompt);
        }
    }
}
