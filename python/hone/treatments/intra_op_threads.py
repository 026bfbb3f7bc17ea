# SPDX-License-Identifier: Apache-2.0
"""How many threads one operator on the CPU is spread over."""
from . import NUMERIC, Unfit, _cpus
from ._setting import Setting


class IntraOpThreads(Setting):
    name = "intra-op-threads"
    title = "other number of CPU threads for an operator"
    risk = NUMERIC  # a sum over other parts rounds otherwise
    group = "intra-op-threads"
    cures = ("cpu-oversubscribed",)
    # Small operators lose more by being spread than they win; which it is only a trial says.
    prior = 1.1

    @classmethod
    def variants(cls, seen):
        if seen.device != "cpu":
            raise Unfit("the model is on %s: its operators do not run on CPU threads" % seen.device)
        if seen.environment.get("OMP_NUM_THREADS") and seen.world == 1:
            raise Unfit("OMP_NUM_THREADS=%s is set already" % seen.environment["OMP_NUM_THREADS"])
        if seen.first_threads and seen.threads != seen.first_threads:
            raise Unfit("the program calls torch.set_num_threads(%d) itself" % seen.threads)
        share = max(1, seen.cores // seen.local_world)
        physical = len(_cpus.one_of_each_core(_cpus.allowed())) // seen.local_world
        counts = []
        for count in (share, physical, share // 2, 1):
            if 0 < count <= share and count != seen.threads and count not in counts:
                counts.append(count)
        if not counts:
            raise Unfit("1 core for each process, and 1 thread uses it")
        return [({"threads": count}, "%d CPU thread%s for an operator" % (count, "" if count == 1 else "s"))
                for count in counts]

    @classmethod
    def code(cls, seen, options):
        return "torch.set_num_threads(%d)" % options["threads"]

    def install(self):
        self.session.after_import("torch", self._torch_is_here)

    def _torch_is_here(self, torch):
        self.before = torch.get_num_threads()
        torch.set_num_threads(int(self.options["threads"]))
        self.hit()
        self.session.patch(torch, "set_num_threads", self._make_set)

    def _make_set(self, original):
        def set_num_threads(count):
            # Workers of a loader set theirs; only what the program says itself counts.
            if self.session.here() and not self.session.own:
                self.state, self.hits = "inert", 0
                self.why = "the program calls torch.set_num_threads(%s) itself" % count
            return original(count)

        return set_num_threads


TREATMENT = IntraOpThreads
