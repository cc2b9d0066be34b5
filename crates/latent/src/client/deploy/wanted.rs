//! The manifest that flags describe: a new one, or that of a deployment with what the flags change. Pure.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::ending::Failure;

/// What the flags say of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The digest of the component.
    pub release: Option<String>,
    /// The share of the default route.
    pub weight: Option<u16>,
    /// Units of fuel of one activation.
    pub fuel: Option<u64>,
    /// Bytes of memory of one activation.
    pub memory: Option<u64>,
    /// Bytes of log records of one activation.
    pub log_bytes: Option<u64>,
    /// How long one activation may take.
    pub deadline: Option<Duration>,
    /// Variables that the guest sees.
    pub environment: Vec<(String, String)>,
    /// Variables that the guest sees, by the name of a secret.
    pub secrets: Vec<(String, String)>,
    /// The interfaces that are bound.
    pub imports: Vec<String>,
    /// The HTTP routes, each as `host/path`.
    pub http: Vec<String>,
    /// Who may make requests by them.
    pub http_authentication: Option<String>,
    /// The HTTP requests that guests may make, each as `scheme://host:port`.
    pub outgoing: Vec<String>,
}

impl Wanted {
    /// The manifest of a deployment of `service`; on top of `base`, its manifest as it is, where there is one.
    ///
    /// # Errors
    /// When `base` is no JSON object, which a node does not answer.
    pub fn manifest(&self, service: &str, deployment: &str, base: Option<&str>) -> Result<String, Failure> {
        let base = base.map_or(Ok(Map::new()), serde_json::from_str);
        let mut manifest: Map<String, Value> = base.map_err(|error| {
            Failure::local(format!(
                "the node's manifest of {service}/{deployment} is not one that can be changed: {error}"
            ))
        })?;
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                manifest.insert(key.to_owned(), value);
            }
        };
        put("service", Some(service.into()));
        put("deployment", Some(deployment.into()));
        put("release", self.release.clone().map(Value::from));
        put("weight", self.weight.map(Value::from));
        if !self.imports.is_empty() {
            put("imports", Some(self.imports.clone().into()));
        }
        if !self.outgoing.is_empty() {
            put("outgoing", Some(self.outgoing.clone().into()));
        }
        let millis = self.deadline.map(|deadline| u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX));
        let ceilings = [
            ("fuel", self.fuel),
            ("memory-bytes", self.memory),
            ("log-bytes", self.log_bytes),
            ("wall-limit-ms", millis),
        ];
        let ceilings = ceilings.into_iter().filter_map(|(key, limit)| Some((key.to_owned(), limit?.into())));
        merge(&mut manifest, "ceilings", ceilings);
        merge(&mut manifest, "environment", strings(&self.environment));
        merge(&mut manifest, "secrets", strings(&self.secrets));
        let routes = (!self.http.is_empty()).then(|| ("routes".to_owned(), self.http.clone().into()));
        let authentication = self.http_authentication.clone().map(|name| ("authentication".to_owned(), name.into()));
        merge(&mut manifest, "http", routes.into_iter().chain(authentication));
        Ok(Value::Object(manifest).to_string())
    }
}

fn strings(pairs: &[(String, String)]) -> impl Iterator<Item = (String, Value)> {
    pairs.iter().map(|(name, value)| (name.clone(), value.clone().into()))
}

/// Sets entries of the object at `key`, which is made when it is needed.
fn merge(manifest: &mut Map<String, Value>, key: &str, entries: impl Iterator<Item = (String, Value)>) {
    for (name, value) in entries {
        let object = manifest.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(object) = object {
            object.insert(name, value);
        }
    }
}

/// Reads `NAME=VALUE`.
///
/// # Errors
/// How it is written.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn flags_make_a_manifest() {
        let wanted = Wanted {
            release: Some("beef".to_owned()),
            weight: Some(20),
            fuel: Some(7),
            deadline: Some(Duration::from_secs(2)),
            environment: vec![("MODE".to_owned(), "fast".to_owned())],
            secrets: vec![("KEY".to_owned(), "api-key".to_owned())],
            imports: vec!["latent:log/log".to_owned()],
            http: vec!["api.example.com/v1".to_owned(), "/".to_owned()],
            http_authentication: Some("bearer".to_owned()),
            outgoing: vec!["https://api.example.com".to_owned()],
            ..Default::default()
        };
        let made = json(&wanted.manifest("s", "blue", None).unwrap());
        let expected = json(
            r#"{"service":"s","deployment":"blue","release":"beef","weight":20,
                "ceilings":{"fuel":7,"wall-limit-ms":2000},"environment":{"MODE":"fast"},"secrets":{"KEY":"api-key"},
                "imports":["latent:log/log"],"http":{"routes":["api.example.com/v1","/"],"authentication":"bearer"},
                "outgoing":["https://api.example.com"]}"#,
        );
        assert_eq!(made, expected);
        let bare = Wanted { release: Some("beef".to_owned()), ..Default::default() };
        let bare = json(&bare.manifest("s", "blue", None).unwrap());
        assert_eq!(bare, json(r#"{"service":"s","deployment":"blue","release":"beef"}"#));
    }

    #[test]
    fn a_change_keeps_what_no_flag_names() {
        let base = r#"{"tenant":"t","service":"s","deployment":"blue","release":"beef","weight":100,
            "ceilings":{"fuel":7,"memory-bytes":9},"environment":{"A":"1","B":"2"}}"#;
        let wanted = Wanted {
            weight: Some(20),
            fuel: Some(8),
            environment: vec![("B".to_owned(), "3".to_owned())],
            ..Default::default()
        };
        let expected = r#"{"tenant":"t","service":"s","deployment":"blue","release":"beef","weight":20,
            "ceilings":{"fuel":8,"memory-bytes":9},"environment":{"A":"1","B":"3"}}"#;
        assert_eq!(json(&wanted.manifest("s", "blue", Some(base)).unwrap()), json(expected));
        assert!(wanted.manifest("s", "blue", Some("[]")).is_err());
    }

    #[test]
    fn of_http_a_flag_changes_what_it_names() {
        let base = r#"{"http":{"routes":["a/b"],"authentication":"bearer"},"outgoing":["https://a"]}"#;
        let changed = |wanted: Wanted| json(&wanted.manifest("s", "blue", Some(base)).unwrap());
        let routed = changed(Wanted { http: vec!["c/d".to_owned()], ..Default::default() });
        assert_eq!(routed["http"], json(r#"{"routes":["c/d"],"authentication":"bearer"}"#), "these instead of those");
        assert_eq!(routed["outgoing"], json(r#"["https://a"]"#));
        let opened = changed(Wanted { http_authentication: Some("open".to_owned()), ..Default::default() });
        assert_eq!(opened["http"], json(r#"{"routes":["a/b"],"authentication":"open"}"#));
        let granted = changed(Wanted { outgoing: vec!["https://b".to_owned()], ..Default::default() });
        assert_eq!((&granted["outgoing"], &granted["http"]), (&json(r#"["https://b"]"#), &json(base)["http"]));
    }

    #[test]
    fn pairs_have_a_name() {
        assert_eq!(pair("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(pair("A="), Ok(("A".to_owned(), String::new())));
        for bad in ["A", "=b", ""] {
            assert_eq!(pair(bad), Err("expected NAME=VALUE".to_owned()));
        }
    }
}
