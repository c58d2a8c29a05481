use brigade_workspace::CATALOG;

use super::*;
use crate::testing::Bench;

const ENTRY: &str = "[[tool]]\nid = \"greet\"\nname = \"Greet\"\nfamily = \"script\"\ncommand = \"greet\"\n";

fn request(source: RegisterSource) -> RegisterRequest {
    RegisterRequest { sources: vec![source], level: Level::Project, id: None, replace: false, dry_run: false }
}

/// Registers a source in a catalog that already has `greet`. Expects a refusal whose first reason has this code.
#[track_caller]
fn check(source: RegisterSource, kind: ErrorKind, code: impl Code) {
    let bench = Bench::new(&[(CATALOG, ENTRY)]);
    let refused = register(&bench.context, &request(source)).unwrap_err();
    let report = refused.told.expect("the report has the reasons");
    assert_eq!(report.registered_count, 0, "{report:?}");
    let reasons = refused.failure.blockers();
    assert!(reasons.iter().map(|reason| &*reason.message).eq(report.errors.iter().map(|row| &*row.message)));
    assert_eq!((refused.failure.kind(), reasons[0].code.as_ref()), (kind, code.as_code()));
    assert_eq!(bench.read(CATALOG).as_deref(), Some(ENTRY));
}

#[test]
fn a_registration_that_is_refused_is_an_error_with_every_reason() {
    let again = RegisterSource::Text("tools.toml".to_owned(), ENTRY.to_owned());
    check(again, ErrorKind::Refused, ErrorCode::IdTaken);
    let unknown = RegisterSource::Reference("mcp:gone".to_owned());
    check(unknown, ErrorKind::Refused, ErrorCode::RefUnknown);
    // The command line names a file that is not there.
    check(RegisterSource::File("gone.toml".into()), ErrorKind::Usage, ErrorCode::FileUnreadable);
}
