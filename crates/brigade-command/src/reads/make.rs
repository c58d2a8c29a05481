//! Where make finds its files.

use super::{Finder, Reads};

/// Short options of make whose value is attached or the next word.
const VALUED: &str = "CfIoW";

impl Finder<'_> {
    /// Reads the options of make: the folders that it goes to, its files, and the folders of what they include.
    pub(super) fn make(&self, args: &[String], reads: &mut Reads) {
        let mut directory = self.directory.clone();
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let (option, attached) = if let Some(long) = word.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let option = match name {
                    "directory" => 'C',
                    "file" | "makefile" => 'f',
                    "include-dir" => 'I',
                    _ => continue,
                };
                (option, value)
            } else if let Some(bundle) = word.strip_prefix('-') {
                let Some(index) = bundle.find(|c| VALUED.contains(c)) else { continue };
                let mut rest = bundle[index..].chars();
                let option = rest.next().unwrap_or_default();
                (option, Some(rest.as_str()).filter(|rest| !rest.is_empty()))
            } else {
                continue;
            };
            let Some(value) = attached.or_else(|| words.next().map(String::as_str)) else { break };
            match option {
                'C' => directory = directory.join(value),
                'f' => files.push(value),
                'I' => folders.push(value),
                _ => {}
            }
        }
        for name in ["GNUmakefile", "makefile", "Makefile"].into_iter().chain(files).chain(folders) {
            reads.code.insert(directory.join(name));
        }
    }
}
