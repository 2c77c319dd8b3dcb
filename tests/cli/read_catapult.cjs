// SPDX-License-Identifier: MIT
//
// read_catapult.cjs PACKAGE FILE: reads a trace with the importer of catapult, the code of chrome://tracing, which is
// in the npm package bigrig (its folder). Prints what it found; exits with 1 and the reason if it cannot.
'use strict';
const fs = require('fs');
const path = require('path');

const [folder, file] = process.argv.slice(2);
const lib = path.resolve(folder, 'lib');

require(path.join(lib, 'global-config.js')).enable();
require(path.join(lib, 'third_party/tracing/importer/import.js'));
require(path.join(lib, 'third_party/tracing/extras/importer/trace_event_importer.js'));

/* global tr */
const options = new tr.importer.ImportOptions();
const model = new tr.Model();
let deepest = 0;

options.showImportWarnings = false;
options.pruneEmptyContainers = false;
options.shiftWorldToZero = true;
new tr.importer.Import(model, options).importTraces([fs.readFileSync(file, 'utf8')]);
// it takes times for milliseconds where nothing says otherwise, and an arrow has arguments of both its ends
const HARMLESS = ['low_resolution_timer', 'arg_merge_error'];

for (const {type, message} of model.importWarnings)
	if (!HARMLESS.includes(type)) throw new Error(`${type}: ${message}`);
for (const process of model.getAllProcesses()) {
	let ns = 0;

	for (const thread of Object.values(process.threads))
		for (const slice of thread.sliceGroup.slices) {
			ns += Math.round(slice.duration * 1e6);
			deepest = Math.max(deepest, slice.depth ?? 0);
		}
	console.log(process.name, ns);
	for (const counter of Object.values(process.counters))
		console.log('counter', counter.name, counter.series.map(series => series.name).join());
}
console.log('deepest', deepest);
console.log('flows', model.flowEvents.length, 'bound',
	model.flowEvents.filter(flow => flow.startSlice && flow.endSlice).length);
console.log('samples', model.samples.length);
for (const {leafStackFrame} of model.samples) {
	const frames = [];

	for (let frame = leafStackFrame; frame; frame = frame.parentFrame) frames.push(frame.title);
	console.log('sample', frames.join('<'));
}
