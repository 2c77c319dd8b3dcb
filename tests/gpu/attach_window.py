# SPDX-License-Identifier: MIT
"""
attach_window.py SPANS STEPS KERNELS: the kernels of a profile (--otlp, JSON) against the steps that
a program has printed.

A kernel belongs to the step in whose time it began. The first and the last step with kernels may
have been cut by the window's ends; each step between them must have KERNELS of them. Prints
"STEPS_BETWEEN WRONG_STEPS OUTSIDE": how many there are, how many have another number, and how many
kernels began in no step, 20 us of the clocks' error allowed.
"""
import bisect
import json
import sys

ERROR_NS = 20000


def kernels(path):
    starts = []
    with open(path) as file:
        for line in file:
            if not line.strip():
                continue
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        names = {a["key"] for a in span.get("attributes", [])}
                        if "cuda.kernel.name" in names and "cuda.call" not in names:
                            starts.append(int(span["startTimeUnixNano"]))
    return sorted(starts)


def main():
    steps = []
    for line in open(sys.argv[2]):
        words = line.split()
        if len(words) == 3 and words[0] == "step":
            steps.append((int(words[1]), int(words[2])))
    begins = [before for before, _ in steps]
    counts, outside = {}, 0
    for start in kernels(sys.argv[1]):
        at = bisect.bisect_right(begins, start + ERROR_NS) - 1
        if at < 0 or start > steps[at][1] + ERROR_NS:
            outside += 1
        else:
            counts[at] = counts.get(at, 0) + 1
    between = range(min(counts) + 1, max(counts)) if counts else range(0)
    wrong = sum(counts.get(at, 0) != int(sys.argv[3]) for at in between)
    print(len(between), wrong, outside)


main()
