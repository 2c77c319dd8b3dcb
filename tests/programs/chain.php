<?php
// SPDX-License-Identifier: MIT
// As chain.c.
function inner() { $x = 0; for ($i = 0; $i < 100000; $i++) $x += $i; return $x; }
function middle($end) { while (microtime(true) < $end) inner(); }
function outer($seconds) { middle(microtime(true) + $seconds); }
outer((float)$argv[1]);
