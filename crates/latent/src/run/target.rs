//! Which function is called: the one that is named, or the only one there is. Pure.

use std::fmt::Write as _;

use latent_core::contract::LookupError;
use latent_core::{ContractSurface, FunctionSignature, FunctionTarget};

use crate::ending::Failure;

/// Finds the function that `call` names, or the only one.
///
/// # Errors
/// A sentence and the list of what is exported. Wrong usage, or refused for a function that nobody can call.
pub fn choose(surface: &ContractSurface, call: Option<&str>) -> Result<FunctionTarget, Failure> {
    let Some(call) = call else { return only(surface) };
    match surface.find(call) {
        Ok(target) => Ok(target.clone()),
        Err(LookupError::Ambiguous(matching)) => {
            let matching = matching.iter().map(|target| (target, surface.signature(target)));
            Err(Failure::usage(format!("--call {call} may mean several functions; name one of{}", list(matching))))
        }
        Err(LookupError::Unknown) => Err(match refused(surface, call) {
            Some((target, reason)) => Failure::local(format!("the function {target} cannot be called: {reason}")),
            None if surface.functions.is_empty() => nothing_exported(surface),
            None => Failure::usage(format!(
                "the component exports no function {call}; it exports{}",
                list(surface.functions.iter().map(|(target, signature)| (target, Some(signature))))
            )),
        }),
    }
}

fn only(surface: &ContractSurface) -> Result<FunctionTarget, Failure> {
    match &*surface.functions {
        [] => Err(nothing_exported(surface)),
        [(only, _)] => Ok(only.clone()),
        several => Err(Failure::usage(format!(
            "the component exports {} functions; name one with --call{}",
            several.len(),
            list(several.iter().map(|(target, signature)| (target, Some(signature))))
        ))),
    }
}

fn nothing_exported(surface: &ContractSurface) -> Failure {
    let mut sentence = "the component exports no function that can be called".to_owned();
    for (at, (target, reason)) in surface.refused.iter().enumerate() {
        let mark = if at == 0 { ':' } else { ';' };
        let _infallible = write!(sentence, "{mark} {target}: {reason}");
    }
    Failure::usage(sentence)
}

/// The function that `call` names among those that cannot be called.
fn refused<'s>(surface: &'s ContractSurface, call: &str) -> Option<&'s (FunctionTarget, Box<str>)> {
    let none = || FunctionSignature { params: Vec::new(), result: None };
    let functions = surface.refused.iter().map(|(target, _)| (target.clone(), none())).collect();
    let named = ContractSurface { functions, refused: Vec::new() };
    let target = named.find(call).ok()?;
    surface.refused.iter().find(|(known, _)| known == target)
}

/// One function a line, as it can be given to `--call`, with its signature.
fn list<'s>(functions: impl Iterator<Item = (&'s FunctionTarget, Option<&'s FunctionSignature>)>) -> String {
    functions.fold(":".to_owned(), |mut list, (target, signature)| {
        let _infallible = match signature {
            Some(signature) => write!(list, "\n  {target}: {signature}"),
            None => write!(list, "\n  {target}"),
        };
        list
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ending::Exit;

    fn target(text: &str) -> FunctionTarget {
        let (contract, function) = text.split_once('#').unwrap();
        FunctionTarget { contract: contract.into(), function: function.into() }
    }

    fn surface(callable: &[&str], refused: &[&str]) -> ContractSurface {
        let signature = FunctionSignature { params: Vec::new(), result: None };
        ContractSurface {
            functions: callable.iter().map(|name| (target(name), signature.clone())).collect(),
            refused: refused.iter().map(|name| (target(name), "it takes a resource".into())).collect(),
        }
    }

    #[test]
    fn the_only_function_needs_no_name() {
        let one = surface(&["a:b/c@1.0.0#run"], &["a:b/c@1.0.0#other"]);
        assert_eq!(choose(&one, None), Ok(target("a:b/c@1.0.0#run")));
        let none = choose(&surface(&[], &["a:b/c#other"]), None).unwrap_err();
        assert_eq!(none.exit(), Exit::Usage);
        assert!(none.to_string().ends_with("can be called: a:b/c#other: it takes a resource"), "{none}");
    }

    #[test]
    fn without_a_name_several_are_listed() {
        let failure = choose(&surface(&["a:b/c#run", "a:b/d#run"], &[]), None).unwrap_err();
        assert_eq!(failure.exit(), Exit::Usage);
        let listed =
            "the component exports 2 functions; name one with --call:\n  a:b/c#run: func()\n  a:b/d#run: func()";
        assert_eq!(failure.to_string(), listed);
    }

    #[test]
    fn ambiguous_unknown_and_refused_names_are_told_apart() {
        let surface = surface(&["a:b/c#run", "a:b/d#run", "a:b/d#walk"], &["a:b/d#swim"]);
        let failure = |call| choose(&surface, Some(call)).unwrap_err();
        let ambiguous = failure("run");
        assert_eq!(ambiguous.exit(), Exit::Usage);
        assert!(ambiguous.to_string().contains("several") && !ambiguous.to_string().contains("walk"), "{ambiguous}");
        let unknown = failure("fly");
        assert_eq!(unknown.exit(), Exit::Usage);
        assert!(unknown.to_string().contains("no function fly; it exports:\n  a:b/c#run: func()"), "{unknown}");
        let refused = failure("swim");
        assert_eq!(refused.exit(), Exit::LocalFailure);
        assert_eq!(refused.to_string(), "the function a:b/d#swim cannot be called: it takes a resource");
        assert_eq!(choose(&surface, Some("d#run")), Ok(target("a:b/d#run")));
    }
}
