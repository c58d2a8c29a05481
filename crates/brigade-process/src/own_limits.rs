//! Restores the limits of this process if they were lowered during a run.
//!
//! Without a sandbox, a program of the same user can lower the limits of the caller and the keeper. A caller that may
//! not open files could not record how the run ended.

/// The limits that a process needs to record a run and clean up.
const KEPT_LIMITS: [crate::launch::Resource; 2] = [libc::RLIMIT_NOFILE, libc::RLIMIT_FSIZE];

/// Saved limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnLimits([libc::rlimit; KEPT_LIMITS.len()]);

impl OwnLimits {
    /// Returns the limits of the calling process. Makes only plain system calls.
    pub(crate) fn now() -> OwnLimits {
        OwnLimits(KEPT_LIMITS.map(|resource| {
            let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: `limit` is valid for writing.
            unsafe { libc::getrlimit(resource, &mut limit) };
            limit
        }))
    }

    /// Raises lowered limits as far as this process may; without privileges, up to the remaining hard limit. Returns
    /// whether all limits are restored. Makes only plain system calls.
    pub(crate) fn restore(&self) -> bool {
        let mut restored = true;
        let now = OwnLimits::now();
        for ((resource, before), now) in KEPT_LIMITS.iter().zip(&self.0).zip(&now.0) {
            if before.rlim_cur <= now.rlim_cur {
                continue;
            }
            let partly = libc::rlimit { rlim_cur: before.rlim_cur.min(now.rlim_max), rlim_max: now.rlim_max };
            // SAFETY: both limits outlive the calls, which only read them.
            unsafe {
                if libc::setrlimit(*resource, before) != 0 {
                    restored = false;
                    libc::setrlimit(*resource, &partly);
                }
            }
        }
        restored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn lowered_limits_are_restored() {
        // Runs in its own process, because limits apply to a whole process.
        let child = brigade_sandbox::system::fork_into(|| {
            let before = OwnLimits::now();
            for (resource, limit) in KEPT_LIMITS.into_iter().zip(before.0) {
                let none = libc::rlimit { rlim_cur: 0, ..limit };
                // SAFETY: the limit outlives the call.
                unsafe { libc::setrlimit(resource, &none) };
            }
            let lowered = OwnLimits::now().0.iter().all(|limit| limit.rlim_cur == 0);
            let same = before.restore()
                && OwnLimits::now().0.iter().zip(&before.0).all(|(now, then)| now.rlim_cur == then.rlim_cur);
            // SAFETY: ends the process, runs nothing.
            unsafe { libc::_exit(i32::from(!(lowered && same))) }
        });
        assert_eq!(brigade_sandbox::system::reap(child.unwrap()), Some(0));
    }
}
