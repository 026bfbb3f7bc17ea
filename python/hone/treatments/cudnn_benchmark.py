# SPDX-License-Identifier: Apache-2.0
"""cuDNN tries its convolutions once for each shape and keeps the fastest."""
from . import NUMERIC, Unfit, _model
from ._setting import Setting


class CudnnBenchmark(Setting):
    name, title, risk = "cudnn-benchmark", "let cuDNN pick the fastest convolutions", NUMERIC
    line = "torch.backends.cudnn.benchmark = True"
    cures = ()
    # No gain alone on ResNet-50 on an H200 (cuDNN 9 guesses well); it grows with odd shapes.
    prior = 1.02
    extra_s = 2.0

    @classmethod
    def variants(cls, seen):
        _model.require_cuda(seen)
        import torch

        convolutions = torch.nn.modules.conv._ConvNd
        if not any(_model.has(module, convolutions) for module in _model.roots(seen)):
            raise Unfit("the model has no convolution")
        if seen.cudnn_benchmark:
            raise Unfit("the program sets torch.backends.cudnn.benchmark itself")
        if any(root.shapes_vary for root in seen.roots):
            raise Unfit("the shapes of the inputs vary: each new one would be searched again")
        if _deterministic(torch):
            raise Unfit("the program asks for deterministic algorithms")
        return [({}, cls.title)]

    def root(self, module):
        torch = self.session.torch
        cudnn = torch.backends.cudnn
        if self.hits:
            return
        if cudnn.benchmark:
            self.inert("the program sets torch.backends.cudnn.benchmark itself")
        elif _deterministic(torch):
            self.inert("the program asks for deterministic algorithms")
        else:
            cudnn.benchmark = True
            self.hit()


def _deterministic(torch):
    return torch.backends.cudnn.deterministic or torch.are_deterministic_algorithms_enabled()


TREATMENT = CudnnBenchmark
