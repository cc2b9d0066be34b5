//! Requests, good and bad, and what must become of them at once.

use std::time::Duration;

use latent_activation::ActivationRequest;
use latent_activation::request::TraceContext;
use latent_core::{
    ActivationId, BudgetCeilings, Caller, FunctionTarget, Payload, PlatformErrorCode as Code, RouteName, ServiceName,
};
use latent_node::ActivationArrival;
use latent_scheduler::admission::{QueueClass, TransportTimeout};

use crate::activation::{Activation, Asked};
use crate::backend::now;
use crate::board::Facts;
use crate::catalog::{CONTRACT, deployment_name};
use crate::node::{LARGE_BYTES, SMALL_BYTES};
use crate::plan::Plan;
use crate::trace::What;
use crate::world::{Checked, DEPLOYMENTS, TENANTS, World};

/// What is wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    EmptyId,
    ParentWithoutRoot,
    Anonymous,
    ForeignPrincipal,
    Retries,
}

impl World {
    pub fn arrive(&mut self) -> Checked {
        let tenant = self.random.index(self.callers);
        let asked = self.ask();
        let (mut request, mut arrival) = self.request(tenant, &asked);
        arrival.priority = asked.priority;
        let flaw = self.random.percent(4).then(|| {
            let flaws =
                [Flaw::EmptyId, Flaw::ParentWithoutRoot, Flaw::Anonymous, Flaw::ForeignPrincipal, Flaw::Retries];
            self.random.pick(&flaws)
        });
        if let Some(flaw) = flaw {
            spoil(&mut request, flaw, &self.tenants[(tenant + 1) % TENANTS]);
        }
        let expected = self.expected_refusal(tenant, &request, flaw);
        let plan = Plan::draw(&mut self.random, self.mischief);
        let received = (now(), self.wall);
        match (self.node.manager.start_arrived(request, arrival), expected) {
            (Err(error), Some(code)) if error.code() == code => {
                self.note(What::Refused { tenant, code });
                Ok(())
            }
            (Err(error), expected) => Err(format!("a request was refused with {error:?}; expected {expected:?}")),
            (Ok(handle), Some(code)) => Err(format!("{:?} was accepted; expected {code}", handle.activation_id())),
            (Ok(handle), None) => {
                let (index, id) = (self.activations.len(), handle.activation_id().clone());
                {
                    let mut state = self.board.lock();
                    state.plans.push(plan);
                    state.facts.push(Facts::default());
                    state.open.insert((self.tenants[tenant].clone(), id.clone()), index);
                }
                let woken = std::sync::Arc::new(crate::activation::Flag::default());
                std::task::Wake::wake_by_ref(&woken);
                self.names.insert((tenant, id.clone()), index);
                self.activations.push(Activation {
                    tenant,
                    id,
                    asked,
                    received,
                    handle: Some(handle),
                    flag: woken,
                    polled: false,
                    polled_at: None,
                    admitted: None,
                    resolved: false,
                    cancelled: false,
                    interrupted: None,
                    stop_at: None,
                    stop_seen_at: None,
                    handed_over: None,
                    dropped: false,
                    ended: None,
                    waits_since: None,
                    promised_at: None,
                });
                self.note(What::Arrived { index, tenant });
                Ok(())
            }
        }
    }

    fn expected_refusal(&self, tenant: usize, request: &ActivationRequest, flaw: Option<Flaw>) -> Option<Code> {
        if let Some(flaw) = flaw {
            return Some(match flaw {
                Flaw::EmptyId | Flaw::ParentWithoutRoot | Flaw::Retries => Code::InvalidArgument,
                Flaw::Anonymous => Code::Unauthenticated,
                Flaw::ForeignPrincipal => Code::PermissionDenied,
            });
        }
        let named = request.activation_id.as_ref().and_then(|id| ActivationId::new(id.as_str()).ok());
        let same = named.and_then(|id| self.names.get(&(tenant, id)).copied());
        if same.is_some_and(|same| self.activations[same].is_open() || self.is_retained(same)) {
            return Some(Code::AlreadyExists);
        }
        (self.open().count() >= self.node.rules.active_max).then_some(Code::ResourceExhausted)
    }

    fn ask(&mut self) -> Asked {
        let random = &mut self.random;
        let ahead = random.millis(0, 3_000);
        let deadline = random
            .percent(20)
            .then(|| if ahead < Duration::from_millis(100) { self.wall - ahead } else { self.wall + ahead });
        Asked {
            deployment: random.percent(15).then(|| random.index(DEPLOYMENTS)),
            known_function: !random.percent(2),
            deadline: deadline.filter(|_| !self.options.no_absolute_deadlines),
            transport: random.percent(15).then(|| (now(), random.millis(5, 3_000))),
            wall_limit: random.percent(30).then(|| random.millis(1, 2_000)),
            fuel: random.percent(40).then(|| 1 + random.below(20_000)),
            memory: if random.percent(75) { SMALL_BYTES - random.below(1_000) } else { LARGE_BYTES },
            priority: u8::try_from(random.below(4)).expect("a few"),
        }
    }

    fn request(&mut self, tenant: usize, asked: &Asked) -> (ActivationRequest, ActivationArrival) {
        let random = &mut self.random;
        let name = |text: &str| ServiceName::new(text).expect("a word is an id");
        // Few names, so that they meet again.
        let activation_id = random.percent(70).then(|| format!("a-{}", random.below(40)));
        let route = asked.deployment.map_or("default".to_owned(), deployment_name);
        let tenant = self.tenants[tenant].clone();
        let request = ActivationRequest {
            activation_id,
            root_activation_id: None,
            parent_activation_id: None,
            caller: Caller::User { tenant: tenant.clone(), subject: name("caller") },
            tenant,
            service: name("text"),
            route: RouteName::new(route).expect("a route is an id"),
            target: FunctionTarget {
                contract: CONTRACT.into(),
                function: if asked.known_function { "run" } else { "walk" }.into(),
            },
            payload: Payload::json("[]"),
            budget: BudgetCeilings {
                fuel: asked.fuel,
                memory_bytes: Some(asked.memory),
                log_bytes: None,
                wall_limit: asked.wall_limit,
            },
            deadline: asked.deadline,
            trace: TraceContext::default(),
            idempotency_key: Some("the same".to_owned()),
            retry_count: 0,
            metadata: Vec::new(),
        };
        let transport = asked.transport.map(|(arrival, timeout)| TransportTimeout { arrival, timeout });
        let queue_class = random.pick(&QueueClass::ALL);
        (request, ActivationArrival { transport, priority: 0, queue_class })
    }
}

fn spoil(request: &mut ActivationRequest, flaw: Flaw, foreign: &latent_core::TenantId) {
    match flaw {
        Flaw::EmptyId => request.activation_id = Some(String::new()),
        Flaw::ParentWithoutRoot => request.parent_activation_id = Some("parent".to_owned()),
        Flaw::Anonymous => request.caller = Caller::Anonymous,
        Flaw::ForeignPrincipal => request.tenant = foreign.clone(),
        Flaw::Retries => request.retry_count = u32::MAX,
    }
}
