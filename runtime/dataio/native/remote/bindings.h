// What the workers of the Python face see of fetches.
#pragma once

#include <nanobind/nanobind.h>

namespace sexpgpu::dataio {

void bind_remote(nanobind::module_& m);

}  // namespace sexpgpu::dataio
