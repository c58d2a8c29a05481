//! Full-text search for manifests.

use std::collections::{BTreeMap, HashMap};

use rusqlite::params;

use super::{DeployedManifest, read};
use crate::error::StoreError;
use crate::memory::search_words;
use crate::store::Store;

/// A search for manifests.
#[derive(Clone, Copy, Debug)]
pub struct ManifestQuery<'a> {
    /// The kind.
    pub kind: &'a str,
    /// The words.
    pub text: &'a str,
    /// Labels that a match must have.
    pub labels: &'a BTreeMap<String, String>,
    /// The required status, or `None` for any.
    pub status: Option<&'a str>,
}

/// A manifest that matches, with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredManifest {
    /// The manifest.
    pub manifest: DeployedManifest,
    /// From 0 to 1: the share of the words that it has, reduced by at most half for a low rank (BM25) among the
    /// matches.
    pub score: f64,
}

impl Store {
    /// Searches the manifests of a kind, best first.
    ///
    /// # Errors
    /// Fails on a disk error.
    pub fn search_manifests(&self, query: &ManifestQuery<'_>) -> Result<Vec<ScoredManifest>, StoreError> {
        let words = search_words(query.text);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        self.look(|transaction| {
            let sql = "SELECT m.*, bm25(manifest_text, 4.0, 2.0, 1.0) AS rank \
                 FROM manifest_text JOIN manifest m ON m.row = manifest_text.rowid \
                 WHERE manifest_text MATCH ?1 AND m.kind = ?2 AND m.deleted_at IS NULL";
            let mut statement = transaction.prepare(sql)?;
            let any = words.join(" OR ");
            let rows = statement.query_map(params![any, query.kind], |row| {
                Ok((read(row)?, row.get::<_, i64>("row")?, row.get::<_, f64>("rank")?))
            })?;
            let ranked: Vec<(DeployedManifest, i64, f64)> = rows.collect::<Result<_, _>>()?;
            // How many of the words each manifest has.
            let mut counts: HashMap<i64, usize> = HashMap::new();
            let mut having =
                transaction.prepare("SELECT rowid FROM manifest_text WHERE manifest_text MATCH ?1")?;
            for word in &words {
                let rows = having.query_map([word], |row| row.get::<_, i64>(0))?;
                for row in rows {
                    *counts.entry(row?).or_default() += 1;
                }
            }
            let best = ranked.iter().map(|(.., rank)| -rank).fold(0.0, f64::max);
            let score = |row: i64, rank: f64| {
                let share = counts.get(&row).copied().unwrap_or_default() as f64 / words.len() as f64;
                let rank = if 0.0 < best { (-rank / best).clamp(0.0, 1.0) } else { 1.0 };
                share * (1.0 + rank) / 2.0
            };
            let fits = |manifest: &DeployedManifest| {
                query.status.is_none_or(|status| status == manifest.status)
                    && query.labels.iter().all(|(key, value)| manifest.labels.get(key) == Some(value))
            };
            let mut found: Vec<ScoredManifest> = ranked
                .into_iter()
                .filter(|(manifest, ..)| fits(manifest))
                .map(|(manifest, row, rank)| ScoredManifest { manifest, score: score(row, rank) })
                .collect();
            found.sort_by(|a, b| {
                b.score.total_cmp(&a.score).then_with(|| a.manifest.name.cmp(&b.manifest.name))
            });
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use brigade_core::Timestamp;
    use brigade_fs::DiskFs;

    use super::*;
    use crate::manifests::NewManifest;

    #[test]
    fn a_match_of_all_words_ranks_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&DiskFs::open(folder.path()).unwrap(), Duration::ZERO).unwrap();
        let labels = BTreeMap::from([("role".to_owned(), "worker".to_owned())]);
        let none = BTreeMap::new();
        let rows = [
            ("image-resizer", "Resizes images to any size", &labels),
            ("greeter", "Greets people", &none),
            ("image-finder", "Finds pictures", &none),
        ];
        for (name, description, labels) in rows {
            let new = NewManifest {
                kind: "agent",
                name,
                version: "1.0.0",
                description: Some(description),
                labels,
                text: "",
                author: "ada",
                force: false,
            };
            store.deploy_manifest(&new, Timestamp::from_unix_micros(0)).unwrap();
        }
        let search = |text, labels: &BTreeMap<String, String>, status| {
            let query = ManifestQuery { kind: "agent", text, labels, status };
            let found = store.search_manifests(&query).unwrap();
            assert!(found.iter().all(|one| (0.0..=1.0).contains(&one.score)), "{found:?}");
            found.into_iter().map(|one| (one.manifest.name, one.score)).collect::<Vec<_>>()
        };
        let found = search("image resizing", &none, None);
        assert_eq!((found[0].0.as_str(), found[0].1), ("image-resizer", 1.0));
        assert!(found[1].0 == "image-finder" && found[1].1 <= 0.5, "{found:?}");
        assert_eq!(search("\"worker\" OR", &none, None).len(), 1);
        assert_eq!(search("image", &labels, Some("active")).len(), 1);
        assert!(search("image", &none, Some("paused")).is_empty() && search("?", &none, None).is_empty());
    }
}
