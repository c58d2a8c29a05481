//! The rows of the harness table.

use super::parts::{
    ALL_LEVELS, CODEX_DEPTH, XDG, commands, commented, json, of_extension, program, project_skills, row,
    switch, unix, unread, user_skills,
};
use super::{
    Config, Extent, FolderContent, Harness, KeyPaths, PathContent, SkillDirectory, Syntax, WORKSPACE,
    plugin_table,
};
use crate::client::{Files, Format, Grade};
use crate::program::Program;
use crate::spelling;

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
        plugins: &[plugin_table::CLAUDE],
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
        plugins: &[plugin_table::CLAUDE_DESKTOP],
        ..row(Program::CLAUDE_DESKTOP, &spelling::COMMON)
    },
    // developers.openai.com/codex/mcp and /codex/skills.
    Harness {
        folders: &["~/.codex"],
        shelves: &[
            user_skills("~/.agents/skills").nested(CODEX_DEPTH),
            user_skills("~/.codex/skills").moved_by("CODEX_HOME", "~/.codex").nested(CODEX_DEPTH),
            // The skills that Codex installs itself.
            user_skills("~/.codex/skills/.system").moved_by("CODEX_HOME", "~/.codex"),
            commands(Extent::User, "~/.codex/prompts").moved_by("CODEX_HOME", "~/.codex"),
            project_skills(".agents/skills").nested(CODEX_DEPTH),
            project_skills(".codex/skills").nested(CODEX_DEPTH),
        ],
        plugins: &[plugin_table::CODEX],
        ..row(Program::CODEX, &spelling::CODEX)
    },
    // cursor.com/docs/context/skills.
    Harness {
        folders: &["~/.cursor"],
        shelves: &[
            user_skills("~/.cursor/skills"),
            user_skills("~/.agents/skills"),
            user_skills("~/.claude/skills"),
            user_skills("~/.codex/skills"),
            commands(Extent::User, "~/.cursor/commands"),
            project_skills(".cursor/skills"),
            project_skills(".agents/skills"),
            project_skills(".claude/skills"),
            project_skills(".codex/skills"),
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
            user_skills("~/.agents/skills"),
            project_skills(".github/skills"),
            project_skills(".agents/skills"),
            project_skills(".claude/skills"),
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
    // packages/opencode/src/skill: `{skill,skills}/**/SKILL.md`, and `skills/**/SKILL.md` of other programs.
    Harness {
        folders: &["~/.config/opencode"],
        shelves: &[
            user_skills("~/.config/opencode/skills").moved_by(XDG, "~/.config").nested(ALL_LEVELS),
            user_skills("~/.claude/skills").nested(ALL_LEVELS),
            user_skills("~/.agents/skills").nested(ALL_LEVELS),
            commands(Extent::User, "~/.config/opencode/commands").moved_by(XDG, "~/.config"),
            user_skills("~/.config/opencode/skill").moved_by(XDG, "~/.config").nested(ALL_LEVELS),
            project_skills(".opencode/skills").nested(ALL_LEVELS),
            project_skills(".opencode/skill").nested(ALL_LEVELS),
            project_skills(".claude/skills").nested(ALL_LEVELS),
            project_skills(".agents/skills").nested(ALL_LEVELS),
            commands(Extent::Project, ".opencode/commands"),
        ],
        ..row(Program::OPENCODE, &spelling::OPENCODE)
    },
    // geminicli.com/docs/tools. Skills: `SKILL.md` and `*/SKILL.md` in packages/core/src/skills/skillLoader.ts.
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
            user_skills("~/.gemini/skills").with_own(),
            user_skills("~/.agents/skills").with_own(),
            SkillDirectory {
                holds: FolderContent::TomlCommands,
                ..commands(Extent::User, "~/.gemini/commands")
            },
            project_skills(".gemini/skills").with_own(),
            project_skills(".agents/skills").with_own(),
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
        plugins: &[plugin_table::GEMINI],
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
        shelves: &[
            user_skills("~/.qwen/skills"),
            user_skills("~/.agents/skills"),
            commands(Extent::User, "~/.qwen/commands"),
            SkillDirectory {
                holds: FolderContent::TomlCommands,
                ..commands(Extent::User, "~/.qwen/commands")
            },
            project_skills(".qwen/skills"),
            project_skills(".agents/skills"),
            commands(Extent::Project, ".qwen/commands"),
            SkillDirectory {
                holds: FolderContent::TomlCommands,
                ..commands(Extent::Project, ".qwen/commands")
            },
        ],
        plugins: &[plugin_table::QWEN],
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
            user_skills("~/.agents/skills"),
            commands(Extent::User, "~/.codeium/windsurf/global_workflows"),
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
        shelves: &[
            user_skills("~/.config/goose/skills").moved_by(XDG, "~/.config"),
            user_skills("~/.agents/skills"),
            user_skills("~/.claude/skills"),
            project_skills(".goose/skills"),
            project_skills(".agents/skills"),
            project_skills(".claude/skills"),
        ],
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
    // ampcode.com/manual. The dot is part of the key.
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
            user_skills("~/.config/agents/skills").moved_by(XDG, "~/.config"),
            user_skills("~/.config/amp/skills").moved_by(XDG, "~/.config"),
            user_skills("~/.agents/skills"),
            user_skills("~/.claude/skills"),
            user_skills("~/.amp/skills"),
            commands(Extent::User, "~/.config/amp/commands").moved_by(XDG, "~/.config"),
            project_skills(".agents/skills"),
            project_skills(".claude/skills"),
            project_skills(".amp/skills"),
            commands(Extent::Project, ".agents/commands"),
        ],
        ..row(Program::AMP, &spelling::AMP)
    },
    // github.com/charmbracelet/crush, docs/config, internal/config/load.go and internal/skills. `crushrc` is a shell
    // script. The file in `~/.local/share` is written by the program.
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
            commented(Config {
                ways: KeyPaths::Key("mcp"),
                ..json(
                    Extent::User,
                    Files::same(&["~/.local/share/crush/crush.json"], Grade::Vendor)
                        .moved_by("XDG_DATA_HOME", "~/.local/share"),
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
            user_skills("~/.config/crush/skills").moved_by(XDG, "~/.config").nested(ALL_LEVELS),
            user_skills("~/.config/agents/skills").moved_by(XDG, "~/.config").nested(ALL_LEVELS),
            user_skills("~/.agents/skills").nested(ALL_LEVELS),
            user_skills("~/.claude/skills").nested(ALL_LEVELS),
            user_skills("").moved_by("CRUSH_SKILLS_DIR", "").nested(ALL_LEVELS),
            project_skills(".crush/skills").nested(ALL_LEVELS),
            project_skills(".agents/skills").nested(ALL_LEVELS),
            project_skills(".claude/skills").nested(ALL_LEVELS),
            project_skills(".cursor/skills").nested(ALL_LEVELS),
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
            json(
                Extent::User,
                of_extension!("saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
                &spelling::CLINE,
            ),
        ],
        shelves: &[
            user_skills("~/.cline/skills"),
            user_skills("~/.agents/skills"),
            project_skills(".cline/skills"),
            project_skills(".clinerules/skills"),
            project_skills(".claude/skills"),
            project_skills(".agents/skills"),
            commands(Extent::Project, ".clinerules/workflows"),
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
    // kiro.dev/docs/mcp/configuration, /docs/skills and /docs/cli/custom-agents/configuration-reference. An installed
    // power adds its servers to the file below `powers`.
    Harness {
        folders: &["~/.kiro"],
        more: &[
            Config {
                ways: KeyPaths::Keys(&[&["mcpServers"], &["powers", "mcpServers"]]),
                ..json(
                    Extent::User,
                    Files::same(&["~/.kiro/settings/mcp.json"], Grade::Vendor),
                    &spelling::KIRO,
                )
            },
            Config {
                place: PathContent::Directory(&[".json"]),
                ..json(Extent::User, Files::same(&["~/.kiro/agents"], Grade::Vendor), &spelling::KIRO)
            },
            json(Extent::Project, Files::same(&[".kiro/settings/mcp.json"], Grade::Vendor), &spelling::KIRO),
            Config {
                place: PathContent::Directory(&[".json"]),
                ..json(Extent::Project, Files::same(&[".kiro/agents"], Grade::Vendor), &spelling::KIRO)
            },
        ],
        shelves: &[user_skills("~/.kiro/skills"), project_skills(".kiro/skills")],
        ..row(Program::KIRO, &spelling::KIRO)
    },
    // docs.roocode.com/features/mcp/using-mcp-in-roo, /features/skills and /features/slash-commands.
    Harness {
        folders: &["~/.roo", "~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline"],
        more: &[
            json(
                Extent::User,
                of_extension!("rooveterinaryinc.roo-cline/settings/mcp_settings.json"),
                &spelling::ROO,
            ),
            json(Extent::Project, Files::same(&[".roo/mcp.json"], Grade::Vendor), &spelling::ROO),
        ],
        shelves: &[
            user_skills("~/.roo/skills"),
            user_skills("~/.agents/skills"),
            commands(Extent::User, "~/.roo/commands"),
            project_skills(".roo/skills"),
            project_skills(".agents/skills"),
            commands(Extent::Project, ".roo/commands"),
        ],
        ..row(Program::ROO, &spelling::ROO)
    },
    // antigravity.google/docs/mcp and /docs/skills. The first two files are of versions before 2.0.
    Harness {
        folders: &["~/.gemini/antigravity", "~/.gemini/antigravity-cli", "~/.antigravity"],
        more: &[json(
            Extent::User,
            Files::same(
                &[
                    "~/.gemini/antigravity/mcp_config.json",
                    "~/.gemini/antigravity-cli/mcp_config.json",
                    "~/.gemini/config/mcp_config.json",
                ],
                Grade::Observed,
            ),
            &spelling::WINDSURF,
        )],
        shelves: &[
            user_skills("~/.gemini/antigravity/skills"),
            user_skills("~/.gemini/config/skills"),
            commands(Extent::User, "~/.gemini/antigravity/global_workflows"),
            project_skills(".agents/skills"),
            project_skills(".agent/skills"),
            commands(Extent::Project, ".agents/workflows"),
            commands(Extent::Project, ".agent/workflows"),
        ],
        ..row(Program::ANTIGRAVITY, &spelling::WINDSURF)
    },
    // packages/coding-agent/docs/skills.md of Pi, which has no MCP servers.
    Harness {
        folders: &["~/.pi"],
        shelves: &[
            user_skills("~/.pi/agent/skills").nested(ALL_LEVELS),
            project_skills(".pi/skills").nested(ALL_LEVELS),
        ],
        is_guest: true,
        ..row(Program::PI, &spelling::COMMON)
    },
    unread(Program::AIDER, &[]),
    unread(Program::AUGMENT, &["~/.augment"]),
    unread(Program::CODEBUDDY, &["~/.codebuddy"]),
    unread(Program::GROK, &["~/.grok"]),
    unread(Program::HERMES, &["~/.hermes"]),
    unread(Program::IFLOW, &["~/.iflow"]),
    unread(Program::JUNIE, &["~/.junie"]),
    unread(
        Program::KILO,
        &["~/.kilocode", "~/.kilo", "~/.config/kilo", "~/.config/Code/User/globalStorage/kilocode.kilo-code"],
    ),
    unread(Program::KIMI, &["~/.kimi"]),
    unread(Program::LM_STUDIO, &["~/.lmstudio", "~/.cache/lm-studio"]),
    unread(Program::OPENHANDS, &["~/.openhands"]),
    unread(Program::ROVODEV, &["~/.rovodev"]),
    unread(Program::TRAE, &["~/.trae", "~/.config/Trae", "~/Library/Application Support/Trae"]),
    unread(Program::WARP, &["~/.warp", "~/.config/warp-terminal"]),
    // docs.openclaw.ai/cli/mcp and /gateway/configuration-reference. Clawdbot is its earlier name.
    Harness {
        folders: &["~/.clawdbot"],
        more: &[claw_servers(Files {
            moved_by: Some(("CLAWDBOT_STATE_DIR", "~/.clawdbot")),
            ..Files::same(&["~/.clawdbot/clawdbot.json"], Grade::Unconfirmed)
        })],
        shelves: &[user_skills("~/.clawdbot/skills").moved_by("CLAWDBOT_STATE_DIR", "~/.clawdbot")],
        is_guest: true,
        ..row(Program::CLAWDBOT, &spelling::COMMON)
    },
    Harness {
        folders: &["~/.openclaw"],
        more: &[claw_servers(Files {
            moved_by: Some(("OPENCLAW_STATE_DIR", "~/.openclaw")),
            ..Files::same(&["~/.openclaw/openclaw.json"], Grade::Vendor)
        })],
        shelves: &[
            user_skills("~/.openclaw/skills").moved_by("OPENCLAW_STATE_DIR", "~/.openclaw"),
            user_skills("~/.openclaw/workspace/skills").moved_by("OPENCLAW_STATE_DIR", "~/.openclaw"),
        ],
        is_guest: true,
        ..row(Program::OPENCLAW, &spelling::COMMON)
    },
];

/// The configuration of Clawdbot and OpenClaw, with servers under `mcp.servers`.
const fn claw_servers(files: Files) -> Config {
    commented(Config {
        ways: KeyPaths::Keys(&[&["mcp", "servers"], &["mcpServers"]]),
        ..json(Extent::User, files, &spelling::CLAW)
    })
}
