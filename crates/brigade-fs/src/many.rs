//! Reads many files at once.

use brigade_core::parallel::in_parallel;

use crate::{Fs, FsError, RelPath};

/// Reads files of at most `limit` bytes each and returns the results of `convert` in the order of `paths`.
///
/// `convert` receives the index and either the bytes or the error. It runs on several threads.
pub fn read_many<T: Send>(
    fs: &dyn Fs,
    paths: &[RelPath],
    limit: u64,
    convert: impl Fn(usize, Result<Vec<u8>, FsError>) -> T + Sync,
) -> Vec<T> {
    in_parallel(paths.len(), |index| convert(index, fs.read(&paths[index], limit)))
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
}
