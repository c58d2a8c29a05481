CREATE TABLE manifest (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    revision INTEGER NOT NULL,
    description TEXT,
    labels TEXT NOT NULL,
    status TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX manifest_by_name ON manifest (kind, name) WHERE deleted_at IS NULL;
CREATE TABLE manifest_revision (
    manifest TEXT NOT NULL REFERENCES manifest (id),
    revision INTEGER NOT NULL,
    version TEXT NOT NULL,
    text TEXT NOT NULL,
    author TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (manifest, revision)
) STRICT;
CREATE VIRTUAL TABLE manifest_text USING fts5 (
    name, description, labels, tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE TABLE execution (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    manifest TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    version TEXT NOT NULL,
    intent TEXT,
    input TEXT NOT NULL,
    status TEXT NOT NULL,
    iterations INTEGER NOT NULL,
    output TEXT,
    error_code TEXT,
    error TEXT,
    gateway TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER
) STRICT;
CREATE INDEX execution_by_owner ON execution (owner, created_at);
CREATE INDEX execution_by_status ON execution (status);

CREATE TABLE event (
    row INTEGER PRIMARY KEY,
    manifest TEXT,
    execution TEXT,
    sequence INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    payload TEXT NOT NULL,
    recorded_at INTEGER NOT NULL
) STRICT;
CREATE INDEX event_by_manifest ON event (manifest, row);
CREATE INDEX event_by_execution ON event (execution, sequence);

CREATE TABLE message (
    id TEXT PRIMARY KEY,
    execution TEXT NOT NULL REFERENCES execution (id) ON DELETE CASCADE,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    read_at INTEGER
) STRICT;
