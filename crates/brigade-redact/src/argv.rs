//! Finds secrets in the words of a command line: by the option or the name before them, or by the program that takes
//! them.

use brigade_cmdline::{Password, Place, Program, Role};
use brigade_core::{Dialect, Json};

use super::name::{is_method, is_secret_field, spaced_words};
use super::named::is_literal;
use super::text::{has_digit_and_letter, is_placeholder, looks_random};
use super::tokens::shell_tokens;
use super::{MARK, Redacted, Redactor, looks_like_shape, secret_fields};

/// Last words of options and variables that only secrets have and that [`is_secret_field`] does not know.
const SECRET_OPTIONS: &[&str] = &["cookie", "cookies", "jwt", "mnemonic", "otp", "pass", "pat", "pw"];

/// Last words of options and variables that are not only used for secrets. Their values must look like a secret.
const UNSURE_OPTIONS: &[&str] =
    &["hmac", "key", "pin", "sas", "session", "sessionid", "sid", "sig", "signature"];

/// First words of options without a secret: `--no-password`, `--list-secrets`.
const SWITCHES: &[&str] = &["no", "without", "ask", "prompt", "show", "list", "scan", "skip"];

/// Options that take a name and a password.
const LOGIN_OPTIONS: &[&str] = &["-u", "-U", "basic", "login", "proxy-user", "user"];

/// How many words before a secret its program may be.
const NEAR_PROGRAM: usize = 64;

/// How deep command lines in words are searched.
const DEEPEST: usize = 4;

/// Lists the indexes of words that look secret, either alone or because of the words before them.
///
/// Placeholders (`$TOKEN`, `<token>`), files and `[redacted]` are not secret.
///
/// ```
/// use brigade_redact::secret_words;
///
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// assert_eq!(secret_words(&words("deploy --token abc --max-tokens 5")), [2]);
/// assert!(secret_words(&words("pg_dump --no-password data")).is_empty());
/// assert_eq!(secret_words(&words("curl -u bob:hunter2EXAMPLE https://example.com")), [2]);
/// assert_eq!(secret_words(&words("x --pw=hunter2 -u bob:hunter2")), [1, 3]);
/// ```
pub fn secret_words(words: &[String]) -> Vec<usize> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_secret = |at: &usize| secret_at(&texts, *at).is_some() || looks_like_shape(texts[*at]).is_some();
    (0..words.len()).filter(is_secret).collect()
}

impl Redactor {
    /// Redacts the words of a command line. Words that only refer to a secret stay: variables, placeholders and files.
    ///
    /// ```
    /// use brigade_redact::Redactor;
    ///
    /// let words = ["x", "--pat", "q1", "--token", "$TOKEN", "--private-key", "~/.ssh/id"].map(str::to_owned);
    /// let shown: Vec<String> =
    ///     Redactor::new(&[]).redact_command(&words).iter().map(ToString::to_string).collect();
    /// assert_eq!(shown.join(" "), "x --pat [redacted] --token $TOKEN --private-key ~/.ssh/id");
    /// ```
    pub fn redact_command(&self, words: &[String]) -> Vec<Redacted> {
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        let shown = |(at, word): (usize, &&str)| match secret_at(&texts, at) {
            None => self.redact(word),
            Some(0) => Redacted::from_static(MARK),
            Some(from) => Redacted::known(self.redact_str(&word[..from]) + MARK),
        };
        texts.iter().enumerate().map(shown).collect()
    }
}

/// Returns where a secret begins in a word of a command line, by its option, its name, or the program. The secret
/// extends to the end of the word.
///
/// ```
/// use brigade_redact::secret_at;
///
/// assert_eq!(secret_at(&["deploy", "--token", "abc"], 2), Some(0));
/// assert_eq!(secret_at(&["deploy", "--token=abc"], 1), Some(8));
/// assert_eq!(secret_at(&["deploy", "--token-file", "abc"], 2), None);
/// ```
pub fn secret_at(words: &[&str], at: usize) -> Option<usize> {
    secret_in(words, at, 0)
}

fn secret_in(words: &[&str], at: usize, depth: usize) -> Option<usize> {
    let word = words[at];
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    let found = of_option(before, word)
        .or_else(|| of_pair(words, at))
        .or_else(|| of_header(before, word))
        .or_else(|| of_scheme(words, at))
        .or_else(|| of_program(words, at))
        .or_else(|| of_user(words, at))
        .or_else(|| before_host(word))
        .or_else(|| secret_of_query(word))
        .or_else(|| of_object(word))
        .or_else(|| of_text(words, at, depth))?;
    (!word[found..].is_empty() && &word[found..] != MARK).then_some(found)
}

/// Returns whether the value of an option, a variable or a header is a secret by its name, and a literal one.
///
/// ```
/// use brigade_redact::is_secret_value;
///
/// assert!(is_secret_value("GITHUB_PAT", "q1") && is_secret_value("session", "a1b2c3d4"));
/// assert!(!is_secret_value("SID", "ORCL") && !is_secret_value("token", "$TOKEN"));
/// ```
pub fn is_secret_value(name: &str, value: &str) -> bool {
    let spaced = spaced_words(name);
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    let Some(last) = words.last() else { return false };
    if value.starts_with('-') || words.len() > 1 && SWITCHES.contains(&words[0]) || !is_literal(value) {
        return false;
    }
    let is_glued = || {
        words.len() == 1
            && (last.ends_with("pass")
                && 4 < last.len()
                && !last.ends_with("ypass")
                && !last.ends_with("mpass"))
    };
    let is_digit = value.len() == 1 && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_sure = is_secret_field(name, value)
        || ["authorization", "cookie", "proxy authorization"].contains(&spaced.as_str())
        || SECRET_OPTIONS.contains(last) && (*last != "pass" || words.len() == 1)
        || is_glued();
    let may_be = UNSURE_OPTIONS.contains(last) && words.len() <= 2 || spaced.ends_with("session id");
    is_sure && !is_digit || may_be && looks_random(value, true)
}

/// Finds the value of an option, a variable or a property: `--token x`, `--token=x`, `/token:x`, `TOKEN=x`,
/// `-DTOKEN=x`.
fn of_option(before: &str, word: &str) -> Option<usize> {
    let name = before.trim_start_matches('-');
    let is_option = name.len() < before.len() && !before.contains(['=', ':']);
    if is_option && !word.starts_with('-') && is_secret_value(name, word) {
        return Some(0);
    }
    let sign = word.find(['=', ':'])?;
    let (name, value) = (&word[..sign], &word[sign + 1..]);
    let is_colon = word.as_bytes()[sign] == b':';
    let plain = name.trim_start_matches(['-', '/']);
    let is_name = plain.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if is_colon && !name.starts_with(['-', '/']) || !is_name {
        return None;
    }
    let property =
        name.strip_prefix(['-']).filter(|name| name.starts_with(['D', 'P'])).map(|name| &name[1..]);
    let is_secret =
        is_secret_value(plain, value) || property.is_some_and(|name| is_secret_value(name, value));
    is_secret.then_some(sign + 1)
}

/// Finds a value whose name is a separate word: `-e API_KEY x`, `--headers X-Api-Key x`, `config set api_key x`.
fn of_pair(words: &[&str], at: usize) -> Option<usize> {
    let (option, name) = (words[at.checked_sub(2)?], words[at - 1]);
    let is_name = name.contains(['_', '-']) && !name.starts_with('-') && !name.contains(['=', ':', '/']);
    // `docker run -e API_KEY image` passes on a variable, and the next word is another argument.
    let is_passed_on = ["-e", "--env"].contains(&option) && words[..at].iter().any(|word| is_container(word));
    let is_option = option.starts_with('-') && !option.contains('=') && !is_passed_on || option == "set";
    (is_option && is_name && is_secret_value(name, words[at])).then_some(0)
}

/// Finds JSON with a secret, or with headers or variables, alone or after an option.
fn of_object(word: &str) -> Option<usize> {
    let from = word.find(['{', '[']).filter(|from| *from == 0 || word[..*from].ends_with('='))?;
    let json = Json::parse_bytes(&word.as_bytes()[from..], Dialect::WithComments).ok()?;
    (has_values(&json) || !secret_fields(&json).is_empty()).then_some(from)
}

/// Returns whether JSON has literal headers or variables.
fn has_values(json: &Json) -> bool {
    let is_literal_text = |value: &Json| {
        value.as_str().is_some_and(|text| is_literal(text) && text.bytes().any(|byte| byte.is_ascii_digit()))
    };
    match json {
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
        Json::Array(items) => items.iter().any(has_values),
        Json::Object(members) => members.iter().any(|(key, value)| {
            let is_of_values = ["env", "environment", "headers"].contains(&key.as_str());
            let has_literal = || value.as_object().is_some_and(|values| values.values().any(is_literal_text));
            is_of_values && has_literal() || has_values(value)
        }),
    }
}

/// Finds the value of a header: `-H 'X-Api-Key: x'`, `--header=X-Api-Key:x`.
fn of_header(before: &str, word: &str) -> Option<usize> {
    let is_option = |option: &str| {
        option == "-H" || option.starts_with('-') && option.trim_end_matches('s').ends_with("header")
    };
    let from = if is_option(before) {
        0
    } else if let Some((option, _)) = word.split_once('=').filter(|(option, _)| is_option(option)) {
        option.len() + 1
    } else if word.starts_with("-H") {
        2
    } else {
        let name = word.split(':').next().unwrap_or_default();
        let is_header = ["authorization", "proxy-authorization", "cookie", "x-api-key"]
            .iter()
            .any(|header| name.eq_ignore_ascii_case(header));
        if !is_header || !word.contains(": ") {
            return None;
        }
        0
    };
    let (name, rest) = word[from..].split_once(':')?;
    let value = rest.trim_start();
    let token = value.split_once(' ').map_or(value, |(scheme, token)| {
        if is_method(scheme) || scheme.eq_ignore_ascii_case("token") { token } else { value }
    });
    is_secret_value(name, token).then(|| word.len() - token.len())
}

/// Finds a token after the name of its scheme: `Bearer q1`, `-H Authorization: Bearer q1`.
fn of_scheme(words: &[&str], at: usize) -> Option<usize> {
    let (before, word) = (words.get(at.checked_sub(1)?)?, words[at]);
    let (head, scheme) = before.rsplit_once([' ', ':', '=']).unwrap_or(("", before));
    if !["bearer", "basic"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) || !is_literal(word) {
        return None;
    }
    let header = if head.is_empty() { at.checked_sub(2).map_or("", |at| words[at]) } else { head };
    let is_header = header.to_ascii_lowercase().contains("authorization");
    let is_option = header.starts_with('-');
    let is_token = is_header || !is_option && word.bytes().any(|byte| byte.is_ascii_digit());
    (is_token && !word.starts_with('-')).then_some(0)
}

/// Finds the password of a program.
fn of_program(words: &[&str], at: usize) -> Option<usize> {
    let first = at.saturating_sub(NEAR_PROGRAM);
    let (place, program) =
        (first..at).rev().find_map(|index| Some((index, Program::that_takes_passwords(words[index])?)))?;
    let is_after = |password: &&Password| {
        password.after.is_none_or(|subcommand| words[place + 1..at].contains(&subcommand))
    };
    let (word, before) = (words[at], words[at - 1]);
    program.passwords().iter().filter(is_after).find_map(|password| {
        let takes =
            |word: &str| program.short_value(word).filter(|(letter, _)| password.letters().contains(*letter));
        let attached = takes(word).map(|(_, from)| from).filter(|from| *from < word.len());
        let is_next = place + 1 < at
            && !word.starts_with('-')
            && takes(before).is_some_and(|(_, from)| from == before.len());
        let from = match password.place {
            Place::Attached(_) => attached?,
            Place::Short(_) if is_next => 0,
            Place::Short(_) => attached?,
            Place::User(_, sign) => {
                let from = if is_next { 0 } else { attached? };
                from + word[from..].find(sign)? + sign.len_utf8()
            }
        };
        let value = &word[from..];
        let is_port = value.contains(':') && value.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        (!is_placeholder(value) && !is_port).then_some(from)
    })
}

/// Finds the password after a user: `--user me:q1`, `-ume:q1`, `--basic me q1`. A user and a group are not a password.
fn of_user(words: &[&str], at: usize) -> Option<usize> {
    let word = words[at];
    let is_login = |option: &str| {
        let name = option.trim_start_matches('-');
        name.len() < option.len()
            && (LOGIN_OPTIONS.contains(&option) || LOGIN_OPTIONS.contains(&name) || name.ends_with("-basic"))
    };
    let before = at.checked_sub(1).map_or("", |before| words[before]);
    let is_basic = at
        .checked_sub(2)
        .is_some_and(|at| words[at].trim_start_matches('-').ends_with("basic") && words[at].starts_with('-'));
    if is_basic
        && !before.contains([':', '/', '='])
        && !before.starts_with('-')
        && !word.starts_with('-')
        && !word.contains(['/', '='])
        && is_literal(word)
    {
        return Some(0);
    }
    let pair = match word.split_once('=') {
        Some((option, pair)) if is_login(option) => pair,
        _ if is_login(before) && !word.starts_with('-') => word,
        _ => word.strip_prefix("-u").or_else(|| word.strip_prefix("-U"))?,
    };
    let (user, password) = pair.split_once(':')?;
    let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = is_id(password) && password.len() <= 5;
    let is_group = is_host
        || user == password
        || is_id(user) && !has_digit_and_letter(password.as_bytes())
        || user.is_empty()
        || user.starts_with('+')
        || user == "root" && password == "wheel";
    if is_group || !is_literal(password) {
        return None;
    }
    let mut near = words[at.saturating_sub(NEAR_PROGRAM)..at].iter();
    (!near.any(|word| is_container(word))).then(|| word.len() - password.len())
}

/// Returns whether a word is a program that runs containers.
fn is_container(word: &str) -> bool {
    Program::from_word(word).is_some_and(|program| program.role() == Role::Container)
}

/// Finds the password in `user:password@host` without a scheme.
fn before_host(word: &str) -> Option<usize> {
    let text = if word.starts_with('-') { word.split_once('=')?.1 } else { word };
    let (user, rest) = text.split_once(':')?;
    let (password, host) = rest.rsplit_once('@')?;
    let is_user = user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.%+-\\@".contains(&byte));
    let address = host.split([':', '/', '?']).next().unwrap_or_default();
    let is_host = host.starts_with(['[', '/', '('])
        || host.starts_with(|c: char| c.is_ascii_alphabetic())
        || address.parse::<std::net::Ipv4Addr>().is_ok();
    let is_name = password.contains(char::is_whitespace)
        || !has_digit_and_letter(password.as_bytes())
        || password.starts_with(['/', '\\', '@'])
        || password.split('/').next().is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    (is_user && is_host && !is_name && !is_placeholder(password)).then(|| word.len() - rest.len())
}

/// Returns where the value of a URL's query member begins that is a secret by its name: `https://h/?token=x`.
pub fn secret_of_query(url: &str) -> Option<usize> {
    let (place, query) = url.split_once('?').filter(|(place, _)| place.contains('/') || place.is_empty())?;
    let mut at = place.len() + 1;
    for member in query.split(['&', ';', '#']) {
        if let Some((name, value)) = member.split_once('=')
            && (is_secret_value(name, value) || name == "key" && has_digit_and_letter(value.as_bytes()))
        {
            return Some(at + name.len() + 1);
        }
        at += member.len() + 1;
    }
    None
}

/// Finds the first secret in a word that is a command line itself: `sh -c 'deploy --token x'`.
fn of_text(words: &[&str], at: usize, depth: usize) -> Option<usize> {
    let word = words[at];
    if at == 0 || depth == DEEPEST || !word.contains(char::is_whitespace) {
        return None;
    }
    let start = word
        .find('=')
        .filter(|end| word[..*end].bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .map_or(0, |end| end + 1);
    let tokens = shell_tokens(&word[start..])?;
    let commands = tokens.chunk_by(|_, next| !next.starts);
    let found = commands.filter_map(|command| {
        let inner: Vec<&str> = command.iter().map(|token| token.text.as_str()).collect();
        let (index, from) =
            (0..inner.len()).find_map(|index| Some((index, secret_in(&inner, index, depth + 1)?)))?;
        Some(command[index].range.start + from)
    });
    let mut at = start + found.min()?;
    while !word.is_char_boundary(at) {
        at -= 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, shown: &str) {
        let words = shlex::split(line).unwrap();
        let masked: Vec<String> =
            Redactor::new(&[]).redact_command(&words).into_iter().map(Redacted::into_string).collect();
        assert_eq!(masked.join(" "), shown);
        assert_eq!(secret_words(&words).is_empty(), masked == words, "{line}");
        let again: Vec<String> =
            Redactor::new(&[]).redact_command(&masked).into_iter().map(Redacted::into_string).collect();
        assert_eq!(again, masked, "{line}");
    }

    #[test]
    fn secrets_of_command_lines_are_masked() {
        for (line, shown) in [
            ("tool --token 'abc EXAMPLE' --max-tokens 5", "tool --token [redacted] --max-tokens 5"),
            ("sh bin/t.sh --password=hunter2", "sh bin/t.sh --password=[redacted]"),
            ("ngrok http 80 --authtoken=hunter2", "ngrok http 80 --authtoken=[redacted]"),
            ("env DB_PASSWORD=hunter2 prog", "env DB_PASSWORD=[redacted] prog"),
            (
                "x --pw q1 --pat q1 --jwt q1 --otp 123456",
                "x --pw [redacted] --pat [redacted] --jwt [redacted] --otp [redacted]",
            ),
            ("x --key 9f3c77aa10 --hmac V4bc12345x", "x --key [redacted] --hmac [redacted]"),
            ("x /pass:q1 -Dtoken=q1", "x /pass:[redacted] -Dtoken=[redacted]"),
            (
                "curl -H 'X-Api-Key: q1' https://h/?token=q1",
                "curl -H X-Api-Key: [redacted] https://h/?token=[redacted]",
            ),
            ("http x 'Authorization: Bearer q1'", "http x Authorization: Bearer [redacted]"),
            ("x -H Authorization: Bearer q1", "x -H Authorization: Bearer [redacted]"),
            (
                "x -e API_KEY q1 --headers X-Api-Key q1",
                "x -e API_KEY [redacted] --headers X-Api-Key [redacted]",
            ),
            (
                "aws configure set aws_secret_access_key q1",
                "aws configure set aws_secret_access_key [redacted]",
            ),
            ("curl https://e.com/?key=hunter2", "curl https://e.com/?key=[redacted]"),
            ("x --config '{\"headers\":{\"X-A\":\"hunter2\"}}'", "x --config [redacted]"),
            (
                "x --user me:q1 -ubob:q1 -basic u:q1",
                "x --user me:[redacted] -ubob:[redacted] -basic u:[redacted]",
            ),
            ("x --basic me q1", "x --basic me [redacted]"),
            ("x me:q1@db --dsn=me:q1@10.0.0.1/app", "x me:[redacted] --dsn=me:[redacted]"),
            ("sh -c 'deploy --token q1'", "sh -c deploy --token [redacted]"),
            ("ssh -o 'ProxyCommand=sshpass -p q1 ssh x' h", "ssh -o ProxyCommand=sshpass -p [redacted] h"),
        ] {
            check(line, shown);
        }
    }

    #[test]
    fn passwords_of_programs_are_masked() {
        for (line, shown) in [
            ("curl -sSu bob:hunter2 h", "curl -sSu bob:[redacted] h"),
            ("curl -ubob:hunter2 h", "curl -ubob:[redacted] h"),
            ("timeout 5 mysql -uroot -phunter2 shop", "timeout 5 mysql -uroot -p[redacted] shop"),
            ("mysql -p shop", "mysql -p shop"),
            ("sshpass -p hunter2 ssh host", "sshpass -p [redacted] ssh host"),
            ("sshpass -phunter2 ssh host", "sshpass -p[redacted] ssh host"),
            ("docker login -u bob -p hunter2 host", "docker login -u bob -p [redacted] host"),
            ("docker run -p 8080:80 image", "docker run -p 8080:80 image"),
            ("redis-cli -a hunter2 ping", "redis-cli -a [redacted] ping"),
            ("psql postgres://bob:hunter2@db/x", "psql postgres://[redacted]@db/x"),
            ("ldapsearch -x -w hunter2 -b dc=x", "ldapsearch -x -w [redacted] -b dc=x"),
            ("http -a bob:hunter2 h", "http -a bob:[redacted] h"),
            ("mongosh -u bob -p hunter2 h", "mongosh -u bob -p [redacted] h"),
            ("7z a -phunter2 x.7z", "7z a -p[redacted] x.7z"),
            ("unzip -P hunter2 x.zip", "unzip -P [redacted] x.zip"),
        ] {
            check(line, shown);
        }
    }

    #[test]
    fn ordinary_commands_stay() {
        for line in [
            "python3 bin/password_check.py --strict",
            "bin/rotate-secrets --token-file x --secret-name db --password-stdin",
            "deploy --token $TOKEN --password=${PASSWORD} --token-file=~/.token",
            "prog --keys a,b --key name --max-tokens 5 --tokens 100 --auth basic",
            "git log --format=%h --author bob",
            "ansible-playbook --private-key ~/.ssh/id_rsa --vault-password-file=pw site.yml",
            "gcloud --credentials account.json run",
            "docker build --secret id=npm,src=.npmrc .",
            "docker run -e GITHUB_TOKEN --user 1000:1000 image",
            "docker run --rm -i --network none -e API_KEY ghcr.io/acme/board:1.2.0",
            "docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server",
            "ssh -p 22 host",
            "x --session main --sid ORCL --bearer-token-env-var FOO --apikey-header X-Key",
            "x --authorization enabled -u localhost:8080 --api-key YOUR_API_KEY",
            "npm i npm:@scope/x@1.2 git@github.com:a/b image:1.0@sha256:0123",
            "nc -u host:53",
            "jq '{token: .token}' f",
            "sed -i 's/password=old/password=new/' f",
            "gcloud secrets versions access latest --secret=my-secret",
            "openssl dgst -sha256 -hmac sha256 f",
            "fetch --credentials same-origin",
            "grep -e token -e secret src",
            "python3 -c 'f(password=getpass())'",
            "printf 'token: %s' x",
            "go test -run TestToken/secret=empty",
            "git commit -m 'Say what the token: field means'",
        ] {
            check(line, &shlex::split(line).unwrap().join(" "));
        }
    }
}
