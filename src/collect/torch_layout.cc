// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_layout.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "collect/thread_state.h"

namespace hone::collect {

TorchLayout g_torch_layout;

namespace {

// RecordFunction is 376 bytes in 2.13; TensorImpl 184. Objects stand on the stack or in malloc's
// pages, so reading somewhat further is reading, not crashing; it goes through the kernel anyway.
constexpr std::size_t kFunctionBytes = 640;
constexpr std::size_t kTensorBytes = 256;
constexpr std::size_t kListBytes = 64;

constexpr std::int64_t kShape[] = {3, 5, 7};

// Candidates that agree with everything seen so far, one bit an offset.
struct Candidates {
  std::uint8_t alive[kFunctionBytes];
  std::uint32_t seen;

  template <typename Test>
  void Narrow(std::size_t size, std::size_t stride, const Test& test) {
    for (std::size_t at = stride; at + 16 <= size; at += stride) {
      alive[at] = (seen == 0 || alive[at] != 0) && test(at);
    }
    ++seen;
  }
  // The only one left, or 0.
  std::uint32_t Only(std::size_t size) const {
    std::uint32_t found = 0;
    for (std::uint32_t at = 1; at < size; ++at) {
      if (alive[at] == 0) continue;
      if (found != 0) return 0;
      found = at;
    }
    return found;
  }
};

struct Probe {
  std::uint32_t tid = 0;
  std::uint64_t (*peek)() = nullptr;
  Candidates sequence{}, inputs{}, sizes{}, type{}, list{};
  bool two_sequences = false;
  std::uint64_t first_sequence = 0;
};
Probe g_probe;
std::atomic<bool> g_arguments_known{false};
std::atomic<bool> g_probing{false};

bool Read(std::uint64_t address, void* into, std::size_t size) {
  const iovec local = {into, size};
  const iovec remote = {reinterpret_cast<void*>(address), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

template <typename T>
T At(const std::uint8_t* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof(T));
  return value;
}

bool LooksLikeShape(const std::uint8_t* tensor, std::size_t at) {
  if (at + 32 > kTensorBytes || At<std::int64_t>(tensor, at) != 3) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (At<std::int64_t>(tensor, at + 8 + 8 * i) != kShape[i]) return false;
  }
  return true;
}

bool IsTestTensor(std::uint64_t tensor) {
  std::uint8_t bytes[kTensorBytes];
  if (!Read(tensor, bytes, sizeof(bytes))) return false;
  for (std::size_t at = 8; at + 32 <= kTensorBytes; at += 8) {
    if (LooksLikeShape(bytes, at)) return true;
  }
  return false;
}

// The arguments, if {pointer, count} at this offset are `count` of them with a test tensor first.
bool ReadInputs(const std::uint8_t* function, std::size_t at, std::size_t count, IValue* values) {
  if (At<std::uint64_t>(function, at + 8) != count) return false;
  if (!Read(At<std::uint64_t>(function, at), values, count * sizeof(IValue))) return false;
  return IsTestTensor(values[0].payload);
}

void ProbeProduct(const std::uint8_t* function, std::uint16_t scalar_type, bool differentiable) {
  if (differentiable && g_probe.peek != nullptr) {
    const std::uint64_t expected = g_probe.peek();
    if (g_probe.sequence.seen == 0) g_probe.first_sequence = expected;
    g_probe.two_sequences = g_probe.two_sequences || expected != g_probe.first_sequence;
    g_probe.sequence.Narrow(kFunctionBytes, 8, [&](std::size_t at) {
      return At<std::uint64_t>(function, at) == expected;
    });
  }
  IValue values[2];
  g_probe.inputs.Narrow(kFunctionBytes, 8, [&](std::size_t at) {
    return ReadInputs(function, at, 2, values) && values[0].payload == values[1].payload &&
           values[0].tag == values[1].tag;
  });
  const std::uint32_t inputs = g_probe.inputs.Only(kFunctionBytes);
  if (inputs == 0 || !ReadInputs(function, inputs, 2, values)) return;
  g_torch_layout.tensor_tag = values[0].tag;
  std::uint8_t tensor[kTensorBytes];
  if (!Read(values[0].payload, tensor, sizeof(tensor))) return;
  g_probe.sizes.Narrow(kTensorBytes, 8, [&](std::size_t at) { return LooksLikeShape(tensor, at); });
  g_probe.type.Narrow(kTensorBytes, 2,
                      [&](std::size_t at) { return At<std::uint16_t>(tensor, at) == scalar_type; });
}

void ProbeList(const IValue& value) {
  constexpr std::uint64_t kOrder[] = {2, 0, 1};
  std::uint8_t bytes[kListBytes];
  if (!Read(value.payload, bytes, sizeof(bytes))) return;
  g_probe.list.Narrow(kListBytes, 8, [&](std::size_t at) {
    const auto begin = At<std::uint64_t>(bytes, at), end = At<std::uint64_t>(bytes, at + 8);
    IValue values[3];
    if (end - begin != sizeof(values) || !Read(begin, values, sizeof(values))) return false;
    for (std::size_t i = 0; i < 3; ++i) {
      if (values[i].payload != kOrder[i] || values[i].tag != g_torch_layout.int_tag) return false;
    }
    return true;
  });
  g_torch_layout.list_tag = value.tag;
}

void ProbeOthers(const std::uint8_t* function, const char* name) {
  const std::uint32_t inputs = g_probe.inputs.Only(kFunctionBytes);
  IValue values[4];
  if (inputs == 0) return;
  if (std::strcmp(name, "aten::transpose") == 0 && ReadInputs(function, inputs, 3, values)) {
    if (values[1].tag == values[2].tag && values[1].payload == 0 && values[2].payload == 2) {
      g_torch_layout.int_tag = values[1].tag;
    }
  } else if (std::strcmp(name, "aten::permute") == 0 && ReadInputs(function, inputs, 2, values)) {
    ProbeList(values[1]);
  } else if (std::strcmp(name, "aten::clamp") == 0 && ReadInputs(function, inputs, 3, values)) {
    double low = 0;
    std::memcpy(&low, &values[1].payload, sizeof(low));
    if (values[1].tag == values[2].tag && low == 0.25) g_torch_layout.double_tag = values[1].tag;
  } else if (std::strcmp(name, "aten::sum") == 0 && ReadInputs(function, inputs, 4, values)) {
    if ((values[2].payload & 0xFF) == 1) g_torch_layout.bool_tag = values[2].tag;
  } else if (std::strcmp(name, "aten::dropout") == 0 && ReadInputs(function, inputs, 3, values)) {
    double share = 0;
    std::memcpy(&share, &values[1].payload, sizeof(share));
    if (share == 0.25 && values[1].tag != values[2].tag) {
      g_torch_layout.double_tag = values[1].tag;
      g_torch_layout.bool_tag = values[2].tag;
    }
  }
}

}  // namespace

bool Probing() noexcept { return g_probing.load(std::memory_order_relaxed); }

void BeginProbe(std::uint64_t (*peek_sequence)()) noexcept {
  ThreadState* const state = GetThreadState();
  if (state == nullptr) return;
  g_probe = Probe{};
  g_probe.tid = state->tid;
  g_probe.peek = peek_sequence;
  g_arguments_known.store(false, std::memory_order_relaxed);
  g_torch_layout = TorchLayout{};
  g_probing.store(true, std::memory_order_release);
}

void ProbeOperator(const void* function, const char* name) noexcept {
  if (t_state == nullptr || t_state->tid != g_probe.tid) return;
  std::uint8_t bytes[kFunctionBytes];
  if (!Read(reinterpret_cast<std::uint64_t>(function), bytes, sizeof(bytes))) return;
  if (std::strcmp(name, "aten::mul") != 0) {
    ProbeOthers(bytes, name);
    return;
  }
  // c10::ScalarType: 6 float, 7 double, 4 long; fixed since torch 1.0, files depend on it.
  constexpr std::uint16_t kFloat = 6, kDouble = 7, kLong = 4;
  const std::uint32_t products = g_probe.inputs.seen;
  ProbeProduct(bytes, products < 4 ? kFloat : products == 4 ? kDouble : kLong, products < 4);
}

bool ArgumentsKnown() noexcept { return g_arguments_known.load(std::memory_order_acquire); }

int EndProbe() noexcept {
  g_probing.store(false, std::memory_order_release);
  TorchLayout& layout = g_torch_layout;
  if (g_probe.sequence.seen >= 3 && g_probe.two_sequences) {
    layout.sequence = g_probe.sequence.Only(kFunctionBytes);
  }
  if (g_probe.inputs.seen >= 3) layout.inputs = g_probe.inputs.Only(kFunctionBytes);
  layout.sizes = g_probe.sizes.Only(kTensorBytes);
  if (g_probe.type.seen >= 3) layout.type = g_probe.type.Only(kTensorBytes);
  if (g_probe.list.seen > 0) layout.list = g_probe.list.Only(kListBytes);
  int found = layout.sequence != 0 ? 1 : 0;
  if (layout.knows_arguments()) found |= 2;
  g_arguments_known.store(layout.knows_arguments(), std::memory_order_release);
  if (layout.int_tag != 255 && layout.double_tag != 255 && layout.bool_tag != 255 &&
      layout.list != 0) {
    found |= 4;
  }
  return found;
}

}  // namespace hone::collect
