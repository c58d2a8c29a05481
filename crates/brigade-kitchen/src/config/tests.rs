use proptest::prelude::*;

use super::*;

fn shell(text: &str) -> Config {
    Config::read(Some(ConfigFile { name: "brigade.config", bytes: text.as_bytes() }), None)
}

fn tables(text: &str) -> Config {
    Config::read(None, Some(ConfigFile { name: "kitchen.toml", bytes: text.as_bytes() }))
}

/// The issues as `severity line:column field`.
fn issues(config: &Config) -> Vec<String> {
    let row = |issue: &ConfigIssue| {
        let (line, column) = (issue.place.line.unwrap_or_default(), issue.place.column.unwrap_or_default());
        format!("{} {line}:{column} {}", issue.severity.as_str(), issue.field.as_deref().unwrap_or("-"))
    };
    config.issues.iter().map(row).collect()
}

#[test]
fn keys_are_unique_and_have_both_names() {
    for (at, key) in KEYS.iter().enumerate() {
        assert!(KEYS[..at].iter().all(|other| other.toml != key.toml), "{}", key.toml);
        assert!(
            key.shell.is_empty() || KEYS[..at].iter().all(|other| other.shell != key.shell),
            "{}",
            key.shell
        );
        assert!(!key.meaning.trim().is_empty() && !is_trap(key.shell));
    }
    assert_eq!(KEYS.iter().filter(|key| !key.shell.is_empty()).count(), 77);
}

/// Returns whether the name of a used key would count as unused.
fn is_trap(name: &str) -> bool {
    keys::is_unused(name) && !name.starts_with("SMART_RETRY_")
}

#[test]
fn the_three_quotings_export_and_comments_are_read() {
    let config = shell(
        "# a comment\n\
         export EXECUTIVE_CMD=\"claude --model opus\" # behind\n\
         SOUS_CMD='my agent --x'\n\
         LINE_CMD=opencode\\ --model\\ 'a/b'\"-c\"; MAX_PARALLEL=2\n\
         TEST_CMD=\"npm test -- \\\"a b\\\" \\$x\"\n\
         ACTIVITY_LOG=\n\
         \n\
         \texport MAX_ITERATIONS=7 ESCALATION_AFTER=4\r\n\
         export MAX_ITERATIONS\n\
         LINE_AGENT=\"a\\\nb\"\n",
    );
    assert_eq!(config.issues, []);
    let settings = &config.settings;
    assert_eq!(settings.executive_cmd.argv().words(), ["claude", "--model", "opus"]);
    assert_eq!(settings.sous_cmd.text(), "my agent --x");
    assert_eq!(settings.line_cmd.text(), "opencode --model a/b-c");
    assert_eq!((settings.max_parallel, settings.max_iterations, settings.escalation_after), (2, 7, 4));
    assert_eq!(settings.test_cmd.as_ref().unwrap().text(), "npm test -- \"a b\" $x");
    assert_eq!((settings.activity_log.as_str(), settings.line_agent.as_str()), ("", "ab"));
    assert_eq!(config.places["max_iterations"], Place::at("brigade.config", 8, 9));
}

#[test]
fn values_that_are_not_literals_are_issues() {
    let config = shell(
        "MAX_PARALLEL=$X\n\
         EXECUTIVE_CMD=\"claude $(id)\"\n\
         SOUS_CMD=`id`\n\
         MAX_ITERATIONS=(1 2\n 3)\n\
         LEARNINGS_MAX=1; QUIET_WORKERS=true | cat\n\
         source other.config\n\
         if [ -f x ]; then\n  LINE_CMD=mine\nfi\n\
         STATUS_WATCH_INTERVAL=5 echo x\n\
         ESCALATION_AFTER+=1\n\
         f() { rm -rf x; }\n\
         ACTIVITY_LOG=~/x\n\
         WORKER_LOG_DIR='never closed\n",
    );
    assert_eq!(
        issues(&config),
        [
            "warning 7:1 -",
            "warning 8:1 -",
            "warning 10:1 -",
            "warning 13:1 -",
            "warning 1:1 MAX_PARALLEL",
            "error 2:1 EXECUTIVE_CMD",
            "error 3:1 SOUS_CMD",
            "warning 4:1 MAX_ITERATIONS",
            "warning 6:18 QUIET_WORKERS",
            "error 9:3 LINE_CMD",
            "warning 11:1 STATUS_WATCH_INTERVAL",
            "warning 12:1 ESCALATION_AFTER",
            "warning 14:1 ACTIVITY_LOG",
            "warning 15:1 WORKER_LOG_DIR",
        ]
    );
    assert!(config.refuses());
    let expect = Settings { learnings_max: 1, ..Settings::default() };
    assert_eq!(config.settings, expect);
}

#[test]
fn a_value_that_is_taken_back_is_none() {
    let config = shell("LINE_CMD=codex\nMAX_PARALLEL=2\nunset -v LINE_CMD MAX_PARALLEL\nunset -f SOUS_CMD\n");
    let mut found = issues(&config);
    found.sort();
    assert_eq!(found, ["error 3:10 LINE_CMD", "warning 3:19 MAX_PARALLEL", "warning 4:1 -"]);
    assert!(config.refuses());
    for taking in
        ["unset 'LINE_CMD'", "read -r x \"LINE_CMD\"", "[ a ] && unset LINE_\\CMD", "printf -v LINE_CMD b"]
    {
        let config = shell(&format!("LINE_CMD=codex\n{taking}\n"));
        assert!(issues(&config).iter().any(|issue| issue.starts_with("error 2:")), "{taking}");
        assert!(config.refuses(), "{taking}");
    }
    let config = shell("LINE_CMD=codex\necho LINE_CMD\n");
    assert_eq!(issues(&config), ["warning 2:1 -"]);
}

#[test]
fn an_expansion_is_one_issue_and_hides_no_keys() {
    for text in ["$(a b)", "$(a \"b )\" (c d) )", "`a b`", "${a:-b c}", "x$(a b)y", "$(a\n b)"] {
        let config = shell(&format!("TEST_CMD={text}\nMAX_PARALLEL=2\n"));
        assert_eq!(issues(&config), ["error 1:1 TEST_CMD"], "{text}");
        assert_eq!(config.settings.max_parallel, 2, "{text}");
    }
    // An unclosed construct ends with its line.
    for text in ["$(a b", "(a b", "`a b", "${a"] {
        let config = shell(&format!("ACTIVITY_LOG={text}\nMAX_PARALLEL=2\n"));
        assert_eq!(config.settings.max_parallel, 2, "{text}");
        assert_eq!(issues(&config).len(), 1, "{text}");
    }
}

#[test]
fn values_out_of_range_keep_the_default() {
    let config = shell(
        "ESCALATION_AFTER=0\nPHASE_GATE=maybe\nQUIET_WORKERS=yes\nMAX_PARALLEL=65\nLEARNINGS_FILE=../x\n",
    );
    assert_eq!(config.settings, Settings::default());
    let messages: Vec<&str> = config.issues.iter().map(|issue| issue.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "expected a whole number from 1 to 100",
            "expected one of continue, pause, review",
            "expected true or false",
            "expected a whole number from 0 to 64",
            "expected a relative path without `..`",
        ]
    );
    assert!(!config.refuses());
    assert!(shell("TEST_CMD='sudo make test'\n").refuses() && shell("LINE_CMD=\"x 'y\"\n").refuses());
}

#[test]
fn unknown_keys_say_what_was_meant() {
    let config = shell("ESCALATION_AFTR=2\nCODEX_MODEL=x\nSMART_RETRY_CUSTOM=1\nFOO=1\n");
    assert_eq!(
        issues(&config),
        [
            "warning 1:1 ESCALATION_AFTR",
            "info 2:1 CODEX_MODEL",
            "info 3:1 SMART_RETRY_CUSTOM",
            "warning 4:1 FOO"
        ]
    );
    assert_eq!(config.issues[0].hint, Some(Hint::from("did you mean `ESCALATION_AFTER`?".to_owned())));
    let config = tables(
        "max_paralel = 2\nMAX_PARALLEL = 2\ncost_usd = 1.0\n[tier.lin]\ncommand = 'x'\n[budget]\nminute = 1\n",
    );
    let hints: Vec<String> =
        config.issues.iter().map(|issue| format!("{}", issue.hint.as_ref().unwrap())).collect();
    assert_eq!(issues(&config).len(), 5);
    for near in ["max_parallel", "budget.cost_usd", "budget.minutes"] {
        assert!(hints.iter().any(|hint| hint.contains(near)), "{near}: {hints:?}");
    }
}

#[test]
fn tables_win_over_the_shell_file_and_flags_over_both() {
    let config = Config::read(
        Some(ConfigFile { name: "brigade.config", bytes: b"MAX_PARALLEL=2\nMAX_ITERATIONS=9\n" }),
        Some(ConfigFile {
            name: "kitchen.toml",
            bytes: b"max_parallel = 5\nworktrees = 'off'\n[tier.sous]\ncommand = 'codex'\nenv_labels = ['A']\n[budget]\ncost_usd = 2.5\n[parallel]\nsous = 2\n",
        }),
    );
    assert_eq!(config.issues, []);
    let settings = &config.settings;
    assert_eq!((settings.max_parallel, settings.max_iterations), (5, 9));
    assert_eq!((settings.worktrees, settings.max_cost_usd), (Switch::Off, Some(2.5)));
    assert_eq!(settings.env_labels(Tier::Sous), Some(&["A".to_owned()][..]));
    assert_eq!((settings.parallel_of(Tier::Line), settings.parallel_of(Tier::Sous)), (5, 2));
    let flags = Flags { sequential: true, max_cost_usd: Some(1.0), walkaway: true, ..Flags::default() };
    for (most, expect) in [(None, 9), (Some(2), 2), (Some(20), 9)] {
        let many = Flags { max_parallel: Some(9), ..Flags::default() };
        assert_eq!(settings.with_flags(&many).within(most).parallel(), expect);
    }
    let with = settings.with_flags(&flags);
    assert_eq!((with.parallel(), with.max_cost_usd, with.walkaway_mode), (1, Some(1.0), true));
    assert_eq!(config.places["max_parallel"].file, "kitchen.toml");
}

#[test]
fn a_broken_file_refuses_and_says_where() {
    let config = tables("max_parallel = 2\nstall = \n");
    assert!(config.refuses() && config.settings == Settings::default());
    assert_eq!(config.issues[0].place.line, Some(2));
    assert!(shell("A='\u{0}").issues.len() <= 2);
    let bad = Config::read(Some(ConfigFile { name: "c", bytes: b"A=\xff" }), None);
    assert!(bad.refuses());
}

#[test]
fn opencode_replaces_the_command_of_the_line() {
    let config = shell("USE_OPENCODE=true\nOPENCODE_MODEL=zai/glm\n");
    assert_eq!(config.settings.command(Tier::Line).argv().words(), ["opencode", "--model", "zai/glm"]);
    assert_eq!(config.settings.command(Tier::Sous).text(), "claude --model sonnet");
    assert_eq!(config.issues, []);
    let config = shell("USE_OPENCODE=true\nLINE_CMD=codex\nLINE_AGENT=codex\n");
    assert_eq!(config.settings.command(Tier::Line).argv().words()[0], "opencode");
    assert_eq!(config.settings.adapter_name(Tier::Line), None);
    assert_eq!(issues(&config), ["warning 2:1 tier.line.command", "warning 3:1 tier.line.adapter"]);
    let config = shell("USE_OPENCODE=false\nLINE_CMD=codex\n");
    assert_eq!((config.settings.command(Tier::Line).text(), config.issues), ("codex", vec![]));
}

/// Checks a file where the shell might not set `LINE_CMD`: the issue names the key, and nothing is started.
#[track_caller]
fn check_refused(text: &str) {
    let config = shell(text);
    let named = config.issues.iter().find(|issue| issue.field.as_deref() == Some("LINE_CMD"));
    assert_eq!(named.map(|issue| issue.severity), Some(Severity::Error), "{text}: {:?}", config.issues);
    assert_eq!(config.settings.line_cmd, Settings::default().line_cmd, "{text}");
}

#[test]
fn a_command_that_may_be_unset_is_refused() {
    check_refused("(LINE_CMD=x)\n");
    check_refused("(\nLINE_CMD=x\n)\n");
    check_refused("( export LINE_CMD='x y'; true )\n");
    check_refused("(case a in a) true;; esac\nLINE_CMD=x\n)\n");
    check_refused("return 0\nLINE_CMD=x\n");
    check_refused("[ -n \"$A\" ] && exit\nexport LINE_CMD=x\n");
    check_refused("if true; then return; fi\nLINE_CMD=x\n");
    check_refused("cat <<E; export LINE_CMD=x\ntext\nE\n");
    check_refused("LINE_CMD = \"x\"\n");
    check_refused("export LINE_CMD =x\n");
    check_refused("LINE_CMD= x\n");
}

#[test]
fn text_of_a_here_document_is_not_a_setting() {
    for (begin, end) in
        [("cat <<E", "E"), ("cat <<'E F' > x", "E F"), ("cat <<-E", "\tE"), ("cat << \"E\" # b", "E")]
    {
        let text = format!("{begin}\nLINE_CMD=x\n(\nE \nreturn\n{end}\nSOUS_CMD=y\n");
        let config = shell(&text);
        assert_eq!(issues(&config), ["warning 1:1 -"], "{text}");
        let commands = (config.settings.line_cmd.text(), config.settings.sous_cmd.text());
        assert_eq!(commands, ("claude --model sonnet", "y"), "{text}");
    }
    let config = shell("cat <<A <<B\nLINE_CMD=x\nA\nLINE_CMD=x\nB\nSOUS_CMD=y\n");
    assert_eq!((issues(&config).len(), config.settings.sous_cmd.text()), (1, "y"));
    assert_eq!(shell("cat <<E\nLINE_CMD=x\n").settings.line_cmd.text(), "claude --model sonnet");
    let config = shell("cat <<<E\nSOUS_CMD=y\n");
    assert_eq!(config.settings.sous_cmd.text(), "y", "a here-string has no text in other lines");
}

#[test]
fn a_return_in_a_function_does_not_end_the_file() {
    let texts = [
        "f() { return 1; }\n",
        "f ()\n{\n  exit 1\n}\n",
        "function f {\n return\n}\n",
        "(exit 1)\n",
        "( cd /tmp; echo a )\n",
        "echo \"(\" return\n".trim_end_matches(" return\n"),
        "if true; then\n echo x\nfi\n",
        "case a in\na) echo b ;;\nesac\n",
        "cat <(echo a)\n",
    ];
    for text in texts {
        let config = shell(&format!("{text}\nLINE_CMD=x\n"));
        assert_eq!(config.settings.line_cmd.text(), "x", "{text}: {:?}", config.issues);
        assert!(!config.refuses(), "{text}: {:?}", config.issues);
    }
}

#[test]
fn keys_without_effect_are_said() {
    assert_eq!(
        issues(&shell("CONTEXT_ISOLATION=false\nSTATE_FILE=x\n")),
        ["info 1:1 context_isolation", "info 2:1 state_file"]
    );
    assert_eq!(issues(&shell("CONTEXT_ISOLATION=true\n")), [""; 0]);
}

#[test]
fn the_starter_has_every_key_and_changes_nothing() {
    let text = starter(StarterKeys::Full);
    assert_eq!(tables(&text), Config::default());
    let is_key = |line: &str| {
        line.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let lines: Vec<&str> = text.lines().map(|line| if is_key(line) { &line[1..] } else { line }).collect();
    let config = tables(&lines.join("\n"));
    assert_eq!((config.issues.as_slice(), &config.settings), (&[][..], &Settings::default()));
    let unset = KEYS.iter().filter(|key| Settings::default().shown(key).is_none()).count();
    assert_eq!(config.places.len() + unset, KEYS.len());
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{:?}",
        text.lines().max_by_key(|line| line.len())
    );
}

#[test]
fn the_short_starter_has_about_thirty_lines() {
    let text = starter(StarterKeys::Short);
    assert_eq!(tables(&text), Config::default());
    assert!(text.lines().count() <= 36 && text.contains("[tier.line]"), "{text}");
}

#[test]
fn an_imported_file_gives_the_same_values() {
    let text = "EXECUTIVE_CMD='claude --model \"a b\"'\nMAX_PARALLEL=2\nCOST_WARN_THRESHOLD=5\nTEST_CMD=\"npm test\"\nMODULES=x\nMAX_COST_USD=1.5\n";
    let imported = import(ConfigFile { name: "brigade.config", bytes: text.as_bytes() }, StarterKeys::Short);
    assert_eq!((imported.keys, imported.issues.len()), (5, 1));
    let again = tables(&imported.text);
    assert_eq!((again.issues.as_slice(), &again.settings), (&[][..], &shell(text).settings));
}

proptest! {
    #[test]
    fn any_text_is_read(text in "[A-Z_=$'\"\\\\ \n;(){}#~`a-z0-9]{0,48}") {
        let _ = shell(&text);
        let _ = tables(&text);
    }

    #[test]
    fn a_quoted_literal_is_read_as_it_is(value in "[^\u{0}-\u{1f}\u{7f}-\u{9f}]{0,24}") {
        let single = format!("ACTIVITY_LOG='{}'\n", value.replace('\'', "'\\''"));
        let mut double = String::from("ACTIVITY_LOG=\"");
        for c in value.chars() {
            if matches!(c, '"' | '\\' | '$' | '`') {
                double.push('\\');
            }
            double.push(c);
        }
        double.push_str("\"\n");
        let mut escaped = String::from("ACTIVITY_LOG=");
        for c in value.chars() {
            escaped.extend(['\\', c]);
        }
        for text in [single, double, escaped] {
            let config = shell(&text);
            prop_assert_eq!(&config.settings.activity_log, value.trim());
            prop_assert!(config.issues.is_empty());
            let imported = import(ConfigFile { name: "c", bytes: text.as_bytes() }, StarterKeys::Short);
            prop_assert_eq!(&tables(&imported.text).settings, &config.settings);
        }
    }
}

#[test]
fn the_page_names_keys_with_another_name() {
    let page = include_str!("../../../../docs/kitchen.md");
    let is_other = |key: &&Key| !key.shell.is_empty() && key.shell != key.toml.to_uppercase();
    for key in KEYS.iter().filter(is_other) {
        assert!(page.contains(&format!("`{}`", key.shell)), "docs/kitchen.md does not name {}", key.shell);
    }
}

#[test]
fn effects_are_words_that_the_policy_knows() {
    let read =
        |text: &str| Config::read(None, Some(ConfigFile { name: "kitchen.toml", bytes: text.as_bytes() }));
    let config = read("[verification]\neffects = ['local-read', 'bogus']\n");
    assert_eq!(config.settings.verification_effects, None);
    let [issue] = config.issues.as_slice() else { panic!("{:?}", config.issues) };
    assert_eq!((issue.severity, issue.field.as_deref()), (Severity::Warning, Some("verification.effects")));
    assert!(issue.message.starts_with("expected one of local-read, "), "{}", issue.message);
    assert!(issue.place.to_string().starts_with("kitchen.toml:2:"), "{issue:?}");
    let config = read("[verification]\neffects = ['local-read']\n");
    assert_eq!((config.issues.len(), config.settings.verification_effects.unwrap().len()), (0, 1));
}
