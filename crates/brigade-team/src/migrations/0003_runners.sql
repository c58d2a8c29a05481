-- Runners: what they offer, what they can do, and what they report after a failover.

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

REVOKE ALL ON FUNCTION @schema@.offer_calls, @schema@.runner_work, @schema@.report_host, @schema@.accept_failover,
    @schema@.restore_claim FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @schema@.offer_calls, @schema@.runner_work, @schema@.report_host, @schema@.restore_claim
    TO @schema@_runner;
GRANT EXECUTE ON FUNCTION @schema@.accept_failover TO @schema@_reviewer;
