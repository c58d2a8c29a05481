//! Issues of projections that a person has looked at and accepted.

use std::collections::BTreeSet;

use crate::Issue;

/// Issues, divided by a closeout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quieted {
    /// The issues that remain, in their order.
    pub issues: Vec<Issue>,
    /// Issues of projections that the closeout lists.
    pub quieted: Vec<Issue>,
    /// Issues of projections that came, or changed, after the closeout; they are among `issues` too.
    pub changed: Vec<Issue>,
}

/// Takes out the issues of projections whose fingerprints a closeout lists; `None` when there is no closeout.
///
/// The fingerprints are those of [`Issue::fingerprint`], or the first 16 digits of them.
pub fn quiet(issues: Vec<Issue>, closeout: Option<&BTreeSet<String>>) -> Quieted {
    let mut divided = Quieted::default();
    for issue in issues {
        let (Some(listed), true) = (closeout, issue.projection.is_some()) else {
            divided.issues.push(issue);
            continue;
        };
        let fingerprint = issue.fingerprint();
        if listed.contains(&fingerprint.to_hex()) || listed.contains(&fingerprint.short()) {
            divided.quieted.push(issue);
        } else {
            divided.changed.push(issue.clone());
            divided.issues.push(issue);
        }
    }
    divided
}
