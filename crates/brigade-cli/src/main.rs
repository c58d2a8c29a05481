//! The binary `brigade`: reads the environment of the process and returns its exit code.

use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use brigade_cli::{Streams, Surroundings, Terminal, report_mistakes};
use terminal_size::{Height, Width, terminal_size_of};

#[allow(clippy::disallowed_methods, reason = "the environment of the process is read once, here")]
fn main() -> ExitCode {
    report_mistakes();
    brigade::process::survive_file_size_limit();
    brigade::process::leave_no_core_file();
    if let Some(url) = bridge_url() {
        return bridge(&url);
    }
    let surroundings = Surroundings {
        current_directory: std::env::current_dir().map_err(|error| error.kind()),
        no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
        dumb: std::env::var_os("TERM").is_some_and(|value| value == "dumb"),
        log: std::env::var("BRIGADE_LOG").ok().or_else(debug),
        task_gateway: std::env::var_os("BRIGADE_GATEWAY")
            .filter(|_| std::env::var_os("BRIGADE_ROLE").is_some_and(|role| role == "task"))
            .map(Into::into),
        variables: brigade_cli::Variables::All,
        local_offset_minutes: brigade::process::local_offset_minutes(
            brigade::core::Clock::now(&brigade::core::SystemClock).unix_micros() / 1_000_000,
        ),
        clock: Arc::new(brigade::core::SystemClock),
        temporary_directory: std::env::temp_dir(),
        typed: io::stdin().is_terminal(),
        output: terminal(&io::stdout(), || size(terminal_size_of(io::stdout()))),
        error: terminal(&io::stderr(), || size(terminal_size_of(io::stderr()))),
        pager: (io::stdin().is_terminal() && io::stdout().is_terminal()).then_some(show_in_pager),
    };
    let (mut typed, mut piped) = (brigade::process::TypedInput, io::stdin().lock());
    let streams = Streams {
        input: if surroundings.typed { &mut typed } else { &mut piped },
        output: &mut io::stdout().lock(),
        error: &mut io::stderr(),
    };
    ExitCode::from(brigade_cli::run(std::env::args_os().collect(), &surroundings, streams).code())
}

/// Returns the URL of a remote MCP server, if this process is started as the bridge to one.
#[allow(clippy::disallowed_methods, reason = "`main` reads the words of the command line")]
fn bridge_url() -> Option<String> {
    let mut words = std::env::args_os().skip(1);
    let is_bridge = words.next().is_some_and(|word| word == brigade::tools::CONNECT);
    words.next().filter(|_| is_bridge)?.into_string().ok()
}

/// Passes messages between the standard streams and a remote MCP server.
#[allow(clippy::disallowed_methods, clippy::print_stderr, reason = "this process has no other output")]
fn bridge(url: &str) -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    match brigade::gateway::run_bridge(url, &variable, io::BufReader::new(io::stdin()), io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the log setting of the shell program's variable.
#[allow(clippy::disallowed_methods, reason = "the environment of the process is read once, here")]
fn debug() -> Option<String> {
    let value = std::env::var("BRIGADE_DEBUG").ok()?;
    matches!(value.trim(), "true" | "1" | "yes" | "on").then(|| "debug".to_owned())
}

/// Shows a text in the pager, as git does: `BRIGADE_PAGER`, else `PAGER`, else `less`, which ends by itself if the text
/// fits. With an empty one, or `cat`, the text is written as it is. It never comes from where agents write.
#[allow(clippy::disallowed_methods, reason = "the pager is started by the program, not by a command")]
fn show_in_pager(text: &str, find: &dyn Fn(&str) -> Option<PathBuf>) -> bool {
    let set = |name| std::env::var(name).ok();
    let typed = set("BRIGADE_PAGER").or_else(|| set("PAGER")).unwrap_or_else(|| "less".to_owned());
    let Ok(argv) = brigade::command::Argv::parse(&typed) else { return false };
    let [program, rest @ ..] = argv.words() else { return false };
    if program == "cat" {
        return false;
    }
    let found = if program.contains('/') { Some(program.into()) } else { find(program) };
    let Some(program) = found else { return false };
    let mut pager = Command::new(program);
    pager.args(rest).stdin(Stdio::piped());
    if set("LESS").is_none() {
        pager.env("LESS", "FRX");
    }
    let Ok(mut pager) = pager.spawn() else { return false };
    // Ctrl-C is for the pager.
    let _ = brigade::CancelToken::on_signals(&[brigade::process::CancelSignal::Interrupt]);
    if let Some(mut input) = pager.stdin.take() {
        // The person may leave before the end.
        let _ = input.write_all(text.as_bytes());
    }
    pager.wait().is_ok()
}

fn terminal(stream: &impl IsTerminal, measure: fn() -> Option<(usize, usize)>) -> Option<Terminal> {
    stream.is_terminal().then(|| Terminal { width: measure().map(|(columns, _)| columns), measure })
}

fn size(found: Option<(Width, Height)>) -> Option<(usize, usize)> {
    found.map(|(columns, rows)| (usize::from(columns.0), usize::from(rows.0)))
}
