// SPDX-License-Identifier: Apache-2.0
#include "record/control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include "record/proc_file.h"

namespace hone::record {
namespace {

namespace fs = std::filesystem;

std::string DateTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d-%H%M%S", &local)};
}

// Letters, digits, dot, dash and underscore; anything else would have to be quoted in a shell.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, 40)) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-' || c == '_';
    plain.push_back(fine ? c : '_');
  }
  const std::size_t start = plain.find_first_not_of(".-");
  return start == std::string::npos ? "run" : plain.substr(start);
}

Error CannotMake(const fs::path& folder, int error) {
  return Error(fmt::format("{}: cannot be made: {}; name another folder with --out DIR",
                           folder.string(), std::strerror(error)));
}

Result<std::string> MakeFresh(const std::string& name) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (error) {
    return Error(
        fmt::format("the current folder: {}; name a folder with --out DIR", error.message()));
  }
  const std::string base = fmt::format("hone-{}-{}", Plain(name), DateTime());
  // Several runs may start in the same second.
  for (int i = 1; i <= 1000; ++i) {
    const fs::path folder = here / (i == 1 ? base : fmt::format("{}-{}", base, i));
    if (::mkdir(folder.c_str(), 0777) == 0) return folder.string();
    if (errno != EEXIST) return CannotMake(folder, errno);
  }
  return CannotMake(here / base, EEXIST);
}

// A killed process that nobody waits for stays a zombie: kill(2) would still find it. One whose
// first thread has ended looks like a zombie too and is none, as long as it has others.
bool IsGone(std::uint32_t pid) {
  const auto stat = ParseStat(ReadOnce(fmt::format("/proc/{}/stat", pid).c_str()));
  if (stat) return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
  // Or the file may not be read, or we have no descriptor left.
  return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

}  // namespace

Result<std::string> MakeRunFolder(const std::string& wanted, const std::string& name) {
  if (wanted.empty()) return MakeFresh(name);
  std::error_code error;
  const fs::path folder = fs::absolute(wanted, error).lexically_normal();
  if (error) return Error(fmt::format("{}: {}", wanted, error.message()));
  fs::create_directories(folder, error);
  if (error) return CannotMake(folder, error.value());
  const bool empty = fs::is_empty(folder, error);
  if (error) return CannotMake(folder, error.value());
  if (!empty) {
    return Error(
        fmt::format("{}: is not empty; name a new folder with --out, or remove it first", wanted));
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return CannotMake(folder, errno);
  return folder.string();
}

void ForgetRunFolder(const std::string& folder) {
  std::error_code ignored;
  fs::remove(folder + "/" + wire::kControlFile, ignored);
  fs::remove(folder + "/" + wire::kMachineFile, ignored);
  fs::remove(folder, ignored);
}

std::string NameOfCommand(const std::vector<std::string>& command) {
  if (command.empty()) return "run";
  for (std::size_t i = 1; i < command.size(); ++i) {
    // python -m package.module; python train.py; torchrun --nproc-per-node 8 train.py
    if (command[i] == "-m" && i + 1 < command.size()) return command[i + 1];
    const fs::path path(command[i]);
    if (path.extension() == ".py" || path.extension() == ".sh") return path.stem().string();
  }
  return fs::path(command[0]).filename().string();
}

Recorded LookInto(const std::string& folder) {
  Recorded recorded;
  std::error_code error;
  for (fs::directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.ends_with(wire::kFileSuffix)) continue;
    if (name.rfind(wire::kFilePrefix, 0) == 0) ++recorded.files;
    std::error_code gone;
    const std::uintmax_t bytes = entries->file_size(gone);
    if (!gone) recorded.bytes += bytes;
  }
  return recorded;
}

Result<Control> Control::Create(const std::string& folder, std::uint32_t steps_wanted) {
  const std::string path = folder + "/" + wire::kControlFile;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    return Error(fmt::format("{}: cannot be made: {}; name another folder with --out DIR", path,
                             std::strerror(errno)));
  }
  const int full = ::posix_fallocate(fd, 0, sizeof(wire::ControlPage));
  void* memory = MAP_FAILED;
  int error = full;
  if (full == 0) {
    memory = ::mmap(nullptr, sizeof(wire::ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    error = errno;
  }
  ::close(fd);
  if (memory == MAP_FAILED) {
    ::unlink(path.c_str());
    return Error(fmt::format("{}: cannot be written: {}; name another folder with --out DIR", path,
                             std::strerror(error)));
  }
  // The file is all zeros, which is what every field starts with.
  auto* page = static_cast<wire::ControlPage*>(memory);
  page->steps_wanted.store(steps_wanted, std::memory_order_relaxed);
  page->magic.store(wire::ControlPage::kMagic, std::memory_order_release);
  return Control(page);
}

Control::Control(Control&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), seen_(other.seen_) {}

Control& Control::operator=(Control&& other) noexcept {
  std::swap(page_, other.page_);
  std::swap(seen_, other.seen_);
  return *this;
}

Control::~Control() {
  if (page_ != nullptr) ::munmap(page_, sizeof(wire::ControlPage));
}

std::vector<SlotView> Control::Read() {
  std::vector<SlotView> views;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    wire::ProcessSlot& slot = page_->slots[i];
    SlotView view;
    view.pid = slot.pid.load(std::memory_order_acquire);
    if (view.pid == 0) continue;
    std::uint32_t state = slot.state.load(std::memory_order_acquire);
    view.state = static_cast<wire::ProcessState>(state);
    view.steps = slot.steps.load(std::memory_order_relaxed);
    view.window = slot.window.load(std::memory_order_relaxed);
    view.alive = view.state != wire::ProcessState::kEnded && !IsGone(view.pid);
    views.push_back(view);
    if (view.alive) {
      seen_[i] = view.pid;
    } else if (seen_[i] == view.pid && view.state != wire::ProcessState::kFree &&
               slot.pid.load(std::memory_order_relaxed) == view.pid) {
      const auto ended = static_cast<std::uint32_t>(wire::ProcessState::kEnded);
      slot.state.compare_exchange_strong(state, ended, std::memory_order_acq_rel);
    }
  }
  return views;
}

int Control::FileError() const {
  return static_cast<int>(page_->file_error.load(std::memory_order_relaxed));
}

void Control::Stop() { page_->stop.store(1, std::memory_order_release); }

}  // namespace hone::record
