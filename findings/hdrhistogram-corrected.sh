#!/usr/bin/env bash
# HdrHistogram's correction of coordinated omission invents latencies below the interval in Python, not in JavaScript.
#
#   findings/hdrhistogram-corrected.sh
#
# Versions: hdrhistogram 0.10.8 (PyPI), hdr-histogram-js 3.0.1 (npm).
#
# Valid by: the JavaDoc of HdrHistogram, ValueRecorder.recordValueWithExpectedInterval, which both packages port: for a
# value above the interval it adds records that become smaller "down to the expectedIntervalBetweenValueSamples".
#
# Guess: a probe every 100 us, each answered after 101 us, misses no probe: 1000 values, median 101 us, in both.
# Seen: Python records 2000 values with a median of 1 us, because it continues below the interval, as long as the value
# is above 0: each answer of 101 us adds one of 1 us. A pause of 1050 us gives ten values from 1050 to 150 us in
# JavaScript, but eleven in Python, the last of 50 us. For multiples of the interval the packages agree.
#
# It matters to whoever compares pacing by latency: the correction is there to make a pause count, but in Python it
# lowers the median of a path that is just slower than its probes to nearly 0. Call record_value in a loop instead.
#
# Exits with 0 if the behaviour is as described, 1 if it changed, 2 if node or npm is missing. It needs PyPI and npm.
set -euo pipefail
for program in node npm; do
    command -v "$program" >/dev/null || { echo "$program is missing"; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check hdrhistogram==0.10.8 2>/dev/null
npm install --silent --no-audit --no-fund --prefix "$work" hdr-histogram-js@3.0.1 >/dev/null

cat >corrected.py <<'PYTHON'
import sys

from hdrh.histogram import HdrHistogram

latency, interval, times = map(int, sys.argv[1:])
histogram = HdrHistogram(1, 3_600_000_000, 3)
for _ in range(times):
    histogram.record_corrected_value(latency, interval)
print(f"{histogram.get_total_count()} values, min {histogram.get_min_value()}, "
      f"median {histogram.get_value_at_percentile(50)}")
PYTHON
cat >corrected.js <<'JAVASCRIPT'
const hdr = require("hdr-histogram-js");
const [latency, interval, times] = process.argv.slice(2).map(Number);
const histogram = hdr.build({
    lowestDiscernibleValue: 1, highestTrackableValue: 3600000000, numberOfSignificantValueDigits: 3,
});
for (let i = 0; i < times; i++) histogram.recordValueWithExpectedInterval(latency, interval);
console.log(`${histogram.totalCount} values, min ${histogram.minNonZeroValue}, ` +
    `median ${histogram.getValueAtPercentile(50)}`);
JAVASCRIPT

status=0
compare() {
    local python javascript
    python=$(venv/bin/python corrected.py $1)
    javascript=$(node corrected.js $1)
    printf 'latency, interval, times: %-14s Python: %-34s JavaScript: %s\n' "$1" "$python" "$javascript"
    [ "$python" = "$2" ] || { echo "  Python changed: it was $2"; status=1; }
    [ "$javascript" = "$3" ] || { echo "  JavaScript changed: it was $3"; status=1; }
}
venv/bin/pip list 2>/dev/null | grep hdrhistogram
echo "hdr-histogram-js $(node -p 'require("hdr-histogram-js/package.json").version')"
echo "guess: the same in both; 1000 values and a median of 101 in the first row"
compare "101 100 1000" "2000 values, min 1, median 1" "1000 values, min 101, median 101"
compare "1050 100 1" "11 values, min 50, median 550" "10 values, min 150, median 550"
compare "1000 100 1" "10 values, min 100, median 500" "10 values, min 100, median 500"
exit $status
