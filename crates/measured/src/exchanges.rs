//! Results of requests.

use applications::exchange::Exchanges;

use crate::declare::measured;
use crate::mean::mean_seconds;

measured! {
    /// What became of a flow's requests.
    pub struct ExchangeSummary at "exchanges.": Results(Exchanges);
    /// Sums up the requests of one flow, or of several together.
    of(all: &[&Exchanges], _seconds: f64)
    let exchanges = all.iter().copied().cloned().reduce(Exchanges::and).unwrap_or_default();
    let percentile = |share| Some(exchanges.times.quantile(share).as_secs_f64());
    {
        /// Requests that were answered.
        completed: u64 = exchanges.completed, Number Sum Higher "completed"
            what "Completed requests.".name("exchanges").row(1);
        /// Mean time from writing a request to reading the last of its response, seconds.
        response_mean_seconds: f64 =
            mean_seconds(exchanges.sum, exchanges.completed).unwrap_or_default(),
            Time Mean Lower "mean response time"
            what "Mean time from a request to the end of its response."
            .name("response_mean").samples("exchanges.completed").compared().row(1);
        /// p50 of these, to 0.8 %, seconds; none in runs of before it was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_p50_seconds: Option<f64> = percentile(0.5), Time None Lower "response time p50"
            what "p50 of the time from a request to the end of its response, to 0.8 %."
            .name("response_p50").samples("exchanges.completed").compared().row(1);
        /// p95 of these, to 0.8 %, seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_p95_seconds: Option<f64> = percentile(0.95), Time None Lower "response time p95"
            what "p95 of the response time."
            .name("response_p95").samples("exchanges.completed").row(1);
        /// p99 of these, to 0.8 %, seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_p99_seconds: Option<f64> = percentile(0.99), Time None Lower "response time p99"
            what "p99 of the response time."
            .name("response_p99").samples("exchanges.completed").compared().row(1);
        /// The longest of these, seconds.
        response_max_seconds: f64 = exchanges.max.as_secs_f64(),
            Time Max Lower "max response time"
            what "Max time from a request to the end of its response."
            .name("response_max").samples("exchanges.completed").row(1);
    }
}
