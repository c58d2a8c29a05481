//! Long lists in documents.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::parallel::try_in_parts;

/// A list in a document whose rows are created on demand, so that thousands of them need not be in memory at once.
pub struct Rows<T> {
    count: usize,
    make: Arc<dyn Fn(usize) -> T + Send + Sync>,
}

impl<T> Rows<T> {
    /// Creates a list of `count` rows. `make` is called only with indexes below `count`.
    pub fn new(count: usize, make: impl Fn(usize) -> T + Send + Sync + 'static) -> Rows<T> {
        Rows { count, make: Arc::new(make) }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Creates one row, or returns `None` if the index is too large.
    pub fn get(&self, index: usize) -> Option<T> {
        (index < self.count).then(|| (self.make)(index))
    }

    /// Returns a list without rows.
    pub fn none() -> Rows<T> {
        Rows { count: 0, make: Arc::new(|_| unreachable!("rows are made of indexes below their number")) }
    }

    /// Returns whether both are the same list of rows, not only equal ones.
    pub fn is(&self, other: &Rows<T>) -> bool {
        self.count == other.count && Arc::ptr_eq(&self.make, &other.make)
    }

    /// Creates rows on all processors, and passes the results of `part` on in order.
    ///
    /// # Errors
    /// Returns the first error of `take`.
    pub fn in_parts<P: Send, E>(
        &self,
        part: impl Fn(&mut dyn Iterator<Item = T>) -> P + Sync,
        take: impl FnMut(P) -> Result<(), E>,
    ) -> Result<(), E> {
        try_in_parts(self.count, |range| part(&mut range.map(&*self.make)), take)
    }

    /// Creates one row after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        (0..self.count).map(|index| (self.make)(index))
    }
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Rows<T> {
        Rows { count: self.count, make: self.make.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Rows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Serialize> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, T> Deserialize<'de> for Rows<T>
where
    T: Deserialize<'de> + Clone + Send + Sync + 'static,
{
    /// Reads all rows into memory.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rows<T>, D::Error> {
        let rows = Vec::<T>::deserialize(deserializer)?;
        Ok(Rows::new(rows.len(), move |index| rows[index].clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_made_when_they_are_asked_for() {
        let rows = Rows::new(3, |index| index * 2);
        assert_eq!((rows.len(), rows.get(2), rows.get(3)), (3, Some(4), None));
        assert_eq!(serde_json::to_string(&rows).unwrap(), "[0,2,4]");
        assert_eq!(format!("{rows:?}"), "[0, 2, 4]");
        assert!(Rows::<()>::none().is_empty());
        assert!(rows.is(&rows.clone()) && !rows.is(&Rows::new(3, |index| index * 2)));
    }

    #[test]
    fn parts_hold_the_rows_in_order() {
        let mut found = Vec::new();
        let take = |part: Vec<usize>| -> Result<(), ()> {
            found.extend(part);
            Ok(())
        };
        Rows::new(5_000, |index| index).in_parts(|rows| rows.collect(), take).unwrap();
        assert_eq!(found, (0..5_000).collect::<Vec<_>>());
    }
}
