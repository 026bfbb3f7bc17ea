// SPDX-License-Identifier: Apache-2.0
#include "cli/page_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

namespace hone::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostConnections = 64;  // a browser opens six, and some to be early
constexpr std::size_t kMostRequest = 16'384;  // bytes of one request's head
// A browser that asks for nothing, or stops reading, gives its place up.
constexpr std::chrono::seconds kPatience{30};

// One request and its answer. A connection is done after one.
class Connection {
 public:
  Connection(int fd, std::uint16_t port, std::string_view page)
      : fd_(fd), port_(port), page_(page), active_(Clock::now()) {}
  Connection(Connection&& other) noexcept { *this = std::move(other); }
  Connection& operator=(Connection&& other) noexcept {
    std::swap(fd_, other.fd_);
    port_ = other.port_;
    page_ = other.page_;
    active_ = other.active_;
    request_ = std::move(other.request_);
    head_ = std::move(other.head_);
    body_ = other.body_;
    answering_ = other.answering_;
    sent_ = other.sent_;
    return *this;
  }
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }

  pollfd Wanted() const { return {fd_, static_cast<short>(answering_ ? POLLOUT : POLLIN), 0}; }
  bool OutOfPatience() const { return Clock::now() - active_ > kPatience; }

  // False: done with it.
  bool Go() {
    active_ = Clock::now();
    return answering_ ? Send() : Receive();
  }

 private:
  bool Receive() {
    char bytes[4096];
    const ssize_t got = ::recv(fd_, bytes, sizeof(bytes), 0);
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    request_.append(bytes, static_cast<std::size_t>(got));
    const std::size_t end = request_.find("\r\n\r\n");
    if (end == std::string::npos && request_.size() < kMostRequest) return true;
    // What is too long has no end that we know of, and is answered as the bad request it is.
    const HttpAnswer answer =
        AnswerRequest(end == std::string::npos ? "" : std::string_view(request_).substr(0, end + 2),
                      port_, page_.size());
    head_ = answer.head;
    body_ = answer.with_page ? page_ : std::string_view();
    answering_ = true;
    return Send();
  }

  bool Send() {
    while (sent_ < head_.size() + body_.size()) {
      const bool in_head = sent_ < head_.size();
      const std::string_view rest =
          in_head ? std::string_view(head_).substr(sent_) : body_.substr(sent_ - head_.size());
      const ssize_t put = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (put < 0) return errno == EAGAIN || errno == EINTR;
      sent_ += static_cast<std::size_t>(put);
    }
    ::shutdown(fd_, SHUT_WR);
    return false;
  }

  int fd_ = -1;
  std::uint16_t port_ = 0;
  std::string_view page_;
  Clock::time_point active_;
  std::string request_, head_;
  std::string_view body_;
  bool answering_ = false;
  std::size_t sent_ = 0;  // of head and body
};

Error ListenError(std::uint16_t port, int error) {
  if (error == EADDRINUSE) {
    return Error(fmt::format(
        "port {} is taken by another program; without --port hone view takes a free one", port));
  }
  return Error(fmt::format("port {} cannot be used: {}; without --port hone view takes a free one",
                           port, std::strerror(error)));
}

// What accept() says of the process or the machine, not of who asked.
bool OutOfRoom(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// What it says of one who has gone again, and where there is nobody after all.
bool OfOneConnection(int error) {
  return error == EAGAIN || error == EINTR || error == ECONNABORTED || error == EPROTO ||
         error == ENETDOWN || error == EHOSTDOWN || error == ENONET || error == EHOSTUNREACH ||
         error == EOPNOTSUPP || error == ENETUNREACH;
}

}  // namespace

Result<PageServer> PageServer::Listen(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return ListenError(port, errno);
  PageServer server(fd, port);
  // A port whose last connections are still winding up is free for us.
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd, plain, size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, plain, &size) != 0) {
    return ListenError(port, errno);
  }
  server.port_ = ntohs(address.sin_port);
  return server;
}

PageServer::PageServer(PageServer&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}

PageServer::~PageServer() {
  if (fd_ >= 0) ::close(fd_);
}

std::string PageServer::url() const { return fmt::format("http://127.0.0.1:{}/", port_); }

Status PageServer::Serve(std::string_view page, int stop_fd) {
  std::vector<Connection> connections;
  std::vector<pollfd> wanted;
  bool room = true;
  while (true) {
    room = room && connections.size() < kMostConnections;
    wanted = {{stop_fd, POLLIN, 0}, {fd_, static_cast<short>(room ? POLLIN : 0), 0}};
    for (const Connection& connection : connections) wanted.push_back(connection.Wanted());
    constexpr int kLookMillis = 1000;  // for those that ran out of patience
    if (::poll(wanted.data(), wanted.size(), kLookMillis) < 0) {
      if (errno == EINTR) continue;
      return Error(fmt::format("waiting for the browser failed: {}", std::strerror(errno)));
    }
    if (wanted[0].revents != 0) return Ok();
    room = true;
    std::vector<Connection> going;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      const bool ready = wanted[i + 2].revents != 0;
      if (ready ? connections[i].Go() : !connections[i].OutOfPatience()) {
        going.push_back(std::move(connections[i]));
      }
    }
    connections = std::move(going);
    if (wanted[1].revents == 0) continue;
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      connections.emplace_back(fd, port_, page);
    } else if (OutOfRoom(errno)) {
      room = false;  // until one has ended, or a second has passed
    } else if (!OfOneConnection(errno)) {
      return Error(fmt::format("no browser can be answered any more: {}", std::strerror(errno)));
    }
  }
}

}  // namespace hone::cli
