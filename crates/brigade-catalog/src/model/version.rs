//! Versions, and requirements of entries.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The maximum length of a version or requirement, in bytes.
const MAX_TEXT_BYTES: usize = 256;
/// The maximum number of parts between dots.
const MAX_PARTS: usize = 8;
/// The maximum number of conditions of a requirement.
const MAX_CONDITIONS: usize = 16;

/// A text that is not a version, or not a requirement. Does not contain the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a version such as `1.7`, or conditions such as `>=1.2, <2`")]
pub struct InvalidVersion;

/// A version: numbers between dots, and a suffix such as `-rc1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    numbers: Vec<u64>,
    suffix: String,
}

/// A requirement for versions: conditions that must all be met.
///
/// A condition is `=`, `>`, `>=`, `<`, `<=`, `^` or `~` and a version. A version alone means every version that begins
/// with its numbers: `1.7` is met by 1.7 and 1.7.3, and not by 1.70.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionRequirement {
    text: Box<str>,
    conditions: Box<[Condition]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    comparator: Comparator,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparator {
    Begins,
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// Up to the next version that may be incompatible.
    Caret,
    /// Up to the next minor version; up to the next major version if only a major version is given.
    Tilde,
}

impl FromStr for Version {
    type Err = InvalidVersion;

    /// Reads `1.7`, `v4.40.5` or `2.0.0-rc1`.
    fn from_str(text: &str) -> Result<Version, InvalidVersion> {
        let text = text.trim();
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        if text.is_empty() || MAX_TEXT_BYTES < text.len() {
            return Err(InvalidVersion);
        }
        let (mut numbers, mut rest) = (Vec::new(), text);
        loop {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits == 0 {
                return Err(InvalidVersion);
            }
            numbers.push(rest[..digits].parse().map_err(|_| InvalidVersion)?);
            rest = &rest[digits..];
            match rest.strip_prefix('.') {
                Some(after) if after.starts_with(|c: char| c.is_ascii_digit()) => rest = after,
                _ => break,
            }
        }
        let is_suffix = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '~' | ':');
        if MAX_PARTS < numbers.len()
            || !rest.chars().all(is_suffix)
            || rest.ends_with('.')
            || rest.contains("..")
        {
            return Err(InvalidVersion);
        }
        Ok(Version { numbers, suffix: rest.to_owned() })
    }
}

impl Version {
    /// Finds the version in the output of a program: `yq (https://…) version v4.40.5`.
    ///
    /// Prefers a word with dots, then a word after a name (`jq-1.7.1`, `go1.23`), then a single number. A single number
    /// counts only in the first line, because later lines contain years.
    pub fn find_in(text: &str) -> Option<Version> {
        let is_between =
            |c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';' | '"' | '\'' | '=' | '/');
        let versions = |text: &'_ str| -> Vec<Version> {
            let words = text.split(is_between).take(10_000);
            words.filter_map(|word| word.trim_end_matches(['.', ':']).parse().ok()).collect()
        };
        let has_dots = |version: &Version| 1 < version.numbers.len();
        let named = |word: &str| {
            let behind =
                word.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start_matches(['-', '_']);
            behind.trim_end_matches(['.', ':']).parse().ok().filter(has_dots)
        };
        let first = text.trim_start().lines().next().unwrap_or_default();
        versions(text)
            .into_iter()
            .find(has_dots)
            .or_else(|| text.split(is_between).take(10_000).find_map(named))
            .or_else(|| versions(first).into_iter().next())
    }

    fn number(&self, at: usize) -> u64 {
        self.numbers.get(at).copied().unwrap_or(0)
    }

    /// Compares the numbers; missing ones are 0.
    fn compare_numbers(&self, other: &Version) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        (0..length)
            .map(|at| self.number(at).cmp(&other.number(at)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Compares two versions. Returns `None` if only the suffixes differ, because their order depends on the project.
    /// Build metadata after a `+` is ignored.
    fn compare(&self, other: &Version) -> Option<Ordering> {
        let order = self.compare_numbers(other);
        let own = |version: &'_ Version| version.suffix.split('+').next().unwrap_or_default().to_owned();
        (order.is_ne() || own(self) == own(other)).then_some(order)
    }

    /// Returns the first version that is too new when the parts up to `at` must stay.
    fn after(&self, at: usize) -> Version {
        let mut numbers: Vec<u64> = (0..=at).map(|at| self.number(at)).collect();
        numbers[at] = numbers[at].saturating_add(1);
        Version { numbers, suffix: String::new() }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, number) in self.numbers.iter().enumerate() {
            let dot = if at == 0 { "" } else { "." };
            write!(f, "{dot}{number}")?;
        }
        f.write_str(&self.suffix)
    }
}

impl FromStr for VersionRequirement {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<VersionRequirement, InvalidVersion> {
        let text = text.trim();
        if MAX_TEXT_BYTES < text.len() {
            return Err(InvalidVersion);
        }
        let conditions: Vec<Condition> =
            text.split(',').map(|part| condition(part.trim())).collect::<Result<_, _>>()?;
        if MAX_CONDITIONS < conditions.len() {
            return Err(InvalidVersion);
        }
        Ok(VersionRequirement { text: text.into(), conditions: conditions.into() })
    }
}

fn condition(text: &str) -> Result<Condition, InvalidVersion> {
    // Longer signs come first.
    let comparators = [
        (">=", Comparator::GreaterOrEqual),
        ("<=", Comparator::LessOrEqual),
        (">", Comparator::Greater),
        ("<", Comparator::Less),
        ("=", Comparator::Equal),
        ("^", Comparator::Caret),
        ("~", Comparator::Tilde),
    ];
    let found =
        comparators.iter().find_map(|(sign, comparator)| Some((*comparator, text.strip_prefix(sign)?)));
    let (comparator, version) = found.unwrap_or((Comparator::Begins, text));
    let version: Version = version.parse()?;
    // `1.x` is not a version, but programs may print `1.2.dev0`.
    if version.suffix.starts_with('.') {
        return Err(InvalidVersion);
    }
    Ok(Condition { comparator, version })
}

impl VersionRequirement {
    /// Returns the requirement as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether a version meets the requirement, or `None` if they cannot be compared.
    pub fn is_met_by(&self, version: &Version) -> Option<bool> {
        let mut answer = Some(true);
        for condition in &self.conditions {
            match condition.is_met_by(version) {
                Some(false) => return Some(false),
                None => answer = None,
                Some(true) => {}
            }
        }
        answer
    }
}

impl fmt::Display for VersionRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    fn is_met_by(&self, version: &Version) -> Option<bool> {
        let bound = &self.version;
        let order = || version.compare(bound);
        match self.comparator {
            Comparator::Begins => {
                let begins = (0..bound.numbers.len()).all(|at| version.number(at) == bound.number(at));
                let same_end = bound.suffix.is_empty() || version.suffix.starts_with(&bound.suffix);
                Some(begins && same_end)
            }
            Comparator::Equal => order().map(Ordering::is_eq),
            Comparator::Greater => order().map(Ordering::is_gt),
            Comparator::GreaterOrEqual => order().map(Ordering::is_ge),
            Comparator::Less => order().map(Ordering::is_lt),
            Comparator::LessOrEqual => order().map(Ordering::is_le),
            Comparator::Caret => {
                // The first part other than 0 may not change; for `^0.0`, the last given part.
                let last = bound.numbers.len() - 1;
                let fixed = bound.numbers.iter().position(|number| *number != 0).unwrap_or(last);
                self.is_between(version, &bound.after(fixed))
            }
            Comparator::Tilde => self.is_between(version, &bound.after(usize::from(1 < bound.numbers.len()))),
        }
    }

    /// Returns whether a version is at least the bound and below `end`.
    fn is_between(&self, version: &Version, end: &Version) -> Option<bool> {
        let starts = version.compare(&self.version).map(Ordering::is_ge);
        let ends = version.compare(end).map(Ordering::is_lt);
        match (starts, ends) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(requirement: &str, met: &[&str], not_met: &[&str], unknown: &[&str]) {
        let requirement: VersionRequirement = requirement.parse().unwrap();
        let all = [(met, Some(true)), (not_met, Some(false)), (unknown, None)];
        for (versions, expect) in all {
            for version in versions {
                assert_eq!(
                    requirement.is_met_by(&version.parse().unwrap()),
                    expect,
                    "{requirement}: {version}"
                );
            }
        }
    }

    #[test]
    fn conditions_compare_numbers_part_by_part() {
        check(">=4.30, <5", &["4.30", "4.30.0", "v4.100.1"], &["4.3", "5.0", "10"], &["5-rc1"]);
        check("=1.7", &["1.7", "1.7.0", "1.7+build5"], &["1.7.1", "1.70"], &["1.7-rc1"]);
        check("> 1.7", &["1.7.1", "2"], &["1.7", "1.6.9"], &[]);
        check("<=2", &["2.0", "1.9"], &["2.0.1"], &["2.0-beta"]);
        check("1.7", &["1.7", "1.7.9", "1.7-rc1"], &["1.70", "1", "2.7"], &[]);
        check("2.0.0-rc", &["2.0.0-rc1"], &["2.0.0", "2.0.0-beta"], &[]);
    }

    #[test]
    fn caret_and_tilde_end_at_incompatible_versions() {
        check("^1.2.3", &["1.2.3", "1.9"], &["1.2.2", "2"], &[]);
        check("^0.2.3", &["0.2.9"], &["0.3", "0.2.2", "1"], &[]);
        check("^0.0.3", &["0.0.3"], &["0.0.4"], &[]);
        check("^0.0", &["0.0.9"], &["0.1"], &[]);
        check("~1.2.3", &["1.2.3", "1.2.9"], &["1.3", "1.2.2"], &[]);
        check("~1.2", &["1.2", "1.2.9"], &["1.3"], &[]);
        check("~1", &["1.9"], &["2"], &["1-rc1"]);
    }

    #[test]
    fn what_is_no_requirement_is_refused() {
        for text in [
            "",
            ",",
            ">=",
            "latest",
            ">=1,",
            "==1",
            "1..2",
            "1.",
            "=>1",
            "1 2",
            "1.2 || 3",
            "x1",
            "1.x",
            "99999999999999999999",
        ] {
            assert_eq!(text.parse::<VersionRequirement>(), Err(InvalidVersion), "{text}");
        }
        assert_eq!(" >=1 , <2 ".parse::<VersionRequirement>().unwrap().to_string(), ">=1 , <2");
    }

    #[test]
    fn a_version_is_found_in_what_a_program_prints() {
        let found = |text| Version::find_in(text).map(|version| version.to_string());
        assert_eq!(
            found("yq (https://github.com/mikefarah/yq/) version v4.40.5\n").as_deref(),
            Some("4.40.5")
        );
        assert_eq!(found("git version 2.47.1.").as_deref(), Some("2.47.1"));
        assert_eq!(found("Python 3.13.0rc1").as_deref(), Some("3.13.0rc1"));
        assert_eq!(found("less 668 (GNU)").as_deref(), Some("668"));
        assert_eq!(found("go version go1.23 linux/amd64").as_deref(), Some("1.23"));
        assert_eq!(found("jq-1.7.1\n").as_deref(), Some("1.7.1"));
        assert_eq!(found("hello (GNU Hello)\n\nCopyright (C) 2022"), None);
        assert_eq!(found("sha256 of amd64"), None);
        assert_eq!(found("unknown"), None);
    }
}
