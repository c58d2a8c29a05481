//! The tools of a catalog, from memory: no disk, no policy, no queue. `cargo run -p brigade --example catalog_only`.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use brigade::{Env, MemoryFs, NewFile, Workspace, paths};

const TOOLS: &str = r#"
[[tool]]
id = "greet"
name = "Greet"
family = "script"
description = "Says hello"
command = "echo hello"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let env = Env::of_process().files(Arc::new(MemoryFs::new()));
    let workspace = Workspace::with_files(Path::new("/"), &[NewFile::new(paths::CATALOG, TOOLS)], env)?;
    for tool in workspace.catalog().lines()?.tools {
        writeln!(std::io::stdout(), "{}: {}", tool.id, tool.description)?;
    }
    Ok(())
}
