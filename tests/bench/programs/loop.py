# SPDX-License-Identifier: Apache-2.0
"""So many rounds of arithmetic on one core; no torch."""
import sys

total = 0
for i in range(int(sys.argv[1])):
    total += i * i
print("total", total)
print("rate", 1e6 / int(sys.argv[1]))
