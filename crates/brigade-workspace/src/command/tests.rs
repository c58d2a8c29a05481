#![allow(clippy::disallowed_methods, reason = "a link is made on a real disk")]

mod plans;

use super::*;
use crate::testing::{Bench, json};

fn command(line: &str, cwd: Option<&str>) -> Tool {
    let tool = entry(COMMAND).unwrap().clone();
    Tool { command: Some(line.to_owned()), cwd: cwd.map(str::to_owned), ..tool }
}

#[test]
fn a_command_only_reads_if_its_program_is_the_systems() {
    let bench = Bench::on_disk(&[]).with_variables(&[("PATH", "/bin:/usr/bin")]);
    bench.program("cat", "#!/bin/sh\n");
    for (line, expect) in [
        ("cat a.txt", true),
        ("./cat a.txt", false),
        ("rm a.txt", false),
        ("cat", true),
        ("sh -c 'rm a'", false),
        ("'", false),
    ] {
        assert_eq!(command_only_reads(&bench.host(), &command(line, None)), expect, "{line}");
    }
    let other = Tool { id: "cat".parse().unwrap(), ..command("cat a", None) };
    assert!(!command_only_reads(&bench.host(), &other), "only commands of agents are looked at");
}

#[test]
fn a_command_in_a_lane_starts_no_program_of_the_workspace_beside_it() {
    let bench = Bench::on_disk(&[]).with_variables(&[("PATH", "/bin:/usr/bin")]);
    bench.program("bin/own", "#!/bin/sh\n");
    bench.program(".brigade/lanes/l/bin/own", "#!/bin/sh\n");
    let lane = Some(".brigade/lanes/l");
    for (line, cwd, expect) in [
        ("bin/own", lane, false),
        ("sh run.sh", lane, false),
        ("../../../bin/own", lane, true),
        ("env A=1 ../../../bin/own", lane, true),
        ("../../../bin/gone", lane, true),
        ("/bin/cat x", lane, false),
        ("bin/own", None, false),
        ("bin/own", Some("sub"), false),
    ] {
        let found = program_outside_its_lane(&bench.host(), &command(line, cwd));
        assert_eq!(found.is_some(), expect, "{line}: {found:?}");
    }
}

#[test]
fn the_directory_of_a_command_stays_in_its_lane() {
    let lane = Some(".brigade/lanes/l/sub");
    for (cwd, real, expect) in [
        (lane, None, false),
        (lane, Some(".brigade/lanes/l/other"), false),
        (lane, Some(".brigade/lanes/m"), true),
        (lane, Some("src"), true),
        (Some("src"), Some(".brigade/lanes/l"), false),
        (None, None, false),
    ] {
        assert_eq!(leaves_its_lane(&command("ls", cwd), real).is_some(), expect, "{cwd:?} {real:?}");
    }
}

#[test]
fn launchers_are_left_out_of_what_a_command_starts() {
    let started = |line: &str| {
        let commands = started(&Argv::parse(line).unwrap(), &|typed, known| typed == known);
        commands.into_iter().map(|words| words.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(started("ls -l"), ["ls -l"]);
    assert_eq!(started("timeout 5 ls -l"), ["ls -l"]);
    assert_eq!(started("env A=1 timeout 5 ls"), ["ls"]);
    // A file with the name of a launcher is not the launcher.
    let own = super::started(&Argv::parse("timeout 5 ls").unwrap(), &|_, _| false);
    assert_eq!(own.iter().map(|words| words[0].as_str()).collect::<Vec<_>>(), ["timeout", "ls"]);
}

#[test]
fn a_word_is_the_word_of_a_profile_if_file_and_name_are_the_same() {
    let bench = Bench::on_disk(&[]).with_variables(&[("PATH", "/bin:/usr/bin")]);
    bench.program("bin/tool", "#!/bin/sh\n");
    std::os::unix::fs::symlink("tool", bench.path("bin/alias")).unwrap();
    std::os::unix::fs::symlink("bin/tool", bench.path("tool")).unwrap();
    let root = bench.context.fs.root().to_owned();
    let same = |typed: &str, allowed: &str| is_same(&bench.host(), (&root, typed), (&root, allowed));
    for (typed, allowed, expect) in [
        ("bin/tool", "bin/tool", true),
        ("./bin/tool", "bin/tool", true),
        ("./tool", "bin/tool", true),
        ("bin/alias", "bin/tool", false),
        ("bin/gone", "bin/gone", false),
        ("sh", "sh", true),
        ("bin/tool", "tool", false),
    ] {
        assert_eq!(same(typed, allowed), expect, "{typed} {allowed}");
    }
}

#[test]
fn a_program_behind_a_link_is_named_by_its_file() {
    let bench = Bench::on_disk(&[]).with_variables(&[("PATH", "/bin:/usr/bin")]);
    bench.folder("bin");
    std::os::unix::fs::symlink("/bin/sh", bench.path("bin/editor")).unwrap();
    let behind = |line: &str| -> bool { !behind_links(&bench.host(), &command(line, None)).is_empty() };
    assert!(behind("bin/editor -c 'rm -r x'") && !behind("bin/gone"));
    let made = behind_links(&bench.host(), &command("bin/editor -c 'rm -r x'", None));
    assert!(made.iter().all(|argv| argv.program() != "bin/editor"), "{made:?}");
    assert!(behind_links(&bench.host(), entry("fs.read").unwrap()).is_empty());
}

#[test]
fn an_entry_is_made_for_a_command_and_for_a_configured_program() {
    let bench = Bench::new(&[
        (crate::CATALOG, ""),
        (
            crate::GATEWAY,
            "[web]\nsearch = { command = 'finder --json' }\n[issues]\ncommand = 'tracker x'\nenv = ['KEY']\n",
        ),
    ]);
    let config = bench.config();
    let make = |id: &str, args: &str, root: Option<&str>| {
        let made = config.command(&bench.host(), id, &json(args), &Caller::CommandLine, None, root);
        made.map(|tool| (tool.command.unwrap_or_default(), tool.cwd))
    };
    let cwd = |path: &str| Some(path.to_owned());
    assert_eq!(make(COMMAND, "{\"command\": \"ls\"}", None), Some(("ls".to_owned(), None)));
    let lane = Some(".brigade/lanes/l");
    assert_eq!(
        make(COMMAND, "{\"command\": \"ls\"}", lane),
        Some(("ls".to_owned(), cwd(".brigade/lanes/l")))
    );
    let sub = "{\"command\": \"ls\", \"cwd\": \"sub\"}";
    assert_eq!(make(COMMAND, sub, lane), Some(("ls".to_owned(), cwd(".brigade/lanes/l/sub"))));
    assert!(make(SEARCH, "{\"query\": \"x\"}", None).unwrap().0.starts_with("finder"));
    assert!(make("issue.get", "{\"id\": \"x\"}", None).unwrap().0.starts_with("tracker"));
    assert_eq!(make(SCREENSHOT, "{}", None), None, "no program captures");
    assert_eq!(make("fs.read", "{\"path\": \"x\"}", None), None);
    assert_eq!(make("gone", "{}", None), None);
}

#[test]
fn an_agent_that_is_gone_has_no_command() {
    let bench = Bench::new(&[(crate::CATALOG, ""), (crate::GATEWAY, "[[agent]]\nname = 'ada'\n")]);
    let config = bench.config();
    let refused = |agent: Option<&str>| {
        let caller = agent.map_or(Caller::CommandLine, |name| Caller::Agent(name.to_owned()));
        let reason = config.command_outside(&bench.host(), &command("ls", None), &caller);
        reason.map(|reason| reason.message)
    };
    assert_eq!((refused(None), refused(Some("ada"))), (None, None));
    assert_eq!(refused(Some("eve")).as_deref(), Some("the agent is not in gateway.toml any more"));
}
