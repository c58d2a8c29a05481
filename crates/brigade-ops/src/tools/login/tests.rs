use brigade_workspace::POLICY;

use super::*;
use crate::RUNTIMES;
use crate::testing::Bench;

const SERVERS: &str = "[[runtime]]\nid = \"far\"\nname = \"Far\"\nurl = \"https://far.example/mcp\"\nenabled = true\n\
[[runtime]]\nid = \"here\"\nname = \"Here\"\ncommand = \"server\"\n\
[[runtime]]\nid = \"bad\"\nname = 3\nurl = \"https://bad.example/mcp\"\n\
[[runtime]]\nid = \"keyed\"\nname = \"Keyed\"\nurl = \"https://far.example/keyed\"\nheaders = { Authorization = \"KEY\" }\n";

fn site() -> Bench {
    Bench::of_user(&[(RUNTIMES, SERVERS)])
}

#[track_caller]
fn check_refused(bench: &Bench, server: &str, kind: ErrorKind) -> Error {
    let request = LoginRequest { server: server.to_owned(), no_browser: true, ..LoginRequest::default() };
    let error = login(&bench.context, &request, &mut |url| panic!("{url} is shown")).unwrap_err();
    assert_eq!(error.kind(), kind, "{server}: {error}");
    error
}

#[test]
fn only_a_remote_server_has_a_login() {
    let bench = site();
    check_refused(&bench, "gone", ErrorKind::NotFound);
    assert_eq!(check_refused(&bench, "here", ErrorKind::Usage).code(), ErrorCode::LoginFailed);
    check_refused(&bench, "bad", ErrorKind::InvalidConfig);
    assert_eq!(logout(&bench.context, "here").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn nobody_is_asked_that_the_policy_does_not_name() {
    let bench = site();
    for policy in ["", "[mcp]\nremote = [\"https://other.example\"]\n"] {
        bench.write(POLICY, policy);
        let error = check_refused(&bench, "far", ErrorKind::Refused);
        assert_eq!(error.code(), ErrorCode::PolicyMcpRemote);
        assert!(error.hints()[0].to_string().contains("\"https://far.example\""), "{error:?}");
    }
}

#[test]
fn tokens_need_a_home() {
    let bench = Bench::new(&[(RUNTIMES, SERVERS)]);
    check_refused(&bench, "far", ErrorKind::Environment);
}

#[test]
fn an_error_of_the_server_is_a_refusal_and_one_of_the_machine_is_not() {
    for (error, kind) in [
        (RemoteError::NoHost("x".to_owned()), ErrorKind::Environment),
        (RemoteError::Redirect("https://x".to_owned()), ErrorKind::Refused),
    ] {
        let error = not_made("far\u{1b}", &error);
        assert_eq!((error.kind(), error.code()), (kind, ErrorCode::LoginFailed));
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn times_of_tokens_are_whole_seconds() {
    for (micros, expect) in [(0, 0), (1_999_999, 1), (2_000_000, 2)] {
        assert_eq!(seconds(Timestamp::from_unix_micros(micros)), expect);
    }
}
