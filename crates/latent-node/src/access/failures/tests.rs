//! Allowances of peers and of the node, by a clock that the test turns.

use proptest::prelude::*;

use super::*;

const LIMITS: FailureLimits = FailureLimits {
    peer_burst: 3,
    peer_interval: Duration::from_secs(10),
    node_burst: 5,
    node_interval: Duration::from_secs(1),
    peers_max: 2,
};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
}

fn peer(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// How many of `count` failures of `peer` are answered as such.
fn counted(failures: &mut Failures, of: &str, count: usize, now: SystemTime) -> usize {
    (0..count).filter(|_| failures.count(Some(peer(of)), now).is_ok()).count()
}

#[test]
fn a_peer_has_its_burst_and_then_one_an_interval() {
    let mut failures = Failures::new(LIMITS);
    assert_eq!(counted(&mut failures, "10.0.0.1", 9, at(0)), 3);
    assert_eq!(failures.count(Some(peer("10.0.0.1")), at(4)), Err(Duration::from_secs(6)), "how long to wait");
    assert_eq!(counted(&mut failures, "10.0.0.1", 9, at(10)), 1);
    assert_eq!(counted(&mut failures, "10.0.0.1", 9, at(1000)), 3, "everything comes back and no more");
}

#[test]
fn a_peer_that_is_refused_takes_nothing_from_the_others_until_all_have_had_the_nodes_share() {
    let mut failures = Failures::new(LIMITS);
    assert_eq!(counted(&mut failures, "10.0.0.1", 100, at(0)), 3);
    assert_eq!(counted(&mut failures, "10.0.0.2", 100, at(0)), 2, "five for all");
    assert_eq!(failures.count(None, at(0)), Err(Duration::from_secs(1)));
    assert_eq!(failures.count(None, at(1)), Ok(()));
}

#[test]
fn an_ipv6_network_counts_as_one_peer_and_a_mapped_address_as_the_ipv4_one() {
    let mut failures = Failures::new(LIMITS);
    assert_eq!(counted(&mut failures, "2001:db8:1:2::1", 2, at(0)), 2);
    assert_eq!(counted(&mut failures, "2001:db8:1:2:ffff::9", 2, at(0)), 1);
    assert_eq!(counted(&mut failures, "2001:db8:1:3::1", 1, at(0)), 1, "the next network");
    let mut failures = Failures::new(LIMITS);
    assert_eq!(counted(&mut failures, "10.0.0.1", 2, at(0)), 2);
    assert_eq!(counted(&mut failures, "::ffff:10.0.0.1", 2, at(0)), 1);
    assert_eq!(failures.peers(), 1);
}

#[test]
fn a_full_table_counts_newcomers_with_all_others_and_forgets_who_is_whole_again() {
    let mut failures = Failures::new(FailureLimits { node_burst: 100, ..LIMITS });
    for of in ["10.0.0.1", "10.0.0.2"] {
        assert_eq!(counted(&mut failures, of, 1, at(0)), 1);
    }
    assert_eq!(counted(&mut failures, "10.0.0.3", 20, at(0)), 20, "not counted alone");
    assert_eq!(failures.peers(), 2);
    assert_eq!(counted(&mut failures, "10.0.0.3", 20, at(9)), 20, "nobody is whole yet");
    assert_eq!(counted(&mut failures, "10.0.0.3", 20, at(10)), 3, "it has a place now");
    assert_eq!(failures.peers(), 1);
}

#[test]
fn a_clock_turned_back_keeps_nobody_waiting_longer_than_for_everything() {
    let mut failures = Failures::new(LIMITS);
    assert_eq!(counted(&mut failures, "10.0.0.1", 3, at(1_000_000)), 3);
    assert_eq!(failures.count(Some(peer("10.0.0.1")), at(0)), Err(Duration::from_secs(10)));
    assert_eq!(failures.count(None, at(0)), Err(Duration::from_secs(1)), "nor all of them together");
    assert_eq!(counted(&mut failures, "10.0.0.1", 1, at(10)), 1);
}

#[test]
fn settings_out_of_their_bounds_are_named() {
    let zero = Duration::ZERO;
    let long = INTERVAL_MAX + Duration::from_nanos(1);
    for (limits, setting) in [
        (FailureLimits { peer_burst: 0, ..LIMITS }, "failures.peer_burst"),
        (FailureLimits { node_burst: 0, ..LIMITS }, "failures.node_burst"),
        (FailureLimits { peer_interval: zero, ..LIMITS }, "failures.peer_interval"),
        (FailureLimits { node_interval: long, ..LIMITS }, "failures.node_interval"),
    ] {
        assert_eq!(limits.check().unwrap_err().0, setting);
    }
    assert_eq!(LIMITS.check(), Ok(()));
    assert_eq!(FailureLimits::default().check(), Ok(()));
}

proptest! {
    #[test]
    fn whatever_happens_when_no_peer_has_more_than_its_rate(steps in prop::collection::vec((0_u64..5, 0_u8..4), 1..200)) {
        let mut failures = Failures::new(FailureLimits { node_burst: 10_000, peers_max: 4, ..LIMITS });
        let (mut now, mut counted) = (0, [0_u64; 4]);
        for (step, of) in steps {
            now += step;
            if failures.count(Some(peer(&format!("10.0.0.{of}"))), at(now)).is_ok() {
                counted[usize::from(of)] += 1;
            }
            prop_assert!(counted.iter().all(|count| *count <= 3 + now / 10), "{counted:?} after {now} seconds");
        }
    }
}
