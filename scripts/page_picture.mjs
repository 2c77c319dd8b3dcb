// SPDX-License-Identifier: MIT
// node scripts/page_picture.mjs REPORT.html PICTURE.svg: draws a report's first view as Chromium shows it. The
// picture holds the elements and styles of the page as text, in a foreignObject.
import {writeFileSync} from "node:fs";
import {resolve} from "node:path";
import {pathToFileURL} from "node:url";
import {openChromium} from "../tests/browser/chromium.mjs";

const [report, picture] = process.argv.slice(2),
	WIDTH = 1180;
const browser = await openChromium(process.env.CHROMIUM ?? "chromium");

try {
	await browser.show({width: WIDTH, height: 3000}); // nothing scrolls
	await browser.open(pathToFileURL(resolve(report)).href);
	await browser.until('document.documentElement.dataset.timeline === "1"');
	const {height, style, body} = await browser.evaluate(`new Promise(done => setTimeout(() => {
		const drawn = [...document.querySelectorAll("canvas")].map(canvas => canvas.toDataURL());
		const copy = document.body.cloneNode(true);
		for (const canvas of copy.querySelectorAll("canvas")) {
			const image = document.createElement("img");
			image.src = drawn.shift();
			image.width = canvas.width;
			canvas.replaceWith(image);
		}
		for (const unseen of copy.querySelectorAll("script, noscript, dialog, .skip, [hidden]")) unseen.remove();
		done({
			height: document.querySelector("header").offsetHeight + document.querySelector(".overview-body").offsetHeight + 28,
			style: document.querySelector("style").textContent.replaceAll(":root", ".page"),
			body: new XMLSerializer().serializeToString(copy),
		});
	}, 500))`);

	writeFileSync(
		picture,
		`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">
<!-- SPDX-License-Identifier: MIT -->
<style>.overview { overflow: visible !important; } ${style.replace(/&/g, "&amp;").replace(/</g, "&lt;")}</style>
<foreignObject width="${WIDTH}" height="${height}">
<div xmlns="http://www.w3.org/1999/xhtml" class="page" style="height:${height}px;background:#ffffff;overflow:hidden">
${body}
</div>
</foreignObject>
</svg>
`,
	);
} finally {
	await browser.close();
}
