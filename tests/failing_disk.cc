// SPDX-License-Identifier: Apache-2.0
// A disk that fails, for tests: preloaded, it lets nobody read further than FAILING_DISK_AFTER
// bytes into a file whose name holds FAILING_DISK_NAME.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

extern "C" ssize_t read(int descriptor, void* out, std::size_t count) {
  using Read = ssize_t (*)(int, void*, std::size_t);
  static const Read real = reinterpret_cast<Read>(::dlsym(RTLD_NEXT, "read"));
  const char* const name = std::getenv("FAILING_DISK_NAME");
  const char* const after = std::getenv("FAILING_DISK_AFTER");
  char place[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), place, sizeof place);
  if (name == nullptr || after == nullptr || length <= 0 ||
      std::string(place, static_cast<std::size_t>(length)).find(name) == std::string::npos) {
    return real(descriptor, out, count);
  }
  const off_t left = std::atoll(after) - ::lseek(descriptor, 0, SEEK_CUR);
  if (left <= 0) {
    errno = EIO;
    return -1;
  }
  return real(descriptor, out, std::min(count, static_cast<std::size_t>(left)));
}
