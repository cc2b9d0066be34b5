//! The floor: bare Wasmtime with the node's own engine settings, fuel, epochs and a limiter.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use latent_wasmtime::{EngineSettings, build_engine};
use wasmtime::component::{Component, ComponentExportIndex, InstancePre, Linker, Val};
use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline};

/// One component on a bare engine, with its ticker.
pub struct Bare {
    engine: Engine,
    pre: InstancePre<StoreLimits>,
    memory_bytes_max: usize,
    stop: Arc<AtomicBool>,
    ticker: Option<JoinHandle<()>>,
}

impl Bare {
    /// Compiles and links `component`, which may import nothing.
    ///
    /// # Panics
    /// When the engine or the component does not work.
    #[must_use]
    pub fn new(settings: &EngineSettings, component: &[u8]) -> Self {
        let (engine, report) = build_engine(settings).expect("this machine runs the engine");
        assert!(report.pooling, "the comparison is about the pool: {report:?}");
        let component = Component::from_binary(&engine, component).expect("the fixture compiles");
        let pre = Linker::new(&engine).instantiate_pre(&component).expect("the fixture imports nothing");
        let stop = Arc::new(AtomicBool::new(false));
        let ticker = std::thread::spawn({
            let (engine, stop) = (engine.clone(), stop.clone());
            move || {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::park_timeout(Duration::from_millis(1));
                    engine.increment_epoch();
                }
            }
        });
        let memory_bytes_max = usize::try_from(settings.memory_bytes_max).unwrap_or(usize::MAX);
        Self { engine, pre, memory_bytes_max, stop, ticker: Some(ticker) }
    }

    /// The index of an exported function.
    ///
    /// # Panics
    /// When there is none of that name.
    #[must_use]
    pub fn export(&self, interface: &str, function: &str) -> ComponentExportIndex {
        let component = self.pre.component();
        let interface = component.get_export_index(None, interface).expect("the interface is exported");
        component.get_export_index(Some(&interface), function).expect("the function is exported")
    }

    fn store(&self) -> Store<StoreLimits> {
        let limits = StoreLimitsBuilder::new().memory_size(self.memory_bytes_max).build();
        let mut store = Store::new(&self.engine, limits);
        store.limiter(|limits| limits);
        store.set_fuel(100_000_000).expect("the engine counts fuel");
        store.fuel_async_yield_interval(Some(1_000_000)).expect("the engine counts fuel");
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        store
    }

    /// Fresh store, instance, dynamic call.
    ///
    /// # Panics
    /// When the call fails.
    pub async fn call_dynamic(&self, export: &ComponentExportIndex, params: &[Val]) -> Val {
        let mut store = self.store();
        let instance = self.pre.instantiate_async(&mut store).await.expect("an instance starts");
        let function = instance.get_func(&mut store, export).expect("the function is there");
        let mut results = [Val::Bool(false)];
        function.call_async(&mut store, params, &mut results).await.expect("the guest returns");
        let [result] = results;
        result
    }

    /// Fresh store, instance, typed call of bytes to bytes.
    ///
    /// # Panics
    /// When the call fails.
    pub async fn call_bytes(&self, export: &ComponentExportIndex, bytes: &[u8]) -> Vec<u8> {
        let mut store = self.store();
        let instance = self.pre.instantiate_async(&mut store).await.expect("an instance starts");
        let function = instance.get_typed_func::<(&[u8],), (Vec<u8>,)>(&mut store, export).expect("bytes to bytes");
        function.call_async(&mut store, (bytes,)).await.expect("the guest returns").0
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.join().expect("the ticker does not panic");
        }
    }
}
