//! The weighted choice: its edges, its shares, and that it depends on nothing but its key.

use std::cell::Cell;

use latent_catalog::{RouteRequest, Weight, select};
use latent_core::{ActivationId, FunctionTarget, RouteName, ServiceName, TenantId};

use crate::support::{service, target, tenant, weight};

struct Key {
    tenant: TenantId,
    service: ServiceName,
    route: RouteName,
    target: FunctionTarget,
}

impl Key {
    fn new() -> Self {
        let route = RouteName::new("default").unwrap();
        Self { tenant: tenant("acme"), service: service("text"), route, target: target("run") }
    }

    fn choose(&self, activation: &str, weights: &[u16]) -> Option<usize> {
        let activation_id = ActivationId::new(activation).unwrap();
        let (tenant, service, route, target) = (&self.tenant, &self.service, &self.route, &self.target);
        let key = RouteRequest { tenant, service, route, target, activation_id: &activation_id };
        select(&key, || weights.iter().enumerate().map(|(at, value)| (weight(*value), at)))
    }
}

#[test]
fn of_no_candidates_none_is_chosen_and_of_one_that_one() {
    let key = Key::new();
    assert_eq!(key.choose("a", &[]), None);
    assert_eq!(key.choose("a", &[1]), Some(0));
}

#[test]
fn a_single_candidate_is_chosen_without_a_second_look() {
    let (key, looks) = (Key::new(), Cell::new(0));
    let activation_id = ActivationId::new("a").unwrap();
    let (tenant, service, route, target) = (&key.tenant, &key.service, &key.route, &key.target);
    let key = RouteRequest { tenant, service, route, target, activation_id: &activation_id };
    let chosen = select(&key, || {
        looks.set(looks.get() + 1);
        [(Weight::default(), "only")].into_iter()
    });
    assert_eq!((chosen, looks.get()), (Some("only"), 1));
}

#[test]
fn the_choices_for_known_keys_stay_what_they_are() {
    let key = Key::new();
    let chosen: Vec<_> = (0..24).map(|at| key.choose(&format!("activation-{at}"), &[1, 2, 3, 4]).unwrap()).collect();
    assert_eq!(chosen, [3, 2, 3, 0, 3, 0, 0, 3, 0, 2, 3, 3, 2, 1, 0, 2, 3, 2, 1, 2, 1, 2, 3, 1]);
}

#[test]
fn shares_follow_the_weights() {
    const KEYS: u32 = 40_000;
    let (key, weights) = (Key::new(), [1_u16, 10, 100, 889, 3_000]);
    let mut counts = [0_u32; 5];
    for at in 0..KEYS {
        counts[key.choose(&format!("activation-{at}"), &weights).unwrap()] += 1;
    }
    let total: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
    for (count, weight) in counts.into_iter().zip(weights) {
        let share = f64::from(weight) / total;
        let expected = share * f64::from(KEYS);
        // Five standard deviations: the keys are fixed, so this either always holds or never.
        let tolerance = 5.0 * (expected * (1.0 - share)).sqrt();
        let off = (f64::from(count) - expected).abs();
        assert!(off <= tolerance, "weight {weight} got {count} of {KEYS}, expected {expected:.0} ± {tolerance:.0}");
    }
}

#[test]
fn every_part_of_the_key_matters() {
    let choices = |key: &Key| -> Vec<_> {
        (0..64).map(|at| key.choose(&format!("activation-{at}"), &[1, 1, 1, 1]).unwrap()).collect()
    };
    let base = choices(&Key::new());
    let others = [
        Key { tenant: tenant("acmd"), ..Key::new() },
        Key { service: service("texu"), ..Key::new() },
        Key { route: RouteName::new("blue").unwrap(), ..Key::new() },
        Key { target: target("runs"), ..Key::new() },
        Key { target: FunctionTarget { contract: "a:b/c".into(), ..target("run") }, ..Key::new() },
        // The same text, cut elsewhere: lengths keep the parts apart.
        Key { tenant: tenant("acmet"), service: service("ext"), ..Key::new() },
    ];
    for other in &others {
        assert_ne!(choices(other), base);
    }
    assert_eq!(choices(&Key::new()), base, "and nothing else does");
}

#[test]
fn the_largest_weights_do_not_overflow() {
    let weights = vec![Weight::MAX; 10_000];
    assert!(Key::new().choose("a", &weights).is_some());
}
