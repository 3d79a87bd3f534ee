//! Sizing the receive buffer: fixed, or tuned to twice what arrives in a round trip (dynamic
//! right-sizing, Fisk & Feng 2001, as Linux's `tcp_rcv_space_adjust` does it). How much of it is
//! advertised: all of it, or what has opened so far (Linux's `rcv_ssthresh`).

use base::packet::Tcp;
use base::{Duration, Instant};

use crate::config::{Buffer, Config, FrameMemory, MEASURED_IN, WindowShare};

/// The segments that the first round trip is assumed to bring (Linux's `TCP_INIT_CWND`, as `tcp_init_buffer_space`
/// uses it).
const FIRST_ROUND: u64 = 10;
/// The window opens by this many segments for each that arrives (Linux's `tcp_grow_window`).
const OPENING: u64 = 2;
/// Shorter segments do not open it, in payload bytes (Linux's `tcp_event_data_recv`).
const OPENING_PAYLOAD_MIN: u32 = 128;
/// The window's share of the buffer is not measured by segments below this, in payload bytes (Linux's
/// `TCP_MSS_DEFAULT`, as `tcp_initialize_rcv_mss` uses it).
const MEASURED_PAYLOAD_MIN: u32 = 536;
/// A SYN's window field is never scaled (RFC 7323, section 2.2).
const SYN_WINDOW_MAX: u64 = 65_535;

/// The buffer and what its tuning needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tuning {
    buffer: u64,
    max: u64,
    tuned: bool,
    window_share: WindowShare,
    mtu: u32,
    /// The longest segment so far, in payload bytes, and the window's share of the buffer by it (Linux's `rcv_mss`
    /// and `scaling_ratio`); the greatest number where the share is not measured.
    longest: u32,
    share: (u32, u32),
    /// The window opens gradually.
    opens: bool,
    /// The window's share of the whole buffer (Linux's `tcp_full_space`).
    full: u64,
    /// The most that the buffer's size allows to advertise (Linux's `window_clamp`).
    clamp: u64,
    /// The part of `clamp` that is advertised, as far as the window has opened (Linux's `rcv_ssthresh`).
    window: u64,
    tick: Duration,
    /// Round trip time as the receiver sees it; zero before the first sample.
    rtt: Duration,
    /// The echo last sampled.
    echo: u32,
    /// What was read when the measuring began, when that was, and how much the last round trip
    /// took.
    mark: u64,
    since: Instant,
    space: u64,
}

impl Tuning {
    pub(super) fn new(config: &Config) -> Self {
        let receive = config.buffers.receive;
        let mut tuning = Self {
            buffer: receive.initial(config.initial_window_bytes()),
            max: receive.max(),
            tuned: matches!(receive, Buffer::Auto { .. }),
            window_share: config.buffers.window_share,
            mtu: config.segment.mtu,
            longest: u32::MAX,
            share: config.buffers.window_share.initial(),
            opens: config.buffers.window_slow_start,
            full: 0,
            clamp: 0,
            window: 0,
            tick: config.segment.timestamp_tick,
            rtt: Duration::ZERO,
            echo: 0,
            mark: 0,
            since: Instant::ZERO,
            space: 0,
        };
        tuning.resize();
        tuning.window = tuning.clamp;
        tuning.space = tuning.window;
        tuning
    }

    /// Returns the window for a SYN: whole segments of `mss` bytes, and where the window opens gradually at most what
    /// the field can hold (Linux's `tcp_select_initial_window`).
    pub(super) fn start(&mut self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        let whole = if self.clamp > mss { self.clamp - self.clamp % mss } else { self.clamp };
        if self.opens {
            self.window = whole.min(SYN_WINDOW_MAX);
            return self.window;
        }
        whole
    }

    /// The connection is established: the first round trip begins. It is taken to bring the initial
    /// window; with more, the buffer would grow only once the window it gives is full (Linux's
    /// `tcp_init_buffer_space`).
    pub(super) fn establish(&mut self, position: u64, mss: u32, now: Instant) {
        (self.mark, self.since) = (position, now);
        let measured = self.window_share == WindowShare::Measured;
        if measured {
            self.longest = MEASURED_PAYLOAD_MIN.min(mss);
        }
        if self.opens {
            if measured {
                // One segment is kept back until the first of them is measured (`tcp_init_buffer_space`).
                let rest = self.clamp.saturating_sub(mss.into()).max(2 * u64::from(mss));
                self.clamp = self.clamp.min(rest);
                self.window = self.window.min(self.clamp);
            }
            self.space = self.window.min(FIRST_ROUND * u64::from(mss));
        }
    }

    /// The buffer has another size, or its window another share.
    fn resize(&mut self) {
        self.full = self.share_of(self.buffer);
        self.clamp = self.full;
    }

    fn share_of(&self, buffer: u64) -> u64 {
        let (over, under) = self.share;
        let window = u128::from(buffer) * u128::from(over) / u128::from(under);
        u64::try_from(window).unwrap_or(u64::MAX)
    }

    /// Returns whether a segment in order of `payload` bytes may make the buffer grow, open the window, or be
    /// measured for its share.
    #[inline]
    pub(super) fn is_on(&self, payload: u32) -> bool {
        self.tuned || payload > self.longest || self.window + u64::from(payload) < self.clamp
    }

    /// The most that may be advertised, in bytes.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Returns the memory of received frames.
    pub(super) fn frame(&self) -> FrameMemory {
        FrameMemory::of(self.mtu)
    }

    /// Whether windows are chosen as Linux does it, or as 4.4BSD.
    #[inline]
    pub(super) fn opens(&self) -> bool {
        self.opens
    }

    /// Returns whether waiting data counts by the memory that it takes, or by its bytes.
    #[inline]
    pub(super) fn counts_memory(&self) -> bool {
        self.window_share == WindowShare::Measured
    }

    /// Returns the room in a buffer that holds `held` bytes (Linux's `tcp_space`).
    #[inline]
    pub(super) fn free(&self, held: u64) -> u64 {
        if held == 0 {
            self.full
        } else if self.counts_memory() {
            self.buffer.saturating_sub(held) * u64::from(self.share.0) / u64::from(MEASURED_IN)
        } else {
            self.full.saturating_sub(held)
        }
    }

    /// Returns the window to advertise where the buffer has room for `free`, and whether less than half of the buffer
    /// is free. The window is zero where there is little room, so that it reopens by a worthwhile step (Linux's
    /// `__tcp_select_window`).
    #[inline]
    pub(super) fn select(&self, free: u64, shift: u8, mss: u32) -> (u64, bool) {
        let little = free < self.clamp / 2;
        let free = if little { free & !((1 << shift) - 1) } else { free };
        if little && (free < self.full / 16 || free < u64::from(mss).min(self.clamp)) {
            return (0, true);
        }
        (self.rounded(free.min(self.window), shift), little)
    }

    /// Returns the most that a BSD stack advertises while `unread` bytes wait for the program; out-of-order data has
    /// a queue of its own there.
    #[inline]
    pub(super) fn room(&self, unread: u64) -> u64 {
        self.clamp.saturating_sub(unread).min(self.window)
    }

    /// Whether less than half of what the buffer allows is still advertised (Linux's `tcp_cleanup_rbuf`).
    #[inline]
    pub(super) fn is_half_closed(&self, window: u64) -> bool {
        2 * window <= self.clamp
    }

    /// A window as it is advertised: where it opens gradually, rounded up to what the scale can say
    /// (Linux's `__tcp_select_window`).
    #[inline]
    pub(super) fn rounded(&self, window: u64, shift: u8) -> u64 {
        let below = if self.opens { (1 << shift) - 1 } else { 0 };
        (window + below) & !below
    }

    /// Returns the window that decides the window scale: that of a buffer with a fixed size; where the kernel tunes
    /// the buffer, all of its maximum size (Linux's `tcp_select_initial_window` takes `tcp_rmem[2]`).
    pub(super) fn window_max(config: &Config) -> u64 {
        match config.buffers.receive {
            Buffer::Fixed(_) => Self::new(config).full,
            Buffer::Auto { max, .. } => max,
        }
    }
    pub(super) fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Notes that the next segment in order has `payload` bytes. One longer than any before sets the window's share
    /// of the buffer where that is measured (Linux's `tcp_measure_rcv_mss`; there the MSS estimate also falls after
    /// two short segments of the same length, here it does not).
    #[inline]
    pub(super) fn measure(&mut self, payload: u32) {
        if payload > self.longest {
            self.longest = payload;
            self.share = self.window_share.after(payload, self.mtu);
            self.resize();
            self.space = self.space.min(self.clamp);
            if !self.opens {
                self.window = self.clamp;
            }
        }
    }

    /// Takes a round trip sample, by a clock that ticks, from a full segment that echoes a timestamp of this end.
    #[inline]
    pub(super) fn on_data(&mut self, bytes: u64, tcp: &Tcp, mss: u32, now: Instant) {
        if tcp.has_timestamps && tcp.ts_ecr != self.echo && bytes >= u64::from(mss) {
            self.sample(tcp.ts_ecr, now);
        }
    }

    /// The round trip, or `own` where that is less and known.
    pub(super) fn round_trip(&self, own: Duration) -> Duration {
        if own == Duration::ZERO { self.rtt } else { self.rtt.min(own) }
    }

    /// Whether a segment of `payload` bytes may open the window.
    #[inline]
    pub(super) fn may_open(&self, payload: u32) -> bool {
        self.window < self.clamp && payload >= OPENING_PAYLOAD_MIN
    }

    /// Opens the window by two segments after a segment that [`Self::may_open`] accepts, as far as `free` allows: the
    /// room beside all data that waits, in order or not (Linux's `tcp_grow_window`). Returns whether it opened. A
    /// buffer that grows therefore opens the window as data arrives. If it opened at once, a sender that was held
    /// back would send all of the difference in one burst.
    ///
    /// Linux opens it by less for segments with mostly overhead in their memory (`__tcp_grow_window`); here all
    /// segments are treated alike.
    #[inline]
    pub(super) fn open(&mut self, free: u64, mss: u32) -> bool {
        let room = self.clamp.min(free);
        if self.window >= room {
            return false;
        }
        self.window = room.min(self.window + OPENING * u64::from(mss));
        true
    }

    fn sample(&mut self, echo: u32, now: Instant) {
        self.echo = echo;
        // Both by the clock that ticks (`tcp_rtt_tsopt_us`).
        let sent = u64::from(echo.wrapping_sub(1));
        let ticks = (now.since(Instant::ZERO).as_ps() / self.tick.as_ps()).saturating_sub(sent);
        let rtt = self.tick.times(ticks.max(1));
        self.rtt = if self.rtt == Duration::ZERO || rtt < self.rtt {
            rtt
        } else {
            // A shorter one counts at once, a longer one by an eighth (Linux's `tcp_rcv_rtt_update`).
            Duration::from_ps(self.rtt.as_ps() - self.rtt.as_ps() / 8 + rtt.as_ps() / 8)
        };
    }

    /// The application read up to `position`, and `unread` bytes in order wait beyond.
    #[inline]
    pub(super) fn on_read(&mut self, position: u64, unread: u64, mss: u32, now: Instant) {
        if !self.tuned || self.rtt == Duration::ZERO || now.since(self.since) < self.rtt {
            return;
        }
        self.adjust(position, unread, mss, now);
    }

    fn adjust(&mut self, position: u64, unread: u64, mss: u32, now: Instant) {
        // What waits has not been read (`tcp_rcv_space_adjust` of 6.12.117).
        let copied = (position - self.mark).saturating_sub(unread);
        if copied > self.space {
            self.grow(copied, mss);
            self.space = copied;
        }
        (self.mark, self.since) = (position, now);
    }

    /// A round trip brought `copied` bytes, more than any before: twice that, sixteen segments more,
    /// and room for the growth seen.
    fn grow(&mut self, copied: u64, mss: u32) {
        let window = 2 * copied + 16 * u64::from(mss);
        let growth =
            u128::from(window) * u128::from(copied - self.space) / u128::from(self.space.max(1));
        let window = u128::from(window) + 2 * growth;
        let buffer = window * u128::from(self.share.1) / u128::from(self.share.0);
        let buffer = u64::try_from(buffer).unwrap_or(u64::MAX).min(self.max);
        if buffer > self.buffer {
            self.buffer = buffer;
            self.resize();
            if !self.opens {
                self.window = self.clamp;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use crate::seq::ORIGIN;

    const MSS: u32 = 1_448;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Returns the buffer of a `linux-6` connection established at time zero; half of the buffer is the window.
    fn established(receive: Buffer) -> Tuning {
        let mut config = Profile::by_name("linux-6").unwrap().config();
        config.buffers.receive = receive;
        config.buffers.window_share = WindowShare::Fraction(1, 2);
        let mut tuning = Tuning::new(&config);
        tuning.start(MSS);
        tuning.establish(ORIGIN, MSS, at(0));
        tuning
    }

    #[test]
    fn the_buffer_grows_to_twice_what_a_round_trip_brings() {
        let mut tuning = established(Buffer::Auto { initial: 131_072, max: 6_291_456 });
        let tcp = Tcp { has_timestamps: true, ts_ecr: 1, ..Tcp::default() };
        tuning.on_data(1_448, &tcp, MSS, at(100));
        tuning.on_read(ORIGIN + 14_480, 0, MSS, at(100));
        assert_eq!(tuning.buffer(), 131_072, "ten segments were expected");
        tuning.on_read(ORIGIN + 14_480 + 28_960, 0, MSS, at(200));
        let window = 2 * 28_960 + 16 * 1_448;
        let growth = window * (28_960 - 14_480) / 14_480;
        assert_eq!(tuning.buffer(), 2 * (window + 2 * growth));
        tuning.on_read(ORIGIN + 100_000_000, 0, MSS, at(300));
        assert_eq!(tuning.buffer(), 6_291_456);
        assert_eq!(tuning.window(), 45 * 1_448, "no segment has opened it");
    }

    #[test]
    fn the_window_opens_by_two_segments_for_each_as_far_as_they_fit() {
        let mut tuning = established(Buffer::Fixed(140_000));
        assert_eq!(tuning.window(), 65_535);
        assert!(!tuning.may_open(127) && tuning.may_open(128));
        assert!(tuning.open(tuning.free(1_448), MSS));
        assert_eq!(tuning.window(), 65_535 + 2 * 1_448);
        assert!(!tuning.open(tuning.free(2 * 1_448), MSS), "what waits leaves no more");
        assert!(tuning.open(tuning.free(0), MSS));
        assert!(!tuning.is_on(MSS), "all of half the buffer is open");
        assert_eq!(tuning.window(), 70_000);
        assert_eq!(tuning.select(tuning.free(30_000), 3, MSS), (40_000, false));
        assert_eq!(tuning.select(tuning.free(60_001), 3, MSS), (9_992, true));
        assert_eq!(tuning.select(tuning.free(65_700), 3, MSS), (0, true), "below a sixteenth");
    }

    #[test]
    fn the_longest_segment_sets_the_window_s_share() {
        let mut config = Profile::by_name("linux-6").unwrap().config();
        config.buffers.receive = Buffer::Fixed(140_000);
        let mut tuning = Tuning::new(&config);
        assert_eq!(tuning.start(MSS), 65_535);
        tuning.establish(ORIGIN, MSS, at(0));
        assert_eq!(tuning.clamp, 70_000 - 1_448, "half, but for a segment");
        tuning.measure(536);
        assert_eq!(tuning.clamp, 70_000 - 1_448, "too short");
        tuning.measure(700);
        assert_eq!(tuning.clamp, 140_000 * 82 / 256, "82.4 of 256");
        tuning.measure(MSS);
        tuning.measure(700);
        assert_eq!(tuning.clamp, 140_000 * 170 / 256, "170.4 of 256");
    }

    #[test]
    fn a_fixed_buffer_stays() {
        let mut tuning = established(Buffer::Fixed(100_000));
        tuning.on_read(ORIGIN + (1 << 30), 0, MSS, Instant::ZERO + Duration::from_secs(9));
        assert_eq!((tuning.buffer(), tuning.window()), (100_000, 34 * 1_448));
    }
}
