//! Prints which built-in tools are not implemented yet, by stage, for `cargo xtask builtins`.

#![allow(clippy::print_stdout, reason = "it prints for cargo xtask")]

use brigade_access::builtin::definitions;

fn main() {
    let all = definitions();
    let built = all.iter().filter(|definition| definition.is_built).count();
    println!("{built} of {} built-in tools are built", all.len());
    for stage in 1..=7 {
        let missing = all.iter().filter(|definition| definition.stage == stage && !definition.is_built);
        for definition in missing {
            println!("stage {stage}: {}", definition.id);
        }
    }
}
