//! What a component offers: functions, their signatures, and how a caller names one.
//!
//! Types are a closed tree of values. Resources, futures and streams have no place in it: a function that needs
//! them is `incompatible-contract` (reference, section 7).

use std::fmt;

/// The type of a value that can cross the activation boundary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the component model's own types")]
pub enum ValueType {
    Bool,
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F32,
    F64,
    Char,
    String,
    List(Box<ValueType>),
    Tuple(Vec<ValueType>),
    Record(Vec<Field>),
    Variant(Vec<Case>),
    Enum(Vec<Box<str>>),
    Flags(Vec<Box<str>>),
    Option(Box<ValueType>),
    Result { ok: Option<Box<ValueType>>, err: Option<Box<ValueType>> },
}

/// A named, typed slot: a record's field or a function's parameter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Field {
    /// The name in kebab case.
    pub name: Box<str>,
    /// The type.
    pub ty: ValueType,
}

/// A case of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Case {
    /// The name in kebab case.
    pub name: Box<str>,
    /// What the case carries, if anything.
    pub payload: Option<ValueType>,
}

/// A function's parameters and result.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FunctionSignature {
    /// Parameters in order.
    pub params: Vec<Field>,
    /// The result, if there is one.
    pub result: Option<ValueType>,
}

impl FunctionSignature {
    /// Whether the only parameter is `list<u8>` and the result is `list<u8>` or a `result` whose ok is.
    #[must_use]
    pub fn is_bytes_to_bytes(&self) -> bool {
        let bytes_in = matches!(&*self.params, [only] if only.ty.is_bytes());
        bytes_in
            && match &self.result {
                Some(ValueType::Result { ok: Some(ok), .. }) => ok.is_bytes(),
                Some(ty) => ty.is_bytes(),
                None => false,
            }
    }
}

impl ValueType {
    /// Whether this is `list<u8>`.
    #[must_use]
    pub fn is_bytes(&self) -> bool {
        matches!(self, Self::List(element) if **element == Self::U8)
    }
}

/// Names an exported function: the interface that holds it and its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionTarget {
    /// The interface's full name, such as `example:text/analyze@1.0.0`; empty for a function of the world itself.
    pub contract: Box<str>,
    /// The function's name.
    pub function: Box<str>,
}

/// The contract of `wasi:http` handlers, in whatever version of their track.
pub const HTTP_HANDLER_CONTRACT: &str = "wasi:http/incoming-handler";

impl FunctionTarget {
    /// The HTTP handler of a component, whichever version of the contract it exports.
    #[must_use]
    pub fn http_handler() -> Self {
        Self { contract: HTTP_HANDLER_CONTRACT.into(), function: "handle".into() }
    }

    /// Whether this is what [`http_handler`](Self::http_handler) makes.
    #[must_use]
    pub fn is_http_handler(&self) -> bool {
        &*self.contract == HTTP_HANDLER_CONTRACT && &*self.function == "handle"
    }

    /// Whether a component that exports this exports an HTTP handler of the track 0.2.
    #[must_use]
    pub fn is_exported_http_handler(&self) -> bool {
        let (name, version) = self.contract.split_once('@').unwrap_or((&self.contract, ""));
        name == HTTP_HANDLER_CONTRACT && version.starts_with("0.2.") && &*self.function == "handle"
    }
}

impl fmt::Display for FunctionTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.contract.is_empty() {
            return f.write_str(&self.function);
        }
        write!(f, "{}#{}", self.contract, self.function)
    }
}

/// Everything a component exports that can be called, in export order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ContractSurface {
    /// Callable functions.
    pub functions: Vec<(FunctionTarget, FunctionSignature)>,
    /// Exported functions that cannot be called, each with the reason.
    pub refused: Vec<(FunctionTarget, Box<str>)>,
}

/// Why a name does not lead to exactly one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupError {
    /// Nothing matches.
    Unknown,
    /// More than one function matches: these.
    Ambiguous(Vec<FunctionTarget>),
}

impl ContractSurface {
    /// The signature of exactly `target`.
    #[must_use]
    pub fn signature(&self, target: &FunctionTarget) -> Option<&FunctionSignature> {
        self.functions.iter().find(|(known, _)| known == target).map(|(_, signature)| signature)
    }

    /// The exported `wasi:http` handler of the track 0.2. It takes handles, so that it is among the functions that cannot
    /// be called with values.
    #[must_use]
    pub fn http_handler(&self) -> Option<&FunctionTarget> {
        self.refused.iter().map(|(target, _)| target).find(|target| target.is_exported_http_handler())
    }

    /// Whether a request for `target` can be served: a callable function, or the HTTP handler where there is one.
    #[must_use]
    pub fn offers(&self, target: &FunctionTarget) -> bool {
        self.signature(target).is_some() || (target.is_http_handler() && self.http_handler().is_some())
    }

    /// Finds the function that `text` names: `contract#function`, where the contract may be the full name, the
    /// name without version, or only the interface's last part; or `function` alone. An exact name wins over a
    /// shortened one.
    ///
    /// # Errors
    /// [`LookupError`] when no function or more than one matches.
    pub fn find(&self, text: &str) -> Result<&FunctionTarget, LookupError> {
        let (contract, function) = match text.rsplit_once('#') {
            Some((contract, function)) => (Some(contract), function),
            None => (None, text),
        };
        let named = || self.functions.iter().map(|(target, _)| target).filter(|t| &*t.function == function);
        let exact = contract.unwrap_or_default();
        if let Some(target) = named().find(|t| &*t.contract == exact) {
            return Ok(target);
        }
        let mut matches = named().filter(|t| contract.is_none_or(|short| shortens(short, &t.contract)));
        match (matches.next(), matches.next()) {
            (None, _) => Err(LookupError::Unknown),
            (Some(only), None) => Ok(only),
            (Some(first), Some(second)) => {
                Err(LookupError::Ambiguous([first, second].into_iter().chain(matches).cloned().collect()))
            }
        }
    }
}

/// Whether `short` is `full` without its version, or only its interface name with or without version.
fn shortens(short: &str, full: &str) -> bool {
    let unversioned = full.split_once('@').map_or(full, |(name, _)| name);
    let interface = |name: &str| name.rsplit_once('/').map_or(name.len(), |(_, last)| last.len());
    let last_of = |name: &str| name[name.len() - interface(name)..].to_owned();
    short == unversioned || short == last_of(unversioned) || short == last_of(full)
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Bool => "bool",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S16 => "s16",
            Self::U16 => "u16",
            Self::S32 => "s32",
            Self::U32 => "u32",
            Self::S64 => "s64",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Char => "char",
            Self::String => "string",
            Self::List(element) => return write!(f, "list<{element}>"),
            Self::Option(inner) => return write!(f, "option<{inner}>"),
            Self::Tuple(types) => return write_all(f, "tuple<", types, ">"),
            Self::Record(fields) => return write_all(f, "record{", fields, "}"),
            Self::Variant(cases) => return write_all(f, "variant{", cases, "}"),
            Self::Enum(names) => return write_all(f, "enum{", names, "}"),
            Self::Flags(names) => return write_all(f, "flags{", names, "}"),
            Self::Result { ok: None, err: None } => "result",
            Self::Result { ok: Some(ok), err: None } => return write!(f, "result<{ok}>"),
            Self::Result { ok: None, err: Some(err) } => return write!(f, "result<_, {err}>"),
            Self::Result { ok: Some(ok), err: Some(err) } => return write!(f, "result<{ok}, {err}>"),
        };
        f.write_str(name)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.ty)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.payload {
            Some(payload) => write!(f, "{}({payload})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl fmt::Display for FunctionSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_all(f, "func(", &self.params, ")")?;
        match &self.result {
            Some(result) => write!(f, " -> {result}"),
            None => Ok(()),
        }
    }
}

fn write_all<T: fmt::Display>(f: &mut fmt::Formatter<'_>, open: &str, items: &[T], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (at, item) in items.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}{item}")?;
    }
    f.write_str(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(names: &[(&str, &str)]) -> ContractSurface {
        let signature = FunctionSignature { params: vec![], result: None };
        let target = |(c, f): &(&str, &str)| FunctionTarget { contract: (*c).into(), function: (*f).into() };
        ContractSurface { functions: names.iter().map(|n| (target(n), signature.clone())).collect(), refused: vec![] }
    }

    #[test]
    fn a_contract_may_be_shortened_where_unambiguous() {
        let surface = surface(&[("example:text/analyze@1.0.0", "reverse"), ("", "reverse-all"), ("a:b/c", "run")]);
        for text in [
            "example:text/analyze@1.0.0#reverse",
            "example:text/analyze#reverse",
            "analyze#reverse",
            "analyze@1.0.0#reverse",
            "reverse",
        ] {
            assert_eq!(surface.find(text).unwrap().function.as_ref(), "reverse", "{text}");
        }
        assert_eq!(surface.find("reverse-all").unwrap().contract.as_ref(), "");
        assert_eq!(surface.find("lyze#reverse"), Err(LookupError::Unknown));
    }

    #[test]
    fn two_matches_are_ambiguous_but_an_exact_name_wins() {
        let surface = surface(&[("a:b/c@1.0.0", "run"), ("x:y/c@1.0.0", "run"), ("", "run")]);
        assert_eq!(surface.find("run").unwrap().contract.as_ref(), "", "the world's own function is exact");
        assert!(matches!(surface.find("c#run"), Err(LookupError::Ambiguous(all)) if all.len() == 2));
    }

    #[test]
    fn an_http_handler_of_the_track_is_offered_in_whatever_version() {
        let exported = |contract: &str| {
            let target = FunctionTarget { contract: contract.into(), function: "handle".into() };
            ContractSurface { functions: vec![], refused: vec![(target, "it takes a handle".into())] }
        };
        let asked = FunctionTarget::http_handler();
        assert!(asked.is_http_handler());
        for version in ["0.2.0", "0.2.3", "0.2.12"] {
            assert!(exported(&format!("{HTTP_HANDLER_CONTRACT}@{version}")).offers(&asked), "{version}");
        }
        for contract in
            ["wasi:http/incoming-handler@0.3.0", "wasi:http/incoming-handler", "a:http/incoming-handler@0.2.0"]
        {
            assert!(!exported(contract).offers(&asked), "{contract}");
        }
    }

    #[test]
    fn signatures_read_like_wit() {
        let bytes = || ValueType::List(Box::new(ValueType::U8));
        let signature = FunctionSignature {
            params: vec![Field { name: "data".into(), ty: bytes() }],
            result: Some(ValueType::Result { ok: Some(Box::new(bytes())), err: None }),
        };
        assert_eq!(signature.to_string(), "func(data: list<u8>) -> result<list<u8>>");
        assert!(signature.is_bytes_to_bytes());
    }
}
