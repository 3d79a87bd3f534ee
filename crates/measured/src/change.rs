//! Results of a change of a queue.

use crate::declare::measured;

measured! {
    /// What became of a change of a queue.
    pub struct ChangeSummary at "";
    /// Sums up a change that was refused for this reason, or made.
    of(refusal: Option<&str>) {
        /// Whether it was made: a class admitted, a discipline attached.
        made: bool = refusal.is_none(), Number None Higher "made"
            what "1 if the change succeeded: a class admitted, a discipline attached.";
        /// Why not, if it was not.
        refusal: Option<String> = refusal.map(str::to_owned);
    }
}
