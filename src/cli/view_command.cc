// SPDX-License-Identifier: Apache-2.0
#include "cli/view_command.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/lower_case.h"
#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/job.h"
#include "cli/page_server.h"
#include "report/html/page.h"

extern char** environ;  // NOLINT: POSIX's name

namespace hone::cli {
namespace {

void Say(Console& console, std::string_view message) {
  console.err << fmt::format("hone: {}\n", Printable(message, LocaleIsUtf8())) << std::flush;
}

// Ctrl-C and a polite kill, as something to poll. For the life of the process: nothing comes after.
int StopSignals() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stops, signal);
  ::sigprocmask(SIG_BLOCK, &stops, nullptr);
  return ::signalfd(-1, &stops, SFD_CLOEXEC);
}

bool HasDisplay() {
  for (const char* name : {"WAYLAND_DISPLAY", "DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

// In a session of its own, so that Ctrl-C ends the server and not the browser. Where there is no
// xdg-open the address has been printed already.
void OpenBrowser(const std::string& url) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == 0 ? 0 : 1, 0);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  std::string program = "xdg-open", argument = url;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  pid_t ignored = 0;
  ::posix_spawnp(&ignored, program.c_str(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
}

bool IsPage(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string start(9, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return path.ends_with(".html") || path.ends_with(".htm") || LowerCase(start) == "<!doctype";
}

Result<std::string> ReadPage(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return Error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  std::string page = text.str();
  if (page.find("<script id=\"hone-report\"") != std::string::npos) return page;
  return Error(fmt::format(
      "{}: not a page that hone wrote; hone analyze TRACE --html FILE writes one", path));
}

}  // namespace

const VerbInfo& ViewCommand::info() const {
  static const VerbInfo kInfo = {
      "view",
      "show a report in the browser",
      "hone view TRACE... [options]",
      "Makes the page that hone analyze --html writes, serves it to browsers on this machine and "
      "opens it. A page written before is served as it is. The address works on this machine "
      "only; over ssh, pass the port on: ssh -L PORT:127.0.0.1:PORT HOST.",
      {{"hone view trace.json.gz", "The report of a trace, in the browser."},
       {"hone view report.html", "The same, of a page that you were sent."},
       {"hone view ranks/ --port 8080 --no-open",
        "On a port of your choice, to open it yourself."}},
      "Ctrl-C ends it. Exit codes as for hone analyze; hone help view says more."};
  return kInfo;
}

void ViewCommand::Declare(CLI::App& app) {
  app.add_option("TRACE", paths_, "trace files, a directory of ranks, or a page")
      ->option_text("TRACE")
      ->required();
  app.add_option("--port", port_, "port on 127.0.0.1; without it a free one")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("where");
  app.add_flag("--no-open", no_open_, "print the address, open no browser")->group("where");
  app.add_option("--rank", rank_,
                 "the rank that leads; without it the one that others wait for, else the slowest")
      ->option_text("N")
      ->check(WholeNumber())
      ->group("other");
  app.add_flag("--quiet", quiet_, "no progress bar, only the address")->group("other");
}

Result<ViewCommand::Page> ViewCommand::MakePage(Console& console) const {
  if (paths_.size() == 1 && IsPage(paths_[0])) {
    Result<std::string> page = ReadPage(paths_[0]);
    if (page) return Page{std::move(*page)};
    Say(console, page.error().message());
    return Page{"", kExitUnreadable};
  }
  JobOptions options;
  options.paths = paths_;
  options.rank = rank_;
  options.quiet = quiet_;
  Result<JobResult> job = RunJob(options, console);
  if (!job) return std::move(job).error();
  if (job->report.inputs.empty()) return Page{"", job->code};
  std::string command = "hone view";
  for (const std::string& path : paths_) command += " " + path;
  std::ostringstream html;
  HONE_RETURN_IF_ERROR(report::WritePage(job->report, {command}, html));
  return Page{std::move(html).str(), job->code};
}

int ViewCommand::Run(Console& console) {
  if (port_ > UINT16_MAX) {
    Say(console,
        fmt::format("--port {}: ports end at {}; without it a free one", port_, UINT16_MAX));
    return kExitUsage;
  }
  // First the port: nobody wants to wait for a page and then hear that it is taken.
  Result<PageServer> server = PageServer::Listen(static_cast<std::uint16_t>(port_));
  if (!server) {
    Say(console, server.error().message());
    return kExitFailed;
  }
  const Result<Page> page = MakePage(console);
  if (!page) {
    Say(console, page.error().message());
    return kExitUsage;
  }
  if (page->html.empty()) return page->code;
  const int stop_fd = StopSignals();
  if (stop_fd < 0) {
    Say(console, fmt::format("no descriptor to wait for Ctrl-C with: {}", std::strerror(errno)));
    return kExitFailed;
  }
  console.out << server->url() << std::endl;
  if (!quiet_) Say(console, "serving it on this machine; Ctrl-C ends it");
  if (!no_open_ && HasDisplay()) OpenBrowser(server->url());
  const Status served = server->Serve(page->html, stop_fd);
  ::close(stop_fd);
  if (served) return page->code;
  Say(console, served.error().message());
  return kExitFailed;
}

}  // namespace hone::cli
