//! The examples in the help of each command: what `examples.txt` says.

use clap::Command;

/// The group of the top-level commands.
const PROGRAM: &str = "brigade";

const TEXT: &str = include_str!("examples.txt");

/// Adds examples to the commands of a group, or to a command at the top level.
pub(crate) fn attach(group: Command) -> Command {
    let name = group.get_name().to_owned();
    if !group.has_subcommands() {
        return group.after_help(help_text(PROGRAM, &name).unwrap_or_default());
    }
    group.mut_subcommands(|command| match help_text(&name, command.get_name()) {
        Some(examples) => command.after_help(examples),
        None => command,
    })
}

/// Returns the examples section of a command's help.
pub(crate) fn help_text(group: &str, command: &str) -> Option<String> {
    let named = format!("{group} {command}");
    all().find(|(command, _)| *command == named).map(|(_, lines)| section(lines))
}

/// Returns each group with a command, and its examples.
fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    TEXT.split("\n\n").skip(1).filter_map(|paragraph| paragraph.trim_end().split_once('\n'))
}

/// Splits examples into command lines and purposes.
fn split(lines: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    lines.lines().map(|line| line.split_once(" | ").unwrap_or((line, "")))
}

/// Returns the command lines of all examples.
#[cfg(test)]
pub(crate) fn lines() -> impl Iterator<Item = &'static str> {
    all().flat_map(|(_, lines)| split(lines)).map(|(line, _)| line)
}

/// Formats the examples of a command, with the purpose in a second column.
fn section(lines: &'static str) -> String {
    let width = split(lines).map(|(line, _)| line.len()).max().unwrap_or(0);
    let rows = split(lines).map(|(line, purpose)| match purpose {
        "" => format!("\n  {line}"),
        purpose => format!("\n  {line:width$}   {purpose}"),
    });
    format!("Examples:{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests;
