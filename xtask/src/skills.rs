//! `cargo xtask skills`: checks that readers of Agent Skills accept projected skills.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{build, run_command};
use crate::repository::{Failure, Repository};
use crate::workspace::Workspace;

/// The validator of the Agent Skills format, with its version.
const VALIDATOR: &str = "skills-ref==0.1.1";

/// Project the starter catalog and various skills for every harness that reads them, and check each with the Agent
/// Skills validator
///
/// Installs the validator from PyPI below the target directory, once
#[derive(Debug, clap::Args)]
pub struct SkillsArguments {}

pub fn run(repository: &Repository, _: &SkillsArguments) -> Result<(), Failure> {
    judge(repository, &install(repository)?)
}

/// Runs the check. If the validator cannot be installed, prints a note and succeeds.
pub fn run_if_installable(repository: &Repository) -> Result<(), Failure> {
    match install(repository) {
        Ok(validator) => judge(repository, &validator),
        Err(failure) => {
            println!("skills were NOT checked: {VALIDATOR} cannot be installed: {failure}");
            Ok(())
        }
    }
}

/// Installs the validator and returns its path.
fn install(repository: &Repository) -> Result<PathBuf, Failure> {
    let folder = repository.root().join("target/skills");
    let program = folder.join("venv/bin/agentskills");
    let mark = folder.join("installed.txt");
    if program.exists() && fs::read_to_string(&mark).is_ok_and(|there| there == VALIDATOR) {
        return Ok(program);
    }
    let venv = folder.join("venv");
    let quiet = |command: &mut Command| run_command(command.stdin(Stdio::null()).stdout(Stdio::null()));
    quiet(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VALIDATOR];
    quiet(Command::new(venv.join("bin/python3")).args(words))?;
    fs::write(&mark, VALIDATOR).map_err(Failure::at(&mark))?;
    Ok(program)
}

/// Sources of skills by tool id: with and without front matter, and with front matter that no reader accepts.
const SOURCES: [(&str, &str, &str); 6] = [
    ("plain", "skill", "# Plain\n\nNo front matter at all.\n"),
    ("named-otherwise", "skill", "---\nname: Something Else\ndescription: Says what it does.\n---\n# Body\n"),
    ("only-licensed", "superpower", "---\nlicense: MIT\n---\n# Body\n"),
    ("empty-values", "skill", "---\nname:\ndescription: \"\"\n---\n# Body\n"),
    ("a-command", "slash-command", "Do $ARGUMENTS.\n"),
    ("a-script", "script", "#!/bin/sh\necho hello\n"),
];

fn judge(repository: &Repository, validator: &Path) -> Result<(), Failure> {
    let program = build(repository)?;
    let (starter, every) = (Workspace::new(&program)?, Workspace::new(&program)?);
    let run = |workspace: &Workspace, words: &[&str]| {
        run_command(workspace.command(&[&["tools"], words].concat()).stdout(Stdio::null()))
    };
    run(&starter, &["init", "--with-skills"])?;
    let long = format!("---\nname: long\ndescription: {}\n---\n# Body\n", "word ".repeat(500).trim_end());
    let sources = SOURCES.into_iter().chain([("long", "skill", long.as_str())]);
    let places = skill_places(&every)?;
    let mut catalog = String::new();
    for (id, family, source) in sources {
        every.write(&format!("tools/{id}.md"), source)?;
        let harnesses: Vec<String> = places.iter().map(|(harness, _)| format!("{harness:?}")).collect();
        let projections: Vec<String> = places
            .iter()
            .map(|(harness, path)| format!("{harness:?} = {:?}", path.replace("{id}", id)))
            .collect();
        catalog.push_str(&format!(
            "[[tool]]\nid = {id:?}\nname = {id:?}\nfamily = {family:?}\nsource_path = \"tools/{id}.md\"\n\
             supported_harnesses = [{}]\nprojections = {{ {} }}\n\n",
            harnesses.join(", "),
            projections.join(", "),
        ));
    }
    every.write(".brigade/tools.toml", &catalog)?;
    let mut judged = 0;
    for projected in [starter, every] {
        run(&projected, &["apply", "--all"])?;
        let mut skills = Vec::new();
        find_skills(&projected.root(), &mut skills)?;
        for skill in &skills {
            run_command(
                Command::new(validator).arg("validate").arg(skill).stdin(Stdio::null()).stdout(Stdio::null()),
            )?;
        }
        if skills.is_empty() {
            return Err(Failure::new("no skill was projected, so none was checked".to_owned()));
        }
        judged += skills.len();
    }
    println!("{judged} skills are valid");
    Ok(())
}

/// Returns every harness that reads skills, with the path of a skill.
fn skill_places(workspace: &Workspace) -> Result<Vec<(String, String)>, Failure> {
    let mut found = Vec::new();
    let list = workspace.tools(&["harness", "list"])?;
    for harness in list["harnesses"].as_array().into_iter().flatten() {
        let name = harness["name"].as_str().unwrap_or_default();
        let shown = workspace.tools(&["harness", "show", name])?;
        let mut places = shown["places"].as_array().into_iter().flatten();
        let place = places.find(|place| place["format"] == "agent-skill");
        if let Some(path) = place.and_then(|place| place["path"].as_str()) {
            found.push((name.to_owned(), path.to_owned()));
        }
    }
    Ok(found)
}

/// Finds the directories of skills.
fn find_skills(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in fs::read_dir(folder).map_err(Failure::at(folder))? {
        let path = entry.map_err(Failure::at(folder))?.path();
        if path.is_dir() {
            find_skills(&path, found)?;
        } else if path.ends_with("SKILL.md") {
            found.push(folder.to_owned());
        }
    }
    Ok(())
}
