//! Tenants and credentials as resources: made, changed, listed, removed; refused; and what a failing disk leaves.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use latent_core::PlatformErrorCode as Code;
use latent_node::access::{
    LIFETIME_MAX, NewCredential, PAGE_ROWS_MAX, Role, Tenant, TenantDirectory as _, TenantQuota, TenantRegistryConfig,
};

use crate::support::{certificate, field, named, new, on, peopled, refused, start, tenant, world};

#[test]
fn a_tenant_is_made_changed_and_shown_and_is_there_after_a_restart() {
    let world = world();
    let quota = TenantQuota {
        live: Some(1),
        queued: Some(2),
        fuel: Some(u64::MAX),
        memory_bytes: Some(4),
        payload_bytes: Some(5),
        priority: Some(u8::MAX),
        disk_bytes: Some(7),
    };
    let acme = Tenant { quota, ..named("acme") };
    assert_eq!(world.registry.apply_tenant(acme.clone()).unwrap(), acme);
    assert_eq!(world.registry.tenant(&acme.name).unwrap(), acme);
    assert_eq!(world.store.quota("acme"), Some(7));
    assert_eq!(world.reopened().registry.tenant(&acme.name).unwrap(), acme);
    world.registry.apply_tenant(named("acme")).unwrap();
    assert_eq!(world.registry.tenant(&acme.name).unwrap(), named("acme"));
    assert_eq!(world.store.quota("acme"), None, "it has the one of everybody again");
}

#[test]
fn applying_what_is_there_writes_nothing() {
    let world = peopled();
    let writes = world.store.writes();
    world.store.fail(true);
    world.registry.apply_tenant(named("acme")).unwrap();
    assert_eq!((world.store.writes(), world.told.lock().unwrap().len()), (writes, 3));
}

#[test]
fn the_sink_is_told_of_all_tenants_at_the_start_and_at_each_change_before_it_is_answered() {
    let world = peopled();
    world.registry.delete_tenant(&tenant("acme")).unwrap();
    world.create("umbrella", &[Role::Invoke]);
    let told = world.told.lock().unwrap().clone();
    let expected = [vec![], vec![named("acme")], vec![named("acme"), named("umbrella")], vec![named("umbrella")]];
    assert_eq!(told, expected, "and not of credentials");
    assert_eq!(*world.reopened().told.lock().unwrap(), [vec![named("umbrella")]]);
}

#[test]
fn an_unknown_tenant_is_not_found_whatever_is_asked_of_it() {
    let world = peopled();
    let nobody = tenant("nobody");
    let registry = &world.registry;
    for answer in [
        registry.tenant(&nobody).map(drop),
        registry.delete_tenant(&nobody),
        registry.create_credential(new("nobody", &[Role::Invoke]), start()).map(drop),
    ] {
        let error = refused(answer, Code::NotFound, "access.unknown-tenant");
        assert_eq!(field(&error, "tenant"), "nobody");
    }
    assert_eq!(registry.credentials(Some(&nobody), None, 10).rows, []);
}

#[test]
fn a_tenant_goes_with_its_credentials_and_its_quota_and_nobody_elses() {
    let world = peopled();
    world
        .registry
        .apply_tenant(Tenant { quota: TenantQuota { disk_bytes: Some(9), ..TenantQuota::default() }, ..named("acme") })
        .unwrap();
    let (_, gone) = world.create("acme", &[Role::Invoke]);
    let (kept, token) = world.create("umbrella", &[Role::Invoke]);
    world.registry.create_credential(certificate("acme", b"der"), start()).unwrap();
    world.registry.delete_tenant(&tenant("acme")).unwrap();
    for world in [&world, &world.reopened()] {
        assert_eq!(world.listed(), (vec!["umbrella".to_owned()], vec![kept.id.to_string()]));
        world.call(&gone).unwrap_err();
        world.call(&token).unwrap();
    }
    assert_eq!(world.store.quota("acme"), None);
    world.registry.create_credential(certificate("umbrella", b"der"), start()).expect("the certificate is free again");
}

#[test]
fn a_tenant_with_releases_stays_until_they_are_gone() {
    let world = peopled();
    let acme = tenant("acme");
    world.store.hold(&acme, true);
    let error = refused(world.registry.delete_tenant(&acme), Code::StateConflict, "access.tenant-in-use");
    assert_eq!(field(&error, "tenant"), "acme");
    world.store.hold(&acme, false);
    world.registry.delete_tenant(&acme).unwrap();
}

#[test]
fn the_last_credential_that_may_operate_the_node_stays_and_so_does_its_tenant() {
    let world = peopled();
    let (first, _) = world.create("acme", &[Role::Operate]);
    let (other, _) = world.create("umbrella", &[Role::Invoke, Role::Deploy]);
    let conflict = |answer| refused(answer, Code::StateConflict, "access.last-operator");
    conflict(world.registry.revoke_credential(&first.id));
    conflict(world.registry.delete_tenant(&tenant("acme")));
    world.registry.revoke_credential(&other.id).expect("it could not operate");
    let (second, _) = world.create("umbrella", &[Role::Operate]);
    world.registry.revoke_credential(&first.id).expect("there is another one");
    conflict(world.registry.revoke_credential(&second.id));
}

#[test]
fn a_credential_that_holds_no_more_is_no_operator() {
    let world = peopled();
    let (first, _) = world.create("acme", &[Role::Operate]);
    let brief = NewCredential { lifetime: Some(Duration::from_secs(10)), ..new("acme", &[Role::Operate]) };
    let (brief, _) = world.registry.create_credential(brief, start()).unwrap();
    world.clock.advance(Duration::from_secs(10));
    refused(world.registry.revoke_credential(&first.id), Code::StateConflict, "access.last-operator");
    world.registry.revoke_credential(&brief.id).expect("it is no operator any more");
}

#[test]
fn two_operators_that_revoke_one_another_leave_one() {
    for _ in 0..50 {
        let world = peopled();
        let ids = ["acme", "umbrella"].map(|of| world.create(of, &[Role::Operate]).0.id);
        let begin = Barrier::new(2);
        let revoke = |id: &str| {
            begin.wait();
            world.registry.revoke_credential(id).is_ok()
        };
        let answers = std::thread::scope(|scope| {
            let other = scope.spawn(|| revoke(&ids[0]));
            [revoke(&ids[1]), other.join().unwrap()]
        });
        assert_eq!(answers.iter().filter(|done| **done).count(), 1);
        assert_eq!(world.listed().1.len(), 1);
    }
}

#[test]
fn a_credential_without_a_role_or_with_an_impossible_lifetime_is_refused() {
    let world = peopled();
    let create = |new| world.registry.create_credential(new, start()).map(drop);
    refused(create(new("acme", &[])), Code::InvalidArgument, "access.no-roles");
    let max = LIFETIME_MAX;
    for lifetime in [Duration::ZERO, Duration::from_millis(999), max + Duration::from_nanos(1), Duration::MAX] {
        let new = NewCredential { lifetime: Some(lifetime), ..new("acme", &[Role::Invoke]) };
        let error = refused(create(new), Code::InvalidArgument, "access.lifetime");
        assert_eq!(field(&error, "max_seconds"), max.as_secs().to_string());
    }
    create(NewCredential { lifetime: Some(max), ..new("acme", &[Role::Invoke]) }).unwrap();
    assert_eq!(world.listed().1.len(), 1, "nothing of what was refused is there");
}

#[test]
fn an_unknown_credential_is_not_found() {
    let world = peopled();
    let error = refused(world.registry.revoke_credential("c-1"), Code::NotFound, "access.unknown-credential");
    assert_eq!(field(&error, "credential"), "c-1");
    let (credential, _) = world.create("acme", &[Role::Invoke]);
    world.registry.revoke_credential(&credential.id).unwrap();
    refused(world.registry.revoke_credential(&credential.id), Code::NotFound, "access.unknown-credential");
}

#[test]
fn pages_follow_one_another_and_end() {
    let world = peopled();
    let mut expected: Vec<_> =
        (0..7).map(|number| world.create(if number < 5 { "acme" } else { "umbrella" }, &[Role::Invoke]).0).collect();
    expected.sort_by(|one, other| one.id.cmp(&other.id));
    let all = |of: Option<&str>, rows| {
        let (of, mut found, mut after) = (of.map(tenant), vec![], None::<Box<str>>);
        loop {
            let page = world.registry.credentials(of.as_ref(), after.as_deref(), rows);
            assert!(page.rows.len() <= rows.max(1));
            found.extend(page.rows);
            after = page.next;
            if after.is_none() {
                return found;
            }
        }
    };
    for rows in [0, 1, 2, 3, 7, 100] {
        assert_eq!(all(None, rows), expected, "{rows} rows a page");
        let of_acme: Vec<_> = expected.iter().filter(|of| of.tenant.as_str() == "acme").cloned().collect();
        assert_eq!(all(Some("acme"), rows), of_acme, "{rows} rows a page");
    }
    let page = world.registry.tenants(None, 1);
    assert_eq!((page.rows, page.next.as_deref()), (vec![named("acme")], Some("acme")));
    let page = world.registry.tenants(Some("acme"), 1);
    assert_eq!((page.rows, page.next), (vec![named("umbrella")], None));
    assert_eq!(world.registry.tenants(Some("zebra"), 1).rows, []);
}

#[test]
fn a_page_has_no_more_rows_than_its_bound() {
    let config = TenantRegistryConfig { tenants_max: 2000, ..TenantRegistryConfig::default() };
    let world = on(Arc::default(), config).unwrap();
    let tenants: Vec<_> = (0..=PAGE_ROWS_MAX).map(|number| named(&format!("t{number:05}"))).collect();
    assert_eq!(world.registry.seed(&tenants).unwrap(), PAGE_ROWS_MAX + 1);
    let page = world.registry.tenants(None, usize::MAX);
    assert_eq!(page.rows.len(), PAGE_ROWS_MAX);
    assert_eq!(page.next.as_deref(), Some("t00999"));
}

#[test]
fn beyond_the_bound_on_tenants_none_is_made_and_those_there_can_be_changed() {
    let config = TenantRegistryConfig { tenants_max: 1, ..TenantRegistryConfig::default() };
    let world = on(Arc::default(), config).unwrap();
    world.registry.apply_tenant(named("acme")).unwrap();
    for answer in [
        world.registry.apply_tenant(named("umbrella")).map(drop),
        world.registry.seed(&[named("acme"), named("umbrella")]).map(drop),
    ] {
        let error = refused(answer, Code::ResourceExhausted, "access.limit");
        assert_eq!((field(&error, "of"), field(&error, "max")), ("tenants", "1"));
    }
    let quota = TenantQuota { live: Some(3), ..TenantQuota::default() };
    world.registry.apply_tenant(Tenant { quota, ..named("acme") }).unwrap();
    assert_eq!(world.listed().0, ["acme"]);
}

#[test]
fn expired_credentials_make_room_for_one_more() {
    let config = TenantRegistryConfig { credentials_max: 2, ..TenantRegistryConfig::default() };
    let world = on(Arc::default(), config).unwrap();
    world.registry.apply_tenant(named("acme")).unwrap();
    let (kept, token) = world.create("acme", &[Role::Invoke]);
    let brief = NewCredential { lifetime: Some(Duration::from_secs(10)), ..new("acme", &[Role::Invoke]) };
    let (expired, _) = world.registry.create_credential(brief, start()).unwrap();
    let third = new("acme", &[Role::Invoke]);
    let early = world.registry.create_credential(third.clone(), start() + Duration::from_secs(9));
    refused(early, Code::ResourceExhausted, "access.limit");
    let (made, _) = world.registry.create_credential(third, start() + Duration::from_secs(10)).unwrap();
    let mut ids = vec![kept.id.to_string(), made.id.to_string()];
    ids.sort();
    assert_eq!(world.listed().1, ids);
    assert_eq!(world.reopened().listed().1, ids, "{} is gone from the store too", expired.id);
    world.call(&token).unwrap();
}

#[test]
fn seeding_makes_what_is_missing_and_overwrites_nothing() {
    let world = world();
    let quota = TenantQuota { live: Some(3), ..TenantQuota::default() };
    let changed = Tenant { quota, ..named("acme") };
    world.registry.apply_tenant(changed.clone()).unwrap();
    assert_eq!(world.registry.seed(&[named("acme"), named("umbrella"), named("umbrella")]).unwrap(), 1);
    assert_eq!(world.registry.tenant(&changed.name).unwrap(), changed);
    let writes = world.store.writes();
    assert_eq!(world.registry.seed(&[named("acme"), named("umbrella")]).unwrap(), 0);
    assert_eq!(world.store.writes(), writes, "nothing is written");
}

#[test]
fn a_change_that_cannot_be_written_down_is_not_there() {
    let world = peopled();
    let (credential, token) = world.create("acme", &[Role::Invoke]);
    let (listed, text, told) = (world.listed(), world.store.text(), world.told.lock().unwrap().len());
    world.store.fail(true);
    let registry = &world.registry;
    let quota = TenantQuota { live: Some(3), ..TenantQuota::default() };
    for answer in [
        registry.apply_tenant(Tenant { quota, ..named("acme") }).map(drop),
        registry.apply_tenant(named("third")).map(drop),
        registry.seed(&[named("third")]).map(drop),
        registry.delete_tenant(&tenant("acme")),
        registry.create_credential(new("acme", &[Role::Invoke]), start()).map(drop),
        registry.revoke_credential(&credential.id),
    ] {
        assert!(refused(answer, Code::ResourceExhausted, "storage.disk-full").is_retryable());
    }
    assert_eq!((world.listed(), world.store.text()), (listed, text));
    assert_eq!(world.told.lock().unwrap().len(), told);
    assert_eq!(registry.tenant(&tenant("acme")).unwrap(), named("acme"));
    world.call(&token).expect("it still holds");
    world.store.fail(false);
    registry.revoke_credential(&credential.id).expect("the same works once the disk does");
}
