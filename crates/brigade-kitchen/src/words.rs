//! Words of titles and criteria.

/// The words of a text, in lower case.
#[derive(Clone, Debug)]
pub(crate) struct Words(Vec<String>);

impl Words {
    /// Splits a text at everything but letters and digits.
    pub(crate) fn new(text: &str) -> Words {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        Words(words.map(str::to_lowercase).collect())
    }

    /// Returns whether a word or a phrase occurs. A verb also matches its simple forms: `adds`, `added`, `adding`,
    /// `creating`.
    pub(crate) fn has(&self, phrase: &str) -> bool {
        self.fits(phrase, is_form)
    }

    /// Returns whether a phrase occurs word by word, without other forms.
    pub(crate) fn has_exactly(&self, phrase: &str) -> bool {
        self.fits(phrase, |word, expected| word == expected)
    }

    /// Returns whether the words of a phrase match consecutive words.
    fn fits(&self, phrase: &str, fits: impl Fn(&str, &str) -> bool) -> bool {
        let length = 1 + phrase.bytes().filter(|byte| *byte == b' ').count();
        let is_there = |words: &[String]| {
            words.iter().zip(phrase.split(' ')).all(|(word, expected)| fits(word, expected))
        };
        self.0.windows(length).any(is_there)
    }

    /// Returns the number of words.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }
}

fn is_form(word: &str, verb: &str) -> bool {
    let Some(end) = word.strip_prefix(verb) else {
        // `creating`, `integrated`: the final `e` is dropped.
        return verb.strip_suffix('e').and_then(|stem| word.strip_prefix(stem)) == Some("ing");
    };
    matches!(end, "" | "s" | "es" | "d" | "ed" | "ing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_match_in_their_forms() {
        let words = Words::new("Adding a user-can flow; creates, wired");
        for verb in ["add", "create", "wire", "user can", "flow"] {
            assert!(words.has(verb), "{verb}");
        }
        assert!(!Words::new("address additional recreation workflow").has("add"));
        assert!(!Words::new("address additional recreation workflow").has("create"));
        assert!(!Words::new("workflow").has("flow") && Words::new("integrating").has("integrate"));
        assert!(Words::new("It works as expected.").has_exactly("as expected"));
        assert!(!Words::new("unexpected").has_exactly("as expected"));
    }
}
