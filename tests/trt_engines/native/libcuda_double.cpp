// A libcuda of our own for tests: device memory is host memory, a stream is a thread that works off its queue in order,
// and a graph is a made-up step that takes as long as it is told, or what was captured. It records every call. Host memory that is touched
// while the stream still works on it is a data race that ThreadSanitizer reports.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Event {
  std::uint64_t recorded = 0;
  std::uint64_t reached = 0;
};

// The step: row r of the device counts its active steps; `done` when the count reaches its first parameter.
// A graph that was captured is its work instead.
struct Graph {
  std::size_t rows = 0;
  unsigned duration_us = 0;
  std::vector<std::function<void()>> work;
};

struct Double {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool is_closing = false;
  std::string log;
  std::map<void*, Event> events;
  std::deque<Graph> graphs;
  bool is_capturing = false;
  std::vector<std::function<void()>> captured;
  std::uintptr_t next_handle = 1;
  std::uint8_t* upload = nullptr;    // device blocks, as `double_describe` says
  std::uint8_t* download = nullptr;
  std::size_t params_offset = 0, param_count = 0, random_offset = 0, random_count = 0;
  std::size_t frame_offset = 0, emit_offset = 0, done_offset = 0, finite_offset = 0, row_ids_offset = 0;
  std::vector<std::uint32_t> counts;
  int fail_launches_after = -1;
  std::thread worker{[this] { work(); }};

  void work() {
    while (true) {
      std::function<void()> item;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return is_closing || !queue.empty(); });
        if (queue.empty()) {
          return;
        }
        item = queue.front();
      }
      item();
      const std::lock_guard lock(mutex);
      queue.pop_front();
      changed.notify_all();
    }
  }

  void put(char verb, std::function<void()> item) {
    const std::lock_guard lock(mutex);
    if (is_capturing) {
      captured.push_back(std::move(item));
      return;
    }
    log += verb;
    queue.push_back(std::move(item));
    changed.notify_all();
  }

  ~Double() {
    {
      const std::lock_guard lock(mutex);
      is_closing = true;
      changed.notify_all();
    }
    worker.join();
  }

  void step(const Graph& graph) {
    if (!graph.work.empty()) {
      for (const auto& item : graph.work) {
        item();
      }
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(graph.duration_us));
    for (std::size_t row = 0; row < graph.rows; ++row) {
      counts[row] += upload[row];
      float limit = 0.0F;
      std::memcpy(&limit, upload + params_offset + row * param_count * sizeof(float), sizeof(limit));
      const bool done = static_cast<float>(counts[row]) >= limit;
      std::memcpy(download + frame_offset + row * 8, &counts[row], 4);
      std::memcpy(download + frame_offset + row * 8 + 4, upload + random_offset + row * random_count * sizeof(float), 4);
      download[emit_offset + row] = done ? 0 : 1;
      download[done_offset + row] = done ? 1 : 0;
      download[finite_offset + row] = 1;
      std::memcpy(download + row_ids_offset + row * 4, &counts[row], 4);
    }
  }
};

Double& instance() {
  static Double made;
  return made;
}

}  // namespace

extern "C" {

// --- what tests tell and ask --------------------------------------------------------------------------------------
void double_describe(void* upload, void* download, const std::size_t* offsets, std::size_t row_count) {
  Double& it = instance();
  const std::lock_guard lock(it.mutex);
  it.upload = static_cast<std::uint8_t*>(upload);
  it.download = static_cast<std::uint8_t*>(download);
  it.params_offset = offsets[0], it.param_count = offsets[1], it.random_offset = offsets[2];
  it.random_count = offsets[3], it.frame_offset = offsets[4], it.emit_offset = offsets[5];
  it.done_offset = offsets[6], it.finite_offset = offsets[7], it.row_ids_offset = offsets[8];
  it.counts.assign(row_count, 0);
  it.log.clear();
  it.fail_launches_after = -1;
}

void* double_graph(std::size_t rows, unsigned duration_us) {
  const std::lock_guard lock(instance().mutex);
  return &instance().graphs.emplace_back(Graph{rows, duration_us, {}});
}

void double_clear_count(std::size_t row) {  // in the order of the stream, as a prefill would be
  instance().put('c', [row] { instance().counts[row] = 0; });
}

void double_fail_launches_after(int count) {
  const std::lock_guard lock(instance().mutex);
  instance().fail_launches_after = count;
}

// Lets another double put work on the stream, or into what is being captured.
void double_put(const std::function<void()>* work) { instance().put('x', *work); }

std::size_t double_log(char* target, std::size_t capacity) {
  const std::lock_guard lock(instance().mutex);
  const std::size_t length = std::min(capacity, instance().log.size());
  std::memcpy(target, instance().log.data(), length);
  return length;
}

// --- the driver ---------------------------------------------------------------------------------------------------
int cuCtxGetCurrent(void** context) {
  *context = &instance();
  return 0;
}

int cuCtxSetCurrent(void* context) { return context == &instance() ? 0 : 201; }

int cuEventCreate(void** event, unsigned) {
  Double& it = instance();
  const std::lock_guard lock(it.mutex);
  *event = reinterpret_cast<void*>(it.next_handle++);
  it.events[*event] = Event{};
  return 0;
}

int cuEventDestroy_v2(void* event) {
  const std::lock_guard lock(instance().mutex);
  return instance().events.erase(event) == 1 ? 0 : 400;
}

int cuStreamSynchronize(void*) {
  Double& it = instance();
  std::unique_lock lock(it.mutex);
  if (it.is_capturing) {
    return 900;
  }
  it.changed.wait(lock, [&] { return it.queue.empty(); });
  return 0;
}

int cuEventRecord(void* event, void*) {
  std::uint64_t mark = 0;
  {
    const std::lock_guard lock(instance().mutex);
    mark = ++instance().events[event].recorded;
  }
  instance().put('r', [event, mark] {
    const std::lock_guard lock(instance().mutex);
    instance().events[event].reached = mark;
  });
  return 0;
}

int cuEventSynchronize(void* event) {
  Double& it = instance();
  std::unique_lock lock(it.mutex);
  it.log += 'w';
  const std::uint64_t mark = it.events[event].recorded;
  it.changed.wait(lock, [&] { return it.events[event].reached >= mark; });
  return 0;
}

int cuMemcpyHtoDAsync_v2(std::uint64_t target, const void* source, std::size_t byte_count, void*) {
  instance().put('u', [=] { std::memcpy(reinterpret_cast<void*>(target), source, byte_count); });
  return 0;
}

int cuMemcpyDtoHAsync_v2(void* target, std::uint64_t source, std::size_t byte_count, void*) {
  instance().put('d', [=] { std::memcpy(target, reinterpret_cast<const void*>(source), byte_count); });
  return 0;
}

int cuMemcpyDtoDAsync_v2(std::uint64_t target, std::uint64_t source, std::size_t byte_count, void*) {
  instance().put('m', [=] {
    std::memcpy(reinterpret_cast<void*>(target), reinterpret_cast<const void*>(source), byte_count);
  });
  return 0;
}

int cuStreamBeginCapture_v2(void*, int mode) {
  Double& it = instance();
  const std::lock_guard lock(it.mutex);
  if (it.is_capturing || mode != 1) {
    return 1;
  }
  it.is_capturing = true;
  it.captured.clear();
  return 0;
}

int cuStreamEndCapture(void*, void** graph) {
  Double& it = instance();
  const std::lock_guard lock(it.mutex);
  if (!it.is_capturing) {
    return 1;
  }
  it.is_capturing = false;
  *graph = &it.graphs.emplace_back(Graph{0, 0, std::move(it.captured)});
  return 0;
}

int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = graph;
  return static_cast<Graph*>(graph)->work.empty() ? 1 : 0;
}

int cuGraphDestroy(void*) { return 0; }

int cuGraphLaunch(void* graph, void*) {
  {
    const std::lock_guard lock(instance().mutex);
    if (instance().fail_launches_after == 0) {
      return 719;
    }
    instance().fail_launches_after -= instance().fail_launches_after > 0 ? 1 : 0;
  }
  instance().put('g', [graph] { instance().step(*static_cast<Graph*>(graph)); });
  return 0;
}

}  // extern "C"
