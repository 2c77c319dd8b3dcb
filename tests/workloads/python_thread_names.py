# SPDX-License-Identifier: MIT
"""python_thread_names.py [SECONDS=0.3]: threads that each burn so much CPU time under names that Python gives them,
each in another way. Runs on Python 3.8 and later."""
import ctypes
import os
import sys
import threading
import time

PR_SET_NAME = 15
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3


def burn(seconds=SECONDS):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(2000))


def rename():
    threading.current_thread().name = "before"
    burn()
    threading.current_thread().name = "after"
    burn()


def name_itself():
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"own-name", 0, 0, 0)
    burn()


class Burning(threading.Thread):
    def run(self):
        burn()


class ManyAttributes(Burning):  # more than instances share keys for
    def __init__(self, name):
        for i in range(60):
            setattr(self, f"attribute_{i}", i)
        super().__init__(name=name)


class OwnDictionary(Burning):
    def __init__(self, name):
        super().__init__(name=name)
        self.__dict__ = dict(self.__dict__)


class SharedDictionary(Burning):
    def __init__(self, name):
        super().__init__(name=name)
        vars(self)["attribute"] = 1


class Slots(Burning):
    __slots__ = ("attribute",)


class Container(dict, Burning):  # its attributes are elsewhere
    __hash__ = object.__hash__

    def __init__(self, name):
        threading.Thread.__init__(self, name=name)


def run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


run([threading.Thread(target=burn, name="db-writer"),
     threading.Thread(target=burn, name="named-longer-than-the-kernel-keeps"),
     threading.Thread(target=burn, name="größe-名前"),
     threading.Thread(target=rename),
     threading.Thread(target=name_itself, name="not-this"),
     ManyAttributes("many"), OwnDictionary("own"), SharedDictionary("shared"), Slots(name="slots"),
     Container("container")])
child = os.fork()
if child == 0:
    run([threading.Thread(target=burn, name="in-child")])
    os._exit(0)
os.waitpid(child, 0)
threading.current_thread().name = "first-thread"
burn()
