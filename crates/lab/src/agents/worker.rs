//! The agents' thread: waits for sockets and timers, and dispatches the events to the flows.

use std::sync::Arc;

use base::{FlowId, Instant};
use engine::{Agenda, Task};
use network::Schedule;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::Target;
use transport::OptionError;

use super::applications::{Applications, Socket};
use super::opening::{Agent, FlowSockets, Opened};
use super::tcp::Listener;
use super::{Ended, Sample};
use crate::clock::Clock;
use crate::{Error, threads};

/// The kind of source of an epoll event; the number of the socket or listener comes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Token {
    Socket,
    Listener,
    Timer,
    Stop,
}

impl Token {
    fn event(self, number: u32, flags: EpollFlags) -> EpollEvent {
        EpollEvent::new(flags, (self as u64) << 32 | u64::from(number))
    }

    fn of(event: &EpollEvent) -> (Self, u32) {
        let token = match event.data() >> 32 {
            0 => Self::Socket,
            1 => Self::Listener,
            2 => Self::Timer,
            _ => Self::Stop,
        };
        (token, event.data() as u32)
    }
}

/// Events taken at a time.
const EVENTS: usize = 256;

/// The state of the agents' thread.
pub(super) struct Worker<S> {
    plan: Arc<Plan>,
    clock: Clock,
    epoll: Epoll,
    agents: Vec<Agent>,
    applications: Applications,
    listeners: Vec<Listener>,
    /// One source for each flow, one for the agenda, and one for each application.
    timers: Schedule,
    /// The system's timer.
    timer: TimerFd,
    /// The time to which the timer is set.
    armed: Instant,
    agenda: Agenda,
    /// The flows' totals at each snapshot.
    snapshots: Vec<Vec<FlowTotals>>,
    /// The results of the changes of connections, with their numbers in the plan.
    changes: Vec<(usize, Option<String>)>,
    samples: S,
    stopped: bool,
}

impl<S: FnMut(Sample)> Worker<S> {
    /// Registers all sources with epoll. A write to `stop` ends the work.
    pub(super) fn new(
        plan: Arc<Plan>,
        Opened { agents, applications, listeners }: Opened,
        clock: Clock,
        stop: &EventFd,
        samples: S,
    ) -> nix::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(stop, Token::Stop.event(0, EpollFlags::EPOLLIN))?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        epoll.add(&timer, Token::Timer.event(0, EpollFlags::EPOLLIN))?;
        for (number, listener) in (0..).zip(&listeners) {
            epoll.add(listener.socket(), Token::Listener.event(number, EpollFlags::EPOLLIN))?;
        }
        for (number, socket) in (0..).zip(applications.sockets()) {
            if let Some((socket, flags)) = socket.kernel() {
                epoll.add(socket, Token::Socket.event(number, flags))?;
            }
        }
        let mut timers = Schedule::new(agents.len() + applications.len() + 1);
        for (number, agent) in (0..).zip(&agents) {
            timers.set(number, agent.next_wakeup());
        }
        for number in 0..applications.len() as u32 {
            timers.set(agents.len() as u32 + 1 + number, applications.next_wakeup(number));
        }
        let agenda = Agenda::of_sockets(&plan);
        timers.set(agents.len() as u32, agenda.next());
        Ok(Self {
            plan,
            clock,
            epoll,
            agents,
            applications,
            listeners,
            timers,
            timer,
            armed: Instant::NEVER,
            agenda,
            snapshots: Vec::new(),
            changes: Vec::new(),
            samples,
            stopped: false,
        })
    }

    /// Works until `stop` is written to. Returns the results of each flow.
    pub(super) fn run(mut self) -> Result<Ended, Error> {
        let mut events = [EpollEvent::empty(); EVENTS];
        // Without timer slack, the kernel wakes this thread on time. The default slack of 50 us, which saves power,
        // would delay flows that start at 0 s and all periodic events. A refusal is ignored: the delay remains.
        let _ = set_timerslack(1);
        // Otherwise flows that start at 0 s would start now, and count the time until 0 s as part of the handshake.
        std::thread::sleep(self.clock.until(Instant::ZERO));
        let mut now = self.clock.now();
        while !self.stopped {
            self.wake_due(now);
            self.arm().map_err(Error::system("set a timer"))?;
            let count = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Err(Errno::EINTR) => 0,
                result => result.map_err(Error::system("wait for sockets"))?,
            };
            now = self.clock.now();
            for (nth, event) in events.iter().take(count).enumerate() {
                if nth > 0 {
                    // Handling the earlier events took time.
                    now = self.clock.now();
                }
                self.handle(event, now)?;
            }
        }
        let (flows, waited) = (self.totals(), threads::waited());
        Ok(Ended { flows, snapshots: self.snapshots, changes: self.changes, waited })
    }

    /// Wakes the agents and applications that are due, at most as many as there are in total, so that sockets get their
    /// turn. Events after the end are not run.
    fn wake_due(&mut self, now: Instant) {
        let end = Instant::ZERO + self.plan.duration;
        for _ in 0..=self.agents.len() + self.applications.len() {
            let Some((_, number)) = self.timers.due(now.min(end)) else { break };
            self.wake(number, now);
        }
    }

    /// Sets the system's timer to the next wake-up time. This takes a system call, as reading the clock does in a
    /// guest, so it is skipped if the time is unchanged, as for most segments.
    fn arm(&mut self) -> nix::Result<()> {
        let end = Instant::ZERO + self.plan.duration;
        let next = Some(self.timers.earliest()).filter(|&at| at <= end).unwrap_or(Instant::NEVER);
        if next == self.armed {
            return Ok(());
        }
        self.armed = next;
        if next == Instant::NEVER {
            return self.timer.unset();
        }
        let at = Expiration::OneShot(TimeSpec::from_duration(self.clock.on_system(next)));
        self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
    }

    fn wake(&mut self, number: u32, now: Instant) {
        let Some(agent) = self.agents.get_mut(number as usize) else {
            return match number - self.agents.len() as u32 {
                0 => self.follow_agenda(now),
                application => {
                    self.applications.wake(application - 1, now);
                    self.rearm(application - 1);
                }
            };
        };
        agent.wake(now, &self.applications);
        self.timers.set(number, agent.next_wakeup());
    }

    /// Sets an application's timer.
    fn rearm(&mut self, application: u32) {
        let timer = self.agents.len() as u32 + 1 + application;
        self.timers.set(timer, self.applications.next_wakeup(application));
    }

    /// Sets the timer of the application that owns the socket.
    fn rearm_of(&mut self, socket: u32) {
        if let Some(application) = self.applications.of(socket) {
            self.rearm(application);
        }
    }

    /// Runs the tasks that are due. If several samples are overdue, only one is taken.
    fn follow_agenda(&mut self, now: Instant) {
        let mut samples = false;
        while let Some((_, task)) = self.agenda.due(now) {
            match task {
                Task::SampleFlows => samples = true,
                Task::Snapshot => self.snapshots.push(self.totals()),
                Task::Change(number) => self.change(number),
                Task::Mark(_) | Task::SampleQueues => {}
            }
        }
        if samples {
            self.sample(now);
        }
        self.timers.set(self.agents.len() as u32, self.agenda.next());
    }

    /// Makes change `number` of the plan to its connections.
    fn change(&mut self, number: usize) {
        let Self { plan, agents, applications, .. } = self;
        let Target::Sockets(options) = &plan.changes[number].target else { return };
        let refused = options.set_each(plan, |node, flow, option| {
            let socket = agents[flow].socket_at(&plan.flows[flow], node);
            applications.set_option(socket.ok_or(OptionError::NotOpen)?, option)
        });
        self.changes.push((number, refused));
    }

    /// Samples the state of every flow that has started. The fabric samples the flows of programs.
    fn sample(&mut self, now: Instant) {
        for ((number, agent), flow) in (0..).zip(&self.agents).zip(&self.plan.flows) {
            if now >= agent.start && agent.sockets.is_some() {
                let mut ends = agent.infos(&self.applications);
                if flow.reader() == flow.from {
                    ends.reverse();
                }
                (self.samples)(Sample { now, flow: FlowId(number), ends });
            }
        }
    }

    fn handle(&mut self, event: &EpollEvent, now: Instant) -> Result<(), Error> {
        let (token, number) = Token::of(event);
        let flags = event.events();
        match token {
            Token::Stop => self.stopped = true,
            // The schedule knows who is due. Setting the timer again clears the event.
            Token::Timer => {}
            Token::Listener => self.accept(number)?,
            Token::Socket => {
                self.applications.on_ready(number, flags, now);
                self.rearm_of(number);
            }
        }
        Ok(())
    }

    fn accept(&mut self, listener: u32) -> Result<(), Error> {
        let accept = |listeners: &[Listener]| listeners.get(listener as usize)?.accept();
        while let Some((socket, peer, flow)) = accept(&self.listeners) {
            let agent = self.agents.get(flow as usize);
            let Some(FlowSockets { ends: [_, Some(far)], .. }) =
                agent.and_then(|agent| agent.sockets)
            else {
                continue;
            };
            let accepted = self.applications.accept(far, socket, peer, self.clock.now());
            accepted
                .and_then(|socket| match socket.and_then(Socket::kernel) {
                    Some((socket, flags)) => {
                        self.epoll.add(socket, Token::Socket.event(far, flags))
                    }
                    None => Ok(()),
                })
                .map_err(Error::system("accept a connection"))?;
            self.rearm_of(far);
        }
        Ok(())
    }

    fn totals(&self) -> Vec<FlowTotals> {
        let now = self.clock.now().min(Instant::ZERO + self.plan.duration);
        let flows = self.plan.flows.iter().zip(&self.agents);
        flows.map(|(flow, agent)| agent.totals(flow, now, &self.applications)).collect()
    }
}
