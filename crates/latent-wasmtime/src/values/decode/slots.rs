//! A fixed number of named places, filled from an array in order or from an object by name.
//!
//! Serves parameters, records and tuples alike. Invariant: each place is filled exactly once, unless its type says
//! that it may be absent, and nothing else is accepted.

use std::fmt;
use std::marker::PhantomData;

use latent_core::contract::ValueType;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Target;
use super::context::{Context, Segment, quoted};

/// How many superfluous elements are still counted before a count becomes "at least".
const SUPERFLUOUS_COUNTED_MAX: usize = 64;

/// The places: whose they are, how many, what one is called, and the name and target of each.
pub(super) struct Slots<'t, F> {
    /// The type that has these places; parameters have none.
    pub(super) owner: Option<&'t ValueType>,
    pub(super) count: usize,
    pub(super) what: &'static str,
    pub(super) slot: F,
}

impl<'t, T: Target<'t>, F: Fn(usize) -> (&'t str, T)> Slots<'t, F> {
    /// Fills the places from an array that must have exactly as many elements.
    pub(super) fn in_order<'de, A: SeqAccess<'de>>(
        &self,
        mut seq: A,
        ctx: &mut Context<'t>,
        depth: u32,
        shape: &dyn fmt::Display,
    ) -> Result<Vec<T::Out>, A::Error> {
        ctx.host_bytes(self.count.saturating_mul(size_of::<T::Out>()))?;
        let mut values = Vec::with_capacity(self.count);
        for at in 0..self.count {
            let read = seq.next_element_seed(Seed { ctx, target: (self.slot)(at).1, depth });
            match ctx.within(Segment::Index(at), read)? {
                Some(value) => values.push(value),
                None => return Err(ctx.invalid(shape, &self.counted("", at))),
            }
        }
        let mut found = self.count;
        while found < self.count + SUPERFLUOUS_COUNTED_MAX && seq.next_element::<IgnoredAny>()?.is_some() {
            found += 1;
        }
        if found == self.count {
            return Ok(values);
        }
        let at_least = if found == self.count + SUPERFLUOUS_COUNTED_MAX { "at least " } else { "" };
        Err(ctx.invalid(shape, &self.counted(at_least, found)))
    }

    /// Fills the places from an object whose keys are their names.
    pub(super) fn by_name<'de, A: MapAccess<'de>>(
        &self,
        mut map: A,
        ctx: &mut Context<'t>,
        depth: u32,
        shape: &dyn fmt::Display,
    ) -> Result<Vec<T::Out>, A::Error> {
        ctx.host_bytes(self.count.saturating_mul(size_of::<Option<T::Out>>() + size_of::<T::Out>()))?;
        let mut filled: Vec<Option<T::Out>> = std::iter::repeat_with(|| None).take(self.count).collect();
        let mut next = 0;
        while let Some(key) =
            map.next_key_seed(Name(|key: &str| self.find(ctx, key, next).ok_or_else(|| quoted(key))))?
        {
            let at = key.map_err(|key| ctx.invalid::<A::Error>(shape, &format!("the unknown key {key}")))?;
            let (name, target) = (self.slot)(at);
            if filled[at].is_some() {
                return Err(ctx.invalid(shape, &format!("the key {} twice", quoted(name))));
            }
            let read = map.next_value_seed(Seed { ctx, target, depth });
            filled[at] = Some(ctx.within(Segment::Name(name), read)?);
            next = at + 1;
        }
        let mut values = Vec::with_capacity(self.count);
        for (at, value) in filled.into_iter().enumerate() {
            let (name, target) = (self.slot)(at);
            let value = if value.is_some() {
                value
            } else {
                let absent = target.absent(ctx, depth);
                ctx.within(Segment::Name(name), absent)?
            };
            let missing = || format!("an object without {}", quoted(name));
            values.push(value.ok_or_else(|| ctx.invalid::<A::Error>(shape, &missing()))?);
        }
        Ok(values)
    }

    /// The place called `key`, looked for first where the order suggests it.
    fn find(&self, ctx: &mut Context<'t>, key: &str, next: usize) -> Option<usize> {
        if next < self.count && (self.slot)(next).0 == key {
            return Some(next);
        }
        ctx.names.position(self.owner, (0..self.count).map(|at| (self.slot)(at).0), key)
    }

    fn counted(&self, at_least: &str, count: usize) -> String {
        let plural = if count == 1 { "" } else { "s" };
        format!("{at_least}{count} {}{plural}", self.what)
    }
}

/// Reads one place.
pub(super) struct Seed<'a, 't, T> {
    pub(super) ctx: &'a mut Context<'t>,
    pub(super) target: T,
    pub(super) depth: u32,
}

impl<'de, 't, T: Target<'t>> DeserializeSeed<'de> for Seed<'_, 't, T> {
    type Value = T::Out;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T::Out, D::Error> {
        self.target.read(self.ctx, self.depth, from)
    }
}

/// Reads an object's key and resolves it without keeping it.
pub(super) struct Name<F>(pub(super) F);

impl<'de, R, F: FnOnce(&str) -> R> DeserializeSeed<'de> for Name<F> {
    type Value = R;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<R, D::Error> {
        from.deserialize_any(NameVisitor { resolve: self.0, resolved: PhantomData })
    }
}

struct NameVisitor<F, R> {
    resolve: F,
    resolved: PhantomData<R>,
}

impl<R, F: FnOnce(&str) -> R> Visitor<'_> for NameVisitor<F, R> {
    type Value = R;

    fn visit_str<E: de::Error>(self, key: &str) -> Result<R, E> {
        Ok((self.resolve)(key))
    }

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
}
