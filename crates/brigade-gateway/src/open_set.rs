//! Tracks open HTTP connections and streams, oldest first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The open items of one kind, with data about each.
pub(crate) struct OpenSet<T>(Mutex<State<T>>);

struct State<T> {
    next: u64,
    all: BTreeMap<u64, (T, CancellationToken)>,
}

impl<T> Default for OpenSet<T> {
    fn default() -> OpenSet<T> {
        OpenSet(Mutex::new(State { next: 0, all: BTreeMap::new() }))
    }
}

impl<T> OpenSet<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item. If more than `most` would be open, ends the oldest.
    pub(crate) fn add(self: &Arc<OpenSet<T>>, known: T, most: usize) -> OpenEntry<T> {
        let (ended, mut state) = (CancellationToken::new(), self.state());
        if most <= state.all.len()
            && let Some((_, (_, oldest))) = state.all.pop_first()
        {
            oldest.cancel();
        }
        let number = state.next;
        state.next += 1;
        state.all.insert(number, (known, ended.clone()));
        drop(state);
        OpenEntry { open: self.clone(), number, ended }
    }

    /// Ends all items for which `may_stay` is false.
    pub(crate) fn end_unless(&self, may_stay: impl Fn(&T) -> bool) {
        self.state().all.retain(|_, (known, ended)| {
            let stays = may_stay(known);
            if !stays {
                ended.cancel();
            }
            stays
        });
    }
}

/// An open item. Dropping it removes it.
pub(crate) struct OpenEntry<T> {
    open: Arc<OpenSet<T>>,
    number: u64,
    ended: CancellationToken,
}

impl<T> OpenEntry<T> {
    /// Returns the token that is cancelled when the item must end.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Removes the item from the set without ending it.
    pub(crate) fn leave(&self) {
        self.open.state().all.remove(&self.number);
    }
}

impl<T> Drop for OpenEntry<T> {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_ends_when_there_are_too_many() {
        let open = Arc::<OpenSet<&str>>::default();
        let (first, second, third) = (open.add("a", 2), open.add("b", 2), open.add("c", 2));
        let ended = |place: &OpenEntry<&str>| place.ended().is_cancelled();
        assert_eq!((ended(&first), ended(&second), ended(&third)), (true, false, false));
        // A removed item is not counted, and is not ended.
        second.leave();
        let fourth = open.add("d", 2);
        drop(first);
        assert_eq!((ended(&second), ended(&third), ended(&fourth)), (false, false, false));
        open.end_unless(|known| *known != "c");
        assert_eq!((ended(&third), ended(&fourth)), (true, false));
        drop(fourth);
        assert!(open.state().all.is_empty());
    }
}
