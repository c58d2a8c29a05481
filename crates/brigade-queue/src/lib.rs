//! Keeps calls, checkpoints and receipts on disk.
