//! Source lines for messages.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use brigade_core::Place;
use brigade_fs::{Fs, RelPath};
use brigade_policy::{Fault, SourceLine};
use brigade_redact::{Redactor, Source};

/// The largest file that is read for its lines.
const LARGEST: u64 = 16 << 20;

/// Looks up lines of workspace files. Reads each file once.
pub struct SourceFiles {
    fs: Arc<dyn Fs>,
    redactor: Redactor,
    read: RefCell<HashMap<String, Option<Source>>>,
}

impl SourceFiles {
    /// Starts without having read anything; lines go through the redactor.
    pub fn new(fs: Arc<dyn Fs>, redactor: Redactor) -> SourceFiles {
        SourceFiles { fs, redactor, read: RefCell::default() }
    }

    /// Adds the source line to a fault. Adds nothing if the file is unreadable or has no such line.
    pub fn look_up(&self, fault: &mut Fault) {
        fault.line = fault.place.clone().and_then(|place| self.line(place, fault.field.as_deref()));
    }

    fn line(&self, mut place: Place, field: Option<&str>) -> Option<SourceLine> {
        place.line?;
        let mut read = self.read.borrow_mut();
        if !read.contains_key(&place.file) {
            let source = self.read(&place.file);
            read.insert(place.file.clone(), source);
        }
        let source = read.get(&place.file)?.as_ref()?;
        // Without a column, the field marks the place in the line.
        let name = field.and_then(|field| field.rsplit('.').next()).filter(|name| !name.is_empty());
        place.column = place.column.or_else(|| source.column_of(&place, name?));
        Some(SourceLine { excerpt: source.excerpt(&place)?, place })
    }

    fn read(&self, file: &str) -> Option<Source> {
        let path: RelPath = file.parse().ok()?;
        let bytes = self.fs.read(&path, LARGEST).ok()?;
        Some(Source::new(&bytes, &self.redactor))
    }
}
