//! Thousands of small things on all processors, such as reading files.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Fs, FsError, RelPath};

/// Below this number, starting threads costs more than they save.
const WORTH_THREADS: usize = 64;

/// How many files a thread takes at a time.
const BATCH: usize = 32;

/// Reads files of at most `limit` bytes each and returns what `convert` makes of them, in the order of `paths`.
///
/// `convert` gets the index and the bytes or the error, and runs on several threads at once.
pub fn read_many<T: Send>(
    fs: &dyn Fs,
    paths: &[RelPath],
    limit: u64,
    convert: impl Fn(usize, Result<Vec<u8>, FsError>) -> T + Sync,
) -> Vec<T> {
    in_parallel(paths.len(), |index| convert(index, fs.read(&paths[index], limit)))
}

/// Does something `count` times on all processors and returns what came of it, in order.
pub fn in_parallel<T: Send>(count: usize, one: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if count < WORTH_THREADS || threads == 1 {
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

/// Hands things on in order, while another thread makes those that come next.
///
/// # Errors
/// The first that `take` returns; no more is made then than was under way.
pub fn ahead<T: Send, E>(
    count: usize,
    one: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    if count < WORTH_THREADS || !std::thread::available_parallelism().is_ok_and(|threads| 1 < threads.get()) {
        return (0..count).map(one).try_for_each(take);
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<Vec<T>>(2);
        let one = &one;
        scope.spawn(move || {
            for first in (0..count).step_by(BATCH) {
                let batch = (first..(first + BATCH).min(count)).map(one).collect();
                // Nobody wants more.
                if sender.send(batch).is_err() {
                    return;
                }
            }
        });
        receiver.into_iter().flatten().try_for_each(&mut take)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileMode, MemoryFs};

    #[test]
    fn results_come_in_the_order_asked() {
        let fs = MemoryFs::new();
        let paths: Vec<RelPath> = (0..500).map(|number| format!("f{number}").parse().unwrap()).collect();
        for path in paths.iter().filter(|path| path.as_str() != "f77") {
            fs.write_atomic(path, path.as_str().as_bytes(), FileMode::Private).unwrap();
        }
        let read = read_many(&fs, &paths, 100, |index, result| (index, result.is_ok()));
        let expect: Vec<(usize, bool)> = (0..500).map(|index| (index, index != 77)).collect();
        assert_eq!(read, expect);
    }

    #[test]
    fn things_made_ahead_come_in_order_until_one_is_refused() {
        for count in [0, 1, WORTH_THREADS - 1, WORTH_THREADS, 1_000] {
            let mut taken = Vec::new();
            let done: Result<(), ()> = ahead(
                count,
                |index| index,
                |index| {
                    taken.push(index);
                    Ok(())
                },
            );
            assert_eq!((done, taken), (Ok(()), (0..count).collect()));
        }
        let take = |index| if index == 500 { Err(index) } else { Ok(()) };
        assert_eq!(ahead(100_000, |index| index, take), Err(500));
    }
}
