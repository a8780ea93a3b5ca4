// JSON values into the rows of fields.
#pragma once

#include "field.h"
#include "records/json_walk.h"

namespace sexpgpu::dataio {

class JsonRows : protected JsonWalk {
 protected:
  // Reads the value at `at_`, and passes it. The row may lie at any byte, when rows are of an odd size.
  void read(const Field& field, uint8_t* row);

 private:
  template <typename To>
  void read_row(const Field& field, uint8_t* row);
  template <typename To>
  void level(const Field& field, uint8_t* row, size_t axis, int64_t first, int64_t count, const uint8_t* begin);
  template <typename To>
  void values(const Field& field, uint8_t* row, int64_t first, int64_t count, const uint8_t* begin);
  void close(const Field& field, const uint8_t* begin);
  template <typename To>
  void value(const Field& field, uint8_t* to, int64_t index);
  template <typename To>
  bool special(To& to, const uint8_t* begin);
  [[noreturn]] void other_value(const Field& field, int64_t index);
  [[noreturn]] void single_value(const Field& field);
  [[noreturn]] void other_shape(const Field& field, const uint8_t* begin);
};

}  // namespace sexpgpu::dataio
