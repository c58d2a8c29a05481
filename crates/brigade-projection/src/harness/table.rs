//! The rows of the table. Each row names the source of its facts. Paths are relative to a workspace, not to a home
//! directory. Labels and titles come from `brigade_catalog::Program`.

use brigade_catalog::{Family, Program};

use super::{FieldValue, FrontMatterField, Harness, HarnessPlace, Lossiness, PlaceFormat};

const SKILLS: &[Family] = &[Family::Skill, Family::Superpower];
const COMMANDS: &[Family] = &[Family::SlashCommand];
const PROSE: &[Family] = &[Family::Skill, Family::Superpower, Family::SlashCommand];
const CALLABLE: &[Family] = &[Family::Script, Family::Mcp, Family::Openapi, Family::Graphql, Family::Custom];

const fn needs(key: &'static str, value: FieldValue) -> FrontMatterField {
    FrontMatterField { key, value }
}

const fn may(key: &'static str) -> FrontMatterField {
    FrontMatterField { key, value: FieldValue::Optional }
}

/// agentskills.io/specification: name (the directory's, 1 to 64 of a-z 0-9 -) and description (1 to 1024 characters)
/// are required.
pub(crate) const SKILL_FIELDS: &[FrontMatterField] = &[
    needs("name", FieldValue::FolderName),
    needs("description", FieldValue::Description),
    may("license"),
    may("compatibility"),
    may("metadata"),
    may("allowed-tools"),
];

/// cursor.com/docs/context/rules: a rule without these is only used when a person mentions it.
pub(crate) const CURSOR_FIELDS: &[FrontMatterField] = &[
    needs("description", FieldValue::Description),
    needs("alwaysApply", FieldValue::Fixed("false")),
    may("globs"),
];

/// docs.continue.dev/customize/deep-dives/prompts: `invokable` makes the file a slash command.
const CONTINUE_PROMPT_FIELDS: &[FrontMatterField] = &[
    needs("name", FieldValue::Title),
    needs("description", FieldValue::Description),
    needs("invokable", FieldValue::Fixed("true")),
];

/// docs.continue.dev/customize/deep-dives/rules: without a name, the file name is shown.
const CONTINUE_RULE_FIELDS: &[FrontMatterField] = &[may("name"), SUMMARY, may("globs"), may("alwaysApply")];

const NO_FIELDS: &[FrontMatterField] = &[];
const DESCRIPTION: &[FrontMatterField] = &[SUMMARY];

/// A description that a harness shows. Without it, the harness shows line 1 of the text.
const SUMMARY: FrontMatterField = needs("description", FieldValue::Summary);

/// A skill, for the families whose text it contains.
const fn skill(families: &'static [Family], path: &'static str) -> HarnessPlace {
    HarnessPlace {
        families,
        path,
        format: PlaceFormat::AgentSkill,
        front_matter: SKILL_FIELDS,
        lossiness: Lossiness::Native,
    }
}

/// A page in the form of a skill, about a tool that is called through Brigade.
const fn about(path: &'static str) -> HarnessPlace {
    HarnessPlace { lossiness: Lossiness::ReferenceOnly, ..skill(CALLABLE, path) }
}

const fn markdown(
    families: &'static [Family],
    path: &'static str,
    front_matter: &'static [FrontMatterField],
) -> HarnessPlace {
    HarnessPlace { families, path, format: PlaceFormat::Markdown, front_matter, lossiness: Lossiness::Native }
}

/// A command in the form of a skill, for harnesses without workspace commands.
const fn command_as_skill(path: &'static str) -> HarnessPlace {
    HarnessPlace { lossiness: Lossiness::Adapted, ..skill(COMMANDS, path) }
}

/// A page that no harness reads automatically.
const fn page(families: &'static [Family], path: &'static str) -> HarnessPlace {
    HarnessPlace { lossiness: Lossiness::ReferenceOnly, ..markdown(families, path, NO_FIELDS) }
}

pub(super) const HARNESSES: &[Harness] = &[
    // code.claude.com/docs: slash commands, skills, memory (rules).
    Harness {
        name: Program::CLAUDE.label,
        title: Program::CLAUDE.title,
        places: &[
            markdown(
                COMMANDS,
                ".claude/commands/{id}.md",
                &[SUMMARY, may("argument-hint"), may("allowed-tools"), may("model")],
            ),
            skill(SKILLS, ".claude/skills/{id}/SKILL.md"),
            about(".claude/skills/{id}/SKILL.md"),
            markdown(&[], ".claude/rules/{id}.md", &[may("paths")]),
            markdown(
                &[],
                ".claude/agents/{id}.md",
                &[
                    needs("name", FieldValue::FolderName),
                    needs("description", FieldValue::Description),
                    may("tools"),
                    may("model"),
                ],
            ),
        ],
        note: None,
    },
    // developers.openai.com/codex/skills: `.agents/skills`, and `skills` in the `.codex` of a project. Prompts exist
    // per user only.
    Harness {
        name: Program::CODEX.label,
        title: Program::CODEX.title,
        places: &[
            skill(SKILLS, ".codex/skills/{id}/SKILL.md"),
            command_as_skill(".codex/skills/{id}/SKILL.md"),
            about(".codex/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: Some("custom prompts are read from the home folder only, so commands are kept as skills"),
    },
    // opencode.ai/docs/commands, /docs/skills
    Harness {
        name: Program::OPENCODE.label,
        title: Program::OPENCODE.title,
        places: &[
            markdown(
                COMMANDS,
                ".opencode/commands/{id}.md",
                &[SUMMARY, may("agent"), may("model"), may("subtask")],
            ),
            skill(SKILLS, ".opencode/skills/{id}/SKILL.md"),
            about(".opencode/skills/{id}/SKILL.md"),
            markdown(&[], ".opencode/command/{id}.md", DESCRIPTION),
            skill(&[], ".claude/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: None,
    },
    // antigravity.google/docs: skills, rules and workflows; both `.agent` and `.agents` are read.
    Harness {
        name: Program::ANTIGRAVITY.label,
        title: Program::ANTIGRAVITY.title,
        places: &[
            skill(SKILLS, ".agent/skills/{id}/SKILL.md"),
            markdown(COMMANDS, ".agent/workflows/{id}.md", DESCRIPTION),
            about(".agent/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
            markdown(&[], ".agents/workflows/{id}.md", DESCRIPTION),
            markdown(&[], ".agent/rules/{id}.md", NO_FIELDS),
        ],
        note: Some("rules and workflows are cut at 12,000 characters"),
    },
    // pi.dev/docs: prompt templates, skills (also direct .md files in .pi/skills).
    Harness {
        name: Program::PI.label,
        title: Program::PI.title,
        places: &[
            markdown(COMMANDS, ".pi/prompts/{id}.md", &[SUMMARY, may("argument-hint")]),
            skill(SKILLS, ".pi/skills/{id}/SKILL.md"),
            about(".pi/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: None,
    },
    // cursor.com/docs: rules, commands, skills.
    Harness {
        name: Program::CURSOR.label,
        title: Program::CURSOR.title,
        places: &[
            skill(SKILLS, ".cursor/skills/{id}/SKILL.md"),
            markdown(COMMANDS, ".cursor/commands/{id}.md", NO_FIELDS),
            HarnessPlace {
                families: CALLABLE,
                path: ".cursor/rules/{id}.mdc",
                format: PlaceFormat::CursorRule,
                front_matter: CURSOR_FIELDS,
                lossiness: Lossiness::ReferenceOnly,
            },
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: Some("rules are read from .mdc files; a .md file beneath .cursor/rules is passed over"),
    },
    // hermes-agent.nousresearch.com/docs: skills in ~/.hermes and in the directories of `skills.external_dirs`.
    Harness {
        name: Program::HERMES.label,
        title: Program::HERMES.title,
        places: &[
            HarnessPlace { lossiness: Lossiness::Adapted, ..skill(PROSE, ".hermes/skills/{id}/SKILL.md") },
            about(".hermes/skills/{id}/SKILL.md"),
        ],
        note: Some(
            "a workspace's folder is read only when skills.external_dirs in its configuration names it",
        ),
    },
    // docs.openclaw.ai/tools/skills: <workspace>/skills and <workspace>/.agents/skills; a skill is also a command.
    Harness {
        name: Program::OPENCLAW.label,
        title: Program::OPENCLAW.title,
        places: &[
            skill(SKILLS, "skills/{id}/SKILL.md"),
            command_as_skill("skills/{id}/SKILL.md"),
            about("skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: None,
    },
    // geminicli.com/docs: custom commands are TOML with `prompt`, and `description`; skills.
    Harness {
        name: Program::GEMINI.label,
        title: Program::GEMINI.title,
        places: &[
            HarnessPlace {
                families: COMMANDS,
                path: ".gemini/commands/{id}.toml",
                format: PlaceFormat::TomlCommand,
                front_matter: NO_FIELDS,
                lossiness: Lossiness::Adapted,
            },
            skill(SKILLS, ".gemini/skills/{id}/SKILL.md"),
            about(".gemini/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: Some("in commands, `!{…}` runs a shell command and `@{…}` inserts a file"),
    },
    // docs.github.com/copilot and code.visualstudio.com/docs/copilot: prompt files, instructions, skills.
    Harness {
        name: Program::COPILOT.label,
        title: Program::COPILOT.title,
        places: &[
            skill(SKILLS, ".github/skills/{id}/SKILL.md"),
            markdown(
                COMMANDS,
                ".github/prompts/{id}.prompt.md",
                &[SUMMARY, may("agent"), may("model"), may("tools")],
            ),
            about(".github/skills/{id}/SKILL.md"),
            markdown(&[], ".github/instructions/{id}.instructions.md", &[may("applyTo"), SUMMARY]),
            skill(&[], ".claude/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: Some("instructions without applyTo are only used when a person attaches them"),
    },
    // qwenlm.github.io/qwen-code-docs: commands are Markdown since 0.10, TOML ones are still read; skills.
    Harness {
        name: Program::QWEN.label,
        title: Program::QWEN.title,
        places: &[
            markdown(COMMANDS, ".qwen/commands/{id}.md", &[SUMMARY, may("argument-hint")]),
            skill(SKILLS, ".qwen/skills/{id}/SKILL.md"),
            about(".qwen/skills/{id}/SKILL.md"),
            HarnessPlace {
                families: &[],
                path: ".qwen/commands/{id}.toml",
                format: PlaceFormat::TomlCommand,
                front_matter: NO_FIELDS,
                lossiness: Lossiness::Adapted,
            },
        ],
        note: Some("TOML commands are deprecated in favour of Markdown ones"),
    },
    // block.github.io/goose/docs/guides/context-engineering/using-skills
    Harness {
        name: Program::GOOSE.label,
        title: Program::GOOSE.title,
        places: &[
            skill(SKILLS, ".goose/skills/{id}/SKILL.md"),
            command_as_skill(".goose/skills/{id}/SKILL.md"),
            about(".goose/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
            skill(&[], ".claude/skills/{id}/SKILL.md"),
        ],
        note: None,
    },
    // docs.continue.dev/customize: rules, prompts.
    Harness {
        name: Program::CONTINUE.label,
        title: Program::CONTINUE.title,
        places: &[
            HarnessPlace {
                families: COMMANDS,
                path: ".continue/prompts/{id}.md",
                format: PlaceFormat::Prompt,
                front_matter: CONTINUE_PROMPT_FIELDS,
                lossiness: Lossiness::Native,
            },
            HarnessPlace {
                families: SKILLS,
                path: ".continue/rules/{id}.md",
                format: PlaceFormat::Markdown,
                front_matter: CONTINUE_RULE_FIELDS,
                lossiness: Lossiness::Adapted,
            },
            HarnessPlace {
                families: CALLABLE,
                path: ".continue/rules/{id}.md",
                format: PlaceFormat::Markdown,
                front_matter: CONTINUE_RULE_FIELDS,
                lossiness: Lossiness::ReferenceOnly,
            },
            skill(&[], ".continue/skills/{id}/SKILL.md"),
        ],
        note: None,
    },
    // ampcode.com/manual: skills in .agents/skills, which replaced custom commands.
    Harness {
        name: Program::AMP.label,
        title: Program::AMP.title,
        places: &[
            skill(SKILLS, ".agents/skills/{id}/SKILL.md"),
            command_as_skill(".agents/skills/{id}/SKILL.md"),
            about(".agents/skills/{id}/SKILL.md"),
            markdown(&[], ".agents/commands/{id}.md", NO_FIELDS),
            skill(&[], ".claude/skills/{id}/SKILL.md"),
        ],
        note: None,
    },
    // github.com/charmbracelet/crush: project commands, skills.
    Harness {
        name: Program::CRUSH.label,
        title: Program::CRUSH.title,
        places: &[
            skill(SKILLS, ".crush/skills/{id}/SKILL.md"),
            markdown(COMMANDS, ".crush/commands/{id}.md", NO_FIELDS),
            about(".crush/skills/{id}/SKILL.md"),
            skill(&[], ".agents/skills/{id}/SKILL.md"),
        ],
        note: None,
    },
    // Brigade's pages for people and agents, next to the configuration of servers. The configuration is never written.
    Harness {
        name: "mcp",
        title: "MCP pages",
        places: &[page(PROSE, ".mcp/{id}.md"), page(CALLABLE, ".mcp/{id}.md")],
        note: Some("documentation only; no server configuration is written"),
    },
    // Brigade's pages, next to the scripts of a project.
    Harness {
        name: "scripts",
        title: "Script pages",
        places: &[page(PROSE, "scripts/{id}.md"), page(CALLABLE, "scripts/{id}.md")],
        note: Some("documentation only; no program is written"),
    },
];

/// Directories that earlier versions of `init` proposed and that are missing in the table.
pub(super) const EARLIER_FOLDERS: &[&str] = &[
    ".adal/commands",
    ".aider/commands",
    ".amp/instructions",
    ".antigravity/commands",
    ".antigravity/superpowers",
    ".copilot/instructions",
    ".crush/instructions",
    ".goose/commands",
    ".grok/instructions",
    ".hermes/commands",
    ".hermes/superpowers",
    ".kimi/commands",
    ".openclaw/commands",
    ".openclaw/superpowers",
    ".opencode/superpowers",
    ".openhands/instructions",
    ".pi/commands",
    ".pi/superpowers",
];
