// SPDX-License-Identifier: Apache-2.0
// What is written is read again, and whatever happened to the file on the way, nothing else is.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "wire/checksum.h"
#include "wire/file_reader.h"
#include "wire/file_writer.h"
#include "wire/little_endian.h"

namespace hone::wire {
namespace {

class WireTest : public testing::Test {
 protected:
  WireTest() {
    char folder[] = "/tmp/hone_wire_XXXXXX";
    folder_ = mkdtemp(folder);
  }
  ~WireTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string folder_;
};

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Values of row `row` for a column, among them the extremes of each kind.
std::int64_t IntegerAt(std::size_t row, std::size_t column) {
  constexpr std::int64_t kValues[] = {
      0,  INT64_MIN, INT64_MAX, -1,  1,   INT64_MIN, 63,
      64, -64,       -65,       127, 128, 1 << 20,   -(std::int64_t{1} << 40)};
  return kValues[(row + column) % std::size(kValues)];
}
std::string_view TextAt(std::size_t row, std::size_t column) {
  static const std::string kValues[] = {"",     std::string("\0a\0", 3),   "aten::mm",
                                        "hCHK", std::string(100'000, 'x'), "π"};
  return kValues[(row + column) % std::size(kValues)];
}
double DoubleAt(std::size_t row, std::size_t column) {
  constexpr double kValues[] = {0.0,   -0.0, 1e308, -1.5, std::numeric_limits<double>::infinity(),
                                5e-324};
  return kValues[(row + column) % std::size(kValues)];
}
constexpr std::size_t kRows = 30;

template <std::size_t kTable, std::size_t kColumn>
auto ValueAt(std::size_t row) {
  constexpr Encoding kEncoding = kTables[kTable].columns[kColumn].encoding;
  if constexpr (kEncoding == Encoding::kText) {
    return TextAt(row, kColumn);
  } else if constexpr (kEncoding == Encoding::kDouble) {
    return DoubleAt(row, kColumn);
  } else {
    return IntegerAt(row, kColumn);
  }
}

template <std::size_t kTable, std::size_t... kColumns>
void FillTable(ChunkBuilder& rows, std::index_sequence<kColumns...>) {
  for (std::size_t row = 0; row < kRows; ++row) rows.Row(ValueAt<kTable, kColumns>(row)...);
}

template <std::size_t... kTableNumbers>
void WriteAll(FileWriter& writer, std::index_sequence<kTableNumbers...>) {
  const auto one = [&]<std::size_t kTable>(std::integral_constant<std::size_t, kTable>) {
    ChunkBuilder rows(static_cast<Table>(kTable));
    FillTable<kTable>(rows, std::make_index_sequence<kTables[kTable].columns.size()>{});
    EXPECT_EQ(writer.Append(rows), WriteStatus::kOk);
    EXPECT_TRUE(rows.empty());
  };
  (one(std::integral_constant<std::size_t, kTableNumbers + 1>{}), ...);
}

void ExpectColumn(const Chunk& chunk, const ColumnSpec& spec, std::size_t column) {
  SCOPED_TRACE(std::string(chunk.table()) + "." + spec.name);
  if (spec.encoding == Encoding::kText) {
    const auto values = chunk.Texts(spec.name);
    ASSERT_EQ(values.size(), kRows);
    for (std::size_t i = 0; i < kRows; ++i) EXPECT_EQ(values[i], TextAt(i, column)) << i;
  } else if (spec.encoding == Encoding::kDouble) {
    const auto values = chunk.Doubles(spec.name);
    ASSERT_EQ(values.size(), kRows);
    for (std::size_t i = 0; i < kRows; ++i) {
      EXPECT_EQ(values[i], DoubleAt(i, column)) << i;
      EXPECT_EQ(std::signbit(values[i]), std::signbit(DoubleAt(i, column))) << i;
    }
  } else {
    const auto values = chunk.Integers(spec.name);
    ASSERT_EQ(values.size(), kRows);
    for (std::size_t i = 0; i < kRows; ++i) EXPECT_EQ(values[i], IntegerAt(i, column)) << i;
  }
}

TEST_F(WireTest, EveryTableComesBack) {
  {
    Result<FileWriter> writer = FileWriter::Create(Path("a.hone"));
    ASSERT_TRUE(writer) << writer.error().message();
    WriteAll(*writer, std::make_index_sequence<kTableCount - 1>{});
    EXPECT_EQ(writer->bytes_written(), std::filesystem::file_size(Path("a.hone")));
  }
  Result<FileReader> reader = FileReader::Open(Path("a.hone"));
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->version(), 1u);
  Chunk chunk;
  for (std::size_t table = 1; table < kTableCount; ++table) {
    ASSERT_TRUE(reader->Next(chunk));
    EXPECT_EQ(chunk.table(), kTables[table].name);
    ASSERT_EQ(chunk.rows(), kRows);
    for (std::size_t i = 0; i < kTables[table].columns.size(); ++i) {
      ExpectColumn(chunk, kTables[table].columns[i], i);
    }
    EXPECT_TRUE(chunk.Integers("no such column").empty());
  }
  EXPECT_FALSE(reader->Next(chunk));
  EXPECT_EQ(reader->damage().chunks, 0u);
  EXPECT_EQ(reader->damage().bytes_skipped, 0u);
  EXPECT_FALSE(reader->damage().torn_end);
  EXPECT_EQ(reader->bytes_done(), reader->bytes());
}

TEST_F(WireTest, OtherTablesAreSteppedOverAndCounted) {
  {
    Result<FileWriter> writer = FileWriter::Create(Path("a.hone"));
    ASSERT_TRUE(writer);
    WriteAll(*writer, std::make_index_sequence<kTableCount - 1>{});
  }
  Result<FileReader> reader = FileReader::Open(Path("a.hone"));
  ASSERT_TRUE(reader);
  reader->Only({Table::kClock, Table::kMarks});
  Chunk chunk;
  ASSERT_TRUE(reader->Next(chunk));
  EXPECT_EQ(chunk.table(), "clock");
  ASSERT_TRUE(reader->Next(chunk));
  EXPECT_EQ(chunk.table(), "marks");
  EXPECT_EQ(chunk.Integers("value")[1], IntegerAt(1, 2));
  EXPECT_FALSE(reader->Next(chunk));
  for (std::size_t table = 1; table < kTableCount; ++table) {
    EXPECT_EQ(reader->rows()[table], kRows) << table;
  }
}

TEST_F(WireTest, AnExistingFileIsNotTouched) {
  std::ofstream(Path("a.hone")) << "mine";
  EXPECT_FALSE(FileWriter::Create(Path("a.hone")));
  EXPECT_EQ(Slurp(Path("a.hone")), "mine");
}

// A small file of four chunks behind the schema; `ends` is where each chunk ends.
std::string SmallFile(const std::string& path, std::vector<std::uint64_t>& ends) {
  Result<FileWriter> writer = FileWriter::Create(path);
  EXPECT_TRUE(writer);
  ends.push_back(writer->bytes_written());
  for (int i = 0; i < 4; ++i) {
    ChunkBuilder rows(Table::kClock);
    for (int row = 0; row < 40; ++row) rows.Row(i * 1000 + row * 7, row * row, -row);
    EXPECT_EQ(writer->Append(rows), WriteStatus::kOk);
    ends.push_back(writer->bytes_written());
  }
  return Slurp(path);
}

TEST_F(WireTest, TornAtEveryByteKeepsWholeChunks) {
  std::vector<std::uint64_t> ends;
  const std::string whole = SmallFile(Path("a.hone"), ends);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    Result<FileReader> reader =
        FileReader::OpenImage(std::string_view(whole).substr(0, cut), "cut");
    ASSERT_TRUE(reader) << cut;
    Chunk chunk;
    std::size_t chunks = 0;
    while (reader->Next(chunk)) {
      ASSERT_EQ(chunk.rows(), 40u) << cut;
      EXPECT_EQ(chunk.Integers("ticks")[1], static_cast<std::int64_t>(chunks * 1000 + 7)) << cut;
      ++chunks;
    }
    std::size_t expected = 0;
    bool on_edge = cut == kFileHeadBytes;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      if (i > 0 && ends[i] <= cut) ++expected;
      on_edge = on_edge || ends[i] == cut;
    }
    EXPECT_EQ(chunks, expected) << cut;
    EXPECT_EQ(reader->damage().torn_end, !on_edge) << cut;
    EXPECT_EQ(reader->damage().chunks, 0u) << cut;
  }
}

TEST_F(WireTest, EveryFlippedByteIsNoticed) {
  std::vector<std::uint64_t> ends;
  const std::string whole = SmallFile(Path("a.hone"), ends);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      Result<FileReader> reader = FileReader::OpenImage(bytes, "flipped");
      if (at < sizeof kFileMagic) {
        EXPECT_FALSE(reader) << at;
        continue;
      }
      ASSERT_TRUE(reader) << at;
      Chunk chunk;
      std::size_t chunks = 0;
      while (reader->Next(chunk)) ++chunks;
      if (at < kFileHeadBytes) {  // version and reserved
        EXPECT_EQ(chunks, 4u);
        continue;
      }
      const ReadDamage& damage = reader->damage();
      EXPECT_EQ(chunks, at < ends[0] ? 4u : 3u) << at;
      EXPECT_EQ(damage.chunks + (damage.torn_end ? 1 : 0), 1u) << at;
      EXPECT_GT(damage.bytes_skipped, 0u) << at;
      EXPECT_FALSE(damage.first.empty());
    }
  }
}

// A chunk as no writer of ours would make it, with a correct checksum.
std::string RawChunk(std::uint16_t table, std::uint16_t flags, std::uint32_t rows,
                     std::uint32_t raw, const std::string& payload) {
  std::string chunk(kChunkHeadBytes, '\0');
  auto* head = reinterpret_cast<std::uint8_t*>(chunk.data());
  Store32(head, kChunkMagic);
  Store16(head + 4, table);
  Store16(head + 6, flags);
  Store32(head + 8, rows);
  Store32(head + 12, raw);
  Store32(head + 16, static_cast<std::uint32_t>(payload.size()));
  Store32(head + 20, ChunkChecksum(head, reinterpret_cast<const std::uint8_t*>(payload.data()),
                                   payload.size()));
  return chunk + payload;
}
std::string ColumnBytes(std::uint16_t number, std::uint8_t encoding, const std::string& bytes) {
  std::string column(8, '\0');
  auto* head = reinterpret_cast<std::uint8_t*>(column.data());
  Store16(head, number);
  head[2] = encoding;
  Store32(head + 4, static_cast<std::uint32_t>(bytes.size()));
  return column + bytes;
}
std::string Head(std::uint32_t version) {
  std::string head(kFileMagic, sizeof kFileMagic);
  head.resize(kFileHeadBytes);
  Store32(reinterpret_cast<std::uint8_t*>(head.data()) + 8, version);
  return head;
}

TEST_F(WireTest, HostileHeadsAllocateNothing) {
  const std::string column = ColumnBytes(0, 1, "\x02");
  const auto size = static_cast<std::uint32_t>(column.size());
  const std::string good = RawChunk(2, 0, 1, size, column);
  const std::string hostile[] = {
      RawChunk(2, 0, UINT32_MAX, size, column),                    // rows beyond the bytes
      RawChunk(2, 0, size, size, column),                          // rows beyond this column
      RawChunk(2, 1, 1, UINT32_MAX, column),                       // 4 GiB unpacked
      RawChunk(2, 1, 1, size * 64, column),                        // not zstd at all
      RawChunk(2, 0, 1, size + 1, column),                         // sizes disagree
      RawChunk(2, 0x80, 1, size, column),                          // stored in an unknown way
      RawChunk(2, 0, 1, size, ColumnBytes(0, 1, "\x80")),          // a number that does not end
      RawChunk(2, 0, 1, size + 1, ColumnBytes(0, 1, "\x02\x02")),  // more values than rows
      RawChunk(3, 0, 1, size, ColumnBytes(1, 2, "\x05")),          // a text beyond its column
      RawChunk(2, 0, 1, 8, ColumnBytes(0, 1, std::string()).substr(0, 4) + "\xFF\xFF\xFF\x7F"),
  };
  for (const std::string& chunk : hostile) {
    SCOPED_TRACE(&chunk - hostile);
    const std::string file = Head(1) + chunk + good;
    Result<FileReader> reader = FileReader::OpenImage(file, "hostile");
    ASSERT_TRUE(reader);
    Chunk out;
    ASSERT_TRUE(reader->Next(out));
    EXPECT_EQ(out.Integers("ticks")[0], 1);
    EXPECT_FALSE(reader->Next(out));
    EXPECT_EQ(reader->damage().chunks, 1u);
    EXPECT_EQ(reader->damage().bytes_skipped, chunk.size());
  }
}

TEST_F(WireTest, AFileOfFalseMagicsIsReadInLinearTime) {
  std::string file = Head(1);
  std::string head(kChunkHeadBytes, '\0');
  auto* bytes = reinterpret_cast<std::uint8_t*>(head.data());
  Store32(bytes, kChunkMagic);
  Store32(bytes + 12, kLargestChunk);
  Store32(bytes + 16, kLargestChunk);
  while (file.size() < (16u << 20)) file += head;  // 16 MiB: 350,000 of them, 8 MiB each
  Result<FileReader> reader = FileReader::OpenImage(file, "magics");
  ASSERT_TRUE(reader);
  Chunk chunk;
  EXPECT_FALSE(reader->Next(chunk));
  EXPECT_EQ(reader->damage().bytes_skipped, file.size() - kFileHeadBytes);
}

TEST_F(WireTest, NewerFilesAreReadAsFarAsTheyAreUnderstood) {
  // Version 9: table 900 "dreams" with a column, and a column 77 "colour" more in the clock.
  ChunkBuilder schema(Table::kSchema);
  schema.Row(900, "dreams", 0, "depth", Encoding::kValue);
  schema.Row(2, "clock", 77, "colour", Encoding::kValue);
  std::string payload(schema.PayloadBytes(), '\0');
  schema.CopyPayload(reinterpret_cast<std::uint8_t*>(payload.data()));
  const std::string depth = ColumnBytes(0, 1, "\x04");
  const std::string clock = ColumnBytes(0, 1, "\x02") + ColumnBytes(77, 1, "\x06") +
                            ColumnBytes(78, 1, "\x06") +      // no name in the schema
                            ColumnBytes(1, 200, "whatever");  // an encoding of that version
  const std::string unknown = ColumnBytes(0, 1, "\x04");
  const std::string file =
      Head(9) + RawChunk(0, 0, 2, static_cast<std::uint32_t>(payload.size()), payload) +
      RawChunk(900, 0, 1, static_cast<std::uint32_t>(depth.size()), depth) +
      RawChunk(901, 0, 1, static_cast<std::uint32_t>(unknown.size()), unknown) +
      RawChunk(2, 0, 1, static_cast<std::uint32_t>(clock.size()), clock);
  Result<FileReader> reader = FileReader::OpenImage(file, "newer");
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->newer_version());
  Chunk chunk;
  ASSERT_TRUE(reader->Next(chunk));
  EXPECT_EQ(chunk.table(), "dreams");
  EXPECT_EQ(chunk.Integers("depth")[0], 2);
  ASSERT_TRUE(reader->Next(chunk));
  EXPECT_EQ(chunk.table(), "");
  ASSERT_TRUE(reader->Next(chunk));
  EXPECT_EQ(chunk.table(), "clock");
  EXPECT_EQ(chunk.Integers("ticks")[0], 1);
  EXPECT_EQ(chunk.Integers("colour")[0], 3);
  EXPECT_TRUE(chunk.Integers("monotonic_ns").empty());
  EXPECT_FALSE(reader->Next(chunk));
  EXPECT_EQ(reader->damage().chunks, 0u);
}

// In a child, so that the limit does not touch the other tests. SIGXFSZ keeps its default, which
// would end the child: the writer must not provoke it.
TEST_F(WireTest, AFullDiskEndsTheFileWithAWholeChunk) {
  const std::string path = Path("full.hone");
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{20'000, 20'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<FileWriter> writer = FileWriter::Create(path);
    if (!writer) _exit(10);
    ChunkBuilder rows(Table::kMemory);
    std::uint64_t noise = 1;
    for (int chunk = 0; chunk < 100; ++chunk) {
      for (int row = 0; row < 50; ++row) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        rows.Row(1, noise, 0, 0, noise >> 3, noise >> 40, 0, noise, noise, 0, 0);
      }
      if (writer->Append(rows) == WriteStatus::kOk) continue;
      if (!rows.empty() || writer->lost_rows() != 50) _exit(11);
      if (writer->status() != WriteStatus::kFull || writer->error_number() != EFBIG) _exit(12);
      rows.Row(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
      _exit(writer->Append(rows) == WriteStatus::kFull ? 0 : 13);
    }
    _exit(14);
  }
  int state = 0;
  waitpid(child, &state, 0);
  ASSERT_TRUE(WIFEXITED(state)) << "signal " << WTERMSIG(state);
  EXPECT_EQ(WEXITSTATUS(state), 0);
  Result<FileReader> reader = FileReader::Open(path);
  ASSERT_TRUE(reader);
  Chunk chunk;
  int chunks = 0;
  while (reader->Next(chunk)) ++chunks;
  EXPECT_GT(chunks, 3);
  EXPECT_FALSE(reader->damage().torn_end);
  EXPECT_EQ(reader->damage().bytes_skipped, 0u);
}

// A daemon closes every descriptor; the next file it opens gets the number.
TEST_F(WireTest, ADescriptorThatWasTakenOverIsLeftAlone) {
  Result<FileWriter> writer = FileWriter::Create(Path("a.hone"));
  ASSERT_TRUE(writer);
  const auto size = writer->bytes_written();
  int ours = -1;
  for (int fd = 3; fd < 1024; ++fd) {
    char link[4096];
    const auto length =
        readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), link, sizeof link);
    if (length > 0 && std::string(link, static_cast<std::size_t>(length)) == Path("a.hone"))
      ours = fd;
  }
  ASSERT_GE(ours, 3);
  FILE* theirs = fopen(Path("theirs").c_str(), "w");
  ASSERT_EQ(dup2(fileno(theirs), ours), ours);
  ChunkBuilder rows(Table::kClock);
  rows.Row(1, 2, 3);
  EXPECT_EQ(writer->Append(rows), WriteStatus::kFailed);
  EXPECT_EQ(std::filesystem::file_size(Path("theirs")), 0u);
  EXPECT_EQ(std::filesystem::file_size(Path("a.hone")), size);
  close(ours);
  fclose(theirs);
}

TEST_F(WireTest, AVeryLongTextIsCutAndMuchOfOneThingIsStoredPlain) {
  {
    Result<FileWriter> writer = FileWriter::Create(Path("a.hone"));
    ASSERT_TRUE(writer);
    ChunkBuilder rows(Table::kInfo);
    rows.Row("key", std::string(3u << 20, 'a'));
    EXPECT_EQ(writer->Append(rows), WriteStatus::kOk);
    EXPECT_EQ(writer->lost_rows(), 0u);
  }
  Result<FileReader> reader = FileReader::Open(Path("a.hone"));
  ASSERT_TRUE(reader);
  Chunk chunk;
  ASSERT_TRUE(reader->Next(chunk));
  EXPECT_EQ(chunk.Texts("value")[0], std::string(ChunkBuilder::kLongestText, 'a'));
}

TEST_F(WireTest, OtherFilesAreRefusedInOneSentence) {
  std::ofstream(Path("notes.txt")) << "hello";
  const Result<FileReader> reader = FileReader::Open(Path("notes.txt"));
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().message().find("not a recording of hone"), std::string::npos);
  EXPECT_FALSE(FileReader::Open(Path("missing")));
  EXPECT_FALSE(FileReader::Open(folder_));
}

}  // namespace
}  // namespace hone::wire
