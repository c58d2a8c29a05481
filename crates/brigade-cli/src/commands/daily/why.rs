//! `brigade why`

use brigade::core::IdPrefix;
use brigade::daily::NamedThing;
use brigade::report::LifeReport;
use brigade::{Error, ErrorKind};
use clap::Args;

use super::show::only_one;
use crate::render::shell::quote;
use crate::session::Session;

/// Tell the life of a call or run: who asked, what decided, each run, and what would happen now
#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// Id of a call or run, a unique prefix, or a number of the last list
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn run(session: &Session<'_>, arguments: &WhyArgs) -> Result<LifeReport, Error> {
    let workspace = session.workspace()?;
    let (found, others): (Vec<NamedThing>, Vec<NamedThing>) =
        workspace.daily().look_up(&arguments.id)?.into_iter().partition(|thing| {
            matches!(thing, NamedThing::Call(_) | NamedThing::Run(_) | NamedThing::Checkpoint(_))
        });
    if let ([], [other, ..]) = (found.as_slice(), others.as_slice()) {
        let message = format!("{} is not a call or run", other.describe());
        let error = Error::new(ErrorKind::Usage, message);
        return Err(error.hint(format!("brigade show {}", quote(&arguments.id))));
    }
    let call = match only_one(&arguments.id, found)? {
        NamedThing::Call(id) => IdPrefix::from(&id),
        NamedThing::Run(id) => (&workspace.runs().show(&IdPrefix::new(id.as_str()))?.run.call_id).into(),
        NamedThing::Checkpoint(id) => {
            workspace.checkpoints().show(&IdPrefix::new(id.as_str()))?.checkpoint.call_id.into()
        }
        _ => IdPrefix::new(&arguments.id),
    };
    workspace.daily().why(call)
}
