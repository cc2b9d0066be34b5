//! Tenants and credentials as they are written down: JSON with a version, in which nothing unknown is accepted.
//!
//! Invariant: of a token only its SHA-256 is in a document.

use std::time::{Duration, SystemTime};

use latent_core::{PlatformError, ServiceName, Sha256Digest, TenantId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::book::{Held, Secret};
use super::model::{Credential, Tenant, TenantQuota};
use super::port::{REGISTRY_KINDS, RegistryDocument};
use super::refusal;
use super::roles::{Role, Roles};

pub(super) const TENANT: &str = REGISTRY_KINDS[0];
pub(super) const CREDENTIAL: &str = REGISTRY_KINDS[1];

const VERSION: u64 = 1;

#[derive(Deserialize)]
struct Versioned {
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantText {
    version: u64,
    quota: QuotaText,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    live: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    queued: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fuel: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    disk_bytes: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialText {
    version: u64,
    tenant: String,
    subject: String,
    roles: Vec<String>,
    /// Milliseconds since 1970, like the next.
    created_at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certificate_sha256: Option<String>,
}

pub(super) fn tenant(tenant: &Tenant) -> RegistryDocument {
    let TenantQuota { live, queued, fuel, memory_bytes, payload_bytes, priority, disk_bytes } = tenant.quota;
    let quota = QuotaText { live, queued, fuel, memory_bytes, payload_bytes, priority, disk_bytes };
    written(TENANT, tenant.name.as_str(), &TenantText { version: VERSION, quota })
}

pub(super) fn read_tenant(key: &str, value: &[u8]) -> Result<Tenant, PlatformError> {
    let TenantText { quota, .. } = read(TENANT, key, value)?;
    let name = TenantId::new(key).map_err(|error| refusal::document(TENANT, key, format_args!("its name {error}")))?;
    let QuotaText { live, queued, fuel, memory_bytes, payload_bytes, priority, disk_bytes } = quota;
    let quota = TenantQuota { live, queued, fuel, memory_bytes, payload_bytes, priority, disk_bytes };
    Ok(Tenant { name, quota })
}

pub(super) fn credential(held: &Held) -> RegistryDocument {
    let Credential { id, tenant, subject, roles, created_at, expires_at } = &held.credential;
    let (token, certificate) = match held.secret {
        Secret::Token(digest) => (Some(digest), None),
        Secret::Certificate(digest) => (None, Some(digest)),
    };
    let text = CredentialText {
        version: VERSION,
        tenant: tenant.to_string(),
        subject: subject.to_string(),
        roles: roles.iter().map(|role| role.as_str().to_owned()).collect(),
        created_at_ms: millis(*created_at),
        expires_at_ms: expires_at.map(millis),
        token_sha256: token.map(|digest| digest.to_string()),
        certificate_sha256: certificate.map(|digest| digest.to_string()),
    };
    written(CREDENTIAL, id, &text)
}

pub(super) fn read_credential(key: &str, value: &[u8]) -> Result<Held, PlatformError> {
    let text: CredentialText = read(CREDENTIAL, key, value)?;
    let wrong = |what: &str| refusal::document(CREDENTIAL, key, what);
    let tenant = TenantId::new(text.tenant).map_err(|_| wrong("its tenant is no id"))?;
    let subject = ServiceName::new(text.subject).map_err(|_| wrong("its subject is no id"))?;
    let roles = text.roles.iter().map(|role| Role::parse(role)).collect::<Option<Roles>>();
    let roles = roles.ok_or_else(|| wrong("it has a role that is none of invoke, deploy and operate"))?;
    let digest = |text: &str| Sha256Digest::parse(text).ok_or_else(|| wrong("its hash is no SHA-256"));
    let secret = match (&text.token_sha256, &text.certificate_sha256) {
        (Some(token), None) => Secret::Token(digest(token)?),
        (None, Some(certificate)) => Secret::Certificate(digest(certificate)?),
        _ => return Err(wrong("it has not exactly one of token_sha256 and certificate_sha256")),
    };
    let time = |millis| {
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis));
        time.ok_or_else(|| wrong("a time is out of bounds"))
    };
    let (created_at, expires_at) = (time(text.created_at_ms)?, text.expires_at_ms.map(time).transpose()?);
    let credential = Credential { id: key.into(), tenant, subject, roles, created_at, expires_at };
    Ok(Held::new(credential, secret))
}

/// A document that removes what is called `key`.
pub(super) fn removed(kind: &'static str, key: &str) -> RegistryDocument {
    RegistryDocument { kind, key: key.to_owned(), value: None }
}

/// `time` without what a document does not keep of it.
pub(super) fn kept(time: SystemTime) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis(time))).unwrap_or(time)
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn written(kind: &'static str, key: &str, text: &impl Serialize) -> RegistryDocument {
    let value = serde_json::to_vec(text).expect("numbers and strings are written as JSON");
    RegistryDocument { kind, key: key.to_owned(), value: Some(value) }
}

fn read<T: DeserializeOwned>(kind: &str, key: &str, value: &[u8]) -> Result<T, PlatformError> {
    // An array with the fields in their order would be taken for the object.
    if value.trim_ascii_start().first() != Some(&b'{') {
        return Err(refusal::document(kind, key, "it is no JSON object"));
    }
    let wrong = |error| refusal::document(kind, key, error);
    // A later version may have other fields, which are not what is wrong with it.
    let Versioned { version } = serde_json::from_slice(value).map_err(wrong)?;
    if version != VERSION {
        return Err(refusal::document_version(kind, key, version, VERSION));
    }
    serde_json::from_slice(value).map_err(wrong)
}
