#include "plan_session.h"

#include <dlfcn.h>

#include <algorithm>

#include "tensorrt_failure.h"

namespace antiphon {
namespace {

constexpr std::int32_t kVersionsPerMajor = 10000;
constexpr std::size_t kNamedInputs = 16;

// Opens TensorRT for good: its kernels and its logger outlive every session.
void* opened(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw TensorrtFailure("TensorRT's library cannot be opened (" + std::string(dlerror()) +
                          "). Install it: pip install 'antiphon[tensorrt]'.");
  }
  return handle;
}

template <typename Function>
Function found(void* library, const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) {
    throw TensorrtFailure(std::string("This is no library of TensorRT: it has no ") + name + ".");
  }
  return reinterpret_cast<Function>(symbol);
}

void check_version(std::int32_t installed) {
  if (installed / kVersionsPerMajor != NV_TENSORRT_MAJOR) {
    throw TensorrtFailure("antiphon-native was built for TensorRT " + std::to_string(NV_TENSORRT_MAJOR) +
                          ", and the library says " + std::to_string(installed) +
                          ". Build it again with TENSORRT_ROOT set to the installed one.");
  }
}

// A runtime that complained while it was made is not to be used, nor even destroyed: without a driver that its CUDA can
// work with, TensorRT hands out an address where there is no object, and either would end the process.
std::unique_ptr<nvinfer1::IRuntime> made_runtime(const std::string& library, TensorrtErrors& errors) {
  void* const handle = opened(library);
  check_version(found<std::int32_t (*)()>(handle, "getInferLibVersion")());
  const auto create = found<void* (*)(void*, std::int32_t)>(handle, "createInferRuntime_INTERNAL");
  TensorrtLog& log = TensorrtLog::instance();
  log.take();
  auto* const made =
      static_cast<nvinfer1::IRuntime*>(create(static_cast<nvinfer1::ILogger*>(&log), NV_TENSORRT_VERSION));
  std::string words;
  for (const auto& [severity, text] : log.take()) {
    if (severity <= static_cast<int>(nvinfer1::ILogger::Severity::kERROR)) {
      words += " " + text;
    }
  }
  if (made == nullptr || !words.empty()) {
    throw TensorrtFailure("TensorRT's runtime cannot be made:" + (words.empty() ? " it gives no reason." : words) +
                          " Update the NVIDIA driver, or install a TensorRT for the CUDA version that it supports.");
  }
  made->setErrorRecorder(&errors);
  return std::unique_ptr<nvinfer1::IRuntime>(made);
}

nvinfer1::Dims dimensions(const std::vector<std::int64_t>& shape) {
  nvinfer1::Dims made{};
  if (shape.size() > static_cast<std::size_t>(nvinfer1::Dims::MAX_DIMS)) {
    throw TensorrtFailure("A tensor of TensorRT has at most " + std::to_string(nvinfer1::Dims::MAX_DIMS) + " axes.");
  }
  made.nbDims = static_cast<std::int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), made.d);
  return made;
}

}  // namespace

LoadedPlan::LoadedPlan(const std::string& cuda_library, const std::string& plan_name)
    : name(plan_name), cuda(cuda_library) {}

PlanSession::PlanSession(const std::string& cuda_library, const std::string& tensorrt_library, const std::string& name,
                         const void* bytes, std::size_t byte_count, bool allows_host_code)
    : plan_(std::make_shared<LoadedPlan>(cuda_library, name)) {
  plan_->runtime = made_runtime(tensorrt_library, plan_->errors);
  plan_->runtime->setEngineHostCodeAllowed(allows_host_code);
  plan_->engine.reset(plan_->runtime->deserializeCudaEngine(bytes, byte_count));
  if (plan_->engine == nullptr) {
    plan_->errors.raise("TensorRT cannot load " + name);
  }
}

std::vector<std::string> PlanSession::tensor_names() const {
  std::vector<std::string> names;
  for (std::int32_t index = 0; index < plan_->engine->getNbIOTensors(); ++index) {
    names.emplace_back(plan_->engine->getIOTensorName(index));
  }
  return names;
}

bool PlanSession::is_input(const std::string& tensor) const {
  return plan_->engine->getTensorIOMode(tensor.c_str()) == nvinfer1::TensorIOMode::kINPUT;
}

bool PlanSession::is_on_device(const std::string& tensor) const {
  return plan_->engine->getTensorLocation(tensor.c_str()) == nvinfer1::TensorLocation::kDEVICE;
}

std::int64_t PlanSession::workspace_bytes(int profile) const {
  return plan_->engine->getDeviceMemorySizeForProfileV2(profile);
}

std::unique_ptr<PlanContext> PlanSession::open_context(const Binding& binding) const {
  return std::make_unique<PlanContext>(plan_, binding);
}

PlanContext::PlanContext(std::shared_ptr<LoadedPlan> plan, const Binding& binding)
    : plan_(std::move(plan)), name_(plan_->name + ", profile " + std::to_string(binding.profile)) {
  nvinfer1::ICudaEngine& engine = *plan_->engine;
  context_.reset(engine.createExecutionContext(nvinfer1::ExecutionContextAllocationStrategy::kUSER_MANAGED));
  check(context_ != nullptr, "to be opened");
  const auto stream = static_cast<cudaStream_t>(binding.stream);
  check(context_->setOptimizationProfileAsync(binding.profile, stream), "the profile");
  context_->setDeviceMemoryV2(reinterpret_cast<void*>(binding.workspace), binding.workspace_bytes);
  for (std::int32_t index = 0; index < engine.getNbIOTensors(); ++index) {
    const char* const tensor = engine.getIOTensorName(index);
    if (engine.getTensorIOMode(tensor) == nvinfer1::TensorIOMode::kINPUT) {
      const auto shape = binding.shapes.find(tensor);
      check(shape != binding.shapes.end() && context_->setInputShape(tensor, dimensions(shape->second)),
            std::string("the shape of ") + tensor);
    }
    const auto address = binding.addresses.find(tensor);
    check(address != binding.addresses.end(), std::string("to have no address for ") + tensor);
    bind(tensor, address->second);
  }
  const char* missing[kNamedInputs] = {};
  const std::int32_t count = context_->inferShapes(kNamedInputs, missing);
  check(count == 0, count > 0 ? std::string("its inputs: ") + missing[0] + " is not set" : "its inputs");
}

void PlanContext::bind(const std::string& tensor, Address address) {
  check(context_->setTensorAddress(tensor.c_str(), reinterpret_cast<void*>(address)), "the address of " + tensor);
}

void PlanContext::run(Handle stream) { check(context_->enqueueV3(static_cast<cudaStream_t>(stream)), "to run"); }

std::vector<std::int64_t> PlanContext::shape(const std::string& tensor) const {
  const nvinfer1::Dims found = context_->getTensorShape(tensor.c_str());
  return found.nbDims > 0 ? std::vector<std::int64_t>(found.d, found.d + found.nbDims) : std::vector<std::int64_t>{};
}

Handle PlanContext::capture(Handle stream, const std::vector<DeviceCopy>& copies) {
  const CudaLibrary& cuda = plan_->cuda;
  cuda.begin_capture(stream);
  try {
    run(stream);
    for (const DeviceCopy& copy : copies) {
      cuda.copy(copy.target, copy.source, copy.byte_count, stream);
    }
  } catch (...) {
    cuda.abandon_capture(stream);
    throw;
  }
  return cuda.end_capture(stream);
}

void PlanContext::check(bool is_accepted, const std::string& what) const {
  if (!is_accepted) {
    plan_->errors.raise(name_ + " refuses " + what);
  }
}

}  // namespace antiphon
