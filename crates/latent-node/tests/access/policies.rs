//! Quotas of tenants as the policy of admission: who is admitted, how much, and that one leaves room for the others.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use latent_core::{
    ActivationId, AdmissionPolicy, BudgetCeilings, CellClass, ManualWallClock, PlatformError,
    PlatformErrorCode as Code, Principal, PrincipalKind, ServiceName, Threading,
};
use latent_node::access::{
    Tenant, TenantDirectory as _, TenantQuota, TenantRegistry, TenantRegistryConfig, TenantRegistryParts, policy,
};
use latent_scheduler::admission::{
    Admission, AdmissionConfig, AdmissionPermit, AdmissionRequest, ClassOffer, ClockSample, Conditions, QueueClass,
    Quota, QuotaLedger, TenantPolicy, TrustClass,
};

use crate::support::{MemoryStore, named, refused, start, tenant};

fn base(live: u64) -> AdmissionConfig {
    let offer = ClassOffer {
        class: CellClass::Standard,
        cells: 4,
        memory_bytes: 64 << 20,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    };
    AdmissionConfig::open(vec![offer], live)
}

fn limited(name: &str, live: u64) -> Tenant {
    Tenant { quota: TenantQuota { live: Some(live), queued: Some(live), ..TenantQuota::default() }, ..named(name) }
}

#[expect(clippy::disallowed_methods, reason = "any instant does")]
fn admit(admission: &Admission, of: &str, id: &str) -> Result<AdmissionPermit, PlatformError> {
    let (id, tenant) = (ActivationId::new(id).unwrap(), tenant(of));
    let subject = ServiceName::new("someone").unwrap();
    let request = AdmissionRequest {
        activation_id: &id,
        tenant: &tenant,
        principal: &Principal { tenant: tenant.clone(), subject, kind: PrincipalKind::User },
        policy: Some(&AdmissionPolicy::default()),
        budget: BudgetCeilings::default(),
        payload_bytes: 0,
        priority: 0,
        queue_class: QueueClass::Standard,
        deadline: None,
        transport: None,
    };
    let clock = ClockSample { monotonic: Instant::now(), wall: SystemTime::UNIX_EPOCH };
    admission.admit(&request, &Conditions { clock, pressure: None, observed_delay: [Duration::ZERO; 5] })
}

#[test]
fn only_tenants_on_record_are_in_the_policy_and_what_they_do_not_say_is_as_the_node_says() {
    let node = Quota { live: 9, queued: 8, fuel: 7, memory_bytes: 6, payload_bytes: 5, priority: 4 };
    let own = TenantPolicy { trust: TrustClass::Own, ..TenantPolicy::open() };
    let mut base = base(64);
    base.other_tenants = Some(TenantPolicy { quota: node, ..TenantPolicy::open() });
    base.tenants = [(tenant("own"), own.clone()), (tenant("gone"), own.clone())].into();
    let all = TenantQuota {
        live: Some(1),
        queued: Some(2),
        fuel: Some(3),
        memory_bytes: Some(0),
        payload_bytes: Some(u64::MAX),
        priority: Some(6),
        disk_bytes: Some(7),
    };
    let full = Tenant { quota: all, ..named("full") };
    let made = policy(&base, &[named("bare"), full, limited("own", 3)]);
    assert_eq!((made.tenants.len(), &made.other_tenants), (3, &None));
    assert_eq!(made.tenants[&tenant("bare")].quota, node);
    let quota = Quota { live: 1, queued: 2, fuel: 3, memory_bytes: 0, payload_bytes: u64::MAX, priority: 6 };
    assert_eq!(made.tenants[&tenant("full")].quota, quota);
    let quota = Quota { live: 3, queued: 3, ..Quota::UNLIMITED };
    assert_eq!(made.tenants[&tenant("own")], TenantPolicy { quota, ..own });
    let rest = AdmissionConfig { tenants: base.tenants.clone(), other_tenants: base.other_tenants.clone(), ..made };
    assert_eq!(rest, base, "nothing else is changed");
}

/// A registry whose changes admission goes by.
fn joined(live: u64) -> (TenantRegistry, Arc<Admission>) {
    let base = base(live);
    let admission = Arc::new(Admission::new(Arc::new(QuotaLedger::new()), policy(&base, &[])).unwrap());
    let told = Arc::clone(&admission);
    let parts = TenantRegistryParts {
        store: Arc::new(MemoryStore::default()),
        clock: Arc::new(ManualWallClock::new(start())),
        sink: Arc::new(move |tenants| told.replace(policy(&base, tenants)).expect("the bounds stay what they were")),
    };
    (TenantRegistry::open(parts, TenantRegistryConfig::default()).unwrap(), admission)
}

#[test]
fn a_change_is_what_admission_goes_by_once_it_is_answered_and_what_was_granted_stays() {
    let (registry, admission) = joined(64);
    refused(admit(&admission, "acme", "a"), Code::PermissionDenied, "admission.limit");
    registry.apply_tenant(limited("acme", 2)).unwrap();
    let held = ["a", "b"].map(|id| admit(&admission, "acme", id).unwrap());
    let error = refused(admit(&admission, "acme", "c"), Code::ResourceExhausted, "admission.limit");
    assert_eq!(error.details()[0].field("scope"), Some("tenant"));
    registry.apply_tenant(limited("acme", 1)).unwrap();
    assert_eq!(admission.ledger().snapshot().live(), 2, "what is under way goes on");
    let [first, second] = held;
    drop(first);
    refused(admit(&admission, "acme", "c"), Code::ResourceExhausted, "admission.limit");
    drop(second);
    let kept = admit(&admission, "acme", "c").unwrap();
    registry.delete_tenant(&tenant("acme")).unwrap();
    refused(admit(&admission, "acme", "d"), Code::PermissionDenied, "admission.limit");
    drop(kept);
    admission.ledger().audit().unwrap();
}

#[test]
fn a_tenant_that_fills_all_it_may_leaves_the_queue_to_the_others() {
    let (registry, admission) = joined(6);
    registry.seed(&[limited("acme", 4), limited("umbrella", 2)]).unwrap();
    let flood: Vec<_> = (0..100).filter_map(|id| admit(&admission, "acme", &id.to_string()).ok()).collect();
    assert_eq!(flood.len(), 4, "none of them has a cell");
    let others = ["1", "2"].map(|id| admit(&admission, "umbrella", id).expect("it has its own room"));
    assert_eq!(admission.ledger().snapshot().live(), 6);
    drop((flood, others));
}
