//! Text that is safe to show.
