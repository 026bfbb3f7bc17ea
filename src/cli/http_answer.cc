// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/lower_case.h"
#include "cli/page_server.h"

namespace hone::cli {
namespace {

// The page is complete in itself: nothing may be fetched, framed or sent anywhere.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; connect-src data: blob:; worker-src blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string Head(std::string_view status, std::string_view type, std::size_t size) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: "
      "no-referrer\r\n"
      "Content-Security-Policy: {}\r\nConnection: close\r\n\r\n",
      status, type, size, kPolicy);
}

HttpAnswer Refuse(std::string_view status, const std::string& why) {
  return {Head(status, "text/plain", why.size() + 1) + why + "\n", false};
}

std::string_view TakeWord(std::string_view& line) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(std::min(space + 1, line.size()));
  return word;
}

// The value of the only Host header; nullopt: none, or more than one.
std::optional<std::string> HostOf(std::string_view headers) {
  std::optional<std::string> host;
  while (!headers.empty()) {
    const std::size_t end = std::min(headers.find("\r\n"), headers.size());
    const std::string_view line = headers.substr(0, end);
    headers.remove_prefix(std::min(end + 2, headers.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || LowerCase(line.substr(0, colon)) != "host") continue;
    if (host) return std::nullopt;
    const std::size_t first = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    const std::size_t last = line.find_last_not_of(" \t");
    host = last < first ? "" : LowerCase(line.substr(first, last + 1 - first));
  }
  return host;
}

}  // namespace

HttpAnswer AnswerRequest(std::string_view request, std::uint16_t port, std::size_t page_size) {
  const std::size_t end = std::min(request.find("\r\n"), request.size());
  std::string_view line = request.substr(0, end);
  const std::string_view method = TakeWord(line), target = TakeWord(line);
  if (!line.starts_with("HTTP/1.")) return Refuse("400 Bad Request", "not an HTTP/1 request");
  const std::optional<std::string> host = HostOf(request.substr(std::min(end + 2, request.size())));
  const std::string here = fmt::format("127.0.0.1:{}", port);
  if (!host) return Refuse("400 Bad Request", "one Host header is needed: " + here);
  // Any port: behind ssh -L the browser's differs from ours.
  const std::string name = host->substr(0, host->rfind(':'));
  if (name != "127.0.0.1" && name != "localhost") {
    return Refuse("403 Forbidden", fmt::format("this page is at http://{}/ only", here));
  }
  if (target.substr(0, target.find('?')) != "/") {
    return Refuse("404 Not Found", fmt::format("there is only http://{}/", here));
  }
  if (method != "GET" && method != "HEAD") {
    return Refuse("405 Method Not Allowed", "GET and HEAD are answered, nothing else");
  }
  return {Head("200 OK", "text/html", page_size), method == "GET"};
}

}  // namespace hone::cli
