// Sessions against the nvinfer double and the libcuda double, under the sanitizers. Prints nothing unless something is
// wrong. Arguments: the libcuda double, the nvinfer double.
#include "plan_session.h"

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "tensorrt_failure.h"

extern "C" {
void nvinfer_double_says_version(int said);
void nvinfer_double_complains(bool does);
int nvinfer_double_alive();
const char* nvinfer_double_calls();
}

namespace {

using antiphon::Address;
using antiphon::Binding;
using antiphon::CudaLibrary;
using antiphon::Handle;
using antiphon::PlanSession;

const char* cuda_name = nullptr;
const char* tensorrt_name = nullptr;
constexpr std::size_t kRows = 6;

void expect(bool is_true, const char* fact, int line) {
  if (!is_true) {
    std::fprintf(stderr, "line %d: not so: %s\n", line, fact);
    std::exit(1);
  }
}
#define EXPECT(fact) expect((fact), #fact, __LINE__)

PlanSession session(const std::string& lines = "in k\nout k_out\n", bool allows_host_code = false) {
  const std::string plan = "double\n" + lines;
  return PlanSession(cuda_name, tensorrt_name, "step.plan", plan.data(), plan.size(), allows_host_code);
}

struct Device {
  alignas(256) std::uint8_t workspace[8192] = {};
  std::int32_t cache[kRows] = {};
  std::int32_t copied[kRows] = {};
  Handle stream = this;
  CudaLibrary cuda{cuda_name};

  static Address address(void* place) { return reinterpret_cast<Address>(place); }

  Binding binding() {
    Binding made;
    made.profile = 1;
    made.shapes = {{"k", {2, 3}}};
    made.addresses = {{"k", address(cache)}, {"k_out", address(cache)}};
    made.workspace = address(workspace);
    made.workspace_bytes = sizeof(workspace);
    made.stream = stream;
    return made;
  }
};

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

// A captured run is replayed on the same cache, in place, with the copy behind it.
void a_captured_run_works_in_place() {
  Device device;
  const auto context = session().open_context(device.binding());
  context->run(device.stream);
  const Handle graph = context->capture(device.stream, {{Device::address(device.copied), Device::address(device.cache), 24}});
  for (int step = 0; step < 200; ++step) {
    device.cuda.launch(graph, device.stream);
  }
  device.cuda.drain(device.stream);
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT(device.cache[row] == 201 && device.copied[row] == 201);
  }
  EXPECT(says(nvinfer_double_calls(), "profile 1;"));
  EXPECT(context->shape("k_out") == std::vector<std::int64_t>{kRows} && context->shape("unknown").empty());
}

// A graph keeps the addresses that it was captured with; the context takes new ones.
void addresses_are_frozen_in_a_graph() {
  Device device;
  std::int32_t other[kRows] = {};
  const auto context = session().open_context(device.binding());
  const Handle graph = context->capture(device.stream, {});
  context->bind("k", Device::address(other));
  context->bind("k_out", Device::address(other));
  device.cuda.launch(graph, device.stream);
  context->run(device.stream);
  context->run(device.stream);
  device.cuda.drain(device.stream);
  EXPECT(device.cache[0] == 1 && other[0] == 2);
}

// A run that fails while it is captured leaves a stream that can be used, and says why.
void a_failed_capture_is_ended() {
  Device device;
  const auto refusing = session("in k\nout k_out\nrefuse run\n").open_context(device.binding());
  EXPECT(message([&] { refusing->capture(device.stream, {}); }) ==
         "step.plan, profile 1 refuses to run: Error Code 3: the run");
  const auto context = session().open_context(device.binding());
  device.cuda.launch(context->capture(device.stream, {}), device.stream);
  device.cuda.drain(device.stream);
  EXPECT(device.cache[0] == 1);
}

// Without a driver TensorRT is not even opened; a runtime that complains is not used.
void no_driver_is_a_sentence() {
  const std::string missing = message([] { PlanSession("libcuda-that-is-not-there.so.1", "no-tensorrt.so", "p", "", 0, false); });
  EXPECT(says(missing, "Install an NVIDIA driver"));
  EXPECT(says(message([] { PlanSession(cuda_name, "no-tensorrt.so", "p", "", 0, false); }), "TensorRT's library cannot be opened"));
  nvinfer_double_complains(true);
  EXPECT(says(message([] { session(); }), "cannot be made: createInferRuntime: CUDA initialization failure with error: 35"));
  nvinfer_double_complains(false);
}

void other_versions_and_plans_are_refused() {
  nvinfer_double_says_version((NV_TENSORRT_MAJOR + 1) * 10000);
  EXPECT(says(message([] { session(); }), "Build it again with TENSORRT_ROOT"));
  nvinfer_double_says_version(0);
  EXPECT(says(message([] { PlanSession(cuda_name, tensorrt_name, "p.plan", "x", 1, false); }), "cannot load p.plan: Error Code 1"));
  EXPECT(says(message([] { session("in k\nhost code\n"); }), "host code is not allowed"));
  EXPECT(session("in k\nhost code\n", true).tensor_names() == std::vector<std::string>{"k"});
}

// What a context lacks is named, and a full GPU is told apart from everything else.
void what_a_context_lacks_is_named() {
  Device device;
  Binding binding = device.binding();
  binding.addresses.erase("k_out");
  EXPECT(says(message([&] { session().open_context(binding); }), "refuses to have no address for k_out"));
  binding = device.binding();
  binding.shapes["k"] = {0, 3};
  EXPECT(says(message([&] { session().open_context(binding); }), "refuses the shape of k: Error Code 3: a shape without"));
  binding = device.binding();
  binding.profile = 2;
  EXPECT(says(message([&] { session().open_context(binding); }), "refuses the profile: TensorRT gives no reason"));
  bool is_full = false;
  try {
    session("in k\nout k_out\nfull\n").open_context(device.binding());
  } catch (const antiphon::TensorrtOutOfMemory&) {
    is_full = true;
  }
  EXPECT(is_full);
  EXPECT(says(message([&] { session("in k\nrefuse context\n").open_context(device.binding()); }), "Internal Error"));
}

void tensors_are_described() {
  const PlanSession made = session("in k\nhost n\nout k_out\n");
  EXPECT(made.is_input("n") && !made.is_input("k_out"));
  EXPECT(made.is_on_device("k") && !made.is_on_device("n"));
  EXPECT(made.workspace_bytes(1) == 8192);
  EXPECT(antiphon::TensorrtLog::instance().take().back().second == "a warning");
}

}  // namespace

int main(int, char** arguments) {
  cuda_name = arguments[1];
  tensorrt_name = arguments[2];
  a_captured_run_works_in_place();
  addresses_are_frozen_in_a_graph();
  a_failed_capture_is_ended();
  no_driver_is_a_sentence();
  other_versions_and_plans_are_refused();
  what_a_context_lacks_is_named();
  tensors_are_described();
  EXPECT(nvinfer_double_alive() == 0);
  return 0;
}
