//! Templates: `{{…}}` in strings of a workflow. A template is data and is never run as a command.

use super::expression::{self, Expression};

/// How deep blocks may nest.
const MAX_DEPTH: usize = 16;

/// A text with placeholders for values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text(String),
    Value(Expression),
    /// The first arm whose condition holds, otherwise the last parts.
    If(Vec<(Expression, Vec<Part>)>, Vec<Part>),
    /// The parts once per element, or the last parts for an empty list.
    Each(Expression, Vec<Part>, Vec<Part>),
    /// The parts with the value as `this`, or the last parts if it has no value.
    With(Expression, Vec<Part>, Vec<Part>),
}

brigade_core::words! {
    /// A kind of block. Each block ends with `{{/NAME}}`.
    BlockKind {
        /// Once per element.
        Each = "each",
        /// If a value is true.
        If = "if",
        /// If a value is false.
        Unless = "unless",
        /// With a value as `this`.
        With = "with",
    }
}

/// A block that is still open.
struct OpenBlock {
    kind: BlockKind,
    arms: Vec<(Expression, Vec<Part>)>,
    otherwise: Option<Vec<Part>>,
}

impl OpenBlock {
    fn parts(&mut self) -> &mut Vec<Part> {
        match &mut self.otherwise {
            Some(parts) => parts,
            None => &mut self.arms.last_mut().expect("a block begins with an arm").1,
        }
    }

    fn close(mut self) -> Part {
        let otherwise = self.otherwise.unwrap_or_default();
        match self.kind {
            BlockKind::If | BlockKind::Unless => Part::If(self.arms, otherwise),
            BlockKind::Each | BlockKind::With => {
                let (value, parts) = self.arms.pop().expect("a block begins with an arm");
                match self.kind {
                    BlockKind::Each => Part::Each(value, parts, otherwise),
                    _ => Part::With(value, parts, otherwise),
                }
            }
        }
    }
}

struct Parser<'p> {
    whole: Vec<Part>,
    open: Vec<OpenBlock>,
    is_state: &'p dyn Fn(&str) -> bool,
    faults: Vec<String>,
}

impl Parser<'_> {
    fn push(&mut self, part: Part) {
        match self.open.last_mut() {
            Some(open) => open.parts().push(part),
            None => self.whole.push(part),
        }
    }

    fn expression(&mut self, text: &str) -> Expression {
        let nothing = Expression::Constant(brigade_core::Json::Null);
        expression::parse(text, self.is_state, &mut self.faults).unwrap_or(nothing)
    }

    fn tag(&mut self, inside: &str) {
        if let Some(block) = inside.strip_prefix('#') {
            let (name, rest) = block.split_once(char::is_whitespace).unwrap_or((block, ""));
            let value = self.expression(rest);
            let Some(kind) = BlockKind::from_word(name) else {
                let message = format!("unknown block; the blocks are {}", BlockKind::EXPECTED);
                self.faults.push(message);
                return;
            };
            if self.open.len() == MAX_DEPTH {
                self.faults.push(format!("blocks nest deeper than {MAX_DEPTH}"));
                return;
            }
            let value = match kind {
                BlockKind::Unless => Expression::Not(Box::new(value)),
                BlockKind::Each | BlockKind::If | BlockKind::With => value,
            };
            self.open.push(OpenBlock { kind, arms: vec![(value, Vec::new())], otherwise: None });
        } else if let Some(name) = inside.strip_prefix('/') {
            match (self.open.pop(), BlockKind::from_word(name.trim())) {
                (Some(open), Some(kind)) if open.kind == kind => {
                    let part = open.close();
                    self.push(part);
                }
                _ => self.faults.push("a block is closed but not open".to_owned()),
            }
        } else if inside == "else" || inside.starts_with("else ") {
            let value = inside["else".len()..].trim();
            let value = value.strip_prefix("if ").map(str::trim).or((!value.is_empty()).then_some(value));
            let value = value.map(|value| self.expression(value));
            match (self.open.last_mut(), value) {
                (None, _) => self.faults.push("`else` is outside of a block".to_owned()),
                (Some(open), _) if open.otherwise.is_some() => {
                    self.faults.push("a block has extra text after its `else`".to_owned());
                }
                (Some(open), None) => open.otherwise = Some(Vec::new()),
                (Some(open), Some(value)) if matches!(open.kind, BlockKind::If | BlockKind::Unless) => {
                    open.arms.push((value, Vec::new()));
                }
                (Some(_), Some(_)) => self.faults.push("only `if` and `unless` have an `else if`".to_owned()),
            }
        } else if inside.is_empty() {
            self.faults.push("a `{{}}` is empty".to_owned());
        } else if !inside.starts_with('!') {
            let value = self.expression(inside);
            self.push(Part::Value(value));
        }
    }
}

impl Template {
    /// Reads a template and lists its faults. Faults name unknown names but do not quote the text.
    pub(super) fn read(text: &str, is_state: &dyn Fn(&str) -> bool) -> (Template, Vec<String>) {
        let mut parser = Parser { whole: Vec::new(), open: Vec::new(), is_state, faults: Vec::new() };
        let mut left = text;
        while let Some(at) = left.find("{{") {
            if 0 < at {
                parser.push(Part::Text(left[..at].to_owned()));
            }
            let rest = &left[at + 2..];
            let Some(end) = rest.find("}}") else {
                parser.faults.push("a `{{` is not closed".to_owned());
                return (Template::default(), parser.faults);
            };
            parser.tag(rest[..end].trim());
            left = &rest[end + 2..];
        }
        if !left.is_empty() {
            parser.push(Part::Text(left.to_owned()));
        }
        let Parser { whole, open, mut faults, .. } = parser;
        faults.extend(open.iter().map(|open| format!("the block `{}` is not closed", open.kind.as_str())));
        (Template { parts: whole }, faults)
    }

    /// Reads a template that has no faults. If it has faults, the invalid parts are left out.
    pub fn from_valid(text: &str) -> Template {
        Template::read(text, &|_| true).0
    }

    /// Returns whether the template begins with literal text, so that no value decides its first character.
    pub fn begins_with_text(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Text(text)) if !text.is_empty())
    }

    /// Returns whether the template has no placeholders.
    pub fn is_plain(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }
}

/// Reads a condition: an expression, or a template whose text is then read as true or false.
pub(super) fn condition_faults(text: &str, is_state: &dyn Fn(&str) -> bool) -> Vec<String> {
    if text.contains("{{") {
        return Template::read(text, is_state).1;
    }
    let mut faults = Vec::new();
    expression::parse(text, is_state, &mut faults);
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let found = Template::read(text, &|_| false).1;
        assert_eq!(found.len(), expect.len(), "{text}: {found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.contains(expect), "{text}: {found}");
        }
    }

    #[test]
    fn templates_use_known_names_and_close_their_blocks() {
        check("plain $(rm -rf /) { } text", &[]);
        check("{{workflow.task}} {{ blackboard.n + 1 }} {{length input.files}} {{! a note }}", &[]);
        check("{{#if blackboard.n}}a{{else if input.x == 'y'}}b{{else}}c{{/if}}", &[]);
        check("{{#each input.files}}{{this.name}}{{/each}}", &[]);
        check("{{blackboard.n < workflow.context.max && !human.feedback}}", &[]);
        check("{{(blackboard.a[0]['x'] + 1) * -2 >= 3 || lower(intent) != \"no\"}}", &["unknown operator"]);
        check("{{(blackboard.a[0][x] + 1) * -2 >= 3 || lower(intent) != \"no\"}}", &[]);
        check("{{NOWHERE.output}}", &["`NOWHERE` is not a state"]);
        check("{{workflow.task", &["not closed"]);
        check("{{#if input.x}}a", &["the block `if` is not closed"]);
        check("{{/if}}", &["not open"]);
        check("{{#if input.x}}{{/each}}", &["not open"]);
        check("{{#include input.x}}", &["unknown block"]);
        check("{{else}}", &["outside of a block"]);
        check("{{#each input}}{{else if input.x}}{{/each}}", &["`else if`"]);
        check("{{#if input.x}}{{else}}{{else}}{{/if}}", &["after its `else`"]);
        check("{{}}", &["empty"]);
        check("{{input.x; rm}}", &["unknown operator"]);
        check("{{input.x &}}", &["unknown operator"]);
        check("{{input.x +}}", &["lacks a value"]);
        check("{{input.x input.y}}", &["after its end"]);
        check("{{(input.x}}", &["`(`"]);
        check("{{length}}", &["needs a value after it"]);
        check("{{1.2.3}}", &["invalid number"]);
        check("{{input..x}}", &["empty"]);
        check("{{'x}}", &["string in an expression"]);
        check(&"{{#if input.x}}".repeat(16), &["is not closed"; 16]);
        assert!(Template::read(&"{{#if input.x}}".repeat(2_000), &|_| false).1.len() < 2_001);
        check(&format!("{{{{{}1{}}}}}", "(".repeat(40), ")".repeat(40)), &["nests deeper"]);
    }
}
