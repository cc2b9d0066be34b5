//! Something that takes its time, by polls or by the clock.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Sleep, sleep};

use crate::plan::Lasts;

pub struct Lasting {
    lasts: Lasts,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Lasting {
    pub fn new(lasts: Lasts) -> Self {
        Self { lasts, timer: None }
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.lasts {
            Lasts::Forever => Poll::Pending,
            Lasts::Polls(0) => Poll::Ready(()),
            Lasts::Polls(left) => {
                *left -= 1;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Lasts::Time(time) => self.timer.get_or_insert_with(|| Box::pin(sleep(*time))).as_mut().poll(cx),
        }
    }
}
