//! Next steps, spelled for the current face.

use brigade_core::{Hint, NextStep};

use crate::room::Room;

impl Room {
    /// Spells a step as the user would type it.
    pub(crate) fn words(&self, step: &NextStep) -> String {
        self.env.speller.spell(step, Some(&self.target()))
    }

    /// Returns a step together with its spelling.
    pub(crate) fn in_words(&self, step: NextStep) -> Hint {
        Hint::from(step).spelled(&*self.env.speller, Some(&self.target()))
    }

    /// Returns a function that spells steps, for rows that outlive the operation.
    pub(crate) fn words_of_steps(&self) -> impl Fn(&NextStep) -> String + Clone + Send + Sync + 'static {
        let (speller, root) = (self.env.speller.clone(), self.target());
        move |step| speller.spell(step, Some(&root))
    }

    /// Spells a hint for storage, or for use in the workspace directory.
    pub(crate) fn spelled(&self, hint: impl Into<Hint>) -> Hint {
        hint.into().spelled(&*self.env.speller, None)
    }
}
