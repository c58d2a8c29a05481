//! Truncates text without showing a part of a secret.

use crate::{MARK, Redactor};

impl Redactor {
    /// Truncates a text to at most this many bytes, between characters, and returns whether it was longer.
    ///
    /// A part of a secret is not recognized as one. So a secret at the cut is replaced by [`MARK`], which may make the
    /// text a little longer. Secrets that are completely in the text stay, and are masked with it.
    pub fn cut(&self, text: &mut String, most: usize) -> bool {
        if text.len() <= most {
            return false;
        }
        let end = text.floor_char_boundary(most);
        // No secret is longer than the number of bytes that are held back.
        let least = end.saturating_sub(self.holds_back());
        let mut at = end;
        while least < at && self.splits(text, at) {
            at = text.floor_char_boundary(at - 1);
        }
        text.truncate(at);
        if at < end {
            text.push_str(MARK);
        }
        true
    }

    /// Returns whether a secret contains this position. Then the two parts of the text reveal more than the whole.
    fn splits(&self, text: &str, at: usize) -> bool {
        let start = text.floor_char_boundary(at.saturating_sub(self.holds_back()));
        let behind = text.floor_char_boundary(text.len().min(at + self.holds_back()));
        let parts = self.redact_str(&text[start..at]) + &self.redact_str(&text[at..behind]);
        joined(&self.redact_str(&text[start..behind])) != joined(&parts)
    }
}

/// Returns a text in which adjacent marks are joined to one.
fn joined(text: &str) -> String {
    let mut joined = text.to_owned();
    let two = MARK.repeat(2);
    while joined.contains(&two) {
        joined = joined.replace(&two, MARK);
    }
    joined
}

#[cfg(test)]
mod tests {
    use crate::{MARK, Redactor, SecretValue};

    #[test]
    fn a_cut_never_shows_a_part_of_a_secret() {
        let secret = "zq7Canary#Wert-9931";
        let redactor = Redactor::new(&[SecretValue::new(secret)]);
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        for (hidden, least) in [(secret, 1), (token, 4)] {
            let text = format!("{} {hidden} and more words", "é".repeat(3000));
            let at = text.find(hidden).unwrap();
            for most in 0..=text.len() {
                let mut cut = text.clone();
                assert_eq!(redactor.cut(&mut cut, most), most < text.len());
                assert!(cut.len() <= most + MARK.len(), "{most}");
                let shown = most.saturating_sub(at).min(hidden.len());
                if least < shown && shown < hidden.len() {
                    // The result is masked again before it is shown.
                    let seen = redactor.redact_str(&cut);
                    assert!(!seen.contains(&hidden[..=least]), "{most}: {}", &seen[seen.len().min(at)..]);
                }
            }
        }
    }

    #[test]
    fn a_cut_between_adjacent_secrets_shows_none_of_them() {
        let secret = "zq7Canary#Wert-9931";
        let redactor = Redactor::new(&[SecretValue::new(secret)]);
        let text = secret.repeat(400);
        for most in 4_000..4_040 {
            let mut cut = text.clone();
            assert!(redactor.cut(&mut cut, most));
            let seen = redactor.redact_str(&cut);
            assert!(!seen.contains("zq7") && cut.len() <= most + MARK.len(), "{most}: {seen}");
        }
    }

    #[test]
    fn text_without_secrets_is_cut_exactly() {
        let redactor = Redactor::new(&[]);
        let mut text = "aé".repeat(10);
        assert!(redactor.cut(&mut text, 5));
        assert_eq!(text, "aéa");
        assert!(!redactor.cut(&mut text, 4));
    }
}
