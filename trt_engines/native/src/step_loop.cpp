#include "step_loop.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "uniform.h"

namespace antiphon {
namespace {

constexpr std::size_t kCommandsPerRow = 4;

}  // namespace

StepLoop::StepLoop(const std::string& library, StepLayout layout, StepDevice device, std::size_t depth)
    : layout_(layout),
      device_(std::move(device)),
      depth_(static_cast<std::uint32_t>(depth)),
      cuda_(library),
      context_(cuda_.current_context()),
      commands_(kCommandsPerRow * layout.row_count),
      frames_((depth + kBlockCount) * layout.row_count),
      granted_(layout.row_count),
      rows_(layout.row_count),
      callers_(layout.row_count) {
  if (depth == 0 || layout.param_count > kMostParams || device_.graphs.empty() ||
      device_.graphs.back().first < layout.row_count) {
    throw std::invalid_argument("A loop needs a depth of at least 1, at most 32 parameters and a graph for all rows.");
  }
  for (Handle& event : events_) {
    event = cuda_.create_event();
  }
  thread_ = std::thread(&StepLoop::loop, this);
}

StepLoop::~StepLoop() { close(); }

void StepLoop::close() {
  if (!thread_.joinable()) {
    return;
  }
  is_stopping_.store(true, std::memory_order_release);
  wake();
  thread_.join();
  for (const Handle event : events_) {
    cuda_.destroy_event(event);
  }
}

// --- Python's side -------------------------------------------------------------------------------------------------

void StepLoop::begin(std::size_t row, std::uint64_t seed, const std::vector<float>& params, std::uint64_t first_index,
                     std::uint64_t step_count) {
  if (params.size() != layout_.param_count) {
    throw std::invalid_argument("A row needs as many parameters as the voice has.");
  }
  Caller& caller = callers_.at(row);
  caller.generation += 1;
  caller.was_done = false;
  caller.frames.clear();
  Command command;
  command.verb = Verb::kBegin;
  command.row = row;
  command.generation = caller.generation;
  command.seed = seed;
  std::copy(params.begin(), params.end(), command.params.begin());
  command.next_index = first_index;
  command.end_index = first_index + step_count;
  granted_[row].store(depth_, std::memory_order_relaxed);  // the ring's release makes it visible with the command
  send(command);
}

void StepLoop::end(std::size_t row) {
  Caller& caller = callers_.at(row);
  caller.generation += 1;
  caller.frames.clear();
  Command command;
  command.verb = Verb::kEnd;
  command.row = row;
  send(command);
}

void StepLoop::settle() {
  while (applied_.load(std::memory_order_acquire) < sent_) {
    check();
    receive();
    std::this_thread::yield();
  }
}

std::vector<std::uint8_t> StepLoop::advance(const std::vector<std::size_t>& rows) {
  for (const std::size_t row : rows) {
    Caller& caller = callers_.at(row);
    if (caller.was_done && caller.frames.empty()) {  // asked to go on behind the end
      Command command;
      command.verb = Verb::kResume;
      command.row = row;
      send(command);
      caller.was_done = false;
    }
  }
  std::vector<std::uint8_t> records;
  records.reserve(rows.size() * record_bytes());
  for (const std::size_t row : rows) {
    Caller& caller = callers_[row];
    while (caller.frames.empty()) {
      const std::uint32_t seen = news_.load(std::memory_order_acquire);
      receive();
      if (caller.frames.empty()) {
        check();
        news_.wait(seen, std::memory_order_acquire);
      }
    }
    const std::vector<std::uint8_t>& record = caller.frames.front();
    caller.was_done = record[1] != 0;
    records.insert(records.end(), record.begin(), record.end());
    caller.frames.pop_front();
    granted_[row].fetch_add(1, std::memory_order_release);
  }
  wake();
  return records;
}

void StepLoop::send(Command command) {
  while (!commands_.push(command)) {
    check();
    receive();
    std::this_thread::yield();
  }
  sent_ += 1;
  wake();
}

void StepLoop::wake() {
  wakes_.fetch_add(1, std::memory_order_release);
  wakes_.notify_one();
}

// Hands what the loop has made to the rows; frames of a row that was ended or begun anew since are dropped.
void StepLoop::receive() {
  Frame frame;
  while (frames_.pop(frame)) {
    Caller& caller = callers_[frame.row];
    if (caller.generation == frame.generation) {
      caller.frames.push_back(std::move(frame.record));
    }
  }
}

void StepLoop::check() const {
  if (has_failed_.load(std::memory_order_acquire)) {
    throw CudaFailure(failure_);
  }
}

// --- the loop's thread ---------------------------------------------------------------------------------------------

void StepLoop::loop() noexcept {
  try {
    cuda_.set_context(context_);
    work();
  } catch (const std::exception& error) {
    failure_ = error.what();
    has_failed_.store(true, std::memory_order_release);
    news_.fetch_add(1, std::memory_order_release);
    news_.notify_one();
  }
  cuda_.drain(device_.stream);  // whoever closes the loop may free the blocks
}

void StepLoop::work() {
  while (true) {
    const std::uint32_t seen = wakes_.load(std::memory_order_acquire);
    if (is_stopping_.load(std::memory_order_acquire)) {
      return;
    }
    take_commands();
    if (in_flight_.size() < kBlockCount) {
      const std::vector<std::size_t> rows = ready_rows();
      if (!rows.empty()) {
        launch(rows);
        continue;
      }
    }
    if (!in_flight_.empty()) {
      collect();
    } else {
      wakes_.wait(seen, std::memory_order_acquire);
    }
  }
}

void StepLoop::take_commands() {
  Command command;
  while (commands_.pop(command)) {
    apply(command);
    applied_.fetch_add(1, std::memory_order_release);
  }
}

void StepLoop::apply(const Command& command) {
  Row& row = rows_[command.row];
  switch (command.verb) {
    case Verb::kBegin:
      row = Row{};
      row.is_begun = true;
      row.generation = command.generation;
      row.seed = command.seed;
      row.params = command.params;
      row.next_index = command.next_index;
      row.end_index = command.end_index;
      break;
    case Verb::kEnd:
      row.is_begun = false;
      break;
    case Verb::kResume:
      row.is_done = false;
      break;
  }
}

std::vector<std::size_t> StepLoop::ready_rows() const {
  std::vector<std::size_t> ready;
  for (std::size_t index = 0; index < rows_.size(); ++index) {
    const Row& row = rows_[index];
    if (row.is_begun && !row.is_done && row.next_index < row.end_index &&
        row.launched < granted_[index].load(std::memory_order_acquire)) {
      ready.push_back(index);
    }
  }
  return ready;
}

void StepLoop::launch(const std::vector<std::size_t>& rows) {
  const std::uint64_t count = run_count_.load(std::memory_order_relaxed);
  const std::size_t block = count % kBlockCount;
  fill(device_.host_uploads[block], rows);
  const auto graph = std::find_if(device_.graphs.begin(), device_.graphs.end(),
                                  [&](const auto& bucket) { return bucket.first > rows.back(); });
  cuda_.upload(device_.upload, device_.host_uploads[block], layout_.upload_bytes, device_.stream);
  cuda_.launch(graph->second, device_.stream);
  cuda_.download(device_.host_downloads[block], device_.download, layout_.download_bytes, device_.stream);
  cuda_.record(events_[block], device_.stream);
  Run run;
  run.block = block;
  for (const std::size_t index : rows) {
    Row& row = rows_[index];
    row.next_index += 1;
    row.launched += 1;
    run.rows.emplace_back(index, row.generation);
  }
  in_flight_.push_back(std::move(run));
  run_count_.store(count + 1, std::memory_order_relaxed);
}

void StepLoop::fill(std::uint8_t* block, const std::vector<std::size_t>& rows) {
  std::memset(block + layout_.active_offset, 0, layout_.row_count);
  for (const std::size_t index : rows) {
    const Row& row = rows_[index];
    block[layout_.active_offset + index] = 1;
    std::memcpy(block + layout_.params_offset + index * layout_.param_count * sizeof(float), row.params.data(),
                layout_.param_count * sizeof(float));
    for (std::size_t column = 0; column < layout_.random_count; ++column) {
      const float number = uniform(row.seed, row.next_index, column);
      const std::size_t place = index * layout_.random_count + column;
      std::memcpy(block + layout_.random_offset + place * sizeof(float), &number, sizeof(float));
    }
  }
}

// Waits for the oldest step, notes which rows are done, and hands the frames over.
void StepLoop::collect() {
  const Run run = std::move(in_flight_.front());
  in_flight_.pop_front();
  cuda_.wait(events_[run.block]);
  const std::uint8_t* const block = device_.host_downloads[run.block];
  for (const auto& [index, generation] : run.rows) {
    Frame frame;
    frame.row = index;
    frame.generation = generation;
    frame.record.resize(record_bytes());
    std::uint8_t* const record = frame.record.data();
    record[0] = block[layout_.emit_offset + index];
    record[1] = block[layout_.done_offset + index];
    record[2] = block[layout_.finite_offset + index];
    std::memcpy(record + 4, block + layout_.frame_offset + index * layout_.frame_row_bytes, layout_.frame_row_bytes);
    std::memcpy(record + 4 + layout_.frame_row_bytes,
                block + layout_.row_ids_offset + index * layout_.row_ids_row_bytes, layout_.row_ids_row_bytes);
    Row& row = rows_[index];
    if (row.generation == generation && record[1] != 0) {
      row.is_done = true;
    }
    publish(std::move(frame));
  }
  news_.fetch_add(1, std::memory_order_release);
  news_.notify_one();
}

// A full ring means that the caller is away; it empties the ring whenever it waits.
void StepLoop::publish(Frame frame) {
  while (!frames_.push(frame)) {
    if (is_stopping_.load(std::memory_order_acquire)) {
      return;
    }
    news_.fetch_add(1, std::memory_order_release);
    news_.notify_one();
    std::this_thread::yield();
  }
}

}  // namespace antiphon
