// SPDX-License-Identifier: Apache-2.0
#include "analyze/source_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "trace/running.h"

namespace hone::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::SliceKind;

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Top folders of the standard library and of packages that programs around tensors use, and files
// of the standard library: after a recorder cut its path, "json/decoder.py" looks like a folder of
// the user's. Names that a script may well have itself are not here (code, profile, token, test; as
// folders copy, queue, html, datasets, gym, tokenizers): whose code it is says whose line is named.
// Sorted.
constexpr std::string_view kPackages[] = {"PIL",
                                          "accelerate",
                                          "aiohttp",
                                          "albumentations",
                                          "asyncio",
                                          "collections",
                                          "concurrent",
                                          "ctypes",
                                          "cv2",
                                          "deepspeed",
                                          "diffusers",
                                          "einops",
                                          "email",
                                          "encodings",
                                          "fastapi",
                                          "fsspec",
                                          "grpc",
                                          "gymnasium",
                                          "h5py",
                                          "http",
                                          "importlib",
                                          "jinja2",
                                          "joblib",
                                          "json",
                                          "lightning",
                                          "logging",
                                          "matplotlib",
                                          "multiprocessing",
                                          "networkx",
                                          "nltk",
                                          "numba",
                                          "numpy",
                                          "pandas",
                                          "pathlib",
                                          "peft",
                                          "polars",
                                          "pyarrow",
                                          "pytorch_lightning",
                                          "re",
                                          "requests",
                                          "safetensors",
                                          "scipy",
                                          "sentencepiece",
                                          "skimage",
                                          "sklearn",
                                          "spacy",
                                          "sqlite3",
                                          "starlette",
                                          "tiktoken",
                                          "torchaudio",
                                          "torchvision",
                                          "tornado",
                                          "tqdm",
                                          "transformers",
                                          "trl",
                                          "urllib",
                                          "urllib3",
                                          "uvicorn",
                                          "wandb",
                                          "xml",
                                          "yaml",
                                          "zipfile",
                                          "zmq"};
constexpr std::string_view kModules[] = {
    "_pydecimal",  "abc",       "argparse",     "ast",        "base64",     "bisect",
    "bz2",         "codecs",    "configparser", "contextlib", "copy",       "csv",
    "dataclasses", "datetime",  "decimal",      "difflib",    "enum",       "fnmatch",
    "fractions",   "functools", "genericpath",  "glob",       "gzip",       "hashlib",
    "heapq",       "hmac",      "inspect",      "io",         "linecache",  "locale",
    "lzma",        "os",        "pathlib",      "pickle",     "posixpath",  "queue",
    "random",      "re",        "selectors",    "shutil",     "socket",     "sre_compile",
    "sre_parse",   "ssl",       "string",       "struct",     "subprocess", "tarfile",
    "tempfile",    "textwrap",  "threading",    "tokenize",   "traceback",  "typing",
    "uuid",        "warnings",  "weakref",      "zipfile"};

bool IsKnownPackage(std::string_view file) {
  const std::string_view top = file.substr(0, file.find('/'));
  if (top.size() < file.size()) {
    return std::binary_search(std::begin(kPackages), std::end(kPackages), top);
  }
  if (!top.ends_with(".py")) return false;
  return std::binary_search(std::begin(kModules), std::end(kModules),
                            top.substr(0, top.size() - 3));
}

// Of a framework's files those that make data ready: text into tokens, images and sound into
// tensors, samples into batches. `path`: from the package on.
bool PreparesData(std::string_view path) {
  if (path.starts_with("transformers/data/")) return true;
  const std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::string_view kFiles[] = {
      "tokenization_", "image_process", "image_transforms",    "image_utils", "video_process",
      "video_utils",   "audio_utils",   "feature_extraction_", "processing_", "data_utils"};
  return std::any_of(std::begin(kFiles), std::end(kFiles),
                     [&](std::string_view begin) { return file.starts_with(begin); });
}

}  // namespace

SourceFrame ParseFrame(std::string_view text) {
  // The last "(digits): " counts: directories may hold parentheses, functions have none.
  for (std::size_t close = text.rfind("): "); close != std::string_view::npos && close > 0;
       close = text.rfind("): ", close - 1)) {
    std::size_t open = close;
    while (open > 0 && text[open - 1] >= '0' && text[open - 1] <= '9') --open;
    if (open == close || open < 2 || text[open - 1] != '(') continue;
    SourceFrame frame{text.substr(0, open - 1), text.substr(close + 3), 0};
    std::from_chars(text.data() + open, text.data() + close, frame.line);
    return frame;
  }
  return {{}, text, 0};
}

bool IsComprehension(const SourceFrame& frame) {
  return frame.function.ends_with("<listcomp>") || frame.function.ends_with("<setcomp>") ||
         frame.function.ends_with("<dictcomp>") || frame.function.ends_with("<genexpr>");
}

std::string_view WrittenFunction(const SourceFrame& frame) {
  std::string_view function = frame.function;
  while (IsComprehension({frame.file, function})) {
    const std::size_t around = function.rfind(".<locals>.");
    if (around == std::string_view::npos) return function;
    function = function.substr(0, around);
  }
  return function;
}

std::string SourceText(std::string_view frame) {
  const SourceFrame parsed = ParseFrame(frame);
  if (parsed.file.empty()) return std::string(frame);
  return fmt::format("{}:{} ({})", parsed.file, parsed.line, WrittenFunction(parsed));
}

bool IsUserFrame(const SourceFrame& frame) {
  // Recorders cut paths at sys.path, so PyTorch's own files start with "torch/", and others' with
  // the name of their package; a full path names the folder of packages or of the standard library.
  return !IsKnownPackage(frame.file) && !frame.file.empty() && !frame.file.starts_with("torch/") &&
         !frame.file.starts_with("<") && !Has(frame.file, "site-packages/") &&
         !Has(frame.file, "dist-packages/") && !Has(frame.file, "/lib/python3");
}

bool IsFrameworkFrame(const SourceFrame& frame) {
  if (Has(frame.file, "torch/_tensor_str.py") || Has(frame.file, "torch/utils/tensorboard/")) {
    return false;
  }
  if (frame.file.starts_with("torch/") || Has(frame.file, "/torch/")) return true;
  constexpr std::string_view kFrameworks[] = {
      "transformers/", "accelerate/", "lightning/", "pytorch_lightning/",
      "deepspeed/",    "diffusers/",  "peft/",      "trl/"};
  constexpr std::string_view kFolder = "-packages/";
  std::string_view path = frame.file;
  if (const std::size_t at = path.rfind(kFolder); at != std::string_view::npos) {
    path.remove_prefix(at + kFolder.size());
  }
  return std::any_of(std::begin(kFrameworks), std::end(kFrameworks),
                     [&](std::string_view package) { return path.starts_with(package); }) &&
         !PreparesData(path);
}

bool IsDeepCopyFrame(const SourceFrame& frame) {
  return frame.function == "deepcopy" &&
         (frame.file == "copy.py" || frame.file.ends_with("/copy.py"));
}

std::string_view CallSiteOf(std::string_view stack) {
  std::string_view any;
  while (!stack.empty()) {
    const std::size_t cut = stack.find(';');
    std::string_view frame = stack.substr(0, cut);
    stack = cut == std::string_view::npos ? std::string_view{} : stack.substr(cut + 1);
    while (frame.starts_with(' ')) frame.remove_prefix(1);
    const SourceFrame parsed = ParseFrame(frame);
    if (parsed.file.empty()) continue;
    if (IsUserFrame(parsed)) return frame;
    if (any.empty()) any = frame;
  }
  return any;
}

CallSites::CallSites(const trace::Trace& trace, const Lineage& lineage)
    : trace_(trace), lineage_(lineage), source_(trace.host.size(), kNoRow) {
  const trace::HostSlices& host = trace.host;
  enum : std::uint8_t { kUnseen, kNo, kYes };
  std::vector<std::uint8_t> user(trace.strings.size(), kUnseen);
  for (const trace::OpDetail& detail : trace.op_details) {
    if (detail.stack == StringId::kEmpty) continue;
    stack_sites_.resize(trace.strings.size());
    std::string_view& site = stack_sites_[static_cast<std::uint32_t>(detail.stack)];
    if (site.empty()) site = CallSiteOf(trace.Name(detail.stack));
  }
  trace::Running running(host);
  for (RowId i = 0; i < host.size(); ++i) {
    source_[i] = running.Around(i);
    if (host.kind[i] == SliceKind::kPython) {
      std::uint8_t& seen = user[static_cast<std::uint32_t>(host.name[i])];
      if (seen == kUnseen) seen = IsUserFrame(ParseFrame(trace.HostName(i))) ? kYes : kNo;
      if (seen == kYes) source_[i] = i;
    } else if (const StringId stack = trace.op_details[host.detail[i]].stack;
               stack != StringId::kEmpty &&
               !stack_sites_[static_cast<std::uint32_t>(stack)].empty()) {
      source_[i] = i;
    }
    if (source_[i] == i) running.Begin(i);
  }
}

std::string_view CallSites::Of(RowId host_row) const {
  const RowId row = source_[host_row] != kNoRow ? source_[host_row] : lineage_.python[host_row];
  if (row == kNoRow) return {};
  if (trace_.host.kind[row] == SliceKind::kPython) return trace_.HostName(row);
  const StringId stack = trace_.op_details[trace_.host.detail[row]].stack;
  return stack_sites_[static_cast<std::uint32_t>(stack)];
}

}  // namespace hone::analyze
