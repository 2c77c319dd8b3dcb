// SPDX-License-Identifier: MIT
// As chain.c.
let sink = 0;

function inner() {
    for (let i = 0; i < 1000000; i++)
        sink = (sink + i) | 0;
}

function middle(end) {
    while (Date.now() < end) {
        inner();
        sink++;
    }
}

function outer(seconds) {
    middle(Date.now() + seconds * 1000);
    return sink;
}

outer(parseFloat(process.argv[2]));
