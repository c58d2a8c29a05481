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

#[cfg(test)]
mod tests {
    use brigade_call::{Caller, ProgramBinding};
    use brigade_policy::Access;

    use super::*;
    use crate::testing::CallBench;

    fn mark(text: &str) -> Fingerprint {
        Fingerprint::of_bytes(text.as_bytes())
    }

    /// What a host binds, with this script of the workspace and this program of the host.
    fn binding(script: &str, program: &str) -> Binding {
        let one = mark("one");
        let mut binding = Binding::new(one, one, one, one, Caller::CommandLine);
        binding.files.insert("bin/tool.sh".to_owned(), mark(script));
        binding.files.insert("/opt/lib.so".to_owned(), mark(program));
        binding.program = Some(ProgramBinding { path: "/bin/sh".to_owned(), sha256: mark(program) });
        binding
    }

    fn offer(host: &str, binding: Option<Binding>, blockers: &[&str]) -> HostOffer {
        let access =
            Access { read: vec![], write: vec![], closed: vec![], network: false, sandbox: "off".to_owned() };
        HostOffer {
            host: host.to_owned(),
            is_own: false,
            offered_at: None,
            binding,
            access,
            blockers: blockers.iter().map(|reason| (*reason).to_owned()).collect(),
            passed_over: None,
        }
    }

    #[test]
    fn equal_offers_are_one_group_in_order_of_hosts() {
        let own = binding("a", "p");
        let offers = [
            offer("one", Some(own.clone()), &[]),
            offer("two", Some(binding("a", "q")), &[]),
            offer("three", Some(own.clone()), &[]),
            offer("four", Some(own.clone()), &["no"]),
            offer("five", None, &["no tool"]),
        ];
        let groups = grouped(&offers, Some(&own));
        let hosts: Vec<String> = groups.iter().map(|group| group.hosts.join(" ")).collect();
        assert_eq!(hosts, ["one three", "two", "four", "five"]);
        let covered: Vec<bool> = groups.iter().map(|group| group.covered).collect();
        assert_eq!(covered, [true, true, false, false], "another program is covered, a blocked host is not");
        assert!(groups[0].differs.is_empty() && !groups[1].differs.is_empty(), "{groups:?}");
        // Files of the workspace are shared, so only others are listed.
        assert_eq!(groups[0].files.keys().collect::<Vec<_>>(), ["/opt/lib.so"]);
        assert_eq!((groups[3].program.clone(), groups[3].shared_part), (None, None));
    }

    #[test]
    fn another_script_of_the_workspace_is_not_covered() {
        let groups = grouped(&[offer("one", Some(binding("b", "p")), &[])], Some(&binding("a", "p")));
        assert!(!groups[0].covered);
        let unknown = grouped(&[offer("one", Some(binding("a", "p")), &[])], None);
        assert!(!unknown[0].covered && unknown[0].differs.is_empty(), "nothing here to compare with");
    }

    #[test]
    fn without_a_team_only_reasons_prevent_approval() {
        let bench = CallBench::new("");
        let call = bench.call(&bench.queue("{}"));
        assert_eq!(offers_for(&bench.context, &call).unwrap(), []);
        let reasons = vec![Blocker::new(ErrorCode::ProgramNotFound, "gone")];
        let error = not_approvable(&bench.context, &call, &[], reasons).unwrap();
        assert_eq!((error.code(), error.blockers().len()), (ErrorCode::CallBlocked, 1));
        assert_eq!(error.to_string(), format!("call {} cannot be approved", call.id));
    }

    #[test]
    fn an_approval_covers_more_only_with_a_new_host() {
        let bench = CallBench::new("");
        let call = bench.call(&bench.approved("{}"));
        let own = call.approval.as_ref().unwrap().binding.clone();
        let covers =
            |hosts: Vec<Fingerprint>| ApprovedHosts { binding: own.clone(), hosts }.covers_more_than(&call);
        assert!(!covers(Vec::new()) && !covers(vec![own.host_part()]));
        assert!(covers(vec![own.host_part(), mark("another host")]));
        let pending = Call { approval: None, ..call.clone() };
        assert!(!ApprovedHosts { binding: own.clone(), hosts: vec![mark("x")] }.covers_more_than(&pending));
    }
}
