// SPDX-License-Identifier: Apache-2.0
#include "cli/page_server.h"

#include <gtest/gtest.h>

namespace hone::cli {
namespace {

std::string Status(const std::string& request) {
  const std::string head = AnswerRequest(request, 8080, 5).head;
  return head.substr(0, head.find('\r'));
}

TEST(HttpAnswer, OnlyThisMachineAndOnlyThePage) {
  const HttpAnswer page = AnswerRequest("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n", 8080, 5);
  EXPECT_TRUE(page.with_page);
  EXPECT_NE(page.head.find("HTTP/1.1 200 OK\r\n"), std::string::npos);
  EXPECT_NE(page.head.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_TRUE(page.head.ends_with("\r\n\r\n"));
  EXPECT_FALSE(AnswerRequest("HEAD / HTTP/1.1\r\nHost: localhost\r\n", 8080, 5).with_page);
  // Behind ssh -L the port is another; names of hosts know no case.
  EXPECT_EQ(Status("GET /?step=3 HTTP/1.1\r\nACCEPT: */*\r\nhOST:  LocalHost:9 \r\n"),
            "HTTP/1.1 200 OK");
  for (const char* host : {"evil.com", "evil.com:8080", "127.0.0.1.evil.com:8080", "127.0.0.1evil",
                           "localhost.evil.com", "", "127.0.0.1:8080:1"}) {
    const std::string request = std::string("GET / HTTP/1.1\r\nHost: ") + host + "\r\n";
    EXPECT_EQ(Status(request), "HTTP/1.1 403 Forbidden") << host;
  }
  EXPECT_EQ(Status("GET / HTTP/1.1\r\n"), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(Status("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.com\r\n"),
            "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(Status("GET /etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(Status("GET http://evil.com/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"),
            "HTTP/1.1 404 Not Found");
  EXPECT_EQ(Status("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"), "HTTP/1.1 405 Method Not Allowed");
  for (const char* request : {"", "GET", "GET /", "GET / HTTP/2\r\n", "\r\n\r\n", " / HTTP/1"}) {
    EXPECT_EQ(Status(request), "HTTP/1.1 400 Bad Request") << request;
  }
}

TEST(PageServer, ATakenPortIsSaid) {
  Result<PageServer> first = PageServer::Listen(0);
  ASSERT_TRUE(first.has_value());
  EXPECT_NE(first->port(), 0);
  Result<PageServer> second = PageServer::Listen(first->port());
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message().find("is taken"), std::string::npos)
      << second.error().message();
}

}  // namespace
}  // namespace hone::cli
