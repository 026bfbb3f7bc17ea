// SPDX-License-Identifier: Apache-2.0
#include "bench/steppers.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "record/proc_file.h"

namespace hone::bench {
namespace {

namespace fs = std::filesystem;

// What a process says of itself: "START_TICKS PID_NAMESPACE WORLD".
struct Stepper {
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string pid_namespace;
  int world = 1;
};

std::optional<Stepper> ReadStepper(const fs::path& path, std::string_view number) {
  Stepper stepper;
  const auto [end, failed] =
      std::from_chars(number.data(), number.data() + number.size(), stepper.pid);
  if (failed != std::errc() || end != number.data() + number.size()) return std::nullopt;
  std::ifstream file(path);
  if (!(file >> stepper.start_ticks >> stepper.pid_namespace >> stepper.world)) return std::nullopt;
  return stepper;
}

// The last field of /proc/PID/stat, of a process that nobody has asked for yet: as waitpid says it.
int SignalOf(std::string_view stat) {
  const std::size_t end = stat.find_last_of("0123456789");
  if (end == std::string_view::npos) return 0;
  const std::size_t begin = stat.find_last_of(' ', end) + 1;
  int status = 0;
  std::from_chars(stat.data() + begin, stat.data() + end + 1, status);
  return status & 0x7f;
}

// Nothing where it lives, or where this cannot be told: in a container of its own its number means
// something else.
std::optional<LostProcess> LostOf(const Stepper& stepper) {
  std::error_code error;
  if (fs::read_symlink("/proc/self/ns/pid", error).string() != stepper.pid_namespace || error) {
    return std::nullopt;
  }
  const std::string text(record::ReadOnce(fmt::format("/proc/{}/stat", stepper.pid).c_str()));
  const std::optional<record::ProcessStat> stat = record::ParseStat(text);
  LostProcess lost;
  lost.pid = stepper.pid;
  // Its number may be somebody else's by now.
  if (!stat || stat->start_ticks != stepper.start_ticks) return lost;
  if (stat->state != 'Z' && stat->state != 'X') return std::nullopt;
  lost.signal = SignalOf(text);
  return lost;
}

}  // namespace

std::string LostProcess::Words() const {
  const bool memory = signal == 0 || signal == 9;
  return fmt::format("process {}, which trained, {}{}", pid,
                     signal == 0
                         ? "is gone without a word of its own"
                         : fmt::format("was ended by signal {} ({})", signal, ::strsignal(signal)),
                     memory ? ", as the kernel ends one when memory is full" : "");
}

Steppers LookAtSteppers(const std::string& folder) {
  Steppers steppers;
  bool left = false, steps = false, rank = false;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kStepping = "stepping-";
    left = left || name.starts_with("done-");
    if (!name.starts_with(kStepping)) continue;
    const std::optional<Stepper> stepper =
        ReadStepper(entry.path(), std::string_view(name).substr(kStepping.size()));
    const std::optional<LostProcess> lost = stepper ? LostOf(*stepper) : std::nullopt;
    // It may have ended by itself since the folder was read.
    if (lost && !fs::exists(entry.path(), error)) continue;
    steps = steps || !lost;
    if (!lost) continue;
    steppers.lost = lost;
    rank = rank || stepper->world > 1;
  }
  steppers.done = left && !steps && !rank;
  if (steppers.done || (steps && !rank)) steppers.lost.reset();
  return steppers;
}

}  // namespace hone::bench
