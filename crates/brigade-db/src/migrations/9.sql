-- The MAC of this host over the answer to a question. Without a valid one, the question is not answered.
ALTER TABLE question ADD COLUMN host_mac TEXT;
