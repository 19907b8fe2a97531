// One TensorRT plan loaded on the GPU, and execution contexts whose shapes and addresses are set once.
#pragma once

#include <NvInferRuntime.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda_library.h"
#include "tensorrt_log.h"

namespace antiphon {

// A copy inside the device that belongs to a captured run, behind it.
struct DeviceCopy {
  Address target = 0;
  Address source = 0;
  std::size_t byte_count = 0;
};

// What a context is bound to for good.
struct Binding {
  int profile = 0;
  std::map<std::string, std::vector<std::int64_t>> shapes;  // of every input
  std::map<std::string, Address> addresses;                 // of every input and output
  Address workspace = 0;
  std::int64_t workspace_bytes = 0;
  Handle stream = nullptr;
};

// Everything that contexts need after the session's owner has let go of it; destroyed in the reverse order.
struct LoadedPlan {
  LoadedPlan(const std::string& cuda_library, const std::string& name);

  std::string name;
  CudaLibrary cuda;
  TensorrtErrors errors;
  std::unique_ptr<nvinfer1::IRuntime> runtime;
  std::unique_ptr<nvinfer1::ICudaEngine> engine;
};

class PlanContext {
 public:
  PlanContext(std::shared_ptr<LoadedPlan> plan, const Binding& binding);

  // Each throws TensorrtFailure with TensorRT's words. Used from one thread at a time.
  void bind(const std::string& tensor, Address address);
  void run(Handle stream);
  std::vector<std::int64_t> shape(const std::string& tensor) const;
  // Returns an executable graph of one run with the copies behind it; run once before, so that nothing is allocated
  // in between. Whatever fails, the stream can be used again.
  Handle capture(Handle stream, const std::vector<DeviceCopy>& copies);

 private:
  void check(bool is_accepted, const std::string& what) const;

  std::shared_ptr<LoadedPlan> plan_;
  std::string name_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
};

class PlanSession {
 public:
  // `tensorrt_library` is a name or path for dlopen; one that the process has open already is that one. The driver is
  // looked for first: TensorRT's own runtime would end the process where there is none.
  PlanSession(const std::string& cuda_library, const std::string& tensorrt_library, const std::string& name,
              const void* bytes, std::size_t byte_count, bool allows_host_code);

  std::vector<std::string> tensor_names() const;
  bool is_input(const std::string& tensor) const;
  // Whether a tensor lies in device memory; only then can an address be bound for good.
  bool is_on_device(const std::string& tensor) const;
  std::int64_t workspace_bytes(int profile) const;
  std::unique_ptr<PlanContext> open_context(const Binding& binding) const;

 private:
  std::shared_ptr<LoadedPlan> plan_;
};

}  // namespace antiphon
