//! How much a component comes to once everything in it is instantiated: the instantiations are followed as the
//! engine's translator follows them, but only counted, and no further than the limits.
//!
//! Invariant: there are at most as many frames as instances are allowed, and their sizes sum to at most the allowed
//! definitions.

use super::outline::{Name, NamedRange, Outline, Sort, Step};
use super::tally::{Count, Refusal, definitions};
use crate::settings::PrescanLimits;

/// Sums over all instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Instances of modules.
    pub core_instances: u64,
    /// Their memories.
    pub memories: u64,
    /// Their tables.
    pub tables: u64,
}

/// Follows every instantiation of `outline`.
pub fn totals(outline: &Outline<'_>, limits: &PrescanLimits) -> Result<Totals, Refusal> {
    let mut flattening = Flattening {
        outline,
        frames: Vec::new(),
        running: Vec::new(),
        bundles: Vec::new(),
        instances: Count::new("component instances", limits.instances_max, "prescan.instances_max"),
        definitions: definitions(limits),
        totals: Totals::default(),
    };
    flattening.begin(Closure { component: 0, scope: None }, Vec::new())?;
    while let Some(frame) = flattening.running.last().copied() {
        flattening.advance(frame)?;
    }
    Ok(flattening.totals)
}

/// What an index stands for.
#[derive(Debug, Clone, Copy)]
enum Value {
    /// An import of the outermost component, or a name that nothing has.
    Unknown,
    Module(usize),
    Component(Closure),
    /// A place in the bundles.
    Instance(usize),
}

/// A component and the frame in which it was defined, which its outer aliases refer to.
#[derive(Debug, Clone, Copy)]
struct Closure {
    component: usize,
    scope: Option<usize>,
}

/// Values by name, sorted by it.
type Bundle = Vec<(Name, Value)>;

/// One instance of a component, being made or made.
struct Frame {
    closure: Closure,
    next: usize,
    modules: Vec<Value>,
    components: Vec<Value>,
    instances: Vec<Value>,
    arguments: Bundle,
    exports: Bundle,
}

impl Frame {
    fn space(&mut self, sort: Sort) -> &mut Vec<Value> {
        match sort {
            Sort::Module => &mut self.modules,
            Sort::Component => &mut self.components,
            Sort::Instance => &mut self.instances,
        }
    }

    fn get(&self, sort: Sort, index: u32) -> Option<Value> {
        let space = match sort {
            Sort::Module => &self.modules,
            Sort::Component => &self.components,
            Sort::Instance => &self.instances,
        };
        space.get(index as usize).copied()
    }
}

struct Flattening<'o> {
    outline: &'o Outline<'o>,
    frames: Vec<Frame>,
    running: Vec<usize>,
    bundles: Vec<Bundle>,
    instances: Count,
    definitions: Count,
    totals: Totals,
}

impl Flattening<'_> {
    fn begin(&mut self, closure: Closure, arguments: Bundle) -> Result<(), Refusal> {
        self.definitions.add(self.outline.components[closure.component].weight)?;
        self.running.push(self.frames.len());
        self.frames.push(Frame {
            closure,
            next: 0,
            modules: Vec::new(),
            components: Vec::new(),
            instances: Vec::new(),
            arguments,
            exports: Vec::new(),
        });
        Ok(())
    }

    /// Takes the next step of a frame, or ends it.
    fn advance(&mut self, frame: usize) -> Result<(), Refusal> {
        let place = &mut self.frames[frame];
        let Some(step) = self.outline.components[place.closure.component].steps.get(place.next).copied() else {
            self.end(frame);
            return Ok(());
        };
        place.next += 1;
        match step {
            Step::Module(module) => place.modules.push(Value::Module(module)),
            Step::Component(component) => {
                place.components.push(Value::Component(Closure { component, scope: Some(frame) }));
            }
            Step::Import(sort, name) => {
                let value = find(&place.arguments, name);
                place.space(sort).push(value);
            }
            Step::Export(export) => {
                let value = place.get(export.sort, export.index).unwrap_or(Value::Unknown);
                place.exports.push((export.name, value));
                place.space(export.sort).push(value);
            }
            Step::Outer { sort, count, index } => {
                let value = self.outer(frame, count).and_then(|outer| self.frames[outer].get(sort, index));
                self.frames[frame].space(sort).push(value.unwrap_or(Value::Unknown));
            }
            Step::Member { sort, instance, name } => {
                let value = match place.get(Sort::Instance, instance) {
                    Some(Value::Instance(bundle)) => find(&self.bundles[bundle], name),
                    _ => Value::Unknown,
                };
                self.frames[frame].space(sort).push(value);
            }
            Step::Bundle(range) => {
                let bundle = self.bundle(frame, range);
                self.give(frame, bundle);
            }
            Step::Instance { component, arguments, offset } => {
                self.instances.add(1u32)?;
                match self.frames[frame].get(Sort::Component, component) {
                    Some(Value::Component(closure)) => {
                        let arguments = self.bundle(frame, arguments);
                        self.begin(closure, arguments)?;
                    }
                    Some(_) => return Err(Refusal::Unresolved { offset }),
                    None => return Err(no_such_component(component, offset)),
                }
            }
            Step::CoreInstance(module) => {
                let module = place.get(Sort::Module, module);
                self.count(module);
            }
        }
        Ok(())
    }

    fn count(&mut self, module: Option<Value>) {
        self.totals.core_instances += 1;
        if let Some(Value::Module(module)) = module {
            let module = self.outline.modules[module];
            self.totals.memories += u64::from(module.memories);
            self.totals.tables += u64::from(module.tables);
        }
    }

    /// Ends the frame that runs: what it exports is the instance that its maker waits for.
    fn end(&mut self, frame: usize) {
        self.running.pop();
        let mut exports = std::mem::take(&mut self.frames[frame].exports);
        exports.sort_by_key(|(name, _)| *name);
        if let Some(maker) = self.running.last().copied() {
            self.give(maker, exports);
        }
    }

    fn give(&mut self, frame: usize, bundle: Bundle) {
        self.frames[frame].instances.push(Value::Instance(self.bundles.len()));
        self.bundles.push(bundle);
    }

    fn bundle(&self, frame: usize, range: NamedRange) -> Bundle {
        let frame = &self.frames[frame];
        let named = self.outline.named[range.start..range.end].iter();
        let mut bundle: Bundle =
            named.map(|named| (named.name, frame.get(named.sort, named.index).unwrap_or(Value::Unknown))).collect();
        bundle.sort_by_key(|(name, _)| *name);
        bundle
    }

    /// The frame `count` levels out of `frame`. Sections nest no deeper than is allowed, so this is short.
    fn outer(&self, frame: usize, count: u32) -> Option<usize> {
        (0..count).try_fold(frame, |frame, _| self.frames[frame].closure.scope)
    }
}

fn find(bundle: &Bundle, name: Name) -> Value {
    let found = bundle.binary_search_by_key(&name, |(known, _)| *known);
    found.map_or(Value::Unknown, |at| bundle[at].1)
}

fn no_such_component(index: u32, offset: usize) -> Refusal {
    Refusal::Malformed { message: format!("an instance of component {index}, which is not there"), offset }
}
