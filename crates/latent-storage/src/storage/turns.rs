//! Changes that come while others are being made wait, and are then made together.
//!
//! Invariant: each change is handed once, in the order in which they came, to one of the threads that brought one; at most
//! one of these is at work, and whoever ends hands the lead on.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Changes that are made together; more wait for the next turn. Bounds the memory of a transaction.
const TOGETHER_MAX: usize = 64;
/// What a thread is told at most: to lead, and its answer.
const TOLD_MAX: usize = 2;

/// Changes `C` on their way, each answered by an `A`. There are as many as threads that wait for one.
pub(super) struct Turns<C, A> {
    line: Mutex<Line<C, A>>,
}

struct Line<C, A> {
    waiting: VecDeque<Waiting<C, A>>,
    /// Whether a thread leads, or has been told to.
    is_led: bool,
}

struct Waiting<C, A> {
    change: C,
    teller: SyncSender<Told<A>>,
}

enum Told<A> {
    Lead,
    Answer(A),
}

impl<C, A> Default for Turns<C, A> {
    fn default() -> Self {
        Self { line: Mutex::new(Line { waiting: VecDeque::new(), is_led: false }) }
    }
}

impl<C, A> Turns<C, A> {
    /// Waits until `change` has been made; its answer. `make` is called if this thread is to lead, with the changes to be
    /// made, of which this one is the first; it gives an answer for each.
    ///
    /// # Panics
    /// When `make` does, in whichever thread.
    pub(super) fn take(&self, change: C, make: impl FnOnce(Vec<C>) -> Vec<A>) -> A {
        const BROKEN: &str = "whoever leads answers every change that it took, unless it panics";
        let (teller, told) = sync_channel(TOLD_MAX);
        if !self.join(Waiting { change, teller }) {
            match told.recv().expect(BROKEN) {
                Told::Answer(answer) => return answer,
                Told::Lead => {}
            }
        }
        self.lead(make);
        match told.recv().expect(BROKEN) {
            Told::Answer(answer) => answer,
            Told::Lead => unreachable!("the lead is handed on once, and this thread had it"),
        }
    }

    /// Joins the line; whether this thread leads.
    fn join(&self, waiting: Waiting<C, A>) -> bool {
        let mut line = self.line();
        line.waiting.push_back(waiting);
        !std::mem::replace(&mut line.is_led, true)
    }

    /// Makes what waits. The leader's own is the first: it came to an empty line, or was told as the first of the line.
    fn lead(&self, make: impl FnOnce(Vec<C>) -> Vec<A>) {
        let _lead = Lead(self);
        let turn: Vec<_> = {
            let mut line = self.line();
            let count = line.waiting.len().min(TOGETHER_MAX);
            line.waiting.drain(..count).collect()
        };
        let (changes, tellers): (Vec<_>, Vec<_>) =
            turn.into_iter().map(|Waiting { change, teller }| (change, teller)).unzip();
        for (teller, answer) in tellers.into_iter().zip(make(changes)) {
            let _nobody_waits = teller.send(Told::Answer(answer));
        }
    }

    fn line(&self) -> MutexGuard<'_, Line<C, A>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The lead; dropping it, also by a panic, hands it on.
struct Lead<'t, C, A>(&'t Turns<C, A>);

impl<C, A> Drop for Lead<'_, C, A> {
    fn drop(&mut self) {
        let mut line = self.0.line();
        match line.waiting.front() {
            // The room for it was reserved, and the thread waits for nothing else.
            Some(next) => drop(next.teller.send(Told::Lead)),
            None => line.is_led = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    type Numbers = Turns<usize, usize>;

    fn until_wait(turns: &Numbers, count: usize) {
        while turns.line().waiting.len() < count {
            thread::yield_now();
        }
    }

    /// Lets one thread lead until `count` more wait; the turns that were made, and whether each of those was answered.
    fn beside_one_that_leads(count: usize, first_panics: bool) -> (Vec<Vec<usize>>, Vec<Option<usize>>) {
        let (turns, taken) = (Numbers::default(), Mutex::new(Vec::new()));
        let make = |changes: Vec<usize>| {
            let answers = changes.iter().map(|change| change * 10).collect();
            taken.lock().expect("no test panics with it").push(changes);
            answers
        };
        let leads = Barrier::new(2);
        let answers = thread::scope(|scope| {
            let first = scope.spawn(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    turns.take(0, |changes| {
                        leads.wait();
                        until_wait(&turns, count);
                        assert!(!first_panics, "as it should");
                        make(changes)
                    })
                }))
            });
            leads.wait();
            let others: Vec<_> = (1..=count)
                .map(|change| {
                    // One after the other; the last is what the first waits for, which then takes them all.
                    until_wait(&turns, change - 1);
                    let (turns, make) = (&turns, &make);
                    scope.spawn(move || turns.take(change, make))
                })
                .collect();
            let first = first.join().expect("its panic is caught").ok();
            let others = others.into_iter().map(|other| other.join().ok());
            std::iter::once(first).chain(others).collect()
        });
        assert!(!turns.line().is_led && turns.line().waiting.is_empty(), "nobody leads an empty line");
        (taken.into_inner().expect("no test panics with it"), answers)
    }

    #[test]
    fn what_came_while_one_was_made_is_made_together_and_in_order() {
        let (made, answers) = beside_one_that_leads(5, false);
        assert_eq!(made, [vec![0], vec![1, 2, 3, 4, 5]]);
        assert_eq!(answers, (0..=5).map(|change| Some(change * 10)).collect::<Vec<_>>());
    }

    #[test]
    fn one_that_leads_and_panics_hands_the_lead_on() {
        let (made, answers) = beside_one_that_leads(3, true);
        assert_eq!(made, [vec![1, 2, 3]]);
        assert_eq!(answers, [None, Some(10), Some(20), Some(30)]);
    }

    #[test]
    fn a_turn_has_a_bound_and_the_rest_is_made_in_the_next() {
        let (made, answers) = beside_one_that_leads(TOGETHER_MAX + 6, false);
        assert_eq!(made.iter().map(Vec::len).collect::<Vec<_>>(), [1, TOGETHER_MAX, 6]);
        assert!(answers.into_iter().all(|answer| answer.is_some()));
    }

    #[test]
    fn who_waits_for_one_that_panics_panics_too() {
        let (turns, leads) = (Numbers::default(), Barrier::new(2));
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                turns.take(0, |changes| {
                    leads.wait();
                    until_wait(&turns, 2);
                    changes
                })
            });
            leads.wait();
            let fails = || turns.take(1, |_changes| panic!("as it should"));
            let others = [scope.spawn(fails), scope.spawn(fails)];
            assert_eq!(first.join().expect("the first has its answer"), 0);
            assert!(others.map(|other| other.join().is_err()) == [true, true]);
        });
        assert_eq!(turns.take(7, |changes| changes), 7);
    }
}
