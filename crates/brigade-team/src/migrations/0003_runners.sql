-- Runners: what they offer, how they are, and the server that their claims are on.

ALTER TABLE @schema@.hosts
    ADD COLUMN has_claimed boolean NOT NULL DEFAULT false,
    -- NULL without a runner: `ready`, `draining` or `stopped`.
    ADD COLUMN runner_state text,
    -- The server to which the host has reported its claims.
    ADD COLUMN server text;
UPDATE @schema@.hosts h SET has_claimed = true
WHERE EXISTS (SELECT FROM @schema@.calls c WHERE c.workspace = h.workspace AND c.host = h.name);

-- What a host would run for a call. Removed once the call is claimed or rejected.
CREATE TABLE @schema@.offers (
    workspace text COLLATE "C" NOT NULL,
    call_id text COLLATE "C" NOT NULL,
    host text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    offered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    is_passed_over boolean NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (workspace, call_id, host),
    FOREIGN KEY (workspace, call_id) REFERENCES @schema@.calls (workspace, id)
);

-- The server that the claims of a workspace are on. On another one nothing is claimed, because it may have lost some.
CREATE TABLE @schema@.servers (
    workspace text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    -- Those that it has replaced.
    earlier text[] NOT NULL DEFAULT '{}'
);

-- Returns the name of this server: its identifier, and its timeline, which a promotion changes.
CREATE FUNCTION @schema@.server_name() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT system_identifier || '/' || CASE WHEN pg_is_in_recovery() THEN 'replica'
        ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint::text END
    FROM pg_control_system()
$$;

-- Writes the next revision of a call. What was asked for never changes.
CREATE OR REPLACE FUNCTION @schema@.write_call(old @schema@.calls, new_record text, allowed text[]) RETURNS void
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
        has_checkpoints = (now_is -> 'checkpoints') IS NOT NULL
    WHERE workspace = old.workspace AND id = old.id;
    IF NOT now_is ->> 'status' = ANY (ARRAY['pending', 'held', 'approved']) THEN
        DELETE FROM @schema@.offers WHERE workspace = old.workspace AND call_id = old.id;
    END IF;
END $$;

-- Records a decision of a reviewer about the revision that was shown. An approval is stored; the call becomes approved
-- once there are as many as the rules want, of different people, for the same host. A member who has approved may
-- approve again to cover other hosts.
CREATE OR REPLACE FUNCTION @schema@.review_call(ws text, call text, base bigint, new_record text, signer text,
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
        FROM @schema@.approvals, unnest(hosts) host
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

-- Claims an approved call for one run. The process whose answer was lost may ask again, and gets the same one. `seen`
-- is the server that the host saw last.
DROP FUNCTION @schema@.claim_call(text, text, bigint, text, text, text, integer);
CREATE FUNCTION @schema@.claim_call(ws text, call text, base bigint, new_record text, run text, host_name text,
    lease_seconds integer, seen text, OUT now_fence bigint, OUT here text)
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
    UPDATE @schema@.calls SET run_id = run, claimed_by = who, host = who || '@' || host_name, fence = fence + 1,
        lease_until = clock_timestamp() + make_interval(secs => lease_seconds)
    WHERE (workspace, id) IN (
        SELECT workspace, id FROM @schema@.calls
        WHERE workspace = ws AND id = call AND revision = base AND status IN ('approved', 'resume-pending')
        FOR UPDATE SKIP LOCKED)
    RETURNING * INTO old;
    IF NOT FOUND THEN
        SELECT fence INTO now_fence FROM @schema@.calls
        WHERE workspace = ws AND id = call AND status = 'running' AND run_id = run AND claimed_by = who
            AND revision = base + 1 AND record = new_record AND clock_timestamp() < lease_until;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'BR003', MESSAGE = 'the call was changed in the meantime';
        END IF;
        RETURN;
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

-- Stores what a host would run for these calls, and whether it passed them over.
CREATE FUNCTION @schema@.offer_calls(ws text, host_name text, ids text[], revisions bigint[], passed_over boolean[],
    documents text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
BEGIN
    INSERT INTO @schema@.offers (workspace, call_id, host, revision, is_passed_over, document)
    SELECT ws, c.id, who || '@' || host_name, new.revision, new.is_passed_over, new.document
    FROM unnest(ids, revisions, passed_over, documents) AS new (id, revision, is_passed_over, document)
    JOIN @schema@.calls c ON c.workspace = ws AND c.id = new.id AND c.status IN ('pending', 'held', 'approved')
    WHERE length(new.document) <= 1048576
    ON CONFLICT (workspace, call_id, host) DO UPDATE SET revision = excluded.revision,
        offered_at = clock_timestamp(), is_passed_over = excluded.is_passed_over, document = excluded.document;
END $$;

-- Returns what a runner can do now: the oldest approved calls, calls to offer for, and `expired` if a claim has. Also
-- notes that the runner is there. A call that it passed over comes back after 30 seconds or with another revision.
CREATE FUNCTION @schema@.runner_work(ws text, host_name text, state text, tools text[], most integer)
RETURNS TABLE (found_id text, found_status text, found_revision bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here text := @schema@.require_role(ARRAY['runner'], ws) || '@' || host_name;
BEGIN
    UPDATE @schema@.hosts h SET last_seen_at = clock_timestamp(), runner_state = state
    WHERE h.workspace = ws AND h.name = here
        AND (h.runner_state IS DISTINCT FROM state OR h.last_seen_at < clock_timestamp() - interval '5 s');
    RETURN QUERY (
        SELECT c.id, c.status, c.revision FROM @schema@.calls c
        WHERE c.workspace = ws AND c.status = 'approved' AND (tools IS NULL OR c.tool_id = ANY (tools))
            AND NOT coalesce(c.record::json ->> 'caller', '') LIKE 'agent:%'
            AND NOT EXISTS (SELECT FROM @schema@.offers o
                WHERE o.workspace = ws AND o.call_id = c.id AND o.host = here AND o.revision = c.revision
                    AND o.is_passed_over AND clock_timestamp() - interval '30 s' < o.offered_at)
        ORDER BY c.created, c.sequence LIMIT most);
    RETURN QUERY (
        SELECT c.id, c.status, c.revision FROM @schema@.calls c
        WHERE c.workspace = ws AND c.status IN ('pending', 'held') AND (tools IS NULL OR c.tool_id = ANY (tools))
            AND NOT coalesce(c.record::json ->> 'caller', '') LIKE 'agent:%'
            AND NOT EXISTS (SELECT FROM @schema@.offers o
                WHERE o.workspace = ws AND o.call_id = c.id AND o.host = here
                    AND clock_timestamp() - interval '60 s' < o.offered_at)
        ORDER BY c.created, c.sequence LIMIT most);
    RETURN QUERY SELECT ''::text, 'expired'::text, 0::bigint WHERE EXISTS (
        SELECT FROM @schema@.calls c
        WHERE c.workspace = ws AND c.status = 'running' AND c.lease_until <= clock_timestamp());
END $$;

-- Says that the runner of a host is there, and whether it has reported the claims that it knows. Returns the name of
-- this server, and whether it has replaced the one that the claims are on. Then nothing is claimed before all hosts of
-- `waits_for` have reported theirs.
CREATE FUNCTION @schema@.report_host(ws text, host_name text, state text, seen text, has_reported boolean,
    OUT here text, OUT is_replaced boolean, OUT waits_for text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
    known @schema@.servers;
BEGIN
    here := @schema@.server_name();
    INSERT INTO @schema@.servers (workspace, name) VALUES (ws, coalesce(seen, here)) ON CONFLICT DO NOTHING;
    SELECT * INTO known FROM @schema@.servers WHERE workspace = ws FOR UPDATE;
    IF known.name = here AND NOT coalesce(seen = here OR seen = ANY (known.earlier), true) THEN
        -- An older server is back: the host has seen a newer one.
        UPDATE @schema@.servers SET name = seen WHERE workspace = ws RETURNING * INTO known;
        UPDATE @schema@.hosts SET server = NULL WHERE workspace = ws;
    END IF;
    is_replaced := known.name <> here;
    INSERT INTO @schema@.hosts (workspace, name) VALUES (ws, who || '@' || host_name) ON CONFLICT DO NOTHING;
    UPDATE @schema@.hosts SET runner_state = state, last_seen_at = clock_timestamp(),
        server = CASE WHEN has_reported OR NOT is_replaced THEN here ELSE server END
    WHERE workspace = ws AND name = who || '@' || host_name;
    waits_for := ARRAY[]::text[];
    IF is_replaced THEN
        -- A member who was removed reports nothing more.
        SELECT coalesce(array_agg(h.name ORDER BY h.name), '{}') INTO waits_for FROM @schema@.hosts h
        JOIN @schema@.members m ON m.name = split_part(h.name, '@', 1) AND m.removed_at IS NULL
        WHERE h.workspace = ws AND h.server IS DISTINCT FROM here AND (h.has_claimed OR h.runner_state IS NOT NULL);
        IF waits_for = '{}' THEN
            UPDATE @schema@.servers SET name = here, earlier = earlier || known.name WHERE workspace = ws;
            is_replaced := false;
        END IF;
    END IF;
END $$;

-- Lets claims go on after a failover, although not all hosts have reported theirs. Returns whether there was one.
CREATE FUNCTION @schema@.accept_failover(ws text, seen text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['reviewer'], ws);
    here text := @schema@.server_name();
BEGIN
    INSERT INTO @schema@.servers (workspace, name) VALUES (ws, coalesce(seen, here)) ON CONFLICT DO NOTHING;
    UPDATE @schema@.servers SET name = here, earlier = earlier || name || coalesce(seen, name)
    WHERE workspace = ws AND (name <> here OR NOT coalesce(seen = here OR seen = ANY (earlier), true));
    RETURN FOUND;
END $$;

-- Restores a claim that a host has and this server has forgotten, as one that has expired. Only while hosts report.
CREATE FUNCTION @schema@.restore_claim(ws text, call text, base bigint, new_record text, run text, host_name text)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who text := @schema@.require_role(ARRAY['runner'], ws);
    old @schema@.calls := @schema@.call_at(ws, call, base);
BEGIN
    IF NOT EXISTS (SELECT FROM @schema@.servers WHERE workspace = ws AND name <> @schema@.server_name())
        OR old.status NOT IN ('pending', 'held', 'approved', 'resume-pending')
        OR new_record::json ->> 'run_id' IS DISTINCT FROM run THEN
        RAISE EXCEPTION USING ERRCODE = 'BR004', MESSAGE = format('a call that is %s has its claim', old.status);
    END IF;
    UPDATE @schema@.calls SET run_id = run, claimed_by = who, host = who || '@' || host_name, fence = fence + 1,
        lease_until = 'epoch'
    WHERE workspace = ws AND id = call;
    PERFORM @schema@.write_call(old, new_record, ARRAY['running']);
END $$;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['offers', 'servers'] LOOP
        EXECUTE format('ALTER TABLE @schema@.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY of_workspace ON @schema@.%I FOR SELECT USING (coalesce('
            'workspace = ANY ((SELECT @schema@.readable_workspaces())::text[]), true))', name);
    END LOOP;
END $$;

REVOKE ALL ON @schema@.offers, @schema@.servers FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @schema@ FROM PUBLIC;
GRANT SELECT ON @schema@.offers, @schema@.servers
    TO @schema@_queuer, @schema@_reviewer, @schema@_runner, @schema@_auditor;
GRANT EXECUTE ON FUNCTION @schema@.server_name TO @schema@_queuer, @schema@_reviewer, @schema@_runner, @schema@_auditor;
GRANT EXECUTE ON FUNCTION @schema@.claim_call, @schema@.offer_calls, @schema@.runner_work, @schema@.report_host,
    @schema@.restore_claim TO @schema@_runner;
GRANT EXECUTE ON FUNCTION @schema@.accept_failover TO @schema@_reviewer;
