//! What the tests share: a compiler with an engine to load its images, components that are hard to compile, and the
//! proof that nothing of a child is left.

use std::fs::File;
use std::os::unix::fs::{FileExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use latent_core::{PlatformError, TenantId};
use latent_executor::ComponentArtifact;
pub use latent_guests::bombs::laborious;
use latent_wasmtime::{
    ChildCompiler, ChildOptions, CompileJob, CompileLimits, Compiler, EngineSettings, FunctionsOptions,
    InProcessCompiler, anonymous_image, build_engine, load_image,
};
use tempfile::TempDir;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_latent");

/// Children and descriptors are counted over the whole process, so that its tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// How a test wants its compiler.
pub struct Setup {
    pub program: PathBuf,
    pub limits: CompileLimits,
    pub functions: Option<FunctionsOptions>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { program: PROGRAM.into(), limits: CompileLimits::default(), functions: None }
    }
}

/// Loads an image into the engine with the pool, whose type only the adapter names.
type Load = dyn Fn(&File) -> Result<(), String> + Sync;

/// A compiler, and a scratch directory.
pub struct Rig {
    pub compiler: ChildCompiler,
    in_process: InProcessCompiler,
    load: Box<Load>,
    descriptors: usize,
    pub dir: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Rig {
    pub fn new(setup: Setup) -> Self {
        Self::with(|_dir| setup)
    }

    /// A rig whose setup needs its directory.
    pub fn with(setup: impl FnOnce(&Path) -> Setup) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = tempfile::tempdir().unwrap();
        let Setup { program, limits, functions } = setup(dir.path());
        let settings = EngineSettings::for_cells(2);
        let (engine, report) = build_engine(&settings).unwrap();
        assert!(report.pooling, "{report:?}");
        let compiler = ChildCompiler::new(ChildOptions { program, limits, functions }, &engine, &settings).unwrap();
        let in_process = InProcessCompiler::new(&engine);
        let load =
            Box::new(move |image: &File| load_image(&engine, image).map(drop).map_err(|error| format!("{error:#}")));
        Self { compiler, in_process, load, descriptors: descriptors(), dir, _turn: turn }
    }

    /// A rig around a shell script in place of the program.
    pub fn script(limits: CompileLimits, script: &str) -> Self {
        Self::with(|dir| Setup { program: executable(dir, script), limits, functions: None })
    }

    /// Compiles in a child, for nobody.
    pub fn compile(&self, component: &[u8]) -> Result<File, PlatformError> {
        self.compile_for(None, component)
    }

    /// Compiles in a child, for `tenant`.
    pub fn compile_for(&self, tenant: Option<&str>, component: &[u8]) -> Result<File, PlatformError> {
        let image = anonymous_image().unwrap();
        compile_into(&self.compiler, tenant, component, &image).map(|()| image)
    }

    /// Compiles in this process.
    pub fn compile_here(&self, component: &[u8]) -> Result<File, PlatformError> {
        let image = anonymous_image().unwrap();
        compile_into(&self.in_process, None, component, &image).map(|()| image)
    }

    /// Compiles into `image`, in a child and in this process, to the one error that both have.
    #[track_caller]
    pub fn refused_into(&self, component: &[u8], image: &File) -> PlatformError {
        let child = compile_into(&self.compiler, None, component, image).unwrap_err();
        let here = compile_into(&self.in_process, None, component, image).unwrap_err();
        assert_eq!(child, here);
        child
    }

    /// Loads an image into the engine with the pool.
    pub fn load(&self, image: &File) -> Result<(), String> {
        (self.load)(image)
    }

    /// No child runs or waits to be reaped, and there are as many descriptors as before.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        assert_eq!(children(), Vec::<u32>::new());
        assert_eq!(descriptors(), self.descriptors);
    }
}

fn compile_into(
    compiler: &dyn Compiler,
    tenant: Option<&str>,
    component: &[u8],
    image: &File,
) -> Result<(), PlatformError> {
    let artifact = ComponentArtifact::new(component.to_vec());
    let tenant = tenant.map(|tenant| TenantId::new(tenant).unwrap());
    compiler.compile(CompileJob { artifact: &artifact, tenant: tenant.as_ref(), image })
}

/// Writes a shell script that can be started.
pub fn executable(dir: &Path, script: &str) -> PathBuf {
    let path = dir.join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
    path
}

/// The processes that this one has started and not reaped.
pub fn children() -> Vec<u32> {
    let mut children = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        // A thread may have ended since it was listed.
        let listed = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        children.extend(listed.split_whitespace().map(|id| id.parse::<u32>().unwrap()));
    }
    children
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The bytes of an image.
pub fn bytes(image: &File) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(image.metadata().unwrap().len()).unwrap()];
    image.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// A component whose only content is `bytes` of data.
pub fn bulky(bytes: usize) -> Vec<u8> {
    let pages = bytes.div_ceil(1 << 16);
    let data = "a".repeat(bytes);
    let text = format!(r#"(component (core module (memory {pages}) (data (i32.const 0) "{data}")))"#);
    wat::parse_str(&text).unwrap()
}
