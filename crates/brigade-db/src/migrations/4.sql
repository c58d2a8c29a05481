CREATE TABLE flow (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    caller TEXT NOT NULL,
    rights TEXT NOT NULL,
    parent TEXT,
    depth INTEGER NOT NULL,
    manifest TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    version TEXT NOT NULL,
    intent TEXT,
    input TEXT NOT NULL,
    status TEXT NOT NULL,
    is_paused INTEGER NOT NULL,
    state TEXT NOT NULL,
    visits TEXT NOT NULL,
    transitions INTEGER NOT NULL,
    blackboard TEXT NOT NULL,
    outputs TEXT NOT NULL,
    feedback TEXT,
    human TEXT,
    step TEXT NOT NULL,
    question TEXT,
    error_code TEXT,
    error TEXT,
    gateway TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    entered_at INTEGER NOT NULL,
    ended_at INTEGER
) STRICT;
CREATE INDEX flow_by_owner ON flow (owner, started_at);
CREATE INDEX flow_by_status ON flow (status);
CREATE INDEX flow_by_parent ON flow (parent);
