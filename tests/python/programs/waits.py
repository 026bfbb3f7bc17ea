# SPDX-License-Identifier: Apache-2.0
"""Waits for a device that is a fake CUPTI's, from lines of its own and through a package that counts as
the framework's. Prints "NUMBER LINE" for each wait that takes time; the number is its correlation.
"""
import ctypes
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "waiting"))
import package

LIBRARY = ctypes.CDLL(os.environ["HONE_LIBRARY"])
LIBRARY.hone_framework(os.path.join(os.path.dirname(package.__file__), "").encode(), 0)
assert LIBRARY.InitializeInjection() == 1
FAKE = ctypes.CDLL(os.environ["HONE_CUPTI"])


def here(number):
    print(number, sys._getframe(1).f_lineno)


def directly():
    here(1); package.wait(FAKE, 1)
    for number in (2, 3):
        here(number); package.wait(FAKE, number)


def in_a_region():
    # The region's own line is not the wait's.
    LIBRARY.hone_region_begin(b"epoch", 3)
    here(4); package.wait(FAKE, 4)
    LIBRARY.hone_region_end()


def often():
    # Hundreds before anybody reads what was noted.
    for number in range(100, 400):
        here(number); package.wait(FAKE, number, microseconds=50)


directly()
in_a_region()
often()
thread = threading.Thread(target=lambda: (here(5), package.wait(FAKE, 5)))
thread.start()
thread.join()
package.wait(FAKE, 6, function=211)  # a launch: no wait, whatever it takes
