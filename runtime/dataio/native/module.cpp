// The Python module: the core with its waits made friendly to the interpreter.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <tuple>

#include "core.h"
#include "field_tuple.h"
#include "order/random.h"
#include "remote/bindings.h"

namespace nb = nanobind;
using namespace nb::literals;
using namespace sexpgpu::dataio;

namespace {

constexpr std::chrono::milliseconds kPatience{50};  // how long a signal such as Ctrl-C may go unseen

// Name, path, encoding; then what a manifest tells, -1 and empty where nothing: bytes, version, records, blocks of
// offset, bytes and records, and the manifest's name.
using BlockTuple = std::tuple<int64_t, int64_t, int64_t>;
using FileTuple = std::tuple<std::string, std::string, std::string, int64_t, std::string, int64_t,
                             std::vector<BlockTuple>, std::string>;
// Alive, taken, base, omitted, epoch rows, epoch's first row; then of the place: row, epoch, file, offset, record,
// line.
using SourceNumbers = std::vector<int64_t>;
constexpr size_t kSourceNumbers = 12;
using AnchorTuple = std::tuple<int64_t, int64_t, std::vector<SourceNumbers>>;  // row, since, sources

FileName file_of(const FileTuple& tuple) {
  const auto& [name, path, encoding, bytes, version, records, blocks, listed_in] = tuple;
  FileName file{name, path, encoding, {bytes, version}, records, {}, listed_in};
  for (const auto& [offset, length, rows] : blocks) file.blocks.push_back({rows, length, offset});
  return file;
}

SourceNumbers numbers_of(const Anchor::Source& source) {
  const Place& place = source.place;
  return {source.alive, source.taken, source.base,  source.omitted,     source.epoch_rows,   source.epoch_first,
          place.row,    place.epoch,  place.file,   place.start.offset, place.start.record,  place.start.line};
}

Anchor::Source source_of(const SourceNumbers& n) {
  if (n.size() != kSourceNumbers) throw nb::value_error("a source of an anchor has 12 numbers");
  return {n[0] != 0, n[1], n[2], n[3], n[4], n[5], {n[6], n[7], static_cast<int>(n[8]), {n[9], n[10], n[11]}}};
}

// With the GIL: lets Python's signal handlers run, and stops when one raised.
void poll_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::unique_ptr<Core> make_core(const std::vector<std::vector<FileTuple>>& sources,
                                const std::vector<FieldTuple>& fields, int64_t batch, int64_t world, int64_t rank,
                                int64_t shuffle, bool partial, int threads, int prefetch, int64_t lookahead,
                                const std::vector<double>& weights, bool endless, int on_bad_data, int64_t bad_budget,
                                std::shared_ptr<FetchQueue> fetches) {
  const std::vector<Field> made = fields_of(fields);
  std::vector<std::vector<FileName>> names;
  for (const auto& files : sources) {
    names.emplace_back();
    for (const auto& file : files) names.back().push_back(file_of(file));
  }
  const CoreOptions options{batch,   world,   rank,    shuffle, partial, threads, prefetch, lookahead,
                            weights, endless, static_cast<OnBadData>(on_bad_data), bad_budget};
  const nb::gil_scoped_release released;
  auto store = std::make_shared<const Store>(std::move(fetches));
  return std::make_unique<Core>(names, made, options, std::move(store), poll_signals);
}

void start(Core& core, uint64_t key, int64_t epoch, int64_t position, int64_t rows, int64_t omitted,
           int64_t counted_epoch, const std::optional<AnchorTuple>& anchor) {
  Begin begin{key, epoch, position, rows, omitted, counted_epoch, std::nullopt};
  if (anchor) {
    Anchor made{std::get<0>(*anchor), std::get<1>(*anchor), {}};
    for (const auto& numbers : std::get<2>(*anchor)) made.sources.push_back(source_of(numbers));
    if (made.sources.size() != core.layouts().size()) throw nb::value_error("an anchor has each source once");
    begin.anchor = std::move(made);
  }
  const nb::gil_scoped_release released;
  core.start(begin);
}

// Epoch, position, rows of an epoch (-1: not known), omissions so far, and the anchor where there is one.
nb::tuple after_of(const Lease& lease) {
  const After& after = lease.after();
  nb::object anchor = nb::none();
  if (after.anchor) {
    std::vector<SourceNumbers> sources;
    for (const auto& source : after.anchor->sources) sources.push_back(numbers_of(source));
    anchor = nb::make_tuple(after.anchor->row, after.anchor->since, nb::cast(sources));
  }
  return nb::make_tuple(after.epoch, after.position, after.rows, after.omitted, anchor);
}

// File, record, whether the rest of the file was left out too, and the fault's code and message.
nb::list take_omissions(Core& core) {
  nb::list out;
  for (const Omission& o : core.take_omissions())
    out.append(nb::make_tuple(o.file, o.record, o.rest, o.reason.code, o.reason.message));
  return out;
}

// The next lease or None at the end, and the milliseconds spent here.
nb::tuple next(Core& core) {
  const auto begun = std::chrono::steady_clock::now();
  std::unique_ptr<Lease> lease;
  Engine::Wait wait;
  {
    const nb::gil_scoped_release released;
    while ((wait = core.next(kPatience, lease)) == Engine::Wait::timeout) poll_signals();
  }
  const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - begun;
  nb::object given = lease ? nb::cast(std::move(lease)) : nb::none();
  return nb::make_tuple(std::move(given), waited.count());
}

// All bytes of the slab. The array keeps the lease, and with it the memory, alive.
nb::ndarray<nb::numpy, uint8_t> slab_bytes(nb::handle self) {
  Lease& lease = nb::cast<Lease&>(self);
  const size_t size = static_cast<size_t>(lease.bytes());
  return nb::ndarray<nb::numpy, uint8_t>(lease.data(), {size}, self);
}

// Faults become SexpError; what that looks like is decided in Python.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const FaultError& error) {
    const Fault& fault = error.fault();
    try {
      const nb::object made = nb::module_::import_("sexpgpu.runtime.dataio.faults")
                                  .attr("error_of")(fault.code, fault.message, fault.notes, fault.advice, fault.word,
                                                    fault.choices);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
    } catch (nb::python_error& inner) {
      inner.restore();
    }
  }
}

}  // namespace

NB_MODULE(_native, m) {
  m.attr("ARROW_MAJOR") = SEXPGPU_ARROW_MAJOR;
  m.attr("PATIENCE_MS") = kPatience.count();
  // Batches and cores may be alive when the interpreter ends; that is no leak of ours to report.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(translate);

  m.def("draw", &draw, "key"_a, "epoch"_a, "index"_a, "bound"_a, "One draw of the shuffle, for tests.");
  m.def(
      "philox",
      [](const std::vector<uint32_t>& counter, const std::vector<uint32_t>& key) {
        const auto out = philox({counter.at(0), counter.at(1), counter.at(2), counter.at(3)}, {key.at(0), key.at(1)});
        return std::vector<uint32_t>(out.begin(), out.end());
      },
      "counter"_a, "key"_a, "One block of the generator, for tests.");

  nb::class_<Lease>(m, "Lease")
      .def_prop_ro("bytes", &slab_bytes)
      .def_prop_ro("records", &Lease::records)
      .def_prop_ro("after", &after_of)
      .def("release", &Lease::release);

  nb::class_<Core>(m, "Core")
      .def_prop_ro("rows", &Core::rows)
      .def_prop_ro("seekable", &Core::seekable)
      .def_prop_ro("file_rows",
                   [](const Core& core) {
                     std::vector<std::vector<int64_t>> rows;
                     for (const auto& layout : core.layouts()) {
                       rows.emplace_back();
                       for (const auto& file : layout->files()) rows.back().push_back(file.counted ? file.rows() : -1);
                     }
                     return rows;
                   })
      .def_prop_ro("offsets", [](const Core& core) { return core.shape().offset; })
      .def_prop_ro("ready", &Core::ready)
      .def_prop_ro("bytes_read", &Core::bytes_read)
      .def_prop_ro("running", &Core::running)
      .def("memory_bound", &Core::memory_bound)
      .def("start", &start, "key"_a, "epoch"_a, "position"_a, "rows"_a, "omitted"_a, "counted_epoch"_a,
           "anchor"_a.none())
      .def("take_omissions", &take_omissions)
      .def("stop", &Core::stop, nb::call_guard<nb::gil_scoped_release>())
      .def("next", &next);

  bind_remote(m);
  m.def("open_core", &make_core, "sources"_a, "fields"_a, "batch"_a, "world"_a, "rank"_a, "shuffle"_a, "partial"_a,
        "threads"_a, "prefetch"_a, "lookahead"_a, "weights"_a, "endless"_a, "on_bad_data"_a, "bad_budget"_a,
        "fetches"_a.none());
  m.def("encodings", &encodings, "The names of the encodings that are read.");
}
