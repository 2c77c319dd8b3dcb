# SPDX-License-Identifier: MIT
"""python_native.py [SECONDS=1]: no CUDA. Uses CPU time in C functions called by Python functions: zlib's crc32, and
libc's qsort, which calls back. Runs on Python 3.8 and later, without other modules."""
import ctypes
import sys
import time
import zlib

data = bytes(1 << 20)


def use_crc():
    zlib.crc32(data)


def spin(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def compare(a, b):
    spin(2000)
    return 0


numbers = (ctypes.c_int * 16)()
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(compare)
libc = ctypes.CDLL("libc.so.6")


def use_qsort():
    libc.qsort(numbers, 16, 4, callback)


def repeat(function, seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        function()


for each in use_crc, use_qsort:
    repeat(each, float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
