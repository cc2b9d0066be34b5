//! Alternating samples of two subjects, and what is read from them.

use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Samples of one subject.
#[derive(Debug, Default, Clone)]
pub struct Series {
    nanos: Vec<u64>,
}

impl Series {
    /// Adds one sample.
    pub fn push(&mut self, took: Duration) {
        self.nanos.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many samples there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nanos.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nanos.is_empty()
    }

    /// Adds another series' samples.
    pub fn extend(&mut self, other: &Self) {
        self.nanos.extend_from_slice(&other.nanos);
    }

    /// The `permille` quantile in microseconds; 500 is the median.
    ///
    /// # Panics
    /// When there is no sample.
    #[must_use]
    pub fn quantile_micros(&self, permille: usize) -> f64 {
        assert!(!self.nanos.is_empty(), "a quantile needs samples");
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable();
        let at = (sorted.len() - 1) * permille / 1000;
        micros(sorted[at])
    }

    /// Calls per second and thread, from the sum of all samples.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
    pub fn per_second(&self) -> f64 {
        self.nanos.len() as f64 * 1e9 / self.nanos.iter().sum::<u64>() as f64
    }
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark's figures need no more than 52 bits")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// One subject: an async call that a thread makes over and over.
pub trait Subject: Sync {
    /// What a caller brings to a call.
    type Input;

    /// Makes the input of one call; not timed.
    fn input(&self, thread: usize, round: u64) -> Self::Input;

    /// Makes one call, and panics when it does not succeed.
    fn call(&self, input: Self::Input) -> impl Future<Output = ()>;
}

/// How much to sample.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Threads that call at once.
    pub threads: usize,
    /// Blocks of each subject; the two alternate block by block.
    pub blocks: u64,
    /// Calls in a block.
    pub calls: u64,
}

/// Samples `a` and `b` in alternating blocks, `a b b a a b …`, on every thread at once. All threads are in the same
/// block at the same time, so that neither subject runs beside the other.
pub fn alternate(plan: Plan, a: &impl Subject, b: &impl Subject) -> (Series, Series) {
    let [of_a, of_b] = on_every_thread(plan, async |place: Place, series: &mut [Series; 2]| match place.subject {
        0 => sample(a, plan, place, &mut series[0]).await,
        _ => sample(b, plan, place, &mut series[1]).await,
    });
    (of_a, of_b)
}

/// The same with three subjects, `a b c c b a a b c …`.
pub fn interleave(plan: Plan, a: &impl Subject, b: &impl Subject, c: &impl Subject) -> [Series; 3] {
    on_every_thread(plan, async |place: Place, series: &mut [Series; 3]| match place.subject {
        0 => sample(a, plan, place, &mut series[0]).await,
        1 => sample(b, plan, place, &mut series[1]).await,
        _ => sample(c, plan, place, &mut series[2]).await,
    })
}

/// Which block is sampled.
#[derive(Debug, Clone, Copy)]
struct Place {
    thread: usize,
    block: u64,
    subject: usize,
}

fn on_every_thread<const N: usize>(plan: Plan, block: impl AsyncFn(Place, &mut [Series; N]) + Sync) -> [Series; N] {
    let barrier = Barrier::new(plan.threads);
    let mut all: [Series; N] = std::array::from_fn(|_| Series::default());
    std::thread::scope(|scope| {
        let (barrier, block) = (&barrier, &block);
        let threads: Vec<_> =
            (0..plan.threads).map(|thread| scope.spawn(move || one_thread(plan, thread, barrier, block))).collect();
        for thread in threads {
            let series = thread.join().expect("a benchmark thread does not panic");
            all.iter_mut().zip(&series).for_each(|(all, one)| all.extend(one));
        }
    });
    all
}

fn one_thread<const N: usize>(
    plan: Plan,
    thread: usize,
    barrier: &Barrier,
    sampled: &impl AsyncFn(Place, &mut [Series; N]),
) -> [Series; N] {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    let mut series: [Series; N] = std::array::from_fn(|_| Series::default());
    for block in 0..plan.blocks * N as u64 {
        barrier.wait();
        let (round, within) = (block / N as u64, usize::try_from(block).expect("few blocks") % N);
        // Every other round goes backwards, so that no subject always follows the same one.
        let subject = if round.is_multiple_of(2) { within } else { N - 1 - within };
        runtime.block_on(sampled(Place { thread, block, subject }, &mut series));
    }
    series
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
async fn sample(subject: &impl Subject, plan: Plan, place: Place, series: &mut Series) {
    let Place { thread, block, .. } = place;
    let warm_up = plan.calls / 10;
    for call in 0..warm_up + plan.calls {
        let round = block * (warm_up + plan.calls) + call;
        let input = subject.input(thread, round);
        let started = Instant::now();
        subject.call(input).await;
        let took = started.elapsed();
        if call >= warm_up {
            series.push(took);
        }
    }
}
