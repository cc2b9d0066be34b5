//! Whether a call ended as it was meant to. Pure: reads how it ended and the guest's logs, nothing else.

use latent_core::{ActivationOutcome, BudgetConsumption, Payload, TerminalState};
use latent_executor::LogRecord;

use super::mix::Call;

/// What each line of the fixture on standard output says.
const LINE: &str = "sixty-four bytes of output, of which the last one ends the line";

/// The end that a call is meant to have.
#[derive(Debug)]
pub enum Expected {
    /// A success with exactly this output.
    Returned(Payload),
    /// The guest's own error, exactly this.
    Declared(Payload),
    /// A failure of this terminal state with this detail kind.
    Failed(TerminalState, &'static str),
}

impl Expected {
    /// The terminal state and, of a failure, the detail kind.
    #[must_use]
    pub const fn end(&self) -> (TerminalState, Option<&'static str>) {
        match self {
            Self::Returned(_) | Self::Declared(_) => (TerminalState::Completed, None),
            Self::Failed(state, kind) => (*state, Some(kind)),
        }
    }

    /// The guest's trap.
    #[must_use]
    pub const fn trap() -> Self {
        Self::Failed(TerminalState::GuestTrap, "activation.guest-trap")
    }

    /// A limit that ran out.
    #[must_use]
    pub const fn exhausted(kind: &'static str) -> Self {
        Self::Failed(TerminalState::ResourceExhausted, kind)
    }

    /// A passed deadline.
    #[must_use]
    pub const fn deadline() -> Self {
        Self::Failed(TerminalState::DeadlineExceeded, "activation.deadline-exceeded")
    }

    /// A handle that was dropped.
    #[must_use]
    pub const fn abandoned() -> Self {
        Self::Failed(TerminalState::Cancelled, "activation.abandoned")
    }

    /// A transport that went away.
    #[must_use]
    pub const fn disconnected() -> Self {
        Self::Failed(TerminalState::Cancelled, "activation.transport-stopped")
    }

    /// An accepted cancel.
    #[must_use]
    pub const fn cancelled() -> Self {
        Self::Failed(TerminalState::Cancelled, "activation.cancelled")
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// What its caller got.
    pub outcome: &'a ActivationOutcome,
    /// What it used.
    pub used: &'a BudgetConsumption,
    /// Whether it had a cell.
    pub granted: bool,
}

/// Compares an activation's end with what was expected, and what it used with what it was granted.
///
/// # Errors
/// A sentence that says what was wrong.
pub fn judge(call: Call, expected: &Expected, end: End<'_>, logs: &[LogRecord]) -> Result<(), String> {
    judge_outcome(expected, end.outcome)?;
    let used = end.used;
    match call {
        Call::Memory { granted_bytes, .. } if used.peak_memory_bytes > granted_bytes => {
            Err(format!("used {} of {granted_bytes} bytes of memory", used.peak_memory_bytes))
        }
        // Memory shows that there was an instance; fuel does not, because the engine counts it in large steps.
        Call::Cancel { .. } if !end.granted || used.peak_memory_bytes == 0 => {
            Err("it was cancelled before it ran".to_owned())
        }
        Call::Output { lines } => judge_logs(lines, logs),
        _ if logs.is_empty() => Ok(()),
        _ => Err(format!("{} log records from a guest that writes none", logs.len())),
    }
}

/// Compares what the caller of an activation got with what was expected.
///
/// # Errors
/// A sentence that tells both.
pub fn judge_outcome(expected: &Expected, outcome: &ActivationOutcome) -> Result<(), String> {
    let matches = match (expected, outcome) {
        (Expected::Returned(wanted), ActivationOutcome::Succeeded { output }) => output == wanted,
        (Expected::Declared(wanted), ActivationOutcome::DeclaredError { error }) => error == wanted,
        (Expected::Failed(state, kind), ActivationOutcome::Failed { terminal_state, error }) => {
            terminal_state == state && error.has_detail(kind)
        }
        _ => false,
    };
    if matches {
        return Ok(());
    }
    Err(format!("expected {}, got {}", shortened(expected), shortened(outcome)))
}

fn judge_logs(lines: u32, logs: &[LogRecord]) -> Result<(), String> {
    if logs.len() == lines as usize && logs.iter().all(|record| &*record.message == LINE) {
        return Ok(());
    }
    Err(format!("expected {lines} lines of output, got {} records, first {:?}", logs.len(), logs.first()))
}

/// The value's debug form, cut where it would fill the screen.
#[must_use]
pub fn shortened(value: &impl std::fmt::Debug) -> String {
    let mut text = format!("{value:?}");
    if text.len() > 300 {
        text.truncate(text.floor_char_boundary(300));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use latent_core::PlatformError;

    use super::*;
    use crate::endurance::mix::Endless;

    const USED: BudgetConsumption = BudgetConsumption {
        fuel: 1,
        peak_memory_bytes: 65_536,
        wall_time: std::time::Duration::ZERO,
        log_bytes: 0,
        outbound_requests: 0,
    };

    fn ended(outcome: &ActivationOutcome) -> End<'_> {
        End { outcome, used: &USED, granted: true }
    }

    #[test]
    fn only_the_exact_output_is_a_success() {
        let expected = Expected::Returned(Payload::json("1"));
        let with = |output| judge(Call::Trap, &expected, ended(&ActivationOutcome::Succeeded { output }), &[]);
        assert_eq!(with(Payload::json("1")), Ok(()));
        assert!(with(Payload::json("2")).is_err());
        assert!(with(Payload::octets("1")).is_err());
    }

    #[test]
    fn another_failure_than_the_expected_one_is_a_mismatch() {
        let cancelled = ActivationOutcome::failed(PlatformError::cancelled());
        let call = Call::Cancel { guest: Endless::Spins };
        assert_eq!(judge(call, &Expected::cancelled(), ended(&cancelled), &[]), Ok(()));
        let wrong = judge(call, &Expected::deadline(), ended(&cancelled), &[]).expect_err("it was cancelled");
        assert!(wrong.starts_with("expected Failed(DeadlineExceeded"), "{wrong}");
    }

    #[test]
    fn a_cancel_without_a_cell_did_not_reach_a_running_guest() {
        let cancelled = ActivationOutcome::failed(PlatformError::cancelled());
        let queued = End { granted: false, ..ended(&cancelled) };
        assert!(judge(Call::Cancel { guest: Endless::Parks }, &Expected::cancelled(), queued, &[]).is_err());
    }

    #[test]
    fn memory_beyond_the_grant_is_a_mismatch() {
        let error = PlatformError::of_activation(
            latent_core::PlatformErrorCode::ResourceExhausted,
            "activation.memory-exhausted",
            "denied",
        );
        let failed = ActivationOutcome::failed(error);
        let expected = Expected::exhausted("activation.memory-exhausted");
        let with = |granted_bytes| judge(Call::Memory { granted_bytes, step_pages: 1 }, &expected, ended(&failed), &[]);
        assert_eq!(with(65_536), Ok(()));
        assert!(with(65_535).is_err());
    }

    #[test]
    fn missing_lines_of_output_are_a_mismatch() {
        let done = ActivationOutcome::Succeeded { output: Payload::json("null") };
        let expected = Expected::Returned(Payload::json("null"));
        assert!(judge(Call::Output { lines: 1 }, &expected, ended(&done), &[]).is_err());
        assert_eq!(judge(Call::Output { lines: 0 }, &expected, ended(&done), &[]), Ok(()));
    }
}
