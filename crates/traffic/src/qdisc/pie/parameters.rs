//! PIE's parameters.

use base::setting::settings;
use base::units::{Bytes, Duration, Share};

settings! {
    /// The settings of the discipline.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Maximum bytes queued (frame lengths); a packet beyond is dropped. At least one full frame; default no
        /// limit.
        pub bytes: Option<Bytes>,
        /// Maximum packets queued. Default 1000 (Linux).
        #[range(1..)]
        pub packets: Option<u64>,
        /// Target queueing delay (`QDELAY_REF`). Default 15 ms (RFC 8033, section 4.2).
        #[range(Duration::from_ps(1)..=TIME_MAX)]
        pub target: Duration,
        /// Interval between updates of the probability (`T_UPDATE`). Default 15 ms (RFC 8033, section 4.2).
        #[range(Duration::from_ps(1)..=TIME_MAX)]
        pub update: Duration,
        /// Weight of the deviation from the target, in sixteenths per second. Default 2, 0.125 Hz (RFC 8033, section
        /// 4.2).
        #[range(1..=GAIN_MAX)]
        pub alpha: u32,
        /// Weight of the growth of the delay, in sixteenths per second. Default 20, 1.25 Hz (RFC 8033, section 4.2).
        #[range(1..=GAIN_MAX)]
        pub beta: u32,
        /// Duration of a burst that passes without drops after a period without congestion (`MAX_BURST`). Default 150
        /// ms (RFC 8033, section 4.4).
        pub burst: Duration,
        /// Whether packets of ECN-capable transports are marked instead of dropped. Default false (Linux).
        pub ecn: bool,
        /// Probability above which packets of ECN-capable transports are dropped too (`mark_ecnth`); with 100 % they
        /// are always marked. Default 1/10 (RFC 8033, section 5.1).
        pub mark_max: Share,
        /// Whether drops are spaced so that neither clusters nor long gaps occur (RFC 8033, section
        /// 5.4). Default false.
        pub derandomize: bool,
    }
}

impl Default for Parameters {
    /// The defaults of RFC 8033, with Linux's limit.
    fn default() -> Self {
        Self {
            bytes: None,
            packets: Some(1_000),
            target: Duration::from_ms(15),
            update: Duration::from_ms(15),
            alpha: 2,
            beta: 20,
            burst: Duration::from_ms(150),
            ecn: false,
            mark_max: Share(u32::MAX / 10),
            derandomize: false,
        }
    }
}

/// The longest time that may be set.
const TIME_MAX: Duration = Duration::from_secs(3_600);
/// The greatest `alpha` or `beta`: 65536 Hz suits round trips of microseconds.
const GAIN_MAX: u32 = 1 << 20;
