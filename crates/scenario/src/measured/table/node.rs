//! What a node itself did.

use super::super::Aggregate::{self, Max, Sum};
use super::super::Better::{Higher, Lower, Neither};
use super::super::Kind::{Duration, Number, Rate, Share, Size};
use super::super::Quantity;
use super::notifications::{NODE_CNMS_RECEIVED, NODE_CNMS_SENT, NODE_FLOWS_LIMITED};
use super::pauses::{NODE_PAUSED, NODE_PAUSES_SENT};
use super::quantity;

pub(in crate::measured) const NODE: &[Quantity] = &[
    quantity("drops", Number, Sum, Lower, "Packets that the node itself dropped."),
    quantity(
        "memory_max",
        Size,
        Max,
        Lower,
        "The most bytes that a switch's ports shared at once.",
    )
    .at("memory.bytes_max"),
    quantity(
        "shared_max",
        Size,
        Max,
        Lower,
        "The most bytes in the part of a switch's memory that all ports share.",
    )
    .at("memory.shared_bytes_max"),
    quantity("shared", Size, Max, Neither, "The size of that part.").at("memory.shared_bytes"),
    NODE_PAUSES_SENT,
    NODE_PAUSED,
    NODE_CNMS_SENT,
    NODE_CNMS_RECEIVED,
    NODE_FLOWS_LIMITED,
    quantity(
        "processor.utilisation",
        Share,
        Max,
        Lower,
        "Share of the time that a host's processor was busy, where one is modelled.",
    ),
    quantity(
        "processor.memory_left",
        Rate,
        Aggregate::None,
        Higher,
        "Bytes per second that another program there copies from memory to memory in the time that is left.",
    ),
    seconds("processor.seconds.copy_file_to_buffer", "Copying files to programs' buffers."),
    seconds("processor.seconds.copy_to_socket", "Copying to send buffers."),
    seconds("processor.seconds.copy_from_socket", "Copying from receive buffers."),
    seconds("processor.seconds.copy_buffer_to_file", "Copying programs' buffers to files."),
    seconds("processor.seconds.program", "What programs did with their data."),
    seconds("processor.seconds.checksum", "Reading payload for TCP's checksum."),
    seconds("processor.seconds.system_call", "System calls."),
    seconds("processor.seconds.wakeup", "Waking programs."),
    seconds("processor.seconds.interrupt", "Interrupts of interfaces."),
    seconds("processor.seconds.tcp_output", "TCP, making segments."),
    seconds("processor.seconds.ip_output", "IP, making packets."),
    seconds("processor.seconds.ip_input", "IP, taking packets."),
    seconds("processor.seconds.tcp_input_data", "TCP, taking segments with data."),
    seconds("processor.seconds.tcp_input_ack", "TCP, taking segments without data."),
    seconds("processor.seconds.segment_sent", "What each segment sent costs beside these."),
    seconds("processor.seconds.segment_received", "What each segment received costs beside these."),
    seconds("processor.seconds.queue_walk", "Walking the retransmission queue."),
    seconds("processor.seconds.dma_read", "Waiting while interfaces take frames out of memory."),
    seconds("processor.seconds.dma_write", "Waiting while interfaces put frames into memory."),
    seconds(
        "processor.seconds.dma_gaps",
        "Waiting while interfaces take gap frames out of memory.",
    ),
];

/// Time of a host's processor.
const fn seconds(name: &'static str, what: &'static str) -> Quantity {
    quantity(name, Duration, Sum, Lower, what)
}
