// Steps rows ahead of those who ask, on a thread that never holds Python's interpreter lock.
//
//   Python's model thread            the loop's thread                      the GPU
//   begin, end, resume  --ring-->    which rows may step?
//   advance: grants one more         upload block, launch graph, download   steps, in order of the stream
//        <--ring--  frames           wait for the event, read the flags
//
// A row may be `depth` frames ahead of what was taken from it. Two steps are on the stream at a time, each with pinned
// blocks of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_library.h"
#include "ring.h"

namespace antiphon {

constexpr std::size_t kMostParams = 32;
constexpr std::size_t kBlockCount = 2;

// Where the tensors of a step lie in the two blocks, in bytes; a count of 0 means that the voice has no such tensor.
struct StepLayout {
  std::size_t row_count = 0;
  std::size_t active_offset = 0;
  std::size_t params_offset = 0;
  std::size_t param_count = 0;
  std::size_t random_offset = 0;
  std::size_t random_count = 0;
  std::size_t upload_bytes = 0;
  std::size_t frame_offset = 0;
  std::size_t frame_row_bytes = 0;
  std::size_t emit_offset = 0;
  std::size_t done_offset = 0;
  std::size_t finite_offset = 0;
  std::size_t row_ids_offset = 0;
  std::size_t row_ids_row_bytes = 0;
  std::size_t download_bytes = 0;
};

// What the loop works on; all of it outlives the loop.
struct StepDevice {
  Handle stream = nullptr;
  Address upload = 0;
  Address download = 0;
  std::array<std::uint8_t*, kBlockCount> host_uploads{};
  std::array<std::uint8_t*, kBlockCount> host_downloads{};
  std::vector<std::pair<std::size_t, Handle>> graphs;  // batch bucket and captured graph, buckets ascending
};

class StepLoop {
 public:
  StepLoop(const std::string& library, StepLayout layout, StepDevice device, std::size_t depth);
  ~StepLoop();
  StepLoop(const StepLoop&) = delete;
  StepLoop& operator=(const StepLoop&) = delete;

  // All of these are called from one thread.
  void begin(std::size_t row, std::uint64_t seed, const std::vector<float>& params, std::uint64_t first_index,
             std::uint64_t step_count);
  void end(std::size_t row);
  // Waits until no step for an ended row can be put on the stream any more.
  void settle();
  // Waits for one frame of each row; returns records one behind the other: emit, done, finite, 0, frame, row_ids.
  std::vector<std::uint8_t> advance(const std::vector<std::size_t>& rows);
  // Stops the thread after what is on the stream; harmless when repeated.
  void close();

  std::size_t record_bytes() const { return 4 + layout_.frame_row_bytes + layout_.row_ids_row_bytes; }
  std::uint64_t run_count() const { return run_count_.load(std::memory_order_relaxed); }

 private:
  enum class Verb : std::uint8_t { kBegin, kEnd, kResume };

  struct Command {
    Verb verb = Verb::kEnd;
    std::size_t row = 0;
    std::uint32_t generation = 0;
    std::uint64_t seed = 0;
    std::array<float, kMostParams> params{};
    std::uint64_t next_index = 0;
    std::uint64_t end_index = 0;
  };

  struct Frame {
    std::size_t row = 0;
    std::uint32_t generation = 0;
    std::vector<std::uint8_t> record;
  };

  // The loop's view of a row.
  struct Row {
    bool is_begun = false;
    bool is_done = false;
    std::uint32_t generation = 0;
    std::uint64_t seed = 0;
    std::array<float, kMostParams> params{};
    std::uint64_t next_index = 0;
    std::uint64_t end_index = 0;
    std::uint32_t launched = 0;
  };

  // Python's view of a row.
  struct Caller {
    std::uint32_t generation = 0;
    bool was_done = false;
    std::deque<std::vector<std::uint8_t>> frames;
  };

  struct Run {
    std::size_t block = 0;
    std::vector<std::pair<std::size_t, std::uint32_t>> rows;  // row and generation
  };

  void loop() noexcept;
  void work();
  void take_commands();
  void apply(const Command& command);
  std::vector<std::size_t> ready_rows() const;
  void launch(const std::vector<std::size_t>& rows);
  void fill(std::uint8_t* block, const std::vector<std::size_t>& rows);
  void collect();
  void publish(Frame frame);
  void send(Command command);
  void wake();
  void receive();
  void check() const;

  const StepLayout layout_;
  const StepDevice device_;
  const std::uint32_t depth_;
  CudaLibrary cuda_;
  Handle context_;
  std::array<Handle, kBlockCount> events_{};

  Ring<Command> commands_;
  Ring<Frame> frames_;
  std::vector<std::atomic<std::uint32_t>> granted_;
  std::atomic<std::uint32_t> wakes_{0};
  std::atomic<std::uint32_t> news_{0};
  std::atomic<std::uint64_t> applied_{0};
  std::atomic<std::uint64_t> run_count_{0};
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_failed_{false};
  std::string failure_;  // written before `has_failed_`

  std::vector<Row> rows_;
  std::deque<Run> in_flight_;
  std::vector<Caller> callers_;
  std::uint64_t sent_ = 0;
  std::thread thread_;
};

}  // namespace antiphon
