//! Source lines for messages.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use brigade_core::Place;
use brigade_fs::{Fs, RelPath};
use brigade_redact::{Redactor, Source};

use crate::calls;
use crate::fault::{Fault, SourceLine};
use crate::room::Room;

/// The largest file that is read for its lines.
const LARGEST: u64 = 16 << 20;

/// Looks up lines of workspace files. Reads each file once.
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
