//! The sockets of the plan's connections: those that connect, and those that listen.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use nix::sys::socket::{SockType, getsockopt, sockopt};
use scenario::plan::{Flow, Tcp};
use traffic::header::Header;

use super::connection::Connection;
use super::socket::{self, Route};
use crate::Error;
use crate::congestion::Congestion;

/// Makes the socket of the end that connects, in the namespace of this thread.
pub(super) fn open(flow: &Flow, tcp: &Tcp, modules: &Congestion) -> Result<Connection, Error> {
    let route = Route::of(flow)?;
    let near = sender(flow, tcp, route, modules.name_for(tcp, &tcp.sender))
        .map_err(Error::system(format!("open a socket for flow `{}`", flow.name)))?;
    Ok(Connection::connecting(near, route.destination, flow.header.flow_label))
}

/// The end that waits for it.
pub(super) fn expect(flow: &Flow, tcp: &Tcp, modules: &Congestion) -> Connection {
    let controlled = tcp.receiver_controls();
    let congestion = controlled.then(|| modules.name_for(tcp, &tcp.receiver).to_owned());
    Connection::accepting(flow.header, tcp.receiver.clone(), congestion)
}

fn sender(flow: &Flow, tcp: &Tcp, route: Route, congestion: &str) -> nix::Result<OwnedFd> {
    let config = &tcp.sender;
    let sender = socket::open(SockType::Stream, route.source)?;
    socket::mark(&sender, &flow.header, 0, route.destination)?;
    socket::size(&sender, &config.buffers)?;
    socket::control(&sender, congestion)?;
    socket::send_at_once(&sender, !config.emission.nagle)?;
    if config.emission.pacing {
        socket::pace(&sender, config.emission.pacing_rate_max)?;
    }
    Ok(sender)
}

/// Where a host's connections to one port come in.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    /// The flows that come in there by their source, sorted.
    flows: Vec<(SocketAddr, u32)>,
}

impl Listener {
    /// Listens for `flows`, given with their numbers, in the namespace of this thread. All go to the same
    /// address and port.
    pub(super) fn open(flows: &[(u32, &Flow, &Tcp)], modules: &Congestion) -> Result<Self, Error> {
        let mut sources = Vec::new();
        let mut socket = None;
        for &(number, flow, tcp) in flows {
            let route = Route::of(flow)?;
            sources.push((route.source, number));
            let opened = match socket.take() {
                Some(socket) => Ok(socket),
                None => socket::open(SockType::Stream, route.destination),
            };
            let dressed = opened.and_then(|listener| {
                dress(&listener, flow, tcp, route, modules).map(|()| listener)
            });
            let what = format!("listen for flow `{}`", flow.name);
            socket = Some(dressed.map_err(Error::system(what))?);
        }
        sources.sort_unstable();
        let socket = socket.ok_or_else(|| Error::unfit("nothing to listen for", "name a flow"))?;
        socket::accept_many(&socket).map_err(Error::system("listen"))?;
        Ok(Self { socket: TcpListener::from(socket), flows: sources })
    }

    /// The next connection that came, and which flow's it is; `None` if none has.
    pub(super) fn accept(&self) -> Option<(OwnedFd, SocketAddr, u32)> {
        loop {
            let (stream, peer) = self.socket.accept().ok()?;
            // A connection that the plan does not know is closed.
            let place = self.flows.binary_search_by_key(&peer_key(peer), |&(source, _)| source);
            if let Some(&(_, number)) = place.ok().and_then(|place| self.flows.get(place)) {
                return Some((stream.into(), peer, number));
            }
        }
    }

    pub(super) fn socket(&self) -> &TcpListener {
        &self.socket
    }
}

/// A peer without what only its packets say: flow label and scope.
fn peer_key(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip(), peer.port())
}

/// What a connection takes over from its listener: the window scale is agreed on before it is accepted, so
/// the largest buffer counts. So is ECN: the SYN of an algorithm that needs it is ECN-capable itself, and Linux agrees only
/// where the listener's algorithm needs it, too (`tcp_ecn_create_request`).
fn dress(
    listener: &OwnedFd,
    flow: &Flow,
    tcp: &Tcp,
    route: Route,
    modules: &Congestion,
) -> nix::Result<()> {
    let header = Header { flow_label: 0, ..flow.header };
    socket::mark(listener, &header, 0, route.source)?;
    if route.source.is_ipv6() && flow.header.flow_label != 0 {
        socket::reflect_label(listener)?;
    }
    if getsockopt(listener, sockopt::RcvBuf)? as u64 / 2 < tcp.receiver.buffers.receive.max() {
        socket::size(listener, &tcp.receiver.buffers)?;
    }
    if tcp.receiver_needs_ecn() {
        socket::control(listener, modules.name_for(tcp, &tcp.receiver))?;
    }
    Ok(())
}
