//! The memory of data that waits for the program, as Linux counts it: consecutive frames are joined to one buffer
//! (`tcp_try_coalesce`), which is freed when all of it is read.

use alloc::collections::VecDeque;

use crate::config::FrameMemory;

/// Frames joined to one buffer.
#[derive(Clone, Copy, Debug)]
struct Joined {
    /// Where their data ends.
    end: u64,
    memory: u32,
    frames: u32,
    /// Bytes for which the first frame has room.
    room: u32,
}

/// The memory of data for a program that reads at its own pace, buffer by buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    frame: FrameMemory,
    mss: u32,
    queue: VecDeque<Joined>,
    taken: u64,
}

impl Memory {
    /// Creates it for frames with at most `mss` bytes.
    pub(super) fn new(frame: FrameMemory, mss: u32) -> Self {
        Self { frame, mss: mss.max(1), ..Self::default() }
    }

    /// Returns the memory in use, in bytes.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns the memory of `bytes` contiguous bytes if nothing more is known of their frames.
    #[inline]
    pub(super) fn of(&self, bytes: u64) -> u64 {
        match bytes {
            0 => 0,
            _ if bytes <= self.mss.into() => self.frame.first.into(),
            _ => self.of_row(bytes),
        }
    }

    fn of_row(&self, bytes: u64) -> u64 {
        let FrameMemory { first, next, joined_max, .. } = self.frame;
        let frames = bytes.div_ceil(self.mss.into());
        let buffers = frames.div_ceil(joined_max.into());
        buffers * u64::from(first) + (frames - buffers) * u64::from(next)
    }

    /// Data arrived in order, `bytes` of it up to `end`, which waits for the program.
    pub(super) fn arrive(&mut self, bytes: u64, end: u64) {
        let mut start = end - bytes;
        while start < end {
            let payload = u64::from(self.mss).min(end - start);
            start += payload;
            self.push(payload as u32, start);
        }
    }

    fn push(&mut self, payload: u32, end: u64) {
        let FrameMemory { first, next, joined_max, payload_max } = self.frame;
        match self.queue.back_mut() {
            // Copied behind what the first frame has.
            Some(last) if last.frames == 1 && payload <= last.room => {
                (last.end, last.room) = (end, last.room - payload);
            }
            Some(last) if last.frames < joined_max => {
                (last.end, last.frames) = (end, last.frames + 1);
                last.memory += next;
                self.taken += u64::from(next);
            }
            _ => {
                let room = payload_max.saturating_sub(payload);
                self.queue.push_back(Joined { end, memory: first, frames: 1, room });
                self.taken += u64::from(first);
            }
        }
    }

    /// The program has read all before `position`.
    #[inline]
    pub(super) fn read(&mut self, position: u64) {
        while let Some(first) = self.queue.front().filter(|first| first.end <= position) {
            self.taken -= u64::from(first.memory);
            self.queue.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_eighteen_frames_is_freed_when_all_of_it_is_read() {
        let mut memory = Memory::new(FrameMemory::of(1_500), 1_448);
        let full = 2_176 + 17 * 1_920;
        for n in 1..=20 {
            memory.arrive(1_448, n * 1_448);
        }
        assert_eq!(memory.taken(), full + 2_176 + 1_920);
        assert_eq!(memory.of(20 * 1_448), memory.taken());
        memory.read(18 * 1_448 - 1);
        assert_eq!(memory.taken(), full + 2_176 + 1_920);
        memory.read(18 * 1_448);
        assert_eq!(memory.taken(), 2_176 + 1_920);
        memory.read(20 * 1_448);
        assert_eq!(memory.taken(), 0);
    }

    #[test]
    fn short_messages_share_a_frame() {
        let mut memory = Memory::new(FrameMemory::of(1_500), 1_448);
        for n in 1..=14 {
            memory.arrive(100, n * 100);
        }
        assert_eq!(memory.taken(), 2_176);
        memory.arrive(100, 1_500);
        assert_eq!(memory.taken(), 2_176 + 1_920);
    }
}
