// SPDX-License-Identifier: MIT
//
// node collector.cjs FOLDER [ANSWER...]: a collector of spans on a port of its own, which it writes
// into FOLDER/port. Each body goes into FOLDER/NNNN.jsonl or .pb, in order of arrival, if it was
// accepted; a line for each request into FOLDER/log. The first requests get the answers that are
// named, all others the last of them:
//
//   200          accepts, like no answer at all
//   STATUS       refuses, with this status of HTTP; STATUS/SECONDS adds Retry-After
//   refused/N    accepts, but for N spans
//   zipped/N     the same, in an answer that is compressed
//   page         answers 200 with a page, as servers do that are no collectors
//   cut/STATUS   answers this, accepts if it is 200, and ends the connection within the answer's body
//   drip/WHAT    answers 200 and then a byte from time to time, for ever: of its header, or accepts and
//                drips its body
//   close        ends the connection without an answer
//   slow/MS      accepts, after so many milliseconds
//   never        does not answer
//   end          ends the connection and the collector

'use strict';

const fs = require('fs');
const http = require('http');
const path = require('path');
const zlib = require('zlib');

const [folder, ...answers] = process.argv.slice(2);
let requests = 0;
let accepted = 0;

function keep(request, body) {
	const json = request.headers['content-type'] === 'application/json';
	const bytes = request.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(body) : body;
	const name = `${String(++accepted).padStart(4, '0')}.${json ? 'jsonl' : 'pb'}`;

	fs.writeFileSync(path.join(folder, name), bytes);
}

function accept(request, response, body, refused, isZipped) {
	const json = request.headers['content-type'] === 'application/json';
	const message = json
		? JSON.stringify(refused ? { partialSuccess: { rejectedSpans: String(refused), errorMessage: 'full' } } : {})
		: Buffer.from(refused ? [10, 2, 8, refused] : []);

	keep(request, body);
	response.writeHead(200, {
		'Content-Type': request.headers['content-type'],
		...(isZipped ? { 'Content-Encoding': 'gzip' } : {}),
	});
	response.end(isZipped ? zlib.gzipSync(message) : message);
}

function answer(request, response, body) {
	const [what, argument] = (answers[Math.min(requests++, answers.length - 1)] ?? '200').split('/');
	const line = [what, request.method, request.url, request.headers['content-type'],
		request.headers['content-encoding'] ?? '-', request.headers['user-agent'],
		request.headers['x-key'] ?? '-', body.length];

	fs.appendFileSync(path.join(folder, 'log'), `${line.join(' ')}\n`);
	switch (what) {
	case '200':
		return accept(request, response, body);
	case 'refused':
		return accept(request, response, body, Number(argument));
	case 'zipped':
		return accept(request, response, body, Number(argument), true);
	case 'slow':
		return setTimeout(() => accept(request, response, body), Number(argument));
	case 'page':
		response.writeHead(200, { 'Content-Type': 'text/html' });
		return response.end('<!doctype html><title>Traces</title>');
	case 'never':
		return undefined;
	case 'cut':
		if (argument === '200') keep(request, body);
		return request.socket.end(`HTTP/1.1 ${argument} x\r\nContent-Type: text/plain\r\nContent-Length: 99\r\n\r\n`);
	case 'drip':
		if (argument === 'body') keep(request, body);
		request.socket.write(`HTTP/1.1 200 OK\r\n${argument === 'body' ? '\r\n' : 'X-Field: '}`);
		return setInterval(() => request.socket.write('x'), 50);
	case 'end':
		request.socket.destroy();
		return process.exit(0);
	case 'close':
		return request.socket.destroy();
	default:
		response.writeHead(Number(what), argument ? { 'Retry-After': argument } : {});
		return response.end(`status ${what}\n`);
	}
}

const server = http.createServer((request, response) => {
	const parts = [];

	request.on('data', (part) => parts.push(part));
	request.on('end', () => answer(request, response, Buffer.concat(parts)));
});

server.listen(0, '127.0.0.1', () => {
	fs.writeFileSync(path.join(folder, 'port.new'), `${server.address().port}\n`);
	fs.renameSync(path.join(folder, 'port.new'), path.join(folder, 'port'));
});
