//! Admission with its ledger: what is granted, what is refused and how, what is given back.
#![expect(clippy::disallowed_methods, reason = "tests make their own instants")]

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use latent_core::{
    ActivationId, AdmissionPolicy, BudgetCeilings, CellClass, PlatformErrorCode, Principal, PrincipalKind, ServiceName,
    TenantId, Threading,
};
use proptest::prelude::*;

use super::*;
use crate::admission::books::{Stage, Usage};
use crate::admission::*;

const SECOND: Duration = Duration::from_secs(1);
const MIB: u64 = 1 << 20;

/// Changes one thing of a value.
type Alter<T> = fn(&mut T);

fn offer(class: CellClass, cells: u64, memory_mib: u64) -> ClassOffer {
    ClassOffer {
        class,
        cells,
        memory_bytes: memory_mib * MIB,
        threading: Threading::Single,
        service_time: Duration::ZERO,
        quota: Quota::UNLIMITED,
    }
}

fn config(live: u64) -> AdmissionConfig {
    AdmissionConfig::open(vec![offer(CellClass::Standard, 4, 64)], live)
}

/// One call with all that it needs, to be altered by each test.
struct Call {
    id: ActivationId,
    principal: Principal,
    target: TenantId,
    policy: Option<AdmissionPolicy>,
    budget: BudgetCeilings,
    payload_bytes: u64,
    priority: u8,
    queue_class: QueueClass,
    deadline: Option<SystemTime>,
    transport: Option<TransportTimeout>,
    clock: ClockSample,
    pressure: Option<PressureSample>,
    observed_delay: Duration,
}

fn call(tenant: &str, id: &str) -> Call {
    let tenant = TenantId::new(tenant).unwrap();
    let subject = ServiceName::new("alice").unwrap();
    Call {
        id: ActivationId::new(id).unwrap(),
        principal: Principal { tenant: tenant.clone(), subject, kind: PrincipalKind::User },
        target: tenant,
        policy: Some(AdmissionPolicy::default()),
        budget: BudgetCeilings::default(),
        payload_bytes: 0,
        priority: 0,
        queue_class: QueueClass::Standard,
        deadline: None,
        transport: None,
        clock: ClockSample { monotonic: Instant::now(), wall: SystemTime::UNIX_EPOCH + Duration::from_hours(1) },
        pressure: None,
        observed_delay: Duration::ZERO,
    }
}

impl Call {
    fn admit(&self, admission: &Admission) -> Result<AdmissionPermit, PlatformError> {
        let request = AdmissionRequest {
            activation_id: &self.id,
            tenant: &self.target,
            principal: &self.principal,
            policy: self.policy.as_ref(),
            budget: self.budget,
            payload_bytes: self.payload_bytes,
            priority: self.priority,
            queue_class: self.queue_class,
            deadline: self.deadline,
            transport: self.transport,
        };
        let observed_delay = [self.observed_delay; 5];
        let answer = admission
            .admit(&request, &Conditions { clock: self.clock, pressure: self.pressure.as_ref(), observed_delay });
        admission.ledger().audit().unwrap();
        answer
    }
}

fn admission(config: AdmissionConfig) -> Admission {
    Admission::new(Arc::new(QuotaLedger::new()), config).unwrap()
}

/// Asserts the denial's code, its three fields, and whether a retry may help.
#[track_caller]
fn assert_denied(
    answer: Result<AdmissionPermit, PlatformError>,
    code: PlatformErrorCode,
    fields: [&str; 3],
    retryable: bool,
) {
    let error = answer.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    let [detail] = error.details() else { panic!("exactly one detail: {error:?}") };
    assert_eq!(detail.kind(), "admission.limit");
    let found: Vec<_> = detail.fields().collect();
    let [scope, dimension, reason] = fields;
    assert_eq!(found, [("scope", scope), ("dimension", dimension), ("reason", reason)]);
    assert_eq!(error.is_retryable(), retryable, "{error}");
}

#[track_caller]
fn assert_exhausted(answer: Result<AdmissionPermit, PlatformError>, scope: &str, dimension: &str) {
    assert_denied(answer, PlatformErrorCode::ResourceExhausted, [scope, dimension, "capacity-exhausted"], true);
}

#[track_caller]
fn assert_never(answer: Result<AdmissionPermit, PlatformError>, scope: &str, dimension: &str) {
    assert_denied(answer, PlatformErrorCode::ResourceExhausted, [scope, dimension, "capacity-exhausted"], false);
}

#[track_caller]
fn assert_late(answer: Result<AdmissionPermit, PlatformError>) {
    assert_eq!(answer.unwrap_err(), PlatformError::deadline_exceeded());
}

#[test]
fn the_grant_is_the_least_of_request_capsule_deployment_and_node_in_each_dimension() {
    let mut config = config(1);
    config.ceilings = NodeCeilings { fuel: 40, memory_bytes: 40, log_bytes: 10, wall_limit: 40 * SECOND };
    let admission = admission(config);
    let mut call = call("a", "1");
    let ceilings = |fuel, memory_bytes, log_bytes, seconds| BudgetCeilings {
        fuel: Some(fuel),
        memory_bytes: Some(memory_bytes),
        log_bytes: Some(log_bytes),
        wall_limit: Some(seconds * SECOND),
    };
    call.budget = ceilings(10, 20, 30, 40);
    let (capsule, deployment) = (ceilings(20, 10, 40, 30), ceilings(30, 40, 20, 10));
    call.policy = Some(AdmissionPolicy { capsule, deployment, ..AdmissionPolicy::default() });
    let permit = call.admit(&admission).unwrap();
    let granted = permit.granted();
    assert_eq!((granted.fuel, granted.memory_bytes, granted.log_bytes), (10, 10, 10));
    assert_eq!(permit.deadline(), call.clock.monotonic + 10 * SECOND);
    assert_eq!(granted.deadline, None, "the monotonic deadline is the only one");
    let usage = admission.ledger().snapshot();
    assert_eq!(usage, Usage { queued: 1, running: 0, fuel: 10, memory_bytes: 10 });
}

#[test]
fn an_absent_limit_leaves_the_nodes_finite_one() {
    let admission = admission(config(1));
    let call = call("a", "1");
    let permit = call.admit(&admission).unwrap();
    assert_eq!(permit.deadline(), call.clock.monotonic + Duration::from_mins(1));
    assert_eq!(*permit.granted(), latent_core::ResourceBudget::default());
}

#[test]
fn the_deadline_is_the_earliest_of_absolute_transport_and_relative() {
    let admission = admission(config(8));
    let mut call = call("a", "1");
    let now = call.clock.monotonic;
    call.budget.wall_limit = Some(9 * SECOND);
    call.deadline = Some(call.clock.wall + 8 * SECOND);
    assert_eq!(call.admit(&admission).unwrap().deadline(), now + 8 * SECOND);
    // The timeout counts from the arrival, which was earlier.
    call.transport = Some(TransportTimeout { arrival: now.checked_sub(SECOND).unwrap(), timeout: 5 * SECOND });
    assert_eq!(call.admit(&admission).unwrap().deadline(), now + 4 * SECOND);
    call.budget.wall_limit = Some(3 * SECOND);
    let permit = call.admit(&admission).unwrap();
    assert_eq!(permit.deadline(), now + 3 * SECOND);
    assert_eq!(permit.terms().deadline_wall, call.clock.wall + 3 * SECOND);
}

#[test]
fn a_passed_deadline_is_the_shared_error_whichever_it_is_and_before_any_limit() {
    let admission = admission(config(0));
    let late: [fn(&mut Call); 4] = [
        |call| call.deadline = Some(call.clock.wall),
        |call| call.deadline = Some(SystemTime::UNIX_EPOCH),
        |call| {
            let arrival = call.clock.monotonic.checked_sub(SECOND).unwrap();
            call.transport = Some(TransportTimeout { arrival, timeout: SECOND });
        },
        |call| call.budget.wall_limit = Some(Duration::ZERO),
    ];
    for make_late in late {
        let mut call = call("a", "1");
        make_late(&mut call);
        assert_late(call.admit(&admission));
    }
}

#[test]
fn a_deadline_beyond_what_the_clock_can_express_restricts_nothing() {
    let admission = admission(config(1));
    let mut call = call("a", "1");
    call.transport = Some(TransportTimeout { arrival: call.clock.monotonic, timeout: Duration::MAX });
    call.budget.wall_limit = Some(Duration::MAX);
    assert_eq!(call.admit(&admission).unwrap().deadline(), call.clock.monotonic + Duration::from_mins(1));
}

#[test]
fn a_wall_clock_turned_after_admission_changes_no_deadline() {
    let admission = admission(config(2));
    let mut first = call("a", "1");
    first.deadline = Some(first.clock.wall + 8 * SECOND);
    let permit = first.admit(&admission).unwrap();
    let deadline = permit.deadline();
    // An hour back, a year ahead: whoever comes then is weighed by that clock, whoever is admitted is not.
    for wall in [first.clock.wall - Duration::from_mins(59), first.clock.wall + Duration::from_hours(365 * 24)] {
        let mut second = call("a", "2");
        second.clock.wall = wall;
        drop(second.admit(&admission).unwrap());
        assert_eq!(permit.deadline(), deadline);
    }
    assert_eq!(permit.into_running().deadline(), deadline);
}

#[test]
fn zero_fuel_or_memory_is_infeasible_and_names_the_layer() {
    let admission = admission(config(1));
    let zero_fuel = BudgetCeilings { fuel: Some(0), ..BudgetCeilings::default() };
    let zero_memory = BudgetCeilings { memory_bytes: Some(0), ..BudgetCeilings::default() };
    for (ceilings, dimension) in [(zero_fuel, "fuel"), (zero_memory, "memory-bytes")] {
        let refused = |call: Call, scope| {
            let fields = [scope, dimension, "unsupported-execution-requirement"];
            assert_denied(call.admit(&admission), PlatformErrorCode::AdmissionRejected, fields, false);
        };
        refused(Call { budget: ceilings, ..call("a", "1") }, "request");
        let capsule = Some(AdmissionPolicy { capsule: ceilings, ..AdmissionPolicy::default() });
        refused(Call { policy: capsule, ..call("a", "1") }, "capsule");
        let deployment = Some(AdmissionPolicy { deployment: ceilings, ..AdmissionPolicy::default() });
        refused(Call { policy: deployment, ..call("a", "1") }, "deployment");
    }
}

#[test]
fn a_quota_of_zero_grants_nothing_in_any_scope_and_dimension() {
    type Set = fn(&mut AdmissionConfig) -> &mut Quota;
    let scopes: [(&str, Set); 5] = [
        ("node", |config| &mut config.node),
        ("tenant", |config| &mut config.other_tenants.as_mut().unwrap().quota),
        ("trust-class", |config| &mut config.trust[TrustClass::Untrusted as usize].quota),
        ("queue-class", |config| &mut config.queue[QueueClass::Standard as usize]),
        ("cell-class", |config| &mut config.classes[0].quota),
    ];
    let dimensions: [(&str, Alter<Quota>); 4] = [
        ("live-activations", |quota| quota.live = 0),
        ("queued-reservations", |quota| quota.queued = 0),
        ("fuel", |quota| quota.fuel = 0),
        ("memory-bytes", |quota| quota.memory_bytes = 0),
    ];
    for (scope, quota) in scopes {
        for (dimension, zero) in dimensions {
            let mut config = config(8);
            zero(quota(&mut config));
            assert_never(call("a", "1").admit(&admission(config)), scope, dimension);
        }
    }
}

#[test]
fn each_scope_counts_its_own_and_refuses_at_its_limit() {
    let mut config = config(5);
    let quota = |live| Quota { live, ..Quota::UNLIMITED };
    config.other_tenants.as_mut().unwrap().quota = quota(2);
    config.queue[QueueClass::Background as usize] = quota(1);
    config.trust[TrustClass::Untrusted as usize].quota = quota(4);
    let own = TenantPolicy { trust: TrustClass::Own, ..TenantPolicy::open() };
    config.tenants.insert(TenantId::new("operator").unwrap(), own);
    let admission = admission(config);
    let mut held = vec![call("a", "1").admit(&admission).unwrap()];
    let mut background = call("a", "2");
    background.queue_class = QueueClass::Background;
    held.push(background.admit(&admission).unwrap());
    assert_exhausted(call("a", "3").admit(&admission), "tenant", "live-activations");
    let mut second = call("b", "2");
    second.queue_class = QueueClass::Background;
    assert_exhausted(second.admit(&admission), "queue-class", "live-activations");
    held.push(call("b", "1").admit(&admission).unwrap());
    held.push(call("c", "1").admit(&admission).unwrap());
    assert_exhausted(call("d", "1").admit(&admission), "trust-class", "live-activations");
    held.push(call("operator", "1").admit(&admission).unwrap());
    assert_exhausted(call("operator", "2").admit(&admission), "node", "live-activations");
    drop(held);
    assert_eq!(admission.ledger().audit().unwrap(), Usage::default());
}

#[test]
fn queued_and_running_both_count_and_only_the_queued_take_queue_places() {
    let mut config = config(3);
    config.node.queued = 1;
    let admission = admission(config);
    let first = call("a", "1").admit(&admission).unwrap();
    assert_exhausted(call("a", "2").admit(&admission), "node", "queued-reservations");
    let first = first.into_running();
    let second = call("a", "2").admit(&admission).unwrap().into_running();
    let third = call("a", "3").admit(&admission).unwrap();
    let usage = admission.ledger().audit().unwrap();
    assert_eq!((usage.queued, usage.running), (1, 2));
    let third = third.into_running();
    assert_exhausted(call("a", "4").admit(&admission), "node", "live-activations");
    drop((first, second, third));
    assert_eq!(admission.ledger().audit().unwrap(), Usage::default());
}

#[test]
fn reserved_fuel_and_memory_are_bounded_together_and_given_back() {
    let mut config = config(8);
    config.ceilings.fuel = 100;
    config.ceilings.memory_bytes = 10;
    config.node.fuel = 250;
    config.node.memory_bytes = 25;
    let admission = admission(config);
    let first = call("a", "1").admit(&admission).unwrap();
    let _second = call("a", "2").admit(&admission).unwrap();
    assert_exhausted(call("a", "3").admit(&admission), "node", "fuel");
    let mut less_fuel = call("a", "3");
    less_fuel.budget.fuel = Some(50);
    assert_exhausted(less_fuel.admit(&admission), "node", "memory-bytes");
    drop(first);
    let _third = call("a", "3").admit(&admission).unwrap();
}

#[test]
fn a_request_that_never_fits_is_told_not_to_retry() {
    let mut config = config(8);
    config.node.fuel = 99;
    config.ceilings.fuel = 100;
    assert_never(call("a", "1").admit(&admission(config)), "node", "fuel");
}

#[test]
fn the_payload_and_the_priority_have_ceilings() {
    let mut config = config(8);
    config.node.payload_bytes = 10;
    config.node.priority = 5;
    config.other_tenants.as_mut().unwrap().quota.priority = 3;
    let admission = admission(config);
    let mut call = call("a", "1");
    call.payload_bytes = 11;
    let fields = ["node", "payload-bytes", "payload-too-large"];
    assert_denied(call.admit(&admission), PlatformErrorCode::ResourceExhausted, fields, false);
    call.payload_bytes = 10;
    call.priority = 200;
    assert_eq!(call.admit(&admission).unwrap().terms().priority, 3);
    call.priority = 2;
    assert_eq!(call.admit(&admission).unwrap().terms().priority, 2);
}

#[test]
fn empty_lists_deny_and_say_which_list() {
    let fields: [(&str, Alter<TenantPolicy>); 3] = [
        ("subject", |policy| policy.subjects = Allowlist::default()),
        ("principal-kind", |policy| policy.callers = Allowlist::default()),
        ("queue-class", |policy| policy.queue_classes = Allowlist::default()),
    ];
    for (dimension, empty) in fields {
        let mut config = config(1);
        empty(config.other_tenants.as_mut().unwrap());
        let denied = ["tenant", dimension, "principal-not-authorized"];
        assert_denied(call("a", "1").admit(&admission(config)), PlatformErrorCode::PermissionDenied, denied, false);
    }
    let cells: [fn(&mut AdmissionConfig); 3] = [
        |config| config.other_tenants.as_mut().unwrap().cell_classes = Allowlist::default(),
        |config| config.trust[TrustClass::Untrusted as usize].cell_classes = Allowlist::default(),
        |config| config.ceilings.memory_bytes = 65 * MIB,
    ];
    for none in cells {
        let mut config = config(1);
        none(&mut config);
        let denied = ["cell-class", "memory-bytes", "no-compatible-cell"];
        assert_denied(call("a", "1").admit(&admission(config)), PlatformErrorCode::AdmissionRejected, denied, false);
    }
}

#[test]
fn a_listed_subject_and_kind_is_admitted_and_another_is_not() {
    let mut config = config(2);
    let policy = config.other_tenants.as_mut().unwrap();
    policy.subjects = Allowlist::Only([ServiceName::new("alice").unwrap()].into());
    policy.callers = Allowlist::Only([CallerKind::User].into());
    let admission = admission(config);
    drop(call("a", "1").admit(&admission).unwrap());
    let mut other = call("a", "1");
    other.principal.subject = ServiceName::new("bob").unwrap();
    assert!(other.admit(&admission).unwrap_err().message().contains("subject"));
    let mut service = call("a", "1");
    service.principal.kind = PrincipalKind::Service(ServiceName::new("cart").unwrap());
    assert!(service.admit(&admission).unwrap_err().message().contains("principal-kind"));
}

#[test]
fn unknown_tenants_foreign_principals_and_unknown_revisions_are_refused() {
    let mut config = config(1);
    config.other_tenants = None;
    config.tenants.insert(TenantId::new("a").unwrap(), TenantPolicy::open());
    let admission = admission(config);
    let denied = ["node", "tenant", "principal-not-authorized"];
    assert_denied(call("b", "1").admit(&admission), PlatformErrorCode::PermissionDenied, denied, false);
    let foreign = Call { target: TenantId::new("a").unwrap(), ..call("b", "1") };
    let denied = ["tenant", "tenant", "tenant-mismatch"];
    assert_denied(foreign.admit(&admission), PlatformErrorCode::PermissionDenied, denied, false);
    let unknown = Call { policy: None, ..call("a", "1") };
    let denied = ["deployment", "revision", "revision-not-available"];
    assert_denied(unknown.admit(&admission), PlatformErrorCode::AdmissionRejected, denied, false);
}

#[test]
fn the_cell_is_the_smallest_that_fits_memory_and_threading_and_is_allowed() {
    let mut config = config(8);
    let shared = ClassOffer { threading: Threading::Shared, ..offer(CellClass::Large, 1, 256) };
    // In no particular order.
    config.classes = vec![shared, offer(CellClass::Tiny, 1, 4), offer(CellClass::Standard, 1, 64)];
    let only = [CellClass::Standard, CellClass::Large].into();
    let standard_up = TenantPolicy { cell_classes: Allowlist::Only(only), ..TenantPolicy::open() };
    config.tenants.insert(TenantId::new("picky").unwrap(), standard_up);
    let admission = admission(config);
    let class_of = |tenant, memory_mib: u64, threading| {
        let mut call = call(tenant, "1");
        call.budget.memory_bytes = Some(memory_mib * MIB);
        call.policy = Some(AdmissionPolicy { threading, ..AdmissionPolicy::default() });
        call.admit(&admission).unwrap().class()
    };
    assert_eq!(class_of("a", 4, Threading::Single), CellClass::Tiny);
    assert_eq!(class_of("a", 5, Threading::Single), CellClass::Standard);
    assert_eq!(class_of("a", 4, Threading::Shared), CellClass::Large);
    assert_eq!(class_of("picky", 4, Threading::Single), CellClass::Standard);
}

#[test]
fn a_requirement_that_no_cell_meets_is_unsupported() {
    let mut call = call("a", "1");
    call.policy = Some(AdmissionPolicy { threading: Threading::Shared, ..AdmissionPolicy::default() });
    let denied = ["node", "threading", "unsupported-execution-requirement"];
    assert_denied(call.admit(&admission(config(1))), PlatformErrorCode::AdmissionRejected, denied, false);
}

#[test]
fn an_admission_that_cannot_be_in_time_is_refused() {
    let mut config = config(64);
    config.classes[0].service_time = SECOND;
    config.margins = FeasibilityMargins { minimum_execution: SECOND, margin: SECOND };
    let admission = admission(config);
    let within = |id: &str, seconds| {
        let mut call = call("a", id);
        call.budget.wall_limit = Some(seconds * SECOND);
        call.admit(&admission)
    };
    let infeasible = ["cell-class", "deadline", "queue-deadline-infeasible"];
    // Nobody ahead: two seconds are needed, and exactly two are not enough.
    assert_denied(within("0", 2), PlatformErrorCode::ResourceExhausted, infeasible, true);
    let _held: Vec<_> = (0..7).map(|id| within(&id.to_string(), 60).unwrap()).collect();
    // Seven ahead in four cells are one turn.
    assert_denied(within("7", 3), PlatformErrorCode::ResourceExhausted, infeasible, true);
    let _eighth = within("7", 4).unwrap();
    assert_denied(within("8", 4), PlatformErrorCode::ResourceExhausted, infeasible, true);
    let mut delayed = call("a", "8");
    delayed.budget.wall_limit = Some(10 * SECOND);
    delayed.observed_delay = 8 * SECOND;
    assert_denied(delayed.admit(&admission), PlatformErrorCode::ResourceExhausted, infeasible, true);
    delayed.observed_delay = 7 * SECOND;
    drop(delayed.admit(&admission).unwrap());
}

#[test]
fn an_estimate_that_overflows_counts_as_too_late() {
    let mut config = config(64);
    config.classes[0].service_time = Duration::MAX;
    config.classes[0].cells = 1;
    let admission = admission(config);
    let _alone = call("a", "1").admit(&admission).unwrap();
    let _second_needs_one_turn = call("a", "2").admit(&admission).unwrap_err();
    let mut margins = AdmissionConfig::clone(&admission.config());
    margins.margins = FeasibilityMargins { minimum_execution: Duration::MAX, margin: Duration::MAX };
    admission.replace(margins).unwrap();
    assert!(call("b", "1").admit(&admission).unwrap_err().message().contains("deadline"));
}

#[test]
fn a_pressed_node_refuses_and_a_missing_or_stale_sample_does_too() {
    let mut config = config(8);
    let limits = PressureLimits { cpu_some: 100, memory_full: 100, io_full: 100, stale_after: SECOND };
    config.pressure = PressurePolicy::Linux(limits);
    let admission = admission(config);
    let base = call("a", "1");
    let taken_at = base.clock.monotonic;
    let calm = PressureSample { taken_at, cpu_some: 100, memory_full: 100, io_full: 100 };
    let cases = [
        (None, Some("pressure-sample")),
        (Some(PressureSample { taken_at: taken_at.checked_sub(2 * SECOND).unwrap(), ..calm }), Some("pressure-sample")),
        (Some(PressureSample { cpu_some: 101, ..calm }), Some("cpu-pressure")),
        (Some(PressureSample { memory_full: 101, ..calm }), Some("memory-pressure")),
        (Some(PressureSample { io_full: 101, ..calm }), Some("io-pressure")),
        (Some(PressureSample { taken_at: taken_at.checked_sub(SECOND).unwrap(), ..calm }), None),
        (Some(PressureSample { taken_at: taken_at + SECOND, ..calm }), None),
    ];
    for (pressure, denied) in cases {
        let asking = Call { pressure, clock: base.clock, ..call("a", "1") };
        match denied {
            Some(dimension) => {
                let fields = ["node", dimension, "node-overloaded"];
                assert_denied(asking.admit(&admission), PlatformErrorCode::ResourceExhausted, fields, true);
            }
            None => drop(asking.admit(&admission).unwrap()),
        }
    }
}

#[test]
fn without_a_pressure_source_nothing_is_asked_of_it() {
    drop(call("a", "1").admit(&admission(config(1))).unwrap());
}

#[test]
fn a_pressure_reading_is_parsed_and_a_malformed_one_refused() {
    let now = Instant::now();
    let line = |kind: &str, avg10: &str| format!("{kind} avg10={avg10} avg60=0.00 avg300=0.00 total=17\n");
    let file = |some: &str, full: &str| line("some", some) + &line("full", full);
    let sample = PressureSample::parse(&file("12.34", "0.00"), &file("9.00", "1.05"), &file("9.00", "100.00"), now);
    assert_eq!(sample, Ok(PressureSample { taken_at: now, cpu_some: 1234, memory_full: 105, io_full: 10_000 }));
    let good = file("0.00", "0.00");
    for bad in [
        "",
        "some",
        "some avg10=",
        "some avg10=1",
        "some avg10=1.5",
        "some avg10=-1.00",
        "some avg10=1e9.00",
        "some avg10=100.01",
        "some avg10=99999.00",
        "some avg10=+1.00",
        "some avg60=1.00",
        "full avg10=1.00",
    ] {
        let refused = PressureSample::parse(bad, &good, &good, now);
        assert_eq!(refused, Err(MalformedPressure { file: "cpu" }), "{bad:?}");
    }
    assert_eq!(PressureSample::parse(&good, &line("some", "0.00"), &good, now).unwrap_err().file, "memory");
    assert_eq!(PressureSample::parse(&good, &good, "some avg10=0.00", now).unwrap_err().file, "io");
}

#[test]
fn a_live_id_is_unavailable_to_its_tenant_alone_and_free_again_after_the_refund() {
    let admission = admission(config(8));
    let first = call("a", "same").admit(&admission).unwrap().into_running();
    let denied = ["tenant", "activation-id", "activation-id-unavailable"];
    assert_denied(call("a", "same").admit(&admission), PlatformErrorCode::AlreadyExists, denied, false);
    drop(call("b", "same").admit(&admission).unwrap());
    drop(first);
    drop(call("a", "same").admit(&admission).unwrap());
}

#[test]
fn replacing_the_view_keeps_what_is_reserved() {
    let admission = admission(config(2));
    let first = call("a", "1").admit(&admission).unwrap();
    let second = call("a", "2").admit(&admission).unwrap();
    admission.replace(config(1)).unwrap();
    assert_exhausted(call("a", "3").admit(&admission), "node", "live-activations");
    drop(first);
    assert_exhausted(call("a", "3").admit(&admission), "node", "live-activations");
    drop(second);
    let third = call("a", "3").admit(&admission).unwrap();
    admission.replace(AdmissionConfig { other_tenants: None, ..config(1) }).unwrap();
    drop(third.into_running());
    assert_eq!(admission.ledger().audit().unwrap(), Usage::default());
}

#[test]
fn settings_out_of_their_bounds_are_refused_by_name_and_the_former_view_stays() {
    let admission = admission(config(1));
    let broken: [(&str, Alter<AdmissionConfig>); 4] = [
        ("node.live", |config| config.node.live = LIVE_MAX + 1),
        ("ceilings.wall_limit seconds", |config| config.ceilings.wall_limit = WALL_LIMIT_MAX + SECOND),
        ("classes.cells", |config| config.classes[0].cells = 0),
        ("classes", |config| config.classes.push(config.classes[0])),
    ];
    for (field, spoil) in broken {
        let mut config = config(1);
        spoil(&mut config);
        let error = admission.replace(config).unwrap_err();
        assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
        assert_eq!(error.details()[0].field("field"), Some(field), "{error}");
        assert_eq!(admission.config().node.live, 1);
    }
}

#[test]
fn counters_near_their_maximum_fail_closed_and_never_wrap() {
    let near = u64::MAX - 1;
    let seeds = [
        ("live-activations", Usage { queued: near, running: 1, ..Usage::default() }),
        ("live-activations", Usage { queued: near, running: near, ..Usage::default() }),
        ("fuel", Usage { fuel: near, ..Usage::default() }),
        ("memory-bytes", Usage { memory_bytes: near, ..Usage::default() }),
    ];
    for (dimension, usage) in seeds {
        let admission = admission(AdmissionConfig { node: Quota::UNLIMITED, ..config(0) }.clamped());
        let call = call("a", "1");
        let request_claim = crate::admission::books::Claim {
            tenant: call.target.clone(),
            activation_id: call.id.clone(),
            trust: TrustClass::Untrusted,
            queue: QueueClass::Standard,
            class: CellClass::Standard,
            fuel: 0,
            memory_bytes: 0,
            account: None,
        };
        admission.ledger().decide(|books| books.seed(&request_claim, usage));
        let observed_delay = [Duration::ZERO; 5];
        let request = AdmissionRequest {
            activation_id: &call.id,
            tenant: &call.target,
            principal: &call.principal,
            policy: call.policy.as_ref(),
            budget: call.budget,
            payload_bytes: 0,
            priority: 0,
            queue_class: QueueClass::Standard,
            deadline: None,
            transport: None,
        };
        let conditions = Conditions { clock: call.clock, pressure: None, observed_delay };
        assert_exhausted(admission.admit(&request, &conditions), "node", dimension);
        assert_eq!(admission.ledger().snapshot(), usage, "nothing has moved");
        std::mem::forget(admission);
    }
}

impl AdmissionConfig {
    /// The widest node quota that the bounds let pass, for counters that are seeded above it.
    fn clamped(mut self) -> Self {
        self.node.live = LIVE_MAX;
        self
    }
}

#[test]
fn a_refund_of_what_was_never_reserved_leaves_the_counters_high_and_fails_the_audit() {
    let ledger = QuotaLedger::new();
    let claim = || crate::admission::books::Claim {
        tenant: TenantId::new("a").unwrap(),
        activation_id: ActivationId::new("1").unwrap(),
        trust: TrustClass::Untrusted,
        queue: QueueClass::Standard,
        class: CellClass::Standard,
        fuel: 1,
        memory_bytes: 1,
        account: None,
    };
    ledger.refund(&claim(), Stage::Running);
    assert_eq!(ledger.snapshot(), Usage::default());
    assert!(ledger.audit().unwrap_err().message().contains("had not been reserved"));
    // In debug builds its drop would count the books once more, and fail.
    std::mem::forget(ledger);
}

#[test]
fn sixty_four_racing_admissions_at_the_limit_get_exactly_what_is_left() {
    for _ in 0..50 {
        let admission = admission(config(8));
        let _held: Vec<_> = (0..7).map(|id| call("held", &id.to_string()).admit(&admission).unwrap()).collect();
        let barrier = Barrier::new(64);
        let answers: Vec<_> = thread::scope(|scope| {
            let (barrier, admission) = (&barrier, &admission);
            let ask = |racer: usize| {
                scope.spawn(move || {
                    let call = call(&format!("tenant-{}", racer % 8), &racer.to_string());
                    barrier.wait();
                    call.admit(admission)
                })
            };
            let racers: Vec<_> = (0..64).map(ask).collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).collect()
        });
        let (admitted, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((admitted.len(), refused.len()), (1, 63));
        for answer in refused {
            assert_exhausted(answer, "node", "live-activations");
        }
        drop(admitted);
        assert_eq!(admission.ledger().audit().unwrap().live(), 7);
    }
}

proptest! {
    #[test]
    fn any_order_of_admissions_starts_and_refunds_keeps_the_books_exact(
        steps in prop::collection::vec((0u8..4, 0usize..4, 0u64..6, 0usize..12), 0..120),
    ) {
        let mut config = config(6);
        config.node.fuel = 20;
        config.other_tenants.as_mut().unwrap().quota.live = 3;
        config.ceilings.fuel = 5;
        let admission = admission(config);
        let mut queued = Vec::new();
        let mut running = Vec::new();
        for (index, (step, tenant, fuel, which)) in steps.into_iter().enumerate() {
            match step {
                0 | 1 => {
                    let mut call = call(&format!("tenant-{tenant}"), &index.to_string());
                    call.budget.fuel = Some(fuel.max(1));
                    let spent = |fuels: &[u64]| fuels.iter().sum::<u64>();
                    let fuels: Vec<_> = queued.iter().map(|permit: &AdmissionPermit| permit.granted().fuel)
                        .chain(running.iter().map(|permit: &ExecutionPermit| permit.granted().fuel)).collect();
                    let of_tenant = queued.iter().filter(|permit| *permit.tenant() == call.target).count()
                        + running.iter().filter(|permit| *permit.tenant() == call.target).count();
                    let room = fuels.len() < 6 && of_tenant < 3 && spent(&fuels) + fuel.clamp(1, 5) <= 20;
                    let answer = call.admit(&admission);
                    prop_assert_eq!(answer.is_ok(), room);
                    queued.extend(answer);
                }
                2 if which < queued.len() => running.push(queued.swap_remove(which).into_running()),
                3 if which < queued.len() => drop(queued.swap_remove(which)),
                3 if which < running.len() => drop(running.swap_remove(which).into_hold()),
                _ => {}
            }
            let usage = admission.ledger().audit().unwrap();
            prop_assert_eq!((usage.queued, usage.running), (queued.len() as u64, running.len() as u64));
        }
        drop((queued, running));
        prop_assert_eq!(admission.ledger().audit().unwrap(), Usage::default());
    }
}
