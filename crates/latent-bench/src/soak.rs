//! The soak: many calls of one node by every way in, one of twenty hostile, while releases come and go.
//!
//! Invariant: each call is compared with how it has to end, and each accepted one has one line in the usage log. `mix` says
//! what is called, `asks` what is sent for it, `caller` calls, `beside` changes what is deployed, `samples` and
//! `lines` judge memory and the usage log. The calls are made in ten parts; between two parts the node has to be idle,
//! with everything returned. The first two parts are the warm-up.

mod asks;
mod beside;
mod caller;
mod lines;
mod mix;
mod part;
mod samples;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use latent_wire::client::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::endurance::checks::{Check, Sample, check};
use crate::endurance::table;
use crate::endurance::tally::Tally;
use crate::nodes::fixtures::{deploy, digest, publish};
use crate::nodes::program::{Home, Served};
use crate::nodes::tenants::{settled, tenant};

use beside::Changes;
use caller::{Door, Known};
use lines::Lines;
use mix::Act;
use part::Part;
use samples::At;

/// The parts of a run.
const PARTS: u64 = 10;
/// Of those, the warm-up.
const WARM_UP: u64 = 2;
/// Tenants that call.
const TENANTS: u64 = 3;
/// The columns of the table.
const KINDS: usize = Act::ALL.len();
/// Few records are kept, so that their number stays the same after the warm-up; all lines of the usage log are.
const CONFIG: &str = "[journal]\nretained = 1024\n[usage_log]\nfiles = 1024\nqueue = 65536";
/// What a request of the HTTP handler may have, so that one which spends it is done soon.
const WEB_CEILINGS: &str = "{ \"fuel\": 2000000, \"memory-bytes\": 8388608 }";

/// How much to run, and on which program.
#[derive(Debug, Clone)]
pub struct Options {
    /// `latent`.
    pub program: PathBuf,
    /// Calls; at least [`CALLS_MIN`].
    pub calls: u64,
    /// What the calls follow from.
    pub seed: u64,
}

/// With fewer calls the warm-up does not fill what the node keeps of them.
pub const CALLS_MIN: u64 = 10_000;

/// Runs it all, prints a line for each part and the checks; whether all passed.
///
/// # Errors
/// When `out` is lost, or the machine has no directory or thread to give.
pub fn run(options: &Options, out: &mut impl Write) -> io::Result<bool> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let dir = tempfile::tempdir()?;
    let home = Home::new(&options.program, dir.path(), CONFIG)?;
    runtime.block_on(async {
        let checks = match begin(&home).await {
            Ok(soak) => soak.all(options, &home, out).await?,
            Err(wrong) => Err(wrong),
        };
        table::verdict(out, &checks.unwrap_or_else(|wrong| vec![check(false, wrong)]))
    })
}

/// A node under a soak.
struct Soak {
    served: Served,
    operator: Client,
    doors: Vec<Door>,
}

/// Starts the node and deploys for each tenant.
async fn begin(home: &Home) -> Result<Soak, String> {
    let served = home.serve().await?;
    let operator = served.client()?;
    let mut doors = Vec::new();
    for number in 0..TENANTS {
        let name = format!("tenant-{number}");
        let (token, host) = (tenant(&operator, &name).await?, format!("{name}.example"));
        let client = served.client_with(&token)?;
        for fixture in ["echo", "containment-capsule", "clock-park"] {
            deploy(&client, fixture).await?;
        }
        deploy_web(&client, &host).await.map_err(|error| format!("cannot deploy http-probe: {error}"))?;
        doors.push(Door { invoke: served.invoke, control: served.control, http: served.http, token, host });
    }
    Ok(Soak { served, operator, doors })
}

async fn deploy_web(client: &Client, host: &str) -> Result<(), latent_wire::client::CallError> {
    let component = bytes::Bytes::from_static(latent_guests::component("http-probe"));
    let release = digest(&component);
    publish(client, component).await?;
    let manifest = format!(
        "{{ \"service\": \"http-probe\", \"deployment\": \"main\", \"release\": \"{release}\", \"ceilings\": {WEB_CEILINGS}, \
         \"http\": {{ \"routes\": [\"{host}\"] }} }}"
    );
    let request = latent_wire::proto::ApplyRequest { manifest, ..latent_wire::proto::ApplyRequest::default() };
    client.apply(request).await.map(drop)
}

/// What is known after all parts.
#[derive(Default)]
struct Course {
    tally: Tally<KINDS>,
    known: Vec<Option<Known>>,
    samples: Vec<At>,
    pauses: Vec<Sample>,
    looks: u64,
}

impl Soak {
    async fn all(
        &self,
        options: &Options,
        home: &Home,
        out: &mut impl Write,
    ) -> io::Result<Result<Vec<Check>, String>> {
        let Options { calls, seed, .. } = *options;
        writeln!(out, "{calls} calls over gRPC, HTTP and wasi:http by {TENANTS} tenants, seed {seed}")?;
        table::heading(out, Act::ALL.map(Act::as_str))?;
        let (stop, stopped) = watch::channel(false);
        let changing = match self.changing(&stopped) {
            Ok(changing) => changing,
            Err(wrong) => return Ok(Err(wrong)),
        };
        let course = self.parts(options, out).await?;
        stop.send_replace(true);
        let changes = changing.await.unwrap_or_else(|panic| Err(panic.to_string()));
        let course = match course {
            Ok(course) => course,
            Err(wrong) => return Ok(Err(wrong)),
        };
        for wrong in &course.tally.first {
            writeln!(out, "wrong: {wrong}")?;
        }
        let settled = settled(&self.operator).await.map(drop);
        Ok(Ok(Self::judged(calls, home, &course, changes, settled)))
    }

    fn changing(&self, stop: &watch::Receiver<bool>) -> Result<JoinHandle<Result<Changes, String>>, String> {
        let door = self.doors.first().ok_or("there is a tenant")?;
        Ok(tokio::spawn(beside::change(self.served.client_with(&door.token)?, stop.clone())))
    }

    async fn parts(&self, options: &Options, out: &mut impl Write) -> io::Result<Result<Course, String>> {
        let mut course = Course { known: vec![None; narrow(options.calls)], ..Course::default() };
        let (begun, node) = (begun(), self.served.process());
        for part in 0..PARTS {
            let numbers = options.calls * part / PARTS..options.calls * (part + 1) / PARTS;
            let made = Part { doors: &self.doors, operator: &self.operator, node: &node, seed: options.seed, numbers };
            let sample = match made.run(&mut course, part >= WARM_UP).await {
                Ok(sample) => sample,
                Err(wrong) => return Ok(Err(format!("part {part}: {wrong}; the node said {:?}", self.served.said()))),
            };
            if part + 1 >= WARM_UP {
                course.pauses.push(sample);
            }
            table::row(out, begun.elapsed().as_secs_f64(), &course.tally, sample)?;
        }
        Ok(Ok(course))
    }

    fn judged(
        calls: u64,
        home: &Home,
        course: &Course,
        changes: Result<Changes, String>,
        settled: Result<(), String>,
    ) -> Vec<Check> {
        let Course { tally, known, samples, pauses, looks } = course;
        let right = tally.total() - tally.mismatches;
        let rarest = tally.ended().iter().min().copied().unwrap_or(0);
        let mut checks = vec![
            check(right == calls, format!("{right} of {calls} calls ended as they had to")),
            check(rarest > 0, format!("every way of ending occurred, the rarest {rarest} times")),
            match changes {
                Ok(made) => check(made.deleted > 0, format!("beside them all changes were taken: {made:?}")),
                Err(wrong) => check(false, format!("beside them a change was not taken: {wrong}")),
            },
            match settled {
                Ok(()) => check(
                    *looks > 0,
                    format!("at {looks} looks on the way, in every pause and at the end the inventory was exact"),
                ),
                Err(wrong) => check(false, wrong),
            },
        ];
        checks.extend(samples::checks(samples, pauses));
        checks.push(lines(home, known));
        checks
    }
}

/// That each accepted activation has one line in the usage log, and there is no other line.
fn lines(home: &Home, known: &[Option<Known>]) -> Check {
    let directory = home.data().join("usage");
    match Lines::read(&directory, known.len()) {
        Err(error) => check(false, format!("the usage log in {}: {error}", directory.display())),
        Ok(lines) => {
            let compared = lines.compare(known);
            let sound = (compared.missing, compared.repeated, lines.foreign) == (0, 0, 0) && compared.once > 0;
            let sentence = format!(
                "the usage log has one line for each of {} activations, none for {} that their clients left before they were \
                 accepted; {} missing, {} repeated {:?}, {} other lines",
                compared.once, compared.left, compared.missing, compared.repeated, compared.some, lines.foreign
            );
            check(sound, sentence)
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn begun() -> Instant {
    Instant::now()
}

/// Whoever has more calls than this machine can address runs out of memory anyway.
fn narrow(calls: u64) -> usize {
    usize::try_from(calls).unwrap_or(usize::MAX)
}
