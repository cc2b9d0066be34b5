//! The Wasmtime adapter: the only crate that knows the engine.
//!
//! One [`WasmtimeBackend`] owns one engine (`engine`), one watchdog thread (`ticker`), the preparation of
//! components (`prescan`, `preparer`, `compile`, `images`, `prepare`) and the containment of every run (`contain`): a fresh store, one
//! aggregate limiter, fuel, epochs, a stop latch, and a cleanup that is proved or admitted to be unproven. What a
//! failed run means is decided in `classify`; what guests may call is in `host`; how they serve HTTP requests and make their own, in `http`; how JSON becomes values is in
//! [`values`].

mod backend;
mod call;
mod classify;
mod compile;
mod contain;
mod engine;
mod gauges;
mod guard;
mod host;
mod http;
mod images;
mod inspect;
mod limiter;
mod phase0;
mod plan;
mod ports;
mod preparation;
mod prepare;
mod preparer;
mod prescan;
mod processor;
mod ready;
mod secrets;
mod settings;
mod shared;
mod slices;
mod store;
mod ticker;
pub mod values;

pub use backend::WasmtimeBackend;
pub use compile::{
    COMPILE_COMMAND, ChildCompiler, ChildOptions, CompileJob, CompileLimits, Compiler, FunctionsOptions,
    InProcessCompiler, compile_child,
};
pub use engine::{EngineReport, build as build_engine, compatibility as engine_compatibility, offered_features};
pub use host::offered_interfaces;
pub use images::{ImageLimits, ImageStore, Staged, anonymous_image, load_image};
pub use inspect::{WasmtimeInspector, inspect as inspect_component};
pub use phase0::Phase0WasmtimeBackend;
pub use ports::Ports;
pub use preparation::{CompilerChoice, Preparation};
pub use prepare::PreparedComponent;
pub use preparer::COMPILER_THREAD;
pub use prescan::Declared;
pub use settings::{AllocatorChoice, EngineSettings, HttpLimits, LogLimits, PagemapScanChoice, PrescanLimits};
