// SPDX-License-Identifier: Apache-2.0
// A CUPTI without a GPU, loaded through the same door as the real one (HONE_CUPTI) and told what to
// do line by line by the program that plays the driver (tests/e2e/fake_cuda_program.cc):
//
//   kernel name=gemm start=100 dur=50 corr=7 stream=7 device=0 graph=0 node=0 grid=2 block=64
//   copy bytes=4096 kind=1 …     peer target=1 …     set bytes=… …     memory bytes=… free=1 …
//   runtime cbid=211 tid=42 …    driver cbid=307 …   sync type=1 stream=7 …
//   overhead kind=… tid=… …      graph graph=3 …     raw kind=99 bytes=64
//                                a record, if its kind (or function) is on. start=now: by the
//                                clock; wait=20: so many microseconds pass before end=now is asked
//                                for. kernel force=1: also if it is off, as nodes of CUDA graphs
//                                are
//   complete                     gives the buffer in use back, as when it is full
//   hold | release               buffers come back only by a forced flush | as usual
//   foreign                      gives back a buffer that the recorder never gave
//   drop n=5                     as many records are said to be dropped
//   fail in=enable result=39 kind=10 times=1     of enable, disable, register, flush, timestamp, …
//   holder name=nsys             who has CUPTI
//   version n=18
//   burst threads=4 n=1000       threads that launch at the same time
//   calls                        prints what was called since the last time, and how often
//
// Compiled a second time with HONE_FAKE_OLD as the library of CUDA 11.4: no choice of functions, no
// clock of ours, shorter records.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gpu/cupti.h"

namespace {

using namespace hone::gpu;  // NOLINT: a file of its own

#ifdef HONE_FAKE_OLD
constexpr std::size_t kKernelBytes = 144, kCopyBytes = 64, kSetBytes = 64, kPeerBytes = 72;
#else
constexpr std::size_t kKernelBytes = 216, kCopyBytes = 96, kSetBytes = 88, kPeerBytes = 96;
#endif

struct Buffer {
  std::uint8_t* data = nullptr;
  std::size_t size = 0, used = 0;
};

struct Failure {
  std::string function;
  std::int64_t kind = -1;
  int result = 0, times = 1;
};

struct Fake {
  std::mutex mutex;
  BufferRequested requested = nullptr;
  BufferCompleted completed = nullptr;
  std::uint64_t (*clock)() = nullptr;
  std::set<std::int32_t> kinds;
  std::set<std::uint32_t> functions[3];  // by domain
  Buffer current;
  std::vector<Buffer> waiting;  // full, not yet given back
  bool hold = false;
  std::size_t dropped = 0;
  std::vector<Failure> failures;
  std::string holder;
  std::uint32_t version = 130001;
  std::map<std::string, int> calls;
};

Fake& TheFake() {
  static Fake* fake = new Fake;  // outlives every exit handler
  return *fake;
}

// Locked by the caller. The result that this call is to give.
CuptiResult Called(Fake& fake, const char* function, std::int64_t kind = -1) {
  // Where the fake driver is loaded too (fake_driver.cc).
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const enter = driver == nullptr ? nullptr : dlsym(driver, "FakeDriverEntered");
  if (enter != nullptr) reinterpret_cast<void (*)(const char*)>(enter)(function);
  ++fake.calls[function];
  for (Failure& failure : fake.failures) {
    if (failure.times <= 0 || failure.function != function) continue;
    if (failure.kind >= 0 && failure.kind != kind) continue;
    --failure.times;
    return failure.result;
  }
  return kCuptiOk;
}

void GiveBack(Fake& fake, std::unique_lock<std::mutex>& lock, const Buffer& buffer) {
  const BufferCompleted completed = fake.completed;
  lock.unlock();
  if (completed != nullptr) completed(nullptr, 0, buffer.data, buffer.size, buffer.used);
  lock.lock();
}

void Retire(Fake& fake, std::unique_lock<std::mutex>& lock) {
  const Buffer full = fake.current;
  fake.current = Buffer();
  if (full.data == nullptr) return;
  if (fake.hold) {
    fake.waiting.push_back(full);
  } else {
    GiveBack(fake, lock, full);
  }
}

std::uint8_t* Room(Fake& fake, std::unique_lock<std::mutex>& lock, std::size_t bytes) {
  bytes = (bytes + 7) / 8 * 8;
  if (fake.current.data != nullptr && fake.current.used + bytes > fake.current.size) {
    Retire(fake, lock);
  }
  if (fake.current.data == nullptr && fake.requested != nullptr) {
    std::size_t records = 0;
    Buffer fresh;
    fake.requested(&fresh.data, &fresh.size, &records);
    fake.current = fresh;
  }
  if (fake.current.data == nullptr || fake.current.size < bytes) {
    ++fake.dropped;
    return nullptr;
  }
  std::uint8_t* room = fake.current.data + fake.current.used;
  fake.current.used += bytes;
  return room;
}

template <typename Record>
void Put(Fake& fake, std::unique_lock<std::mutex>& lock, const Record& record, std::size_t bytes,
         bool force = false) {
  if (!force && fake.kinds.count(static_cast<std::int32_t>(record.kind)) == 0) return;
  std::uint8_t* room = Room(fake, lock, bytes);
  if (room != nullptr) std::memcpy(room, &record, std::min(bytes, sizeof record));
}

using Words = std::map<std::string, std::string>;

std::uint64_t Number(const Words& words, const char* key, std::uint64_t otherwise = 0) {
  const auto found = words.find(key);
  if (found == words.end()) return otherwise;
  if (found->second == "now") return TheFake().clock != nullptr ? TheFake().clock() : 0;
  return std::stoull(found->second, nullptr, 0);
}

// Names live for ever, as those of a loaded module do.
const char* Name(const Words& words) {
  static std::set<std::string>* names = new std::set<std::string>;
  const auto found = words.find("name");
  return names->insert(found == words.end() ? "kernel" : found->second).first->c_str();
}

template <typename Record>
void Fill(Record& r, ActivityKind kind, const Words& w) {
  r.kind = kind;
  r.start = Number(w, "start");
  r.end = r.start + Number(w, "dur");
  if (w.count("wait") != 0) usleep(static_cast<useconds_t>(Number(w, "wait")));
  if (w.count("end") != 0) r.end = Number(w, "end");
  r.correlation = static_cast<std::uint32_t>(Number(w, "corr"));
}

template <typename Record>
void FillWork(Record& r, ActivityKind kind, const Words& w) {
  Fill(r, kind, w);
  r.device = static_cast<std::uint32_t>(Number(w, "device"));
  r.context = static_cast<std::uint32_t>(Number(w, "context", 1));
  r.stream = static_cast<std::uint32_t>(Number(w, "stream", 7));
  r.graph = static_cast<std::uint32_t>(Number(w, "graph"));
  r.graph_node = Number(w, "node");
}

void PutApi(Fake& fake, std::unique_lock<std::mutex>& lock, std::uint32_t domain, const Words& w) {
  ApiRecord r{};
  Fill(r, domain == kRuntimeDomain ? ActivityKind::kRuntime : ActivityKind::kDriver, w);
  r.cbid = static_cast<std::uint32_t>(Number(w, "cbid"));
  r.thread = static_cast<std::uint32_t>(Number(w, "tid", 1));
  r.result = static_cast<std::uint32_t>(Number(w, "result"));
  const bool kind_on = fake.kinds.count(static_cast<std::int32_t>(r.kind)) != 0;
  if (!kind_on && fake.functions[domain].count(r.cbid) == 0) return;
  if (std::uint8_t* room = Room(fake, lock, sizeof r)) std::memcpy(room, &r, sizeof r);
}

void PutWork(Fake& fake, std::unique_lock<std::mutex>& lock, const std::string& verb,
             const Words& w) {
  if (verb == "kernel") {
    KernelRecord r{};
    FillWork(r, ActivityKind::kConcurrentKernel, w);
    r.name = Name(w);
    r.registers = static_cast<std::uint16_t>(Number(w, "registers", 32));
    r.static_shared = static_cast<std::int32_t>(Number(w, "shared"));
    r.dynamic_shared = static_cast<std::int32_t>(Number(w, "dynamic"));
    r.grid[0] = static_cast<std::int32_t>(Number(w, "grid", 1));
    r.block[0] = static_cast<std::int32_t>(Number(w, "block", 128));
    r.grid[1] = r.grid[2] = r.block[1] = r.block[2] = 1;
    return Put(fake, lock, r, kKernelBytes, Number(w, "force") != 0);
  }
  if (verb == "set") {
    MemsetRecord r{};
    FillWork(r, ActivityKind::kMemset, w);
    r.bytes = Number(w, "bytes");
    r.memory_kind = static_cast<std::uint16_t>(Number(w, "memory", 3));
    return Put(fake, lock, r, kSetBytes);
  }
  const auto copy = [&](auto& r) {
    r.bytes = Number(w, "bytes");
    r.copy_kind = static_cast<std::uint8_t>(Number(w, "kind", 1));
    r.source_kind = static_cast<std::uint8_t>(Number(w, "from", 1));
    r.target_kind = static_cast<std::uint8_t>(Number(w, "to", 3));
  };
  if (verb == "copy") {
    MemcpyRecord r{};
    FillWork(r, ActivityKind::kMemcpy, w);
    copy(r);
    return Put(fake, lock, r, kCopyBytes);
  }
  MemcpyPeerRecord r{};
  FillWork(r, ActivityKind::kMemcpyPeer, w);
  copy(r);
  r.target_device = static_cast<std::uint32_t>(Number(w, "target", 1));
  Put(fake, lock, r, kPeerBytes);
}

void PutOther(Fake& fake, std::unique_lock<std::mutex>& lock, const std::string& verb,
              const Words& w) {
  if (verb == "sync") {
    SynchronizationRecord r{};
    Fill(r, ActivityKind::kSynchronization, w);
    r.type = static_cast<std::uint32_t>(Number(w, "type", 1));
    r.context = static_cast<std::uint32_t>(Number(w, "context", 1));
    r.stream = static_cast<std::uint32_t>(Number(w, "stream", UINT32_MAX));
    r.event = static_cast<std::uint32_t>(Number(w, "event", UINT32_MAX));
    Put(fake, lock, r, 56);
  } else if (verb == "overhead") {
    OverheadRecord r{};
    r.kind = ActivityKind::kOverhead;
    r.start = Number(w, "start");
    r.end = r.start + Number(w, "dur");
    r.overhead_kind = static_cast<std::uint32_t>(Number(w, "kind"));
    r.object_kind = kObjectThread;
    r.thread = static_cast<std::uint32_t>(Number(w, "tid"));
    Put(fake, lock, r, 56);
  } else if (verb == "memory") {
    MemoryRecord r{};
    r.kind = ActivityKind::kMemory2;
    r.operation = Number(w, "free") != 0 ? kMemoryReleased : kMemoryAllocated;
    r.memory_kind = static_cast<std::uint32_t>(Number(w, "kind", 3));
    r.correlation = static_cast<std::uint32_t>(Number(w, "corr"));
    r.address = Number(w, "address");
    r.bytes = Number(w, "bytes");
    r.time = Number(w, "start");
    r.process = 1;
    Put(fake, lock, r, 128);
  } else if (verb == "graph") {
    GraphTraceRecord r{};
    Fill(r, ActivityKind::kGraphTrace, w);
    r.device = static_cast<std::uint32_t>(Number(w, "device"));
    r.stream = static_cast<std::uint32_t>(Number(w, "stream", 7));
    r.graph = static_cast<std::uint32_t>(Number(w, "graph"));
    Put(fake, lock, r, 56);
  } else if (verb == "raw") {
    const auto kind = static_cast<std::int32_t>(Number(w, "kind"));
    if (std::uint8_t* room = Room(fake, lock, Number(w, "bytes", 64))) {
      std::memcpy(room, &kind, sizeof kind);
    }
  }
}

void Burst(std::size_t threads, std::size_t n) {
  std::vector<std::thread> all;
  for (std::size_t t = 0; t < threads; ++t) {
    all.emplace_back([n] {
      Fake& fake = TheFake();
      // Each thread fills buffers of its own, as CUPTI does.
      Buffer mine;
      for (std::size_t i = 0; i < n; ++i) {
        if (mine.data == nullptr || mine.used + kKernelBytes > mine.size) {
          if (mine.data != nullptr) fake.completed(nullptr, 0, mine.data, mine.size, mine.used);
          std::size_t records = 0;
          mine = Buffer();
          fake.requested(&mine.data, &mine.size, &records);
          if (mine.data == nullptr) {
            const std::lock_guard<std::mutex> lock(fake.mutex);
            ++fake.dropped;
            continue;
          }
        }
        KernelRecord r{};
        r.kind = ActivityKind::kConcurrentKernel;
        r.start = i + 1;
        r.end = i + 2;
        r.correlation = static_cast<std::uint32_t>(i + 1);
        r.name = "burst";
        std::memcpy(mine.data + mine.used, &r, std::min(kKernelBytes, sizeof r));
        mine.used += kKernelBytes;
      }
      if (mine.data != nullptr) fake.completed(nullptr, 0, mine.data, mine.size, mine.used);
    });
  }
  for (std::thread& thread : all) thread.join();
}

std::size_t SizeOf(std::int32_t kind) {
  switch (static_cast<ActivityKind>(kind)) {
    case ActivityKind::kConcurrentKernel: return kKernelBytes;
    case ActivityKind::kMemcpy: return kCopyBytes;
    case ActivityKind::kMemcpyPeer: return kPeerBytes;
    case ActivityKind::kMemset: return kSetBytes;
    case ActivityKind::kRuntime:
    case ActivityKind::kDriver: return sizeof(ApiRecord);
    case ActivityKind::kMemory2: return 128;
    case ActivityKind::kSynchronization:
    case ActivityKind::kOverhead:
    case ActivityKind::kGraphTrace: return 56;
    default: return 64;  // raw
  }
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

// The program's door. False: no such line.
FAKE bool FakeCuptiLine(const char* line) {
  std::istringstream in(line);
  std::string verb, word;
  in >> verb;
  Words words;
  while (in >> word) {
    const std::size_t equals = word.find('=');
    words[word.substr(0, equals)] = equals == std::string::npos ? "1" : word.substr(equals + 1);
  }
  Fake& fake = TheFake();
  if (verb == "burst") {
    Burst(Number(words, "threads", 2), Number(words, "n", 1000));
    return true;
  }
  std::unique_lock<std::mutex> lock(fake.mutex);
  if (verb == "kernel" || verb == "set" || verb == "copy" || verb == "peer") {
    PutWork(fake, lock, verb, words);
  } else if (verb == "runtime" || verb == "driver") {
    PutApi(fake, lock, verb == "runtime" ? kRuntimeDomain : kDriverDomain, words);
  } else if (verb == "sync" || verb == "overhead" || verb == "memory" || verb == "graph" ||
             verb == "raw") {
    PutOther(fake, lock, verb, words);
  } else if (verb == "complete") {
    Retire(fake, lock);
  } else if (verb == "hold" || verb == "release") {
    fake.hold = verb == "hold";
  } else if (verb == "foreign") {
    static std::uint8_t stranger[4096];
    GiveBack(fake, lock, Buffer{stranger, sizeof stranger, 64});
  } else if (verb == "drop") {
    fake.dropped += Number(words, "n", 1);
  } else if (verb == "fail") {
    fake.failures.push_back({words["in"], static_cast<std::int64_t>(Number(words, "kind", -1ull)),
                             static_cast<int>(Number(words, "result", 999)),
                             static_cast<int>(Number(words, "times", 1))});
  } else if (verb == "holder") {
    fake.holder = words["name"];
  } else if (verb == "version") {
    fake.version = static_cast<std::uint32_t>(Number(words, "n"));
  } else if (verb == "calls") {
    for (const auto& [function, times] : fake.calls) {
      std::printf("%s %d\n", function.c_str(), times);
    }
    std::fflush(stdout);
    fake.calls.clear();
  } else {
    return false;
  }
  return true;
}

FAKE CuptiResult cuptiActivityEnable(std::int32_t kind) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  const CuptiResult result = Called(fake, "enable", kind);
  if (result == kCuptiOk) fake.kinds.insert(kind);
  return result;
}

FAKE CuptiResult cuptiActivityDisable(std::int32_t kind) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  fake.kinds.erase(kind);
  return Called(fake, "disable", kind);
}

FAKE CuptiResult cuptiActivityRegisterCallbacks(BufferRequested requested,
                                                BufferCompleted completed) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  fake.requested = requested;
  fake.completed = completed;
  return Called(fake, "register");
}

FAKE CuptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  Fake& fake = TheFake();
  std::unique_lock<std::mutex> lock(fake.mutex);
  const CuptiResult result = Called(fake, flag != 0 ? "flush-forced" : "flush");
  if (fake.hold && flag == 0) return result;
  while (!fake.waiting.empty()) {
    const Buffer buffer = fake.waiting.front();
    fake.waiting.erase(fake.waiting.begin());
    GiveBack(fake, lock, buffer);
  }
  const Buffer buffer = fake.current;
  fake.current = Buffer();
  if (buffer.data != nullptr) GiveBack(fake, lock, buffer);
  return result;
}

FAKE CuptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid,
                                            void** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    std::int32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    next = static_cast<std::uint8_t*>(*record) + SizeOf(kind);
  }
  if (next >= buffer + valid) return kCuptiMaxLimitReached;
  std::int32_t kind = 0;
  std::memcpy(&kind, next, sizeof kind);
  if (kind == 0) return kCuptiInvalidKind;
  *record = next;
  return kCuptiOk;
}

FAKE CuptiResult cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* dropped) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  *dropped = fake.dropped;
  fake.dropped = 0;
  return Called(fake, "dropped");
}

FAKE CuptiResult cuptiActivitySetAttribute(std::int32_t, std::size_t*, void*) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  return Called(fake, "attribute");
}

FAKE CuptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = TheFake().version;
#ifdef HONE_FAKE_OLD
  *version = 15;
#endif
  return kCuptiOk;
}

FAKE CuptiResult cuptiGetTimestamp(std::uint64_t* time) {
  *time = 1'000'000;  // the old library's clock stands still: conversions can be worked out
  return kCuptiOk;
}

FAKE CuptiResult cuptiSetThreadIdType(std::int32_t) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  return Called(fake, "thread-ids");
}

FAKE CuptiResult cuptiGetResultString(CuptiResult result, const char** name) {
  *name = result == kCuptiMultipleSubscribers ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
          : result == kCuptiNotInitialized    ? "CUPTI_ERROR_NOT_INITIALIZED"
                                              : "CUPTI_ERROR_UNKNOWN";
  return kCuptiOk;
}

FAKE CuptiResult cuptiGetCallbackName(std::uint32_t domain, std::uint32_t cbid, const char** name) {
  static const std::map<std::uint32_t, const char*> kRuntime = {
      {20, "cudaMalloc_v3020"},
      {41, "cudaMemcpyAsync_v3020"},
      {131, "cudaStreamSynchronize_v3020"},
      {135, "cudaEventRecord_v3020"},
      {211, "cudaLaunchKernel_v7000"},
      {214, "cudaLaunchKernel_ptsz_v7000"},
      {311, "cudaGraphLaunch_v10000"},
      {430, "cudaLaunchKernelExC_v11060"}};
  static const std::map<std::uint32_t, const char*> kDriver = {
      {277, "cuMemcpyHtoDAsync_v2"}, {307, "cuLaunchKernel"}, {442, "cuLaunchKernel_ptsz"}};
  const auto& names = domain == kRuntimeDomain ? kRuntime : kDriver;
  if (cbid > names.rbegin()->first) return kCuptiInvalidParameter;
  const auto found = names.find(cbid);
  *name = found == names.end() ? (domain == kRuntimeDomain ? "cudaGetDevice_v3020" : "cuCtxGetId")
                               : found->second;
  return kCuptiOk;
}

#ifndef HONE_FAKE_OLD
FAKE CuptiResult cuptiActivityRegisterTimestampCallback(std::uint64_t (*clock)()) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  fake.clock = clock;
  return Called(fake, "timestamp");
}

FAKE CuptiResult cuptiActivityEnableRuntimeApi(std::uint32_t cbid, std::uint8_t enable) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  if (enable != 0)
    fake.functions[kRuntimeDomain].insert(cbid);
  else
    fake.functions[kRuntimeDomain].erase(cbid);
  return Called(fake, enable != 0 ? "runtime-on" : "runtime-off", cbid);
}

FAKE CuptiResult cuptiActivityEnableDriverApi(std::uint32_t cbid, std::uint8_t enable) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  if (enable != 0)
    fake.functions[kDriverDomain].insert(cbid);
  else
    fake.functions[kDriverDomain].erase(cbid);
  return Called(fake, enable != 0 ? "driver-on" : "driver-off", cbid);
}

FAKE CuptiResult cuptiSubscribe_v2(void** subscriber, Callback, void*, SubscriberParams* params) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  Called(fake, "subscribe");
  *subscriber = &fake;
  if (fake.holder.empty()) return kCuptiOk;
  std::snprintf(params->holder, params->holder_size, "%s", fake.holder.c_str());
  return kCuptiMultipleSubscribers;
}

FAKE CuptiResult cuptiUnsubscribe(void*) {
  Fake& fake = TheFake();
  const std::lock_guard<std::mutex> lock(fake.mutex);
  return Called(fake, "unsubscribe");
}
#endif
