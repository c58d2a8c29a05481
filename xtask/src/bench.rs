//! `cargo xtask bench`: measures commands as whole processes, and compares them with the minimum they could cost.
//!
//! Every figure is a median. Each command is measured in turns with a reference: `/bin/true`, plain parsing of the
//! catalog file, or the same command on a workspace without a history. The tables are printed in the form used in
//! `docs/performance.md`.

mod kitchen;
mod mcp;
mod measure;
mod program;
mod registry;
mod serve;
mod table;
mod team;
mod workspace;

use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::DeTable;

use crate::cargo::{cargo, run_command};
use crate::repository::{Failure, Repository};
use measure::{Figures, Measurer, Process};
use program::Program;
use table::{Row, Table, Target};
use workspace::{Size, generate, tool_id};

pub use mcp::{McpClientArguments, mcp_client};
pub use measure::measure_children;

/// Measure commands on workspaces of several sizes
#[derive(Debug, clap::Args)]
pub struct BenchArguments {
    /// Use smaller workspaces and fewer turns
    #[arg(long)]
    quick: bool,

    /// Measure only a history of this many finished calls, such as 1000000, with 10,000 receipts
    #[arg(long, value_name = "CALLS", conflicts_with = "quick")]
    history: Option<usize>,

    /// Measure only MCP calls and runtimes
    #[arg(long)]
    mcp: bool,

    /// Measure only discovery, levels and finding
    #[arg(long)]
    registry: bool,

    /// Measure only the gateway
    #[arg(long)]
    serve: bool,

    /// Measure only the kitchen
    #[arg(long)]
    kitchen: bool,

    /// Measure only the queue of a team, which needs PostgreSQL
    #[arg(long)]
    team: bool,

    /// For a team, the number of finished calls
    #[arg(long, value_name = "CALLS", default_value_t = 1_000_000)]
    team_calls: u32,

    /// Measure this binary instead of building one
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Parse a file as TOML, as a reference for comparisons
#[derive(Debug, clap::Args)]
pub struct ParseTomlArguments {
    file: PathBuf,
}

pub fn run(repository: &Repository, arguments: &BenchArguments) -> Result<(), Failure> {
    if let (true, Some(binary)) = (arguments.team, &arguments.binary) {
        let binary = std::path::absolute(binary).map_err(Failure::at(binary))?;
        return team::measure(repository, &binary, "dev", arguments.team_calls);
    }
    let this = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
    let built = this
        .parent()
        .and_then(Path::parent)
        .ok_or_else(|| Failure::new("this program is not where cargo builds"))?
        .join("release");
    let build = |package: &str| {
        run_command(&mut cargo(
            repository,
            ["build", "--release", "--locked", "--quiet", "--package", package],
        ))
    };
    build("xtask")?;
    let binary = match &arguments.binary {
        Some(binary) => std::path::absolute(binary).map_err(Failure::at(binary))?,
        None => {
            build("brigade-cli")?;
            built.join("brigade")
        }
    };
    let bench = Bench {
        brigade: Program::new(binary),
        measurer: Measurer::new(built.join("xtask")),
        turns: if arguments.quick { 7 } else { 15 },
    };
    let mcp = || mcp::measure(repository, &bench.brigade, &bench.measurer, bench.turns);
    if arguments.mcp {
        println!("{}", mcp()?);
        return Ok(());
    }
    let registry = || registry::measure(&bench.brigade, &bench.measurer, bench.turns);
    if arguments.registry {
        registry()?.iter().for_each(|table| println!("{table}"));
        return Ok(());
    }
    let gateway = || serve::measure(&bench.brigade, bench.turns);
    if arguments.serve {
        println!("{}", gateway()?);
        return Ok(());
    }
    let team = || team::measure(repository, bench.brigade.path(), "release", arguments.team_calls);
    if arguments.team {
        return team();
    }
    let kitchen = || kitchen::measure(&bench.brigade, &bench.measurer, bench.turns);
    if arguments.kitchen {
        kitchen()?.iter().for_each(|table| println!("{table}"));
        return Ok(());
    }
    if let Some(calls) = arguments.history {
        return bench.history_and_bulk(Size { tools: 4, calls, runs: 10_000 });
    }
    let sizes: &[usize] = if arguments.quick { &[4, 1_000] } else { &[4, 100, 1_000, 10_000] };
    for size in sizes {
        println!("{}", bench.catalog(*size)?);
    }
    let (calls, runs) = if arguments.quick { (10_000, 1_000) } else { (100_000, 10_000) };
    bench.history_and_bulk(Size { tools: 4, calls, runs })?;
    println!("{}", mcp()?);
    registry()?.iter().for_each(|table| println!("{table}"));
    println!("{}", gateway()?);
    kitchen()?.iter().for_each(|table| println!("{table}"));
    team()
}

/// Parse a file as JSON, as a reference for comparisons
#[derive(Debug, clap::Args)]
pub struct ParseJsonArguments {
    file: PathBuf,
}

/// Parses a file as JSON and does nothing with it.
pub fn parse_json(arguments: &ParseJsonArguments) -> Result<(), Failure> {
    kitchen::parse_json(&arguments.file)
}

/// Parses a file and does nothing with it.
pub fn parse_toml(arguments: &ParseTomlArguments) -> Result<(), Failure> {
    let text = std::fs::read_to_string(&arguments.file).map_err(Failure::at(&arguments.file))?;
    let table = DeTable::parse(&text).map_err(|error| Failure::new(error.message().to_owned()))?;
    if table.get_ref().is_empty() { Err(Failure::new("the file is empty")) } else { Ok(()) }
}

struct Bench {
    brigade: Program,
    measurer: Measurer,
    turns: usize,
}

/// A command to measure: its name in the table, and its arguments in each turn.
struct Command<'a> {
    name: &'a str,
    words: Box<dyn Fn(usize) -> Vec<String> + 'a>,
    targets: Vec<Target>,
}

impl<'a> Command<'a> {
    /// A command with the same arguments in each turn.
    fn new(name: &'a str, line: &'a str) -> Command<'a> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Command { name, words: Box::new(move |_| words.clone()), targets: Vec::new() }
    }

    /// A command with different arguments in each turn.
    fn each(name: &'a str, words: impl Fn(usize) -> Vec<String> + 'a) -> Command<'a> {
        Command { name, words: Box::new(words), targets: Vec::new() }
    }

    fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Command<'a> {
        self.targets.extend(targets);
        self
    }
}

/// Returns the arguments that plan or queue a call. Each number gives a different call.
fn call(verb: &str, number: usize) -> Vec<String> {
    let args = format!("{{\"path\":\"new-{number}.txt\",\"mode\":\"fast\"}}");
    ["call", verb, "tool-00001", "--args", &args].map(str::to_owned).to_vec()
}

/// Returns the arguments of a command on one id.
fn about(verb: &str, ids: &[String], number: usize) -> Vec<String> {
    let id = ids.get(number).cloned().unwrap_or_default();
    ["call", verb, &id].map(str::to_owned).to_vec()
}

impl Bench {
    /// Measures commands on a catalog without calls and runs.
    fn catalog(&self, tools: usize) -> Result<Table, Failure> {
        let size = Size { tools, calls: 0, runs: 0 };
        let folder = Folder::new(size)?;
        let file = folder.root.join(".brigade/tools.toml");
        let arguments = vec!["parse-toml".to_owned(), file.display().to_string()];
        let parse = Process { arguments, ..Process::new(self.measurer.program(), &folder.root) };
        let nothing = idle_process(&folder.root);
        let (reference, name) = if tools < 1_000 { (nothing, "/bin/true") } else { (parse, "the parse") };
        let title = format!("A catalog of {} tools, beside {name}", table::thousands(tools));
        let mut table = Table::new(title);
        let few = [Target::Times(3.0), Target::Memory(12 << 20)];
        let targets = |ratio: Option<f64>| -> Vec<Target> {
            match (tools, ratio) {
                (1_000, _) => vec![Target::Within(Duration::from_millis(35))],
                (10_000, Some(ratio)) => vec![Target::Times(ratio), Target::Memory(150 << 20)],
                _ => Vec::new(),
            }
        };
        let first = format!("show {} --json", tool_id(0));
        let list = Command::new("list", "list");
        let mut commands = vec![
            if tools == 4 { list.targets(few) } else { list.targets(targets(None)) },
            Command::new("list --json", "list --json").targets(targets(Some(2.0))),
            Command::new("show --json", &first).targets(targets(Some(1.5))),
            Command::each("call plan", |turn| call("plan", turn)).targets(targets(Some(1.5))),
            Command::each("call queue", |turn| call("queue", turn)).targets(targets(Some(1.5))),
        ];
        let most = || (tools == 10_000).then_some(Target::Memory(150 << 20));
        for line in ["plan --json", "doctor --json", "apply --all --dry-run"] {
            let within = if line.starts_with("apply") { Vec::new() } else { targets(None) };
            if self.brigade.knows(&words(line)[..1]) {
                commands.push(Command::new(line, line).targets(within).targets(most()));
            }
        }
        for command in &commands {
            table.rows.push(self.row(command, &|_| reference.clone(), &folder)?);
        }
        let ids = self.brigade.ids(&folder.root, "pending")?;
        let last = [
            Command::each("call approve", |turn| about("approve", &ids, turn)).targets(targets(None)),
            Command::new("call run --next", "call run --next").targets(targets(None)),
        ];
        for command in &last {
            table.rows.push(self.row(command, &|_| reference.clone(), &folder)?);
        }
        Ok(table)
    }

    /// Measures and prints both tables of a long history.
    fn history_and_bulk(&self, size: Size) -> Result<(), Failure> {
        let long = Folder::new(size)?;
        println!("{}", self.history(size, &long)?);
        println!("{}", self.bulk(size, &long)?);
        Ok(())
    }

    /// Measures commands on a long history, compared with the same commands without one.
    fn history(&self, size: Size, long: &Folder) -> Result<Table, Failure> {
        let none = Folder::new(Size { calls: 0, runs: 0, ..size })?;
        let title = format!(
            "{} finished calls and {} receipts, beside none of either",
            table::thousands(size.calls),
            table::thousands(size.runs)
        );
        let mut table = Table::new(title);
        let adoption = self.brigade.process(&long.root, call("queue", usize::MAX));
        table.rows.push(Row::new("the first write: adoption", self.measurer.once(adoption)?));
        let targets = || [Target::Times(1.5), Target::Within(Duration::from_millis(20))];
        let command = Command::each("call queue", |turn| call("queue", turn)).targets(targets());
        table.rows.push(self.row_beside(&command, long, &none)?);
        let (ids, beside) =
            (self.brigade.ids(&long.root, "pending")?, self.brigade.ids(&none.root, "pending")?);
        let ours = |verb: &'static str| {
            let (ids, beside) = (&ids, &beside);
            (move |turn: usize| about(verb, ids, turn), move |turn: usize| about(verb, beside, turn))
        };
        for verb in ["show", "approve"] {
            let (subject, reference) = ours(verb);
            let figures = self.measurer.compare(
                self.turns,
                &|turn| self.brigade.process(&none.root, reference(turn)),
                &|turn| self.brigade.process(&long.root, subject(turn)),
            )?;
            table.rows.push(Row::new(&format!("call {verb}"), figures).targets(targets()));
        }
        for line in ["call run --next", "run latest"] {
            let command = Command::new(line, line).targets(targets());
            table.rows.push(self.row_beside(&command, long, &none)?);
        }
        Ok(table)
    }

    /// Measures commands that read or write large amounts of data, on an adopted history.
    fn bulk(&self, size: Size, folder: &Folder) -> Result<Table, Failure> {
        let mut table = Table::new("Much at once".to_owned());
        let list = words("call list --json");
        let bytes = self.brigade.output_length(&folder.root, &list)?;
        let name = format!("call list --json, {:.0} MB", bytes as f64 / 1e6);
        let row = Row::new(&name, self.alone(&list, folder)?)
            .targets([Target::Throughput { bytes, megabytes_a_second: 100.0 }, Target::Memory(32 << 20)]);
        table.rows.push(row);
        for line in ["run verify", "run list --json", "doctor", "state check", "state compact"] {
            let words = words(line);
            let command: Vec<String> = words.iter().filter(|word| !word.starts_with('-')).cloned().collect();
            if self.brigade.knows(&command) {
                let mut row = Row::new(line, self.alone(&words, folder)?);
                if line == "run verify" {
                    row = row.targets([Target::Within(Duration::from_secs(1))]);
                }
                if line == "run list --json" {
                    row = row.targets([Target::Memory(32 << 20)]);
                }
                table.rows.push(row);
            }
        }
        if self.brigade.has_flag(&words("call queue"), "--stdin") {
            let empty = Folder::new(Size { calls: 0, runs: 0, ..size })?;
            let count = size.calls / 10;
            let path = empty.root.join("calls.txt");
            std::fs::write(&path, lines(count)).map_err(Failure::at(&path))?;
            let mut process = self.brigade.process(&empty.root, words("call queue --stdin"));
            process.input = Some(path);
            let name = format!("call queue --stdin, {} calls", table::thousands(count));
            let row = Row::new(&name, self.measurer.once(process)?);
            table.rows.push(row.targets([Target::Within(Duration::from_secs(2))]));
        }
        Ok(table)
    }

    /// Measures a command and its reference.
    fn row(
        &self,
        command: &Command<'_>,
        reference: &dyn Fn(usize) -> Process,
        folder: &Folder,
    ) -> Result<Row, Failure> {
        let subject = |turn| self.brigade.process(&folder.root, (command.words)(turn));
        let figures = self.measurer.compare(self.turns, reference, &subject)?;
        Ok(Row::new(command.name, figures).targets(command.targets.iter().copied()))
    }

    /// Measures a command on one workspace, compared with the same command on another.
    fn row_beside(&self, command: &Command<'_>, long: &Folder, none: &Folder) -> Result<Row, Failure> {
        self.row(command, &|turn| self.brigade.process(&none.root, (command.words)(turn)), long)
    }

    /// Measures a command a few times without a reference.
    fn alone(&self, words: &[String], folder: &Folder) -> Result<Figures, Failure> {
        let process = |_| self.brigade.process(&folder.root, words.to_vec());
        self.measurer.compare(3, &|_| idle_process(&folder.root), &process)
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// A process that does nothing.
fn idle_process(folder: &Path) -> Process {
    Process::new(Path::new("/bin/true"), folder)
}

/// Calls for `call queue --stdin`.
fn lines(count: usize) -> String {
    let line = |number: usize| {
        let tool = tool_id(number % 4);
        format!(
            "{{\"tool\": \"{tool}\", \"args\": {{\"path\": \"many-{number}.txt\", \"mode\": \"fast\"}}}}\n"
        )
    };
    (0..count).map(line).collect()
}

/// A generated workspace.
struct Folder {
    _holder: tempfile::TempDir,
    root: PathBuf,
}

impl Folder {
    fn new(size: Size) -> Result<Folder, Failure> {
        let holder = tempfile::tempdir().map_err(|error| Failure::new(error.to_string()))?;
        let root = holder.path().join("workspace");
        generate(&root, size)?;
        Ok(Folder { _holder: holder, root })
    }
}
