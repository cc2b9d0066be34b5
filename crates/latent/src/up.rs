//! `latent up`: a development node for the components that are named, deployed again whenever their files change.
//!
//! Invariant: a file that cannot be deployed changes nothing; what was deployed before it goes on answering.

mod calling;
mod deploying;
mod home;
mod line;
mod printer;
mod routing;
mod sample;
mod shown;
mod watch;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use latent_core::{MediaType, ServiceName};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::config::{self, ConfigArgs, PressureSource};
use crate::ending::{Exit, Failure};
use crate::input::{self, Arguments};
use crate::printable::Printable;
use crate::serve::{self, Asked, Companion, LogFormat, Node, Ready};
use crate::terminal::{self, error_line, to_stderr};
use deploying::{Change, Deployed, Deployer};
use printer::Printer;
use shown::{Place, Service};
use watch::{Stamp, Watch};

/// From one look at the files to the next.
const LOOK: Duration = Duration::from_millis(200);
/// The most components of one node, each of which costs a look at its file at every turn.
const COMPONENTS_MAX: usize = 64;

/// What `latent up` takes.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// The components: `.wasm` files, or `.wat` files with component text; each is a service that is called as its file
    #[arg(value_name = "COMPONENT")]
    pub components: Vec<PathBuf>,

    /// A function to call once everything is deployed; the result goes to standard output, and the node goes on
    ///
    /// Written as for `latent run`: CONTRACT#FUNCTION, shortened while one function of all services remains, or
    /// SERVICE#FUNCTION.
    #[arg(long, value_name = "FUNCTION")]
    pub call: Option<String>,

    /// The arguments of --call: JSON, `@FILE`, or `-` for standard input [default: none]
    #[arg(long, value_name = "JSON|@FILE|-", requires = "call")]
    pub args: Option<String>,

    /// Where everything that lasts is kept
    #[arg(long, value_name = "DIR", default_value = ".latent")]
    pub data: PathBuf,

    /// Where calls come in [default: 127.0.0.1:7070]
    #[arg(long, value_name = "ADDRESS")]
    pub invoke: Option<SocketAddr>,

    /// Where the node is operated [default: 127.0.0.1:7071]
    #[arg(long, value_name = "ADDRESS")]
    pub control: Option<SocketAddr>,

    /// Where HTTP requests for components come in [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
}

/// `latent up`.
pub fn up(args: &UpArgs) -> Exit {
    attempt(args).unwrap_or_else(|failure| terminal::failure(&failure))
}

fn attempt(args: &UpArgs) -> Result<Exit, Failure> {
    let components = components(&args.components)?;
    let UpArgs { data, invoke, control, http, .. } = args;
    let told =
        ConfigArgs { config: None, data_dir: Some(data.clone()), invoke: *invoke, control: *control, http: *http };
    let mut config = config::load(&told)?.config;
    // The machine of whoever develops is often busy, with a compiler for instance. That is no reason to refuse their calls.
    config.pressure_source = PressureSource::None;
    let payload_max = usize::try_from(config.limits.payload.0).unwrap_or(usize::MAX);
    let called = args.call.clone().map(|function| {
        input::arguments(args.args.as_deref(), MediaType::Json, payload_max)
            .map(|arguments| Called { function, arguments })
    });
    let called = called.transpose()?;
    home::make(&args.data)?;
    serve::begin_logging(LogFormat::Text);
    let (printer, printing) =
        Printer::start().map_err(|error| Failure::local(format!("cannot start a thread: {error}")))?;
    let begin = move |ready: Ready| -> serve::Work { Box::pin(live(ready, components, called)) };
    let exit = serve::run(config, Some(Companion { observer: printer, begin: Box::new(begin) }));
    printing.end();
    exit
}

/// What `--call` asks for.
struct Called {
    function: String,
    arguments: Arguments,
}

/// A file, and the service that it is.
#[derive(Debug)]
struct Component {
    path: PathBuf,
    service: ServiceName,
}

/// The components, which are there now and whose services have different names.
fn components(paths: &[PathBuf]) -> Result<Vec<Component>, Failure> {
    if paths.len() > COMPONENTS_MAX {
        return Err(Failure::usage(format!(
            "{} components are named; at most {COMPONENTS_MAX} are taken",
            paths.len()
        )));
    }
    let mut names = HashSet::new();
    let component = |path: &PathBuf| {
        let service = crate::run::service_name(path);
        if let Err(error) = std::fs::metadata(path) {
            return Err(crate::input::unreadable(&path.display(), &error));
        }
        if !names.insert(service.clone()) {
            let sentence = "two components would both be the service";
            return Err(Failure::usage(format!(
                "{sentence} {service}, as {}; rename one of the files",
                path.display()
            )));
        }
        Ok(Component { path: path.clone(), service })
    };
    paths.iter().map(component).collect()
}

/// The file with the credential of development, which is made where it is missing: whoever starts a node has its directory.
async fn credential(node: &Arc<Node>) -> Result<PathBuf, Failure> {
    let file = node.places.credential.clone();
    if !file.exists() {
        let (registry, place) = (node.registry.clone(), file.clone());
        let made = spawn_blocking(move || registry.development_credential(&place)).await;
        let made = made.map_err(|_panic| Failure::local("the node failed while it made a credential; report this"))?;
        made.map_err(|error| Failure::local(error.message()))?;
    }
    Ok(file)
}

/// Deploys, calls, and watches until the node is asked to end.
async fn live(ready: Ready, components: Vec<Component>, called: Option<Called>) -> Result<(), Failure> {
    let Ready { node, invoke, control, http, asked } = ready;
    let credential = credential(&node).await?;
    to_stderr(&format!("invoke {invoke}\ncontrol {control}\nhttp {http}\n"));
    let place = Place { invoke, control, http, credential };
    let mut deployer = Deployer::new(node, components.len() == 1);
    let mut files: Vec<_> = components.into_iter().map(File::new).collect();
    for file in &mut files {
        file.begin(&mut deployer, &place, &asked).await;
    }
    if !asked.at_all() {
        to_stderr(&format!("ready{}\n", watched(files.len())));
    }
    if let Some(called) = called {
        let services: Vec<_> = files.iter().filter_map(|file| file.service.as_ref()).collect();
        let calling = calling::call(&place, &services, &called.function, called.arguments);
        if let Some(Err(failure)) = unless_asked(&asked, calling).await {
            terminal::failure(&failure);
        }
    }
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while unless_asked(&asked, looks.tick()).await.is_some() {
        for file in &mut files {
            file.look(&mut deployer, &place, &asked).await;
        }
    }
    Ok(())
}

fn watched(files: usize) -> String {
    match files {
        0 => String::new(),
        1 => ", and watching 1 file".to_owned(),
        many => format!(", and watching {many} files"),
    }
}

/// What `work` comes to, unless the node is asked to end before that.
async fn unless_asked<T>(asked: &Asked, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = asked.times(1) => None,
        done = work => Some(done),
    }
}

/// A component's file while it is watched.
struct File {
    component: Component,
    watch: Watch,
    /// As it was deployed last.
    service: Option<Service>,
}

impl File {
    fn new(component: Component) -> Self {
        Self { component, watch: Watch::default(), service: None }
    }

    /// Deploys what is there at the start.
    async fn begin(&mut self, deployer: &mut Deployer, place: &Place, asked: &Asked) {
        self.watch.tried(Stamp::of(&self.component.path));
        self.deploy(deployer, place, asked).await;
    }

    /// Looks at the file, and deploys it if it was changed and is whole.
    async fn look(&mut self, deployer: &mut Deployer, place: &Place, asked: &Asked) {
        if self.watch.look(Stamp::of(&self.component.path)) {
            self.deploy(deployer, place, asked).await;
        }
    }

    async fn deploy(&mut self, deployer: &mut Deployer, place: &Place, asked: &Asked) {
        let began = Instant::now();
        let Component { path, service } = &self.component;
        match deployer.deploy(path, service, asked).await {
            None => {}
            Some(Ok(Deployed { change: Change::Nothing, .. })) if self.service.is_some() => {}
            Some(Ok(Deployed { release, change, http })) => {
                let current = Service { name: service.clone(), release, http };
                let is_known = self.service.as_ref().is_some_and(|known| known.offers_as(&current));
                to_stderr(&shown::deployed(&current, path, change, began.elapsed()));
                if !is_known {
                    to_stderr(&shown::functions(&current, place));
                }
                self.service = Some(current);
            }
            Some(Err(failure)) => {
                error_line(&format!("{}: {failure}", path.display()));
                to_stderr(&format!("{}{}\n", Printable(service.as_str()), stays(self.service.is_some(), path)));
            }
        }
    }
}

fn stays(is_deployed: bool, path: &Path) -> String {
    if is_deployed {
        " stays as it was deployed before".to_owned()
    } else {
        format!(" is not deployed; {} is tried again once it has changed", Printable(&path.to_string_lossy()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_would_be_one_service_are_refused_and_so_is_one_that_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        for name in ["a.wasm", "a.wat"] {
            std::fs::write(file(name), "").unwrap();
        }
        let named = |names: &[&str]| components(&names.iter().map(|name| file(name)).collect::<Vec<_>>());
        assert_eq!(named(&["a.wasm"]).unwrap()[0].service.as_str(), "a");
        let twice = named(&["a.wasm", "a.wat"]).unwrap_err();
        assert!(twice.exit() == Exit::Usage && twice.to_string().contains("service a,"), "{twice}");
        let missing = named(&["b.wasm"]).unwrap_err();
        assert!(missing.to_string().contains("b.wasm"), "{missing}");
        assert_eq!(named(&["a.wasm"; COMPONENTS_MAX + 1]).unwrap_err().exit(), Exit::Usage);
    }
}
