-- The MAC of this host over an execution of a workflow. Without a valid one, it does not continue.
ALTER TABLE flow ADD COLUMN host_mac TEXT;
