// SPDX-License-Identifier: Apache-2.0
#include "analyze/python_time.h"

#include <gtest/gtest.h>

#include "analyze/sketch_test.h"

namespace hone::analyze {
namespace {

using trace::Trace;

Known<PythonFacts> Measure(const Trace& trace) { return MeasurePython(trace, Lineage(trace), {}); }

const PythonRow& Row(const std::vector<PythonRow>& rows, std::string_view name) {
  static const PythonRow kNone;
  for (const PythonRow& row : rows) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return kNone;
}

TEST(SourceFrame, PartsOfAFrame) {
  const SourceFrame frame = ParseFrame("dir (2)/train.py(46): main");
  EXPECT_EQ(frame.file, "dir (2)/train.py");
  EXPECT_EQ(frame.line, 46);
  EXPECT_EQ(frame.function, "main");
  EXPECT_EQ(ParseFrame("a.py(7): <listcomp>").function, "<listcomp>");
  for (const char* text : {"<built-in method to of Tensor object at 0x7f>", "nn.Module: Linear_0",
                           "", "(12): f", "a.py(): f", "a.py(12)", "): ", "x): y"}) {
    EXPECT_EQ(ParseFrame(text).line, 0) << text;
    EXPECT_EQ(ParseFrame(text).file, "") << text;
    EXPECT_EQ(ParseFrame(text).function, text);
  }
}

TEST(SourceFrame, CallSiteIsTheInnermostFrameOfTheUser) {
  EXPECT_EQ(CallSiteOf("<built-in f>;torch/nn/a.py(1): x;model.py(2): y;train.py(3): z"),
            "model.py(2): y");
  EXPECT_EQ(CallSiteOf("torch/nn/a.py(1): x;/usr/lib/python3.11/site-packages/b.py(2): y"),
            "torch/nn/a.py(1): x");
  EXPECT_EQ(CallSiteOf("<built-in f>;;"), "");
  EXPECT_EQ(CallSiteOf(""), "");
}

TEST(PythonTime, AbsentSaysWhy) {
  TraceSketch sketch;
  sketch.Op("aten::mm", 0, 1);
  sketch.builder().trace().info.with_stack = 0;
  EXPECT_EQ(Measure(sketch.Finish()).why_not(), "with_stack was off");
  EXPECT_FALSE(Measure(TraceSketch().Finish()).has_value());
}

TEST(PythonTime, AbsentSaysWhatTheRecorderSaid) {
  const auto why = [](const char* said) {
    TraceSketch sketch;
    sketch.Op("aten::mm", 0, 1);
    Trace& trace = sketch.builder().trace();
    trace.info.format = trace::Format::kHone;
    if (said != nullptr) trace.losses.Add(LossKind::kNotRecorded, 1, 0, said);
    return std::string(Measure(sketch.Finish()).why_not());
  };
  const std::string none = "no stacks of Python were recorded";
  EXPECT_EQ(why(nullptr), none);
  EXPECT_EQ(why("copies: of python: none"), none);
  EXPECT_EQ(why("python: not found: frames; no Python lines"), none + ": not found: frames");
  EXPECT_EQ(why("copies 3; python: PyPy is not CPython"), none + ": PyPy is not CPython");
}

// main 0…100 calls f 10…60, which calls itself 20…40 and a built-in 45…50.
TEST(PythonTime, SelfTotalAndRecursion) {
  TraceSketch sketch;
  sketch.Python("t.py(1): main", 0, 100).Python("t.py(9): f", 10, 60);
  sketch.Python("t.py(9): f", 20, 40).Python("<built-in len>", 45, 50);
  sketch.Op("aten::mm", 22, 38).Call("cudaLaunchKernel", 25, 30, 1).Kernel(40, 47, 1);
  sketch.Python("t.py(9): f", 80, 90);
  const Trace trace = sketch.Finish();
  const auto facts = Measure(trace);
  ASSERT_TRUE(facts.has_value());
  const PythonRow& f = Row(facts->functions, "t.py(9): f");
  EXPECT_EQ(f.calls, 3u);
  EXPECT_EQ(f.total_ns, 60'000);  // 50 + 10; the inner call is inside the outer
  EXPECT_EQ(f.self_ns, 25'000 + 20'000 + 10'000);
  EXPECT_EQ(f.device_ns, 7'000);  // once, though two frames of f surround it
  const PythonRow& main = Row(facts->functions, "t.py(1): main");
  EXPECT_EQ(main.total_ns, 100'000);
  EXPECT_EQ(main.self_ns, 40'000);
  EXPECT_EQ(main.device_ns, 7'000);
  EXPECT_EQ(Row(facts->functions, "<built-in len>").device_ns, 0);
  EXPECT_EQ(facts->functions[0].name, "t.py(9): f");  // by self time
}

TEST(PythonTime, LinesAreTheCallersOfOutermostOperators) {
  TraceSketch sketch;
  sketch.Python("t.py(1): main", 0, 100).Python("torch/nn/linear.py(5): forward", 10, 60);
  sketch.Op("aten::linear", 20, 50).Op("aten::addmm", 22, 48);
  sketch.Call("cudaLaunchKernel", 25, 30, 1).Kernel(40, 47, 1);
  sketch.Op("aten::add", 70, 75).Op("aten::add", 200, 205);  // the last has no frame around it
  const Trace trace = sketch.Finish();
  const auto facts = Measure(trace);
  ASSERT_EQ(facts->lines.size(), 1u);
  EXPECT_EQ(facts->lines[0].name, "t.py(1): main");
  EXPECT_EQ(facts->lines[0].calls, 2u);
  EXPECT_EQ(facts->lines[0].total_ns, 35'000);
  EXPECT_EQ(facts->lines[0].device_ns, 7'000);
  EXPECT_TRUE(facts->lines_are_definitions);
}

TEST(PythonTime, CallStacksWithoutFrames) {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  for (int i = 0; i < 2; ++i) {
    trace::OpDetail detail;
    detail.stack =
        builder.Intern(i == 0 ? "a.py(3): f;t.py(9): main" : "a.py(3): f;t.py(12): main");
    trace::SliceInput op;
    op.start_ns = i * 100'000;
    op.duration_ns = 10'000;
    op.name = builder.Intern("aten::mm");
    op.thread = builder.ThreadFor(1, 1);
    op.detail = builder.Detail(detail);
    builder.Add(op);
  }
  const Trace trace = sketch.Finish();
  const auto facts = Measure(trace);
  ASSERT_TRUE(facts.has_value());
  EXPECT_TRUE(facts->functions.empty());
  ASSERT_EQ(facts->lines.size(), 1u);  // two stacks, one call site
  EXPECT_EQ(facts->lines[0].name, "a.py(3): f");
  EXPECT_EQ(facts->lines[0].calls, 2u);
  EXPECT_FALSE(facts->lines_are_definitions);
}

// main -> f -> g and main -> f -> f (a recursion) and main -> h, 10 us a sample. The main thread is
// that whose number is the process's; a helper thread waits in h, which counts for nothing.
TEST(PythonTime, SamplesByFunctionAndLine) {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  const auto frame = [&](std::uint32_t caller, const char* function, const char* place) {
    return builder.AddFrame(caller, builder.Intern(function), builder.Intern(place));
  };
  const auto main = frame(0, "t.py(1): main", "t.py(5): main");
  const auto f = frame(main, "t.py(10): f", "t.py(12): f");
  const auto g = frame(f, "t.py(20): g", "t.py(21): g");
  const auto f_again = frame(f, "t.py(10): f", "t.py(11): f");
  const auto h = frame(main, "t.py(30): h", "t.py(31): h");
  const auto sample = [&](Nanos at, std::uint32_t where, std::int64_t tid,
                          trace::ThreadState state) {
    builder.Add(trace::SampleInput{at * 1000, 10'000, builder.ThreadFor(1, tid), where, state});
  };
  using trace::ThreadState;
  sample(10, g, 1, ThreadState::kRunning);
  sample(20, g, 1, ThreadState::kWaiting);
  sample(30, f_again, 1, ThreadState::kRunning);
  sample(40, f, 1, ThreadState::kRunning);
  sample(40, h, 2, ThreadState::kWaiting);
  sample(50, h, 2, ThreadState::kRunning);
  const Trace trace = sketch.Finish();
  const auto facts = Measure(trace);
  ASSERT_TRUE(facts.has_value());
  EXPECT_TRUE(facts->sampled);
  EXPECT_EQ(facts->samples, 5u);
  EXPECT_EQ(facts->sampled_ns, 50'000);
  EXPECT_EQ(Row(facts->functions, "t.py(1): main").total_ns, 50'000);
  EXPECT_EQ(Row(facts->functions, "t.py(1): main").self_ns, 0);
  EXPECT_EQ(Row(facts->functions, "t.py(10): f").total_ns, 40'000);  // once, recursion or not
  EXPECT_EQ(Row(facts->functions, "t.py(10): f").self_ns, 20'000);
  EXPECT_EQ(Row(facts->functions, "t.py(20): g").self_ns, 20'000);
  EXPECT_EQ(Row(facts->functions, "t.py(20): g").error_ns, 14'142);
  EXPECT_EQ(Row(facts->functions, "t.py(30): h").calls, 1u);
  EXPECT_EQ(Row(facts->lines, "t.py(12): f").total_ns, 40'000);
  EXPECT_EQ(Row(facts->lines, "t.py(12): f").self_ns, 10'000);
  EXPECT_EQ(Row(facts->lines, "t.py(11): f").self_ns, 10'000);
}

TEST(PythonTime, TheBusiestLineIsTheUsersOwn) {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  const auto frame = [&](std::uint32_t caller, const char* place) {
    return builder.AddFrame(caller, builder.Intern(place), builder.Intern(place));
  };
  const auto loop = frame(0, "t.py(5): main");
  const auto model = frame(loop, "t.py(9): forward");
  const auto linear = frame(model, "/x/site-packages/torch/nn/modules/linear.py(130): forward");
  const auto relu = frame(model, "/x/site-packages/torch/nn/functional.py(17): relu");
  const auto backward = frame(loop, "/x/site-packages/torch/_tensor.py(581): backward");
  const auto engine = frame(backward, "/x/site-packages/torch/autograd/graph.py(823): run");
  const auto sample = [&](Nanos at, std::uint32_t where, trace::ThreadState state) {
    builder.Add(trace::SampleInput{at * 1000, 10'000, builder.ThreadFor(1, 1), where, state});
  };
  using trace::ThreadState;
  sample(10, linear, ThreadState::kRunning);
  sample(20, relu, ThreadState::kRunning);
  sample(30, loop, ThreadState::kRunning);
  for (Nanos at = 40; at < 90; at += 10) sample(at, loop, ThreadState::kWaiting);
  for (Nanos at = 90; at < 140; at += 10) sample(at, engine, ThreadState::kRunning);
  const Trace trace = sketch.Finish();
  const auto facts = Measure(trace);
  EXPECT_EQ(facts->busiest_line, "t.py(9): forward");
  EXPECT_EQ(facts->busiest_samples, 2u);
  EXPECT_EQ(facts->running_samples, 8u);
}

// With steps, what runs before them (imports, loading) does not count.
TEST(PythonTime, SamplesOfTheSteadySteps) {
  TraceSketch sketch;
  trace::Builder& builder = sketch.builder();
  const auto load =
      builder.AddFrame(0, builder.Intern("t.py(1): load"), builder.Intern("t.py(2): load"));
  const auto work =
      builder.AddFrame(0, builder.Intern("t.py(4): work"), builder.Intern("t.py(5): work"));
  for (int i = 0; i < 10; ++i) {
    builder.Add(trace::SampleInput{i * 10'000, 10'000, builder.ThreadFor(1, 1), i < 5 ? load : work,
                                   trace::ThreadState::kRunning});
  }
  for (const Nanos at : {50'000, 80'000, 110'000}) {
    builder.AddInstant(at, builder.Intern("hone.step#1"), UINT16_MAX);
  }
  const Trace trace = sketch.Finish();
  const auto facts = MeasurePython(trace, Lineage(trace), FindSteps(trace));
  ASSERT_EQ(facts->functions.size(), 1u);
  EXPECT_EQ(facts->functions[0].name, "t.py(4): work");
  EXPECT_EQ(facts->functions[0].calls, 5u);
}

TEST(PythonTime, ThreadsDoNotMix) {
  TraceSketch sketch;
  sketch.Python("t.py(1): f", 0, 100, 1).Python("t.py(1): f", 50, 120, 2);
  const Trace trace = sketch.Finish();
  const auto facts = Measure(trace);
  EXPECT_EQ(facts->functions[0].total_ns, 170'000);
}

TEST(PythonTime, CrossingFramesNeverGoNegative) {
  TraceSketch sketch;
  sketch.Python("t.py(1): f", 0, 100).Python("t.py(2): g", 90, 300);
  const Trace trace = sketch.Finish();
  const auto facts = Measure(trace);
  EXPECT_EQ(Row(facts->functions, "t.py(1): f").self_ns, 90'000);
  EXPECT_EQ(Row(facts->functions, "t.py(2): g").self_ns, 210'000);
}

}  // namespace
}  // namespace hone::analyze
