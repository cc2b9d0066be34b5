//! What an apply changed or would change: each value of the manifest, old and new. Pure.

use std::collections::BTreeMap;

use latent_wire::proto::{ApplyResponse, Deployment};
use serde_json::Value;

use crate::printable::Printable;

/// The lines that tell what came of an apply. `dry_run`: nothing has.
pub fn told(answer: &ApplyResponse, dry_run: bool) -> String {
    let Some(new) = &answer.deployment else { return "the node did not say what it deployed\n".to_owned() };
    let changes = changes(answer.replaced.as_ref(), new);
    let verb = match (&answer.replaced, dry_run, changes.is_empty()) {
        (None, false, _) => "made",
        (None, true, _) => "would make",
        (Some(_), _, true) => "unchanged:",
        (Some(_), false, false) => "changed",
        (Some(_), true, false) => "would change",
    };
    let name = format!("{}/{}", Printable(&new.service), Printable(&new.deployment));
    changes.iter().fold(format!("{verb} {name}, generation {}\n", new.generation), |text, change| {
        format!("{text}  {}\n", Printable(change))
    })
}

/// One line a value that differs: `weight: 100 → 20`.
fn changes(old: Option<&Deployment>, new: &Deployment) -> Vec<String> {
    let (before, after) = (old.map(values).unwrap_or_default(), values(new));
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let differing = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    differing
        .map(|key| match (before.get(key), after.get(key)) {
            (Some(before), Some(after)) => format!("{key}: {before} → {after}"),
            (None, Some(after)) if old.is_none() => format!("{key}: {after}"),
            (None, Some(after)) => format!("{key}: not set → {after}"),
            (before, _) => format!("{key}: {} → not set", before.map(String::as_str).unwrap_or_default()),
        })
        .collect()
}

/// The values of a deployment by their path in the manifest, its revision among them. What names it is left out.
fn values(deployment: &Deployment) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    if let Ok(Value::Object(manifest)) = serde_json::from_str(&deployment.manifest) {
        let told = manifest.iter().filter(|(key, _)| !matches!(key.as_str(), "tenant" | "service" | "deployment"));
        told.for_each(|(key, value)| flatten(key, value, &mut values));
    }
    values.insert("revision".to_owned(), deployment.revision.clone());
    values
}

/// The values below `value`. A manifest has few levels: a node refuses more than it knows.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| flatten(&format!("{path}.{key}"), value, into)),
        Value::String(text) => drop(into.insert(path.to_owned(), text.clone())),
        other => drop(into.insert(path.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(manifest: &str, revision: &str, generation: u64) -> Deployment {
        Deployment {
            service: "s".to_owned(),
            deployment: "blue".to_owned(),
            revision: revision.to_owned(),
            generation,
            manifest: manifest.to_owned(),
            ..Default::default()
        }
    }

    #[test]
    fn each_value_is_told_old_and_new() {
        let answer = ApplyResponse {
            replaced: Some(deployment(r#"{"weight":100,"ceilings":{"fuel":7},"environment":{"A":"1"}}"#, "r1", 3)),
            deployment: Some(deployment(r#"{"weight":20,"ceilings":{"fuel":7,"log-bytes":0}}"#, "r2", 4)),
        };
        let wanted = "changed s/blue, generation 4\n  ceilings.log-bytes: not set → 0\n  environment.A: 1 → not set\n  \
                      revision: r1 → r2\n  weight: 100 → 20\n";
        assert_eq!(told(&answer, false), wanted);
        assert!(told(&answer, true).starts_with("would change s/blue"));
    }

    #[test]
    fn what_is_new_is_told_whole_and_what_is_the_same_not_at_all() {
        let made = deployment(r#"{"tenant":"t","service":"s","deployment":"blue","weight":20}"#, "r1", 4);
        let new = ApplyResponse { replaced: None, deployment: Some(made.clone()) };
        assert_eq!(told(&new, false), "made s/blue, generation 4\n  revision: r1\n  weight: 20\n");
        assert!(told(&new, true).starts_with("would make s/blue"));
        let same = ApplyResponse { replaced: Some(made.clone()), deployment: Some(made) };
        assert_eq!(told(&same, false), "unchanged: s/blue, generation 4\n");
    }
}
