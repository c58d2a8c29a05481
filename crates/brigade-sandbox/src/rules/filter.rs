//! Filters the system calls of a sandboxed program.
//!
//! The filter denies listed calls, so other calls work. It returns an error instead of killing the program, because
//! many programs try these calls and continue without them.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use crate::seccomp::{Filter, JUMP_IF_AT_LEAST, LOAD, RETURN, has_action, instruction};
use crate::{LocalSockets, Network, SandboxError};

/// Calls that affect other processes, change the machine, or bypass the other rules.
const DENIED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    // Other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_fanotify_init,
    // The kernel and the machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    // Secrets of the session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Creates sockets and opens files past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that change how a process runs, whose first argument is a process id. With 0 they change the caller.
///
/// A filter cannot distinguish the caller's own id, or the id of one of its threads, from others.
const PROCESS_CALLS: &[libc::c_long] = &[
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// Calls with a kind, the id of a process, group or user, and a priority, each with the kind that means a user.
const KIND_CALLS: [(libc::c_long, u64); 2] =
    [(libc::SYS_setpriority, libc::PRIO_USER as u64), (libc::SYS_ioprio_set, 3 /* IOPRIO_WHO_USER */)];

/// The bits of a socket type without flags.
const SOCKET_TYPE: u64 = 0xf;

/// Terminal controls that type into another terminal.
const DENIED_CONTROLS: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */];

/// Any of the namespaces a process can be created in, except for time, whose bit means something else to `clone`.
const NAMESPACES: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32 as u64;

/// Capabilities that a program of a privileged user loses: those that change the machine instead of the user's files.
const DROPPED_CAPABILITIES: [libc::c_ulong; 28] = [
    2,  // DAC_READ_SEARCH
    4,  // FSETID
    9,  // LINUX_IMMUTABLE
    11, // NET_BROADCAST
    12, // NET_ADMIN
    13, // NET_RAW
    16, // SYS_MODULE
    17, // SYS_RAWIO
    18, // SYS_CHROOT
    19, // SYS_PTRACE
    20, // SYS_PACCT
    21, // SYS_ADMIN
    22, // SYS_BOOT
    23, // SYS_NICE
    24, // SYS_RESOURCE
    25, // SYS_TIME
    26, // SYS_TTY_CONFIG
    27, // MKNOD
    29, // AUDIT_WRITE
    30, // AUDIT_CONTROL
    31, // SETFCAP
    32, // MAC_OVERRIDE
    33, // MAC_ADMIN
    34, // SYSLOG
    37, // AUDIT_READ
    38, // PERFMON
    39, // BPF
    40, // CHECKPOINT_RESTORE
];

/// Returns whether this kernel has filters and known system calls.
pub(super) fn supported() -> bool {
    has_action(libc::SECCOMP_RET_ERRNO) && architecture().is_some()
}

fn architecture() -> Option<TargetArch> {
    TargetArch::try_from(std::env::consts::ARCH).ok()
}

/// Whether a program can make symbolic links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    Allowed,
    Refused,
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Creates a condition on a 32-bit argument.
fn when(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SandboxError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(SandboxError::build)
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, SandboxError> {
    SeccompRule::new(conditions).map_err(SandboxError::build)
}

/// Builds the filters for a profile. `landlock` is the version that guards files.
pub(super) fn filters(
    network: Network,
    local: LocalSockets,
    landlock: u32,
    links: Links,
) -> Result<Vec<Filter>, SandboxError> {
    let mut refused: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    refuse_control(&mut refused)?;
    refuse_sockets(&mut refused, network, local)?;
    let mut namespaces = Vec::new();
    for bit in (0..32).map(|shift| 1u64 << shift).filter(|bit| NAMESPACES & bit != 0) {
        namespaces.push(rule(vec![when(0, SeccompCmpOp::MaskedEq(bit), bit)?])?);
    }
    refused.insert(libc::SYS_clone, namespaces);
    if links == Links::Refused {
        #[cfg(target_arch = "x86_64")]
        refused.insert(libc::SYS_symlink, Vec::new());
        refused.insert(libc::SYS_symlinkat, Vec::new());
    }
    refuse_modes(&mut refused)?;
    if landlock < 3 {
        // This kernel has no truncate right, so a read-only file could be emptied.
        refused.insert(libc::SYS_truncate, Vec::new());
        let empties = (libc::O_TRUNC | libc::O_ACCMODE) as u64;
        for (call, flags) in OPENING {
            let condition = when(*flags, SeccompCmpOp::MaskedEq(empties), libc::O_TRUNC as u64)?;
            refused.entry(*call).or_default().push(rule(vec![condition])?);
        }
    }
    // These take their flags and modes in memory, which a filter cannot read. Programs fall back when the calls seem
    // not to exist.
    let unknown: Rules = [(libc::SYS_clone3, Vec::new()), (libc::SYS_openat2, Vec::new())].into();
    Ok(vec![compile(unknown, libc::ENOSYS)?, compile(refused, libc::EPERM)?])
}

/// Refuses calls with arguments by which a program changes other processes, terminals or open files.
fn refuse_control(refused: &mut Rules) -> Result<(), SandboxError> {
    let mut controls = Vec::new();
    for control in DENIED_CONTROLS {
        controls.push(rule(vec![when(1, SeccompCmpOp::Eq, control)?])?);
    }
    refused.insert(libc::SYS_ioctl, controls);
    for call in PROCESS_CALLS {
        refused.insert(*call, vec![rule(vec![when(0, SeccompCmpOp::Ne, 0)?])?]);
    }
    for (call, user) in KIND_CALLS {
        let others = rule(vec![when(1, SeccompCmpOp::Ne, 0)?])?;
        refused.insert(call, vec![others, rule(vec![when(0, SeccompCmpOp::Eq, user)?])?]);
    }
    // Reading the limits of other processes is harmless. By setting them, the program could end any process of the
    // user.
    let sets = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    let sets = sets.map_err(SandboxError::build)?;
    refused.insert(libc::SYS_prlimit64, vec![rule(vec![when(0, SeccompCmpOp::Ne, 0)?, sets])?]);
    // A lease on a file makes other writers of it wait or fail.
    refused.insert(libc::SYS_fcntl, vec![rule(vec![when(1, SeccompCmpOp::Eq, libc::F_SETLEASE as u64)?])?]);
    Ok(())
}

fn refuse_sockets(refused: &mut Rules, network: Network, local: LocalSockets) -> Result<(), SandboxError> {
    let mut families = Vec::new();
    if network == Network::Allowed {
        // Resolving names reads the addresses of the machine from the kernel, over netlink.
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if local == LocalSockets::Allowed {
        families.push(libc::AF_UNIX);
    }
    let other = families.iter().map(|family| when(0, SeccompCmpOp::Ne, *family as u64));
    let other = other.collect::<Result<Vec<_>, _>>()?;
    refused.insert(libc::SYS_socket, if other.is_empty() { Vec::new() } else { vec![rule(other)?] });
    if local == LocalSockets::Denied {
        // A pair of datagram sockets can be redirected to any address, and the kernel treats a raw pair as one of
        // datagrams. Pairs of streams and of packet sequences cannot be redirected.
        let connected = [libc::SOCK_STREAM as u64, libc::SOCK_SEQPACKET as u64];
        let mut pairs = vec![rule(vec![when(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?])?];
        for kind in (0..=SOCKET_TYPE).filter(|kind| !connected.contains(kind)) {
            pairs.push(rule(vec![when(1, SeccompCmpOp::MaskedEq(SOCKET_TYPE), kind)?])?);
        }
        refused.insert(libc::SYS_socketpair, pairs);
    }
    Ok(())
}

/// Refuses modes with which a file runs with the rights of its owner or group.
fn refuse_modes(refused: &mut Rules) -> Result<(), SandboxError> {
    for (call, mode, flags) in MODES {
        for bit in [libc::S_ISUID, libc::S_ISGID].map(u64::from) {
            let sets = when(*mode, SeccompCmpOp::MaskedEq(bit), bit)?;
            for creates in CREATING.iter().take(if flags.is_some() { CREATING.len() } else { 1 }) {
                let creates =
                    flags.map(|at| when(at, SeccompCmpOp::MaskedEq(*creates), *creates)).transpose()?;
                let conditions = [Some(sets.clone()), creates].into_iter().flatten().collect();
                refused.entry(*call).or_default().push(rule(conditions)?);
            }
        }
    }
    Ok(())
}

/// The flags with which opening a file creates one.
const CREATING: [u64; 2] = [libc::O_CREAT as u64, (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64];

/// Calls that set the mode of a file, which argument has the mode, and which has the flags, if only some flags do so.
const MODES: &[(libc::c_long, u8, Option<u8>)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1, None),
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (libc::SYS_fchmodat2, 2, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2, Some(1)),
    (libc::SYS_openat, 3, Some(2)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1, None),
    (libc::SYS_mknodat, 2, None),
];

/// Calls that open files, and which argument has their flags.
const OPENING: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
    (libc::SYS_openat, 2),
];

fn compile(rules: Rules, errno: i32) -> Result<Filter, SandboxError> {
    let architecture =
        architecture().ok_or_else(|| SandboxError::Unsupported("unknown system calls".to_owned()))?;
    let answer = SeccompAction::Errno(errno as u32);
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, answer, architecture).map_err(SandboxError::build)?;
    let program = BpfProgram::try_from(filter).map_err(SandboxError::build)?;
    let program = program.iter().map(|step| instruction(step.code, step.jt, step.jf, step.k));
    Ok(Filter(refuse_x32().into_iter().chain(program).collect()))
}

/// Refuses x32 call numbers, which would bypass the filter.
fn refuse_x32() -> Vec<libc::sock_filter> {
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
    if !cfg!(target_arch = "x86_64") {
        return Vec::new();
    }
    vec![
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_AT_LEAST, 0, 1, 0x4000_0000),
        instruction(RETURN, 0, 0, REFUSE),
    ]
}

/// Removes capabilities from the next executed program. Fails harmlessly without privileges.
pub(super) fn drop_capabilities() {
    for capability in DROPPED_CAPABILITIES {
        // SAFETY: no memory is involved.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}
