// SPDX-License-Identifier: Apache-2.0
// PageServer: one page over HTTP, for browsers on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone::cli {

// Listens on 127.0.0.1 and nowhere else. Answers GET and HEAD of "/" for a Host that means this
// machine (127.0.0.1, localhost): a page of another site whose name was pointed here (DNS
// rebinding) gets nothing.
class PageServer {
 public:
  static Result<PageServer> Listen(std::uint16_t port);  // 0: any that is free
  PageServer(PageServer&& other) noexcept;
  PageServer& operator=(PageServer&&) = delete;
  ~PageServer();

  std::uint16_t port() const { return port_; }
  std::string url() const;

  // Until `stop_fd` can be read. One thread; connections take turns, none can hold up another. Who
  // comes while the process has no descriptor left waits. The error is the system's.
  Status Serve(std::string_view page, int stop_fd);

 private:
  PageServer(int fd, std::uint16_t port) : fd_(fd), port_(port) {}

  int fd_;
  std::uint16_t port_;
};

// What a request is answered with; `request` ends with its empty line. For a HEAD, and for all but
// 200, `page` is not part of it.
struct HttpAnswer {
  std::string head;  // status line and headers, and the text of an error
  bool with_page = false;
};
HttpAnswer AnswerRequest(std::string_view request, std::uint16_t port, std::size_t page_size);

}  // namespace hone::cli
