//! Renders the body of a projection and places the header.

mod reference;
mod skill;
mod toml;

use brigade_catalog::{Family, Tool};
use brigade_core::{Fingerprint, Timestamp};

use crate::comment::{Comment, comment_of};
use crate::facts::SourceText;
use crate::front_matter;
use crate::harness::{
    CURSOR_FIELDS, FieldValue, FrontMatterField, Lossiness, PlaceFormat, SKILL_FIELDS, harness, is_usual,
};
use crate::header::{self, Header};
use crate::item::{Advice, AdviceCode, AdviceWeight};
use crate::text::{one_line, quoted};

/// The maximum length of a description in the Agent Skills format, in characters.
const MAX_DESCRIPTION_LEN: usize = 1024;

/// Why a projection cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderError {
    /// The entry is broken and has no family.
    NoFamily,
    /// The format of the target has no comments, so the header would break the file.
    NoComment,
    /// The text would contain a value that the policy binds. It is the same for every user, so it cannot be masked.
    /// Holds the known labels of these values.
    BoundValue(Vec<String>),
}

/// A rendered projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedProjection {
    pub(crate) body: String,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) header_at: usize,
    pub(crate) comment: Comment,
    /// Whether the body equals the source.
    pub(crate) is_source: bool,
    pub(crate) advice: Vec<Advice>,
    /// The length of front matter that only shows a description. Earlier versions did not write it.
    shown_only: usize,
}

impl RenderedProjection {
    /// Returns the text of the file without the header.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the fingerprint of the projection: the sha256 of the body.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns the body that earlier versions wrote, if it differs but has the same meaning.
    pub(crate) fn earlier_body(&self) -> Option<&str> {
        (0 < self.shown_only).then(|| &self.body[self.shown_only..])
    }

    /// Returns the comment syntax of the header.
    pub fn comment(&self) -> Comment {
        self.comment
    }

    /// Returns the whole file.
    pub fn file(&self, header: &Header) -> String {
        let line = header.line(self.comment);
        let mut text = String::with_capacity(self.body.len() + line.len());
        text.push_str(&self.body[..self.header_at]);
        text.push_str(&line);
        text.push_str(&self.body[self.header_at..]);
        text
    }
}

/// Everything that determines the body. Two targets of a tool with the same shape have the same body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    layout: Layout,
    comment: Comment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Layout {
    /// The source, or the page about the tool.
    Plain,
    /// The same, with these front matter fields. The name is that of the directory.
    FrontMatter { fields: &'static [FrontMatterField], folder: Option<String> },
    /// The same, as the prompt of a TOML command.
    TomlCommand,
}

/// Returns the shape of a target.
pub(crate) fn shape(harness_name: &str, path: &str, source: &SourceText) -> Result<Shape, RenderError> {
    let comment = comment_of(path, source.text()).ok_or(RenderError::NoComment)?;
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = folder.rsplit('/').next().filter(|folder| !folder.is_empty()).map(str::to_owned);
    // `SKILL.md` and `.mdc` have the same format in every directory and harness.
    if name == "SKILL.md" {
        let layout = Layout::FrontMatter { fields: SKILL_FIELDS, folder };
        return Ok(Shape { layout, comment });
    }
    if name.ends_with(".mdc") {
        let layout = Layout::FrontMatter { fields: CURSOR_FIELDS, folder: None };
        return Ok(Shape { layout, comment });
    }
    let layout = match harness(harness_name).and_then(|harness| harness.place_at(path)) {
        Some(place) if place.format == PlaceFormat::TomlCommand => Layout::TomlCommand,
        Some(place) if place.front_matter.iter().any(FrontMatterField::is_supplied) => {
            Layout::FrontMatter { fields: place.front_matter, folder: None }
        }
        Some(_) | None => Layout::Plain,
    };
    Ok(Shape { layout, comment })
}

/// Renders a tool for a target, without its header.
///
/// `path` is relative to the workspace. Its file name determines the format. Path and harness determine whether front
/// matter is needed.
///
/// # Errors
/// Fails if the entry is broken, or if the format of the target has no comments.
pub fn render(
    tool: &Tool,
    harness: &str,
    path: &str,
    source: &SourceText,
) -> Result<RenderedProjection, RenderError> {
    let tool = &*tool.without_secrets();
    render_shape(tool, &shape(harness, path, source)?, source, &content(tool, source)?)?.without_bound(tool)
}

/// Returns the content that all shapes share: the source, or the page about the tool. `tool` must not contain secrets.
pub(crate) fn content(tool: &Tool, source: &SourceText) -> Result<String, RenderError> {
    let family = tool.family.ok_or(RenderError::NoFamily)?;
    Ok(match family {
        Family::Skill | Family::SlashCommand | Family::Superpower => with_final_newline(source.text()),
        Family::Script => reference::script(tool, source),
        Family::Mcp => reference::mcp(tool),
        Family::Openapi | Family::Graphql | Family::Custom | Family::Builtin => {
            reference::other(tool, family, source)
        }
    })
}

impl RenderedProjection {
    /// Returns the projection unless it contains a value that the policy binds for the tool.
    pub(crate) fn without_bound(self, tool: &Tool) -> Result<RenderedProjection, RenderError> {
        if tool.masks.shows(&self.body) {
            return Ok(self);
        }
        let labels = tool.masks.labels_in(&self.body).into_iter().map(str::to_owned);
        Err(RenderError::BoundValue(labels.collect()))
    }
}

/// Renders [`content`] in one shape. `tool` must not contain secrets.
pub(crate) fn render_shape(
    tool: &Tool,
    shape: &Shape,
    source: &SourceText,
    content: &str,
) -> Result<RenderedProjection, RenderError> {
    let family = tool.family.ok_or(RenderError::NoFamily)?;
    let mut advice = Vec::new();
    let mut shown_only = 0;
    let is_prose = matches!(family, Family::Skill | Family::SlashCommand | Family::Superpower);
    let body = match &shape.layout {
        Layout::TomlCommand if is_prose && has_extension(tool.source_path.as_deref(), "toml") => {
            content.to_owned()
        }
        Layout::TomlCommand => {
            if is_prose && (content.contains("!{") || content.contains("@{")) {
                let message =
                    "the source contains `!{` or `@{`, which run programs or insert files in such a command";
                advice.push(Advice::remark(AdviceCode::CommandInjection, message));
            }
            toml::command(tool, content)
        }
        Layout::FrontMatter { fields, folder } => {
            let has_none = front_matter::split(content).is_none();
            let length = content.len();
            let used = fields.iter().filter(|field| has_none || field.value != FieldValue::Summary);
            let wanted = wanted_fields(tool, used, folder.as_deref());
            let body = front_matter::complete(content, &wanted).unwrap_or_else(|| content.to_owned());
            if !fields.iter().any(FrontMatterField::is_required) {
                shown_only = body.len() - length;
            }
            match folder {
                Some(folder) => skill::fit(body, folder, &mut advice),
                None => body,
            }
        }
        Layout::Plain if !is_prose && !shape.comment.holds_prose() => as_comments(content, shape.comment),
        Layout::Plain => content.to_owned(),
    };
    let is_source = is_prose
        && body.strip_suffix('\n').unwrap_or(&body)
            == source.text().strip_suffix('\n').unwrap_or(source.text());
    let fingerprint =
        if body == source.text() { source.fingerprint() } else { Fingerprint::of_bytes(body.as_bytes()) };
    let (header_at, comment) = header::place(&body, shape.comment);
    Ok(RenderedProjection { body, fingerprint, header_at, comment, is_source, advice, shown_only })
}

/// Creates the header of a rendered projection.
pub fn header_of(
    tool: &Tool,
    harness: &str,
    source: &SourceText,
    rendered: &RenderedProjection,
    now: Timestamp,
) -> Header {
    Header {
        tool_id: tool.id.as_str().to_owned(),
        family: tool.family.map_or("", Family::as_str).to_owned(),
        harness: harness.to_owned(),
        source_fingerprint: source.fingerprint().into(),
        projection_fingerprint: rendered.fingerprint.into(),
        generated_at: now.to_string(),
    }
}

/// Returns how well a harness supports a projection, and advice if it does not read it.
///
/// Returns `None` if the harness is not in the table.
pub(crate) fn lossiness(
    tool: &Tool,
    harness_name: &str,
    path: &str,
    rendered: Option<&RenderedProjection>,
) -> (Option<Lossiness>, Option<Advice>) {
    let (Some(harness), Some(family)) = (harness(harness_name), tool.family) else { return (None, None) };
    let Some(place) = harness.place_at(path) else {
        let better = harness.place_for(family).map(|place| place.path.replace("{id}", "<id>"));
        let advice = better.map(|better| Advice {
            code: AdviceCode::NotRead,
            message: format!("{} does not read this path by itself; it reads {better}", harness.title),
            // `init` proposes such a path for compatibility with v0.30, so it is not a mistake.
            weight: if is_usual(path) { AdviceWeight::Remark } else { AdviceWeight::NotRead },
        });
        return (Some(Lossiness::ReferenceOnly), advice);
    };
    let of_family = match family {
        Family::Skill | Family::SlashCommand | Family::Superpower => Lossiness::Native,
        Family::Script
        | Family::Mcp
        | Family::Openapi
        | Family::Graphql
        | Family::Custom
        | Family::Builtin => Lossiness::ReferenceOnly,
    };
    // If the path has several rows, the row for the family counts.
    let row = harness.places.iter().find(|row| row.path == place.path && row.families.contains(&family));
    let of_body = if rendered.is_none_or(|rendered| rendered.is_source) {
        Lossiness::Native
    } else {
        Lossiness::Adapted
    };
    (Some(of_family.max(of_body).max(row.unwrap_or(place).lossiness)), None)
}

fn with_final_newline(text: &str) -> String {
    let mut text = text.to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn has_extension(path: Option<&str>, extension: &str) -> bool {
    path.and_then(|path| path.rsplit_once('.'))
        .is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

/// Formats a page as comments, for formats in which plain text is a syntax error.
fn as_comments(text: &str, comment: Comment) -> String {
    let close = comment.close();
    let mut out = String::with_capacity(text.len() * 2);
    for line in text.lines() {
        let apart = if close.is_empty() { line.to_owned() } else { line.replace(close, "* /") };
        out.push_str(&comment.write(apart.trim_end()));
        out.push('\n');
    }
    out
}

fn wanted_fields<'f>(
    tool: &Tool,
    fields: impl Iterator<Item = &'f FrontMatterField>,
    folder: Option<&str>,
) -> Vec<(&'static str, String)> {
    let value = |value: FieldValue| match value {
        FieldValue::FolderName => Some(quoted(&folder.map_or_else(|| slug(tool.id.as_str()), str::to_owned))),
        FieldValue::Title => Some(quoted(&one_line(&tool.name))),
        FieldValue::Description | FieldValue::Summary => Some(quoted(&description(tool))),
        FieldValue::Fixed(text) => Some(text.to_owned()),
        FieldValue::Optional => None,
    };
    fields.filter_map(|field| Some((field.key, value(field.value)?))).collect()
}

/// Returns the description on one line, cut to the limit of the Agent Skills format; never empty.
pub(crate) fn description(tool: &Tool) -> String {
    let text = one_line(tool.description.as_deref().unwrap_or(""));
    if text.is_empty() {
        return format!("How to work with {}, a tool of this project.", one_line(tool.id.as_str()));
    }
    cut(&text)
}

/// Cuts a description to the limit of the Agent Skills format.
fn cut(text: &str) -> String {
    if text.char_indices().nth(MAX_DESCRIPTION_LEN).is_none() {
        return text.to_owned();
    }
    let kept: String = text.chars().take(MAX_DESCRIPTION_LEN - 1).collect();
    format!("{}…", kept.trim_end())
}

/// Converts a text to a valid name of the Agent Skills format.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(64);
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "tool".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests;
