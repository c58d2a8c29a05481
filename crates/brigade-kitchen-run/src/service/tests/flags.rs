//! Flags that the installed program or the policy rejects.

use super::*;

#[test]
fn unknown_flag_is_named_and_not_retried() {
    let script = "for flag; do [ $flag = --odd ] && { echo \"error: unexpected argument '--odd' found\" >&2; exit 2; }; done";
    let world = World::new(&tasks(&[("a", "true", &[])]), "", script);
    let path = world.folder.join("work/.brigade/kitchen.toml");
    let row = "[[adapter]]\nid = \"odd\"\nprogram = \"worker.sh\"\nprompt = \"stdin\"\nargs = [\"--odd\"]\nanswer = \"text\"\n";
    fs::write(&path, fs::read_to_string(&path).unwrap() + row).unwrap();
    world.approve();
    let report = world.serve();
    assert_eq!((report.outcome, world.starts("work", "a")), (Outcome::Paused, 1));
    let reason = report.reason.unwrap();
    assert!(reason.contains("worker.sh` does not know the flag `--odd`"), "{reason}");
}

#[test]
fn merge_and_push_need_the_policy() {
    let world = World::new(&tasks(&[("a", "true", &[])]), "", WRITES);
    world.approve();
    let flags = Flags { push: true, ..Flags::default() };
    let options = ServiceOptions { flags, ..ServiceOptions::default() };
    let refused = world.try_serve(&options, &NoFollower).unwrap_err();
    assert!(refused.to_string().contains("`--push`"), "{refused}");
}
