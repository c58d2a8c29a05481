//! Plans the status of every projection and what applying it does.
//!
//! | status | action | when (the first match counts) |
//! | --- | --- | --- |
//! | `missing` | skip | no path is configured for the harness |
//! | `invalid` | skip | the entry is broken or a path of it leads out of the workspace; the path may not be written, is a directory, cannot be read, is what a tool reads or runs, belongs to an earlier tool, its format has no comments, or its text would hold a bound value |
//! | `missing_source` | skip | the source has no text |
//! | `missing` | create | there is no file |
//! | `unmanaged` | conflict, update when forced | the file has no valid header |
//! | `conflicted` | conflict, update when forced | the body differs from the fingerprint in the header |
//! | `current` | skip | source and body are up to date, or the body is what an earlier version wrote for this source |
//! | `stale` | update | otherwise |

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use brigade_catalog::Tool;
use brigade_cmdline::{Program, Role};
use brigade_core::Fingerprint;

use crate::comment::comment_of;
use crate::facts::{
    PathRefusal, SourceProblem, SourceText, Target, TargetFacts, ToolFacts, relative_path, wanted,
};
use crate::header::{self, ManagedFile};
use crate::item::{
    Advice, AdviceCode, Depth, Overwrite, ProjectionAction, ProjectionItem, ProjectionReason,
    ProjectionStatus,
};
use crate::render::{self, RenderError, RenderedProjection, Shape};
use crate::text;

/// The owner of each path: the first enabled and valid tool of the catalog that projects there. Also records which of
/// these paths tools read or run.
///
/// Claims prevent two tools with the same path from overwriting each other on every apply, and a projection from
/// overwriting its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// The ids of the tools that own paths.
    ids: Vec<String>,
    /// The index of the owner in `ids`, by path.
    holders: HashMap<String, usize>,
    inputs: HashMap<String, Input>,
    /// Paths that differ from an earlier path only in case, with that path.
    alike: HashMap<String, String>,
}

/// How a tool uses a path that it reads or runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Input {
    tool: String,
    /// The field of the entry.
    what: &'static str,
}

impl Input {
    fn phrase(&self) -> String {
        format!("is the {} of the tool {}, which a projection would replace", self.what, self.tool)
    }
}

/// Describes how the first tool that reads or runs a path uses it, as the end of a sentence. The path is relative to
/// the workspace at `root`.
pub fn input_among<'a>(root: &str, tools: impl IntoIterator<Item = &'a Tool>, path: &str) -> Option<String> {
    tools.into_iter().find_map(|tool| {
        let is_it = |input: &Cow<'_, str>| relative_path(root, input).is_ok_and(|input| input == path);
        let (what, _) = inputs_of(tool).find(|(_, input)| is_it(input))?;
        Some(Input { tool: tool.id.as_str().to_owned(), what }.phrase())
    })
}

impl Claims {
    /// Reads the claims of all tools in the order of the catalog. `root` is the absolute path of the workspace.
    pub fn new<'a>(root: &str, tools: impl IntoIterator<Item = &'a Tool>) -> Claims {
        let tools: Vec<&Tool> = tools.into_iter().collect();
        // Most tools have one file for each of two harnesses.
        let holders = HashMap::with_capacity(tools.len() * 2);
        let mut claims = Claims { holders, ..Claims::default() };
        // The first path with upper-case letters, by its lower-case form.
        let mut lowered: HashMap<String, String> = HashMap::new();
        let mut first_bytes = [false; 256];
        for tool in tools.iter().filter(|tool| tool.enabled && !tool.is_broken) {
            for path in wanted(tool).into_iter().filter_map(|wanted| wanted.path) {
                let Ok(path) = relative_path(root, path) else { continue };
                if claims.holders.contains_key(&*path) {
                    continue;
                }
                let lower = lower_case(&path);
                let earlier = match lowered.get(&*lower) {
                    Some(form) => Some(claims.alike.get(form).unwrap_or(form).clone()),
                    // Paths that are lower-case were already looked up above.
                    None => match &lower {
                        Cow::Owned(lower) if claims.holders.contains_key(lower) => Some(lower.clone()),
                        Cow::Owned(_) | Cow::Borrowed(_) => None,
                    },
                };
                if let Some(form) = earlier {
                    claims.alike.insert(path.to_string(), form);
                }
                if let Cow::Owned(lower) = lower {
                    lowered.entry(lower).or_insert_with(|| path.to_string());
                }
                if claims.ids.last().is_none_or(|last| *last != tool.id.as_str()) {
                    claims.ids.push(tool.id.as_str().to_owned());
                }
                first_bytes[usize::from(path.bytes().next().unwrap_or_default())] = true;
                claims.holders.insert(path.into_owned(), claims.ids.len() - 1);
            }
        }
        let may_be_target = |path: &str| {
            // A quick check rules out nearly all paths. The others are normalized first.
            let first = path.bytes().next().unwrap_or_default();
            first_bytes[usize::from(first)] || matches!(first, b'/' | b'.') || path.contains("..")
        };
        for tool in tools {
            for (what, path) in inputs_of(tool).filter(|(_, path)| may_be_target(path)) {
                // Only inputs that are also targets matter.
                if let Ok(path) = relative_path(root, &path)
                    && claims.holders.contains_key(path.as_ref())
                {
                    let input = Input { tool: tool.id.as_str().to_owned(), what };
                    claims.inputs.entry(path.into_owned()).or_insert(input);
                }
            }
        }
        claims
    }

    /// Describes how a tool reads or runs the target of a projection, as the end of a sentence. The path is relative to
    /// the workspace.
    pub fn input(&self, path: &str) -> Option<String> {
        self.inputs.get(path).map(Input::phrase)
    }

    /// Returns another projected path that differs from this one only in case. On some disks both are the same file.
    pub fn alike(&self, path: &str) -> Option<&str> {
        self.alike.get(path).map(String::as_str)
    }

    /// Returns the id of the tool that owns a path, relative to the workspace.
    pub fn holder(&self, path: &str) -> Option<&str> {
        self.holders.get(path).map(|index| self.ids[*index].as_str())
    }
}

/// Returns a path in lower case; borrowed if it already is.
fn lower_case(path: &str) -> Cow<'_, str> {
    if !path.is_ascii() {
        let lower = path.to_lowercase();
        return if lower == path { Cow::Borrowed(path) } else { Cow::Owned(lower) };
    }
    if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(path.to_ascii_lowercase())
    } else {
        Cow::Borrowed(path)
    }
}

/// Lists the files that a tool reads or runs, with the names of their fields.
fn inputs_of(tool: &Tool) -> impl Iterator<Item = (&'static str, Cow<'_, str>)> {
    let named = [
        ("source", &tool.source_path),
        ("manifest", &tool.manifest_path),
        ("schema", &tool.schema_path),
        ("input schema", &tool.input_schema_path),
        ("output schema", &tool.output_schema_path),
        ("file of examples", &tool.examples_path),
    ];
    let named = named.into_iter().filter_map(|(what, path)| Some((what, Cow::Borrowed(path.as_deref()?))));
    let words = tool.command.as_deref().unwrap_or_default().split_whitespace();
    // The program, and the script after an interpreter and its options. Other words may be anything.
    let operand = |word: &&str| !word.starts_with('-');
    let mut words = words.filter(operand);
    let program = words.next();
    let script = program.filter(|program| is_interpreter(program)).and_then(|_| words.next());
    let code = program.into_iter().chain(script).map(|word| {
        let path = match tool.cwd.as_deref().filter(|cwd| !matches!(*cwd, "" | ".")) {
            Some(cwd) if !word.starts_with('/') => Cow::Owned([cwd, "/", word].concat()),
            _ => Cow::Borrowed(word),
        };
        ("program", path)
    });
    named.chain(code)
}

fn is_interpreter(program: &str) -> bool {
    let role = Program::from_word(program).map(Program::role);
    matches!(role, Some(Role::Shell | Role::Interpreter))
}

/// Plans the projections of several tools, in order. The caller leaves out disabled tools.
pub fn plan(
    facts: &[ToolFacts<'_>],
    claims: &Claims,
    overwrite: Overwrite,
    depth: Depth,
) -> Vec<ProjectionItem> {
    facts.iter().flat_map(|facts| plan_tool(facts, claims, overwrite, depth)).collect()
}

/// Plans the projections of one tool, in the order of its harnesses.
pub fn plan_tool(
    facts: &ToolFacts<'_>,
    claims: &Claims,
    overwrite: Overwrite,
    depth: Depth,
) -> Vec<ProjectionItem> {
    let mut planner = Planner::new(facts, claims, overwrite, depth);
    facts.targets.iter().map(|target| planner.plan(target).0).collect()
}

/// Plans the targets of one tool and renders each shape once.
pub(crate) struct Planner<'f, 'a> {
    facts: &'f ToolFacts<'a>,
    claims: &'f Claims,
    overwrite: Overwrite,
    depth: Depth,
    /// The tool without its secrets, after the first rendering.
    redacted: Option<Cow<'a, Tool>>,
    /// The shared content of the projections, after the first rendering.
    content: Option<String>,
    rendered: Vec<(Shape, Rc<RenderedProjection>)>,
}

/// The findings about one target.
struct Verdict {
    status: ProjectionStatus,
    reason: Option<ProjectionReason>,
    detail: Cow<'static, str>,
    managed: Option<ManagedFile>,
    actual: Option<Fingerprint>,
    rendered: Option<Rc<RenderedProjection>>,
}

impl Verdict {
    fn new(status: ProjectionStatus, detail: impl Into<Cow<'static, str>>) -> Verdict {
        Verdict { status, reason: None, detail: detail.into(), managed: None, actual: None, rendered: None }
    }

    fn invalid(reason: ProjectionReason, detail: impl Into<Cow<'static, str>>) -> Verdict {
        Verdict { reason: Some(reason), ..Verdict::new(ProjectionStatus::Invalid, detail) }
    }

    /// The text would contain the values of these labels.
    fn bound(labels: &[String]) -> Verdict {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let what = match labels.as_slice() {
            [] => "a value that the policy binds".to_owned(),
            [label] => format!("the value of {label}, which the policy binds"),
            labels => format!("the values of {}, which the policy binds", labels.join(", ")),
        };
        let detail = format!("its text would hold {what}; take it out of the entry or its source");
        Verdict::invalid(ProjectionReason::BoundValue, detail)
    }
}

impl<'f, 'a> Planner<'f, 'a> {
    pub(crate) fn new(
        facts: &'f ToolFacts<'a>,
        claims: &'f Claims,
        overwrite: Overwrite,
        depth: Depth,
    ) -> Planner<'f, 'a> {
        Planner { facts, claims, overwrite, depth, redacted: None, content: None, rendered: Vec::new() }
    }

    /// Plans one target of the tool. Returns the rendering if one was needed.
    pub(crate) fn plan(&mut self, target: &Target<'a>) -> (ProjectionItem, Option<Rc<RenderedProjection>>) {
        let tool = self.facts.tool;
        let mut verdict = match &target.path {
            Some(path) => self.verdict(path, target),
            None => {
                let detail = format!("no projection path is configured for {}", target.harness);
                Verdict {
                    reason: Some(ProjectionReason::NoTarget),
                    ..Verdict::new(ProjectionStatus::Missing, detail)
                }
            }
        };
        let is_wanted = match verdict.status {
            ProjectionStatus::Missing => self.depth == Depth::Full,
            // The file blocks calls, and the blocker reports the expected content.
            ProjectionStatus::Unmanaged => true,
            _ => false,
        };
        if is_wanted
            && verdict.rendered.is_none()
            && let (Some(path), Ok(source)) = (&target.path, &self.facts.source)
        {
            match self.render(target.harness, path, source) {
                Ok(rendered) => verdict.rendered = Some(rendered),
                Err(RenderError::BoundValue(labels)) => verdict = Verdict::bound(&labels),
                Err(RenderError::NoFamily | RenderError::NoComment) => {}
            }
        }
        let mut advice = verdict.rendered.as_ref().map_or_else(Vec::new, |rendered| rendered.advice.clone());
        if let Some(other) = target.path.as_deref().and_then(|path| self.claims.alike(path)) {
            let message = format!("on disks that ignore case, this is the same file as `{other}`");
            advice.push(Advice::remark(AdviceCode::DiffersInCase, message));
        }
        let misplaced = misplaced(&verdict);
        advice.extend(misplaced.clone());
        let mut lossiness = None;
        if let Some(path) = target.path.as_deref().filter(|_| verdict.status != ProjectionStatus::Invalid) {
            let (found, more) = render::lossiness(tool, target.harness, path, verdict.rendered.as_deref());
            lossiness = found;
            advice.extend(more);
        }
        let item = ProjectionItem {
            tool_id: tool.id.clone(),
            name: tool.masks.shown(&tool.name),
            family: tool.family,
            harness: target.harness.to_owned(),
            source_path: tool.source_path.as_deref().map(|path| tool.masks.shown(path)),
            projection_path: target.path.as_deref().map(str::to_owned),
            action: self.action(&verdict, target, misplaced.is_some()),
            header: verdict.managed.map(|managed| managed.header),
            status: verdict.status,
            reason: verdict.reason,
            detail: verdict.detail,
            source_fingerprint: self.facts.source.as_ref().ok().map(SourceText::fingerprint),
            expected_fingerprint: verdict.rendered.as_ref().map(|rendered| rendered.fingerprint),
            actual_fingerprint: verdict.actual,
            lossiness,
            advice,
        };
        (item, verdict.rendered)
    }

    fn action(&self, verdict: &Verdict, target: &Target<'_>, misplaced: bool) -> ProjectionAction {
        match verdict.status {
            ProjectionStatus::Missing if target.path.is_none() => ProjectionAction::Skip,
            ProjectionStatus::Missing => ProjectionAction::Create,
            ProjectionStatus::Stale => ProjectionAction::Update,
            ProjectionStatus::Unmanaged | ProjectionStatus::Conflicted => match self.overwrite {
                Overwrite::Never => ProjectionAction::Conflict,
                Overwrite::Force => ProjectionAction::Update,
            },
            ProjectionStatus::Current if misplaced && self.overwrite == Overwrite::Force => {
                ProjectionAction::Update
            }
            ProjectionStatus::Current | ProjectionStatus::MissingSource | ProjectionStatus::Invalid => {
                ProjectionAction::Skip
            }
        }
    }

    fn verdict(&mut self, path: &str, target: &Target<'_>) -> Verdict {
        let tool = self.facts.tool;
        if tool.is_broken || tool.family.is_none() {
            return Verdict::invalid(ProjectionReason::BrokenEntry, "the tool's entry is broken");
        }
        if let Some(field) = self.facts.outside {
            return Verdict::invalid(
                ProjectionReason::PathOutside,
                format!("{field} leads out of the workspace"),
            );
        }
        let bytes = match &target.facts {
            TargetFacts::Refused(refusal) => return refused(*refusal),
            TargetFacts::Directory => {
                return Verdict::invalid(ProjectionReason::IsDirectory, "the projection path is a directory");
            }
            TargetFacts::Unreadable => {
                return Verdict::invalid(ProjectionReason::Unreadable, "the projection path cannot be read");
            }
            TargetFacts::Absent => None,
            TargetFacts::File(bytes) => Some(bytes),
        };
        if let Some(input) = self.claims.input(path) {
            return Verdict::invalid(ProjectionReason::IsInput, format!("the projection path {input}"));
        }
        if let Some(holder) = self.claims.holder(path).filter(|holder| *holder != tool.id.as_str()) {
            let detail =
                format!("the projection path belongs to the tool {holder}, which is earlier in the catalog");
            return Verdict::invalid(ProjectionReason::PathTaken, detail);
        }
        if comment_of(path, "").is_none() {
            let detail = "the format of the projection path has no comments, so it cannot hold a header";
            return Verdict::invalid(ProjectionReason::NoComment, detail);
        }
        let found = bytes.and_then(|bytes| text::decode(bytes));
        let managed = found.as_deref().and_then(header::find);
        let source = match &self.facts.source {
            Ok(source) => source,
            Err(problem) => {
                let actual =
                    managed.as_ref().zip(found.as_deref()).map(|(managed, text)| hash(&managed.body(text)));
                return Verdict { managed, actual, ..missing_source(*problem) };
            }
        };
        if bytes.is_none() {
            return Verdict::new(ProjectionStatus::Missing, "projection will be created");
        }
        let Some(text) = found else {
            let detail = "existing file is not UTF-8 text and not managed by Brigade";
            return Verdict {
                reason: Some(ProjectionReason::NotUtf8),
                ..Verdict::new(ProjectionStatus::Unmanaged, detail)
            };
        };
        let Some(managed) = managed else {
            return Verdict::new(ProjectionStatus::Unmanaged, "existing file is not managed by Brigade");
        };
        match self.render(target.harness, path, source) {
            Ok(rendered) => compare(tool, source, &text, managed, rendered),
            Err(RenderError::NoFamily) => {
                Verdict::invalid(ProjectionReason::BrokenEntry, "the tool's entry is broken")
            }
            Err(RenderError::NoComment) => {
                Verdict::invalid(ProjectionReason::NoComment, "the format has no comments")
            }
            Err(RenderError::BoundValue(labels)) => Verdict::bound(&labels),
        }
    }

    /// Renders a target, or returns the rendering of an earlier target with the same shape.
    pub(crate) fn render(
        &mut self,
        harness: &str,
        path: &str,
        source: &SourceText,
    ) -> Result<Rc<RenderedProjection>, RenderError> {
        let shape = render::shape(harness, path, source)?;
        if let Some((_, rendered)) = self.rendered.iter().find(|(known, _)| *known == shape) {
            return Ok(Rc::clone(rendered));
        }
        let tool = &**self.redacted.get_or_insert_with(|| self.facts.tool.without_secrets());
        let content = match &mut self.content {
            Some(content) => content,
            none => none.insert(render::content(tool, source)?),
        };
        let rendered = Rc::new(render::render_shape(tool, &shape, source, content)?.without_bound(tool)?);
        self.rendered.push((shape, Rc::clone(&rendered)));
        Ok(rendered)
    }
}

fn compare(
    tool: &Tool,
    source: &SourceText,
    text: &str,
    managed: ManagedFile,
    rendered: Rc<RenderedProjection>,
) -> Verdict {
    let header = &managed.header;
    let same = managed.body_is(text, &rendered.body);
    // Such a file is kept until its source changes or the update is forced.
    let is_earlier = rendered.earlier_body().is_some_and(|body| managed.body_is(text, body));
    let actual = if same { rendered.fingerprint } else { hash(&managed.body(text)) };
    let is_of_tool = header.tool_id == tool.id.as_str();
    let (status, detail) = if !header.projection_fingerprint.matches(actual) {
        (ProjectionStatus::Conflicted, "managed projection has local edits")
    } else if (same || is_earlier) && is_of_tool && header.source_fingerprint.matches(source.fingerprint()) {
        (ProjectionStatus::Current, "projection is current")
    } else {
        (ProjectionStatus::Stale, "projection will be updated")
    };
    let verdict = Verdict::new(status, detail);
    Verdict { managed: Some(managed), actual: Some(actual), rendered: Some(rendered), ..verdict }
}

/// Returns advice if the header of a current file hides its front matter or first line from readers.
fn misplaced(verdict: &Verdict) -> Option<Advice> {
    let (Some(managed), Some(rendered)) = (&verdict.managed, &verdict.rendered) else { return None };
    let in_place = (managed.start, managed.comment) == (rendered.header_at, rendered.comment);
    // After line 1 of front matter, every line is equally suitable.
    let in_front_matter = managed.comment == rendered.comment && 0 < managed.start && 0 < rendered.header_at;
    if verdict.status != ProjectionStatus::Current || in_place || in_front_matter {
        return None;
    }
    Some(Advice::remark(
        AdviceCode::HeaderMisplaced,
        "an earlier version wrote the header in a place that disturbs the file's reader; \
         apply it with force to move it",
    ))
}

fn refused(refusal: PathRefusal) -> Verdict {
    Verdict::invalid(refusal.reason(), format!("the projection path {}", refusal.phrase()))
}

fn missing_source(problem: SourceProblem) -> Verdict {
    let (reason, detail): (_, Cow<'static, str>) = match problem {
        SourceProblem::NotConfigured => (ProjectionReason::NoSource, "no source_path is configured".into()),
        SourceProblem::Absent => (ProjectionReason::SourceAbsent, "the source file is missing".into()),
        SourceProblem::Unreadable => {
            (ProjectionReason::SourceUnreadable, "the source file cannot be read".into())
        }
        SourceProblem::NotUtf8 => {
            (ProjectionReason::SourceNotUtf8, "the source file is not UTF-8 text".into())
        }
        SourceProblem::Refused(refusal) => {
            (refusal.reason(), format!("the source path {}", refusal.phrase()).into())
        }
    };
    Verdict { reason: Some(reason), ..Verdict::new(ProjectionStatus::MissingSource, detail) }
}

fn hash(text: &str) -> Fingerprint {
    Fingerprint::of_bytes(text.as_bytes())
}

#[cfg(test)]
mod tests;
