#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""score.py must tell right from wrong: each way to fall short is tried once."""
import unittest

import score


def finding(cause, severity="high"):
    return {"id": cause, "severity": severity, "recoverable_ms": 1.0}


def scored(label, *findings):
    return score.score("program", {"fix": [], "all": [], **label}, list(findings))


def good(*programs, limit=0.95):
    return score.summary(list(programs), limit)[1]


RIGHT = scored({"first": "a", "all": ["a"]}, finding("observer-effect", "info"), finding("a"))
SECOND = scored({"first": "a", "all": ["a"]}, finding("b"), finding("a"))


class Score(unittest.TestCase):
    def test_the_recorder_is_no_cause(self):
        self.assertTrue(RIGHT.top1)

    def test_second_is_in_the_top_three_only(self):
        self.assertFalse(SECOND.top1)
        self.assertTrue(SECOND.top3)
        fourth = scored({"first": "a", "all": ["a"]}, *map(finding, "bcda"))
        self.assertFalse(fourth.top3)

    def test_silence_is_a_miss(self):
        self.assertFalse(scored({"first": "a", "all": ["a"]}).top3)

    def test_healthy_may_have_small_findings_only(self):
        healthy = {"first": "healthy"}
        self.assertTrue(scored(healthy, finding("a", "low"), finding("healthy", "info")).top1)
        self.assertFalse(scored(healthy, finding("a", "medium")).top1)
        self.assertEqual(scored(healthy, finding("a", "medium")).faults, [])
        self.assertFalse(good(*[RIGHT] * 99, scored(healthy, finding("a"))))

    def test_mixtures_keep_their_order(self):
        mixture = {"first": "a", "all": ["a", "b", "c"]}
        self.assertTrue(good(scored(mixture, *map(finding, "axbc"))))
        self.assertFalse(good(*[RIGHT] * 99, scored(mixture, *map(finding, "acb"))))
        self.assertEqual(scored(mixture, *map(finding, "ac")).missing, ["b"])

    def test_near_misses_must_not_be_serious(self):
        near = {"first": "a", "all": ["a"], "not": ["b"]}
        self.assertTrue(good(scored(near, finding("a"), finding("b", "low"))))
        self.assertFalse(good(*[RIGHT] * 99, scored(near, finding("a"), finding("b", "medium"))))

    def test_what_the_machine_adds_is_told_by_its_title(self):
        crowd = {**finding("b"), "title": "other programs take cores"}
        for over in ("b", "b: other programs"):
            self.assertTrue(scored({"first": "a", "all": ["a"], "over": [over]}, crowd, finding("a")).top1)
        own = {"first": "healthy", "over": ["b: other programs"]}
        self.assertFalse(scored(own, {**crowd, "title": "too many threads"}).top1)

    def test_the_title_says_who_is_to_blame(self):
        wanted = {"first": "a", "all": ["a"], "says": "others"}
        self.assertTrue(good(scored(wanted, {**finding("a"), "title": "others do it"})))
        self.assertFalse(good(*[RIGHT] * 99, scored(wanted, {**finding("a"), "title": "you do it"})))

    def test_the_limit(self):
        self.assertTrue(good(*[RIGHT] * 19, SECOND))
        self.assertFalse(good(*[RIGHT] * 18, SECOND))
        self.assertFalse(good(*[RIGHT] * 19, SECOND, limit=1.0))

    def test_what_the_machine_adds_is_passed_over(self):
        self.assertTrue(scored({"first": "a", "all": ["a"], "over": ["b"]}, finding("b"), finding("a")).top1)
        self.assertFalse(scored({"first": "a", "all": ["a"]}, finding("b"), finding("a")).top1)

    def test_labels_first_written_are_scored_too(self):
        changed = scored({"first": "a", "all": ["a"], "was": "b"}, finding("a"))
        self.assertIn("top-1 1/2 (50.0 %)", score.summary([RIGHT, changed], 0.95)[0][-1])


if __name__ == "__main__":
    unittest.main()
