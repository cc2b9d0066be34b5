//! What is called, as it is written on the command line. Pure.

/// A service, a contract, which may be shortened or empty, and a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// The service.
    pub service: String,
    /// The exported interface, as far as it is named.
    pub contract: String,
    /// The function.
    pub function: String,
}

impl Called {
    /// Reads `SERVICE[/CONTRACT]#FUNCTION`. The service ends at the first `/`.
    ///
    /// # Errors
    /// What is missing, and how it is written.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = "expected SERVICE[/CONTRACT]#FUNCTION, such as text-stats/analyze#reverse";
        let Some((path, _)) = text.rsplit_once('#') else {
            return Err(format!("it names no function: {expected}"));
        };
        let service = path.split('/').next().unwrap_or_default();
        if service.is_empty() {
            return Err(format!("it names no service: {expected}"));
        }
        Self::of(service, text[service.len()..].trim_start_matches('/'))
            .map_err(|reason| format!("{reason}: {expected}"))
    }

    /// The function that `call` names, as `latent run --call` takes it: `CONTRACT#FUNCTION`, or `FUNCTION` alone.
    ///
    /// # Errors
    /// That there is no function in it.
    pub fn of(service: &str, call: &str) -> Result<Self, String> {
        let (contract, function) = call.rsplit_once('#').unwrap_or(("", call));
        if function.is_empty() {
            return Err("it names no function".to_owned());
        }
        Ok(Self { service: service.to_owned(), contract: contract.to_owned(), function: function.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(service: &str, contract: &str, function: &str) -> Called {
        Called { service: service.to_owned(), contract: contract.to_owned(), function: function.to_owned() }
    }

    #[test]
    fn a_call_is_a_service_a_contract_that_may_be_shortened_and_a_function() {
        for (text, wanted) in [
            ("text-stats#reverse", called("text-stats", "", "reverse")),
            ("text-stats/analyze#reverse", called("text-stats", "analyze", "reverse")),
            (
                "text-stats/example:text-stats/analyze@1.0.0#reverse",
                called("text-stats", "example:text-stats/analyze@1.0.0", "reverse"),
            ),
            ("s/#run", called("s", "", "run")),
        ] {
            assert_eq!(Called::parse(text), Ok(wanted), "{text}");
        }
        assert_eq!(Called::of("a/b", "c:d/e#run"), Ok(called("a/b", "c:d/e", "run")));
        assert_eq!(Called::of("s", "run"), Ok(called("s", "", "run")));
    }

    #[test]
    fn what_is_missing_is_told() {
        for (text, missing) in [
            ("", "function"),
            ("s", "function"),
            ("s/c", "function"),
            ("s#", "function"),
            ("#f", "service"),
            ("/c#f", "service"),
        ] {
            let reason = Called::parse(text).unwrap_err();
            assert!(reason.starts_with(&format!("it names no {missing}")) && reason.contains("#FUNCTION"), "{reason}");
        }
    }
}
