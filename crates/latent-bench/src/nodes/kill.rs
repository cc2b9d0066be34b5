//! Load, `kill -9` at some moment, restart: whatever was acknowledged must be there, and run.

use std::io::{self, Write};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use latent_wire::client::Client;
use latent_wire::proto::{GetInventoryRequest, ListDeploymentsRequest, ListReleasesRequest};
use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use super::Options;
use super::change::{Book, Held, number};
use super::fixtures::bare;
use super::program::{Home, Served};
use super::verdict::{Cycles, Times, Trial, within};
use crate::crash::Plan;

const CLIENTS: u32 = 4;
/// From its start on a node has so long until it serves, after whatever happened.
const START_MAX: Duration = Duration::from_secs(2);
/// The longest load before a kill, in microseconds.
const LOAD_MICROS: u64 = 400_000;
/// Rows of a page.
const PAGE: u32 = 256;

/// Runs the cycles on one data directory.
///
/// # Errors
/// When `out` is lost, or there is no directory.
pub async fn trial(options: &Options, out: &mut impl Write) -> io::Result<Trial> {
    let dir = tempfile::tempdir()?;
    let home = Home::new(&options.program, dir.path(), "")?;
    let mut plan = Plan::new(options.seed);
    let mut books: Vec<Book> = (0..CLIENTS).map(Book::new).collect();
    let (mut cycles, mut starts) = (Cycles::default(), Times::default());
    for cycle in 0..options.kill {
        let outcome = one(&home, &mut books, &mut plan, &mut starts).await;
        cycles.count("kill", cycle, outcome, out)?;
    }
    // What the last kill left.
    let outcome = restart(&home, &mut books, &mut starts).await.map(drop);
    cycles.count("kill", options.kill, outcome, out)?;
    let acknowledged: u64 = books.iter().map(|book| book.acknowledged).sum();
    let answered: u64 = books.iter().map(|book| book.answered).sum();
    let cycles_told = options.kill;
    Ok(cycles.over(format!(
        "kill: {cycles_told} kills under load of {CLIENTS} clients; {acknowledged} changes acknowledged, each compared after \
         the restart; {answered} calls answered; {} starts until served: {starts}",
        starts.len()
    )))
}

/// A start that finds everything, load, and a kill.
async fn one(home: &Home, books: &mut [Book], plan: &mut Plan, starts: &mut Times) -> Result<(), String> {
    let mut served = restart(home, books, starts).await?;
    let clients = (0..books.len()).map(|_| served.client()).collect::<Result<Vec<_>, _>>()?;
    let load = books.iter_mut().zip(&clients).map(|(book, client)| book.work(client, Plan::new(plan.number())));
    let load: Vec<_> = load.collect();
    let moment = Duration::from_micros(plan.number() % LOAD_MICROS);
    let kill = async {
        sleep(moment).await;
        served.signal(Signal::KILL);
        served.ended().await
    };
    let (worked, ended) = tokio::join!(join_all(load), kill);
    ended?;
    worked.into_iter().collect()
}

/// Starts the node, and compares what it has with every book.
async fn restart(home: &Home, books: &mut [Book], starts: &mut Times) -> Result<Served, String> {
    let began = Instant::now();
    let served = home.serve().await?;
    let client = served.client()?;
    client.get_inventory(GetInventoryRequest {}).await.map_err(|error| format!("the first call: {error}"))?;
    let took = began.elapsed();
    starts.push(took);
    let found = everything(&client, books).await?;
    try_join_all(books.iter_mut().zip(found).map(|(book, found)| book.compare(&client, found))).await?;
    within("the start", took, START_MAX)?;
    Ok(served)
}

/// What the node has of each book's client.
async fn everything(client: &Client, books: &[Book]) -> Result<Vec<Held>, String> {
    let digests: Vec<Vec<String>> = books.iter().map(Book::digests).collect();
    let of_digest = |digest: &str| {
        let find = |of: &Vec<String>| of.iter().position(|known| known == bare(digest));
        let place = digests.iter().enumerate().find_map(|(book, of)| Some((book, find(of)?)));
        place.and_then(|(book, at)| Some((book, u32::try_from(at).ok()?)))
    };
    let mut held = vec![Held::default(); books.len()];
    let request = ListReleasesRequest { page_size: PAGE, ..ListReleasesRequest::default() };
    let releases = client.list_releases(request).await.map_err(|error| format!("the releases: {error}"))?;
    for release in releases.releases {
        let (book, at) = of_digest(&release.digest).ok_or_else(|| format!("nobody published {}", release.digest))?;
        held[book].releases.insert(at);
    }
    let request = ListDeploymentsRequest { page_size: PAGE, ..ListDeploymentsRequest::default() };
    let deployments = client.list_deployments(request).await.map_err(|error| format!("the deployments: {error}"))?;
    for found in deployments.deployments {
        let book = books.iter().position(|book| book.service() == found.service);
        let (Some(book), Some(at), Some((of, release))) = (book, number(&found.deployment), of_digest(&found.release))
        else {
            return Err(format!("nobody made {found:?}"));
        };
        if of != book || !held[book].releases.contains(&release) {
            return Err(format!("{found:?} has a release that its client does not have"));
        }
        held[book].deployments.insert(at, (release, found.weight));
    }
    Ok(held)
}
