//! A simulation: the node, the model beside it, and the steps of one seed.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use latent_core::{ActivationId, TenantId};
use latent_scheduler::admission::PressureSample;

use crate::activation::Activation;
use crate::backend::now;
use crate::board::{Board, Index};
use crate::node::{Node, Policy, epoch};
use crate::random::Random;
use crate::trace::{Event, Trace, What};
use crate::turns::Turns;

pub const TENANTS: usize = 8;
pub const DEPLOYMENTS: usize = 3;
const STEPS: u32 = 320;
/// Time is turned on in such steps at the end, until whatever may take its time has had it.
const SETTLING_STEP: Duration = Duration::from_millis(150);
const SETTLING_STEPS: u32 = 40;

/// What is left out of a simulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    pub wall_clock_stands: bool,
    pub no_absolute_deadlines: bool,
}

/// What broke a rule.
pub type Checked = Result<(), String>;

pub struct World {
    pub options: Options,
    pub random: Random,
    pub board: Board,
    pub node: Node,
    pub policy: Policy,
    pub pressure: Option<PressureSample>,
    pub tenants: Vec<TenantId>,
    /// How many of them call.
    pub callers: usize,
    /// How often ports misbehave and callers go away, in percent.
    pub mischief: u64,
    /// Which version of each deployment there is.
    pub deployments: [[Option<u64>; DEPLOYMENTS]; TENANTS],
    pub versions: u64,
    pub activations: Vec<Activation>,
    /// The latest activation of each name.
    pub names: HashMap<(usize, ActivationId), Index>,
    /// Ended activations, oldest end first, as long as the journal keeps them.
    pub retained: VecDeque<(Instant, Index)>,
    /// Activations whose transport went away: what a supervisor has to drive. The simulation polls them itself.
    pub continuations: Vec<Index>,
    pub turns: Turns,
    pub wall: SystemTime,
    pub shut_down: bool,
    pub trace: Trace,
    pub step: u32,
    start: Instant,
    /// Up to when the wall clock was turned on.
    told: Instant,
}

impl World {
    pub fn new(seed: u64, options: Options, trace: Trace) -> Self {
        let mut random = Random::new(seed);
        let board = Board::default();
        let policy = Policy::draw(&mut random);
        let node = Node::draw(&mut random, &board, &policy);
        board.lock().journal = Some(Arc::clone(&node.journal));
        board.lock().permits_max = if random.percent(20) { 1 + random.index(3) } else { usize::MAX };
        let tenants = (0..TENANTS).map(|tenant| TenantId::new(format!("t{tenant}")).expect("an id")).collect();
        let callers = 2 + random.index(TENANTS - 1);
        let mischief = random.pick(&[0, 4, 20, 100]);
        Self {
            callers,
            mischief,
            options,
            random,
            board,
            turns: Turns::new(&node.rules),
            node,
            policy,
            pressure: None,
            tenants,
            deployments: [[None; DEPLOYMENTS]; TENANTS],
            versions: 0,
            activations: Vec::new(),
            names: HashMap::new(),
            retained: VecDeque::new(),
            continuations: Vec::new(),
            wall: epoch(),
            shut_down: false,
            trace,
            step: 0,
            start: now(),
            told: now(),
        }
    }

    /// Runs to the end.
    pub async fn run(mut self) -> Checked {
        for tenant in 0..TENANTS {
            for deployment in 0..DEPLOYMENTS {
                self.apply(tenant, deployment)?;
            }
        }
        let shuts_down =
            self.random.percent(15).then(|| STEPS - 1 - u32::try_from(self.random.below(30)).expect("a few"));
        while self.step < STEPS {
            if Some(self.step) == shuts_down {
                self.shut_down();
            }
            self.act().await?;
            self.after_step().await?;
        }
        self.settle().await
    }

    /// Polls whoever was woken and turns time on, until everybody must have ended.
    async fn settle(&mut self) -> Checked {
        for _ in 0..SETTLING_STEPS {
            let mut rounds = 0;
            while let Some(index) = self.next_woken() {
                self.poll(index)?;
                self.after_step().await?;
                rounds += 1;
                if rounds > 20_000 {
                    return Err(format!("activation {index} is woken again and again"));
                }
            }
            if self.open().next().is_none() {
                return self.check_idle();
            }
            self.advance(SETTLING_STEP).await;
            self.after_step().await?;
        }
        let index = self.open().next().expect("somebody is left");
        let facts = self.board.facts(index);
        Err(format!("activation {index} is pending beyond every deadline and grace, and nobody wakes it: {facts:?}"))
    }

    /// How long until the next deadline.
    fn next_deadline(&self) -> Option<Duration> {
        let deadlines = self.open().filter_map(|index| self.activations[index].admitted);
        let left = deadlines.map(|admitted| admitted.deadline.saturating_duration_since(now()));
        left.filter(|left| !left.is_zero()).min()
    }

    fn next_woken(&self) -> Option<Index> {
        self.open().find(|index| self.activations[*index].flag.is_set())
    }

    async fn act(&mut self) -> Checked {
        match self.random.below(100) {
            0..=24 => self.arrive(),
            25..=64 => self.poll_somebody(true),
            65..=66 => self.poll_somebody(false),
            67..=72 => self.cancel(),
            73..=75 => {
                if self.random.percent(5 + self.mischief) {
                    self.drop_somebody();
                }
                self.ended_by_drop()
            }
            76..=79 => {
                self.interrupt_somebody();
                Ok(())
            }
            80..=90 => {
                let by = if self.random.percent(85) { self.random.millis(1, 25) } else { self.random.millis(25, 500) };
                let exactly = self.random.percent(8);
                let by = self.next_deadline().filter(|_| exactly).unwrap_or(by);
                self.advance(by).await;
                Ok(())
            }
            91..=93 => self.change_catalog(),
            94..=95 => self.replace_policy(),
            96..=97 => {
                self.press();
                Ok(())
            }
            _ => {
                self.set_wall_clock();
                Ok(())
            }
        }
    }

    async fn after_step(&mut self) -> Checked {
        self.step += 1;
        self.keep_time().await;
        let grants = std::mem::take(&mut self.board.lock().grants);
        for (index, at) in grants {
            self.note(What::Granted { index });
            self.granted(index, at)?;
        }
        self.board.lock().current = None;
        self.check()
    }

    /// Turns the wall clock and the compiler on by what has passed, also while a port was at work.
    async fn keep_time(&mut self) {
        let passed = now() - self.told;
        if passed > Duration::ZERO {
            self.told = now();
            self.wall += passed;
            self.node.clock.advance(passed);
            self.board.compile(now());
            // The timers that are due meanwhile.
            tokio::task::yield_now().await;
        }
    }

    /// Whoever has not ended, in order of arrival.
    pub fn open(&self) -> impl Iterator<Item = Index> + '_ {
        let all = self.activations.iter().enumerate();
        all.filter(|(_, activation)| activation.is_open()).map(|(index, _)| index)
    }

    pub fn note(&self, what: What) {
        self.trace.push(Event { step: self.step, at: now() - self.start, what });
    }

    pub async fn advance(&mut self, by: Duration) {
        self.note(What::Advanced { by });
        tokio::time::advance(by).await;
    }

    fn set_wall_clock(&mut self) {
        let to = match self.random.below(4) {
            0 => SystemTime::UNIX_EPOCH,
            1 => epoch() + Duration::from_hours(24 * 365 * 50),
            2 => self.wall - self.random.millis(1, 10_000),
            _ => self.wall + self.random.millis(1, 10_000),
        };
        self.note(What::WallClockSet);
        if !self.options.wall_clock_stands {
            self.wall = to.max(SystemTime::UNIX_EPOCH + Duration::from_mins(1));
            self.node.clock.set(self.wall);
        }
    }

    /// Whether the journal still has its record.
    pub fn is_retained(&self, index: Index) -> bool {
        let kept = |at: Instant| now() - at < self.node.rules.retention;
        self.retained.iter().any(|(at, ended)| *ended == index && kept(*at))
    }

    pub fn name(&self, index: Index) -> (&TenantId, &ActivationId) {
        let activation = &self.activations[index];
        (&self.tenants[activation.tenant], &activation.id)
    }

    fn shut_down(&mut self) {
        self.shut_down = true;
        self.note(What::ShutDown);
        let scheduler = Arc::clone(&self.node.scheduler);
        scheduler.shut_down();
    }
}
