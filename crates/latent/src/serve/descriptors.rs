//! File descriptors: the process takes all that it may have, and connections take only what is left of them.
//!
//! Invariant: connections on both listeners and what the node opens besides fit the limit, so that a flood of calls leaves
//! the control listener, the storage and the compilers theirs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// What the node opens besides connections at most: its storage, logs and uploads, pipes of compilers, its runtimes.
const RESERVED: u64 = 256;
/// Without so many connections on each listener a node does not start.
const CONNECTIONS_MIN: u64 = 8;
/// Where connections have to be fewer than is set, the control listener keeps one in so many.
const CONTROL_PART: u64 = 4;

/// Raises the process's soft limit of descriptors to its hard one, and bounds the connections in `config` by it.
///
/// # Errors
/// One sentence, when the hard limit is too low for a node.
pub fn fit(config: &mut Config) -> Result<(), String> {
    let limit = raise();
    let told = (config.invoke.connections, config.control.connections);
    let (invoke, control) = share(limit, told)?;
    if (invoke, control) != told {
        let needed = told.0.saturating_add(told.1).saturating_add(RESERVED);
        tracing::warn!(
            limit,
            needed,
            invoke,
            control,
            "the limit of file descriptors (RLIMIT_NOFILE) is too low for listeners.invoke.connections and \
             listeners.control.connections; fewer are accepted at once"
        );
    }
    for (listener, connections) in [(&mut config.invoke, invoke), (&mut config.control, control)] {
        listener.connections = connections;
        listener.connections_per_peer = listener.connections_per_peer.min(connections);
    }
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

/// How many connections the invoke and the control listener take of a `limit`, given what each is `told`.
fn share(limit: u64, (invoke, control): (u64, u64)) -> Result<(u64, u64), String> {
    let left = limit.saturating_sub(RESERVED);
    if left < 2 * CONNECTIONS_MIN {
        return Err(format!(
            "the process may have {limit} file descriptors; a node needs {} or more: raise the hard limit of the system \
             (RLIMIT_NOFILE, LimitNOFILE= of systemd)",
            RESERVED + 2 * CONNECTIONS_MIN
        ));
    }
    if invoke.saturating_add(control) <= left {
        return Ok((invoke, control));
    }
    let control = control.min((left / CONTROL_PART).max(CONNECTIONS_MIN));
    Ok((invoke.min(left - control), control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_as_told_while_there_are_descriptors_for_them() {
        assert_eq!(share(RESERVED + 2048, (1024, 1024)), Ok((1024, 1024)));
        assert_eq!(share(u64::MAX, (65_536, 1)), Ok((65_536, 1)));
    }

    #[test]
    fn connections_are_fewer_where_descriptors_are_and_control_keeps_its_part() {
        assert_eq!(share(RESERVED + 2047, (1024, 1024)), Ok((1024, 511)));
        assert_eq!(share(1024, (65_536, 1024)), Ok((576, 192)));
        assert_eq!(share(1024, (65_536, 8)), Ok((760, 8)));
        assert_eq!(share(RESERVED + 16, (1024, 1024)), Ok((8, 8)));
    }

    #[test]
    fn too_few_descriptors_for_a_node_are_refused_with_what_it_needs() {
        for limit in [0, RESERVED, RESERVED + 15] {
            let told = share(limit, (1, 1)).unwrap_err();
            assert!(told.contains("RLIMIT_NOFILE") && told.contains("272"), "{told}");
        }
    }
}
