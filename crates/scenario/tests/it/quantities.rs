//! A table of all spellings.

use base::Bytes;
use scenario::quantity::{bytes, duration, number, period, rate, ratio, share};

#[test]
fn rates() {
    let table = [
        ("500 Mbit/s", 500_000_000),
        ("500Mbps", 500_000_000),
        ("500mbit", 500_000_000),
        ("500 Mb/s", 500_000_000),
        // tc(8): lower-case bps is bytes per second.
        ("62.5mbps", 500_000_000),
        ("1bps", 8),
        ("62.5 MB/s", 500_000_000),
        ("62.5MBps", 500_000_000),
        ("1 MiB/s", 8 << 20),
        ("1 Gibit", 1 << 30),
        ("400 Gbit/s", 400_000_000_000),
        ("128 kbit/s", 128_000),
        ("1_000 bit/s", 1_000),
        ("0.5 kbit", 500),
        ("1e3 Mbit/s", 1_000_000_000),
        ("1.5E+6bit/s", 1_500_000),
        ("2500e-1 Mbit/s", 250_000_000),
        ("0.000000001e18 bit/s", 1_000_000_000),
        ("18446744073709551615 bit/s", u64::MAX),
    ];
    for (text, bits) in table {
        assert_eq!(rate(text).map(|r| r.bits_per_second()), Ok(bits), "{text}");
    }
    let wrong = [
        "",
        "fast",
        "10",
        "10 MB",
        "0 bit/s",
        "0.1 bit/s",
        "-5 Mbit/s",
        "1e30 Mbit/s",
        "1e Mbit/s",
        "e3 Mbit/s",
        "1e-99 Gbit/s",
        "1e99999999999 bit/s",
        "inf",
    ];
    let wrong =
        wrong.into_iter().chain(["18446744073709551616 bit/s", "1..5 Mbit/s", "5 Mbit/s/s"]);
    for text in wrong {
        let error = rate(text).unwrap_err();
        assert!(!error.message.is_empty() && !error.help.is_empty(), "{text}");
    }
}

#[test]
fn sizes() {
    let table = [
        ("1500 B", 1_500),
        ("1500B", 1_500),
        ("512 KiB", 524_288),
        ("512k", 512_000),
        ("512 kB", 512_000),
        ("512 KB", 512_000),
        ("1.25 MB", 1_250_000),
        ("1MiB", 1 << 20),
        ("32MB", 32_000_000),
        ("10 GB", 10_000_000_000),
        ("0 B", 0),
        ("16777215 TiB", 16_777_215 << 40),
    ];
    for (text, size) in table {
        assert_eq!(bytes(text), Ok(Bytes(size)), "{text}");
    }
    for text in ["1500", "MB", "-1 B", "1 Mbit", "16777216 TiB", "1 ms", "é B"] {
        assert!(bytes(text).is_err(), "{text}");
    }
}

#[test]
fn times() {
    let table = [
        ("10 ms", 10_000_000_000),
        ("1us", 1_000_000),
        ("1 µs", 1_000_000),
        ("24.288 us", 24_288_000),
        ("8 ns", 8_000),
        ("20 ps", 20),
        ("0 s", 0),
        ("5 min", 300_000_000_000_000),
        ("1 h", 3_600_000_000_000_000),
    ];
    for (text, ps) in table {
        assert_eq!(duration(text).map(|d| d.as_ps()), Ok(ps), "{text}");
    }
    for text in ["10", "-1 s", "1 year", "5125 h", "NaN"] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn frequencies_are_read_as_periods() {
    let table = [
        ("100 Hz", 10_000_000_000),
        ("1 kHz", 1_000_000_000),
        ("1024hz", 976_562_500),
        ("59.94 Hz", 16_683_350_017),
        ("1 GHz", 1_000),
    ];
    for (text, ps) in table {
        assert_eq!(period(text).map(|d| d.as_ps()), Ok(ps), "{text}");
    }
    for text in ["100", "0 Hz", "0.5 Hz", "2 GHz", "-1 Hz", "10 ms"] {
        assert!(period(text).is_err(), "{text}");
    }
}

#[test]
fn shares_and_ratios() {
    assert_eq!(share("0"), Ok(0));
    assert_eq!(share("50 %"), Ok(1 << 31));
    assert_eq!(share("0.5"), Ok(1 << 31));
    assert_eq!(share("0.01 %"), Ok(429_497));
    assert_eq!(share("100 %"), Ok(u32::MAX));
    assert!(share("101 %").is_err() && share("-1 %").is_err() && share("1 s").is_err());
    assert_eq!((ratio("95 %"), ratio("0.95")), (Ok(0.95), Ok(0.95)));
    assert!(ratio("1.5").is_err());
    assert_eq!(number("3"), Ok(3.0));
    assert!(number("3 packets").is_err());
}
