//! The E-model: the rating R of a telephone connection and the mean opinion score that it stands for (ITU-T G.107,
//! 06/2015). All parameters of clause 7.7 have their default values, except the delay and the packet loss.

/// The loudness ratings of sending and receiving, and of the sidetone, dB (SLR, RLR, STMR).
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
const STMR: f64 = 15.0;
/// The listener's sidetone rating, dB (LSTR), and the D-value of the telephone at the sender (Ds).
const LSTR: f64 = 18.0;
const DS: f64 = 3.0;
/// The loudness rating of the talker's echo, and the weighted echo path loss, dB (TELR, WEPL).
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
/// The circuit noise, dBm0p, and the noise floor at the receiver, dBmp (Nc, Nfor).
const NC: f64 = -70.0;
const NFOR: f64 = -64.0;
/// The room noise at the sender and at the receiver, dB(A) (Ps, Pr).
const PS: f64 = 35.0;
const PR: f64 = 35.0;

/// What the packets of a call do to speech.
#[derive(Clone, Copy, Debug)]
pub struct Impairment {
    /// The delay from mouth to ear, ms (T; Ta is the same, and Tr is twice that).
    pub delay_ms: f64,
    /// The equipment impairment factor of the codec (Ie).
    pub ie: f64,
    /// The packet loss robustness factor of the codec (Bpl).
    pub bpl: f64,
    /// The share of packets lost, percent (Ppl).
    pub loss_percent: f64,
    /// The mean length of runs of lost packets, relative to that of random loss (BurstR).
    pub burst_ratio: f64,
}

/// The rating R (equation 7-1), without an advantage factor.
pub fn rating(impairment: &Impairment) -> f64 {
    let noise = noise();
    let signal = 15.0 - 1.5 * (SLR + noise);
    signal
        - simultaneous(noise, signal, impairment.delay_ms)
        - delayed(noise, signal, impairment.delay_ms)
        - equipment(impairment)
}

/// The mean opinion score of a rating (Annex B, equation B-4).
pub fn opinion_score(rating: f64) -> f64 {
    match rating {
        ..=0.0 => 1.0,
        100.0.. => 4.5,
        // Below a rating of 6.5 the polynomial is less than the least opinion.
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// 10^(db/10).
fn power(db: f64) -> f64 {
    10_f64.powf(db / 10.0)
}

/// The power sum of all noise, dBm0p (No, equations 7-3 to 7-7).
fn noise() -> f64 {
    let at_sender = PS - SLR - DS - 100.0 + 0.004 * (PS - (SLR + RLR) - DS - 14.0).powi(2);
    let effective = PR + 10.0 * (1.0 + power(10.0 - LSTR)).log10();
    let at_receiver = RLR - 121.0 + effective + 0.008 * (effective - 35.0).powi(2);
    10.0 * (power(NC) + power(at_sender) + power(at_receiver) + power(NFOR + RLR)).log10()
}

/// What impairs speech while it is spoken (Is, equations 7-8 to 7-17), with one quantization unit.
fn simultaneous(noise: f64, signal: f64, delay_ms: f64) -> f64 {
    let loudness = SLR + RLR + 0.2 * (64.0 + noise - RLR);
    let too_loud = 20.0 * (smooth(loudness / 8.0, 8) - loudness / 8.0);
    let echo = (-delay_ms / 4.0).exp() * power(-TELR);
    let sidetone = -10.0 * (power(-STMR) + echo).log10();
    let by_sidetone = 12.0 * smooth((sidetone - 13.0) / 6.0, 8)
        - 28.0 * smooth((sidetone + 1.0) / 19.4, 35)
        - 13.0 * smooth((sidetone - 3.0) / 33.0, 13)
        + 29.0;
    let q = 37.0_f64;
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let (y, z) = ((signal - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0, 46.0 / 30.0 - g / 40.0);
    let by_quantization = 15.0 * (1.0 + 10_f64.powf(y) + 10_f64.powf(z)).log10();
    too_loud + by_sidetone + by_quantization
}

/// (1 + x^n)^(1/n).
fn smooth(x: f64, n: i32) -> f64 {
    (1.0 + x.powi(n)).powf(1.0 / f64::from(n))
}

/// What the delay impairs (Id, equations 7-18 to 7-28): the echoes to talker and listener, and the delay itself.
fn delayed(noise: f64, signal: f64, t: f64) -> f64 {
    let by_talker = {
        let loudness = TELR - 40.0 * ((1.0 + t / 10.0) / (1.0 + t / 150.0)).log10()
            + 6.0 * (-0.3 * t * t).exp();
        let half = (-1.5 * (noise - RLR) - (80.0 + 2.5 * (loudness - 14.0))) / 2.0;
        (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - (-t).exp())
    };
    let by_listener = {
        let half = (signal - 10.5 * (WEPL + 7.0) * (2.0 * t + 1.0).powf(-0.25)) / 2.0;
        half + (half * half + 169.0).sqrt()
    };
    let by_delay = if t <= 100.0 {
        0.0
    } else {
        let x = (t / 100.0).log2();
        25.0 * (smooth(x, 6) - 3.0 * smooth(x / 3.0, 6) + 2.0)
    };
    by_talker + by_listener + by_delay
}

/// What codec and packet loss impair (Ie,eff, equation 7-29).
fn equipment(&Impairment { ie, bpl, loss_percent, burst_ratio, .. }: &Impairment) -> f64 {
    ie + (95.0 - ie) * loss_percent / (loss_percent / burst_ratio + bpl)
}
