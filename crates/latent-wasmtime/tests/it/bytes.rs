//! Bytes that are not the component they claim to be: refused with what they are, or run, but never a crash.

use latent_core::{ExecutionOutcome, PlatformErrorCode};
use latent_executor::{ComponentArtifact, ExecutionBackend as _};
use latent_wasmtime::EngineSettings;

use crate::support::{Bench, bench, bench_with, request_of};

const ECHO: &str = "fixture:containment-capsule/modes@0.1.0#echo";

#[tokio::test]
async fn whatever_is_no_component_is_refused_with_what_it_is() {
    let bench = bench();
    for (bytes, what) in latent_guests::bombs::NO_COMPONENTS {
        let error = bench.refusal(request_of(&ComponentArtifact::new(bytes.to_vec()), ECHO, "[\"hi\"]")).await;
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument, "{what}");
        assert!(error.message().contains(what), "{what}: {}", error.message());
        assert_eq!(error.details()[0].kind(), "component.malformed", "{what}");
    }
}

#[tokio::test]
async fn what_the_reader_says_on_several_lines_is_told_on_one() {
    let bench = bench();
    // A component that holds a module whose first bytes are wrong, and one that imports a type by a name with a control character.
    let module: &[u8] = b"\0asm\x0d\0\x01\0\x01\x08\0a{m\x01\0\0\0";
    let import: &[u8] = b"\0asm\x0d\0\x01\0\x0a\x08\x01\0\x03a\0b\x03\x01";
    for (bytes, says) in [(module, "bad magic number"), (import, "a\\u{0}b")] {
        let error = bench.refusal(request_of(&ComponentArtifact::new(bytes.to_vec()), ECHO, "[\"hi\"]")).await;
        let message = error.message();
        assert!(message.contains(says) && message.contains(" at byte "), "{message:?}");
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
}

/// Bytes end in a typed refusal or in a run with a proof, which `run` asserts. Answers whether they ran.
async fn refused_or_runs(bench: &Bench, bytes: Vec<u8>) -> bool {
    let ran = bench.run(request_of(&ComponentArtifact::new(bytes), ECHO, "[\"hi\"]")).await.report;
    match ran.outcome {
        ExecutionOutcome::Failed(error) => {
            let typed = [PlatformErrorCode::InvalidArgument, PlatformErrorCode::IncompatibleContract];
            assert!(typed.contains(&error.code()), "{error:?}");
            false
        }
        _ => true,
    }
}

#[tokio::test]
async fn a_component_cut_anywhere_is_refused() {
    let bench = bench();
    let whole = latent_guests::component("containment-capsule");
    for part in 0..64 {
        let cut = whole[..whole.len() * part / 64].to_vec();
        assert!(!refused_or_runs(&bench, cut).await, "cut at {part}/64");
    }
    assert!(refused_or_runs(&bench, whole.to_vec()).await);
    bench.assert_healthy().await;
}

#[tokio::test]
async fn a_component_with_a_changed_byte_is_refused_or_runs() {
    let mut settings = EngineSettings::for_cells(4);
    settings.prepared_entries_max = 1;
    let bench = bench_with(settings);
    let whole = latent_guests::component("containment-capsule");
    let mut ran = 0;
    for at in 0..256 {
        for change in [0xff, 0x01, 0x80] {
            let mut changed = whole.to_vec();
            changed[at] ^= change;
            ran += u32::from(refused_or_runs(&bench, changed).await);
        }
    }
    println!("{ran} of 768 changed components still ran");
    assert_eq!(bench.backend.resources().prepared_entries, 1);
    bench.assert_healthy().await;
}
