//! Who may be under way at once.

use latent_activation::CancelDisposition;
use latent_core::{PlatformErrorCode, TerminalState};
use latent_executor::fake::{FakeBackend, FakeStep, Gate};

use crate::support::{Bench, Setup, activation, artifact, cancelled, envelope, error, tenant};

fn holding(setup: Setup) -> (Bench, Gate, Gate) {
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let hold = FakeStep::Gated { entered: entered.clone(), leave: leave.clone(), then: Box::new(FakeStep::Echo) };
    (setup.over(FakeBackend::new().with("hold", hold).with("echo", FakeStep::Echo)), entered, leave)
}

#[tokio::test]
async fn a_duplicate_live_id_is_refused_and_the_first_is_left_alone() {
    let (bench, entered, leave) = holding(Setup { cells: 2, ..Setup::default() });
    let first = bench.spawn(envelope("a", "hold"));
    entered.passed().await;
    let report = bench.run("a", "echo").await;
    let (state, error) = error(&report);
    assert_eq!((state, error.code()), (TerminalState::Rejected, PlatformErrorCode::AlreadyExists));
    assert!(error.has_detail("activation.duplicate"));
    assert_eq!(bench.runner.snapshot().registrations, 1, "the refused run removed nobody else's registration");
    leave.open();
    assert_eq!(first.await.unwrap().outcome.terminal_state(), TerminalState::Completed);
    assert_eq!(bench.run("a", "echo").await.outcome.terminal_state(), TerminalState::Completed, "free again");
    bench.assert_settled(0);
}

#[tokio::test]
async fn two_tenants_use_the_same_id_and_cancel_only_their_own() {
    let (bench, entered, leave) = holding(Setup { cells: 2, ..Setup::default() });
    let first = bench.spawn(envelope("a", "hold"));
    entered.passed().await;
    let mut foreign = envelope("a", "hold");
    foreign.principal.tenant = tenant("u");
    let second = bench.spawn(foreign);
    while bench.runner.snapshot().running_invocations < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.runner.cancel(&tenant("u"), &activation("a"), "mine"), CancelDisposition::Accepted);
    assert_eq!(bench.runner.cancel(&tenant("v"), &activation("a"), "not mine"), CancelDisposition::NotFound);
    leave.open();
    assert_eq!(first.await.unwrap().outcome.terminal_state(), TerminalState::Completed);
    assert_eq!(second.await.unwrap().outcome, cancelled());
    bench.assert_settled(0);
}

#[tokio::test]
async fn a_full_registry_refuses_with_a_retryable_error_before_the_pool_is_asked() {
    let (bench, entered, leave) = holding(Setup { cells: 2, registrations_max: 1, ..Setup::default() });
    let first = bench.spawn(envelope("a", "hold"));
    entered.passed().await;
    let asked = bench.log.events().len();
    let report = bench.runner.run(envelope("b", "echo"), artifact()).await;
    let (state, error) = error(&report);
    assert_eq!((state, error.code()), (TerminalState::ResourceExhausted, PlatformErrorCode::ResourceExhausted));
    assert!(error.is_retryable() && error.has_detail("activation.registrations-exhausted"));
    assert_eq!(bench.log.events().len(), asked);
    leave.open();
    first.await.unwrap();
    bench.assert_settled(0);
}
