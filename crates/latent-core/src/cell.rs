//! What a cell is called and how large it is. Cells themselves live in latent-scheduler.

use std::fmt;
use std::sync::Arc;

/// The size of a cell. A pool holds cells of exactly one class (`fixed-cell-pool.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CellClass {
    /// The smallest.
    Tiny,
    /// Below standard.
    Small,
    /// The default.
    Standard,
    /// Above standard.
    Large,
    /// The largest.
    ExtraLarge,
}

impl CellClass {
    /// Every class, smallest first.
    pub const ALL: [Self; 5] = [Self::Tiny, Self::Small, Self::Standard, Self::Large, Self::ExtraLarge];

    /// The class's name in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Standard => "standard",
            Self::Large => "large",
            Self::ExtraLarge => "extra-large",
        }
    }
}

impl fmt::Display for CellClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names one cell for as long as its pool lives. Pools from outside choose their own texts, so a length is not
/// enforced here; diagnostics cut it to [`crate::error::VALUE_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(Arc<str>);

impl CellId {
    /// Names a cell `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The whole name, however long.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as it may leave the activation boundary: at most [`crate::error::VALUE_BYTES_MAX`] bytes.
    #[must_use]
    pub fn bounded(&self) -> &str {
        crate::error::cut(&self.0, crate::error::VALUE_BYTES_MAX)
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
