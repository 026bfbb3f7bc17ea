// SPDX-License-Identifier: Apache-2.0
// The tables of a .hone file: what a recorded process leaves behind, column by column.
//
// A file says its own schema (FileWriter writes it first), so a reader takes columns by name, skips
// tables and columns it does not know, and reads absent columns as 0 or "". Ids in files are
// stable: never reuse a number, never change the meaning of a column; add new ones at the end.
//
// Times are raw ticks of the recorder's clock (clock table: ticks against monotonic and wall time).
// Names are ids of the strings table, which stands before its first use in the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hone::wire {

enum class Encoding : std::uint8_t {
  kDelta = 0,   // zigzag varint of the difference to the row before
  kValue = 1,   // zigzag varint of the value
  kText = 2,    // varint length, bytes
  kDouble = 3,  // 8 bytes, little endian
};

struct ColumnSpec {
  const char* name;
  Encoding encoding;
};

enum class Table : std::uint16_t {
  kSchema = 0,  // reserved: table number, table name, column number, column name, encoding
  kInfo = 1,    // what the process is: key, value
  kClock = 2,
  kStrings = 3,
  kThreads = 4,
  kHost = 5,
  kApi = 6,
  kKernels = 7,
  kCopies = 8,
  kSets = 9,
  kSyncs = 10,
  kGraphs = 11,
  kOverhead = 12,
  kDriverMemory = 13,
  kMemory = 14,
  kCode = 15,
  kFrames = 16,
  kSamples = 17,
  kArguments = 18,
  kCounters = 19,
  kMarks = 20,
  kLosses = 21,
  kDevices = 22,
  kCollectives = 23,
};
inline constexpr std::size_t kTableCount = 24;

// What a row of kHost is.
enum class HostKind : std::uint8_t {
  kOp = 0,        // an operator of the framework (RecordFunction scope FUNCTION)
  kBackward = 1,  // an autograd node (scope BACKWARD_FUNCTION)
  kUser = 2,      // record_function, DataLoader, Optimizer.step#… (scope USER_SCOPE)
  kRange = 3,     // NVTX range, hone.region
  kLoader = 4,    // hone's own marks in the loader: "fetch", "collate", …
  kOther = 5,
};

enum class MarkKind : std::uint8_t {
  kWindowOpen = 0,   // value: number of the window
  kWindowClose = 1,  // text, where the end of the process cut it short
  kStep = 2,         // hone.step(): value: its number
  kGapOpen = 3,  // recording of `text` ("cuda") yields to another tool; why in `text` after ": "
  kGapClose = 4,
  kFork = 5,  // value: pid of the child
  kEnd = 6,   // the file is complete: the process ended in order
  // After a window closed, both: nanoseconds a step, the mean by the same signs; text: how many.
  kRecordedSteps = 7,  // the window's steady ones
  kBareSteps = 8,      // those that followed it, when nothing was recorded
};
inline constexpr MarkKind kLastMarkKind = MarkKind::kBareSteps;

inline constexpr ColumnSpec kSchemaColumns[] = {{"table", Encoding::kDelta},
                                                {"table_name", Encoding::kText},
                                                {"column", Encoding::kValue},
                                                {"column_name", Encoding::kText},
                                                {"encoding", Encoding::kValue}};
inline constexpr ColumnSpec kInfoColumns[] = {{"key", Encoding::kText}, {"value", Encoding::kText}};
inline constexpr ColumnSpec kClockColumns[] = {{"ticks", Encoding::kDelta},
                                               {"monotonic_ns", Encoding::kDelta},
                                               {"realtime_ns", Encoding::kDelta}};
inline constexpr ColumnSpec kStringsColumns[] = {{"id", Encoding::kDelta},
                                                 {"text", Encoding::kText}};
inline constexpr ColumnSpec kThreadsColumns[] = {{"tid", Encoding::kDelta},
                                                 {"name", Encoding::kText}};
// Rows are in order of their ends. frame: innermost row of kFrames outside the framework at the
// start (0: not taken). sequence: autograd's number (-1: none or not taken). forward_tid: of the
// forward operator a backward one belongs to (0: none or not taken). arguments: row id of
// kArguments (0: not taken). end_tid: 0 when it ended on the thread it began on.
inline constexpr ColumnSpec kHostColumns[] = {
    {"tid", Encoding::kDelta},       {"start", Encoding::kDelta},
    {"duration", Encoding::kValue},  {"name", Encoding::kValue},
    {"kind", Encoding::kValue},      {"frame", Encoding::kDelta},
    {"sequence", Encoding::kDelta},  {"forward_tid", Encoding::kValue},
    {"arguments", Encoding::kValue}, {"end_tid", Encoding::kValue}};
// domain: 1 driver, 2 runtime. cbid as CUPTI numbers it; name: that of the function.
inline constexpr ColumnSpec kApiColumns[] = {
    {"tid", Encoding::kDelta},         {"start", Encoding::kDelta},  {"duration", Encoding::kValue},
    {"domain", Encoding::kValue},      {"cbid", Encoding::kValue},   {"name", Encoding::kValue},
    {"correlation", Encoding::kDelta}, {"result", Encoding::kValue}, {"frame", Encoding::kDelta}};
// start and duration 0: the device's time was not collected. name: mangled, as CUPTI gives it.
inline constexpr ColumnSpec kKernelsColumns[] = {
    {"start", Encoding::kDelta},         {"duration", Encoding::kValue},
    {"device", Encoding::kValue},        {"context", Encoding::kValue},
    {"stream", Encoding::kDelta},        {"correlation", Encoding::kDelta},
    {"name", Encoding::kValue},          {"grid_x", Encoding::kValue},
    {"grid_y", Encoding::kValue},        {"grid_z", Encoding::kValue},
    {"block_x", Encoding::kValue},       {"block_y", Encoding::kValue},
    {"block_z", Encoding::kValue},       {"registers", Encoding::kValue},
    {"static_shared", Encoding::kValue}, {"dynamic_shared", Encoding::kValue},
    {"graph", Encoding::kValue},         {"graph_node", Encoding::kDelta}};
// copy_kind, source_kind, target_kind as CUPTI numbers them. target_device: -1 but for peer copies.
inline constexpr ColumnSpec kCopiesColumns[] = {
    {"start", Encoding::kDelta},         {"duration", Encoding::kValue},
    {"device", Encoding::kValue},        {"context", Encoding::kValue},
    {"stream", Encoding::kDelta},        {"correlation", Encoding::kDelta},
    {"bytes", Encoding::kValue},         {"copy_kind", Encoding::kValue},
    {"source_kind", Encoding::kValue},   {"target_kind", Encoding::kValue},
    {"target_device", Encoding::kValue}, {"graph", Encoding::kValue},
    {"graph_node", Encoding::kDelta}};
inline constexpr ColumnSpec kSetsColumns[] = {
    {"start", Encoding::kDelta},  {"duration", Encoding::kValue},
    {"device", Encoding::kValue}, {"context", Encoding::kValue},
    {"stream", Encoding::kDelta}, {"correlation", Encoding::kDelta},
    {"bytes", Encoding::kValue},  {"memory_kind", Encoding::kValue},
    {"graph", Encoding::kValue},  {"graph_node", Encoding::kDelta}};
// type as CUPTI's CUpti_ActivitySynchronizationType. stream: -1 for all.
inline constexpr ColumnSpec kSyncsColumns[] = {
    {"start", Encoding::kDelta},  {"duration", Encoding::kValue},
    {"type", Encoding::kValue},   {"context", Encoding::kValue},
    {"stream", Encoding::kValue}, {"correlation", Encoding::kDelta},
    {"event", Encoding::kValue}};
// A CUDA graph launched as one piece.
inline constexpr ColumnSpec kGraphsColumns[] = {
    {"start", Encoding::kDelta},  {"duration", Encoding::kValue},    {"device", Encoding::kValue},
    {"stream", Encoding::kDelta}, {"correlation", Encoding::kDelta}, {"graph", Encoding::kValue}};
// The recorder's own work, as CUPTI says it.
inline constexpr ColumnSpec kOverheadColumns[] = {{"start", Encoding::kDelta},
                                                  {"duration", Encoding::kValue},
                                                  {"kind", Encoding::kValue},
                                                  {"tid", Encoding::kValue}};
// cudaMalloc and its relatives outside the framework's allocator. bytes below 0: freed.
inline constexpr ColumnSpec kDriverMemoryColumns[] = {
    {"time", Encoding::kDelta},   {"address", Encoding::kDelta},
    {"bytes", Encoding::kValue},  {"memory_kind", Encoding::kValue},
    {"device", Encoding::kValue}, {"correlation", Encoding::kDelta},
    {"pid", Encoding::kValue}};
// The framework's allocators. device_type as c10::DeviceType (0 CPU, 1 CUDA). bytes below 0: freed
// (CPU frees may not know their size: bytes 0, freed 1). Totals after the event, -1: not given.
// oom 1: the allocation of `bytes` failed.
inline constexpr ColumnSpec kMemoryColumns[] = {
    {"tid", Encoding::kDelta},         {"time", Encoding::kDelta},
    {"device_type", Encoding::kValue}, {"device", Encoding::kValue},
    {"address", Encoding::kDelta},     {"bytes", Encoding::kValue},
    {"freed", Encoding::kValue},       {"allocated", Encoding::kDelta},
    {"reserved", Encoding::kDelta},    {"frame", Encoding::kDelta},
    {"oom", Encoding::kValue}};
// A function of Python. Ids count from 1 in this file.
inline constexpr ColumnSpec kCodeColumns[] = {{"id", Encoding::kDelta},
                                              {"file", Encoding::kText},
                                              {"function", Encoding::kText},
                                              {"first_line", Encoding::kValue}};
// Call stacks as a tree: a frame is a line of a function, called from `caller` (0: outermost).
// Ids count from 1 and a caller stands before its callees.
inline constexpr ColumnSpec kFramesColumns[] = {{"id", Encoding::kDelta},
                                                {"caller", Encoding::kDelta},
                                                {"code", Encoding::kValue},
                                                {"line", Encoding::kValue}};
// state: 0 unknown, 1 running on a core, 2 waiting. period: ticks this sample stands for.
inline constexpr ColumnSpec kSamplesColumns[] = {{"tid", Encoding::kValue},
                                                 {"time", Encoding::kDelta},
                                                 {"frame", Encoding::kDelta},
                                                 {"state", Encoding::kValue},
                                                 {"period", Encoding::kValue}};
// Arguments of operators, each distinct one once: JSON text as Kineto writes it.
inline constexpr ColumnSpec kArgumentsColumns[] = {{"id", Encoding::kDelta},
                                                   {"dims", Encoding::kText},
                                                   {"types", Encoding::kText},
                                                   {"concrete", Encoding::kText}};
// track: what it is of ("process 123", "GPU 0", "machine"); series: "rss_bytes", …
inline constexpr ColumnSpec kCountersColumns[] = {{"time", Encoding::kDelta},
                                                  {"track", Encoding::kValue},
                                                  {"series", Encoding::kValue},
                                                  {"value", Encoding::kDouble}};
inline constexpr ColumnSpec kMarksColumns[] = {{"time", Encoding::kDelta},
                                               {"kind", Encoding::kValue},
                                               {"value", Encoding::kValue},
                                               {"text", Encoding::kText}};
// What was not recorded, and why. Counts add up over rows of equal `what`.
inline constexpr ColumnSpec kLossesColumns[] = {
    {"what", Encoding::kText}, {"count", Encoding::kValue}, {"detail", Encoding::kText}};
inline constexpr ColumnSpec kDevicesColumns[] = {
    {"device", Encoding::kValue}, {"key", Encoding::kText}, {"value", Encoding::kText}};
inline constexpr ColumnSpec kCollectivesColumns[] = {
    {"start", Encoding::kDelta},        {"duration", Encoding::kValue},
    {"tid", Encoding::kValue},          {"name", Encoding::kValue},
    {"dtype", Encoding::kValue},        {"count", Encoding::kValue},
    {"communicator", Encoding::kValue}, {"rank", Encoding::kValue},
    {"ranks", Encoding::kValue},        {"sequence", Encoding::kDelta},
    {"algorithm", Encoding::kValue},    {"protocol", Encoding::kValue}};

struct TableSpec {
  Table id;
  const char* name;
  std::span<const ColumnSpec> columns;
};

// Index = number of the table.
inline constexpr TableSpec kTables[kTableCount] = {
    {Table::kSchema, "schema", kSchemaColumns},
    {Table::kInfo, "info", kInfoColumns},
    {Table::kClock, "clock", kClockColumns},
    {Table::kStrings, "strings", kStringsColumns},
    {Table::kThreads, "threads", kThreadsColumns},
    {Table::kHost, "host", kHostColumns},
    {Table::kApi, "api", kApiColumns},
    {Table::kKernels, "kernels", kKernelsColumns},
    {Table::kCopies, "copies", kCopiesColumns},
    {Table::kSets, "sets", kSetsColumns},
    {Table::kSyncs, "syncs", kSyncsColumns},
    {Table::kGraphs, "graphs", kGraphsColumns},
    {Table::kOverhead, "overhead", kOverheadColumns},
    {Table::kDriverMemory, "driver_memory", kDriverMemoryColumns},
    {Table::kMemory, "memory", kMemoryColumns},
    {Table::kCode, "code", kCodeColumns},
    {Table::kFrames, "frames", kFramesColumns},
    {Table::kSamples, "samples", kSamplesColumns},
    {Table::kArguments, "arguments", kArgumentsColumns},
    {Table::kCounters, "counters", kCountersColumns},
    {Table::kMarks, "marks", kMarksColumns},
    {Table::kLosses, "losses", kLossesColumns},
    {Table::kDevices, "devices", kDevicesColumns},
    {Table::kCollectives, "collectives", kCollectivesColumns},
};

}  // namespace hone::wire
