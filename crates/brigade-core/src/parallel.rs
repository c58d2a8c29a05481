//! Runs many small jobs on all processors, such as reading files or formatting rows.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;

/// Below this number of jobs, threads cost more than they save.
const MIN_PARALLEL_JOBS: usize = 64;

/// With more threads than this, they wait for each other.
const MAX_THREADS: usize = 8;

/// The number of jobs a thread takes at a time.
const BATCH: usize = 32;

/// The number of finished parts that each thread may buffer.
const MAX_BUFFERED_PARTS: usize = 4;

/// Runs `one` for each index below `count` on all processors and returns the results in order.
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

/// Produces parts on all processors and passes them on in order while later parts are being made.
///
/// `part` receives a range of the `count` indexes. Only a few finished parts are buffered.
pub fn in_parts<T: Send>(count: usize, part: impl Fn(Range<usize>) -> T + Sync, mut take: impl FnMut(T)) {
    let never_refused: Result<(), Infallible> = try_in_parts(count, part, |made| {
        take(made);
        Ok(())
    });
    match never_refused {
        Ok(()) => {}
    }
}

/// Like [`in_parts`], but stops when `take` fails.
///
/// # Errors
/// Returns the first error of `take`. Parts that are already in progress are finished and dropped.
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
            let (sender, receiver) = std::sync::mpsc::sync_channel(MAX_BUFFERED_PARTS);
            // A producer stops when the receiver is gone.
            scope.spawn(move || ranges(nth, threads).map(part).try_for_each(|made| sender.send(made)));
            receiver
        });
        let makers: Vec<Receiver<T>> = makers.collect();
        // Take from each producer in turn. The first one that is done has made the last part.
        makers.iter().cycle().map_while(|maker| maker.recv().ok()).try_for_each(&mut take)
    })
}

/// Returns how many threads to start for `count` jobs.
fn threads_for(count: usize) -> usize {
    if count < MIN_PARALLEL_JOBS {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        for count in [0, 1, MIN_PARALLEL_JOBS - 1, MIN_PARALLEL_JOBS, 1_000] {
            assert_eq!(in_parallel(count, |index| index), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn parts_come_in_order_until_one_is_refused() {
        for count in
            [0, 1, MIN_PARALLEL_JOBS - 1, MIN_PARALLEL_JOBS, MIN_PARALLEL_JOBS + 1, 1_000, BATCH * 40]
        {
            let mut taken = Vec::new();
            in_parts(count, Vec::from_iter, |part: Vec<usize>| taken.extend(part));
            assert_eq!(taken, (0..count).collect::<Vec<_>>());
        }
        let take = |part: Range<usize>| if part.contains(&500) { Err(part.start) } else { Ok(()) };
        assert_eq!(try_in_parts(100_000, |part| part, take), Err(480));
    }
}
