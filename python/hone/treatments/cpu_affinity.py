# SPDX-License-Identifier: Apache-2.0
"""The process keeps to CPUs of its own: one thread of each core, or this rank's share of the cores."""
import os

from . import EXACT, Treatment, Unfit
from . import _cpus


class CpuAffinity(Treatment):
    name = "cpu-affinity"
    title = "keep the process to CPUs of its own"
    risk = EXACT
    group = "placement"
    cures = ("cpu-oversubscribed", "straggler")
    prior = 1.02  # jitter, seldom more; not measured yet

    @classmethod
    def variants(cls, seen):
        if not hasattr(os, "sched_setaffinity"):
            raise Unfit("this system has no CPU affinity")
        cpus = _cpus.allowed()
        if seen.local_world > 1:
            if len(cpus) < 2 * seen.local_world:
                raise Unfit("%d CPUs for %d ranks: fewer than 2 for each" % (len(cpus), seen.local_world))
            return [({"cpus": "share"}, "each rank on its own share of the %d CPUs" % len(cpus))]
        cores = _cpus.one_of_each_core(cpus)
        if len(cores) == len(cpus):
            raise Unfit("one process, and no core has a second thread: it has all %d CPUs for itself" % len(cpus))
        return [({"cpus": _cpus.told(cores)}, "one thread of each of the %d cores" % len(cores))]

    @classmethod
    def code(cls, seen, options):
        if options["cpus"] == "share":
            return ("rank, ranks = int(os.environ[\"LOCAL_RANK\"]), int(os.environ[\"LOCAL_WORLD_SIZE\"])\n"
                    "cpus = sorted(os.sched_getaffinity(0))\n"
                    "os.sched_setaffinity(0, cpus[rank * len(cpus) // ranks:(rank + 1) * len(cpus) // ranks])")
        return "taskset -c %s python train.py" % options["cpus"]

    def install(self):
        cpus = _cpus.allowed()
        wanted = self.options.get("cpus", "share")
        if wanted == "share":
            rank, ranks = (int(os.environ.get(name, default)) for name, default in (
                ("LOCAL_RANK", 0), ("LOCAL_WORLD_SIZE", 1)))
            chosen = cpus[rank * len(cpus) // ranks:(rank + 1) * len(cpus) // ranks]
            if "LOCAL_RANK" not in os.environ:
                raise Unfit("no rank: this process starts the others")
        else:
            chosen = sorted(set(_cpus.parsed(wanted)).intersection(cpus))
        if not chosen:
            raise Unfit("of the CPUs %s this process may use none" % wanted)
        if chosen == cpus:
            self.inert("the process is kept to CPUs %s already" % _cpus.told(cpus))
            return
        bind(self, chosen)


def bind(treatment, cpus):
    """Keeps this process to them, until the program says otherwise itself."""
    os.sched_setaffinity(0, cpus)
    treatment.hit()

    def make(original):
        def sched_setaffinity(pid, mask):
            if not treatment.session.own:
                treatment.state, treatment.hits = "inert", 0
                treatment.why = "the program calls os.sched_setaffinity itself"
            return original(pid, mask)

        return sched_setaffinity

    treatment.session.patch(os, "sched_setaffinity", make)


TREATMENT = CpuAffinity
