// SPDX-License-Identifier: Apache-2.0
// For the portable build only: two functions that GCC's static libraries take from the glibc they
// were built against (2.35 and 2.36), so that the program starts where glibc is older. The C++
// library uses arc4random for std::random_device, the unwinder _dl_find_object for exceptions.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

// The module whose loaded segments hold the address, as the unwinder did it before glibc 2.35.
int Visit(dl_phdr_info* info, std::size_t, void* data) {
  auto* const search = static_cast<Search*>(data);
  std::uintptr_t lowest = UINTPTR_MAX, highest = 0, unwind_table = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    const std::uintptr_t end = begin + header.p_memsz;
    if (header.p_type == PT_GNU_EH_FRAME) unwind_table = begin;
    if (header.p_type != PT_LOAD) continue;
    inside = inside || (search->address >= begin && search->address < end);
    lowest = begin < lowest ? begin : lowest;
    highest = end > highest ? end : highest;
  }
  if (!inside || unwind_table == 0) return 0;
  *search->result = {};
  search->result->dlfo_map_start = reinterpret_cast<void*>(lowest);
  search->result->dlfo_map_end = reinterpret_cast<void*>(highest);
  search->result->dlfo_eh_frame = reinterpret_cast<void*>(unwind_table);
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(Visit, &search) == 1 ? 0 : -1;
}

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (getrandom(&value, sizeof(value), 0) != sizeof(value)) std::abort();
  return value;
}
