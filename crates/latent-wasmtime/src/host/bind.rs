//! Which interfaces can be bound, and binding exactly the ones that a component declares.

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use latent_executor::ImportName;
use semver::Version;
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasData, Linker, LinkerInstance, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random, sockets};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};
use wasmtime_wasi_http::p2::bindings::http;
use wasmtime_wasi_http::{WasiHttp, WasiHttpView as _};
use wasmtime_wasi_io::bindings::wasi::io;

use crate::host::{HostState, context, log};

type Bind = fn(&mut Linker<HostState>) -> wasmtime::Result<()>;

struct Interface {
    name: &'static str,
    version: Version,
    bind: Bind,
}

const WASI: Version = Version::new(0, 2, 12);
const LATENT: Version = Version::new(0, 1, 0);

/// The table behind `wasi:io`: every host resource of an activation.
struct HostResources;

impl HasData for HostResources {
    type Data<'a> = &'a mut ResourceTable;
}

fn own(
    linker: &mut Linker<HostState>,
    name: &str,
    bind: fn(&mut LinkerInstance<'_, HostState>) -> wasmtime::Result<()>,
) -> wasmtime::Result<()> {
    bind(&mut linker.instance(name)?)
}

macro_rules! wasi {
    ($name:literal, $($path:ident)::+, $data:ident, $get:expr) => {
        Interface { name: $name, version: WASI, bind: |l| $($path)::+::add_to_linker::<HostState, $data>(l, $get) }
    };
}

/// Everything that can be bound. What a guest can do with it is decided by its state: no directories, no network but the
/// HTTP requests that its policy grants.
const INTERFACES: &[Interface] = &[
    Interface { name: "latent:log/log", version: LATENT, bind: |l| own(l, "latent:log/log@0.1.0", log::bind) },
    Interface {
        name: "latent:context/context",
        version: LATENT,
        bind: |l| own(l, "latent:context/context@0.1.0", context::bind),
    },
    wasi!("wasi:io/error", io::error, HostResources, HostState::resources),
    wasi!("wasi:io/poll", io::poll, HostResources, HostState::resources),
    wasi!("wasi:io/streams", io::streams, HostResources, HostState::resources),
    wasi!("wasi:clocks/wall-clock", clocks::wall_clock, WasiClocks, HostState::clocks),
    wasi!("wasi:clocks/monotonic-clock", clocks::monotonic_clock, WasiClocks, HostState::clocks),
    wasi!("wasi:random/random", random::random, WasiRandom, HostState::random),
    wasi!("wasi:random/insecure", random::insecure, WasiRandom, HostState::random),
    wasi!("wasi:random/insecure-seed", random::insecure_seed, WasiRandom, HostState::random),
    wasi!("wasi:cli/exit", cli::exit, WasiCli, HostState::cli),
    wasi!("wasi:cli/environment", cli::environment, WasiCli, HostState::cli),
    wasi!("wasi:cli/stdin", cli::stdin, WasiCli, HostState::cli),
    wasi!("wasi:cli/stdout", cli::stdout, WasiCli, HostState::cli),
    wasi!("wasi:cli/stderr", cli::stderr, WasiCli, HostState::cli),
    wasi!("wasi:cli/terminal-input", cli::terminal_input, WasiCli, HostState::cli),
    wasi!("wasi:cli/terminal-output", cli::terminal_output, WasiCli, HostState::cli),
    wasi!("wasi:cli/terminal-stdin", cli::terminal_stdin, WasiCli, HostState::cli),
    wasi!("wasi:cli/terminal-stdout", cli::terminal_stdout, WasiCli, HostState::cli),
    wasi!("wasi:cli/terminal-stderr", cli::terminal_stderr, WasiCli, HostState::cli),
    wasi!("wasi:filesystem/types", filesystem::types, WasiFilesystem, HostState::filesystem),
    wasi!("wasi:filesystem/preopens", filesystem::preopens, WasiFilesystem, HostState::filesystem),
    wasi!("wasi:sockets/tcp", sockets::tcp, WasiSockets, HostState::sockets),
    wasi!("wasi:sockets/tcp-create-socket", sockets::tcp_create_socket, WasiSockets, HostState::sockets),
    wasi!("wasi:sockets/udp", sockets::udp, WasiSockets, HostState::sockets),
    wasi!("wasi:sockets/udp-create-socket", sockets::udp_create_socket, WasiSockets, HostState::sockets),
    wasi!("wasi:sockets/instance-network", sockets::instance_network, WasiSockets, HostState::sockets),
    wasi!("wasi:sockets/ip-name-lookup", sockets::ip_name_lookup, WasiSockets, HostState::sockets),
    wasi!("wasi:http/outgoing-handler", http::outgoing_handler, WasiHttp, HostState::http),
    Interface {
        name: "wasi:http/types",
        version: WASI,
        bind: |l| {
            let options = http::types::LinkOptions::default();
            http::types::add_to_linker::<HostState, WasiHttp>(l, &options, HostState::http)
        },
    },
    Interface {
        name: "wasi:sockets/network",
        version: WASI,
        bind: |l| {
            let options = sockets::network::LinkOptions::default();
            sockets::network::add_to_linker::<HostState, WasiSockets>(l, &options, HostState::sockets)
        },
    },
];

/// The names and versions of every interface that can be bound.
pub fn offered_interfaces() -> impl Iterator<Item = String> {
    INTERFACES.iter().map(|interface| format!("{}@{}", interface.name, interface.version))
}

/// Binds what `component` declares and nothing else. Returns the linker and every declared import.
///
/// # Errors
/// `incompatible-contract` (`component.import`) naming the import, the version wanted and the nearest that is
/// offered.
pub fn bind_imports(
    engine: &Engine,
    component: &Component,
) -> Result<(Linker<HostState>, Vec<ImportName>), PlatformError> {
    let mut linker = Linker::new(engine);
    let mut bound: Vec<&str> = Vec::new();
    let mut imports = Vec::new();
    for (name, item) in component.component_type().imports(engine) {
        imports.push(ImportName(name.into()));
        if matches!(item.ty, ComponentItem::Type(_)) {
            continue;
        }
        let interface = offered(name)?;
        if bound.contains(&interface.name) {
            continue;
        }
        bound.push(interface.name);
        (interface.bind)(&mut linker).map_err(|error| {
            PlatformError::new(PlatformErrorCode::Internal, format_args!("cannot bind {name}: {error}"))
        })?;
    }
    Ok((linker, imports))
}

/// Refuses the first of these imports that is not offered. Types are no such imports: nobody has to offer them.
///
/// # Errors
/// As [`bind_imports`].
pub fn refuse_unoffered<'a>(imports: impl IntoIterator<Item = &'a str>) -> Result<(), PlatformError> {
    imports.into_iter().try_for_each(|import| offered(import).map(drop))
}

/// The interface that serves `import`: the same name on the same version track.
fn offered(import: &str) -> Result<&'static Interface, PlatformError> {
    let (name, version) = import.split_once('@').map_or((import, None), |(name, version)| (name, Some(version)));
    let same_name = INTERFACES.iter().find(|interface| interface.name == name);
    let wanted = version.and_then(|text| Version::parse(text).ok());
    match same_name {
        Some(interface) if wanted.as_ref().is_some_and(|wanted| same_track(wanted, &interface.version)) => {
            Ok(interface)
        }
        Some(interface) => Err(refused(import, version, Some(interface))),
        None => Err(refused(import, version, nearest(name))),
    }
}

/// Whether two versions are compatible in the sense of semantic versioning, in either direction.
fn same_track(a: &Version, b: &Version) -> bool {
    let track = |v: &Version| match (v.major, v.minor) {
        (0, 0) => (0, 0, v.patch),
        (0, minor) => (0, minor, 0),
        (major, _) => (major, 0, 0),
    };
    track(a) == track(b) && a.pre == b.pre
}

/// An interface of the same package, preferably of the same name; or, whatever the namespace, of a package and with a
/// name that are the same.
fn nearest(name: &str) -> Option<&'static Interface> {
    let package = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    let unspaced = |name: &str| name.split_once(':').map_or(name, |(_, rest)| rest).to_owned();
    INTERFACES
        .iter()
        .find(|interface| unspaced(interface.name) == unspaced(name))
        .or_else(|| INTERFACES.iter().find(|interface| package(interface.name) == package(name)))
}

fn refused(import: &str, wanted: Option<&str>, nearest: Option<&Interface>) -> PlatformError {
    let nearest = nearest.map_or("none".to_owned(), |n| format!("{}@{}", n.name, n.version));
    let version = wanted.map(|wanted| format!(" wanted version {wanted},")).unwrap_or_default();
    let wanted = wanted.unwrap_or("none");
    let message =
        format!("the component imports {import}, which this node does not offer;{version} nearest offered: {nearest}");
    PlatformError::new(PlatformErrorCode::IncompatibleContract, message).with_detail(
        ErrorDetail::new("component.import").with("import", import).with("wanted", wanted).with("nearest", nearest),
    )
}

/// The refusal of a component that imports an offered interface with other types. The engine names the import in
/// words only, so that it is found among those declared.
pub fn mistyped(imports: &[ImportName], error: &wasmtime::Error) -> PlatformError {
    let whole = format!("{error:#}");
    let quoted = whole.split('`').nth(1).unwrap_or_default();
    let import = imports.iter().find(|import| &*import.0 == quoted).map_or("unknown", |import| &*import.0);
    let (name, wanted) = import.split_once('@').unwrap_or((import, "none"));
    let nearest = nearest(name).map_or("none".to_owned(), |n| format!("{}@{}", n.name, n.version));
    let causes: Vec<_> = error.chain().skip(1).map(ToString::to_string).collect();
    let reason = if causes.is_empty() { whole } else { causes.join(": ") };
    let message = format!("the component imports {import} with other types than {nearest} offers: {reason}");
    PlatformError::new(PlatformErrorCode::IncompatibleContract, message).with_detail(
        ErrorDetail::new("component.import").with("import", import).with("wanted", wanted).with("nearest", nearest),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_or_older_patch_of_the_track_is_served_and_another_track_is_not() {
        for import in ["wasi:clocks/wall-clock@0.2.0", "wasi:clocks/wall-clock@0.2.99", "wasi:http/types@0.2.0"] {
            assert!(offered(import).is_ok(), "{import}");
        }
        for (import, nearest) in [
            ("wasi:clocks/wall-clock@0.3.0", "wasi:clocks/wall-clock@0.2.12"),
            ("wasi:clocks/wall-clock", "wasi:clocks/wall-clock@0.2.12"),
            ("wasi:clocks/timezone@0.2.0", "wasi:clocks/wall-clock@0.2.12"),
            ("acme:clocks/wall-clock@0.2.0", "wasi:clocks/wall-clock@0.2.12"),
            ("acme:missing/thing@1.2.3", "none"),
            ("wasi:http/types@0.3.0", "wasi:http/types@0.2.12"),
            ("wasi:http/handler@0.2.0", "wasi:http/outgoing-handler@0.2.12"),
        ] {
            let error = offered(import).err().expect(import);
            assert_eq!(error.details()[0].field("nearest"), Some(nearest), "{import}");
        }
    }
}
