// SPDX-License-Identifier: Apache-2.0
// The folder of a run: one file a process, and the machine's own. Which processes are jobs of their
// own (ranks), and to which job the others belong.
#pragma once

#include <string>
#include <vector>

#include "import/hone/process_file.h"

namespace hone::importer::hone_file {

struct Job {
  std::size_t leader = 0;            // index into RunFolder::files
  std::vector<std::size_t> members;  // loader workers and other helpers, by pid
};

struct RunFolder {
  std::vector<ProcessFile> files;  // process-*.hone that can be opened, by name
  std::vector<std::string> unreadable;
  std::string machine;    // path of machine.hone; empty: none
  std::vector<Job> jobs;  // by rank
  // Files of ranks that ran at the same time as those of `jobs` and belong to other jobs.
  std::vector<std::size_t> other_ranks;
};

// "process-12.hone", "process-12-2.hone".
bool IsProcessFile(const std::string& name);

// `folder` is a directory. Empty jobs: no process file in it.
RunFolder ReadRunFolder(const std::string& folder);

// The jobs among processes: a leader for every rank; where no rank is told, those that kept a
// device busy, and without a device the busiest. Processes that did next to nothing (shells,
// launchers) lead only where there is no other.
// `other_ranks` may be null; see RunFolder.
std::vector<Job> FindJobs(const std::vector<ProcessFile>& files,
                          std::vector<std::size_t>* other_ranks = nullptr);

}  // namespace hone::importer::hone_file
