//! `cargo xtask web`: drives the page in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{build, run_command};
use crate::interop;
use crate::repository::{Failure, Repository};

/// The programs that may be the browser.
const BROWSERS: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

/// The directory of the tests, and its copy beside the installed packages.
const TESTS: &str = "tests/web";
const COPY: &str = "target/web";

/// Test the page of `brigade serve --web` in Chromium
///
/// Needs Chromium, Node 20 and npm; the first run installs playwright-core and axe-core from npm below the target
/// directory
#[derive(Debug, clap::Args)]
pub struct WebArguments {
    /// Only tests whose names match this pattern
    #[arg(long)]
    only: Option<String>,

    /// Write a picture of each view at three widths into this directory
    #[arg(long, value_name = "DIR")]
    screenshots: Option<PathBuf>,
}

pub fn run(repository: &Repository, arguments: &WebArguments) -> Result<(), Failure> {
    drive(repository, &browser()?, arguments)
}

/// Runs the tests. If something that they need is missing, prints what, and succeeds.
pub fn run_if_installable(repository: &Repository) -> Result<(), Failure> {
    let arguments = WebArguments { only: None, screenshots: None };
    match browser().and_then(|browser| install(repository).map(|()| browser)) {
        Ok(browser) => drive(repository, &browser, &arguments),
        Err(missing) => {
            println!("the page was NOT tested in a browser: SKIPPED, {missing}");
            Ok(())
        }
    }
}

fn browser() -> Result<PathBuf, Failure> {
    let found = BROWSERS.iter().map(Path::new).find(|path| path.exists());
    let found = found.map(Path::to_owned);
    found.ok_or_else(|| Failure::new("Chromium is missing: `apt-get install chromium`"))
}

/// Copies the tests beside their packages, and installs those that the lock file names.
fn install(repository: &Repository) -> Result<(), Failure> {
    let (tests, copy) = (repository.root().join(TESTS), repository.root().join(COPY));
    fs::create_dir_all(&copy).map_err(Failure::at(&copy))?;
    for entry in fs::read_dir(&tests).map_err(Failure::at(&tests))?.flatten() {
        let path = entry.path();
        fs::copy(&path, copy.join(entry.file_name())).map_err(Failure::at(&path))?;
    }
    let (lock, mark) = (copy.join("package-lock.json"), copy.join("installed.json"));
    let wanted = fs::read(&lock).map_err(Failure::at(&lock))?;
    if copy.join(interop::install::NODE_MODULES).exists()
        && fs::read(&mark).is_ok_and(|there| there == wanted)
    {
        return Ok(());
    }
    let words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let npm = run_command(Command::new("npm").args(words).current_dir(&copy).stdin(Stdio::null()));
    npm.map_err(|failure| Failure::new(format!("the packages of the tests cannot be installed: {failure}")))?;
    fs::write(&mark, wanted).map_err(Failure::at(&mark))
}

/// Draws the page into a file. Each drawing differs a little, so without a browser the file stays as it is.
pub fn draw(repository: &Repository, picture: &str) -> Result<(), Failure> {
    match browser() {
        Ok(browser) => {
            let mut command = node(repository, &browser)?;
            run_command(command.arg("picture.mjs").arg(repository.root().join(picture)))
        }
        Err(missing) => {
            println!("{picture} was not drawn: {missing}");
            Ok(())
        }
    }
}

/// Prepares a command of Node that drives a browser.
fn node(repository: &Repository, browser: &Path) -> Result<Command, Failure> {
    install(repository)?;
    let brigade = build(repository)?;
    let mut command = Command::new("node");
    command.current_dir(repository.root().join(COPY)).stdin(Stdio::null());
    command.env("BRIGADE_BINARY", brigade).env("CHROMIUM", browser);
    Ok(command)
}

fn drive(repository: &Repository, browser: &Path, arguments: &WebArguments) -> Result<(), Failure> {
    let mut command = node(repository, browser)?;
    command.args(["--test", "--test-reporter=spec"]);
    command.args(arguments.only.iter().map(|only| format!("--test-name-pattern={only}")));
    command.arg("page.test.mjs");
    if let Some(folder) = &arguments.screenshots {
        fs::create_dir_all(folder).map_err(Failure::at(folder))?;
        let folder = fs::canonicalize(folder).map_err(Failure::at(folder))?;
        command.env("BRIGADE_SCREENSHOTS", folder);
    }
    run_command(&mut command)
}
