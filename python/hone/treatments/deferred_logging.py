# SPDX-License-Identifier: Apache-2.0
"""loss.item() in a training loop does not wait for the device: the number comes when it is looked at."""
import collections
import sys

from .. import _later, _obstacles, _sites
from . import EXACT, Treatment, Unfit

# A number that nobody has looked at until the second optimizer's step after it was read later. Where nothing
# steps, so many reads stand for that.
_STEPS, _READS, _MOST = 2, 64, 4096

_USED = ("uses the number that %s leaves on the device: write float(...) around it there, "
         "unless a format such as {:.3f} does")
_STAYS = ("the number stays on the device: write float(...) around it where it is used, "
          "unless a format such as {:.3f} does")


class DeferredLogging(Treatment):
    name = "deferred-logging"
    title = "read numbers from the device later"
    risk = EXACT
    cures = ("host-sync",)
    # No published figure: it gives back what the device runs dry for after each wait; the replay says that.
    prior = 1.02

    @classmethod
    def variants(cls, seen):
        readable(seen)
        return [({}, cls.title)]

    @classmethod
    def where(cls, seen):
        reads = deferred(seen)
        return reads[0].site if reads else ""

    @classmethod
    def code(cls, seen, options):
        from .. import _patch

        reads = deferred(seen)
        text = _patch.unread_text(reads[0].site, _kept(reads[0])) if reads else ""
        return (text or "total = total + loss.detach().double()") + "  # float(...) where the number is used"

    @classmethod
    def edits(cls, seen, options):
        from .. import _patch

        edits = []
        for read in deferred(seen):
            edits.append(_patch.unread(read.site, _kept(read)))
            if not _patch.unread_text(read.site, _kept(read)):
                continue
            uses = [use for use in read.uses if use != read.site]
            edits += [_patch.remark(use, _USED % read.site) for use in uses]
            if not uses:
                edits.append(_patch.remark(read.site, _STAYS))
        return edits

    def install(self):
        self.steps = 0
        self.marks = collections.deque()  # of reads whose fate is not known yet
        self.reads = {}  # (file, line): Reads
        self.session.after_import("torch", self._torch_is_here)
        self.session.after_import("torch.optim.optimizer", self._optimizers_are_here)

    def _torch_is_here(self, torch):
        if _later.DEVICE == "cuda" and not torch.cuda.is_available():
            raise Unfit("no CUDA device: nothing is read from one")
        session = self.session
        session.patch(torch.Tensor, "item", self._make_item)
        session.patch(torch, "save", _make_save)
        graph = getattr(torch.cuda, "CUDAGraph", None)
        if hasattr(graph, "capture_begin"):
            session.patch(graph, "capture_begin", _make_capture_begin)

    def _optimizers_are_here(self, module):
        module.register_optimizer_step_post_hook(self._stepped)

    def _stepped(self, optimizer, args, kwargs):
        self.steps += 1

    def _make_item(self, original):
        session = self.session
        reader = _later.Reader(session.torch, original)

        def item(tensor, *args, **kwargs):
            # A library gets a number of Python's own: what it does with it is nobody's to know.
            if tensor.device.type == _later.DEVICE and not (session.own or args or kwargs) and session.here():
                try:
                    frame = _sites.caller()
                    if frame is not None and _is_programs(frame.f_code) and reader.can(tensor):
                        mark = self._mark(frame, tensor)
                        number = reader.read(tensor, mark)
                        self.marks.append(mark)
                        return number
                except Exception as trouble:  # ours: the program has its number as ever
                    self.unfit("a number could not be read later: %r" % trouble)
            return original(tensor, *args, **kwargs)

        item.__doc__ = original.__doc__
        return item

    # Whether it did anything: a number that is looked at in its own step was waited for all the same.

    def _mark(self, frame, tensor):
        self._judge()
        key = (frame.f_code.co_filename, frame.f_lineno)
        read = self.reads.get(key)
        if read is None:
            from .._seen import Reads

            read = self.reads[key] = Reads(site=_sites.site_of(frame), how="item", own=True, uses=[],
                                           dtype=str(tensor.dtype).rpartition(".")[2])
            self.session.seen.reads.append(read)
            self.session.program_file(frame)
        read.count += 1
        return _later.Mark(read, self.steps)

    def _judge(self):
        marks = self.marks
        most = _MOST if self.steps else _READS
        while marks and (marks[0].step <= self.steps - _STEPS or len(marks) > most):
            try:
                mark = marks.popleft()
            except IndexError:  # another thread's
                return
            mark.judged = True
            if mark.used:
                self.inert("%s uses the number of %s at once: reading it every so many steps would help"
                           % (mark.used, mark.read.site))
            else:
                mark.read.deferred += 1
                self.hit()


def readable(seen):
    """The reads that the treatment can do something about; Unfit where there are none."""
    if seen.device != "cuda":
        raise Unfit("the model is on the %s: nothing is read from a device" % seen.device.upper())
    every_step = seen.read_every_step()
    if not every_step:
        raise Unfit("no number was read from the device in each step")
    items = [read for read in every_step if read.how == "item"]
    if not items:
        raise Unfit("%s reads by %s(), which cannot be put off: only .item() can" % (
            every_step[0].site, every_step[0].how.strip("_")))
    reads = [read for read in items if read.dtype != "bool"]
    if not reads:
        raise Unfit("%s reads a yes or no, which a program needs at once" % items[0].site)
    own = [read for read in reads if read.own]
    if not own:
        raise Unfit("a library reads the number at %s, and is given it at once" % reads[0].site)
    later = [read for read in own if not _obstacles.used_at_once(read.site)]
    if not later:
        raise Unfit("%s %s" % (own[0].site, _obstacles.used_at_once(own[0].site)))
    why = _obstacles.of(seen, later)
    if why:
        raise Unfit(why)
    return later


def deferred(seen):
    """In a trial, those that were; before, those that could be."""
    found = [read for read in seen.reads if read.deferred]
    if not found:
        try:
            found = readable(seen)
        except Unfit:
            pass
    return found


def _kept(read):
    """What stands in for .item(). The program adds in double precision, and so does this, in the same order;
    a copy, since the program may write into the tensor."""
    if read.dtype in ("float64", "int64"):
        return ".detach().clone()"
    return ".detach().long()" if "int" in read.dtype else ".detach().double()"


def _is_programs(code):
    """Whether it is the program's as it wrote it: what Dynamo made of it goes on in compiled code."""
    dynamo = sys.modules.get("torch._dynamo.convert_frame")
    return _sites.is_program(code.co_filename) and not (dynamo is not None and code in dynamo.output_codes)


def _make_save(original):
    """Pickle would say how a number is made, and torch.load(weights_only=True) would not make it."""
    def save(obj, *args, **kwargs):
        return original(_later.plain_inside(obj), *args, **kwargs)

    save.__doc__ = original.__doc__
    return save


def _make_capture_begin(original):
    def capture_begin(graph, *args, **kwargs):
        _later.settle()  # while something is captured nobody may ask whether an event is over
        return original(graph, *args, **kwargs)

    capture_begin.__doc__ = original.__doc__
    return capture_begin


TREATMENT = DeferredLogging
