// SPDX-License-Identifier: MIT
// As chain.c, on a thread of its own.
use std::hint::black_box;
use std::time::{Duration, Instant};

#[inline(never)]
fn inner() -> u64 {
    (0..1_000_000u64).map(black_box).sum()
}

#[inline(never)]
fn middle(end: Instant) -> u64 {
    let mut sum = 0;
    while Instant::now() < end {
        sum += black_box(inner());
    }
    sum
}

#[inline(never)]
fn outer(seconds: f64) -> u64 {
    black_box(middle(Instant::now() + Duration::from_secs_f64(seconds)))
}

fn main() {
    let seconds = std::env::args().nth(1).map_or(1.0, |text| text.parse().unwrap());
    let sum = std::thread::spawn(move || outer(seconds)).join().unwrap();
    std::process::exit((sum == 1) as i32);
}
