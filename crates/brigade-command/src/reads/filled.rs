//! Fills in the variables of recipes and scripts, as far as a text says what they are.

use std::collections::BTreeMap;
use std::path::Path;

use super::make::OBJECTS;
use super::recipes::{Language, Recipes};
use super::values::Values;

/// What variables usually are that nothing sets. Make and npm set some of them themselves.
const USUAL: &[(&str, &str)] = &[
    ("CC", "cc"),
    ("CXX", "c++"),
    ("JUST", "just"),
    ("MAKE", "make"),
    ("NODE", "node"),
    ("NPM", "npm"),
    ("PERL", "perl"),
    ("PY", "python3"),
    ("PYTHON", "python3"),
    ("PYTHON3", "python3"),
    ("RUBY", "ruby"),
    ("SHELL", "sh"),
    ("npm_execpath", "npm"),
    ("npm_node_execpath", "node"),
];

/// Variables that are the working directory.
const OF_DIRECTORY: &[&str] = &["CURDIR", "INIT_CWD", "PWD"];

/// A line with several values of its variables is read in no more ways than this.
const MOST: usize = 16;

/// Lists what a line of a recipe may be for a shell that runs it in a directory: with each value that its files give to
/// its variables. What is not known stays a `$`, and objects, which builds make themselves, are left out.
pub(super) fn readings(recipes: &Recipes, language: Language, line: &str, directory: &Path) -> Vec<String> {
    if !language.has_variables(line) {
        return vec![line.to_owned()];
    }
    let mut known = vec![usual(directory)];
    let mut text = line.to_owned();
    let mut left: Vec<_> = recipes.values.iter().collect();
    // What a value names is a part of the line, too.
    while let Some(at) = left.iter().position(|(name, _)| text.contains(name.as_str())) {
        let (name, values) = left.swap_remove(at);
        values.iter().for_each(|value| text.push_str(value));
        let with = |known: &BTreeMap<String, String>, value: &String| {
            let mut known = known.clone();
            known.insert(name.clone(), value.clone());
            known
        };
        let all = known.iter().flat_map(|known| values.iter().map(|value| with(known, value)));
        let mut all: Vec<_> = all.collect();
        // The last one counts in most files.
        all.reverse();
        all.truncate(MOST);
        known = all;
    }
    let filled = |variables: &BTreeMap<String, String>| {
        let values = Values { language, arguments: &[], variables, are_positional: false };
        for_shell(&values.filled_in(line, directory), variables, directory)
    };
    let is_object = |word: &&str| OBJECTS.iter().any(|end| word.ends_with(end));
    let without =
        |line: String| line.split(' ').filter(|word| !is_object(word)).collect::<Vec<_>>().join(" ");
    known.iter().map(filled).map(without).collect()
}

/// Fills in the variables of a text for a shell that it sets itself, or that are known.
pub(super) fn for_shell(text: &str, variables: &BTreeMap<String, String>, directory: &Path) -> String {
    if !text.contains('$') {
        return text.to_owned();
    }
    let mut known = usual(directory);
    known.extend(variables.clone());
    for word in text.split(|c: char| c.is_whitespace() || ";&|(){}".contains(c)) {
        let Some((name, value)) = word.split_once('=') else { continue };
        let value = value.trim_matches(['"', '\'']);
        if is_name(name) && !value.contains(['$', '`', '"', '\'', '\\']) {
            known.insert(name.to_owned(), value.to_owned());
        }
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        filled.push_str(before);
        let braced = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, other, after) = match braced {
            Some((inner, after)) => {
                let end = inner.find(|c: char| !is_part(c)).unwrap_or(inner.len());
                // `${X:-python3}` is that if nothing sets it.
                let other = inner[end..].trim_start_matches(':').strip_prefix(['-', '=']);
                (&inner[..end], other, after)
            }
            None => {
                let end = behind.find(|c: char| !is_part(c)).unwrap_or(behind.len());
                (&behind[..end], None, &behind[end..])
            }
        };
        match known.get(name).map(String::as_str).or(other.filter(|other| !other.contains('$'))) {
            Some(value) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push('$');
                rest = behind;
            }
        }
    }
    filled + rest
}

fn usual(directory: &Path) -> BTreeMap<String, String> {
    let directory = directory.to_string_lossy();
    let own = OF_DIRECTORY.iter().map(|name| (*name, &*directory));
    USUAL.iter().copied().chain(own).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_as_far_as_a_text_says_them() {
        let variables = BTreeMap::from([("npm_package_config_x".to_owned(), "run.js".to_owned())]);
        let check = |text: &str, expect: &str| {
            assert_eq!(for_shell(text, &variables, Path::new("/work")), expect, "{text}");
        };
        check("$npm_node_execpath run.js", "node run.js");
        check("\"$npm_execpath\" run x", "\"npm\" run x");
        check("node $npm_package_config_x", "node run.js");
        check("X=python3; $X run.py", "X=python3; python3 run.py");
        check("export X='python3' && ${X} run.py", "export X='python3' && python3 run.py");
        check("${PY3:-python3} $PWD/run.py", "python3 /work/run.py");
        check("$OTHER run $1 $(x) $$ ${X", "$OTHER run $1 $(x) $$ ${X");
        check("X=$Y; $X é", "X=$Y; $X é");
    }
}
