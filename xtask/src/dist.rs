//! `cargo xtask dist`: an archive of the program for people who do not build it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cargo::{cargo, output, run_command};
use crate::repository::{Failure, Repository, write_file};

/// Build the release archive, with completions, manual pages, licences and a bill of materials
///
/// The same commit and compiler give the same bytes. An archive for another target needs its linker.
#[derive(Debug, clap::Args)]
pub struct DistArguments {
    /// Build for this target instead of this machine
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,

    /// Pack this binary, which runs here, instead of building one
    #[arg(long, value_name = "PATH", conflicts_with = "target")]
    binary: Option<PathBuf>,

    /// Write the archive and SHA256SUMS to this directory
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    to: PathBuf,
}

/// Files of the repository that are in the archive.
const COPIED: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"];

/// The binary in the archive.
const PROGRAM: &str = "brigade";

/// The shells, and the file names of their completions.
const SHELLS: &[(&str, &str)] = &[("bash", "brigade.bash"), ("zsh", "_brigade"), ("fish", "brigade.fish")];

pub fn run(repository: &Repository, arguments: &DistArguments) -> Result<(), Failure> {
    let host = host()?;
    let target = arguments.target.as_deref().unwrap_or(&host);
    let commit_time = text_of("git", ["log", "-1", "--format=%ct"], repository)?;
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => build(repository, target, &commit_time)?,
    };
    let name = format!("brigade-{}-{target}", env!("CARGO_PKG_VERSION"));
    let parts = tempfile::tempdir()
        .map_err(|error| Failure::new(format!("cannot create a temporary directory: {error}")))?;
    let folder = parts.path().join(&name);
    let copy = |from: &Path, to: &str| {
        let bytes = fs::read(from).map_err(Failure::at(from))?;
        write_file(&folder.join(to), bytes)
    };
    copy(&binary, PROGRAM)?;
    for file in COPIED {
        copy(&repository.root().join(file), file)?;
    }
    for path in repository.files("docs/man")?.0.keys() {
        copy(&repository.root().join(path), path.trim_start_matches("docs/"))?;
    }
    for (shell, file) in SHELLS {
        let words = format!("run --quiet --locked --package brigade-cli -- completions {shell}");
        let script = output(&mut cargo(repository, words.split(' ')))?;
        write_file(&folder.join("completions").join(file), script)?;
    }
    let bill = format!("{:#}\n", bill_of_materials(repository, target)?);
    write_file(&folder.join("sbom.cdx.json"), bill)?;
    let to = repository.root().join(&arguments.to);
    fs::create_dir_all(&to).map_err(Failure::at(&to))?;
    let archive = to.join(format!("{name}.tar.gz"));
    pack(parts.path(), &name, &archive, &commit_time)?;
    sums(&to)?;
    println!("xtask dist: {}", archive.display());
    Ok(())
}

/// Builds the binary without names of directories of this machine.
fn build(repository: &Repository, target: &str, commit_time: &str) -> Result<PathBuf, Failure> {
    let words = format!("build --release --locked --package brigade-cli --target {target}");
    let mut flags = String::new();
    if let Some(home) = std::env::var_os("CARGO_HOME").or_else(|| std::env::var_os("HOME")) {
        let _ = write!(flags, "--remap-path-prefix={}=/home ", Path::new(&home).display());
    }
    // The last one that fits counts, and the repository may be below the home directory.
    let _ = write!(flags, "--remap-path-prefix={}=/brigade", repository.root().display());
    let mut command = cargo(repository, words.split(' '));
    run_command(command.env("RUSTFLAGS", flags).env("SOURCE_DATE_EPOCH", commit_time))?;
    let directory = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(repository.root().join(directory).join(target).join("release/brigade"))
}

/// Returns the target of this machine.
fn host() -> Result<String, Failure> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("`rustc -vV` names no host"))
}

/// Writes an archive whose bytes depend only on the content and the time of the commit.
fn pack(parts: &Path, name: &str, archive: &Path, commit_time: &str) -> Result<(), Failure> {
    let tar = archive.with_extension("");
    let program = parts.join(name).join(PROGRAM);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).map_err(Failure::at(&program))?;
    let mut command = Command::new("tar");
    command.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"]);
    command.args(["--mode=u=rwX,go=rX", &format!("--mtime=@{commit_time}"), "-C"]).arg(parts);
    run_command(command.arg("-cf").arg(&tar).arg(name))?;
    run_command(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(&tar))
}

/// Writes SHA256SUMS for all archives of a directory.
fn sums(folder: &Path) -> Result<(), Failure> {
    let mut lines = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(Failure::at(folder))? {
        let path = entry.map_err(Failure::at(folder))?.path();
        if path.extension() == Some(OsStr::new("gz")) {
            let digest = Sha256::digest(fs::read(&path).map_err(Failure::at(&path))?);
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let name = path.file_name().unwrap_or_default().display().to_string();
            lines.insert(format!("{name}\t{hex}  {name}\n"));
        }
    }
    let text: String = lines.iter().filter_map(|line| line.split_once('\t')).map(|(_, line)| line).collect();
    write_file(&folder.join("SHA256SUMS"), text)
}

/// Lists what the binary is built from, in the form of CycloneDX.
fn bill_of_materials(repository: &Repository, target: &str) -> Result<Value, Failure> {
    let words = format!("tree --locked --package brigade-cli --edges normal --target {target} --prefix none");
    let tree = output(cargo(repository, words.split(' ')).args(["--format", "{p}|{l}"]))?;
    let lines: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let components: Vec<Value> = lines.into_iter().filter_map(component).collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "name": "brigade",
            "version": env!("CARGO_PKG_VERSION"),
        }},
        "components": components,
    }))
}

/// Reads a line such as `clap v4.6.1|MIT OR Apache-2.0`. Crates of the workspace have a path.
fn component(line: &str) -> Option<Value> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let is_own = words.any(|word| word.starts_with("(/"));
    let mut row = json!({
        "type": "library",
        "name": name,
        "version": version,
        "licenses": [{"expression": licence.replace('/', " OR ")}],
    });
    if !is_own {
        row["purl"] = format!("pkg:cargo/{name}@{version}").into();
    }
    Some(row)
}

fn text_of<const N: usize>(
    program: &str,
    words: [&str; N],
    repository: &Repository,
) -> Result<String, Failure> {
    let text = output(Command::new(program).args(words).current_dir(repository.root()))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_read_from_the_tree() {
        let row = component("clap v4.6.1|MIT/Apache-2.0").unwrap();
        assert_eq!(row["purl"], "pkg:cargo/clap@4.6.1");
        assert_eq!(row["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert!(component("brigade v0.1.0 (/x/brigade)|MIT").unwrap().get("purl").is_none());
        assert!(component("").is_none());
    }

    #[test]
    fn archives_of_the_same_content_are_equal() {
        let folder = tempfile::tempdir().unwrap();
        let archive = |name: &str| {
            let parts = tempfile::tempdir_in(folder.path()).unwrap();
            write_file(&parts.path().join("brigade-1/brigade"), "b").unwrap();
            write_file(&parts.path().join("brigade-1/a"), "a").unwrap();
            let path = folder.path().join(name);
            pack(parts.path(), "brigade-1", &path, "1700000000").unwrap();
            fs::read(path).unwrap()
        };
        assert_eq!(archive("one.tar.gz"), archive("two.tar.gz"));
        let listed = Command::new("tar").arg("-tvf").arg(folder.path().join("one.tar.gz")).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let program = listed.lines().find(|line| line.ends_with("brigade-1/brigade")).unwrap();
        assert!(program.starts_with("-rwxr-xr-x"), "{listed}");
        sums(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("SHA256SUMS")).unwrap().lines().count(), 2);
    }
}
