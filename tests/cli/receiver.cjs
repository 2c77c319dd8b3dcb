// SPDX-License-Identifier: MIT
// receiver.cjs PACKAGE FOLDER: a server that others wrote and that takes OpenTelemetry's spans as JSON, the one of
// Genkit (npm's @genkit-ai/telemetry-server, at PACKAGE). FOLDER/port says where it listens; it keeps traces below
// FOLDER. With TRACE and PORT in place of FOLDER: prints the spans of a trace that it has, "ID PARENT STATUS NAME".
const fs = require("node:fs");
const net = require("node:net");
const { createRequire } = require("node:module");

async function print(port, trace) {
	const answer = await fetch(`http://127.0.0.1:${port}/api/traces/${trace}`);
	const { spans } = await answer.json();

	for (const s of Object.values(spans))
		console.log(s.spanId, s.parentSpanId || "-", s.status?.code ?? 0, s.displayName);
}

function serve(path, folder) {
	const server = createRequire(`${path}/package.json`)(JSON.parse(fs.readFileSync(`${path}/package.json`)).name);
	const free = net.createServer();
	const where = { storeRoot: folder, indexRoot: folder };

	free.listen(0, "127.0.0.1", () => {
		const { port } = free.address();

		free.close(async () => {
			await server.startTelemetryServer({
				port,
				traceStore: new server.LocalFileTraceStore(where),
				logStore: new server.LocalFileLogStore(where),
			});
			while (!(await fetch(`http://127.0.0.1:${port}/api/__health`).catch(() => null)))
				await new Promise((resolve) => setTimeout(resolve, 20));
			fs.writeFileSync(`${folder}/port.new`, String(port));
			fs.renameSync(`${folder}/port.new`, `${folder}/port`);
		});
	});
}

if (process.argv.length > 4)
	print(process.argv[4], process.argv[3]);
else
	serve(process.argv[2], process.argv[3]);
