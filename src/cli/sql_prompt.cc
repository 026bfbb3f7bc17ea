// SPDX-License-Identifier: Apache-2.0
#include "cli/sql_prompt.h"

#include <fmt/format.h>
#include <histedit.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/terminal.h"
#include "base/utf8.h"
#include "cli/sql_complete.h"

namespace hone::cli {
namespace {

// What the handler of Ctrl-C may touch.
std::atomic<exporter::SqlDatabase*> running = nullptr;
volatile std::sig_atomic_t interrupted = 0;

void OnInterrupt(int /*signal*/) {
  interrupted = 1;
  if (exporter::SqlDatabase* database = running.load()) database->Interrupt();
}

// Ctrl-C is ours while this lives; without SA_RESTART, so that it ends a read.
class InterruptHandler {
 public:
  InterruptHandler() {
    struct sigaction ours = {};
    ours.sa_handler = OnInterrupt;
    sigaction(SIGINT, &ours, &before_);
  }
  ~InterruptHandler() { sigaction(SIGINT, &before_, nullptr); }
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

 private:
  struct sigaction before_ = {};
};

// One byte; 0 at the end, -1 when Ctrl-C came.
int ReadByte(unsigned char& byte) {
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count >= 0) return static_cast<int>(count);
    if (errno != EINTR || interrupted != 0) return -1;
  }
}

// libedit's own reader starts over after a signal; ours gives the line up.
int ReadCharacter(EditLine* /*editor*/, wchar_t* out) {
  std::string bytes(1, '\0');
  unsigned char byte = 0;
  int got = ReadByte(byte);
  if (got <= 0) return got;
  bytes[0] = static_cast<char>(byte);
  const int more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : byte >= 0xC0 ? 1 : 0;
  for (int i = 0; i < more; ++i) {
    got = ReadByte(byte);
    if (got <= 0) return got;
    bytes += static_cast<char>(byte);
  }
  *out = static_cast<wchar_t>(DecodeUtf8(bytes, 0).code);
  return 1;
}

// A file in the user's folder of state (XDG); empty where there is no such folder.
std::string HistoryFile() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state != nullptr && *state == '/') {
    folder = state;
  } else if (home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".local" / "state";
  } else {
    return "";
  }
  std::error_code error;
  std::filesystem::create_directories(folder / "hone", error);
  return error ? "" : (folder / "hone" / "sql_history").string();
}

const char* prompt_text = "hone> ";
char* Prompt(EditLine* /*editor*/) { return const_cast<char*>(prompt_text); }

unsigned char OnTab(EditLine* editor, int /*key*/) {
  const LineInfo* line = el_line(editor);
  const std::string_view before(line->buffer,
                                static_cast<std::size_t>(line->cursor - line->buffer));
  const std::vector<std::string> words = CompleteSql(before);
  if (words.empty()) return CC_ERROR;
  const std::size_t typed = LastWord(before).size();
  std::string common = words[0];
  for (const std::string& word : words) {
    const auto split = std::mismatch(common.begin(), common.end(), word.begin(), word.end());
    common.erase(split.first, common.end());
  }
  if (common.size() > typed || words.size() == 1) {
    const std::string rest = common.substr(std::min(typed, common.size()));
    el_insertstr(editor, (rest + (words.size() == 1 ? " " : "")).c_str());
    return CC_REFRESH;
  }
  std::fputc('\n', stdout);
  for (const std::string& word : words) std::fprintf(stdout, "%s  ", word.c_str());
  std::fputc('\n', stdout);
  std::fflush(stdout);
  return CC_REDISPLAY;
}

class LineEditor {
 public:
  LineEditor() : editor_(el_init("hone", stdin, stdout, stderr)), history_(history_init()) {
    HistEvent event;
    history(history_, &event, H_SETSIZE, 1000);
    history(history_, &event, H_SETUNIQUE, 1);
    file_ = HistoryFile();
    if (!file_.empty()) history(history_, &event, H_LOAD, file_.c_str());
    el_set(editor_, EL_PROMPT, Prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    el_set(editor_, EL_GETCFN, ReadCharacter);
    el_set(editor_, EL_ADDFN, "hone-complete", "complete names", OnTab);
    el_set(editor_, EL_BIND, "^I", "hone-complete", nullptr);
    el_set(editor_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_source(editor_, nullptr);  // ~/.editrc
  }
  ~LineEditor() {
    HistEvent event;
    if (!file_.empty()) history(history_, &event, H_SAVE, file_.c_str());
    history_end(history_);
    el_end(editor_);
  }
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Got { kLine, kInterrupt, kEnd };
  Got Read(const char* prompt, std::string& line) {
    prompt_text = prompt;
    interrupted = 0;
    el_resize(editor_);
    int count = 0;
    const char* text = el_gets(editor_, &count);
    if (interrupted != 0) {
      el_reset(editor_);
      return Got::kInterrupt;
    }
    if (text == nullptr || count <= 0) return Got::kEnd;
    line.assign(text, static_cast<std::size_t>(count));
    return Got::kLine;
  }

  void Remember(std::string text) {
    // A comment ends with its line: only what has none can stand on one line.
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (text.empty()) return;
    if (text.find("--") == std::string::npos) std::replace(text.begin(), text.end(), '\n', ' ');
    HistEvent event;
    history(history_, &event, H_ENTER, text.c_str());
  }

 private:
  EditLine* editor_;
  History* history_;
  std::string file_;
};

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

void Answer(SqlSession& session, const std::string& text, Console& console) {
  running = &session.database();
  const Status status = session.Run(text, console.out);
  running = nullptr;
  console.out << std::flush;
  if (!status) {
    console.err << fmt::format("hone: {}\n", Printable(status.error().message(), LocaleIsUtf8()))
                << std::flush;
  }
}

}  // namespace

void RunSqlPrompt(SqlSession& session, Console& console) {
  std::setlocale(LC_CTYPE, "");  // libedit reads and shows characters by it
  const InterruptHandler handler;
  LineEditor editor;
  console.out << "SQL over the trace; .tables lists the tables, .help the commands, .quit ends\n"
              << std::flush;
  std::string text, line;
  while (!session.done()) {
    const LineEditor::Got got = editor.Read(text.empty() ? "hone> " : "  ... ", line);
    if (got == LineEditor::Got::kEnd) {
      console.out << '\n';
      break;
    }
    if (got == LineEditor::Got::kInterrupt) {
      console.out << "^C\n" << std::flush;
      text.clear();
      continue;
    }
    text += line;
    const bool dot = text.find_first_not_of(" \t") != std::string::npos &&
                     text[text.find_first_not_of(" \t")] == '.';
    if (IsBlank(text)) {
      text.clear();
    } else if (dot || exporter::SqlIsComplete(text)) {
      editor.Remember(text);
      Answer(session, text, console);
      text.clear();
    }
  }
}

}  // namespace hone::cli
