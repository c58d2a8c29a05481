//! Reads all records in the order in which they were first written.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brigade_fs::Lines;

use crate::entry::{Content, PeekedRecord, look_at};
use crate::error::JournalError;
use crate::log::{ListedLine, Log};
use crate::state::State;

/// Merges the records of the journal and its segments by sequence. Holds one line of each file in memory.
pub struct Merge<'a> {
    sources: Vec<Source<'a>>,
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    last: Option<(u64, Box<str>)>,
}

impl<'a> Merge<'a> {
    /// Starts at the first record.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn new(state: &'a State) -> Result<Merge<'a>, JournalError> {
        let mut sources = Vec::new();
        let mut heap = BinaryHeap::new();
        for (number, log) in state.logs().enumerate() {
            let is_journal = state.journal().is_some_and(|journal| std::ptr::eq(journal, log));
            let mut source = Source::new(state, log, is_journal)?;
            heap.extend(source.advance()?.map(|sequence| Reverse((sequence, number))));
            sources.push(source);
        }
        Ok(Merge { sources, heap, last: None })
    }

    /// Moves the next record into `line`, and returns its sequence and facts.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn next_record(&mut self, line: &mut Vec<u8>) -> Result<Option<(u64, PeekedRecord)>, JournalError> {
        while let Some(Reverse((sequence, number))) = self.heap.pop() {
            let source = &mut self.sources[number];
            std::mem::swap(&mut source.line, line);
            let peeked = source.peeked.take();
            self.heap.extend(source.advance()?.map(|next| Reverse((next, number))));
            let Some(peeked) = peeked else { continue };
            // A crash during a compaction can leave a record in two files. The first source has the newer one.
            let is_known =
                self.last.as_ref().is_some_and(|(last, id)| *last == sequence && *id == peeked.facts.id);
            if !is_known {
                self.last = Some((sequence, peeked.facts.id.clone()));
                return Ok(Some((sequence, peeked)));
            }
        }
        Ok(None)
    }
}

/// The records of one file by sequence.
struct Source<'a> {
    state: &'a State,
    log: &'a Log,
    order: Order<'a>,
    /// The next line and its facts.
    line: Vec<u8>,
    peeked: Option<PeekedRecord>,
}

enum Order<'a> {
    /// The journal is not sorted by sequence, so its positions are.
    Listed(std::vec::IntoIter<ListedLine>),
    /// A segment is stored in order.
    File(Lines<'a>),
}

impl<'a> Source<'a> {
    fn new(state: &'a State, log: &'a Log, is_journal: bool) -> Result<Source<'a>, JournalError> {
        let order = if is_journal {
            let mut listed = log.list(None)?;
            listed.sort_unstable_by_key(|listed| (listed.sequence, listed.span.offset));
            Order::Listed(listed.into_iter())
        } else {
            Order::File(Lines::new(&*log.file, 0, log.file.len()?))
        };
        Ok(Source { state, log, order, line: Vec::new(), peeked: None })
    }

    /// Reads the next line and returns its sequence.
    fn advance(&mut self) -> Result<Option<u64>, JournalError> {
        let kind = &*self.state.place().kind;
        match &mut self.order {
            Order::Listed(listed) => {
                let Some(next) = listed.next() else { return Ok(None) };
                self.line = self.log.line(next.span)?;
                if let Content::Record(peeked) = look_at(kind, &self.line) {
                    self.peeked = Some(peeked);
                }
                Ok(Some(next.sequence))
            }
            Order::File(lines) => {
                while let Some(line) = lines.next_line()? {
                    if let Content::Record(peeked) = look_at(kind, line.bytes) {
                        self.line.clear();
                        self.line.extend_from_slice(line.bytes);
                        let sequence = peeked.sequence.unwrap_or(0);
                        self.peeked = Some(peeked);
                        return Ok(Some(sequence));
                    }
                }
                Ok(None)
            }
        }
    }
}
