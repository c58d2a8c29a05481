//! Follows names of JavaScript that `package.json` maps to files.

use std::path::Path;

use super::javascript::with_ends;
use super::package_json::{MOST, split_name};
use super::words::names_in;
use super::{Finder, Reads};

/// How often a name may lead to another one.
const DEPTH: usize = 4;

impl Finder<'_> {
    /// Finds what a name that is no path leads to, loaded from a directory: files of the own package, of whatever
    /// conditions, and installed packages.
    pub(super) fn specifier(&self, name: &str, from: &Path, reads: &mut Reads) {
        self.specifier_within(name, from, DEPTH, reads);
    }

    fn specifier_within(&self, name: &str, from: &Path, depth: usize, reads: &mut Reads) {
        let own = self.nearest_package(&from.join("any"), reads).map(Path::to_owned);
        let package = own.as_deref().and_then(|folder| self.package_at(folder, reads));
        let (package_name, _) = split_name(name);
        let targets = package.and_then(|package| package.targets(name));
        if let (Some(folder), Some(targets)) = (&own, targets) {
            if MOST <= targets.len() {
                reads.chain.finders.insert(self.shown(&folder.join("package.json")));
            }
            for target in targets {
                match target.starts_with('.') {
                    true => self.target(folder, &target, reads),
                    // Another package.
                    false if depth != 0 => self.specifier_within(&target, folder, depth - 1, reads),
                    false => drop(reads.chain.finders.insert(self.shown(&folder.join("package.json")))),
                }
            }
        }
        if name.starts_with('#') || package_name.is_empty() {
            return;
        }
        for folder in self.upwards(from) {
            let installed = folder.join("node_modules").join(name);
            reads.code.extend(with_ends(&installed));
            self.package(&installed, reads);
            // What its `exports` name lies somewhere below.
            reads.code.insert(folder.join("node_modules").join(package_name));
        }
    }

    /// Records a file that a map of a package names.
    fn target(&self, folder: &Path, target: &str, reads: &mut Reads) {
        for name in names_in(target) {
            let path = folder.join(&*name);
            if self.is_file(&path) {
                self.nearest_package(&path, reads);
            }
            reads.code.insert(path);
        }
    }
}
