//! What a host knows of its connections, sockets and flows. None of it changes the host.

use base::{FlowId, Instant};
use transport::Info;

use super::{Host, SOCKETS};
use crate::application::{Application, SocketId};
use crate::datagram::Delay;

impl Host {
    /// Connections that are open.
    pub fn open_connections(&self) -> usize {
        self.endpoints.len() - self.free.len()
    }

    /// The maximum number of connections open at once.
    pub fn connection_places(&self) -> usize {
        self.endpoints.len()
    }

    /// The maximum number of applications that were here at once.
    pub fn application_places(&self) -> usize {
        self.applications.places()
    }

    /// The state of the connection of `flow` here; for datagrams, the counters.
    pub fn info(&self, flow: FlowId) -> Option<Info> {
        match self.by_flow.get(flow) {
            number @ SOCKETS.. => self.applications.info(number - SOCKETS),
            index => Some(self.endpoints.get(index as usize)?.connection.info()),
        }
    }

    /// The bytes that the program of `flow` has read here, and when it read the last of them.
    pub fn progress(&self, flow: FlowId) -> Option<(u64, Instant)> {
        match self.by_flow.get(flow) {
            number @ SOCKETS.. => self.applications.progress(number - SOCKETS),
            index => Some(self.endpoints.get(index as usize)?.connection.read_progress()),
        }
    }

    /// The application with the socket of `flow`, and the socket's index in it.
    pub fn application(&self, flow: FlowId) -> Option<(&dyn Application, SocketId)> {
        self.applications.application(self.socket(flow)?)
    }

    /// The number of the socket of `flow`.
    fn socket(&self, flow: FlowId) -> Option<u32> {
        match self.by_flow.get(flow) {
            number @ SOCKETS.. => Some(number - SOCKETS),
            index => Some(self.endpoints.get(index as usize)?.socket),
        }
    }

    /// The delays of the datagrams of `flow` that arrived here.
    pub fn delay(&self, flow: FlowId) -> Option<Delay> {
        self.applications.delay(self.by_flow.get(flow).checked_sub(SOCKETS)?)
    }

    /// The flows that end here.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.by_flow.flows()
    }
}
