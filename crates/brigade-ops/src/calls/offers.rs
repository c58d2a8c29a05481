//! What the hosts of a team would run for a call, and what an approval covers of it.

use std::collections::BTreeMap;

use brigade_call::{Binding, Call, CallStatus, Change, HostOffer, Plan};
use brigade_core::{ErrorCode, Fingerprint};
use brigade_policy::Blocker;
use brigade_workspace::WorkspaceContext;

use crate::error::{Error, ErrorKind};
use crate::report::OfferGroup;

/// Reads what the hosts of a team would run for a call that waits or is approved, by host. Empty without a team.
pub(crate) fn offers_for(context: &WorkspaceContext, call: &Call) -> Result<Vec<HostOffer>, Error> {
    let is_offered = matches!(call.status, CallStatus::Pending | CallStatus::Held | CallStatus::Approved);
    if !is_offered || context.shared_name().is_none() {
        return Ok(Vec::new());
    }
    Ok(context.queue().read()?.offers(&call.id)?)
}

/// Puts equal offers together, in the order of their first hosts.
pub(crate) fn grouped(offers: &[HostOffer], own: Option<&Binding>) -> Vec<OfferGroup> {
    let shared = own.map(Binding::shared_part);
    let mut groups: Vec<OfferGroup> = Vec::new();
    for offer in offers {
        let group = group(offer, own, shared);
        match groups
            .iter_mut()
            .find(|known| OfferGroup { hosts: group.hosts.clone(), ..(*known).clone() } == group)
        {
            Some(known) => known.hosts.extend(group.hosts),
            None => groups.push(group),
        }
    }
    groups
}

fn group(offer: &HostOffer, own: Option<&Binding>, shared: Option<Fingerprint>) -> OfferGroup {
    let binding = offer.binding.as_ref();
    let outside = binding.into_iter().flat_map(|binding| &binding.files);
    let outside = outside.filter(|(path, _)| path.starts_with('/'));
    let differs = own.zip(binding).map(|(own, binding)| own.changes(binding)).unwrap_or_default();
    OfferGroup {
        hosts: vec![offer.host.clone()],
        covered: shared.is_some_and(|shared| offer.covered_by(shared).is_some()),
        shared_part: binding.map(Binding::shared_part),
        host_part: binding.map(Binding::host_part),
        program: binding.and_then(|binding| binding.program.clone()),
        files: outside.map(|(path, sha256)| (path.clone(), *sha256)).collect::<BTreeMap<_, _>>(),
        pin: binding.and_then(|binding| binding.pin),
        policy: binding.map(|binding| binding.policy),
        access: offer.access.clone(),
        differs: differs.iter().map(Change::to_string).collect(),
        blockers: offer.blockers.clone(),
        passed_over: offer.passed_over.clone(),
    }
}

/// What an approval binds, and the hosts that it also covers.
pub(crate) struct ApprovedHosts {
    pub(crate) binding: Binding,
    pub(crate) hosts: Vec<Fingerprint>,
}

impl ApprovedHosts {
    /// Returns what an approval covers: what this host would run, and what the shown hosts would whose shared part is
    /// the same.
    ///
    /// # Errors
    /// Returns the reasons of this host, if it cannot run the call and no shown host can.
    pub(crate) fn new(plan: &Plan, call: &Call, shown: &[HostOffer]) -> Result<ApprovedHosts, Vec<Blocker>> {
        let shared = plan.binding().shared_part();
        let covered: Vec<&Binding> = shown.iter().filter_map(|offer| offer.covered_by(shared)).collect();
        let binding = match (plan.approvable(call), covered.first()) {
            (Ok(binding), _) => binding,
            (Err(_), Some(first)) if plan.changes_since_queued(call).is_empty() => (*first).clone(),
            (Err(reasons), _) => return Err(reasons),
        };
        let hosts = covered.iter().map(|binding| binding.host_part()).collect();
        Ok(ApprovedHosts { binding, hosts })
    }

    /// Returns whether an approval of the call covers fewer hosts than this.
    pub(crate) fn covers_more_than(&self, call: &Call) -> bool {
        call.approval.as_ref().is_some_and(|approval| {
            let known = approval.binding.host_part();
            self.hosts.iter().any(|host| *host != known && !approval.hosts.contains(host))
        })
    }
}

/// Returns the error of a call that neither this host nor a runner can run, and the runners that it waits for.
pub(crate) fn not_approvable(
    context: &WorkspaceContext,
    call: &Call,
    offers: &[HostOffer],
    reasons: Vec<Blocker>,
) -> Result<Error, Error> {
    let message = format!("call {} cannot be approved", call.id);
    let error = |message: String| Error::new(ErrorKind::Refused, message).coded(ErrorCode::CallBlocked);
    if context.shared_name().is_none() {
        return Ok(error(message).because(reasons));
    }
    let mut waits_for = context.queue().read()?.runner_hosts()?;
    waits_for.retain(|host| offers.iter().all(|offer| offer.host != *host));
    let waits_for = match waits_for.as_slice() {
        [] if offers.is_empty() => "no runner is there".to_owned(),
        [] => "no runner can run what this host would approve".to_owned(),
        hosts => format!("it waits for {}", hosts.join(", ")),
    };
    Ok(error(format!("{message}: this host cannot run it, and {waits_for}")).because(reasons))
}
