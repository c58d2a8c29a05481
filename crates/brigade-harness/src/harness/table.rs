//! The rows of the harness table.

use super::{
    Config, Extent, FolderContent, Harness, KeyPaths, PathContent, SkillDirectory, Syntax, WORKSPACE,
};
use crate::client::{Files, Format, Grade};
use crate::program::Program;
use crate::spelling::{self, Spelling};
use crate::switches::SwitchFile;

const fn row(program: Program, spelling: &'static Spelling) -> Harness {
    Harness {
        program,
        folders: &[],
        shelves: &[],
        natives: &[],
        is_guest: false,
        switches: &[],
        more: &[],
        spelling,
    }
}

const fn json(extent: Extent, files: Files, spelling: &'static Spelling) -> Config {
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

const fn commented(config: Config) -> Config {
    Config { syntax: Syntax::Json(Format::JsonWithCommas), ..config }
}

const fn program(extent: Extent, files: Files) -> Config {
    Config { place: PathContent::Program, ..json(extent, files, &spelling::COMMON) }
}

const fn switch(extent: Extent, files: Files) -> SwitchFile {
    SwitchFile { extent, files, key: "disabledMcpServers" }
}

const fn skills(extent: Extent, path: &'static str) -> SkillDirectory {
    SkillDirectory { extent, path, moved_by: None, holds: FolderContent::Skills }
}

const fn user_skills(path: &'static str) -> SkillDirectory {
    skills(Extent::User, path)
}

const fn project_skills(path: &'static str) -> SkillDirectory {
    skills(Extent::Project, path)
}

const fn commands(extent: Extent, path: &'static str) -> SkillDirectory {
    SkillDirectory { extent, path, moved_by: None, holds: FolderContent::Commands }
}

const XDG: &str = "XDG_CONFIG_HOME";

/// Returns files with one path for Linux and macOS, and another one for Windows.
const fn unix(paths: &'static [&'static str], windows: &'static [&'static str], grade: Grade) -> Files {
    Files { windows, ..Files::same(paths, grade) }
}

const CLINE_EXTENSION: Files = Files {
    linux: &["~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"],
    macos: &[
        "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ],
    windows: &["%APPDATA%/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"],
    moved_by: Some((XDG, "~/.config")),
    grade: Grade::Observed,
};

pub(super) const HARNESSES: &[Harness] = &[
    // code.claude.com/docs/en/mcp, /skills, /tools-reference. The user's file also holds the servers of single
    // workspaces.
    Harness {
        folders: &["~/.claude"],
        more: &[Config {
            ways: KeyPaths::Keys(&[&["projects", WORKSPACE, "mcpServers"]]),
            ..json(
                Extent::Local,
                Files::same(&["~/.claude.json"], Grade::Vendor).moved_by("CLAUDE_CONFIG_DIR", "~"),
                &spelling::CLAUDE,
            )
        }],
        shelves: &[
            user_skills("~/.claude/skills").moved_by("CLAUDE_CONFIG_DIR", "~/.claude"),
            commands(Extent::User, "~/.claude/commands").moved_by("CLAUDE_CONFIG_DIR", "~/.claude"),
            project_skills(".claude/skills"),
            commands(Extent::Project, ".claude/commands"),
        ],
        natives: &[
            "Agent",
            "AskUserQuestion",
            "Bash",
            "Edit",
            "Glob",
            "Grep",
            "NotebookEdit",
            "Read",
            "Skill",
            "WebFetch",
            "WebSearch",
            "Write",
        ],
        ..row(Program::CLAUDE, &spelling::CLAUDE)
    },
    Harness {
        folders: &["~/.config/Claude", "~/Library/Application Support/Claude"],
        more: &[json(
            Extent::User,
            Files {
                linux: &["~/.config/Claude/claude_desktop_config.json"],
                macos: &["~/Library/Application Support/Claude/claude_desktop_config.json"],
                windows: &["%APPDATA%/Claude/claude_desktop_config.json"],
                moved_by: Some((XDG, "~/.config")),
                grade: Grade::Observed,
            },
            &spelling::COMMON,
        )],
        ..row(Program::CLAUDE_DESKTOP, &spelling::COMMON)
    },
    // developers.openai.com/codex/mcp and /codex/skills.
    Harness {
        folders: &["~/.codex"],
        shelves: &[
            user_skills("~/.agents/skills"),
            user_skills("~/.codex/skills").moved_by("CODEX_HOME", "~/.codex"),
            commands(Extent::User, "~/.codex/prompts").moved_by("CODEX_HOME", "~/.codex"),
            project_skills(".agents/skills"),
        ],
        ..row(Program::CODEX, &spelling::CODEX)
    },
    Harness {
        folders: &["~/.cursor"],
        shelves: &[
            user_skills("~/.cursor/skills"),
            project_skills(".cursor/skills"),
            commands(Extent::Project, ".cursor/commands"),
        ],
        ..row(Program::CURSOR, &spelling::COMMON)
    },
    Harness {
        folders: &["~/.config/Code", "~/Library/Application Support/Code", "~/.vscode-server"],
        more: &[
            commented(Config {
                ways: KeyPaths::Key("servers"),
                ..json(
                    Extent::User,
                    Files {
                        linux: &["~/.config/Code - Insiders/User/mcp.json"],
                        macos: &["~/Library/Application Support/Code - Insiders/User/mcp.json"],
                        windows: &["%APPDATA%/Code - Insiders/User/mcp.json"],
                        moved_by: Some((XDG, "~/.config")),
                        grade: Grade::Observed,
                    },
                    &spelling::VSCODE,
                )
            }),
            commented(Config {
                ways: KeyPaths::Key("servers"),
                ..json(
                    Extent::User,
                    Files::same(&["~/.vscode-server/data/User/mcp.json"], Grade::Observed),
                    &spelling::VSCODE,
                )
            }),
        ],
        shelves: &[user_skills("~/.copilot/skills"), project_skills(".github/skills")],
        ..row(Program::VSCODE, &spelling::VSCODE)
    },
    // docs.github.com, Copilot CLI. It shares the workspace file of Claude Code.
    Harness {
        folders: &["~/.copilot"],
        more: &[
            json(
                Extent::User,
                Files::same(&["~/.copilot/mcp-config.json"], Grade::Vendor)
                    .moved_by("COPILOT_HOME", "~/.copilot"),
                &spelling::COPILOT,
            ),
            // The second path is used since version 1.0.102.
            json(
                Extent::Project,
                Files::same(&[".mcp.json", ".github/mcp.json"], Grade::Vendor),
                &spelling::COPILOT,
            ),
        ],
        shelves: &[
            user_skills("~/.copilot/skills").moved_by("COPILOT_HOME", "~/.copilot"),
            project_skills(".github/skills"),
        ],
        // cli-config-dir-reference. The lists are merged, so a repository cannot enable a server again.
        switches: &[
            switch(
                Extent::User,
                Files::same(&["~/.copilot/settings.json"], Grade::Vendor)
                    .moved_by("COPILOT_HOME", "~/.copilot"),
            ),
            switch(
                Extent::Project,
                Files::same(
                    &[".github/copilot/settings.json", ".github/copilot/settings.local.json"],
                    Grade::Vendor,
                ),
            ),
        ],
        ..row(Program::COPILOT, &spelling::COPILOT)
    },
    Harness {
        folders: &["~/.config/opencode"],
        shelves: &[
            user_skills("~/.config/opencode/skills").moved_by(XDG, "~/.config"),
            user_skills("~/.claude/skills"),
            user_skills("~/.agents/skills"),
            commands(Extent::User, "~/.config/opencode/commands").moved_by(XDG, "~/.config"),
            project_skills(".opencode/skills"),
            project_skills(".claude/skills"),
            project_skills(".agents/skills"),
            commands(Extent::Project, ".opencode/commands"),
        ],
        ..row(Program::OPENCODE, &spelling::OPENCODE)
    },
    // geminicli.com/docs/tools.
    Harness {
        folders: &["~/.gemini"],
        more: &[Config {
            syntax: Syntax::Json(Format::JsonWithComments),
            ..json(
                Extent::System,
                Files {
                    linux: &["/etc/gemini-cli/settings.json"],
                    macos: &["/Library/Application Support/GeminiCli/settings.json"],
                    windows: &["C:/ProgramData/gemini-cli/settings.json"],
                    moved_by: None,
                    grade: Grade::Vendor,
                },
                &spelling::GEMINI,
            )
        }],
        shelves: &[
            user_skills("~/.gemini/skills"),
            user_skills("~/.agents/skills"),
            SkillDirectory {
                holds: FolderContent::TomlCommands,
                ..commands(Extent::User, "~/.gemini/commands")
            },
            project_skills(".gemini/skills"),
            project_skills(".agents/skills"),
            SkillDirectory {
                holds: FolderContent::TomlCommands,
                ..commands(Extent::Project, ".gemini/commands")
            },
        ],
        natives: &[
            "glob",
            "google_web_search",
            "list_directory",
            "read_file",
            "replace",
            "run_shell_command",
            "web_fetch",
            "write_file",
        ],
        ..row(Program::GEMINI, &spelling::GEMINI)
    },
    // qwenlm.github.io/qwen-code-docs: a fork of Gemini CLI.
    Harness {
        folders: &["~/.qwen"],
        more: &[
            commented(json(
                Extent::User,
                Files::same(&["~/.qwen/settings.json"], Grade::Vendor),
                &spelling::GEMINI,
            )),
            commented(json(
                Extent::Project,
                Files::same(&[".qwen/settings.json", ".qwen/settings.local.json"], Grade::Vendor),
                &spelling::GEMINI,
            )),
            commented(json(
                Extent::System,
                Files::same(
                    &["/etc/qwen-code/settings.json", "/etc/qwen-code/system-defaults.json"],
                    Grade::Vendor,
                ),
                &spelling::GEMINI,
            )),
        ],
        shelves: &[user_skills("~/.qwen/skills"), project_skills(".qwen/skills")],
        ..row(Program::QWEN, &spelling::GEMINI)
    },
    Harness {
        folders: &["~/.codeium/windsurf"],
        more: &[json(
            Extent::User,
            Files::same(&["~/.codeium/mcp_config.json"], Grade::Observed),
            &spelling::WINDSURF,
        )],
        shelves: &[
            user_skills("~/.codeium/windsurf/skills"),
            project_skills(".windsurf/skills"),
            project_skills(".agents/skills"),
            commands(Extent::Project, ".windsurf/workflows"),
        ],
        ..row(Program::WINDSURF, &spelling::WINDSURF)
    },
    Harness { folders: &["~/.config/zed"], ..row(Program::ZED, &spelling::ZED) },
    // block.github.io/goose, config-files. `secrets.yaml` in the same directory is never read.
    Harness {
        folders: &["~/.config/goose"],
        more: &[Config {
            syntax: Syntax::Yaml,
            ways: KeyPaths::Keys(&[&["extensions"], &["config", "extensions"]]),
            ..json(
                Extent::User,
                Files {
                    moved_by: Some((XDG, "~/.config")),
                    ..unix(
                        &["~/.config/goose/config.yaml"],
                        &["%APPDATA%/Block/goose/config/config.yaml"],
                        Grade::Vendor,
                    )
                },
                &spelling::GOOSE,
            )
        }],
        shelves: &[user_skills("~/.agents/skills"), project_skills(".agents/skills")],
        ..row(Program::GOOSE, &spelling::GOOSE)
    },
    Harness {
        folders: &["~/.continue"],
        more: &[
            Config {
                syntax: Syntax::Yaml,
                ..json(
                    Extent::User,
                    Files::same(&["~/.continue/config.yaml"], Grade::Vendor),
                    &spelling::CONTINUE,
                )
            },
            Config {
                syntax: Syntax::Yaml,
                place: PathContent::Directory(&[".yaml", ".yml"]),
                ..json(
                    Extent::Project,
                    Files::same(&[".continue/mcpServers"], Grade::Vendor),
                    &spelling::CONTINUE,
                )
            },
            commented(Config {
                place: PathContent::Directory(&[".json"]),
                ..json(
                    Extent::Project,
                    Files::same(&[".continue/mcpServers"], Grade::Vendor),
                    &spelling::CONTINUE,
                )
            }),
        ],
        ..row(Program::CONTINUE, &spelling::CONTINUE)
    },
    // The dot is part of the key.
    Harness {
        folders: &["~/.config/amp", "~/.amp"],
        more: &[
            commented(Config {
                ways: KeyPaths::Key("amp.mcpServers"),
                ..json(
                    Extent::User,
                    Files {
                        moved_by: Some((XDG, "~/.config")),
                        ..unix(
                            &["~/.config/amp/settings.json", "~/.config/amp/settings.jsonc"],
                            &["%APPDATA%/amp/settings.json"],
                            Grade::Observed,
                        )
                    },
                    &spelling::AMP,
                )
            }),
            commented(json(
                Extent::User,
                Files::same(&["~/.amp/settings.json"], Grade::Unconfirmed),
                &spelling::AMP,
            )),
            commented(Config {
                ways: KeyPaths::Key("amp.mcpServers"),
                ..json(
                    Extent::Project,
                    Files::same(&[".amp/settings.json", ".amp/settings.jsonc"], Grade::Observed),
                    &spelling::AMP,
                )
            }),
            commented(Config {
                ways: KeyPaths::Key("amp.mcpServers"),
                ..json(
                    Extent::System,
                    Files::same(&["/etc/ampcode/managed-settings.json"], Grade::Observed),
                    &spelling::AMP,
                )
            }),
        ],
        shelves: &[
            user_skills("~/.agents/skills"),
            user_skills("~/.amp/skills"),
            project_skills(".agents/skills"),
            project_skills(".amp/skills"),
        ],
        ..row(Program::AMP, &spelling::AMP)
    },
    // github.com/charmbracelet/crush, docs/config. `crushrc` is a shell script.
    Harness {
        folders: &["~/.config/crush"],
        more: &[
            commented(Config {
                ways: KeyPaths::Key("mcp"),
                ..json(
                    Extent::User,
                    Files {
                        windows: &["%LOCALAPPDATA%/crush/crush.json"],
                        moved_by: Some((XDG, "~/.config")),
                        ..Files::same(&["~/.config/crush/crush.json"], Grade::Vendor)
                    },
                    &spelling::CRUSH,
                )
            }),
            program(
                Extent::User,
                Files::same(&["~/.config/crush/crushrc"], Grade::Vendor).moved_by(XDG, "~/.config"),
            ),
            commented(Config {
                ways: KeyPaths::Key("mcp"),
                ..json(
                    Extent::Project,
                    Files::same(&[".crush.json", "crush.json"], Grade::Vendor),
                    &spelling::CRUSH,
                )
            }),
            program(Extent::Project, Files::same(&[".crushrc", "crushrc"], Grade::Unconfirmed)),
        ],
        shelves: &[
            user_skills("~/.config/crush/skills").moved_by(XDG, "~/.config"),
            user_skills("~/.config/agents/skills").moved_by(XDG, "~/.config"),
            user_skills("").moved_by("CRUSH_SKILLS_DIR", ""),
            project_skills(".crush/skills"),
            project_skills(".agents/skills"),
            project_skills(".claude/skills"),
            project_skills(".cursor/skills"),
        ],
        ..row(Program::CRUSH, &spelling::CRUSH)
    },
    // docs.cline.bot/cli/configuration. The extension for Visual Studio Code uses a separate file.
    Harness {
        folders: &["~/.cline"],
        more: &[
            json(
                Extent::User,
                Files::same(&["~/.cline/data/settings/cline_mcp_settings.json"], Grade::Vendor)
                    .moved_by("CLINE_MCP_SETTINGS_PATH", "~/.cline/data/settings/cline_mcp_settings.json"),
                &spelling::CLINE,
            ),
            json(Extent::User, CLINE_EXTENSION, &spelling::CLINE),
        ],
        shelves: &[
            user_skills("~/.cline/skills"),
            project_skills(".cline/skills"),
            project_skills(".clinerules/skills"),
            project_skills(".claude/skills"),
        ],
        ..row(Program::CLINE, &spelling::CLINE)
    },
    Harness {
        folders: &["~/.factory"],
        more: &[
            json(Extent::User, Files::same(&["~/.factory/mcp.json"], Grade::Observed), &spelling::COMMON),
            json(
                Extent::User,
                Files {
                    linux: &[],
                    macos: &["~/Library/Application Support/Factory Bridge/mcp.json"],
                    windows: &["%APPDATA%/Factory Bridge/mcp.json"],
                    moved_by: None,
                    grade: Grade::Vendor,
                },
                &spelling::COMMON,
            ),
            json(Extent::Project, Files::same(&[".factory/mcp.json"], Grade::Unconfirmed), &spelling::COMMON),
        ],
        shelves: &[user_skills("~/.factory/skills"), project_skills(".factory/skills")],
        ..row(Program::FACTORY, &spelling::COMMON)
    },
    Harness {
        folders: &["~/.clawdbot"],
        shelves: &[user_skills("~/.clawdbot/skills")],
        is_guest: true,
        ..row(Program::CLAWDBOT, &spelling::COMMON)
    },
    Harness {
        folders: &["~/.openclaw"],
        shelves: &[user_skills("~/.openclaw/skills")],
        is_guest: true,
        ..row(Program::OPENCLAW, &spelling::COMMON)
    },
];
