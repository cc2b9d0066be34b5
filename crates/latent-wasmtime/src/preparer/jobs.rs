//! Preparations that are asked for and not done: who waits for which, and which comes next. Pure.
//!
//! Invariants: one job for all who ask a tenant's repository, or hold bytes, for the same code; no code is being prepared
//! twice at a time; calls come before background work; tenants take turns; waiters and background jobs are bounded.

use std::collections::{HashMap, HashSet};

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, TenantId};
use latent_executor::PreparationKey;

/// Bounds of what may wait.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "every limit says that it is the most")]
pub struct JobBounds {
    /// Waiters over all jobs.
    pub waiters_max: usize,
    /// Waiters of one tenant.
    pub waiters_per_tenant_max: usize,
    /// Background jobs that have not begun.
    pub background_max: usize,
    /// Compilations of one tenant at a time.
    pub compilations_per_tenant_max: usize,
}

/// Who does a job. What takes milliseconds never waits behind what takes minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The loader: code from an image, or code that is there and whose bytes are to be verified.
    Load,
    /// A compiler.
    Compile,
}

/// What makes two preparations the same job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JobId {
    /// The code.
    pub key: PreparationKey,
    /// For whom; nobody in particular when the caller holds the bytes.
    pub tenant: Option<TenantId>,
    /// Whether the bytes are fetched and verified even if the code is at hand.
    pub verified: bool,
}

/// Somebody who waits, and may leave.
pub trait Waiter {
    /// Whether it left.
    fn is_gone(&self) -> bool;
}

/// The jobs.
pub struct Jobs<S, W> {
    known: HashMap<JobId, Job<S, W>>,
    /// The turn in which each tenant that has jobs was last served.
    served: HashMap<Option<TenantId>, u64>,
    arrivals: u64,
    turns: u64,
    bounds: JobBounds,
}

struct Job<S, W> {
    /// Taken out by whoever runs the job.
    source: Option<S>,
    lane: Lane,
    waiters: Vec<W>,
    background: bool,
    arrived: u64,
}

/// A job to be done now.
pub struct Begun<S> {
    /// Which.
    pub id: JobId,
    /// Where its bytes come from.
    pub source: S,
}

/// A job that is done.
pub struct Finished<W> {
    /// Who still waits for it.
    pub waiters: Vec<W>,
}

impl<S, W: Waiter> Jobs<S, W> {
    /// No jobs.
    pub fn new(bounds: JobBounds) -> Self {
        Self { known: HashMap::new(), served: HashMap::new(), arrivals: 0, turns: 0, bounds }
    }

    /// Lets `waiter` wait for the job, which begins to exist if need be. A background job that somebody waits for is
    /// background no longer.
    ///
    /// # Errors
    /// `resource-exhausted` when all places, or the tenant's, are taken. Places of those who left count as free.
    pub fn wait(&mut self, id: JobId, lane: Lane, source: impl FnOnce() -> S, waiter: W) -> Result<(), PlatformError> {
        self.check_room(id.tenant.as_ref())?;
        self.arrivals += 1;
        let job = self.known.entry(id).or_insert_with(|| Job {
            source: Some(source()),
            lane,
            waiters: Vec::new(),
            background: false,
            arrived: self.arrivals,
        });
        job.background = false;
        job.waiters.push(waiter);
        Ok(())
    }

    /// Adds a job that nobody waits for, to be done when nothing else is. `false` when there are too many already.
    pub fn in_background(&mut self, id: JobId, lane: Lane, source: impl FnOnce() -> S) -> bool {
        let queued = self.known.values().filter(|job| job.background && job.source.is_some()).count();
        if queued >= self.bounds.background_max {
            return self.known.contains_key(&id);
        }
        self.arrivals += 1;
        let arrived = self.arrivals;
        self.known.entry(id).or_insert_with(|| Job {
            source: Some(source()),
            lane,
            waiters: Vec::new(),
            background: true,
            arrived,
        });
        true
    }

    /// The job that `lane` does now, if there is one whose code nobody prepares at the moment. Jobs that everybody left
    /// before they began are forgotten.
    pub fn next(&mut self, lane: Lane) -> Option<Begun<S>> {
        let before = self.known.len();
        self.known.retain(|_, job| {
            job.waiters.retain(|waiter| !waiter.is_gone());
            job.source.is_none() || job.background || !job.waiters.is_empty()
        });
        if self.known.len() < before {
            self.forget_tenants_without_jobs();
        }
        let begun = || self.known.iter().filter(|(_, job)| job.source.is_none());
        let is_free = |id: &JobId| begun().all(|(other, _)| other.key != id.key);
        let compiling =
            |id: &JobId| begun().filter(|(other, job)| job.lane == Lane::Compile && other.tenant == id.tenant).count();
        let has_place = |id: &JobId| lane == Lane::Load || compiling(id) < self.bounds.compilations_per_tenant_max;
        let turn = |id: &JobId| self.served.get(&id.tenant).copied().unwrap_or(0);
        let queued = self.known.iter().filter(|(_, job)| job.source.is_some() && job.lane == lane);
        let ready = queued.filter(|(id, _)| is_free(id) && has_place(id));
        let (id, _) = ready.min_by_key(|(id, job)| (job.background, turn(id), job.arrived))?;
        let id = id.clone();
        let source = self.known.get_mut(&id)?.source.take()?;
        self.turns += 1;
        self.served.insert(id.tenant.clone(), self.turns);
        Some(Begun { id, source })
    }

    /// Leaves a job that was begun to the compilers. It keeps its waiters and its place among the others.
    pub fn leave_to_compilers(&mut self, id: &JobId, source: S) {
        if let Some(job) = self.known.get_mut(id) {
            (job.source, job.lane) = (Some(source), Lane::Compile);
        }
    }

    /// Takes a job that is done out.
    pub fn finish(&mut self, id: &JobId) -> Finished<W> {
        let job = self.known.remove(id);
        self.forget_tenants_without_jobs();
        let mut waiters = job.map(|job| job.waiters).unwrap_or_default();
        waiters.retain(|waiter| !waiter.is_gone());
        Finished { waiters }
    }

    /// Gives up every job that nobody has begun: what they came from and who waited for them, to be dropped where that may
    /// call others.
    pub fn give_up(&mut self) -> Vec<(S, Vec<W>)> {
        let given_up = self.known.extract_if(|_, job| job.source.is_some());
        let given_up = given_up.filter_map(|(_, job)| Some((job.source?, job.waiters))).collect();
        self.forget_tenants_without_jobs();
        given_up
    }

    /// How many jobs there are, running ones included.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    fn forget_tenants_without_jobs(&mut self) {
        let tenants: HashSet<_> = self.known.keys().map(|id| &id.tenant).collect();
        self.served.retain(|tenant, _| tenants.contains(tenant));
    }

    fn check_room(&mut self, tenant: Option<&TenantId>) -> Result<(), PlatformError> {
        let (mut all, mut own) = (0, 0);
        for (id, job) in &mut self.known {
            job.waiters.retain(|waiter| !waiter.is_gone());
            all += job.waiters.len();
            own += if id.tenant.as_ref() == tenant { job.waiters.len() } else { 0 };
        }
        let JobBounds { waiters_max, waiters_per_tenant_max, .. } = self.bounds;
        if all >= waiters_max {
            return Err(queue_full("preparations_max", waiters_max));
        }
        if tenant.is_some() && own >= waiters_per_tenant_max {
            return Err(queue_full("preparations_per_tenant_max", waiters_per_tenant_max));
        }
        Ok(())
    }
}

fn queue_full(setting: &str, max: usize) -> PlatformError {
    let message = format_args!("too many components wait for the compiler (setting {setting}, {max}); try again later");
    PlatformError::new(PlatformErrorCode::ResourceExhausted, message)
        .retryable()
        .with_detail(ErrorDetail::new("compiler.queue-full").with(setting, max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::Sha256Digest;
    use std::cell::Cell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Caller(Rc<Cell<bool>>);

    impl Caller {
        fn leave(&self) {
            self.0.set(true);
        }
    }

    impl Waiter for Caller {
        fn is_gone(&self) -> bool {
            self.0.get()
        }
    }

    type TestJobs = Jobs<&'static str, Caller>;

    fn jobs() -> TestJobs {
        Jobs::new(JobBounds {
            waiters_max: 4,
            waiters_per_tenant_max: 3,
            background_max: 2,
            compilations_per_tenant_max: 8,
        })
    }

    fn id(component: &str, tenant: &str) -> JobId {
        let tenant = (!tenant.is_empty()).then(|| TenantId::new(tenant).unwrap());
        let key = PreparationKey::new(Sha256Digest::of(component.as_bytes()), 0);
        JobId { key, tenant, verified: false }
    }

    fn ask(jobs: &mut TestJobs, component: &'static str, tenant: &str) -> Caller {
        let caller = Caller::default();
        jobs.wait(id(component, tenant), Lane::Compile, || component, caller.clone()).expect("there is room");
        caller
    }

    fn begin(jobs: &mut TestJobs) -> Option<(&'static str, JobId)> {
        jobs.next(Lane::Compile).map(|begun| (begun.source, begun.id))
    }

    #[test]
    fn what_has_not_begun_is_given_up_with_its_waiters_and_what_runs_stays() {
        let mut jobs = jobs();
        let _running = ask(&mut jobs, "a", "t");
        let (_, running) = begin(&mut jobs).expect("one is there");
        let _waiting = [ask(&mut jobs, "b", "t"), ask(&mut jobs, "b", "t")];
        assert!(jobs.in_background(id("c", "u"), Lane::Load, || "c"));
        let mut given_up: Vec<_> =
            jobs.give_up().into_iter().map(|(source, waiters)| (source, waiters.len())).collect();
        given_up.sort_unstable();
        assert_eq!(given_up, [("b", 2), ("c", 0)]);
        assert_eq!((jobs.len(), jobs.served.len()), (1, 1));
        assert_eq!(jobs.finish(&running).waiters.len(), 1);
        assert!(jobs.give_up().is_empty());
    }

    #[test]
    fn identical_requests_share_a_job_that_begins_once() {
        let mut jobs = jobs();
        let _callers = [ask(&mut jobs, "a", "t"), ask(&mut jobs, "a", "t")];
        let (source, id) = begin(&mut jobs).expect("one is there");
        assert_eq!((source, jobs.len()), ("a", 1));
        let _late = ask(&mut jobs, "a", "t");
        assert!(begin(&mut jobs).is_none(), "the late one joined what runs");
        assert_eq!(jobs.finish(&id).waiters.len(), 3);
        assert_eq!(jobs.len(), 0);
    }

    #[test]
    fn the_same_code_for_another_tenant_waits_for_its_turn_and_fails_or_succeeds_on_its_own() {
        let mut jobs = jobs();
        let _callers = [ask(&mut jobs, "a", "t"), ask(&mut jobs, "a", "u")];
        let (_, first) = begin(&mut jobs).expect("one is there");
        assert!(begin(&mut jobs).is_none(), "the same code is not prepared twice at a time");
        assert_eq!(jobs.finish(&first).waiters.len(), 1);
        assert!(begin(&mut jobs).is_some());
    }

    #[test]
    fn tenants_take_turns() {
        let mut jobs = jobs();
        let _callers =
            [ask(&mut jobs, "a", "t"), ask(&mut jobs, "b", "t"), ask(&mut jobs, "c", "t"), ask(&mut jobs, "d", "u")];
        let order: Vec<_> = std::iter::from_fn(|| begin(&mut jobs)).map(|(source, _)| source).collect();
        assert_eq!(order, ["a", "d", "b", "c"]);
    }

    #[test]
    fn a_tenant_has_so_many_compilations_at_a_time_and_loading_goes_on_beside_them() {
        let mut jobs = jobs();
        jobs.bounds.compilations_per_tenant_max = 1;
        let _callers = [ask(&mut jobs, "a", "t"), ask(&mut jobs, "b", "t"), ask(&mut jobs, "c", "u")];
        let loading = Caller::default();
        jobs.wait(id("d", "t"), Lane::Load, || "d", loading.clone()).expect("there is room");
        let (_, first) = begin(&mut jobs).expect("a is there");
        assert_eq!(begin(&mut jobs).map(|(source, _)| source), Some("c"), "the other tenant's");
        assert!(begin(&mut jobs).is_none(), "t compiles already");
        let load = jobs.next(Lane::Load).expect("no image waits for a compiler");
        assert_eq!(load.source, "d");
        jobs.leave_to_compilers(&load.id, load.source);
        assert!(jobs.next(Lane::Load).is_none() && begin(&mut jobs).is_none());
        jobs.finish(&first);
        assert_eq!(begin(&mut jobs).map(|(source, _)| source), Some("b"), "it came before d");
    }

    #[test]
    fn turns_are_remembered_only_of_tenants_that_have_jobs() {
        let mut jobs = jobs();
        let callers = [ask(&mut jobs, "a", "t"), ask(&mut jobs, "b", "t")];
        let (_, id) = begin(&mut jobs).expect("a is there");
        jobs.finish(&id);
        assert_eq!(jobs.served.len(), 1, "b is left");
        callers[1].leave();
        assert!(begin(&mut jobs).is_none());
        assert_eq!((jobs.len(), jobs.served.len()), (0, 0));
    }

    #[test]
    fn calls_come_before_background_work_and_make_it_theirs() {
        let mut jobs = jobs();
        assert!(
            jobs.in_background(id("old", "t"), Lane::Compile, || "old")
                && jobs.in_background(id("older", "t"), Lane::Compile, || "older")
        );
        assert!(!jobs.in_background(id("oldest", "t"), Lane::Compile, || "oldest"), "there are two already");
        let _callers = [ask(&mut jobs, "new", "t"), ask(&mut jobs, "older", "t")];
        let order: Vec<_> = std::iter::from_fn(|| begin(&mut jobs)).map(|(source, _)| source).collect();
        assert_eq!(order, ["older", "new", "old"]);
    }

    #[test]
    fn a_job_that_everybody_left_is_not_begun_and_one_that_runs_is_owned_until_it_ends() {
        let mut jobs = jobs();
        let (first, second) = (ask(&mut jobs, "a", "t"), ask(&mut jobs, "b", "t"));
        let (_, running) = begin(&mut jobs).expect("a is there");
        first.leave();
        second.leave();
        assert!(begin(&mut jobs).is_none());
        assert_eq!(jobs.len(), 1, "what runs is still there");
        assert!(jobs.finish(&running).waiters.is_empty());
    }

    #[test]
    fn places_are_bounded_over_all_and_for_each_tenant_and_free_again_when_one_leaves() {
        let mut jobs = jobs();
        let full = |jobs: &mut TestJobs, tenant: &str| {
            let error = jobs.wait(id("x", tenant), Lane::Load, || "x", Caller::default()).expect_err("no room");
            assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::ResourceExhausted, true));
            error.details()[0].clone()
        };
        let callers = ["a", "b", "c"].map(|component| ask(&mut jobs, component, "t"));
        assert_eq!(full(&mut jobs, "t").field("preparations_per_tenant_max"), Some("3"));
        let _other = ask(&mut jobs, "a", "u");
        assert_eq!(full(&mut jobs, "v").field("preparations_max"), Some("4"));
        callers[0].leave();
        let _next = ask(&mut jobs, "x", "v");
    }
}
