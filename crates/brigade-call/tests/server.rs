//! Tests what an approval binds for a kept server.

use std::sync::Arc;

use brigade_call::ServerFact;
use brigade_core::Fingerprint;

fn fact(data: &[&str]) -> ServerFact {
    let set = |texts: &[&str]| Arc::new(texts.iter().map(|text| (*text).to_owned()).collect());
    ServerFact { tools: set(&["a", "b"]), effects: set(&["local-read"]), data: set(data) }
}

#[test]
fn approvals_from_before_data_was_bound_stay_valid() {
    let before = Fingerprint::builder("brigade.server.v1").list("effects", ["local-read"].iter()).finish();
    assert_eq!(fact(&[]).fingerprint(), before);
    assert_ne!(fact(&["data/**"]).fingerprint(), before);
}

#[test]
fn the_data_of_a_process_does_not_depend_on_the_entry() {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let one = ServerFact::all_data(Some(&fact(&["b/**"])), &own(&["c/**", "a/**"]));
    let other = ServerFact::all_data(Some(&fact(&["a/**", "c/**"])), &own(&["b/**"]));
    assert_eq!((&one, &one), (&other, &own(&["a/**", "b/**", "c/**"])));
    assert_eq!(ServerFact::all_data(None, &own(&["c/**", "a/**"])), own(&["c/**", "a/**"]));
}
