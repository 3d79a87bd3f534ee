//! Traces as files and as calls, in one executable.

mod consistency;
mod file;
