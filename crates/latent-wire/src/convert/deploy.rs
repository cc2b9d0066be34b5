//! Releases, deployments and routes.

use latent_catalog::Deployment;

use crate::ports::ReleaseView;
use crate::proto;

pub(crate) fn release(view: &ReleaseView) -> proto::Release {
    let functions = view.release.surface().functions.iter().map(|(target, signature)| proto::Function {
        contract: target.contract.to_string(),
        function: target.function.to_string(),
        signature: signature.to_string(),
    });
    proto::Release {
        digest: view.release.digest().to_string(),
        component_bytes: view.component_bytes,
        manifest: view.manifest.to_json(),
        functions: functions.collect(),
        imports: view.imports.iter().map(ToString::to_string).collect(),
        declared_memory_bytes: view.declared_memory_bytes,
        http_handler: view.release.surface().http_handler().map(ToString::to_string).unwrap_or_default(),
    }
}

pub(crate) fn deployment(deployment: &Deployment) -> proto::Deployment {
    proto::Deployment {
        service: deployment.service().to_string(),
        deployment: deployment.id().to_string(),
        release: deployment.release().digest().to_string(),
        weight: deployment.weight().get().into(),
        revision: deployment.revision().to_string(),
        generation: deployment.generation(),
        manifest: deployment.manifest().to_json(),
    }
}

pub(crate) fn candidate(deployment: &Deployment, eligible: bool) -> proto::Candidate {
    proto::Candidate {
        deployment: deployment.id().to_string(),
        revision: deployment.revision().to_string(),
        release: deployment.release().digest().to_string(),
        weight: deployment.weight().get().into(),
        eligible,
        http_routes: deployment
            .http()
            .map(|http| http.routes.iter().map(ToString::to_string).collect())
            .unwrap_or_default(),
        http_authentication: deployment.http().map(|http| http.authentication.as_str().to_owned()).unwrap_or_default(),
    }
}
