# SPDX-License-Identifier: Apache-2.0
"""The process stays on the NUMA node of its GPU: threads by affinity, memory by where they touch it first."""
import sys

from . import EXACT, Treatment, Unfit
from . import _cpus
from .cpu_affinity import bind


class NumaBinding(Treatment):
    name = "numa-binding"
    title = "stay on the NUMA node of the GPU"
    risk = EXACT
    group = "placement"
    cures = ("pageable-copy", "blocking-copy")
    prior = 1.03  # up to the ratio of near to far bandwidth where copies bound the step; not measured yet

    @classmethod
    def variants(cls, seen):
        nodes = _cpus.nodes()
        if len(nodes) < 2:
            raise Unfit("the machine shows %d NUMA node to this process" % len(nodes))
        if seen.world > 1:
            raise Unfit("each of %d ranks needs a node of its own: torchrun --numa-binding=node does it (torch 2.9 "
                        "and later)" % seen.world)
        if seen.device == "cuda":
            node = _node_of_device()
            if node not in nodes:
                raise Unfit("the system does not say which NUMA node the GPU is on")
        else:
            node, cpus = max(nodes.items(), key=lambda item: len(item[1]))
            if seen.threads > len(cpus):
                raise Unfit("%d threads, and the largest node has %d CPUs" % (seen.threads, len(cpus)))
        return [({"cpus": _cpus.told(nodes[node]), "node": node}, "stay on NUMA node %d" % node)]

    @classmethod
    def code(cls, seen, options):
        return "numactl --cpunodebind=%d --preferred=%d python train.py" % (options["node"], options["node"])

    def install(self):
        nodes = _cpus.nodes()
        chosen = sorted(set(_cpus.parsed(self.options["cpus"])).intersection(_cpus.allowed()))
        if len(nodes) < 2 or not chosen:
            raise Unfit("the machine shows %d NUMA node to this process" % len(nodes))
        if chosen == _cpus.allowed():
            self.inert("the process is on CPUs %s only already" % _cpus.told(chosen))
            return
        bind(self, chosen)


def _node_of_device():
    torch = sys.modules.get("torch")
    try:
        device = torch.cuda.get_device_properties(torch.cuda.current_device())
        place = "%04x:%02x:%02x.0" % (device.pci_domain_id, device.pci_bus_id, device.pci_device_id)
        with open("/sys/bus/pci/devices/%s/numa_node" % place) as file:
            return int(file.read())
    except Exception:  # a torch that does not say, a container that hides it
        return None


TREATMENT = NumaBinding
