//! The fixtures that are called: what a call of the mix asks them for, and what they then answer.

use bytes::Bytes;
use latent_core::Payload;
use latent_executor::ComponentArtifact;

use super::judge::Expected;
use super::mix::{Call, Dice, Echo, Endless, Piece, TEXT_BYTES};

/// A fixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the fixtures")]
pub enum Guest {
    Capsule,
    Echo,
    EchoRust,
    Output,
    Park,
}

impl Guest {
    /// Every fixture.
    pub const ALL: [Self; 5] = [Self::Capsule, Self::Echo, Self::EchoRust, Self::Output, Self::Park];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capsule => "containment-capsule",
            Self::Echo => "echo",
            Self::EchoRust => "echo-rust",
            Self::Output => "stdout",
            Self::Park => "clock-park",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Target {
    /// Whom.
    pub guest: Guest,
    /// Which contract of theirs.
    pub contract: &'static str,
    /// Which function of it.
    pub function: &'static str,
    /// With what.
    pub payload: Payload,
}

impl Target {
    fn new(guest: Guest, contract: &'static str, function: &'static str, payload: Payload) -> Self {
        Self { guest, contract, function, payload }
    }
}

/// The fixtures, and the text that the echoes are given pieces of.
pub struct Guests {
    artifacts: [ComponentArtifact; Guest::ALL.len()],
    text: Bytes,
}

impl Guests {
    /// The fixtures, and the text of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let artifacts = Guest::ALL.map(|guest| ComponentArtifact::new(latent_guests::component(guest.as_str())));
        let mut dice = Dice::new(seed, u64::MAX);
        let letters: Vec<u8> = (0..TEXT_BYTES).map(|_| b'a' + dice.next().to_le_bytes()[0] % 26).collect();
        Self { artifacts, text: letters.into() }
    }

    /// Every component.
    #[must_use]
    pub const fn artifacts(&self) -> &[ComponentArtifact] {
        &self.artifacts
    }

    /// The component of one fixture.
    #[must_use]
    pub const fn artifact(&self, guest: Guest) -> &ComponentArtifact {
        &self.artifacts[guest as usize]
    }

    /// What is asked for in this call.
    #[must_use]
    pub fn target(&self, call: Call) -> Target {
        const MODES: &str = "fixture:containment-capsule/modes@0.1.0";
        let mode = |function, args: String| Target::new(Guest::Capsule, MODES, function, Payload::json(args));
        let endless = |guest| match guest {
            Endless::Spins => mode("spin", "[]".to_owned()),
            Endless::Parks => {
                let args = format!("[{},1]", u32::MAX);
                Target::new(Guest::Park, "fixture:clock-park/park@0.1.0", "park-often", Payload::json(args))
            }
        };
        let echo = |echo, function, payload| match echo {
            Echo::Plain => Target::new(Guest::Echo, "fixture:echo/echo@0.1.0", function, payload),
            Echo::Rust => Target::new(Guest::EchoRust, "fixture:echo-rust/echo@0.1.0", function, payload),
        };
        match call {
            Call::Text(guest, piece) => {
                let args = format!("[{}]", self.quoted(piece));
                echo(guest, "echo-string", Payload::json(args))
            }
            Call::Bytes(guest, piece) => echo(guest, "echo-bytes", Payload::octets(self.piece(piece))),
            Call::Output { lines } => {
                Target::new(Guest::Output, "fixture:stdout/output@0.1.0", "lines", Payload::json(format!("[{lines}]")))
            }
            Call::DeclaredError => mode("declared", "[true]".to_owned()),
            Call::Trap => mode("trap", "[]".to_owned()),
            Call::Fuel { .. } => mode("spin", "[]".to_owned()),
            Call::Memory { step_pages, .. } => mode("grow-memory", format!("[{step_pages}]")),
            Call::Deadline { guest, .. } | Call::Cancel { guest } => endless(guest),
        }
    }

    /// How this call is meant to end.
    #[must_use]
    pub fn expected(&self, call: Call) -> Expected {
        match call {
            Call::Text(_, piece) => Expected::Returned(Payload::json(self.quoted(piece))),
            Call::Bytes(_, piece) => Expected::Returned(Payload::octets(self.piece(piece))),
            Call::Output { .. } => Expected::Returned(Payload::json("null")),
            Call::DeclaredError => Expected::Declared(Payload::json("\"declared failure\"")),
            Call::Trap => Expected::trap(),
            Call::Fuel { .. } => Expected::exhausted("activation.fuel-exhausted"),
            Call::Memory { .. } => Expected::exhausted("activation.memory-exhausted"),
            Call::Deadline { .. } => Expected::deadline(),
            Call::Cancel { .. } => Expected::cancelled(),
        }
    }

    fn piece(&self, piece: Piece) -> Bytes {
        self.text.slice(piece.at..piece.at + piece.len)
    }

    /// The piece as a JSON string: it has letters only.
    fn quoted(&self, piece: Piece) -> String {
        format!("\"{}\"", self.piece(piece).escape_ascii())
    }
}
