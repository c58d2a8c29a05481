//! One issue: what is wrong, where, how it is told from others, and what mends it.

use std::borrow::Cow;
use std::sync::Arc;

use brigade_catalog::{Family, Tool};
use brigade_core::{Fingerprint, Json, Object, Place, Severity};
use brigade_projection::{ProjectionItem, ProjectionStatus};

use crate::{Area, IssueType};

/// Something wrong in a workspace, in one sentence.
///
/// The detail names fields and never holds a value of one that looks like it holds a secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Issue {
    /// The kind.
    pub kind: IssueType,
    /// How bad it is.
    pub severity: Severity,
    /// The tool or runtime that it concerns; `policy` for the policy as a whole.
    pub tool_id: Option<String>,
    /// The family of that, `runtime` or `policy`.
    pub family: Option<String>,
    /// The tool's description.
    pub description: Option<String>,
    /// What is wrong, in one sentence without a final stop.
    pub detail: String,
    /// Where to mend it.
    pub place: Option<Place>,
    /// The call that it concerns.
    pub call_id: Option<String>,
    /// The run that it concerns.
    pub run_id: Option<String>,
    /// The checkpoint that it concerns.
    pub checkpoint_id: Option<String>,
    /// The projection that it concerns.
    pub projection: Option<ProjectionMark>,
    /// Tells issues of one type and tool apart: a field, a label, an effect; often empty.
    pub subject: String,
    /// What makes the issue another one when it changes. Has no ages, times or absolute paths.
    pub evidence: String,
    /// The runtime, the pin or the file that the fix names.
    pub object: Option<String>,
    /// A fix that replaces that of the type, one of [`OTHER_FIXES`].
    pub other_fix: Option<&'static str>,
    /// Where its fix is typed.
    pub typed: Typed,
}

/// What an issue says of a projection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectionMark {
    /// The harness.
    pub harness: String,
    /// The target, relative to the workspace.
    pub target: Option<String>,
    /// How it stands; absent for one that no tool asks for.
    pub status: Option<ProjectionStatus>,
    /// The fingerprint of the source's text.
    pub source: Option<Fingerprint>,
    /// The fingerprint of what would be written.
    pub expected: Option<Fingerprint>,
    /// The fingerprint of what is there.
    pub actual: Option<Fingerprint>,
}

impl Issue {
    /// Makes an issue that concerns nothing in particular yet.
    pub(crate) fn new(kind: IssueType, detail: impl Into<String>) -> Issue {
        Issue {
            kind,
            severity: kind.severity(),
            tool_id: None,
            family: None,
            description: None,
            detail: detail.into(),
            place: None,
            call_id: None,
            run_id: None,
            checkpoint_id: None,
            projection: None,
            subject: String::new(),
            evidence: String::new(),
            object: None,
            other_fix: None,
            typed: Typed::InWorkspace,
        }
    }

    /// Makes an issue of a tool; it is mended at the place of one of its fields.
    pub(crate) fn of_tool(kind: IssueType, tool: &Tool, field: &str, detail: impl Into<String>) -> Issue {
        Issue {
            tool_id: Some(tool.id.as_str().to_owned()),
            family: tool.family.map(|family| Family::as_str(family).to_owned()),
            description: tool.shown_description(),
            place: Some(tool.place_of(field)),
            ..Issue::new(kind, detail)
        }
    }

    /// Makes an issue of a projection.
    pub(crate) fn of_projection(kind: IssueType, tool: &Tool, item: &ProjectionItem) -> Issue {
        let field = format!("projections.{}", item.harness);
        let mark = ProjectionMark {
            harness: item.harness.clone(),
            target: item.projection_path.clone(),
            status: Some(item.status),
            source: item.source_fingerprint,
            expected: item.expected_fingerprint,
            actual: item.actual_fingerprint,
        };
        let detail = format!("{}: {}", item.harness, item.detail.trim_end_matches('.'));
        Issue { projection: Some(mark), ..Issue::of_tool(kind, tool, &field, detail) }
    }

    pub(crate) fn subject(self, subject: impl Into<String>) -> Issue {
        Issue { subject: subject.into(), ..self }
    }

    pub(crate) fn evidence(self, evidence: impl Into<String>) -> Issue {
        Issue { evidence: evidence.into(), ..self }
    }

    pub(crate) fn at(self, place: impl Into<Option<Place>>) -> Issue {
        Issue { place: place.into(), ..self }
    }

    pub(crate) fn object(self, object: impl Into<String>) -> Issue {
        Issue { object: Some(object.into()), ..self }
    }

    /// Returns what it is about: the file, for what is wrong in the policy or the runtimes.
    pub fn area(&self) -> Area {
        match (self.kind.area(), self.tool_id.as_deref(), self.family.as_deref()) {
            (Area::Catalog, _, Some("policy")) => Area::Policy,
            (Area::Catalog | Area::Tool, _, Some("runtime")) => Area::Runtime,
            (area, _, _) => area,
        }
    }

    /// Returns the harness of the projection that it concerns.
    pub fn harness(&self) -> Option<&str> {
        self.projection.as_ref().map(|mark| mark.harness.as_str())
    }

    /// Returns what stays the same as long as the issue is the same one.
    ///
    /// | enters | does not |
    /// | --- | --- |
    /// | type, tool, harness, call, run, checkpoint | the sentence, which may name ages and paths |
    /// | subject and evidence | severity, place, fix |
    /// | of a projection: target, status, the three fingerprints | |
    pub fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = Fingerprint::builder("brigade.issue.v1")
            .text("type", self.kind.code())
            .text("tool_id", self.tool_id.as_deref())
            .text("call_id", self.call_id.as_deref())
            .text("run_id", self.run_id.as_deref())
            .text("checkpoint_id", self.checkpoint_id.as_deref())
            .text("subject", self.subject.as_str())
            .text("evidence", self.evidence.as_str());
        if let Some(mark) = &self.projection {
            fingerprint = fingerprint
                .text("harness", mark.harness.as_str())
                .text("target", mark.target.as_deref())
                .text("status", mark.status.map(ProjectionStatus::as_str))
                .fingerprint("source", mark.source)
                .fingerprint("expected", mark.expected)
                .fingerprint("actual", mark.actual);
        }
        fingerprint.finish()
    }

    /// Returns the command that mends the issue or shows more of it, as it is typed where the person is.
    pub fn fix(&self) -> String {
        self.fix_typed(&self.typed)
    }

    /// Returns that command as it is typed in some place.
    pub fn fix_typed(&self, typed: &Typed) -> String {
        let template = self.other_fix.unwrap_or_else(|| self.kind.fix());
        let mut rest = template;
        let mut command = String::with_capacity(96);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').expect("the templates of the table close their braces");
            command.push_str(before);
            command.push_str(&self.word(name, typed));
            rest = after;
        }
        command.push_str(rest);
        typed.command(command)
    }

    /// Returns what stands for a word in braces.
    fn word(&self, name: &str, typed: &Typed) -> String {
        let text = match name {
            "edit" => return self.edit(typed),
            "tool" => self.tool_id.as_deref(),
            "call" => self.call_id.as_deref(),
            "run" => self.run_id.as_deref(),
            "checkpoint" => self.checkpoint_id.as_deref(),
            "file" => return quote(&typed.path(self.object.as_deref().unwrap_or_default())).into_owned(),
            _ => self.object.as_deref().or(self.tool_id.as_deref()),
        };
        let text = text.unwrap_or_default();
        // An id may look like an option, and is the last word of every command.
        if text.starts_with('-') { format!("-- {}", quote(text)) } else { quote(text).into_owned() }
    }

    fn edit(&self, typed: &Typed) -> String {
        self.place.as_ref().map_or_else(|| "brigade tools doctor".into(), |place| typed.edit(place))
    }

    /// Writes the issue with the keys of reports; `absolute` makes a path as reports have it.
    pub fn to_json(&self, absolute: impl Fn(&str) -> String) -> Json {
        let text = |text: Option<&str>| Json::from(text.map(str::to_owned));
        let mark = self.projection.as_ref();
        let target = mark.and_then(|mark| mark.target.as_deref());
        let fingerprint = self.fingerprint().to_hex();
        let mut members: Object = [
            ("status", Json::from("warn")),
            ("name", Json::from(self.kind.name())),
            ("tool_id", text(self.tool_id.as_deref())),
            ("family", text(self.family.as_deref())),
            ("issue_type", Json::from(self.kind.code())),
            ("harness", text(self.harness())),
            ("projection_target", Json::from(target.map(absolute))),
            ("description", text(self.description.as_deref())),
            ("detail", Json::from(self.detail.as_str())),
            ("severity", Json::from(self.severity.as_str())),
            ("fingerprint", Json::from(fingerprint.as_str())),
            ("fix", Json::from(self.fix())),
            ("file", text(self.place.as_ref().map(|place| place.file.as_str()))),
            ("line", Json::from(self.place.as_ref().and_then(|place| place.line))),
            ("column", Json::from(self.place.as_ref().and_then(|place| place.column))),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
        let ids =
            [("call_id", &self.call_id), ("run_id", &self.run_id), ("checkpoint_id", &self.checkpoint_id)];
        for (key, id) in ids {
            if let Some(id) = id {
                members.insert(key.to_owned(), Json::from(id.as_str()));
            }
        }
        if let Some(mark) = mark {
            let hex = |fingerprint: Option<Fingerprint>| Json::from(fingerprint.map(Fingerprint::to_hex));
            let pairs = [
                ("projection_status", text(mark.status.map(ProjectionStatus::as_str))),
                ("tool_source_fingerprint", hex(mark.source)),
                ("expected_projection_fingerprint", hex(mark.expected)),
                ("actual_projection_fingerprint", hex(mark.actual)),
                ("parity_fingerprint", Json::from(fingerprint)),
            ];
            members.extend(pairs.map(|(key, value)| (key.to_owned(), value)));
        }
        Json::Object(members)
    }
}

/// Every fix that replaces that of its type, where the type alone does not tell what helps.
pub const OTHER_FIXES: [&str; 7] = [
    "brigade tools init",
    "brigade tools runtime init",
    "brigade tools runtime show {runtime}",
    "brigade tools plan {tool}",
    "brigade tools doctor --only config",
    "brigade tools checkpoint list",
    "brigade tools state compact",
];

/// What the commands of Brigade begin with.
const PROGRAM: &str = "brigade ";

/// Where a person types the command that an issue suggests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Typed {
    /// In the folder of the workspace.
    #[default]
    InWorkspace,
    /// Below it, where the workspace is found without being named.
    Below {
        /// The workspace, absolute.
        root: Arc<str>,
    },
    /// Somewhere else, so that the workspace has to be named.
    Elsewhere {
        /// The workspace, absolute.
        root: Arc<str>,
    },
}

impl Typed {
    /// Returns a command as it is typed there: one of Brigade's names the workspace where it has to.
    pub fn command(&self, command: impl Into<String>) -> String {
        let command = command.into();
        match (self, command.strip_prefix(PROGRAM)) {
            (Typed::Elsewhere { root }, Some(words)) => {
                format!("{PROGRAM}--target {} {words}", quote(root))
            }
            (Typed::InWorkspace | Typed::Below { .. } | Typed::Elsewhere { .. }, _) => command,
        }
    }

    /// Returns the command that opens an editor at a place of the workspace, as it is typed there.
    pub fn edit(&self, place: &Place) -> String {
        let line = place.line.map_or_else(String::new, |line| format!("+{line} "));
        format!("${{EDITOR:-vi}} {line}{}", quote(&self.path(&place.file)))
    }

    /// Returns a path of the workspace as it is typed there. What begins with `-` must not look like an option.
    fn path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        match self {
            Typed::Below { root } | Typed::Elsewhere { root } if !path.starts_with('/') => {
                Cow::Owned(format!("{}/{path}", root.trim_end_matches('/')))
            }
            Typed::InWorkspace | Typed::Below { .. } | Typed::Elsewhere { .. } => {
                if path.starts_with(['-', '+']) {
                    Cow::Owned(format!("./{path}"))
                } else {
                    Cow::Borrowed(path)
                }
            }
        }
    }
}

/// Returns the worst issue; the first of them when there are several.
pub fn top_issue<'i>(issues: impl IntoIterator<Item = &'i Issue>) -> Option<&'i Issue> {
    let mut top: Option<&Issue> = None;
    for issue in issues {
        if top.is_none_or(|top| top.severity < issue.severity) {
            top = Some(issue);
        }
    }
    top
}

/// Quotes a word for a shell, where it needs that.
fn quote(word: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    // Some shells read `=name` as the path of a program.
    if !word.is_empty() && !word.starts_with('=') && word.bytes().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fix(issue: &Issue, expect: &str) {
        assert_eq!(issue.fix(), expect);
    }

    #[test]
    fn fixes_are_commands_with_quoted_names() {
        let tool = Tool { description: None, ..Tool::new("it's", Family::Script).unwrap() };
        let issue = Issue::of_tool(IssueType::StaleHealth, &tool, "health_path", "old");
        check_fix(&issue, "brigade tools show 'it'\\''s'");
        let issue = Issue::new(IssueType::Config, "broken").at(Place::at("a b.toml", 3, 1));
        check_fix(&issue, "${EDITOR:-vi} +3 'a b.toml'");
        check_fix(&Issue::new(IssueType::WideModes, ""), "brigade tools doctor --fix");
        let issue = Issue::new(IssueType::RuntimeStopped, "").object("helper");
        check_fix(&issue, "brigade tools runtime start helper");
    }

    #[test]
    fn fixes_name_the_workspace_where_they_are_typed_elsewhere() {
        let tool = Tool::new("-x", Family::Script).unwrap();
        let stale = Issue::of_tool(IssueType::StaleHealth, &tool, "health_path", "old");
        let broken = Issue::new(IssueType::Config, "").at(Place::at(".brigade/tools.toml", 3, 1));
        let odd = Issue::new(IssueType::CheckpointInvalid, "").object("-n.json");
        let root = || Arc::from("/my work");
        let at = |typed: &Typed| [&stale, &broken, &odd].map(|issue| issue.fix_typed(typed));
        assert_eq!(
            at(&Typed::InWorkspace),
            ["brigade tools show -- -x", "${EDITOR:-vi} +3 .brigade/tools.toml", "cat ./-n.json"]
        );
        assert_eq!(
            at(&Typed::Below { root: root() }),
            [
                "brigade tools show -- -x",
                "${EDITOR:-vi} +3 '/my work/.brigade/tools.toml'",
                "cat '/my work/-n.json'"
            ]
        );
        assert_eq!(at(&Typed::Elsewhere { root: root() })[0], "brigade --target '/my work' tools show -- -x");
    }

    #[test]
    fn every_fix_can_be_written() {
        for kind in IssueType::all() {
            assert!(!Issue::new(*kind, "").fix().contains(['{', '}']) || kind.fix().contains("{edit}"));
        }
    }
}
