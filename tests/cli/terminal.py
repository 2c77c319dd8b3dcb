# SPDX-License-Identifier: MIT
"""A terminal for tests: a command on a pseudo-terminal of its own, and what a user sees there.

    t = Terminal(["./profile", "--live", "true"], rows=24, columns=80)
    t.wait(lambda: "busy" in t.text())      # reads what the command prints
    t.type("q")
    t.finish()                              # its status, when all is read

It understands the control sequences that --live uses and fails at any other, so that none comes
from a name. `history` has the lines that have scrolled off the top.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

TIMEOUT_S = 300
SEQUENCE = re.compile(r"\x1b(?:([78D])|\[(\??[0-9;]*)([A-Za-z]))")


class Terminal:
    def __init__(self, command, rows=24, columns=80, environment=None):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.saved = (0, 0)
        self.top, self.bottom = 0, rows - 1
        self.history = []
        self.unread = ""
        self.raw = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGINT, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            # not before the size is known
            sys.stdin.readline()
            os.environ["TERM"] = "xterm"
            os.environ.update(environment or {})
            os.execvp(command[0], command)
        self.resize(rows, columns)
        self.settings = termios.tcgetattr(self.fd)
        os.write(self.fd, b"\n")
        self.wait(lambda: self.row > 0)  # the echo
        self.row = 0

    def resize(self, rows, columns):
        for line in self.cells:
            line.extend([" "] * (columns - len(line)))
            del line[columns:]
        while len(self.cells) > rows:
            if self.row >= rows:
                self.history.append("".join(self.cells.pop(0)).rstrip())
                self.row -= 1
            else:
                self.cells.pop()
        while len(self.cells) < rows:
            self.cells.append([" "] * columns)
        self.rows, self.columns = rows, columns
        self.top, self.bottom = 0, rows - 1
        self.column = min(self.column, columns - 1)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # ---- what the user sees ----

    def lines(self):
        return ["".join(line).rstrip() for line in self.cells]

    def text(self):
        return "\n".join(self.lines())

    def all_text(self):
        return "\n".join(self.history + self.lines())

    def _scroll(self):
        if self.row == self.bottom:
            gone = self.cells.pop(self.top)
            if self.top == 0:
                self.history.append("".join(gone).rstrip())
            self.cells.insert(self.bottom, [" "] * self.columns)
        elif self.row < self.rows - 1:
            self.row += 1

    def _obey(self, single, numbers, final):
        if numbers == "?2004" and final in "hl":
            return  # a shell's: what is pasted
        values = [int(n) if n else 0 for n in (numbers or "").split(";")]
        first = values[0]
        if single == "7":
            self.saved = (self.row, self.column)
        elif single == "8":
            self.row = min(self.saved[0], self.rows - 1)
            self.column = min(self.saved[1], self.columns - 1)
        elif single == "D":
            self._scroll()
        elif final == "A":
            self.row = max(self.row - max(first, 1), self.top if self.row >= self.top else 0)
        elif final == "H":
            self.row = min(max(first, 1), self.rows) - 1
            self.column = min(max(values[1] if len(values) > 1 else 1, 1), self.columns) - 1
        elif final == "J" and first == 0:
            self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
            for line in self.cells[self.row + 1:]:
                line[:] = [" "] * self.columns
        elif final == "K" and first == 0:
            self.cells[self.row][self.column:] = [" "] * (self.columns - self.column)
        elif final == "r":
            self.top = max(first, 1) - 1
            self.bottom = (values[1] if len(values) > 1 and values[1] else self.rows) - 1
            assert self.top < self.bottom < self.rows, "a bad region"
            self.row = self.column = 0
        elif final != "m":
            raise AssertionError("unknown sequence %r" % ((single, numbers, final),))

    def _print(self, character):
        if character == "\n":
            self._scroll()
        elif character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(self.column - 1, 0)
        elif character >= " ":
            if self.column == self.columns:
                self.column = 0
                self._scroll()
            self.cells[self.row][self.column] = character
            self.column += 1
        elif character != "\a":
            raise AssertionError("control character %r" % character)

    def _show(self):
        """Shows what has been read, as far as a drawing ends; False: nothing that is complete."""
        text, at, is_drawn = self.unread, 0, False
        while at < len(text) and not is_drawn:
            if text[at] != "\x1b":
                self._print(text[at])
                at += 1
                continue
            match = SEQUENCE.match(text, at)
            if not match:
                assert len(text) - at < 16, "unknown sequence %r" % text[at:at + 16]
                break
            self._obey(*match.groups())
            is_drawn = match.group(1) == "8"
            at = match.end()
        self.unread = text[at:]
        return at > 0

    def read(self, patience):
        """Reads and shows, not more than one drawing, so that none is missed.

        False: all has been read, and the other end is closed."""
        if self._show():
            return True
        if not select.select([self.fd], [], [], patience)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data
        text = self.raw.decode("utf-8", "replace")
        # an unfinished character stays
        keep = 0
        while keep < 3 and text.endswith("\ufffd"):
            text = self.raw[:len(self.raw) - keep - 1].decode("utf-8", "replace")
            keep += 1
        self.unread += text
        self.raw = self.raw[len(text.encode()):]
        self._show()
        return bool(data)

    # ---- what the user does ----

    def wait(self, condition):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < end, "waited in vain:\n" + self.all_text()
            if not self.read(0.05):
                assert condition(), "it ended:\n" + self.all_text()
                return

    def wait_for(self, text):
        self.wait(lambda: text in self.text())

    def type(self, text):
        os.write(self.fd, text.encode())

    def finish(self):
        end = time.monotonic() + TIMEOUT_S
        while self.status is None:
            assert time.monotonic() < end, "does not end:\n" + self.all_text()
            # its settings are read before its last user closes it
            self.last_settings = termios.tcgetattr(self.fd)
            alive = self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG if alive else 0)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        while (self._show() or select.select([self.fd], [], [], 0.2)[0]) and self.read(0):
            pass
        return self.status

    def is_restored(self):
        return not block_of(self) and termios.tcgetattr(self.fd) == self.settings

    def expect_restored(self):
        """No block, the whole terminal scrolls, nothing below the cursor, settings as before."""
        assert not block_of(self), "a block is left:\n" + self.text()
        assert (self.top, self.bottom) == (0, self.rows - 1), "a region is left"
        below = self.lines()[self.row + 1:]
        assert not any(below), "below the cursor:\n" + self.text()
        assert termios.tcgetattr(self.fd) == self.settings, "other settings"


def block_of(t):
    """The lines of --live's block."""
    lines = t.lines()
    starts = [i for i, line in enumerate(lines) if re.match(r"profile \d+:\d\d:\d\d", line)]
    return lines[starts[-1]:] if starts else []


def processes_called(name):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/comm" % pid) as comm:
                if comm.read().strip() == name:
                    found.append(int(pid))
        except OSError:
            pass
    return found


def descendants(pid):
    children = []
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        pass
    return children + [d for child in children for d in descendants(child)]


def descendant_called(pid, name):
    return [p for p in processes_called(name) if p in descendants(pid)][0]


def signals_taken(pid):
    """Whether the process has begun to handle all signals that were sent to it."""
    with open("/proc/%d/status" % pid) as status:
        return "\nShdPnd:\t0000000000000000\n" in status.read()
