//! End to end: every byte arrives exactly once and in order, whatever the pipe does.

mod pipe;

use pipe::{Fate, Pipe, ms};
use traffic::Duration;
use transport::Profile;

#[test]
fn every_profile_moves_a_megabyte_over_a_clean_pipe() {
    for profile in Profile::all() {
        let config = profile.config();
        let mut pipe = Pipe::new([&config, &config], ms(10), |_, _, _| Fate::Pass);
        pipe.ends[1].read_always(pipe.now);
        pipe.establish();
        let now = pipe.now;
        pipe.ends[0].supply(1_000_000, now);
        pipe.ends[0].close(now);
        let done = pipe.run(Duration::from_secs(60), |e| {
            e[0].is_send_finished() && e[1].is_receive_finished()
        });
        let info = pipe.ends[0].info();
        assert!(done, "{}: {info:?}", profile.name());
        assert_eq!(pipe.ends[1].delivered_bytes(), 1_000_000);
        assert_eq!((info.retransmissions, info.timeouts), (0, 0), "{}: {info:?}", profile.name());
        println!("{} {:?}", profile.name(), pipe.now);
    }
}
