"""Judges the emulator by what dumpcap saw at the hosts' own interfaces.

    truth.py rate RECEIVED RATE
    truth.py delay SENT RECEIVED LINE RATE DELAY
    truth.py drops SENT RECEIVED RATE BUFFER

RATE and LINE are in bits per second, DELAY in seconds, BUFFER in bytes. It prints what it found as JSON and
exits with 0 if that is within the bounds, with 1 if not, and with 3 if the captures do not allow a judgement.

What the stamps are: at the sender the kernel stamps a frame when it leaves the interface's queue and is
handed to the wire; at the receiver when it has come off the wire, before any queue. Nothing is subtracted
from their difference but what the scenario itself says that the way takes: a line sends a frame, with the
4 bytes of its FCS and 20 of preamble and gap, and the emulator, which has all of it before it begins, sends
it with its FCS at its rate, and delays it.
"""

import json
import struct
import sys

FCS = 4
PREAMBLE_AND_GAP = 20
SHORTEST = 64

RATE_ERROR = 0.001
DELAY_ERROR_HALF = 20e-6
DELAY_ERROR_99 = 200e-6


class Unfit(Exception):
    """The captures do not allow a judgement."""


def blocks(data):
    """The pcapng blocks: type and body (draft-ietf-opsawg-pcapng, 3.1)."""
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or at + length > len(data):
            raise Unfit("the capture is cut off")
        yield kind, data[at + 8 : at + length - 4]
        at += length


def options(body, at):
    found = {}
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            break
        found[code] = body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def frames(path):
    """The UDP frames of a capture: stamp in nanoseconds, bytes with FCS, and payload as far as it is kept."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] != b"\x0a\x0d\x0d\x0a" or data[8:12] != b"\x4d\x3c\x2b\x1a":
        raise Unfit(f"{path} is no little-endian pcapng file")
    found, counted = [], False
    for kind, body in blocks(data):
        if kind == 1:
            resolution = options(body, 8).get(9, b"\x06")[0]
            if resolution != 9:
                raise Unfit(f"{path} has no stamps in nanoseconds")
        elif kind == 5:
            told = options(body, 12)
            dropped = [struct.unpack("<Q", told[code])[0] for code in (5, 7) if code in told]
            if any(dropped):
                raise Unfit(f"the witness lost {dropped} packets")
            counted = True
        elif kind == 6:
            _, high, low, kept, length = struct.unpack_from("<IIIII", body)
            frame = body[20 : 20 + kept]
            # IPv4 without options, UDP.
            if frame[12:15] == b"\x08\x00\x45" and frame[23] == 17:
                end = 34 + struct.unpack_from(">H", frame, 38)[0]
                found.append((high << 32 | low, max(length + FCS, SHORTEST), frame[42:end]))
    if not counted:
        raise Unfit(f"{path} was not closed")
    return found


def every(sent):
    """The numbered datagrams of the sender's capture, all from the first: a witness that a busy machine starts
    after them saw none of those."""
    seen = frames(sent)
    for number, (_, _, content) in enumerate(seen):
        if int.from_bytes(content[:8], "big") != number:
            raise Unfit(f"the sender's witness did not see datagram {number}")
    return seen


def share(ordered, part):
    """What the given part of the values is not above."""
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def rate(received, wanted):
    """Frames that arrive back to back take the time that the rate gives them."""
    seen = frames(received)
    if len(seen) < 2:
        raise Unfit("nothing arrived")
    seconds = (seen[-1][0] - seen[0][0]) * 1e-9
    got = 8 * sum(length for _, length, _ in seen[1:]) / seconds
    error = got / wanted - 1
    found = {"frames": len(seen), "seconds": seconds, "bits_per_second": got, "error": error}
    return found, abs(error) <= RATE_ERROR and seconds >= 9.9


def delay(sent, received, line, rate, configured):
    """Every datagram that arrives, against the time that its way takes."""
    started = {content: (stamp, length) for stamp, length, content in every(sent)}
    errors = []
    for stamp, length, content in frames(received):
        start, length = started[content]
        way = (length + PREAMBLE_AND_GAP) * 8 / line + length * 8 / rate + configured
        errors.append((stamp - start) * 1e-9 - way)
    if len(errors) < 1000:
        raise Unfit(f"{len(errors)} datagrams arrived, which are too few")
    signed, ordered = sorted(errors), sorted(map(abs, errors))
    half, most = share(ordered, 0.5), share(ordered, 0.99)
    found = {"datagrams": len(errors), "p50": half, "p99": most, "max": ordered[-1], "least": signed[0]}
    return found, half < DELAY_ERROR_HALF and most < DELAY_ERROR_99


def drops(sent, received, rate, buffer):
    """Of a burst, the first frame is on the wire at once, and those pass for which the buffer has room."""
    arrived = [content for _, _, content in frames(received)]
    expected, start, free, queued, bursts = [], None, None, 0, 0
    for stamp, length, content in every(sent):
        if free is None or stamp > free:
            start, queued, bursts = stamp, 0, bursts + 1
            first_gone = stamp + length * 8 / rate * 1e9
            free = first_gone
            expected.append(content)
            continue
        if stamp > first_gone:
            raise Unfit("a burst took so long that its first frame was gone before its last came")
        if queued + length <= buffer:
            queued += length
            free += length * 8 / rate * 1e9
            expected.append(content)
    found = {"bursts": bursts, "expected": len(expected), "arrived": len(arrived), "queued": queued}
    return found, bursts > 1 and arrived == expected


def main(verb, *words):
    if verb == "rate":
        return rate(words[0], float(words[1]))
    if verb == "delay":
        return delay(words[0], words[1], *map(float, words[2:]))
    return drops(words[0], words[1], float(words[2]), int(words[3]))


try:
    found, within = main(*sys.argv[1:])
except Unfit as reason:
    print(json.dumps({"unfit": str(reason)}))
    sys.exit(3)
print(json.dumps(found))
sys.exit(0 if within else 1)
