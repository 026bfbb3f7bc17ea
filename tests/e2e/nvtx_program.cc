// SPDX-License-Identifier: Apache-2.0
// A program with NVTX ranges of every sort. With NVIDIA's header it is the real loader that finds
// the recorder; without it, `nvtx_program` says so and exits with 77.
#include <cstdio>
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <thread>

namespace {

nvtxEventAttributes_t Message(const char* text) {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text;
  return attributes;
}

// As torch's emit_nvtx writes them, in a process that told the recorder to expect it; and a range
// of the program's own among them.
int EmitLikeTorch() {
  const auto emitted = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "hone_torch_emitted"));
  nvtxRangePushA("aten::sub, op_id = 1");  // before: nobody knows that it is torch's
  nvtxRangePop();
  if (emitted == nullptr) return 1;
  emitted(1);
  nvtxRangePushA("forward");
  nvtxRangePushA("aten::mul, seq = 7, op_id = 12, sizes = [[3], [3]]");
  nvtxRangePushA("aten::empty, op_id = 13");
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePop();
  nvtxRangePushA("MulBackward0, seq = 7, op_id = 14");
  nvtxRangePop();
  nvtxRangePushA("Optimizer.step#SGD.step, op_id = 15");
  nvtxRangePop();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::strcmp(words[1], "torch") == 0) return EmitLikeTorch();
  nvtxRangePushA("step");
  nvtxRangePushW(L"vorw\u00e4rts");
  const nvtxEventAttributes_t inner = Message("attention");
  nvtxRangePushEx(&inner);
  nvtxMarkA("here");
  nvtxRangePop();
  nvtxRangePop();

  const nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  nvtxEventAttributes_t registered = Message("");
  registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  registered.message.registered = nvtxDomainRegisterStringA(domain, "ncclAllReduce");
  nvtxDomainRangePushEx(domain, &registered);
  nvtxRangePop();  // of the outer domain, while the inner one is open
  nvtxDomainRangePop(domain);
  nvtxDomainRangePushEx(domain, &registered);
  nvtxDomainRangePop(domain);

  const nvtxRangeId_t across = nvtxRangeStartA("across threads");
  std::thread([across] { nvtxRangeEnd(across); }).join();
  nvtxRangeEnd(across);  // twice is harmless
  nvtxRangePop();        // as is one too many

  if (count > 1) {  // a program that never pops
    for (int i = 0; i < 1000; ++i) nvtxRangePushA("leak");
    for (int i = 0; i < 1000; ++i) nvtxRangePop();
    nvtxRangePushA("after");
    nvtxRangePop();
  }
  return 0;
}
#else
int main() {
  std::puts("nvtx_program: built without NVIDIA's header nvtx3/nvToolsExt.h");
  return 77;
}
#endif
