"""Functions that are called as Python calls them: by each other, from a generator, from C, in a thread, in a forked process."""
import os
import sys
import threading
import time


def spin():
    total = 0
    for n in range(20000):
        total += n * n
    return total


class Work:
    def method(self):
        return spin()


def generated():
    while True:
        spin()
        yield 1


def key(item):
    spin()
    return -item


def by_calls():
    Work().method()


def by_generator():
    for _ in zip(range(3), generated()):
        pass


def by_c():
    sorted(range(3), key=key)


def work(until):
    while time.monotonic() < until:
        by_calls()
        by_generator()
        by_c()


def main(seconds):
    # One after the other, as only one runs at a time.
    begin = time.monotonic()
    work(begin + seconds)
    child = os.fork()
    if child == 0:
        work(begin + 2 * seconds)
        os._exit(0)
    os.waitpid(child, 0)
    thread = threading.Thread(target=work, args=(begin + 3 * seconds,))
    thread.start()
    thread.join()


main(float(sys.argv[1]))
