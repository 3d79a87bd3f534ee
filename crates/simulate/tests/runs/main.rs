//! Runs of scenarios from their text to their results, each file by what it looks at. One program: each of them would be
//! compiled and linked with the whole simulator once more.

mod aqm;
mod backlog;
mod changes;
mod classes;
mod coalescing;
mod completion;
mod condition;
mod congestion;
mod conservation;
mod custody;
mod datagrams;
mod determinism;
mod driver;
mod ecn;
mod emulator;
mod events;
mod examples;
mod fairness;
mod headers;
mod interruption;
mod linux;
mod lossless;
mod multipath;
mod options;
mod pauses;
mod priorities;
mod processor;
mod programs;
mod psp;
mod qcn;
mod ranks;
mod sockets;
mod throughput;
mod victim;
mod window;
