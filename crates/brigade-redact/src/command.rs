//! Secrets in commands that are configured as one string.

use std::borrow::Cow;

use super::anchors::Anchors;
use super::line::has_secret;
use super::words::{LINE_NAMES, SETTING};
use super::{MARK, Redacted, Redactor, looks_secret_value};
use brigade_command::{Argv, Program};

/// Returns whether a configured command appears to contain a secret, so that it must not be stored or shown.
///
/// Each word is checked together with the flag before it. A reference to a secret does not count: a variable, a file
/// (`--private-key ~/.ssh/id_rsa`, `--credentials account.json`) or a source (`--secret id=npm,src=.npmrc`).
///
/// ```
/// use brigade_redact::is_secret_command;
///
/// assert!(is_secret_command("deploy --token abcEXAMPLE") && is_secret_command("env PGPASSWORD=hunter2EXAMPLE psql"));
/// assert!(!is_secret_command("deploy --token-file x") && !is_secret_command("python3 bin/password_check.py"));
/// ```
pub fn is_secret_command(command: &str) -> bool {
    if !may_hold_secret(command) {
        return false;
    }
    match Argv::parse(command) {
        Ok(argv) => has_secret(argv.words()),
        Err(_) => looks_secret_value(command).is_some(),
    }
}

/// Returns a configured command as it is stored and shown: unchanged, unless it [contains a secret](is_secret_command).
pub fn shown_command(command: &str) -> Cow<'_, str> {
    if !is_secret_command(command) {
        return Cow::Borrowed(command);
    }
    let redactor = Redactor::new(&[]);
    let masked = redactor.redact_str(command);
    if !is_secret_command(&masked) {
        return Cow::Owned(masked);
    }
    // Secrets that only the order of the words reveals.
    let Ok(argv) = Argv::parse(command) else { return Cow::Borrowed(MARK) };
    let mut words = argv.words().to_vec();
    // Where a mark takes the place of a program, what follows may read as a secret of the program before it.
    for _ in 0..PASSES {
        words = redactor.redact_command(&words).iter().map(Redacted::as_str).map(str::to_owned).collect();
        match shlex::try_join(words.iter().map(String::as_str)) {
            Ok(shown) if !is_secret_command(&shown) => return Cow::Owned(shown),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Cow::Borrowed(MARK)
}

/// How often the words of a command are masked before nothing of it is shown.
const PASSES: usize = 3;

/// Returns whether a stored text shows an exact one: it is the same, or has a mark where parts of the other stand.
///
/// Which values are bound may differ between the process that stored the text and this one, so nothing is masked anew.
/// A mark tells nothing of what it covers: compare a fingerprint of the exact text, too.
///
/// ```
/// use brigade_redact::shows;
///
/// assert!(shows("serve --key [redacted] -v", "serve --key abcEXAMPLE -v") && shows("serve", "serve"));
/// assert!(!shows("serve --key [redacted] -v", "serve --key abcEXAMPLE -q") && !shows("serve", "serve -v"));
/// ```
pub fn shows(shown: &str, exact: &str) -> bool {
    if shown == exact {
        return true;
    }
    let (Some((first, between)), Some((_, last))) = (shown.split_once(MARK), shown.rsplit_once(MARK)) else {
        return false;
    };
    let mut literals = between.strip_suffix(last).unwrap_or_default().split_terminator(MARK);
    let Some(rest) = exact.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else { return false };
    let found = literals.try_fold(rest, |rest, literal| {
        // A mark covers at least one byte.
        let after = rest.get(1..).or_else(|| rest.char_indices().nth(1).map(|(at, _)| &rest[at..]))?;
        after.split_once(literal).map(|(_, after)| after)
    });
    found.is_some_and(|rest| !rest.is_empty())
}

/// A fast check whether there may be a secret: an anchor is present, or a word that the rules for command lines know,
/// or a program that takes a password.
fn may_hold_secret(command: &str) -> bool {
    let may_tell =
        || command.contains(['-', '=', ':', '/']) || SETTING.iter().any(|word| command.contains(word));
    !command.is_ascii()
        || Anchors::new().stand_in(command.as_bytes())
        || has_line_name(command.as_bytes()) && may_tell()
        || takes_password(command)
}

/// For each byte the first of [`LINE_NAMES`] that begins with it. The compiler makes it: an automaton of these words
/// takes as long to make as everything else that a short command does.
const FIRST_NAMES: [Option<u8>; 128] = {
    let mut firsts = [None; 128];
    let mut index = 0;
    while index < LINE_NAMES.len() {
        let first = LINE_NAMES[index].as_bytes()[0] as usize;
        assert!(
            index == 0 || LINE_NAMES[index - 1].as_bytes()[0] as usize <= first,
            "words with one first letter stand together"
        );
        if firsts[first].is_none() {
            firsts[first] = Some(index as u8);
        }
        index += 1;
    }
    firsts
};

/// Returns whether one of [`LINE_NAMES`] stands anywhere in a text, in either case.
fn has_line_name(text: &[u8]) -> bool {
    let begins = |rest: &[u8], name: &str| {
        rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name.as_bytes()))
    };
    text.iter().enumerate().any(|(at, byte)| {
        let byte = byte.to_ascii_lowercase();
        let Some(first) = FIRST_NAMES.get(usize::from(byte)).copied().flatten() else { return false };
        let mut names = LINE_NAMES[usize::from(first)..].iter().take_while(|name| name.as_bytes()[0] == byte);
        names.any(|name| begins(&text[at..], name))
    })
}

/// Returns whether a command may start a program that takes a password, and has an option, if it needs one.
fn takes_password(command: &str) -> bool {
    // The words as they stand there; a backslash may hide one.
    const ENDS: &[char] = &[' ', '\t', '\n', '\'', '"', '=', ';', '|', '&', '(', '`'];
    let has_option = command.match_indices('-').any(|(at, _)| command[..at].ends_with(ENDS));
    let is_one = |word: &str| {
        !word.starts_with(['-', '@'])
            && Program::that_takes_passwords(word).is_some_and(|program| {
                program.passwords().iter().any(|password| has_option || !password.needs_option())
            })
    };
    command.contains('\\') || command.split(ENDS).any(is_one)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_in_commands_are_masked() {
        for (command, shown) in [
            (
                "curl --token ghp_abcdefghijklmnopqrstuvwxyz0123456789 https://u:hunter2@localhost:1/x",
                "curl --token [redacted] https://[redacted]@localhost:1/x",
            ),
            ("sh bin/t.sh --password=hunter2", "sh bin/t.sh --password=[redacted]"),
            ("ngrok http 80 --authtoken=hunter2", "ngrok http 80 --authtoken=[redacted]"),
            ("env DB_PASSWORD=hunter2 prog", "env DB_PASSWORD=[redacted] prog"),
            ("curl -ubob:hunter2 https://example.com", "curl '-ubob:[redacted]' https://example.com"),
            ("http x 'Authorization: Bearer abcEXAMPLE'", "http x 'Authorization: Bearer [redacted]'"),
            ("prog 'password=hunter2", "prog 'password=[redacted]"),
            ("tool --auth abcEXAMPLE", "tool --auth '[redacted]'"),
            ("sshpass -p hunter2 ssh host", "sshpass -p '[redacted]' ssh host"),
            ("sshpass -phunter2 ssh host", "sshpass '-p[redacted]' ssh host"),
            ("mysql -uroot -phunter2 shop", "mysql -uroot '-p[redacted]' shop"),
            ("docker login -u bob -p hunter2 host", "docker login -u bob -p '[redacted]' host"),
            ("sshpass --token mysql -p '(a'", "sshpass --token '[redacted]' -p '[redacted]'"),
        ] {
            assert!(is_secret_command(command), "{command}");
            assert_eq!(
                shown_command(command).replace("'[redacted]'", MARK),
                shown.replace("'[redacted]'", MARK)
            );
        }
        assert!(!is_secret_command("sh bin/t.sh --maxtoken=hunter2 --tokenizer=x"));
    }

    #[test]
    fn words_of_command_lines_are_found_anywhere_in_either_case() {
        for name in LINE_NAMES {
            for text in [(*name).to_owned(), format!("~~{}~", name.to_uppercase()), format!("pa{name}")] {
                assert!(has_line_name(text.as_bytes()), "{text}");
            }
        }
        for text in ["", "sh bin/hello.sh", "au", "~ü=/", "coo kie"] {
            assert!(!has_line_name(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn ordinary_commands_are_not() {
        for command in [
            "sh bin/t.sh",
            "python3 bin/password_check.py --strict",
            "bin/rotate-secrets --token-file x",
            "deploy --token-file=~/.token --secret-name db --password-stdin",
            "deploy --token $TOKEN --password=${PASSWORD}",
            "prog --keys a,b --key name --max-tokens 5 --tokens 100 --auth basic",
            "git log --format=%h --author bob",
            "git -c credential.helper=store fetch",
            "ansible-playbook --private-key ~/.ssh/id_rsa --vault-password-file=pw site.yml",
            "ansible-playbook --private-key=keys/deploy_key site.yml",
            "gcloud --credentials account.json run",
            "docker build --secret id=npm,src=.npmrc .",
            "podman run --secret my_db image",
            "docker run -e GITHUB_TOKEN -p 8080:80 image",
            "ssh -p 22 host",
            "mysql -p shop",
            "docker run --name mysql -p3306:3306 mysql",
            "docker run --name login -p 8080:80 image",
            "mkdir -p password",
            "rg -n 'api_key|password' src",
            "grep -rn password= src",
            "rg -e 'token:' -g '*.yml'",
            "gh secret list",
            "vault token lookup",
            "jq -r .access_token",
            "ssh://git@github.com/owner/repo.git",
            "curl -fsSL https://example.com/?q=1 -u bob",
            "curl -H 'Authorization: Bearer $TOKEN' https://example.com",
            "node bin/tokenizer.js --tokenizer=bpe --stop-token x",
            "cargo test --package auth -- login::session",
            "pass show work/db",
            "openssl rsa -in key.pem -passin env:KEY",
            "echo 'the secret of success'",
        ] {
            assert!(!is_secret_command(command), "{command}");
            assert_eq!(shown_command(command), command);
        }
    }

    #[test]
    fn a_mark_stands_for_any_text_and_for_no_empty_one() {
        for (shown, exact, expect) in [
            ("[redacted]", "x", true),
            ("[redacted]", "", false),
            ("a [redacted]", "a b", true),
            ("a [redacted]", "a ", false),
            ("[redacted] a", "b a", true),
            ("a [redacted] a", "a a", false),
            ("[redacted][redacted]", "ab", true),
            ("[redacted][redacted]", "a", false),
            ("a [redacted] b [redacted] c", "a \u{e9} b \u{e9} c", true),
            ("a [redacted] b [redacted] c", "a 1 x 2 c", false),
            ("a [redacted] b", "a [redacted] b", true),
            ("a b", "a c", false),
        ] {
            assert_eq!(shows(shown, exact), expect, "{shown} of {exact}");
        }
    }

    proptest! {
        #[test]
        fn what_is_masked_shows_what_it_was(
            before in "[ -~]{0,12}", value in "[a-z]{4,8}", between in "[ -~]{0,4}", after in "[ -~]{0,12}",
        ) {
            let exact = format!("{before}{value}{between}{value}{after}");
            let masked = Redactor::bound_only(&[value.as_str().into()]).redact_str(&exact);
            prop_assert!(shows(&masked, &exact), "{} of {}", masked, exact);
        }

        #[test]
        fn a_shown_command_contains_no_secret(
            words in prop::collection::vec(
                prop_oneof![
                    "[ -~]{0,12}",
                    prop::sample::select(vec!["curl", "-u", "a:b", "--token", "x", "--password=", "-p", "mysql", "\\", "'", "sshpass", "login"])
                        .prop_map(str::to_owned),
                ],
                0..8,
            ),
        ) {
            let command = words.join(" ");
            let shown = shown_command(&command).into_owned();
            prop_assert!(!is_secret_command(&shown), "{} gives {}", command, shown);
        }

        #[test]
        fn words_without_a_name_or_a_sign_are_not_secret(
            words in prop::collection::vec("[a-z0-9./_-]{1,12}", 1..8),
        ) {
            let command = words.join(" ");
            let telling = ["pass", "pwd", "secr", "cred", "toke", "key", "auth", "bear", "curl", "mysql", "maria", "login"];
            prop_assume!(!telling.iter().chain(LINE_NAMES).any(|word| command.contains(word)));
            prop_assert!(!is_secret_command(&command), "{}", command);
        }
    }
}
