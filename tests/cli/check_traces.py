#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_traces.py A.txt A.trace.json

Checks the two formats of a run's timeline, and that they say the same: A.txt is a Perfetto trace
as protoc --decode=subset.Trace prints it. Checked are the rules that readers rely on: what is
referred to was there before, times do not decrease, slices on a track do not overlap, ranges nest,
flows have both ends, tracks have names. Prints what both add up to, one name and number a line.
"""
import json
import re
import sys
from collections import Counter, defaultdict

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
OWN_NUMBERS = 1 << 22  # in the JSON: of no process or thread of Linux


def text_of(quoted):
    """A C string of protoc as text."""
    return re.sub(rb"\\([0-7]{3}|.)",
                  lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else
                  {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(m[1], m[1]),
                  quoted[1:-1].encode()).decode()


def number_of(text):
    """An integer, or a number with a fraction."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def packets(path):
    """Each packet as a dict of lists."""
    stack = []
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            line = line.strip(" \n")
            if line.endswith(" {"):
                message = defaultdict(list)
                if stack:
                    stack[-1][line[:-2]].append(message)
                stack.append(message)
            elif line == "}":
                message = stack.pop()
                if not stack:
                    yield message
            else:
                name, value = line.split(": ", 1)
                assert not name.isdigit(), f"a field that is not declared: {line}"
                try:
                    value = text_of(value) if value[0] == '"' else number_of(value)
                except UnicodeDecodeError:
                    assert name == "str", line  # a build id
                stack[-1][name].append(value)


class Perfetto:
    def __init__(self, path):
        self.interned = defaultdict(dict)
        self.tracks = {}
        self.open = defaultdict(list)
        self.slices = []    # (start, duration, name, arguments)
        self.ns = Counter()  # by the name of a device
        self.samples, self.sample_times = Counter(), []
        self.flows, self.ended = {}, {}
        self.counters = defaultdict(int)
        self.ranges = []
        self.facts = {}
        self.now = 0
        for number, packet in enumerate(packets(path)):
            self.read(number, packet)
        assert not any(self.open.values()), "slices without an end"
        assert set(self.flows) == set(self.ended), "flows with one end"
        assert all(self.flows[i] <= self.ended[i] for i in self.flows)
        assert not any(self.counters.values()), "counters do not end at 0"

    def intern(self, data):
        for kind, entries in data.items():
            for entry in entries:
                iid = entry["iid"][0]
                assert iid > 0 and iid not in self.interned[kind], (kind, iid)
                self.interned[kind][iid] = entry
        for entry in data["frames"]:
            assert entry["function_name_id"][0] in self.interned["function_names"]
            assert entry["mapping_id"][0] in self.interned["mappings"]
            assert len(entry["rel_pc"]) == 1
        for entry in data["mappings"]:
            assert all(i in self.interned["mapping_paths"] for i in entry["path_string_ids"])
            assert all(i in self.interned["build_ids"] for i in entry["build_id"])
        for entry in data["callstacks"]:
            assert entry["frame_ids"]
            assert all(i in self.interned["frames"] for i in entry["frame_ids"])

    def read(self, number, packet):
        assert packet["trusted_packet_sequence_id"] == [1]
        assert packet["sequence_flags"] == [1 if number == 0 else 2]
        if number == 0:
            clocks = packet["clock_snapshot"][0]
            self.clock = {c["clock_id"][0]: c["timestamp"][0] for c in clocks["clocks"]}
            assert set(self.clock) == {1, 3} and clocks["primary_trace_clock"] == [3]
        if number == 1:
            defaults = packet["trace_packet_defaults"][0]
            assert defaults["timestamp_clock_id"] == [3]
            self.sample_ns = defaults["perf_sample_defaults"][0]["timebase"][0]["period"][0]
        for data in packet["interned_data"]:
            self.intern(data)
        for track in packet["track_descriptor"]:
            uuid, = track["uuid"]
            assert uuid not in self.tracks and track["name"][0], uuid
            assert all(parent in self.tracks for parent in track["parent_uuid"])
            self.tracks[uuid] = track
        for event in packet["track_event"]:
            self.event(packet["timestamp"][0], event)
        for sample in packet["perf_sample"]:
            self.move_to(packet["timestamp"][0])
            assert all(i in self.interned["callstacks"] for i in sample["callstack_iid"])
            self.samples[sample["pid"][0], sample["tid"][0]] += 1
            self.sample_times.append(self.now)

    def move_to(self, time):
        assert time >= self.now, "times decrease"
        self.now = time

    def device_of(self, uuid):
        track = self.tracks[uuid]
        return self.tracks[track["parent_uuid"][0]]["name"][0] if track["parent_uuid"] else ""

    def argument(self, note):
        name = self.interned["debug_annotation_names"][note["name_iid"][0]]["name"][0]
        texts = [self.interned["debug_annotation_string_values"][i]["str"][0]
                 for i in note["string_value_iid"]] + note["string_value"]
        value, = texts + note["uint_value"] + note["double_value"]
        return name, value if texts else float(value)

    def event(self, time, event):
        uuid, = event["track_uuid"]
        track, kind = self.tracks[uuid], event["type"][0]
        self.move_to(time)
        assert all(i in self.interned["callstacks"] for i in event["callstack_iid"])
        arguments = []
        for note in event["debug_annotations"]:
            assert all(i in self.interned["debug_annotation_names"] for i in note["name_iid"])
            assert all(i in self.interned["debug_annotation_string_values"]
                       for i in note["string_value_iid"])
            if note["name"]:
                self.facts[note["name"][0]] = (note["string_value"] + note["uint_value"])[0]
            elif kind != END:
                arguments.append(self.argument(note))
        arguments = tuple(sorted(a for a in arguments if a[0] != "name"))
        for ids, ends in ((event["flow_ids"], self.flows),
                          (event["terminating_flow_ids"], self.ended)):
            for flow in ids:
                assert flow not in ends, "a flow with two beginnings or ends"
                ends[flow] = time
        if kind == COUNTER:
            assert track["counter"]
            self.counters[uuid], = event["counter_value"]
            assert self.counters[uuid] >= 0
        elif kind == END:
            start, name, is_range, arguments = self.open[uuid].pop()
            if is_range:
                self.ranges.append((start, time - start, name))
            else:
                self.slices.append((start, time - start, name, arguments))
            if self.device_of(uuid).startswith("GPU "):
                self.ns[self.device_of(uuid)] += time - start
        else:
            categories = [self.interned["event_categories"][i]["name"][0]
                          for i in event["category_iids"]]
            name = event["name"][0] if event["name"] else \
                self.interned["event_names"][event["name_iid"][0]]["name"][0]
            is_range = categories == ["NVTX range"]
            if kind == BEGIN:
                assert is_range or not self.open[uuid], "slices overlap"
                self.open[uuid].append((time, name, is_range, arguments))
            elif categories:
                self.slices.append((time, 0, name, arguments))
            elif name == "CPU sample":  # of a process or thread whose number is not known
                self.samples[None] += 1
                self.sample_times.append(time)


class Number(str):
    """A number of JSON, as it is written."""


def ns_of(microseconds):
    """Exactly, from the text of the number."""
    whole, _, rest = microseconds.partition(".")
    return int(whole) * 1000 + int(rest.ljust(3, "0"))


class Chrome:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.file = json.load(file, parse_float=Number, parse_int=Number)
        frames = self.file["stackFrames"]
        assert all(f.get("parent", i) in frames for i, f in frames.items())
        self.slices, self.samples, self.ranges, self.sample_times = [], Counter(), [], []
        self.ns = Counter()
        names, ends, ranges = {}, defaultdict(int), defaultdict(list)
        sources, targets = {}, []
        now = 0
        for event in self.file["traceEvents"]:
            phase, track = event["ph"], (event["pid"], event.get("tid"))
            if phase == "M":
                if event["name"] in ("process_name", "thread_name"):
                    key = track if event["name"] == "thread_name" else event["pid"]
                    assert event["args"]["name"]
                    names[key] = event["args"]["name"]
                continue
            time = self.time(event["ts"])
            assert time >= now, "times decrease"
            now = time
            assert event["pid"] in names and (phase == "C" or track in names), event
            assert event.get("sf", next(iter(frames), "")) in frames
            if phase == "X":
                duration = self.time(event["dur"])
                assert time >= ends[track], "slices overlap"
                if duration:
                    ends[track] = time + duration
                self.slices.append((time, duration, event["name"], self.arguments(event["args"])))
                if "flow_out" in event:
                    assert event["bind_id"] not in sources
                    sources[event["bind_id"]] = time
                elif "flow_in" in event:
                    targets.append((event["bind_id"], time))
                if names[event["pid"]].startswith("GPU "):
                    self.ns[names[event["pid"]].split(" of ")[0]] += duration
            elif phase == "P":
                numbers = int(event["pid"]), int(event["tid"])
                self.samples[numbers if max(numbers) < OWN_NUMBERS else None] += 1
                self.sample_times.append(time)
            elif phase == "B":
                ranges[track].append((time, event["name"]))
            elif phase == "E":
                start, name = ranges[track].pop()
                assert name == event["name"]
                self.ranges.append((start, time - start, name))
            else:
                assert phase == "C" and all(int(v) >= 0 for v in event["args"].values()), event
        assert not any(ranges.values())
        assert set(sources) == {number for number, _ in targets}, "flows with one end"
        assert all(sources[number] <= time for number, time in targets)
        self.flows = targets

    @staticmethod
    def time(value):
        return ns_of(value)

    @staticmethod
    def arguments(args):
        """Those that the other format has, too: there, tracks say where something ran."""
        alone = "device", "context", "stream", "shared memory"
        return tuple(sorted(
            (name, float(value) if isinstance(value, Number) else
             ", ".join(value) if isinstance(value, list) else value)
            for name, value in args.items() if name not in alone))


def main():
    perfetto, chrome = Perfetto(sys.argv[1]), Chrome(sys.argv[2])
    facts = chrome.file["otherData"]
    # of the JSON's time 0, on the clock of the other
    begin = int(chrome.file["baseTimeNanoseconds"]) - perfetto.clock[1] + perfetto.clock[3]
    for name in ("slices", "ranges"):
        left, right = sorted(getattr(perfetto, name)), sorted(getattr(chrome, name))
        assert left == [(s + begin, *rest) for s, *rest in right], name
    assert perfetto.samples == chrome.samples
    assert perfetto.sample_times == [time + begin for time in chrome.sample_times]
    assert perfetto.ns == chrome.ns
    assert len(perfetto.flows) == len(chrome.flows)
    assert {k: str(v) for k, v in perfetto.facts.items()} == facts
    print("cpu", sum(perfetto.samples.values()) * perfetto.sample_ns)
    for device, ns in sorted(perfetto.ns.items()):
        print(device, ns)
    print("slices", len(perfetto.slices))
    print("flows", len(perfetto.flows))
    names = Counter(name for *_, arguments in perfetto.slices for name, _ in arguments)
    for name, count in sorted(names.items()):
        print("argument", name, count)
    for start, duration, name in sorted(perfetto.ranges, key=lambda r: (r[0], -r[1])):
        print("range", name)
    for name, value in perfetto.facts.items():
        print("fact", name, value)


main()
