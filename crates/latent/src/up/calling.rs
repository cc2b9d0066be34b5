//! The call that `--call` asks for, made as any client makes it.

use latent_core::{FunctionTarget, contract::LookupError};
use latent_wire::client::{CONNECT_TIMEOUT, CallError, Client, Target, Tls, Token};
use latent_wire::proto::InvokeRequest;

use super::shown::{Place, Service};
use crate::client::invoke::report;
use crate::ending::{Exit, Failure};
use crate::input::{self, Arguments};
use crate::terminal::{error_line, to_stderr, to_stdout};

/// Longer than any token with its line end.
const TOKEN_BYTES_MAX: u64 = 4096;

/// Calls what `function` names of `services`, and prints what came of it.
///
/// # Errors
/// One sentence: which function there is not, or why there is no answer.
pub async fn call(place: &Place, services: &[&Service], function: &str, arguments: Arguments) -> Result<(), Failure> {
    let (service, target) = find(services, function)?;
    let request = InvokeRequest {
        service: service.name.to_string(),
        contract: target.contract.to_string(),
        function: target.function.to_string(),
        media_type: arguments.payload.media_type.as_str().to_owned(),
        payload: arguments.payload.bytes,
        ..Default::default()
    };
    match client(place)?.invoke(request).await {
        Ok(answer) => to_stdout(&report::result_text(&answer))
            .map_err(|error| Failure::local(format!("cannot write to standard output: {error}"))),
        Err(CallError::Node(node)) => {
            let mut lines = report::failure(&node).into_iter();
            error_line(&lines.next().unwrap_or_default());
            lines.for_each(|line| to_stderr(&format!("{line}\n")));
            Ok(())
        }
        Err(other) => Err(Failure::with(Exit::Transport, format!("--call {function}: {other}"))),
    }
}

fn client(place: &Place) -> Result<Client, Failure> {
    let bytes = input::file(&place.credential, TOKEN_BYTES_MAX)?;
    let token = std::str::from_utf8(&bytes).map_err(|_not_text| "expected one token, of visible ASCII characters");
    let token = token.and_then(Token::parse).map_err(|reason| {
        Failure::local(format!("{} has no token that can be sent: {reason}", place.credential.display()))
    })?;
    let target = Target {
        invoke: place.invoke.clone(),
        control: place.control.clone(),
        token: Some(token),
        tls: Tls::default(),
        connect_timeout: CONNECT_TIMEOUT,
    };
    Client::connect(target).map_err(|bad| Failure::local(bad.to_string()))
}

/// The one function of all services that `call` names: as of a component, or after its service.
fn find<'s>(services: &[&'s Service], call: &str) -> Result<(&'s Service, &'s FunctionTarget), Failure> {
    let mut found: Vec<(&Service, &FunctionTarget)> = Vec::new();
    for service in services {
        let of_service = call.strip_prefix(service.name.as_str()).and_then(|rest| rest.strip_prefix(['#', '/']));
        for name in [Some(call), of_service].into_iter().flatten() {
            let targets = match service.surface().find(name) {
                Ok(target) => vec![target.clone()],
                Err(LookupError::Ambiguous(targets)) => targets,
                Err(LookupError::Unknown) => Vec::new(),
            };
            let known = service.surface().functions.iter().map(|(target, _)| target);
            found.extend(known.filter(|known| targets.contains(known)).map(|target| (*service, target)));
        }
    }
    // Services may share a surface.
    found.dedup_by(|one, other| std::ptr::eq(one.0, other.0) && std::ptr::eq(one.1, other.1));
    match &*found {
        [only] => Ok(*only),
        [] => {
            let all = services
                .iter()
                .flat_map(|service| service.surface().functions.iter().map(move |(target, _)| (*service, target)));
            Err(Failure::usage(format!("--call {call}: no service that is deployed has it; there is{}", list(all))))
        }
        several => {
            let listed = list(several.iter().copied());
            Err(Failure::usage(format!("--call {call} may mean several functions; name one of{listed}")))
        }
    }
}

/// One function a line, as it can be given to `--call`.
fn list<'s>(functions: impl Iterator<Item = (&'s Service, &'s FunctionTarget)>) -> String {
    let names: Vec<_> = functions.map(|(service, target)| format!("\n  {}{}", service.name, after(target))).collect();
    if names.is_empty() { " none".to_owned() } else { format!(":{}", names.concat()) }
}

fn after(target: &FunctionTarget) -> String {
    if target.contract.is_empty() { format!("#{}", target.function) } else { format!("/{target}") }
}
