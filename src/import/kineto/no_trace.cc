// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/no_trace.h"

#include <fmt/format.h>

#include "base/byte_source.h"
#include "base/text.h"
#include "import/kineto/recovery.h"
#include "import/kineto/white_space.h"
#include "wire/file_writer.h"

namespace hone::importer::kineto {
namespace {

using namespace std::string_view_literals;

constexpr char kNotATrace[] =
    "not a trace (expected PyTorch JSON, an Nsight Systems SQLite export or a recording of hone "
    "run); see hone help inputs";

// What a compressed file holds that hone reads when it is not compressed, or compressed once.
std::string Packed(std::string_view text, const std::string& path) {
  struct Kind {
    std::string_view magic;
    const char *what, *ending;
  };
  constexpr Kind kGzip{"\x1f\x8b", "gzip", ".json.gz"};
  constexpr Kind kKinds[] = {
      kGzip,
      {"\x28\xb5\x2f\xfd", "zstd", ".json.zst"},
      {"SQLite format 3", "an SQLite file", ".sqlite"},
      {{wire::kFileMagic, sizeof wire::kFileMagic}, "a recording of hone run", ".hone"},
  };
  const std::string head = ReadFileHead(path, 4);
  const bool in_gzip = head.starts_with(kGzip.magic);
  for (const Kind& kind : kKinds) {
    if (!text.starts_with(kind.magic) || head.empty()) continue;
    return fmt::format("{} inside {}{}; unpack it once: {} {} > unpacked{}", kind.what,
                       in_gzip ? "gzip" : "zstd",
                       kind.ending[1] == 'j' ? " (compressed twice)" : "",
                       in_gzip ? "gunzip -c" : "zstd -dc", path, kind.ending);
  }
  return {};
}

// Files that people take for traces, by their first bytes. {} stands for the path.
std::string Known(std::string_view text, const std::string& path) {
  struct Kind {
    std::string_view magic;
    const char* sentence;
  };
  static constexpr Kind kKinds[] = {
      {"PK\x03\x04"sv, "a zip archive; unpack it first: unzip {}"},
      {"\xFD"
       "7zXZ\0"sv,
       "compressed with xz; unpack it first: xz -dk {}"},
      {"BZh"sv, "compressed with bzip2; unpack it first: bzip2 -dk {}"},
      {"\x04\x22\x4D\x18"sv, "compressed with lz4; unpack it first: lz4 -d {} trace.json"},
      {"\xFF\xFE"sv, "text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 {} > trace.json"},
      {"\xFE\xFF"sv, "text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 {} > trace.json"},
      {"{\0"sv, "text in UTF-16; convert it: iconv -f UTF-16LE -t UTF-8 {} > trace.json"},
      {"\0{"sv, "text in UTF-16; convert it: iconv -f UTF-16BE -t UTF-8 {} > trace.json"},
      {"version https://git-lfs"sv, "a pointer of Git LFS instead of the file; run: git lfs pull"},
  };
  for (const Kind& kind : kKinds) {
    if (text.starts_with(kind.magic)) return fmt::format(fmt::runtime(kind.sentence), path);
  }
  constexpr std::size_t kTarMagic = 257;
  if (text.size() > kTarMagic && text.substr(kTarMagic).starts_with("ustar")) {
    return fmt::format("a tar archive; unpack it first: tar -xf {}", path);
  }
  // A pickle of protocol 2 to 5 begins with its number.
  if (text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5) {
    return "a Python pickle, as torch.cuda.memory._dump_snapshot writes it, and no trace; look at "
           "it with pytorch.org/memory_viz, or record with "
           "torch.profiler.profile(profile_memory=True) and export_chrome_trace";
  }
  constexpr std::size_t kZeros = 16;
  if (text.size() >= kZeros && text.substr(0, kZeros).find_first_not_of('\0') == text.npos) {
    return "starts with zero bytes, as a full disk or an interrupted copy leaves it; copy it "
           "again, "
           "or record again";
  }
  return {};
}

// JSON that PyTorch writes and that is no trace, or the beginning of one.
std::string OtherJson(std::string_view text, bool whole) {
  const std::size_t start = SkipSpace(text, 0);
  if (start == text.size() || text[start] != '{') return {};
  const auto has = [&](std::string_view key) { return text.find(key) != text.npos; };
  if (has("\"schema\"") && has("\"nodes\"")) {
    return "an execution trace (ExecutionTraceObserver, Chakra), which has no times of a device; "
           "record with torch.profiler.profile and export_chrome_trace";
  }
  const bool begins = has("\"schemaVersion\"") || has("\"deviceProperties\"");
  if (begins && whole && BracketEnd(text, start) == text.npos) {
    return fmt::format(
        "ends at byte {}, before the first event of a PyTorch trace; copy it again, or let the "
        "profiler finish writing",
        WithThousands(text.size()));
  }
  return {};
}

}  // namespace

std::string WhyNoTrace(std::string_view text, bool whole, const std::string& path) {
  if (text.empty()) return "is empty; was the recording interrupted?";
  if (std::string why = Packed(text, path); !why.empty()) return why;
  if (std::string why = Known(text, path); !why.empty()) return why;
  if (std::string why = OtherJson(text, whole); !why.empty()) return why;
  return kNotATrace;
}

}  // namespace hone::importer::kineto
