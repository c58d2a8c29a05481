mod files;
mod references;
mod user;

use brigade_catalog::ApprovalMode;
use brigade_workspace::CATALOG;

use super::*;
use crate::RUNTIMES;
use crate::testing::Bench;

/// A catalog whose text must stay.
const KEPT: &str =
    "# mine\n[[tool]]\nid = \"own\" # the first\nname = \"Own\"\nfamily = \"script\"\ncommand = \"sh\"\n";

const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

fn request(sources: Vec<RegisterSource>) -> RegisterRequest {
    RegisterRequest { sources, level: Level::Project, id: None, replace: false, dry_run: false }
}

fn text(name: &str, text: &str) -> RegisterSource {
    RegisterSource::Text(name.to_owned(), text.to_owned())
}

fn refs(names: &[&str]) -> Vec<RegisterSource> {
    names.iter().map(|name| RegisterSource::Reference((*name).to_owned())).collect()
}

/// Registers, and returns the report.
#[track_caller]
fn done(bench: &Bench, request: &RegisterRequest) -> RegisterReport {
    let report = register(&bench.context, request).unwrap_or_else(|refused| panic!("{:#?}", refused.report));
    assert_eq!(report.registered_count, report.registered.len());
    report
}

/// Expects a refusal that changes no file, and returns its report.
#[track_caller]
fn refused(bench: &Bench, request: &RegisterRequest) -> RegisterReport {
    let files = || [CATALOG, RUNTIMES].map(|path| bench.read(path));
    let before = files();
    let refused = register(&bench.context, request).expect_err("a refusal");
    assert_eq!(files(), before);
    let report = *refused.report.unwrap_or_else(|| panic!("{}", refused.failure));
    let reasons = refused.failure.blockers();
    assert!(reasons.iter().map(|reason| &*reason.message).eq(report.errors.iter().map(|row| &*row.message)));
    assert_eq!((report.registered.len(), report.registered_count), (0, 0));
    report
}

/// Returns the codes and fields of the errors.
fn errors(report: &RegisterReport) -> Vec<(&str, &str)> {
    report.errors.iter().map(|row| (row.code.as_str(), row.field.as_deref().unwrap_or_default())).collect()
}

/// Returns the codes and fields of the notes.
fn notes(report: &RegisterReport) -> Vec<(&str, &str)> {
    report.notes.iter().map(|row| (row.code.as_str(), row.field.as_str())).collect()
}

/// Returns the entry of a tool, as later operations read it.
#[track_caller]
fn tool(bench: &Bench, id: &str) -> Tool {
    load::catalog(&bench.context).unwrap().tool(id).unwrap_or_else(|| panic!("no `{id}`")).clone()
}

/// Registers a source in a catalog that already has `own`. Expects a refusal whose first reason has this code.
#[track_caller]
fn check(source: RegisterSource, kind: ErrorKind, code: impl Code) {
    let bench = Bench::new(&[(CATALOG, KEPT)]);
    let failure = register(&bench.context, &request(vec![source])).unwrap_err().failure;
    assert_eq!((failure.kind(), failure.blockers()[0].code.as_ref()), (kind, code.as_code()));
    assert_eq!(bench.read(CATALOG).as_deref(), Some(KEPT));
}

#[test]
fn a_registration_that_is_refused_is_an_error_with_every_reason() {
    check(text("tools.toml", KEPT), ErrorKind::Refused, ErrorCode::IdTaken);
    let unknown = RegisterSource::Reference("mcp:gone".to_owned());
    check(unknown, ErrorKind::Refused, ErrorCode::RefUnknown);
    // The command line names a file that is not there.
    check(RegisterSource::File("gone.toml".into()), ErrorKind::Usage, ErrorCode::FileUnreadable);
}

#[test]
fn an_error_has_a_place_if_it_names_a_file() {
    let error = refusal(ErrorCode::IdTaken, "x.id".to_owned(), "taken");
    assert_eq!(error.place(), None);
    let of_file = RegisterErrorRow { file: Some("a.toml".to_owned()), ..error };
    assert_eq!(of_file.place().unwrap().to_string(), "a.toml");
    let of_line = RegisterErrorRow { line: Some(3), ..of_file };
    assert_eq!(of_line.place().unwrap().to_string(), "a.toml:3:1");
    let blocker = Blocker::from(&RegisterErrorRow { column: Some(5), ..of_line });
    assert_eq!(blocker.place.unwrap().to_string(), "a.toml:3:5");
    assert_eq!((blocker.code.as_ref(), blocker.field.as_deref()), ("id_taken", Some("x.id")));
}
