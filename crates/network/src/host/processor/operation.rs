//! The operations of a host's processor by name, the cost of each, and the time spent on each so far.

use base::{Bytes, Duration, Rate};

use super::{DataPath, Processor};

macro_rules! operations {
    ($(#[doc = $doc:literal] $operation:ident = $name:literal,)+) => {
        /// The operations of a processor for packets and programs (paper 3, tables 2 to 4).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $(#[doc = $doc] $operation,)+
        }

        impl Operation {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$operation),+];

            /// The name in results.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$operation => $name),+ }
            }

            /// The path of its time in the results of a node.
            pub const fn path(self) -> &'static str {
                match self { $(Self::$operation => concat!("processor.seconds.", $name)),+ }
            }

            /// What the time is spent on.
            pub const fn what(self) -> &'static str {
                match self { $(Self::$operation => $doc.trim_ascii()),+ }
            }
        }
    };
}

operations! {
    /// Copying files to programs' buffers.
    CopyFileToBuffer = "copy_file_to_buffer",
    /// Copying to send buffers.
    CopyToSocket = "copy_to_socket",
    /// Copying from receive buffers.
    CopyFromSocket = "copy_from_socket",
    /// Copying programs' buffers to files.
    CopyBufferToFile = "copy_buffer_to_file",
    /// Processing of data by programs.
    Program = "program",
    /// Reading payload for the TCP checksum.
    Checksum = "checksum",
    /// System calls.
    SystemCall = "system_call",
    /// Waking programs.
    Wakeup = "wakeup",
    /// Interrupts of interfaces.
    Interrupt = "interrupt",
    /// TCP output of segments.
    TcpOutput = "tcp_output",
    /// IP output of packets.
    IpOutput = "ip_output",
    /// IP input of packets.
    IpInput = "ip_input",
    /// TCP input of segments with data.
    TcpInputData = "tcp_input_data",
    /// TCP input of segments without data.
    TcpInputAck = "tcp_input_ack",
    /// Other costs of each sent segment.
    SegmentSent = "segment_sent",
    /// Other costs of each received segment.
    SegmentReceived = "segment_received",
    /// Walking the retransmission queue.
    QueueWalk = "queue_walk",
    /// Waiting while interfaces read frames from memory.
    DmaRead = "dma_read",
    /// Waiting while interfaces write frames to memory.
    DmaWrite = "dma_write",
    /// Waiting while interfaces read gap frames from memory.
    DmaGaps = "dma_gaps",
}

/// The time that a processor spent on each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times([Duration; Operation::ALL.len()]);

impl Times {
    /// The time of one operation.
    pub const fn of(&self, operation: Operation) -> Duration {
        self.0[operation as usize]
    }

    /// Each operation with its time, in the order of [`Operation::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Operation, Duration)> + '_ {
        Operation::ALL.iter().copied().zip(self.0)
    }

    /// The sum of all times; saturating.
    pub fn total(&self) -> Duration {
        Duration::from_ps(self.0.iter().fold(0, |sum, time| sum.saturating_add(time.as_ps())))
    }

    /// The times since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut times = *self;
        for (time, before) in times.0.iter_mut().zip(earlier.0) {
            *time = Duration::from_ps(time.as_ps().saturating_sub(before.as_ps()));
        }
        times
    }

    pub(super) fn add(&mut self, operation: Operation, time: Duration) {
        let spent = &mut self.0[operation as usize];
        *spent = Duration::from_ps(spent.as_ps().saturating_add(time.as_ps()));
    }
}

/// The time that `bytes` take at a rate; zero without a rate.
fn at(rate: Option<Rate>, bytes: u64) -> Duration {
    rate.map_or(Duration::ZERO, |rate| rate.time_for(Bytes(bytes)))
}

/// The charge for one piece of work.
#[derive(Debug)]
pub(super) struct Charge<'p> {
    processor: &'p Processor,
    times: &'p mut Times,
    pub(super) total: Duration,
}

impl<'p> Charge<'p> {
    pub(super) const fn new(processor: &'p Processor, times: &'p mut Times) -> Self {
        Self { processor, times, total: Duration::ZERO }
    }

    pub(super) fn add(&mut self, operation: Operation, time: Duration) {
        self.times.add(operation, time);
        self.total = Duration::from_ps(self.total.as_ps().saturating_add(time.as_ps()));
    }

    /// Charges `count` instructions, one after the other.
    fn instructions(&mut self, operation: Operation, count: u32) {
        let Some(rate) = self.processor.instructions_per_second else { return };
        const PS: u128 = 1_000_000_000_000;
        let ps = u128::from(count) * PS / u128::from(rate.max(1));
        self.add(operation, Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)));
    }

    /// Charges the output of a segment of `payload` bytes in a frame of `length` bytes.
    pub(super) fn output(&mut self, payload: u32, length: u32) {
        let Processor { per_sent, tcp_output, ip_output, memory_read, dma_read, .. } =
            *self.processor;
        self.instructions(Operation::TcpOutput, tcp_output);
        self.checksum(memory_read, payload);
        self.instructions(Operation::IpOutput, ip_output);
        self.add(Operation::SegmentSent, per_sent);
        self.add(Operation::DmaRead, at(dma_read, length.into()));
    }

    /// Charges the input of a segment of `payload` bytes in a frame of `length` bytes.
    pub(super) fn input(&mut self, payload: u32, length: u32) {
        let Processor { tcp_input_data, tcp_input_ack, ip_input, .. } = *self.processor;
        let Processor { memory_read, dma_write, .. } = *self.processor;
        self.add(Operation::DmaWrite, at(dma_write, length.into()));
        self.instructions(Operation::IpInput, ip_input);
        if payload == 0 {
            self.instructions(Operation::TcpInputAck, tcp_input_ack);
        } else {
            self.instructions(Operation::TcpInputData, tcp_input_data);
        }
        self.checksum(memory_read, payload);
    }

    fn checksum(&mut self, rate: Option<Rate>, payload: u32) {
        if self.processor.checksum {
            self.add(Operation::Checksum, at(rate, payload.into()));
        }
    }

    /// Charges the copy of `bytes` from a program to a send buffer; `calls` if a call of the program begins with
    /// them.
    pub(super) fn write(&mut self, bytes: u64, calls: bool) {
        let Processor { memory_copy, memory_write, system_call, program_rate, data, .. } =
            *self.processor;
        let (from_file, calls_each) = match data {
            DataPath::Copy => (at(memory_copy, bytes), 2),
            DataPath::Disk => (at(memory_write, bytes), 2),
            DataPath::Direct | DataPath::Pages | DataPath::Memory => (Duration::ZERO, 1),
        };
        self.add(Operation::CopyFileToBuffer, from_file);
        self.add(Operation::Program, at(program_rate, bytes));
        if data != DataPath::Pages {
            self.add(Operation::CopyToSocket, at(memory_copy, bytes));
        }
        if calls {
            self.add(Operation::SystemCall, system_call.times(calls_each));
        }
    }

    /// Charges the copy of `bytes` from a receive buffer to a program.
    pub(super) fn read(&mut self, bytes: u64) {
        let Processor { memory_copy, system_call, program_rate, data, .. } = *self.processor;
        let (to_file, calls_each) = match data {
            DataPath::Copy | DataPath::Disk => (at(memory_copy, bytes), 2),
            DataPath::Direct | DataPath::Pages | DataPath::Memory => (Duration::ZERO, 1),
        };
        self.add(Operation::CopyFromSocket, at(memory_copy, bytes));
        self.add(Operation::Program, at(program_rate, bytes));
        self.add(Operation::CopyBufferToFile, to_file);
        self.add(Operation::SystemCall, system_call.times(calls_each));
    }
}

/// The time that the interface takes to read `bytes` of gap frames from memory.
pub(super) fn gaps(processor: &Processor, bytes: u64) -> Duration {
    at(processor.dma_read, bytes)
}
