//! Batches over lines: several messages in one line, which revision 2025-03-26 and older ones have.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The batches of a connection whose responses are not complete.
#[derive(Debug, Default)]
pub(crate) struct OpenBatches(Mutex<Vec<OpenBatch>>);

#[derive(Debug)]
struct OpenBatch {
    /// The keys of the ids of requests without a response.
    waiting: HashSet<String>,
    responses: Vec<Vec<u8>>,
}

impl OpenBatches {
    fn all(&self) -> MutexGuard<'_, Vec<OpenBatch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a batch. Returns its answer if no response is missing.
    pub(crate) fn begin(&self, waiting: HashSet<String>, responses: Vec<Vec<u8>>) -> Option<Vec<u8>> {
        let batch = OpenBatch { waiting, responses };
        if batch.waiting.is_empty() {
            return batch.answer();
        }
        self.all().push(batch);
        None
    }

    /// Takes a response. Returns what is sent now: the response if its request was not in a batch, else the answer to
    /// the batch, once it is complete.
    pub(crate) fn collect(&self, key: &str, response: Vec<u8>) -> Option<Vec<u8>> {
        let mut all = self.all();
        let Some(at) = all.iter().position(|batch| batch.waiting.contains(key)) else {
            return Some(response);
        };
        all[at].waiting.remove(key);
        all[at].responses.push(response);
        if all[at].waiting.is_empty() { all.swap_remove(at).answer() } else { None }
    }

    /// Stops waiting for requests that are not open any more, because their client cancelled them. Returns the answers
    /// to batches that are complete without them.
    pub(crate) fn without_cancelled(&self, is_open: impl Fn(&str) -> bool) -> Vec<Vec<u8>> {
        let mut all = self.all();
        all.iter_mut().for_each(|batch| batch.waiting.retain(|key| is_open(key)));
        let complete = all.extract_if(.., |batch| batch.waiting.is_empty());
        complete.filter_map(OpenBatch::answer).collect()
    }
}

impl OpenBatch {
    /// Returns the responses as one list; `None` without responses.
    fn answer(self) -> Option<Vec<u8>> {
        let list = || [b"[", self.responses.join(&b","[..]).as_slice(), b"]"].concat();
        (!self.responses.is_empty()).then(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_answered_when_it_is_complete() {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        let batches = OpenBatches::default();
        assert_eq!(
            batches.begin(keys(&[]), vec![b"1".to_vec(), b"2".to_vec()]).as_deref(),
            Some(&b"[1,2]"[..])
        );
        assert_eq!(batches.begin(keys(&[]), Vec::new()), None);
        assert_eq!(batches.begin(keys(&["1", "2", "3"]), vec![b"0".to_vec()]), None);
        assert_eq!(batches.collect("7", b"7".to_vec()).as_deref(), Some(&b"7"[..]), "it is in no batch");
        assert_eq!(batches.collect("2", b"2".to_vec()), None);
        assert_eq!(batches.without_cancelled(|key| key != "3"), Vec::<Vec<u8>>::new());
        assert_eq!(batches.collect("1", b"1".to_vec()).as_deref(), Some(&b"[0,2,1]"[..]));
        assert_eq!(batches.begin(keys(&["4"]), vec![b"0".to_vec()]), None);
        assert_eq!(batches.without_cancelled(|_| false), [b"[0]".to_vec()]);
        assert!(batches.all().is_empty());
    }
}
