// What went wrong, as a value: the Python face turns it into a diagnostic with a code of the registry.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace sexpgpu::dataio {

// `message` and `notes` state facts, only `advice` advises. With a `word`, the advice is the nearest of `choices`.
struct Fault {
  std::string code{};
  std::string message{};
  std::vector<std::string> notes{};
  std::string advice{};
  std::string word{};
  std::vector<std::string> choices{};
};

class FaultError : public std::exception {
 public:
  explicit FaultError(Fault fault) : fault_(std::move(fault)) {}
  const char* what() const noexcept override { return fault_.message.c_str(); }
  const Fault& fault() const { return fault_; }

 private:
  Fault fault_;
};

[[noreturn]] inline void fail(Fault fault) { throw FaultError(std::move(fault)); }

// `name` between backquotes, as names are shown in messages.
inline std::string quoted(const std::string& name) { return "`" + name + "`"; }

}  // namespace sexpgpu::dataio
