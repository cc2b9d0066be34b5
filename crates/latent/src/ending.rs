//! How the command can end: its exit codes, which of two is the worse, and the one sentence of a failure.

use std::fmt;
use std::process::ExitCode;

/// An exit code, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Every activation succeeded.
    Success,
    /// A guest returned a declared error.
    DeclaredError,
    /// Something was refused before it ran, or could not be read.
    LocalFailure,
    /// An activation failed.
    ActivationFailed,
    /// The node has no such object, or none that the caller may see.
    NotFound,
    /// The node did not answer.
    Transport,
    /// The command line asks for what there is not.
    Usage,
    /// A signal ended the command early.
    Interrupted,
}

impl Exit {
    /// The code as the shell sees it.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::LocalFailure => 1,
            Self::Usage => 2,
            Self::DeclaredError => 3,
            Self::ActivationFailed => 4,
            Self::Transport => 5,
            Self::NotFound => 6,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why the command ends without having run what it was asked to.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    sentence: String,
    exit: Exit,
}

impl Failure {
    /// A failure that is nobody's wrong usage: unreadable, not a component, refused.
    pub fn local(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), exit: Exit::LocalFailure }
    }

    /// Wrong usage that only the component could tell.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), exit: Exit::Usage }
    }

    /// A failure with an exit code of its own.
    pub fn with(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), exit }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_endings_counts() {
        let worst = |endings: &[Exit]| endings.iter().copied().max().map(Exit::code);
        assert_eq!(worst(&[Exit::Success, Exit::DeclaredError, Exit::Success]), Some(3));
        assert_eq!(worst(&[Exit::ActivationFailed, Exit::DeclaredError, Exit::LocalFailure]), Some(4));
        assert_eq!(worst(&[Exit::Interrupted, Exit::ActivationFailed]), Some(130));
    }
}
