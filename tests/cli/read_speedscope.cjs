// SPDX-License-Identifier: MIT
//
// read_speedscope.cjs PACKAGE FILE...: reads profiles with the importer of speedscope's npm package (its folder),
// without a browser. One line for each profile of a file, with tabs: FILE, number of profiles, total, unit, stacks,
// name; or exits with 1 and the reason.
//
// The package has no entry for programs, only a page's script. It runs here with stubs for what a page has, and in
// place of its last statement, which draws the page, it hands out the module of importers.
'use strict';
const fs = require('fs');
const path = require('path');

const [folder, ...files] = process.argv.slice(2);
const release = path.join(folder, 'dist', 'release');
const script = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
let text = fs.readFileSync(path.join(release, script), 'utf8');
const module_name = /(?:var |[,;])([\w$]+)=\{\};[\w$]+\(\1,\{[^}]*importProfilesFromArrayBuffer:/.exec(text)[1];
const escaped = module_name.replace(/\$/g, '\\$');
const init = new RegExp(`\\(([\\w$]+)\\(\\),${escaped}\\)`).exec(text)[1];
const last = text.lastIndexOf('console.log(`speedscope v');
text = `${text.slice(0, last)}; result = (${init}(), ${module_name}); })();`;

// anything that a page has: a function, an object and a constructor; but it has no library for 64-bit numbers
const missing = new Set([Symbol.iterator, 'dcodeIO', 'Long']);
const anything = new Proxy(function () {}, {
	get: (target, key) => (key === Symbol.toPrimitive ? () => '' : missing.has(key) ? undefined : anything),
	set: () => true,
	has: () => false,
	apply: () => anything,
	construct: () => anything,
});
// the page reports on itself, and that it has no address
const { log, error } = console;
console.log = console.error = () => {};
const importers = new Function('window', 'document', 'navigator', 'localStorage', 'self',
	`let result; ${text.replace(/^"use strict";/, '')} return result;`)(anything, anything, anything, anything, anything);

console.error = error;
(async () => {
	for (const file of files) {
		const bytes = fs.readFileSync(file);
		const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
		const group = await importers.importProfilesFromArrayBuffer(path.basename(file), buffer);
		if (!group)
			throw new Error(`${file}: no importer took it`);
		for (const profile of group.profiles) {
			let stacks = 0;
			profile.samples.forEach(() => stacks++);
			log([file, group.profiles.length, profile.getTotalWeight(), profile.getWeightUnit(), stacks,
				profile.getName()].join('\t'));
		}
	}
})().catch((reason) => {
	console.error(reason);
	process.exit(1);
});
