// SPDX-License-Identifier: MIT
/*
 * read_parca.mjs PACKAGE BODY PROFILE: reads the body of a call of WriteRaw by the types of the npm
 * package @parca/client, prints what is in it, and whether its profile, decompressed, is PROFILE.
 */
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

// the package's own imports have no extensions
register(
	"data:text/javascript," +
		encodeURIComponent(
			"export const resolve = (name, context, next) =>" +
				" next(name, context).catch(() => next(`${name}.js`, context));",
		),
);

const [folder, bodyPath, profilePath] = process.argv.slice(2);
const name = "dist/parca/profilestore/v1alpha1/profilestore.js";
const { WriteRawRequest } = await import(pathToFileURL(`${folder}/${name}`));
const body = readFileSync(bodyPath);
const request = WriteRawRequest.fromBinary(body.subarray(5), {
	readUnknownField: "throw",
});

console.log("normalized", request.normalized);
for (const series of request.series) {
	for (const label of series.labels.labels) console.log(`${label.name}=${label.value}`);
	for (const sample of series.samples)
		console.log("profile", gunzipSync(sample.rawProfile).equals(readFileSync(profilePath)) ? "as it is" : "differs");
}
