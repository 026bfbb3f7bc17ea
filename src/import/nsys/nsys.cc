// SPDX-License-Identifier: Apache-2.0
// Nsight Systems SQLite exports: the door.
#include <fmt/format.h>

#include <exception>

#include "import/import.h"
#include "import/nsys/session.h"

namespace hone::importer {
namespace nsys {
namespace {

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kNvtx = "NVTX_EVENTS";

// nvprof's databases have tables of the same names with other columns and other numbers in them
// (kinds of memory, for one). Each of its tables has a key "_id_", and its strings have a table of
// their own; no export of Nsight Systems has either.
bool IsNvprof(const Database& database) {
  return database.HasColumn("StringTable", "_id_") && !database.HasTable("StringIds");
}

Status CheckIsExport(const Database& database) {
  if (IsNvprof(database)) {
    return Error(
        "a database of nvprof, which hone does not read (its tables carry the names of Nsight "
        "Systems' and other contents); record again with nsys profile --trace=cuda,nvtx and export "
        "with nsys export --type sqlite REPORT.nsys-rep");
  }
  if (database.HasTablePrefix("CUPTI_ACTIVITY_KIND_") || database.HasTable(kNvtx) ||
      database.HasTable("OSRT_API")) {
    return Ok();
  }
  if (database.HasTable("META_DATA_EXPORT") && database.HasTable("StringIds")) {
    return Error(
        "an Nsight Systems export without CUDA, NVTX or OS runtime events; record again with nsys "
        "profile --trace=cuda,nvtx,osrt");
  }
  return Error(
      fmt::format("not an Nsight Systems export (no CUPTI or NVTX tables); {}", kExportAgain));
}

// Tables come into being with their first event, so an absent copy table means no copies. Only
// what every answer stands on is missed.
void NoteMissing(Session& session) {
  const Database& database = session.database;
  const auto need = [&](const char* table, std::initializer_list<const char*> columns) {
    if (!database.HasTable(table)) {
      session.missing.emplace_back(table);
      return;
    }
    for (const char* column : columns) {
      if (!database.HasColumn(table, column)) {
        session.missing.push_back(fmt::format("{}.{}", table, column));
      }
    }
  };
  if (database.HasTable(kKernels) || !database.HasTable(kGraphs)) {
    need(kKernels, {"start", "end", "deviceId", "streamId", "correlationId"});
  }
  need(kCalls, {"start", "end", "correlationId"});
  need(kNvtx, {"start", "end"});
  need("StringIds", {"id", "value"});
  if (!database.HasTable("TARGET_INFO_GPU") && !database.HasTable(kOldGpuTable)) {
    session.builder.trace().losses.Add(LossKind::kUnreadableMetadata, 1, 0,
                                       "table TARGET_INFO_GPU (names of the GPUs)");
  }
  std::string detail;
  for (const std::string& name : session.missing) {
    detail += (detail.empty() ? "" : ", ") + name;
  }
  session.builder.trace().losses.Add(LossKind::kMissingTable, session.missing.size(), 0, detail);
}

Result<trace::Trace> Load(Result<Database> opened, const std::string& name,
                          const ImportOptions& options) {
  if (!opened) return std::move(opened).error();
  Database& database = *opened;
  HONE_RETURN_IF_ERROR(CheckIsExport(database));
  database.ReportProgress(
      {"StringIds", kCalls, kNvtx, "OSRT_API", kKernels, "CUPTI_ACTIVITY_KIND_MEMCPY",
       "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kGraphs,
       "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_OVERHEAD"},
      options.progress);
  Session session(database);
  trace::TraceInfo& info = session.builder.trace().info;
  info.path = name;
  info.format = trace::Format::kNsys;
  info.input_bytes = info.raw_bytes = database.bytes();
  session.joins_by_process =
      database.HasColumn(kCalls, "globalTid") || database.HasColumn(kCalls, "globalPid");

  NoteMissing(session);
  ReadMetadata(session);
  session.strings.Load(database);
  ReadHostCalls(session);
  ReadNvtx(session);
  ReadDeviceWork(session);
  ReadSyncs(session);
  NameThreads(session);

  const trace::Trace& trace = session.builder.trace();
  if (database.damaged() && trace.host.size() + trace.device.size() == 0) {
    return Error(fmt::format("a damaged Nsight Systems export without one readable event ({}); {}",
                             database.damage(), kExportAgain));
  }
  info.events_seen = database.rows_read();
  session.builder.trace().losses.Merge(database.losses());
  if (options.progress) options.progress(database.bytes(), database.bytes());
  return std::move(session.builder).Finish();
}

// The door: SQLite does not throw, the standard library may when memory runs out.
Result<trace::Trace> LoadGuarded(const std::string& name, const ImportOptions& options,
                                 const std::function<Result<Database>()>& open) {
  try {
    Result<trace::Trace> loaded = Load(open(), name, options);
    if (!loaded) return std::move(loaded).error().WithContext(name);
    return loaded;
  } catch (const std::exception& trouble) {
    return Error(fmt::format("{}: cannot be loaded ({}); free some memory and try again", name,
                             trouble.what()));
  }
}

}  // namespace
}  // namespace nsys

Result<trace::Trace> LoadNsys(const std::string& path, const ImportOptions& options) {
  return nsys::LoadGuarded(path, options, [&] { return nsys::Database::OpenFile(path); });
}

Result<trace::Trace> LoadNsysImage(std::string_view database, const std::string& name) {
  return nsys::LoadGuarded(name, {}, [&] { return nsys::Database::OpenImage(database); });
}

}  // namespace hone::importer
