//! The rows of the plugin table.

use super::parts::{CODEX_DEPTH, XDG, commands, skills};
use super::{Extent, FolderContent, KeyPaths, SkillDirectory};
use crate::client::{Files, Grade};
use crate::plugins::{PluginLayout, PluginStore, PluginSwitches, SwitchForm};

const SKILLS: SkillDirectory = skills(Extent::User, "skills").with_own();
const COMMANDS: SkillDirectory = commands(Extent::User, "commands");
const TOML_COMMANDS: SkillDirectory = SkillDirectory { holds: FolderContent::TomlCommands, ..COMMANDS };

const BASE: PluginStore = PluginStore {
    files: Files::same(&[], Grade::Vendor),
    layout: PluginLayout::Directories,
    manifests: &[],
    link_file: None,
    server_file: None,
    folders: &[SKILLS],
    switches: &[],
    is_enabled_by_default: true,
    servers: KeyPaths::Key("mcpServers"),
};

const fn switches(extent: Extent, files: Files, form: SwitchForm) -> PluginSwitches {
    PluginSwitches { extent, files, form }
}

const CLAUDE_SWITCH: SwitchForm = SwitchForm::Booleans("enabledPlugins");

// code.claude.com/docs/en/plugins-reference and /plugins/loading. Old versions stay in the cache.
pub(super) const CLAUDE: PluginStore = PluginStore {
    files: Files::same(&["~/.claude/plugins/installed_plugins.json"], Grade::Vendor)
        .moved_by("CLAUDE_CONFIG_DIR", "~/.claude"),
    layout: PluginLayout::Index,
    manifests: &[".claude-plugin/plugin.json"],
    server_file: Some(".mcp.json"),
    folders: &[SKILLS, COMMANDS],
    switches: &[
        switches(
            Extent::User,
            Files::same(&["~/.claude/settings.json"], Grade::Vendor)
                .moved_by("CLAUDE_CONFIG_DIR", "~/.claude"),
            CLAUDE_SWITCH,
        ),
        switches(
            Extent::Project,
            Files::same(&[".claude/settings.json", ".claude/settings.local.json"], Grade::Vendor),
            CLAUDE_SWITCH,
        ),
        switches(
            Extent::System,
            Files {
                linux: &["/etc/claude-code/managed-settings.json"],
                macos: &["/Library/Application Support/ClaudeCode/managed-settings.json"],
                windows: &["C:/Program Files/ClaudeCode/managed-settings.json"],
                moved_by: None,
                grade: Grade::Vendor,
            },
            CLAUDE_SWITCH,
        ),
    ],
    ..BASE
};

// codex-rs/core-plugins/src/store.rs and manifest.rs: only plugins of config.toml are loaded.
pub(super) const CODEX: PluginStore = PluginStore {
    files: Files::same(&["~/.codex/plugins/cache"], Grade::Vendor).moved_by("CODEX_HOME", "~/.codex"),
    layout: PluginLayout::Versions,
    manifests: &[
        ".codex-plugin/plugin.json",
        ".claude-plugin/plugin.json",
        ".cursor-plugin/plugin.json",
        "plugin.json",
    ],
    server_file: Some(".mcp.json"),
    folders: &[SKILLS.nested(CODEX_DEPTH)],
    switches: &[switches(
        Extent::User,
        Files::same(&["~/.codex/config.toml"], Grade::Vendor).moved_by("CODEX_HOME", "~/.codex"),
        SwitchForm::Tables("plugins"),
    )],
    is_enabled_by_default: false,
    ..BASE
};

// packages/cli/src/config/extension-manager.ts and extensions/extensionEnablement.ts of Gemini CLI.
pub(super) const GEMINI: PluginStore = PluginStore {
    files: Files::same(&["~/.gemini/extensions"], Grade::Vendor),
    manifests: &["gemini-extension.json"],
    link_file: Some(".gemini-extension-install.json"),
    folders: &[SKILLS, TOML_COMMANDS],
    switches: &[switches(
        Extent::User,
        Files::same(&["~/.gemini/extensions/extension-enablement.json"], Grade::Vendor),
        SwitchForm::Rules,
    )],
    ..BASE
};

// The same in packages/core/src/extension of Qwen Code, which also reads commands in Markdown.
pub(super) const QWEN: PluginStore = PluginStore {
    files: Files::same(&["~/.qwen/extensions"], Grade::Vendor),
    manifests: &["qwen-extension.json"],
    link_file: Some(".qwen-extension-install.json"),
    folders: &[SKILLS, COMMANDS, TOML_COMMANDS],
    switches: &[switches(
        Extent::User,
        Files::same(&["~/.qwen/extensions/extension-enablement.json"], Grade::Vendor),
        SwitchForm::Rules,
    )],
    ..BASE
};

// github.com/modelcontextprotocol/mcpb, MANIFEST.md. The directories are those that Claude Desktop writes.
pub(super) const CLAUDE_DESKTOP: PluginStore = PluginStore {
    files: Files {
        linux: &["~/.config/Claude/Claude Extensions"],
        macos: &["~/Library/Application Support/Claude/Claude Extensions"],
        windows: &["%APPDATA%/Claude/Claude Extensions"],
        moved_by: Some((XDG, "~/.config")),
        grade: Grade::Observed,
    },
    manifests: &["manifest.json"],
    folders: &[],
    switches: &[switches(
        Extent::User,
        Files {
            linux: &["~/.config/Claude/Claude Extensions Settings"],
            macos: &["~/Library/Application Support/Claude/Claude Extensions Settings"],
            windows: &["%APPDATA%/Claude/Claude Extensions Settings"],
            moved_by: Some((XDG, "~/.config")),
            grade: Grade::Observed,
        },
        SwitchForm::Each("isEnabled"),
    )],
    servers: KeyPaths::Single { way: &["server", "mcp_config"], name: "name" },
    ..BASE
};
