#!/usr/bin/env bash
# After `cat a.pcapng b.pcapng`, scapy and dpkt read b's times in a's unit: a second later becomes the year 55 840.
#
#   findings/pcapng-concatenated.sh
#
# Versions: scapy 2.8.0, dpkt 1.9.8; python-pcapng 2.1.1 reads the same file correctly (all PyPI).
#
# Valid by: draft-ietf-opsawg-pcapng, section 3.4, in which a file has several sections by concatenation, and its
# conclusions: "two or more files can be concatenated obtaining another valid file". Section 4.2: an Interface
# Description Block is valid only in its section, and interfaces are numbered per section.
#
# Guess: one file in microseconds and one in nanoseconds, concatenated, have the times of both files in all readers.
# Seen: scapy keeps the first section's interface 0 for the second section, and dpkt reads no interface but the first,
# so both multiply or divide the second file's times by 1000, without a warning. They agree with each other, so a
# second opinion does not help. (The issue 681 of kbandla/dpkt has the same cause within one section.)
#
# It matters to whoever joins captures of several routers or runs, some in microseconds, some in nanoseconds: rates and
# gaps come out a thousand times wrong. Read each file on its own.
#
# Exits with 0 if the behaviour is as described, 1 if it changed. It needs PyPI.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check scapy==2.8.0 dpkt==1.9.8 python-pcapng==2.1.1 2>/dev/null

cat >write.py <<'PYTHON'
import struct


def block(kind, body):
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size


def capture(path, exponent, seconds):
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    interface = struct.pack("<HHI", 1, 0, 65535) + struct.pack("<HHB3xHH", 9, 1, exponent, 0, 0)
    frame = bytes.fromhex("02000000000202000000000188b5") + bytes(50)
    with open(path, "wb") as file:
        file.write(block(0x0A0D0D0A, section) + block(1, interface))
        for second in seconds:
            ticks = second * 10**exponent
            header = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
            file.write(block(6, header + frame))


capture("micro.pcapng", 6, (1_700_000_000, 1_700_000_001))
capture("nano.pcapng", 9, (1_700_000_002, 1_700_000_003))
PYTHON
cat >read.py <<'PYTHON'
import sys

reader, path = sys.argv[1:]
with open(path, "rb") as file:
    if reader == "scapy":
        from scapy.utils import PcapNgReader
        times = [packet.time for packet in PcapNgReader(path)]
    elif reader == "dpkt":
        from dpkt.pcapng import Reader
        times = [time for time, _ in Reader(file)]
    else:
        from pcapng import FileScanner
        times = [block.timestamp for block in FileScanner(file) if hasattr(block, "timestamp")]
print(*(f"{float(time):.0f}" for time in times))
PYTHON
venv/bin/python write.py
cat micro.pcapng nano.pcapng >both.pcapng
cat nano.pcapng micro.pcapng >swapped.pcapng

status=0
expect() {
    local seen
    seen=$(venv/bin/python read.py "$1" "$2" 2>/dev/null)
    printf '%-14s %-15s %s\n' "$1" "$2" "$seen"
    [ "$seen" = "$3" ] || { echo "  changed: it was $3"; status=1; }
}
venv/bin/pip list 2>/dev/null | grep -E '^(scapy|dpkt|python-pcapng) '
echo "guess          both.pcapng     1700000000 1700000001 1700000002 1700000003"
for reader in scapy dpkt python-pcapng; do
    expect $reader micro.pcapng "1700000000 1700000001"
    expect $reader nano.pcapng "1700000002 1700000003"
done
for reader in scapy dpkt; do
    expect $reader both.pcapng "1700000000 1700000001 1700000002000 1700000003000"
    expect $reader swapped.pcapng "1700000002 1700000003 1700000 1700000"
done
expect python-pcapng both.pcapng "1700000000 1700000001 1700000002 1700000003"
expect python-pcapng swapped.pcapng "1700000002 1700000003 1700000000 1700000001"
exit $status
