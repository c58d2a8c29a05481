//! The page of `brigade serve --web`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use brigade::core::json::write_document;
use brigade::report::{ServeReport, ServedPage};
use brigade::{CancelToken, Error, ErrorCode, ErrorKind, Workspace};
use brigade_web::{PublicOrigin, Reviews, WebOptions, WebServer, check_address};
use clap::Args;

use super::typed_address;
use crate::render::failure::{ErrorReport, diagnosis};
use crate::session::Session;

/// The default port.
const PORT: u16 = 7717;

/// The ways to the page from another machine.
const TUNNEL: &str = "from another machine, use a tunnel: `ssh -L 7717:127.0.0.1:7717 HOST`";
const PROXY: &str =
    "or a reverse proxy with TLS on this machine, and `--public-origin https://NAME` with its address";

/// What to do if the address is taken.
const FREE_PORT: &str = "to take a free port: `brigade serve --web --listen 127.0.0.1:0`";
const NEW_LINK: &str = "if it serves this page: `brigade serve --web --new-token` makes another link";

#[derive(Args, Debug)]
pub(super) struct PageArgs {
    /// Serve a page to review calls in the browser; without --stdio, --http or --unix, nothing else
    #[arg(long)]
    web: bool,

    /// Serve the page at this loopback address [default: 127.0.0.1:7717]
    #[arg(long, value_name = "ADDR", requires = "web")]
    listen: Option<String>,

    /// Open the page in the browser
    #[arg(long, requires = "web")]
    open: bool,

    /// Show everything on the page, and take no decisions there
    #[arg(long, requires = "web")]
    no_review: bool,

    /// Make another login link for the page that is served, and end
    #[arg(long, requires = "web", conflicts_with_all = ["listen", "no_review", "public_origin", "http", "unix", "stdio"])]
    new_token: bool,

    /// The https address of the reverse proxy in front of the page
    #[arg(long, value_name = "URL", requires = "web")]
    public_origin: Option<String>,
}

impl PageArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.web
    }

    pub(super) fn is_new_token(&self) -> bool {
        self.new_token
    }
}

/// Listens for the page, if it is wanted.
pub(super) fn bind(
    arguments: &PageArgs,
    workspace: &Workspace,
    session: &Session<'_>,
) -> Result<Option<WebServer>, Error> {
    if !arguments.web {
        return Ok(None);
    }
    let text = arguments.listen.as_deref().unwrap_or_default();
    let address: SocketAddr = typed_address(text, PORT).ok_or_else(|| {
        let error = Error::new(ErrorKind::Usage, format!("`{text}` is not an address and port"));
        error.hint("such as --listen 127.0.0.1:7717, or port 0 for a free one")
    })?;
    check_address(address).map_err(|error| error.hint(TUNNEL).hint(PROXY))?;
    let public_origin = arguments.public_origin.as_deref().map(PublicOrigin::parse).transpose();
    let public_origin =
        public_origin.map_err(|error| error.hint("such as --public-origin https://brigade.example"))?;
    let reviews = if arguments.no_review { Reviews::LookOnly } else { Reviews::Allowed };
    let (words, origin) = (session.words(), workspace.clone());
    let describe = move |error: &Error| {
        let mut text = Vec::new();
        let report =
            ErrorReport::from_error(error, diagnosis(error, Some(&origin.sources()), &words), &words);
        write_document(&mut text, &report).expect("an error is JSON, and memory takes it");
        String::from_utf8(text).expect("documents are UTF-8")
    };
    let options = WebOptions { address, public_origin, reviews };
    let server = WebServer::bind(workspace.clone(), options, Arc::new(describe));
    server.map(Some).map_err(|error| match error.code() == ErrorCode::AddressTaken {
        true => error.hint(FREE_PORT).hint(NEW_LINK),
        false => error,
    })
}

/// Gives the person the link to the page: on standard error, and in the browser if that is wanted.
pub(super) fn announce_page(
    arguments: &PageArgs,
    served: &ServedPage,
    is_shown: bool,
    workspace: &Workspace,
) {
    if is_shown {
        drop(writeln!(
            std::io::stderr(),
            "open {}\nthe link logs in once, within five minutes",
            served.link()
        ));
    }
    if arguments.open {
        workspace.web_logins().open(&served.link());
    }
}

/// Makes another login token for the page that is served.
pub(super) fn another(workspace: &Workspace) -> Result<ServeReport, Error> {
    let another = workspace.web_logins().another();
    let login = another.map_err(|error| match error.kind() {
        ErrorKind::NotFound => error.hint("brigade serve --web"),
        _ => error,
    })?;
    let mut report = ServeReport::new(None, None, 0);
    report.pid = login.pid;
    report.web = Some(ServedPage::new(login.url, login.token.expose().to_owned()));
    Ok(report)
}

/// A page that is served beside something else. It ends with this value.
pub(super) struct PageBeside {
    stop: CancelToken,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl PageBeside {
    /// Serves a page on another thread.
    pub(super) fn start(server: WebServer, stop: CancelToken) -> PageBeside {
        let until = stop.clone();
        let thread = thread::spawn(move || {
            let served = server.run(until.clone());
            // Without the page, the rest ends too.
            until.cancel();
            served
        });
        PageBeside { stop, thread: Some(thread) }
    }

    /// Ends the page.
    ///
    /// # Errors
    /// Fails if it could not be served.
    pub(super) fn end(mut self) -> Result<(), Error> {
        self.stop.cancel();
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}
