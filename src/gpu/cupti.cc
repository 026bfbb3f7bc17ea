// SPDX-License-Identifier: Apache-2.0
#include "gpu/cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace hone::gpu {
namespace {

constexpr std::size_t kPath = 512;

bool NameStarts(const char* path, const char* start) {
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash == nullptr ? path : slash + 1, start, std::strlen(start)) == 0;
}

struct Mapped {
  char cupti[kPath] = "";
  char runtime[kPath] = "";  // libcudart, or what else of CUDA the program brought along
  char torch[kPath] = "";
};

int Look(dl_phdr_info* info, std::size_t, void* data) {
  auto& mapped = *static_cast<Mapped*>(data);
  const char* path = info->dlpi_name;
  if (path == nullptr || std::strlen(path) >= kPath) return 0;
  if (NameStarts(path, "libcupti.so")) std::snprintf(mapped.cupti, kPath, "%s", path);
  if (NameStarts(path, "libcudart") ||
      (mapped.runtime[0] == '\0' &&
       (NameStarts(path, "libcublas") || NameStarts(path, "libnvrtc")))) {
    std::snprintf(mapped.runtime, kPath, "%s", path);
  }
  if (NameStarts(path, "libtorch_c") || NameStarts(path, "libc10")) {
    std::snprintf(mapped.torch, kPath, "%s", path);
  }
  return 0;
}

// FOLDER(file)/relative/libcupti.so.*, the highest of them. Names with a version only: the plain
// one is for linkers and may be missing.
void* OpenBeside(const char* file, const char* relative, char* found) {
  const char* slash = std::strrchr(file, '/');
  if (slash == nullptr) return nullptr;
  char pattern[2 * kPath];
  std::snprintf(pattern, sizeof pattern, "%.*s/%s/libcupti.so.1[0-9]*",
                static_cast<int>(slash - file), file, relative);
  glob_t matches{};
  void* library = nullptr;
  if (glob(pattern, 0, nullptr, &matches) == 0) {
    for (std::size_t i = matches.gl_pathc; i-- > 0 && library == nullptr;) {
      library = dlopen(matches.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr) std::snprintf(found, kPath, "%s", matches.gl_pathv[i]);
    }
  }
  globfree(&matches);
  return library;
}

void* OpenByName(char* found) {
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                           "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      std::snprintf(found, kPath, "%s", name);
      return library;
    }
  }
  return nullptr;
}

void* OpenOfToolkit(char* found) {
  char root[kPath];
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = std::getenv(variable);
    if (home == nullptr || *home == '\0') continue;
    std::snprintf(root, sizeof root, "%s/x", home);
    for (const char* folder : {"extras/CUPTI/lib64", "lib64"}) {
      if (void* library = OpenBeside(root, folder, found)) return library;
    }
  }
  for (const char* folder :
       {"extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"}) {
    if (void* library = OpenBeside("/usr/local/cuda/x", folder, found)) return library;
  }
  return nullptr;
}

void* Open(Cupti& cupti) {
  const char* wished = std::getenv("HONE_CUPTI");
  if (wished != nullptr && *wished != '\0') {
    void* library = dlopen(wished, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* why = dlerror();
      std::snprintf(cupti.path, sizeof cupti.path, "HONE_CUPTI: %s", why ? why : wished);
    } else {
      std::snprintf(cupti.path, sizeof cupti.path, "%s", wished);
    }
    return library;
  }
  Mapped mapped;
  dl_iterate_phdr(Look, &mapped);
  // A second copy beside the program's own would be a second tool in the driver's eyes.
  if (mapped.cupti[0] != '\0') {
    if (void* library = dlopen(mapped.cupti, RTLD_NOW | RTLD_NOLOAD)) {
      std::snprintf(cupti.path, sizeof cupti.path, "%s", mapped.cupti);
      return library;
    }
  }
  void* library = nullptr;
  // Wheels: nvidia/cuda_runtime/lib beside nvidia/cuda_cupti/lib; nvidia/cu13/lib holds both.
  // Toolkits: lib64 beside extras/CUPTI/lib64. torch/lib in older wheels.
  if (mapped.runtime[0] != '\0') {
    for (const char* folder :
         {".", "../../cuda_cupti/lib", "../extras/CUPTI/lib64", "../../../extras/CUPTI/lib64"}) {
      if (library == nullptr) library = OpenBeside(mapped.runtime, folder, cupti.path);
    }
  }
  if (mapped.torch[0] != '\0') {
    for (const char* folder : {".", "../../nvidia/cuda_cupti/lib", "../../nvidia/cu13/lib"}) {
      if (library == nullptr) library = OpenBeside(mapped.torch, folder, cupti.path);
    }
  }
  if (library == nullptr) library = OpenByName(cupti.path);
  if (library == nullptr) library = OpenOfToolkit(cupti.path);
  if (library == nullptr) {
    std::snprintf(cupti.path, sizeof cupti.path,
                  "no libcupti was found beside the program's CUDA, on the library path or under "
                  "/usr/local/cuda; install it (pip install nvidia-cuda-cupti-cu12, or the CUDA "
                  "toolkit) or name it by HONE_CUPTI");
  }
  return library;
}

template <typename Function>
void Find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

bool LoadCupti(Cupti& cupti) noexcept {
  void* library = Open(cupti);
  if (library == nullptr) return false;
  Find(library, cupti.activity_enable, "cuptiActivityEnable");
  Find(library, cupti.activity_disable, "cuptiActivityDisable");
  Find(library, cupti.register_callbacks, "cuptiActivityRegisterCallbacks");
  Find(library, cupti.flush_all, "cuptiActivityFlushAll");
  Find(library, cupti.get_next_record, "cuptiActivityGetNextRecord");
  Find(library, cupti.dropped_records, "cuptiActivityGetNumDroppedRecords");
  Find(library, cupti.set_attribute, "cuptiActivitySetAttribute");
  Find(library, cupti.get_version, "cuptiGetVersion");
  Find(library, cupti.get_timestamp, "cuptiGetTimestamp");
  Find(library, cupti.set_thread_id_type, "cuptiSetThreadIdType");
  Find(library, cupti.register_timestamp, "cuptiActivityRegisterTimestampCallback");
  Find(library, cupti.enable_runtime_api, "cuptiActivityEnableRuntimeApi");
  Find(library, cupti.enable_driver_api, "cuptiActivityEnableDriverApi");
  Find(library, cupti.callback_name, "cuptiGetCallbackName");
  Find(library, cupti.result_string, "cuptiGetResultString");
  Find(library, cupti.flush_period, "cuptiActivityFlushPeriod");
  Find(library, cupti.all_sync_records, "cuptiActivityEnableAllSyncRecords");
  Find(library, cupti.hardware_trace, "cuptiActivityEnableHWTrace");
  Find(library, cupti.subscribe_v2, "cuptiSubscribe_v2");
  Find(library, cupti.unsubscribe, "cuptiUnsubscribe");
  if (cupti.activity_enable == nullptr || cupti.activity_disable == nullptr ||
      cupti.register_callbacks == nullptr || cupti.flush_all == nullptr ||
      cupti.get_next_record == nullptr) {
    char where[kPath];
    std::snprintf(where, sizeof where, "%s", cupti.path);
    std::snprintf(cupti.path, sizeof cupti.path,
                  "%.300s has no activity functions; it is no libcupti that hone knows", where);
    return false;
  }
  if (cupti.get_version != nullptr) cupti.get_version(&cupti.version);
  return true;
}

const char* ResultName(const Cupti& cupti, CuptiResult result) noexcept {
  const char* name = nullptr;
  if (cupti.result_string != nullptr && cupti.result_string(result, &name) == kCuptiOk &&
      name != nullptr) {
    return name;
  }
  return "an unnamed error";
}

}  // namespace hone::gpu
