// SPDX-License-Identifier: Apache-2.0
#include "import/hone/dictionary.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace hone::importer::hone_file {
namespace {

using wire::Table;

// Of a call stack as text: call sites stand innermost, and a recursion would make texts as long as
// their number.
constexpr int kMostFrames = 24;
// Longer symbols do not occur; demangling may be superlinear in what is broken.
constexpr std::size_t kLongestSymbol = 16u << 10;
// Between the three texts of an operator's arguments, where they travel as one string.
constexpr char kSeparator = '\x1f';

std::string Demangle(const std::string& symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kLongestSymbol) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && readable ? std::string(readable.get()) : symbol;
}

// Paths below the program's own folder are told from there, as PyTorch's recorder does.
std::string_view FromFolder(std::string_view path, std::string_view folder) {
  if (folder.empty() || !path.starts_with(folder)) return path;
  std::string_view rest = path.substr(folder.size());
  if (!folder.ends_with('/') && !rest.starts_with('/')) return path;
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return rest.empty() ? path : rest;
}

// "net.py(14): Net.forward", taken apart.
struct PlaceText {
  std::string_view file, line, function;
};
PlaceText ParsePlace(std::string_view text) {
  const std::size_t end = text.rfind("): ");
  const std::size_t begin = end == std::string_view::npos ? end : text.rfind('(', end);
  if (begin == std::string_view::npos) return {{}, {}, text};
  return {text.substr(0, begin), text.substr(begin + 1, end - begin - 1), text.substr(end + 3)};
}

// Whoever is called from here under the name of forward is a module (or what torch.compile made of
// one). A torch.autograd.Function has a forward too, which C++ calls.
bool CallsModules(const PlaceText& caller) {
  return caller.file.ends_with("torch/nn/modules/module.py") ||
         caller.file.find("torch/_dynamo/") != std::string_view::npos;
}

}  // namespace

void Dictionary::Read(const ProcessFile& file, trace::Builder& builder) {
  Result<wire::FileReader> reader = file.bytes.Open();
  if (!reader) return;
  reader->Only({Table::kStrings, Table::kCode, Table::kFrames, Table::kArguments});
  wire::Chunk chunk;
  while (reader->Next(chunk)) {
    if (chunk.table() == "strings") TakeStrings(chunk, builder);
    if (chunk.table() == "code") TakeCode(chunk, file, builder);
    if (chunk.table() == "frames") TakeFrames(chunk, builder);
    if (chunk.table() == "arguments") TakeArguments(chunk, builder);
  }
}

void Dictionary::TakeStrings(const wire::Chunk& chunk, trace::Builder& builder) {
  const auto ids = chunk.Integers("id");
  const auto texts = chunk.Texts("text");
  for (std::size_t i = 0; i < std::min(ids.size(), texts.size()); ++i) {
    strings_.Set(ids[i], builder.Intern(texts[i]));
  }
}

void Dictionary::TakeCode(const wire::Chunk& chunk, const ProcessFile& file,
                          trace::Builder& builder) {
  const auto ids = chunk.Integers("id"), lines = chunk.Integers("first_line");
  const auto files = chunk.Texts("file"), functions = chunk.Texts("function");
  for (std::size_t i = 0; i < std::min({ids.size(), files.size(), functions.size()}); ++i) {
    code_.Set(ids[i], {builder.Intern(FromFolder(files[i], file.Text("cwd"))),
                       builder.Intern(functions[i]), lines.empty() ? 0 : lines[i]});
  }
}

void Dictionary::TakeFrames(const wire::Chunk& chunk, trace::Builder& builder) {
  const auto ids = chunk.Integers("id"), callers = chunk.Integers("caller");
  const auto codes = chunk.Integers("code"), lines = chunk.Integers("line");
  const auto text = [&](const Code& code, std::int64_t line) {
    const StringPool& strings = builder.trace().strings;
    std::string place(strings[code.file]);
    if (line > 0) place += '(' + std::to_string(line) + ')';
    place += ": ";
    place += strings[code.function];
    return builder.Intern(place);
  };
  for (std::size_t i = 0; i < std::min({ids.size(), callers.size(), codes.size(), lines.size()});
       ++i) {
    const Code code = code_.Get(codes[i]);
    frames_.Set(ids[i], builder.AddFrame(frames_.Get(callers[i]), text(code, code.first_line),
                                         text(code, lines[i])));
  }
}

void Dictionary::TakeArguments(const wire::Chunk& chunk, trace::Builder& builder) {
  const auto ids = chunk.Integers("id");
  const auto dims = chunk.Texts("dims"), types = chunk.Texts("types");
  const auto concrete = chunk.Texts("concrete");
  for (std::size_t i = 0; i < std::min({ids.size(), dims.size(), types.size()}); ++i) {
    arguments_.Set(ids[i], {builder.Intern(dims[i]), builder.Intern(types[i]),
                            concrete.empty() ? StringId::kEmpty : builder.Intern(concrete[i])});
  }
}

StringId Dictionary::KernelName(std::int64_t id, trace::Builder& builder) {
  StringId name = kernels_.Get(id);
  if (name != StringId::kEmpty) return name;
  const StringId symbol = Name(id);
  if (symbol == StringId::kEmpty) return symbol;
  name = builder.Intern(Demangle(std::string(builder.trace().strings[symbol])));
  kernels_.Set(id, name);
  return name;
}

StringId Dictionary::StackText(std::uint32_t frame, trace::Builder& builder) {
  if (frame == 0) return StringId::kEmpty;
  StringId text = stacks_.Get(frame);
  if (text != StringId::kEmpty) return text;
  const trace::Trace& trace = builder.trace();
  std::string stack;
  std::uint32_t at = frame;
  for (int depth = 0; at != 0 && depth < kMostFrames; ++depth) {
    if (depth > 0) stack += ';';
    stack += trace.Name(trace.stack_frames.place[at]);
    at = trace.stack_frames.caller[at];
  }
  text = builder.Intern(stack);
  stacks_.Set(frame, text);
  return text;
}

StringId Dictionary::ModuleText(std::uint32_t frame, trace::Builder& builder) {
  // Deeper models exist, but nobody reads their whole path; and a recursion must not cost its
  // square.
  constexpr std::size_t kLongest = 600;
  const trace::StackFrames& frames = builder.trace().stack_frames;
  for (auto f = static_cast<std::uint32_t>(modules_.size()); f <= frame; ++f) {
    const std::uint32_t caller = frames.caller[f];
    const StringId outer = caller < f ? modules_[caller] : StringId::kEmpty;
    modules_.push_back(outer);
    const StringPool& strings = builder.trace().strings;
    const PlaceText place = ParsePlace(strings[frames.place[f]]);
    const bool forward = place.function == "forward" || place.function.ends_with(".forward");
    if (!forward || strings[outer].size() > kLongest ||
        !CallsModules(ParsePlace(strings[frames.place[caller]]))) {
      continue;
    }
    // The line outside PyTorch that called it: the same class stands in many places of a model.
    std::uint32_t at = caller;
    PlaceText from = ParsePlace(strings[frames.place[at]]);
    while (at != 0 && CallsModules(from)) {
      at = frames.caller[at];
      from = ParsePlace(strings[frames.place[at]]);
    }
    std::string text(strings[outer]);
    if (!text.empty()) text += " > ";
    // Before Python 3.11 a function does not know its class.
    text += place.function == "forward" ? place.file.substr(place.file.rfind('/') + 1)
                                        : place.function.substr(0, place.function.rfind('.'));
    if (!from.line.empty() && from.file.find("torch/nn/") == std::string_view::npos) {
      text += " (" + std::string(from.file.substr(from.file.rfind('/') + 1)) + ':' +
              std::string(from.line) + ')';
    }
    modules_.back() = builder.Intern(text);
  }
  return modules_[frame];
}

Arguments Dictionary::ArgumentsOf(std::int64_t id, trace::Builder& builder) {
  if (id <= 0) return {};
  const Arguments known = arguments_.Get(id);
  if (!(known == Arguments{})) return known;
  // Or one string of three parts.
  const std::string text(builder.trace().strings[Name(id)]);
  const std::size_t first = text.find(kSeparator);
  if (first == std::string::npos) return {};
  const std::size_t second = text.find(kSeparator, first + 1);
  if (second == std::string::npos) return {};
  const std::string_view view(text);
  const Arguments split{builder.Intern(view.substr(0, first)),
                        builder.Intern(view.substr(first + 1, second - first - 1)),
                        builder.Intern(view.substr(second + 1))};
  arguments_.Set(id, split);
  return split;
}

}  // namespace hone::importer::hone_file
