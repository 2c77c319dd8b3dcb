# SPDX-License-Identifier: MIT
"""
Reads OpenTelemetry's profiles, strictly, and prints what is in them:

    resource KEY=VALUE
    type TYPE UNIT SUM
    attribute TYPE KEY=VALUE SUM
    stack TYPE root;caller;callee SUM

The numbers of fields are those of opentelemetry-proto 1.10.
"""

import sys
from collections import Counter

from protobuf_fields import every, fields, last, one, packed

data = open(sys.argv[1], "rb").read()
dictionary = one(data, 2)
mappings, locations, functions, links, strings, attributes, stacks = (
    every(dictionary, number) for number in range(1, 8)
)
strings = [text.decode() for text in strings]

assert {number for number, _ in fields(data)} == {1, 2}
assert strings[0] == "" and len(set(strings)) == len(strings)
for table in mappings, locations, functions, links, attributes, stacks:
    assert table[0] == b"", "the first entry of a table has no value"
for table in attributes, stacks:
    assert len(set(table)) == len(table), "an entry is there twice"


def any_value(message):
    (number, value), = fields(message)
    assert number in (1, 3)
    return value.decode() if number == 1 else value


def attribute(number):
    assert 0 < number < len(attributes)
    entry = attributes[number]
    key = last(entry, 1)
    assert key, "an attribute has a key"
    return f"{strings[key]}={any_value(one(entry, 2))}"


for mapping in mappings[1:]:
    assert last(mapping, 2) > last(mapping, 1), "a mapping has addresses"
    assert strings[last(mapping, 4)]
    for number in packed(mapping, 5):
        attribute(number)


def frame(number):
    assert 0 < number < len(locations), number
    location = locations[number]
    assert last(location, 1) < len(mappings)
    for at in packed(location, 4):
        assert attribute(at).startswith("profile.frame.type=")
    function = last(one(location, 3), 1)
    assert 0 < function < len(functions)
    return strings[last(functions[function], 1)]


def stack(number):
    assert number < len(stacks)
    return ";".join(reversed([frame(at) for at in packed(stacks[number], 1)]))


resource = one(data, 1)
for entry in every(one(resource, 1), 1):
    print(f"resource {one(entry, 1).decode()}={any_value(one(entry, 2))}")
scope_profiles = one(resource, 2)
assert one(one(scope_profiles, 1), 1) == b"profile"
seen = set()
for profile in every(scope_profiles, 2):
    assert {number for number, _ in fields(profile)} <= {1, 2, 3, 4, 5, 6}
    kind = strings[last(one(profile, 1), 1)]
    unit = strings[last(one(profile, 1), 2)]
    assert kind and unit and kind not in seen
    seen.add(kind)
    total = 0
    by_stack, by_attribute = Counter(), Counter()
    for sample in every(profile, 2):
        assert {number for number, _ in fields(sample)} <= {1, 2, 4}
        value, = packed(sample, 4)
        assert value > 0
        total += value
        by_stack[stack(last(sample, 1))] += value
        names = [attribute(number) for number in packed(sample, 2)]
        assert len({name.split("=")[0] for name in names}) == len(names)
        for name in names:
            by_attribute[name] += value
    print(f"type {kind} {unit} {total}")
    for name in sorted(by_attribute):
        print(f"attribute {kind} {name} {by_attribute[name]}")
    for name in sorted(by_stack):
        print(f"stack {kind} {name} {by_stack[name]}")
