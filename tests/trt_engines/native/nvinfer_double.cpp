// A TensorRT of our own for tests. Its plan is a text: a first line "double", then a line per tensor ("in k", "out k_out",
// "host n" for an input in host memory) and lines that make it fail ("refuse context", "refuse run", "full", "host code").
// A run adds one to every int32 of the input `k` and puts the sum to `k_out`; it is work on the libcuda double's stream.
// Strict where TensorRT is: what is used after its owner is gone, or before it was set, ends the process.
#include <NvInferRuntime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "nvinfer_stubs.h"  // made of the header: whatever is not overridden here ends the process

extern "C" void double_put(const std::function<void()>* work);

namespace {

using namespace nvinfer1;

int version = NV_TENSORRT_VERSION;
bool is_complaining = false;
int alive = 0;
std::string calls;

void demand(bool is_true, const char* fact) {
  if (!is_true) {
    std::fprintf(stderr, "the nvinfer double demands: %s\n", fact);
    std::abort();
  }
}

struct Plan {
  std::vector<std::pair<std::string, std::string>> tensors;  // kind and name
  std::string failures;
  bool has(const std::string& failure) const { return failures.find(failure) != std::string::npos; }
};

class Engine final : public ICudaEngine {
 public:
  Engine(Plan plan, IErrorRecorder*& recorder, int& siblings) : impl_(std::move(plan), recorder), siblings_(siblings) {
    mImpl = &impl_;
    ++siblings_;
    ++alive;
  }
  ~Engine() noexcept override {
    demand(impl_.contexts == 0, "contexts are destroyed before their engine");
    --siblings_;
    --alive;
  }

  struct Impl final : EngineStub {
    Impl(Plan made, IErrorRecorder*& errors) : plan(std::move(made)), recorder(errors) {}
    std::int32_t getNbIOTensors() const noexcept override { return static_cast<std::int32_t>(plan.tensors.size()); }
    char const* getIOTensorName(std::int32_t index) const noexcept override {
      return plan.tensors.at(static_cast<std::size_t>(index)).second.c_str();
    }
    TensorIOMode getTensorIOMode(char const* name) const noexcept override {
      return kind(name) == "out" ? TensorIOMode::kOUTPUT : TensorIOMode::kINPUT;
    }
    TensorLocation getTensorLocation(char const* name) const noexcept override {
      return kind(name) == "host" ? TensorLocation::kHOST : TensorLocation::kDEVICE;
    }
    std::int64_t getDeviceMemorySizeForProfileV2(std::int32_t profile) const noexcept override {
      return 4096 * (profile + 1);
    }
    IExecutionContext* createExecutionContext(ExecutionContextAllocationStrategy strategy) noexcept override;
    std::string kind(const std::string& name) const {
      for (const auto& [tensor_kind, tensor] : plan.tensors) {
        if (tensor == name) {
          return tensor_kind;
        }
      }
      return "";
    }
    Plan plan;
    IErrorRecorder*& recorder;
    int contexts = 0;
  };

 private:
  Impl impl_;
  int& siblings_;
};

class Context final : public IExecutionContext {
 public:
  explicit Context(Engine::Impl& engine) : impl_(engine) {
    mImpl = &impl_;
    ++engine.contexts;
    ++alive;
  }
  ~Context() noexcept override {
    --impl_.engine.contexts;
    --alive;
  }

 private:
  struct Impl final : ContextStub {
    explicit Impl(Engine::Impl& owner) : engine(owner) {}
    bool setOptimizationProfileAsync(std::int32_t index, cudaStream_t stream) noexcept override {
      demand(stream != nullptr, "no default stream");
      calls += "profile " + std::to_string(index) + ";";
      profile = index;
      return index < 2;
    }
    void setDeviceMemoryV2(void* memory, std::int64_t size) noexcept override {
      demand(profile >= 0 && size >= engine.getDeviceMemorySizeForProfileV2(profile), "memory for the profile");
      demand(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0, "aligned memory");
      has_memory = true;
    }
    bool setInputShape(char const* name, Dims const& dims) noexcept override {
      demand(profile >= 0, "a profile before shapes");
      std::size_t count = 1;
      for (std::int32_t axis = 0; axis < dims.nbDims; ++axis) {
        count *= static_cast<std::size_t>(dims.d[axis]);
      }
      counts[name] = count;
      return count > 0 || refused("a shape without elements");
    }
    bool setTensorAddress(char const* name, void* data) noexcept override {
      addresses[name] = static_cast<std::int32_t*>(data);
      return reinterpret_cast<std::uintptr_t>(data) % 4 == 0 || refused("an address that is not aligned");
    }
    Dims getTensorShape(char const* name) const noexcept override {  // one axis, of whatever was bound
      const std::string tensor = name;
      const std::string source = tensor.ends_with("_out") ? tensor.substr(0, tensor.size() - 4) : tensor;
      const auto known = counts.find(source);
      return known == counts.end() ? Dims{-1, {}} : Dims{1, {static_cast<std::int64_t>(known->second)}};
    }
    std::int32_t inferShapes(std::int32_t, char const**) noexcept override { return 0; }
    bool enqueueV3(cudaStream_t stream) noexcept override {
      demand(stream != nullptr && has_memory, "a stream and memory");
      if (engine.plan.has("refuse run")) {
        return refused("the run");
      }
      for (const auto& [kind, name] : engine.plan.tensors) {
        if (kind == "out") {
          const std::string source = name.substr(0, name.size() - 4);
          std::function<void()> work = [from = addresses.at(source), to = addresses.at(name), count = counts.at(source)] {
            for (std::size_t index = 0; index < count; ++index) {
              to[index] = from[index] + 1;
            }
          };
          double_put(&work);
        }
      }
      calls += "run;";
      return true;
    }
    bool refused(const char* what) noexcept {
      engine.recorder->reportError(ErrorCode::kINVALID_ARGUMENT, (std::string("Error Code 3: ") + what).c_str());
      return false;
    }
    Engine::Impl& engine;
    int profile = -1;
    bool has_memory = false;
    std::map<std::string, std::size_t> counts;
    std::map<std::string, std::int32_t*> addresses;
  };

  Impl impl_;
};

IExecutionContext* Engine::Impl::createExecutionContext(ExecutionContextAllocationStrategy strategy) noexcept {
  demand(strategy == ExecutionContextAllocationStrategy::kUSER_MANAGED, "memory of our own");
  if (plan.has("full")) {
    recorder->reportError(ErrorCode::kUNSPECIFIED_ERROR, "Error Code 2: OutOfMemory (Requested size was 9 bytes.)");
    return nullptr;
  }
  if (plan.has("refuse context")) {
    recorder->reportError(ErrorCode::kINTERNAL_ERROR, "Error Code 2: Internal Error");
    return nullptr;
  }
  return new Context(*this);
}

class Runtime final : public IRuntime {
 public:
  explicit Runtime(ILogger& logger) : impl_(logger) {
    mImpl = &impl_;
    ++alive;
  }
  ~Runtime() noexcept override {
    demand(impl_.engines == 0, "engines are destroyed before their runtime");
    --alive;
  }

 private:
  struct Impl final : RuntimeStub {
    explicit Impl(ILogger& to) : logger(to) {}
    void setErrorRecorder(IErrorRecorder* errors) noexcept override { recorder = errors; }
    void setEngineHostCodeAllowed(bool is_allowed) noexcept override { allows_host_code = is_allowed; }
    ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size) noexcept override {
      std::istringstream lines(std::string(static_cast<const char*>(blob), size));
      std::string line;
      std::getline(lines, line);
      if (line != "double") {
        recorder->reportError(ErrorCode::kINVALID_ARGUMENT, "Error Code 1: Serialization assertion magicTag failed");
        return nullptr;
      }
      Plan plan;
      while (std::getline(lines, line)) {
        const std::string kind = line.substr(0, line.find(' '));
        if (kind == "in" || kind == "out" || (kind == "host" && line != "host code")) {
          plan.tensors.emplace_back(kind, line.substr(kind.size() + 1));
        } else {
          plan.failures += line + ";";
        }
      }
      if (plan.has("host code") && !allows_host_code) {
        recorder->reportError(ErrorCode::kINVALID_ARGUMENT, "Error Code 3: host code is not allowed");
        return nullptr;
      }
      logger.log(ILogger::Severity::kWARNING, "a warning");
      return new Engine(std::move(plan), recorder, engines);
    }
    ILogger& logger;
    IErrorRecorder* recorder = nullptr;
    bool allows_host_code = false;
    int engines = 0;
  };

  Impl impl_;
};

}  // namespace

extern "C" {

void nvinfer_double_says_version(int said) { version = said == 0 ? NV_TENSORRT_VERSION : said; }
void nvinfer_double_complains(bool does) { is_complaining = does; }
int nvinfer_double_alive() { return alive; }
const char* nvinfer_double_calls() { return calls.c_str(); }

std::int32_t getInferLibVersion() noexcept { return version; }

void* createInferRuntime_INTERNAL(void* logger, std::int32_t) noexcept {
  auto& log = *static_cast<ILogger*>(logger);
  if (is_complaining) {
    log.log(ILogger::Severity::kERROR, "createInferRuntime: CUDA initialization failure with error: 35");
    return reinterpret_cast<void*>(0x228);  // what the real one returns: nothing that could be used, or destroyed
  }
  return static_cast<IRuntime*>(new Runtime(log));
}

}  // extern "C"
