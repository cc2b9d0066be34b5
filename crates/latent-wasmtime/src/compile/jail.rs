//! What the child gives up before it sees the component: resources beyond its budget, descriptors, and system calls that
//! compiling does not need.
//!
//! Limits are the kernel's and always hold. The filter of system calls is installed where the kernel and the architecture
//! have it; a container may forbid that, and then the child works without.

use std::collections::BTreeMap;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::limits::{Budget, Outer};

/// The first descriptor after the three standard ones.
const FIRST_OTHER_DESCRIPTOR: libc::c_uint = 3;
/// Descriptors of a child: the standard ones, the compiled functions, and a copy of standard output.
const DESCRIPTORS_MAX: u64 = 8;
/// Seconds after which a child that ignores the end of its processor time is killed.
const CPU_GRACE_SECONDS: u64 = 2;
/// How far behind its parent the child's claim to a processor is.
const NICENESS: i32 = 10;

/// Closes what was handed down beyond the standard descriptors. To be called before anything else is opened.
pub fn close_inherited() -> io::Result<()> {
    // SAFETY: the call takes three numbers and no memory; nothing in this process owns a descriptor that it closes,
    // for it runs before any is opened.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, FIRST_OTHER_DESCRIPTOR, libc::c_uint::MAX, 0) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Serves after whoever serves callers. Threads started later do the same.
pub fn give_way() {
    // Whoever is at the end already cannot go further.
    let _last = rustix::process::nice(NICENESS);
}

/// What this process may use whatever it is told. To be called before the filter is there, which hides the system's files.
pub fn outer() -> Outer {
    let hard = |resource| getrlimit(resource).maximum;
    let counted = std::fs::read("/proc/sys/vm/overcommit_memory").is_ok_and(|policy| policy.starts_with(b"2"));
    Outer {
        address_space_bytes: hard(Resource::As),
        data_bytes: hard(Resource::Data),
        cpu_seconds: hard(Resource::Cpu),
        file_bytes: hard(Resource::Fsize),
        memory_is_counted: counted,
    }
}

/// Limits this process to `budget`. `files_bytes_max` is the most that any file it writes may have.
pub fn limit(budget: &Budget, files_bytes_max: u64) -> io::Result<()> {
    lower(Resource::Core, 0, 0)?;
    lower(Resource::Nofile, DESCRIPTORS_MAX, 0)?;
    lower(Resource::Fsize, files_bytes_max, 0)?;
    lower(Resource::Cpu, budget.cpu_seconds, CPU_GRACE_SECONDS)?;
    lower(Resource::Data, budget.address_space_bytes, 0)?;
    lower(Resource::As, budget.address_space_bytes, 0)
}

/// Sets the limit of `resource` to `to`, and the one that cannot be raised again to `grace` more, as far as they are not
/// lower already.
fn lower(resource: Resource, to: u64, grace: u64) -> io::Result<()> {
    let hard = getrlimit(resource).maximum.unwrap_or(u64::MAX).min(to.saturating_add(grace));
    Ok(setrlimit(resource, Rlimit { current: Some(to.min(hard)), maximum: Some(hard) })?)
}

/// Forbids what compiling does not need, to this thread and those it starts: talking to anyone, opening or changing files
/// by name, starting or touching processes, changing the system.
///
/// # Errors
/// When this machine has no such filter or does not let us install it.
pub fn filter() -> Result<(), seccompiler::Error> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into()?;
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    denied.insert(libc::SYS_clone, vec![starts_a_process()?]);
    install(denied, libc::EPERM, architecture)?;
    // Its arguments are out of a filter's sight. Whoever wants a thread takes the older call when this one is missing.
    install(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS, architecture)
}

fn install(
    denied: BTreeMap<i64, Vec<SeccompRule>>,
    errno: libc::c_int,
    architecture: TargetArch,
) -> Result<(), seccompiler::Error> {
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    let program: BpfProgram = SeccompFilter::new(denied, SeccompAction::Allow, answer, architecture)?.try_into()?;
    seccompiler::apply_filter(&program)
}

/// Matches a `clone` that does not make a thread of this process.
fn starts_a_process() -> Result<SeccompRule, seccompiler::Error> {
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    let no_thread = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(thread), 0)?;
    Ok(SeccompRule::new(vec![no_thread])?)
}

/// System calls that are denied whatever their arguments are.
const DENIED: &[libc::c_long] = &[
    // Talking to anyone.
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Files by name.
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_open_by_handle_at,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_chroot,
    libc::SYS_name_to_handle_at,
    libc::SYS_utimensat,
    libc::SYS_fanotify_init,
    libc::SYS_inotify_add_watch,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // What is later than the table of names: `fchmodat2`, `setxattrat`, `removexattrat`, the same on all architectures.
    452,
    463,
    466,
    // Other processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_prlimit64,
    libc::SYS_setrlimit,
    libc::SYS_setpriority,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_ioprio_set,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // The system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_setdomainname,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_personality,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    // Older calls for the same, which newer architectures do not have.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `probe` on a thread of its own under the filter, which stays with that thread. `None` where there is no filter.
    fn filtered<T: Send>(probe: impl FnOnce() -> T + Send) -> Option<T> {
        std::thread::scope(|scope| {
            let inside = scope.spawn(|| match filter() {
                Ok(()) => Some(probe()),
                Err(error) => {
                    eprintln!("no filter here: {error}");
                    None
                }
            });
            inside.join().expect("a denied call is an error, not a panic")
        })
    }

    fn denied<T>(result: io::Result<T>) -> bool {
        result.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    #[test]
    fn the_filter_denies_sockets_processes_and_files_by_name() {
        let Some(outcome) = filtered(|| {
            [
                denied(std::net::TcpStream::connect(("127.0.0.1", 1))),
                denied(std::net::UdpSocket::bind(("127.0.0.1", 0))),
                denied(std::process::Command::new("/bin/true").status()),
                denied(std::fs::File::open("/etc/passwd")),
                denied(std::fs::remove_file("/nonexistent")),
            ]
        }) else {
            return;
        };
        assert_eq!(outcome, [true; 5]);
    }

    /// Makes a system call with no arguments that mean anything, and gives its error.
    fn error_of(call: libc::c_long) -> Option<i32> {
        // SAFETY: without arguments none of the calls that are tried touches memory of this process.
        let result = unsafe { libc::syscall(call, -1_i64, 0, 0, 0, 0, 0) };
        (result == -1).then(|| io::Error::last_os_error().raw_os_error().unwrap_or_default())
    }

    #[test]
    fn the_filter_denies_the_newer_and_rarer_ways_to_the_same() {
        // Where the call is not denied these arguments are an error of another kind, at worst.
        let calls = [
            ("fchmodat2", 452),
            ("setxattr", libc::SYS_setxattr),
            ("fsetxattr", libc::SYS_fsetxattr),
            ("removexattr", libc::SYS_removexattr),
            ("shmget", libc::SYS_shmget),
            ("msgget", libc::SYS_msgget),
            ("semget", libc::SYS_semget),
            ("mq_open", libc::SYS_mq_open),
            ("fsopen", libc::SYS_fsopen),
            ("move_mount", libc::SYS_move_mount),
            ("mount_setattr", libc::SYS_mount_setattr),
            ("io_uring_setup", libc::SYS_io_uring_setup),
            ("io_uring_enter", libc::SYS_io_uring_enter),
            ("userfaultfd", libc::SYS_userfaultfd),
            ("bpf", libc::SYS_bpf),
            ("perf_event_open", libc::SYS_perf_event_open),
            ("setrlimit", libc::SYS_setrlimit),
            ("setpriority", libc::SYS_setpriority),
        ];
        let Some(errors) = filtered(|| calls.map(|(_, call)| error_of(call))) else { return };
        for ((name, _), error) in calls.into_iter().zip(errors) {
            assert_eq!(error, Some(libc::EPERM), "{name}");
        }
    }

    #[test]
    fn the_filter_leaves_the_signal_that_an_abort_sends_itself() {
        let sent = filtered(|| {
            // SAFETY: the call takes three numbers; the signal 0 is none.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::syscall(libc::SYS_gettid), 0) }
        });
        assert!(sent.is_none_or(|result| result == 0));
    }

    #[test]
    fn the_filter_leaves_threads_and_memory() {
        let sum = filtered(|| {
            let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(|| vec![1_u8; 1 << 20]);
            let bytes = worker.expect("threads are allowed").join().expect("it only allocates");
            bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>()
        });
        assert!(sum.is_none_or(|sum| sum == 1 << 20));
    }
}
