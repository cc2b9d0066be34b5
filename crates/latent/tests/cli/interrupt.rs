//! Signals: whatever is under way is cancelled and cleaned up, its record printed, and the exit code is 130.

use std::process::Child;
use std::sync::mpsc;
use std::time::Duration;

use crate::lifecycle::assert_course;
use crate::support::{Ran, Scratch, end, signal, start};

/// Processor time that only a spinning guest can have used: compiling the fixture takes a fraction of it.
const SPINNING_TICKS: u64 = 60;

/// User and system time of a process, in hundredths of a second.
fn processor_ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("the process lives");
    let after_name = stat.rsplit_once(')').expect("the name is in parentheses").1;
    after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

/// What a pipe holds at least.
const PIPE_BYTES_MIN: u64 = 4096;

/// Bytes that a process has written so far.
fn bytes_written(id: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{id}/io")).expect("the process lives");
    let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")).expect("it is counted");
    written.parse().expect("it is a number")
}

/// Looks at `ready` again and again, within about the watchdog, until it holds.
fn until(ready: impl Fn() -> bool) {
    // Nothing is ever sent: the wait between two looks only spares the processor, and no result depends on it.
    let (_open, pause) = mpsc::channel::<()>();
    for _ in 0..12_000 {
        if ready() {
            return;
        }
        let _elapsed = pause.recv_timeout(Duration::from_millis(10));
    }
    panic!("it did not become ready");
}

/// Starts `flags` on the capsule with endless fuel; answers once its guest spins.
fn spinning(scratch: &Scratch, flags: &[&str]) -> Child {
    let spin = ["--call", "spin", "--fuel", "18446744073709551615"];
    let child = start(&scratch.guest("containment-capsule"), &[&spin[..], flags].concat(), None);
    until(|| processor_ticks(child.id()) >= SPINNING_TICKS);
    child
}

#[track_caller]
fn assert_all_cancelled(ran: &Ran, count: usize) {
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let (records, _) = ran.records();
    assert_eq!(records.len(), count, "{ran:?}");
    for record in records {
        assert_eq!(
            (&record["outcome"], &record["terminal_state"]),
            (&"failed".into(), &"cancelled".into()),
            "{record}"
        );
        assert_eq!(record["error"]["details"][0]["kind"], "activation.cancelled", "{record}");
        let has_run = record["consumption"]["fuel"] != 0;
        assert!(assert_course(&record) == "running" || !has_run, "{record}");
    }
}

#[test]
fn an_interrupt_cancels_a_spinning_guest_and_prints_its_record() {
    let scratch = Scratch::new();
    let child = spinning(&scratch, &["--output", "json"]);
    signal(child.id(), "INT");
    let ran = end(child);
    assert_all_cancelled(&ran, 1);
    assert!(ran.records().0[0]["consumption"]["fuel"].as_u64() > Some(0), "{ran:?}");
}

#[test]
fn an_interrupt_in_text_says_that_the_activation_was_cancelled() {
    let scratch = Scratch::new();
    let child = spinning(&scratch, &[]);
    signal(child.id(), "INT");
    let ran = end(child);
    assert_eq!((ran.code, ran.text()), (Some(130), ""), "{ran:?}");
    assert!(ran.stderr.contains("failed: cancelled: "), "{ran:?}");
}

#[test]
fn a_termination_cancels_running_and_waiting_ones_and_starts_no_more() {
    let scratch = Scratch::new();
    let load = ["--cells", "2", "--concurrency", "6", "--repeat", "1000000", "--output", "json"];
    let child = spinning(&scratch, &load);
    signal(child.id(), "TERM");
    assert_all_cancelled(&end(child), 6);
}

#[test]
fn a_second_interrupt_ends_a_command_whose_reader_does_not_read() {
    let scratch = Scratch::new();
    let flags = ["--call", "nop", "--repeat", "10000000", "--output", "json"];
    let mut child = start(&scratch.guest("echo"), &flags, None);
    // The pipe holds a few hundred records; with nobody reading, the command waits for room and writes no more.
    let still = || {
        let before = bytes_written(child.id());
        let (_open, pause) = mpsc::channel::<()>();
        let _elapsed = pause.recv_timeout(Duration::from_millis(200));
        before >= PIPE_BYTES_MIN && bytes_written(child.id()) == before
    };
    until(still);
    let id = child.id();
    let ended = std::cell::RefCell::new(&mut child);
    until(|| {
        signal(id, "INT");
        ended.borrow_mut().try_wait().expect("the command can be waited for").is_some()
    });
    assert_eq!(child.wait().expect("it has ended").code(), Some(130));
}
