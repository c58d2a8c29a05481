//! Reads a PRD and collects every fault.

use std::collections::{HashMap, HashSet};

use brigade_catalog::source::Locator;
use brigade_core::json::{Dialect, PlacedData, PlacedEntry, PlacedValue};
use brigade_core::{Fingerprint, Object, Place, closest, text};

use super::{
    Complexity, Fault, FaultCode, Graph, Lints, Prd, PrdReading, Task, Verification, VerificationKind, keys,
    lint,
};
use crate::command::{Command, CommandFault};
use crate::names::{TaskId, is_branch_name};
use crate::route::infer;

/// Objects with more members than this are checked for duplicates with a hash map.
const MAX_COMPARED_MEMBERS: usize = 16;

/// The maximum number of unknown dependencies for which a similar id is suggested.
const MAX_SUGGESTIONS: usize = 20;

/// Reads a PRD. Never fails: the result has what could be read, with all errors and warnings.
///
/// `file` is the file name used in messages.
pub fn read(file: &str, bytes: &[u8], lints: Lints) -> PrdReading {
    let mut reading = PrdReading {
        prd: Prd::default(),
        bytes: Fingerprint::of_bytes(bytes),
        errors: Vec::new(),
        warnings: Vec::new(),
    };
    let document = match PlacedValue::parse(bytes, Dialect::Strict) {
        Ok(document) => document,
        Err(error) => {
            let place = Place::at(file, error.line, error.column);
            let message = format!("not JSON: {}", error.kind);
            reading.errors.push(Fault { code: FaultCode::Syntax, task: None, field: None, message, place });
            return reading;
        }
    };
    // The bytes are valid UTF-8, because they were parsed.
    let whole = String::from_utf8_lossy(bytes);
    let mut reader = Reader {
        file,
        locator: Locator::new(&whole, 1),
        faults: Vec::new(),
        task: None,
        prefix: String::new(),
        suggestions: MAX_SUGGESTIONS,
    };
    reader.duplicate_keys(&document);
    reading.prd = reader.prd(&document);
    lint::check(&reading.prd, lints, &mut |fault| reader.faults.push(fault));
    let mut faults = reader.faults;
    let is_complexity = |fault: &&Fault| fault.code == FaultCode::Complexity;
    let wrong: HashSet<Option<String>> =
        faults.iter().filter(is_complexity).map(|fault| fault.task.clone()).collect();
    faults.retain(|fault| fault.code != FaultCode::NoComplexity || !wrong.contains(&fault.task));
    faults.sort_by(|a, b| (&a.place, a.code, &a.field).cmp(&(&b.place, b.code, &b.field)));
    (reading.errors, reading.warnings) = faults.into_iter().partition(|fault| fault.code.is_error());
    reading
}

struct Reader<'a> {
    file: &'a str,
    locator: Locator<'a>,
    faults: Vec<Fault>,
    /// The id of the current task.
    task: Option<String>,
    /// The path of the current object, such as `tasks[1].`.
    prefix: String,
    suggestions: usize,
}

/// An entry of `dependsOn`, and its place.
struct Dependency {
    id: Option<TaskId>,
    text: String,
    at: usize,
    field: String,
}

impl Reader<'_> {
    fn place(&self, at: usize) -> Place {
        let (line, column) = self.locator.locate(at);
        Place::at(self.file, line, column)
    }

    fn fault(&mut self, code: FaultCode, field: &str, at: usize, message: impl Into<String>) {
        let place = self.place(at);
        let field = (!field.is_empty()).then(|| format!("{}{field}", self.prefix));
        self.faults.push(Fault { code, task: self.task.clone(), field, message: message.into(), place });
    }

    fn wrong_type(&mut self, field: &str, value: &PlacedValue<'_>, expected: &str) {
        let message = format!("expected {expected}, found {}", value.kind());
        self.fault(FaultCode::Type, field, value.at.start, message);
    }

    /// Reports duplicate keys at any depth.
    fn duplicate_keys(&mut self, value: &PlacedValue<'_>) {
        match &value.data {
            PlacedData::Array(elements) => elements.iter().for_each(|element| self.duplicate_keys(element)),
            PlacedData::Object(members) => {
                // For few members, comparing pairs is faster than hashing.
                let mut seen = HashMap::new();
                for (at, member) in members.iter().enumerate() {
                    let earlier = if members.len() <= MAX_COMPARED_MEMBERS {
                        let same = |earlier: &&PlacedEntry<'_>| earlier.key == member.key;
                        members[..at].iter().rfind(same).map(|earlier| earlier.key_at.start)
                    } else {
                        seen.insert(&*member.key, member.key_at.start)
                    };
                    if let Some(first) = earlier {
                        let (line, _) = self.locator.locate(first);
                        let message =
                            format!("duplicate key `{}`; it is already in line {line}", shown(&member.key));
                        self.fault(FaultCode::DuplicateKey, "", member.key_at.start, message);
                    }
                    self.duplicate_keys(&member.value);
                }
            }
            PlacedData::Null | PlacedData::Bool(_) | PlacedData::Number(_) | PlacedData::String(_) => {}
        }
    }

    fn prd(&mut self, document: &PlacedValue<'_>) -> Prd {
        let mut prd = Prd::default();
        let PlacedData::Object(members) = &document.data else {
            let message = format!("expected an object, found {}", document.kind());
            self.fault(FaultCode::Syntax, "", document.at.start, message);
            return prd;
        };
        let (mut has_name, mut has_tasks) = (false, false);
        for member in first_occurrences(members) {
            let value = &member.value;
            match &*member.key {
                "featureName" => {
                    has_name = true;
                    prd.feature_name = self.name(FaultCode::FeatureName, "featureName", value);
                }
                "branchName" => {
                    prd.branch_name = self.text("branchName", value);
                    if prd.branch_name.as_deref().is_some_and(|name| !is_branch_name(name)) {
                        let message = "not a valid branch name for git";
                        self.fault(FaultCode::BranchName, "branchName", value.at.start, message);
                    }
                }
                "description" => prd.description = self.text("description", value),
                "createdAt" => prd.created_at = self.text("createdAt", value),
                "walkaway" => prd.walkaway = self.truth("walkaway", value),
                "constraints" => prd.constraints = self.texts("constraints", value),
                "decisions" => prd.decisions = self.decisions(value),
                "testCommand" => prd.test_command = self.optional_command("testCommand", value),
                "tasks" => {
                    has_tasks = true;
                    self.tasks(value, &mut prd);
                }
                _ => self.other_key(member, &keys::PRD, &mut prd.other),
            }
        }
        let start = document.at.start;
        if !has_name {
            self.fault(FaultCode::FeatureName, "featureName", start, "`featureName` is missing");
        }
        if !has_tasks {
            self.fault(FaultCode::Tasks, "tasks", start, "`tasks` is missing");
        }
        if prd.walkaway {
            self.faults.extend(prd.walkaway_faults());
        }
        prd
    }

    /// Keeps a member of the author's own. Any other unknown key is an error, because it may be a misspelled one.
    fn other_key(&mut self, member: &PlacedEntry<'_>, known: &[&str], other: &mut Object) {
        if !keys::is_own(&member.key) {
            let near = did_you_mean(&member.key, known.iter().copied());
            let message = format!("unknown key `{}`{near}", shown(&member.key));
            self.fault(FaultCode::UnknownKey, &shown(&member.key), member.key_at.start, message);
        }
        other.insert(member.key.clone().into_owned(), member.value.to_json());
    }

    fn tasks(&mut self, value: &PlacedValue<'_>, prd: &mut Prd) {
        let PlacedData::Array(entries) = &value.data else {
            let message = format!("expected a list of tasks, found {}", value.kind());
            self.fault(FaultCode::Tasks, "tasks", value.at.start, message);
            return;
        };
        if entries.is_empty() {
            self.fault(FaultCode::Tasks, "tasks", value.at.start, "the list of tasks is empty");
        }
        let mut dependencies = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let PlacedData::Object(members) = &entry.data else {
                self.wrong_type(&format!("tasks[{index}]"), entry, "a task");
                continue;
            };
            self.prefix = format!("tasks[{index}].");
            if let Some((task, depends_on)) = self.task(index, entry, members) {
                prd.tasks.push(task);
                dependencies.push(depends_on);
            }
            self.prefix.clear();
            self.task = None;
        }
        self.dependencies(&mut prd.tasks, dependencies);
    }

    fn task(
        &mut self,
        index: usize,
        entry: &PlacedValue<'_>,
        members: &[PlacedEntry<'_>],
    ) -> Option<(Task, Vec<Dependency>)> {
        let start = entry.at.start;
        let id = self.id(start, members);
        let mut task = Task {
            id: "task".parse().ok()?,
            title: String::new(),
            description: None,
            acceptance_criteria: Vec::new(),
            verification: Vec::new(),
            verification_has_errors: false,
            depends_on: Vec::new(),
            complexity: None,
            passes: false,
            exclusive: None,
            manual_verification: Vec::new(),
            other: Object::new(),
            place: self.place(start),
            index,
        };
        let mut has_title = false;
        let mut depends_on = Vec::new();
        for member in first_occurrences(members) {
            let value = &member.value;
            match &*member.key {
                "id" => {}
                "title" => {
                    has_title = true;
                    task.title = self.name(FaultCode::Title, "title", value);
                }
                "description" => task.description = self.text("description", value),
                "acceptanceCriteria" => {
                    task.acceptance_criteria = self.texts("acceptanceCriteria", value);
                }
                "verification" => {
                    (task.verification, task.verification_has_errors) = self.verification(value);
                }
                "dependsOn" => depends_on = self.depends_on(value),
                "complexity" => task.complexity = self.complexity(value),
                "passes" => task.passes = self.truth("passes", value),
                "exclusive" => task.exclusive = self.text("exclusive", value),
                "manualVerification" => task.manual_verification = self.manual(value),
                _ => self.other_key(member, &keys::TASK, &mut task.other),
            }
        }
        if !has_title {
            self.fault(FaultCode::Title, "title", start, "`title` is missing");
        }
        task.id = id?;
        Some((task, depends_on))
    }

    fn id(&mut self, start: usize, members: &[PlacedEntry<'_>]) -> Option<TaskId> {
        let Some(member) = members.iter().find(|member| member.key == "id") else {
            self.fault(FaultCode::TaskId, "id", start, "`id` is missing");
            return None;
        };
        let at = member.value.at.start;
        let Some(id) = member.value.as_str() else {
            let message = format!("expected a text, found {}", member.value.kind());
            self.fault(FaultCode::TaskId, "id", at, message);
            return None;
        };
        match id.parse::<TaskId>() {
            Ok(valid) => {
                self.task = Some(id.to_owned());
                Some(valid)
            }
            Err(error) => {
                self.task = Some(shown(id));
                self.fault(FaultCode::TaskId, "id", at, error.to_string());
                None
            }
        }
    }

    /// Checks the dependencies after all tasks were read.
    fn dependencies(&mut self, tasks: &mut [Task], found: Vec<Vec<Dependency>>) {
        let mut places: HashMap<TaskId, (usize, Place)> = HashMap::with_capacity(tasks.len());
        for (at, task) in tasks.iter().enumerate() {
            if let Some((_, first)) = places.get(&task.id) {
                let message = format!("the task in line {} has the same id", first.line.unwrap_or_default());
                let place = task.place.clone();
                let (code, field) = (FaultCode::DuplicateId, Some(task.field("id")));
                let task = Some(task.id.to_string());
                self.faults.push(Fault { code, task, field, message, place });
            } else {
                places.insert(task.id.clone(), (at, task.place.clone()));
            }
        }
        let mut entries: HashMap<(usize, usize), (usize, String)> = HashMap::new();
        for (at, dependencies) in found.into_iter().enumerate() {
            self.task = Some(tasks[at].id.to_string());
            for dependency in dependencies {
                let known = dependency.id.as_ref().and_then(|id| places.get(id));
                match known {
                    _ if dependency.id.as_ref() == Some(&tasks[at].id) => {
                        let message = "the task depends on itself";
                        self.fault(FaultCode::SelfDependency, &dependency.field, dependency.at, message);
                    }
                    Some((other, _)) => {
                        drop(entries.insert((at, *other), (dependency.at, dependency.field)));
                    }
                    None => self.unknown_dependency(&dependency, tasks),
                }
                tasks[at].depends_on.extend(dependency.id);
            }
        }
        let graph = Graph::new(tasks);
        for cycle in graph.cycles() {
            let names: Vec<&str> =
                cycle.iter().chain(&cycle[..1]).map(|task| tasks[*task].id.as_str()).collect();
            let message = format!("the tasks depend on each other: {}", names.join(" → "));
            let next = cycle.get(1).copied().unwrap_or_default();
            let entry = entries.get(&(cycle[0], next));
            self.task = Some(tasks[cycle[0]].id.to_string());
            let place = entry.map_or_else(|| tasks[cycle[0]].place.clone(), |(at, _)| self.place(*at));
            let field = entry.map_or_else(|| tasks[cycle[0]].field("dependsOn"), |(_, field)| field.clone());
            let (code, task) = (FaultCode::Cycle, self.task.clone());
            self.faults.push(Fault { code, task, field: Some(field), message, place });
        }
        self.task = None;
    }

    fn unknown_dependency(&mut self, dependency: &Dependency, tasks: &[Task]) {
        let mut message = format!("unknown task `{}`", dependency.text);
        if 0 < self.suggestions {
            self.suggestions -= 1;
            message.push_str(&did_you_mean(&dependency.text, tasks.iter().map(|task| task.id.as_str())));
        }
        self.fault(FaultCode::UnknownDependency, &dependency.field, dependency.at, message);
    }

    fn depends_on(&mut self, value: &PlacedValue<'_>) -> Vec<Dependency> {
        let PlacedData::Array(elements) = &value.data else {
            if value.data != PlacedData::Null {
                self.wrong_type("dependsOn", value, "a list of task ids");
            }
            return Vec::new();
        };
        let mut found = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let field = format!("dependsOn[{index}]");
            match element.as_str() {
                Some(text) => {
                    let full = format!("{}{field}", self.prefix);
                    let entry = Dependency {
                        id: text.parse().ok(),
                        text: shown(text),
                        at: element.at.start,
                        field: full,
                    };
                    found.push(entry);
                }
                None => self.wrong_type(&field, element, "the id of a task"),
            }
        }
        found
    }

    fn complexity(&mut self, value: &PlacedValue<'_>) -> Option<Complexity> {
        let words = Complexity::WORDS;
        let Some(text) = value.as_str() else {
            if value.data != PlacedData::Null {
                let message = format!("expected one of junior, senior, auto, found {}", value.kind());
                self.fault(FaultCode::Complexity, "complexity", value.at.start, message);
            }
            return None;
        };
        let known = words.iter().find(|(word, _)| *word == text);
        if known.is_none() {
            let near = did_you_mean(text, words.iter().map(|(word, _)| *word));
            let message = format!("expected one of junior, senior, auto{near}");
            self.fault(FaultCode::Complexity, "complexity", value.at.start, message);
        }
        known.map(|(_, complexity)| *complexity)
    }

    /// Reads the entries of a verification. Also returns whether an entry was left out because of an error.
    fn verification(&mut self, value: &PlacedValue<'_>) -> (Vec<Verification>, bool) {
        let mut found = Vec::new();
        let entries = match &value.data {
            PlacedData::Array(entries) => entries.as_slice(),
            PlacedData::String(_) | PlacedData::Object(_) => std::slice::from_ref(value),
            PlacedData::Null => &[],
            PlacedData::Bool(_) | PlacedData::Number(_) => {
                self.wrong_type("verification", value, "a list of commands");
                &[]
            }
        };
        for (index, entry) in entries.iter().enumerate() {
            let field = format!("verification[{index}]");
            match &entry.data {
                PlacedData::String(text) => {
                    if let Some(command) = self.command(&field, entry.at.start, text) {
                        let place = self.place(entry.at.start);
                        found.push(Verification { kind: infer(&command), inferred: true, command, place });
                    }
                }
                PlacedData::Object(members) => found.extend(self.typed(&field, entry, members)),
                _ => self.wrong_type(&field, entry, "a command, or an object with `type` and `cmd`"),
            }
        }
        let has_errors =
            found.len() != entries.len() || matches!(value.data, PlacedData::Bool(_) | PlacedData::Number(_));
        (found, has_errors)
    }

    fn typed(
        &mut self,
        field: &str,
        entry: &PlacedValue<'_>,
        members: &[PlacedEntry<'_>],
    ) -> Option<Verification> {
        let member =
            |name: &str| members.iter().find(|member| member.key == name).map(|member| &member.value);
        let command_field = format!("{field}.cmd");
        let command = match member("cmd") {
            None => {
                let message = "`cmd` is missing";
                self.fault(FaultCode::EmptyCommand, &command_field, entry.at.start, message);
                None
            }
            Some(value) => match value.as_str() {
                Some(text) => self.command(&command_field, value.at.start, text),
                None => {
                    self.wrong_type(&command_field, value, "a command");
                    None
                }
            },
        };
        let mut kind = None;
        match member("type") {
            None => {}
            Some(value) => match value.as_str() {
                Some(word) => {
                    kind = VerificationKind::ALL.iter().copied().find(|kind| kind.as_str() == word.trim());
                    if kind.is_none() {
                        let near = did_you_mean(word, VerificationKind::ALL.iter().map(|kind| kind.as_str()));
                        let message = format!("expected one of pattern, unit, integration, smoke{near}");
                        self.fault(FaultCode::UnknownType, &format!("{field}.type"), value.at.start, message);
                    }
                }
                None => self.wrong_type(&format!("{field}.type"), value, "a text"),
            },
        }
        for member in members.iter().filter(|member| !keys::VERIFICATION.contains(&&*member.key)) {
            let inner = format!("{}{field}.", self.prefix);
            let prefix = std::mem::replace(&mut self.prefix, inner);
            self.other_key(member, &keys::VERIFICATION, &mut Object::new());
            self.prefix = prefix;
        }
        let command = command?;
        let place = self.place(entry.at.start);
        Some(Verification {
            kind: kind.unwrap_or_else(|| infer(&command)),
            inferred: kind.is_none(),
            command,
            place,
        })
    }

    fn command(&mut self, field: &str, at: usize, text: &str) -> Option<Command> {
        let fault = match Command::parse(text) {
            Ok(command) => {
                if command.needs_shell() {
                    let message = "a shell reads this command";
                    self.fault(FaultCode::ShellCommand, field, at, message);
                }
                return Some(command);
            }
            Err(fault) => fault,
        };
        let (code, message) = match &fault {
            CommandFault::Empty => (FaultCode::EmptyCommand, fault.to_string()),
            CommandFault::Unreadable(_) => (FaultCode::UnreadableCommand, fault.to_string()),
            CommandFault::Dangerous(danger) => {
                (FaultCode::DangerousCommand, format!("the command never runs: {danger}"))
            }
        };
        self.fault(code, field, at, message);
        None
    }

    fn optional_command(&mut self, field: &str, value: &PlacedValue<'_>) -> Option<Command> {
        match &value.data {
            PlacedData::Null => None,
            PlacedData::String(text) if text.trim().is_empty() => None,
            PlacedData::String(text) => self.command(field, value.at.start, text),
            _ => {
                self.wrong_type(field, value, "a command");
                None
            }
        }
    }

    /// Reads a text that must not be empty.
    fn name(&mut self, code: FaultCode, field: &str, value: &PlacedValue<'_>) -> String {
        let name = value.as_str().map(str::trim).unwrap_or_default();
        if name.is_empty() {
            let message = format!("expected a text that is not empty, found {}", empty_or_kind(value));
            self.fault(code, field, value.at.start, message);
        }
        name.to_owned()
    }

    fn text(&mut self, field: &str, value: &PlacedValue<'_>) -> Option<String> {
        match &value.data {
            PlacedData::Null => None,
            PlacedData::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            _ => {
                self.wrong_type(field, value, "a text");
                None
            }
        }
    }

    fn truth(&mut self, field: &str, value: &PlacedValue<'_>) -> bool {
        match value.data {
            PlacedData::Bool(truth) => truth,
            PlacedData::Null => false,
            _ => {
                self.wrong_type(field, value, "true or false");
                false
            }
        }
    }

    fn texts(&mut self, field: &str, value: &PlacedValue<'_>) -> Vec<String> {
        let elements = match &value.data {
            PlacedData::Array(elements) => elements,
            PlacedData::String(text) if !text.trim().is_empty() => return vec![text.trim().to_owned()],
            PlacedData::String(_) | PlacedData::Null => return Vec::new(),
            _ => {
                self.wrong_type(field, value, "a list of texts");
                return Vec::new();
            }
        };
        let mut texts = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            match element.as_str() {
                Some(text) => texts.push(text.trim().to_owned()),
                None => self.wrong_type(&format!("{field}[{index}]"), element, "a text"),
            }
        }
        texts.retain(|text| !text.is_empty());
        texts
    }

    /// Reads decisions: texts, or objects whose texts are joined.
    fn decisions(&mut self, value: &PlacedValue<'_>) -> Vec<String> {
        let PlacedData::Array(elements) = &value.data else { return self.texts("decisions", value) };
        let mut found = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            match &element.data {
                PlacedData::String(text) => found.push(text.trim().to_owned()),
                PlacedData::Object(members) => {
                    let texts: Vec<&str> =
                        members.iter().filter_map(|member| member.value.as_str()).collect();
                    found.push(texts.join(": "));
                }
                _ => self.wrong_type(&format!("decisions[{}]", index + 1), element, "a text or an object"),
            }
        }
        found
    }

    /// Reads the manual verification: `true`, a text, or a list of texts.
    fn manual(&mut self, value: &PlacedValue<'_>) -> Vec<String> {
        match &value.data {
            PlacedData::Bool(true) => vec!["check the acceptance criteria by hand".to_owned()],
            PlacedData::Bool(false) => Vec::new(),
            _ => self.texts("manualVerification", value),
        }
    }
}

/// Returns the error of a task that an unattended service must not start.
pub(super) fn pattern_only(task: &Task) -> Fault {
    let message = "a walkaway service runs unattended, and only patterns verify this task: add a unit, \
                   integration or smoke command";
    Fault {
        code: FaultCode::WalkawayPatternOnly,
        task: Some(task.id.to_string()),
        field: Some(task.field("verification")),
        message: message.to_owned(),
        place: task.verification.first().map_or_else(|| task.place.clone(), |entry| entry.place.clone()),
    }
}

/// Returns the members without duplicates, which are reported elsewhere.
fn first_occurrences<'m, 'a>(members: &'m [PlacedEntry<'a>]) -> impl Iterator<Item = &'m PlacedEntry<'a>> {
    let is_first = |at: usize| !members[..at].iter().any(|earlier| earlier.key == members[at].key);
    members.iter().enumerate().filter(move |(at, _)| is_first(*at)).map(|(_, member)| member)
}

fn did_you_mean<'k>(text: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    closest(text, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn empty_or_kind(value: &PlacedValue<'_>) -> &'static str {
    if value.as_str().is_some() { "an empty one" } else { value.kind() }
}

/// Makes an id or key safe and short enough for a message.
fn shown(text: &str) -> String {
    text::short(&text::escape_terminal(text), 64)
}
