//! The sockets of the plan's connections: connecting and listening ones.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use base::header::Header;
use nix::sys::socket::{SockType, getsockopt, sockopt};
use scenario::plan::{Flow, Tcp};

use super::connection::Connection;
use super::socket::{self, Route};
use crate::Error;
use crate::congestion::Congestion;

/// Opens the socket of the connecting end, in the namespace of this thread.
pub(super) fn open(flow: &Flow, tcp: &Tcp, modules: &Congestion) -> Result<Connection, Error> {
    let route = Route::of(flow)?;
    let near = sender(flow, tcp, route, modules.name_for(tcp, &tcp.sender))
        .map_err(Error::system(format!("open a socket for flow `{}`", flow.name)))?;
    Ok(Connection::connecting(near, route.destination, flow.header.flow_label))
}

/// Creates the end that waits for the connection.
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

/// The listening socket of a host for the connections to one port.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    /// The sources and numbers of the flows to this port, sorted by source.
    flows: Vec<(SocketAddr, u32)>,
}

impl Listener {
    /// Listens for `flows`, given with their numbers, in the namespace of this thread. All flows go to the same address
    /// and port.
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
                set_listener_options(&listener, flow, tcp, route, modules).map(|()| listener)
            });
            let what = format!("listen for flow `{}`", flow.name);
            socket = Some(dressed.map_err(Error::system(what))?);
        }
        sources.sort_unstable();
        let socket = socket.ok_or_else(|| Error::unfit("no flow to listen for", "add a flow"))?;
        socket::accept_many(&socket).map_err(Error::system("listen"))?;
        Ok(Self { socket: TcpListener::from(socket), flows: sources })
    }

    /// Accepts the next connection. Returns its socket, peer and flow number; `None` if there is no connection.
    pub(super) fn accept(&self) -> Option<(OwnedFd, SocketAddr, u32)> {
        loop {
            let (stream, peer) = self.socket.accept().ok()?;
            // A connection that is not in the plan is closed.
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

/// A peer's address without flow label and scope, which depend on its packets.
fn peer_key(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip(), peer.port())
}

/// Sets the options that connections inherit from the listener. The window scale is negotiated before a connection is
/// accepted, so the largest buffer counts. So is ECN: the SYN of an algorithm that needs ECN is itself ECN-capable,
/// and Linux agrees only if the listener's algorithm needs ECN, too (`tcp_ecn_create_request`).
fn set_listener_options(
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
