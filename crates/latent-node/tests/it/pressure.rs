//! Pressure files that are as Linux writes them, missing, malformed or endless.
#![expect(clippy::disallowed_methods, reason = "tests make their own instants")]

use std::fs;
use std::time::Instant;

use latent_node::pressure::{PressureReader, PressureUnreadable};

const CPU: &str = "some avg10=1.50 avg60=0.00 avg300=0.00 total=17\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
const STILL: &str = "some avg10=0.10 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=1\n";

fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (file, text) in [("cpu", CPU), ("memory", STILL), ("io", STILL)] {
        fs::write(directory.path().join(file), text).unwrap();
    }
    directory
}

#[test]
fn the_shares_of_ten_seconds_are_read_from_the_three_files() {
    let (directory, now) = (directory(), Instant::now());
    let sample = PressureReader::open(directory.path()).unwrap().sample(now).unwrap();
    assert_eq!((sample.cpu_some, sample.memory_full, sample.io_full, sample.taken_at), (150, 25, 25, now));
}

#[test]
fn a_missing_file_is_named_and_is_no_sample() {
    for missing in ["cpu", "memory", "io"] {
        let directory = directory();
        fs::remove_file(directory.path().join(missing)).unwrap();
        let error = PressureReader::open(directory.path()).unwrap_err();
        assert!(matches!(error, PressureUnreadable::Io { file, .. } if file == missing), "{error}");
        assert!(error.to_string().contains(missing) && error.to_string().contains("none"), "{error}");
    }
}

#[test]
fn what_is_open_is_read_anew_from_its_start_without_another_descriptor() {
    let (directory, now) = (directory(), Instant::now());
    let reader = PressureReader::open(directory.path()).unwrap();
    assert_eq!(reader.sample(now).unwrap().cpu_some, 150);
    fs::write(directory.path().join("cpu"), CPU.replacen("1.50", "2.25", 1)).unwrap();
    // Whoever opened them again would find none.
    for file in ["cpu", "memory", "io"] {
        fs::rename(directory.path().join(file), directory.path().join(format!("{file}.gone"))).unwrap();
    }
    assert_eq!(reader.sample(now).unwrap().cpu_some, 225);
}

#[test]
fn malformed_files_and_files_without_an_end_are_no_sample() {
    for text in ["", "some avg10=101.00 avg60=0.00", "full", "\u{0}\u{1}"] {
        let directory = directory();
        fs::write(directory.path().join("memory"), text).unwrap();
        let error = PressureReader::open(directory.path()).unwrap().sample(Instant::now()).unwrap_err();
        assert!(matches!(error, PressureUnreadable::Malformed(_)), "{text:?}: {error}");
    }
    let directory = directory();
    fs::write(directory.path().join("io"), "x".repeat(1 << 20)).unwrap();
    assert!(PressureReader::open(directory.path()).unwrap().sample(Instant::now()).is_err());
}
