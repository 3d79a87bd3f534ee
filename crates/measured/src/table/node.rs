//! Results of a node itself.

use super::notifications::{NODE_CNMS_RECEIVED, NODE_CNMS_SENT, NODE_FLOWS_LIMITED};
use super::pauses::{NODE_PAUSED, NODE_PAUSES_SENT};
use crate::quantity::Aggregate::{self, Max, Sum};
use crate::quantity::Better::{Higher, Lower, Neither};
use crate::quantity::Kind::{Duration, Number, Rate, Share, Size};
use crate::quantity::{Quantity, quantity};

pub(crate) const NODE: &[Quantity] = &[
    quantity("drops", Number, Sum, Lower, "Packets dropped by the node itself."),
    quantity("memory_max", Size, Max, Lower, "Max bytes in a switch's packet memory.")
        .at("memory.bytes_max"),
    quantity(
        "shared_max",
        Size,
        Max,
        Lower,
        "Max bytes in the shared part of a switch's packet memory.",
    )
    .at("memory.shared_bytes_max"),
    quantity("shared", Size, Max, Neither, "Size of the shared part of a switch's packet memory.")
        .at("memory.shared_bytes"),
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
        "Share of the time that a host's modelled processor was busy.",
    ),
    quantity(
        "processor.memory_left",
        Rate,
        Aggregate::None,
        Higher,
        "Memory copy bandwidth left to another program there, in bytes per second.",
    ),
    seconds("processor.seconds.copy_file_to_buffer", "Copying files to programs' buffers."),
    seconds("processor.seconds.copy_to_socket", "Copying to send buffers."),
    seconds("processor.seconds.copy_from_socket", "Copying from receive buffers."),
    seconds("processor.seconds.copy_buffer_to_file", "Copying programs' buffers to files."),
    seconds("processor.seconds.program", "Processing of data by programs."),
    seconds("processor.seconds.checksum", "Reading payload for the TCP checksum."),
    seconds("processor.seconds.system_call", "System calls."),
    seconds("processor.seconds.wakeup", "Waking programs."),
    seconds("processor.seconds.interrupt", "Interrupts of interfaces."),
    seconds("processor.seconds.tcp_output", "TCP output of segments."),
    seconds("processor.seconds.ip_output", "IP output of packets."),
    seconds("processor.seconds.ip_input", "IP input of packets."),
    seconds("processor.seconds.tcp_input_data", "TCP input of segments with data."),
    seconds("processor.seconds.tcp_input_ack", "TCP input of segments without data."),
    seconds("processor.seconds.segment_sent", "Other costs of each sent segment."),
    seconds("processor.seconds.segment_received", "Other costs of each received segment."),
    seconds("processor.seconds.queue_walk", "Walking the retransmission queue."),
    seconds("processor.seconds.dma_read", "Waiting while interfaces read frames from memory."),
    seconds("processor.seconds.dma_write", "Waiting while interfaces write frames to memory."),
    seconds("processor.seconds.dma_gaps", "Waiting while interfaces read gap frames from memory."),
];

/// Time of a host's processor.
const fn seconds(name: &'static str, what: &'static str) -> Quantity {
    quantity(name, Duration, Sum, Lower, what)
}
