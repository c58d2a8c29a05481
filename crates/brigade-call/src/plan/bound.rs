//! What an approval of a planned call covers.

use brigade_core::Fingerprint;
use brigade_policy::{Blocker, CallKind};

use super::{Secrets, install};
use crate::absent_name;
use crate::binding::{Binding, RULE_VERSION};
use crate::code::BoundBy;
use crate::contract::{ContractFiles, contract_fingerprint, installation_contract};
use crate::facts::{PlanFacts, ProgramFact, ServerFact};

/// Returns the kind of a call, the fingerprint of its contract, and the reasons against it.
pub(super) fn contract_of(
    facts: &PlanFacts<'_>,
    blockers: Vec<Blocker>,
) -> (CallKind, Fingerprint, Vec<Blocker>) {
    let tool = facts.tool;
    let files = ContractFiles {
        input_schema: facts.input_schema.fingerprint(),
        output_schema: facts.output_schema.fingerprint(),
        examples: facts.examples.fingerprint(),
    };
    match facts.installs {
        None => (CallKind::of_tool(tool.id.as_str()), contract_fingerprint(tool, &files), blockers),
        Some(entry) => {
            let contract = installation_contract(tool, entry, &files);
            (CallKind::Install, contract, install::blockers(tool, entry, blockers))
        }
    }
}

/// Takes everything that an approval of the call covers out of the facts.
pub(super) fn binding(
    facts: &mut PlanFacts<'_>,
    contract: Fingerprint,
    args: Fingerprint,
    secrets: Secrets,
) -> Binding {
    let tool = facts.tool;
    let things = facts.builtin.as_mut().map(|known| std::mem::take(&mut known.named.things));
    let absent = facts.absent.iter().filter(|_| secrets == Secrets::None).map(|path| {
        let what = Fingerprint::builder("brigade.absent.v1").text("path", path.as_str()).finish();
        (absent_name(path), what)
    });
    let named = things.unwrap_or_default().into_iter().chain(absent);
    let named = named.chain(std::mem::take(&mut facts.health)).collect();
    // Those that are missing now count, too.
    let learned = facts.code.by.iter().filter(|(_, by)| **by == BoundBy::Learned);
    Binding {
        version: Some(RULE_VERSION),
        learned: learned.map(|(path, _)| path.clone()).collect(),
        args,
        contract,
        source: match facts.source.fingerprint() {
            Some(fingerprint) => fingerprint.to_hex(),
            None => tool.fingerprint.clone().unwrap_or_default(),
        },
        projections: facts.projections.fingerprint,
        policy: facts.decision.fingerprint(),
        program: match &facts.program {
            ProgramFact::Found(program) => Some(program.clone()),
            ProgramFact::NotExecuted | ProgramFact::NotFound | ProgramFact::Unreadable(_) => None,
        },
        files: std::mem::take(&mut facts.files),
        directory: facts.real_directory.take(),
        pin: facts.pin.fingerprint(),
        server: facts.server.as_ref().map(ServerFact::fingerprint),
        caller: facts.caller.clone(),
        session: facts.session.as_ref().and_then(|session| session.bound(tool.id.as_str())),
        named,
    }
}
