//! Finds commands that write to raw devices.
//!
//! This check is not part of [`judge`](super::judge), because the sandbox of tools keeps devices closed. It refuses
//! commands that are approved by their text, such as the verification of a task.

use super::{Reading, shell_text};
use crate::argv::Argv;
use crate::programs::{Program, Writes, base_name};

/// Programs that only change devices or create file systems, with any arguments.
const DEVICE_PROGRAMS: &[&str] = &["blkdiscard", "mke2fs", "mkfs", "mkswap", "sfdisk", "wipefs"];

/// Returns the words of a command line that would write to a raw device: `mkfs`, an output file of `dd`, a redirection.
/// `null`, `stdout`, `stderr`, `tty`, `fd` and `shm` below `/dev` are harmless.
///
/// ```
/// use brigade_cmdline::{Argv, risk::raw_devices};
///
/// let devices = |command: &str| raw_devices(&Argv::parse(command).unwrap());
/// assert_eq!(devices("sh -c 'make >/dev/null; dd if=a of=/dev/sda'"), ["of=/dev/sda"]);
/// assert!(devices("grep /dev/sda notes.txt").is_empty());
/// ```
pub fn raw_devices(argv: &Argv) -> Vec<String> {
    let mut found = Vec::new();
    for started in Reading::new(argv.words()).started {
        let Some((program, args)) = started.words.split_first() else { continue };
        let name = base_name(program);
        if DEVICE_PROGRAMS.contains(&&*name) || name.starts_with("mkfs.") || is_raw_device(program) {
            found.push(program.clone());
        }
        let writes = Program::from_word(program).is_some_and(|known| known.row().writes != Writes::Nothing);
        for (at, word) in started.words.iter().enumerate() {
            let target = match word.strip_prefix("of=") {
                Some(target) if name == "dd" => Some(target),
                _ if shell_text::is_redirection(word) => redirected(word, started.words.get(at + 1)),
                _ => None,
            };
            if target.is_some_and(is_raw_device) {
                found.push(word.clone());
            }
        }
        if writes {
            found.extend(args.iter().filter(|word| is_raw_device(word)).cloned());
        }
    }
    found.dedup();
    found
}

/// Returns the target of an output redirection: the rest of the word, or the next word.
fn redirected<'a>(word: &'a str, next: Option<&'a String>) -> Option<&'a str> {
    let at = word.find('>')?;
    match word[at..].trim_start_matches(['>', '|', '&']) {
        "" => next.map(String::as_str),
        target => Some(target),
    }
}

fn is_raw_device(path: &str) -> bool {
    // `//dev/./sda` is the same file. A path with `..` is not resolved, and counts as a device.
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    let is_absolute = path.starts_with('/');
    match names.as_slice() {
        ["dev", "null" | "stdout" | "stderr" | "tty"] => false,
        ["dev", "fd" | "shm", rest @ ..] => rest.is_empty() || rest.contains(&".."),
        ["dev", _, ..] => is_absolute,
        _ => is_absolute && names.contains(&"..") && names.contains(&"dev"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expect: &[&str]) {
        assert_eq!(raw_devices(&Argv::parse(command).unwrap()), expect, "{command}");
    }

    #[test]
    fn raw_devices_are_found_by_the_words() {
        check("dd if=/dev/zero of=/dev/sda bs=1M", &["of=/dev/sda"]);
        check("timeout 5 dd of=//dev/./nvme0n1", &["of=//dev/./nvme0n1"]);
        check("mkfs -t ext4 disk", &["mkfs"]);
        check("/sbin/mkfs.ext4 /dev/sdb1", &["/sbin/mkfs.ext4"]);
        check("sh -c 'echo x > /dev/sda'", &[">"]);
        check("sh -c 'echo x >>/dev/sda'", &[">>/dev/sda"]);
        check("sh -c 'echo x 2>|/dev/mem'", &["2>|/dev/mem"]);
        check("sh -c 'echo x &>/dev/kmsg'", &["&>/dev/kmsg"]);
        check("sh -c 'echo x > /dev/tcp/127.0.0.1/80'", &[">"]);
        check("sh -c 'make | tee /dev/sda'", &["/dev/sda"]);
        check("sh -c 'echo x > /dev/fd/../sda'", &[">"]);
        check("find . -exec dd of=/dev/sda {} +", &["of=/dev/sda"]);
    }

    #[test]
    fn other_files_and_readers_are_harmless() {
        check("dd if=/dev/sda of=image", &[]);
        check("dd if=a of=/dev/null", &[]);
        check("sh -c 'make >/dev/null 2>&1 </dev/null'", &[]);
        check("sh -c 'make >/dev/stderr 2>/dev/fd/1 | tee /dev/tty /dev/shm/x'", &[]);
        check("sh -c 'wc < /dev/urandom'", &[]);
        check("cat dev/format.txt", &[]);
        check("grep -r format /dev/docs", &[]);
        check("echo of=/dev/sda", &[]);
    }
}
