# SPDX-License-Identifier: Apache-2.0
"""What a run showed of a program, for treatments to judge by: plain facts, all cheap to gather."""
import os
import weakref


class _Facts:
    def __init__(self, **facts):
        for name, value in facts.items():
            if not hasattr(type(self), name):
                raise TypeError("%s has no %s" % (type(self).__name__, name))
            setattr(self, name, value)


class Loader(_Facts):
    arguments = {}      # as the program gave them, by name
    site = ""
    iterable = False
    sharded = False     # an iterable dataset that asks which worker it is in
    picklable = None    # None: not tried
    batch_size = None
    shuffled = False    # its order is drawn from the generator that it draws the workers' seeds from
    dataset = None      # which it is: a number
    length = None       # samples of the dataset, where it says
    random = False      # the dataset gives another item when asked again
    batches = 0
    epochs = 0
    waited_ns = 0
    wait_share = None   # of the time between the first step and the last
    device = "cpu"      # of the tensors it hands out
    why_not = ""        # why it cannot have worker processes; empty: it can


class Optimizer(_Facts):
    kind = ""
    arguments = {}
    defaults = {}
    site = ""
    parameters = 0      # tensors
    elements = 0
    dtypes = frozenset()  # "torch.float32"
    devices = frozenset()
    foreach_by_default = False


class Root(_Facts):
    kind = ""
    site = ""
    name = ""           # the caller's expression: "model", "self.net"
    loop = ""           # the library whose loop calls it: "transformers", "lightning"
    entry = ""          # the program's line that runs this loop
    output = ""         # "tensor", or the kind of what its first call gave
    calls = 0           # while it was looked at: the first three steps
    input_shapes = frozenset()
    _module = _given = None

    @property
    def module(self):
        return self._module() if self._module is not None else None

    @module.setter
    def module(self, module):
        self._module = weakref.ref(module)

    @property
    def given(self):
        """The model that the program gave the library; the root may be part of it."""
        return self._given() if self._given is not None else None

    @given.setter
    def given(self, module):
        self._given = weakref.ref(module) if module is not None else None

    @property
    def shapes_vary(self):
        return len(self.input_shapes) > 1


class Copies(_Facts):
    total = 0           # from the host to a device, while they were looked at: the first five steps
    pageable = 0
    blocking = 0        # from pinned memory, and waited for all the same
    site = ""
    argument = ""       # "to", "cuda": how the line at the site copies


class Reads(_Facts):
    """A value that the program takes from a device."""
    site = ""
    how = ""            # "item"
    count = 0
    own = True          # by a line of its own; else a library does, on its behalf
    dtype = "float32"
    deferred = 0        # how often deferred-logging read it later
    uses = ()           # sites that looked at such a number then


class Call(_Facts):
    """A line of the program that goes backward from a loss, or steps an optimizer."""
    site = ""
    how = ""            # "method": loss.backward(), "function": torch.autograd.backward(loss), "": a library's


class Seen(_Facts):
    device = "cpu"      # that of the trained parameters
    capability = None   # (9, 0)
    device_bytes = None
    device_count = 0
    peak_device_bytes = None
    cores = 1
    world = 1
    local_world = 1
    threads = 1
    first_threads = 0  # when torch had just been imported; 0: not known
    matmul_precision = "highest"
    cudnn_benchmark = False
    cudnn_allow_tf32 = True
    autocast = frozenset()   # "bfloat16 on cuda"
    scaler_used = False
    clips_gradients = False
    closures = False    # the optimizer is given one, as Lightning does
    backwards_per_step = 0.0
    steps = 0
    step_s = 0.0        # of a step, mean of the run
    compiled = False
    set_to_none_off = 0
    draws = False       # the training draws from torch's generator of the CPU: dropout, noise
    operators = {}           # of a step: {"aten::mm": 12}
    environment = {}

    def __init__(self, **facts):
        self.scripts, self.files = [], []
        self.loaders, self.optimizers, self.roots = [], [], []
        self.copies = Copies()
        self.reads = []
        self.backward_calls, self.step_calls = [], []  # in the first five steps
        super().__init__(**facts)

    # scripts: those that were seen to do something; files: all modules of the program's own.
    scripts = files = loaders = optimizers = roots = copies = reads = backward_calls = step_calls = ()

    def read_every_step(self):
        """Reads in nearly each of the steps that were looked at, which are the first five."""
        looked_at = min(self.steps, 5)
        return [read for read in self.reads if looked_at >= 3 and read.count >= looked_at - 1 and read.site]

    def training_loader(self):
        """The loader that handed out most batches; None where there is none."""
        return max(self.loaders, key=lambda loader: loader.batches, default=None)


def cores():
    """CPUs this process may use: by its affinity, and by the quota of its group."""
    try:
        count = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        count = os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()[:2]
        if quota != "max":
            count = min(count, max(1, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        pass
    return count
