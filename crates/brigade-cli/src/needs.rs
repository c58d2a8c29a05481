//! Which commands need a workspace.

use std::ops::ControlFlow;

use brigade::core::NextStep;
use brigade::{Error, ErrorCode, ErrorKind};

use crate::commands::Command;
#[cfg(feature = "team")]
use crate::commands::team::Team;
use crate::commands::tools::call::Call;
use crate::commands::tools::checkpoint::Checkpoint;
use crate::commands::tools::{Tools, pack, parity, policy, run, runtime};
use crate::commands::work::Work;
use crate::commands::work::inbox::Inbox;
use crate::output::Output;
use crate::session::Session;

/// How a command behaves without a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutsideBehavior {
    /// It does not need one.
    Works,
    /// It behaves like v0.30; as text, it also reports that there is no workspace.
    WorksEmpty,
    /// It shows nothing. The document and exit code are those of v0.30; the text only reports that there is no
    /// workspace.
    ShowsNothing,
    /// It fails. The document is that of v0.30.
    FailsAsText,
    /// It fails.
    Fails,
    /// It means the gateway of the user, like every word of the day. Without one, it fails.
    UserOrFails,
    /// It means the gateway of the user. Without one, it shows nothing.
    UserOrNothing,
}

fn outside_behavior(command: &Command) -> OutsideBehavior {
    use OutsideBehavior as O;
    match command {
        Command::Demo(_)
        | Command::Completions(_)
        | Command::Complete(_)
        | Command::Discover(_)
        | Command::Explain(_)
        | Command::Setup(_)
        | Command::Add(_) => O::Works,
        Command::Enable(_)
        | Command::Disable(_)
        | Command::Pending(_)
        | Command::Approve(_)
        | Command::Reject(_)
        | Command::Hold(_)
        | Command::Review(_)
        | Command::Log(_)
        | Command::Show(_)
        | Command::Why(_) => O::UserOrFails,
        // Only what concerns the workspace needs one.
        #[cfg(feature = "team")]
        Command::Team(command) => match &command.0 {
            Team::Join { .. }
            | Team::Leave
            | Team::Status
            | Team::Verify
            | Team::Import { .. }
            | Team::Export { .. }
            | Team::Roster { .. }
            | Team::Runner { .. }
            | Team::AcceptFailover => O::Fails,
            Team::Init { .. }
            | Team::Member { .. }
            | Team::Rule { .. }
            | Team::Migrate { .. }
            | Team::Prune { .. }
            | Team::Doctor { .. } => O::Works,
        },
        #[cfg(feature = "serve")]
        Command::Serve(_) => O::Fails,
        Command::State(_) => O::Fails,
        // The files of the shell program do not need a `.brigade` directory.
        Command::Kitchen(_)
        | Command::Plan(_)
        | Command::Map(_)
        | Command::Service(_)
        | Command::Ticket(_)
        | Command::Resume(_)
        | Command::Status(_)
        | Command::Validate(_)
        | Command::Summary(_)
        | Command::Cost(_) => O::Works,
        Command::Work(command) => match &command.0 {
            Work::Brief => O::UserOrNothing,
            Work::Answer { .. } => O::Fails,
            #[cfg(feature = "builtin")]
            Work::Memory { .. } | Work::Pr { .. } | Work::Turn { .. } => O::Fails,
            Work::Inbox(arguments) => match &arguments.0.command {
                None | Some(Inbox::List { .. }) => O::ShowsNothing,
                _ => O::FailsAsText,
            },
        },
        Command::Tools(command) => match &command.0 {
            Tools::Init { .. } | Tools::Defaults { .. } | Tools::Keys { .. } | Tools::Harness { .. } => {
                O::Works
            }
            Tools::Discover { .. } => O::Works,
            Tools::Policy(command) if matches!(command.0, policy::Policy::Init { .. }) => O::Works,
            Tools::Runtime(command) if matches!(command.0, runtime::Runtime::Init { .. }) => O::Works,
            Tools::Pack(command) if matches!(command.0, pack::Pack::Import { .. }) => O::Works,
            Tools::ImportIssues => O::WorksEmpty,
            Tools::Search { .. } => O::ShowsNothing,
            Tools::Call(command) if matches!(command.0, Call::List { .. }) => O::ShowsNothing,
            Tools::Run(command) if matches!(command.0, run::Run::List { .. }) => O::ShowsNothing,
            Tools::Checkpoint(command) if matches!(command.0, Checkpoint::List) => O::ShowsNothing,
            Tools::Parity(command) => match command.0 {
                parity::Parity::Status => O::ShowsNothing,
                _ => O::WorksEmpty,
            },
            Tools::Pack(command) if matches!(command.0, pack::Pack::List { .. }) => O::ShowsNothing,
            Tools::Pack(command) if matches!(command.0, pack::Pack::Build) => O::WorksEmpty,
            Tools::Run(command) if matches!(command.0, run::Run::Verify { .. }) => O::Fails,
            Tools::State { .. }
            | Tools::Pins { .. }
            | Tools::Observe { .. }
            | Tools::Review { .. }
            | Tools::Connect { .. } => O::Fails,
            Tools::Sync(arguments) if arguments.0.command.is_none() => O::Fails,
            Tools::Agent { .. }
            | Tools::Profile { .. }
            | Tools::Cost { .. }
            | Tools::Install { .. }
            | Tools::Register { .. }
            | Tools::Registry { .. }
            | Tools::Login { .. }
            | Tools::Logout { .. }
            | Tools::Enable { .. }
            | Tools::Disable { .. }
            | Tools::Update { .. } => O::Fails,
            #[cfg(feature = "builtin")]
            Tools::Script { .. } => O::Fails,
            Tools::Check { .. } | Tools::Find { .. } | Tools::Stats { .. } => O::Fails,
            _ => O::FailsAsText,
        },
    }
}

/// Checks that there is a workspace, if a command needs one. Returns whether the command has nothing left to do.
///
/// # Errors
/// Fails if there is no workspace and the command needs one.
pub(crate) fn check(
    command: &Command,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<ControlFlow<()>, Error> {
    use OutsideBehavior as O;
    let outside = outside_behavior(command);
    let is_needed = match outside {
        O::Works => false,
        O::WorksEmpty | O::ShowsNothing | O::UserOrNothing | O::FailsAsText => !output.is_json(),
        O::Fails | O::UserOrFails => true,
    };
    if !is_needed {
        return Ok(ControlFlow::Continue(()));
    }
    let workspace = session.workspace()?;
    if workspace.exists()? {
        return Ok(ControlFlow::Continue(()));
    }
    if matches!(outside, O::UserOrFails | O::UserOrNothing)
        && let Some(of_user) = session.use_gateway_of_user()
    {
        output.note(&format!("this is the gateway of the user, {}", of_user.root().display()));
        return Ok(ControlFlow::Continue(()));
    }
    let place = workspace.root().display();
    let none = if session.has_target() {
        format!("no workspace at `{place}`")
    } else {
        format!("no workspace at `{place}` or above")
    };
    let only_said = match outside {
        O::WorksEmpty => Some(ControlFlow::Continue(())),
        O::ShowsNothing | O::UserOrNothing => Some(ControlFlow::Break(())),
        O::Works | O::FailsAsText | O::Fails | O::UserOrFails => None,
    };
    if let Some(flow) = only_said {
        output.without_workspace(&none);
        return Ok(flow);
    }
    let error = Error::new(ErrorKind::NotFound, none).coded(ErrorCode::WorkspaceMissing);
    Err(error.hint(NextStep::Setup).hint(NextStep::Init))
}
