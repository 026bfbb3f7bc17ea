# SPDX-License-Identifier: Apache-2.0
"""How the CPUs of this machine lie: threads of one core, cores of one NUMA node. As sysfs tells it."""
import os

_SYSTEM = "/sys/devices/system"


def allowed():
    try:
        return sorted(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return []


def parsed(text):
    """"0-3,8" as [0, 1, 2, 3, 8]."""
    found = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def told(cpus):
    """[0, 1, 2, 3, 8] as "0-3,8"."""
    parts, cpus = [], sorted(cpus)
    while cpus:
        end = 1
        while end < len(cpus) and cpus[end] == cpus[0] + end:
            end += 1
        parts.append(str(cpus[0]) if end == 1 else "%d-%d" % (cpus[0], cpus[end - 1]))
        cpus = cpus[end:]
    return ",".join(parts)


def one_of_each_core(cpus):
    """The first thread of every core among these."""
    found, seen = [], set()
    for cpu in cpus:
        if cpu not in seen:
            found.append(cpu)
            seen.update(_list("%s/cpu/cpu%d/topology/thread_siblings_list" % (_SYSTEM, cpu)) or [cpu])
    return found


def nodes():
    """{node: its CPUs}, of those this process may use."""
    mine, found = set(allowed()), {}
    try:
        names = os.listdir(_SYSTEM + "/node")
    except OSError:
        return {}
    for name in names:
        if name.startswith("node") and name[4:].isdigit():
            cpus = sorted(mine.intersection(_list("%s/node/%s/cpulist" % (_SYSTEM, name))))
            if cpus:
                found[int(name[4:])] = cpus
    return dict(sorted(found.items()))


def _list(path):
    try:
        with open(path) as file:
            return parsed(file.read())
    except (OSError, ValueError):
        return []
