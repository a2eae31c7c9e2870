"""Starting troupe's programs and following what they print, for tests that use real processes.

Nothing here sleeps: a test waits for a line, a trace, or the end of a process, with a deadline.
"""
import json
import os
import pathlib
import selectors
import signal
import subprocess
import threading
import time

# Programs inherit what is ignored: a test in a shell's background would start them deaf to Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

DEADLINE_S = 120  # for anything that is not meant to take long; sanitizers and a busy machine count


class Stuck(AssertionError):
    pass


def run(arguments, **options):
    """Runs a program to its end; the result has returncode, stdout and stderr as text."""
    if "input" not in options:
        options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", DEADLINE_S)
    try:
        return subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **options)
    except subprocess.TimeoutExpired as e:
        raise Stuck(f"no end after {e.timeout} s: {arguments}: {e.stdout} {e.stderr}") from None


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


class Lines:
    """The whole lines that came through a file descriptor so far."""

    def __init__(self, fd):
        self.fd = fd
        self.lines = []
        self.ended = False
        self._rest = b""
        os.set_blocking(fd, False)

    def read(self):
        while True:
            try:
                block = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return
            if not block:
                self.ended = True
                return
            *whole, self._rest = (self._rest + block).split(b"\n")
            self.lines += [line.decode() for line in whole]


class Program:
    """A program that runs while the test looks at its output line by line."""

    def __init__(self, arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **options)
        self.out = Lines(self.process.stdout.fileno())
        self.err = Lines(self.process.stderr.fileno())
        self.watched = [self.out, self.err]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def wait_until(self, condition, seconds=DEADLINE_S):
        """True when the condition came true; False when the program ended or time was up."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as events:
            for lines in self.watched:
                if not lines.ended:
                    events.register(lines.fd, selectors.EVENT_READ, lines)
            while not condition():
                if self.out.ended and self.err.ended:
                    return False
                left = end - time.monotonic()
                if left <= 0:
                    return False
                for key, _ in events.select(left):
                    key.data.read()
                    if key.data.ended:
                        events.unregister(key.fd)
        return True

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.end()

    def end(self):
        """The exit code, once everything that was printed has been read."""
        self.wait_until(lambda: False)
        try:
            code = self.process.wait(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            raise Stuck(f"no end after {DEADLINE_S} s: {self.process.args}") from None
        for lines in self.watched:
            lines.read()
        return code


class Followed:
    """A program whose output is read all the time. `out` and `err`: its lines, each with when it came.
    `news`: the condition that reports lines; programs can share one."""

    def __init__(self, arguments, news=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, encoding="utf-8",
                                        errors="replace", **options)
        self.out, self.err = [], []
        self.news, self.open_streams = news or threading.Condition(), 2
        self.readers = [threading.Thread(target=self.follow, args=pair, daemon=True) for pair in
                        [(self.process.stdout, self.out), (self.process.stderr, self.err)]]
        for reader in self.readers:
            reader.start()

    def follow(self, stream, lines):
        for line in stream:
            with self.news:
                lines.append((time.monotonic(), line.rstrip("\n")))
                self.news.notify_all()
        with self.news:
            self.open_streams -= 1
            self.news.notify_all()

    def wait_until(self, found, seconds=DEADLINE_S):
        """The match in its lines; None, or a false value, if the program ends before or in time."""
        with self.news:
            self.news.wait_for(lambda: found() or self.open_streams == 0, seconds)
            return found()

    def wait_for(self, word, seconds=DEADLINE_S):
        """(when, line) of the first line that begins with this word; None: as wait_until."""
        return self.wait_until(
            lambda: next((one for one in self.out if one[1].startswith(word)), None), seconds)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def ended(self, seconds=DEADLINE_S):
        """Whether it ends by itself, in time."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self):
        """Kills it, if it has not ended; gives how it did."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        code = self.process.wait()
        for reader in self.readers:
            reader.join()
        for stream in [self.process.stdout, self.process.stderr]:
            stream.close()
        return code


def programs_folder(argument):
    return pathlib.Path(argument).resolve()
