// SPDX-License-Identifier: Apache-2.0
// Opening: telling an Nsight export from everything else that ends in .sqlite, and switching off
// every part of SQLite that a file could use against its reader.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "import/nsys/database.h"

namespace hone::importer::nsys {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kHeaderBytes = 100;

// A path as a URI: the only way to ask SQLite for `immutable`, which opens files in read-only
// folders and ignores a -wal or -journal that an interrupted program left beside them.
std::string ToUri(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_' || c == '~';
    if (plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri + "?immutable=1";
}

void Harden(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 1 << 28);
  sqlite3_exec(handle, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", nullptr, nullptr, nullptr);
}

// SQLite refuses a file shorter than its header says, and one with a single bad line in its schema.
// With a writable schema it reads what is there, which is what a half-copied file has to offer.
// Nothing can be written: the connection is read-only.
void AllowDamage(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
}

constexpr int kInstructionsPerTick = 10'000;
int Spend(void* work_left) {
  auto* left = static_cast<std::uint64_t*>(work_left);
  if (*left == 0) return 1;
  --*left;
  return 0;
}

std::string Printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += c >= ' ' && c <= '~' ? c : '.';
  return text;
}

}  // namespace

std::string DescribeHeader(std::string_view first) {
  if (first.empty()) return fmt::format("the file is empty; {}", kExportAgain);
  if (first.find_first_not_of('\0') == std::string_view::npos) {
    return fmt::format("the file starts with zero bytes, as an interrupted export leaves it; {}",
                       kExportAgain);
  }
  if (!first.starts_with(kMagic)) {
    return fmt::format("not a SQLite database (it starts with \"{}\"); {}",
                       Printable(first.substr(0, 16)), kExportAgain);
  }
  if (first.size() < kHeaderBytes) {
    return fmt::format("the file ends after {} bytes, inside the SQLite header; {}", first.size(),
                       kExportAgain);
  }
  return {};
}

// Stops SQLite where it loops without giving rows. Real scans take about one instruction a byte.
void Database::LimitWork() {
  work_left_ = std::make_unique<std::uint64_t>(500 + bytes_ * 64 / kInstructionsPerTick);
  sqlite3_progress_handler(handle_.get(), kInstructionsPerTick, Spend, work_left_.get());
}

Result<Database> Database::Prepare(Handle handle, std::uint64_t bytes) {
  Harden(handle.get());
  Database database(std::move(handle), bytes);
  database.LimitWork();
  if (database.ReadSchema()) return database;
  const std::string why = sqlite3_errmsg(database.handle_.get());
  AllowDamage(database.handle_.get());
  database.tables_.clear();
  if (database.ReadSchema() && !database.tables_.empty()) {
    database.damage_ = fmt::format("part of the file is damaged (SQLite says: {})", why);
    database.losses_.Add(LossKind::kTruncatedInput, 1, 0, database.damage_);
    return database;
  }
  return Error(
      fmt::format("a SQLite header, but what follows is damaged (SQLite says: {}), as an "
                  "interrupted export or copy leaves it; {}",
                  why, kExportAgain));
}

Result<Database> Database::OpenFile(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    return Error(fmt::format("cannot be opened ({}); check the path", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return Error(fmt::format("not a regular file; {}", kExportAgain));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error(fmt::format("cannot be read ({}); check its permissions", std::strerror(errno)));
  }
  std::string first(kHeaderBytes, '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  if (std::string trouble = DescribeHeader(first); !trouble.empty()) {
    return Error(std::move(trouble));
  }
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(ToUri(path).c_str(), &raw,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  Handle handle(raw);
  if (code != SQLITE_OK) {
    return Error(fmt::format("SQLite cannot open it ({}); {}",
                             raw != nullptr ? sqlite3_errmsg(raw) : "out of memory", kExportAgain));
  }
  return Prepare(std::move(handle), static_cast<std::uint64_t>(status.st_size));
}

Result<Database> Database::OpenImage(std::string_view bytes) {
  if (std::string trouble = DescribeHeader(bytes.substr(0, kHeaderBytes)); !trouble.empty()) {
    return Error(std::move(trouble));
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      ":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
  Handle handle(raw);
  if (code != SQLITE_OK) return Error("SQLite cannot start (out of memory); free some memory");
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size()));
  if (copy == nullptr) return Error("not enough memory for the image; free some memory");
  std::memcpy(copy, bytes.data(), bytes.size());
  // Bytes 18 and 19 ask for a write-ahead log (2), which memory does not have.
  for (const std::size_t version : {18, 19}) {
    if (copy[version] == 2) copy[version] = 1;
  }
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(raw, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) !=
      SQLITE_OK) {
    return Error(fmt::format("SQLite cannot open it ({}); {}", sqlite3_errmsg(raw), kExportAgain));
  }
  return Prepare(std::move(handle), bytes.size());
}

}  // namespace hone::importer::nsys
