#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
attack.py MODE [PID]: a target that has no GPU and lies to its profiler through the pipe.

  names    kernels with mangled names that keep a demangler busy for years, or make gigabytes
  ids      names, code objects, ranges and stacks with the highest ids, sparse
  strings  a million different long strings
  memory   everything that the pipe can make a profiler keep, as much of it as can be sent
  allocs   memory that is allocated from many stacks, again and again, and never was
  calls    functions of CUDA with long names, called more often than can be
  drops    counts of losses that are 0 when they are added in 64 bits
  totals   times, bytes and sums that are small when they are added in 64 bits
  cubins   device code whose line tables make gigabytes, or are compressed, and values that add up to no number
  order    names and a notice with characters that change the order of a line on a terminal
  labels   thousands of names with quotes, backslashes, newlines, other scripts, of a megabyte, equal at first
  pid      GPU work of process PID
  endless  starts processes that never stop writing, and ends; prints their process group

Each but `pid` and `endless` sends 1,000,000 ns of honest work too.
"""
import json
import os
import signal
import struct
import subprocess
import sys
import time
import zlib

BATCH_MAX = 4096


class Pipe:
    """Writes batches, as the injection library does."""

    def __init__(self, pid, waits=False, instance="00000000c0ffee01"):
        self.fd = os.open(os.environ["PROFILE_PIPE"], os.O_WRONLY)
        self.pid, self.instance, self.batch = pid, instance, 0
        self.lines, self.size = [], 0
        started = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()[19]
        namespace = os.stat("/proc/self/ns/pid").st_ino
        self.send(
            '{"t":"hello","version":2,"pid":%d,"id":"%s","ns":%d,"started":%s,"exe":"/attack","cupti":"/c",'
            '"cupti_version":130000,"clock_offset":"0","clock_error":1,"libs":"","ack":%d}'
            % (pid, instance, namespace, started, waits)
        )
        if waits:
            self.wait()

    def wait(self):
        """Until the profiler knows us: it does not believe a process that has ended."""
        path = "%s/ack.%s" % (os.path.dirname(os.environ["PROFILE_PIPE"]), self.instance)
        os.mkfifo(path, 0o600)
        fd = os.open(path, os.O_RDWR)
        self.flush()
        os.read(fd, 1)
        os.unlink(path)

    def send(self, line):
        line += "\n"
        if self.size + len(line) > BATCH_MAX - 120:
            self.flush()
        self.lines.append(line)
        self.size += len(line)

    def flush(self):
        body = "".join(self.lines)
        head = '\n{"t":"batch","pid":%d,"id":"%s","seq":%d,"len":%d}\n' % (
            self.pid, self.instance, self.batch, len(body))
        os.write(self.fd, (head + body).encode())
        self.lines, self.size, self.batch = [], 0, self.batch + 1

    def name(self, i, name):
        parts = [name[k:k + 600] for k in range(0, len(name), 600)]
        for k, part in enumerate(parts):
            more = '"more":1,' if k < len(parts) - 1 else ""
            self.send('{"t":"name","i":%d,%s"n":"%s"}' % (i, more, part))

    def kernel(self, name, ns, correlation=0):
        self.send(
            '{"t":"k","n":%d,"s":%d,"d":%d,"c":%d,"v":[0,1,7],"g":[1,1,1],"b":[1,1,1],"m":[0,0],"r":16}'
            % (name, time.monotonic_ns() - ns, ns, correlation)
        )

    def bye(self, kernels, ns, launches=0):
        self.send('{"t":"sum","v":[0,1,7],"w":0,"count":%d,"ns":"%x","b":"0"}' % (kernels, ns))
        self.send('{"t":"bye","kernels":%d,"kernel_ns":%d,"launches":%d}' % (kernels, ns, launches))
        self.flush()


def explosive(i):
    """Each level of substitutions doubles the name."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return ("_Z5f%04dI" % i + "PFv" * 11 + "P1A" + "".join("S%s_E" % digits[1 + 2 * k] for k in range(11))
            + "Evv")


def nested(depth):
    """sizeof... over nested substitutions: 613 bytes at depth 100."""
    return "_Z1fI" + "DpsZ" * depth + "T_" + "E" * depth + "Evv"


def attack_names(pipe):
    for i in range(1, 501):
        pipe.name(i, explosive(i) if i % 2 else nested(20 + i))
        pipe.kernel(i, 2000)
    return 500, 1000000


def attack_ids(pipe):
    for i in (1, 65535, 65536, 65537, 2**31, 2**32 - 1):
        pipe.name(i, "high%d" % i)
    for base in (1048575, 2**24, 2**31 - 1, 2**32 - 2, 2**63):
        for i in range(base - 40, base + 2):
            pipe.send('{"t":"pycode","i":%d,"f":"f","q":"q","p":"/p.py","l":1}' % i)
            pipe.send('{"t":"nvtx","i":%d,"d":"d","n":"n"}' % i)
            pipe.send('{"t":"stack","i":%d,"whole":1,"f":"cuLaunchKernel","a":"p%d,n%d,1000"}' % (i, i, i))
            pipe.send('{"t":"node","n":"%x","h":1,"k":%d}' % (i << 32, i))
            pipe.send('{"t":"nw","i":%d,"w":2,"v":[%d,1,7],"bytes":0}' % (i, i))
        # steps to ids and times that cannot be, and of work that was never defined
        pipe.send('{"t":"nr","c":1,"gr":[1,1],"s":1,"x":[%d,-1,0,1]}' % (2**32 - 1))
        pipe.send('{"t":"nr","c":1,"gr":[1,%d],"s":%d,"x":[%d,0,%d,%d]}' % (base, base, base + 5, 2**62 - 1, 2**61 - 1))
        pipe.send('{"t":"nr","c":1,"gr":[1,1],"s":1,"x":[%s]}' % ",".join("5,0,0,0" for _ in range(490)))
    pipe.kernel(1, 1000000)
    return 1, 1000000


def attack_strings(pipe):
    pipe.kernel(1, 1000000)
    for i in range(1, 200001):
        pipe.send('{"t":"pycode","i":%d,"f":"%s","q":"%s","p":"/%s.py","l":1}'
                  % (i % 1048575 + 1, "f%d" % i + "x" * 600, "q%d" % i + "y" * 600, "p%d" % i + "z" * 600))
    return 1, 1000000


def attack_memory(pipe):
    pipe.kernel(1, 1000000)
    for i in range(1, 400001):
        pipe.send('{"t":"stack","i":%d,"whole":1,"f":"cuLaunchKernel","a":"%s"}'
                  % (i, ",".join("%x" % (i * 4096 + k) for k in range(20))))
        pipe.send('{"t":"l","s":%d,"h":%d,"c":%d,"f":1,"k":%d}' % (time.monotonic_ns(), i, i, i))
        pipe.send('{"t":"node","n":"%x","h":%d,"k":%d}' % (i << 32, i, i))
        pipe.send('{"t":"code","s":"%x","e":"%x","o":"0","ino":"%x","dev":[8,1],"p":"/%d/%s"}'
                  % (i << 20, (i << 20) + 4096, i, i, "m" * 200))
        pipe.send('{"t":"w","s":%d,"d":1000000000,"h":%d,"k":%d,"v":[1,%d]}' % (i, i, i, i))
        pipe.send('{"t":"m","w":2,"s":%d,"d":0,"c":%d,"v":[0,%d,%d],"b":1}' % (i, i, i, i))
    return 1, 1000000


def attack_allocs(pipe):
    pipe.kernel(1, 1000000)
    for i in range(1, 600001):
        if i % 4 == 1:
            pipe.send('{"t":"stack","i":%d,"whole":1,"f":"cudaMalloc","a":"%x"}' % (i, i * 4096))
            pipe.send('{"t":"l","s":%d,"h":%d,"c":%d,"f":1,"o":6,"k":%d}' % (i, i, i, i))
        pipe.send('{"t":"m","w":20,"s":%d,"d":0,"c":%d,"v":[%d,%d,0],"b":%d,"p":[0,%d],"a":"%x"}'
                  % (600001 - i, i, i % 300, i, i, i % 9, i))
        pipe.send('{"t":"m","w":21,"s":%d,"d":0,"c":%d,"v":[0,%d,0],"b":%d,"p":[0,3],"a":"%x"}'
                  % (i, i, i, 2**40, 2**64 - i))
        if i % 100 == 0:
            pipe.send('{"t":"context","i":%d,"d":0,"end":"%x"}' % (i // 100, 2**63 + i))
    return 1200001, 1000000


def attack_calls(pipe):
    pipe.kernel(1, 1000000)
    for i in range(20000):
        pipe.send('{"t":"api","f":"%s","family":%d,"kind":%d,"c":[%d,%d,%d,%d,%d,9,3],"e":[%d,%d,0,%d],"h":[%d,%d,304,%d]}'
                  % ("\\u202e<b>%d" % (i % 7000) + "x" * 1500 * (i % 2), 1 + i % 2, i % 6, 2**62, 2**62, 2**62, 2**62,
                     2**62, i, 2**62, 2**62, i % 305, 2**62, 2**62))
    return 1, 1000000


def attack_drops(pipe):
    pipe.kernel(1, 1000000)
    for _ in range(4):
        pipe.send('{"t":"drops","kernels":%d,"launches":0,"batches":0,"unsent_kernels":0,"unsent_launches":0,'
                  '"unknown":0}' % 2**62)
    return 1, 1000000


LONGEST = 2**61 - 1


def attack_totals(pipe):
    pipe.name(1, "honest")
    pipe.name(2, "forged")
    pipe.kernel(1, 1000000)
    for i in range(1, 9):
        pipe.send('{"t":"k","n":2,"s":1,"d":%d,"c":%d,"v":[0,1,7],"g":[1,1,1],"b":[1,1,1],"m":[0,0],"r":16}'
                  % (LONGEST, i))
        pipe.send('{"t":"w","s":1,"d":%d,"h":1}' % LONGEST)
    for i in range(3):
        pipe.send('{"t":"m","w":2,"s":1,"d":0,"c":%d,"v":[0,1,8],"b":%d}' % (i + 9, 2**62))
        pipe.send('{"t":"sum","v":[0,1,9],"w":0,"count":1,"ns":"%x","b":"0"}' % 2**63)
    return 12, 1000000


def made_cubin(*sections):
    """Device code with these sections (name, content, flags) and a function named f."""
    symbol = struct.pack("<IBBHQQ", 0, 0x12, 0, 1, 0, 0x1000)  # a global function
    sections = ((".symtab", symbol, 0), (".strtab", b"f\0", 0)) + sections
    names = "".join("\0" + name for name, _, _ in sections).encode() + b"\0.shstrtab\0"
    image, headers = bytes(64), bytes(64)
    for name, content, flags in sections + ((".shstrtab", names, 0),):
        kind = 3 if name == ".shstrtab" else 1
        headers += struct.pack("<IIQQQQIIQQ", names.index(name.encode() + b"\0"), kind, flags, 0, len(image),
                               len(content), 0, 0, 1, 0)
        image += content + bytes(-len(content) % 8)
    return struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 2, 190, 1, 0, 0, len(image), 0, 64, 0, 0, 64,
                       len(headers) // 64, len(headers) // 64 - 1) + image[64:] + headers


def line_table(folder, files):
    header = bytes([1, 1, 251, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1]) + folder + b"\0\0" + b"f\0\1\0\0" * files + b"\0"
    program = b"\0\x09\2" + bytes(8) + b"\1\2\x80\x20\0\1\1"  # a line from 0 to 0x1000
    return struct.pack("<IHI", 6 + len(header) + len(program), 2, len(header)) + header + program


def compressed_zeros(mebibytes):
    """Of which none but the first is ever in memory."""
    stream = zlib.compressobj(9, wbits=-15)
    piece = stream.compress(bytes(1 << 20)) + stream.flush(zlib.Z_FULL_FLUSH)
    checksum = (mebibytes << 20) % 65521 << 16 | 1
    return b"\x78\xda" + piece * mebibytes + stream.flush() + struct.pack(">I", checksum)


def attack_cubins(pipe):
    pipe.name(1, "f")
    pipe.send('{"t":"stall","i":1,"n":"smsp__pcsamp_warps_issue_stalled_\\u001b[31m<b>;"}')
    big = struct.pack("<IIQQ", 1, 0, 700 << 20, 1) + compressed_zeros(700)
    for crc, image in enumerate((
            made_cubin((".debug_line", line_table(b"d" * 200000, 20000), 0)),
            made_cubin((".debug_line", line_table(b"d", 1), 0), (".debug_str", big, 0x800)),
            made_cubin((".debug_line", line_table(b"d", 1), 0)))):
        for at in range(0, len(image), 1900):
            piece = image[at:at + 1900]
            pipe.send('{"t":"cubin","i":"%x","size":%d,"o":%d,"b":"%s"}' % (crc, len(image), at, piece.hex()))
        pipe.send('{"t":"pc","n":1,"i":"%x","s":[0,1,100]}' % crc)
    pipe.send('{"t":"metric","i":0,"n":"m__claims.sum","u":""}')
    for c in range(1, 4):
        pipe.send('{"t":"hc","c":%d,"s":0}' % c)
        pipe.send('{"t":"l","s":%d,"h":%d,"c":%d,"f":1}' % (time.monotonic_ns(), os.getpid(), c))
        pipe.send('{"t":"hc","c":%d,"s":1,"v":"7fe1ccf385ebc8a0"}' % c)  # 1e308
    for c in range(1, 4):
        pipe.kernel(1, 300000 if c > 1 else 400000, c)
    return 3, 1000000, 3


def attack_samples(pipe):
    """Samples of launches: of none, of later ones, of half a million places."""
    pipe.name(1, "f")
    pipe.name(2, "g")
    pipe.send('{"t":"stall","i":1,"n":"smsp__pcsamp_warps_issue_stalled_wait"}')
    for c in range(1, 200001):
        counts = ",".join("%d,1,%d" % (c * 64 + i, 2**62) for i in range(8))
        pipe.send('{"t":"pc","n":%d,"i":"0","c":%d,"s":[%s]}' % (1 + c % 2, c, counts))
        if c % 4 == 0:
            pipe.send('{"t":"stack","i":%d,"whole":1,"f":"cuLaunchKernel","a":"%x"}' % (c, c * 4096))
            pipe.send('{"t":"l","s":%d,"h":%d,"c":%d,"f":1,"k":%d}' % (time.monotonic_ns(), c, c - 2, c))
    pipe.kernel(1, 1000000)
    return 1, 1000000


def attack_order(pipe):
    pipe.name(1, "a\u202egnp.exe\u2066\u200f\u061c")
    pipe.kernel(1, 1000000)
    pipe.send('{"t":"notice","code":2,"detail":"x\u202e\u2069y"}')
    return 1, 1000000


def attack_labels(pipe):
    odd = ['a"b', "c\\", "d\ne", 'f{g="h"} 1', "\u2028i", "\u00e9" * 300, "#k", "", " ", "l=1,m", "[other]"]
    for i, name in enumerate(odd, 1):
        pipe.send('{"t":"name","i":%d,"n":%s}' % (i, json.dumps(name)))
        pipe.kernel(i, 1000)
    pipe.name(12, "x" * 1000000)  # refused
    pipe.name(13, "x" * 9999)
    pipe.name(14, "x" * 9998 + "y")
    for i in 12, 13, 14, 99999:
        pipe.kernel(i, 1000)
    for i in range(15, 1000):
        pipe.name(i, "kernel%d" % i)
        pipe.kernel(i, 1000)
    for i in range(3000):
        pipe.send('{"t":"error","code":%d,"h":1,"c":1,"f":%s}' % (i % 7 + 1, json.dumps('cuda%d"\n' % i)))
        pipe.send('{"t":"m","w":2,"s":%d,"d":0,"c":0,"v":[%d,%d,%d],"b":1}' % (time.monotonic_ns(), i, i, i))
    return 1000, 1000000


def attack_pid(pipe):
    pipe.name(1, "forged")
    pipe.kernel(1, 1000000)
    return 1, 1000000


FLOOD = ('\n{"t":"batch","pid":1,"id":"00000000c0ffee01","seq":1}\n' + '{"t":"k","pid":1}\n' * 200).encode()


def go_apart():
    """Goes on in a child of which nobody asks what it used: a process that ignores SIGCHLD is not told."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        sys.exit(os.read(reader, 1) != b"\0")
    os.close(reader)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return writer


def main():
    mode = sys.argv[1]
    if mode == "flood":
        fd = os.open(os.environ["PROFILE_PIPE"], os.O_WRONLY)
        print(os.getpid(), flush=True)
        for _ in range(2):
            os.fork()
        while True:
            os.write(fd, FLOOD)
    if mode == "endless":
        child = subprocess.Popen([sys.executable, sys.argv[0], "flood"], start_new_session=True,
                                 stdout=subprocess.PIPE)
        print(child.stdout.readline().decode().strip(), flush=True)
        return
    done = go_apart()
    pipe = Pipe(int(sys.argv[2]) if mode == "pid" else os.getpid(), waits=mode != "pid")
    pipe.bye(*{"names": attack_names, "ids": attack_ids, "strings": attack_strings, "memory": attack_memory,
               "allocs": attack_allocs, "calls": attack_calls,
               "labels": attack_labels, "cubins": attack_cubins, "samples": attack_samples,
               "drops": attack_drops, "totals": attack_totals, "order": attack_order,
               "pid": attack_pid}[mode](pipe))
    os.write(done, b"\0")


main()
