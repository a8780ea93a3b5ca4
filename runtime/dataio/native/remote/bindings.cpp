#include "remote/bindings.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "field_tuple.h"
#include "remote/fetch.h"
#include "survey.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace sexpgpu::dataio {
namespace {

// Where a worker writes the bytes; the array keeps the fetch, and with it the memory, alive.
nb::ndarray<nb::numpy, uint8_t> room(nb::handle self) {
  Fetch& fetch = nb::cast<Fetch&>(self);
  if (!fetch.bytes) throw nb::value_error("the fetch has no memory: it was not taken");
  const size_t size = static_cast<size_t>(fetch.count);
  return nb::ndarray<nb::numpy, uint8_t>(fetch.bytes.get(), {size}, self);
}

void finish(FetchQueue& queue, Fetch& fetch, int64_t count, int64_t size, const std::string& version) {
  const bool whole = fetch.offset < 0 ? count <= std::min(fetch.count, size) : count == fetch.count;
  if (count < 0 || size < 0 || !whole) throw nb::value_error("a fetch is finished with all of its bytes");
  queue.finish(fetch, count, size, version);
}

// Asked while work goes on without the GIL.
struct StopFlag {
  std::atomic<bool> set = false;
};

// Size, version, and blocks as (offset, length, records).
nb::tuple survey_of(const std::string& path, const std::string& name, const std::string& encoding,
                    std::shared_ptr<FetchQueue> fetches, const StopFlag& stop) {
  Survey found;
  {
    const nb::gil_scoped_release released;
    found = survey(Store(std::move(fetches)), path, name, encoding, stop.set);
  }
  nb::list blocks;
  for (const Block& block : found.blocks) blocks.append(nb::make_tuple(block.offset, block.bytes, block.rows));
  return nb::make_tuple(found.bytes, found.version, blocks);
}

void peek_at(const std::string& path, const std::string& name, const std::string& encoding,
             const std::vector<FieldTuple>& fields, std::shared_ptr<FetchQueue> fetches) {
  const std::vector<Field> made = fields_of(fields);
  const nb::gil_scoped_release released;
  peek(Store(std::move(fetches)), path, name, encoding, made);
}

void fail_with(FetchQueue& queue, Fetch& fetch, const std::string& code, const std::string& message,
               const std::vector<std::string>& notes, const std::string& advice) {
  queue.fail_with(fetch, {.code = code, .message = message, .notes = notes, .advice = advice});
}

}  // namespace

void bind_remote(nb::module_& m) {
  nb::class_<Fetch>(m, "Fetch")
      .def_ro("uri", &Fetch::uri)
      .def_ro("name", &Fetch::name)
      .def_ro("offset", &Fetch::offset)
      .def_ro("count", &Fetch::count)
      .def_ro("size", &Fetch::size)
      .def_ro("version", &Fetch::version)
      .def_prop_ro("cancelled", [](const Fetch& fetch) { return fetch.cancelled.load(); })
      .def_prop_ro("room", &room);

  nb::class_<FetchQueue>(m, "FetchQueue")
      .def(nb::init<>())
      .def("take", &FetchQueue::take, nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &finish, "fetch"_a, "count"_a, "size"_a, "version"_a)
      .def("fail", &fail_with, "fetch"_a, "code"_a, "message"_a, "notes"_a, "advice"_a)
      .def("count_bytes", &FetchQueue::count_bytes, "bytes"_a)
      .def("interrupt", &FetchQueue::interrupt)
      .def("close", &FetchQueue::close)
      .def_prop_ro("bytes_fetched", &FetchQueue::bytes_fetched);

  nb::class_<StopFlag>(m, "StopFlag").def(nb::init<>()).def("set", [](StopFlag& flag) { flag.set = true; });
  m.def("survey", &survey_of, "path"_a, "name"_a, "encoding"_a, "fetches"_a.none(), "stop"_a);
  m.def("peek", &peek_at, "path"_a, "name"_a, "encoding"_a, "fields"_a, "fetches"_a.none());
}

}  // namespace sexpgpu::dataio
