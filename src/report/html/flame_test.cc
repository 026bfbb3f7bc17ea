// SPDX-License-Identifier: Apache-2.0
#include "report/html/flame.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "analyze/fixture_test.h"
#include "base/json_value_test.h"

namespace hone::report {
namespace {

struct Node {
  std::int64_t self, total, device, calls;
};

// Nodes by their path: "outer/inner".
std::map<std::string, Node> Nodes(const Known<Flame>& flame, const PageStrings& strings) {
  std::map<std::string, Node> nodes;
  if (!flame) return nodes;
  std::ostringstream out;
  JsonWriter json(out);
  flame->tree.Write(json, flame->sampled, true);
  simdjson::dom::parser parser;
  const JsonValue tree(parser.parse(out.str()));
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < tree["name"].size(); ++i) {
    const std::int64_t parent = tree["parent"][i].integer();
    EXPECT_LT(parent, static_cast<std::int64_t>(i)) << "parents stand before children";
    const std::string name(strings.list()[static_cast<std::size_t>(tree["name"][i].integer())]);
    paths.push_back(parent < 0 ? name : paths[static_cast<std::size_t>(parent)] + "/" + name);
    nodes[paths.back()] = {tree["self"][i].integer(), tree["total"][i].integer(),
                           tree["device"][i].integer(), tree["calls"][i].integer()};
  }
  return nodes;
}

TEST(Flame, ThreadsThatTheProfilerTookForOneStandSideBySide) {
  analyze::TraceFixture f;
  f.Python(0, 1000, "threading.py(1030): _bootstrap");
  f.Python(1, 998, "queues.py(251): _feed");
  f.Python(2, 996, "threading.py(1030): _bootstrap");
  f.Python(3, 994, "queues.py(251): _feed");
  Input input;
  input.trace = f.Finish();
  PageStrings strings(input.trace);
  const auto nodes = Nodes(FlameByPython(input, strings), strings);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes.at("threading.py(1030): _bootstrap").total, 1996);
  EXPECT_EQ(nodes.at("threading.py(1030): _bootstrap/queues.py(251): _feed").self, 1992);
}

TEST(Flame, OperatorsByNestingWithTheWorkTheyLaunched) {
  analyze::TraceFixture f;
  for (const Nanos at : {0, 1000}) {
    f.Op(at, 100, "aten::linear");
    f.Annotation(at + 5, 80, "between");
    f.Op(at + 10, 50, "aten::addmm");
    f.Api(at + 20, 5, at + 1);
    f.Kernel(at + 500, 70, "gemm", at + 1);
  }
  Input input;
  input.trace = f.Finish();
  PageStrings strings(input.trace);
  const auto nodes = Nodes(FlameByOp(input, strings), strings);
  ASSERT_EQ(nodes.size(), 3U);
  const Node outer = nodes.at("aten::linear"), inner = nodes.at("aten::linear/aten::addmm");
  EXPECT_EQ(outer.total, 200);
  EXPECT_EQ(outer.self, 100);
  EXPECT_EQ(outer.device, 140);
  EXPECT_EQ(outer.calls, 2);
  EXPECT_EQ(inner.self, 90);
  EXPECT_EQ(nodes.at("aten::linear/aten::addmm/cudaLaunchKernel").total, 10);
  EXPECT_EQ(inner.device, 140);
}

TEST(Flame, ASliceThatCrossesDoesNotHandAFinishedFrameOn) {
  analyze::TraceFixture f;
  f.Python(0, 1000, "main.py(1): main");
  f.Python(10, 90, "main.py(5): first");
  f.Annotation(50, 500, "crosses the end of first");
  f.Python(200, 100, "main.py(9): second");
  Input input;
  input.trace = f.Finish();
  PageStrings strings(input.trace);
  const auto nodes = Nodes(FlameByPython(input, strings), strings);
  EXPECT_EQ(nodes.at("main.py(1): main").total, 1000);
  EXPECT_EQ(nodes.at("main.py(1): main").self, 810);
  EXPECT_EQ(nodes.at("main.py(1): main/main.py(9): second").total, 100);
}

TEST(Flame, ModulesHoldTheirOperatorsForwardAndBackward) {
  analyze::TraceFixture f;
  f.Python(0, 1000, "nn.Module: Net_0");
  f.Python(100, 300, "nn.Module: Linear_0");
  f.Op(150, 100, "aten::linear", {}, 7);
  f.Op(160, 50, "aten::addmm", {}, 7);
  f.Op(600, 10, "aten::add");
  trace::OpDetail backward;
  backward.fwd_thread = 1;
  f.Op(2000, 40, "AddmmBackward0", backward, 7, 2);
  Input input;
  input.trace = f.Finish();
  PageStrings strings(input.trace);
  const auto nodes = Nodes(FlameByModule(input, strings), strings);
  EXPECT_EQ(nodes.at("Net_0").self, 690);
  EXPECT_EQ(nodes.at("Net_0").total, 1040);  // the backward pass included
  EXPECT_EQ(nodes.at("Net_0/Linear_0").self, 200);
  EXPECT_EQ(nodes.at("Net_0/Linear_0/aten::linear").total, 100);
  EXPECT_EQ(nodes.at("Net_0/Linear_0/AddmmBackward0").total, 40);
  EXPECT_EQ(nodes.at("Net_0/aten::add").total, 10);
  EXPECT_EQ(nodes.count("Net_0/Linear_0/aten::linear/aten::addmm"), 0U);
}

TEST(Flame, RecordedModulePathsAreTakenApart) {
  analyze::TraceFixture f;
  trace::OpDetail detail;
  detail.module = f.builder.Intern("TOP(Net).conv(Conv2d(1.5))");
  f.Op(0, 100, "aten::conv2d", detail);
  Input input;
  input.trace = f.Finish();
  PageStrings strings(input.trace);
  const auto nodes = Nodes(FlameByModule(input, strings), strings);
  EXPECT_EQ(nodes.at("TOP(Net)/conv(Conv2d(1.5))/aten::conv2d").total, 100);
}

TEST(Flame, SamplesBecomeFunctions) {
  Input input;
  trace::Trace& trace = input.trace;
  const auto frame = [&](std::uint32_t caller, const char* function) {
    trace.stack_frames.caller.push_back(caller);
    trace.stack_frames.function.push_back(trace.strings.Intern(function));
    trace.stack_frames.place.push_back(StringId::kEmpty);
    return static_cast<std::uint32_t>(trace.stack_frames.size() - 1);
  };
  const std::uint32_t main = frame(0, "main"), line_3 = frame(main, "load");
  const std::uint32_t line_4 = frame(main, "load");  // another line of the same function
  frame(main, "never seen");
  for (const std::uint32_t innermost : {main, line_3, line_4, line_4}) {
    trace.samples.time_ns.push_back(1);
    trace.samples.thread.push_back(0);
    trace.samples.frame.push_back(innermost);
    trace.samples.state.push_back(trace::ThreadState::kRunning);
    trace.samples.period_ns.push_back(10);
  }
  PageStrings strings(trace);
  const Known<Flame> flame = FlameByPython(input, strings);
  ASSERT_TRUE(flame.has_value());
  EXPECT_TRUE(flame->sampled);
  EXPECT_FALSE(flame->device);
  const auto nodes = Nodes(flame, strings);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes.at("main").self, 10);
  EXPECT_EQ(nodes.at("main").total, 40);
  EXPECT_EQ(nodes.at("main").calls, 4);
  EXPECT_EQ(nodes.at("main/load").self, 30);
  EXPECT_EQ(nodes.at("main/load").calls, 3);
}

TEST(Flame, SaysWhyThereIsNone) {
  Input input;
  PageStrings strings(input.trace);
  EXPECT_FALSE(FlameByOp(input, strings).why_not().empty());
  EXPECT_NE(FlameByModule(input, strings).why_not().find("names no modules"), std::string::npos);
  EXPECT_FALSE(FlameByPython(input, strings).why_not().empty());
}

TEST(CallTree, KeepsTheLargestAndTheirCallers) {
  CallTree tree;
  const std::uint32_t root = tree.Child(CallTree::kRoot, 1);
  for (std::uint32_t i = 0; i < kMostNodes + 100; ++i) tree.AddSelf(tree.Child(root, i + 2), i + 1);
  std::ostringstream out;
  JsonWriter json(out);
  tree.Write(json, false, false);
  simdjson::dom::parser parser;
  const JsonValue written(parser.parse(out.str()));
  EXPECT_EQ(written["name"].size(), kMostNodes);
  EXPECT_EQ(written["left_out"].integer(), 101);
  EXPECT_EQ(written["parent"][std::size_t{0}].integer(), -1);
  EXPECT_EQ(written["parent"][kMostNodes - 1].integer(), 0);
  EXPECT_EQ(written["self"][std::size_t{1}].integer(), 102);  // the smallest that is kept
  EXPECT_TRUE(written["device"].is_null());
}

}  // namespace
}  // namespace hone::report
