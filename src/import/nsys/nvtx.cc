// SPDX-License-Identifier: Apache-2.0
// NVTX_EVENTS: ranges, marks and operators (PyTorch's emit_nvtx, nsys --pytorch=autograd-nvtx).
#include "import/nsys/nvtx_name.h"
#include "import/nsys/session.h"

namespace hone::importer::nsys {
namespace {

// ENUM_NSYS_EVENT_TYPE of Nsight Systems 2026.2; the numbers have not changed since 2018.
enum EventType : std::int64_t {
  kCategory = 33,
  kMark = 34,
  kThread = 39,
  kPushPop = 59,
  kStartEnd = 60,
  kTextMark = 65,  // 64 to 74: ranges imported from .nvtxt files
  kTextPushPop = 70,
  kTextStartEnd = 71,
  kDomainCreate = 75,
  kDomainDestroy = 76,
  kNameDevice = 97,
  kNameStream = 99,
};

enum Column { kStart, kEnd, kType, kText, kTextId, kTid, kEndTid, kPid };

std::string_view TextOf(const Session& session, const Row& row) {
  if (row.Has(kText)) return row.Text(kText);
  return session.strings.Resolve(row, kTextId);
}

void AddRange(Session& session, const Row& row, bool push_pop) {
  trace::Builder& builder = session.builder;
  if (!row.Has(kEnd)) {
    builder.trace().losses.Add(LossKind::kUnclosedRange, 1, 0, TextOf(session, row));
    return;
  }
  Span span;
  if (!session.ReadSpan(row, kStart, kEnd, span)) return;
  trace::SliceInput slice;
  slice.start_ns = span.start_ns;
  slice.duration_ns = span.duration_ns;
  slice.thread = session.ThreadOf(row, kTid, kPid);
  // A range that ends on another thread is no part of any call stack: its own track.
  if (!push_pop && row.Has(kTid) && row.Has(kEndTid) && row.Int(kEndTid) != row.Int(kTid)) {
    slice.thread = builder.ThreadFor(PidOf(row.Int(kTid)), -1);
  }
  const NvtxName parsed = ParseNvtxName(TextOf(session, row));
  slice.name = builder.Intern(parsed.name);
  slice.kind = parsed.is_operator ? trace::SliceKind::kOp : trace::SliceKind::kAnnotation;
  if (parsed.is_operator) {
    slice.link = parsed.sequence;
    if (!parsed.sizes.empty()) {
      trace::OpDetail detail;
      detail.dims = builder.Intern(parsed.sizes);
      slice.detail = builder.Detail(detail);
    }
  }
  builder.Add(slice);
}

void AddMark(Session& session, const Row& row) {
  Nanos time = 0;
  if (!session.ReadTime(row, kStart, time)) return;
  session.builder.AddInstant(time, session.builder.Intern(TextOf(session, row)),
                             session.ThreadOf(row, kTid, kPid));
}

bool IsMetadata(std::int64_t type) {
  return type == kCategory || type == kThread || type == kDomainCreate || type == kDomainDestroy ||
         (type >= kNameDevice && type <= kNameStream) || (type >= 64 && type <= 74);
}

}  // namespace

void ReadNvtx(Session& session) {
  session.database.Scan(
      "NVTX_EVENTS",
      {"start", "end", "eventType", "text", "textId", "globalTid", "endGlobalTid", "globalPid"},
      [&](const Row& row) {
        // Without the column every row with two times is a range.
        switch (const std::int64_t type = row.Int(kType, kPushPop)) {
          case kPushPop:
          case kTextPushPop: return AddRange(session, row, true);
          case kStartEnd:
          case kTextStartEnd: return AddRange(session, row, false);
          case kMark:
          case kTextMark: return AddMark(session, row);
          default:
            if (!IsMetadata(type)) session.builder.trace().losses.Add(LossKind::kUnknownEvent);
        }
      });
}

}  // namespace hone::importer::nsys
