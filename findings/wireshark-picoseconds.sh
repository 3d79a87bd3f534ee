#!/usr/bin/env bash
# tshark and editcap read a pcapng capture whose clock ticks in picoseconds, and show wrong fractions of a second.
#
#   findings/wireshark-picoseconds.sh
#
# Versions: Wireshark 4.0.17 of Debian 12 (tshark and editcap, from PATH); dpkt 1.9.8 reads the same file correctly.
#
# Valid by: draft-ietf-opsawg-pcapng, section 4.2. if_tsresol is any negative power of 10 (or of 2), so 12 is
# picoseconds. 64 bits of picoseconds span 213 days, so the interface also has if_tsoffset, the seconds to add.
#
# Guess: tshark, which has nanoseconds, cuts the last three digits: .100000000, .200000000 and .900000000 s. A copy by
# editcap without options has the same times.
# Seen: .007766279, .015532559 and .014556284 s, so the last packet is earlier than the one before it. In the copy all
# packets are in February 1970. No program warns. Resolutions of 10^-11 and 2^-40 fail alike; 10^-10 and 2^-32 do not.
# These values are those of a product (ticks within the second by 10^9) that is kept in 64 bits.
#
# It matters to whoever paces at 100 Gbit/s, where a frame of 64 bytes takes 6.7 ns: gaps between packets from a capture
# card with picoseconds are noise in Wireshark. Let the card write nanoseconds, or read the file by another program.
#
# Exits with 0 if the behaviour is as described, 1 if it changed, 2 if tshark or editcap is missing. It needs PyPI.
set -euo pipefail
for program in tshark editcap; do
    command -v "$program" >/dev/null || { echo "$program is missing: install the package tshark"; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check dpkt==1.9.8 2>/dev/null

cat >write.py <<'PYTHON'
import struct

import dpkt

BASE = 1_700_000_000


def block(kind, body):
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def capture(path, resolution, unit):
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    options = struct.pack("<HHB3x", 9, 1, resolution) + struct.pack("<HHq", 14, 8, BASE) + struct.pack("<HH", 0, 0)
    interface = struct.pack("<HHI", 1, 0, 65535) + options
    frame = bytes.fromhex("02000000000202000000000188b5") + bytes(50)
    with open(path, "wb") as file:
        file.write(block(0x0A0D0D0A, section) + block(1, interface))
        for tenths in (1, 2, 9):
            ticks = tenths * unit // 10
            header = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
            file.write(block(6, header + frame))
    with open(path, "rb") as file:
        times = [f"{float(time):.6f}" for time, _ in dpkt.pcapng.Reader(file)]
    assert times == [f"{BASE}.{tenths}00000" for tenths in (1, 2, 9)], times


capture("nano.pcapng", 9, 10**9)
capture("pico.pcapng", 12, 10**12)
PYTHON
venv/bin/python write.py

times() { tshark -r "$1" -T fields -e frame.time_epoch 2>/dev/null | paste -sd ' '; }
editcap nano.pcapng nano-copy.pcapng
editcap pico.pcapng pico-copy.pcapng

status=0
expect() {
    printf '%-28s %s\n' "$1" "$2"
    [ "$2" = "$3" ] || { echo "  changed: it was $3"; status=1; }
}
tshark --version 2>/dev/null | sed -n 1p
right="1700000000.100000000 1700000000.200000000 1700000000.900000000"
echo "guess                        $right"
expect "nanoseconds" "$(times nano.pcapng)" "$right"
expect "nanoseconds, copied" "$(times nano-copy.pcapng)" "$right"
expect "picoseconds" "$(times pico.pcapng)" "1700000000.007766279 1700000000.015532559 1700000000.014556284"
expect "picoseconds, copied" "$(times pico-copy.pcapng)" "2899545.005126601 2899545.012892881 2899545.011916606"
exit $status
