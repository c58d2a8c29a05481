//! Verifies the chains of all hosts, and the approvals of the calls that ran.

use std::collections::BTreeSet;

use brigade_core::Fingerprint;
use brigade_queue::{Finding, StoredCall, Tampering, Verification};
use postgres::Row;

use crate::error::TeamError;
use crate::signature::{ImportedCall, Subject};
use crate::snapshot::{PAGE, TeamSnapshot};
use crate::store::Core;

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeamVerification {
    /// How many receipts were checked.
    pub receipts: u64,
    /// How many hosts have a chain.
    pub hosts: u64,
    /// How many approvals were checked.
    pub approvals: u64,
    /// What was found.
    pub findings: Vec<TeamFinding>,
}

/// Something that is not as it was recorded, or was not approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamFinding {
    /// What happened to a receipt, or `unsigned`, `untrusted`, `not-approved` or `late`.
    pub problem: &'static str,
    /// The host, if it is known.
    pub host: Option<String>,
    /// The run; empty if it is unknown.
    pub run_id: String,
    /// The call, if it is known.
    pub call_id: Option<String>,
    /// The fault, as a sentence.
    pub message: &'static str,
}

/// The chains of all hosts of a workspace.
#[derive(Default)]
pub(crate) struct Chains {
    checked: u64,
    last: u64,
    hosts: u64,
    findings: Vec<(Option<String>, Finding)>,
}

impl Chains {
    pub(crate) fn into_verification(self) -> Verification {
        Verification {
            checked: self.checked,
            findings: self.findings.into_iter().map(|(_, finding)| finding).collect(),
            last: self.last,
            is_unadopted: false,
        }
    }

    fn add(&mut self, host: &str, sequence: i64, run: &str, tampering: Tampering, detail: &'static str) {
        let sequence = u64::try_from(sequence).ok();
        let finding = Finding { sequence, line: None, run_id: run.to_owned(), tampering, detail };
        self.findings.push((Some(host.to_owned()), finding));
    }
}

/// Returns the link of an entry after another one, as the database computes it.
fn link_after(link: &str, host: &str, sequence: i64, run: &str, sha256: &str) -> String {
    let text = format!("brigade.team-receipt.v1\n{link}\n{host}\n{sequence}\n{run}\n{sha256}");
    Fingerprint::of_bytes(text.as_bytes()).to_hex()
}

/// Checks every host's chain from an entry on, and that each call that ran has a receipt.
pub(crate) fn check_chains(snapshot: &TeamSnapshot, from: u64) -> Result<Chains, TeamError> {
    let workspace = &snapshot.core.options.workspace;
    let mut chains = Chains::default();
    let hosts = "SELECT name, sequence, link FROM @schema@.hosts WHERE workspace = $1 AND sequence <> 0 ORDER BY name";
    for chain in snapshot.rows(hosts, &[workspace])? {
        let (host, last, last_link): (&str, i64, &str) =
            (chain.try_get(0)?, chain.try_get(1)?, chain.try_get(2)?);
        chains.hosts += 1;
        let (mut expected, mut link) = (1, String::new());
        loop {
            let sql = format!(
                "SELECT sequence, run_id, sha256, link, body FROM @schema@.receipts \
                 WHERE workspace = $1 AND host = $2 AND $3 <= sequence ORDER BY sequence LIMIT {PAGE}"
            );
            let rows = snapshot.rows(&sql, &[workspace, &host, &expected])?;
            for row in &rows {
                let (sequence, run, sha256): (i64, &str, &str) =
                    (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
                let (stored, body): (&str, &[u8]) = (row.try_get(3)?, row.try_get(4)?);
                if sequence != expected {
                    let detail = "an entry of the host's chain is missing";
                    chains.add(host, expected, "", Tampering::Removed, detail);
                }
                if Fingerprint::of_bytes(body).to_hex() != sha256 {
                    let detail = "the receipt does not have the bytes of its entry";
                    chains.add(host, sequence, run, Tampering::Changed, detail);
                }
                link = link_after(&link, host, sequence, run, sha256);
                if link != stored {
                    let detail = "the entry does not continue the host's chain";
                    chains.add(host, sequence, run, Tampering::Changed, detail);
                    stored.clone_into(&mut link);
                }
                chains.checked += u64::from(from <= u64::try_from(sequence).unwrap_or(0));
                expected = sequence + 1;
            }
            if rows.len() < PAGE as usize {
                break;
            }
        }
        if expected <= last {
            let detail = "the host's chain ends before its last entry";
            chains.add(host, expected, "", Tampering::CutOff, detail);
        } else if link != last_link {
            let detail = "the host's chain does not end as its host recorded";
            chains.add(host, last, "", Tampering::Changed, detail);
        }
        chains.last = chains.last.max(u64::try_from(expected - 1).unwrap_or(0));
    }
    chains.findings.retain(|(_, finding)| finding.sequence.is_none_or(|sequence| from <= sequence));
    let missing = "SELECT c.run_id FROM @schema@.calls c WHERE c.workspace = $1 AND c.run_id IS NOT NULL
                       AND c.status <> 'running' AND NOT EXISTS (SELECT FROM @schema@.receipts r
                           WHERE r.workspace = $1 AND r.run_id = c.run_id AND NOT r.is_late AND NOT r.is_aside)";
    for row in snapshot.rows(missing, &[workspace])? {
        let detail = "its call has run, and it has no receipt";
        let (run_id, tampering) = (row.try_get(0)?, Tampering::Removed);
        chains.findings.push((None, Finding { sequence: None, line: None, run_id, tampering, detail }));
    }
    Ok(chains)
}

/// Verifies everything: chains, receipts, and the approvals of each call that ran.
pub(crate) fn verify(snapshot: &TeamSnapshot) -> Result<TeamVerification, TeamError> {
    let chains = check_chains(snapshot, 1)?;
    let mut found = TeamVerification {
        receipts: chains.checked,
        hosts: chains.hosts,
        approvals: 0,
        findings: Vec::new(),
    };
    found.findings.extend(chains.findings.into_iter().map(|(host, finding)| TeamFinding {
        problem: finding.tampering.as_str(),
        host,
        run_id: finding.run_id,
        call_id: None,
        message: finding.detail,
    }));
    let late = "SELECT host, run_id, call_id FROM @schema@.receipts WHERE workspace = $1 AND is_late
                ORDER BY host, sequence";
    for row in snapshot.rows(late, &[&snapshot.core.options.workspace])? {
        found.findings.push(TeamFinding {
            problem: "late",
            host: Some(row.try_get(0)?),
            run_id: row.try_get(1)?,
            call_id: Some(row.try_get(2)?),
            message: "it was reported after its claim had expired, and ends nothing",
        });
    }
    check_approvals(snapshot, &mut found)?;
    Ok(found)
}

/// Checks that a reviewer signed a call that ran before it was brought from files.
fn check_import(core: &Core, row: &Row, id: &str, member: &str) -> Result<Option<TeamFinding>, TeamError> {
    let (key, receipts, signed_at): (&str, Vec<String>, &str) =
        (row.try_get(8)?, row.try_get(9)?, row.try_get(10)?);
    let (signature, is_same): (&[u8], bool) = (row.try_get(11)?, row.try_get(12)?);
    let subject =
        Subject { team: &core.options.team_id, workspace: &core.options.workspace, call: id, revision: 0 };
    let (record, receipts) = (row.try_get(1)?, receipts.as_slice());
    let import = ImportedCall { subject, member, record, receipts, signed_at };
    let (problem, message) = match () {
        () if !is_same || !import.is_signed(key, signature) => {
            ("not-approved", "it was brought from files, and no signature is valid for what it is now")
        }
        () if core.options.keys.get(member).map(String::as_str) != Some(key) => {
            ("untrusted", "it was brought from files by a person whose key this host does not trust")
        }
        () => return Ok(None),
    };
    let (host, run_id, call_id) = (row.try_get(5)?, row.try_get(4)?, Some(id.to_owned()));
    Ok(Some(TeamFinding { problem, host, run_id, call_id, message }))
}

/// Checks that each call that ran had enough valid approvals. Rules that were added later do not count.
fn check_approvals(snapshot: &TeamSnapshot, found: &mut TeamVerification) -> Result<(), TeamError> {
    let core = &snapshot.core;
    let sql = format!(
        "SELECT c.sequence, c.record, c.approved_revision, c.queued_by, c.run_id, c.host, \
            (SELECT coalesce(max(r.approvals), 1) FROM @schema@.rules r \
             WHERE r.added_at <= (c.record::json ->> 'started_at')::timestamptz \
                AND (r.effect IS NULL OR r.effect = ANY (c.effects)) \
                AND (r.tool IS NULL OR r.tool = c.tool_id) AND (r.family IS NULL OR r.family = c.family)), \
            i.member, i.public_key, i.receipts, i.signed_at, i.signature, \
            coalesce(i.record = c.record AND f.sha256 = ANY (i.receipts), false) \
         FROM @schema@.calls c \
         LEFT JOIN @schema@.imports i ON i.workspace = c.workspace AND i.call_id = c.id AND c.claimed_by IS NULL \
         LEFT JOIN @schema@.receipts f ON f.workspace = c.workspace AND f.run_id = c.run_id \
            AND NOT f.is_late AND NOT f.is_aside \
         WHERE c.workspace = $1 AND c.run_id IS NOT NULL AND $2 < c.sequence \
         ORDER BY c.sequence LIMIT {PAGE}"
    );
    let mut after = 0i64;
    loop {
        let rows = snapshot.rows(&sql, &[&core.options.workspace, &after])?;
        let mut calls = Vec::with_capacity(rows.len());
        for row in &rows {
            calls.extend(StoredCall::from_text(row.try_get(1)?).map(|stored| (row, stored.call)));
        }
        let ids: Vec<&str> = calls.iter().map(|(_, call)| call.id.as_str()).collect();
        let approvals = snapshot.approvals(&ids, "")?;
        for (row, call) in &calls {
            let (revision, queued_by): (Option<i64>, &str) = (row.try_get(2)?, row.try_get(3)?);
            let need: i32 = row.try_get(6)?;
            let need = need.max(core.accepted_need(call, call.started_at));
            let id = call.id.as_str();
            let revision = revision.unwrap_or(0);
            let given = approvals.get(&(id.to_owned(), revision)).map_or(&[][..], Vec::as_slice);
            if let Some(member) = row.try_get::<_, Option<&str>>(7)? {
                found.approvals += 1;
                found.findings.extend(check_import(core, row, id, member)?);
                continue;
            }
            found.approvals += given.len() as u64;
            let subject = Subject {
                team: &core.options.team_id,
                workspace: &core.options.workspace,
                call: id,
                revision,
            };
            let covering = given.iter().filter(|approval| {
                call.approval.as_ref().is_some_and(|bound| approval.covers(subject, &bound.binding))
            });
            let covering: Vec<_> = covering.collect();
            let trusted: BTreeSet<&str> = covering
                .iter()
                .filter(|approval| core.options.keys.get(&approval.member) == Some(&approval.public_key))
                .filter(|approval| need == 1 || approval.member != queued_by)
                .map(|approval| approval.member.as_str())
                .collect();
            let (problem, message) = match () {
                () if usize::try_from(need).is_ok_and(|need| need <= trusted.len()) => continue,
                () if given.is_empty() => ("unsigned", "its call has run, and no approval of it is signed"),
                () if covering.is_empty() => {
                    ("not-approved", "no signature is valid for what its call was bound to")
                }
                () if trusted.is_empty() => {
                    ("untrusted", "no approval is signed with a key that this host trusts")
                }
                () => ("not-approved", "its call has run with fewer approvals than the rules want"),
            };
            found.findings.push(TeamFinding {
                problem,
                host: row.try_get(5)?,
                run_id: row.try_get(4)?,
                call_id: Some(id.to_owned()),
                message,
            });
        }
        let Some(last) = rows.last().filter(|_| rows.len() == PAGE as usize) else { return Ok(()) };
        after = last.try_get(0)?;
    }
}
