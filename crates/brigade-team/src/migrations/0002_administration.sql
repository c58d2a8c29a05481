-- What a workspace brings from its files, and raw logs.

-- Where the raw logs of runs are.
ALTER TABLE @schema@.team ADD COLUMN logs text NOT NULL DEFAULT 'host' CHECK (logs IN ('host', 'database'));

-- The calls that were in the files of a workspace. A reviewer signs what a finished call was and which receipts it has,
-- because its approval has no signature of its own.
CREATE TABLE @schema@.imports (
    workspace text COLLATE "C" NOT NULL,
    call_id text COLLATE "C" NOT NULL,
    member text COLLATE "C" NOT NULL,
    public_key text NOT NULL,
    -- The record as the files had it.
    record text NOT NULL,
    -- The sha256 of each receipt of the call.
    receipts text[] NOT NULL,
    signed_at text NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (workspace, call_id),
    FOREIGN KEY (workspace, call_id) REFERENCES @schema@.calls (workspace, id)
);

-- Parts of raw logs. Without a row of a run, its logs are only on the host that ran.
CREATE TABLE @schema@.logs (
    workspace text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    -- Where the part begins in the log.
    start bigint NOT NULL CHECK (0 <= start),
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    body bytea NOT NULL CHECK (octet_length(body) <= 262144),
    PRIMARY KEY (workspace, run_id, stream, start)
);
CREATE INDEX logs_by_age ON @schema@.logs (stored_at);

-- Returns the name of the member of this session, who may bring calls from files: a queuer whose key signs.
CREATE FUNCTION @schema@.require_importer(ws text, signer text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['queuer'], ws);
BEGIN
    PERFORM @schema@.require_role(ARRAY['reviewer'], ws);
    IF NOT EXISTS (SELECT FROM @schema@.members WHERE name = who AND public_key = signer) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR010', MESSAGE = format('the import is not signed with the key of `%s`', who);
    END IF;
    RETURN who;
END $$;

-- Appends a receipt from files to the chain of its host. It ends no call of the team.
CREATE FUNCTION @schema@.import_receipt(ws text, host_name text, run text, call text, ending text, sorted_by text,
    new_body bytea, signer text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_importer(ws, signer);
    digest text := encode(sha256(new_body), 'hex');
    chain @schema@.hosts;
BEGIN
    IF EXISTS (SELECT FROM @schema@.calls WHERE workspace = ws AND id = call AND run_id = run) OR EXISTS (
        SELECT FROM @schema@.receipts WHERE workspace = ws AND run_id = run AND NOT is_late AND NOT is_aside) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR008', MESSAGE = 'the run has a receipt already';
    END IF;
    INSERT INTO @schema@.hosts (workspace, name) VALUES (ws, who || '@' || host_name) ON CONFLICT DO NOTHING;
    SELECT * INTO chain FROM @schema@.hosts WHERE workspace = ws AND name = who || '@' || host_name FOR UPDATE;
    chain.sequence := chain.sequence + 1;
    chain.link := encode(sha256(convert_to(concat_ws(E'\n',
        'brigade.team-receipt.v1', chain.link, chain.name, chain.sequence, run, digest), 'UTF8')), 'hex');
    UPDATE @schema@.hosts SET sequence = chain.sequence, link = chain.link WHERE workspace = ws AND name = chain.name;
    INSERT INTO @schema@.receipts
        (workspace, host, sequence, run_id, call_id, status, sort_key, sha256, link, is_late, body)
    VALUES (ws, chain.name, chain.sequence, run, call, ending, sorted_by, digest, chain.link, false, new_body);
END $$;

-- Adds a call from files: one that has ended, or one that waits for a decision. An approval of the files does not count.
CREATE FUNCTION @schema@.import_call(ws text, call text, created_micros bigint, new_record text, file_record text,
    of_receipts text[], signer text, signed text, sig bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_importer(ws, signer);
    document json := new_record::json;
    ending text := document ->> 'status';
    run text := document ->> 'run_id';
    place bigint;
BEGIN
    IF document ->> 'id' IS DISTINCT FROM call OR document ->> 'tool_id' IS NULL OR NOT coalesce(
        ending = ANY (ARRAY['pending', 'held', 'rejected', 'completed', 'failed', 'timed-out', 'interrupted']), false)
        OR sig IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'BR004', MESSAGE = 'a call from files has ended, or waits for a decision';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('@schema@/' || ws, 0));
    SELECT coalesce(max(sequence), 0) + 1 INTO place FROM @schema@.calls WHERE workspace = ws;
    INSERT INTO @schema@.calls (workspace, id, sequence, revision, status, tool_id, family, effects, created, queued_by,
        run_id, has_checkpoints, record, request)
    VALUES (ws, call, place, greatest((document ->> 'revision')::bigint, 1), ending, document ->> 'tool_id',
        coalesce(document ->> 'family', ''), ARRAY(SELECT json_array_elements_text(document -> 'contract' -> 'effects')
            WHERE json_typeof(document -> 'contract' -> 'effects') = 'array'),
        created_micros, who,
        (SELECT run_id FROM @schema@.receipts WHERE workspace = ws AND run_id = run AND call_id = call
            AND NOT is_late AND NOT is_aside AND ending NOT IN ('pending', 'held')),
        (document -> 'checkpoints') IS NOT NULL, new_record, @schema@.request_of(document))
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'BR002', MESSAGE = 'the call exists already';
    END IF;
    INSERT INTO @schema@.checkpoints (workspace, id, run_id, document)
    SELECT ws, key, coalesce(value ->> 'run_id', ''), value::text
    FROM json_each(CASE json_typeof(document -> 'checkpoints') WHEN 'object' THEN document -> 'checkpoints' END)
    ON CONFLICT DO NOTHING;
    INSERT INTO @schema@.imports VALUES (ws, call, who, signer, file_record, of_receipts, signed, sig);
END $$;

-- Stores a part of a log of a run that this member made. A log has at most 16 parts.
CREATE FUNCTION @schema@.store_log(ws text, call text, run text, log_stream text, part_start bigint, part bytea)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
BEGIN
    IF NOT EXISTS (SELECT FROM @schema@.team WHERE logs = 'database') OR NOT EXISTS (SELECT FROM @schema@.calls
        WHERE workspace = ws AND id = call AND run_id = run AND claimed_by = who) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR009', MESSAGE = 'logs of this run are not stored';
    END IF;
    IF 16 <= (SELECT count(*) FROM @schema@.logs WHERE workspace = ws AND run_id = run AND stream = log_stream) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR004', MESSAGE = 'a log has at most 16 parts';
    END IF;
    INSERT INTO @schema@.logs (workspace, run_id, stream, start, body) VALUES (ws, run, log_stream, part_start, part)
    ON CONFLICT DO NOTHING;
END $$;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['imports', 'logs'] LOOP
        EXECUTE format('ALTER TABLE @schema@.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY of_workspace ON @schema@.%I FOR SELECT USING (coalesce('
            'workspace = ANY ((SELECT @schema@.readable_workspaces())::text[]), true))', name);
    END LOOP;
END $$;

REVOKE ALL ON @schema@.imports, @schema@.logs FROM PUBLIC;
REVOKE ALL ON FUNCTION @schema@.require_importer, @schema@.import_receipt, @schema@.import_call, @schema@.store_log
    FROM PUBLIC;
GRANT SELECT ON @schema@.imports, @schema@.logs
    TO @schema@_queuer, @schema@_reviewer, @schema@_runner, @schema@_auditor;
GRANT EXECUTE ON FUNCTION @schema@.import_receipt, @schema@.import_call TO @schema@_queuer;
GRANT EXECUTE ON FUNCTION @schema@.store_log TO @schema@_runner;
