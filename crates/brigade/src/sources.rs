//! The lines of files that messages are about.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use brigade_core::Place;
use brigade_fs::{Fs, RelPath};
use brigade_redact::{Redactor, Source};

use crate::calls;
use crate::fault::{Fault, SourceLine};
use crate::room::Room;

/// The largest file whose lines are shown.
const LARGEST: u64 = 16 << 20;

/// Looks up lines of files of a workspace; reads each file once.
pub struct SourceFiles {
    fs: Arc<dyn Fs>,
    redactor: Redactor,
    read: RefCell<HashMap<String, Option<Source>>>,
}

impl SourceFiles {
    pub(crate) fn new(room: &Room) -> SourceFiles {
        let redactor = Redactor::new(&calls::telling_values(room).unwrap_or_default());
        SourceFiles { fs: room.fs.clone(), redactor, read: RefCell::default() }
    }

    /// Adds to a fault the line that it is about. Nothing is added when the file cannot be read any more or has no such
    /// line.
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
        // Where only the line is known, its field is meant.
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
