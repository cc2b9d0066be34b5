//! What is written down of a release, a deployment, a quota and a document: keys and values of the tables, and back.
//!
//! Invariant: a key is made of the ids' bytes with their lengths before them, so two ids never share a record.

mod surface;

use std::sync::Arc;
use std::time::Duration;

use latent_catalog::{CapsuleManifest, Deployment, DeploymentManifest, ManifestLimits, Release, Surfaces, Weight};
use latent_core::http::HttpIngress;
use latent_core::{
    BudgetCeilings, DeploymentId, Environment, ImportGrant, SecretReferences, ServiceName, Sha256Digest, TenantId,
};
use latent_executor::ImportName;

use crate::codec::{Decoder, Encoder, Malformed};

/// One release of a tenant, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseRecord {
    /// What deployments run: the component's digest, what may be called in it, and the bounds of its manifest.
    pub release: Arc<Release>,
    /// The capsule manifest that it was published with.
    pub manifest: CapsuleManifest,
    /// Bytes of the component.
    pub component_bytes: u64,
    /// What the component imports, in the order in which it declares them.
    pub imports: Vec<ImportName>,
    /// Bytes of linear memory below which no instance can be made.
    pub declared_memory_bytes: u64,
}

/// A deployment as it was written down, with the names in its key.
#[derive(Debug)]
pub(crate) struct DeploymentRecord {
    pub(crate) manifest: DeploymentManifest,
    pub(crate) generation: u64,
}

/// The names that the record before had, which its neighbour most likely has too, and the surfaces of all releases so far.
#[derive(Debug, Default)]
pub(crate) struct Names {
    tenant: Option<TenantId>,
    service: Option<ServiceName>,
    surfaces: Surfaces,
}

impl Names {
    fn tenant(&mut self, text: &str) -> Result<TenantId, Malformed> {
        known(&mut self.tenant, text, TenantId::new)
    }

    fn service(&mut self, text: &str) -> Result<ServiceName, Malformed> {
        known(&mut self.service, text, ServiceName::new)
    }
}

fn known<T: Clone + std::borrow::Borrow<str>, E>(
    last: &mut Option<T>,
    text: &str,
    new: impl FnOnce(Arc<str>) -> Result<T, E>,
) -> Result<T, Malformed> {
    if let Some(known) = last.as_ref().filter(|known| (*known).borrow() == text) {
        return Ok(known.clone());
    }
    let id = new(text.into()).map_err(|_| Malformed("an id has forbidden characters"))?;
    Ok(last.insert(id).clone())
}

pub(crate) fn quota_key(tenant: &TenantId) -> Vec<u8> {
    let mut key = Encoder::default();
    key.text(tenant.as_str());
    key.finish()
}

pub(crate) fn read_quota(key: &[u8], value: &[u8]) -> Result<(TenantId, u64), Malformed> {
    let (mut key, mut value) = (Decoder::new(key), Decoder::new(value));
    let (tenant, bytes) = (Names::default().tenant(key.text()?)?, value.number()?);
    key.finish()?;
    value.finish()?;
    Ok((tenant, bytes))
}

pub(crate) fn quota(bytes: u64) -> Vec<u8> {
    let mut value = Encoder::default();
    value.number(bytes);
    value.finish()
}

/// A document as it was written down, with the names in its key.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) kind: Box<str>,
    pub(crate) key: Box<str>,
    pub(crate) value: Arc<[u8]>,
}

pub(crate) fn document_key(kind: &str, name: &str) -> Vec<u8> {
    let mut key = Encoder::default();
    key.text(kind);
    key.text(name);
    key.finish()
}

pub(crate) fn read_document(key: &[u8], value: &[u8]) -> Result<Document, Malformed> {
    let mut names = Decoder::new(key);
    let (kind, key) = (names.text()?.into(), names.text()?.into());
    names.finish()?;
    Ok(Document { kind, key, value: value.into() })
}

pub(crate) fn release_key(tenant: &TenantId, digest: &Sha256Digest) -> Vec<u8> {
    let mut key = Encoder::default();
    key.text(tenant.as_str());
    key.digest(digest);
    key.finish()
}

pub(crate) fn release(record: &ReleaseRecord) -> Result<Vec<u8>, Malformed> {
    let mut value = Encoder::default();
    value.number(record.component_bytes);
    value.number(record.declared_memory_bytes);
    value.text(&record.manifest.to_json());
    value.list(record.imports.iter(), |value, import| value.text(&import.0));
    surface::write(&mut value, record.release.surface())?;
    Ok(value.finish())
}

pub(crate) fn read_release(
    names: &mut Names,
    key: &[u8],
    value: &[u8],
) -> Result<(TenantId, ReleaseRecord), Malformed> {
    let (mut key, mut value) = (Decoder::new(key), Decoder::new(value));
    let (tenant, digest) = (names.tenant(key.text()?)?, key.digest()?);
    key.finish()?;
    let (component_bytes, declared_memory_bytes) = (value.number()?, value.number()?);
    let manifest = CapsuleManifest::from_json(value.text()?.as_bytes(), &unlimited())
        .map_err(|_| Malformed("a capsule manifest does not read"))?;
    let imports = value.list(|value| value.text().map(|name| ImportName(name.into())))?;
    let surface = surface::read(&mut value)?;
    value.finish()?;
    let release = Release::new(digest, &surface, &manifest)
        .map_err(|_| Malformed("a capsule manifest does not go with its release"))?;
    let release = Arc::new(release.sharing(&mut names.surfaces));
    Ok((tenant, ReleaseRecord { release, manifest, component_bytes, imports, declared_memory_bytes }))
}

/// What was accepted once is not refused under tighter bounds.
fn unlimited() -> ManifestLimits {
    let max = usize::MAX;
    ManifestLimits { document_bytes_max: max, string_bytes_max: max, entries_max: max, ..ManifestLimits::default() }
}

pub(crate) fn deployment_key(tenant: &TenantId, service: &ServiceName, id: &DeploymentId) -> Vec<u8> {
    let mut key = Encoder::default();
    key.text(tenant.as_str());
    key.text(service.as_str());
    key.text(id.as_str());
    key.finish()
}

pub(crate) fn deployment(deployment: &Deployment) -> Vec<u8> {
    let policy = deployment.policy();
    let mut value = Encoder::default();
    value.number(deployment.generation());
    value.digest(&deployment.release().digest());
    value.number(deployment.weight().get().into());
    write_ceilings(&mut value, &policy.admission.deployment);
    match &policy.execution.imports {
        ImportGrant::Standard => value.byte(0),
        ImportGrant::Only(names) => {
            value.byte(1);
            value.list(names.iter(), |value, name| value.text(name));
        }
    }
    value.list(policy.execution.environment.iter(), |value, (name, text)| {
        value.text(name);
        value.text(text);
    });
    let http = deployment.http().is_some() || !policy.execution.outgoing.is_empty();
    // Only where there are any: a record without secrets and HTTP is what it was before there were such.
    if http || !policy.execution.secrets.is_empty() {
        value.list(policy.execution.secrets.iter(), |value, (variable, secret)| {
            value.text(variable);
            value.text(secret);
        });
    }
    if let Some(json) = http.then(|| deployment.manifest().http_json()).flatten() {
        value.text(&json);
    }
    value.finish()
}

pub(crate) fn read_deployment(names: &mut Names, key: &[u8], value: &[u8]) -> Result<DeploymentRecord, Malformed> {
    let (mut key, mut value) = (Decoder::new(key), Decoder::new(value));
    let (tenant, service) = (names.tenant(key.text()?)?, names.service(key.text()?)?);
    let deployment = DeploymentId::new(key.text()?).map_err(|_| Malformed("an id has forbidden characters"))?;
    key.finish()?;
    let (generation, release) = (value.number()?, value.digest()?);
    let weight = u16::try_from(value.number()?).ok().and_then(Weight::new);
    let weight = weight.ok_or(Malformed("a weight is out of bounds"))?;
    let ceilings = read_ceilings(&mut value)?;
    let imports = match value.option(|value| value.list(|value| value.text().map(Into::into)))? {
        Some(names) => ImportGrant::Only(names.into()),
        None => ImportGrant::Standard,
    };
    let environment = value.list(|value| Ok((value.text()?.into(), value.text()?.into())))?;
    let secrets = if value.is_empty() {
        Vec::new()
    } else {
        value.list(|value| Ok((value.text()?.into(), value.text()?.into())))?
    };
    let http = if value.is_empty() { None } else { Some(value.text()?) };
    value.finish()?;
    let manifest = DeploymentManifest {
        tenant,
        service,
        deployment,
        release,
        weight,
        ceilings,
        imports,
        environment: Environment::new(environment),
        secrets: SecretReferences::new(secrets),
        http: HttpIngress::default(),
        outgoing: Box::default(),
    };
    let manifest = match http {
        Some(json) => manifest.with_http_json(json, &unlimited()),
        None => Ok(manifest),
    };
    let manifest = manifest.map_err(|_| Malformed("what a deployment says of HTTP does not read"))?;
    Ok(DeploymentRecord { manifest, generation })
}

fn write_ceilings(value: &mut Encoder, ceilings: &BudgetCeilings) {
    value.option(ceilings.fuel, Encoder::number);
    value.option(ceilings.memory_bytes, Encoder::number);
    value.option(ceilings.log_bytes, Encoder::number);
    value.option(ceilings.wall_limit, |value, limit| {
        value.number(limit.as_secs());
        value.number(limit.subsec_nanos().into());
    });
}

fn read_ceilings(value: &mut Decoder<'_>) -> Result<BudgetCeilings, Malformed> {
    Ok(BudgetCeilings {
        fuel: value.option(Decoder::number)?,
        memory_bytes: value.option(Decoder::number)?,
        log_bytes: value.option(Decoder::number)?,
        wall_limit: value.option(|value| {
            let (seconds, nanos) = (value.number()?, value.number()?);
            let nanos = u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000);
            Ok(Duration::new(seconds, nanos.ok_or(Malformed("a duration is out of bounds"))?))
        })?,
    })
}
