//! Spells next steps for the current interface.

use brigade_core::{Hint, NextStep, StepFormatter};

use crate::WorkspaceContext;

impl WorkspaceContext {
    /// Spells a step as the user would type it.
    pub fn words(&self, step: &NextStep) -> String {
        self.speller.spell(step, Some(&self.target()))
    }

    /// Returns a function that spells steps, for rows that outlive the operation.
    pub fn words_of_steps(&self) -> impl Fn(&NextStep) -> String + Clone + Send + Sync + 'static {
        let (speller, root) = (self.speller.clone(), self.target());
        move |step| speller.spell(step, Some(&root))
    }

    /// Spells a hint as the user would type its steps.
    pub fn spelled(&self, hint: impl Into<Hint>) -> Hint {
        hint.into().spelled(&self.speller(), None)
    }

    /// Returns a speller for texts that are shown. Stored texts name no workspace and use the field `speller`.
    pub fn speller(&self) -> ShownWords<'_> {
        ShownWords { speller: &*self.speller, root: self.target() }
    }
}

/// Spells steps as the user would type them, with the workspace if needed.
pub struct ShownWords<'r> {
    speller: &'r dyn StepFormatter,
    root: String,
}

impl StepFormatter for ShownWords<'_> {
    fn spell(&self, step: &NextStep, workspace: Option<&str>) -> String {
        self.speller.spell(step, Some(workspace.unwrap_or(&self.root)))
    }
}

#[cfg(test)]
mod tests;
