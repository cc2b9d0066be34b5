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

/// Changes that have been decided one after the other, from one view on, and are not seen yet. Dropping them forgets them.
#[derive(Debug, Clone)]
#[must_use = "staged changes are seen by nobody until they are published"]
pub struct Staged<'c> {
    catalog: &'c Catalog,
    base: u64,
    next: Arc<CatalogView>,
}

impl Staged<'_> {
    /// The generation that the catalog will have.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.next.generation()
    }

    /// Decides an apply after the changes before it, without showing it, so that it can be written down first.
    ///
    /// # Errors
    /// [`ChangeRefusal`], as [`Catalog::apply`] would answer; then this change is not among those staged.
    pub fn apply(&mut self, apply: Apply) -> Result<Applied, ChangeRefusal> {
        let (next, applied) = self.next.applied(apply, &mut self.catalog.write())?;
        self.next = Arc::new(next);
        Ok(applied)
    }

    /// Decides a delete after the changes before it, without showing it, so that it can be written down first.
    ///
    /// # Errors
    /// [`ChangeRefusal`], as [`Catalog::delete`] would answer; then this change is not among those staged.
    pub fn delete(&mut self, delete: &Delete) -> Result<Deleted, ChangeRefusal> {
        let (next, deleted) = self.next.deleted(delete)?;
        self.next = Arc::new(next);
        Ok(deleted)
    }

    /// Shows all of them together to every later pin.
    ///
    /// # Errors
    /// [`ChangeRefusal::Overtaken`] when another change was published since. One owner who stages, writes down and
    /// publishes in turn never meets it.
    pub fn publish(self) -> Result<(), ChangeRefusal> {
        let Self { catalog, base, next } = self;
        let policies = catalog.write();
        let found = catalog.current.load().generation();
        if found != base {
            return Err(ChangeRefusal::Overtaken { staged_on: base, found });
        }
        catalog.swap(next, policies);
        Ok(())
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

    /// A place for changes to the current view, with none yet.
    pub fn stage(&self) -> Staged<'_> {
        let view = self.view();
        Staged { catalog: self, base: view.generation(), next: view }
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
