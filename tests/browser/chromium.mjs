// SPDX-License-Identifier: MIT
// Headless Chromium by its DevTools protocol, over two pipes: needs no package. One page.
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

export async function openChromium(program) {
	const folder = mkdtempSync(join(tmpdir(), "profile-browser-"));
	const browser = spawn(
		program,
		[
			"--headless=new",
			"--no-sandbox",
			"--disable-gpu",
			"--remote-debugging-pipe",
			"--disable-dev-shm-usage",
			"--no-first-run",
			"--hide-scrollbars",
			`--user-data-dir=${folder}`,
			"about:blank",
		],
		{stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]},
	);
	const waiting = new Map(),
		listeners = new Set(),
		problems = [];
	let last = 0,
		text = Buffer.alloc(0),
		session = undefined,
		ended = null;

	const fail = error => {
		ended = error;
		for (const {reject} of waiting.values()) reject(error);
	};

	browser.on("error", fail);
	browser.on("exit", status => fail(new Error(`Chromium ended with ${status}`)));
	browser.stdio[3].on("error", fail);
	browser.stdio[4].on("data", data => {
		text = Buffer.concat([text, data]);
		for (let end; (end = text.indexOf(0)) >= 0; text = text.subarray(end + 1)) {
			const message = JSON.parse(text.subarray(0, end));
			const call = waiting.get(message.id);

			if (call) {
				waiting.delete(message.id);
				if (message.error)
					call.reject(new Error(`${call.method}: ${message.error.message}`));
				else call.resolve(message.result);
			}
			for (const listener of listeners) listener(message);
		}
	});

	function send(method, params = {}) {
		if (ended) return Promise.reject(ended);
		const id = ++last;

		return new Promise((resolve, reject) => {
			waiting.set(id, {resolve, reject, method});
			browser.stdio[3].write(`${JSON.stringify({id, method, params, sessionId: session})}\0`);
		});
	}

	const {targetInfos} = await send("Target.getTargets");
	const {targetId} =
		targetInfos.find(target => target.type === "page") ??
		(await send("Target.createTarget", {url: "about:blank"}));

	session = (await send("Target.attachToTarget", {targetId, flatten: true})).sessionId;
	listeners.add(({method, params}) => {
		if (method === "Runtime.exceptionThrown")
			problems.push(
				params.exceptionDetails.exception?.description ?? params.exceptionDetails.text,
			);
		else if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level))
			problems.push(params.entry.text);
		else if (method === "Runtime.consoleAPICalled" && params.type === "error")
			problems.push(JSON.stringify(params.args));
		else if (
			method === "Network.requestWillBeSent" &&
			!/^(file|data|blob|about):/.test(params.request.url)
		)
			problems.push(`a request for ${params.request.url}`);
		else if (method === "Page.javascriptDialogOpening") {
			problems.push(`a dialog: ${params.message}`);
			send("Page.handleJavaScriptDialog", {accept: true}).catch(() => {});
		}
	});
	for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(`${domain}.enable`);

	async function evaluate(expression) {
		const {result, exceptionDetails} = await send("Runtime.evaluate", {
			expression,
			awaitPromise: true,
			returnByValue: true,
		});

		if (exceptionDetails)
			throw new Error(
				`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`,
			);
		return result.value;
	}

	async function until(expression, seconds = 30) {
		for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
			if (await evaluate(expression).catch(() => false)) return;
			await new Promise(resolve => setTimeout(resolve, 50));
		}
		throw new Error(`not within ${seconds} s: ${expression}`);
	}

	const mouse = (type, x, y, more = {}) =>
		send("Input.dispatchMouseEvent", {type, x, y, button: "none", ...more});

	return {
		send,
		evaluate,
		until,
		problems,
		async open(url) {
			await send("Page.navigate", {url: "about:blank"});
			await send("Page.navigate", {url});
			await until(
				'document.documentElement.dataset.ready === "1" || ' +
					'document.querySelector("#status.warn") !== null',
			);
		},
		async move(x, y) {
			await mouse("mouseMoved", x, y);
		},
		async click(x, y) {
			await mouse("mouseMoved", x, y);
			await mouse("mousePressed", x, y, {button: "left", clickCount: 1});
			await mouse("mouseReleased", x, y, {button: "left", clickCount: 1});
		},
		async key(name, character = name.length === 1 ? name : undefined) {
			const codes = {
				Escape: 27,
				Enter: 13,
				Backspace: 8,
				ArrowLeft: 37,
				ArrowUp: 38,
				ArrowRight: 39,
				ArrowDown: 40,
				Tab: 9,
			};

			await send("Input.dispatchKeyEvent", {
				type: character ? "keyDown" : "rawKeyDown",
				key: name,
				text: character,
				windowsVirtualKeyCode: codes[name],
			});
			await send("Input.dispatchKeyEvent", {
				type: "keyUp",
				key: name,
				windowsVirtualKeyCode: codes[name],
			});
		},
		async type(string) {
			await send("Input.insertText", {text: string});
		},
		// Device pixels, colours, and whether there are fingers.
		async show({width, height, ratio = 1, dark = false, touch = false}) {
			await send("Emulation.setDeviceMetricsOverride", {
				width,
				height,
				deviceScaleFactor: ratio,
				mobile: touch,
			});
			await send("Emulation.setTouchEmulationEnabled", {enabled: touch});
			await send("Emulation.setEmulatedMedia", {
				features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}],
			});
		},
		async screenshot(path) {
			const {data} = await send("Page.captureScreenshot", {format: "png"});

			writeFileSync(path, Buffer.from(data, "base64"));
		},
		async close() {
			ended = new Error("closed");
			browser.kill("SIGKILL");
			await new Promise(resolve => browser.once("close", resolve));
			// its other processes end a moment later, and write until then
			for (let tries = 30; ; tries--) {
				try {
					rmSync(folder, {recursive: true, force: true});
					break;
				} catch (error) {
					if (tries === 0) throw error;
					await new Promise(resolve => setTimeout(resolve, 100));
				}
			}
		},
	};
}
