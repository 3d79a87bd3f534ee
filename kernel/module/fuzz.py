"""The first program of a guest that tests sch_suimon: kernel/module/fuzz starts it.

    python3 fuzz.py FOLDER TRANSCRIPTS FRAMES SEED

FOLDER has sch_suimon.ko and suimon_fuzz.ko, TRANSCRIPTS the transcripts of crates/traffic-kernel's example, whose tables
of settings are used. While the module sends FRAMES drawn frames, this program adds, changes, renames and removes devices and
qdiscs by netlink. It prints figures as lines `NAME VALUE`, everything suspicious of the kernel's log, and last `fine` or
`broken`.
"""

import collections
import ctypes
import errno
import os
import random
import re
import socket
import struct
import sys
import time
import traceback

LIBC = ctypes.CDLL(None, use_errno=True)
PARAMETERS = "/sys/module/suimon_fuzz/parameters"
KMEMLEAK = "/sys/kernel/debug/kmemleak"

SUSPICIOUS = re.compile(
    r"KASAN|BUG|WARNING|INFO:|UBSAN|ODEBUG|corruption|possible|unreferenced|refcount|Call Trace|protection fault|panic"
    r"|DEBUG_LOCKS|Redzone|Poison|sleeping function|scheduling while|Object already free|never freed|csum failure"
    r"|stack depot|bad_page|Bad page|unregister_netdevice"
)
# Of the kernel, that found no memory to track a reference, and of a parent whose child waits.
ALLOWED = re.compile(r"ref_tracker: memory allocation failure|non-work-conserving")
NO_MEMORY = re.compile(r"vmalloc error|allocation failure")
BROKE = "the discipline broke"
# Of the guard and of the library, before that or when a qdisc is refused.
FAILED = re.compile(r"suimon: (the library failed|no memory)")

RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK = 16, 17, 18
RTM_NEWQDISC, RTM_DELQDISC, RTM_GETQDISC = 36, 37, 38
RTM_NEWTCLASS, RTM_DELTCLASS, RTM_GETTCLASS = 40, 41, 42
RTM_NEWTFILTER, RTM_DELTFILTER = 44, 45
ALL_PROTOCOLS = socket.htons(3)
REQUEST, ACK, DUMP, REPLACE, EXCLUSIVE, CREATE = 1, 4, 0x300, 0x100, 0x200, 0x400
ROOT = 0xFFFFFFFF


def attribute(number, value):
    """A netlink attribute, padded."""
    return struct.pack("HH", len(value) + 4, number) + value + bytes(-len(value) % 4)


def attributes(data):
    """The attributes in the bytes of a message, by number."""
    at, found = 0, {}
    while at + 4 <= len(data):
        length, number = struct.unpack_from("HH", data, at)
        found[number & 0x3FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


class Netlink:
    """Requests to the kernel's network configuration."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.socket.settimeout(60)
        self.number = 0

    def request(self, kind, flags, body, each=None):
        """The error's number, 0 if there is none. `each` is called with every message of a list."""
        if self.failing is not None:
            os.pwrite(self.failing, b"1", 0)
        try:
            return self.exchange(kind, flags, body, each)
        except OSError as error:
            # The kernel found no memory for the request or for its answer.
            return error.errno or errno.ETIMEDOUT
        finally:
            if self.failing is not None:
                os.pwrite(self.failing, b"0", 0)

    # The file that makes allocations of this process fail, if they shall.
    failing = None

    def exchange(self, kind, flags, body, each):
        self.number += 1
        self.socket.send(struct.pack("IHHII", len(body) + 16, kind, flags | REQUEST | ACK, self.number, 0) + body)
        while True:
            answer, at = self.socket.recv(1 << 18), 0
            while at < len(answer):
                length, kind, _, number = struct.unpack_from("IHHI", answer, at)
                # The acknowledgement, or the end of a list.
                if number == self.number and kind in (2, 3):
                    return -struct.unpack_from("i", answer, at + 16)[0]
                # Not the end of a list whose beginning was lost.
                if each and number == self.number and kind >= RTM_NEWLINK:
                    each(answer[at + 16 : at + length])
                at += (length + 3) & ~3

    def link(self, kind, flags=0, index=0, up=None, multicast=None, **attributes):
        """A request about a device."""
        numbers = {"name": 3, "mtu": 4, "info": 18}
        change, value = (0, 0) if up is None else (1, int(up))
        if multicast is not None:
            change, value = change | 0x1000, value | 0x1000 * multicast
        body = struct.pack("BxHiII", 0, 0, index, value, change)
        for name, what in attributes.items():
            body += attribute(numbers[name], what)
        return self.request(kind, flags, body)

    def qdisc(self, kind, flags, index, parent, handle, name=None, options=None, info=0):
        """A request about a qdisc, a class or a filter."""
        body = struct.pack("BxxxiIII", 0, index, handle, parent, info)
        if name:
            body += attribute(1, name.encode() + b"\0")
        if options is not None:
            # ets wants the flag of nested attributes.
            body += attribute(2 | (0x8000 if name == "ets" else 0), options)
        return self.request(kind, flags, body)


class Log:
    """The kernel's log from now on."""

    def __init__(self):
        self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.file, 0, os.SEEK_END)
        self.broke = 0
        self.found = 0
        self.meant = False

    def read(self, may_break):
        """Prints what is suspicious."""
        after = 0
        while True:
            try:
                line = os.read(self.file, 8192).decode(errors="replace").split("\n")[0].split(";", 1)[-1]
            except BlockingIOError:
                return
            except BrokenPipeError:
                print("the log was longer than its buffer")
                self.found += 1
                continue
            self.broke += BROKE in line
            broke = BROKE in line or FAILED.search(line)
            if ALLOWED.search(line) or (broke and may_break):
                continue
            # The kernel shows where it found no memory, which is meant here.
            if may_break and NO_MEMORY.search(line):
                self.meant = True
            elif self.meant and "Call Trace" in line:
                self.meant = False
                continue
            if SUSPICIOUS.search(line) or broke:
                self.found += 1
                after = 40
            if after:
                after -= 1
                print("log:", line)


def read_tables(folder):
    """The tables of settings of each discipline."""
    tables = {}
    for name in sorted(os.listdir(folder)):
        with open(f"{folder}/{name}", "rb") as file:
            content = file.read()
        at, found = 0, []
        while at < len(content):
            _, call, _, _, length = struct.unpack_from("QIIII", content, at)
            body = content[at + 24 : at + 24 + length]
            at += 24 + length
            if call == 1:
                # Behind the device.
                found.append(body[body.index(name.encode()) :].decode())
            elif call == 3:
                found.append(body.decode())
        tables[name] = found
    return tables


CONDITIONS = [
    "source 0.0.0.0/1", "destination 128.0.0.0/1", "destination ::/1", "source 8000::/2", "protocol 6", "protocol 17",
    "source_ports 0-32767", "destination_ports 20000-65535", "dscp 0/32", "dscp 46/63", "vlan_priority 3",
    "flow_label 77",
]  # fmt: skip


class Driver:
    """A device with a qdisc, and what is done to both while frames go through them."""

    def __init__(self, tables, draw):
        self.tables, self.draw = tables, draw
        self.netlink = Netlink()
        self.names = 0
        self.index = self.parent = 0
        self.discipline = None
        self.results = collections.Counter()
        self.unexpected = 0

    def note(self, what, error, allowed=()):
        """Counts an answer; one that is not allowed is a failure."""
        self.results[f"{what} {errno.errorcode.get(error, error) if error else 'done'}"] += 1
        if error and error not in allowed and not self.may_fail():
            print(f"unexpected: {what}: {os.strerror(error)} ({self.discipline})")
            self.unexpected += 1
        return error

    may_fail_now = False

    def may_fail(self):
        return self.may_fail_now

    def add_device(self):
        """A new device, up, with a qdisc."""
        self.names += 1
        self.name = f"fuzz{self.names}"
        info = attribute(1, b"suifuzz\0")
        self.note("device", self.netlink.link(RTM_NEWLINK, CREATE | EXCLUSIVE, name=self.name.encode() + b"\0", info=info))
        try:
            self.index = socket.if_nametoindex(self.name)
        except OSError:
            self.index = 0
            return
        self.set_up(True)
        self.attach()

    def set_up(self, up):
        self.note("up" if up else "down", self.netlink.link(RTM_NEWLINK, index=self.index, up=up), (errno.ENODEV,))

    def table(self):
        """A table of the discipline, at times with filters by headers."""
        lines = self.draw.choice(self.tables[self.discipline]).split("\n")
        if self.draw.random() < 0.6:
            lines = [self.draw.choice(CONDITIONS) if it.startswith("flow ") else it for it in lines]
        return "\n".join(lines)

    def options(self, table, first=True):
        """TCA_OPTIONS of our qdisc."""
        value = attribute(1, table.encode() + b"\0")
        if first and self.draw.random() < 0.5:
            value += attribute(3, struct.pack("I", self.draw.choice([1, 2, 7, 64, 1000])))
        if first and self.draw.random() < 0.5:
            value += attribute(5, struct.pack("I", 1))
        return value

    def attach(self):
        """The discipline at the root, or in a band of the kernel's prio or ets; what was there goes."""
        self.attached = False
        self.majors = self.majors % 0x7000 + 2
        root, self.parent, self.handle = self.majors << 16, ROOT, self.majors << 16
        within = self.draw.choice(["prio", "ets", None, None, None, None])
        if within == "prio":
            value = struct.pack("i16B", 3, *(n % 3 for n in range(16)))
        elif within == "ets":
            value = attribute(1, b"\3") + attribute(2, b"\1")
        if within:
            error = self.netlink.qdisc(RTM_NEWQDISC, CREATE | REPLACE, self.index, ROOT, root, within, value)
            if self.note(within, error, (errno.ENODEV,)):
                return
            self.parent, self.handle = root + self.draw.randint(1, 3), root + 0x10000
        self.kind = "psp" if self.discipline == "psp" and self.draw.random() < 0.5 else "suimon"
        options = self.options(self.table())
        error = self.netlink.qdisc(RTM_NEWQDISC, CREATE | REPLACE, self.index, self.parent, self.handle, self.kind, options)
        # A small MTU, or a great one, makes some settings wrong.
        self.attached = not self.note("attach", error, (errno.EINVAL,) if self.mtu_changed else ())

    majors = handle = 0
    attached = False
    kind = "suimon"
    mtu_changed = False

    def change(self):
        options = self.options(self.table(), first=False)
        error = self.netlink.qdisc(RTM_NEWQDISC, 0, self.index, self.parent, self.handle, self.kind, options)
        self.note("change", error, () if self.attached and not self.mtu_changed else (errno.EINVAL, errno.ENOENT, errno.EEXIST))

    def change_wrongly(self):
        """Settings that are cut short, or have a character that is wrong."""
        table = self.table()
        at = self.draw.randrange(len(table))
        table = table[:at] + self.draw.choice(["", "x", "\n", "9" * 30, "é"]) + table[at + self.draw.choice([1, 1000]) :]
        options = self.options(table, first=False)
        error = self.netlink.qdisc(RTM_NEWQDISC, 0, self.index, self.parent, self.handle, self.kind, options)
        self.note("wrong", error, (errno.EINVAL,) if self.attached else (errno.EINVAL, errno.ENOENT, errno.EEXIST))

    def dump(self, empty=False):
        """Lists the qdiscs: none has lost count of its packets, and with `empty` none has any."""

        def check(message):
            (index,) = struct.unpack_from("i", message, 4)
            found = attributes(message[20:])
            queue = attributes(found.get(7, b"")).get(3)
            if index != self.index or not queue:
                return
            packets, size = struct.unpack_from("II", queue)
            if packets > (0 if empty else 100_000) or size > (0 if empty else 1 << 31):
                print(f"unexpected: {found[1][:-1].decode()} of {self.discipline} has {packets} packets and {size} bytes queued")
                self.unexpected += 1

        body = struct.pack("BxxxiIII", 0, 0, 0, 0, 0)
        self.note("list", self.netlink.request(RTM_GETQDISC, DUMP, body, check))
        self.note("list classes", self.netlink.qdisc(RTM_GETTCLASS, DUMP, self.index, 0, 0))

    def graft(self):
        """Our classes have no qdiscs of the kernel's."""
        parent = self.handle + self.draw.randint(1, 5)
        error = self.netlink.qdisc(RTM_NEWQDISC, CREATE, self.index, parent, 0, "fq_codel")
        if not error and self.attached:
            print("unexpected: a qdisc within a class of ours")
            self.unexpected += 1
        self.note("graft", error, (errno.EOPNOTSUPP, errno.ENOENT, errno.EINVAL))

    def set_class(self):
        """Adds or changes a class, with settings of one of the discipline's, or removes one."""
        classid = self.handle + self.draw.randint(0, 6)
        wrong = (errno.EINVAL, errno.ENOENT, errno.EEXIST, errno.EBUSY, errno.E2BIG)
        if self.draw.random() < 0.3:
            error = self.netlink.qdisc(RTM_DELTCLASS, 0, self.index, self.handle, classid)
            self.note("remove class", error, wrong)
            return
        lines = self.table().split("\n")
        begins = [at for at, line in enumerate(lines) if line.startswith("class ")] or [0]
        begin = self.draw.choice(begins)
        length = next((n for n, line in enumerate(lines[begin:]) if line == "end"), 1)
        settings = "\n".join(line for line in lines[begin + 1 : begin + length] if not line.startswith("parent "))
        parent = self.handle + self.draw.choice([0, 0, 0, 1, 2])
        value = attribute(1, settings.encode() + b"\0")
        flags = self.draw.choice([CREATE, CREATE | EXCLUSIVE, 0])
        self.note("class", self.netlink.qdisc(RTM_NEWTCLASS, flags, self.index, parent, classid, self.kind, value), wrong)

    def filter(self):
        """A filter of tc leads to a class, which is there or not, or drops packets."""
        flags, classid = CREATE | self.draw.choice([EXCLUSIVE, REPLACE]), self.handle + self.draw.randint(1, 6)
        if self.draw.random() < 0.6:
            priority, handle, name = self.draw.randint(1, 3), self.draw.randint(1, 3), "fw"
            options = attribute(1, struct.pack("I", classid))
        else:
            priority, handle, name = self.draw.randint(4, 6), 0, "matchall"
            options = attribute(1, struct.pack("I", classid))
            if self.draw.random() < 0.1:
                drop = attribute(2, struct.pack("IIiii", 0, 0, 2, 0, 0))
                options += attribute(2, attribute(1, attribute(1, b"gact\0") + attribute(2, drop)))
        info = priority << 16 | ALL_PROTOCOLS
        error = self.netlink.qdisc(RTM_NEWTFILTER, flags, self.index, self.handle, handle, name, options, info)
        self.note("filter", error, (errno.EEXIST,) if self.attached else (errno.EEXIST, errno.EINVAL, errno.ENOENT))

    def remove_filters(self):
        """Those of one priority, or all of them."""
        info = self.draw.choice([0, 0, 1, 2, 3, 4, 5, 6]) << 16
        error = self.netlink.qdisc(RTM_DELTFILTER, 0, self.index, self.handle, 0, info=info | (ALL_PROTOCOLS if info else 0))
        self.note("remove filters", error, (errno.ENOENT,) if self.attached else (errno.ENOENT, errno.EINVAL))

    def set_mtu(self):
        self.mtu_changed = True
        mtu = struct.pack("I", self.draw.choice([68, 576, 1280, 1500, 1500, 9000, 65535]))
        self.note("mtu", self.netlink.link(RTM_NEWLINK, index=self.index, mtu=mtu))

    def set_speed(self):
        """The line has another rate, which the kernel announces with a change of a flag."""
        write(f"{PARAMETERS}/speed", self.draw.choice(["1000", "2500", "10000"]))
        for multicast in (False, True):
            self.note("speed", self.netlink.link(RTM_NEWLINK, index=self.index, multicast=multicast))

    def toggle(self):
        self.set_up(False)
        if self.draw.random() < 0.5:
            time.sleep(0.001)
        self.set_up(True)

    def rename(self):
        self.names += 1
        name = f"fuzz{self.names}".encode() + b"\0"
        if self.draw.random() < 0.5:
            self.set_up(False)
        self.note("rename", self.netlink.link(RTM_NEWLINK, index=self.index, name=name), (errno.EBUSY,))
        self.set_up(True)

    def remove_qdisc(self):
        error = self.netlink.qdisc(RTM_DELQDISC, 0, self.index, ROOT, 0)
        self.note("remove qdisc", error, (errno.ENOENT,))
        self.attach()

    def remove_device(self):
        """With the qdisc on it."""
        self.note("remove device", self.netlink.link(RTM_DELLINK, index=self.index))
        self.mtu_changed = False
        self.add_device()

    def unload(self):
        """The module is in use."""
        if not self.attached:
            return
        if LIBC.syscall(176, b"sch_suimon", os.O_NONBLOCK) == 0:
            print("unexpected: a module in use was removed")
            self.unexpected += 1
        self.results["unload refused"] += 1

    def pause(self):
        time.sleep(self.draw.choice([0.001, 0.01, 0.05]))

    def step(self):
        if not self.index:
            self.add_device()
            return
        operations = [
            self.change, self.change_wrongly, self.dump, self.set_mtu, self.toggle, self.rename, self.remove_qdisc,
            self.remove_device, self.attach, self.unload, self.pause, self.graft, self.filter, self.remove_filters,
            self.set_class, self.set_speed,
        ]  # fmt: skip
        weights = [10, 4, 8, 2, 2, 2, 2, 1, 4, 0.2, 4, 1, 6, 1, 5, 2]
        self.draw.choices(operations, weights)[0]()


def parameter(name, module="suimon_fuzz"):
    with open(f"/sys/module/{module}/parameters/{name}") as file:
        return file.read().strip()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def load(path, words=""):
    file = os.open(path, os.O_RDONLY)
    if LIBC.syscall(313, file, words.encode(), 0):
        raise OSError(ctypes.get_errno(), f"load {path}: {os.strerror(ctypes.get_errno())}")
    os.close(file)


def unload(name):
    # What was freed after a grace period may still hold it.
    for _ in range(100):
        if LIBC.syscall(176, name.encode(), os.O_NONBLOCK) == 0:
            return
        time.sleep(0.1)
    raise OSError(ctypes.get_errno(), f"unload {name}")


def send(driver, frames, log, may_break):
    """Sends frames while the driver works."""
    write(f"{PARAMETERS}/frames", str(frames))
    left = os.open(f"{PARAMETERS}/frames", os.O_RDONLY)
    steps = 0
    while int(os.pread(left, 32, 0)) > 0:
        driver.step()
        steps += 1
        if steps % 64 == 0:
            log.read(may_break)
    os.close(left)
    log.read(may_break)


def settle(driver):
    """Nothing is sent until every queue is empty, and the clock of the qdisc has begun again."""
    driver.set_up(True)
    time.sleep(2.5)
    driver.dump(empty=True)


FAULTS = "/sys/kernel/debug/failslab"


def set_faults(driver, on):
    """Allocations of the sender, and of this program's requests, fail at random."""
    for name in ("failslab", "fail_page_alloc"):
        folder = f"/sys/kernel/debug/{name}"
        for key, value in [("verbose", 0), ("task-filter", "Y"), ("ignore-gfp-wait", "N"), ("interval", 1), ("times", -1)]:
            write(f"{folder}/{key}", str(value))
        write(f"{folder}/probability", "1" if on else "0")
    write(f"{PARAMETERS}/fail", "Y" if on else "N")
    driver.netlink.failing = os.open("/proc/self/make-it-fail", os.O_RDWR) if on else None


def fail_each_allocation(driver):
    """Attaches the qdisc with its first allocation failing, then the second, and so on, until nothing fails."""
    file, failed = os.open("/proc/self/fail-nth", os.O_RDWR), 0

    def attach():
        options = driver.options(driver.table())
        error = driver.netlink.qdisc(RTM_NEWQDISC, CREATE | REPLACE, driver.index, ROOT, 0, "suimon", options)
        return error, "attach without memory"

    def refuse():
        # A number out of its range: the reason that says so needs memory too.
        wrong = driver.draw.choice(["0", "99999999999999999"])
        table = re.sub(r"^((?!flow|class|filter)\w+) \d+$", rf"\1 {wrong}", driver.table(), flags=re.M)
        options = driver.options(table, first=False)
        error = driver.netlink.qdisc(RTM_NEWQDISC, 0, driver.index, ROOT, 0, "suimon", options)
        return error, "refused without memory"

    for request in (attach, refuse, refuse, refuse):
        done, number = False, 0
        while not done:
            number += 1
            os.pwrite(file, str(number).encode(), 0)
            error, what = request()
            # What is left if fewer were made.
            done = int(os.pread(file, 32, 0)) > 0
            os.pwrite(file, b"0", 0)
            driver.note(what, error)
        failed += number - 1
        driver.attach()
    os.close(file)
    return failed


def leaks():
    """What no pointer leads to any more."""
    if not os.path.exists(KMEMLEAK):
        return 0
    for _ in range(2):
        time.sleep(12)
        write(KMEMLEAK, "scan")
    with open(KMEMLEAK) as file:
        text = file.read()
    found = text.count("unreferenced object")
    print("leaks", found)
    if found:
        print(text[:8000])
    return found


def prepare():
    for place, kind in [("/proc", "proc"), ("/sys", "sysfs"), ("/dev", "devtmpfs"), ("/sys/kernel/debug", "debugfs")]:
        LIBC.mount(kind.encode(), place.encode(), kind.encode(), 0, None)


def run(folder, transcripts, frames, seed):
    """Whether nothing was found."""
    log, draw = Log(), random.Random(seed)
    driver = Driver(read_tables(transcripts), draw)
    if os.path.exists(KMEMLEAK):
        write(KMEMLEAK, "clear")
    load(f"{folder}/sch_suimon.ko", "renewal=1")
    load(f"{folder}/suimon_fuzz.ko", f"seed={seed}")
    disciplines = sorted(driver.tables)
    with_faults = os.path.exists(FAULTS)
    plain = frames * 4 // 5 if with_faults else frames
    for name in disciplines:
        driver.discipline = name
        driver.remove_device() if driver.index else driver.add_device()
        before = int(parameter("sent")), int(parameter("received"))
        start = time.monotonic()
        send(driver, plain // len(disciplines), log, False)
        settle(driver)
        after = int(parameter("sent")), int(parameter("received"))
        print(f"{name} sent {after[0] - before[0]} received {after[1] - before[1]} virtual_s {time.monotonic() - start:.1f}", flush=True)
    print("broken_blocks_without_faults", parameter("broken_blocks", "sch_suimon"))
    if with_faults:
        driver.may_fail_now = True
        failed = 0
        for name in disciplines:
            driver.discipline = name
            failed += fail_each_allocation(driver)
            set_faults(driver, True)
            send(driver, (frames - plain) // len(disciplines), log, True)
            set_faults(driver, False)
            log.read(True)
            if not driver.index:
                driver.add_device()
        print("allocations_failed_one_by_one", failed)
        driver.may_fail_now = False
    driver.note("remove device", driver.netlink.link(RTM_DELLINK, index=driver.index))
    return finish(driver, log)


def finish(driver, log):
    """Prints the figures, and removes the modules. Whether nothing is left and nothing was found."""
    time.sleep(2)
    for name in ("sent", "received", "bytes_received", "alive"):
        print(name, parameter(name))
    print(parameter("kinds"))
    for name in ("packet_allocations", "broken_blocks", "renewals"):
        print(name, parameter(name, "sch_suimon"))
    for what, count in sorted(driver.results.items()):
        print(f"{count:8} x {what}")
    # Its devices go with it, those too whose removal found no memory.
    unload("suimon_fuzz")
    blocks = int(parameter("memory_blocks", "sch_suimon"))
    print("memory_blocks", blocks)
    # With the names of the module's functions, and without what its own memory leads to.
    found = leaks()
    unload("sch_suimon")
    found += leaks()
    log.read(False)
    if os.path.exists("/proc/lockdep_stats"):
        with open("/proc/lockdep_stats") as file:
            alive = [line.strip() for line in file if "debug_locks" in line]
        print("lockdep", alive)
        found += alive[:1] != [] and not alive[0].endswith("1")
    print("disciplines_broken", log.broke)
    print("log_lines_found", log.found)
    print("unexpected_answers", driver.unexpected)
    return not (found or blocks or log.found or driver.unexpected)


def main():
    prepare()
    try:
        fine = run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        fine = False
    print("fine" if fine else "broken", flush=True)
    os.sync()
    LIBC.reboot(0x4321FEDC)


main()
