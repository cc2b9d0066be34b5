//! The order of phases, the one end, the numbers, and the two clocks.
#![expect(clippy::disallowed_methods, reason = "tests make their own instants")]

use super::*;
use LifecyclePhase::{Admitted, Materializing, Queued, Received, Resolved, Running};
use proptest::prelude::*;

fn moment() -> Moment {
    Moment { monotonic: Instant::now(), wall: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) }
}

fn at(start: Moment, millis: u64) -> Instant {
    start.monotonic + Duration::from_millis(millis)
}

#[test]
fn a_success_goes_through_all_six_phases_in_order_and_ends_once() {
    let start = moment();
    let mut progress = Progress::received(start);
    for (phase, millis) in [(Resolved, 1), (Admitted, 2), (Queued, 3), (Materializing, 5), (Running, 8)] {
        assert_eq!(progress.advance(phase, at(start, millis)).unwrap().phase, phase);
    }
    progress.finish(TerminalState::Completed, at(start, 13)).unwrap();
    let events: Vec<_> = progress.events().collect();
    assert_eq!(events.iter().map(|e| e.sequence).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    let phases: Vec<_> = events.iter().map(|e| e.phase).collect();
    assert_eq!(phases, [Received, Resolved, Admitted, Queued, Materializing, Running, Running]);
    assert!(events[..6].iter().all(|event| event.terminal.is_none()));
    assert_eq!(events[6].terminal, Some(TerminalState::Completed));
    assert_eq!(progress.last(), events[6]);
}

#[test]
fn the_terminal_event_repeats_the_phase_in_which_it_ended() {
    let start = moment();
    for reached in 0..LifecyclePhase::ALL.len() {
        let mut progress = Progress::received(start);
        for phase in &LifecyclePhase::ALL[1..=reached] {
            progress.advance(*phase, at(start, 1)).unwrap();
        }
        let last = progress.finish(TerminalState::Rejected, at(start, 2)).unwrap();
        assert_eq!((last.phase, last.terminal), (LifecyclePhase::ALL[reached], Some(TerminalState::Rejected)));
        assert_eq!(progress.events().len(), reached + 2);
    }
}

#[test]
fn no_phase_is_suspension_commit_delivery_or_an_end() {
    let names = LifecyclePhase::ALL.map(LifecyclePhase::as_str);
    assert_eq!(names, ["received", "resolved", "admitted", "queued", "materializing", "running"]);
    assert_eq!(Running.successor(), None);
}

#[test]
fn a_life_whose_numbers_do_not_fit_is_refused_and_the_last_that_fits_ends_in_order() {
    let start = moment();
    assert_eq!(Progress::numbered_from(start, u64::MAX), None);
    assert_eq!(Progress::numbered_from(start, u64::MAX - EVENTS_MAX as u64 + 1), None);
    let mut progress = Progress::numbered_from(start, u64::MAX - EVENTS_MAX as u64).unwrap();
    for phase in &LifecyclePhase::ALL[1..] {
        progress.advance(*phase, start.monotonic).unwrap();
    }
    assert_eq!(progress.finish(TerminalState::Completed, start.monotonic).unwrap().sequence, u64::MAX - 1);
}

#[test]
fn wall_time_is_told_from_the_reception_on_so_that_a_set_clock_moves_nothing() {
    let start = moment();
    let mut progress = Progress::received(start);
    let event = progress.advance(Resolved, at(start, 250)).unwrap();
    assert_eq!((event.since_start, event.at), (Duration::from_millis(250), start.wall + Duration::from_millis(250)));
}

proptest! {
    #[test]
    fn any_attempts_keep_order_numbers_times_and_one_end(
        attempts in proptest::collection::vec((0_usize..8, 0_u64..1000), 0..40),
    ) {
        let start = moment();
        let mut progress = Progress::received(start);
        let mut seen = vec![progress.last()];
        for (what, millis) in attempts {
            let before = progress;
            let done = match LifecyclePhase::ALL.get(what) {
                Some(phase) => progress.advance(*phase, at(start, millis)),
                None => progress.finish(TerminalState::Cancelled, at(start, millis)),
            };
            match done {
                Ok(event) => seen.push(event),
                Err(PhaseRefusal::Ended(_)) => prop_assert!(before.terminal().is_some()),
                Err(PhaseRefusal::OutOfOrder { at, asked }) => {
                    prop_assert_eq!(at, before.phase());
                    prop_assert_ne!(at.successor(), Some(asked));
                }
            }
            if done.is_err() {
                prop_assert_eq!(progress, before);
            }
        }
        prop_assert_eq!(progress.events().collect::<Vec<_>>(), seen.clone());
        for pair in seen.windows(2) {
            prop_assert_eq!(pair[1].sequence, pair[0].sequence + 1);
            prop_assert!(pair[1].since_start >= pair[0].since_start && pair[1].at >= pair[0].at);
            prop_assert!(pair[0].terminal.is_none(), "only the last is terminal");
            let next = if pair[1].terminal.is_some() { Some(pair[0].phase) } else { pair[0].phase.successor() };
            prop_assert_eq!(Some(pair[1].phase), next);
        }
    }
}
