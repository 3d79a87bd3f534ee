//! Calls: how lost, late and delayed packets change their score.

use record::summary::CallSummary;

use crate::driver;

/// A call of 20 s on a link of that delay.
fn call(voip: &str, delay: &str, more: &str) -> CallSummary {
    let text = format!(
        "duration = \"20 s\"\n[host.a]\n[host.b]\n\
         [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"{delay}\"\n{more}\n\
         [flow.c]\nfrom = \"a\"\nto = \"b\"\nstop = \"19 s\"\nvoip = {voip}\n"
    );
    let summary = driver::summary(&driver::plan(&text));
    let flow = summary.flow.get("c").expect("the flow");
    flow.results.call.clone().expect("it is a call")
}

fn assert_near(value: f64, expected: f64, within: f64, what: &str) {
    assert!((value - expected).abs() <= within, "{what}: {value}, not {expected}");
}

#[test]
fn the_delay_from_mouth_to_ear_is_the_sum_of_its_parts() {
    for (voip, ms) in [
        // Frame, look-ahead, network and buffer.
        ("{}", 20.0 + 30.0 + 60.0),
        ("{ codec = \"g729a\", jitter_buffer = \"10 ms\" }", 20.0 + 5.0 + 30.0 + 10.0),
        ("{ codec = \"g723.1\", frames = 2 }", 60.0 + 7.5 + 30.0 + 60.0),
    ] {
        let call = call(voip, "30 ms", "");
        // A frame is on the wire for less than 30 us.
        assert_near(call.mouth_to_ear_seconds, ms / 1e3, 30e-6, voip);
        assert_eq!((call.missed, call.late), (0.0, 0), "{voip}");
    }
    // By the equations of G.107 at 110 ms.
    assert_near(call("{}", "30 ms", "").mos, 4.35, 0.01, "MOS");
}

#[test]
fn lost_packets_are_missed() {
    let lossy = call("{}", "10 ms", "loss = \"2 %\"");
    assert_near(lossy.missed, 0.02, 0.01, "missed");
    assert_eq!(lossy.late, 0);
    let clear = call("{}", "10 ms", "").rating;
    let percent = lossy.missed * 100.0;
    let least = 95.0 * percent / (percent + 25.1);
    let fall = clear - lossy.rating;
    assert!(fall >= least - 0.01 && fall < 1.3 * least, "{fall}, at least {least}");
    let unconcealed = call("{ codec = \"g711\" }", "10 ms", "loss = \"2 %\"");
    assert!(unconcealed.mos < lossy.mos - 0.5, "{unconcealed:?} {lossy:?}");
}

#[test]
fn a_packet_later_than_the_buffer_is_missed() {
    let jitter = "jitter = \"0 ms..40 ms\"";
    let short = call("{ jitter_buffer = \"0 ms\" }", "10 ms", jitter);
    let long = call("{ jitter_buffer = \"45 ms\" }", "10 ms", jitter);
    assert!(short.late > 100 && short.missed > 0.1, "{short:?}");
    assert_eq!((long.late, long.missed), (0, 0.0));
    assert!(long.mos > short.mos + 1.0, "{long:?} {short:?}");
}

/// 7 frames of G.723.1 are 6857.14 bit/s: the listener's clock follows the sender's, and no packet becomes late.
#[test]
fn a_rate_that_is_no_whole_number_does_not_drift() {
    let call = call("{ codec = \"g723.1\", frames = 7, jitter_buffer = \"0 ms\" }", "10 ms", "");
    assert_eq!((call.missed, call.late), (0.0, 0));
}

#[test]
fn silence_has_the_lowest_score() {
    let silent = call("{}", "10 ms", "down = { at = \"0 s\", lasts = \"20 s\" }");
    assert_eq!((silent.mos, silent.rating, silent.missed), (1.0, 0.0, 1.0));
}
