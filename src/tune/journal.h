// SPDX-License-Identifier: Apache-2.0
// The journal of a search, tune.jsonl: a line for what is searched, then one for each trial and
// each decision, written out at once. A search that was cut off is resumed from it: what was run is
// not run again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tune/search.h"
#include "tune/trial_runner.h"

namespace hone::tune {

struct JournalHead {
  std::vector<std::string> command;
  std::string version;  // of hone: another one has other treatments
  std::string options;  // for people: "--budget 10m"
};

// Two searches in one folder would write into each other's files. Held by the kernel: a process
// that was killed holds nothing.
class JournalLock {
 public:
  // The error: "t is in use by process 42 (a search is running there)". A file that
  // cannot be opened or locked gives one that locks nothing; Open says what is wrong with it.
  static Result<JournalLock> Take(const std::string& path);
  JournalLock(JournalLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  JournalLock& operator=(JournalLock&&) = delete;
  ~JournalLock();

 private:
  explicit JournalLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

class Journal {
 public:
  // Begins one, or resumes that of an earlier session. The error: the file is of another command or
  // version, is broken before its last line, or cannot be written.
  static Result<std::unique_ptr<Journal>> Open(const std::string& path, const JournalHead& head);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The first trial kept with this order that was not taken yet. Interrupted ones are not kept.
  std::optional<Trial> Take(const TrialOrder& order);
  const Description& description() const { return description_; }
  std::size_t kept() const { return trials_.size(); }  // trials of earlier sessions
  // What was wrong with the file and did no harm: "its last line was cut off: 1 trial runs again".
  const std::string& note() const { return note_; }

  Status Add(const Trial& trial, const Description* description);
  Status AddDecision(const std::string& about, const std::string& decision);

 private:
  Journal() = default;
  Status ReadAll(const std::string& text, const JournalHead& head, std::size_t& good);
  Status Append(const std::string& line);

  std::string path_, note_;
  int fd_ = -1;
  std::vector<Trial> trials_;
  std::vector<bool> taken_;
  Description description_;
};

// A runner that asks the journal first and keeps what it runs.
class JournalRunner : public TrialRunner {
 public:
  JournalRunner(TrialRunner& runner, Journal& journal) : runner_(runner), journal_(journal) {}
  Result<Trial> Run(const TrialOrder& order, const std::string& purpose) override;
  const Description& description() const override;
  Result<bench::Benchmark> Confirm(const ConfirmOrder& order) override;
  double Elapsed() const override { return runner_.Elapsed() + before_s_; }
  bool interrupted() override { return runner_.interrupted(); }

 private:
  TrialRunner& runner_;
  Journal& journal_;
  bool described_here_ = false;
  double before_s_ = 0;  // that the trials taken from the journal took
};

// A listener that keeps the decisions and passes everything on.
class JournalListener : public SearchListener {
 public:
  JournalListener(SearchListener& listener, Journal& journal)
      : listener_(listener), journal_(journal) {}
  void Started(const Start& start) override { listener_.Started(start); }
  void Ended(const Trial& trial, const std::string& decision) override;
  void Confirming(const ConfirmOrder& order) override { listener_.Confirming(order); }
  void Confirmed(const bench::Benchmark& benchmark, const std::string& decision) override;

 private:
  SearchListener& listener_;
  Journal& journal_;
};

}  // namespace hone::tune
