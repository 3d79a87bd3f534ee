//! How a driver and those who started it talk while a run goes on.

use std::sync::atomic::AtomicBool;

use network::{Observer, PortId};
use traffic::{DropReason, FlowId, Instant, Statistics};
use transport::Info;

use crate::recorder::Recorder;

/// Takes the samples of a run as well as its events. `()` takes none.
pub trait Watch: Observer {
    /// The state of a flow's sender and receiver at `now`.
    fn flow_sample(&mut self, _now: Instant, _flow: FlowId, _ends: [&Info; 2]) {}
    /// The state of a port's discipline at `now`.
    fn queue_sample(&mut self, _now: Instant, _port: PortId, _statistics: &Statistics) {}
    /// The state of a class of a port's discipline at `now`.
    fn class_sample(&mut self, _now: Instant, _port: PortId, _class: &str, _counted: &Statistics) {}
    /// A frame that is to be captured, from a driver that moves real ones.
    fn frame(&mut self, _port: PortId, _frame: &Captured<'_>) {}
}

/// A real frame at a port.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// When its first bit left, or it was dropped.
    pub at: Instant,
    /// Its first bytes.
    pub bytes: &'a [u8],
    /// Its length without FCS.
    pub length: u32,
    /// Why it was dropped, if it was.
    pub dropped: Option<DropReason>,
}

impl Watch for () {}

impl Watch for Recorder {
    fn flow_sample(&mut self, now: Instant, flow: FlowId, ends: [&Info; 2]) {
        Self::flow_sample(self, now, flow, ends);
    }
    fn queue_sample(&mut self, now: Instant, port: PortId, statistics: &Statistics) {
        Self::queue_sample(self, now, port, statistics);
    }
    fn class_sample(&mut self, now: Instant, port: PortId, class: &str, counted: &Statistics) {
        Self::class_sample(self, now, port, class, counted);
    }
    fn frame(&mut self, port: PortId, frame: &Captured<'_>) {
        Self::frame(self, port, frame);
    }
}

/// How a run is steered from outside.
#[derive(Clone, Copy)]
pub struct Steering<'a> {
    /// Set to end the run early; what was measured so far is kept.
    pub interrupted: &'a AtomicBool,
    /// Told the time reached, every hundredth of the run or more often.
    pub progress: &'a (dyn Fn(Instant) + Sync),
}
