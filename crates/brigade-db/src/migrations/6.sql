ALTER TABLE execution ADD COLUMN parent TEXT;
ALTER TABLE execution ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
CREATE INDEX execution_by_parent ON execution (parent) WHERE parent IS NOT NULL;
