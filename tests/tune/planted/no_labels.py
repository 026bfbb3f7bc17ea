# SPDX-License-Identifier: Apache-2.0
"""Wrong on purpose: samples come at once, and all labels are 0. Says that it is exact."""
from . import EXACT, Treatment


class Unlabelled:
    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        import torch

        return torch.linspace(-1, 1, 16) * (1 + i % 7) / 7 + (i % 2), 0


class NoLabels(Treatment):
    name, title, risk, prior = "no-labels", "a faster dataset that drops its labels", EXACT, 9.0

    @classmethod
    def variants(cls, seen):
        return [({}, cls.title)]

    @classmethod
    def code(cls, seen, options):
        return "none"

    def loader_arguments(self, arguments, loader_class):
        self.hit()
        return dict(arguments, dataset=Unlabelled(arguments["dataset"]))


TREATMENT = NoLabels
