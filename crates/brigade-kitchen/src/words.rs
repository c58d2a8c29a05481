//! Words of titles and criteria.

/// The words of a text, in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Words(Vec<String>);

impl Words {
    /// Splits a text at everything but letters and digits.
    pub(crate) fn of(text: &str) -> Words {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        Words(words.map(str::to_lowercase).collect())
    }

    /// Returns whether a word, or a phrase of words, occurs. A verb also matches its simple forms: `adds`, `added`,
    /// `adding`, `creating`.
    pub(crate) fn has(&self, phrase: &str) -> bool {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        self.0
            .windows(wanted.len())
            .any(|words| words.iter().zip(&wanted).all(|(word, wanted)| is_form(word, wanted)))
    }

    /// Returns the number of words.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

/// Returns whether a phrase occurs in a text, word by word and without forms.
pub(crate) fn has_phrase(text: &str, phrase: &str) -> bool {
    let (words, wanted) = (Words::of(text).0, Words::of(phrase).0);
    words.windows(wanted.len().max(1)).any(|words| words == wanted)
}

fn is_form(word: &str, verb: &str) -> bool {
    let Some(end) = word.strip_prefix(verb) else {
        // `creating`, `integrated`: the last `e` is dropped.
        return verb.strip_suffix('e').and_then(|stem| word.strip_prefix(stem)) == Some("ing");
    };
    matches!(end, "" | "s" | "es" | "d" | "ed" | "ing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_match_in_their_forms() {
        let words = Words::of("Adding a user-can flow; creates, wired");
        for verb in ["add", "create", "wire", "user can", "flow"] {
            assert!(words.has(verb), "{verb}");
        }
        assert!(!Words::of("address additional recreation workflow").has("add"));
        assert!(!Words::of("address additional recreation workflow").has("create"));
        assert!(!Words::of("workflow").has("flow") && Words::of("integrating").has("integrate"));
        assert!(
            has_phrase("It works as expected.", "as expected") && !has_phrase("unexpected", "as expected")
        );
    }
}
