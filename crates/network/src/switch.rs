//! A switch of lossless Ethernet (data center bridging): ports that share a packet memory, and pause the far end of
//! a link before its packets find no space, by priority (priority-based flow control, IEEE 802.1Qbb; 802.1Q, clause
//! 36) or as a whole (PAUSE, IEEE 802.3, annex 31B).
//!
//! Where nothing is lossless it is a switch with a shared buffer and dynamic thresholds.

mod buffer;
mod congestion;
mod pauses;

use base::setting::Frequency;
use base::setting::{choice, settings};
use base::thresholds::Thresholds;
use base::{Bytes, DropReason, DscpMap, Duration, HostId, Instant, PacketId, PcpMap, Priorities};
#[cfg(debug_assertions)]
use traffic::Packets;
use traffic::control::NOTIFICATION_PRIORITY;
use traffic::qdisc::{self, ets, fifo, mark};
use traffic::{Control, Notification};

pub use buffer::Occupancy;
pub use congestion::Rules as CongestionRules;

#[cfg(debug_assertions)]
use crate::audit;
use crate::behaviour::{Behaviour, NodeConfig, Parts};
use crate::context::{Context, Egress};
use crate::custody::{Left, Owner};
use crate::forwarding::ForwardingTable;
use crate::ingress::{Ingress, Notifications, Side, Trust};
use crate::invalid::Invalid;
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port};
use buffer::{Buffer, Rules, Threshold};
use congestion::Congestion;
use pauses::Pauses;

choice! {
    /// The method of pausing the far end of a link.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum PauseBy {
        /// Priority-based pause frames: a lossless priority by itself.
        #[default]
        Priority = "priority",
        /// PAUSE frames: all traffic that arrives at the port, which is all lossless.
        Port = "port",
    }
}

settings! {
    /// A switch with a packet memory that its ports share, and with lossless priorities.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Config {
        /// Frequency of the timer that its ports' disciplines use, as a kernel's tick; exact timers unless given.
        #[like(Frequency)]
        pub timer: Duration,
        /// Size of the packet memory, in frame bytes; 12 MB unless given.
        #[range(Bytes(1)..)]
        pub buffer: Bytes,
        /// Lossless priorities: the switch pauses the far end before it would have to drop a packet; none unless
        /// given.
        pub lossless: Priorities,
        /// Map from the DSCP of incoming packets to their priority: "ef:5 24-31:3" as `dcb app` takes it, or a table,
        /// { ef = 5, "24-31" = 3 }. A code point without an entry has its class selector. Hosts attached to the
        /// switch use the same map unless they have one of their own; the packet's previous priority, initially its
        /// class selector, unless given.
        pub dscp: Option<DscpMap>,
        /// Map from the priority of incoming packets at the previous node, which is in the tag, to their priority
        /// here (the priority regeneration table of IEEE 802.1Q, 6.9.4): "5:3 0-2:0", or a table, { 5 = 3, "0-2" = 0
        /// }. A priority without an entry is unchanged. Queueing, pausing and forwarding use the new priority. With a
        /// `dscp` map, this one applies to congestion notifications only, which have no DSCP; all priorities
        /// unchanged unless given.
        pub pcp: Option<PcpMap>,
        /// Unit of pausing: a "priority" (IEEE 802.1Qbb), or the "port" as a whole (802.3 PAUSE), which makes all
        /// priorities lossless; "priority" unless given.
        pub pause: PauseBy,
        /// XOFF threshold of a lossless priority of an ingress port, in bytes of the shared part; set by `alpha`
        /// unless given.
        pub xoff: Option<Bytes>,
        /// Dynamic XOFF threshold, as a multiple of the remaining shared part; 1/8 unless given.
        pub alpha: (u32, u32),
        /// Distance of the XON threshold below XOFF; 3 kB unless given.
        pub xon_offset: Bytes,
        /// Headroom of each lossless priority of an ingress port, above XOFF; the link's requirement unless given.
        pub headroom: Option<Bytes>,
        /// Minimum reserved for each priority of an ingress port; 3 kB unless given.
        pub reserved: Bytes,
        /// Maximum time that a priority of the switch's ports stays paused (a pause storm). The priority then sends
        /// for the same time despite pause frames, at the risk of a loss; no limit unless given.
        #[range(Duration::from_us(1)..)]
        pub watchdog: Option<Duration>,
        /// Limit of an egress queue of any other priority, as a multiple of the remaining shared part; 1/1 unless
        /// given.
        pub lossy_alpha: (u32, u32),
        /// ECN marking threshold of its ports' queues, in queued bytes (discipline `mark`): one threshold, "100 kB",
        /// or two between which the probability rises, { min = "100 kB", max = "400 kB", probability = "20 %" }. It
        /// applies to ports without a `queue` of their own; none unless given.
        pub ecn: Option<Thresholds>,
        /// Priorities with congestion notification (congestion points of IEEE 802.1Qau, QCN): their queues send
        /// notifications to the hosts, which then slow down the flows concerned; none unless given.
        pub qcn: Priorities,
        /// Target length of these queues (cpQSp, Qeq); 26 kB unless given.
        #[range(Bytes(1)..)]
        pub qcn_set_point: Bytes,
        /// Weight of a queue's growth relative to its length (cpW); 2 unless given.
        #[range(..=1024)]
        pub qcn_weight: u32,
        /// Bytes between two samples of a queue that is not congested (cpSampleBase); 150 kB unless given.
        #[range(Bytes(10_000)..)]
        pub qcn_sample_base: Bytes,
        /// Priority of the congestion notifications themselves (cngCnmTransmitPriority); 6 unless given.
        #[range(..=7)]
        pub qcn_priority: u8,
    }
}

impl Default for Config {
    /// 12 MB, as switches of 32 ports of 40 Gbit/s had (Zhu et al., SIGCOMM 2015, section 4).
    fn default() -> Self {
        Self {
            timer: Duration::ZERO,
            buffer: Bytes(12_000_000),
            lossless: Priorities::NONE,
            dscp: None,
            pcp: None,
            pause: PauseBy::Priority,
            xoff: None,
            alpha: (1, 8),
            xon_offset: Bytes(3_000),
            headroom: None,
            reserved: Bytes(3_000),
            watchdog: None,
            lossy_alpha: (1, 1),
            ecn: None,
            qcn: Priorities::NONE,
            qcn_set_point: Bytes(26_000),
            qcn_weight: 2,
            qcn_sample_base: Bytes(150_000),
            qcn_priority: NOTIFICATION_PRIORITY,
        }
    }
}

impl NodeConfig for Config {
    fn fill_defaults(&mut self) -> Result<(), Invalid> {
        if self.pause == PauseBy::Port {
            if !matches!(self.lossless, Priorities::NONE | Priorities::ALL) {
                let message = "PAUSE frames pause all priorities";
                let help = "remove `lossless`, or set pause = \"priority\"";
                return Err(Invalid { setting: "lossless", message, help });
            }
            self.lossless = Priorities::ALL;
        }
        for (setting, (_, under)) in [("alpha", self.alpha), ("lossy_alpha", self.lossy_alpha)] {
            if under == 0 {
                let (message, help) = ("a denominator of zero", "write a fraction such as \"1/8\"");
                return Err(Invalid { setting, message, help });
            }
        }
        Ok(())
    }

    fn timer(&self) -> Duration {
        self.timer
    }

    fn notifications(&self) -> Notifications {
        Notifications::Forward
    }
}

impl Config {
    /// Whether it pauses the far ends of its links.
    pub const fn pauses(&self) -> bool {
        !self.lossless.is_empty()
    }

    /// The source of the priority of arriving packets.
    pub const fn trust(&self) -> Trust {
        Trust { dscp: self.dscp, pcp: self.pcp }
    }

    /// Whether it sends congestion notifications.
    pub const fn notifies(&self) -> bool {
        !self.qcn.is_empty()
    }

    /// The shared part of the packet memory, with ports that need this headroom.
    ///
    /// # Errors
    ///
    /// The memory reserved for the ports, if that is all or more.
    pub fn shared(&self, headrooms: impl Iterator<Item = Bytes>) -> Result<Bytes, Bytes> {
        let all = base::priorities::PRIORITIES as u64;
        let groups = if self.pause == PauseBy::Port { 1 } else { all };
        let lossless = self.lossless.iter().count() as u64;
        let lossless = lossless.min(groups);
        let each = |Bytes(needed): Bytes| {
            let headroom = self.headroom.map_or(needed, |Bytes(given)| given);
            let reserved = self.reserved.0.saturating_mul(groups);
            reserved.saturating_add(headroom.saturating_mul(lossless))
        };
        let own = headrooms.map(each).fold(0, u64::saturating_add);
        match self.buffer.0.checked_sub(own) {
            Some(shared) if shared > 0 => Ok(Bytes(shared)),
            _ => Err(Bytes(own)),
        }
    }

    /// The discipline of its ports: queues limited only by the packet memory.
    pub fn queue(&self) -> qdisc::Parameters {
        self.queues_of(match &self.ecn {
            Some(thresholds) => {
                qdisc::Parameters::Mark(mark::Parameters::of(thresholds, self.buffer))
            }
            None => qdisc::Parameters::Fifo(fifo::Parameters::of_bytes(self.buffer)),
        })
    }

    /// The default discipline of a port that it may pause: an interface's.
    pub fn far_queue(&self) -> qdisc::Parameters {
        self.queues_of(qdisc::Parameters::Fifo(fifo::Parameters::default()))
    }

    /// One queue per priority, highest first (802.1Q strict priority), if priorities are paused individually or
    /// send congestion notifications; otherwise one queue for all.
    fn queues_of(&self, queue: qdisc::Parameters) -> qdisc::Parameters {
        let stopped = self.pauses() && self.pause == PauseBy::Priority;
        if !stopped && !self.notifies() {
            return queue;
        }
        let class = |priority: u8| ets::Class {
            name: format!("priority{priority}"),
            priorities: Priorities::one(priority),
            queue: queue.clone(),
            ..ets::Class::default()
        };
        let classes = Priorities::ALL.iter().map(class).rev().collect();
        qdisc::Parameters::Ets(ets::Parameters { classes, ..ets::Parameters::default() })
    }

    fn congestion(&self, ports: usize, node: u32, seed: u64) -> Option<Box<Congestion>> {
        let rules = CongestionRules {
            set_point: self.qcn_set_point,
            weight: self.qcn_weight,
            sample_base: self.qcn_sample_base,
        };
        let points = || Congestion::new(rules, self.qcn, self.qcn_priority, ports, node, seed);
        self.notifies().then(|| Box::new(points()))
    }

    fn buffer(&self, sides: &[Side]) -> Buffer {
        // The plan was checked: the ports reserve less than the whole memory.
        let shared = self.shared(sides.iter().map(|side| side.headroom)).unwrap_or(Bytes(0));
        let (over, under) = self.alpha;
        let rules = Rules {
            lossless: self.lossless,
            whole_ports: self.pause == PauseBy::Port,
            xoff: match self.xoff {
                Some(Bytes(bytes)) => Threshold::Fixed(bytes),
                None => Threshold::Dynamic(over, under),
            },
            xon_offset: self.xon_offset.0,
            lossy: Threshold::Dynamic(self.lossy_alpha.0, self.lossy_alpha.1),
            reserved: self.reserved.0,
            shared: shared.0,
        };
        let headroom = |side: &Side| self.headroom.unwrap_or(side.headroom);
        Buffer::new(rules, sides.iter().map(headroom))
    }
}

/// The switch.
#[derive(Debug)]
pub struct Switch {
    number: u32,
    ports: Vec<Port>,
    ingress: Ingress,
    table: ForwardingTable,
    buffer: Buffer,
    pauses: Pauses,
    /// The congestion points; `None` if no queue sends congestion notifications.
    congestion: Option<Box<Congestion>>,
    /// Its events, after some of which its memory is checked.
    #[cfg(debug_assertions)]
    events: u64,
}

/// The memory as the owner of the packets of one egress port.
struct Custody<'a> {
    buffer: &'a mut Buffer,
    egress: u32,
}

impl Owner for Custody<'_> {
    #[inline]
    fn left(&mut self, Left { packet, .. }: Left<'_>) {
        self.buffer.release([packet.ingress, self.egress], packet.priority, packet.length);
    }
}

impl Switch {
    /// The node with its ports.
    pub fn new(config: &Config, parts: Parts) -> Self {
        let Parts { number, ports, sides, table, seed } = parts;
        let (buffer, pauses) = (config.buffer(&sides), Pauses::new(config.pause));
        let congestion = config.congestion(ports.len(), number, seed);
        let ingress = Ingress::new(number, sides);
        Self {
            number,
            ingress,
            ports,
            table,
            buffer,
            pauses,
            congestion,
            #[cfg(debug_assertions)]
            events: 0,
        }
    }

    /// The occupancy of its packet memory.
    pub fn occupancy(&self) -> Occupancy {
        self.buffer.occupancy()
    }

    /// The number of congestion notifications from the queues of port `port`; `None` if its queues send none.
    pub fn notifications(&self, port: u32) -> Option<u64> {
        self.congestion.as_ref().map(|congestion| congestion.sent(port as usize))
    }

    /// The maximum bytes that arrived at port `ingress` after a priority was paused, and the space for them.
    pub fn headroom(&self, ingress: u32) -> [Bytes; 2] {
        self.buffer.headroom(ingress)
    }

    /// Ends the pauses of all groups that may go on.
    #[inline]
    fn let_go_on<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        while let Some(group) = self.buffer.take_going_on() {
            self.pauses.end(group, &mut self.ports, cx);
        }
        #[cfg(debug_assertions)]
        {
            self.events += 1;
            if audit::is_due(self.events) {
                self.assert_accounts(cx.packets);
            }
        }
    }

    /// Asserts the rule of custody: the memory's counts equal what the ports hold; by group if there are few
    /// packets.
    #[cfg(debug_assertions)]
    fn assert_accounts(&self, packets: &Packets) {
        const FEW: usize = 256;
        let backlog = self.ports.iter().map(|port| port.statistics().backlog_bytes).sum();
        assert_eq!(self.buffer.bytes(), backlog, "bytes in the switch {}", self.number);
        if packets.places() > FEW {
            return;
        }
        let of_port = |(egress, port): (u32, &Port)| {
            let held = packets.held_by(port.holder());
            let account = move |(_, packet): (_, &base::Packet)| {
                ([packet.ingress, egress], packet.priority, packet.length)
            };
            held.map(account).collect::<Vec<_>>()
        };
        self.buffer.assert_accounts((0..).zip(&self.ports).flat_map(of_port));
    }

    /// Queues a packet at its egress port, and pauses the far end of its ingress port if its group holds too much.
    #[inline]
    fn forward<E: Egress, O: Observer>(
        &mut self,
        [ingress, egress]: [u32; 2],
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let priority = cx.packets[packet].priority;
        if self.congestion.is_some() {
            self.sample([ingress, egress], packet, cx);
        }
        self.offer(egress, packet, cx);
        if let Some(group) = self.buffer.stop(ingress, priority) {
            self.pauses.begin(group, &mut self.ports, cx);
            cx.egress.wake(self.number, self.pauses.next_refresh());
        }
        self.let_go_on(cx);
    }

    /// Offers a packet, already accounted in the packet memory, to its egress port.
    #[inline(always)]
    fn offer<E: Egress, O: Observer>(
        &mut self,
        egress: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let port = &mut self.ports[egress as usize];
        let owner = &mut Custody { buffer: &mut self.buffer, egress };
        if port.offer(packet, owner, cx) == Offered::Ready {
            let next = port.transmit(owner, cx);
            cx.egress.resume(port.id(), next);
        }
    }

    /// Samples the queue that a packet enters, if it may be congested.
    #[inline(never)]
    fn sample<E: Egress, O: Observer>(
        &mut self,
        [ingress, egress]: [u32; 2],
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let Some(congestion) = &mut self.congestion else { return };
        let sampled = &cx.packets[packet];
        let length = self.buffer.queue(egress, sampled.priority);
        if let Some(said) = congestion.sample(egress, sampled, length) {
            let (to, priority) = (sampled.source, congestion.priority);
            self.notify(ingress, to, priority, said, cx);
        }
    }

    /// Sends a congestion notification to a sender, as an ordinary frame: it takes memory of the port through which
    /// the sender's frame arrived.
    #[cold]
    fn notify<E: Egress, O: Observer>(
        &mut self,
        ingress: u32,
        destination: HostId,
        priority: u8,
        said: Notification,
        cx: &mut Context<'_, E, O>,
    ) {
        let said = Control::Notification(said);
        let Some(id) = cx.packets.try_insert_control(said) else { return };
        let frame = &mut cx.packets[id];
        (frame.source, frame.destination) = (HostId(self.number), destination);
        (frame.priority, frame.ingress, frame.created) = (priority, ingress, cx.now);
        let length = cx.packets[id].length;
        let egress = self.table.port(&cx.packets[id], cx.now);
        let verdict = match self.ports.get(egress as usize) {
            Some(_) => self.buffer.admit([ingress, egress], priority, length),
            None => Err(DropReason::NoRoute),
        };
        match verdict {
            Ok(()) => self.offer(egress, id, cx),
            Err(reason) => cx.drop(Place::Node(self.number), id, reason),
        }
    }
}

impl Behaviour for Switch {
    // Not inlined: within the engine's loop its code would cost a router 7 % more instructions per packet.
    #[inline(never)]
    fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        if !self.ingress.admit(&mut self.ports, ingress, packet, cx) {
            return;
        }
        let arrived = &mut cx.packets[packet];
        arrived.ingress = ingress;
        let (priority, length) = (arrived.priority, arrived.length);
        let egress = self.table.port(arrived, cx.now);
        let verdict = if (egress as usize) < self.ports.len() {
            self.buffer.admit([ingress, egress], priority, length)
        } else {
            Err(DropReason::NoRoute)
        };
        match verdict {
            Ok(()) => self.forward([ingress, egress], packet, cx),
            Err(reason) => cx.drop(Place::Node(self.number), packet, reason),
        }
    }

    #[inline(never)]
    fn transmit<E: Egress, O: Observer>(
        &mut self,
        egress: u32,
        cx: &mut Context<'_, E, O>,
    ) -> Instant {
        let port = &mut self.ports[egress as usize];
        let next = port.transmit(&mut Custody { buffer: &mut self.buffer, egress }, cx);
        self.let_go_on(cx);
        // The far end of its own link may have been allowed to go on.
        let port = &self.ports[egress as usize];
        if port.waiting_control_frames() > 0 { port.after_sending(cx.now).min(next) } else { next }
    }

    fn with_port<E: Egress, O: Observer, R>(
        &mut self,
        egress: u32,
        cx: &mut Context<'_, E, O>,
        act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
    ) -> R {
        let port = &mut self.ports[egress as usize];
        let result = act(port, &mut Custody { buffer: &mut self.buffer, egress }, cx);
        self.let_go_on(cx);
        result
    }

    fn next_wakeup(&self) -> Instant {
        self.pauses.next_refresh()
    }

    fn wake<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        self.pauses.refresh(&mut self.ports, cx);
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    fn ingress_mut(&mut self) -> &mut Ingress {
        &mut self.ingress
    }

    fn ports_mut(&mut self) -> &mut [Port] {
        &mut self.ports
    }
}
