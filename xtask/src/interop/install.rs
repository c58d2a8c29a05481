//! Installs the servers.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::run_command;
use crate::repository::{Failure, write_file};

/// The npm packages with their versions.
const NPM: &[&str] = &[
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];

/// The PyPI packages with their versions.
const PYPI: &[&str] = &["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"];

/// The directory of modules in an npm project.
pub const NODE_MODULES: &str = "node_modules";

/// The locations of the servers.
#[derive(Debug)]
pub struct InstalledServers {
    folder: PathBuf,
}

impl InstalledServers {
    /// Installs the packages that are missing.
    pub fn make(folder: &Path) -> Result<InstalledServers, Failure> {
        let installed = InstalledServers { folder: folder.to_owned() };
        let wanted = [NPM, PYPI].concat().join("\n");
        let mark = folder.join("installed.txt");
        if fs::read_to_string(&mark).is_ok_and(|there| there == wanted) {
            return Ok(installed);
        }
        install_npm(&folder.join("npm"), NPM)?;
        install_pypi(&installed.venv(), PYPI)?;
        fs::write(&mark, wanted).map_err(Failure::at(&mark))?;
        Ok(installed)
    }

    /// Returns the directory of the Python servers, which they must be able to read.
    pub fn venv(&self) -> PathBuf {
        self.folder.join("venv")
    }

    /// Creates a temporary directory on the same file system as the servers.
    pub fn place(&self) -> Result<tempfile::TempDir, Failure> {
        let beside = self.folder.with_file_name("interop-workspaces");
        fs::create_dir_all(&beside).map_err(Failure::at(&beside))?;
        tempfile::tempdir_in(&beside)
            .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))
    }

    /// Returns the interpreter of the Python servers.
    pub fn python(&self) -> PathBuf {
        self.folder.join("venv/bin/python3")
    }

    /// Returns the npm modules, which are linked into each project.
    pub fn node_modules(&self) -> PathBuf {
        self.folder.join("npm").join(NODE_MODULES)
    }

    /// Returns the command of an npm server, in a project with the modules.
    pub fn node(&self, name: &str) -> String {
        format!("node {NODE_MODULES}/@modelcontextprotocol/{name}/dist/index.js")
    }

    /// Returns the command of a PyPI server.
    pub fn module(&self, name: &str) -> String {
        format!("'{}' -m {name}", self.python().display())
    }
}

/// Installs npm packages into a directory. Their scripts do not run.
pub fn install_npm(folder: &Path, packages: &[&str]) -> Result<(), Failure> {
    let manifest = folder.join("package.json");
    write_file(&manifest, "{\"private\": true}\n")?;
    println!("installing {}", packages.join(" "));
    let words = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    run_command(quiet(Command::new("npm").args(words).args(packages).current_dir(folder)))
}

/// Installs PyPI packages into a virtual environment.
pub fn install_pypi(venv: &Path, packages: &[&str]) -> Result<(), Failure> {
    println!("installing {}", packages.join(" "));
    run_command(quiet(Command::new("python3").args(["-m", "venv"]).arg(venv)))?;
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run_command(quiet(Command::new(venv.join("bin/python3")).args(words).args(packages)))
}

/// Returns the directory of the Python that virtual environments start.
pub fn python_prefix(python: &Path) -> Result<PathBuf, Failure> {
    let python = fs::canonicalize(python).map_err(Failure::at(python))?;
    Ok(python.parent().and_then(Path::parent).unwrap_or(&python).to_owned())
}

/// Gives a command no input and shows only its errors.
pub fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).env_remove(OsStr::new("npm_config_nodedir"))
}
