"""The first program of a guest that measures what qdiscs cost: kernel/module/cost starts it.

    python3 cost.py FOLDER PLUGINS PACKETS ROUNDS

FOLDER has sch_suimon.ko and suimon_cost.ko, PLUGINS tc's plugins. Each qdisc is measured ROUNDS times with PACKETS packets,
all of them in turn, so that a busy machine slows them alike. Prints a line of JSON for each, and last `fine` or `broken`.
"""

import ctypes
import json
import os
import subprocess
import sys
import traceback

LIBC = ctypes.CDLL(None, use_errno=True)
PARAMETERS = "/sys/module/suimon_cost/parameters"
DEVICE = "cost0"

# What tc is given: for ours the discipline with its settings, for the kernel's the lines of a qdisc and its class.
OURS = {
    "fifo": "fifo",
    "drr": "drr class all end",
    "fq_codel": "fq_codel",
    "codel": "codel",
    "pie": "pie",
    "tbr, 500 Mbit/s": "tbr rate 500mbit bucket 20kb queue fifo end",
    "hfsc, 500 Mbit/s": "hfsc default_class all class all real_time_m2 500mbit link_share_m2 500mbit upper_limit_m2 500mbit end",
    "psp, 500 Mbit/s": "psp rate 500mbit",
    "psp without gap frames": "psp rate 500mbit gaps false",
}
KERNELS = {
    "pfifo": ["qdisc root pfifo"],
    "fq_codel": ["qdisc root fq_codel"],
    "codel": ["qdisc root codel"],
    "pie": ["qdisc root pie"],
    "fq": ["qdisc root fq"],
    "tbf, 500 Mbit/s": ["qdisc root tbf rate 500mbit burst 20kb limit 1mb"],
    "htb, 500 Mbit/s": ["qdisc root handle 1: htb default 1", "class parent 1: classid 1:1 htb rate 500mbit burst 20kb cburst 20kb"],
    "hfsc, 500 Mbit/s": ["qdisc root handle 1: hfsc default 1", "class parent 1: classid 1:1 hfsc sc rate 500mbit ul rate 500mbit"],
}


def command(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout}")


def load(path, parameters):
    file = os.open(path, os.O_RDONLY)
    # finit_module, which has no function in the C library.
    if LIBC.syscall(313, file, parameters.encode(), 0):
        raise OSError(ctypes.get_errno(), path)
    os.close(file)


def attach(lines):
    """Puts a qdisc and its classes on the device."""
    subprocess.run(["tc", "qdisc", "del", "dev", DEVICE, "root"], stderr=subprocess.DEVNULL)
    for line in lines:
        kind, *words = line.split()
        command("tc", kind, "add", "dev", DEVICE, *words)


def parameter(name):
    with open(f"{PARAMETERS}/{name}") as file:
        return int(file.read())


def measure(lines):
    """The figures of one run."""
    attach(lines)
    try:
        with open(f"{PARAMETERS}/run", "w") as file:
            file.write(DEVICE)
    except OSError as error:
        raise RuntimeError(f"{lines}: no packet leaves, or none is taken") from error
    return {name: parameter(name) / parameter("packets") for name in ("cycles", "gaps", "waits")}


def run(folder, plugins, packets, rounds):
    os.environ["TC_LIB_DIR"] = plugins
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    load(f"{folder}/sch_suimon.ko", "")
    load(f"{folder}/suimon_cost.ko", f"packets={packets}")
    command("ip", "link", "add", DEVICE, "type", "dummy")
    command("ip", "link", "set", DEVICE, "up")
    cases = [("suimon", name, [f"qdisc root suimon line 1gbit {line}"]) for name, line in OURS.items()]
    cases += [("kernel", name, lines) for name, lines in KERNELS.items()]
    found = {}
    for _ in range(rounds):
        for of, name, lines in cases:
            found.setdefault((of, name), []).append(measure(lines))
    for (of, name), all_rounds in found.items():
        print(json.dumps({"of": of, "qdisc": name} | min(all_rounds, key=lambda it: it["cycles"])), flush=True)


def main():
    for place, kind in [("/proc", "proc"), ("/sys", "sysfs"), ("/dev", "devtmpfs")]:
        LIBC.mount(kind.encode(), place.encode(), kind.encode(), 0, None)
    try:
        run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        print("fine", flush=True)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        print("broken", flush=True)
    os.sync()
    LIBC.reboot(0x4321FEDC)


main()
