//! The E-model against the value that ITU-T G.107 gives for its defaults, and values computed by hand from its equations.

use applications::voip::emodel::{Impairment, opinion_score, rating};

/// A call without loss and codec impairment.
const CLEAR: Impairment =
    Impairment { delay_ms: 0.0, ie: 0.0, bpl: 4.3, loss_percent: 0.0, burst_ratio: 1.0 };

fn assert_near(value: f64, expected: f64, what: &str) {
    assert!((value - expected).abs() < 0.01, "{what}: {value}, not {expected}");
}

#[test]
fn a_call_without_delay_and_loss_has_the_rating_of_the_defaults() {
    let r = rating(&CLEAR);
    assert_near(r, 93.206, "G.107, clause 7.7: R = 93.2");
    assert_near(opinion_score(r), 4.409, "MOS");
}

#[test]
fn delay_lowers_the_rating() {
    for (delay_ms, expected) in
        [(50.0, 91.756), (100.0, 90.664), (150.0, 89.539), (300.0, 72.666), (400.0, 62.247)]
    {
        assert_near(rating(&Impairment { delay_ms, ..CLEAR }), expected, &format!("{delay_ms} ms"));
    }
}

#[test]
fn loss_impairs_by_codec_and_burstiness() {
    // Ie,eff = Ie + (95 - Ie) Ppl / (Ppl/BurstR + Bpl).
    for (ie, bpl, loss_percent, burst_ratio, impairment) in [
        (0.0, 4.3, 1.0, 1.0, 95.0 / 5.3),
        (0.0, 25.1, 1.0, 1.0, 95.0 / 26.1),
        (0.0, 25.1, 2.0, 2.0, 190.0 / 26.1),
        (11.0, 19.0, 0.0, 1.0, 11.0),
        (11.0, 19.0, 2.0, 1.0, 11.0 + 168.0 / 21.0),
    ] {
        let lossy = Impairment { ie, bpl, loss_percent, burst_ratio, ..CLEAR };
        assert_near(rating(&CLEAR) - rating(&lossy), impairment, &format!("{lossy:?}"));
    }
}

#[test]
fn the_score_is_within_its_limits() {
    assert_eq!([-5.0, 0.0, 100.0, 120.0].map(opinion_score), [1.0, 1.0, 4.5, 4.5]);
    assert_near(opinion_score(50.0), 2.575, "R = 50");
    assert_near(opinion_score(70.0), 3.597, "R = 70");
    assert_near(opinion_score(80.0), 4.024, "R = 80");
}
