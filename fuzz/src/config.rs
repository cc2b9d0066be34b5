//! Configuration files: what is taken is printed as a file that is taken again, and what is refused is refused by its line.

use std::path::Path;

#[allow(dead_code, missing_docs, reason = "not everything of the program is fuzzed")]
pub mod parts;

use parts::check;
use parts::effective::{Effective, Origin};
use parts::keys;

/// Where the file is said to lie: at the root, so that relative paths become absolute ones and stay what they are.
const FILE: &str = "/f.toml";

/// Takes `data` as a file.
///
/// # Panics
/// When a value changes when it is printed and taken again, is out of bounds, or a refusal does not say where it is.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut effective = Effective::default();
    match effective.take_file(Path::new(FILE), text) {
        Ok(()) => taken(&mut effective),
        Err(told) => refused(&told, text),
    }
}

fn taken(effective: &mut Effective) {
    for key in keys::KEYS {
        let number = (key.field)(&mut effective.config).number();
        let set = effective.origin(key.name) != Origin::Default;
        if let (Some((min, max)), Some(number), true) = (key.bounds, number, set) {
            assert!((min..=max).contains(&number), "{} is {number}", key.name);
        }
    }
    if let Err(told) = check::check(&effective.config) {
        crate::refusal::sentence(&told);
    }
    let mut printed = String::new();
    for row in effective.rows() {
        // What was not set is relative to nothing, and would be to the file.
        if row.key == "data_dir" && row.origin == Origin::Default {
            continue;
        }
        match row.value {
            Some(value) => printed += &format!("{} = {value}\n", row.key),
            // A tenant without quotas.
            None if row.key.starts_with("tenants.") => printed += &format!("{} = {{}}\n", row.key),
            None => {}
        }
    }
    let mut again = Effective::default();
    again.take_file(Path::new(FILE), &printed).unwrap_or_else(|told| panic!("{told}\n{printed}"));
    assert_eq!(again.config, effective.config, "{printed}");
}

fn refused(told: &str, text: &str) {
    crate::refusal::sentence(told);
    let line = told.strip_prefix(FILE).and_then(|rest| rest.strip_prefix(':')).and_then(|rest| rest.split_once(':'));
    let line: usize = line.and_then(|(line, _)| line.parse().ok()).unwrap_or_else(|| panic!("{told} has no line"));
    assert!((1..=text.split('\n').count()).contains(&line), "{told}: there is no such line");
}
