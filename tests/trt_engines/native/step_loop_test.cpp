// The step loop against the libcuda double, to be run under the sanitizers. Prints nothing unless something is wrong.
#include "step_loop.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "uniform.h"

extern "C" {
void double_describe(void* upload, void* download, const std::size_t* offsets, std::size_t row_count);
void* double_graph(std::size_t rows, unsigned duration_us);
void double_clear_count(std::size_t row);
void double_fail_launches_after(int count);
std::size_t double_log(char* target, std::size_t capacity);
}

namespace {

using antiphon::StepDevice;
using antiphon::StepLayout;
using antiphon::StepLoop;

constexpr std::size_t kRows = 8;
constexpr std::size_t kRecord = 4 + 8 + 4;

void expect(bool is_true, const char* fact, int line) {
  if (!is_true) {
    std::fprintf(stderr, "line %d: not so: %s\n", line, fact);
    std::exit(1);
  }
}
#define EXPECT(fact) expect((fact), #fact, __LINE__)

struct Bench {
  StepLayout layout;
  std::vector<std::uint8_t> device_upload, device_download;
  std::vector<std::uint8_t> uploads[2], downloads[2];

  explicit Bench() {
    layout.row_count = kRows;
    layout.params_offset = 256;
    layout.param_count = 1;
    layout.random_offset = 512;
    layout.random_count = 2;
    layout.upload_bytes = 768;
    layout.frame_row_bytes = 8;
    layout.emit_offset = 256;
    layout.done_offset = 512;
    layout.finite_offset = 768;
    layout.row_ids_offset = 1024;
    layout.row_ids_row_bytes = 4;
    layout.download_bytes = 1280;
    device_upload.resize(layout.upload_bytes);
    device_download.resize(layout.download_bytes);
    for (int block = 0; block < 2; ++block) {
      uploads[block].resize(layout.upload_bytes);
      downloads[block].resize(layout.download_bytes);
    }
    const std::size_t offsets[] = {256, 1, 512, 2, 0, 256, 512, 768, 1024};
    double_describe(device_upload.data(), device_download.data(), offsets, kRows);
  }

  StepDevice device(unsigned duration_us) {
    StepDevice made;
    made.stream = this;
    made.upload = reinterpret_cast<antiphon::Address>(device_upload.data());
    made.download = reinterpret_cast<antiphon::Address>(device_download.data());
    made.host_uploads = {uploads[0].data(), uploads[1].data()};
    made.host_downloads = {downloads[0].data(), downloads[1].data()};
    for (const std::size_t rows : {std::size_t{2}, std::size_t{4}, kRows}) {
      made.graphs.emplace_back(rows, double_graph(rows, duration_us));
    }
    return made;
  }
};

std::uint32_t count_of(const std::vector<std::uint8_t>& records, std::size_t index) {
  std::uint32_t count = 0;
  std::memcpy(&count, records.data() + index * kRecord + 4, 4);
  return count;
}

float number_of(const std::vector<std::uint8_t>& records, std::size_t index) {
  float number = 0;
  std::memcpy(&number, records.data() + index * kRecord + 8, 4);
  return number;
}

// Each row gets its own frames, in order, with the random numbers of its own seed and step.
void frames_come_in_order(const char* library) {
  Bench bench;
  StepLoop loop(library, bench.layout, bench.device(20), 3);
  for (std::size_t row = 0; row < kRows; ++row) {
    loop.begin(row, 100 + row, {1000.0F}, 7, 500);
  }
  for (std::uint32_t step = 1; step <= 200; ++step) {
    std::vector<std::size_t> rows;
    for (std::size_t row = step % 3; row < kRows; ++row) {
      rows.push_back(row);
    }
    const auto records = loop.advance(rows);
    EXPECT(records.size() == rows.size() * kRecord);
    for (std::size_t index = 0; index < rows.size(); ++index) {
      const std::uint32_t count = count_of(records, index);
      EXPECT(number_of(records, index) == antiphon::uniform(100 + rows[index], 7 + count - 1, 0));
      EXPECT(records[index * kRecord] == 1 && records[index * kRecord + 2] == 1);
    }
    EXPECT(count_of(records, rows.size() - 1) == step);
  }
}

// The flags stop a row by themselves; asked for more, it goes on.
void done_rows_rest(const char* library) {
  Bench bench;
  StepLoop loop(library, bench.layout, bench.device(20), 4);
  loop.begin(1, 5, {3.0F}, 0, 100);
  for (std::uint32_t step = 1; step <= 3; ++step) {
    const auto records = loop.advance({1});
    EXPECT(count_of(records, 0) == step);
    EXPECT((records[1] != 0) == (step == 3));
  }
  const auto records = loop.advance({1});
  EXPECT(count_of(records, 0) == 4);
}

// Rows that end and begin anew never see a frame of before, whatever is still on the stream.
void rows_are_used_again(const char* library) {
  Bench bench;
  StepLoop loop(library, bench.layout, bench.device(10), 4);
  for (std::uint64_t turn = 0; turn < 60; ++turn) {
    const std::size_t row = turn % 3;
    loop.end(row);
    loop.settle();
    double_clear_count(row);
    loop.begin(row, turn, {1000.0F}, 0, 50);
    for (std::uint32_t step = 1; step <= turn % 5 + 1; ++step) {
      const auto records = loop.advance({row});
      EXPECT(count_of(records, 0) == step);
      EXPECT(number_of(records, 0) == antiphon::uniform(turn, step - 1, 0));
    }
  }
}

// A step is uploaded, launched, downloaded and marked; the next is on the stream before the first is waited for.
void two_steps_are_on_the_stream(const char* library) {
  Bench bench;
  StepLoop loop(library, bench.layout, bench.device(2000), 4);
  loop.begin(0, 1, {1000.0F}, 0, 100);
  loop.advance({0});
  loop.close();
  char log[64];
  const std::string calls(log, double_log(log, sizeof(log)));
  EXPECT(calls.substr(0, 9) == "ugdrugdrw");
}

// No row is stepped beyond its cache.
void the_cache_has_an_end(const char* library) {
  Bench bench;
  StepLoop loop(library, bench.layout, bench.device(5), 16);
  loop.begin(0, 1, {1000.0F}, 0, 3);
  for (int step = 0; step < 3; ++step) {
    loop.advance({0});
  }
  loop.close();
  EXPECT(loop.run_count() == 3);
}

// A failure of the driver reaches the caller as a sentence, and the loop can still be closed.
void failures_are_told(const char* library) {
  Bench bench;
  StepLoop loop(library, bench.layout, bench.device(5), 2);
  double_fail_launches_after(3);
  loop.begin(0, 1, {1000.0F}, 0, 100);
  try {
    for (int step = 0; step < 10; ++step) {
      loop.advance({0});
    }
    EXPECT(false);
  } catch (const antiphon::CudaFailure& failure) {
    EXPECT(std::string(failure.what()) == "cuGraphLaunch failed: CUresult 719.");
  }
}

void a_missing_driver_is_told() {
  Bench bench;
  try {
    StepLoop loop("libcuda-that-is-not-there.so.1", bench.layout, bench.device(5), 2);
    EXPECT(false);
  } catch (const antiphon::CudaFailure& failure) {
    EXPECT(std::string(failure.what()).find("Install an NVIDIA driver") != std::string::npos);
  }
}

}  // namespace

int main(int, char** arguments) {
  const char* const library = arguments[1];
  frames_come_in_order(library);
  done_rows_rest(library);
  rows_are_used_again(library);
  two_steps_are_on_the_stream(library);
  the_cache_has_an_end(library);
  failures_are_told(library);
  a_missing_driver_is_told();
  return 0;
}
