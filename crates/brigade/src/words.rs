//! Next steps in the words of the face that asks.

use brigade_core::{Hint, NextStep};

use crate::room::Room;

impl Room {
    /// Returns a step in words that work where the person is.
    pub(crate) fn words(&self, step: &NextStep) -> String {
        self.env.speller.spell(step, Some(&self.target()))
    }

    /// Returns a step with words that work where the person is.
    pub(crate) fn in_words(&self, step: NextStep) -> Hint {
        Hint::from(step).spelled(&*self.env.speller, Some(&self.target()))
    }

    /// Returns what puts steps into such words, for rows that outlive the operation.
    pub(crate) fn words_of_steps(&self) -> impl Fn(&NextStep) -> String + Clone + Send + Sync + 'static {
        let (speller, root) = (self.env.speller.clone(), self.target());
        move |step| speller.spell(step, Some(&root))
    }

    /// Returns a hint in words that are stored, or meant for the directory of the workspace.
    pub(crate) fn spelled(&self, hint: impl Into<Hint>) -> Hint {
        hint.into().spelled(&*self.env.speller, None)
    }
}
