//! Checks a team's database: whether it can be used, whether it is as this version made it, and what would go wrong.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brigade_core::{Hint, NextStep, Timestamp, words};
use postgres::fallible_iterator::FallibleIterator as _;

use crate::connection::{Connection, Lease, Tables};
use crate::error::TeamError;
use crate::migrate::{GROUPS, MIGRATIONS};
use crate::shipped;
use crate::store::Core;
use crate::url::SslMode;

words! {
    /// The result of a check.
    CheckState {
        /// Nothing to do.
        Ok = "ok",
        /// It works, and should be looked at.
        Warning = "warning",
        /// It has to be mended.
        Failed = "failed",
        /// It could not be checked, because an earlier check failed.
        Skipped = "skipped",
    }
}

/// One check of a team's database.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Its name, in `kebab-case`.
    pub name: &'static str,
    /// The result.
    pub state: CheckState,
    /// What was found, as a sentence.
    pub message: String,
    /// How to mend it.
    pub fix: Option<Hint>,
}

/// The lowest version of PostgreSQL, as it numbers them.
const MIN_SERVER: i32 = 130_000;

/// The largest difference of clocks, in milliseconds.
const MAX_SKEW_MILLIS: i64 = 5_000;

/// The usual lease of a claim, in seconds.
const USUAL_LEASE: u16 = 60;

/// How long a notification may take.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// What a check returns.
type Outcome = Result<(CheckState, String, Option<Hint>), TeamError>;

/// A check.
type CheckFn = fn(&mut Doctor<'_>) -> Outcome;

/// What checks work with.
struct Doctor<'a> {
    connection: &'a Connection,
    core: Option<&'a Core>,
    now: &'a dyn Fn() -> Timestamp,
    lease: Lease,
    /// The version of the tables; 0 without tables.
    version: usize,
}

/// The checks after the first one, in order.
const CHECKS: [(&str, CheckFn); 13] = [
    ("tls", tls),
    ("server-version", server_version),
    ("schema-version", schema_version),
    ("roles", roles),
    ("functions", functions),
    ("row-security", row_security),
    ("listen", listen),
    ("lease", lease),
    ("clock", clock),
    ("hosts", hosts),
    ("approvals", approvals),
    ("synchronous-commit", synchronous_commit),
    ("timeline", timeline),
];

/// The checks that read the team's tables.
const NEED_TABLES: [&str; 5] = ["roles", "functions", "row-security", "hosts", "approvals"];

/// Checks everything. `core` is what the workspace has joined, if it has.
pub(crate) fn doctor(
    connection: &Arc<Connection>,
    core: Option<&Core>,
    now: &dyn Fn() -> Timestamp,
) -> Vec<Check> {
    let name = "reachability";
    let start = Instant::now();
    let lease = match connection.take(Tables::Any) {
        Ok(lease) => lease,
        Err(error) => {
            let fix = match &error {
                TeamError::Tls(_) => "name the certificate of the server's authority with `sslrootcert`",
                TeamError::Login(_) => {
                    "put the password into ~/.pgpass, and look at the server's pg_hba.conf"
                }
                _ => "start the server, or look at its address, firewall and `listen_addresses`",
            };
            let (state, message) = (CheckState::Failed, error.to_string());
            let skipped = CHECKS.iter().map(|(name, _)| skip(name));
            return [Check { name, state, message, fix: Some(Hint::from(fix)) }]
                .into_iter()
                .chain(skipped)
                .collect();
        }
    };
    let message =
        format!("connected to {} in {} ms", connection.url().without_user(), start.elapsed().as_millis());
    let mut checks = vec![Check { name, state: CheckState::Ok, message, fix: None }];
    let mut doctor = Doctor { connection, core, now, lease, version: 0 };
    for (name, check) in CHECKS {
        if NEED_TABLES.contains(&name) && !(1..=MIGRATIONS.len()).contains(&doctor.version) {
            checks.push(skip(name));
            continue;
        }
        let (state, message, fix) =
            check(&mut doctor).unwrap_or_else(|error| (CheckState::Failed, error.to_string(), None));
        checks.push(Check { name, state, message, fix });
    }
    checks
}

fn skip(name: &'static str) -> Check {
    let message = "not checked, because of what is above".to_owned();
    Check { name, state: CheckState::Skipped, message, fix: None }
}

fn good(message: impl Into<String>) -> Outcome {
    Ok((CheckState::Ok, message.into(), None))
}

fn warn(message: impl Into<String>, fix: impl Into<Hint>) -> Outcome {
    Ok((CheckState::Warning, message.into(), Some(fix.into())))
}

fn bad(message: impl Into<String>, fix: impl Into<Hint>) -> Outcome {
    Ok((CheckState::Failed, message.into(), Some(fix.into())))
}

impl Doctor<'_> {
    /// Returns the first column of each row.
    fn texts(&mut self, sql: &str) -> Result<Vec<String>, TeamError> {
        let rows = self.lease.rows(sql, &[])?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Returns whether the tables of this version have this one.
    fn has_table(&mut self, name: &str) -> Result<bool, TeamError> {
        let sql = format!("SELECT ''::text WHERE to_regclass('@schema@.{name}') IS NOT NULL");
        Ok(!self.texts(&sql)?.is_empty())
    }

    fn text(&mut self, sql: &str) -> Result<String, TeamError> {
        Ok(self.texts(sql)?.into_iter().next().unwrap_or_default())
    }
}

fn tls(doctor: &mut Doctor<'_>) -> Outcome {
    let used = doctor.text(
        "SELECT CASE WHEN ssl THEN version ELSE '' END FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    )?;
    let url = doctor.connection.url();
    match url.ssl_mode() {
        SslMode::VerifyFull => good(format!("encrypted with {used}, and the server is verified")),
        SslMode::Require => warn(
            format!("encrypted with {used}, to whatever server answers"),
            "use `sslmode=verify-full`, with `sslrootcert` for an authority of your own",
        ),
        SslMode::Disable if url.is_local() => good("not encrypted, on this machine"),
        SslMode::Disable => bad("not encrypted", "leave `sslmode=disable` out of the address"),
    }
}

fn server_version(doctor: &mut Doctor<'_>) -> Outcome {
    let version = doctor.text("SELECT current_setting('server_version')")?;
    let number = doctor.text("SELECT current_setting('server_version_num')")?;
    match number.parse::<i32>().unwrap_or(0) < MIN_SERVER {
        true => bad(format!("PostgreSQL {version}"), "update the server to PostgreSQL 13 or newer"),
        false => good(format!("PostgreSQL {version}")),
    }
}

fn schema_version(doctor: &mut Doctor<'_>) -> Outcome {
    let known = MIGRATIONS.len();
    if !doctor.has_table("migrations")? {
        return bad("the database has no tables of a team", Hint::to("make them", NextStep::InitTeam));
    }
    let found = doctor.text("SELECT coalesce(max(number), 0)::text FROM @schema@.migrations")?;
    doctor.version = found.parse().unwrap_or(0);
    let shown = format!("tables {found}, this version knows {known}");
    match doctor.version {
        0 => bad(shown, Hint::to("make them", NextStep::InitTeam)),
        found if known < found => bad(shown, "use the version of Brigade that updated the tables"),
        found if found < known => bad(shown, Hint::to("update them", NextStep::MigrateTeam)),
        _ => good(shown),
    }
}

/// Returns all roles that can do more than the migrations let them do.
fn roles(doctor: &mut Doctor<'_>) -> Outcome {
    let mut found = doctor.texts(
        "SELECT format('`%s` may change the table `%s`', r.rolname, c.relname)
         FROM pg_class c JOIN pg_roles r ON NOT r.rolsuper AND NOT pg_has_role(r.oid, c.relowner, 'MEMBER')
         WHERE c.relnamespace = '@schema@'::regnamespace AND c.relkind = 'r' AND r.rolname !~ '^pg_' AND (
             has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
             OR has_any_column_privilege(r.oid, c.oid, 'INSERT, UPDATE, REFERENCES'))
         ORDER BY 1",
    )?;
    found.extend(doctor.texts(
        "SELECT format('`%s` may create objects in the schema', r.rolname)
         FROM pg_namespace n JOIN pg_roles r ON NOT r.rolsuper AND NOT pg_has_role(r.oid, n.nspowner, 'MEMBER')
         WHERE n.nspname = '@schema@' AND r.rolname !~ '^pg_' AND has_schema_privilege(r.oid, n.oid, 'CREATE')
         ORDER BY 1",
    )?);
    found.extend(doctor.texts(
        "SELECT format('the member `%s` is %s', r.rolname, concat_ws(', ', CASE WHEN r.rolsuper THEN 'a superuser' END,
             CASE WHEN r.rolcreaterole THEN 'a maker of roles' END,
             CASE WHEN r.rolbypassrls THEN 'free of row-level security' END,
             CASE WHEN r.rolreplication THEN 'a replica' END,
             CASE WHEN NOT r.rolsuper AND pg_has_role(r.oid, n.nspowner, 'MEMBER') THEN 'the owner' END))
         FROM pg_roles r JOIN pg_namespace n ON n.nspname = '@schema@'
         WHERE (r.rolname IN (SELECT name FROM @schema@.members WHERE removed_at IS NULL)
                 OR r.rolname ~ '^@schema@_(queuer|reviewer|runner|auditor)$')
             AND (r.rolsuper OR r.rolcreaterole OR r.rolbypassrls OR r.rolreplication
                 OR pg_has_role(r.oid, n.nspowner, 'MEMBER'))
         ORDER BY 1",
    )?);
    let shipped = shipped::functions(doctor.connection.schema(), doctor.version);
    let granted = doctor.lease.rows(
        "SELECT p.proname::text, CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(g.grantee)::text END
         FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) g
         WHERE p.pronamespace = '@schema@'::regnamespace AND g.grantee <> p.proowner ORDER BY 1, 2",
        &[],
    )?;
    for row in &granted {
        let (function, role): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let schema = doctor.connection.schema().to_string();
        let group = GROUPS.iter().find(|group| role == format!("{schema}_{group}"));
        let is_ours = shipped
            .get(function)
            .is_some_and(|shipped| group.is_some_and(|group| shipped.groups.contains(group)));
        if !is_ours {
            found.push(format!("`{role}` may call `{function}`"));
        }
    }
    match found.is_empty() {
        true => good("roles can do what they should, and nothing else"),
        false => bad(found.join("; "), "take it away with REVOKE or ALTER ROLE, as the owner"),
    }
}

fn functions(doctor: &mut Doctor<'_>) -> Outcome {
    let mut shipped = shipped::functions(doctor.connection.schema(), doctor.version);
    let rows = doctor.lease.rows(
        "SELECT p.proname::text, p.prosrc, p.prosecdef AND p.proowner = n.nspowner
             AND p.proconfig = ARRAY['search_path=pg_catalog, pg_temp']
         FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '@schema@' ORDER BY 1",
        &[],
    )?;
    let mut found = Vec::new();
    let count = shipped.len();
    for row in &rows {
        let (name, body): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let is_safe: Option<bool> = row.try_get(2)?;
        match shipped.remove(name) {
            None => found.push(format!("`{name}` is not a function of Brigade")),
            Some(function) if function.body != body => found.push(format!("`{name}` was changed by hand")),
            Some(_) if is_safe != Some(true) => {
                found.push(format!("`{name}` has another owner or search path"))
            }
            Some(_) => {}
        }
    }
    found.extend(shipped.keys().map(|name| format!("`{name}` is missing")));
    found.extend(doctor.texts(
        "SELECT format('the table `%s` has the trigger `%s`', c.relname, t.tgname)
         FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
         WHERE c.relnamespace = '@schema@'::regnamespace AND NOT t.tgisinternal
             AND (p.pronamespace <> c.relnamespace OR p.proname NOT IN ('count_calls', 'count_runs')) ORDER BY 1",
    )?);
    match found.is_empty() {
        true => good(format!("{count} functions are as this version has them")),
        false => bad(
            found.join("; "),
            "find out who could do it, and restore them from a dump of the schema that was made before",
        ),
    }
}

fn row_security(doctor: &mut Doctor<'_>) -> Outcome {
    let found = doctor.texts(
        "SELECT c.relname::text FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'workspace' AND NOT a.attisdropped
         WHERE c.relnamespace = '@schema@'::regnamespace AND c.relkind = 'r' AND (NOT c.relrowsecurity
             OR (SELECT array_agg(p.polname::text || p.polcmd::text || (pg_get_expr(p.polqual, p.polrelid)
                     LIKE '%readable_workspaces()%')::text) FROM pg_policy p WHERE p.polrelid = c.oid)
                 IS DISTINCT FROM ARRAY['of_workspacertrue'])
         ORDER BY 1",
    )?;
    match found.is_empty() {
        true => good("members see the rows of their workspaces only"),
        false => bad(
            format!("rows of other workspaces are visible in: {}", found.join(", ")),
            "enable row-level security there, with the policy `of_workspace` alone",
        ),
    }
}

fn listen(doctor: &mut Doctor<'_>) -> Outcome {
    let channel = format!("brigade_doctor_{}", std::process::id());
    doctor.lease.run(&format!("LISTEN {channel}; NOTIFY {channel}"))?;
    let found = doctor.lease.notifications().timeout_iter(NOTIFY_TIMEOUT).next();
    doctor.lease.run(&format!("UNLISTEN {channel}"))?;
    match found {
        Ok(Some(_)) => good("notifications arrive"),
        Ok(None) | Err(_) => bad(
            "no notification arrives, so runners only look every 2 seconds",
            "connect to the server itself, or through a pooler in session mode",
        ),
    }
}

fn lease(doctor: &mut Doctor<'_>) -> Outcome {
    let start = Instant::now();
    for _ in 0..4 {
        doctor.text("SELECT ''::text")?;
    }
    let round_trip = start.elapsed() / 4;
    let lease = u64::from(doctor.core.map_or(USUAL_LEASE, |core| core.options.lease_seconds));
    // A renewal is sent at a quarter. Four of them fit before five sixths.
    let least = (round_trip * 16).as_secs() + 2;
    let shown = format!("a statement takes {:.1} ms, a lease {lease} s", round_trip.as_secs_f64() * 1000.0);
    match lease < least {
        true => bad(shown, format!("use a lease of at least {least} s, or a server that is nearer")),
        false => good(shown),
    }
}

fn clock(doctor: &mut Doctor<'_>) -> Outcome {
    let before = (doctor.now)().unix_micros();
    let micros = doctor.text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text")?;
    let middle = before / 2 + (doctor.now)().unix_micros() / 2;
    let skew = (micros.parse::<i64>().unwrap_or(0) - middle) / 1000;
    let shown = format!("the clock of the database is {skew:+} ms from this one");
    match MAX_SKEW_MILLIS < skew.abs() {
        true => bad(shown, "let both hosts set their clocks by NTP"),
        false => good(shown),
    }
}

fn hosts(doctor: &mut Doctor<'_>) -> Outcome {
    let lost = doctor.texts(
        "SELECT DISTINCT format('`%s` does not renew the claim of %s', host, id) FROM @schema@.calls
         WHERE status = 'running' AND lease_until <= clock_timestamp() ORDER BY 1",
    )?;
    if !lost.is_empty() {
        let fix = "look at these hosts; the next command that writes marks the calls as interrupted";
        return bad(lost.join("; "), fix);
    }
    let away = doctor.texts(
        "SELECT format('`%s` since %s UTC', h.name, to_char(h.last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'))
         FROM @schema@.hosts h JOIN @schema@.members m ON m.name = split_part(h.name, '@', 1)
         WHERE m.removed_at IS NULL AND 'runner' = ANY (m.roles)
             AND h.last_seen_at < clock_timestamp() - interval '1 day' ORDER BY 1",
    )?;
    match away.is_empty() {
        true => good("no host is gone"),
        false => warn(format!("not seen: {}", away.join("; ")), "start their runners, or remove the members"),
    }
}

fn approvals(doctor: &mut Doctor<'_>) -> Outcome {
    let mut unused = doctor.texts(
        "SELECT format('%s of `%s`', c.id, c.workspace) FROM @schema@.calls c
         WHERE c.status IN ('approved', 'resume-pending') AND (
             (SELECT count(*) FROM @schema@.approvals a JOIN @schema@.members m ON m.name = a.member
                 WHERE a.workspace = c.workspace AND a.call_id = c.id AND a.revision = c.approved_revision
                     AND m.public_key = a.public_key AND m.removed_at IS NULL AND 'reviewer' = ANY (m.roles)
                     AND (a.member <> c.queued_by OR @schema@.needed_approvals(c.tool_id, c.family, c.effects) = 1))
                 < @schema@.needed_approvals(c.tool_id, c.family, c.effects)
             OR NOT EXISTS (SELECT FROM @schema@.members m WHERE m.removed_at IS NULL AND 'runner' = ANY (m.roles)
                 AND coalesce(c.workspace = ANY (m.workspaces), true)))
         ORDER BY 1 LIMIT 20",
    )?;
    if doctor.has_table("offers")? {
        unused.extend(doctor.texts(
            "SELECT format('%s of `%s`', c.id, c.workspace) FROM @schema@.calls c
             JOIN @schema@.offers o ON o.workspace = c.workspace AND o.call_id = c.id AND o.revision = c.revision
             WHERE c.status = 'approved' GROUP BY c.id, c.workspace HAVING bool_and(o.is_passed_over)
             ORDER BY 1 LIMIT 20",
        )?);
    }
    if !unused.is_empty() {
        let message = format!("no runner can use the approvals of: {}", unused.join(", "));
        let fix = "approve these calls again with a key of the roster, or add a runner for the workspace";
        return bad(message, fix);
    }
    let Some(core) = doctor.core else { return good("runners can use every approval") };
    let roster = crate::roster::members(&mut doctor.lease)?;
    let is_trusted =
        |member: &&crate::Member| core.options.keys.get(&member.name) == member.public_key.as_ref();
    let reviewers = roster.iter().filter(|member| member.roles.iter().any(|role| role == "reviewer"));
    let unknown: Vec<&str> =
        reviewers.filter(|member| !is_trusted(member)).map(|member| member.name.as_str()).collect();
    match unknown.is_empty() {
        true => good("runners can use every approval"),
        false => warn(
            format!("this host does not trust the keys of: {}", unknown.join(", ")),
            Hint::to("accept them", NextStep::AcceptRoster),
        ),
    }
}

fn synchronous_commit(doctor: &mut Doctor<'_>) -> Outcome {
    let mut found = doctor.texts(
        "SELECT coalesce((SELECT rolname FROM pg_roles WHERE oid = setrole), 'all roles')::text
         FROM pg_db_role_setting WHERE 'synchronous_commit=off' = ANY (setconfig)
             AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())) ORDER BY 1",
    )?;
    let setting = doctor.text("SELECT current_setting('synchronous_commit')")?;
    if setting == "off" && found.is_empty() {
        found.push("the server".to_owned());
    }
    if !found.is_empty() {
        return bad(
            format!(
                "off for {}: a claim that was answered may be lost in a crash, and the call run again",
                found.join(", ")
            ),
            "set `synchronous_commit` to `on` in postgresql.conf, and reset it for the database and its roles",
        );
    }
    match doctor.text("SELECT current_setting('fsync')")?.as_str() {
        "on" => good(setting),
        _ => warn("`fsync` is off: a crash of the machine may lose everything", "set `fsync` to `on`"),
    }
}

fn timeline(doctor: &mut Doctor<'_>) -> Outcome {
    let timeline = doctor.text(
        "SELECT CASE WHEN pg_is_in_recovery() THEN ''
             ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint::text END",
    )?;
    match timeline.as_str() {
        "" => bad(
            "the server is a replica, which only reads",
            "name the primary, with `target_session_attrs=read-write`",
        ),
        timeline if doctor.has_table("servers")? => {
            let waiting =
                "SELECT workspace FROM @schema@.servers WHERE name <> @schema@.server_name() ORDER BY 1";
            match doctor.texts(waiting)?.as_slice() {
                [] => good(format!("timeline {timeline}")),
                waiting => bad(
                    format!(
                        "timeline {timeline}, and before another server, whose claims are awaited in: {}",
                        waiting.join(", ")
                    ),
                    "start the runners, which report their claims, or let a reviewer accept the failover",
                ),
            }
        }
        timeline => good(format!("timeline {timeline}")),
    }
}
