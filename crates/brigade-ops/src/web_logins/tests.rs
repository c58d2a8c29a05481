use std::time::Duration;

use brigade_testkit::TickingClock;

use super::*;
use crate::testing::Bench;

const PAGE: &str = "http://127.0.0.1:1";

fn logins(clock: &Arc<TickingClock>) -> (WebLogins, Bench) {
    let bench = Bench::new(&[]);
    let mut context = WorkspaceContext::new(bench.context.fs.clone());
    context.clock = clock.clone();
    (WebLogins::new(Arc::new(context)), bench)
}

#[test]
fn a_token_logs_in_once_at_its_page() {
    let (logins, _bench) = logins(&Arc::new(TickingClock::new()));
    let token = logins.begin(PAGE).unwrap();
    assert!(!logins.take("http://127.0.0.1:2", token.expose()).unwrap());
    assert!(!logins.take(PAGE, "other").unwrap());
    assert!(logins.take(PAGE, token.expose()).unwrap());
    assert!(!logins.take(PAGE, token.expose()).unwrap());
}

#[test]
fn a_token_ends_after_its_time() {
    let clock = Arc::new(TickingClock::new());
    let (logins, _bench) = logins(&clock);
    let (old, young) = (logins.begin(PAGE).unwrap(), logins.begin(PAGE).unwrap());
    clock.advance(TOKEN_LIFETIME - Duration::from_secs(10));
    assert!(logins.take(PAGE, young.expose()).unwrap());
    clock.advance(Duration::from_secs(10));
    assert!(!logins.take(PAGE, old.expose()).unwrap());
}

#[test]
fn only_hashes_are_stored_and_at_most_so_many() {
    let (logins, bench) = logins(&Arc::new(TickingClock::new()));
    let first = logins.begin(PAGE).unwrap();
    for _ in 0..MAX_TOKENS {
        let login = logins.another().unwrap();
        assert_eq!((login.url.as_str(), login.pid), (PAGE, std::process::id()));
    }
    let text = bench.read(TOKENS).unwrap();
    assert!(!text.contains(first.expose()));
    assert_eq!(text.matches("\"sha256\"").count(), MAX_TOKENS);
    assert!(!logins.take(PAGE, first.expose()).unwrap(), "the oldest one is dropped");
}

#[test]
fn another_token_needs_a_page_that_is_served() {
    let (logins, bench) = logins(&Arc::new(TickingClock::new()));
    let missing = || logins.another().unwrap_err().kind();
    assert_eq!(missing(), ErrorKind::NotFound);
    logins.begin(PAGE).unwrap();
    assert!(logins.another().is_ok());
    // A file that was edited has no tokens and no page.
    let text = bench.read(TOKENS).unwrap();
    bench.write(TOKENS, &text.replace("127.0.0.1:1", "127.0.0.1:9"));
    assert_eq!(missing(), ErrorKind::NotFound);
}

#[test]
fn tokens_of_another_host_or_format_do_not_count() {
    let (logins, bench) = logins(&Arc::new(TickingClock::new()));
    let token = logins.begin(PAGE).unwrap();
    let good = bench.read(TOKENS).unwrap();
    let other = WebLogins::new(Arc::new(WorkspaceContext::new(bench.context.fs.clone())));
    assert!(!other.take(PAGE, token.expose()).unwrap());
    for bad in ["{", "[]", &good.replace(SCHEMA, "brigade.web.v2")] {
        bench.write(TOKENS, bad);
        assert!(!logins.take(PAGE, token.expose()).unwrap(), "{bad}");
    }
    bench.write(TOKENS, &good);
    assert!(logins.take(PAGE, token.expose()).unwrap());
}
