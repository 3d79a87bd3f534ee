//! The engines of a run as one: that of the first part of its world, and those of the others, if it has any.

use base::{FlowId, Instant};
use network::host::Host;
use network::{Node, Observer, PortId};
use record::totals::{EngineTotals, NodeTotals, PortTotals};
use scenario::Plan;
use scenario::plan::Action;
use transport::{OptionError, SocketOption};

use crate::engine::{Engine, sample_queues};
use crate::flows::Hosts;
use crate::partition::Partition;
use crate::tally::Tally;
use crate::world::World;

/// A part of a world besides the first.
#[derive(Debug)]
pub struct Part {
    /// Its engine.
    pub engine: Engine,
    /// What it counts. The run's observer sees the ports that it watches only, which are in the first part.
    pub tally: Tally<()>,
}

/// The engines of a run, which have all reached the same time.
#[derive(Debug)]
pub struct Engines<'a, O> {
    engine: &'a mut Engine,
    tally: &'a mut Tally<O>,
    others: &'a mut [Part],
    /// None if there is one engine for the whole world.
    partition: Option<&'a Partition>,
}

/// What may be read of the engines.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    engine: &'a Engine,
    others: &'a [Part],
    partition: Option<&'a Partition>,
}

/// The place among the others of the part with that node; `None` for the first part.
fn place(partition: Option<&Partition>, node: usize) -> Option<usize> {
    partition?.part_of(node).checked_sub(1)
}

impl<'a> State<'a> {
    fn engine_of(self, node: usize) -> &'a Engine {
        place(self.partition, node).map_or(self.engine, |place| &self.others[place].engine)
    }

    fn node(self, number: usize) -> Option<&'a Node> {
        self.engine_of(number).world().nodes.get(number)
    }

    /// Reports the present state of every queue: see [`sample_queues`].
    fn sample_queues(self, observer: &mut impl Observer) {
        let nodes = (0..self.engine.world().nodes.len()).filter_map(|number| self.node(number));
        nodes.for_each(|node| sample_queues(node, self.now(), observer));
    }
}

impl Hosts for State<'_> {
    fn host(&self, node: usize) -> Option<&Host> {
        self.node(node).and_then(Node::as_host)
    }

    fn world(&self) -> &World {
        self.engine.world()
    }

    fn now(&self) -> Instant {
        self.engine.now()
    }
}

impl<'a, O> Engines<'a, O> {
    /// The engine of a whole world, and what it counts.
    pub fn whole(engine: &'a mut Engine, tally: &'a mut Tally<O>) -> Self {
        Self { engine, tally, others: &mut [], partition: None }
    }

    /// The engines of the parts of a world, and what they count; the first one's tally has the run's observer.
    pub fn of_parts(
        engine: &'a mut Engine,
        tally: &'a mut Tally<O>,
        others: &'a mut [Part],
        partition: &'a Partition,
    ) -> Self {
        Self { engine, tally, others, partition: Some(partition) }
    }

    /// What may be read of them.
    pub fn state(&self) -> State<'_> {
        State { engine: self.engine, others: self.others, partition: self.partition }
    }

    /// The drops of the packets of flow `number`.
    pub fn drops(&self, number: usize) -> u64 {
        let others = self.others.iter().map(|part| part.tally.flows[number]);
        self.tally.flows[number] + others.sum::<u64>()
    }

    /// The totals of the ports.
    pub fn port_totals(&mut self) -> Vec<PortTotals> {
        let Self { engine, tally, others, partition } = self;
        let mut totals = engine.port_totals(tally);
        for (number, Part { engine: other, tally }) in others.iter_mut().enumerate() {
            let channels = &engine.world().channels;
            let own = other.port_totals(tally).into_iter().zip(channels);
            for ((own, channel), totals) in own.zip(&mut totals) {
                if place(*partition, channel.node as usize) == Some(number) {
                    *totals = own;
                }
            }
        }
        totals
    }

    /// The totals of the nodes.
    pub fn node_totals(&self) -> Vec<NodeTotals> {
        let mut totals = self.engine.node_totals(self.tally);
        for (place, part) in self.others.iter().enumerate() {
            let own = part.engine.node_totals(&part.tally).into_iter().enumerate();
            for ((node, own), totals) in own.zip(&mut totals) {
                if self.place(node) == Some(place) {
                    *totals = own;
                }
            }
        }
        totals
    }

    /// The totals of the engines so far.
    pub fn totals(&self) -> EngineTotals {
        let others = self.others.iter().map(|part| part.engine.totals());
        others.fold(self.engine.totals(), |all, own| EngineTotals {
            events: all.events + own.events,
            packet_hops: all.packet_hops + own.packet_hops,
        })
    }

    fn place(&self, node: usize) -> Option<usize> {
        place(self.partition, node)
    }
}

impl<O: Observer> Engines<'_, O> {
    /// Brings all counters to the present.
    pub fn settle(&mut self) {
        self.engine.settle(self.tally);
        self.others.iter_mut().for_each(|Part { engine, tally }| engine.settle(tally));
    }

    /// Reports the present state of the flows to the observer.
    pub fn sample_flows(&mut self, plan: &Plan, now: Instant) {
        let Self { engine, tally, others, partition } = self;
        let state = State { engine, others, partition: *partition };
        state.sample_flows(plan, now, &mut tally.inner);
    }

    /// Reports the present state of the queues to the observer.
    pub fn sample_queues(&mut self) {
        let Self { engine, tally, others, partition } = self;
        State { engine, others, partition: *partition }.sample_queues(&mut tally.inner);
    }

    /// Applies a change to a port now: see [`Engine::change`].
    pub fn change(&mut self, port: PortId, action: &Action) -> Option<Result<(), String>> {
        let node = self.engine.world().channels.get(port.0 as usize)?.node;
        match self.place(node as usize) {
            None => self.engine.change(port, action, self.tally),
            Some(place) => {
                let Part { engine, tally } = &mut self.others[place];
                engine.change(port, action, tally)
            }
        }
    }

    /// Sets an option of the connection of `flow` at the host `node`, now.
    ///
    /// # Errors
    /// The reason why it was not set.
    pub fn set_option(
        &mut self,
        node: usize,
        flow: FlowId,
        option: &SocketOption,
    ) -> Result<(), OptionError> {
        match self.place(node) {
            None => self.engine.set_option(node as u32, flow, option, self.tally),
            Some(place) => {
                let Part { engine, tally } = &mut self.others[place];
                engine.set_option(node as u32, flow, option, tally)
            }
        }
    }
}
