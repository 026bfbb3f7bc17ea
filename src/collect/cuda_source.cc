// SPDX-License-Identifier: Apache-2.0
#include "collect/cuda_source.h"

#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "collect/budget.h"
#include "collect/clock.h"
#include "collect/cuda_buffers.h"
#include "collect/cuda_devices.h"
#include "collect/cuda_records.h"
#include "collect/cuda_session.h"
#include "collect/cuda_sites.h"
#include "collect/recorder.h"
#include "collect/slices.h"
#include "collect/source.h"

namespace hone::collect {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
// Work that the device has not finished when a window closes is waited for while records keep
// coming, and for so long after the last; then what is there is taken as it is.
constexpr std::uint64_t kQuietNanos = 100 * kMillisecond, kStragglerNanos = 700 * kMillisecond;
constexpr std::uint64_t kYieldNanos = 100 * kMillisecond;
// Of the recorder's memory: the rest is for operators and allocations.
constexpr std::size_t kShareOfMemory = 2;

void Sleep(std::uint64_t nanos) {
  const timespec time = {static_cast<time_t>(nanos / 1'000'000'000),
                         static_cast<long>(nanos % 1'000'000'000)};
  nanosleep(&time, nullptr);
}

// Held around calls of CUPTI that change its state. Bounded: the thread that ends the process must
// not wait for ever on one that is stuck in the driver.
class Gate {
 public:
  bool Enter(std::uint64_t patience_nanos) noexcept {
    const std::uint64_t limit = MonotonicNanos() + patience_nanos;
    while (held_.exchange(true, std::memory_order_acquire)) {
      if (MonotonicNanos() > limit) return false;
      Sleep(kMillisecond / 10);
    }
    return true;
  }
  void Leave() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

class Entered {
 public:
  Entered(Gate& gate, std::uint64_t patience) : gate_(gate), in_(gate.Enter(patience)) {}
  ~Entered() {
    if (in_) gate_.Leave();
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  explicit operator bool() const { return in_; }

 private:
  Gate& gate_;
  bool in_;
};
constexpr std::uint64_t kPatience = 1'000 * kMillisecond;

class CudaSource final : public Source {
 public:
  // Inside the program's first CUDA call.
  bool Start() noexcept;

  const char* name() const noexcept override { return "cuda"; }
  void Open() noexcept override;
  void Close() noexcept override;
  void Drain(Output& output, bool last) noexcept override;
  void Forked() noexcept override {
    dead_.store(true);
    CudaSites::Forked();
  }

  void Yield(const char* who) noexcept;
  void Resume() noexcept;

  CudaBuffers& buffers() { return buffers_; }

 private:
  void SwitchOn() noexcept;
  void SayNotes() noexcept;
  void FlushForEnd() noexcept;
  // FlushAll until nothing is with CUPTI, or nothing came for `quiet`; at most `limit`.
  void WaitForStragglers(std::uint64_t quiet, std::uint64_t limit) noexcept;
  void Decode(Output& output) noexcept;
  void CountLosses(Output& output) noexcept;

  std::atomic<bool> dead_{false};
  Gate gate_;
  gpu::Cupti cupti_;
  CudaApi api_;
  CudaTuning tuning_;
  CudaBuffers buffers_;
  CudaSession session_{cupti_, api_, tuning_};
  CudaSites sites_;
  CudaRecords records_{cupti_, api_, sites_};
  std::atomic<bool> ended_{true};  // nothing is with CUPTI, nothing is on
  // Under the gate:
  bool open_ = false;
  int yields_ = 0;
  std::uint32_t notes_said_ = 0;
  // The writer's:
  bool devices_written_ = false;
  std::uint64_t last_flush_ns_ = 0, refused_told_ = 0, completed_at_open_ = 0, foreign_told_ = 0;
  std::uint64_t discarded_ = 0;
};

// Constructed in place, never destroyed: CUPTI's threads outlive every destructor.
alignas(CudaSource) unsigned char g_memory[sizeof(CudaSource)];
std::atomic<CudaSource*> g_source{nullptr};

void Requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *records = 0;  // as many as fit
  g_source.load(std::memory_order_acquire)->buffers().Request(buffer, size);
}

void Completed(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  g_source.load(std::memory_order_acquire)->buffers().Complete(buffer, valid);
}

bool CudaSource::Start() noexcept {
  if (!gpu::LoadCupti(cupti_)) {
    NoteLoss("cuda", 1, cupti_.path);
    return false;
  }
  unsigned unknown = 0;
  const char* tune = std::getenv("HONE_CUPTI_TUNE");
  tuning_ = ParseCudaTuning(tune, unknown);
  api_.Load(cupti_);
  records_.Keep(tuning_.runtime_api, tuning_.driver_api, tuning_.event_calls);
  buffers_.Configure(tuning_.buffer_bytes, MemoryLimit() / kShareOfMemory,
                     cupti_.version >= gpu::kVersionNullBuffers);
  char text[64];
  std::snprintf(text, sizeof text, "%u", cupti_.version);
  NoteInfo("cupti_version", text);
  NoteInfo("cupti_path", cupti_.path);
  if (tune != nullptr && *tune != '\0') NoteInfo("cupti_tune", tune);
  if (unknown > 0)
    NoteLoss("cuda", unknown, "HONE_CUPTI_TUNE has keys or values hone does not know");
  return true;
}

void CudaSource::SayNotes() noexcept {
  const std::uint32_t news = session_.notes() & ~notes_said_;
  notes_said_ |= news;
  const struct {
    std::uint32_t note;
    const char* what;
    const char* detail;
  } kSentences[] = {
      {CudaSession::kAllRuntimeCalls, "cuda cost",
       "this libcupti cannot choose functions (CUDA 12.5 can): all CUDA calls are recorded and "
       "most dropped, which slows the program more; a newer CUDA helps"},
      {CudaSession::kNoCopies, "copies", "CUPTI refused to record copies or sets"},
      {CudaSession::kNoSyncs, "synchronization", "CUPTI refused to record synchronization"},
      {CudaSession::kNoMemory, "driver memory", "CUPTI refused to record CUDA's allocations"},
      {CudaSession::kNoOverhead, "overhead", "CUPTI refused to record its own overhead"},
      {CudaSession::kForeignThreadIds, "thread ids of CUDA calls",
       "CUPTI cannot give the system's thread ids, so calls are not tied to operators"},
  };
  for (const auto& sentence : kSentences) {
    if ((news & sentence.note) != 0) NoteLoss(sentence.what, 1, sentence.detail);
  }
}

void CudaSource::SwitchOn() noexcept {
  buffers_.Prepare(tuning_.ready);
  if (!session_.registered()) session_.Register(Requested, Completed, ClockWithSites);
  if (!session_.Enable()) NoteLoss("cuda", 1, session_.why());
  SayNotes();
  completed_at_open_ = buffers_.completed();
}

void CudaSource::Open() noexcept {
  if (dead_.load()) return;
  const Entered in(gate_, kPatience);
  if (!in || open_) return;
  open_ = true;
  ended_ = false;
  buffers_.Wanted(true);
  records_.Opened();
  if (yields_ == 0) SwitchOn();
}

void CudaSource::Close() noexcept {
  if (dead_.load()) return;
  const Entered in(gate_, kPatience);
  if (!in || !open_) return;
  open_ = false;
  if (session_.enabled()) session_.Disable();
}

void CudaSource::WaitForStragglers(std::uint64_t quiet, std::uint64_t limit) noexcept {
  const std::uint64_t begin = MonotonicNanos();
  std::uint64_t last_news = begin, seen = buffers_.completed();
  while (buffers_.Outstanding() > 0) {
    session_.Flush(false);
    const std::uint64_t now = MonotonicNanos();
    if (buffers_.completed() != seen) {
      seen = buffers_.completed();
      last_news = now;
    }
    if (now - last_news > quiet || now - begin > limit) return;
    Sleep(5 * kMillisecond);
  }
}

void CudaSource::FlushForEnd() noexcept {
  if (ended_ || !session_.registered()) return;
  if (buffers_.asked()) {
    WaitForStragglers(kQuietNanos, kStragglerNanos);
    session_.Flush(true);
  }
  if (open_) return;
  ended_ = true;
  buffers_.Wanted(false);
  records_.Closed();
}

void CudaSource::Decode(Output& output) noexcept {
  for (;;) {
    const CudaBuffers::Full full = buffers_.TakeOldest();
    // After the buffer: its records' lines were noted before it was full. The other way round, a
    // call that ended in between had a record and no line.
    sites_.Drain();
    if (full.data == nullptr) return;
    if (full.discard) {
      discarded_ += records_.Count(full.data, full.valid);
    } else {
      if (!session_.own_clock() && cupti_.get_timestamp != nullptr) {
        std::uint64_t theirs = 0;
        const std::uint64_t before = Ticks();
        cupti_.get_timestamp(&theirs);
        records_.Convert(theirs, before + (Ticks() - before) / 2);
      }
      records_.Decode(full.data, full.valid, output);
      NoteBusy(Ticks());
    }
    buffers_.Return(full);
  }
}

void CudaSource::CountLosses(Output& output) noexcept {
  const CudaRecords::Tally tally = records_.TakeTally();
  if (tally.untimed > 0 && ended_) {
    char count[24];
    std::snprintf(count, sizeof count, "%llu", static_cast<unsigned long long>(tally.untimed));
    output.Row(wire::Table::kInfo, "unfinished_at_close", count);
  } else if (tally.untimed > 0) {
    output.Loss("kernel times", tally.untimed,
                "CUPTI had no times for this work: its buffers on the device were full, or the "
                "work was not finished when recording ended");
  }
  if (tally.unknown > 0) output.Loss("cuda records", tally.unknown, "of kinds hone does not know");
  if (tally.cut > 0)
    output.Loss("cuda buffers", tally.cut, "a buffer of CUPTI's could not be read to its end");
  if (discarded_ > 0) {
    output.Loss("cuda records", discarded_,
                "the recorder's memory was full; allow it more (--memory) or record fewer steps");
    discarded_ = 0;
  }
  const std::uint64_t refused = buffers_.refused();
  if (refused > refused_told_) {
    output.Loss("cuda buffers", refused - refused_told_,
                "requests of CUPTI for memory that could not be met; records may be missing");
    refused_told_ = refused;
  }
  const std::uint64_t foreign = buffers_.foreign();
  if (foreign > foreign_told_) {
    output.Loss("cuda buffers", foreign - foreign_told_,
                "another tool in this process used CUPTI at the same time; some of its records "
                "came to hone and some of hone's to it");
    foreign_told_ = foreign;
  }
}

void CudaSource::Drain(Output& output, bool last) noexcept {
  if (dead_.load()) return;
  // Until there is something to record, the program may still be inside the cuInit that called our
  // door: seconds, on a machine that has just started. Neither the driver nor CUPTI is asked for
  // anything from this thread then.
  const bool up = buffers_.asked();
  if (up && !devices_written_) devices_written_ = WriteCudaDevices(output);
  const std::uint64_t now = MonotonicNanos();
  const bool due =
      up && tuning_.flush_ms != 0 && now - last_flush_ns_ >= tuning_.flush_ms * kMillisecond;
  const bool counts = !ended_;  // what is dropped between windows is no loss
  if (last || due) {
    const Entered in(gate_, kPatience);
    if (in && yields_ == 0) {
      if (last) {
        FlushForEnd();
      } else if (session_.enabled() && last_flush_ns_ != 0) {
        session_.Flush(false);
      }
      std::size_t dropped = 0;
      if (up && cupti_.dropped_records != nullptr && session_.registered() &&
          cupti_.dropped_records(nullptr, 0, &dropped) == gpu::kCuptiOk && dropped > 0 && counts) {
        output.Loss("cuda records", dropped, "CUPTI dropped them for want of a buffer");
      }
      if (last && buffers_.Outstanding() > 0 && buffers_.completed() == completed_at_open_) {
        output.Loss("cuda", 1,
                    "another tool in this process took CUPTI's buffers; start it with hone's "
                    "knowledge (torch.profiler is known) or run without it");
      }
    }
    last_flush_ns_ = now;
  }
  Decode(output);
  if (counts && ended_) records_.Ended(Ticks());
  CountLosses(output);
  if (ended_) {
    buffers_.GiveBackReady();
  } else {
    buffers_.Prepare(tuning_.ready);
  }
}

void CudaSource::Yield(const char* who) noexcept {
  if (dead_.load()) return;
  const Entered in(gate_, kPatience);
  if (!in || yields_++ > 0) return;
  if (session_.enabled()) {
    session_.Disable();
    WaitForStragglers(kYieldNanos / 2, kYieldNanos);
    session_.Flush(true);
  }
  session_.Forget();
  if (!open_) return;
  char text[128];
  std::snprintf(text, sizeof text, "cuda: %s",
                who == nullptr || *who == '\0' ? "another tool" : who);
  NoteMark(static_cast<std::uint8_t>(wire::MarkKind::kGapOpen), 0, text);
}

void CudaSource::Resume() noexcept {
  if (dead_.load()) return;
  const Entered in(gate_, kPatience);
  if (!in || yields_ == 0 || --yields_ > 0 || !open_) return;
  SwitchOn();
  NoteMark(static_cast<std::uint8_t>(wire::MarkKind::kGapClose), 0, "cuda");
  NoteResumed();
}

}  // namespace

void CudaYield(const char* who) noexcept {
  if (CudaSource* source = g_source.load(std::memory_order_acquire)) source->Yield(who);
}

void CudaResume() noexcept {
  if (CudaSource* source = g_source.load(std::memory_order_acquire)) source->Resume();
}

}  // namespace hone::collect

int InitializeInjection(void) noexcept {
  using namespace hone::collect;
  static std::atomic<bool> called{false};
  if (!StartRecorder() || !Wanted("cuda") || called.exchange(true)) return 1;
  auto* source = new (g_memory) CudaSource;
  if (!source->Start()) return 1;
  g_source.store(source, std::memory_order_release);
  AddSource(*source);
  // Registered after the driver and CUPTI are loaded, so it runs before they are taken down; the
  // recorder's own handler is from before them.
  std::atexit([] { FinishRecorder(); });
  return 1;
}
