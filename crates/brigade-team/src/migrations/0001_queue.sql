-- The queue of a team. `@schema@` is a checked name of letters, digits and `_`.
--
-- Members read the tables, row by row of their workspaces. Only the owner writes them: each step is a function that
-- runs as the owner, takes the member from `session_user`, and checks role, workspace, status and revision. Refusals
-- have SQLSTATEs such as BR001, which `error.rs` explains. A member may call a function with `psql`, so the tables check
-- what others read.

-- Returns whether a text can be the id of a call, run or checkpoint, which is a file name.
CREATE FUNCTION @schema@.is_id(id text) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT id ~ '^[A-Za-z0-9_][A-Za-z0-9._:-]{0,199}$'
$$;

-- Returns whether a text can be a name that people read: it has no control characters.
CREATE FUNCTION @schema@.is_name(name text) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT length(name) BETWEEN 1 AND 1000 AND name !~ '[\u0001-\u001f\u007f-\u009f]'
$$;

CREATE TABLE @schema@.team (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE @schema@.members (
    name text COLLATE "C" PRIMARY KEY,
    roles text[] NOT NULL,
    -- The 32 bytes of the Ed25519 key, as hex digits.
    public_key text CHECK (public_key ~ '^[0-9a-f]{64}$'),
    -- NULL for every workspace.
    workspaces text[],
    added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    removed_at timestamptz
);

CREATE TABLE @schema@.rules (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    effect text,
    tool text,
    family text,
    approvals integer NOT NULL CHECK (approvals BETWEEN 1 AND 9),
    added_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE @schema@.hosts (
    workspace text COLLATE "C" NOT NULL CHECK (@schema@.is_name(workspace)),
    -- The member, `@`, and the name that the host gives itself.
    name text COLLATE "C" NOT NULL CHECK (@schema@.is_name(name)),
    sequence bigint NOT NULL DEFAULT 0,
    link text NOT NULL DEFAULT '',
    last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    has_claimed boolean NOT NULL DEFAULT false,
    -- NULL without a runner: `ready`, `draining` or `stopped`.
    runner_state text,
    -- The server to which the host has reported its claims.
    server text,
    PRIMARY KEY (workspace, name)
);

CREATE TABLE @schema@.calls (
    workspace text COLLATE "C" NOT NULL CHECK (@schema@.is_name(workspace)),
    id text COLLATE "C" NOT NULL CHECK (@schema@.is_id(id)),
    sequence bigint NOT NULL,
    revision bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    tool_id text COLLATE "C" NOT NULL CHECK (@schema@.is_name(tool_id)),
    family text NOT NULL,
    effects text[] NOT NULL,
    -- Microseconds since 1970.
    created bigint NOT NULL,
    queued_by text COLLATE "C" NOT NULL,
    -- The revision that the approvals are of.
    approved_revision bigint,
    run_id text COLLATE "C" CHECK (@schema@.is_id(run_id)),
    claimed_by text COLLATE "C",
    -- What the process that claims made up, so that it finds the claim whose answer was lost.
    attempt text,
    host text COLLATE "C",
    fence bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    has_checkpoints boolean NOT NULL DEFAULT false,
    -- The record, as Brigade wrote it.
    record text NOT NULL,
    -- What the call asks for, as long as another one that asks for the same is its duplicate.
    request text COLLATE "C",
    PRIMARY KEY (workspace, id),
    UNIQUE (workspace, sequence)
);
CREATE INDEX calls_by_age ON @schema@.calls (workspace, status, created, sequence);
CREATE INDEX calls_by_status ON @schema@.calls (workspace, status, sequence);
CREATE INDEX calls_of_request ON @schema@.calls (workspace, request, sequence) WHERE request IS NOT NULL;
CREATE INDEX calls_once_approved ON @schema@.calls (workspace, tool_id, sequence) WHERE approved_revision IS NOT NULL;
CREATE INDEX calls_with_checkpoints ON @schema@.calls (workspace, sequence) WHERE has_checkpoints;

CREATE TABLE @schema@.approvals (
    workspace text COLLATE "C" NOT NULL,
    call_id text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    member text COLLATE "C" NOT NULL,
    decision text NOT NULL,
    public_key text NOT NULL,
    -- The fingerprint of what every host runs, and those of what the reviewer was shown of hosts.
    shared text NOT NULL,
    hosts text[] NOT NULL,
    signed_at text NOT NULL,
    signature bytea NOT NULL,
    PRIMARY KEY (workspace, call_id, revision, member),
    FOREIGN KEY (workspace, call_id) REFERENCES @schema@.calls (workspace, id)
);

CREATE TABLE @schema@.checkpoints (
    workspace text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL CHECK (@schema@.is_id(id)),
    run_id text COLLATE "C" NOT NULL,
    added_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    document text NOT NULL,
    PRIMARY KEY (workspace, id)
);
CREATE INDEX checkpoints_of_run ON @schema@.checkpoints (workspace, run_id);

CREATE TABLE @schema@.receipts (
    workspace text COLLATE "C" NOT NULL,
    host text COLLATE "C" NOT NULL,
    -- The place in the chain of the host, from 1.
    sequence bigint NOT NULL,
    run_id text COLLATE "C" NOT NULL CHECK (@schema@.is_id(run_id)),
    call_id text COLLATE "C" NOT NULL CHECK (@schema@.is_id(call_id)),
    status text COLLATE "C" NOT NULL CHECK (@schema@.is_name(status)),
    sort_key text COLLATE "C" NOT NULL,
    sha256 text NOT NULL,
    -- The sha256 over the previous link and this entry.
    link text NOT NULL,
    -- Reported after the claim had expired. It ends nothing.
    is_late boolean NOT NULL,
    -- Replaced, because it could not end its call.
    is_aside boolean NOT NULL DEFAULT false,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    body bytea NOT NULL,
    PRIMARY KEY (workspace, host, sequence)
);
CREATE UNIQUE INDEX receipts_once ON @schema@.receipts (workspace, run_id, sha256);
CREATE UNIQUE INDEX receipts_of_run ON @schema@.receipts (workspace, run_id) WHERE NOT is_late AND NOT is_aside;
CREATE INDEX receipts_newest ON @schema@.receipts (workspace, sort_key, run_id) WHERE NOT is_late AND NOT is_aside;

-- What a host would run for a call. Removed once the call is claimed or rejected.
CREATE TABLE @schema@.offers (
    workspace text COLLATE "C" NOT NULL,
    call_id text COLLATE "C" NOT NULL,
    host text COLLATE "C" NOT NULL CHECK (@schema@.is_name(host)),
    revision bigint NOT NULL,
    offered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_passed_over boolean NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (workspace, call_id, host),
    FOREIGN KEY (workspace, call_id) REFERENCES @schema@.calls (workspace, id)
);

-- The server that the claims of a workspace are on. On another one nothing is claimed, because it may have lost some.
CREATE TABLE @schema@.servers (
    workspace text COLLATE "C" PRIMARY KEY CHECK (@schema@.is_name(workspace)),
    name text NOT NULL CHECK (name ~ '^[0-9]{1,20}/([0-9]{1,10}|replica)$'),
    -- Those that it has replaced.
    earlier text[] NOT NULL DEFAULT '{}'
);

-- How many calls and ended runs have a status: the sum of the rows. A writer takes a row that no other one has, so that
-- writers do not wait for each other.
CREATE TABLE @schema@.counts (
    workspace text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('calls', 'runs')),
    status text COLLATE "C" NOT NULL,
    number bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX counts_by_status ON @schema@.counts (workspace, kind, status);

-- Adds to a count.
CREATE FUNCTION @schema@.add_count(ws text, of_kind text, of_status text, change bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place tid;
BEGIN
    SELECT ctid INTO place FROM @schema@.counts
    WHERE workspace = ws AND kind = of_kind AND status = of_status LIMIT 1 FOR UPDATE SKIP LOCKED;
    UPDATE @schema@.counts SET number = number + change WHERE ctid = place;
    IF NOT FOUND THEN
        INSERT INTO @schema@.counts VALUES (ws, of_kind, of_status, change);
    END IF;
END $$;

-- Counts changed calls.
CREATE FUNCTION @schema@.count_calls() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM @schema@.add_count(workspace, 'calls', status, count(*)) FROM added GROUP BY workspace, status;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM @schema@.add_count(workspace, 'calls', status, -count(*)) FROM gone GROUP BY workspace, status;
    ELSE
        PERFORM @schema@.add_count(workspace, 'calls', status, sum(change)) FROM (
            SELECT workspace, status, -1 AS change FROM gone UNION ALL SELECT workspace, status, 1 FROM added) changes
        GROUP BY workspace, status HAVING sum(change) <> 0;
    END IF;
    RETURN NULL;
END $$;

-- Counts changed receipts that end their runs.
CREATE FUNCTION @schema@.count_runs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM @schema@.add_count(workspace, 'runs', status, count(*)) FROM added
        WHERE NOT is_late AND NOT is_aside GROUP BY workspace, status;
    ELSIF TG_OP = 'DELETE' THEN
        PERFORM @schema@.add_count(workspace, 'runs', status, -count(*)) FROM gone
        WHERE NOT is_late AND NOT is_aside GROUP BY workspace, status;
    ELSE
        PERFORM @schema@.add_count(workspace, 'runs', status, sum(change)) FROM (
            SELECT workspace, status, -1 AS change FROM gone WHERE NOT is_late AND NOT is_aside
            UNION ALL SELECT workspace, status, 1 FROM added WHERE NOT is_late AND NOT is_aside) changes
        GROUP BY workspace, status HAVING sum(change) <> 0;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER count_inserted AFTER INSERT ON @schema@.calls REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.count_calls();
CREATE TRIGGER count_updated AFTER UPDATE ON @schema@.calls REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.count_calls();
CREATE TRIGGER count_deleted AFTER DELETE ON @schema@.calls REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.count_calls();
CREATE TRIGGER count_inserted AFTER INSERT ON @schema@.receipts REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.count_runs();
CREATE TRIGGER count_updated AFTER UPDATE ON @schema@.receipts REFERENCING OLD TABLE AS gone NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.count_runs();
CREATE TRIGGER count_deleted AFTER DELETE ON @schema@.receipts REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.count_runs();

-- Returns the name of the member of this session, who must have one of the roles in the workspace.
CREATE FUNCTION @schema@.require_role(needed text[], ws text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    member @schema@.members;
BEGIN
    SELECT * INTO member FROM @schema@.members WHERE name = session_user AND removed_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'BR001', MESSAGE = format('`%s` is not a member of the team', session_user);
    END IF;
    IF NOT member.roles && needed THEN
        RAISE EXCEPTION USING ERRCODE = 'BR001',
            MESSAGE = format('`%s` is not a %s of the team', session_user, array_to_string(needed, ' or '));
    END IF;
    IF NOT coalesce(ws = ANY (member.workspaces), true) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR001',
            MESSAGE = format('`%s` is not a member of the workspace `%s`', session_user, ws);
    END IF;
    RETURN member.name;
END $$;

-- Returns the workspaces that this session may read; NULL for all of them.
CREATE FUNCTION @schema@.readable_workspaces() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN count(*) = 0 THEN ARRAY[]::text[] ELSE min(workspaces) END
    FROM @schema@.members WHERE name = session_user AND removed_at IS NULL
$$;

-- Returns how many people must approve a call.
CREATE FUNCTION @schema@.needed_approvals(of_tool text, of_family text, of_effects text[]) RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(max(approvals), 1) FROM @schema@.rules
    WHERE (effect IS NULL OR effect = ANY (of_effects))
        AND (tool IS NULL OR tool = of_tool) AND (family IS NULL OR family = of_family)
$$;

-- Locks a call at the revision that the caller saw.
CREATE FUNCTION @schema@.call_at(ws text, call text, base bigint) RETURNS @schema@.calls
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_call @schema@.calls;
BEGIN
    SELECT * INTO found_call FROM @schema@.calls WHERE workspace = ws AND id = call FOR UPDATE;
    IF NOT FOUND OR found_call.revision <> base THEN
        RAISE EXCEPTION USING ERRCODE = 'BR003', MESSAGE = 'the call was changed in the meantime';
    END IF;
    RETURN found_call;
END $$;

-- Returns what a call asks for, as long as it can have a duplicate. Fingerprints of v0.30 are shorter, and are not
-- compared: then it is the tool.
CREATE FUNCTION @schema@.request_of(document json) RETURNS text
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN NOT document ->> 'status' IN ('pending', 'held', 'approved', 'rejected')
            OR (document -> 'withdrawn')::text = 'true' OR document ->> 'run_id' IS NOT NULL THEN NULL
        WHEN document ->> 'call_fingerprint' ~ '^[0-9a-f]{64}$' THEN document ->> 'call_fingerprint'
        ELSE 'tool ' || (document ->> 'tool_id') END
$$;

-- Writes the next revision of a call. What was asked for never changes.
CREATE FUNCTION @schema@.write_call(old @schema@.calls, new_record text, allowed text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    was json := old.record::json;
    now_is json := new_record::json;
    key text;
BEGIN
    IF NOT coalesce(now_is ->> 'status' = ANY (allowed), false) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR004',
            MESSAGE = format('a call that is %s does not become %s this way', old.status, now_is ->> 'status');
    END IF;
    FOREACH key IN ARRAY ARRAY['id', 'tool_id', 'family', 'kind', 'command', 'created_at', 'caller', 'session', 'args',
        'arguments', 'contract', 'call_fingerprint', 'replay_of_run_id'] LOOP
        IF (was -> key)::text IS DISTINCT FROM (now_is -> key)::text THEN
            RAISE EXCEPTION USING ERRCODE = 'BR005', MESSAGE = format('`%s` of a queued call does not change', key);
        END IF;
    END LOOP;
    UPDATE @schema@.calls SET revision = old.revision + 1, status = now_is ->> 'status', record = new_record,
        has_checkpoints = (now_is -> 'checkpoints') IS NOT NULL, request = @schema@.request_of(now_is)
    WHERE workspace = old.workspace AND id = old.id;
    IF NOT now_is ->> 'status' = ANY (ARRAY['pending', 'held', 'approved']) THEN
        DELETE FROM @schema@.offers WHERE workspace = old.workspace AND call_id = old.id;
    END IF;
END $$;

-- Returns how a run can end.
CREATE FUNCTION @schema@.endings() RETURNS text[]
LANGUAGE sql IMMUTABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY['completed', 'failed', 'timed-out', 'waiting', 'interrupted']
$$;

-- Queues a pending call. Returns its place in the queue.
CREATE FUNCTION @schema@.queue_call(ws text, call text, created_micros bigint, new_record text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['queuer'], ws);
    document json := new_record::json;
    place bigint;
BEGIN
    IF document ->> 'id' IS DISTINCT FROM call OR document ->> 'status' IS DISTINCT FROM 'pending' THEN
        RAISE EXCEPTION USING ERRCODE = 'BR004', MESSAGE = 'a call is queued as pending';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('@schema@/' || ws, 0));
    SELECT coalesce(max(sequence), 0) + 1 INTO place FROM @schema@.calls WHERE workspace = ws;
    INSERT INTO @schema@.calls
        (workspace, id, sequence, revision, status, tool_id, family, effects, created, queued_by, record, request)
    VALUES (ws, call, place, 1, 'pending', document ->> 'tool_id', coalesce(document ->> 'family', ''),
        ARRAY(SELECT json_array_elements_text(document -> 'contract' -> 'effects')
            WHERE json_typeof(document -> 'contract' -> 'effects') = 'array'),
        created_micros, who, new_record, @schema@.request_of(document))
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'BR002', MESSAGE = 'the call exists already';
    END IF;
    RETURN place;
END $$;

-- Records a decision of a reviewer about the revision that was shown. An approval is stored; the call becomes approved
-- once there are as many as the rules want, of different people, for the same host. A member who has approved may
-- approve again to cover other hosts.
CREATE FUNCTION @schema@.review_call(ws text, call text, base bigint, new_record text, signer text,
    shared_part text, host_parts text[], signed text, sig bytea, OUT now_revision bigint, OUT have integer,
    OUT need integer, OUT given_by text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['reviewer'], ws);
    old @schema@.calls := @schema@.call_at(ws, call, base);
    allowed text[] := CASE old.status
        WHEN 'pending' THEN ARRAY['pending', 'held', 'approved', 'rejected']
        WHEN 'held' THEN ARRAY['pending', 'held', 'approved', 'rejected']
        WHEN 'approved' THEN ARRAY['pending', 'held', 'approved', 'rejected']
        WHEN 'waiting' THEN ARRAY['waiting', 'resume-pending', 'rejected']
        WHEN 'resume-pending' THEN ARRAY['rejected']
        ELSE ARRAY[]::text[] END;
BEGIN
    now_revision := base + 1;
    IF new_record::json ->> 'status' = 'approved' AND 'approved' = ANY (allowed) THEN
        need := @schema@.needed_approvals(old.tool_id, old.family, old.effects);
        IF need > 1 AND old.queued_by = who THEN
            RAISE EXCEPTION USING ERRCODE = 'BR006',
                MESSAGE = format('the call needs %s approvals, and the person who queued it does not count', need);
        END IF;
        IF sig IS NULL OR NOT EXISTS (SELECT FROM @schema@.members WHERE name = who AND public_key = signer) THEN
            RAISE EXCEPTION USING ERRCODE = 'BR010', MESSAGE = format('the approval is not signed with the key of `%s`', who);
        END IF;
        INSERT INTO @schema@.approvals AS given VALUES
            (ws, call, base, who, 'approve', signer, shared_part, host_parts, signed, sig)
        ON CONFLICT (workspace, call_id, revision, member) DO UPDATE SET public_key = excluded.public_key,
            shared = excluded.shared, hosts = excluded.hosts, signed_at = excluded.signed_at,
            signature = excluded.signature
        WHERE given.shared <> excluded.shared OR NOT given.hosts @> excluded.hosts;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'BR007', MESSAGE = format('`%s` has approved the call already', who);
        END IF;
        SELECT count(*), array_agg(member ORDER BY signed_at, member) INTO have, given_by
        FROM @schema@.approvals, LATERAL (SELECT DISTINCT unnest(hosts) AS host) covered
        WHERE workspace = ws AND call_id = call AND revision = base AND shared = shared_part
            AND (need = 1 OR member <> old.queued_by)
        GROUP BY host ORDER BY count(*) DESC LIMIT 1;
        IF have < need THEN
            now_revision := base;
            RETURN;
        END IF;
        UPDATE @schema@.calls SET approved_revision = base WHERE workspace = ws AND id = call;
    END IF;
    PERFORM @schema@.write_call(old, new_record, allowed);
END $$;

-- Withdraws a call that the member queued.
CREATE FUNCTION @schema@.withdraw_call(ws text, call text, base bigint, new_record text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['queuer'], ws);
    old @schema@.calls := @schema@.call_at(ws, call, base);
BEGIN
    IF old.queued_by <> who THEN
        RAISE EXCEPTION USING ERRCODE = 'BR001', MESSAGE = 'only the member who queued a call withdraws it';
    END IF;
    IF old.status NOT IN ('pending', 'held', 'approved') THEN
        RAISE EXCEPTION USING ERRCODE = 'BR004', MESSAGE = format('a call that is %s is not withdrawn', old.status);
    END IF;
    PERFORM @schema@.write_call(old, new_record, ARRAY['rejected']);
END $$;

-- Returns the name of this server: its identifier, and its timeline, which a promotion changes.
CREATE FUNCTION @schema@.server_name() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT system_identifier || '/' || CASE WHEN pg_is_in_recovery() THEN 'replica'
        ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint::text END
    FROM pg_control_system()
$$;

-- Claims an approved call for one run. `seen` is the server that the host saw last.
CREATE FUNCTION @schema@.claim_call(ws text, call text, base bigint, new_record text, run text, new_attempt text,
    host_name text, lease_seconds integer, seen text, OUT now_fence bigint, OUT here text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
    known @schema@.servers;
    old @schema@.calls;
BEGIN
    here := @schema@.server_name();
    IF lease_seconds NOT BETWEEN 2 AND 3600 THEN
        RAISE EXCEPTION USING ERRCODE = 'BR004', MESSAGE = 'a lease is 2 to 3600 seconds';
    END IF;
    SELECT * INTO known FROM @schema@.servers WHERE workspace = ws;
    IF NOT FOUND THEN
        INSERT INTO @schema@.servers (workspace, name) VALUES (ws, coalesce(seen, here)) ON CONFLICT DO NOTHING;
        SELECT * INTO known FROM @schema@.servers WHERE workspace = ws;
    END IF;
    IF known.name <> here OR NOT coalesce(seen = here OR seen = ANY (known.earlier), true) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR011', MESSAGE = 'the database was replaced, and may have forgotten claims';
    END IF;
    UPDATE @schema@.calls SET run_id = run, claimed_by = who, attempt = new_attempt, host = who || '@' || host_name,
        fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE (workspace, id) IN (
        SELECT workspace, id FROM @schema@.calls
        WHERE workspace = ws AND id = call AND revision = base AND status IN ('approved', 'resume-pending')
        FOR UPDATE SKIP LOCKED)
    RETURNING * INTO old;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'BR003', MESSAGE = 'the call was changed in the meantime';
    END IF;
    IF new_record::json ->> 'run_id' IS DISTINCT FROM run OR EXISTS (
        SELECT FROM @schema@.receipts WHERE workspace = ws AND run_id = run) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR008', MESSAGE = 'the run has a receipt already';
    END IF;
    PERFORM @schema@.write_call(old, new_record, ARRAY['running']);
    INSERT INTO @schema@.hosts (workspace, name, has_claimed, server) VALUES (ws, old.host, true, here)
    ON CONFLICT (workspace, name) DO UPDATE SET last_seen_at = clock_timestamp(), has_claimed = true, server = here;
    now_fence := old.fence;
END $$;

-- Returns the claim of an attempt whose answer was lost, if it was stored.
CREATE FUNCTION @schema@.find_claim(ws text, call text, run text, of_attempt text, OUT now_fence bigint, OUT here text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
BEGIN
    here := @schema@.server_name();
    -- Its transaction may not have ended yet.
    PERFORM 1 FROM @schema@.calls WHERE workspace = ws AND id = call FOR UPDATE;
    SELECT fence INTO now_fence FROM @schema@.calls
    WHERE workspace = ws AND id = call AND status = 'running' AND run_id = run AND claimed_by = who
        AND attempt = of_attempt AND clock_timestamp() < lease_until;
END $$;

-- Renews the lease of a claim. Returns whether it was still valid.
CREATE FUNCTION @schema@.renew_claim(ws text, call text, run text, at_fence bigint, lease_seconds integer)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
    on_host text;
BEGIN
    UPDATE @schema@.calls SET lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE workspace = ws AND id = call AND status = 'running' AND run_id = run AND claimed_by = who
        AND fence = at_fence AND clock_timestamp() < lease_until AND lease_seconds BETWEEN 2 AND 3600
    RETURNING host INTO on_host;
    UPDATE @schema@.hosts SET last_seen_at = clock_timestamp() WHERE workspace = ws AND name = on_host;
    RETURN on_host IS NOT NULL;
END $$;

-- Ends a call by the receipt of its run, while the claim is valid.
CREATE FUNCTION @schema@.finish_call(ws text, call text, base bigint, new_record text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
    old @schema@.calls := @schema@.call_at(ws, call, base);
BEGIN
    IF old.status <> 'running' OR old.claimed_by <> who OR old.lease_until <= clock_timestamp()
        OR NOT EXISTS (SELECT FROM @schema@.receipts
            WHERE workspace = ws AND run_id = old.run_id AND call_id = call AND NOT is_late AND NOT is_aside) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR009', MESSAGE = 'the claim of the run has expired or was ended';
    END IF;
    PERFORM @schema@.write_call(old, new_record, @schema@.endings());
END $$;

-- Marks a call interrupted whose claim has expired, or ends it by the receipt that its runner recorded before. Every
-- member that changes the queue may.
CREATE FUNCTION @schema@.interrupt_call(ws text, call text, base bigint, new_record text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['queuer', 'reviewer', 'runner'], ws);
    old @schema@.calls := @schema@.call_at(ws, call, base);
    ending text;
BEGIN
    IF old.status <> 'running' OR clock_timestamp() < old.lease_until THEN
        RAISE EXCEPTION USING ERRCODE = 'BR009', MESSAGE = 'the claim of the run has not expired';
    END IF;
    SELECT status INTO ending FROM @schema@.receipts
    WHERE workspace = ws AND run_id = old.run_id AND call_id = call AND NOT is_late AND NOT is_aside;
    PERFORM @schema@.write_call(old, new_record, ARRAY[coalesce(ending, 'interrupted')]);
END $$;

-- Stores a checkpoint of a run. Returns whether its id was free.
CREATE FUNCTION @schema@.add_checkpoint(ws text, checkpoint text, run text, new_document text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
BEGIN
    IF NOT EXISTS (SELECT FROM @schema@.calls
        WHERE workspace = ws AND run_id = run AND status = 'running' AND claimed_by = who) THEN
        RAISE EXCEPTION USING ERRCODE = 'BR009', MESSAGE = 'the claim of the run has expired or was ended';
    END IF;
    INSERT INTO @schema@.checkpoints (workspace, id, run_id, document) VALUES (ws, checkpoint, run, new_document)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END $$;

-- Stores a receipt in the chain of its host. The same bytes again are the same receipt.
CREATE FUNCTION @schema@.record_receipt(ws text, host_name text, run text, call text, ending text, sorted_by text,
    new_body bytea, may_set_aside boolean, OUT place bigint, OUT late boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['queuer', 'reviewer', 'runner'], ws);
    digest text := encode(sha256(new_body), 'hex');
    chain @schema@.hosts;
    of_call @schema@.calls;
    is_claimed boolean;
    is_expired boolean;
    earlier text;
BEGIN
    SELECT * INTO of_call FROM @schema@.calls WHERE workspace = ws AND id = call FOR UPDATE;
    SELECT sequence, is_late INTO place, late FROM @schema@.receipts
    WHERE workspace = ws AND run_id = run AND sha256 = digest;
    IF FOUND THEN
        RETURN;
    END IF;
    is_claimed := coalesce(of_call.status = 'running' AND of_call.run_id = run, false);
    is_expired := is_claimed AND of_call.lease_until <= clock_timestamp();
    IF NOT (is_expired AND ending = 'interrupted') THEN
        PERFORM @schema@.require_role(ARRAY['runner'], ws);
        IF of_call.id IS NOT NULL AND of_call.claimed_by IS DISTINCT FROM who THEN
            RAISE EXCEPTION USING ERRCODE = 'BR009', MESSAGE = 'the member has not claimed the call';
        END IF;
    END IF;
    -- The attempt of a worker has no call.
    late := of_call.id IS NOT NULL AND NOT (is_claimed AND NOT is_expired AND of_call.claimed_by = who)
        AND NOT (is_expired AND ending = 'interrupted');
    IF NOT late THEN
        SELECT status INTO earlier FROM @schema@.receipts
        WHERE workspace = ws AND run_id = run AND NOT is_late AND NOT is_aside;
        IF FOUND THEN
            -- Only its runner replaces a receipt that can end the call.
            IF NOT may_set_aside OR of_call.id IS NOT NULL AND NOT (is_claimed AND (
                of_call.claimed_by = who AND NOT is_expired OR NOT earlier = ANY (@schema@.endings()))) THEN
                RAISE EXCEPTION USING ERRCODE = 'BR008', MESSAGE = 'the run has a receipt already';
            END IF;
            UPDATE @schema@.receipts SET is_aside = true
            WHERE workspace = ws AND run_id = run AND NOT is_late AND NOT is_aside;
        END IF;
    END IF;
    INSERT INTO @schema@.hosts (workspace, name) VALUES (ws, who || '@' || host_name) ON CONFLICT DO NOTHING;
    SELECT * INTO chain FROM @schema@.hosts WHERE workspace = ws AND name = who || '@' || host_name FOR UPDATE;
    place := chain.sequence + 1;
    chain.link := encode(sha256(convert_to(concat_ws(E'\n',
        'brigade.team-receipt.v1', chain.link, chain.name, place, run, digest), 'UTF8')), 'hex');
    UPDATE @schema@.hosts SET sequence = place, link = chain.link, last_seen_at = clock_timestamp()
    WHERE workspace = ws AND name = chain.name;
    INSERT INTO @schema@.receipts
        (workspace, host, sequence, run_id, call_id, status, sort_key, sha256, link, is_late, body)
    VALUES (ws, chain.name, place, run, call, ending, sorted_by, digest, chain.link, late, new_body);
END $$;

-- Rows of other workspaces are invisible. The owner, as whom the functions run, sees all.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['approvals', 'calls', 'checkpoints', 'counts', 'hosts', 'offers', 'receipts',
        'servers'] LOOP
        EXECUTE format('ALTER TABLE @schema@.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY of_workspace ON @schema@.%I FOR SELECT USING (coalesce('
            'workspace = ANY ((SELECT @schema@.readable_workspaces())::text[]), true))', name);
    END LOOP;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA @schema@ FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @schema@ FROM PUBLIC;
GRANT USAGE ON SCHEMA @schema@ TO @schema@_queuer, @schema@_reviewer, @schema@_runner, @schema@_auditor;
GRANT SELECT ON ALL TABLES IN SCHEMA @schema@ TO @schema@_queuer, @schema@_reviewer, @schema@_runner, @schema@_auditor;
GRANT EXECUTE ON FUNCTION @schema@.readable_workspaces, @schema@.needed_approvals, @schema@.server_name
    TO @schema@_queuer, @schema@_reviewer, @schema@_runner, @schema@_auditor;
GRANT EXECUTE ON FUNCTION @schema@.queue_call, @schema@.withdraw_call TO @schema@_queuer;
GRANT EXECUTE ON FUNCTION @schema@.review_call TO @schema@_reviewer;
GRANT EXECUTE ON FUNCTION @schema@.claim_call, @schema@.find_claim, @schema@.renew_claim, @schema@.finish_call,
    @schema@.add_checkpoint TO @schema@_runner;
GRANT EXECUTE ON FUNCTION @schema@.interrupt_call, @schema@.record_receipt
    TO @schema@_queuer, @schema@_reviewer, @schema@_runner;
