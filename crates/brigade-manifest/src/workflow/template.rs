//! Templates: `{{…}}` in texts of a workflow. They are data; nothing in them is run as a command.

use std::collections::BTreeMap;

use super::State;

/// What an expression may begin with, besides the name of a state.
const ROOTS: &[&str] = &["blackboard", "execution", "human", "input", "intent", "state", "this", "workflow"];

/// Functions and constants.
const WORDS: &[&str] = &["false", "json", "length", "lower", "null", "trim", "true", "upper"];

/// Blocks, which end with `{{/NAME}}`.
const BLOCKS: &[&str] = &["each", "if", "unless", "with"];

/// Returns what is wrong with a template. Its text is not quoted, but names that nothing has are.
pub(super) fn faults(text: &str, states: &BTreeMap<String, State>) -> Vec<String> {
    let (mut found, mut open, mut left) = (Vec::new(), Vec::new(), text);
    while let Some(at) = left.find("{{") {
        let rest = &left[at + 2..];
        let Some(end) = rest.find("}}") else {
            found.push("a `{{` is not closed".to_owned());
            return found;
        };
        tag(rest[..end].trim(), states, &mut open, &mut found);
        left = &rest[end + 2..];
    }
    found.extend(open.iter().map(|name| format!("the block `{name}` is not closed")));
    found
}

fn tag(
    inside: &str,
    states: &BTreeMap<String, State>,
    open: &mut Vec<&'static str>,
    found: &mut Vec<String>,
) {
    let known = |name: &str| BLOCKS.iter().copied().find(|block| *block == name);
    if let Some(block) = inside.strip_prefix('#') {
        let (name, rest) = block.split_once(char::is_whitespace).unwrap_or((block, ""));
        match known(name) {
            Some(name) => open.push(name),
            None => found.push(format!("there is no such block; the blocks are {}", BLOCKS.join(", "))),
        }
        expression(rest, states, found);
    } else if let Some(name) = inside.strip_prefix('/') {
        if known(name.trim()).is_none() || open.pop() != known(name.trim()) {
            found.push("a block is closed that is not open".to_owned());
        }
    } else if inside == "else" || inside.starts_with("else ") {
        if open.is_empty() {
            found.push("`else` stands in no block".to_owned());
        }
        expression(inside["else".len()..].trim().trim_start_matches("if "), states, found);
    } else if inside.is_empty() {
        found.push("a `{{}}` is empty".to_owned());
    } else if !inside.starts_with('!') {
        expression(inside, states, found);
    }
}

/// Checks an expression: names, numbers, texts in quotes, and operators.
pub(super) fn expression(text: &str, states: &BTreeMap<String, State>, found: &mut Vec<String>) {
    let mut left = text.trim_start();
    while let Some(first) = left.chars().next() {
        let end = match first {
            '"' | '\'' => match left[1..].find(first) {
                Some(end) => end + 2,
                None => {
                    found.push("a text in an expression is not closed".to_owned());
                    return;
                }
            },
            _ if is_name(first) => left.find(|c| !is_name(c) && !".[]-".contains(c)).unwrap_or(left.len()),
            '<' | '>' | '=' | '!' | '&' | '|' | '(' | ')' | '+' | '-' | '*' | '/' | '%' => 1,
            _ => {
                found.push("an expression has a character that is no operator".to_owned());
                return;
            }
        };
        let word = &left[..end];
        if is_name(first) && !first.is_ascii_digit() {
            let root = word.split(['.', '[']).next().unwrap_or_default();
            if !ROOTS.contains(&root) && !WORDS.contains(&root) && !states.contains_key(root) {
                let root: String = root.chars().take(64).collect();
                found.push(format!("`{root}` is neither a state nor one of {}", ROOTS.join(", ")));
            }
        }
        left = left[end..].trim_start();
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let found = faults(text, &BTreeMap::new());
        assert_eq!(found.len(), expect.len(), "{text}: {found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.contains(expect), "{text}: {found}");
        }
    }

    #[test]
    fn templates_name_what_is_there_and_close_what_they_open() {
        check("plain $(rm -rf /) { } text", &[]);
        check("{{workflow.task}} {{ blackboard.n + 1 }} {{length input.files}} {{! a note }}", &[]);
        check("{{#if blackboard.n}}a{{else if input.x == 'y'}}b{{else}}c{{/if}}", &[]);
        check("{{#each input.files}}{{this.name}}{{/each}}", &[]);
        check("{{blackboard.n < workflow.context.max && !human.feedback}}", &[]);
        check("{{NOWHERE.output}}", &["`NOWHERE` is neither"]);
        check("{{workflow.task", &["not closed"]);
        check("{{#if input.x}}a", &["the block `if` is not closed"]);
        check("{{/if}}", &["not open"]);
        check("{{#if input.x}}{{/each}}", &["not open"]);
        check("{{#include input.x}}", &["no such block"]);
        check("{{else}}", &["no block"]);
        check("{{}}", &["empty"]);
        check("{{input.x; rm}}", &["no operator"]);
        check("{{'x}}", &["text in an expression"]);
        check(&"{{#if input.x}}".repeat(2_000), &["is not closed"; 2_000]);
    }
}
