//! What is written down: read back as it was, or refused with a sentence.

use std::sync::Arc;

use latent_core::{PlatformErrorCode as Code, Sha256Digest};
use latent_node::access::TenantRegistryConfig;

use crate::support::{MemoryStore, field, on, refused};

const TENANT: &str = r#"{"version":1,"quota":{}}"#;

fn credential() -> String {
    let hash = Sha256Digest::of(b"x");
    format!(
        r#"{{"version":1,"tenant":"acme","subject":"s","roles":["invoke"],"created_at_ms":1,"token_sha256":"{hash}"}}"#
    )
}

/// Opens a registry over a tenant and a credential.
fn opened(tenant: &str, credential: &str) -> Result<crate::support::World, latent_core::PlatformError> {
    let store = Arc::new(MemoryStore::default());
    store.put("tenant", "acme", tenant.as_bytes());
    store.put("credential", "c-1", credential.as_bytes());
    on(store, TenantRegistryConfig::default())
}

#[test]
fn the_documents_of_these_tests_are_whole() {
    assert_eq!(opened(TENANT, &credential()).unwrap().listed().1, ["c-1"]);
}

#[test]
fn a_document_that_does_not_read_is_named_with_what_is_wrong() {
    let hash = Sha256Digest::of(b"x").to_string();
    let changed = |from: &str, to: &str| credential().replacen(from, to, 1);
    for (text, what) in [
        (String::new(), "no JSON object"),
        ("{".to_owned(), "EOF"),
        ("{}".to_owned(), "missing field `version`"),
        (changed("\"subject\"", "\"extra\":1,\"subject\""), "unknown field `extra`"),
        (changed("\"subject\":\"s\",", ""), "missing field `subject`"),
        (changed("invoke", "rule"), "none of invoke, deploy and operate"),
        (changed("\"acme\"", "\"a b\""), "its tenant is no id"),
        (changed("\"s\"", "\"\""), "its subject is no id"),
        (changed(&hash, "abc"), "its hash is no SHA-256"),
        (changed("token_sha256", "unknown"), "unknown field `unknown`"),
        (changed(&format!(",\"token_sha256\":\"{hash}\""), ""), "not exactly one of token_sha256"),
        (changed("\"token", &format!("\"certificate_sha256\":\"{hash}\",\"token")), "not exactly one of token_sha256"),
        (changed("\"acme\"", "\"umbrella\""), "its tenant is not there"),
        (changed(":1,\"token", ":-1,\"token"), "invalid value"),
    ] {
        let error = refused(opened(TENANT, &text), Code::CorruptArtifact, "access.document");
        assert!(error.message().contains(what), "{what} in: {error}");
        assert_eq!((field(&error, "kind"), field(&error, "key")), ("credential", "c-1"));
    }
    for (text, what) in [
        ("[1,{}]", "no JSON object"),
        (r#"{"version":1}"#, "missing field `quota`"),
        (r#"{"version":1,"quota":{"lives":1}}"#, "unknown field `lives`"),
        (r#"{"version":1,"quota":{"priority":256}}"#, "invalid value"),
        (r#"{"version":1,"quota":{"live":"many"}}"#, "invalid type"),
    ] {
        let error = refused(opened(text, &credential()), Code::CorruptArtifact, "access.document");
        assert!(error.message().contains(what), "{what} in: {error}");
        assert_eq!((field(&error, "kind"), field(&error, "key")), ("tenant", "acme"));
    }
}

#[test]
fn a_document_of_a_later_version_is_refused_naming_both_whatever_else_it_has() {
    let later = r#"{"version":2,"quotas":[]}"#;
    let error = refused(opened(later, &credential()), Code::IncompatibleContract, "access.document-version");
    assert_eq!((field(&error, "found"), field(&error, "known")), ("2", "1"));
    let later = credential().replacen(":1,", ":7,", 1);
    let error = refused(opened(TENANT, &later), Code::IncompatibleContract, "access.document-version");
    assert_eq!((field(&error, "kind"), field(&error, "found")), ("credential", "7"));
}

#[test]
fn two_credentials_with_one_secret_and_a_tenant_that_is_no_id_are_refused() {
    let store = Arc::new(MemoryStore::default());
    store.put("tenant", "acme", TENANT.as_bytes());
    for id in ["c-1", "c-2"] {
        store.put("credential", id, credential().as_bytes());
    }
    let error = refused(on(store, TenantRegistryConfig::default()), Code::CorruptArtifact, "access.document");
    assert!(error.message().contains("the same hash"), "{error}");
    let store = Arc::new(MemoryStore::default());
    store.put("tenant", "a b", TENANT.as_bytes());
    let error = refused(on(store, TenantRegistryConfig::default()), Code::CorruptArtifact, "access.document");
    assert!(error.message().contains("white space"), "{error}");
}
