//! In-memory full-text search in fixed texts, such as documentation. Stores nothing.

use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::memory::search_words;
use crate::store;

/// A text to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The key that identifies it.
    pub key: String,
    /// Its title. Words of the title count more.
    pub title: String,
    /// The text.
    pub text: String,
}

/// A full-text index.
pub struct TextIndex {
    connection: Connection,
}

impl TextIndex {
    /// Indexes texts.
    ///
    /// # Errors
    /// Fails if memory runs out.
    pub fn new(sections: impl Iterator<Item = Section>) -> Result<TextIndex, StoreError> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE VIRTUAL TABLE section USING fts5(key UNINDEXED, title, text, tokenize = 'porter unicode61')",
        )?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO section VALUES (?1, ?2, ?3)")?;
            for section in sections {
                insert.execute(params![section.key, section.title, section.text])?;
            }
        }
        transaction.commit()?;
        Ok(TextIndex { connection })
    }

    /// Finds texts that have one of the words, best first, and their total number.
    ///
    /// # Errors
    /// Fails if memory runs out.
    pub fn search(&self, query: &str, limit: usize) -> Result<(Vec<Section>, usize), StoreError> {
        let pattern = search_words(query).join(" OR ");
        if pattern.is_empty() {
            return Ok((Vec::new(), 0));
        }
        let count = "SELECT count(*) FROM section WHERE section MATCH ?1";
        let total: i64 = self.connection.query_row(count, [&pattern], |row| row.get(0))?;
        let mut statement = self.connection.prepare_cached(
            "SELECT key, title, text FROM section WHERE section MATCH ?1 \
             ORDER BY bm25(section, 0.0, 5.0, 1.0), rowid LIMIT ?2",
        )?;
        let rows = statement.query_map(params![pattern, store::limit(limit)], |row| {
            Ok(Section { key: row.get(0)?, title: row.get(1)?, text: row.get(2)? })
        })?;
        Ok((rows.collect::<Result<_, _>>()?, usize::try_from(total).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_count_more_than_texts() {
        let section = |key: &str, title: &str, text: &str| Section {
            key: key.to_owned(),
            title: title.to_owned(),
            text: text.to_owned(),
        };
        let sections = [
            section("a", "Soup", "Lentils and onions. A policy of the house."),
            section("b", "Policies", "What may run."),
            section("c", "Bread", "Flour."),
        ];
        let index = TextIndex::new(sections.clone().into_iter()).unwrap();
        let (found, total) = index.search("the policy", 9).unwrap();
        assert_eq!((found, total), (vec![sections[1].clone(), sections[0].clone()], 2));
        assert_eq!(index.search("policy", 1).unwrap().0.len(), 1);
        for words in ["", "?", "NEAR(x", "\"", "key:a"] {
            assert_eq!(index.search(words, 9).unwrap(), (Vec::new(), 0), "{words}");
        }
    }
}
