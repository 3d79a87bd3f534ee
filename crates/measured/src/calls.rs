//! Results of calls by voice over IP.

use applications::voip::Call;

use crate::declare::measured;
use crate::mean::per;

measured! {
    /// What the listener of a call heard.
    pub struct CallSummary at "call.": Results(Call);
    /// Sums up a flow's one call.
    of(calls: &[&Call], _seconds: f64)
    let call = calls[0];
    {
        /// Mean opinion score by the E-model (ITU-T G.107), 1 to 4.5.
        mos: f64 = call.opinion_score(), Number None Higher "mean opinion score"
            what "Mean opinion score of the call (ITU-T G.107), 1 to 4.5."
            .name("mos").compared().row(1);
        /// The transmission rating R that it follows from.
        rating: f64 = call.rating(), Number None Higher "R"
            what "Transmission rating R of the call (ITU-T G.107).".row(1).detail();
        /// Delay from mouth to ear, seconds.
        mouth_to_ear_seconds: f64 = call.mouth_to_ear.as_secs_f64(), Time Max Lower "mouth to ear"
            what "Delay of the call from mouth to ear.".name("mouth_to_ear").row(1);
        /// Packets that were missing when it was their turn to be played, lost or late, as a share.
        missed: f64 = call.loss(), Share None Lower "missed"
            what "Packets of the call that were lost or too late to be played, as a share.".row(1);
        /// Packets that arrived too late to be played.
        late: u64 = call.late, Number Sum Lower "late"
            what "Packets of the call that arrived too late to be played.".row(1);
    }
}

measured! {
    /// The calls of several flows.
    pub struct CallsSummary at "calls.": Results(Call);
    /// Sums up calls, at least one.
    of(calls: &[&Call], _seconds: f64)
    let scores = calls.iter().map(|call| call.opinion_score());
    {
        /// Mean of the calls' mean opinion scores.
        mos_mean: f64 = per(scores.clone().sum(), scores.len() as f64),
            Number None Higher "mean opinion score".name("mos_mean").row(1);
        /// The lowest of them.
        mos_min: f64 = scores.fold(f64::INFINITY, f64::min),
            Number None Higher "lowest opinion score"
            what "The lowest of the calls' mean opinion scores.".name("mos_min").row(1);
    }
}
