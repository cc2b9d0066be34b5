//! File descriptors: the process takes all that it may have, and connections take only what is left of them.
//!
//! Invariant: connections on both listeners and what the node opens besides fit the limit, so that a flood of calls leaves
//! the control listener, the storage and the compilers theirs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// What the node opens besides connections at most: its storage, logs and uploads, pipes of compilers, its runtimes.
const RESERVED: u64 = 256;
/// Without so many connections of each kind a node does not start.
const CONNECTIONS_MIN: u64 = 8;
/// Where connections have to be fewer than is set, those of the control listener and of guests have one in so many each.
const PART: u64 = 4;

/// Connections of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Connections {
    invoke: u64,
    http: u64,
    control: u64,
    outgoing: u64,
}

impl Connections {
    fn total(self) -> u64 {
        [self.invoke, self.http, self.control, self.outgoing].into_iter().fold(0, u64::saturating_add)
    }
}

/// Raises the process's soft limit of descriptors to its hard one, and bounds the connections in `config` by it.
///
/// # Errors
/// One sentence, when the hard limit is too low for a node.
pub fn fit(config: &mut Config) -> Result<(), String> {
    let limit = raise();
    let told = Connections {
        invoke: config.invoke.connections,
        http: config.http.connections,
        control: config.control.connections,
        outgoing: config.outgoing.connections,
    };
    let fits = share(limit, told)?;
    if fits != told {
        let needed = told.total().saturating_add(RESERVED);
        tracing::warn!(
            limit,
            needed,
            connections = ?fits,
            "the limit of file descriptors (RLIMIT_NOFILE) is too low for the connections of listeners.*.connections and \
             outgoing.connections; fewer are had at once"
        );
    }
    let listeners =
        [(&mut config.invoke, fits.invoke), (&mut config.http, fits.http), (&mut config.control, fits.control)];
    for (listener, connections) in listeners {
        listener.connections = connections;
        listener.connections_per_peer = listener.connections_per_peer.min(connections);
    }
    config.outgoing.connections = fits.outgoing;
    config.outgoing.connections_per_tenant = config.outgoing.connections_per_tenant.min(fits.outgoing);
    Ok(())
}

/// The limit that holds from now on.
fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum || setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        return maximum.unwrap_or(u64::MAX);
    }
    current.unwrap_or(u64::MAX)
}

/// How many connections of each kind a `limit` has room for, given what each is `told`.
fn share(limit: u64, told: Connections) -> Result<Connections, String> {
    let left = limit.saturating_sub(RESERVED);
    if left < 4 * CONNECTIONS_MIN {
        return Err(format!(
            "the process may have {limit} file descriptors; a node needs {} or more: raise the hard limit of the system \
             (RLIMIT_NOFILE, LimitNOFILE= of systemd)",
            RESERVED + 4 * CONNECTIONS_MIN
        ));
    }
    if told.total() <= left {
        return Ok(told);
    }
    let part = (left / PART).max(CONNECTIONS_MIN);
    let (control, outgoing) = (told.control.min(part), told.outgoing.min(part));
    let calls = left - control - outgoing;
    // What the one does not want the other may have.
    let http = told.http.min((calls / 2).max(calls.saturating_sub(told.invoke)));
    Ok(Connections { invoke: told.invoke.min(calls - http), http, control, outgoing })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(invoke: u64, http: u64, control: u64, outgoing: u64) -> Connections {
        Connections { invoke, http, control, outgoing }
    }

    #[test]
    fn connections_are_as_told_while_there_are_descriptors_for_them() {
        let all = told(1024, 1024, 1024, 512);
        assert_eq!(share(RESERVED + all.total(), all), Ok(all));
        assert_eq!(share(u64::MAX, told(65_536, 1, 1, 1)), Ok(told(65_536, 1, 1, 1)));
    }

    #[test]
    fn connections_are_fewer_where_descriptors_are_and_control_keeps_its_part() {
        assert_eq!(share(RESERVED + 3583, told(1024, 1024, 1024, 512)), Ok(told(1024, 1024, 895, 512)));
        assert_eq!(share(1024, told(65_536, 65_536, 1024, 512)), Ok(told(192, 192, 192, 192)));
        assert_eq!(share(1024, told(65_536, 8, 8, 8)), Ok(told(744, 8, 8, 8)));
        assert_eq!(share(RESERVED + 32, told(1024, 1024, 1024, 512)), Ok(told(8, 8, 8, 8)));
    }

    #[test]
    fn too_few_descriptors_for_a_node_are_refused_with_what_it_needs() {
        for limit in [0, RESERVED, RESERVED + 31] {
            let wrong = share(limit, told(1, 1, 1, 1)).unwrap_err();
            assert!(wrong.contains("RLIMIT_NOFILE") && wrong.contains("288"), "{wrong}");
        }
    }
}
