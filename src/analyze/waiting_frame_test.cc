// SPDX-License-Identifier: Apache-2.0
#include "analyze/waiting_frame.h"

#include <gtest/gtest.h>

namespace hone::analyze {
namespace {

TEST(WaitingFrame, FunctionsThatDoNothingElse) {
  const auto waits = [](std::string_view name, WaitsFor what, std::string_view text) {
    EXPECT_EQ(WaitOfFrame(name), what) << name;
    EXPECT_EQ(WaitText(name), text);
  };
  waits("<built-in function sleep>", WaitsFor::kClock, "sleep");
  waits("<method 'poll' of 'select.epoll' objects>", WaitsFor::kOutside, "epoll.poll");
  waits("<built-in method poll of select.epoll object at 0x7f1c>", WaitsFor::kOutside,
        "epoll.poll");
  waits("<built-in method recv_into of socket object at 0x7f1c>", WaitsFor::kOutside,
        "socket.recv_into");
  waits("<built-in method recv of zmq.backend.cython._zmq.Socket object>", WaitsFor::kOutside,
        "Socket.recv");
  waits("/usr/lib/python3.11/selectors.py(451): select", WaitsFor::kOutside, "selectors.select");
  waits("zmq/sugar/socket.py(660): recv_multipart", WaitsFor::kOutside, "socket.recv_multipart");
  waits("<built-in method acquire of _thread.lock object at 0x7f1c>", WaitsFor::kThread,
        "lock.acquire");
  waits("queue.py(154): get", WaitsFor::kThread, "queue.get");
  waits("queue.py(154): Queue.get", WaitsFor::kThread, "queue.get");
  waits("threading.py(327): wait", WaitsFor::kThread, "threading.wait");
  waits("concurrent/futures/_base.py(428): result", WaitsFor::kThread, "_base.result");
}

TEST(WaitingFrame, FunctionsThatDoMore) {
  for (const char* name :
       {"<built-in method encode_batch of tokenizers.Tokenizer object at 0x7f>",
        "<built-in method poll of mine.Robot object at 0x7f>", "<built-in function sum>",
        "queue.py(36): put_nowait", "server/queue.py(36): get", "mine/threading.py(3): wait",
        "train.py(3): sleep", "asyncio/base_events.py(1922): _run_once", "nn.Module: Linear_0", "",
        "<method '"}) {
    EXPECT_EQ(WaitOfFrame(name), WaitsFor::kNothing) << name;
  }
}

}  // namespace
}  // namespace hone::analyze
