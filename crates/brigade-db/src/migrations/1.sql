CREATE TABLE memory (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    author TEXT NOT NULL,
    category TEXT NOT NULL,
    content TEXT NOT NULL,
    importance TEXT NOT NULL,
    confidence REAL NOT NULL,
    tier INTEGER NOT NULL,
    pinned INTEGER NOT NULL,
    status TEXT NOT NULL,
    words INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memory_by_scope ON memory (scope, owner, words);
CREATE VIRTUAL TABLE memory_text USING fts5 (
    content, content = 'memory', content_rowid = 'row', tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE memory_core (
    owner TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE script (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    language TEXT NOT NULL,
    description TEXT NOT NULL,
    tags TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX script_by_name ON script (owner, name) WHERE deleted_at IS NULL;
CREATE TABLE script_version (
    script TEXT NOT NULL REFERENCES script (id),
    version INTEGER NOT NULL,
    code TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (script, version)
) STRICT;

CREATE TABLE volume (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    label TEXT NOT NULL,
    size_limit_bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE todo (
    session TEXT PRIMARY KEY,
    items TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE question (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    asked TEXT NOT NULL,
    status TEXT NOT NULL,
    answer TEXT,
    answered_by TEXT,
    created_at INTEGER NOT NULL,
    answered_at INTEGER
) STRICT;
CREATE INDEX question_by_status ON question (status, created_at);

CREATE TABLE turn (
    agent TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    class TEXT NOT NULL,
    searched INTEGER NOT NULL,
    begun_at INTEGER NOT NULL
) STRICT;
