//! `plan`: lets the executive write a PRD, validates it, and stores it as a file of the user.

use std::path::PathBuf;

use brigade_core::json::{from_json, to_json};
use brigade_core::{Dialect, ErrorCode, ErrorKind, Json, NextStep, Object};
use brigade_fs::{FileKind, FileMode, FsError, FsErrorKind, OrAbsent, RelPath};
use brigade_kitchen::PrdName;
use brigade_kitchen::map::MAP_FILE;
use brigade_kitchen::plan::{Conversation, KitchenPlanReport, PlanQuestion, document, slug};
use brigade_kitchen::prd::{Fault, Lints, PrdReading, read};
use brigade_kitchen::prompt;
use brigade_kitchen::signal::{Exit, PlanningResult, Role, missing_verdict_reason, read_plan};
use brigade_policy::{Blocker, Failure};
use brigade_process::CancelToken;

use crate::executive::{Executive, ExecutiveReply, ExecutiveRequest};
use crate::gather::{LATEST, leads_out};
use crate::init::TASKS;
use crate::kitchen::Kitchen;
use crate::paths::{KITCHEN, PrdFiles};
use crate::run::random_hex;

/// The directory of open questions, in the directory of the kitchen.
const PLANS: &str = "plans";

/// The format version of its files.
const VERSION: u32 = 1;

/// How often the executive is started for one plan. The second time, it gets the faults of the first PRD.
const MAX_ATTEMPTS: u64 = 2;

/// The maximum length of a request and of an answer.
const MAX_WISH: usize = 256 << 10;

/// The maximum number of questions, and their maximum length.
const MAX_QUESTIONS: usize = 20;
const MAX_QUESTION: usize = 2_000;

/// The maximum size of a PRD file of the executive, and of a file with questions.
const MAX_FILE: u64 = 4 << 20;

/// The maximum number of faults in a prompt or an error.
const MAX_FAULTS: usize = 20;

/// The subject of a plan.
#[derive(Clone, Debug)]
pub enum PlanWish {
    /// A new feature.
    New(String),
    /// A plan whose questions are answered, by number.
    Continue {
        /// The id of the plan, or a unique prefix.
        id: String,
        /// The answers. The executive decides questions without an answer.
        answers: Vec<(usize, String)>,
    },
}

/// The options of `plan`.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The subject.
    pub wish: PlanWish,
    /// The path of the PRD; by default it is named after the feature.
    pub out: Option<RelPath>,
    /// Whether to leave out the map.
    pub without_map: bool,
    /// Cancels the executive.
    pub cancel: Option<CancelToken>,
}

/// A valid PRD of the executive.
struct Draft {
    text: String,
    reading: PrdReading,
    /// The file in which the executive wrote it.
    own_file: Option<RelPath>,
}

impl Kitchen<'_> {
    /// Lets the executive plan a feature, validates the PRD, writes it, and links `latest.json` to it. If the executive
    /// has questions, they are stored under an id.
    ///
    /// # Errors
    /// Fails if the tiers are not approved, the file exists, no plan has this id, the executive gives no valid PRD, or
    /// on a disk error.
    pub fn plan(&self, request: &PlanRequest) -> Result<KitchenPlanReport, Failure> {
        let mut conversation = match &request.wish {
            PlanWish::New(wish) => self.new_conversation(wish, request)?,
            PlanWish::Continue { id, answers } => {
                let mut conversation = self.conversation(id)?;
                conversation.answer(answers).map_err(|fault| {
                    let failure =
                        Failure::new(ErrorKind::Usage, format!("plan {}: {fault}", conversation.id));
                    failure.hint("each question is answered once, by its number")
                })?;
                conversation
            }
        };
        if let Some(out) = &request.out {
            conversation.out = Some(out.to_string());
        }
        conversation.with_map &= !request.without_map;
        let out = conversation.out.as_deref().map(|out| self.free_file(out)).transpose()?;
        let executive = self.executive()?;
        let mut report = KitchenPlanReport::new(self.target());
        let mut map = None;
        if conversation.with_map {
            let (excerpt, notes) = self.map_for_plan(&executive.settings)?;
            report.map_path = excerpt.as_ref().map(|_| MAP_FILE.to_owned());
            report.notes.extend(notes);
            map = excerpt;
        }
        let prompt_context = self.prompt_context(None, &executive.settings);
        let closed = self.closed_prds()?;
        let mut faults: Vec<String> = Vec::new();
        loop {
            report.attempts += 1;
            let ask = ExecutiveRequest {
                role: Role::Plan,
                number: report.attempts,
                closed: &closed,
                cancel: request.cancel.as_ref(),
                map: map.as_deref(),
                related: &prompt_context.related,
            };
            let (wish, answered) = (&conversation.wish, &conversation.answered);
            let reply = executive.ask(&ask, &|input| prompt::plan(input, wish, answered, &faults))?;
            report.runs.push(reply.run.to_string());
            report.cost_usd += reply.cost_usd(&executive.settings);
            let evidence = reply.attempted.evidence();
            let invalid = match read_plan(&evidence) {
                Some(PlanningResult::Questions(questions)) => {
                    self.keep_questions(&executive, &mut conversation, questions, &mut report)?;
                    return Ok(report);
                }
                Some(given) => match self.draft(&executive, &reply, given, &closed) {
                    Ok(draft) => {
                        self.write_prd(draft, out.as_ref(), &mut report)?;
                        self.forget(&conversation)?;
                        return Ok(report);
                    }
                    Err(DraftError::Faults(faults)) => faults,
                    Err(DraftError::Disk(error)) => return Err(error.into()),
                },
                None if evidence.exit == Exit::Interrupted => {
                    report.interrupted = true;
                    return Ok(report);
                }
                None if evidence.exit != Exit::Code(0) || evidence.limit.is_some() => {
                    let why = missing_verdict_reason(&evidence);
                    return Err(executive.failed(&reply.run, format!("the executive planned nothing: {why}")));
                }
                None => DraftFault::plain(missing_verdict_reason(&evidence)),
            };
            if MAX_ATTEMPTS <= report.attempts {
                return Err(not_valid(&executive, &reply, &report, &invalid));
            }
            faults = invalid.iter().take(MAX_FAULTS).map(|invalid| invalid.text.clone()).collect();
        }
    }

    fn new_conversation(&self, wish: &str, request: &PlanRequest) -> Result<Conversation, Failure> {
        let wish = wish.trim();
        if wish.is_empty() || MAX_WISH < wish.len() {
            let message = format!("expected a text of 1 to {MAX_WISH} bytes that says what to plan");
            return Err(Failure::new(ErrorKind::Usage, message));
        }
        let id =
            random_hex::<4>().map_err(|error| Failure::new(ErrorKind::Environment, error.to_string()))?;
        Ok(Conversation {
            version: VERSION,
            id: format!("plan-{id}"),
            created_at: self.now(),
            wish: wish.to_owned(),
            out: None,
            with_map: !request.without_map,
            answered: Vec::new(),
            questions: Vec::new(),
            other: Object::new(),
        })
    }

    fn plans(&self) -> RelPath {
        RelPath::from_static(KITCHEN).join(PLANS).expect("a file name in a directory is a path")
    }

    /// Finds the stored questions with an id or a unique prefix of one.
    fn conversation(&self, typed: &str) -> Result<Conversation, Failure> {
        let entries = self.fs.list_dir(&self.plans()).or_absent()?.unwrap_or_default();
        let ids: Vec<&str> = entries.iter().filter_map(|entry| entry.name.strip_suffix(".json")).collect();
        let fits = |id: &&&str| {
            !typed.is_empty() && (id.starts_with(typed) || id.starts_with(&format!("plan-{typed}")))
        };
        let found: Vec<&&str> = ids.iter().filter(fits).collect();
        let id = match found.as_slice() {
            [id] => **id,
            [] => {
                let message = format!("no plan `{typed}` waits for answers");
                let failure = Failure::new(ErrorKind::NotFound, message).coded(ErrorCode::PlanMissing);
                let waiting = ids.join(", ");
                return Err(match ids.is_empty() {
                    true => failure,
                    false => failure.hint(format!("there are {waiting}")),
                });
            }
            _ => {
                let found = found.iter().map(|id| (**id).to_owned()).collect();
                return Err(Failure::ambiguous("plan", typed, found));
            }
        };
        let path = self.plan_file(id);
        let bytes = self.fs.read(&path, MAX_FILE)?;
        let json = Json::parse_bytes(&bytes, Dialect::Strict).ok();
        let read: Option<Conversation> = json.and_then(|json| from_json(&json).ok());
        match read {
            Some(conversation) if conversation.version <= VERSION && conversation.id == id => {
                Ok(conversation)
            }
            Some(conversation) if VERSION < conversation.version => {
                let message = format!("a newer version of Brigade wrote `{path}`");
                Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::NewerVersion))
            }
            _ => {
                let message = format!("`{path}` is damaged");
                let failure = Failure::new(ErrorKind::InvalidConfig, message).coded(ErrorCode::PlanMissing);
                Err(failure.hint("delete it, and plan again"))
            }
        }
    }

    fn plan_file(&self, id: &str) -> RelPath {
        self.plans().join(&format!("{id}.json")).expect("the id of a plan is a file name")
    }

    fn keep_questions(
        &self,
        executive: &Executive,
        conversation: &mut Conversation,
        questions: Vec<String>,
        report: &mut KitchenPlanReport,
    ) -> Result<(), Failure> {
        let redactor = executive.host.redactor();
        let short = |text: &String| text.chars().take(MAX_QUESTION).collect::<String>();
        conversation.questions =
            questions.iter().take(MAX_QUESTIONS).map(|text| redactor.redact_str(&short(text))).collect();
        let mut stored = conversation.clone();
        stored.wish = redactor.redact_str(&stored.wish);
        for (_, answer) in &mut stored.answered {
            *answer = redactor.redact_str(answer);
        }
        let json =
            to_json(&stored).map_err(|_| Failure::new(ErrorKind::Environment, "a plan cannot be stored"))?;
        self.fs.create_dir_all(&self.plans())?;
        self.fs.write_atomic(&self.plan_file(&stored.id), json.to_pretty().as_bytes(), FileMode::Private)?;
        let question = |(text, number): (&String, u64)| PlanQuestion { number, text: text.clone() };
        report.questions = conversation.questions.iter().zip(1..).map(question).collect();
        report.continue_id = Some(stored.id.clone());
        report.next_command = Some(NextStep::ContinuePlan(stored.id).into());
        Ok(())
    }

    /// Removes the stored questions of a finished plan.
    fn forget(&self, conversation: &Conversation) -> Result<(), Failure> {
        self.fs.remove(&self.plan_file(&conversation.id)).or_absent()?;
        Ok(())
    }

    /// Lists the PRD files, which workers must not write.
    pub(crate) fn closed_prds(&self) -> Result<Vec<PathBuf>, Failure> {
        let candidates = self.candidates()?;
        Ok(candidates.into_iter().map(|candidate| self.fs.root().join(candidate.path.as_path())).collect())
    }

    /// Reads the PRD of the executive.
    fn draft(
        &self,
        executive: &Executive,
        reply: &ExecutiveReply,
        given: PlanningResult,
        before: &[PathBuf],
    ) -> Result<Draft, DraftError> {
        let (json, own_file) = self.planned(given, before).map_err(DraftError::Faults)?;
        let json = executive.host.redactor().redact_json(&json);
        let text = document(&json, self.now());
        let reading = read("the PRD", text.as_bytes(), executive.settings.lints());
        if !reading.errors.is_empty() {
            // The result file is removed with its run. This copy is for people.
            let kept = self.fs.write_atomic(&reply.draft_file(), text.as_bytes(), FileMode::Private);
            kept.map_err(DraftError::Disk)?;
            return Err(DraftError::Faults(DraftFault::all(&reading)));
        }
        Ok(Draft { text, reading, own_file })
    }

    /// Returns the object of the executive's PRD, and the new file that it is in.
    fn planned(
        &self,
        given: PlanningResult,
        before: &[PathBuf],
    ) -> Result<(Json, Option<RelPath>), Vec<DraftFault>> {
        let path = match given {
            PlanningResult::Prd(json) => return Ok((*json, None)),
            PlanningResult::Questions(_) => return Err(DraftFault::plain("a PRD is missing")),
            PlanningResult::Path(path) => path,
        };
        let found = self.named_file(&path);
        let (file, bytes) = found.map_err(|why| DraftFault::plain(format!("`{path}`: {why}")))?;
        let reading = read(file.as_str(), &bytes, Lints::NONE);
        if !reading.errors.is_empty() {
            return Err(DraftFault::all(&reading));
        }
        let json = Json::parse_bytes(&bytes, Dialect::Strict);
        let json = json.map_err(|error| DraftFault::plain(format!("not JSON: {}", error.kind)))?;
        let is_new = !before.contains(&self.fs.root().join(file.as_path()));
        Ok((json, Some(file).filter(|_| is_new)))
    }

    /// Reads a file that the executive named.
    fn named_file(&self, path: &str) -> Result<(RelPath, Vec<u8>), String> {
        let path: RelPath = path.parse().map_err(|_| "it leads out of the workspace".to_owned())?;
        if path.as_str().starts_with(".brigade/") || path.as_str().starts_with(".git/") {
            return Err("it is a file of Brigade or git".to_owned());
        }
        match self.fs.link_metadata(&path) {
            Ok(found) if found.kind == FileKind::File => {}
            Ok(_) => return Err("it is not a regular file".to_owned()),
            Err(error) => return Err(error.kind.to_string()),
        }
        let bytes = self.fs.read(&path, MAX_FILE).map_err(|error| error.kind.to_string())?;
        Ok((path, bytes))
    }

    /// Returns a path that is not in use.
    fn free_file(&self, out: &str) -> Result<RelPath, Failure> {
        let path: RelPath = out.parse().map_err(|_| leads_out(out))?;
        let path = self.inside(&path)?;
        let is_json = path.name().ends_with(".json") && !path.name().ends_with(".state.json");
        if !is_json || PrdName::of_path(path.as_str()).is_err() {
            let message =
                format!("`{path}` cannot be the file of a PRD: expected a name such as `prd-login.json`");
            return Err(Failure::new(ErrorKind::Usage, message));
        }
        if self.is_taken(&path)? {
            let message = format!("`{path}` exists, or Brigade keeps the journal of a PRD of this name");
            let failure = Failure::new(ErrorKind::Usage, message).coded(ErrorCode::FileExists);
            return Err(failure.hint(NextStep::NameFile));
        }
        Ok(path)
    }

    /// Returns whether the file exists, or a journal exists for its name.
    fn is_taken(&self, path: &RelPath) -> Result<bool, Failure> {
        let Ok(name) = PrdName::of_path(path.as_str()) else { return Ok(true) };
        let is_there = match self.fs.link_metadata(path) {
            Ok(_) => true,
            Err(error) if matches!(error.kind, FsErrorKind::NotFound | FsErrorKind::NotADirectory) => false,
            Err(error) => return Err(error.into()),
        };
        Ok(is_there || self.fs.exists(&PrdFiles::new(&name).journal())?)
    }

    fn write_prd(
        &self,
        draft: Draft,
        out: Option<&RelPath>,
        report: &mut KitchenPlanReport,
    ) -> Result<(), Failure> {
        let Draft { text, reading, own_file } = draft;
        let is_usable = |file: &RelPath| {
            file.name().starts_with("prd-")
                && file.parent().as_str() == TASKS
                && PrdName::of_path(file.as_str()).is_ok()
        };
        let adopted = own_file.as_ref().filter(|file| out.is_none() && is_usable(file));
        let path = match (out, adopted) {
            (Some(out), _) => out.clone(),
            (None, Some(file)) => file.clone(),
            (None, None) => self.free_name(&slug(&reading.prd.feature_name))?,
        };
        self.create_shared_dir(path.parent().as_str())?;
        if adopted.is_some() {
            self.fs.write_atomic(&path, text.as_bytes(), FileMode::KeepOr(0o644))?;
        } else {
            self.fs.create_new_durable(&path, text.as_bytes())?;
            self.fs.set_mode(&path, 0o644)?;
            if let Some(file) = own_file {
                report.notes.push(format!("the executive left {file}, which was copied"));
            }
        }
        report.feature_name = Some(reading.prd.feature_name.clone());
        report.tasks = reading.prd.tasks.iter().map(|task| task.id.clone()).collect();
        let warning = |mut fault: Fault| {
            fault.place.file = path.to_string();
            fault
        };
        report.warnings = reading.warnings.into_iter().map(warning).collect();
        match self.link_latest(&path)? {
            None => report.latest = true,
            Some(why) => report.notes.push(why),
        }
        report.next_command = Some(NextStep::ApprovePrd(path.to_string()).into());
        report.prd_path = Some(path.to_string());
        Ok(())
    }

    fn free_name(&self, slug: &str) -> Result<RelPath, Failure> {
        let tasks = RelPath::from_static(TASKS);
        for number in 1..1000 {
            let number = if number == 1 { String::new() } else { format!("-{number}") };
            let path =
                tasks.join(&format!("prd-{slug}{number}.json")).expect("a slug is part of a file name");
            if !self.is_taken(&path)? {
                return Ok(path);
            }
        }
        let message = format!("there are too many PRDs named `prd-{slug}`");
        Err(Failure::new(ErrorKind::Refused, message).coded(ErrorCode::FileExists).hint(NextStep::NameFile))
    }

    /// Makes `latest.json` a link to the PRD. Returns why not, if something else has that name.
    fn link_latest(&self, prd: &RelPath) -> Result<Option<String>, Failure> {
        let tasks = RelPath::from_static(TASKS);
        let link = tasks.join(LATEST).expect("a file name in a directory is a path");
        if self.fs.link_metadata(&link).or_absent()?.is_some_and(|found| found.kind != FileKind::Link) {
            return Ok(Some(format!("{link} stays what it is: it is not a link")));
        }
        let target = match prd.as_str().strip_prefix(&format!("{TASKS}/")) {
            Some(name) => name.to_owned(),
            None => format!("../../{prd}"),
        };
        self.create_shared_dir(TASKS)?;
        let random =
            random_hex::<4>().map_err(|error| Failure::new(ErrorKind::Environment, error.to_string()))?;
        let fresh = tasks.join(&format!(".{LATEST}.{random}")).expect("a file name in a directory is a path");
        let made = rustix::fs::symlink(&target, self.fs.root().join(fresh.as_path()));
        if let Err(error) = made {
            let error = std::io::Error::from(error);
            return Ok(Some(format!("{link} was not made: {error}")));
        }
        self.fs.rename(&fresh, &link)?;
        Ok(None)
    }
}

/// Why there is no draft.
enum DraftError {
    /// What is wrong with the executive's PRD.
    Faults(Vec<DraftFault>),
    /// It could not be kept for people.
    Disk(FsError),
}

/// A fault of the executive's PRD.
struct DraftFault {
    text: String,
    blocker: Blocker,
}

impl DraftFault {
    fn plain(text: impl Into<String>) -> Vec<DraftFault> {
        let text = text.into();
        vec![DraftFault { blocker: Blocker::new(ErrorCode::ChefFailed, text.clone()), text }]
    }

    fn all(reading: &PrdReading) -> Vec<DraftFault> {
        reading.errors.iter().map(DraftFault::from_fault).collect()
    }

    fn from_fault(fault: &Fault) -> DraftFault {
        let field = fault.field.as_ref().map(|field| format!("{field}: ")).unwrap_or_default();
        let task = fault.task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
        let text = format!("{task}{field}{}", fault.message);
        let blocker = Blocker::new(fault.code, format!("{task}{}", fault.message));
        DraftFault { text, blocker }
    }
}

/// Returns the error with all faults of the last PRD.
fn not_valid(
    executive: &Executive,
    reply: &ExecutiveReply,
    report: &KitchenPlanReport,
    invalid: &[DraftFault],
) -> Failure {
    let message = format!("the executive was asked {} times, and its PRD is not valid", report.attempts);
    let reasons = invalid.iter().take(MAX_FAULTS).map(|invalid| invalid.blocker.clone());
    let draft = reply.draft_file();
    let failure = match executive.host.fs.exists(&draft) {
        Ok(true) => Failure::new(ErrorKind::Refused, message)
            .coded(ErrorCode::ChefFailed)
            .hint(NextStep::ReadFile(draft.to_string())),
        _ => executive.failed(&reply.run, message),
    };
    failure.because(reasons)
}
