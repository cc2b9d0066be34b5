//! What goes between the two halves of a compilation in a child: the order on its standard input, the mark of its beginning
//! and the verdict on its standard error. The image itself goes through neither.

use std::io::{self, Read};
use std::path::PathBuf;

use latent_core::error::cut;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use serde::{Deserialize, Serialize};

use super::in_process::{invalid, panicked, unwritable};
use super::limits::{Budget, Held, Limit, Outer};

/// The exit code of a child that left a verdict. Any other failure is the child's end, not its judgement.
pub const REFUSED: u8 = 3;
/// The most bytes of an order without the component.
const ORDER_BYTES_MAX: u32 = 64 << 10;
/// The most bytes of a reason within a verdict.
const REASON_BYTES_MAX: usize = 400;

/// What the child is to do. The component follows it; after that the pipe stays open for as long as the parent lives.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// Bytes of the component.
    pub component_bytes: u64,
    /// The one setting of the engine that is part of its code.
    pub wasm_stack_bytes: u32,
    /// The value of the engine that will load the image.
    pub compatibility: u64,
    /// What the child limits itself to.
    pub budget: Budget,
    /// Where compiled functions are kept, if they are.
    pub functions: Option<FunctionsAt>,
}

/// One tenant's compiled functions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionsAt {
    /// The file, whether it exists or not.
    pub path: PathBuf,
    /// The most bytes it may have.
    pub bytes_max: u64,
}

impl Order {
    /// The order with its length before it.
    pub fn framed(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let length = u32::try_from(json.len()).ok().filter(|length| *length <= ORDER_BYTES_MAX);
        let length = length.ok_or_else(|| io::Error::other("the order for the compiler is too long"))?;
        Ok([length.to_le_bytes().as_slice(), &json].concat())
    }

    /// Reads an order up to the component.
    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > ORDER_BYTES_MAX {
            return Err(io::Error::other("not an order for the compiler"));
        }
        let mut json = vec![0; length as usize];
        from.read_exact(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

/// What the child says before it reads the component. A child that ends without it had no chance, whatever the component is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mark {
    /// Everything is ready, within these limits of the process.
    Began(Outer),
}

impl Mark {
    /// The mark as one line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a mark is numbers and names, which JSON has")
    }

    /// Finds the mark in what the child said: the first line that is one.
    pub fn find(said: &[u8]) -> Option<Self> {
        said.split(|byte| *byte == b'\n').find_map(|line| serde_json::from_slice(line).ok())
    }
}

/// Why the child has no image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The engine says that the bytes are no component.
    Invalid(String),
    /// The engine panicked.
    Panicked,
    /// A limit that the child can tell itself was reached.
    Exceeded(Limit),
    /// The image's file does not take it.
    Unwritable(String),
    /// The child cannot do its work at all.
    Broken(String),
}

impl Verdict {
    /// The verdict as one line.
    pub fn line(&self) -> String {
        let bounded = |reason: &String| cut(reason, REASON_BYTES_MAX).to_owned();
        let verdict = match self {
            Self::Invalid(reason) => Self::Invalid(bounded(reason)),
            Self::Unwritable(reason) => Self::Unwritable(bounded(reason)),
            Self::Broken(reason) => Self::Broken(bounded(reason)),
            whole => whole.clone(),
        };
        serde_json::to_string(&verdict).expect("a verdict is strings and names, which JSON has")
    }

    /// Finds the verdict in what the child said: the last line that is one.
    pub fn find(said: &[u8]) -> Option<Self> {
        said.rsplit(|byte| *byte == b'\n').find_map(|line| serde_json::from_slice(line).ok())
    }

    /// What a caller is told, when `held` is what the child could use.
    pub fn into_error(self, held: &Held) -> PlatformError {
        match self {
            Self::Invalid(reason) => invalid(&reason),
            Self::Panicked => panicked(),
            Self::Exceeded(limit) => held.exceeded(limit),
            Self::Unwritable(reason) => unwritable(&reason),
            Self::Broken(reason) => unable(&reason),
        }
    }
}

/// No child can be had, or it cannot work.
pub fn unable(reason: &dyn std::fmt::Display) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Unavailable, format_args!("the compiler cannot work: {reason}"))
        .retryable()
        .with_detail(ErrorDetail::new("compiler.unable").with("reason", reason))
}

#[cfg(test)]
mod tests {
    use super::super::limits::CompileLimits;
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written_and_leaves_the_component() {
        let budget = CompileLimits::default().budget(3);
        let functions = Some(FunctionsAt { path: "/cache/functions/a".into(), bytes_max: 7 });
        let order = Order { component_bytes: 3, wasm_stack_bytes: 512, compatibility: u64::MAX, budget, functions };
        let mut bytes = order.framed().unwrap();
        bytes.extend_from_slice(b"abc");
        let mut rest = bytes.as_slice();
        let read = Order::read(&mut rest).unwrap();
        assert_eq!((read.functions, read.budget, read.compatibility), (order.functions, order.budget, u64::MAX));
        assert_eq!(rest, b"abc");
    }

    #[test]
    fn something_else_than_an_order_is_refused_without_believing_its_length() {
        for bytes in [&b"\xff\xff\xff\xff{}"[..], b"\x02\0\0\0{}", b"\x02\0\0\0", b""] {
            assert!(Order::read(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn the_verdict_is_found_among_other_lines_and_is_bounded() {
        let line = Verdict::Invalid("é".repeat(10_000)).line();
        assert!(line.len() < 1000);
        let said = format!("warning: something\n{line}\n");
        let Some(Verdict::Invalid(reason)) = Verdict::find(said.as_bytes()) else { panic!("{said}") };
        assert_eq!(reason, "é".repeat(REASON_BYTES_MAX / 2));
        assert_eq!(Mark::find(said.as_bytes()), None);
        assert_eq!(Verdict::find(b"memory allocation of 7 bytes failed\n"), None);
    }

    #[test]
    fn the_mark_is_found_before_a_verdict_and_is_none() {
        let mark = Mark::Began(Outer { cpu_seconds: Some(7), memory_is_counted: true, ..Outer::default() });
        let said = format!("warning: something\n{}\n{}\n", mark.line(), Verdict::Panicked.line());
        assert_eq!(
            (Mark::find(said.as_bytes()), Verdict::find(said.as_bytes())),
            (Some(mark), Some(Verdict::Panicked))
        );
        assert_eq!(Verdict::find(mark.line().as_bytes()), None);
        assert_eq!(Mark::find(br#"{"Began":{}}"#), Some(Mark::Began(Outer::default())));
    }
}
