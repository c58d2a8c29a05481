//! Values of expressions and templates. Every expression has a value: missing names and unsuitable operands give
//! `null`. The work and the length of the text are bounded.

use std::cmp::Ordering;

use brigade_core::{Json, Object};

use super::expression::{Expression, Function, Operator, Step};
use super::template::{Part, Template};

/// The maximum length of a rendered template, in bytes.
pub const MAX_RENDERED: usize = 256 << 10;

/// The maximum number of parts that are written.
const MAX_PARTS: usize = 20_000;

/// The value of a template is too long or takes too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateTooLong;

impl std::fmt::Display for TemplateTooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a template renders to more than {} KiB, or more than {MAX_PARTS} parts",
            MAX_RENDERED >> 10
        )
    }
}

/// The names that expressions can use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// The names, such as `input`, and their values.
    pub names: Object,
}

/// Writes a number, without a fraction if it is whole.
pub(super) fn number(value: f64) -> Json {
    #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^53 fit")]
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        return Json::from(value as i64);
    }
    if value.is_finite() { Json::from(value) } else { Json::Null }
}

/// Returns whether a value counts as true.
pub(super) fn holds(value: &Json) -> bool {
    match value {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(number) => number.as_f64() != 0.0 && !number.as_f64().is_nan(),
        Json::String(text) => !text.is_empty(),
        Json::Array(elements) => !elements.is_empty(),
        Json::Object(_) => true,
    }
}

/// Returns a value as text.
pub(super) fn text_of(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_compact(),
    }
}

fn equal(left: &Json, right: &Json) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

fn compare(left: &Json, right: &Json) -> Option<Ordering> {
    match (left, right) {
        (Json::String(left), Json::String(right)) => Some(left.cmp(right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Evaluates expressions in a scope. Blocks add values of `this`.
struct Evaluator<'s> {
    scope: &'s Scope,
    these: Vec<Json>,
    parts: usize,
    out: String,
}

impl Evaluator<'_> {
    fn path(&self, steps: &[Step]) -> Json {
        let (Some(Step::Member(root)), rest) = (steps.first(), steps.get(1..).unwrap_or_default()) else {
            return Json::Null;
        };
        let start = match root.as_str() {
            "this" => self.these.last(),
            root => self.scope.names.get(root),
        };
        let mut value = start;
        for step in rest {
            value = match (step, value) {
                (Step::Member(name), Some(value)) => value.get(name),
                (Step::Element(index), Some(value)) => {
                    value.as_array().and_then(|elements| elements.get(*index))
                }
                (_, None) => None,
            };
        }
        value.cloned().unwrap_or_default()
    }

    fn value(&self, expression: &Expression) -> Json {
        match expression {
            Expression::Constant(value) => value.clone(),
            Expression::Path(steps) => self.path(steps),
            Expression::Not(inner) => Json::from(!holds(&self.value(inner))),
            Expression::Negative(inner) => {
                self.value(inner).as_f64().map_or(Json::Null, |value| number(-value))
            }
            Expression::Apply(function, inner) => apply(*function, &self.value(inner)),
            Expression::Both(operator, left, right) => self.both(*operator, left, right),
        }
    }

    fn both(&self, operator: Operator, left: &Expression, right: &Expression) -> Json {
        let left = self.value(left);
        match operator {
            Operator::Or if holds(&left) => return left,
            Operator::And if !holds(&left) => return left,
            _ => {}
        }
        let right = self.value(right);
        let ordered = |fits: fn(Ordering) -> bool| Json::from(compare(&left, &right).is_some_and(fits));
        let of_numbers = |make: fn(f64, f64) -> f64| match (left.as_f64(), right.as_f64()) {
            (Some(left), Some(right)) => number(make(left, right)),
            _ => Json::Null,
        };
        match operator {
            Operator::Or | Operator::And => right,
            Operator::Equal => Json::from(equal(&left, &right)),
            Operator::Unequal => Json::from(!equal(&left, &right)),
            Operator::Less => ordered(Ordering::is_lt),
            Operator::AtMost => ordered(Ordering::is_le),
            Operator::More => ordered(Ordering::is_gt),
            Operator::AtLeast => ordered(Ordering::is_ge),
            Operator::Plus if left.as_str().is_some() || right.as_str().is_some() => {
                let mut text = text_of(&left);
                text.push_str(&text_of(&right));
                text.truncate(text.floor_char_boundary(MAX_RENDERED));
                Json::from(text)
            }
            Operator::Plus => of_numbers(|left, right| left + right),
            Operator::Minus => of_numbers(|left, right| left - right),
            Operator::Times => of_numbers(|left, right| left * right),
            Operator::Over => of_numbers(|left, right| left / right),
            Operator::Rest => of_numbers(|left, right| left % right),
        }
    }

    fn write(&mut self, parts: &[Part]) -> Result<(), TemplateTooLong> {
        for part in parts {
            self.parts += 1;
            if MAX_PARTS < self.parts {
                return Err(TemplateTooLong);
            }
            match part {
                Part::Text(text) => self.out.push_str(text),
                Part::Value(expression) => {
                    let value = self.value(expression);
                    self.out.push_str(&text_of(&value));
                }
                Part::If(arms, otherwise) => {
                    let arm = arms.iter().find(|(expression, _)| holds(&self.value(expression)));
                    self.write(arm.map_or(otherwise, |(_, parts)| parts))?;
                }
                Part::Each(expression, parts, otherwise) => match self.value(expression) {
                    Json::Array(elements) if !elements.is_empty() => {
                        for element in elements {
                            self.these.push(element);
                            self.write(parts)?;
                            self.these.pop();
                        }
                    }
                    _ => self.write(otherwise)?,
                },
                Part::With(expression, parts, otherwise) => {
                    let value = self.value(expression);
                    if !holds(&value) {
                        self.write(otherwise)?;
                        continue;
                    }
                    self.these.push(value);
                    self.write(parts)?;
                    self.these.pop();
                }
            }
            if MAX_RENDERED < self.out.len() {
                return Err(TemplateTooLong);
            }
        }
        Ok(())
    }
}

fn apply(function: Function, value: &Json) -> Json {
    match function {
        Function::Json => Json::from(value.to_compact()),
        Function::Length => match value {
            Json::String(text) => Json::from(text.chars().count()),
            Json::Array(elements) => Json::from(elements.len()),
            Json::Object(members) => Json::from(members.len()),
            Json::Null | Json::Bool(_) | Json::Number(_) => Json::from(0),
        },
        Function::Lower => Json::from(text_of(value).to_lowercase()),
        Function::Trim => Json::from(text_of(value).trim()),
        Function::Upper => Json::from(text_of(value).to_uppercase()),
    }
}

impl Scope {
    fn evaluator(&self) -> Evaluator<'_> {
        Evaluator { scope: self, these: Vec::new(), parts: 0, out: String::new() }
    }

    /// Returns the text of a template.
    ///
    /// # Errors
    /// Fails if the text is too long.
    pub fn render(&self, template: &Template) -> Result<String, TemplateTooLong> {
        let mut evaluator = self.evaluator();
        evaluator.write(&template.parts)?;
        Ok(evaluator.out)
    }

    /// Returns a value with all its strings rendered. A string that is a single `{{…}}` keeps the type of its value.
    ///
    /// # Errors
    /// Fails if a text is too long.
    pub fn fill(&self, value: &Json) -> Result<Json, TemplateTooLong> {
        Ok(match value {
            Json::String(text) => {
                let template = Template::from_valid(text);
                match template.parts.as_slice() {
                    [Part::Value(expression)] => self.evaluator().value(expression),
                    _ => Json::from(self.render(&template)?),
                }
            }
            Json::Array(elements) => {
                let filled = elements.iter().map(|element| self.fill(element));
                Json::Array(filled.collect::<Result<_, _>>()?)
            }
            Json::Object(members) => {
                let filled = members.iter().map(|(name, value)| Ok((name.clone(), self.fill(value)?)));
                Json::Object(filled.collect::<Result<_, _>>()?)
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
        })
    }

    /// Returns whether a condition holds. A template holds unless its text is blank, `false`, `0` or `null`. A
    /// condition that is invalid or too long does not hold.
    pub fn holds(&self, condition: &str) -> bool {
        if condition.contains("{{") {
            let rendered = self.render(&Template::from_valid(condition)).unwrap_or_default();
            return !matches!(rendered.trim(), "" | "false" | "0" | "null");
        }
        let read = super::expression::parse(condition, &|_| true, &mut Vec::new());
        read.is_some_and(|expression| holds(&self.evaluator().value(&expression)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scope() -> Scope {
        let json = r#"{"input": {"n": 2, "name": "O'Neil; rm -rf /", "list": [{"a": 1}, {"a": 2}], "none": []},
            "blackboard": {"done": false, "half": 0.5}, "intent": " Greet ", "CHECK": {"output": {"stderr": "bad"}}}"#;
        Scope { names: Json::parse(json).unwrap().as_object().unwrap().clone() }
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(scope().render(&Template::from_valid(text)).as_deref(), Ok(expect), "{text}");
    }

    #[test]
    fn templates_are_filled_with_data() {
        check("{{input.name}}", "O'Neil; rm -rf /");
        check("{{CHECK.output.stderr}}/{{NOWHERE.x}}/{{input.list[1].a}}", "bad//2");
        check("{{input.n + 1}} {{input.n * 2 - 1}} {{7 / 2}} {{7 % 4}} {{1 / 0}}", "3 3 3.5 3 ");
        check("{{1 + 2 * 3}} {{(1 + 2) * 3}} {{-input.n + 1}} {{'a' + 1}}", "7 9 -1 a1");
        check(
            "{{trim intent}}|{{upper('x')}}|{{length input.list}}|{{json input.list[0]}}",
            "Greet|X|2|{\"a\":1}",
        );
        check("{{#if input.n == 2}}two{{else}}other{{/if}}", "two");
        check("{{#if blackboard.done}}a{{else if input.n > 5}}b{{else}}c{{/if}}", "c");
        check("{{#unless blackboard.done}}open{{/unless}}", "open");
        check(
            "{{#each input.list}}<{{this.a}}>{{/each}}{{#each input.none}}x{{else}}none{{/each}}",
            "<1><2>none",
        );
        check("{{#with input.list[0]}}{{this.a}}{{/with}}", "1");
        // The contents of a value are not evaluated again.
        let scope = Scope { names: [("intent".to_owned(), Json::from("{{input.n}}"))].into() };
        assert_eq!(scope.render(&Template::from_valid("{{intent}}")).as_deref(), Ok("{{input.n}}"));
    }

    #[test]
    fn conditions_hold_or_do_not() {
        for (condition, expect) in [
            ("input.n == 2 && !blackboard.done", true),
            ("input.n < 2 || input.n != 2", false),
            ("input.name > 'A'", true),
            ("input.n > 'A'", false),
            ("NOWHERE.x", false),
            ("{{input.n == 2}}", true),
            ("{{blackboard.done}}", false),
            ("{{input.n}} of 3", true),
            ("input.n ==", false),
        ] {
            assert_eq!(scope().holds(condition), expect, "{condition}");
        }
    }

    #[test]
    fn values_keep_their_kind() {
        let value = Json::parse(r#"{"a": "{{input.n}}", "b": ["{{input.n}}!"], "c": 3}"#).unwrap();
        let expect = Json::parse(r#"{"a": 2, "b": ["2!"], "c": 3}"#).unwrap();
        assert_eq!(scope().fill(&value), Ok(expect));
    }

    #[test]
    fn a_template_that_multiplies_is_cut_off() {
        let names = [("input".to_owned(), Json::from(vec![Json::from(1); 200]))].into();
        let scope = Scope { names };
        let each = "{{#each input}}".repeat(3) + "x" + &"{{/each}}".repeat(3);
        assert_eq!(scope.render(&Template::from_valid(&each)), Err(TemplateTooLong));
    }

    proptest! {
        /// Any text can be read and evaluated without a panic, and the result is bounded.
        #[test]
        fn any_text_has_a_value(text in "[a-z{}#/ !|&<>=+*%().\\[\\]'\"0-9-]{0,60}") {
            let scope = scope();
            if let Ok(rendered) = scope.render(&Template::from_valid(&text)) {
                prop_assert!(rendered.len() <= MAX_RENDERED);
            }
            scope.holds(&text);
        }
    }
}
