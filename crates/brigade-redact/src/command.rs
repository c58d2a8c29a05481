//! Finds secrets in commands that are configured as one string.

use std::borrow::Cow;

use brigade_cmdline::Argv;

use super::argv::{secret_at, secret_words};
use super::{MARK, Redacted, Redactor, looks_like_shape};

/// Returns whether a configured command appears to contain a secret, so that it must not be stored or shown.
///
/// Each word is checked together with those before it. A reference to a secret does not count: a variable, or a file
/// (`--private-key ~/.ssh/id_rsa`, `--credentials account.json`).
///
/// ```
/// use brigade_redact::is_secret_command;
///
/// assert!(is_secret_command("deploy --token abcEXAMPLE") && is_secret_command("env PGPASSWORD=hunter2EXAMPLE psql"));
/// assert!(!is_secret_command("deploy --token-file x") && !is_secret_command("python3 bin/password_check.py"));
/// ```
pub fn is_secret_command(command: &str) -> bool {
    // Every secret of a command line follows an option, a sign, a scheme, or a name such as `api_key`.
    if !command.contains(['-', '=', ':', '/', '_']) && !command.to_ascii_lowercase().contains("bearer") {
        return looks_like_shape(command).is_some();
    }
    match Argv::parse(command) {
        Ok(argv) => !secret_words(argv.words()).is_empty(),
        Err(_) => {
            let words = command.split(|c: char| c.is_whitespace() || "'\"".contains(c));
            !secret_words(&words.map(str::to_owned).collect::<Vec<_>>()).is_empty()
        }
    }
}

/// Returns a configured command for storage and display: unchanged, unless it [contains a secret](is_secret_command).
pub fn shown_command(command: &str) -> Cow<'_, str> {
    if !is_secret_command(command) {
        return Cow::Borrowed(command);
    }
    let redactor = Redactor::new(&[]);
    let Ok(argv) = Argv::parse(command) else {
        let masked = redactor.for_settings().redact_str(command);
        return Cow::Owned(if is_secret_command(&masked) { MARK.to_owned() } else { masked });
    };
    // Keeps the text as written if the position of each secret is clear.
    let mut masked = command.to_owned();
    let texts: Vec<&str> = argv.words().iter().map(String::as_str).collect();
    for (at, word) in texts.iter().enumerate() {
        let secret = secret_at(&texts, at).map(|from| &word[from..]);
        if let Some(secret) = secret.filter(|secret| masked.matches(secret).count() == 1) {
            masked = masked.replace(secret, MARK);
        }
    }
    masked = redactor.redact_str(&masked);
    if !is_secret_command(&masked) {
        return Cow::Owned(masked);
    }
    let mut words = argv.words().to_vec();
    // A mark may replace a program. Then the words after it can look like secrets of the program before it.
    for _ in 0..PASSES {
        words = redactor.redact_command(&words).into_iter().map(Redacted::into_string).collect();
        match shlex::try_join(words.iter().map(String::as_str)) {
            Ok(shown) if !is_secret_command(&shown) => return Cow::Owned(shown),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Cow::Borrowed(MARK)
}

/// How often the words of a command are masked before none of it is shown.
const PASSES: usize = 3;

/// Returns whether a stored text can be the masked form of an exact one: it is the same, or has marks in place of parts
/// of it.
///
/// The process that stored the text may have had other bound values than this one, so the exact text is not masked
/// again. A mark does not reveal what it covers: compare a fingerprint of the exact text, too.
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
            ("curl -ubob:hunter2 https://example.com", "curl -ubob:[redacted] https://example.com"),
            ("http x 'Authorization: Bearer abcEXAMPLE'", "http x 'Authorization: Bearer [redacted]'"),
            ("prog 'password=hunter2", "[redacted]"),
            ("tool --auth abcEXAMPLE", "tool --auth '[redacted]'"),
            ("sshpass -p hunter2 ssh host", "sshpass -p '[redacted]' ssh host"),
            ("sshpass -phunter2 ssh host", "sshpass -p[redacted] ssh host"),
            ("mysql -uroot -phunter2 shop", "mysql -uroot -p[redacted] shop"),
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
    fn a_mark_matches_any_text_except_an_empty_one() {
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
        fn masked_text_matches_its_original(
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
    }
}
