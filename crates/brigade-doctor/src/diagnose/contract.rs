//! Diagnoses the contract of a tool: how it is called.

use brigade_call::{FileFact, SchemaFact, Template, meant_in_schema};
use brigade_catalog::{Catalog, Family, SecretText, ServerTransport, TextPurpose, Tool, ToolSource};
use brigade_core::text::escape_terminal;
use brigade_core::{ConfigIssue, Hint, Place, closest};
use brigade_policy::{LabelProblem, check_label};
use brigade_schema::SchemaProblem;

use super::files::shown;
use crate::{Issue, IssueType, ToolFiles};

/// Reports fields whose names or texts look like secrets, and a label that looks like one. Broken entries are searched
/// too.
pub(super) fn unsafe_fields(tool: &Tool, unknown: &[ConfigIssue], found: &mut Vec<Issue>) {
    for field in &tool.unsafe_fields {
        let detail = format!("field {field} looks like it holds a secret; its value is not shown");
        let issue = Issue::of_tool(IssueType::UnsafeAuthFields, tool, field, detail).subject(field.as_str());
        // Most such fields are unknown keys, which are already reported at their place.
        let key = field.split(['.', '[']).next();
        let is_its = |other: &&ConfigIssue| {
            other.entry.as_deref() == Some(tool.id.as_str()) && other.field.as_deref() == key
        };
        let place = unknown.iter().find(is_its).map(|other| other.place.clone());
        found.push(match place {
            Some(place) => issue.at(place),
            None => issue,
        });
    }
    for SecretText { field, purpose } in tool.secret_texts() {
        let kind = match purpose {
            TextPurpose::Contract => IssueType::SecretInCatalog,
            TextPurpose::Prose => IssueType::SecretInDescription,
        };
        let detail = format!("{field} holds what looks like a secret; it is not shown");
        found.push(Issue::of_tool(kind, tool, &field, detail).subject(field.as_str()));
    }
    let label = tool.auth_label.as_deref().unwrap_or_default();
    if check_label(label) == Err(LabelProblem::LooksLikeValue) {
        let detail = "auth_label looks like a secret instead of a label; its value is not shown";
        let issue = Issue::of_tool(IssueType::UnsafeAuthFields, tool, "auth_label", detail);
        found.push(issue.subject("auth_label"));
    }
}

pub(super) fn contract(tool: &Tool, catalog: &Catalog, files: Option<&ToolFiles>, found: &mut Vec<Issue>) {
    let named = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let mut say = |kind, field, detail: &str| {
        let issue = Issue::of_tool(kind, tool, field, detail);
        found.push(match catalog.misspelt(tool, field).filter(|_| tool.lacks(field)) {
            Some(slip) => misspelt(issue, slip, field),
            None => issue,
        });
    };
    let is_imported = |runtime: &str| catalog.tools().iter().any(|other| other.is_imported_from(runtime));
    if tool.is_whole_server() && tool.runtime_id.as_deref().is_some_and(is_imported) {
        // Its tools are called, and each is a separate entry.
        labels(tool, found);
        return;
    }
    let is_mcp = tool.family == Some(Family::Mcp);
    let transport = tool.source.as_ref().and_then(|source| source.transport);
    if is_mcp
        && transport.is_some_and(|transport| transport != ServerTransport::Stdio)
        && !named(&tool.runtime_id)
    {
        // Nothing calls it, so the fields for calls are not missing.
        let detail = "the remote server has no runtime, so nothing calls it; register it again, or write its `url` in runtimes.toml";
        say(IssueType::MissingRuntime, "source.transport", detail);
        labels(tool, found);
        return;
    }
    let has_command = named(&tool.command);
    if is_mcp {
        if !named(&tool.runtime_id) {
            say(IssueType::MissingRuntime, "runtime_id", "runtime_id is not set, so calls have no server");
        }
        if !named(&tool.mcp_tool_name) {
            let detail = "mcp_tool_name is not set, so the server cannot be asked for the tool";
            say(IssueType::MissingMcpToolName, "mcp_tool_name", detail);
        }
    }
    let is_of_harness = tool.source() == Some(ToolSource::Harness);
    if !has_command
        && !is_of_harness
        && matches!(tool.family, Some(Family::Script | Family::Custom | Family::Mcp))
    {
        say(IssueType::MissingCommand, "command", "command is not set");
    }
    let callable = match tool.family {
        _ if is_of_harness => false,
        Some(Family::Script | Family::Custom | Family::Mcp | Family::Openapi | Family::Graphql) => true,
        Some(Family::Skill | Family::SlashCommand | Family::Superpower | Family::Builtin) | None => {
            has_command
        }
    };
    if callable && !tool.has_contract() {
        say(IssueType::MissingContract, "id", "the tool can be called and has no contract");
    } else if callable && !named(&tool.input_schema_path) && !tool.takes_words() {
        let detail = "input_schema_path is not set, so no call can be planned";
        say(IssueType::MissingInputSchema, "input_schema_path", detail);
    }
    if let Some(files) = files {
        schemas(tool, files, found);
    }
    labels(tool, found);
    templates(tool, files, found);
}

/// Returns the issue of a missing field, with the unknown key that probably means it.
fn misspelt(issue: Issue, slip: &ConfigIssue, field: &str) -> Issue {
    let key = escape_terminal(slip.field.as_deref().unwrap_or_default());
    let detail = format!("{}; `{key}` is not known: {}", issue.detail, Hint::did_you_mean(field));
    Issue { detail, ..issue }.at(slip.place.clone())
}

/// Removes issues of unknown keys that the issue of a missing field already names.
pub(super) fn fold_misspelt(of_entries: &mut Vec<Issue>, of_tools: &[Issue]) {
    if !of_entries.iter().any(|issue| issue.kind == IssueType::UnknownKey) {
        return;
    }
    let missing = [
        IssueType::MissingCommand,
        IssueType::MissingInputSchema,
        IssueType::MissingRuntime,
        IssueType::MissingMcpToolName,
    ];
    of_entries.retain(|key| {
        key.kind != IssueType::UnknownKey
            || !of_tools.iter().any(|issue| {
                missing.contains(&issue.kind) && issue.tool_id == key.tool_id && issue.place == key.place
            })
    });
}

/// The maximum number of schema problems in an issue.
const SHOWN_PROBLEMS: usize = 12;

fn schemas(tool: &Tool, files: &ToolFiles, found: &mut Vec<Issue>) {
    let input = ("input_schema_path", &*files.input_schema, &tool.input_schema_path);
    let output = ("output_schema_path", &*files.output_schema, &tool.output_schema_path);
    let missing = [IssueType::MissingInputSchema, IssueType::MissingOutputSchema];
    let invalid = [IssueType::InvalidInputSchema, IssueType::InvalidOutputSchema];
    let unsupported = [IssueType::UnsupportedInputSchema, IssueType::UnsupportedOutputSchema];
    let schemas = [input, output];
    for ((field, fact, path), kind) in schemas.iter().zip(missing) {
        let SchemaFact::File(fact) = fact else { continue };
        let near = files.near_schema.as_deref().filter(|_| *field == "input_schema_path");
        let issue = file(kind, tool, field, path, fact);
        found.extend(issue.map(|issue| Issue { detail: meaning(issue.detail, near), ..issue }));
    }
    for ((field, fact, path), kind) in schemas.iter().zip(invalid) {
        let SchemaFact::NotJson(error) = fact else { continue };
        let path = path.as_deref();
        let place = Place::at(path.unwrap_or_default(), error.line, error.column);
        let issue = Issue::of_tool(kind, tool, field, format!("{field} is not JSON: {error}"));
        found.push(issue.evidence(of_path(&error.to_string(), path)).at(place));
    }
    let mut rows = Vec::new();
    for (schema, kind) in schemas.iter().zip(unsupported) {
        match schema.1 {
            SchemaFact::Unsound(problems) => rows.push((schema, kind, problems.iter().collect::<Vec<_>>())),
            SchemaFact::Sound { schema: compiled, .. } if schema.0 == input.0 => {
                let unchecked = compiled.unchecked().iter().collect();
                rows.push((schema, IssueType::ImpossibleInputSchema, compiled.doubts().iter().collect()));
                rows.push((schema, IssueType::UncheckedInputSchema, unchecked));
            }
            SchemaFact::Sound { schema: compiled, .. } => {
                rows.push((schema, kind, compiled.unchecked().iter().collect()));
            }
            SchemaFact::File(_) | SchemaFact::NotJson(_) => {}
        }
    }
    // One issue for both schemas.
    if let Some(first) = schemas.iter().find(|schema| !ignored(schema.1).is_empty()) {
        let all = schemas.iter().flat_map(|schema| ignored(schema.1)).collect();
        rows.push((first, IssueType::IgnoredSchemaKeywords, all));
    }
    for ((field, _, path), kind, problems) in rows.into_iter().filter(|row| !row.2.is_empty()) {
        let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let mut told: Vec<String> = problems
            .iter()
            .take(SHOWN_PROBLEMS)
            .map(|problem| match meant_in_schema(problem) {
                Some(word) => format!("{problem} (did you mean `{word}`?)"),
                None => problem.to_string(),
            })
            .collect();
        if let Some(more) = problems.len().checked_sub(SHOWN_PROBLEMS).filter(|more| *more != 0) {
            told.push(format!("{more} more"));
        }
        let detail = format!("{field}: {}", told.join("; "));
        let path = path.as_deref();
        let issue = Issue::of_tool(kind, tool, field, detail).evidence(of_path(&list.join("; "), path));
        let at = problems.iter().find_map(|problem| problem.at);
        let file = path.unwrap_or_default();
        let place = at.map_or_else(|| Place::file(file), |(line, column)| Place::at(file, line, column));
        found.push(issue.at(place));
    }
    found.extend(file(
        IssueType::MissingExamples,
        tool,
        "examples_path",
        &tool.examples_path,
        &files.examples,
    ));
}

fn ignored(schema: &SchemaFact) -> &[SchemaProblem] {
    schema.schema().map_or(&[], |schema| schema.ignored())
}

/// Returns the issue of a named file that is missing or cannot be read.
///
/// The path is evidence, so that dismissing one missing file does not affect another one.
pub(super) fn file(
    kind: IssueType,
    tool: &Tool,
    field: &str,
    path: &Option<String>,
    fact: &FileFact,
) -> Option<Issue> {
    let named = || shown(path.as_deref().unwrap_or_default());
    let (detail, evidence) = match fact {
        FileFact::Missing => (format!("{field} names `{}`, which does not exist", named()), "missing"),
        FileFact::Unreadable(why) => {
            (format!("{field} names `{}`, which cannot be read: {why}", named()), "unreadable")
        }
        // Paths that lead out of the workspace are reported together, for all fields.
        FileFact::NotNamed | FileFact::Outside | FileFact::Present(_) => return None,
    };
    Some(Issue::of_tool(kind, tool, field, detail).evidence(of_path(evidence, path.as_deref())))
}

/// Adds the name that was probably intended.
pub(super) fn meaning(detail: String, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("{detail} (did you mean `{}`?)", shown(near)),
        None => detail,
    }
}

/// Creates evidence from a finding and its path.
pub(super) fn of_path(evidence: &str, path: Option<&str>) -> String {
    format!("{evidence} {}", path.unwrap_or_default())
}

fn labels(tool: &Tool, found: &mut Vec<Issue>) {
    for (index, label) in tool.env_labels.iter().enumerate() {
        let Err(problem) = check_label(label) else { continue };
        let number = index + 1;
        let subject = match problem {
            LabelProblem::Dangerous => label.clone(),
            LabelProblem::LooksLikeValue | LabelProblem::NotAName => format!("number {number}"),
        };
        let detail = format!("env label {subject} {problem}");
        let issue =
            Issue::of_tool(IssueType::UnsafeEnvLabels, tool, &format!("env_labels[{number}]"), detail);
        found.push(issue.subject(subject));
    }
}

fn templates(tool: &Tool, files: Option<&ToolFiles>, found: &mut Vec<Issue>) {
    let schema = files.and_then(|files| files.input_schema.schema());
    let described: Vec<&str> =
        schema.into_iter().flat_map(|schema| schema.properties()).map(|property| property.name).collect();
    let mut say = |name: &str, subject: String, detail: String| {
        let field = format!("argument_template.{name}");
        found.push(Issue::of_tool(IssueType::BadArgumentTemplate, tool, &field, detail).subject(subject));
    };
    for (name, template) in &tool.argument_template {
        if !is_name(name) {
            say(
                name,
                name.clone(),
                format!("argument_template.{name}: the name is not letters, digits and `_`"),
            );
        }
        for word in bad_names(template) {
            let detail = format!("argument_template.{name}: {{{word}}} is not the name of an argument");
            say(name, format!("{name}:{word}"), detail);
        }
        if described.is_empty() {
            continue;
        }
        for word in Template::parse(template).names() {
            if !described.contains(&word) {
                let meant = closest(word, described.iter().copied())
                    .map_or_else(String::new, |meant| format!(" (did you mean `{{{meant}}}`?)"));
                let detail =
                    format!("argument_template.{name}: the input schema describes no argument {word}{meant}");
                say(name, format!("{name}:{word}"), detail);
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

/// Finds words in braces that look like argument names but are invalid, such as `{max-tokens}`.
fn bad_names(template: &str) -> Vec<&str> {
    let inside =
        template.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(inside, _)| inside);
    let meant = |word: &&str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte))
    };
    // The template of a list.
    let is_list = |word: &str| {
        word.strip_suffix("...").is_some_and(is_name) && template.len() == word.len() + "{}".len()
    };
    inside.filter(meant).filter(|word| !is_name(word) && !is_list(word)).collect()
}
