//! What a case is: a row of the table, what it does, and to what.

use futures_util::future::LocalBoxFuture;

use super::Options;
use super::covered::Covered;
use super::scene::{Place, Scene};

/// What came of a case: what is worth telling, or what was wrong.
pub type Outcome = Result<String, String>;

/// A case on a node that others share.
pub type OnScene = for<'a> fn(&'a Scene) -> LocalBoxFuture<'a, Outcome>;
/// A case with nodes of its own.
pub type Apart = for<'a> fn(&'a Options) -> LocalBoxFuture<'a, Outcome>;

/// One row.
#[derive(Debug)]
pub struct Case {
    /// Its number, as a text.
    pub row: &'static str,
    /// What is done, and what is expected.
    pub name: &'static str,
    /// How that is checked.
    pub check: Check,
}

/// How a case is checked.
#[derive(Debug)]
pub enum Check {
    /// On the node of a place, which is looked at as a whole afterwards.
    On(Place, OnScene),
    /// On nodes that are started for it.
    Apart(Apart),
    /// Not from outside of a process: by these tests, which have to be there.
    InProcess(&'static [Covered]),
}

/// Cases on the node of one place: `"row" "name" => function;`.
macro_rules! on {
    ($place:ident: $($row:literal $name:literal => $check:path;)*) => {
        [$($crate::hostile::case::Case {
            row: $row,
            name: $name,
            check: $crate::hostile::case::Check::On(
                $crate::hostile::scene::Place::$place,
                |scene| Box::pin($check(scene)),
            ),
        },)*]
    };
}

/// Cases with nodes of their own.
macro_rules! apart {
    ($($row:literal $name:literal => $check:path;)*) => {
        [$($crate::hostile::case::Case {
            row: $row,
            name: $name,
            check: $crate::hostile::case::Check::Apart(|options| Box::pin($check(options))),
        },)*]
    };
}

pub(super) use {apart, on};
