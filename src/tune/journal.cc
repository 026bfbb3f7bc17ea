// SPDX-License-Identifier: Apache-2.0
#include "tune/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json_writer.h"
#include "bench/child.h"
#include "bench/json.h"
#include "tune/child_report.h"
#include "tune/trial_json.h"

namespace hone::tune {
namespace {

using bench::JsonValue;
using bench::TextOr;

constexpr int kVersion = 1;

std::string HeadLine(const JournalHead& head) {
  std::ostringstream out;
  JsonWriter json(out);
  json.BeginObject(JsonWriter::Layout::kInline);
  json.Field("line", "search");
  json.Field("schema", "hone-tune-journal");
  json.Field("version", kVersion);
  json.Key("command").BeginArray();
  for (const std::string& word : head.command) json.String(word);
  json.EndArray();
  json.Field("hone", head.version);
  json.Field("options", head.options);
  json.EndObject();
  return out.str();
}

Status CheckHead(const JsonValue& line, const JournalHead& head) {
  if (TextOr(line, "schema", "") != "hone-tune-journal" ||
      bench::IntOr(line, "version", 0) != kVersion) {
    return Error("is no journal of hone tune; name another folder");
  }
  std::vector<std::string> command;
  for (const JsonValue& word : bench::Elements(line, "command")) {
    std::string_view text;
    if (word.get_string().get(text) == simdjson::SUCCESS) command.emplace_back(text);
  }
  if (command != head.command) {
    return Error(
        fmt::format("is of another command ({}), not of {}; name another folder, or remove it",
                    fmt::join(command, " "), fmt::join(head.command, " ")));
  }
  const std::string version = TextOr(line, "hone", "");
  if (version != head.version) {
    return Error(fmt::format("was begun by hone {}, this is {}; name another folder, or remove it",
                             version, head.version));
  }
  return Ok();
}

// Who holds the lock of an open file: " by process 42"; empty where the system does not say.
std::string HolderOf(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return "";
  const std::string place =
      fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, way, access, process, file;
    words >> number >> kind >> way >> access >> process >> file;
    if (kind == "FLOCK" && file == place) return " by process " + process;
  }
  return "";
}

}  // namespace

Result<JournalLock> JournalLock::Take(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  JournalLock lock(fd);
  if (fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error(fmt::format("{} is in use{} (a search is running there)",
                             std::filesystem::path(path).parent_path().string(), HolderOf(fd)));
  }
  return lock;
}

JournalLock::~JournalLock() {
  if (fd_ >= 0) ::close(fd_);
}

Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

// `good`: bytes up to the end of the last line that is whole.
Status Journal::ReadAll(const std::string& text, const JournalHead& head, std::size_t& good) {
  simdjson::dom::parser parser;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // cut off
    ++number;
    JsonValue line;
    const bool last = end + 1 == text.size();
    const simdjson::padded_string padded(text.data() + begin, end - begin);
    if (parser.parse(padded).get(line) != simdjson::SUCCESS) {
      // A machine that lost power can leave a last line that has its end and not its middle.
      if (last && number > 1) break;
      return Error(fmt::format("{}: line {} cannot be read; name another folder, or remove it",
                               path_, number));
    }
    if (number == 1) {
      Status fits = CheckHead(line, head);
      if (!fits) return std::move(fits).error().WithContext(path_);
    } else if (TextOr(line, "line", "") == "trial") {
      Trial trial = ReadTrialLine(line);
      if (trial.order.describe) description_ = ReadDescription(line);
      trials_.push_back(std::move(trial));
    }
    begin = good = end + 1;
  }
  taken_.assign(trials_.size(), false);
  return Ok();
}

Result<std::unique_ptr<Journal>> Journal::Open(const std::string& path, const JournalHead& head) {
  std::unique_ptr<Journal> journal(new Journal());
  journal->path_ = path;
  std::error_code ignored;
  const std::string text =
      std::filesystem::exists(path, ignored) ? bench::ReadWhole(path) : std::string();
  std::size_t good = 0;
  HONE_RETURN_IF_ERROR(journal->ReadAll(text, head, good));
  if (good < text.size()) {
    journal->note_ = fmt::format(
        "{}: its last line was cut off ({} bytes) and is dropped; what it said is run again", path,
        text.size() - good);
    if (::truncate(path.c_str(), static_cast<off_t>(good)) != 0) {
      return Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    }
  }
  journal->fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (journal->fd_ < 0) {
    return Error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
  if (good == 0) HONE_RETURN_IF_ERROR(journal->Append(HeadLine(head)));
  return journal;
}

// All of the line or nothing: half a line with another after it could not be read again.
Status Journal::Append(const std::string& line) {
  const std::string whole = line + "\n";
  struct stat before {};
  const bool known = ::fstat(fd_, &before) == 0;
  std::size_t written = 0;
  while (written < whole.size()) {
    const ssize_t part = ::write(fd_, whole.data() + written, whole.size() - written);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) break;
    written += static_cast<std::size_t>(part);
  }
  if (written == whole.size()) return Ok();
  const int why = errno;
  if (known && written > 0) static_cast<void>(::ftruncate(fd_, before.st_size) == 0);
  return Error(fmt::format("{}: cannot be written: {}", path_, std::strerror(why)));
}

std::optional<Trial> Journal::Take(const TrialOrder& order) {
  const std::string key = KeyOf(order);
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    if (taken_[i] || KeyOf(trials_[i].order) != key) continue;
    taken_[i] = true;
    return trials_[i];
  }
  return std::nullopt;
}

Status Journal::Add(const Trial& trial, const Description* description) {
  if (trial.ending == Ending::kInterrupted) return Ok();
  return Append(TrialLine(trial, description));
}

Status Journal::AddDecision(const std::string& about, const std::string& decision) {
  std::ostringstream out;
  JsonWriter json(out);
  json.BeginObject(JsonWriter::Layout::kInline);
  json.Field("line", "decision");
  json.Field("about", about);
  json.Field("decision", decision);
  json.EndObject();
  return Append(out.str());
}

Result<Trial> JournalRunner::Run(const TrialOrder& order, const std::string& purpose) {
  if (std::optional<Trial> kept = journal_.Take(order)) {
    before_s_ += kept->wall_s;
    kept->purpose = purpose;
    kept->order = order;
    return std::move(*kept);
  }
  Result<Trial> trial = runner_.Run(order, purpose);
  if (!trial) return trial;
  described_here_ = described_here_ || order.describe;
  HONE_RETURN_IF_ERROR(journal_.Add(*trial, order.describe ? &runner_.description() : nullptr));
  return trial;
}

const Description& JournalRunner::description() const {
  return described_here_ ? runner_.description() : journal_.description();
}

Result<bench::Benchmark> JournalRunner::Confirm(const ConfirmOrder& order) {
  return runner_.Confirm(order);
}

// A journal that can no longer be written is said by the next trial; a decision is for people.
void JournalListener::Ended(const Trial& trial, const std::string& decision) {
  if (!trial.from_journal) static_cast<void>(journal_.AddDecision(trial.folder, decision));
  listener_.Ended(trial, decision);
}

void JournalListener::Confirmed(const bench::Benchmark& benchmark, const std::string& decision) {
  static_cast<void>(journal_.AddDecision("confirmation", decision));
  listener_.Confirmed(benchmark, decision);
}

}  // namespace hone::tune
