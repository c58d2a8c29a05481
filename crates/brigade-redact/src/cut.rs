//! Cutting text without showing a part of a secret.

use crate::{MARK, Redactor};

impl Redactor {
    /// Cuts a text to at most so many bytes, between characters, and returns whether it was longer.
    ///
    /// A part of a secret is not known as one. So a secret that the cut goes through is replaced by [`MARK`], which may
    /// make the text a little longer. Secrets that stand whole in the text stay, and are masked with it.
    pub fn cut(&self, text: &mut String, most: usize) -> bool {
        if text.len() <= most {
            return false;
        }
        let end = text.floor_char_boundary(most);
        // No secret is longer than what is held back.
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

    /// Tells whether a secret goes through a place in a text: then both parts of the text show more than the whole.
    fn splits(&self, text: &str, at: usize) -> bool {
        let start = text.floor_char_boundary(at.saturating_sub(self.holds_back()));
        let behind = text.floor_char_boundary(text.len().min(at + self.holds_back()));
        let parts = self.redact_str(&text[start..at]) + &self.redact_str(&text[at..behind]);
        joined(&self.redact_str(&text[start..behind])) != joined(&parts)
    }
}

/// Returns a text with one mark where several stand side by side.
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
                    // What is shown is masked once more.
                    let seen = redactor.redact_str(&cut);
                    assert!(!seen.contains(&hidden[..=least]), "{most}: {}", &seen[seen.len().min(at)..]);
                }
            }
        }
    }

    #[test]
    fn a_cut_through_secrets_side_by_side_shows_no_part_of_one() {
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
    fn what_holds_no_secret_is_cut_where_it_was_asked() {
        let redactor = Redactor::new(&[]);
        let mut text = "aé".repeat(10);
        assert!(redactor.cut(&mut text, 5));
        assert_eq!(text, "aéa");
        assert!(!redactor.cut(&mut text, 4));
    }
}
