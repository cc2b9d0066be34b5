//! The node's own catalog behind a script that can break each of its operations, and a record of which view was asked
//! what.

use std::sync::{Arc, Mutex};

use latent_catalog::{
    ActivationCatalog, ActivationCatalogSource, Catalog, CatalogLimits, CatalogView, RevisionPolicySource,
    RouteRequest, RouteResolver,
};
use latent_core::{PlatformError, PlatformErrorCode, ResolvedRevision, RevisionPolicy};

use super::Bomb;

/// What the catalog does wrong.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum CatalogScript {
    #[default]
    Nothing,
    PanicInPin,
    PanicInResolve,
    PanicInPolicy,
    /// The view's destructor panics.
    PanicInDrop,
    /// It has no policy for what it resolved.
    NoPolicy,
    /// It refuses the route.
    Refuse(PlatformError),
    /// It knows the revision but not, for this reason, what it allows.
    RefusePolicy(PlatformError),
}

pub struct ScriptedCatalog {
    pub inner: Catalog,
    script: Mutex<CatalogScript>,
    asked: Arc<Mutex<Vec<(&'static str, u64)>>>,
}

impl ScriptedCatalog {
    pub fn new() -> Self {
        let inner = Catalog::new(CatalogView::empty(CatalogLimits::default()));
        Self { inner, script: Mutex::default(), asked: Arc::default() }
    }

    pub fn set(&self, script: CatalogScript) {
        *self.script.lock().unwrap() = script;
    }

    /// What was asked, of which generation.
    pub fn asked(&self) -> Vec<(&'static str, u64)> {
        self.asked.lock().unwrap().clone()
    }
}

impl ActivationCatalogSource for ScriptedCatalog {
    fn pin(&self) -> Arc<dyn ActivationCatalog> {
        let script = self.script.lock().unwrap().clone();
        assert!(script != CatalogScript::PanicInPin, "scripted panic");
        let inner = self.inner.view();
        self.asked.lock().unwrap().push(("pin", inner.generation()));
        let bomb = (script == CatalogScript::PanicInDrop).then(|| Bomb);
        Arc::new(Pinned { inner, script, asked: Arc::clone(&self.asked), _bomb: bomb })
    }
}

struct Pinned {
    inner: Arc<CatalogView>,
    script: CatalogScript,
    asked: Arc<Mutex<Vec<(&'static str, u64)>>>,
    _bomb: Option<Bomb>,
}

impl Pinned {
    fn note(&self, operation: &'static str) {
        self.asked.lock().unwrap().push((operation, self.inner.generation()));
    }
}

impl RouteResolver for Pinned {
    fn resolve(&self, request: &RouteRequest<'_>) -> Result<ResolvedRevision, PlatformError> {
        self.note("resolve");
        match &self.script {
            CatalogScript::PanicInResolve => panic!("scripted panic"),
            CatalogScript::Refuse(error) => Err(error.clone()),
            _ => self.inner.resolve(request),
        }
    }
}

impl RevisionPolicySource for Pinned {
    fn policy(&self, revision: &ResolvedRevision) -> Result<Arc<RevisionPolicy>, PlatformError> {
        self.note("policy");
        match &self.script {
            CatalogScript::PanicInPolicy => panic!("scripted panic"),
            CatalogScript::NoPolicy => Err(PlatformError::new(PlatformErrorCode::NotFound, "no such revision")),
            CatalogScript::RefusePolicy(error) => Err(error.clone()),
            _ => self.inner.policy(revision),
        }
    }
}

impl ActivationCatalog for Pinned {
    fn generation(&self) -> u64 {
        self.inner.generation()
    }
}
