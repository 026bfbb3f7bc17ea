// SPDX-License-Identifier: Apache-2.0
// For tests only: small exports made by SQL.
#pragma once

#include <sqlite3.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "base/check.h"
#include "import/import.h"

namespace hone::importer::nsys {

// The bytes of a database that these statements make.
inline std::string MakeImage(const std::string& sql) {
  sqlite3* handle = nullptr;
  HONE_CHECK(sqlite3_open(":memory:", &handle) == SQLITE_OK);
  char* trouble = nullptr;
  if (sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &trouble) != SQLITE_OK) {
    std::fprintf(stderr, "the test's SQL is wrong: %s\n", trouble);
    HONE_CHECK(false);
  }
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(handle, "main", &size, 0);
  std::string image(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(handle);
  return image;
}

inline trace::Trace MustLoad(const std::string& sql) {
  Result<trace::Trace> loaded = LoadNsysImage(MakeImage(sql), "test.sqlite");
  if (!loaded) std::fprintf(stderr, "%s\n", loaded.error().message().c_str());
  return std::move(loaded).value();
}

inline std::string ErrorOf(std::string_view image) {
  const Result<trace::Trace> loaded = LoadNsysImage(image, "test.sqlite");
  return loaded ? "(loaded)" : loaded.error().message();
}

// Process p, thread t as the exporter packs them.
inline std::string Tid(std::int64_t p, std::int64_t t) {
  return std::to_string((std::int64_t{1} << 48) + (p << 24) + t);
}
inline std::string Pid(std::int64_t p) { return Tid(p, 0); }

// Tables as Nsight Systems 2026 declares them, without the columns that hone does not read.
inline constexpr const char* kFullSchema = R"sql(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, registersPerThread INTEGER,
  gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
  staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, graphNodeId INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER,
  srcDeviceId INTEGER, dstDeviceId INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL,
  callchainId INTEGER);
CREATE TABLE NVTX_EVENTS (
  start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, text TEXT,
  globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
)sql";

}  // namespace hone::importer::nsys
