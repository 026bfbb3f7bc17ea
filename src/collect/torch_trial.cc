// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_trial.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "collect/recorder.h"
#include "collect/thread_state.h"
#include "collect/torch_ops.h"

namespace hone::collect {
namespace {

// at::Tensor: one pointer, with a destructor, so it is returned in memory.
struct Tensor {
  void* object = nullptr;
  ~Tensor() {}  // NOLINT: not trivial, on purpose; Drop gives the object back
};
struct Order {  // c10::ArrayRef<int64_t>
  const std::int64_t* first;
  std::size_t count;
};

struct Functions {
  // torch/csrc/inductor/aoti_torch/c/shim.h, stable by promise; 0 is success.
  std::int32_t (*make)(std::int64_t dims, const std::int64_t* sizes, const std::int64_t* strides,
                       std::int32_t type, std::int32_t device_type, std::int32_t device,
                       Tensor** tensor) = nullptr;
  std::int32_t (*data)(Tensor*, void**) = nullptr;
  std::int32_t (*make_empty)(Tensor**) = nullptr;
  std::int32_t (*free)(Tensor*) = nullptr;
  // at::_ops.
  Tensor (*mul)(const Tensor&, const Tensor&) = nullptr;
  Tensor (*transpose)(const Tensor&, std::int64_t, std::int64_t) = nullptr;
  Tensor (*permute)(const Tensor&, Order) = nullptr;
  Tensor (*dropout)(const Tensor&, double, bool) = nullptr;
  Tensor& (*require_gradient)(Tensor&, bool) = nullptr;
};

bool FindFunctions(void* library, Functions& f) {
  const auto find = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  return find("aoti_torch_empty_strided", f.make) && find("aoti_torch_get_data_ptr", f.data) &&
         find("aoti_torch_new_uninitialized_tensor", f.make_empty) &&
         find("aoti_torch_delete_tensor_object", f.free) &&
         find("_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_", f.mul) &&
         find("_ZN2at4_ops13transpose_int4callERKNS_6TensorEll", f.transpose) &&
         find("_ZN2at4_ops7permute4callERKNS_6TensorEN3c108ArrayRefIlEE", f.permute) &&
         find("_ZN2at4_ops7dropout4callERKNS_6TensorEdb", f.dropout) &&
         find("_ZN2at4_ops14requires_grad_4callERNS_6TensorEb", f.require_gradient);
}

// A tensor of 3 x 5 x 7 zeros on the CPU; null: torch would not.
class Zeros {
 public:
  Zeros(const Functions& f, std::int32_t scalar_type) : f_(f) {
    constexpr std::int64_t kSizes[] = {3, 5, 7}, kStrides[] = {35, 7, 1};
    constexpr std::size_t kBytes = 3 * 5 * 7 * 4;  // of the smallest type asked for
    void* data = nullptr;
    if (f.make(3, kSizes, kStrides, scalar_type, 0, 0, &tensor_) != 0) tensor_ = nullptr;
    if (tensor_ == nullptr || f.data(tensor_, &data) != 0 || data == nullptr) return;
    std::memset(data, 0, scalar_type == kFloat ? kBytes : 2 * kBytes);
    filled_ = true;
  }
  ~Zeros() {
    if (tensor_ != nullptr) f_.free(tensor_);
  }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  explicit operator bool() const { return filled_; }
  Tensor& operator*() const { return *tensor_; }

  // c10::ScalarType, fixed since torch 1.0: files depend on it.
  static constexpr std::int32_t kFloat = 6, kDouble = 7, kLong = 4;

 private:
  const Functions& f_;
  Tensor* tensor_ = nullptr;
  bool filled_ = false;
};

// Gives a result back: through a tensor of torch's own making, so that torch's delete meets torch's
// new, whatever allocator the program brought.
void Drop(const Functions& f, const Tensor& result) {
  Tensor* box = nullptr;
  if (f.make_empty(&box) != 0 || box == nullptr) return;
  box->object = result.object;
  f.free(box);
}

TrialResult Run(const Functions& f) {
  const Zeros x(f, Zeros::kFloat), decimal(f, Zeros::kDouble), whole(f, Zeros::kLong);
  if (!x || !decimal || !whole) return TrialResult::kNotTested;
  const std::uint64_t before = TorchOperatorsSeen();
  Drop(f, f.mul(*x, *x));
  const char* const last = t_state->last_name;
  if (TorchOperatorsSeen() == before || last == nullptr || std::strcmp(last, "aten::mul") != 0) {
    return TrialResult::kFailed;
  }
  f.require_gradient(*x, true);
  TorchProbe(1);
  for (int i = 0; i < 4; ++i) Drop(f, f.mul(*x, *x));
  Drop(f, f.mul(*decimal, *decimal));
  Drop(f, f.mul(*whole, *whole));
  Drop(f, f.transpose(*x, 0, 2));
  constexpr std::int64_t kOrder[] = {2, 0, 1};
  Drop(f, f.permute(*x, {kOrder, 3}));
  Drop(f, f.dropout(*x, 0.25, false));
  if ((TorchProbe(2) & 3) != 3) {
    NoteLoss("arguments", 1, "sequence numbers or shapes were not found in this torch");
  }
  return TrialResult::kPassed;
}

}  // namespace

TrialResult TryOperators(void* libtorch_cpu) noexcept {
  Functions functions;
  ThreadState* const state = GetThreadState();
  if (state == nullptr || !FindFunctions(libtorch_cpu, functions)) return TrialResult::kNotTested;
  // Seen, although the caller may be the recorder itself; not recorded.
  const bool busy = state->busy, own = state->own;
  state->busy = false;
  state->own = true;
  TrialResult result = TrialResult::kNotTested;
  try {
    result = Run(functions);
  } catch (...) {  // torch threw: it is not ready, and says nothing about its callbacks
  }
  state->busy = busy;
  state->own = own;
  return result;
}

}  // namespace hone::collect
