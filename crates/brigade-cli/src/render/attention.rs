//! Calls for the attention of the person at a terminal.

use brigade::core::text::escape_terminal;

use crate::surroundings::Surroundings;

/// What the terminal understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attention {
    /// Only the bell.
    Bell,
    /// Also notifications: OSC 9 and OSC 777.
    Notification,
}

impl Attention {
    /// Returns what the terminal of standard error understands, if there is one.
    pub(crate) fn for_terminal(surroundings: &Surroundings) -> Option<Attention> {
        let kind = if surroundings.dumb { Attention::Bell } else { Attention::Notification };
        surroundings.error.map(|_| kind)
    }

    /// Returns the sequences that notify of a text. Nothing in the text can end them.
    pub(crate) fn sequences(self, text: &str) -> String {
        if self == Attention::Bell {
            return "\x07".to_owned();
        }
        let text: String = escape_terminal(text).chars().filter(|c| !c.is_control() && *c != ';').collect();
        format!("\x07\x1b]9;{text}\x1b\\\x1b]777;notify;brigade;{text}\x1b\\")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_holds_no_control_characters() {
        let text = Attention::Notification.sequences("a\x1b\\;b\u{9c}\x07");
        assert_eq!((text.matches('\x1b').count(), text.matches('\x07').count()), (4, 1), "{text:?}");
        assert!(!text.contains('\u{9c}') && text.contains("notify;brigade;a"), "{text:?}");
        assert_eq!(Attention::Bell.sequences("a"), "\x07");
    }
}
