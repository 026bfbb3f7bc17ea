// SPDX-License-Identifier: Apache-2.0
#include "import/kineto/window_reader.h"

#include <algorithm>
#include <cstring>

#include "import/kineto/white_space.h"

namespace hone::importer::kineto {
namespace {

// A window grows while it holds no complete event. The largest event known is a few megabytes
// (a call stack of a deep model); beyond this the file is not what it seems.
constexpr std::size_t kMostWindowBytes = std::size_t{256} << 20;
constexpr std::size_t kQueueLength = 3;

constexpr std::string_view kObjectPrefix = "{\"traceEvents\":[";
constexpr std::string_view kArrayPrefix = "[";
constexpr std::size_t kHeadroom = 64;
// Behind the body: the suffix, and what simdjson may read past the document.
constexpr std::size_t kTail = 8 + kWindowPadding;

// Position of the comma before the last event that starts in `text` behind `from`, or npos.
std::size_t LastCut(std::string_view text, std::size_t from) {
  std::size_t end = text.size();
  while (end > from) {
    const void* found = ::memrchr(text.data() + from, '{', end - from);
    if (found == nullptr) return std::string_view::npos;
    const auto brace = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    end = brace;
    std::size_t back = brace;
    while (back > from && IsSpace(text[back - 1])) --back;
    if (back <= from || text[back - 1] != ',') continue;
    const std::size_t comma = back - 1;
    back = comma;
    while (back > from && IsSpace(text[back - 1])) --back;
    if (back <= from || text[back - 1] != '}') continue;
    if (LooksLikeEventStart(text, brace)) return comma;
  }
  return std::string_view::npos;
}

}  // namespace

bool LooksLikeEventStart(std::string_view text, std::size_t at) {
  static constexpr std::string_view kKeys[] = {"ph",  "cat",  "name", "pid", "tid", "ts",
                                               "dur", "args", "bp",   "s",   "tts", "cname"};
  const std::size_t quote = SkipSpace(text, at + 1);
  if (quote >= text.size() || text[quote] != '"') return false;
  const std::size_t close = text.find('"', quote + 1);
  if (close == std::string_view::npos || close - quote > 8) return false;
  const std::size_t colon = SkipSpace(text, close + 1);
  if (colon >= text.size() || text[colon] != ':') return false;
  const std::string_view key = text.substr(quote + 1, close - quote - 1);
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

WindowReader::WindowReader(ByteSource& source, std::size_t window_bytes)
    : source_(source), window_bytes_(window_bytes) {
  producer_ = std::thread([this] {
    // Nothing of ours throws; out of memory does, and an exception must not leave a thread.
    try {
      Produce();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      gave_up_ = done_ = true;
      changed_.notify_all();
    }
  });
}

WindowReader::~WindowReader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  producer_.join();
}

const Window* WindowReader::Next() {
  std::unique_lock lock(mutex_);
  if (current_) {
    free_.push_back(std::move(current_));
    changed_.notify_all();
  }
  changed_.wait(lock, [this] { return done_ || !ready_.empty(); });
  if (ready_.empty()) return nullptr;
  current_ = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return &current_->window;
}

std::uint64_t WindowReader::input_taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

std::unique_ptr<WindowReader::Buffer> WindowReader::TakeFree() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Buffer> buffer = std::move(free_.back());
      free_.pop_back();
      buffer->used = 0;
      return buffer;
    }
  }
  auto buffer = std::make_unique<Buffer>();
  buffer->bytes.resize(kHeadroom + window_bytes_ + kTail);
  return buffer;
}

bool WindowReader::Hand(std::unique_ptr<Buffer> buffer) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stop_ || ready_.size() < kQueueLength; });
  if (stop_) return false;
  taken_ = source_.input_taken();
  ready_.push_back(std::move(buffer));
  changed_.notify_all();
  return true;
}

void WindowReader::Produce() {
  std::unique_ptr<Buffer> buffer = TakeFree();
  bool first = true, more = true;
  while (more) {
    std::unique_ptr<Buffer> next = TakeFree();
    more = FillAndCut(*buffer, *next);
    buffer->window.first = first;
    first = false;
    buffer->parser.Index(buffer->window.document);
    buffer->window.parser = &buffer->parser;
    if (!Hand(std::move(buffer))) break;
    buffer = std::move(next);
  }
  const std::lock_guard lock(mutex_);
  done_ = true;
  changed_.notify_all();
}

// Fills `buffer` and moves what stands behind the last complete event to `next`. False when the
// buffer holds the end of the file.
bool WindowReader::FillAndCut(Buffer& buffer, Buffer& next) {
  const bool is_first = next_offset_ == 0 && raw_bytes_ == 0;
  while (true) {
    const std::size_t room = buffer.bytes.size() - kHeadroom - kTail - buffer.used;
    const std::size_t got = source_.Read(buffer.bytes.data() + kHeadroom + buffer.used, room);
    raw_bytes_ += got;
    buffer.used += got;
    const std::string_view text(buffer.bytes.data() + kHeadroom, buffer.used);
    if (is_first && text.starts_with("\xEF\xBB\xBF")) {  // a byte order mark counts as space
      std::memset(buffer.bytes.data() + kHeadroom, ' ', 3);
    }
    if (!form_known_) {
      const std::size_t start = SkipSpace(text, 0);
      form_known_ = start < text.size();
      array_form_ = form_known_ && text[start] == '[';
    }
    if (got < room) {
      Seal(buffer, buffer.used, true);
      return false;
    }
    // In the first window only what stands behind the key counts: device lists in the metadata
    // look like events.
    std::size_t from = 0;
    if (is_first && !array_form_) from = text.find("\"traceEvents\"");
    const std::size_t cut = from == std::string_view::npos ? from : LastCut(text, from);
    if (cut != std::string_view::npos) {
      const std::string_view rest = text.substr(cut + 1);
      // The rest is shorter than a window unless one event fills it nearly.
      if (next.bytes.size() < kHeadroom + rest.size() + kTail + window_bytes_ / 2) {
        next.bytes.resize(kHeadroom + rest.size() + kTail + window_bytes_);
      }
      std::memcpy(next.bytes.data() + kHeadroom, rest.data(), rest.size());
      next.used = rest.size();
      Seal(buffer, cut, false);
      next_offset_ += cut + 1;
      return true;
    }
    if (buffer.used >= kMostWindowBytes) {
      gave_up_ = true;
      Seal(buffer, buffer.used, true);
      return false;
    }
    buffer.bytes.resize(kHeadroom + buffer.used * 2 + kTail);
  }
}

void WindowReader::Seal(Buffer& buffer, std::size_t body_bytes, bool last) {
  char* body = buffer.bytes.data() + kHeadroom;
  const bool is_first = next_offset_ == 0;
  std::string_view prefix = "", suffix = "";  // never null: memcpy must not be given one
  if (!is_first) prefix = array_form_ ? kArrayPrefix : kObjectPrefix;
  if (!last) suffix = array_form_ ? "]" : "]}";
  std::memcpy(body - prefix.size(), prefix.data(), prefix.size());
  std::memcpy(body + body_bytes, suffix.data(), suffix.size());
  std::memset(body + body_bytes + suffix.size(), ' ', kTail - suffix.size());
  buffer.window = Window{};
  buffer.window.document = {body - prefix.size(), prefix.size() + body_bytes + suffix.size()};
  buffer.window.body = {body, body_bytes};
  buffer.window.offset = next_offset_;
  buffer.window.last = last;
}

}  // namespace hone::importer::kineto
