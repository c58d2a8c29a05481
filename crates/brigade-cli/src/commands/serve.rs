//! `brigade serve`

mod events;
#[cfg(feature = "web")]
mod page;

use std::io::Write as _;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};

use brigade::{Error, ErrorKind, Exit};
use brigade_gateway::{Listing, NameStyle, Serve, ServeReport, Transport, connect, serve};
use clap::Args;

use events::EventLines;

use crate::arguments::word;
use crate::output::Output;
use crate::render::text::{Text, Tone};
use crate::session::Session;

/// The default port.
const PORT: u16 = 8766;

/// Offer the tools to agents as one MCP server
///
/// Lists what an agent may call and takes its calls. Each call is planned, decided by the policy, approved, verified,
/// run in the sandbox and receipted, as on the command line. Agents, tokens and limits are in
/// .brigade/tools/gateway.toml; without this file there is the agent `local`, over standard input and output.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Serve one client over standard input and output (the default)
    #[arg(long, conflicts_with_all = ["http", "unix"])]
    stdio: bool,

    /// Serve over HTTP at this loopback address [default: 127.0.0.1:8766]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "")]
    http: Option<String>,

    /// Serve over HTTP on this Unix socket
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,

    /// The agent for standard input and output, the socket, or requests without a token [default: local]
    #[arg(long = "as", value_name = "AGENT")]
    agent: Option<String>,

    /// Narrow every agent by this profile; may be repeated
    #[arg(long = "profile", value_name = "SLOT.NAME")]
    profiles: Vec<String>,

    /// How tools are listed [default: as in gateway.toml]
    #[arg(long, value_name = "full|compact|search", value_parser = word::<Listing>(), hide_possible_values = true)]
    list: Option<Listing>,

    /// How names are written; `plain` has `_` instead of dots
    #[arg(long, value_name = "dotted|plain", value_parser = word::<NameStyle>(), hide_possible_values = true)]
    names: Option<NameStyle>,

    /// Work in this lane: paths of files and commands are relative to its worktree
    #[arg(long, value_name = "ID")]
    lane: Option<String>,

    /// Take requests over HTTP without a token, as those of the agent of --as
    #[arg(long, requires = "http")]
    no_token: bool,

    #[cfg(feature = "web")]
    #[command(flatten)]
    page: page::PageArgs,
}

impl ServeArgs {
    /// Returns whether MCP is served over standard input and output.
    fn is_stdio(&self) -> bool {
        self.http.is_none() && self.unix.is_none() && (self.stdio || !self.has_page())
    }

    /// Returns whether only the page is served.
    #[cfg(feature = "web")]
    fn is_alone(&self) -> bool {
        self.http.is_none() && self.unix.is_none() && !self.stdio
    }

    #[cfg(feature = "web")]
    fn has_page(&self) -> bool {
        self.page.is_wanted()
    }

    #[cfg(not(feature = "web"))]
    fn has_page(&self) -> bool {
        false
    }
}

pub(crate) fn run(
    arguments: &ServeArgs,
    session: &Session<'_>,
    output: &mut Output<'_, '_>,
) -> Result<Exit, Error> {
    if arguments.is_stdio() && session.surroundings.typed {
        let why = "`brigade serve` speaks MCP over standard input and output, so an MCP client starts it";
        let hint = "`brigade tools connect CLIENT` writes the client's entry; `brigade serve --http` listens on a port";
        return Err(Error::new(ErrorKind::Usage, why).hint(hint));
    }
    start(arguments, session, output).map(|()| Exit::Done)
}

fn start(arguments: &ServeArgs, session: &Session<'_>, output: &mut Output<'_, '_>) -> Result<(), Error> {
    if let Some(directory) = &session.surroundings.task_gateway {
        return in_task(arguments, directory);
    }
    let workspace =
        if arguments.is_stdio() { session.workspace_for_client()? } else { session.workspace()? };
    #[cfg(feature = "web")]
    if arguments.page.is_new_token() {
        let report = page::another(&workspace)?;
        match report.web.as_ref().filter(|_| session.surroundings.output.is_some() && !output.is_json()) {
            Some(served) => {
                let mut page = output.new_page();
                page.data.line(Text::new(Tone::Accent, &served.link()));
                output.page(&page, Exit::Done);
            }
            None => announce(&report, session, output),
        }
        return Ok(());
    }
    let stop = session.cancel()?;
    #[cfg(feature = "web")]
    let page = page::bind(&arguments.page, &workspace, session)?;
    #[cfg(feature = "web")]
    let served = page.as_ref().map(|page| page.served().clone());
    #[cfg(feature = "web")]
    if let Some(served) = &served {
        let is_shown = session.surroundings.error.is_some() || arguments.is_stdio();
        page::announce_page(&arguments.page, served, is_shown, &workspace);
    }
    #[cfg(feature = "web")]
    let page = match page {
        Some(page) if arguments.is_alone() => {
            let mut report = ServeReport::new(None, None, 0);
            report.web = served;
            announce(&report, session, output);
            return page.run(stop);
        }
        page => page.map(|page| page::PageBeside::start(page, stop.clone())),
    };
    let config = workspace.agents().config()?;
    let mut request = Serve::new(Transport::Stdio);
    if arguments.http.is_some() || arguments.unix.is_some() {
        let address = arguments.http.as_deref().map(|text| address(text, config.http.public)).transpose()?;
        let socket = arguments.unix.as_ref().map(|path| session.absolute(path)).transpose()?;
        if address.is_some()
            && !arguments.no_token
            && config.agents.iter().all(|agent| agent.token_sha256.is_none())
        {
            let error = Error::new(
                ErrorKind::Refused,
                "no agent has a token, so no call over HTTP would be accepted",
            );
            return Err(error.hint("add one with `brigade tools agent add NAME`, or pass --no-token"));
        }
        request.transport = Transport::Http { address, socket };
    }
    request.agent.clone_from(&arguments.agent);
    request.profiles.clone_from(&arguments.profiles);
    request.no_token = arguments.no_token;
    request.lane.clone_from(&arguments.lane);
    request.list = arguments.list;
    request.names = arguments.names.unwrap_or(NameStyle::Dotted);
    if arguments.no_token {
        warn("every process on this machine can call as this agent, because no token is required");
    }
    let lines = EventLines::new(session.surroundings, output.notes_colour());
    let mut ready = |listening: &ServeReport| {
        #[cfg(feature = "web")]
        let listening = &{
            let mut listening = listening.clone();
            listening.web.clone_from(&served);
            listening
        };
        announce(listening, session, output);
    };
    let ended = serve(&workspace, request, stop, &mut ready, &|event| lines.show(event));
    #[cfg(feature = "web")]
    if let Some(page) = page {
        return ended.and(page.end());
    }
    ended
}

/// Says where the server listens: a line for a person, or a document.
fn announce(listening: &ServeReport, session: &Session<'_>, output: &mut Output<'_, '_>) {
    if session.surroundings.output.is_some() && !output.is_json() {
        let mut page = output.new_page();
        page.data.line(listening_line(listening));
        output.page(&page, Exit::Done);
        return;
    }
    let text = serde_json::to_string(listening).expect("plain members are JSON");
    output.write(Exit::Done, |out| writeln!(out, "{text}"));
}

/// Says where the server listens, for a person.
fn listening_line(listening: &ServeReport) -> Text {
    let page = listening.web.as_ref().map(|page| &page.url);
    let places = [listening.address.as_ref(), listening.socket.as_ref(), page];
    let places: Vec<&str> = places.into_iter().flatten().map(String::as_str).collect();
    let is_gateway = listening.address.is_some() || listening.socket.is_some();
    let tools = if is_gateway { format!(", {} tools", listening.tools) } else { String::new() };
    Text::new(Tone::Good, "listening on ")
        .then(Tone::Accent, &places.join(" and "))
        .then(Tone::Faint, &format!("{tools}; Ctrl-C ends it"))
}

/// Connects a client inside of a task to the session of the task, which determines the caller.
fn in_task(arguments: &ServeArgs, directory: &Path) -> Result<(), Error> {
    let ServeArgs { stdio: _, http, unix, agent, profiles, list, names, lane, no_token: _, .. } = arguments;
    let is_plain = http.is_none() && unix.is_none() && agent.is_none() && profiles.is_empty();
    let is_plain = is_plain && !arguments.has_page();
    if !is_plain || list.is_some() || names.is_some() || lane.is_some() {
        let why = "inside of a task, the session is that of the task, so options are not allowed";
        return Err(Error::new(ErrorKind::Usage, why).hint("`brigade serve --stdio` connects to it"));
    }
    connect(directory)
}

/// Warns the person who runs the server.
fn warn(text: &str) {
    drop(writeln!(std::io::stderr(), "warning: {text}"));
}

/// Parses the address to listen on.
fn address(text: &str, is_public: bool) -> Result<SocketAddr, Error> {
    let wrong = |why: String| {
        Error::new(ErrorKind::Usage, why).hint("such as --http 127.0.0.1:8766, or port 0 for a free one")
    };
    let address = typed_address(text, PORT);
    let address = address.ok_or_else(|| wrong(format!("`{text}` is not an address and port")))?;
    if !address.ip().is_loopback() && !is_public {
        let why = format!("{address} is not a loopback address");
        return Err(Error::new(ErrorKind::Usage, why).hint(
            "only this machine is served, unless [http] public = true is set in .brigade/tools/gateway.toml",
        ));
    }
    Ok(address)
}

/// Reads an address, a name of this machine with a port, or only a port.
fn typed_address(text: &str, usual_port: u16) -> Option<SocketAddr> {
    let typed = match text {
        "" => format!("127.0.0.1:{usual_port}"),
        text if text.parse::<u16>().is_ok() => format!("127.0.0.1:{text}"),
        text => text.to_owned(),
    };
    let is_name = typed.rsplit_once(':').is_some_and(|(host, _)| host.eq_ignore_ascii_case("localhost"));
    match is_name {
        true => typed.to_socket_addrs().ok().and_then(|mut found| found.find(SocketAddr::is_ipv4)),
        false => typed.parse().ok(),
    }
}
