// The Python module.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_native, m) { m.attr("ARROW_MAJOR") = SEXPGPU_ARROW_MAJOR; }
