//! The published servers, and where they are installed.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::Cache;
use crate::interop::install::{NODE_MODULES, install_npm, install_pypi, python_prefix};
use crate::repository::Failure;

/// The list.
const LIST: &str = include_str!("servers.toml");

/// A published server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedServer {
    /// The id of its runtime.
    pub id: String,
    /// The npm package, with its version.
    npm: Option<String>,
    /// The PyPI package, with its version.
    pypi: Option<String>,
    /// The name of the program, if it differs from that of the package.
    program: Option<String>,
    /// The arguments of the command.
    #[serde(default)]
    pub words: Vec<String>,
    /// The effects of tools without hints.
    #[serde(default)]
    pub effects: Vec<String>,
    /// Secret variables that it needs, with values that are not secret.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// The tool that is called.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
    /// A text in the answer. Without it, any answer of the server counts, such as that it has no network.
    pub answer: Option<String>,
    /// Why the server describes its tools differently in the sandbox.
    pub other_texts: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    server: Vec<PublishedServer>,
}

/// Reads the list.
pub fn published() -> Result<Vec<PublishedServer>, Failure> {
    let list: List = toml::from_str(LIST).map_err(|error| Failure::new(format!("servers.toml: {error}")))?;
    Ok(list.server)
}

/// Returns the name of a package without its version.
fn bare(package: &str) -> &str {
    let end = package.find("==").or_else(|| package.rfind('@').filter(|at| 0 < *at));
    end.map_or(package, |end| &package[..end])
}

impl Cache {
    /// Installs the packages that are missing.
    pub fn install(&self, servers: &[PublishedServer]) -> Result<(), Failure> {
        fs::create_dir_all(&self.folder).map_err(Failure::at(&self.folder))?;
        let npm: Vec<&str> = servers.iter().filter_map(|server| server.npm.as_deref()).collect();
        if !npm.iter().all(|package| self.is_installed(package)) {
            install_npm(&self.folder.join("npm"), &npm)?;
            npm.iter().try_for_each(|package| self.note(package))?;
        }
        for package in servers.iter().filter_map(|server| server.pypi.as_deref()) {
            if !self.is_installed(package) {
                install_pypi(&self.venv(package), &[package])?;
                self.note(package)?;
            }
        }
        Ok(())
    }

    fn mark(&self, package: &str) -> PathBuf {
        self.folder.join(format!("{}.installed", package.replace('/', "+")))
    }

    fn is_installed(&self, package: &str) -> bool {
        self.mark(package).exists()
    }

    fn note(&self, package: &str) -> Result<(), Failure> {
        let mark = self.mark(package);
        fs::write(&mark, "").map_err(Failure::at(&mark))
    }

    /// Returns the virtual environment of a package: packages need different versions of the same libraries.
    fn venv(&self, package: &str) -> PathBuf {
        self.folder.join("pypi").join(bare(package))
    }

    /// Returns the words of a server's command, without the arguments.
    pub fn command(&self, server: &PublishedServer) -> Result<Vec<String>, Failure> {
        let text = |path: PathBuf| path.display().to_string();
        if let Some(package) = &server.pypi {
            let program = server.program.as_deref().unwrap_or(bare(package));
            return Ok(vec![text(self.venv(package).join("bin").join(program))]);
        }
        let package = bare(server.npm.as_deref().unwrap_or_default());
        let folder = self.folder.join("npm").join(NODE_MODULES).join(package);
        let manifest = folder.join("package.json");
        let read = fs::read(&manifest).map_err(Failure::at(&manifest))?;
        let read: Value = serde_json::from_slice(&read).map_err(|error| Failure::new(error.to_string()))?;
        let bin = match (&read["bin"], &server.program) {
            (Value::Object(programs), Some(name)) => programs.get(name),
            (Value::Object(programs), None) => programs.values().next(),
            (one, _) => Some(one),
        };
        let bin = bin.and_then(Value::as_str);
        let bin = bin.ok_or_else(|| Failure::new(format!("{package} has no program")))?;
        Ok(vec!["node".to_owned(), text(folder.join(bin))])
    }

    /// Returns what the sandbox must let the servers read.
    pub fn read_paths(&self, server: &PublishedServer) -> Result<Vec<PathBuf>, Failure> {
        let mut paths = vec![self.folder.clone()];
        if let Some(package) = &server.pypi {
            paths.push(python_prefix(&self.venv(package).join("bin/python3"))?);
        }
        Ok(paths)
    }

    /// Creates a temporary directory on the same file system as the servers.
    pub fn place(&self) -> Result<tempfile::TempDir, Failure> {
        tempfile::tempdir_in(&self.folder)
            .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_one_package_each() {
        let list = published().unwrap();
        assert!(20 <= list.len());
        assert!(list.iter().all(|server| server.npm.is_some() != server.pypi.is_some()));
        assert_eq!((bare("@a/b@1.2"), bare("c@1"), bare("d==3")), ("@a/b", "c", "d"));
    }
}
