// SPDX-License-Identifier: Apache-2.0
#include "replay/edits/small_messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::replay {
namespace {

using trace::kNoRow;

// Of what messages take: joining them is the remedy where their number takes more than their bytes,
// and where they are most of what collectives take.
constexpr double kMostlyLatency = 0.5, kMostOfThem = 0.5;
// What a message of unknown size may take to be a small one: a MiB takes 0.8 ms at 10 Gb/s, and on
// a device 0.1 ms at 10 GB/s; 16 KiB and less took 0.3 ms over gloo.
constexpr Nanos kShortOnHost = kMillisecond, kShortOnDevice = 100 * kMicrosecond;
// Nanoseconds a byte. A slow link in use, 1 Gb/s, and one of 10 Gb/s: what bytes are taken to need
// at most, and where messages are all alike so that their times do not tell.
constexpr double kSlowLink = 8.0, kLink = 0.8;
struct Message {
  double bytes, ns;
};

// What a message takes whatever its size, and what a byte adds.
struct Cost {
  Range3 latency_ns, byte_ns;
};

double MeanNs(std::span<const Message> messages) {
  double sum = 0;
  for (const Message& message : messages) sum += message.ns;
  return messages.empty() ? 0 : sum / static_cast<double>(messages.size());
}

double QuantileNs(std::span<const Message> messages, double part) {
  std::vector<double> times;
  for (const Message& message : messages) times.push_back(message.ns);
  const auto at = static_cast<std::size_t>(part * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(at), times.end());
  return times[at];
}

// From the smaller half and those that are nearly the largest. Means tell what a message costs,
// since one in ten takes ten times as long as others on a busy host; middles what a byte adds. At
// the worst all that the largest take is for their bytes.
Cost Fit(std::vector<Message> messages) {
  std::sort(messages.begin(), messages.end(),
            [](const Message& a, const Message& b) { return a.bytes < b.bytes; });
  const std::span<const Message> all(messages);
  const double most = messages.back().bytes;
  const auto large_from = std::partition_point(
      messages.begin(), messages.end(), [&](const Message& m) { return m.bytes < most / 2; });
  const auto small = all.first((messages.size() + 1) / 2);
  const auto large = all.subspan(static_cast<std::size_t>(large_from - messages.begin()));
  const double from = small.back().bytes, to = large.front().bytes;
  Cost cost;
  cost.byte_ns.least = std::min(kSlowLink, MeanNs(large) / std::max(1.0, to));
  cost.byte_ns.likely = cost.byte_ns.most = std::min(
      cost.byte_ns.least,
      to > 2 * from ? std::max(0.0, (QuantileNs(large, 0.5) - QuantileNs(small, 0.5)) / (to - from))
                    : kLink);
  cost.latency_ns.least = MeanNs(small);
  cost.latency_ns.likely = std::max(0.0, MeanNs(small) - from * cost.byte_ns.likely);
  cost.latency_ns.most = QuantileNs(small, 0.25);
  return cost;
}

Range3 OneBySize(const Cost& cost, const std::vector<double>& sizes) {
  const double bytes = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  const auto one = [&](Guess guess) {
    return cost.latency_ns.At(guess) + bytes * cost.byte_ns.At(guess);
  };
  return {one(Guess::kLeast), one(Guess::kLikely), one(Guess::kMost)};
}

// Without sizes: a message has the same one in every step, and what its middle time over the steps
// is beyond that of the quickest quarter is taken for its bytes. Where all are alike, that could be
// of messages that are alike too: then only short ones are taken for small. Nothing is sure.
// `alike`: trains of as many messages.
Range3 OneByTime(const std::vector<std::vector<Message>>& alike, Nanos short_ns) {
  constexpr double kNothingSaved = std::numeric_limits<double>::infinity();
  const std::size_t places = alike.front().size();
  std::vector<Message> middles, all;
  for (std::size_t place = 0; place < places; ++place) {
    std::vector<Message> of_place;
    for (const std::vector<Message>& messages : alike) of_place.push_back(messages[place]);
    middles.push_back({-1, QuantileNs(of_place, 0.5)});
    all.insert(all.end(), of_place.begin(), of_place.end());
  }
  const double quick = QuantileNs(middles, 0.25);
  double beyond = 0;
  for (const Message& middle : middles) beyond += std::max(0.0, middle.ns - quick);
  if (quick > static_cast<double>(short_ns)) return {kNothingSaved, kNothingSaved, kNothingSaved};
  // As often as others it takes longer than the middle.
  const double often = MeanNs(all) / std::max(1.0, MeanNs(middles));
  return {kNothingSaved, (quick + beyond) * often, quick};
}

void Estimate(const Model& model, std::vector<MessageTrain>& trains) {
  const analyze::CommFacts& comm = *model.facts().comm;
  const analyze::RankSkew* skew = model.own_skew();
  const bool waits = skew != nullptr && skew->waits.size() == comm.runs.size();
  const auto messages_of = [&](const MessageTrain& train) {
    std::vector<Message> messages;
    for (std::size_t i = 0; i < train.runs.size(); ++i) {
      const Nanos duration = comm.runs[train.runs[i]].duration_ns;
      const Nanos waited =
          waits ? std::clamp<Nanos>(skew->waits[train.runs[i]], 0, duration) : Nanos{0};
      messages.push_back(
          {train.bytes.empty() ? -1 : train.bytes[i], static_cast<double>(duration - waited)});
    }
    return messages;
  };
  std::vector<Message> sized;
  std::map<std::pair<std::string_view, std::size_t>, std::vector<std::vector<Message>>> alike;
  for (const MessageTrain& train : trains) {
    std::vector<Message> messages = messages_of(train);
    if (train.bytes.empty()) {
      alike[{train.kind, messages.size()}].push_back(std::move(messages));
    } else {
      sized.insert(sized.end(), messages.begin(), messages.end());
    }
  }
  const bool on_host = comm.runs[trains.front().runs.front()].work == kNoRow;
  std::map<std::pair<std::string_view, std::size_t>, Range3> by_time;
  for (const auto& [key, messages] : alike) {
    by_time[key] = OneByTime(messages, on_host ? kShortOnHost : kShortOnDevice);
  }
  const Cost cost = sized.empty() ? Cost{} : Fit(std::move(sized));
  for (MessageTrain& train : trains) {
    const Range3 one = train.bytes.empty() ? by_time.at({train.kind, train.runs.size()})
                                           : OneBySize(cost, train.bytes);
    // Never longer than what is there now.
    const auto taken = static_cast<double>(train.taken_ns);
    train.one_ns = {std::min(taken, one.least), std::min(taken, one.likely),
                    std::min(taken, one.most)};
  }
}

// What all collectives of the replayed steps take, each by itself.
double TakenByAll(const Model& model) {
  const trace::Interval& window = model.graph().window;
  double taken = 0;
  for (const analyze::CollectiveRun& run : model.facts().comm->runs) {
    const Nanos at = run.start_ns - model.trace().info.base_time_ns;
    const bool inside = run.work == kNoRow ? at >= window.begin_ns && at < window.end_ns
                                           : model.graph().of_device[run.work] != kNoTask;
    if (inside) taken += static_cast<double>(run.duration_ns);
  }
  return taken;
}

}  // namespace

Known<SmallMessages> FindSmallMessages(const Model& model) {
  const auto absent = [](const char* why) { return Known<SmallMessages>::Absent(why); };
  if (!model.facts().comm) return absent("no collective runs in the steps");
  if (model.graph().lanes[0].row >= model.trace().threads.size()) {
    return absent("no thread makes the steps");
  }
  SmallMessages found;
  found.trains = FindMessageTrains(model);
  if (found.trains.empty()) return absent("no ten messages follow one another");
  Estimate(model, found.trains);
  found.on_host = model.facts().comm->runs[found.trains.front().runs.front()].work == kNoRow;
  double bytes = 0, waited = 0;
  bool sized = true;
  for (const MessageTrain& train : found.trains) {
    found.messages += static_cast<double>(train.runs.size());
    found.taken_ns += static_cast<double>(train.taken_ns);
    waited += static_cast<double>(train.waited_ns);
    found.one_ns.least += train.one_ns.least;
    found.one_ns.likely += train.one_ns.likely;
    found.one_ns.most += train.one_ns.most;
    sized = sized && !train.bytes.empty();
    bytes = std::accumulate(train.bytes.begin(), train.bytes.end(), bytes);
  }
  if (sized) found.bytes = bytes;
  if (found.one_ns.likely > kMostlyLatency * found.taken_ns) {
    return absent("what messages take is for their bytes");
  }
  if (found.taken_ns + waited < kMostOfThem * TakenByAll(model)) {
    return absent("most collectives do not follow one another");
  }
  return found;
}

// Of the operators between messages: as many copy the parts of the one message back; at most, they
// are one.
JoinedMessages::JoinedMessages(const Model& model, SmallMessages found) : found_(std::move(found)) {
  for (const Guess guess : {Guess::kLeast, Guess::kLikely, Guess::kMost}) {
    std::vector<HostSpan> spans;
    for (const MessageTrain& train : found_.trains) {
      const auto count = static_cast<Nanos>(train.runs.size());
      Nanos keep = guess == Guess::kMost ? train.beside_ns / count : train.beside_ns;
      if (found_.on_host) {
        keep += std::llround(train.one_ns.At(guess));
        // Ranks that come late come as late for one message.
        if (guess == Guess::kLeast) keep += train.waited_ns;
      } else {
        keep += (train.span.length() - train.beside_ns) / count;
      }
      spans.push_back({0, train.span, keep, 0.0});
    }
    cuts_[static_cast<std::size_t>(guess)] = HostCut(model.graph(), std::move(spans));
  }
}

void JoinedMessages::Apply(const Model& model, Guess guess, Plan& plan) const {
  const Graph& graph = model.graph();
  Plan joined(graph);
  cuts_[static_cast<std::size_t>(guess)].Apply(graph, 1.0, joined);
  // Never twice: what hiding the same messages gives (comm-unoverlapped) is gone already.
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    plan.duration_ns[t] = std::min(plan.duration_ns[t], joined.duration_ns[t]);
  }
  if (found_.on_host) return;
  // The last one stands for all: it waits for what every one of them waited for.
  const std::vector<analyze::CollectiveRun>& runs = model.facts().comm->runs;
  for (const MessageTrain& train : found_.trains) {
    for (const std::size_t run : train.runs) {
      const TaskId task = graph.of_device[runs[run].work];
      if (run != train.runs.back()) {
        plan.RemoveWork(task);
      } else {
        plan.duration_ns[task] = std::llround(train.one_ns.At(guess));
      }
    }
  }
}

}  // namespace hone::replay
