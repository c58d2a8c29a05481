//! `cargo xtask skills`: are projected skills what readers of Agent Skills take?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cargo, done};
use crate::repository::{Failure, Repository};

/// The validator of the Agent Skills format, with its version.
const VALIDATOR: &str = "skills-ref==0.1.1";

/// Project the starter catalog and let the validator of Agent Skills judge every skill
///
/// Installs the validator from PyPI into the target folder, once.
#[derive(Debug, clap::Args)]
pub struct SkillsArguments {}

pub fn run(repository: &Repository, _: &SkillsArguments) -> Result<(), Failure> {
    judge(repository, &install(repository)?)
}

/// The same, but says so and goes on where the validator cannot be installed.
pub fn run_if_installable(repository: &Repository) -> Result<(), Failure> {
    match install(repository) {
        Ok(validator) => judge(repository, &validator),
        Err(failure) => {
            println!("skills were NOT judged: {VALIDATOR} cannot be installed: {failure}");
            Ok(())
        }
    }
}

/// Installs the validator and returns its program.
fn install(repository: &Repository) -> Result<PathBuf, Failure> {
    let folder = repository.root().join("target/skills");
    let program = folder.join("venv/bin/agentskills");
    let mark = folder.join("installed.txt");
    if program.exists() && fs::read_to_string(&mark).is_ok_and(|there| there == VALIDATOR) {
        return Ok(program);
    }
    let venv = folder.join("venv");
    let quiet = |command: &mut Command| done(command.stdin(Stdio::null()).stdout(Stdio::null()));
    quiet(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VALIDATOR];
    quiet(Command::new(venv.join("bin/python3")).args(words))?;
    fs::write(&mark, VALIDATOR).map_err(Failure::at(&mark))?;
    Ok(program)
}

fn judge(repository: &Repository, validator: &Path) -> Result<(), Failure> {
    let workspace = repository.root().join("target/skills/workspace");
    if workspace.exists() {
        fs::remove_dir_all(&workspace).map_err(Failure::at(&workspace))?;
    }
    fs::create_dir_all(&workspace).map_err(Failure::at(&workspace))?;
    let brigade = |words: &[&str]| {
        let target = workspace.to_string_lossy().into_owned();
        let run = ["run", "--quiet", "--package", "brigade-cli", "--", "tools"];
        let words = run.iter().chain(words).map(|word| (*word).to_owned());
        done(cargo(repository, words.chain(["--target".to_owned(), target])).stdout(Stdio::null()))
    };
    brigade(&["init"])?;
    brigade(&["apply", "--all"])?;
    let skills = workspace.join(".codex/skills");
    let mut judged = 0;
    for entry in fs::read_dir(&skills).map_err(Failure::at(&skills))? {
        let skill = entry.map_err(Failure::at(&skills))?.path();
        done(Command::new(validator).arg("validate").arg(&skill).stdin(Stdio::null()))?;
        judged += 1;
    }
    if judged == 0 {
        return Err(Failure::new("no skill was projected, so none was judged".to_owned()));
    }
    println!("{judged} skills are valid");
    Ok(())
}
