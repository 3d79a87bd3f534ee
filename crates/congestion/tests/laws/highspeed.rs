//! RFC 3649: the table of appendix B, and what a round trip and a loss do at each of its rows.

#[path = "../../build/highspeed.rs"]
mod table;

use crate::path::Path;

/// Appendix B: w, a(w), b(w) in hundredths.
#[rustfmt::skip]
const APPENDIX_B: [(u32, u32, u32); 73] = [
    (38, 1, 50), (118, 2, 44), (221, 3, 41), (347, 4, 38), (495, 5, 37), (663, 6, 35),
    (851, 7, 34), (1058, 8, 33), (1284, 9, 32), (1529, 10, 31), (1793, 11, 30), (2076, 12, 29),
    (2378, 13, 28), (2699, 14, 28), (3039, 15, 27), (3399, 16, 27), (3778, 17, 26),
    (4177, 18, 26), (4596, 19, 25), (5036, 20, 25), (5497, 21, 24), (5979, 22, 24),
    (6483, 23, 23), (7009, 24, 23), (7558, 25, 22), (8130, 26, 22), (8726, 27, 22),
    (9346, 28, 21), (9991, 29, 21), (10661, 30, 21), (11358, 31, 20), (12082, 32, 20),
    (12834, 33, 20), (13614, 34, 19), (14424, 35, 19), (15265, 36, 19), (16137, 37, 19),
    (17042, 38, 18), (17981, 39, 18), (18955, 40, 18), (19965, 41, 17), (21013, 42, 17),
    (22101, 43, 17), (23230, 44, 17), (24402, 45, 16), (25618, 46, 16), (26881, 47, 16),
    (28193, 48, 16), (29557, 49, 15), (30975, 50, 15), (32450, 51, 15), (33986, 52, 15),
    (35586, 53, 14), (37253, 54, 14), (38992, 55, 14), (40808, 56, 14), (42707, 57, 13),
    (44694, 58, 13), (46776, 59, 13), (48961, 60, 13), (51258, 61, 13), (53677, 62, 12),
    (56230, 63, 12), (58932, 64, 12), (61799, 65, 12), (64851, 66, 11), (68113, 67, 11),
    (71617, 68, 11), (75401, 69, 10), (79517, 70, 10), (84035, 71, 10), (89053, 72, 10),
    (94717, 73, 9),
];

#[test]
fn the_computed_table_is_appendix_b() {
    let computed: Vec<_> = table::table()
        .iter()
        .map(|row| (row.window, row.increase, (row.decrease * 100 + 32_768) >> 16))
        .collect();
    assert_eq!(computed, APPENDIX_B);
    assert!(table::header().contains("{ 118u, 2,"), "the header holds the table");
}

#[test]
fn a_round_trip_gains_a_of_w_and_a_loss_takes_b_of_w() {
    for (window, increase, decrease) in APPENDIX_B {
        let mut path = Path::avoiding("highspeed", 100_000, window);
        path.round_at_once();
        assert_eq!(path.sock.cwnd, window + increase, "a({window})");

        let mut path = Path::avoiding("highspeed", 100_000, window);
        path.lose();
        let fraction = 1.0 - f64::from(path.sock.cwnd) / f64::from(window);
        let rounding = 0.005 + 1.0 / f64::from(window);
        assert!((fraction - f64::from(decrease) / 100.0).abs() <= rounding, "b({window})");
    }
}

#[test]
fn between_two_rows_the_lower_one_holds() {
    for pair in APPENDIX_B.windows(2) {
        let last = pair[1].0 - 1;
        let mut path = Path::avoiding("highspeed", 100_000, last);
        path.round_at_once();
        assert_eq!(path.sock.cwnd, last + pair[0].1, "a({last})");
    }
}

#[test]
fn up_to_low_window_it_is_standard_tcp() {
    let low = u32::try_from(table::LOW_WINDOW).expect("38");
    for window in 2..=low {
        let mut path = Path::avoiding("highspeed", 100_000, window);
        path.lose();
        assert_eq!(path.sock.ssthresh, (window / 2).max(2));
        let mut path = Path::avoiding("highspeed", 100_000, window);
        path.round_at_once();
        assert_eq!(path.sock.cwnd, window + 1);
    }
}

#[test]
fn at_high_window_the_parameters_are_met() {
    let rows = table::table();
    let above = rows.partition_point(|r| u64::from(r.window) <= table::HIGH_WINDOW);
    let (row, next) = (rows[above - 1], rows[above]);
    // Section 5: w = sqrt(a (2 - b) / (2 b p)). At High_P = 1e-7 the row of High_Window holds itself.
    let (a, b) = (f64::from(row.increase), f64::from(row.decrease) / 65_536.0);
    let window = (a * (2.0 - b) / (2.0 * b * 1e-7)).sqrt();
    assert!((f64::from(row.window)..f64::from(next.window)).contains(&window), "{window}");
}
