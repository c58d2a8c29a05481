//! Thousands of small things on all processors, such as reading files and writing rows.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;

/// Below this number, starting threads costs more than they save.
const WORTH_THREADS: usize = 64;

/// Above this number, threads wait for each other.
const MOST_THREADS: usize = 8;

/// How many things a thread takes at a time.
const BATCH: usize = 32;

/// How many parts of each thread may wait to be taken.
const WAITING: usize = 4;

/// Does something `count` times on all processors and returns what came of it, in order.
pub fn in_parallel<T: Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = threads_for(count);
    if threads == 1 {
        return (0..count).map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let batches: Mutex<Vec<(usize, Vec<T>)>> = Mutex::new(Vec::with_capacity(count / BATCH + 1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if count <= first {
                        return;
                    }
                    let batch = (first..(first + BATCH).min(count)).map(&one).collect();
                    batches.lock().expect("no thread panics while it holds this").push((first, batch));
                }
            });
        }
    });
    let mut batches = batches.into_inner().expect("no thread panics while it holds this");
    batches.sort_unstable_by_key(|(first, _)| *first);
    batches.into_iter().flat_map(|(_, batch)| batch).collect()
}

/// Makes the parts of something long on all processors, and hands them on in order while those that come next are made.
///
/// `part` gets which of `count` things are in it. No more than a few parts wait to be taken.
pub fn in_parts<T: Send>(count: usize, part: impl Fn(Range<usize>) -> T + Sync, mut take: impl FnMut(T)) {
    let never_refused: Result<(), Infallible> = try_in_parts(count, part, |made| {
        take(made);
        Ok(())
    });
    match never_refused {
        Ok(()) => {}
    }
}

/// Does the same until a part is refused.
///
/// # Errors
/// The first that `take` returns; no more is made then than was under way.
pub fn try_in_parts<T: Send, E>(
    count: usize,
    part: impl Fn(Range<usize>) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = threads_for(count);
    let ranges = |nth: usize, of: usize| {
        let firsts = (0..count).step_by(BATCH).skip(nth).step_by(of);
        firsts.map(|first| first..(first + BATCH).min(count))
    };
    if threads == 1 {
        return ranges(0, 1).map(part).try_for_each(take);
    }
    std::thread::scope(|scope| {
        let part = &part;
        let makers = (0..threads).map(|nth| {
            let (sender, receiver) = std::sync::mpsc::sync_channel(WAITING);
            // A maker ends when nobody wants more.
            scope.spawn(move || ranges(nth, threads).map(part).try_for_each(|made| sender.send(made)));
            receiver
        });
        let makers: Vec<Receiver<T>> = makers.collect();
        // Each maker in turn: the first one that has no more made the last part.
        makers.iter().cycle().map_while(|maker| maker.recv().ok()).try_for_each(&mut take)
    })
}

/// How many threads are worth starting for so many things.
fn threads_for(count: usize) -> usize {
    if count < WORTH_THREADS {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for count in [0, 1, WORTH_THREADS - 1, WORTH_THREADS, 1_000] {
            assert_eq!(in_parallel(count, |index| index), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn parts_come_in_order_until_one_is_refused() {
        for count in [0, 1, WORTH_THREADS - 1, WORTH_THREADS, WORTH_THREADS + 1, 1_000, BATCH * 40] {
            let mut taken = Vec::new();
            in_parts(count, Vec::from_iter, |part: Vec<usize>| taken.extend(part));
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
        let take = |part: Range<usize>| if part.contains(&500) { Err(part.start) } else { Ok(()) };
        assert_eq!(try_in_parts(100_000, |part| part, take), Err(480));
    }
}
