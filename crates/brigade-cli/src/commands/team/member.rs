//! `brigade team member`

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use brigade::team::{MemberRequest, TeamRole};
use brigade::{Error, ErrorKind, Exit};
use clap::Subcommand;

use super::PlaceArgs;
use crate::arguments::word;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// Add a member, or replace the roles and workspaces of one
    ///
    /// The name is that of a login in the database, which is made if it does not exist.
    Add {
        /// Name of the member
        name: String,
        /// What the member may do; repeat it for several roles
        #[arg(long, required = true, value_parser = word::<TeamRole>())]
        role: Vec<TeamRole>,
        /// File with the public key of the member, which signs approvals
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
        /// Only for this workspace; repeat it for several ones
        #[arg(long)]
        workspace: Vec<String>,
        /// Read the password of the login from a line of the standard input
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Remove a member: take all roles away
    ///
    /// The login in the database stays, and so do receipts. Approvals of the member do not count any more.
    Remove {
        /// Name of the member
        name: String,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// List the members
    List {
        #[command(flatten)]
        place: PlaceArgs,
    },
}

pub(crate) fn run(
    command: &Member,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    let team = super::team(session)?;
    let report = match command {
        Member::Add { name, role, key, workspace, password_stdin, place } => {
            let password = password_stdin.then(|| read_password(output)).transpose()?;
            let request = MemberRequest {
                name,
                roles: role,
                key: key.as_deref(),
                workspaces: workspace,
                password: password.as_deref(),
            };
            team.add_member(place.place(), request)?
        }
        Member::Remove { name, place } => team.remove_member(place.place(), name)?,
        Member::List { place } => team.members(place.place())?,
    };
    Ok(output.finish(report))
}

fn read_password(output: &mut Output<'_, '_>) -> Result<String, Error> {
    let mut line = String::new();
    let is_read = BufReader::new(output.input()).read_line(&mut line).is_ok();
    let password = line.trim_end_matches(['\r', '\n']);
    if !is_read || password.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "the standard input has no password"));
    }
    Ok(password.to_owned())
}
