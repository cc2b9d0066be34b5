//! The current view behind one atomic pointer.
//!
//! Invariant: views are published one after another, each made from the one before, and a reader sees one of them
//! whole. Writers take turns at one lock, under which only pure code runs; readers never meet it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use crate::port::{ActivationCatalog, ActivationCatalogSource};
use crate::refusal::ChangeRefusal;
use crate::share::Policies;
use crate::view::{Applied, Apply, CatalogView, Delete, Deleted};

/// The catalog of a node.
#[derive(Debug)]
pub struct Catalog {
    current: ArcSwap<CatalogView>,
    /// Held by whoever makes or publishes a view.
    writing: Mutex<Policies>,
}

/// A change that has been decided on one view and is not seen yet. Dropping it forgets the change.
#[derive(Debug)]
#[must_use = "a staged change is seen by nobody until it is published"]
pub struct Staged<T> {
    base: u64,
    next: Arc<CatalogView>,
    outcome: T,
}

impl<T> Staged<T> {
    /// What the change comes to once it is published, to be written down before.
    pub fn outcome(&self) -> &T {
        &self.outcome
    }

    /// The generation that the catalog will have.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.next.generation()
    }
}

impl Catalog {
    /// A catalog that begins with `view`.
    #[must_use]
    pub fn new(view: CatalogView) -> Self {
        let policies = Policies::of(view.policies());
        Self { current: ArcSwap::from_pointee(view), writing: Mutex::new(policies) }
    }

    /// The current view, which stays as it is for as long as it is held. Never waits for a writer.
    #[must_use]
    pub fn view(&self) -> Arc<CatalogView> {
        self.current.load_full()
    }

    /// Makes or replaces a deployment.
    ///
    /// # Errors
    /// [`ChangeRefusal`], and nothing has changed.
    pub fn apply(&self, apply: Apply) -> Result<Applied, ChangeRefusal> {
        let mut policies = self.write();
        let (next, outcome) = self.view().applied(apply, &mut policies)?;
        self.swap(Arc::new(next), policies);
        Ok(outcome)
    }

    /// Removes a deployment.
    ///
    /// # Errors
    /// [`ChangeRefusal`], and nothing has changed.
    pub fn delete(&self, delete: &Delete) -> Result<Deleted, ChangeRefusal> {
        let policies = self.write();
        let (next, outcome) = self.view().deleted(delete)?;
        self.swap(Arc::new(next), policies);
        Ok(outcome)
    }

    /// Decides an apply without showing it, so that it can be written down first.
    ///
    /// # Errors
    /// [`ChangeRefusal`], as [`apply`](Self::apply) would answer.
    pub fn stage_apply(&self, apply: Apply) -> Result<Staged<Applied>, ChangeRefusal> {
        let mut policies = self.write();
        let base = self.view();
        let (next, outcome) = base.applied(apply, &mut policies)?;
        Ok(Staged { base: base.generation(), next: Arc::new(next), outcome })
    }

    /// Decides a delete without showing it, so that it can be written down first.
    ///
    /// # Errors
    /// [`ChangeRefusal`], as [`delete`](Self::delete) would answer.
    pub fn stage_delete(&self, delete: &Delete) -> Result<Staged<Deleted>, ChangeRefusal> {
        let base = self.view();
        let (next, outcome) = base.deleted(delete)?;
        Ok(Staged { base: base.generation(), next: Arc::new(next), outcome })
    }

    /// Shows a staged change to every later pin.
    ///
    /// # Errors
    /// [`ChangeRefusal::Overtaken`] when another change was published since. One owner who stages, writes down and
    /// publishes in turn never meets it.
    pub fn publish<T>(&self, staged: Staged<T>) -> Result<T, ChangeRefusal> {
        let policies = self.write();
        let found = self.current.load().generation();
        if found != staged.base {
            return Err(ChangeRefusal::Overtaken { staged_on: staged.base, found });
        }
        self.swap(staged.next, policies);
        Ok(staged.outcome)
    }

    fn write(&self) -> MutexGuard<'_, Policies> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows `next`, and lets go of the view before it only after the lock.
    fn swap(&self, next: Arc<CatalogView>, writing: MutexGuard<'_, Policies>) {
        let before = self.current.swap(next);
        drop(writing);
        drop(before);
    }
}

impl ActivationCatalogSource for Catalog {
    fn pin(&self) -> Arc<dyn ActivationCatalog> {
        self.view()
    }
}
