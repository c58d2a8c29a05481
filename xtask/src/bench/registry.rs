//! Measures the registry: discovery in many agent programs, and catalogs of the project and of the user.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::measure::{Measurer, Process};
use super::program::Program;
use super::table::{Row, Table, Target, thousands};
use super::workspace::{Size, entry, generate, tool_id};
use crate::repository::{Failure, write_file};

/// The number of MCP servers in the files of the 17 harnesses.
const SERVERS: usize = 500;

/// The number of entries of both levels together.
const ENTRIES: usize = 10_000;

/// How a harness names its servers in a JSON file, and how it writes one.
type Form = (&'static str, &'static str, fn(&str) -> Value);

/// The harnesses with JSON files, by the path below the home and the key of the servers.
const JSON: &[Form] = &[
    (".claude.json", "mcpServers", plain),
    (".config/Claude/claude_desktop_config.json", "mcpServers", plain),
    (".cursor/mcp.json", "mcpServers", plain),
    (".config/Code/User/mcp.json", "servers", plain),
    (".copilot/mcp-config.json", "mcpServers", plain),
    (".config/opencode/opencode.json", "mcp", listed),
    (".gemini/settings.json", "mcpServers", plain),
    (".qwen/settings.json", "mcpServers", plain),
    (".codeium/windsurf/mcp_config.json", "mcpServers", plain),
    (".config/zed/settings.json", "context_servers", plain),
    (".config/amp/settings.json", "amp.mcpServers", plain),
    (".config/crush/crush.json", "mcp", plain),
    (".cline/data/settings/cline_mcp_settings.json", "mcpServers", plain),
    (".factory/mcp.json", "mcpServers", plain),
];

/// Returns a server whose program and arguments are separate.
fn plain(name: &str) -> Value {
    json!({"type": "stdio", "command": "npx", "args": ["-y", format!("@example/{name}@1.2.3"), "--stdio"],
        "env": {"API_KEY": "${API_KEY}", "LOG_LEVEL": "info"}})
}

/// Returns a server whose command is one list of words.
fn listed(name: &str) -> Value {
    json!({"type": "local", "command": ["npx", "-y", format!("@example/{name}@1.2.3"), "--stdio"],
        "environment": {"API_KEY": "{env:API_KEY}", "LOG_LEVEL": "info"}, "enabled": true})
}

/// Measures everything about the registry.
pub fn measure(brigade: &Program, measurer: &Measurer, turns: usize) -> Result<Vec<Table>, Failure> {
    let bench = Registry { brigade, measurer, turns };
    Ok(vec![bench.discovery()?, bench.levels()?])
}

struct Registry<'a> {
    brigade: &'a Program,
    measurer: &'a Measurer,
    turns: usize,
}

/// A workspace and a home.
struct Place {
    _holder: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new(tools: usize) -> Result<Place, Failure> {
        let holder = tempfile::tempdir().map_err(|error| Failure::new(error.to_string()))?;
        let (root, home) = (holder.path().join("workspace"), holder.path().join("home"));
        fs::create_dir_all(&home).map_err(Failure::at(&home))?;
        generate(&root, Size { tools, calls: 0, runs: 0 })?;
        Ok(Place { _holder: holder, root, home })
    }

    fn process(&self, brigade: &Program, line: &str) -> Process {
        let words = line.split(' ').map(str::to_owned).collect();
        let variables = [("HOME", self.home.display().to_string()), ("PATH", "/usr/bin:/bin".to_owned())];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Process { variables: Some(variables), ..brigade.process(&self.root, words) }
    }
}

impl Registry<'_> {
    fn row(
        &self,
        name: &str,
        targets: &[Target],
        (reference, of_reference): (&Place, &str),
        (subject, line): (&Place, &str),
    ) -> Result<Row, Failure> {
        let figures =
            self.measurer.compare(self.turns, &|_| reference.process(self.brigade, of_reference), &|_| {
                subject.process(self.brigade, line)
            })?;
        Ok(Row::new(name, figures).targets(targets.iter().copied()))
    }

    /// Measures discovery in all harnesses, compared with a list of the same four tools.
    fn discovery(&self) -> Result<Table, Failure> {
        let (bare, full) = (Place::new(4)?, Place::new(4)?);
        write_harnesses(&full.home)?;
        let title = format!("17 harnesses with {SERVERS} servers, beside `list` of 4 tools");
        let mut table = Table::new(title);
        let quick = [Target::Times(4.0), Target::Memory(24 << 20)];
        table.rows.push(self.row("discover --json", &quick, (&full, "list"), (&full, "discover --json"))?);
        let same = [Target::Times(1.05)];
        table.rows.push(self.row(
            "list, beside a home without a harness",
            &same,
            (&bare, "list"),
            (&full, "list"),
        )?);
        Ok(table)
    }

    /// Measures two levels, compared with all entries in one file.
    fn levels(&self) -> Result<Table, Failure> {
        let (one, two) = (Place::new(0)?, Place::new(0)?);
        write_file(&one.root.join(".brigade/tools.toml"), entries(0..ENTRIES))?;
        write_file(&two.root.join(".brigade/tools.toml"), entries(0..ENTRIES / 2))?;
        write_file(&two.home.join(".config/brigade/tools.toml"), entries(ENTRIES / 2..ENTRIES))?;
        let half = thousands(ENTRIES / 2);
        let title = format!("{half} entries of the project and {half} of the user");
        let mut table = Table::new(title);
        let show = format!("show {} --json", tool_id(7));
        let within = |times: f64| [Target::Times(times)];
        let name = format!("show --json, beside {} in one file", thousands(ENTRIES));
        table.rows.push(self.row(&name, &within(1.2), (&one, &show), (&two, &show))?);
        let find = "find --capability capability-7 --json";
        table.rows.push(self.row(
            "find --capability, beside that show",
            &within(1.5),
            (&two, &show),
            (&two, find),
        )?);
        let check = "check --all --json";
        table.rows.push(self.row(
            "check --all, beside that show",
            &within(3.0),
            (&two, &show),
            (&two, check),
        )?);
        Ok(table)
    }
}

/// Returns entries with capabilities, of which ten entries share each.
fn entries(numbers: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for number in numbers {
        text.push_str(entry(number).trim_end());
        text.push_str(&format!("\ncapabilities = [\"capability {}\"]\n", number % (ENTRIES / 10)));
        text.push('\n');
    }
    text
}

/// Writes the files of all harnesses, with the servers spread over them.
fn write_harnesses(home: &Path) -> Result<(), Failure> {
    let count = JSON.len() + 3;
    let mut names = (0..SERVERS).map(|number| format!("server-{number:03}")).collect::<Vec<_>>().into_iter();
    let share = SERVERS.div_ceil(count);
    for (path, key, form) in JSON {
        let servers: Map<String, Value> =
            names.by_ref().take(share).map(|name| (name.clone(), form(&name))).collect();
        write_file(&home.join(path), format!("{:#}\n", json!({*key: servers})))?;
    }
    let codex = names.by_ref().take(share).map(|name| {
        format!("[mcp_servers.{name}]\ncommand = \"npx\"\nargs = [\"-y\", \"@example/{name}@1.2.3\"]\nenv = {{ API_KEY = \"${{API_KEY}}\" }}\n")
    });
    write_file(&home.join(".codex/config.toml"), codex.collect::<String>())?;
    let goose = names.by_ref().take(share).map(|name| {
        format!("  {name}:\n    type: stdio\n    name: {name}\n    enabled: true\n    cmd: npx\n    args: [-y, \"@example/{name}@1.2.3\"]\n    env_keys: [API_KEY]\n")
    });
    write_file(
        &home.join(".config/goose/config.yaml"),
        format!("extensions:\n{}", goose.collect::<String>()),
    )?;
    let rest = names.map(|name| {
        format!("  - name: {name}\n    command: npx\n    args: [-y, \"@example/{name}@1.2.3\"]\n    env:\n      API_KEY: x\n")
    });
    let head = "name: Mine\nversion: 0.0.1\nschema: v1\nmcpServers:\n";
    write_file(&home.join(".continue/config.yaml"), format!("{head}{}", rest.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_servers_are_spread_over_17_files() {
        let home = tempfile::tempdir().unwrap();
        write_harnesses(home.path()).unwrap();
        let text = |path: &str| fs::read_to_string(home.path().join(path)).unwrap();
        let others = [".codex/config.toml", ".config/goose/config.yaml", ".continue/config.yaml"];
        let all: String = JSON.iter().map(|form| form.0).chain(others).map(text).collect();
        let last = format!("server-{:03}", SERVERS - 1);
        assert_eq!((JSON.len() + others.len(), all.matches("/server-").count()), (17, SERVERS));
        assert!(all.contains(&last));
    }
}
