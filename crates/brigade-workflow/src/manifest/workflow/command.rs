//! Commands of states: words with templates, or a tool with arguments.

use brigade_cmdline::{Argv, risk, shell_syntax};
use brigade_core::Json;

use super::template::{Part, Template};

/// What a state runs.
#[derive(Clone, Debug, PartialEq)]
pub enum StateCommand {
    /// A program and its words. The value of a template always stays one word.
    Words {
        /// The program, which must not be a template.
        program: String,
        /// The remaining words.
        words: Vec<Template>,
    },
    /// A tool, with templates in its arguments.
    Tool {
        /// The id of the tool.
        tool: String,
        /// The arguments of the tool.
        arguments: Json,
    },
}

/// The tool that starts commands.
const COMMAND: &str = "cmd.run";

/// The first of the characters that mark the places of values while a command line is split.
const MARK: u32 = 0xF_0000;

/// How many words of a list in the input a launcher may take before the command that it starts.
const MAX_LAUNCHER_WORDS: usize = 4;

const FORM: &str = "expected a command line, a list of words, or a map of `tool` and `arguments`";

fn marks(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.chars().filter_map(|c| usize::try_from(u32::from(c).checked_sub(MARK)?).ok())
}

impl StateCommand {
    /// Reads the command of a state.
    ///
    /// # Errors
    /// Fails with a message that does not quote the command.
    pub fn parse(command: &Json) -> Result<StateCommand, String> {
        match command {
            Json::String(text) => StateCommand::from_line(text),
            Json::Array(words) => {
                let words = words.iter().map(|word| word.as_str().ok_or_else(|| FORM.to_owned()));
                let words = words.collect::<Result<Vec<_>, _>>()?;
                let (program, words) = words.split_first().ok_or("names no program")?;
                StateCommand::from_words(
                    &Template::from_valid(program),
                    words.iter().map(|word| Template::from_valid(word)).collect(),
                )
            }
            Json::Object(members) => {
                let tool = members.get("tool").and_then(Json::as_str).ok_or(FORM)?;
                if members.keys().any(|name| name != "tool" && name != "arguments") {
                    return Err(FORM.to_owned());
                }
                if !Template::from_valid(tool).is_plain() {
                    return Err("the tool must not be a template".to_owned());
                }
                let arguments = members.get("arguments").cloned();
                let arguments = arguments.unwrap_or_else(|| Json::object::<&str>([]));
                if arguments.as_object().is_none() {
                    return Err("`arguments` must be a map".to_owned());
                }
                let command = arguments.get("command").and_then(Json::as_str);
                if tool == COMMAND && command.is_some_and(|command| !Template::from_valid(command).is_plain())
                {
                    return Err("the command must not be a template; pass values in `args`".to_owned());
                }
                if let Some(command) = command.filter(|_| tool == COMMAND) {
                    check_args(command, arguments.get("args"))?;
                }
                Ok(StateCommand::Tool { tool: tool.to_owned(), arguments })
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => Err(FORM.to_owned()),
        }
    }

    /// Splits a line into words before templates are filled in, so a value never becomes several words.
    fn from_line(line: &str) -> Result<StateCommand, String> {
        if marks(line).next().is_some() {
            return Err("has a character that is not allowed in commands".to_owned());
        }
        let parts = Template::from_valid(line).parts;
        let mut marked = String::new();
        for (index, part) in parts.iter().enumerate() {
            let mark = u32::try_from(index).ok().and_then(|index| char::from_u32(MARK + index));
            match (part, mark) {
                (Part::Text(text), _) => marked.push_str(text),
                (_, Some(mark)) => marked.push(mark),
                (_, None) => return Err("has too many templates".to_owned()),
            }
        }
        if let Some(syntax) = shell_syntax(&marked) {
            let shown: String = syntax.chars().filter(|c| !c.is_control()).take(8).collect();
            return Err(format!("has `{shown}`, but no shell reads the command; use a script instead"));
        }
        let argv = Argv::parse(&marked).map_err(|error| error.to_string())?;
        let template = |word: &String| {
            let mut found: Vec<Part> = Vec::new();
            for c in word.chars() {
                match (
                    marks(c.encode_utf8(&mut [0; 4])).next().and_then(|at| parts.get(at)),
                    found.last_mut(),
                ) {
                    (Some(part), _) => found.push(part.clone()),
                    (None, Some(Part::Text(text))) => text.push(c),
                    (None, _) => found.push(Part::Text(c.to_string())),
                }
            }
            Template { parts: found }
        };
        let mut words = argv.words().iter().map(template);
        let program = words.next().unwrap_or_default();
        StateCommand::from_words(&program, words.collect())
    }

    fn from_words(program: &Template, words: Vec<Template>) -> Result<StateCommand, String> {
        match program.parts.as_slice() {
            [Part::Text(name)] => {
                check_started(std::iter::once(program).chain(&words))?;
                Ok(StateCommand::Words { program: name.clone(), words })
            }
            [] => Err("names no program".to_owned()),
            _ => Err(NO_PROGRAM.to_owned()),
        }
    }
}

const NO_PROGRAM: &str = "the program must not be a template: input never chooses what is started";

/// Returns a word with a mark in place of each value.
fn marked(word: &Template) -> String {
    let mark = char::from_u32(MARK).expect("the mark is a character");
    let write = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        _ => mark.to_string(),
    };
    word.parts.iter().map(write).collect()
}

/// Refuses a launcher (`env`, `timeout`) if a value would choose the command that it starts.
fn check_started<'t>(words: impl Iterator<Item = &'t Template>) -> Result<(), String> {
    let Ok(argv) = Argv::new(words.map(marked).collect()) else { return Ok(()) };
    let started = risk::started_commands(&argv);
    let is_of_data = |program: &String| marks(program).next().is_some();
    match started.iter().any(|command| command.words.first().is_some_and(is_of_data)) {
        true => Err(NO_PROGRAM.to_owned()),
        false => Ok(()),
    }
}

/// Does the same if the further words are an argument of a tool: a list, or a value that may become one.
fn check_args(command: &str, args: Option<&Json>) -> Result<(), String> {
    let Ok(argv) = Argv::parse(command) else { return Ok(()) };
    let words: Vec<Template> = argv.words().iter().map(|word| Template::from_valid(word)).collect();
    match args {
        None | Some(Json::Null) => check_started(words.iter()),
        Some(Json::Array(more)) => {
            let more: Vec<Template> =
                more.iter().map(|word| Template::from_valid(word.as_str().unwrap_or_default())).collect();
            check_started(words.iter().chain(&more))
        }
        Some(value) => {
            let value = Template::from_valid(value.as_str().unwrap_or_default());
            (1..=MAX_LAUNCHER_WORDS)
                .try_for_each(|count| check_started(words.iter().chain(std::iter::repeat_n(&value, count))))
        }
    }
}

/// Counts the words, program included, that a program could read as an option if they begin with `-`. Words after a
/// `--` in the manifest itself do not count, if that `--` is an argument of the last program that is started; the `--`
/// of a launcher does not protect them.
pub fn words_with_options(words: &[Template]) -> usize {
    let Ok(argv) = Argv::new(words.iter().map(marked).collect()) else { return words.len() };
    let started = risk::started_commands(&argv);
    let begins = started.iter().map(|command| match argv.words().ends_with(&command.words) {
        true => words.len() - command.words.len(),
        // The started command is not a suffix of these words, so nothing is known about them.
        false => words.len(),
    });
    let first = begins.max().unwrap_or(0);
    let is_end = |word: &Template| matches!(word.parts.as_slice(), [Part::Text(text)] if text == "--");
    let rest = words.iter().skip(first).position(is_end);
    rest.map_or(words.len(), |at| first + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::workflow::evaluate::Scope;

    #[track_caller]
    fn check(command: &str, expect: Result<&[&str], &str>) {
        let names = Json::parse(r#"{"input": {"x": "a b; rm -rf / $(id) '\"", "none": ""}}"#).unwrap();
        let scope = Scope { names: names.as_object().unwrap().clone() };
        match (StateCommand::parse(&Json::parse(command).unwrap()), expect) {
            (Ok(StateCommand::Words { program, words }), Ok(expect)) => {
                let words = words.iter().map(|word| scope.render(word).unwrap());
                let found: Vec<String> = std::iter::once(program).chain(words).collect();
                assert_eq!(found, expect, "{command}");
            }
            (Ok(StateCommand::Tool { tool, arguments }), Ok(expect)) => {
                assert_eq!([tool, scope.fill(&arguments).unwrap().to_compact()], *expect, "{command}");
            }
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{command}: {error}"),
            (found, _) => panic!("{command}: {found:?}"),
        }
    }

    #[test]
    fn data_is_not_a_command() {
        check(r#""{{input.x}} a""#, Err("template"));
        check(
            r#"{"tool": "cmd.run", "arguments": {"command": "{{input.x}}"}}"#,
            Err("the command must not be a template"),
        );
        check(
            r#"{"tool": "cmd.run", "arguments": {"args": ["{{input.none}}"], "command": "echo"}}"#,
            Ok(&["cmd.run", r#"{"args":[""],"command":"echo"}"#]),
        );
    }

    #[test]
    fn a_launcher_starts_no_command_from_data() {
        for command in [
            r#"["env", "{{input.x}}", "--output=a.txt"]"#,
            r#"["env", "X=1", "{{input.x}}"]"#,
            r#""env {{input.x}} a""#,
            r#"["timeout", "5", "{{input.x}}"]"#,
            r#"["timeout", "{{input.n}}", "env", "{{input.x}}"]"#,
            r#"{"tool": "cmd.run", "arguments": {"command": "env", "args": "{{input.x}}"}}"#,
            r#"{"tool": "cmd.run", "arguments": {"command": "timeout", "args": "{{input.x}}"}}"#,
            r#"{"tool": "cmd.run", "arguments": {"command": "timeout 5", "args": ["{{input.x}}"]}}"#,
        ] {
            check(command, Err("not be a template"));
        }
        check(
            r#"["env", "X={{input.none}}", "sort", "{{input.x}}"]"#,
            Ok(&["env", "X=", "sort", "a b; rm -rf / $(id) '\""]),
        );
        check(r#"["timeout", "{{input.none}}", "sort"]"#, Ok(&["timeout", "", "sort"]));
        check(
            r#"{"tool": "cmd.run", "arguments": {"args": "{{input.none}}", "command": "sort"}}"#,
            Ok(&["cmd.run", r#"{"args":"","command":"sort"}"#]),
        );
    }

    #[test]
    fn words_after_the_dashes_are_operands() {
        for (words, expect) in [
            (&["sort", "{{input.x}}"][..], 2),
            (&["sort", "--", "{{input.x}}"], 1),
            (&["env", "{{input.d}}", "sort", "{{input.x}}"], 4),
            (&["sort", "-T", "{{input.d}}", "{{input.x}}"], 4),
            (&["timeout", "--", "5", "sort", "{{input.x}}"], 5),
            (&["timeout", "--", "5", "sort", "--", "{{input.x}}"], 4),
            (&["timeout", "5", "env", "--", "A=1", "sort", "{{input.x}}"], 7),
            (&["sh", "-c", "sort -- a", "--", "{{input.x}}"], 5),
        ] {
            let words: Vec<Template> = words.iter().map(|word| Template::from_valid(word)).collect();
            assert_eq!(words_with_options(&words), expect, "{words:?}");
        }
    }

    #[test]
    fn data_stays_one_word() {
        let hostile = "a b; rm -rf / $(id) '\"";
        check(r#""echo 'two words' {{input.x}}""#, Ok(&["echo", "two words", hostile]));
        check(
            r#""echo --x={{ input.x }} {{#if input.none}}a b{{else}}c{{/if}}""#,
            Ok(&["echo", &format!("--x={hostile}"), "c"]),
        );
        check(r#"["echo", "{{input.x}}", "a;b"]"#, Ok(&["echo", hostile, "a;b"]));
        check(r#""{{input.x}} a""#, Err("not be a template"));
        check(r#"["{{input.x}}"]"#, Err("not be a template"));
        check(r#""echo a | sh""#, Err("`|`"));
        check(r#""echo 'a""#, Err("quote"));
        check(r#""""#, Err("program"));
        check("[]", Err("no program"));
        check("[1]", Err("expected"));
        check("3", Err("expected"));
        check(
            r#"{"tool": "fs.read", "arguments": {"path": "{{input.none}}x"}}"#,
            Ok(&["fs.read", r#"{"path":"x"}"#]),
        );
        check(r#"{"tool": "{{input.x}}"}"#, Err("not be a template"));
        check(r#"{"tool": "fs.read", "args": {}}"#, Err("expected"));
    }
}
