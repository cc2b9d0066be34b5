//! One exported function: how its payload becomes arguments, how it is called, how its result becomes a payload.
//!
//! Signatures of bytes and of strings take a typed path that copies whole blocks; everything else goes through
//! dynamic values.

use bytes::Bytes;
use latent_core::{
    ErrorDetail, ExecutionOutcome, FunctionSignature, MediaType, Payload, PlatformError, PlatformErrorCode, ValueType,
};
use wasmtime::component::{ComponentExportIndex, Instance, Val};
use wasmtime::{AsContextMut as _, Store};

use crate::host::HostState;
use crate::values::{self, EncodeError, ValueLimits};

/// A function that can be called: its place in the component and its signature, looked up once.
#[derive(Debug)]
pub struct FunctionPlan {
    index: ComponentExportIndex,
    signature: FunctionSignature,
    path: Path,
}

/// Which way calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    TextToText,
    BytesToBytes,
    /// `list<u8>` to `result<list<u8>, string>`.
    BytesOrText,
    /// `list<u8>` to `result<list<u8>>`.
    BytesOrNothing,
    Dynamic,
}

/// Decoded arguments.
pub enum Arguments {
    Text(String),
    /// Shared with the payload where they came raw.
    Bytes(Bytes),
    Values(Vec<Val>),
}

/// What came back.
pub enum Returned {
    Text(String),
    Bytes(Vec<u8>),
    Fallible(Result<Vec<u8>, Option<String>>),
    Value(Option<Val>),
}

impl FunctionPlan {
    /// Plans calls of the export at `index`.
    pub fn new(index: ComponentExportIndex, signature: FunctionSignature) -> Self {
        let path = path(&signature);
        Self { index, signature, path }
    }

    /// Decodes `payload` before any store exists.
    pub fn decode(&self, payload: &Payload, limits: &ValueLimits) -> Result<Arguments, PlatformError> {
        match payload.media_type {
            MediaType::OctetStream => self.decode_octets(payload, limits),
            MediaType::Json => self.decode_json(&payload.bytes, limits),
        }
    }

    fn decode_octets(&self, payload: &Payload, limits: &ValueLimits) -> Result<Arguments, PlatformError> {
        if !self.signature.is_bytes_to_bytes() {
            let message = format_args!(
                "media type {} needs a function whose only parameter and result are list<u8>, this one is {}",
                MediaType::OctetStream,
                self.signature
            )
            .to_string();
            let detail = ErrorDetail::new("values.media-type").with("media-type", MediaType::OctetStream);
            return Err(PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail));
        }
        if payload.bytes.len() > limits.bytes_in_max {
            return Err(too_large(payload.bytes.len(), limits.bytes_in_max));
        }
        Ok(match self.path {
            Path::Dynamic => Arguments::Values(vec![Val::List(payload.bytes.iter().map(|b| Val::U8(*b)).collect())]),
            _ => Arguments::Bytes(payload.bytes.clone()),
        })
    }

    fn decode_json(&self, json: &[u8], limits: &ValueLimits) -> Result<Arguments, PlatformError> {
        let only = self.signature.params.first().map_or("", |param| &param.name);
        match self.path {
            Path::TextToText => values::decode_single_string(only, json, limits).map(Arguments::Text),
            Path::BytesToBytes | Path::BytesOrText | Path::BytesOrNothing => {
                values::decode_single_bytes(only, json, limits).map(|bytes| Arguments::Bytes(bytes.into()))
            }
            Path::Dynamic => values::decode_params(&self.signature, json, limits).map(Arguments::Values),
        }
    }

    /// Calls the function and its post-return.
    pub async fn call(
        &self,
        instance: &Instance,
        store: &mut Store<HostState>,
        arguments: Arguments,
    ) -> wasmtime::Result<Returned> {
        match (self.path, arguments) {
            (Path::TextToText, Arguments::Text(text)) => {
                let call = instance.get_typed_func::<(&str,), (String,)>(&mut *store, &self.index)?;
                Ok(Returned::Text(call.call_async(store, (&text,)).await?.0))
            }
            (Path::BytesToBytes, Arguments::Bytes(bytes)) => {
                let call = instance.get_typed_func::<(&[u8],), (Vec<u8>,)>(&mut *store, &self.index)?;
                Ok(Returned::Bytes(call.call_async(store, (&bytes[..],)).await?.0))
            }
            (Path::BytesOrText, Arguments::Bytes(bytes)) => {
                type Answer = (Result<Vec<u8>, String>,);
                let call = instance.get_typed_func::<(&[u8],), Answer>(&mut *store, &self.index)?;
                Ok(Returned::Fallible(call.call_async(store, (&bytes[..],)).await?.0.map_err(Some)))
            }
            (Path::BytesOrNothing, Arguments::Bytes(bytes)) => {
                let call = instance.get_typed_func::<(&[u8],), (Result<Vec<u8>, ()>,)>(&mut *store, &self.index)?;
                Ok(Returned::Fallible(call.call_async(store, (&bytes[..],)).await?.0.map_err(|()| None)))
            }
            (_, arguments) => self.call_dynamic(instance, store, arguments).await,
        }
    }

    async fn call_dynamic(
        &self,
        instance: &Instance,
        store: &mut Store<HostState>,
        arguments: Arguments,
    ) -> wasmtime::Result<Returned> {
        let Arguments::Values(arguments) = arguments else {
            return Err(wasmtime::Error::msg("arguments were decoded for another path"));
        };
        let function = instance
            .get_func(store.as_context_mut(), self.index)
            .ok_or_else(|| wasmtime::Error::msg("a planned export is missing from its instance"))?;
        let mut results = vec![Val::Bool(false); usize::from(self.signature.result.is_some())];
        function.call_async(store, &arguments, &mut results).await?;
        Ok(Returned::Value(results.pop()))
    }

    /// Encodes what came back into `media_type`. The `err` of a sole top-level result is a declared error; nothing
    /// else is inferred from the value.
    pub fn encode(
        &self,
        returned: Returned,
        media_type: MediaType,
        limits: &ValueLimits,
    ) -> Result<ExecutionOutcome, EncodeError> {
        let octets = media_type == MediaType::OctetStream;
        match returned {
            Returned::Text(text) => {
                values::encode_string(&text, limits).map(Payload::json).map(ExecutionOutcome::Returned)
            }
            Returned::Bytes(out) | Returned::Fallible(Ok(out)) if octets => {
                raw(out, limits).map(ExecutionOutcome::Returned)
            }
            Returned::Bytes(out) => {
                values::encode_bytes(&out, limits).map(Payload::json).map(ExecutionOutcome::Returned)
            }
            Returned::Fallible(Ok(out)) => values::encode_bytes(&out, limits).and_then(|json| ok_of(&json, limits)),
            Returned::Fallible(Err(Some(text))) => {
                values::encode_string(&text, limits).map(Payload::json).map(ExecutionOutcome::DeclaredError)
            }
            Returned::Fallible(Err(None)) => Ok(ExecutionOutcome::DeclaredError(Payload::json(&b"null"[..]))),
            Returned::Value(value) => self.encode_value(value.as_ref(), octets, limits),
        }
    }

    fn encode_value(
        &self,
        value: Option<&Val>,
        octets: bool,
        limits: &ValueLimits,
    ) -> Result<ExecutionOutcome, EncodeError> {
        let (Some(ty), Some(value)) = (&self.signature.result, value) else {
            return Ok(ExecutionOutcome::Returned(Payload::json(&b"null"[..])));
        };
        match (ty, value) {
            (ValueType::Result { err, .. }, Val::Result(Err(payload))) => {
                encode_payload(err.as_deref(), payload.as_deref(), limits).map(ExecutionOutcome::DeclaredError)
            }
            (ValueType::Result { .. }, Val::Result(Ok(Some(payload)))) if octets => {
                raw(octets_of(payload)?, limits).map(ExecutionOutcome::Returned)
            }
            _ if octets => raw(octets_of(value)?, limits).map(ExecutionOutcome::Returned),
            _ => values::encode(ty, value, limits).map(Payload::json).map(ExecutionOutcome::Returned),
        }
    }

    /// What it means that the guest ended its own run with `status`. It is a result only where the function's type has
    /// one without a value: status 0 where there is no result type or a `result` whose ok is empty, another status
    /// where there is a `result` whose err is empty. Anything else is an exit without a result.
    pub fn exited(&self, status: i32) -> ExecutionOutcome {
        let null = || Payload::json(&b"null"[..]);
        match (&self.signature.result, status) {
            (None, 0) => ExecutionOutcome::Returned(null()),
            (Some(ValueType::Result { ok: None, .. }), 0) => {
                ExecutionOutcome::Returned(Payload::json(&b"{\"ok\":null}"[..]))
            }
            (Some(ValueType::Result { err: None, .. }), 1..) => ExecutionOutcome::DeclaredError(null()),
            _ => ExecutionOutcome::Exited { status },
        }
    }
}

fn path(signature: &FunctionSignature) -> Path {
    let [only] = &*signature.params else { return Path::Dynamic };
    match (&only.ty, &signature.result) {
        (ValueType::String, Some(ValueType::String)) => Path::TextToText,
        (input, Some(result)) if input.is_bytes() => match result {
            output if output.is_bytes() => Path::BytesToBytes,
            ValueType::Result { ok: Some(ok), err } if ok.is_bytes() => match err.as_deref() {
                None => Path::BytesOrNothing,
                Some(ValueType::String) => Path::BytesOrText,
                Some(_) => Path::Dynamic,
            },
            _ => Path::Dynamic,
        },
        _ => Path::Dynamic,
    }
}

const NOT_BYTES: EncodeError = EncodeError::Mismatch { expected: "list<u8>", found: "another value" };

fn too_large(bytes: usize, max: usize) -> PlatformError {
    let message =
        format_args!("the payload has {bytes} bytes, at most {max} are allowed: send less in one call").to_string();
    let detail = ErrorDetail::new("values.limit").with("limit", "bytes-in").with("max", max);
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

fn ok_of(json: &[u8], limits: &ValueLimits) -> Result<ExecutionOutcome, EncodeError> {
    let wrapped = [b"{\"ok\":", json, b"}"].concat();
    raw(wrapped, limits).map(|payload| ExecutionOutcome::Returned(Payload::json(payload.bytes)))
}

fn raw(bytes: Vec<u8>, limits: &ValueLimits) -> Result<Payload, EncodeError> {
    if bytes.len() > limits.bytes_out_max {
        return Err(EncodeError::TooLarge { limit: limits.bytes_out_max });
    }
    Ok(Payload::octets(bytes))
}

fn encode_payload(ty: Option<&ValueType>, value: Option<&Val>, limits: &ValueLimits) -> Result<Payload, EncodeError> {
    match (ty, value) {
        (Some(ty), Some(value)) => values::encode(ty, value, limits).map(Payload::json),
        _ => Ok(Payload::json(&b"null"[..])),
    }
}

fn octets_of(value: &Val) -> Result<Vec<u8>, EncodeError> {
    let Val::List(items) = value else { return Err(NOT_BYTES) };
    items.iter().map(|item| if let Val::U8(byte) = item { Ok(*byte) } else { Err(NOT_BYTES) }).collect()
}
