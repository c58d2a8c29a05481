//! The parts of which the rows of the tables are made.

use super::{Config, Extent, FolderContent, Harness, KeyPaths, PathContent, SkillDirectory, Syntax};
use crate::client::{Files, Format, Grade};
use crate::program::Program;
use crate::spelling::{self, Spelling};
use crate::switches::SwitchFile;

pub(super) const fn row(program: Program, spelling: &'static Spelling) -> Harness {
    Harness {
        program,
        folders: &[],
        shelves: &[],
        natives: &[],
        is_guest: false,
        switches: &[],
        plugins: &[],
        more: &[],
        spelling,
    }
}

pub(super) const fn json(extent: Extent, files: Files, spelling: &'static Spelling) -> Config {
    Config {
        extent,
        files,
        place: PathContent::File,
        syntax: Syntax::Json(Format::Json),
        ways: KeyPaths::Key("mcpServers"),
        nested: None,
        spelling,
    }
}

pub(super) const fn commented(config: Config) -> Config {
    Config { syntax: Syntax::Json(Format::JsonWithCommas), ..config }
}

pub(super) const fn program(extent: Extent, files: Files) -> Config {
    Config { place: PathContent::Program, ..json(extent, files, &spelling::COMMON) }
}

pub(super) const fn switch(extent: Extent, files: Files) -> SwitchFile {
    SwitchFile { extent, files, key: "disabledMcpServers" }
}

pub(super) const fn skills(extent: Extent, path: &'static str) -> SkillDirectory {
    SkillDirectory { extent, path, moved_by: None, holds: FolderContent::Skills, depth: 1, has_own: false }
}

pub(super) const fn user_skills(path: &'static str) -> SkillDirectory {
    skills(Extent::User, path)
}

pub(super) const fn project_skills(path: &'static str) -> SkillDirectory {
    skills(Extent::Project, path)
}

pub(super) const fn commands(extent: Extent, path: &'static str) -> SkillDirectory {
    SkillDirectory { holds: FolderContent::Commands, ..skills(extent, path) }
}

/// A program that is known by its directories, and whose files are not read.
pub(super) const fn unread(program: Program, folders: &'static [&'static str]) -> Harness {
    Harness { folders, is_guest: true, ..row(program, &spelling::COMMON) }
}

/// The depth to which Codex reads skills: `MAX_SCAN_DEPTH` in codex-rs/core-skills/src/loader.rs.
pub(super) const CODEX_DEPTH: usize = 6;

/// The depth for programs that read skills in all levels (`**/SKILL.md`).
pub(super) const ALL_LEVELS: usize = 16;

pub(super) const XDG: &str = "XDG_CONFIG_HOME";

/// Returns files with one path for Linux and macOS, and another one for Windows.
pub(super) const fn unix(
    paths: &'static [&'static str],
    windows: &'static [&'static str],
    grade: Grade,
) -> Files {
    Files { windows, ..Files::same(paths, grade) }
}

/// The file of an extension, in each editor that can have it.
macro_rules! of_extension {
    ($path:literal) => {
        Files {
            linux: &[
                concat!("~/.config/Code/User/globalStorage/", $path),
                concat!("~/.config/Code - Insiders/User/globalStorage/", $path),
                concat!("~/.config/VSCodium/User/globalStorage/", $path),
                concat!("~/.config/Cursor/User/globalStorage/", $path),
                concat!("~/.config/Windsurf/User/globalStorage/", $path),
                concat!("~/.vscode-server/data/User/globalStorage/", $path),
            ],
            macos: &[
                concat!("~/Library/Application Support/Code/User/globalStorage/", $path),
                concat!("~/Library/Application Support/Code - Insiders/User/globalStorage/", $path),
                concat!("~/Library/Application Support/VSCodium/User/globalStorage/", $path),
                concat!("~/Library/Application Support/Cursor/User/globalStorage/", $path),
                concat!("~/Library/Application Support/Windsurf/User/globalStorage/", $path),
            ],
            windows: &[
                concat!("%APPDATA%/Code/User/globalStorage/", $path),
                concat!("%APPDATA%/Code - Insiders/User/globalStorage/", $path),
                concat!("%APPDATA%/VSCodium/User/globalStorage/", $path),
                concat!("%APPDATA%/Cursor/User/globalStorage/", $path),
                concat!("%APPDATA%/Windsurf/User/globalStorage/", $path),
            ],
            moved_by: Some((XDG, "~/.config")),
            grade: Grade::Observed,
        }
    };
}

pub(super) use of_extension;
