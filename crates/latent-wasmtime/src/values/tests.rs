//! Tests of the value mapping, by what they prove.

mod encoding;
mod generate;
mod hostile;
mod limits;
mod mapping;
mod refusals;
mod roundtrip;
mod types;

use latent_core::contract::{Case, Field, FunctionSignature, ValueType};

fn field(name: &str, ty: ValueType) -> Field {
    Field { name: name.into(), ty }
}

fn case(name: &str, payload: Option<ValueType>) -> Case {
    Case { name: name.into(), payload }
}

fn names(names: &[&str]) -> Vec<Box<str>> {
    names.iter().map(|name| (*name).into()).collect()
}

fn list(element: ValueType) -> ValueType {
    ValueType::List(Box::new(element))
}

fn option(inner: ValueType) -> ValueType {
    ValueType::Option(Box::new(inner))
}

fn result(ok: Option<ValueType>, err: Option<ValueType>) -> ValueType {
    ValueType::Result { ok: ok.map(Box::new), err: err.map(Box::new) }
}

fn takes(params: &[(&str, ValueType)]) -> FunctionSignature {
    let params = params.iter().map(|(name, ty)| field(name, ty.clone())).collect();
    FunctionSignature { params, result: None }
}
