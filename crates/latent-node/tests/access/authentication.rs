//! Who calls: right, wrong, expired and revoked credentials, and failures without end.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use latent_core::{PlatformError, PlatformErrorCode as Code, PrincipalKind, Sha256Digest};
use latent_node::access::{
    Authenticator as _, FailureLimits, NewCredential, Presented, Role, TenantDirectory as _, TenantRegistryConfig,
};

use crate::support::{MemoryStore, certificate, field, new, on, peopled, refused, start, tenant, world};

#[test]
fn a_token_stands_for_its_tenant_subject_and_roles_and_is_prepared_once() {
    let world = peopled();
    let (credential, token) = world.create("acme", &[Role::Invoke, Role::Deploy]);
    let access = world.call(&token).unwrap();
    assert_eq!((access.principal.tenant.as_str(), access.principal.subject.as_str()), ("acme", "someone"));
    assert_eq!(access.principal.kind, PrincipalKind::User);
    assert_eq!(access.roles.iter().collect::<Vec<_>>(), [Role::Invoke, Role::Deploy]);
    assert_eq!(access.credential, credential.id);
    assert!(Arc::ptr_eq(&access, &world.call(&token).unwrap()), "nothing is made for a call");
    assert_eq!(*world.reopened().call(&token).unwrap(), *access, "the same after a restart");
}

#[test]
fn a_role_that_is_missing_is_named() {
    let world = peopled();
    let (_, token) = world.create("acme", &[Role::Invoke]);
    let access = world.call(&token).unwrap();
    access.require(Role::Invoke).unwrap();
    for role in [Role::Deploy, Role::Operate] {
        let error = refused(access.require(role), Code::PermissionDenied, "access.role-missing");
        assert_eq!((field(&error, "role"), error.is_retryable()), (role.as_str(), false));
        assert!(error.message().contains(role.as_str()), "{error}");
    }
}

#[test]
fn whatever_is_wrong_with_a_credential_the_answer_is_the_same() {
    let world = peopled();
    let (_, token) = world.create("acme", &Role::ALL);
    let (revoked, revoked_token) = world.create("acme", &Role::ALL);
    world.registry.revoke_credential(&revoked.id).unwrap();
    let brief = NewCredential { lifetime: Some(Duration::from_secs(5)), ..new("acme", &Role::ALL) };
    let (_, expired) = world.registry.create_credential(brief, start()).unwrap();
    let expired = expired.unwrap();
    let later = start() + Duration::from_secs(5);
    let plain = world.registry.authenticate(None, None, later).unwrap_err();
    assert_eq!((plain.code(), plain.details().len(), plain.is_retryable()), (Code::Unauthenticated, 0, false));
    let long = "x".repeat(1 << 20);
    let other = format!("{}é", &token[..48]);
    let wrong = [
        "",
        &token[..49],
        &token[1..],
        &*format!("{token}A"),
        &*format!("{token}\n"),
        &*format!(" {token}"),
        &*format!("Bearer {token}"),
        &*token.to_uppercase(),
        &*other,
        &*long,
        &*format!("latent_{}", "A".repeat(43)),
        &*revoked_token,
        &*expired,
    ];
    for text in wrong {
        assert_eq!(world.call_at(text, later).unwrap_err(), plain, "{} bytes", text.len());
    }
    let not_text = [0xff_u8; 50];
    assert_eq!(world.registry.authenticate(Some(Presented::Bearer(&not_text)), None, later).unwrap_err(), plain);
    let unknown = Presented::Certificate(Sha256Digest::of(b"unknown"));
    assert_eq!(world.registry.authenticate(Some(unknown), None, later).unwrap_err(), plain);
    world.call_at(&token, later).unwrap();
}

#[test]
fn a_credential_holds_until_the_moment_of_its_end() {
    let world = peopled();
    let new = NewCredential { lifetime: Some(Duration::from_mins(1)), ..new("acme", &[Role::Invoke]) };
    let (credential, token) = world.registry.create_credential(new, start()).unwrap();
    let (token, end) = (token.unwrap(), credential.expires_at.unwrap());
    world.call_at(&token, end - Duration::from_nanos(1)).unwrap();
    assert_eq!(world.call_at(&token, end).unwrap_err().code(), Code::Unauthenticated);
    let again = world.reopened();
    assert_eq!(again.registry.credentials(None, None, 10).rows, [credential]);
    assert_eq!(again.call_at(&token, end).unwrap_err().code(), Code::Unauthenticated);
}

#[test]
fn a_certificate_is_recognised_by_its_hash_and_never_by_a_token_with_that_hash() {
    let world = peopled();
    let (_, token) = world.create("umbrella", &[Role::Invoke]);
    let (_, none) = world.registry.create_credential(certificate("acme", b"der"), start()).unwrap();
    assert_eq!(none, None, "there is no token");
    let call = |digest| world.registry.authenticate(Some(Presented::Certificate(digest)), None, start());
    assert_eq!(call(Sha256Digest::of(b"der")).unwrap().principal.tenant.as_str(), "acme");
    assert_eq!(call(Sha256Digest::of(token.as_bytes())).unwrap_err().code(), Code::Unauthenticated);
    let again = world.registry.create_credential(certificate("umbrella", b"der"), start());
    let error = refused(again, Code::AlreadyExists, "access.certificate-taken");
    assert_eq!(field(&error, "certificate_sha256"), Sha256Digest::of(b"der").to_string());
}

#[test]
fn a_revoked_credential_is_refused_from_the_moment_its_revocation_is_answered() {
    let world = peopled();
    for _ in 0..50 {
        let (credential, token) = world.create("acme", &[Role::Invoke]);
        let (begin, revoked) = (Barrier::new(3), Barrier::new(3));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    world.call(&token).expect("it holds");
                    begin.wait();
                    // Either answer is right while the other one is at it.
                    let meanwhile = world.call(&token).map(|access| access.credential.clone());
                    let is_right = |error: PlatformError| error.code() == Code::Unauthenticated;
                    assert!(meanwhile.map_or_else(is_right, |id| id == credential.id));
                    revoked.wait();
                    world.call(&token).expect_err("it was revoked");
                });
            }
            begin.wait();
            world.registry.revoke_credential(&credential.id).unwrap();
            revoked.wait();
        });
    }
}

#[test]
fn each_of_ten_thousand_tokens_finds_its_own_credential() {
    let store = Arc::new(MemoryStore::default());
    store.put("tenant", "acme", br#"{"version":1,"quota":{}}"#);
    let token = |number: usize| format!("latent_{number:043}");
    for number in 0..10_000 {
        let hash = Sha256Digest::of(token(number).as_bytes());
        let text = format!(
            r#"{{"version":1,"tenant":"acme","subject":"s{number}","roles":["invoke"],"created_at_ms":1,"token_sha256":"{hash}"}}"#
        );
        store.put("credential", &format!("c-{number}"), text.as_bytes());
    }
    let world = on(store, TenantRegistryConfig::default()).unwrap();
    for number in 0..10_000 {
        let access = world.call(&token(number)).unwrap();
        assert_eq!(access.principal.subject.as_str(), format!("s{number}"));
    }
    world.call(&token(10_000)).unwrap_err();
    let one_more = world.registry.create_credential(new("acme", &[Role::Invoke]), start());
    let error = refused(one_more, Code::ResourceExhausted, "access.limit");
    assert_eq!((field(&error, "of"), field(&error, "max"), error.is_retryable()), ("credentials", "10000", false));
}

#[test]
fn after_too_many_failures_wrong_ones_are_told_when_to_retry_and_a_right_one_passes() {
    let failures = FailureLimits { peer_burst: 3, peer_interval: Duration::from_secs(2), ..FailureLimits::default() };
    let config = TenantRegistryConfig { failures, ..TenantRegistryConfig::default() };
    let world = on(Arc::default(), config).unwrap();
    world.registry.apply_tenant(crate::support::named("acme")).unwrap();
    let (_, token) = world.create("acme", &[Role::Invoke]);
    let (proxy, other) = (Some("10.0.0.1".parse().unwrap()), Some("10.0.0.2".parse().unwrap()));
    let call = |text: &str, peer| world.registry.authenticate(Some(Presented::Bearer(text.as_bytes())), peer, start());
    for _ in 0..3 {
        assert_eq!(call("wrong", proxy).unwrap_err().code(), Code::Unauthenticated);
    }
    for _ in 0..100 {
        let error = refused(call("wrong", proxy), Code::ResourceExhausted, "access.too-many-failures");
        assert_eq!((field(&error, "retry_after_ms"), error.is_retryable()), ("2000", true));
        call(&token, proxy).expect("who shares the address is not locked out");
    }
    assert_eq!(call("wrong", other).unwrap_err().code(), Code::Unauthenticated, "another address");
    let later = start() + Duration::from_secs(2);
    let late = world.registry.authenticate(None, proxy, later).unwrap_err();
    assert_eq!(late.code(), Code::Unauthenticated, "one is allowed again");
}

#[test]
fn nothing_of_a_token_is_in_what_is_kept_listed_printed_or_answered() {
    let world = peopled();
    let (credential, token) = world.create("acme", &Role::ALL);
    let access = world.call(&token).unwrap();
    let wrong = format!("{}A", &token[..49]);
    let mut said = vec![
        world.store.text(),
        format!("{:?} {credential:?} {access:?}", world.registry),
        format!("{:?}", Presented::Bearer(token.as_bytes())),
        format!("{:?}", world.registry.credentials(None, None, 10)),
    ];
    for text in [&*token, &*wrong] {
        said.extend([
            format!("{:?}", world.call(&text[1..]).unwrap_err()),
            format!("{:?}", world.registry.revoke_credential(text).unwrap_err()),
        ]);
    }
    for part in [&token[7..20], &token[30..]] {
        for text in &said {
            assert!(!text.contains(part), "{text}");
        }
    }
    let hash = Sha256Digest::of(token.as_bytes()).to_string();
    assert!(said[0].contains(&hash), "the hash is what is kept");
    assert!(said[1..].iter().all(|text| !text.contains(&hash)), "and not shown");
}

#[test]
fn tokens_of_one_tenant_never_speak_for_another() {
    let world = peopled();
    let tokens: Vec<_> = ["acme", "umbrella"]
        .into_iter()
        .flat_map(|of| (0..20).map(move |_| of))
        .map(|of| (of, world.create(of, &[Role::Invoke]).1))
        .collect();
    for (of, token) in &tokens {
        assert_eq!(world.call(token).unwrap().principal.tenant, tenant(of));
    }
    assert_eq!(tokens.iter().map(|(_, token)| token).collect::<BTreeSet<_>>().len(), 40);
    world.registry.delete_tenant(&tenant("umbrella")).unwrap();
    for (of, token) in &tokens {
        assert_eq!(world.call(token).is_ok(), *of == "acme");
    }
}

#[test]
fn settings_out_of_their_bounds_are_refused_by_name() {
    let failures = FailureLimits { node_burst: 0, ..FailureLimits::default() };
    let config = TenantRegistryConfig { failures, ..TenantRegistryConfig::default() };
    let error = refused(on(Arc::default(), config), Code::InvalidArgument, "access.invalid-config");
    assert_eq!(field(&error, "setting"), "failures.node_burst");
    let _usual = world();
}
