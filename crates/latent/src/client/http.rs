//! What a manifest says about HTTP, for people. Pure.

use serde_json::Value;

/// Routes and grants of one manifest, each in its short form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Http {
    routes: Vec<String>,
    authentication: Option<String>,
    outgoing: Vec<String>,
}

impl Http {
    /// What a node's manifest, which is in the canonical form, says; nothing of what is none.
    pub fn of(manifest: &str) -> Self {
        let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            routes: list(&manifest["http"]["routes"]).iter().filter_map(text).collect(),
            authentication: text(&manifest["http"]["authentication"]),
            outgoing: list(&manifest["outgoing"]).iter().map(grant).collect(),
        }
    }

    /// These routes, and who may make requests by them.
    pub fn routed(routes: &[String], authentication: &str) -> Self {
        let authentication = Some(authentication).filter(|name| !matches!(*name, "" | "open")).map(str::to_owned);
        Self { routes: routes.to_vec(), authentication, outgoing: Vec::new() }
    }

    /// Whether there are routes.
    pub fn is_routed(&self) -> bool {
        !self.routes.is_empty()
    }

    /// Whether there are grants.
    pub fn is_granted(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The routes in one line, with who may make requests where that is not anybody; nothing of none.
    pub fn routes(&self) -> String {
        let who = self.authentication.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        if self.is_routed() { format!("{}{who}", self.routes.join(", ")) } else { String::new() }
    }

    /// The grants in one line; nothing of none.
    pub fn outgoing(&self) -> String {
        self.outgoing.join(", ")
    }
}

fn grant(grant: &Value) -> String {
    if let Some(text) = grant.as_str() {
        return text.to_owned();
    }
    let text = |key: &str| grant[key].as_str().unwrap_or_default();
    let port = grant["port"].as_u64().map(|port| format!(":{port}")).unwrap_or_default();
    let networks: Vec<&str> = grant["networks"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!("{}://{}{port} ({})", text("scheme"), text("host"), networks.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_and_grants_are_one_line_each() {
        let http = Http::of(
            r#"{"http":{"routes":["a/b","*.c/"],"authentication":"bearer"},"outgoing":["https://a",
                {"scheme":"http","host":"b","port":8080,"networks":["10.0.0.0/8","fd00::/8"]}]}"#,
        );
        assert_eq!(http.routes(), "a/b, *.c/ (bearer)");
        assert_eq!(http.outgoing(), "https://a, http://b:8080 (10.0.0.0/8 fd00::/8)");
        assert_eq!(Http::routed(&["a/b".to_owned()], "open").routes(), "a/b");
        for none in ["", "[]", "{}", r#"{"http":7,"outgoing":{}}"#] {
            assert_eq!(Http::of(none), Http::default(), "{none}");
        }
    }
}
