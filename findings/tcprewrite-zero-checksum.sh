#!/usr/bin/env bash
# tcprewrite turns a correct UDP checksum of ffff into 0000: over IPv6 the packet is then illegal, and hosts drop it.
#
#   findings/tcprewrite-zero-checksum.sh
#
# Versions: tcpreplay 4.4.3 of Debian 12, from PATH, or else downloaded into a temporary folder.
#
# Valid by: RFC 768: "If the computed checksum is zero, it is transmitted as all ones", and 0 means that the sender
# computed none. RFC 8200, section 8.1: over IPv6 "if that computation yields a result of zero, it must be changed to
# hex FFFF", and receivers must discard UDP packets with a checksum of zero, except some tunnels (RFC 6936).
#
# Guess: --fixcsum leaves a capture whose checksums are all correct as it is, and --ttl changes no UDP checksum, as the
# TTL is not part of it.
# Seen: both change ffff to 0000 over IPv4, which switches the packet's check off; --fixcsum does it over IPv6 as well.
# One of 65 536 packets with random payload has this checksum. (The pull request 814 of appneta/tcpreplay would have
# changed it, and was closed as invalid: over IPv4 a checksum of 0 may be sent.)
#
# It matters to whoever replays recorded traffic through a shaper and counts losses: a receiver drops 15 of a million
# packets over IPv6 that no queue dropped. Edit by a program that keeps ffff, or subtract these packets.
#
# Exits with 0 if the behaviour is as described, 1 if it changed, 2 if tcprewrite cannot be had.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
if command -v tcprewrite >/dev/null; then
    tcprewrite=tcprewrite
else
    apt-get download -qq tcpreplay libdumbnet1 2>/dev/null ||
        { echo "tcprewrite is missing: install the package tcpreplay"; exit 2; }
    for package in ./*.deb; do dpkg -x "$package" unpacked; done
    tcprewrite=unpacked/usr/bin/tcprewrite
    export LD_LIBRARY_PATH
    LD_LIBRARY_PATH=$(echo "$PWD"/unpacked/usr/lib/*-linux-gnu)
fi

cat >capture.py <<'PYTHON'
import ipaddress
import struct
import sys

FILE = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
MACS = bytes.fromhex("020000000002020000000001")


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def packet(version, payload):
    """The frame, and the UDP checksum before 0 is replaced."""
    net = "10.0.0." if version == 4 else "fd00::"
    addresses = b"".join(ipaddress.ip_address(net + host).packed for host in "12")
    size = 8 + len(payload)
    ports = struct.pack(">HHH", 1000, 2000, size)
    value = checksum(addresses + struct.pack(">HH", 17, size) + ports + bytes(2) + payload)
    udp = ports + struct.pack(">H", value or 0xFFFF) + payload
    if version == 4:
        parts = struct.pack(">BBHHHBB", 0x45, 0, 20 + size, 1, 0, 64, 17)
        header = parts + struct.pack(">H", checksum(parts + bytes(2) + addresses)) + addresses
    else:
        header = struct.pack(">IHBB", 6 << 28, size, 17, 64) + addresses
    return MACS + (b"\x08\x00" if version == 4 else b"\x86\xdd") + header + udp, value


def write(path):
    """Per version: a packet whose checksum is computed as 0, then one with another checksum."""
    with open(path, "wb") as file:
        file.write(FILE)
        for version in (4, 6):
            zero = next(p for p in (struct.pack(">H", n) for n in range(65536)) if packet(version, p)[1] == 0)
            for second, payload in enumerate((zero, b"ab")):
                frame, _ = packet(version, payload)
                file.write(struct.pack("<IIII", 1_700_000_000 + second, 0, len(frame), len(frame)) + frame)


def show(path):
    with open(path, "rb") as file:
        data = file.read()
    at, seen = len(FILE), []
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at + 8)
        frame = data[at + 16:at + 16 + size]
        udp = 14 + (20 if frame[12:14] == b"\x08\x00" else 40)
        seen.append(frame[udp + 6:udp + 8].hex())
        at += 16 + size
    print("IPv4 {} {}, IPv6 {} {}".format(*seen))


(write if sys.argv[1] == "write" else show)(sys.argv[2])
PYTHON
python3 capture.py write input.pcap
before=$(python3 capture.py show input.pcap)

status=0
run() {
    local after
    "$tcprewrite" --infile=input.pcap --outfile=output.pcap "$1" >/dev/null
    after=$(python3 capture.py show output.pcap)
    printf '%-11s %s\n' "$1" "$after"
    [ "$after" = "$2" ] || { echo "  changed: it was $2"; status=1; }
}
"$tcprewrite" --version 2>&1 | sed -n 1p
echo "guess       $before (UDP checksums of the input, all correct)"
plain4=$(echo "$before" | sed 's/IPv4 ffff \(....\),.*/\1/')
plain6=${before##* }
run --fixcsum "IPv4 0000 $plain4, IPv6 0000 $plain6"
run --ttl=5 "IPv4 0000 $plain4, IPv6 ffff $plain6"
exit $status
