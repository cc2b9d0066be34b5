//! The configuration in force, and where each value comes from.
//!
//! Invariant: a value is taken whole or refused with its origin; nothing that was written is ignored.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::{self, Entry, dotted};
use super::keys::{self, KEYS, Key};
use super::kinds::Literal;
use super::settings::Config;
use super::tenants;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It was not set.
    Default,
    /// A line of a file.
    File { path: Arc<Path>, line: usize },
    /// A flag of the command line.
    Flag(&'static str),
    /// A variable of the environment.
    Environment(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Flag(flag) => f.write_str(flag),
            Self::Environment(variable) => write!(f, "${variable}"),
        }
    }
}

/// A configuration with its origins.
#[derive(Debug, Clone, Default)]
pub struct Effective {
    /// The values.
    pub config: Config,
    origins: BTreeMap<String, Origin>,
}

/// One line of what is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The value as a file would have it; `None` when there is none.
    pub value: Option<String>,
    /// Where it comes from.
    pub origin: Origin,
}

impl Effective {
    /// Takes what the file at `path`, whose content is `text`, says.
    ///
    /// # Errors
    /// The first line that is wrong: which key, what stands there, what is expected.
    pub fn take_file(&mut self, path: &Path, text: &str) -> Result<(), String> {
        let at: Arc<Path> = path.into();
        let entries =
            document::read(text).map_err(|wrong| format!("{}:{}: {}", path.display(), wrong.line, wrong.sentence))?;
        let base = path.parent().map(PathBuf::from).unwrap_or_default();
        for entry in entries {
            let origin = Origin::File { path: Arc::clone(&at), line: entry.line };
            self.take_entry(&entry, &base, origin.clone()).map_err(|wrong| format!("{origin}: {wrong}"))?;
        }
        Ok(())
    }

    /// Takes `text` for the key called `name`.
    ///
    /// # Errors
    /// What is expected instead, naming the origin.
    pub fn take_text(&mut self, name: &'static str, text: &str, origin: Origin) -> Result<(), String> {
        let key = keys::find(name).expect("flags and variables are those of the table's keys");
        let literal = Literal::Text(text.to_owned());
        self.take(key, &literal, None).map_err(|wrong| format!("{origin}: {wrong}"))?;
        self.origins.insert(name.to_owned(), origin);
        Ok(())
    }

    /// Where the value of the key called `name` comes from.
    pub fn origin(&self, name: &str) -> Origin {
        self.origins.get(name).cloned().unwrap_or(Origin::Default)
    }

    /// Everything that is in force, in the order of the table, tenants last.
    pub fn rows(&self) -> Vec<Row> {
        let mut config = self.config.clone();
        let row = |key: &'static Key| Row {
            key: key.name.to_owned(),
            value: (key.field)(&mut config).written(),
            origin: self.origin(key.name),
        };
        let mut rows: Vec<_> = KEYS.iter().map(row).collect();
        for (key, value) in tenants::written(&self.config.tenants) {
            let origin = self.origin(&key);
            rows.push(Row { key, value, origin });
        }
        rows
    }

    fn take_entry(&mut self, entry: &Entry, base: &Path, origin: Origin) -> Result<(), String> {
        let name = dotted(entry.path.iter().map(String::as_str));
        if entry.path.first().is_some_and(|first| first == "tenants") {
            tenants::take(&mut self.config.tenants, &entry.path[1..], &entry.literal)?;
        } else if let Some(key) = keys::find(&name) {
            self.take(key, &entry.literal, Some(base))?;
        } else if entry.literal == Literal::Section && KEYS.iter().any(|key| is_within(key.name, &name)) {
            return Ok(());
        } else {
            return Err(unknown(&name));
        }
        self.origins.insert(name, origin);
        Ok(())
    }

    fn take(&mut self, key: &Key, literal: &Literal, base: Option<&Path>) -> Result<(), String> {
        let field = (key.field)(&mut self.config);
        let refused = |expected: &str| format!("{} is {}; expected {expected}", key.name, literal.told());
        field.take(literal).map_err(|expected| refused(&expected))?;
        if let Some(base) = base {
            field.rebase(base);
        }
        let (Some((min, max)), Some(number)) = (key.bounds, field.number()) else { return Ok(()) };
        if (min..=max).contains(&number) { Ok(()) } else { Err(refused(&range(key, (min, max)))) }
    }
}

/// The bounds of `key` as its values are written.
pub fn range(key: &Key, (min, max): (u64, u64)) -> String {
    let mut config = Config::default();
    let is_duration = (key.field)(&mut config)
        .written()
        .is_some_and(|text| text.starts_with('"') && text.ends_with("s\"") || text.ends_with("m\""));
    let unit = if is_duration { " milliseconds" } else { "" };
    format!("{min} to {max}{unit}")
}

fn is_within(key: &str, section: &str) -> bool {
    key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// Says what there is in the section of a key that there is not.
fn unknown(name: &str) -> String {
    let section = name.rsplit_once('.').map_or("", |(section, _)| section);
    let mut known: Vec<_> = KEYS
        .iter()
        .filter_map(
            |key| if section.is_empty() { Some(key.name) } else { key.name.strip_prefix(section)?.strip_prefix('.') },
        )
        .map(|rest| rest.split_once('.').map_or(rest, |(first, _)| first))
        .collect();
    known.dedup();
    if section.is_empty() {
        known.push("tenants");
    }
    let place = if section.is_empty() { "there".to_owned() } else { format!("in [{section}]") };
    if known.is_empty() {
        return format!("there is no key {name}, nor a section [{section}]");
    }
    format!("there is no key {name}; {place} are: {}", known.join(", "))
}
