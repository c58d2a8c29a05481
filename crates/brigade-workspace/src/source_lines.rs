//! Source lines for messages.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use brigade_core::Place;
use brigade_fs::{Fs, RelPath};
use brigade_policy::{Fault, Quote, SourceLine};
use brigade_redact::{Redactor, Source};

/// The maximum size of a file that is read for its lines.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The folder of Brigade's own files.
const OWN_FOLDER: &str = ".brigade/";

/// The settings of the kitchen in the form of a shell script.
const OWN_FILES: [&str; 2] = ["brigade.config", "brigade/brigade.config"];

/// Looks up lines of workspace files. Reads each file once.
pub struct SourceFiles {
    fs: Arc<dyn Fs>,
    redactor: Redactor,
    read: RefCell<HashMap<String, Option<Source>>>,
}

impl SourceFiles {
    /// Creates an empty reader. The redactor masks lines that are shown.
    pub fn new(fs: Arc<dyn Fs>, redactor: Redactor) -> SourceFiles {
        SourceFiles { fs, redactor, read: RefCell::default() }
    }

    /// Adds the source line to a fault, if the file is readable and has the line. Lines of other programs' files are
    /// not shown, because they may hold secrets that are not recognized.
    pub fn look_up(&self, fault: &mut Fault) {
        let is_shown = |place: &Place| fault.quote == Quote::Named || is_own(&place.file);
        let place = fault.place.clone().filter(is_shown);
        fault.line = place.and_then(|place| self.line(place, fault.field.as_deref()));
    }

    fn line(&self, mut place: Place, field: Option<&str>) -> Option<SourceLine> {
        place.line?;
        let mut read = self.read.borrow_mut();
        if !read.contains_key(&place.file) {
            let source = self.read(&place.file);
            read.insert(place.file.clone(), source);
        }
        let source = read.get(&place.file)?.as_ref()?;
        // Without a column, the field's name marks the place in the line.
        let name = field.and_then(|field| field.rsplit('.').next()).filter(|name| !name.is_empty());
        place.column = place.column.or_else(|| source.column_of(&place, name?));
        Some(SourceLine { excerpt: source.excerpt(&place)?, place })
    }

    fn read(&self, file: &str) -> Option<Source> {
        let root = self.fs.root();
        let bytes =
            match Path::new(file).strip_prefix(root).ok().and_then(Path::to_str).unwrap_or(file).parse() {
                Ok(path) => self.fs.read(&path, MAX_FILE_BYTES).ok()?,
                // A file of arguments may be anywhere.
                Err(_) if Path::new(file).is_absolute() => {
                    self.fs.read_outside(Path::new(file), MAX_FILE_BYTES).ok()?
                }
                Err(_) => return None,
            };
        Some(Source::new(&bytes, &self.redactor))
    }
}

/// Returns whether a file is in the folder of Brigade, or has settings of the kitchen.
fn is_own(file: &str) -> bool {
    let is_own = |path: &str| path.starts_with(OWN_FOLDER) || OWN_FILES.contains(&path);
    file.parse::<RelPath>().is_ok_and(|path| is_own(path.as_str()))
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FileMode, MemoryFs};

    use super::*;

    #[track_caller]
    fn check(file: &str, quote: Quote, is_shown: bool) {
        let fs = MemoryFs::new();
        for path in [".brigade/tools.toml", ".mcp.json", "prd.json", ".brigaded/x", "brigade.config"] {
            let path: RelPath = path.parse().unwrap();
            fs.create_dir_all(&path.parent()).unwrap();
            fs.write_atomic(&path, b"PLAIN = 'hunter2'\n", FileMode::Private).unwrap();
        }
        let sources = SourceFiles::new(Arc::new(fs), Redactor::new(&[]));
        let fault = Fault::new("x", "broken").at(Place::at(file, 1, 1));
        let mut fault = if quote == Quote::Named { fault.of_named_file() } else { fault };
        sources.look_up(&mut fault);
        assert_eq!(fault.line.is_some(), is_shown, "{file}");
    }

    #[test]
    fn only_lines_of_own_and_of_named_files_are_shown() {
        check(".brigade/tools.toml", Quote::Own, true);
        check("brigade.config", Quote::Own, true);
        check(".mcp.json", Quote::Own, false);
        check("./.mcp.json", Quote::Own, false);
        check(".brigade/../.mcp.json", Quote::Own, false);
        check(".brigaded/x", Quote::Own, false);
        check("prd.json", Quote::Own, false);
        check("prd.json", Quote::Named, true);
    }

    #[test]
    fn a_line_has_the_column_of_its_field_and_no_secret() {
        let fs = MemoryFs::new();
        let path: RelPath = ".brigade/tools.toml".parse().unwrap();
        fs.create_dir_all(&path.parent()).unwrap();
        fs.write_atomic(&path, b"id = 'a'\n  timeout = 'hunter2-hunter2'\n", FileMode::Private).unwrap();
        let sources = SourceFiles::new(Arc::new(fs), Redactor::new(&["hunter2-hunter2".into()]));
        let look = |line: Option<usize>, field: Option<&str>| {
            let place = Place { line, column: None, ..Place::at(path.as_str(), 1, 1) };
            let mut fault = Fault::new("x", "broken").at(place).field(field.map(str::to_owned));
            sources.look_up(&mut fault);
            fault.line.map(|line| line.place.column)
        };
        assert_eq!(look(Some(2), Some("tool.timeout")), Some(Some(3)));
        assert_eq!(look(Some(9), Some("timeout")), None);
        assert_eq!(look(None, Some("timeout")), None);
        let mut fault = Fault::new("x", "broken").at(Place::at(path.as_str(), 2, 3));
        sources.look_up(&mut fault);
        assert!(!format!("{:?}", fault.line).contains("hunter2"), "{:?}", fault.line);
    }

    #[test]
    fn a_file_is_read_once() {
        let fs = MemoryFs::new();
        let sources = SourceFiles::new(Arc::new(fs.clone()), Redactor::new(&[]));
        let write = |text: &str| {
            fs.write_atomic(&"brigade.config".parse().unwrap(), text.as_bytes(), FileMode::Private)
        };
        let look = || {
            let mut fault = Fault::new("x", "broken").at(Place::at("brigade.config", 1, 1));
            sources.look_up(&mut fault);
            format!("{:?}", fault.line)
        };
        write("FIRST=1\n").unwrap();
        let first = look();
        write("SECOND=2\n").unwrap();
        assert!(first.contains("FIRST") && look() == first, "{first}");
    }
}
