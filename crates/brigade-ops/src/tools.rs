//! Operations on tools: listing, finding, checking, registering, importing and installing them.

pub(crate) mod add;
pub(crate) mod catalog;
pub(crate) mod checking;
pub(crate) mod enable;
pub(crate) mod finding;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod import_mcp;
pub(crate) mod installing;
pub(crate) mod login;
pub(crate) mod policy_tests;
pub(crate) mod register;
pub(crate) mod registries;
pub(crate) mod rulings;
pub(crate) mod sarif;
pub(crate) mod update;

#[cfg(test)]
mod tests;
