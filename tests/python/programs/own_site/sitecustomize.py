import sys

sys.own = "own"
