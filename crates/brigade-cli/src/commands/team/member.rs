//! `brigade team member`

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use brigade::team::{MemberRequest, TeamRole};
use brigade::{Error, ErrorKind, Exit};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::PlaceArgs;
use crate::output::Output;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    Add(AddArgs),
    Remove(RemoveArgs),
    List(ListArgs),
}

/// Add a member, or replace the roles and workspaces of one
///
/// The name is that of a login in the database, which is made if it does not exist.
#[derive(Args, Debug)]
pub(crate) struct AddArgs {
    /// Name of the member
    name: String,
    /// What the member may do; repeat it for several roles
    #[arg(long, required = true, value_parser = PossibleValuesParser::new(TeamRole::ALL.iter().map(|role| role.as_str())))]
    role: Vec<String>,
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
}

/// Remove a member: take all roles away
///
/// The login in the database stays, and so do receipts. Approvals of the member do not count any more.
#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Name of the member
    name: String,
    #[command(flatten)]
    place: PlaceArgs,
}

/// List the members
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn run(command: &Member, session: &Session<'_>, output: &mut Output<'_, '_>) -> Exit {
    let result = super::team(session).and_then(|team| match command {
        Member::Add(arguments) => {
            let AddArgs { name, role, key, workspace, password_stdin, place } = arguments;
            let roles: Vec<TeamRole> = role.iter().filter_map(|role| TeamRole::from_word(role)).collect();
            let password = password_stdin.then(|| read_password(output)).transpose()?;
            let request = MemberRequest {
                name,
                roles: &roles,
                key: key.as_deref(),
                workspaces: workspace,
                password: password.as_deref(),
            };
            team.add_member(place.place(), request)
        }
        Member::Remove(arguments) => team.remove_member(arguments.place.place(), &arguments.name),
        Member::List(arguments) => team.members(arguments.place.place()),
    });
    output.finish(result)
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
