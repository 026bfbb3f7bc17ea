// SPDX-License-Identifier: Apache-2.0
// A program that plays the part of the driver: loads what CUDA_INJECTION64_PATH names, calls its
// door, and has a fake CUPTI (src/gpu/fake) produce records, as its script says.
//
//   fake_cuda SCRIPT      (or HONE_FAKE_CUPTI=SCRIPT)
//
// A script's lines are those of the fake CUPTI, and:
//   inject                what cuInit does
//   cuinit MS             the fake driver (src/gpu/fake) does it, and takes so long afterwards
//   yield WHO | resume    another tool takes CUPTI, and gives it back
//   step | begin NAME | end
//   sleep MS | fork | exit CODE | _exit CODE | kill
//   leave                 the first thread ends, and soon after it another one, the program's last
//   check                 fails unless the recorder is recording
// Started by itself, outside `hone run`, it records into ./run with the libraries beside it.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

namespace {

template <typename Function>
Function Find(void* library, const char* name) {
  void* symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "fake_cuda: no %s: %s\n", name, dlerror());
    std::exit(9);
  }
  return reinterpret_cast<Function>(symbol);
}

void* Open(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr) {
    std::fprintf(stderr, "fake_cuda: %s is not set\n", variable);
    std::exit(9);
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "fake_cuda: %s\n", dlerror());
    std::exit(9);
  }
  return library;
}

void BecomeRecorded(char** arguments) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) std::exit(9);
  self[length] = '\0';
  const std::string tools = std::string(self).substr(0, std::string(self).rfind('/'));
  const std::string library = tools + "/../lib/hone/libhone_collect.so";
  char folder[4096];
  if (getcwd(folder, sizeof folder) == nullptr) std::exit(9);
  const std::string run = std::string(folder) + "/run";
  mkdir(run.c_str(), 0755);
  setenv("HONE_RUN_DIR", run.c_str(), 1);
  setenv("LD_PRELOAD", library.c_str(), 1);
  setenv("CUDA_INJECTION64_PATH", library.c_str(), 1);
  const char* fake =
      std::getenv("FAKE_CUPTI_OLD") != nullptr ? "/libfake_cupti_old.so" : "/libfake_cupti.so";
  setenv("HONE_CUPTI", (tools + fake).c_str(), 0);
  execv(self, arguments);
  std::exit(9);
}

class Player {
 public:
  bool Play(const std::string& line);
  int code = 0;
  bool ended = false;

 private:
  void Inject() {
    injected_ = Open("CUDA_INJECTION64_PATH");
    if (Find<int (*)()>(injected_, "InitializeInjection")() != 1) std::exit(8);
  }
  void* injected_ = nullptr;
  bool (*cupti_line_)(const char*) = nullptr;
};

bool Player::Play(const std::string& line) {
  const std::string verb = line.substr(0, line.find(' '));
  const std::string rest = line.size() > verb.size() ? line.substr(verb.size() + 1) : "";
  const auto call = [&](const char* name) { return Find<void (*)()>(injected_, name); };
  if (verb == "inject") {
    Inject();
  } else if (verb == "cuinit") {
    injected_ = Open("CUDA_INJECTION64_PATH");
    const std::string cupti = std::getenv("HONE_CUPTI");
    const std::string path = cupti.substr(0, cupti.rfind('/')) + "/libfake_driver.so";
    void* const driver = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    const auto milliseconds = static_cast<unsigned>(std::stoi(rest));
    Find<int (*)(unsigned)>(driver, "FakeDriverInit")(milliseconds);
  } else if (verb == "yield") {
    Find<void (*)(const char*)>(injected_, "hone_cuda_yield")(rest.c_str());
  } else if (verb == "resume") {
    call("hone_cuda_resume")();
  } else if (verb == "step") {
    call("hone_step")();
  } else if (verb == "begin") {
    Find<void (*)(const char*, int)>(injected_, "hone_region_begin")(rest.c_str(), 3);
  } else if (verb == "end") {
    call("hone_region_end")();
  } else if (verb == "check") {
    if (Find<int (*)()>(injected_, "hone_recording")() != 1) std::exit(7);
  } else if (verb == "sleep") {
    usleep(static_cast<useconds_t>(std::stoi(rest)) * 1000);
  } else if (verb == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      // In a forked child CUDA is unusable, and a recorder that touched it would hang or crash.
      call("hone_cuda_resume")();
      call("hone_step")();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) std::exit(6);
  } else if (verb == "exit" || verb == "_exit") {
    code = std::stoi(rest);
    ended = true;
    if (verb == "_exit") _exit(code);
  } else if (verb == "leave") {
    std::thread([] { usleep(20'000); }).detach();
    pthread_exit(nullptr);
  } else if (verb == "kill") {
    kill(getpid(), SIGKILL);
  } else {
    if (cupti_line_ == nullptr) {
      cupti_line_ = Find<bool (*)(const char*)>(Open("HONE_CUPTI"), "FakeCuptiLine");
    }
    return cupti_line_(line.c_str());
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (std::getenv("HONE_RUN_DIR") == nullptr) BecomeRecorded(arguments);
  const char* path = count > 1 ? arguments[1] : std::getenv("HONE_FAKE_CUPTI");
  std::ifstream script(path == nullptr ? "" : path);
  if (!script) {
    std::fprintf(stderr, "fake_cuda: no script\n");
    return 9;
  }
  Player player;
  std::string line;
  while (!player.ended && std::getline(script, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (!player.Play(line)) {
      std::fprintf(stderr, "fake_cuda: no such line: %s\n", line.c_str());
      return 9;
    }
  }
  return player.code;
}
