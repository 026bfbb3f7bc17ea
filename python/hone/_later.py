# SPDX-License-Identifier: Apache-2.0
"""Numbers of a device that are read when somebody looks at them, not when they are asked for.

Reader.read(tensor) starts a copy to the host and gives a Number at once. Sums, differences, products and
quotients of Numbers and Python's own numbers are Numbers too: each is computed by Python's own operator from
the operands that the program wrote, as soon as they are here, so that every bit is what it would have been.
Whatever else is done with a Number waits for it.

A Number is no subclass of float: C code would take the value that it was made with, silently and before the
true one is here. Asked by isinstance it says that it is a float (or an int), and it has all that those have;
what insists on the type itself (json's encoder) raises its own TypeError.
"""
import collections
import dis
import operator
import os
import sys
import threading

from . import _sites

DEVICE = "cuda"        # whose tensors are read later; tests without a GPU have another
_BLOCK = 64            # numbers that share one piece of pinned memory
# Copies, and operations that wait for them, at most. CUDA itself lets a host run ahead by some thousand
# launches.
_MOST_COPIES, _MOST_OPERATIONS = 4096, 16384
_DRAIN_EVERY = 64      # operations
_MARKS = 32
# From 3.12 on the sum of floats is not that of one + after the other.
_SUM_COMPENSATES = sum([0.1] * 10) == 1.0

_lock = threading.RLock()
_copies = collections.deque()  # parts on their way, oldest first
_waiting = 0                   # operations on them that are not computed yet
_until_drain = _DRAIN_EVERY


class Slot:
    """A place in pinned memory that one number at a time is copied to, and the event that says so."""

    def __init__(self, torch, memory):
        self.memory, self.event = memory, torch.cuda.Event()
        self._current_stream = torch.cuda.current_stream

    @classmethod
    def some(cls, torch, dtype):
        block = torch.empty(_BLOCK, dtype=dtype, device="cpu", pin_memory=True)
        return [cls(torch, memory) for memory in block.unbind()]

    @staticmethod
    def capturing(torch):
        return torch.cuda.is_current_stream_capturing()

    def send(self, tensor):
        self.memory.copy_(tensor, non_blocking=True)
        self.event.record(self._current_stream(tensor.device))

    def arrived(self):
        return self.event.query()

    def wait(self):
        self.event.synchronize()


class Reader:
    def __init__(self, torch, item):
        self._torch, self._item = torch, item  # item: torch's own
        self._free = {}  # (device, dtype): slots that nothing is on its way to
        self._whole = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}
        self._dtypes = {torch.float64, torch.float32, torch.float16, torch.bfloat16} | self._whole
        self._kinds = (torch.Tensor, torch.nn.Parameter)

    def can(self, tensor):
        torch = self._torch
        return (tensor.device.type == DEVICE and type(tensor) in self._kinds and tensor.dtype in self._dtypes
                and torch._C._get_tracing_state() is None and not torch._C._len_torch_dispatch_stack()
                and tensor.numel() == 1 and tensor.layout is torch.strided and not Slot.capturing(torch))

    def read(self, tensor, mark):
        """A Number. mark: a Mark, or None."""
        key = (tensor.device, tensor.dtype)
        if len(_copies) >= _MOST_COPIES:
            _wait_for(_oldest())
        with _lock:
            _drain()
            free = self._free.setdefault(key, [])
            if not free:
                with self._torch.inference_mode(False):  # what is made in it cannot be written outside of it
                    free += Slot.some(self._torch, tensor.dtype)
            slot = free.pop()
        source = tensor.detach()
        slot.send(source if not source.dim() else source.reshape(()))
        part = _Part(tensor.dtype in self._whole, (mark,) if mark is not None else ())
        # The program may drop the tensor at once: until the copy is over nobody gets its memory, on
        # whatever stream it was made.
        part.slot, part.take = slot, lambda: self._taken(slot, free, source)
        with _lock:
            _copies.append(part)
        return _number(part)

    def _taken(self, slot, free, source):
        value = self._item(slot.memory)
        free.append(slot)
        return value


class Mark:
    """Where a number was read, and whether the program has looked at it or at what was made of it."""

    __slots__ = ("read", "step", "used", "judged")

    def __init__(self, read, step):
        self.read, self.step, self.used, self.judged = read, step, "", False

    def use(self):
        self.used = _sites.site(2) or "a library"
        if self.used not in self.read.uses:
            self.read.uses.append(self.used)


# What a Number stands for.

class _Part:
    __slots__ = ("value", "whole", "slot", "take", "operation", "operands", "missing", "waiters", "marks",
                 "call")

    def __init__(self, whole, marks):
        self.value = None      # until it is here
        self.whole, self.marks = whole, marks
        self.slot = self.take = self.operation = self.operands = self.call = None
        self.missing, self.waiters = 0, []

    def computed(self):
        return self.operation(*[one.value if type(one) is _Part else one for one in self.operands])


def _settle(part, value):
    """Under the lock: a value is here, so what waited for it is, too. No recursion: chains are long."""
    global _waiting
    ready = [(part, value)]
    while ready:
        part, value = ready.pop()
        waiters = part.waiters
        part.value = value
        _waiting -= part.operands is not None
        part.slot = part.take = part.operands = part.waiters = None
        for waiter in waiters:
            waiter.missing -= 1
            if not waiter.missing:
                ready.append((waiter, waiter.computed()))


def _arrived(part):
    if part.value is None:
        _settle(part, part.take())


def _drain():
    """Under the lock: takes what has arrived, without waiting."""
    while _copies and (_copies[0].value is not None or _copies[0].slot.arrived()):
        _arrived(_copies.popleft())


def _oldest():
    """The copy that was sent first; None where none is on its way."""
    with _lock:
        return _copies[0] if _copies else None


def _wait_for(part):
    """Waits outside of the lock: other threads go on."""
    with _lock:
        copies = _copies_below(part)
    for copy in copies:
        slot = copy.slot
        if slot is not None:
            slot.wait()  # it may serve another number by now: then this is too long, not wrong
        with _lock:
            _arrived(copy)
    with _lock:
        while _copies and _copies[0].value is not None:
            _copies.popleft()


def _copies_below(part):
    found, seen, open_ = [], set(), [part]
    while open_:
        part = open_.pop()
        if type(part) is not _Part or part.value is not None or id(part) in seen:
            continue
        seen.add(id(part))
        if part.operands is None:
            found.append(part)
        else:
            open_ += part.operands
    found.reverse()  # oldest first
    return found


def settle():
    """Waits for all numbers that are on their way."""
    part = _oldest()
    while part is not None:
        _wait_for(part)
        part = _oldest()


def _before_fork():
    # A child has no device to wait for.
    _lock.acquire()
    try:
        settle()
    except Exception:
        pass  # a device that is lost: whoever looks at the number is told


os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)


# Arithmetic.

def _combined(operation, left, right, frame):
    """operation(left, right), now or later. One of the two is a Number."""
    if not (_is_part(left) and _is_part(right)):
        return operation(plain(left), plain(right))
    whole = _is_whole(left) and _is_whole(right)
    if operation is operator.truediv:
        # By zero it raises here, where the program may expect it.
        right = plain(right)
        if right == 0:
            return operation(plain(left), right)
    elif operation is operator.mul and whole:
        return operation(plain(left), plain(right))  # products have no end; no float could hold them
    elif operation is operator.add and _SUM_COMPENSATES and not whole:
        call = _sum_call(frame)
        if call is not None:
            return _summed(left, right, call)
    return _operation(operation, (_operand(left), _operand(right)),
                      whole and operation is not operator.truediv)


def _is_part(thing):
    kind = type(thing)
    return kind in _NUMBERS or kind is float or (kind is int and -2**63 <= thing < 2**63)


def _is_whole(thing):
    return type(thing) in (int, Whole)


def _operand(thing):
    """What an operation keeps: the value where it is here."""
    if type(thing) not in _NUMBERS:
        return thing
    part = _closed(thing)
    return part if part.value is None else part.value


def _operation(operation, operands, whole):
    global _until_drain
    if not any(type(one) is _Part for one in operands):
        return operation(*operands)
    part = _Part(whole, _marks(operands))
    part.operation = operation
    with _lock:
        _await(part, operands)
        _until_drain -= 1
        if not _until_drain:
            _until_drain = _DRAIN_EVERY
            _drain()
    if _waiting > _MOST_OPERATIONS:
        _wait_for(part)
    return _number(part)


def _await(part, operands):
    """Under the lock: the part is computed with the last of its operands."""
    global _waiting
    part.operands = operands
    _waiting += 1
    for one in operands:
        if type(one) is _Part and one.value is None:
            part.missing += 1
            one.waiters.append(part)
    if not part.missing:
        _settle(part, part.computed())


def _marks(operands):
    some = [one.marks for one in operands if type(one) is _Part]
    if len(some) == 1:
        return some[0]
    marks = {id(mark): mark for marks in some for mark in marks if not mark.judged}
    return tuple(marks.values())[-_MARKS:]


# sum(), which adds floats otherwise than + does.

_calls = {}  # (code, instruction): the same and whether it calls sum


def _sum_call(frame):
    """The call of sum() that a frame is in, something to know it by; None: it is in none."""
    code, at = frame.f_code, frame.f_lasti
    known = _calls.get((id(code), at))
    if known is None:
        known = _calls[id(code), at] = (code, _calls_sum(code, at))
    return (id(frame), at) if known[1] else None


def _calls_sum(code, at):
    instructions = list(dis.get_instructions(code))
    call = next((one for one in instructions if one.offset == at), None)
    if call is None or "CALL" not in call.opname or call.positions is None:
        return False
    begin = call.positions[0], call.positions[2]
    return any(one.argval == "sum" and one.opname in ("LOAD_GLOBAL", "LOAD_NAME")
               and (one.positions[0], one.positions[2]) == begin for one in instructions)


def _summed(left, right, call):
    """What sum() has after one more: it keeps all that it was given, and the true sum() adds it up when that
    is known. Not so in two cases, which may differ in the last bit: floats of Python come before, or the
    start is what the same call gave before."""
    if type(left) in _NUMBERS and left._part.call == call:
        left._part.operands.append(_operand(right))
        return left
    part = _Part(False, ())
    part.operation, part.call = _sum, call
    part.operands = [_operand(left), _operand(right)]
    return _number(part)


def _sum(start, *items):
    return sum(items, start)


def _closed(number):
    """Its part; a sum that was still added to is complete."""
    part = number._part
    if part.call is not None:
        with _lock:
            if part.call is not None:
                part.call = None
                part.marks = _marks(part.operands)
                _await(part, part.operands)
    return part


# Numbers.

def plain(thing):
    """The value of a Number, waited for; anything else as it is."""
    if type(thing) not in _NUMBERS:
        return thing
    part = _closed(thing)
    if part.value is None:
        _wait_for(part)
    for mark in part.marks:
        if not mark.used:
            mark.use()
    return part.value


def plain_inside(thing):
    """Lists, tuples and dictionaries with the values of the Numbers in them; themselves without any."""
    kind = type(thing)
    if kind in _NUMBERS:
        return plain(thing)
    if kind in (list, tuple):
        inside = [plain_inside(one) for one in thing]
        return kind(inside) if any(a is not b for a, b in zip(inside, thing)) else thing
    if isinstance(thing, dict):
        changed = {key: value for key, value in ((key, plain_inside(value)) for key, value in thing.items())
                   if value is not thing[key]}
        if changed:
            import copy

            thing = copy.copy(thing)
            thing.update(changed)
    return thing


def _number(part):
    number = object.__new__(Whole if part.whole else Number)
    number._part = part
    return number


class Number:
    """A float that is on its way. Made by a Reader only: Number(x) is float(x)."""

    __slots__ = ("_part",)
    _type = float

    def __new__(cls, value=0):
        return cls._type(value)

    @property
    def __class__(self):
        return self._type

    def __neg__(self):
        return _operation(operator.neg, (_operand(self),), self._part.whole)

    def __getattr__(self, name):
        getattr(self._type, name)  # what no float has is asked for without a wait
        return getattr(plain(self), name)

    def __reduce_ex__(self, protocol):
        return self._type, (plain(self),)

    def __format__(self, how):
        return format(plain(self), how)

    def __round__(self, *digits):
        return round(plain(self), *digits)

    def __pow__(self, other, *modulo):
        return pow(plain(self), plain(other), *modulo)

    def __rpow__(self, other, *modulo):
        return pow(other, plain(self), *modulo)

    def __array__(self, dtype=None, copy=None):
        import numpy

        return numpy.array(plain(self), dtype)

    def __array_ufunc__(self, function, method, *inputs, **named):
        return getattr(function, method)(*map(plain, inputs), **plain_inside(named))

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        return function(*plain_inside(tuple(arguments)), **plain_inside(named or {}))


class Whole(Number):
    """An int that is on its way."""

    __slots__ = ()
    _type = int

    def __index__(self):
        return plain(self)


def _define():
    def deferred(operation):
        return (lambda self, other: _combined(operation, self, other, sys._getframe(1)),
                lambda self, other: _combined(operation, other, self, sys._getframe(1)))

    def two(operation):
        return (lambda self, other: operation(plain(self), plain(other)),
                lambda self, other: operation(plain(other), plain(self)))

    def one(operation):
        return lambda self: operation(plain(self))

    for name in ("add", "sub", "mul", "truediv"):
        for method, function in zip(("__%s__", "__r%s__"), deferred(getattr(operator, name))):
            setattr(Number, method % name, function)
    for name, operation in (("floordiv", operator.floordiv), ("mod", operator.mod), ("divmod", divmod)):
        for method, function in zip(("__%s__", "__r%s__"), two(operation)):
            setattr(Number, method % name, function)
    for name in ("and", "or", "xor", "lshift", "rshift"):
        for method, function in zip(("__%s__", "__r%s__"), two(getattr(operator, "__%s__" % name))):
            setattr(Whole, method % name, function)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Number, "__%s__" % name, two(getattr(operator, name))[0])
    import math

    for name, operation in (
            ("float", float), ("int", int), ("bool", bool), ("str", str), ("repr", repr), ("hash", hash),
            ("complex", complex), ("abs", abs), ("pos", operator.pos), ("trunc", math.trunc),
            ("floor", math.floor), ("ceil", math.ceil)):
        setattr(Number, "__%s__" % name, one(operation))
    Whole.__invert__ = one(operator.invert)


_define()
_NUMBERS = (Number, Whole)
