//! A discipline before a host's line: a qdisc of the module `sch_suimon` at the line's rate.

use base::{Bytes, Rate};
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use traffic_kernel::netlink::{KIND, OVERHEAD, RATE, TABLE};

use crate::Error;
use crate::netlink::Socket;

/// A discipline, and the line that it sends by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleQdisc {
    /// The discipline's settings, as [`traffic_kernel::table`] writes them.
    pub table: String,
    /// The line's rate.
    pub rate: Rate,
    /// Bytes of a frame on the wire besides the frame itself.
    pub overhead: Bytes,
}

/// Installs the discipline on the interface `index`.
pub(super) fn install(socket: &mut Socket, index: u32, qdisc: &ModuleQdisc) -> Result<(), Error> {
    let mut text = qdisc.table.clone().into_bytes();
    text.push(0);
    let overhead = u32::try_from(qdisc.overhead.0).unwrap_or(u32::MAX);
    let options = [
        (TABLE, text),
        (RATE, qdisc.rate.bits_per_second().to_ne_bytes().to_vec()),
        (OVERHEAD, overhead.to_ne_bytes().to_vec()),
    ]
    .map(|(kind, value)| TcOption::Other(DefaultNla::new(kind, value)));
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = TcHandle::ROOT;
    message.header.handle = TcHandle { major: 1, minor: 0 };
    message.attributes = vec![TcAttribute::Kind(KIND.into()), TcAttribute::Options(options.into())];
    socket
        .change(Message::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_REPLACE)
        .map_err(Error::system("add a qdisc of sch_suimon to a host's link"))
}
