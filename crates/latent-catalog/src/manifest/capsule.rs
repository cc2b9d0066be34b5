//! The capsule manifest: what the author of a component says about it. It can only narrow what the component itself
//! exports and imports, and bound what each activation may use.

use std::fmt;

use latent_core::{BudgetCeilings, ContractSurface, FunctionTarget, PlatformError, Threading};
use serde_json::{Map, Value};

use super::json::{self, Json, Path, Quoted};
use super::names::{self, Versioned};
use super::read::{self, Object};
use super::{ManifestError, ManifestLimits, ceilings};
use crate::refusal::NarrowRefusal;

const KEYS: [&str; 4] = ["exports", "imports", "ceilings", "threading"];

/// An export that a manifest offers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExportName {
    /// Every function of an interface.
    Contract(Box<str>),
    /// One function; with an empty contract, one of the world itself (`#run`).
    Function(FunctionTarget),
}

/// What an author says about a component. Without a manifest, everything the component has is offered:
/// [`CapsuleManifest::default`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CapsuleManifest {
    /// What may be called; `None` is whatever the component exports. Sorted, each once.
    pub exports: Option<Vec<ExportName>>,
    /// The interfaces, without versions, beyond which the component may import nothing; `None` is no promise. Sorted,
    /// each once.
    pub imports: Option<Vec<Box<str>>>,
    /// The most that one activation may have.
    pub ceilings: BudgetCeilings,
    /// What the cell must offer.
    pub threading: Threading,
}

impl CapsuleManifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// [`ManifestError`] for the first thing that does not fit the schema or a bound.
    pub fn from_json(bytes: &[u8], limits: &ManifestLimits) -> Result<Self, ManifestError> {
        let path = Path::Root;
        let mut object = Object::open(json::parse(bytes, limits)?, &path, &KEYS)?;
        Ok(Self {
            exports: object.optional("exports", exports)?,
            imports: object.optional("imports", interfaces)?,
            ceilings: object.optional("ceilings", ceilings::read)?.unwrap_or_default(),
            threading: object.optional("threading", threading)?.unwrap_or_default(),
        })
    }

    /// The manifest in its canonical form: keys sorted, defaults left out. [`from_json`](Self::from_json) reads it
    /// back to the same value.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut object = Map::new();
        if let Some(exports) = &self.exports {
            object.insert("exports".to_owned(), exports.iter().map(ToString::to_string).collect());
        }
        if let Some(imports) = &self.imports {
            object.insert("imports".to_owned(), imports.iter().map(|name| &**name).collect());
        }
        if self.ceilings != BudgetCeilings::default() {
            object.insert("ceilings".to_owned(), ceilings::write(&self.ceilings).into());
        }
        if self.threading != Threading::default() {
            object.insert("threading".to_owned(), self.threading.as_str().into());
        }
        Value::Object(object).to_string()
    }

    /// What is offered of a component's `surface`, in its order.
    ///
    /// # Errors
    /// `incompatible-contract` when the manifest offers something that the component does not export.
    pub fn narrow(&self, surface: &ContractSurface) -> Result<ContractSurface, PlatformError> {
        let Some(exports) = &self.exports else { return Ok(surface.clone()) };
        let exported = || surface.functions.iter().map(|(t, _)| t).chain(surface.refused.iter().map(|(t, _)| t));
        if let Some(lacking) = exports.iter().find(|export| !exported().any(|target| export.offers(target))) {
            return Err(NarrowRefusal::LacksExport(lacking.clone()).into());
        }
        let offered = |target: &FunctionTarget| exports.iter().any(|export| export.offers(target));
        Ok(ContractSurface {
            functions: surface.functions.iter().filter(|(target, _)| offered(target)).cloned().collect(),
            refused: surface.refused.iter().filter(|(target, _)| offered(target)).cloned().collect(),
        })
    }

    /// Checks the names, with or without versions, of what a component imports.
    ///
    /// # Errors
    /// `incompatible-contract` for the first import that the manifest does not list.
    pub fn check_imports<'a>(&self, imported: impl IntoIterator<Item = &'a str>) -> Result<(), PlatformError> {
        let Some(listed) = &self.imports else { return Ok(()) };
        let unversioned = |name: &'a str| name.split_once('@').map_or(name, |(name, _)| name);
        let unlisted = imported.into_iter().find(|name| !listed.iter().any(|known| **known == *unversioned(name)));
        unlisted.map_or(Ok(()), |name| Err(NarrowRefusal::UnlistedImport(name.into()).into()))
    }
}

impl ExportName {
    fn offers(&self, target: &FunctionTarget) -> bool {
        match self {
            Self::Contract(contract) => **contract == *target.contract,
            Self::Function(function) => function == target,
        }
    }
}

impl fmt::Display for ExportName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contract(contract) => f.write_str(contract),
            Self::Function(target) => write!(f, "{}#{}", target.contract, target.function),
        }
    }
}

fn exports(json: Json, path: &Path<'_>) -> Result<Vec<ExportName>, ManifestError> {
    sorted_once(read::list(json, path, export)?, path)
}

fn export(json: Json, path: &Path<'_>) -> Result<ExportName, ManifestError> {
    let text = read::text(json, path)?;
    let Some((contract, function)) = text.rsplit_once('#') else {
        return names::interface(&text, path, Versioned::Optional).map(ExportName::Contract);
    };
    let function = names::function(function, path)?;
    let contract = if contract.is_empty() { "".into() } else { names::interface(contract, path, Versioned::Optional)? };
    Ok(ExportName::Function(FunctionTarget { contract, function }))
}

/// An array of interfaces without versions.
pub(super) fn interfaces(json: Json, path: &Path<'_>) -> Result<Vec<Box<str>>, ManifestError> {
    let element = |json: Json, path: &Path<'_>| names::interface(&read::text(json, path)?, path, Versioned::Never);
    sorted_once(read::list(json, path, element)?, path)
}

fn sorted_once<T: Ord + fmt::Display>(mut list: Vec<T>, path: &Path<'_>) -> Result<Vec<T>, ManifestError> {
    list.sort();
    match list.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let found = format_args!("{} twice", Quoted(&pair[0].to_string()));
            Err(ManifestError::new(path, "each name once", found))
        }
        None => Ok(list),
    }
}

fn threading(json: Json, path: &Path<'_>) -> Result<Threading, ManifestError> {
    let text = read::text(json, path)?;
    let known = [Threading::Single, Threading::Shared];
    known
        .into_iter()
        .find(|threading| threading.as_str() == text)
        .ok_or_else(|| ManifestError::new(path, "single or shared", Quoted(&text)))
}
