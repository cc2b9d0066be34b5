//! Ceilings as manifests write them: an object with up to four whole numbers.
//!
//! Invariant: a ceiling of fuel, memory or time is never zero, because nothing could be admitted under it.

use std::time::Duration;

use latent_core::BudgetCeilings;
use serde_json::{Map, Value};

use super::ManifestError;
use super::json::{Json, Path};
use super::read::{self, Object};

const FUEL: &str = "fuel";
const MEMORY: &str = "memory-bytes";
const LOGS: &str = "log-bytes";
const WALL: &str = "wall-limit-ms";

pub(super) fn read(json: Json, path: &Path<'_>) -> Result<BudgetCeilings, ManifestError> {
    let mut object = Object::open(json, path, &[FUEL, MEMORY, LOGS, WALL])?;
    let positive = |json: Json, path: &Path<'_>| read::integer(&json, path, 1, u64::MAX);
    Ok(BudgetCeilings {
        fuel: object.optional(FUEL, positive)?,
        memory_bytes: object.optional(MEMORY, positive)?,
        log_bytes: object.optional(LOGS, |json, path| read::integer(&json, path, 0, u64::MAX))?,
        wall_limit: object.optional(WALL, positive)?.map(Duration::from_millis),
    })
}

pub(super) fn write(ceilings: &BudgetCeilings) -> Map<String, Value> {
    let wall_ms = ceilings.wall_limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    let all = [(FUEL, ceilings.fuel), (MEMORY, ceilings.memory_bytes), (LOGS, ceilings.log_bytes), (WALL, wall_ms)];
    all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))).collect()
}
