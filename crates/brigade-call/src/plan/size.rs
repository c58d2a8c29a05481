//! Command lines that the system does not take.

use brigade_catalog::Family;
use brigade_command::Argv;
use brigade_policy::Blocker;

/// The longest word that Linux hands to a program, in bytes, without the NUL behind it.
const LONGEST_WORD: usize = (128 << 10) - 1;

/// The longest command line that Linux takes with the usual limit of the stack, in bytes, with room for the environment.
const LONGEST_LINE: usize = (2 << 20) - (256 << 10);

/// What each word takes besides its bytes: a NUL and a pointer.
const OF_EACH_WORD: usize = 9;

/// Says which word, or that the whole command line, is too long to be handed to a program.
pub(super) fn size_blockers(argv: &Argv, family: Option<Family>) -> Option<Blocker> {
    let words = argv.words();
    let whole: usize = words.iter().map(|word| word.len() + OF_EACH_WORD).sum();
    let message = match words.iter().position(|word| LONGEST_WORD < word.len()) {
        Some(word) => {
            format!(
                "word {word} of the command line has {} bytes, and no more than {LONGEST_WORD} can be passed",
                words[word].len()
            )
        }
        None if LONGEST_LINE < whole => {
            format!("the command line has {whole} bytes, and no more than {LONGEST_LINE} can be passed")
        }
        None => return None,
    };
    let blocker = Blocker::new("arguments_too_long", message).field("args");
    Some(match family {
        Some(Family::Mcp) => blocker,
        _ => blocker.hint("write what is long into a file, and pass its name"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[usize], expect: Option<&str>) {
        let words = words.iter().map(|length| "x".repeat(*length)).collect();
        let blocker = size_blockers(&Argv::new(words).unwrap(), Some(Family::Script));
        assert_eq!(blocker.map(|blocker| blocker.message), expect.map(str::to_owned));
    }

    #[test]
    fn what_the_system_does_not_take_is_refused() {
        check(&[5, LONGEST_WORD], None);
        check(
            &[5, 1, LONGEST_WORD + 1],
            Some("word 2 of the command line has 131072 bytes, and no more than 131071 can be passed"),
        );
        check(&[100_000; 18], None);
        check(
            &[100_000; 19],
            Some("the command line has 1900171 bytes, and no more than 1835008 can be passed"),
        );
    }
}
