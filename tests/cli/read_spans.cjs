// SPDX-License-Identifier: MIT
//
// node read_spans.cjs PACKAGE FILE...: reads spans with the schema that OpenTelemetry publishes, in
// its npm package otlp-transformer, and prints what they add up to, as "name value" lines. FILE holds
// lines of JSON, or with the extension .pb one message of protocol buffers. Whatever is not as the
// schema and the specification say is an error.

'use strict';

const assert = require('assert');
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');

const SPAN_KIND_INTERNAL = 1;
const STATUS_ERROR = 2;

// In the encoding of JSON, ids are hexadecimal, unlike in the mapping of protocol buffers.
function withBytes(value, key) {
	if (key === 'traceId' || key === 'spanId' || key === 'parentSpanId')
		return Buffer.from(value, 'hex');
	if (Array.isArray(value)) return value.map((v) => withBytes(v));
	if (value === null || typeof value !== 'object') return value;
	return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withBytes(v, k)]));
}

function withHex(value) {
	if (Buffer.isBuffer(value)) return value.toString('hex');
	if (Array.isArray(value)) return value.map(withHex);
	if (value === null || typeof value !== 'object') return value;
	return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, withHex(v)]));
}

function schema(folder) {
	const root = require(path.join(folder, 'build/src/generated/root.js'));

	return root.opentelemetry.proto.collector.trace.v1;
}

const asJson = { longs: String, bytes: Buffer, defaults: false };

function fromJson(Request, text) {
	const value = JSON.parse(text);
	const given = withBytes(value);

	const message = Request.fromObject(given);
	// A field that the schema does not know would be missing now.
	assert.deepStrictEqual(withHex(Request.toObject(message, asJson)), value);
	return value;
}

function fromProtobuf(Request, bytes) {
	const message = Request.decode(bytes);

	assert.strictEqual(Request.verify(message), null);
	assert.ok(Buffer.from(Request.encode(message).finish()).equals(bytes), 'unknown fields');
	return withHex(Request.toObject(message, asJson));
}

function readFile(Request, file) {
	const bytes = fs.readFileSync(file);

	if (file.endsWith('.pb')) return [fromProtobuf(Request, bytes)];
	const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	assert.ok(text === '' || text.endsWith('\n'));
	return text.split('\n').slice(0, -1).map((line) => fromJson(Request, line));
}

function valueOf(any) {
	const [kind, value] = Object.entries(any)[0];

	assert.strictEqual(Object.keys(any).length, 1);
	if (kind === 'arrayValue') return value.values.map(valueOf);
	return kind === 'intValue' ? BigInt(value) : value;
}

function attributesOf(object) {
	const attributes = {};

	for (const { key, value } of object.attributes ?? []) {
		assert.ok(key !== '' && !(key in attributes), `attribute ${key}`);
		attributes[key] = valueOf(value);
	}
	return attributes;
}

function collect(requests) {
	const spans = [];

	for (const request of requests)
		for (const { resource, scopeSpans, schemaUrl } of request.resourceSpans) {
			const process = attributesOf(resource);

			assert.match(schemaUrl, /^https:\/\/opentelemetry\.io\/schemas\/[0-9.]+$/);
			assert.ok(process['service.name'] && process['telemetry.sdk.name']);
			for (const { scope, spans: list } of scopeSpans) {
				assert.strictEqual(scope.name, 'profile');
				for (const span of list)
					spans.push({ ...span, process, attributes: attributesOf(span) });
			}
		}
	return spans;
}

function check(spans) {
	const byId = new Map(spans.map((span) => [span.spanId, span]));

	assert.strictEqual(byId.size, spans.length, 'ids are unique');
	for (const span of spans) {
		assert.match(span.traceId, /^[0-9a-f]{32}$/);
		assert.match(span.spanId, /^[0-9a-f]{16}$/);
		assert.strictEqual(span.traceId, spans[0].traceId);
		assert.strictEqual(span.kind, SPAN_KIND_INTERNAL);
		assert.ok(span.name !== '' && Buffer.byteLength(span.name) <= 256);
		assert.ok(BigInt(span.startTimeUnixNano) <= BigInt(span.endTimeUnixNano));
	}
	return byId;
}

// Which span of the run each is below, and whether its times are the run's.
function checkTree(spans, byId) {
	const runs = spans.filter((span) => !byId.has(span.parentSpanId));

	assert.strictEqual(runs.length, 1, 'one span of the run');
	for (const span of spans) {
		let above = span;

		for (let depth = 0; above !== runs[0]; depth++) {
			above = byId.get(above.parentSpanId);
			assert.ok(depth < 8, 'the run is above all');
		}
		assert.ok(BigInt(span.startTimeUnixNano) >= BigInt(above.startTimeUnixNano));
		assert.ok(BigInt(span.endTimeUnixNano) <= BigInt(above.endTimeUnixNano));
	}
	return runs[0];
}

function sum(spans) {
	return spans.reduce(
		(ns, span) => ns + BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano), 0n);
}

// docs/otlp.md: clocks' errors, and the operations of a stream among which links are looked for.
const CLOCK_ERROR_NS = 5000n;
const OPERATIONS_KEPT = 32;

const startOf = (span) => BigInt(span.startTimeUnixNano);
const endOf = (span) => BigInt(span.endTimeUnixNano);

// Whether it was launched before that time: 'yes', 'no', or 'maybe'.
function wasLaunched(operation, time, byId) {
	const { attributes: { 'cuda.call': call, 'cuda.end_unknown': isEndUnknown }, ...launch } =
		byId.get(operation.parentSpanId);

	if (call === undefined) return 'maybe';
	if (startOf(launch) > time) return 'no';
	return !isEndUnknown && endOf(launch) <= time ? 'yes' : 'maybe';
}

function latest(operations) {
	return operations.reduce((end, o) => (endOf(o) > end ? endOf(o) : end), 0n);
}

// What docs/otlp.md says of a call that waits: the operations of which one is linked (they ended at
// the same time), 'dropped', or null: there is none.
function waitedFor(call, operations, byId) {
	const start = startOf(call), end = endOf(call);
	const began = operations
		.filter((o) => startOf(o) < endOf(o) && startOf(o) <= end + CLOCK_ERROR_NS)
		.sort((a, b) => Number(startOf(a) - startOf(b)));
	const older = began.slice(0, -OPERATIONS_KEPT);
	const running = began.slice(-OPERATIONS_KEPT).filter((o) => endOf(o) > start - CLOCK_ERROR_NS);
	const before = running.filter((o) => wasLaunched(o, start, byId) === 'yes');
	const perhaps = running.filter((o) => wasLaunched(o, start, byId) === 'maybe' && endOf(o) <= end + CLOCK_ERROR_NS);
	const last = latest(before), other = latest([...perhaps, ...older]);

	if (other > start - CLOCK_ERROR_NS && other >= last) return 'dropped';
	if (before.length === 0) return null;
	if (last <= start + CLOCK_ERROR_NS || last > end + CLOCK_ERROR_NS) return 'dropped';
	return before.filter((o) => endOf(o) === last);
}

function checkLink(span, link, byId) {
	assert.deepStrictEqual(attributesOf(link), { 'cuda.link': 'waited_for' });
	assert.strictEqual(link.traceId, span.traceId);
	assert.strictEqual(link.traceState, span.traceState);
	assert.strictEqual(link.flags, span.flags);
	assert.ok('cuda.operation' in byId.get(link.spanId).attributes, 'a link leads to an operation of the run');
}

const streamOf = ({ process, attributes }) =>
	[process['process.pid'], attributes['cuda.context.id'], attributes['cuda.stream.id']].join();

// Which calls are linked to what, and whether all of the run's are as the definition says. Those of
// runs that go on, of parts, and with losses are `dropped` in all cases: callers say which they expect.
function printLinks(spans, operations, byId) {
	const kernels = new Map(), streams = new Map();
	let links = 0, dropped = 0, wrong = 0, allDropped = true;

	for (const o of operations) {
		if (!streams.has(streamOf(o))) streams.set(streamOf(o), []);
		streams.get(streamOf(o)).push(o);
	}
	for (const span of spans) {
		const { 'cuda.call': call, 'cuda.stream.id': stream, 'error.type': error } = span.attributes;
		const list = span.links ?? [], isDropped = span.droppedLinksCount !== undefined;

		assert.ok(list.length + (isDropped ? span.droppedLinksCount : 0) <= 1);
		if (call !== 'wait' || stream === undefined || error !== undefined || startOf(span) === endOf(span)) {
			assert.ok(list.length === 0 && !isDropped, 'only calls that waited for a stream have links');
			continue;
		}
		const expected = waitedFor(span, streams.get(streamOf(span)) ?? [], byId);

		allDropped &&= isDropped;
		dropped += isDropped;
		if (isDropped !== (expected === 'dropped') || (list.length === 1) !== Array.isArray(expected)) wrong++;
		for (const link of list) {
			const operation = byId.get(link.spanId), names = `${span.name} ${operation?.name}`;

			checkLink(span, link, byId);
			if (Array.isArray(expected) && !expected.includes(operation)) wrong++;
			links++;
			kernels.set(names, (kernels.get(names) ?? 0) + 1);
		}
	}
	print('links', links);
	print('links_dropped', dropped);
	print('links_wrong', wrong === 0 ? 0 : allDropped ? 'all_dropped' : wrong);
	for (const [names, count] of [...kernels].sort())
		print('link', `${names} ${count}`);
}

// All spans of calls with their ids, and all others without theirs, as one number. Links are not in
// it: a run that goes on has none.
function treeOf(spans, run) {
	const lines = spans.filter((span) => span !== run).map((span) => JSON.stringify({
		...span,
		links: undefined, droppedLinksCount: undefined,
		spanId: 'cuda.call' in span.attributes ? span.spanId : '',
	}, (key, value) => (typeof value === 'bigint' ? String(value) : value)));

	return crypto.createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}

function print(name, value) {
	console.log(`${name} ${value}`);
}

function main(folder, files) {
	const Request = schema(folder).ExportTraceServiceRequest;
	const requests = files.flatMap((file) => readFile(Request, file));
	const spans = collect(requests);

	print('requests', requests.length);
	print('spans', spans.length);
	if (spans.length === 0) return;
	const byId = check(spans);
	const run = checkTree(spans, byId);
	const operations = spans.filter((span) => 'cuda.operation' in span.attributes);
	const linked = operations.filter((span) => {
		const call = byId.get(span.parentSpanId);

		if (call === run) return false;
		assert.strictEqual(call.attributes['cuda.call'], 'launch');
		assert.strictEqual(call.attributes['cuda.correlation_id'], span.attributes['cuda.correlation_id']);
		assert.strictEqual(call.process['process.pid'], span.process['process.pid']);
		assert.ok(BigInt(call.startTimeUnixNano) <= BigInt(span.startTimeUnixNano));
		return true;
	});

	for (const kind of ['launch', 'wait', 'call'])
		print(kind, spans.filter((span) => span.attributes['cuda.call'] === kind).length);
	for (const word of new Set(operations.map((span) => span.attributes['cuda.operation']))) {
		const list = operations.filter((span) => span.attributes['cuda.operation'] === word);

		print(word.replace(/ /g, '_'), `${list.length} ${sum(list)}`);
	}
	print('operations', `${operations.length} ${sum(operations)}`);
	print('linked', linked.length);
	printLinks(spans, operations, byId);
	const failed = spans.filter((span) => 'error.type' in span.attributes);

	// The run's status is of its exit.
	for (const span of spans.filter((span) => span !== run))
		assert.deepStrictEqual(span.status, 'error.type' in span.attributes
			? { message: span.attributes['error.type'], code: STATUS_ERROR } : undefined);
	print('failed', failed.length);
	for (const text of new Set(failed.map((span) => `${span.name} ${span.attributes['error.type']}`)))
		print('failure', text);
	print('waited', sum(spans.filter((span) => span.attributes['cuda.call'] === 'wait')));
	print('stacks', spans.filter((span) => 'code.stacktrace' in span.attributes).length);
	print('processes', new Set(spans.map((span) => span.process['process.pid'])).size);
	print('service', run.process['service.name']);
	print('trace', run.traceId);
	print('tree', treeOf(spans, run));
	print('parent', run.parentSpanId ?? '');
	print('flags', run.flags);
	print('state', run.traceState ?? '');
	print('exit', run.attributes['process.exit.code'] ?? '');
	print('status', run.status ? `${run.status.code} ${run.status.message}` : '');
	print('pid', run.process['process.pid'] ?? '');
	print('host', run.process['host.name'] ?? '');
	print('command', JSON.stringify(run.process['process.command_args']));
	print('resource', Object.keys(run.process).sort().join(','));
}

main(process.argv[2], process.argv.slice(3));
