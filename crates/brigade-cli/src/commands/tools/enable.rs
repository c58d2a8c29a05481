//! `brigade tools enable` and `brigade tools disable`

use brigade::tools::{ApprovalMode, EnableChange, EnableRequest};
use brigade::{Error, Exit, Report as _};
use clap::Args;

use crate::output::Output;
use crate::render::imported_line;
use crate::session::Session;

/// Enable tools of the catalog, and set their effects
///
/// Shows each tool with its effects and what approves its calls for each agent, then asks. Only fields that change are
/// written, in place. Effects that the hints of a server propose count only with --accept-hints. For the entry of a
/// whole MCP server it also enables the runtime, starts the server once, and imports its tools, disabled.
#[derive(Args, Debug)]
pub(crate) struct EnableArgs {
    #[command(flatten)]
    common: ChangeArgs,
    /// Give tools without effects those that the hints of their server propose, else those of --effects
    #[arg(long)]
    accept_hints: bool,
}

/// Disable tools of the catalog
///
/// Shows the tools, then asks. Only fields that change are written, in place.
#[derive(Args, Debug)]
pub(crate) struct DisableArgs {
    #[command(flatten)]
    common: ChangeArgs,
}

#[derive(Args, Debug)]
struct ChangeArgs {
    /// Ids of tools, or patterns of ids such as `files-*`
    #[arg(value_name = "GLOB", required = true)]
    globs: Vec<String>,
    /// The effects that the tools get, separated by commas
    #[arg(long, value_name = "EFFECTS", value_delimiter = ',')]
    effects: Option<Vec<String>>,
    /// When calls need an approval: never, on-request, always
    #[arg(long, value_name = "MODE")]
    approval: Option<ApprovalMode>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Show what would change, without writing
    #[arg(long)]
    dry_run: bool,
}

impl ChangeArgs {
    fn request(&self, enabled: bool, accept_hints: bool) -> EnableRequest {
        let effects = self.effects.as_deref().map(trimmed);
        let (approval, dry_run) = (self.approval, self.dry_run);
        let change = EnableChange { enabled, effects, approval, accept_hints, dry_run };
        EnableRequest { globs: self.globs.clone(), change }
    }
}

/// Returns the effects of an option.
pub(super) fn trimmed(effects: &[String]) -> Vec<String> {
    effects.iter().map(|effect| effect.trim().to_owned()).collect()
}

impl EnableArgs {
    pub(crate) fn request(&self) -> EnableRequest {
        self.common.request(true, self.accept_hints)
    }

    pub(crate) fn yes(&self) -> bool {
        self.common.yes
    }
}

impl DisableArgs {
    pub(crate) fn request(&self) -> EnableRequest {
        self.common.request(false, false)
    }

    pub(crate) fn yes(&self) -> bool {
        self.common.yes
    }
}

pub(crate) fn run(
    session: &Session<'_>,
    request: &EnableRequest,
    yes: bool,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let report = session.workspace()?.catalog().enable(request, &mut |report| {
        output.confirm_or(session.surroundings, yes, report, "Change these entries?")
    })?;
    let is_shown = !yes && output.may_ask(session.surroundings);
    if !is_shown || !(report.written || 0 < report.changed_count && !report.dry_run) {
        return Ok(output.finish(report));
    }
    output.note(if report.written { "the entries were changed" } else { "nothing was written" });
    report.imported.iter().for_each(|server| output.note(&imported_line(server)));
    Ok(report.exit())
}
