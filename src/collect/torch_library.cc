// SPDX-License-Identifier: Apache-2.0
#include "collect/torch_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace hone::collect {
namespace {

struct Search {
  const char* stem;
  char path[4096];
  bool found;
};

int Visit(dl_phdr_info* info, std::size_t, void* data) {
  auto* const search = static_cast<Search*>(data);
  const char* const path = info->dlpi_name;
  if (path == nullptr) return 0;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash != nullptr ? slash + 1 : path;
  if (std::strncmp(name, search->stem, std::strlen(search->stem)) != 0) return 0;
  if (std::strlen(path) >= sizeof(search->path)) return 0;
  std::strcpy(search->path, path);
  search->found = true;
  return 1;
}

}  // namespace

void* FindLoaded(const char* stem) noexcept {
  Search search = {stem, {}, false};
  dl_iterate_phdr(Visit, &search);
  return search.found ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

bool LibrariesChanged() noexcept {
  static unsigned long long last = 0;
  unsigned long long now = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<unsigned long long*>(data) = info->dlpi_adds;
        return 1;
      },
      &now);
  const bool changed = now != last;
  last = now;
  return changed;
}

}  // namespace hone::collect
