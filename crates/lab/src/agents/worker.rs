//! The agents' thread: waits for sockets and times, and gives each flow what is its.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time;

use network::Schedule;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::EventFd;
use results::totals::FlowTotals;
use scenario::Plan;
use traffic::{Duration, FlowId, Instant};

use super::opening::{Agent, Kind, Opened};
use super::udp::Scratch;
use super::{Ended, Sample, tcp};
use crate::clock::Clock;
use crate::{Error, threads};

/// What an event concerns, beside the number of the flow or listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum Token {
    Sender,
    Receiver,
    Listener,
    Stop,
}

impl Token {
    fn event(self, number: u32, flags: EpollFlags) -> EpollEvent {
        EpollEvent::new(flags, (self as u64) << 32 | u64::from(number))
    }

    fn of(event: &EpollEvent) -> (Self, u32) {
        let token = match event.data() >> 32 {
            0 => Self::Sender,
            1 => Self::Receiver,
            2 => Self::Listener,
            _ => Self::Stop,
        };
        (token, event.data() as u32)
    }
}

/// What a connection's end is told of, each once: that something came, or that there is room again.
fn stirs() -> EpollFlags {
    EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET
}

/// Events taken at a time.
const EVENTS: usize = 256;

/// What the thread works on.
pub(super) struct Worker<S> {
    plan: Arc<Plan>,
    clock: Clock,
    epoll: Epoll,
    agents: Vec<Agent>,
    listeners: Vec<tcp::Listener>,
    scratch: Scratch,
    /// One source for each flow, and one for the samples.
    timers: Schedule,
    sampling: Option<Duration>,
    samples: S,
    stopped: bool,
}

impl<S: FnMut(Sample)> Worker<S> {
    /// Registers everything; `stop` ends the work when it is written to.
    pub(super) fn new(
        plan: Arc<Plan>,
        Opened { agents, listeners }: Opened,
        clock: Clock,
        stop: &EventFd,
        samples: S,
    ) -> nix::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(stop, Token::Stop.event(0, EpollFlags::EPOLLIN))?;
        for (number, listener) in (0..).zip(&listeners) {
            epoll.add(listener.socket(), Token::Listener.event(number, EpollFlags::EPOLLIN))?;
        }
        let mut timers = Schedule::new(agents.len() + 1);
        for (number, agent) in (0..).zip(&agents) {
            match &agent.kind {
                Kind::Tcp(connection) => {
                    epoll.add(connection.sender(), Token::Sender.event(number, stirs()))?;
                }
                Kind::Udp(datagrams) => {
                    let readable = Token::Receiver.event(number, EpollFlags::EPOLLIN);
                    epoll.add(datagrams.sink(), readable)?;
                }
                Kind::Foreign => {}
            }
            timers.set(number, agent.next_wakeup());
        }
        let sampling = plan.probes.flows.map(|every| every.max(Duration::from_us(1)));
        if sampling.is_some() {
            timers.set(agents.len() as u32, Instant::ZERO);
        }
        let scratch = Scratch::new();
        let stopped = false;
        Ok(Self {
            plan,
            clock,
            epoll,
            agents,
            listeners,
            scratch,
            timers,
            sampling,
            samples,
            stopped,
        })
    }

    /// Works until told to stop; returns what became of each flow.
    pub(super) fn run(mut self) -> Result<Ended, Error> {
        // Times are to be kept to better than the usual 50 us.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut events = [EpollEvent::empty(); EVENTS];
        let end = Instant::ZERO + self.plan.duration;
        while !self.stopped {
            let now = self.clock.now();
            // What would begin after the end does not.
            for _ in 0..=self.agents.len() {
                let Some((_, number)) = self.timers.due(now.min(end)) else { break };
                self.wake(number, now);
            }
            let next = Some(self.timers.earliest()).filter(|&at| at <= end);
            let patience = self.clock.until(next.unwrap_or(Instant::NEVER));
            let count = wait(&self.epoll, &mut events, patience)
                .map_err(Error::system("wait for sockets (epoll_pwait2, Linux 5.11)"))?;
            for event in events.iter().take(count) {
                // Those before it took their time.
                self.handle(event, self.clock.now())?;
            }
        }
        Ok(Ended { flows: self.totals(), waited: threads::waited() })
    }

    fn wake(&mut self, number: u32, now: Instant) {
        let Some(agent) = self.agents.get_mut(number as usize) else {
            return self.sample(number, now);
        };
        agent.wake(now, self.clock, &mut self.scratch);
        self.timers.set(number, agent.next_wakeup());
    }

    /// Tells the state of every flow that has started; of programs the fabric does.
    fn sample(&mut self, timer: u32, now: Instant) {
        for (number, agent) in (0..).zip(&self.agents) {
            if now >= agent.start && !matches!(agent.kind, Kind::Foreign) {
                (self.samples)(Sample { now, flow: FlowId(number), ends: agent.infos() });
            }
        }
        // What the machine was too late for is left out.
        let period = self.sampling.unwrap_or(Duration::MAX).as_ps();
        let next = (now.as_ps() / period).saturating_add(1).saturating_mul(period);
        self.timers.set(timer, Instant::from_ps(next));
    }

    fn handle(&mut self, event: &EpollEvent, now: Instant) -> Result<(), Error> {
        let (token, number) = Token::of(event);
        let flags = event.events();
        match token {
            Token::Stop => self.stopped = true,
            Token::Listener => self.accept(number)?,
            Token::Sender | Token::Receiver => {
                let Some(agent) = self.agents.get_mut(number as usize) else { return Ok(()) };
                match (&mut agent.kind, token) {
                    (Kind::Tcp(connection), Token::Sender) => {
                        connection.sender_stirs(flags.contains(EpollFlags::EPOLLERR), now);
                    }
                    (Kind::Tcp(connection), _) => {
                        connection.receiver_stirs(flags.contains(EpollFlags::EPOLLRDHUP), now);
                    }
                    (Kind::Udp(datagrams), _) => datagrams.readable(self.clock, &mut self.scratch),
                    (Kind::Foreign, _) => {}
                }
                self.timers.set(number, agent.next_wakeup());
            }
        }
        Ok(())
    }

    fn accept(&mut self, listener: u32) -> Result<(), Error> {
        let Some(listener) = self.listeners.get(listener as usize) else { return Ok(()) };
        while let Some((socket, peer, number)) = listener.accept() {
            let agent = self.agents.get_mut(number as usize);
            let Some(Kind::Tcp(connection)) = agent.map(|agent| &mut agent.kind) else { continue };
            connection
                .accept(socket, peer)
                .and_then(|socket| self.epoll.add(socket, Token::Receiver.event(number, stirs())))
                .map_err(Error::system("accept a connection"))?;
        }
        Ok(())
    }

    fn totals(&self) -> Vec<FlowTotals> {
        let now = self.clock.now().min(Instant::ZERO + self.plan.duration);
        let flows = self.plan.flows.iter().zip(&self.agents);
        flows.map(|(flow, agent)| agent.totals(flow, now)).collect()
    }
}

/// Waits for events, at most for `patience`, to the nanosecond; returns how many came.
fn wait(epoll: &Epoll, events: &mut [EpollEvent], patience: time::Duration) -> io::Result<usize> {
    let timeout = libc::timespec {
        tv_sec: patience.as_secs() as libc::time_t,
        tv_nsec: patience.subsec_nanos().into(),
    };
    // SAFETY: `EpollEvent` is the kernel's `epoll_event`, of which it writes at most so many; it reads
    // `timeout` during the call; there is no signal mask.
    let count = unsafe {
        libc::epoll_pwait2(
            epoll.0.as_raw_fd(),
            events.as_mut_ptr().cast(),
            events.len() as i32,
            &raw const timeout,
            std::ptr::null(),
        )
    };
    match Errno::result(count) {
        Err(Errno::EINTR) => Ok(0),
        result => Ok(result? as usize),
    }
}
