//! Random histories, compared with a naive model, restarts in between.

use std::collections::{BTreeMap, BTreeSet};

use latent_core::PlatformErrorCode;
use proptest::prelude::*;

use crate::disk::Survival;
use crate::support::{TENANTS, apply, component, delete, digest, fresh, held, open, publish, tenant};

const NAMES: [&str; 4] = ["one", "two", "three", "four"];
const IDS: [&str; 3] = ["blue", "green", "red"];

#[derive(Debug, Clone)]
enum Step {
    Publish(usize, usize),
    DeleteRelease(usize, usize),
    Apply(usize, usize, usize),
    Delete(usize, usize),
    Collect,
    Reopen,
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (tenant, name, id) = (0..TENANTS.len(), 0..NAMES.len(), 0..IDS.len());
    let step = prop_oneof![
        4 => (tenant.clone(), name.clone()).prop_map(|(tenant, name)| Step::Publish(tenant, name)),
        2 => (tenant.clone(), name.clone()).prop_map(|(tenant, name)| Step::DeleteRelease(tenant, name)),
        4 => (tenant.clone(), id.clone(), name).prop_map(|(tenant, id, name)| Step::Apply(tenant, id, name)),
        2 => (tenant, id).prop_map(|(tenant, id)| Step::Delete(tenant, id)),
        1 => Just(Step::Collect),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
    ];
    proptest::collection::vec(step, 0..60)
}

#[derive(Debug, Default)]
struct Model {
    generation: u64,
    releases: BTreeSet<(usize, usize)>,
    deployments: BTreeMap<(usize, usize), (usize, u64)>,
}

impl Model {
    fn uses(&self, tenant: usize, name: usize) -> bool {
        self.deployments.iter().any(|((owner, _), (used, _))| (*owner, *used) == (tenant, name))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_storage_agrees_with_a_naive_model(steps in steps()) {
        let (mut disk, mut storage) = fresh();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Publish(owner, name) => {
                    let created = publish(&storage, TENANTS[owner], NAMES[name]).expect("it is published");
                    prop_assert_eq!(created, model.releases.insert((owner, name)));
                }
                Step::DeleteRelease(owner, name) => {
                    let answer = storage.delete_release(&tenant(TENANTS[owner]), digest(NAMES[name]));
                    let expected = match (model.releases.contains(&(owner, name)), model.uses(owner, name)) {
                        (false, _) => Err(PlatformErrorCode::NotFound),
                        (true, true) => Err(PlatformErrorCode::StateConflict),
                        (true, false) => {
                            model.releases.remove(&(owner, name));
                            Ok(())
                        }
                    };
                    prop_assert_eq!(answer.map_err(|error| error.code()), expected);
                }
                Step::Apply(owner, id, name) => {
                    let answer = apply(&storage, TENANTS[owner], IDS[id], NAMES[name]).map_err(|error| error.code());
                    if model.releases.contains(&(owner, name)) {
                        model.generation += 1;
                        model.deployments.insert((owner, id), (name, model.generation));
                        prop_assert_eq!(answer, Ok(model.generation));
                    } else {
                        prop_assert_eq!(answer, Err(PlatformErrorCode::NotFound));
                    }
                }
                Step::Delete(owner, id) => {
                    let answer = delete(&storage, TENANTS[owner], IDS[id]).map_err(|error| error.code());
                    if model.deployments.remove(&(owner, id)).is_some() {
                        model.generation += 1;
                        prop_assert_eq!(answer, Ok(model.generation));
                    } else {
                        prop_assert_eq!(answer, Err(PlatformErrorCode::NotFound));
                    }
                }
                Step::Collect => drop(storage.collect().expect("it works")),
                Step::Reopen => {
                    drop(storage);
                    storage = open(&disk).expect("it opens again");
                }
                Step::Kill => {
                    disk = disk.after(Survival::Synced);
                    storage = open(&disk).expect("it opens after a power failure");
                }
            }
            let found = held(&storage);
            prop_assert_eq!(found.generation, model.generation);
            let releases = model.releases.iter().map(|(owner, name)| {
                let (key, bytes) = ((TENANTS[*owner].to_owned(), digest(NAMES[*name])), component(NAMES[*name]));
                (key, ("{}".to_owned(), bytes))
            });
            prop_assert_eq!(found.releases, releases.collect::<BTreeMap<_, _>>());
            let deployments: Vec<_> = found.deployments.into_iter().map(|((owner, _, id), (_, at))| (owner, id, at)).collect();
            let expected = model.deployments.iter().map(|((owner, id), (_, at))| (TENANTS[*owner].to_owned(), IDS[*id].to_owned(), *at));
            prop_assert_eq!(deployments, expected.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
        }
    }
}
