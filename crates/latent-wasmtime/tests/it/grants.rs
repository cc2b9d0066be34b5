//! What a revision's policy gives its guests: the imports that it grants and the environment that it sets.

use std::sync::Arc;

use latent_core::{Environment, ExecutionPolicy, ImportGrant, PlatformErrorCode, RevisionPolicy};
use latent_executor::{ExecutionBackend as _, suite};

use crate::support::{Call, bench, by_tenant, failure, request, returned};

fn under(mut call: Call, execution: ExecutionPolicy) -> Call {
    call.policy = Arc::new(RevisionPolicy { execution, ..RevisionPolicy::default() });
    call
}

fn seeing(variables: &[(&str, &str)]) -> Call {
    let environment = Environment::new(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    let execution = ExecutionPolicy { environment, ..ExecutionPolicy::default() };
    under(request("environment", "variables", "all", "[]"), execution)
}

fn granting(names: &[&str]) -> Call {
    let imports = ImportGrant::Only(names.iter().map(|name| (*name).into()).collect());
    let execution = ExecutionPolicy { imports, ..ExecutionPolicy::default() };
    under(request("log-context", "speak", "whoami", "[]"), execution)
}

#[tokio::test]
async fn each_activation_sees_exactly_the_environment_of_its_own_policy() {
    let bench = bench();
    let (fast, slow) = (seeing(&[("MODE", "fast"), ("HOME", "")]), by_tenant(seeing(&[("MODE", "slow")]), "other"));
    for _ in 0..2 {
        assert_eq!(bench.json(fast.clone()).await, r#"[["HOME",""],["MODE","fast"]]"#);
        assert_eq!(bench.json(slow.clone()).await, r#"[["MODE","slow"]]"#);
        assert_eq!(bench.json(request("environment", "variables", "all", "[]")).await, "[]", "nothing by default");
    }
    assert_eq!(bench.backend.compilations(), 1, "the code is one and the same");
    bench.assert_healthy().await;
}

#[tokio::test]
async fn the_environment_reaches_a_guest_on_the_prepared_path_too() {
    let bench = bench();
    let call = seeing(&[("MODE", "fast")]);
    let prepared = bench.backend.prepare_for_use(call.artifact).await.expect("it prepares");
    let cancellation = suite::cancellation(&call.request, None);
    let ran = bench.backend.invoke_prepared_contained(prepared, call.request, cancellation).await;
    assert_eq!(returned(&ran), r#"[["MODE","fast"]]"#);
}

#[tokio::test]
async fn an_interface_that_is_not_granted_is_refused_by_name_before_anything_exists() {
    let bench = bench();
    let error = bench.refusal(granting(&["latent:log/log", "wasi:io/streams"])).await;
    assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::PermissionDenied, false));
    assert_eq!(error.details()[0].kind(), "activation.import-not-granted");
    assert_eq!(error.details()[0].field("import"), Some("latent:context/context@0.1.0"));
    assert!(error.message().contains("grant it in the deployment's `imports`"), "{}", error.message());
}

#[tokio::test]
async fn a_refusal_comes_before_the_arguments_are_read() {
    let bench = bench();
    let mut call = granting(&[]);
    call.payload = latent_core::Payload::json("no JSON at all");
    assert_eq!(bench.refusal(call).await.code(), PlatformErrorCode::PermissionDenied);
}

#[tokio::test]
async fn what_is_granted_without_a_version_is_bound_and_a_guest_without_imports_needs_no_grant() {
    let bench = bench();
    let granted = granting(&["latent:context/context", "latent:log/log"]);
    assert_eq!(bench.json(granted).await, "\"suite-activation\"");
    let imports = ImportGrant::Only([].into());
    let execution = ExecutionPolicy { imports, ..ExecutionPolicy::default() };
    let echo = under(request("echo", "echo", "echo-string", "[\"alone\"]"), execution);
    assert_eq!(bench.json(echo).await, "\"alone\"");
}

#[tokio::test]
async fn a_refused_prepared_activation_gives_its_use_back() {
    let bench = bench();
    let call = granting(&[]);
    let prepared = bench.backend.prepare_for_use(call.artifact).await.expect("it prepares");
    let cancellation = suite::cancellation(&call.request, None);
    let ran = bench.backend.invoke_prepared_contained(prepared, call.request, cancellation).await;
    assert_eq!(failure(&ran).code(), PlatformErrorCode::PermissionDenied);
    assert!(bench.backend.resources().is_idle());
}
