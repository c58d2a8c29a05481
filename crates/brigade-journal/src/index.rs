//! The index of a file of records: a cache in a separate file, which can be deleted at any time.
//!
//! Three sorted sections of fixed-size records, divided into blocks: by id (for ids and their prefixes), by the key of
//! unique records, and by status and age. A lookup reads the directory and one block, whatever the size. An index
//! belongs to its data file if the covered length, samples of the bytes and the journal generation match. Blocks and
//! directory have checksums, and the caller of a lookup verifies the line that was found.

use brigade_fs::{FsError, ReadFile};

use crate::entry::{Entry, Kind, Span, StatusCode, code_from_byte, codes, hash};

const MAGIC: &[u8; 8] = b"brgidx\0\x02";
/// Magic, covered length, samples, generation, highest sequence, two counts of records, lines, highest ledger sequence,
/// counts by status.
const HEADER: usize = 8 * 9;
/// The number of bytes of an id in the index.
pub(crate) const ID_BYTES: usize = 32;
const BLOCK: usize = 4096;

/// The layout of a section: the size of a record, and of the key at its start.
struct Shape {
    record: usize,
    key: usize,
}

const BY_ID: Shape = Shape { record: 64, key: ID_BYTES };
const BY_KEY: Shape = Shape { record: 32, key: 8 };
const BY_STATUS: Shape = Shape { record: 48, key: 24 };
const SHAPES: [Shape; 3] = [BY_ID, BY_KEY, BY_STATUS];

impl Shape {
    fn per_block(&self) -> usize {
        BLOCK / self.record
    }
}

/// Why an index cannot be used.
#[derive(Debug)]
pub(crate) enum IndexError {
    Fs(FsError),
    /// The index is damaged, or no longer matches its file.
    Unusable,
}

impl From<FsError> for IndexError {
    fn from(error: FsError) -> IndexError {
        IndexError::Fs(error)
    }
}

/// A line found in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) span: Span,
    pub(crate) status: StatusCode,
    pub(crate) id_hash: u64,
    /// Set only in the section by status.
    pub(crate) created: i64,
    /// Set only in the section by status.
    pub(crate) sequence: u64,
}

/// An index that matches its data file.
pub(crate) struct Index {
    file: Box<dyn ReadFile>,
    pub(crate) covered: u64,
    /// The number of lines in the covered part, including replaced ones.
    pub(crate) lines: u64,
    pub(crate) max_sequence: u64,
    /// The highest ledger sequence that a line names, including replaced lines.
    pub(crate) max_ledger: u64,
    pub(crate) counts: Vec<u64>,
    sections: Vec<Section>,
}

struct Section {
    shape: &'static Shape,
    count: u64,
    start: u64,
    directory: Vec<u8>,
}

/// Returns the hash of an id.
pub(crate) fn id_hash(id: &str) -> u64 {
    hash(&[id.as_bytes()])
}

/// Returns the part of an id that is stored in the index.
pub(crate) fn id_key(id: &str) -> [u8; ID_BYTES] {
    let mut key = [0; ID_BYTES];
    let length = id.len().min(ID_BYTES);
    key[..length].copy_from_slice(&id.as_bytes()[..length]);
    key
}

/// Hashes the first and last bytes of the covered part of a file and some in between, so that a cache can be bound to
/// a file that is only appended to.
///
/// # Errors
/// Fails on a disk error.
pub fn sample(data: &dyn ReadFile, covered: u64) -> Result<u64, FsError> {
    const PIECE: u64 = 64;
    let mut state = covered;
    let pieces = 16;
    let last = covered.saturating_sub(4 * PIECE);
    for number in 0..=pieces {
        let (offset, length) =
            if number == pieces { (last, 4 * PIECE) } else { (last / pieces * number, PIECE) };
        let length = usize::try_from(length.min(covered - offset)).expect("at most a few hundred");
        let bytes = data.read_range(offset, length)?;
        state = hash(&[&state.to_le_bytes(), &bytes]);
    }
    Ok(state)
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Encodes a signed number so that bytes sort like numbers.
fn ordered(value: i64) -> [u8; 8] {
    (value.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

fn from_ordered(bytes: &[u8]) -> i64 {
    (u64::from_be_bytes(bytes.try_into().expect("eight bytes")) ^ (1 << 63)).cast_signed()
}

/// The data in an index about its file as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSummary {
    /// The journal generation, or the segment number.
    pub(crate) generation: u64,
    /// The number of lines in the covered part, including replaced ones.
    pub(crate) lines: u64,
    /// The highest ledger sequence that a line names.
    pub(crate) max_ledger: u64,
}

/// The content of an index, in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexData {
    sections: [Vec<u8>; 3],
    counts: Vec<u64>,
    max_sequence: u64,
}

impl IndexData {
    pub(crate) fn build<'a>(kind: &dyn Kind, entries: impl IntoIterator<Item = &'a Entry>) -> IndexData {
        let mut data = IndexData { counts: vec![0; codes(kind)], ..IndexData::default() };
        data.add(kind, entries);
        data.sort();
        data
    }

    fn add<'a>(&mut self, kind: &dyn Kind, entries: impl IntoIterator<Item = &'a Entry>) {
        for entry in entries {
            let id_hash = id_hash(&entry.id).to_le_bytes();
            let offset = entry.span.offset.to_le_bytes();
            let length = entry.span.length.to_le_bytes();
            let status = entry.status.byte();
            let [by_id, by_key, by_status] = &mut self.sections;
            for part in
                [id_key(&entry.id).as_slice(), &id_hash, &offset, &length, &[status, 0, 0, 0], &[0; 8]]
            {
                by_id.extend_from_slice(part);
            }
            if kind.is_unique(entry.status) {
                let key = entry.key.to_be_bytes();
                for part in [key.as_slice(), &id_hash, &offset, &length, &[status, 0, 0, 0]] {
                    by_key.extend_from_slice(part);
                }
            }
            let sequence = entry.sequence.to_be_bytes();
            for part in [
                [status].as_slice(),
                &ordered(entry.created),
                &sequence,
                &[0; 7],
                &id_hash,
                &offset,
                &length,
                &[0; 4],
            ] {
                by_status.extend_from_slice(part);
            }
            self.counts[usize::from(status)] += 1;
            self.max_sequence = self.max_sequence.max(entry.sequence);
        }
    }

    fn sort(&mut self) {
        for (section, shape) in self.sections.iter_mut().zip(&SHAPES) {
            let mut records: Vec<&[u8]> = section.chunks_exact(shape.record).collect();
            if !records.is_sorted() {
                records.sort_unstable();
                *section = records.concat();
            }
        }
    }

    /// Encodes the index file for a data file.
    pub(crate) fn encode(
        &self,
        data: &dyn ReadFile,
        covered: u64,
        about: FileSummary,
    ) -> Result<Vec<u8>, FsError> {
        let mut bytes =
            Vec::with_capacity(self.sections.iter().map(Vec::len).sum::<usize>() * 33 / 32 + 4096);
        let count = |section: usize| (self.sections[section].len() / SHAPES[section].record) as u64;
        bytes.extend_from_slice(MAGIC);
        for value in [
            covered,
            sample(data, covered)?,
            about.generation,
            self.max_sequence,
            count(0),
            count(1),
            about.lines,
            about.max_ledger,
        ] {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        for value in &self.counts {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        for (section, shape) in self.sections.iter().zip(&SHAPES) {
            for block in section.chunks(shape.per_block() * shape.record) {
                bytes.extend_from_slice(&block[..shape.key]);
            }
        }
        bytes.extend_from_slice(&hash(&[&bytes]).to_le_bytes());
        for (section, shape) in self.sections.iter().zip(&SHAPES) {
            for block in section.chunks(shape.per_block() * shape.record) {
                bytes.extend_from_slice(block);
                bytes.extend_from_slice(&hash(&[block]).to_le_bytes());
            }
        }
        Ok(bytes)
    }
}

impl Index {
    /// Opens an index if it matches the data file.
    pub(crate) fn open(
        file: Box<dyn ReadFile>,
        data: &dyn ReadFile,
        generation: u64,
        codes: usize,
    ) -> Result<Index, IndexError> {
        let header_size = HEADER + 8 * codes;
        let header = file.read_range(0, header_size)?;
        if header.len() < header_size || !header.starts_with(MAGIC) || number(&header, 24) != generation {
            return Err(IndexError::Unusable);
        }
        let covered = number(&header, 8);
        let by_id = number(&header, 40);
        let counts = [by_id, number(&header, 48), by_id];
        // The counts are not verified by the checksum yet, so limit them by the file sizes.
        let length = file.len()?;
        if counts.iter().any(|count| length < *count) || data.len()? < covered {
            return Err(IndexError::Unusable);
        }
        let blocks = |section: usize| counts[section].div_ceil(SHAPES[section].per_block() as u64);
        let directory: u64 = (0..3).map(|section| blocks(section) * SHAPES[section].key as u64).sum();
        let size = header_size + usize::try_from(directory).map_err(|_| IndexError::Unusable)?;
        let head = file.read_range(0, size + 8)?;
        if head.len() < size + 8 || number(&head, size) != hash(&[&head[..size]]) {
            return Err(IndexError::Unusable);
        }
        if number(&head, 16) != sample(data, covered)? {
            return Err(IndexError::Unusable);
        }
        let mut sections = Vec::with_capacity(3);
        let mut directory_start = header_size;
        let mut start = size as u64 + 8;
        for (shape, count) in SHAPES.iter().zip(counts) {
            let blocks = count.div_ceil(shape.per_block() as u64);
            let directory_length = usize::try_from(blocks).map_err(|_| IndexError::Unusable)? * shape.key;
            let directory = head[directory_start..directory_start + directory_length].to_vec();
            sections.push(Section { shape, count, start, directory });
            directory_start += directory_length;
            start += count * shape.record as u64 + blocks * 8;
        }
        let by_status = (0..codes).map(|code| number(&head, HEADER + 8 * code)).collect();
        let max_sequence = number(&head, 32);
        let lines = number(&head, 56);
        let max_ledger = number(&head, 64);
        Ok(Index { file, covered, lines, max_sequence, max_ledger, counts: by_status, sections })
    }

    /// Reads and verifies a block.
    fn block(&self, section: &Section, number_of: usize) -> Result<Vec<u8>, IndexError> {
        let per_block = section.shape.per_block();
        let first = (number_of * per_block) as u64;
        let records =
            usize::try_from((section.count - first).min(per_block as u64)).expect("at most one block");
        let size = records * section.shape.record;
        let offset = section.start + (number_of * (per_block * section.shape.record + 8)) as u64;
        let mut block = self.file.read_range(offset, size + 8)?;
        if block.len() < size + 8 || number(&block, size) != hash(&[&block[..size]]) {
            return Err(IndexError::Unusable);
        }
        block.truncate(size);
        Ok(block)
    }

    /// Calls `found` for the records whose key starts with `prefix`, in order, until it returns false.
    fn scan(
        &self,
        section: usize,
        prefix: &[u8],
        mut found: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), IndexError> {
        let is_past = |key: &[u8]| prefix < key && !key.starts_with(prefix);
        self.scan_from(section, prefix, is_past, |record| record.starts_with(prefix) && found(record))
    }

    /// Calls `found` for the records from `first` on, in order, until it returns false. Blocks whose first key is past
    /// the wanted ones are not read.
    fn scan_from(
        &self,
        section: usize,
        first: &[u8],
        is_past: impl Fn(&[u8]) -> bool,
        mut found: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), IndexError> {
        let section = &self.sections[section];
        let keys = section.directory.len() / section.shape.key;
        let first_key = |block: usize| &section.directory[block * section.shape.key..][..section.shape.key];
        // The first block that can contain it is the one before the first block that starts at or after it.
        let (mut low, mut high) = (0, keys);
        while low < high {
            let middle = usize::midpoint(low, high);
            if first_key(middle) < first {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for block in low.saturating_sub(1)..keys {
            if is_past(first_key(block)) {
                return Ok(());
            }
            for record in self.block(section, block)?.chunks_exact(section.shape.record) {
                if first <= record && !found(record) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn hit(&self, record: &[u8], at: usize, status: u8) -> Option<Hit> {
        let length = u32::from_le_bytes(record[at + 16..at + 20].try_into().expect("four bytes"));
        Some(Hit {
            span: Span { offset: number(record, at + 8), length },
            status: code_from_byte(status, self.counts.len())?,
            id_hash: number(record, at),
            created: 0,
            sequence: 0,
        })
    }

    /// Finds lines by the start of their id. A prefix longer than [`ID_BYTES`] may also find other ids.
    pub(crate) fn by_id_prefix(
        &self,
        prefix: &str,
        mut found: impl FnMut(Hit) -> bool,
    ) -> Result<(), IndexError> {
        let key = &prefix.as_bytes()[..prefix.len().min(ID_BYTES)];
        let mut damaged = false;
        self.scan(0, key, |record| match self.hit(record, ID_BYTES, record[ID_BYTES + 20]) {
            Some(hit) => found(hit),
            None => {
                damaged = true;
                false
            }
        })?;
        if damaged { Err(IndexError::Unusable) } else { Ok(()) }
    }

    /// Finds the line of an id. More than one hit is rare.
    pub(crate) fn by_id(&self, id: &str) -> Result<Vec<Hit>, IndexError> {
        let wanted_hash = id_hash(id);
        let mut hits = Vec::new();
        self.scan(0, &id_key(id), |record| {
            hits.extend(
                self.hit(record, ID_BYTES, record[ID_BYTES + 20]).filter(|hit| hit.id_hash == wanted_hash),
            );
            true
        })?;
        Ok(hits)
    }

    /// Finds the lines of unique records that may have this key.
    pub(crate) fn by_key(&self, key: u64) -> Result<Vec<Hit>, IndexError> {
        let mut hits = Vec::new();
        self.scan(1, &key.to_be_bytes(), |record| {
            hits.extend(self.hit(record, 8, record[28]));
            true
        })?;
        Ok(hits)
    }

    /// Lists the lines of one status, or of all, oldest first within a status.
    pub(crate) fn by_status(&self, status: Option<StatusCode>) -> Result<Vec<Hit>, IndexError> {
        let mut hits = Vec::new();
        let prefix = status.map(|status| [status.byte()]);
        self.scan(2, prefix.as_ref().map_or(&[], |prefix| prefix), |record| {
            hits.extend(self.hit_by_status(record));
            true
        })?;
        Ok(hits)
    }

    /// Lists the lines of records that were created at a moment or later.
    pub(crate) fn by_status_since(&self, created: i64) -> Result<Vec<Hit>, IndexError> {
        let mut hits = Vec::new();
        for status in (0u8..).take(self.counts.len()) {
            let mut first = [status; 9];
            first[1..].copy_from_slice(&ordered(created));
            self.scan_from(
                2,
                &first,
                |key| status < key[0],
                |record| {
                    let is_its = record[0] == status;
                    hits.extend(self.hit_by_status(record).filter(|_| is_its));
                    is_its
                },
            )?;
        }
        Ok(hits)
    }

    fn hit_by_status(&self, record: &[u8]) -> Option<Hit> {
        self.hit(record, 24, record[0]).map(|hit| Hit {
            created: from_ordered(&record[1..9]),
            sequence: u64::from_be_bytes(record[9..17].try_into().expect("eight bytes")),
            ..hit
        })
    }

    /// Returns the data of an extended index: the old records except replaced ones, and the new ones.
    pub(crate) fn extended<'a>(
        &self,
        kind: &dyn Kind,
        is_replaced: impl Fn(u64) -> bool,
        entries: impl IntoIterator<Item = &'a Entry>,
    ) -> Result<IndexData, IndexError> {
        let mut data = IndexData {
            max_sequence: self.max_sequence,
            counts: vec![0; codes(kind)],
            ..IndexData::default()
        };
        let hash_at = [ID_BYTES, 8, 24];
        for (number_of, section) in self.sections.iter().enumerate() {
            for block in 0..section.directory.len() / section.shape.key {
                for record in self.block(section, block)?.chunks_exact(section.shape.record) {
                    if !is_replaced(number(record, hash_at[number_of])) {
                        data.sections[number_of].extend_from_slice(record);
                        if number_of == 2 {
                            let code = usize::from(record[0]);
                            *data.counts.get_mut(code).ok_or(IndexError::Unusable)? += 1;
                        }
                    }
                }
            }
        }
        data.add(kind, entries);
        data.sort();
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use brigade_fs::{FileMode, Fs, MemoryFs, RelPath};
    use proptest::prelude::*;

    use super::*;
    use crate::entry::{Facts, Members, StatusRule, Words};

    /// A kind with eleven statuses.
    struct Numbers;

    const CODES: usize = 13;

    impl Kind for Numbers {
        fn statuses(&self) -> &'static [StatusRule] {
            const OPEN: StatusRule = StatusRule { is_finished: false, is_unique: true };
            const DONE: StatusRule = StatusRule { is_finished: true, is_unique: false };
            &[OPEN, OPEN, OPEN, DONE, DONE, DONE, DONE, DONE, DONE, DONE, DONE]
        }

        fn words(&self) -> &'static Words {
            &Words { not_a_record: "", unfinished: "", lost_segment: "" }
        }

        fn member(&self, _key: &str) -> Option<usize> {
            None
        }

        fn facts(&self, _members: &Members<'_>) -> Option<Facts> {
            None
        }
    }

    const SUMMARY: FileSummary = FileSummary { generation: 7, lines: 5, max_ledger: 3 };

    fn entries(count: u64) -> Vec<Entry> {
        (0..count)
            .map(|sequence| Entry {
                id: format!("call-{:016x}", hash(&[&sequence.to_le_bytes()])).into(),
                span: Span { offset: sequence * 10, length: 9 },
                status: StatusCode::at(u8::try_from(sequence % 11).unwrap()),
                created: i64::try_from(sequence).unwrap() - 50,
                sequence,
                key: sequence / 3,
            })
            .collect()
    }

    fn file(fs: &MemoryFs, name: &str, bytes: &[u8]) -> Box<dyn ReadFile> {
        let path: RelPath = name.parse().unwrap();
        fs.write_atomic(&path, bytes, FileMode::Private).unwrap();
        fs.open(&path).unwrap()
    }

    fn index(entries: &[Entry]) -> (MemoryFs, Index) {
        let fs = MemoryFs::new();
        let data = file(&fs, "data", &vec![b'x'; 10_000]);
        let bytes = IndexData::build(&Numbers, entries).encode(&*data, 10_000, SUMMARY).unwrap();
        let index =
            Index::open(file(&fs, "index", &bytes), &*data, 7, CODES).unwrap_or_else(|_| panic!("usable"));
        (fs, index)
    }

    #[test]
    fn every_line_is_found_by_every_section() {
        for count in [0, 1, 63, 64, 65, 1_000] {
            let entries = entries(count);
            let (_fs, index) = index(&entries);
            for entry in &entries {
                let spans: Vec<Span> = index.by_id(&entry.id).unwrap().iter().map(|hit| hit.span).collect();
                assert_eq!(spans, [entry.span]);
                let same = index.by_key(entry.key).unwrap();
                assert_eq!(same.iter().any(|hit| hit.span == entry.span), Numbers.is_unique(entry.status));
            }
            assert!(index.by_id("call-none").unwrap().is_empty());
            for prefix in ["", "call-", "call-0", "call-ff", "d"] {
                let mut found = 0;
                index
                    .by_id_prefix(prefix, |_| {
                        found += 1;
                        true
                    })
                    .unwrap();
                assert_eq!(found, entries.iter().filter(|entry| entry.id.starts_with(prefix)).count());
            }
            let pending = index.by_status(Some(StatusCode::at(0))).unwrap();
            assert!(pending.is_sorted_by_key(|hit| hit.created));
            assert_eq!(pending.len() as u64, index.counts[0]);
            assert_eq!(index.by_status(None).unwrap().len() as u64, count);
        }
    }

    #[test]
    fn an_extended_index_equals_one_of_all_lines() {
        let old = entries(500);
        let (_fs, index) = index(&old);
        let mut revised = old[100].clone();
        revised.span = Span { offset: 9_000, length: 5 };
        revised.status = Numbers.other();
        let replaced = id_hash(&revised.id);
        let extended = index.extended(&Numbers, |hash| hash == replaced, [&revised]).unwrap();
        let mut all = old;
        all[100] = revised;
        let expect = IndexData::build(&Numbers, &all);
        assert_eq!(extended.sections, expect.sections);
        assert_eq!(extended.counts, expect.counts);
    }

    #[test]
    fn an_index_of_another_file_is_not_used() {
        let (fs, _) = index(&entries(10));
        let open = |fs: &MemoryFs, data: &dyn ReadFile, generation| {
            Index::open(fs.open(&"index".parse().unwrap()).unwrap(), data, generation, CODES).is_ok()
        };
        let data = file(&fs, "data", &vec![b'x'; 10_000]);
        assert!(open(&fs, &*data, 7));
        assert!(!open(&fs, &*data, 8));
        assert!(open(&fs, &*file(&fs, "grown", &vec![b'x'; 10_001]), 7));
        assert!(!open(&fs, &*file(&fs, "short", &vec![b'x'; 9_999]), 7));
        let mut changed = vec![b'x'; 10_000];
        changed[9_999] = b'y';
        assert!(!open(&fs, &*file(&fs, "changed", &changed), 7));
    }

    proptest! {
        #[test]
        fn a_damaged_index_is_refused_or_answers_correctly(at in 0usize..70_000, bit in 0u8..8) {
            let entries = entries(300);
            let fs = MemoryFs::new();
            let data = file(&fs, "data", &vec![b'x'; 10_000]);
            let mut bytes = IndexData::build(&Numbers, &entries).encode(&*data, 10_000, SUMMARY).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            if let Ok(index) = Index::open(file(&fs, "index", &bytes), &*data, 7, CODES) {
                for entry in &entries {
                    if let Ok(hits) = index.by_id(&entry.id) {
                        prop_assert_eq!(hits[0].span, entry.span);
                    }
                }
            }
        }
    }
}
