//! The header option of curl, alone or combined with other short options: `-sH 'X-A: q1'`.

use brigade_cmdline::Program;

use crate::container::is_program;

/// Returns where a header begins in a word of a curl command.
pub(crate) fn header_of_curl(words: &[&str], at: usize) -> Option<usize> {
    value_of(words, at, 'H')
}

/// Returns where the value of a short option begins in a word.
fn value_of(words: &[&str], at: usize, option: char) -> Option<usize> {
    let before = at.checked_sub(1).map(|before| words[before]);
    let may_be = |word: &str| word.starts_with('-') && word.contains(option);
    if !may_be(words[at]) && !before.is_some_and(may_be) {
        return None;
    }
    let runs = |word: &&&str| is_program(word, &["curl"]);
    let curl = Program::from_word(words[..at].iter().rfind(runs)?)?;
    let value = |word: &str| curl.short_value(word).filter(|(letter, _)| *letter == option);
    if before.is_some_and(|word| value(word).is_some_and(|(_, from)| from == word.len())) {
        return Some(0);
    }
    value(words[at]).map(|(_, from)| from).filter(|from| *from < words[at].len())
}
