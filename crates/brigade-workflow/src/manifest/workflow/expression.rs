//! Expressions: names, numbers, quoted strings and operators. The language is closed: only the functions in this file
//! can be called, and every expression has a value.

use brigade_core::{Json, words};

/// Names that may begin an expression. Names of states may, too.
pub(super) const ROOTS: &[&str] =
    &["blackboard", "execution", "human", "input", "intent", "state", "this", "workflow"];

/// How deep parentheses and functions may nest.
const MAX_DEPTH: usize = 32;

words! {
    /// The functions of the language.
    Function {
        /// The value as JSON.
        Json = "json",
        /// The number of characters, elements or members.
        Length = "length",
        /// The text in lower case.
        Lower = "lower",
        /// The text without surrounding whitespace.
        Trim = "trim",
        /// The text in upper case.
        Upper = "upper",
    }
}

words! {
    /// Binary operators.
    Operator {
        /// True if either operand is true.
        Or = "||",
        /// True if both operands are true.
        And = "&&",
        /// True if the operands are equal.
        Equal = "==",
        /// True if the operands differ.
        Unequal = "!=",
        /// True if the first operand is less.
        Less = "<",
        /// True if the first operand is less or equal.
        AtMost = "<=",
        /// True if the first operand is greater.
        More = ">",
        /// True if the first operand is greater or equal.
        AtLeast = ">=",
        /// The sum of numbers, or the concatenation of texts.
        Plus = "+",
        /// The difference.
        Minus = "-",
        /// The product.
        Times = "*",
        /// The quotient.
        Over = "/",
        /// The remainder of a division.
        Rest = "%",
    }
}

impl Operator {
    /// Returns the precedence.
    fn strength(self) -> u8 {
        match self {
            Operator::Or => 1,
            Operator::And => 2,
            Operator::Equal
            | Operator::Unequal
            | Operator::Less
            | Operator::AtMost
            | Operator::More
            | Operator::AtLeast => 3,
            Operator::Plus | Operator::Minus => 4,
            Operator::Times | Operator::Over | Operator::Rest => 5,
        }
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Element(usize),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Constant(Json),
    Path(Vec<Step>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Apply(Function, Box<Expression>),
    Both(Operator, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Number(f64),
    Word(String),
    Operator(Operator),
    Not,
    Open,
    Close,
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut found = Vec::new();
    let mut left = text.trim_start();
    while let Some(first) = left.chars().next() {
        let pair = left.get(..2).and_then(Operator::from_word);
        let (token, end) = match first {
            '"' | '\'' => {
                let end = left[1..].find(first).ok_or("a string in an expression is not closed")?;
                (Token::Text(left[1..=end].to_owned()), end + 2)
            }
            _ if is_name(first) => {
                let end = left.find(|c: char| !is_name(c) && !".[]-".contains(c)).unwrap_or(left.len());
                let word = &left[..end];
                if first.is_ascii_digit() {
                    let end = left.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(left.len());
                    let number = left[..end].parse().map_err(|_| "an expression has an invalid number")?;
                    (Token::Number(number), end)
                } else {
                    (Token::Word(word.to_owned()), end)
                }
            }
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            _ => match (pair, left.get(..1).and_then(Operator::from_word)) {
                (Some(operator), _) => (Token::Operator(operator), 2),
                (None, Some(operator)) => (Token::Operator(operator), 1),
                (None, None) if first == '!' => (Token::Not, 1),
                (None, None) => {
                    return Err("an expression has an unknown operator".to_owned());
                }
            },
        };
        found.push(token);
        left = left[end..].trim_start();
    }
    Ok(found)
}

/// Reads the steps of a path, such as `a.b[0].c`.
fn path(word: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for part in word.split('.') {
        let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        match name {
            "" if rest.is_empty() || steps.is_empty() => {
                return Err("a name in an expression is empty".to_owned());
            }
            "" => {}
            name => steps.push(Step::Member(name.to_owned())),
        }
        while let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').ok_or("a `[` in an expression is not closed")?;
            steps.push(match index.parse() {
                Ok(index) => Step::Element(index),
                Err(_) if !index.is_empty() => Step::Member(index.to_owned()),
                Err(_) => return Err("a `[` in an expression is empty".to_owned()),
            });
            rest = after;
        }
        if !rest.is_empty() {
            return Err("a name in an expression has an extra `]`".to_owned());
        }
    }
    Ok(steps)
}

struct Parser<'p> {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    is_state: &'p dyn Fn(&str) -> bool,
    faults: &'p mut Vec<String>,
    depth: usize,
}

impl Parser<'_> {
    fn word(&mut self, word: &str) -> Result<Expression, String> {
        let steps = path(word)?;
        let root = match steps.first() {
            Some(Step::Member(root)) => root.as_str(),
            Some(Step::Element(_)) | None => return Err("a name in an expression is empty".to_owned()),
        };
        if steps.len() == 1 {
            match root {
                "true" => return Ok(Expression::Constant(Json::from(true))),
                "false" => return Ok(Expression::Constant(Json::from(false))),
                "null" => return Ok(Expression::Constant(Json::Null)),
                _ => {}
            }
            if let Some(function) = Function::from_word(root) {
                if !matches!(
                    self.tokens.peek(),
                    Some(Token::Text(_) | Token::Number(_) | Token::Word(_) | Token::Open)
                ) {
                    return Err(format!("`{root}` needs a value after it"));
                }
                return Ok(Expression::Apply(function, Box::new(self.single()?)));
            }
        }
        if !ROOTS.contains(&root) && !(self.is_state)(root) {
            let root: String = root.chars().take(64).collect();
            self.faults.push(format!("`{root}` is not a state and not one of {}", ROOTS.join(", ")));
        }
        Ok(Expression::Path(steps))
    }

    fn single(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if MAX_DEPTH < self.depth {
            return Err(format!("an expression nests deeper than {MAX_DEPTH}"));
        }
        let found = match self.tokens.next() {
            Some(Token::Text(text)) => Expression::Constant(Json::from(text)),
            Some(Token::Number(number)) => Expression::Constant(super::evaluate::number(number)),
            Some(Token::Word(word)) => self.word(&word)?,
            Some(Token::Not) => Expression::Not(Box::new(self.single()?)),
            Some(Token::Operator(Operator::Minus)) => Expression::Negative(Box::new(self.single()?)),
            Some(Token::Open) => {
                let inner = self.from(1)?;
                if self.tokens.next() != Some(Token::Close) {
                    return Err("a `(` in an expression is not closed".to_owned());
                }
                inner
            }
            Some(Token::Operator(_) | Token::Close) | None => {
                return Err("an expression lacks a value".to_owned());
            }
        };
        self.depth -= 1;
        Ok(found)
    }

    /// Reads an expression whose operators have at least this precedence.
    fn from(&mut self, least: u8) -> Result<Expression, String> {
        let mut left = self.single()?;
        while let Some(Token::Operator(operator)) = self.tokens.peek() {
            let operator = *operator;
            if operator.strength() < least {
                break;
            }
            self.tokens.next();
            let right = self.from(operator.strength() + 1)?;
            left = Expression::Both(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }
}

/// Parses an expression. Unknown names are faults, but the expression is still returned; a syntax error is only a
/// fault. Faults do not quote strings.
pub(super) fn parse(
    text: &str,
    is_state: &dyn Fn(&str) -> bool,
    faults: &mut Vec<String>,
) -> Option<Expression> {
    let read = |faults: &mut Vec<String>| {
        let tokens = tokens(text)?;
        // An expression is a tree, so its depth is at most its length.
        if 256 < tokens.len() {
            return Err("an expression has more than 256 parts".to_owned());
        }
        let mut parser = Parser { tokens: tokens.into_iter().peekable(), is_state, faults, depth: 0 };
        let whole = parser.from(1)?;
        match parser.tokens.next() {
            None => Ok(whole),
            Some(_) => Err("an expression has extra text after its end".to_owned()),
        }
    };
    match read(faults) {
        Ok(expression) => Some(expression),
        Err(fault) => {
            faults.push(fault);
            None
        }
    }
}
