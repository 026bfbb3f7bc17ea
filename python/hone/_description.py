# SPDX-License-Identifier: Apache-2.0
"""At the end of a trial: what was seen is completed, and treatments say what they could do about it."""
import json
import os
import sys

from . import _bench, _ranks, _sites


def complete(session, trial):
    seen, torch = session.seen, session.torch
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main:
        path = os.path.abspath(main)
        seen.scripts = [path] + [script for script in seen.scripts if script != path]
    seen.files = _files()
    seen.steps, seen.world, seen.local_world = trial.count, _ranks.world(), _ranks.local_world()
    seen.step_s = _bench.step_seconds()
    seen.backwards_per_step = trial.losses.backwards / trial.count if trial.count else 0.0
    seen.threads = torch.get_num_threads()
    seen.environment = dict(os.environ)
    seen.compiled = seen.compiled or _any_compiled(session)
    seen.matmul_precision = torch.get_float32_matmul_precision()
    seen.cudnn_benchmark = bool(torch.backends.cudnn.benchmark)
    seen.cudnn_allow_tf32 = bool(torch.backends.cudnn.allow_tf32)
    work = sys.modules.get(__package__ + "._bench_work")
    if work is not None:
        seen.autocast = frozenset(work._autocast)
    looked = _bench.work()
    if looked is not None and looked.operators:
        seen.operators = looked.operators[0]
    _complete_loaders(seen)
    session.quietly(_complete_device, seen, torch)


def _files():
    paths = [getattr(module, "__dict__", {}).get("__file__") for module in list(sys.modules.values())]
    return [path for path in paths if isinstance(path, str) and path.endswith(".py") and _sites.is_program(path)]


def _any_compiled(session):
    utils = sys.modules.get("torch._dynamo.utils")
    return bool(utils is not None and utils.counters["stats"]["unique_graphs"]) and not session.treatments


def _complete_loaders(seen):
    share = _bench.wait_share()
    waited = sum(loader.waited_ns for loader in seen.loaders)
    for loader in seen.loaders:
        if share is not None and waited:
            loader.wait_share = share * loader.waited_ns / waited


def _complete_device(seen, torch):
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return
    seen.device_count = torch.cuda.device_count()
    index = torch.cuda.current_device()
    seen.capability = tuple(torch.cuda.get_device_capability(index))
    seen.device_bytes = torch.cuda.get_device_properties(index).total_memory
    seen.peak_device_bytes = torch.cuda.max_memory_allocated(index)


def told(session):
    from . import _advice, treatments

    candidates, inapplicable = [], []
    for kind in treatments.all_kinds(session.order.get("treatments", "")):
        if isinstance(kind, treatments.Broken):
            inapplicable.append({"treatment": kind.name, "title": kind.name, "why": kind.why})
            continue
        try:
            candidates += [_candidate(session.seen, kind, options, title)
                           for options, title in kind.variants(session.seen)]
        except treatments.Unfit as unfit:
            inapplicable.append({"treatment": kind.name, "title": kind.title, "why": str(unfit)})
        except Exception as trouble:
            inapplicable.append({"treatment": kind.name, "title": kind.title,
                                 "why": "it failed: " + repr(trouble)[:300]})
    advice = session.quietly(_advice.advice, session.seen) or []
    return {"candidates": candidates, "inapplicable": inapplicable, "advice": advice}


def _candidate(seen, kind, options, title):
    expect = getattr(kind, "expect", None)
    return {"treatment": kind.name, "options": json.loads(json.dumps(options, sort_keys=True)), "title": title,
            "risk": kind.risk, "group": kind.group, "cures": list(kind.rules(seen)), "cures_all": kind.cures_all,
            "better_with": list(kind.better_with),
            "prior": float(expect(seen, options) if expect is not None else kind.prior),
            "at_most": kind.at_most(seen, options), "extra_s": float(kind.extra(seen, options)),
            "between": kind.between(options), "code": kind.code(seen, options), "where": kind.where(seen)}


def patch(session):
    """The diff that writes this recipe into the program's own files; empty where nothing can be written."""
    return session.quietly(_patch_of, session) or ""


def _patch_of(session):
    try:
        from . import _patch
    except ImportError:
        return ""
    edits = [edit for treatment in session.treatments if treatment.state == "applied"
             for edit in type(treatment).edits(session.seen, treatment.options)]
    return _patch.unified(edits) if edits else ""
