//! The kinds of values that keys have: how each is read from a file or a flag, and written back.
//!
//! Invariant: what is written is read as the same value again.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::quantities::{parse_duration, parse_size};

/// A value as it stands in a file or behind a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// A quoted text, or whatever follows a flag.
    Text(String),
    /// A whole number.
    Number(u64),
    /// `true` or `false`.
    Switch(bool),
    /// A section without keys.
    Section,
    /// Anything else, by what it is called.
    Other(&'static str),
}

impl Literal {
    /// What stands there, for a sentence.
    pub fn told(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Number(number) => number.to_string(),
            Self::Switch(on) => on.to_string(),
            Self::Section => "a section".to_owned(),
            Self::Other(kind) => (*kind).to_owned(),
        }
    }
}

/// A field of the configuration.
pub trait Setting {
    /// Takes `literal`.
    ///
    /// # Errors
    /// What is expected instead; the field is as it was.
    fn take(&mut self, literal: &Literal) -> Result<(), String>;

    /// The value as it would stand in a file; `None` when there is none.
    fn written(&self) -> Option<String>;

    /// Takes a relative path as relative to `base`.
    fn rebase(&mut self, _base: &Path) {}

    /// The value as a number, for bounds.
    fn number(&self) -> Option<u64> {
        None
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

/// Where the node's pressure is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PressureSource {
    /// `/proc/pressure`.
    Psi,
    /// Nowhere.
    None,
}

impl Setting for u64 {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        *self = whole(literal).ok_or_else(|| "a whole number without a unit".to_owned())?;
        Ok(())
    }

    fn written(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn number(&self) -> Option<u64> {
        Some(*self)
    }
}

impl Setting for Option<u64> {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        let mut value = 0_u64;
        value.take(literal)?;
        *self = Some(value);
        Ok(())
    }

    fn written(&self) -> Option<String> {
        self.as_ref().and_then(Setting::written)
    }

    fn number(&self) -> Option<u64> {
        *self
    }
}

impl Setting for ByteSize {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        self.0 = match literal {
            Literal::Number(bytes) => *bytes,
            Literal::Text(text) => parse_size(text).map_err(|wrong| unexpected(&wrong))?,
            _ => return Err("a size such as \"64Mi\"".to_owned()),
        };
        Ok(())
    }

    fn written(&self) -> Option<String> {
        let units = [("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)];
        let whole = units.into_iter().find(|(_, shift)| self.0 > 0 && self.0.trailing_zeros() >= *shift);
        Some(match whole {
            Some((unit, shift)) => format!("\"{}{unit}\"", self.0 >> shift),
            None => self.0.to_string(),
        })
    }

    fn number(&self) -> Option<u64> {
        Some(self.0)
    }
}

impl Setting for Duration {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        let Literal::Text(text) = literal else { return Err("a duration such as \"30s\"".to_owned()) };
        *self = parse_duration(text).map_err(|wrong| unexpected(&wrong))?;
        Ok(())
    }

    fn written(&self) -> Option<String> {
        Some(format!("\"{}\"", humantime::format_duration(*self)))
    }

    /// In milliseconds.
    fn number(&self) -> Option<u64> {
        Some(u64::try_from(self.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Setting for bool {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        *self = match literal {
            Literal::Switch(on) => *on,
            _ => return Err("true or false".to_owned()),
        };
        Ok(())
    }

    fn written(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Setting for SocketAddr {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        let Literal::Text(text) = literal else { return Err(ADDRESS.to_owned()) };
        *self = text.parse().map_err(|_not_an_address| ADDRESS.to_owned())?;
        Ok(())
    }

    fn written(&self) -> Option<String> {
        Some(format!("\"{self}\""))
    }
}

impl Setting for PathBuf {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        match literal {
            Literal::Text(text) if !text.is_empty() && !text.contains('\0') => *self = PathBuf::from(text),
            _ => return Err("a path in quotes".to_owned()),
        }
        Ok(())
    }

    fn written(&self) -> Option<String> {
        Some(toml::Value::String(self.to_string_lossy().into_owned()).to_string())
    }

    fn rebase(&mut self, base: &Path) {
        *self = base.join(&*self);
    }
}

impl Setting for Option<PathBuf> {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        let mut path = PathBuf::new();
        path.take(literal)?;
        *self = Some(path);
        Ok(())
    }

    fn written(&self) -> Option<String> {
        self.as_ref().and_then(Setting::written)
    }

    fn rebase(&mut self, base: &Path) {
        if let Some(path) = self {
            path.rebase(base);
        }
    }
}

/// The address of a service, such as that of a collector.
impl Setting for Option<String> {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        match literal {
            Literal::Text(text) if text.starts_with("http://") || text.starts_with("https://") => {
                *self = Some(text.clone());
                Ok(())
            }
            _ => Err("an address such as \"http://127.0.0.1:4317\"".to_owned()),
        }
    }

    fn written(&self) -> Option<String> {
        self.as_ref().map(|text| toml::Value::String(text.clone()).to_string())
    }
}

impl Setting for PressureSource {
    fn take(&mut self, literal: &Literal) -> Result<(), String> {
        *self = match literal {
            Literal::Text(text) if text == "psi" => Self::Psi,
            Literal::Text(text) if text == "none" => Self::None,
            _ => return Err("\"psi\" or \"none\"".to_owned()),
        };
        Ok(())
    }

    fn written(&self) -> Option<String> {
        Some(if *self == Self::Psi { "\"psi\"" } else { "\"none\"" }.to_owned())
    }
}

const ADDRESS: &str = "an IP address with a port, such as \"127.0.0.1:7070\" or \"[::1]:7070\"";

/// A number, also as the text of a flag.
fn whole(literal: &Literal) -> Option<u64> {
    match literal {
        Literal::Number(number) => Some(*number),
        Literal::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// The sentence of a parser without what the sentence around it says already.
fn unexpected(wrong: &str) -> String {
    wrong.strip_prefix("expected ").unwrap_or(wrong).to_owned()
}
