//! What a request may say: identity, lineage, principal, sizes and allocations, metadata, wishes.

use super::*;
use crate::id_source::{ActivationIdSource, IdsExhausted, RandomActivationIdSource};
use latent_core::principal::CallerError;
use latent_core::{ActivationId, IdError, PlatformError, PlatformErrorCode, ResourceBudget};
use proptest::prelude::*;
use std::time::Duration;

struct Fixed;

impl ActivationIdSource for Fixed {
    fn next_id(&self) -> Result<ActivationId, IdsExhausted> {
        Ok(ActivationId::new("made").unwrap())
    }
}

struct Empty;

impl ActivationIdSource for Empty {
    fn next_id(&self) -> Result<ActivationId, IdsExhausted> {
        Err(IdsExhausted)
    }
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

fn tenant(text: &str) -> TenantId {
    TenantId::new(text).unwrap()
}

fn service(text: &str) -> ServiceName {
    ServiceName::new(text).unwrap()
}

fn request() -> ActivationRequest {
    ActivationRequest {
        activation_id: None,
        root_activation_id: None,
        parent_activation_id: None,
        caller: Caller::User { tenant: tenant("t"), subject: service("u") },
        tenant: tenant("t"),
        service: service("s"),
        route: RouteName::new("default").unwrap(),
        target: FunctionTarget { contract: "a:b/c@1.0.0".into(), function: "f".into() },
        payload: Payload::json("[]"),
        budget: BudgetCeilings::default(),
        deadline: None,
        trace: TraceContext::default(),
        idempotency_key: None,
        retry_count: 0,
        metadata: Vec::new(),
    }
}

fn validate(request: ActivationRequest) -> Result<ValidRequest, RequestRefusal> {
    request.validate(&RequestLimits::default(), &Fixed, now())
}

fn refused(request: ActivationRequest) -> RequestRefusal {
    validate(request).unwrap_err()
}

#[expect(clippy::unnecessary_wraps, reason = "what is given is always an option")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn entry(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[test]
fn an_absent_id_comes_from_the_source_and_a_given_one_is_kept() {
    assert_eq!(validate(request()).unwrap().lineage().activation_id().as_str(), "made");
    let given = validate(ActivationRequest { activation_id: some("mine"), ..request() }).unwrap();
    assert_eq!(given.lineage().activation_id().as_str(), "mine");
}

#[test]
fn the_sources_own_ids_are_valid_and_exhaustion_is_a_refusal() {
    let limits = RequestLimits::default();
    let source = RandomActivationIdSource::new();
    let made = request().validate(&limits, &source, now()).unwrap();
    let again = ActivationRequest { activation_id: some(made.lineage().activation_id().as_str()), ..request() };
    assert_eq!(again.validate(&limits, &Empty, now()).unwrap().lineage(), made.lineage());
    let none = request().validate(&limits, &Empty, now()).unwrap_err();
    assert_eq!(none, RequestRefusal::IdsExhausted(IdsExhausted));
}

#[test]
fn an_id_that_is_present_but_empty_is_refused_and_not_replaced() {
    let empty = |field| RequestRefusal::Text { field, reason: IdError::Empty };
    let given = ActivationRequest { activation_id: some(""), ..request() };
    assert_eq!(refused(given), empty(RequestField::ActivationId));
    let given = ActivationRequest { root_activation_id: some(""), ..request() };
    assert_eq!(refused(given), empty(RequestField::RootActivationId));
    let given = ActivationRequest { root_activation_id: some("r"), parent_activation_id: some(""), ..request() };
    assert_eq!(refused(given), empty(RequestField::ParentActivationId));
}

#[test]
fn without_root_and_parent_the_activation_is_its_own_root() {
    let valid = validate(ActivationRequest { activation_id: some("a"), ..request() }).unwrap();
    assert_eq!(valid.lineage(), &Lineage::root(ActivationId::new("a").unwrap()));
    assert_eq!(validate(request()).unwrap().lineage().root_activation_id().as_str(), "made");
}

#[test]
fn a_parent_without_a_root_is_refused() {
    let orphan = ActivationRequest { parent_activation_id: some("p"), ..request() };
    assert_eq!(refused(orphan), RequestRefusal::ParentWithoutRoot);
}

#[test]
fn supplied_lineage_is_kept_as_it_is_and_looked_up_nowhere() {
    let given = ActivationRequest {
        activation_id: some("a"),
        root_activation_id: some("another-tenants"),
        parent_activation_id: some("never-ran"),
        ..request()
    };
    let valid = validate(given).unwrap();
    assert_eq!(valid.lineage().root_activation_id().as_str(), "another-tenants");
    assert_eq!(valid.lineage().parent_activation_id().map(ActivationId::as_str), Some("never-ran"));
    assert_eq!(valid.tenant(), &tenant("t"), "lineage gives no other tenant");
}

#[test]
fn ids_are_bounded_in_bytes_and_free_of_blanks_and_controls() {
    let limits = RequestLimits { id_bytes_max: 8, ..RequestLimits::default() };
    let of = |id: &str| ActivationRequest { activation_id: some(id), ..request() }.validate(&limits, &Fixed, now());
    assert!(of("12345678").is_ok() && of("éééé").is_ok());
    for long in ["123456789", "ééééé"] {
        let expected = RequestRefusal::TooLarge {
            field: RequestField::ActivationId,
            unit: "bytes",
            found: long.len() as u64,
            max: 8,
        };
        assert_eq!(of(long).unwrap_err(), expected);
    }
    for bad in ["a b", "a\tb", "a\u{7f}", "\u{a0}"] {
        assert!(matches!(of(bad), Err(RequestRefusal::Text { field: RequestField::ActivationId, .. })), "{bad:?}");
    }
}

#[test]
fn the_configured_bound_of_ids_holds_for_every_name() {
    let limits = RequestLimits { id_bytes_max: 4, ..RequestLimits::default() };
    let field_of = |request: ActivationRequest| match request.validate(&limits, &Fixed, now()) {
        Err(RequestRefusal::TooLarge { field, max: 4, .. }) => Some(field),
        other => panic!("expected a refusal, got {other:?}"),
    };
    let base = || ActivationRequest { route: RouteName::new("r").unwrap(), ..request() };
    assert!(base().validate(&limits, &Fixed, now()).is_ok());
    assert_eq!(field_of(request()), Some(RequestField::Route), "`default` has seven bytes");
    assert_eq!(field_of(ActivationRequest { service: service("12345"), ..base() }), Some(RequestField::Service));
    let user = Caller::User { tenant: tenant("t"), subject: service("12345") };
    assert_eq!(field_of(ActivationRequest { caller: user, ..base() }), Some(RequestField::Subject));
    let long = || tenant("12345");
    let user = Caller::User { tenant: long(), subject: service("u") };
    assert_eq!(field_of(ActivationRequest { caller: user, tenant: long(), ..base() }), Some(RequestField::Tenant));
    let calling = Caller::Service { tenant: tenant("t"), subject: service("u"), service: Some(service("12345")) };
    assert_eq!(field_of(ActivationRequest { caller: calling, ..base() }), Some(RequestField::CallingService));
}

#[test]
fn spare_allocation_counts_for_a_string_and_for_all_together() {
    let limits = RequestLimits::default();
    let mut roomy = String::with_capacity(limits.allocation_bytes_max + 1);
    roomy.push('a');
    let found = roomy.capacity() as u64;
    let max = limits.allocation_bytes_max as u64;
    let expected =
        RequestRefusal::TooLarge { field: RequestField::IdempotencyKey, unit: "allocated bytes", found, max };
    assert_eq!(refused(ActivationRequest { idempotency_key: Some(roomy), ..request() }), expected);

    let roomy = |text: &str| {
        let mut roomy = String::with_capacity(limits.allocation_bytes_max);
        roomy.push_str(text);
        roomy
    };
    let metadata = |entries| (0..entries).map(|n: usize| (roomy(&format!("k{n}")), roomy("v"))).collect();
    assert!(validate(ActivationRequest { metadata: metadata(3), ..request() }).is_ok());
    let whole = refused(ActivationRequest { metadata: metadata(4), ..request() });
    assert!(matches!(whole, RequestRefusal::TooLarge { field: RequestField::Context, unit: "allocated bytes", .. }));

    let mut entries = Vec::with_capacity(limits.context_bytes_max / size_of::<(String, String)>() + 1);
    entries.push(entry("k", "v"));
    let spare = refused(ActivationRequest { metadata: entries, ..request() });
    assert!(matches!(spare, RequestRefusal::TooLarge { field: RequestField::Context, .. }));
}

#[test]
fn what_is_kept_has_no_spare_allocation() {
    let mut key = String::with_capacity(1000);
    key.push_str("once");
    let mut metadata = Vec::with_capacity(100);
    metadata.extend([entry("a", "1"), entry("b", "2")]);
    let valid = validate(ActivationRequest { idempotency_key: Some(key), metadata, ..request() }).unwrap();
    assert_eq!(valid.metadata.capacity(), 2);
    let kept = valid.lineage().correlation().unwrap().idempotency_key.clone().unwrap().into_string();
    assert_eq!((kept.as_str(), kept.capacity()), ("once", 4));
}

#[test]
fn an_anonymous_caller_is_refused_before_anything_is_said_of_the_request() {
    let request = ActivationRequest { caller: Caller::Anonymous, activation_id: some(""), ..request() };
    let refusal = refused(request);
    assert_eq!(refusal, RequestRefusal::Caller(CallerError::Anonymous));
    assert_eq!(PlatformError::from(refusal).code(), PlatformErrorCode::Unauthenticated);
}

#[test]
fn a_service_must_name_itself() {
    let of = |service| Caller::Service { tenant: tenant("t"), subject: self::service("u"), service };
    let unnamed = refused(ActivationRequest { caller: of(None), ..request() });
    assert_eq!(unnamed, RequestRefusal::Caller(CallerError::UnnamedService));
    assert!(validate(ActivationRequest { caller: of(Some(service("front"))), ..request() }).is_ok());
}

#[test]
fn the_principals_tenant_must_be_the_services() {
    let foreign = ActivationRequest { tenant: tenant("other"), ..request() };
    let error = PlatformError::from(refused(foreign));
    assert_eq!(error.code(), PlatformErrorCode::PermissionDenied);
    assert!(error.has_detail("activation.tenant-mismatch") && !error.message().contains("other"));
}

#[test]
fn metadata_cannot_pass_for_the_nodes_word_in_any_case() {
    for (key, prefix) in [
        ("latent.auth.subject", "latent.auth."),
        ("latent.principal.tenant", "latent.principal."),
        ("LATENT.Auth.x", "latent.auth."),
        ("latent.auth.", "latent.auth."),
    ] {
        let given = ActivationRequest { metadata: vec![entry("fine", ""), entry(key, "t")], ..request() };
        assert_eq!(refused(given), RequestRefusal::ReservedMetadata { prefix }, "{key}");
    }
    for key in ["latent.authority", "x-latent.auth.", "latent.auth", "latent.note"] {
        assert!(validate(ActivationRequest { metadata: vec![entry(key, "v")], ..request() }).is_ok(), "{key}");
    }
    for key in ["", "a b", "a\n"] {
        let given = ActivationRequest { metadata: vec![entry(key, "v")], ..request() };
        assert!(matches!(refused(given), RequestRefusal::Text { field: RequestField::MetadataKey, .. }), "{key:?}");
    }
}

#[test]
fn metadata_says_nothing_about_the_principal() {
    let claims = vec![entry("tenant", "other"), entry("guest.subject", "root")];
    let valid = validate(ActivationRequest { metadata: claims, ..request() }).unwrap();
    assert_eq!((valid.principal().tenant.as_str(), valid.principal().subject.as_str()), ("t", "u"));
}

#[test]
fn only_guest_keys_reach_the_guest() {
    let metadata = vec![entry("guest.a", "1"), entry("secret", "2"), entry("Guest.b", "3"), entry("guest.c", "4")];
    let valid = validate(ActivationRequest { metadata, ..request() }).unwrap();
    assert_eq!(valid.guest_metadata().collect::<Vec<_>>(), [("guest.a", "1"), ("guest.c", "4")]);
    assert_eq!(valid.metadata().len(), 4, "the rest is kept, outside");
    let envelope = valid.into_envelope(ResourceBudget::default());
    let keys: Vec<_> = envelope.metadata.iter().map(|(key, _)| &**key).collect();
    assert_eq!(keys, ["guest.a", "guest.c"]);
}

#[test]
fn trace_idempotency_and_retries_are_kept_as_they_came() {
    let trace = TraceContext { parent: some("00-ab-cd-01"), state: some("vendor=a b,other=1") };
    let given = ActivationRequest { trace, idempotency_key: some("order 7"), retry_count: 3, ..request() };
    let context = validate(given).unwrap().lineage().correlation().unwrap().clone();
    assert_eq!(context.trace_parent.as_deref(), Some("00-ab-cd-01"));
    assert_eq!(context.trace_state.as_deref(), Some("vendor=a b,other=1"));
    assert_eq!((context.idempotency_key.as_deref(), context.retry_count), (Some("order 7"), 3));
}

#[test]
fn a_call_that_says_nothing_of_itself_keeps_nothing() {
    assert_eq!(validate(request()).unwrap().lineage().correlation(), None);
    let retried = validate(ActivationRequest { retry_count: 1, ..request() }).unwrap();
    assert_eq!(retried.lineage().correlation().map(|with| with.retry_count), Some(1));
}

#[test]
fn trace_and_key_together_are_bounded_where_each_is_within_its_own_bound() {
    let limits =
        RequestLimits { trace_state_bytes_max: 8192, idempotency_key_bytes_max: 8192, ..RequestLimits::default() };
    let with = |bytes: usize| {
        let state = Some("s".repeat(bytes - 8).into_boxed_str().into_string());
        let key = Some("k".repeat(8).into_boxed_str().into_string());
        let trace = TraceContext { parent: None, state };
        let given = ActivationRequest { trace, idempotency_key: key, ..request() };
        given.validate(&limits, &RandomActivationIdSource::new(), now())
    };
    assert!(with(CORRELATION_BYTES_MAX).is_ok());
    let error = PlatformError::from(with(CORRELATION_BYTES_MAX + 1).unwrap_err());
    assert_eq!(error.details()[0].field("max"), Some("4096"), "{error:?}");
}

#[test]
fn the_idempotency_key_is_neither_id_nor_routing_key() {
    let given = |id| ActivationRequest { activation_id: some(id), idempotency_key: some("same"), ..request() };
    let (one, other) = (validate(given("a")).unwrap(), validate(given("b")).unwrap());
    assert_ne!(one.lineage(), other.lineage());
}

#[test]
fn every_size_beyond_its_bound_names_field_found_and_bound() {
    let long = |len: usize| Some("x".repeat(len));
    let many = |entries| (0..entries).map(|n: usize| entry(&format!("k{n}"), "v")).collect();
    let target = |contract: usize, function: usize| FunctionTarget {
        contract: "x".repeat(contract).into(),
        function: "x".repeat(function).into(),
    };
    let cases = [
        ("payload", 8 << 20, ActivationRequest { payload: Payload::octets(vec![0; (8 << 20) + 1]), ..request() }),
        ("contract", 512, ActivationRequest { target: target(513, 1), ..request() }),
        ("function", 512, ActivationRequest { target: target(1, 513), ..request() }),
        (
            "trace-parent",
            256,
            ActivationRequest { trace: TraceContext { parent: long(257), state: None }, ..request() },
        ),
        ("trace-state", 512, ActivationRequest { trace: TraceContext { parent: None, state: long(513) }, ..request() }),
        ("idempotency-key", 256, ActivationRequest { idempotency_key: long(257), ..request() }),
        ("retry-count", 10_000, ActivationRequest { retry_count: 10_001, ..request() }),
        ("metadata", 64, ActivationRequest { metadata: many(65), ..request() }),
        ("metadata-key", 128, ActivationRequest { metadata: vec![(long(129).unwrap(), String::new())], ..request() }),
        ("metadata-value", 4096, ActivationRequest { metadata: vec![("k".into(), long(4097).unwrap())], ..request() }),
    ];
    for (field, max, request) in cases {
        let error = PlatformError::from(refused(request));
        let detail = &error.details()[0];
        assert_eq!((error.code(), detail.kind()), (PlatformErrorCode::InvalidArgument, "activation.request-invalid"));
        assert_eq!((detail.field("field"), detail.field("rule")), (Some(field), Some("max")), "{field}");
        assert_eq!(detail.field("max"), Some(&*max.to_string()), "{field}");
        assert_eq!(detail.field("found"), Some(&*(max + 1).to_string()), "{field}");
        assert!(error.message().starts_with(field), "{}", error.message());
    }
}

#[test]
fn zero_and_absurd_budgets_and_deadlines_are_refused_naming_the_field() {
    let budget = |budget| ActivationRequest { budget, ..request() };
    let none = BudgetCeilings::default;
    let deadline = |deadline| ActivationRequest { deadline: Some(deadline), ..request() };
    let year = Duration::from_hours(366 * 24);
    let cases = [
        ("fuel", "positive", budget(BudgetCeilings { fuel: Some(0), ..none() })),
        ("fuel", "max", budget(BudgetCeilings { fuel: Some(u64::MAX), ..none() })),
        ("memory-bytes", "positive", budget(BudgetCeilings { memory_bytes: Some(0), ..none() })),
        ("memory-bytes", "max", budget(BudgetCeilings { memory_bytes: Some(u64::MAX), ..none() })),
        ("log-bytes", "max", budget(BudgetCeilings { log_bytes: Some(u64::MAX), ..none() })),
        ("wall-limit", "positive", budget(BudgetCeilings { wall_limit: Some(Duration::ZERO), ..none() })),
        ("wall-limit", "max", budget(BudgetCeilings { wall_limit: Some(Duration::MAX), ..none() })),
        ("deadline", "positive", deadline(SystemTime::UNIX_EPOCH)),
        ("deadline", "positive", deadline(SystemTime::UNIX_EPOCH - Duration::from_secs(1))),
        ("deadline", "max", deadline(now() + year + Duration::from_nanos(1))),
        ("deadline", "max", deadline(SystemTime::UNIX_EPOCH + Duration::from_secs(i64::MAX as u64))),
    ];
    for (field, rule, request) in cases {
        let error = PlatformError::from(refused(request));
        assert_eq!(error.details()[0].field("field"), Some(field));
        assert_eq!(error.details()[0].field("rule"), Some(rule), "{field}");
    }
    assert!(validate(budget(BudgetCeilings { log_bytes: Some(0), ..none() })).is_ok(), "no log is a wish");
    assert!(validate(deadline(now() + year)).is_ok());
}

#[test]
fn a_deadline_that_has_passed_is_no_fault_of_the_request() {
    let past = now() - Duration::from_secs(1);
    let valid = validate(ActivationRequest { deadline: Some(past), ..request() }).unwrap();
    assert_eq!(valid.deadline(), Some(past));
}

#[test]
fn a_wall_clock_set_back_an_hour_or_ahead_a_year_leaves_deadlines_as_they_were_given() {
    let deadline = now() + Duration::from_mins(1);
    for wall in [now() - Duration::from_hours(1), now() + Duration::from_hours(366 * 24)] {
        let given = ActivationRequest { deadline: Some(deadline), ..request() };
        let valid = given.validate(&RequestLimits::default(), &Fixed, wall).unwrap();
        assert_eq!(valid.deadline(), Some(deadline));
    }
}

#[test]
fn a_function_needs_a_name_and_a_contract_does_not() {
    let of = |contract: &str, function: &str| ActivationRequest {
        target: FunctionTarget { contract: contract.into(), function: function.into() },
        ..request()
    };
    assert!(validate(of("", "f")).is_ok());
    let nameless = RequestRefusal::Text { field: RequestField::Function, reason: IdError::Empty };
    assert_eq!(refused(of("a", "")), nameless);
    assert!(matches!(refused(of("a\n", "f")), RequestRefusal::Text { field: RequestField::Contract, .. }));
}

proptest! {
    #[test]
    fn no_text_gets_through_that_breaks_a_rule(
        ids in proptest::collection::vec(proptest::option::of(".{0,20}"), 3), key in ".{0,20}", value in ".{0,40}",
    ) {
        let [activation_id, root_activation_id, parent_activation_id] = <[_; 3]>::try_from(ids.clone()).unwrap();
        let given = ActivationRequest {
            activation_id, root_activation_id, parent_activation_id,
            metadata: vec![(key.clone(), value.clone())],
            ..request()
        };
        let well_formed = |text: &String| latent_core::id::check(text, 256).is_ok();
        let expected = ids.iter().flatten().all(well_formed)
            && !(ids[2].is_some() && ids[1].is_none())
            && well_formed(&key);
        match validate(given) {
            Ok(valid) => {
                prop_assert!(expected);
                let lineage = valid.lineage();
                prop_assert_eq!(lineage.activation_id().as_str(), ids[0].as_deref().unwrap_or("made"));
                let root = ids[1].as_deref().unwrap_or(lineage.activation_id().as_str());
                prop_assert_eq!(lineage.root_activation_id().as_str(), root);
                prop_assert_eq!(lineage.parent_activation_id().map(ActivationId::as_str), ids[2].as_deref());
                prop_assert_eq!(&*valid.metadata()[0].1, value);
            }
            Err(refusal) => {
                prop_assert!(!expected);
                prop_assert!(!PlatformError::from(refusal).message().is_empty());
            }
        }
    }
}
