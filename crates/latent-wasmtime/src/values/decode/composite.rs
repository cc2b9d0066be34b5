//! Values made of values: lists, tuples, flags, records, and the objects with one key.
//!
//! Invariant: containers grow only after their growth was charged, and an object with one key has exactly one.

use latent_core::contract::ValueType;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use wasmtime::component::Val;

use super::bytes;
use super::context::{Context, Segment, quoted, refuse_otherwise};
use super::slots::{Name, Seed, Slots};
use super::value::{Expected, Value};

impl<'t> Value<'_, 't> {
    pub(super) fn array<'de, A: SeqAccess<'de>>(self, seq: A) -> Result<Val, A::Error> {
        match self.ty {
            ty if ty.is_bytes() => bytes::from_numbers(self.ctx, seq, bytes::WEIGHT_AS_VALUE).map(bytes::as_value),
            ValueType::List(element) => self.list(seq, element),
            ValueType::Tuple(types) => {
                let slots = Slots {
                    owner: Some(self.ty),
                    count: types.len(),
                    what: "element",
                    slot: |at: usize| ("", &types[at]),
                };
                slots.in_order(seq, self.ctx, self.depth + 1, &Expected(self.ty)).map(Val::Tuple)
            }
            ValueType::Flags(names) => self.flags(seq, names),
            _ => Err(self.refuse("an array")),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut seq: A, element: &'t ValueType) -> Result<Val, A::Error> {
        let Self { ctx, depth, .. } = self;
        let mut items = Vec::new();
        loop {
            let read = seq.next_element_seed(Seed { ctx, target: element, depth: depth + 1 });
            let Some(item) = ctx.within(Segment::Index(items.len()), read)? else {
                return Ok(Val::List(items));
            };
            ctx.room_for_one(&mut items, size_of::<Val>())?;
            items.push(item);
        }
    }

    /// Flags come out in the order of their declaration, whatever the order of the array.
    fn flags<'de, A: SeqAccess<'de>>(self, mut seq: A, names: &'t [Box<str>]) -> Result<Val, A::Error> {
        let Self { ctx, ty, depth } = self;
        let mut set = vec![false; names.len()];
        for at in 0.. {
            let read = seq.next_element_seed(Flag { ctx, ty, names, set: &set, depth: depth + 1 });
            match ctx.within(Segment::Index(at), read)? {
                Some(flag) => set[flag] = true,
                None => break,
            }
        }
        let mut flags = Vec::new();
        for name in names.iter().zip(set).filter_map(|(name, set)| set.then_some(name)) {
            ctx.room_for_one(&mut flags, size_of::<String>())?;
            flags.push(ctx.text(name)?);
        }
        Ok(Val::Flags(flags))
    }

    pub(super) fn object<'de, A: MapAccess<'de>>(self, mut map: A) -> Result<Val, A::Error> {
        let Self { ctx, ty, depth } = self;
        match ty {
            ValueType::Record(fields) => {
                let slot = |at: usize| (&*fields[at].name, &fields[at].ty);
                let slots = Slots { owner: Some(ty), count: fields.len(), what: "field", slot };
                let values = slots.by_name(map, ctx, depth + 1, &Expected(ty))?;
                ctx.host_bytes(fields.len() * size_of::<String>())?;
                let named = fields.iter().zip(values).map(|(field, value)| Ok((ctx.text(&field.name)?, value)));
                named.collect::<Result<_, _>>().map(Val::Record)
            }
            ValueType::Variant(cases) => {
                let at = only_key(&mut map, ctx, ty, |ctx, key| {
                    ctx.names.position(Some(ty), cases.iter().map(|case| &*case.name), key)
                })?;
                let Some(payload) = &cases[at].payload else {
                    let expected = format!("{}, which carries nothing, as a string", quoted(&cases[at].name));
                    return Err(ctx.invalid(&expected, &"an object"));
                };
                let payload = payload_of(map, ctx, ty, &cases[at].name, Some(payload), depth)?;
                Ok(Val::Variant(ctx.text(&cases[at].name)?, payload))
            }
            ValueType::Result { ok, err } => {
                let is_ok = only_key(&mut map, ctx, ty, |_, key| match key {
                    "ok" => Some(true),
                    "err" => Some(false),
                    _ => None,
                })?;
                let (name, payload) = if is_ok { ("ok", ok) } else { ("err", err) };
                let payload = payload_of(map, ctx, ty, name, payload.as_deref(), depth)?;
                Ok(Val::Result(if is_ok { Ok(payload) } else { Err(payload) }))
            }
            ValueType::Option(inner) => {
                only_key(&mut map, ctx, ty, |_, key| (key == "some").then_some(()))?;
                payload_of(map, ctx, ty, "some", Some(inner), depth).map(Val::Option)
            }
            _ => Err(ctx.invalid(&Expected(ty), &"an object")),
        }
    }
}

/// The choice that an object's first key makes.
fn only_key<'de, 't, A, R>(
    map: &mut A,
    ctx: &mut Context<'t>,
    ty: &'t ValueType,
    choose: impl FnOnce(&mut Context<'t>, &str) -> Option<R>,
) -> Result<R, A::Error>
where
    A: MapAccess<'de>,
{
    match map.next_key_seed(Name(|key: &str| choose(ctx, key).ok_or_else(|| quoted(key))))? {
        Some(Ok(choice)) => Ok(choice),
        Some(Err(key)) => Err(ctx.invalid(&Expected(ty), &format!("the unknown key {key}"))),
        None => Err(ctx.invalid(&Expected(ty), &"an empty object")),
    }
}

/// What follows the only key: the payload, or null where nothing is carried; then the object ends.
fn payload_of<'de, 't, A: MapAccess<'de>>(
    mut map: A,
    ctx: &mut Context<'t>,
    ty: &'t ValueType,
    name: &'t str,
    payload: Option<&'t ValueType>,
    depth: u32,
) -> Result<Option<Box<Val>>, A::Error> {
    let read = match payload {
        Some(payload) => {
            let read = map.next_value_seed(Seed { ctx, target: payload, depth: depth + 1 });
            read.and_then(|value| boxed(ctx, value)).map(Some)
        }
        None => map.next_value_seed(Nothing { ctx }).map(|()| None),
    };
    let value = ctx.within(Segment::Name(name), read)?;
    match map.next_key_seed(Name(quoted))? {
        None => Ok(value),
        Some(key) => Err(ctx.invalid(&Expected(ty), &format!("a second key {key}"))),
    }
}

pub(super) fn boxed<E: de::Error>(ctx: &mut Context<'_>, value: Val) -> Result<Box<Val>, E> {
    ctx.host_bytes(size_of::<Val>())?;
    Ok(Box::new(value))
}

/// The null of a result that carries nothing.
struct Nothing<'a, 't> {
    ctx: &'a mut Context<'t>,
}

impl Nothing<'_, '_> {
    fn refuse<E: de::Error>(self, found: &str) -> E {
        self.ctx.invalid(&"null, as nothing is carried here", &found)
    }
}

impl<'de> DeserializeSeed<'de> for Nothing<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nothing<'_, '_> {
    type Value = ();

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    refuse_otherwise!(bool number string array object);
}

/// The name of a flag that is not set yet.
struct Flag<'a, 't> {
    ctx: &'a mut Context<'t>,
    ty: &'t ValueType,
    names: &'t [Box<str>],
    set: &'a [bool],
    depth: u32,
}

impl Flag<'_, '_> {
    fn refuse<E: de::Error>(self, found: &str) -> E {
        self.ctx.invalid(&format_args!("a name of {}", self.ty), &found)
    }
}

impl<'de> DeserializeSeed<'de> for Flag<'_, '_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<usize, D::Error> {
        self.ctx.node(self.depth)?;
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Flag<'_, '_> {
    type Value = usize;

    fn visit_str<E: de::Error>(self, text: &str) -> Result<usize, E> {
        let names = self.names.iter().map(|name| &**name);
        match self.ctx.names.position(Some(self.ty), names, text) {
            Some(flag) if !self.set[flag] => Ok(flag),
            Some(_) => Err(self.refuse(&format!("{} twice", quoted(text)))),
            None => Err(self.refuse(&format!("the unknown name {}", quoted(text)))),
        }
    }

    refuse_otherwise!(bool number null array object);
}
