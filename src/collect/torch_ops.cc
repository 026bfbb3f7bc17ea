// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_ops.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>

#include "collect/fork_section.h"
#include "collect/names.h"
#include "collect/options.h"
#include "collect/python_frames.h"
#include "collect/recorder.h"
#include "collect/slices.h"
#include "collect/source.h"
#include "collect/torch_arguments.h"
#include "collect/torch_backward.h"
#include "collect/torch_layout.h"
#include "collect/torch_library.h"
#include "collect/torch_trial.h"

namespace hone::collect {
namespace {

// at::RecordFunctionCallback, and room behind it: passed by value on the stack, so a build that has
// more scopes or flags reads zeros, never what lies beside.
struct Callback {
  void* start;
  void* end;
  double probability;
  bool scopes[10];
  bool needs_inputs, needs_outputs, needs_ids;
  char room[27];
};
static_assert(offsetof(Callback, needs_inputs) == 34 && sizeof(Callback) == 64);

// at::RecordScope.
constexpr int kFunctionScope = 0, kBackwardScope = 1, kScriptScope = 2, kUserScope = 7;

// std::unique_ptr<ObserverContext>: returned in memory, because it has a destructor.
struct Context {
  void* pointer = nullptr;
  ~Context() {}  // NOLINT: not trivial, on purpose
};

struct TorchFunctions {
  std::uint64_t (*add)(Callback) = nullptr;
  void (*remove)(std::uint64_t) = nullptr;
  const char* (*name)(const void*) = nullptr;
  std::uint64_t (*peek_sequence)() = nullptr;
};
TorchFunctions g_torch;
std::atomic<bool> g_found{false}, g_refused{false};
std::atomic<std::uint64_t> g_seen{0};
const char* g_why = "";

void CountSeen() {
  g_seen.store(g_seen.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void NoteStepOf(std::uint32_t name) {
  const NameRole role = RoleOf(name);
  if (role == NameRole::kOptimizerStep) NoteStep(StepSign::kOptimizer);
  if (role == NameRole::kLoaderNext) NoteStep(StepSign::kLoader);
}

// A child of a fork has the callbacks and no recorder yet: its first operator starts one.
bool Ready() { return RecorderStarted() || (RecorderWanted() && StartRecorder()); }

template <wire::HostKind kKind>
Context OnStart(const void* function) noexcept {
  // Steps are counted between windows too, when windows come back.
  if (kKind == wire::HostKind::kUser ? !Ready() : (!Recording() && !Ready())) return {};
  if (kKind != wire::HostKind::kUser && !Recording()) return {};
  const Guest guest(GetThreadState());
  if (!guest) return {};
  ThreadState& state = *t_state;
  const std::uint32_t name = InternNameAt(g_torch.name(function));
  std::int64_t sequence = -1;
  if (g_torch_layout.sequence != 0) {
    std::memcpy(&sequence, static_cast<const char*>(function) + g_torch_layout.sequence,
                sizeof(sequence));
  }
  const bool outermost = kKind == wire::HostKind::kUser || state.op_depth == 0;
  BeginSlice(state, function, name, kKind, sequence, outermost ? FrameHere() : 0);
  return {};
}

void OnEnd(const void* function, void*) noexcept {
  if (t_state == nullptr) return;
  const Guest guest(t_state);
  if (guest && EndSlice(*t_state, function) != kUnnamed) CountSeen();
}

void OnUserEnd(const void* function, void*) noexcept {
  if (t_state == nullptr) return;
  std::uint32_t name = kUnnamed;
  {
    const Guest guest(t_state);
    if (guest) name = EndSlice(*t_state, function);
  }
  if (name != kUnnamed) NoteStepOf(name);
}

// Comes after OnStart of the same operator, and adds to what it began.
Context OnArguments(const void* function) noexcept {
  if (t_state == nullptr) return {};
  const Guest guest(t_state);
  if (!guest) return {};
  if (Probing()) ProbeOperator(function, g_torch.name(function));
  ThreadState& state = *t_state;
  if (state.depth == 0 || state.depth > ThreadState::kDeepest) return {};
  OpenSlice& slice = state.open[state.depth - 1];
  if (slice.key != function) return {};
  slice.arguments = ArgumentsOf(function);
  return {};
}

void NoEnd(const void*, void*) noexcept {}

Callback MakeCallback(Context (*start)(const void*) noexcept,
                      void (*end)(const void*, void*) noexcept, std::initializer_list<int> scopes) {
  Callback callback = {};
  callback.start = reinterpret_cast<void*>(start);
  callback.end = reinterpret_cast<void*>(end);
  callback.probability = 1.0;
  for (const int scope : scopes) callback.scopes[scope] = true;
  return callback;
}

class OperatorSource final : public Source {
 public:
  const char* name() const noexcept override { return "operators"; }
  void Open() noexcept override {
    const ForkSection section;  // torch's list has a lock
    if (g_refused.load()) return;
    if (!Wanted("ops")) {
      AddOnce(user_, MakeCallback(OnStart<wire::HostKind::kUser>, OnUserEnd, {kUserScope}));
      return;
    }
    AddOnce(op_, MakeCallback(OnStart<wire::HostKind::kOp>, OnEnd, {kFunctionScope, kScriptScope}));
    AddOnce(backward_, MakeCallback(OnStart<wire::HostKind::kBackward>, OnEnd, {kBackwardScope}));
    AddOnce(user_, MakeCallback(OnStart<wire::HostKind::kUser>, OnUserEnd, {kUserScope}));
  }
  void Close() noexcept override {
    // Where the process ends, torch may be taken down already: its list of callbacks is not
    // touched, and those that still come find nothing recorded.
    if (RecorderFinishing()) return;
    const bool returns = StepsMatterAfterClose() && !g_refused.load();
    const ForkSection section;
    Arguments(false);
    Remove(op_);
    Remove(backward_);
    if (!returns) Remove(user_);
  }
  void Drain(Output& output, bool) noexcept override { WriteArguments(output); }
  // The callbacks are the child's as well.
  void Forked() noexcept override {
    lock_.Reset();
    arguments_written_ = 0;
  }

  void Arguments(bool on) noexcept {
    const ForkSection section;
    const std::lock_guard<SpinLock> guard(lock_);
    if (!on) return Remove(arguments_);
    Callback callback = MakeCallback(OnArguments, NoEnd, {kFunctionScope});
    callback.needs_inputs = true;
    AddOnce(arguments_, callback);
  }

 private:
  static void AddOnce(std::uint64_t& handle, const Callback& callback) {
    if (handle == 0) handle = g_torch.add(callback);
  }
  static void Remove(std::uint64_t& handle) {
    if (handle != 0) g_torch.remove(handle);
    handle = 0;
  }

  // Arguments are names with separators in them; ids in the table are those of the names.
  void WriteArguments(Output& output) {
    const std::uint32_t count = NameCount();
    for (; arguments_written_ < count; ++arguments_written_) {
      const std::string_view text = NameText(arguments_written_ + 1);
      const std::size_t first = text.find(kArgumentsSeparator);
      if (first == std::string_view::npos) continue;
      const std::size_t second = text.find(kArgumentsSeparator, first + 1);
      if (second == std::string_view::npos) continue;
      output.Row(wire::Table::kArguments, arguments_written_ + 1, text.substr(0, first),
                 text.substr(first + 1, second - first - 1), text.substr(second + 1));
    }
  }

  SpinLock lock_;
  std::uint64_t op_ = 0, backward_ = 0, user_ = 0, arguments_ = 0;
  std::uint32_t arguments_written_ = 0;
};
OperatorSource g_source;

template <typename Function>
void Find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

int TorchReady() noexcept {
  if (g_refused.load()) return -1;
  if (g_found.load()) return Wanted("ops") ? 0 : 1;
  void* const library = FindLoaded("libtorch_cpu.so");
  if (library == nullptr) {
    g_why = "libtorch_cpu.so is not loaded";
    return -2;
  }
  Find(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", g_torch.add);
  Find(library, "_ZN2at14removeCallbackEm", g_torch.remove);
  Find(library, "_ZNK2at14RecordFunction4nameEv", g_torch.name);
  Find(library, "_ZN2at15sequence_number4peekEv", g_torch.peek_sequence);
  if (g_torch.add == nullptr || g_torch.remove == nullptr || g_torch.name == nullptr) {
    g_why = "this PyTorch does not export at::addGlobalCallback";
    g_refused.store(true);
    StartRecorder();
    return -3;
  }
  g_found.store(true);
  LearnThreadCallbacks();
  if (!StartRecorder()) return -4;
  AddSource(g_source);
  // Registered after torch's own list of callbacks was made, so it runs before that is destroyed;
  // the recorder's own handler is from before it, and a window that closes then would write into
  // what was freed.
  std::atexit([] { FinishRecorder(); });
  return Wanted("ops") ? 0 : 1;
}

void TorchWithoutPython() noexcept {
  static std::atomic<bool> tried{false};
  void* const library = FindLoaded("libtorch_cpu.so");
  if (library == nullptr || tried.exchange(true)) return;
  const int ready = TorchReady();
  if (ready == -3) NoteLoss("operators", 1, g_why);
  if (ready != 0 || !Recording()) return;
  switch (TryOperators(library)) {
    case TrialResult::kPassed: break;
    case TrialResult::kFailed:
      TorchRefuse(
          "this torch calls back otherwise than the recorder expects: an operator ran and was not "
          "seen; operators are not recorded");
      break;
    case TrialResult::kNotTested:
      NoteLoss(
          "arguments", 1,
          "sequence numbers and shapes: without Python's start-up files this torch cannot be asked "
          "where it keeps them (torch 2.4 and later can)");
      break;
  }
}

void TorchLook() noexcept {
  if (g_found.load() || g_refused.load()) return;
  const ForkSection section;  // the loader's list of libraries has a lock, and so have operators
  if (LibrariesChanged()) TorchWithoutPython();
}

void TorchLetGo() noexcept {
  if (g_found.load() && !g_refused.exchange(true)) g_source.Close();
}

void TorchRefuse(const char* why) noexcept {
  TorchLetGo();
  NoteLoss("operators", 1, why);
}

void TorchEnded(std::uint32_t name) noexcept {
  CountSeen();
  NoteStepOf(name);
}

const char* TorchWhy() noexcept { return g_why; }
std::uint64_t TorchOperatorsSeen() noexcept { return g_seen.load(std::memory_order_relaxed); }

void TorchForgetSteps() noexcept {
  if (g_found.load() && !g_refused.load()) g_source.Close();
}

void TorchSampleArguments(bool on) noexcept {
  if (!g_found.load() || g_refused.load()) return;
  if (on && (!ArgumentsKnown() || !Wanted("shapes")) && !Probing()) return;
  g_source.Arguments(on);
}

int TorchProbe(int stage) noexcept {
  if (!g_found.load() || g_refused.load()) return -1;
  if (stage == 1) {
    BeginProbe(g_torch.peek_sequence);
    g_source.Arguments(true);
    return 0;
  }
  g_source.Arguments(false);
  return EndProbe();
}

}  // namespace hone::collect
