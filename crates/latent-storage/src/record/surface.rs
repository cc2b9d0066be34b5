//! What may be called in a component, as part of a release's record.
//!
//! Invariant: no type is nested deeper than [`DEPTH_MAX`], so that writing and reading one never runs out of stack.

use latent_core::contract::{Case, Field};
use latent_core::{ContractSurface, FunctionSignature, FunctionTarget, ValueType};

use crate::codec::{Decoder, Encoder, Malformed};

/// The deepest type that is kept.
const DEPTH_MAX: usize = 256;
const TOO_DEEP: Malformed = Malformed("a type is nested too deeply");

pub(super) fn write(encoder: &mut Encoder, surface: &ContractSurface) -> Result<(), Malformed> {
    encoder.count(surface.functions.len());
    for (target, signature) in &surface.functions {
        write_target(encoder, target);
        encoder.count(signature.params.len());
        for param in &signature.params {
            encoder.text(&param.name);
            write_type(encoder, &param.ty, DEPTH_MAX)?;
        }
        write_optional(encoder, signature.result.as_ref(), DEPTH_MAX)?;
    }
    encoder.list(surface.refused.iter(), |encoder, (target, reason)| {
        write_target(encoder, target);
        encoder.text(reason);
    });
    Ok(())
}

pub(super) fn read(decoder: &mut Decoder<'_>) -> Result<ContractSurface, Malformed> {
    let functions = decoder.list(|decoder| {
        let target = read_target(decoder)?;
        let params = decoder.list(|decoder| read_field(decoder, DEPTH_MAX))?;
        let result = decoder.option(|decoder| read_type(decoder, DEPTH_MAX))?;
        Ok((target, FunctionSignature { params, result }))
    })?;
    let refused = decoder.list(|decoder| Ok((read_target(decoder)?, decoder.text()?.into())))?;
    Ok(ContractSurface { functions, refused })
}

fn write_target(encoder: &mut Encoder, target: &FunctionTarget) {
    encoder.text(&target.contract);
    encoder.text(&target.function);
}

fn read_target(decoder: &mut Decoder<'_>) -> Result<FunctionTarget, Malformed> {
    Ok(FunctionTarget { contract: decoder.text()?.into(), function: decoder.text()?.into() })
}

fn write_type(encoder: &mut Encoder, ty: &ValueType, depth: usize) -> Result<(), Malformed> {
    let depth = depth.checked_sub(1).ok_or(TOO_DEEP)?;
    encoder.byte(tag(ty));
    match ty {
        ValueType::List(element) | ValueType::Option(element) => write_type(encoder, element, depth),
        ValueType::Tuple(types) => {
            encoder.count(types.len());
            types.iter().try_for_each(|ty| write_type(encoder, ty, depth))
        }
        ValueType::Record(fields) => {
            encoder.count(fields.len());
            fields.iter().try_for_each(|field| {
                encoder.text(&field.name);
                write_type(encoder, &field.ty, depth)
            })
        }
        ValueType::Variant(cases) => {
            encoder.count(cases.len());
            cases.iter().try_for_each(|case| {
                encoder.text(&case.name);
                write_optional(encoder, case.payload.as_ref(), depth)
            })
        }
        ValueType::Enum(names) | ValueType::Flags(names) => {
            encoder.list(names.iter(), |encoder, name| encoder.text(name));
            Ok(())
        }
        ValueType::Result { ok, err } => {
            write_optional(encoder, ok.as_deref(), depth)?;
            write_optional(encoder, err.as_deref(), depth)
        }
        _ => Ok(()),
    }
}

fn write_optional(encoder: &mut Encoder, ty: Option<&ValueType>, depth: usize) -> Result<(), Malformed> {
    encoder.byte(ty.is_some().into());
    ty.map_or(Ok(()), |ty| write_type(encoder, ty, depth))
}

fn read_type(decoder: &mut Decoder<'_>, depth: usize) -> Result<ValueType, Malformed> {
    let depth = depth.checked_sub(1).ok_or(TOO_DEEP)?;
    let boxed = |decoder: &mut Decoder<'_>| read_type(decoder, depth).map(Box::new);
    let name = |decoder: &mut Decoder<'_>| decoder.text().map(Into::into);
    let tag = decoder.byte()?;
    if let Some(plain) = PLAIN.get(usize::from(tag)) {
        return Ok(plain.clone());
    }
    Ok(match tag {
        LIST => ValueType::List(boxed(decoder)?),
        OPTION => ValueType::Option(boxed(decoder)?),
        TUPLE => ValueType::Tuple(decoder.list(|decoder| read_type(decoder, depth))?),
        RECORD => ValueType::Record(decoder.list(|decoder| read_field(decoder, depth))?),
        VARIANT => ValueType::Variant(decoder.list(|decoder| read_case(decoder, depth))?),
        ENUM => ValueType::Enum(decoder.list(name)?),
        FLAGS => ValueType::Flags(decoder.list(name)?),
        RESULT => ValueType::Result { ok: decoder.option(boxed)?, err: decoder.option(boxed)? },
        _ => return Err(Malformed("a type is of no known kind")),
    })
}

fn read_field(decoder: &mut Decoder<'_>, depth: usize) -> Result<Field, Malformed> {
    Ok(Field { name: decoder.text()?.into(), ty: read_type(decoder, depth)? })
}

fn read_case(decoder: &mut Decoder<'_>, depth: usize) -> Result<Case, Malformed> {
    Ok(Case { name: decoder.text()?.into(), payload: decoder.option(|decoder| read_type(decoder, depth))? })
}

/// The types without parts. Their places here are their tags on disk.
const PLAIN: [ValueType; 13] = [
    ValueType::Bool,
    ValueType::S8,
    ValueType::U8,
    ValueType::S16,
    ValueType::U16,
    ValueType::S32,
    ValueType::U32,
    ValueType::S64,
    ValueType::U64,
    ValueType::F32,
    ValueType::F64,
    ValueType::Char,
    ValueType::String,
];
const LIST: u8 = 32;
const OPTION: u8 = 33;
const TUPLE: u8 = 34;
const RECORD: u8 = 35;
const VARIANT: u8 = 36;
const ENUM: u8 = 37;
const FLAGS: u8 = 38;
const RESULT: u8 = 39;

fn tag(ty: &ValueType) -> u8 {
    match ty {
        ValueType::Bool => 0,
        ValueType::S8 => 1,
        ValueType::U8 => 2,
        ValueType::S16 => 3,
        ValueType::U16 => 4,
        ValueType::S32 => 5,
        ValueType::U32 => 6,
        ValueType::S64 => 7,
        ValueType::U64 => 8,
        ValueType::F32 => 9,
        ValueType::F64 => 10,
        ValueType::Char => 11,
        ValueType::String => 12,
        ValueType::List(_) => LIST,
        ValueType::Option(_) => OPTION,
        ValueType::Tuple(_) => TUPLE,
        ValueType::Record(_) => RECORD,
        ValueType::Variant(_) => VARIANT,
        ValueType::Enum(_) => ENUM,
        ValueType::Flags(_) => FLAGS,
        ValueType::Result { .. } => RESULT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(params: Vec<ValueType>, result: Option<ValueType>) -> ContractSurface {
        let params = params.into_iter().map(|ty| Field { name: "value".into(), ty }).collect();
        let target = FunctionTarget { contract: "a:b/c@1.0.0".into(), function: "run".into() };
        let refused =
            vec![(FunctionTarget { contract: "".into(), function: "open".into() }, "needs a resource".into())];
        ContractSurface { functions: vec![(target, FunctionSignature { params, result })], refused }
    }

    fn again(surface: &ContractSurface) -> ContractSurface {
        let mut encoder = Encoder::default();
        write(&mut encoder, surface).expect("a shallow surface is written");
        let bytes = encoder.finish();
        let mut decoder = Decoder::new(&bytes);
        let read = read(&mut decoder).expect("what was written reads");
        decoder.finish().expect("nothing is left");
        read
    }

    #[test]
    fn every_kind_of_type_comes_back() {
        let string = || Box::new(ValueType::String);
        let mut all = PLAIN.to_vec();
        all.extend([
            ValueType::List(string()),
            ValueType::Option(string()),
            ValueType::Tuple(vec![ValueType::U8, ValueType::Bool]),
            ValueType::Record(vec![Field { name: "field".into(), ty: ValueType::F64 }]),
            ValueType::Variant(vec![
                Case { name: "none".into(), payload: None },
                Case { name: "some".into(), payload: Some(ValueType::Char) },
            ]),
            ValueType::Enum(vec!["a".into(), "b".into()]),
            ValueType::Flags(vec!["c".into()]),
            ValueType::Result { ok: Some(string()), err: None },
            ValueType::Result { ok: None, err: Some(string()) },
        ]);
        let surface = of(all, Some(ValueType::Result { ok: None, err: None }));
        assert_eq!(again(&surface), surface);
        assert_eq!(again(&of(vec![], None)), of(vec![], None));
    }

    #[test]
    fn a_type_beyond_the_depth_is_not_written() {
        let nested = |depth| (0..depth).fold(ValueType::U8, |inner, _| ValueType::Option(Box::new(inner)));
        let deepest = of(vec![nested(DEPTH_MAX - 1)], None);
        assert_eq!(again(&deepest), deepest);
        assert_eq!(write(&mut Encoder::default(), &of(vec![nested(DEPTH_MAX)], None)), Err(TOO_DEEP));
    }
}
