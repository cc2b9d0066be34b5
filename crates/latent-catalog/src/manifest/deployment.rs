//! The deployment manifest: which release runs under which name, how much of the traffic it gets, what it may use.

use latent_core::http::{HttpIngress, OutgoingGrant};
use latent_core::id::DEFAULT_ROUTE;
use latent_core::secret::SECRETS_MAX;
use latent_core::{
    BudgetCeilings, DeploymentId, Environment, ImportGrant, SecretReferences, ServiceName, Sha256Digest, TenantId,
};
use serde_json::{Map, Value};

use super::json::{self, Json, Path, Quoted};
use super::read::{self, Object};
use super::{ManifestError, ManifestLimits, capsule, ceilings, http, names};

const KEYS: [&str; 11] = [
    "tenant",
    "service",
    "deployment",
    "release",
    "weight",
    "ceilings",
    "imports",
    "environment",
    "secrets",
    http::INGRESS,
    http::OUTGOING,
];

/// The weight of a deployment whose manifest names none.
pub const WEIGHT_DEFAULT: u16 = 100;

/// A deployment's share of its service's default route, against the weights of the others: 1 to 10,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u16);

impl Weight {
    /// The largest weight.
    pub const MAX: u16 = 10_000;

    /// A weight of `value`; `None` outside of 1 to [`Weight::MAX`].
    #[must_use]
    pub fn new(value: u16) -> Option<Self> {
        (1..=Self::MAX).contains(&value).then_some(Self(value))
    }

    /// The value.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self(WEIGHT_DEFAULT)
    }
}

/// One deployment as its tenant wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentManifest {
    /// Whose it is.
    pub tenant: TenantId,
    /// The service that it serves.
    pub service: ServiceName,
    /// Its name within the service, and that of its own route. Never `default`.
    pub deployment: DeploymentId,
    /// The component.
    pub release: Sha256Digest,
    /// Its share of the default route.
    pub weight: Weight,
    /// The most that one activation may have.
    pub ceilings: BudgetCeilings,
    /// Which declared interfaces are bound.
    pub imports: ImportGrant,
    /// What the guest sees as its environment.
    pub environment: Environment,
    /// Which of its tenant's secrets it sees beside that, under which variables.
    pub secrets: SecretReferences,
    /// Which HTTP requests lead to its service, and who may make them.
    pub http: HttpIngress,
    /// Which HTTP requests its guests may make. Sorted, each scheme, host and port once.
    pub outgoing: Box<[OutgoingGrant]>,
}

impl DeploymentManifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError`] for the first thing that does not fit the schema or a bound.
    pub fn from_json(bytes: &[u8], limits: &ManifestLimits) -> Result<Self, ManifestError> {
        Self::read(bytes, limits, None)
    }

    /// Reads a manifest that may leave `tenant` out, which is `tenant` then.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_json_of(bytes: &[u8], limits: &ManifestLimits, tenant: &TenantId) -> Result<Self, ManifestError> {
        Self::read(bytes, limits, Some(tenant))
    }

    fn read(bytes: &[u8], limits: &ManifestLimits, otherwise: Option<&TenantId>) -> Result<Self, ManifestError> {
        let path = Path::Root;
        let mut object = Object::open(json::parse(bytes, limits)?, &path, &KEYS)?;
        let environment = object.optional("environment", environment)?.unwrap_or_default();
        let secrets = object.optional("secrets", |json, path| secrets(json, path, &environment))?;
        let (http, outgoing) = http::read(&mut object)?;
        Ok(Self {
            tenant: match (object.optional("tenant", tenant_id)?, otherwise) {
                (Some(named), _) => named,
                (None, Some(otherwise)) => otherwise.clone(),
                (None, None) => object.required("tenant", tenant_id)?,
            },
            service: object.required("service", |json, path| names::id(json, path, ServiceName::new))?,
            deployment: object.required("deployment", deployment_id)?,
            release: object.required("release", digest)?,
            weight: object.optional("weight", |json, path| weight(&json, path))?.unwrap_or_default(),
            ceilings: object.optional("ceilings", ceilings::read)?.unwrap_or_default(),
            imports: object
                .optional("imports", capsule::interfaces)?
                .map_or(ImportGrant::Standard, |names| ImportGrant::Only(names.into())),
            environment,
            secrets: secrets.unwrap_or_default(),
            http,
            outgoing,
        })
    }

    /// The manifest in its canonical form: keys sorted, the weight written out, other defaults left out.
    /// [`from_json`](Self::from_json) reads it back to the same value.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
        put("tenant", self.tenant.as_str().into());
        put("service", self.service.as_str().into());
        put("deployment", self.deployment.as_str().into());
        put("release", format!("sha256:{}", self.release).into());
        put("weight", self.weight.get().into());
        if self.ceilings != BudgetCeilings::default() {
            put("ceilings", ceilings::write(&self.ceilings).into());
        }
        if let ImportGrant::Only(names) = &self.imports {
            put("imports", names.iter().map(|name| &**name).collect());
        }
        if !self.environment.is_empty() {
            let variables = self.environment.iter().map(|(name, value)| (name.to_owned(), value.into()));
            put("environment", Value::Object(variables.collect()));
        }
        if !self.secrets.is_empty() {
            let references = self.secrets.iter().map(|(variable, secret)| (variable.to_owned(), secret.into()));
            put("secrets", Value::Object(references.collect()));
        }
        object.extend(http::write(&self.http, &self.outgoing));
        Value::Object(object).to_string()
    }

    /// The keys `http` and `outgoing` of the canonical form alone; `None` where it has neither.
    #[must_use]
    pub fn http_json(&self) -> Option<String> {
        let object = http::write(&self.http, &self.outgoing);
        (!object.is_empty()).then(|| Value::Object(object).to_string())
    }

    /// The manifest with `http` and `outgoing` as [`http_json`](Self::http_json) wrote them.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn with_http_json(self, json: &str, limits: &ManifestLimits) -> Result<Self, ManifestError> {
        let path = Path::Root;
        let mut object = Object::open(json::parse(json.as_bytes(), limits)?, &path, &http::KEYS)?;
        let (http, outgoing) = http::read(&mut object)?;
        Ok(Self { http, outgoing, ..self })
    }
}

fn tenant_id(json: Json, path: &Path<'_>) -> Result<TenantId, ManifestError> {
    names::id(json, path, TenantId::new)
}

fn deployment_id(json: Json, path: &Path<'_>) -> Result<DeploymentId, ManifestError> {
    let id = names::id(json, path, DeploymentId::new)?;
    if id.as_str() == DEFAULT_ROUTE {
        let expected = format_args!("another id than {DEFAULT_ROUTE}, which names the route that all deployments feed");
        return Err(ManifestError::new(path, expected, Quoted(id.as_str())));
    }
    Ok(id)
}

fn digest(json: Json, path: &Path<'_>) -> Result<Sha256Digest, ManifestError> {
    let text = read::text(json, path)?;
    Sha256Digest::parse(&text).ok_or_else(|| {
        ManifestError::new(path, "the component's SHA-256 as 64 lower-case hexadecimal digits", Quoted(&text))
    })
}

fn weight(json: &Json, path: &Path<'_>) -> Result<Weight, ManifestError> {
    let value = read::integer(json, path, 1, Weight::MAX.into())?;
    let weight = u16::try_from(value).ok().and_then(Weight::new);
    Ok(weight.expect("an integer within the bounds of a weight is one"))
}

fn environment(json: Json, path: &Path<'_>) -> Result<Environment, ManifestError> {
    let mut variables = Vec::new();
    for (name, json) in read::entries(json, path)? {
        names::variable(&name, path)?;
        let at = Path::Key(path, &name);
        // What is there is not repeated: it may be a secret in the wrong form.
        let Json::Text(value) = json else { return Err(ManifestError::new(at, "a string", "something else")) };
        if value.contains('\0') {
            return Err(ManifestError::new(at, "a value without NUL characters", "one"));
        }
        variables.push((name.into(), value.into()));
    }
    Ok(Environment::new(variables))
}

/// Reads references. What stands where a name belongs is never repeated: it may be the secret itself.
fn secrets(json: Json, path: &Path<'_>, environment: &Environment) -> Result<SecretReferences, ManifestError> {
    let entries = read::entries(json, path)?;
    if entries.len() > SECRETS_MAX {
        return Err(ManifestError::new(path, format_args!("at most {SECRETS_MAX} secrets"), entries.len()));
    }
    let mut references = Vec::with_capacity(entries.len());
    for (variable, json) in entries {
        names::variable(&variable, path)?;
        let at = Path::Key(path, &variable);
        if environment.get(&variable).is_some() {
            return Err(ManifestError::new(at, "a variable that $.environment does not set", "one that it sets"));
        }
        let secret = names::secret(json, &at)?;
        references.push((variable.into(), secret));
    }
    Ok(SecretReferences::new(references))
}
