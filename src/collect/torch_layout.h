// SPDX-License-Identifier: Apache-2.0
// Where this build of PyTorch keeps what its exported functions do not tell: the autograd sequence
// number and the arguments of a running operator. Learnt, not assumed: between stage 1 and stage 2
// of hone_torch_probe the caller (python/hone) runs operators whose arguments we know,
//
//   x = torch.ones(3, 5, 7, requires_grad=True); d, i = the same as float64 and int64, no gradient
//   torch.mul(x, x) four times; torch.mul(d, d); torch.mul(i, i); torch.transpose(x, 0, 2);
//   torch.permute(x, (2, 0, 1)); torch.clamp(x, 0.25, 0.75); torch.sum(x, (1,), True)
//
// or, from C++ (torch_trial.h), torch.dropout(x, 0.25, False) for the last two,
// and here every place is searched that holds the values known, in all of them. What is not found
// is not recorded, and the file says so.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::collect {

struct TorchLayout {
  // Offsets; 0: not known (no member of interest stands first in its object).
  std::uint32_t sequence = 0;  // int64 in RecordFunction
  std::uint32_t inputs = 0;    // {IValue*, count} in RecordFunction
  std::uint32_t sizes = 0;     // {count, five sizes in place or a pointer} in TensorImpl
  std::uint32_t type = 0;      // uint16 in TensorImpl: c10::ScalarType
  std::uint32_t list = 0;      // {IValue* begin, IValue* end} in the list behind an IValue
  // Tags of IValues, 255: not known. An IValue is a payload of 8 bytes and a tag of 4.
  std::uint32_t tensor_tag = 255, int_tag = 255, double_tag = 255, bool_tag = 255, list_tag = 255;

  bool knows_arguments() const { return inputs != 0 && sizes != 0 && type != 0; }
};

extern TorchLayout g_torch_layout;

struct IValue {
  std::uint64_t payload;
  std::uint32_t tag, unused;
};
static_assert(sizeof(IValue) == 16);

// Whether arguments can be read. Any thread, while another may be probing.
bool ArgumentsKnown() noexcept;

// While it runs, every operator that begins on the probing thread is shown to it.
bool Probing() noexcept;
void ProbeOperator(const void* function, const char* name) noexcept;
void BeginProbe(std::uint64_t (*peek_sequence)()) noexcept;
// Bits of what was found: 1 sequence numbers, 2 tensor arguments, 4 other arguments.
int EndProbe() noexcept;

}  // namespace hone::collect
