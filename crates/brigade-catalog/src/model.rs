//! The content of the two files, as values.

mod catalog;
mod names;
mod origin;
mod runtime;
mod scalar;
mod tool;

pub use catalog::{Catalog, NoTool};
pub use names::{ApprovalMode, Family, RiskClass, UnknownName};
pub(crate) use origin::FieldPlace;
pub use origin::{Level, Origin};
pub use runtime::{Runtime, Runtimes};
pub use scalar::{InvalidSeconds, InvalidToolId, Seconds, ToolId};
pub use tool::Tool;
