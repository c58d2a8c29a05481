//! Keeps secrets out of everything that is stored or shown.
