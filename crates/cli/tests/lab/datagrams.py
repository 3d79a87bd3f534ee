"""Numbered UDP datagrams, each of them unlike all others.

    datagrams.py sink PORT
    datagrams.py send ADDRESS PORT START BURSTS PAUSE SIZE...

A sink takes what comes. A sender waits START seconds, and then sends BURSTS times a datagram of each SIZE
(bytes of payload) as fast as it can, with PAUSE seconds between the bursts.
"""

import socket
import sys
import time


def sink(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", port))
    while True:
        s.recv(65536)


def send(address, port, start, bursts, pause, sizes):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, port))
    contents = [
        [(burst * len(sizes) + n).to_bytes(8, "big").ljust(size, b".") for n, size in enumerate(sizes)]
        for burst in range(bursts)
    ]
    time.sleep(start)
    for burst in contents:
        for content in burst:
            s.send(content)
        time.sleep(pause)


verb, *words = sys.argv[1:]
if verb == "sink":
    sink(int(words[0]))
else:
    address, port, start, bursts, pause, *sizes = words
    send(address, int(port), float(start), int(bursts), float(pause), [int(size) for size in sizes])
