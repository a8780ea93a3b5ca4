#include "rows/flatten.h"

#include <arrow/array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/extension_type.h>

#include "fault.h"

namespace sexpgpu::dataio {
namespace {

// One level of lists, whatever its kind: where the list `i` begins among the items and how long it is.
struct Level {
  std::shared_ptr<arrow::Array> items;
  int64_t (*begin)(const arrow::Array&, int64_t);
  int64_t (*length)(const arrow::Array&, int64_t);
};

template <typename Array>
Level level_of(const arrow::Array& array) {
  return {static_cast<const Array&>(array).values(),
          [](const arrow::Array& a, int64_t i) -> int64_t { return static_cast<const Array&>(a).value_offset(i); },
          [](const arrow::Array& a, int64_t i) -> int64_t { return static_cast<const Array&>(a).value_length(i); }};
}

Level level(const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::LIST: return level_of<arrow::ListArray>(array);
    case arrow::Type::LARGE_LIST: return level_of<arrow::LargeListArray>(array);
    case arrow::Type::FIXED_SIZE_LIST: return level_of<arrow::FixedSizeListArray>(array);
    case arrow::Type::LIST_VIEW: return level_of<arrow::ListViewArray>(array);
    default: return level_of<arrow::LargeListViewArray>(array);
  }
}

template <typename Array>
int64_t first_other_length(const arrow::Array& array, int64_t wanted) {
  // Offsets read straight: this loop sees every row, and a call for each would be felt.
  const auto* offsets = static_cast<const Array&>(array).raw_value_offsets();
  bool good = true;
  for (int64_t i = 0; i < array.length(); ++i) good &= offsets[i + 1] - offsets[i] == wanted;
  if (good) return -1;
  for (int64_t i = 0; i < array.length(); ++i)
    if (offsets[i + 1] - offsets[i] != wanted) return i;
  return -1;
}

int64_t first_other_length(const arrow::Array& array, const Level& lists, int64_t wanted) {
  if (array.type_id() == arrow::Type::LIST) return first_other_length<arrow::ListArray>(array, wanted);
  if (array.type_id() == arrow::Type::LARGE_LIST) return first_other_length<arrow::LargeListArray>(array, wanted);
  for (int64_t i = 0; i < array.length(); ++i)
    if (lists.length(array, i) != wanted) return i;
  return -1;
}

// The items of lists that all have the wanted length, in order. Views may lie anywhere: those are put in order first.
std::shared_ptr<arrow::Array> items(const arrow::Array& array, const Level& lists, int64_t wanted) {
  const int64_t count = array.length();
  const int64_t first = count ? lists.begin(array, 0) : 0;
  bool in_order = true;
  if (array.type_id() == arrow::Type::LIST_VIEW || array.type_id() == arrow::Type::LARGE_LIST_VIEW)
    for (int64_t i = 0; i < count && in_order; ++i) in_order = lists.begin(array, i) == first + i * wanted;
  if (!in_order) {
    auto flat = array.type_id() == arrow::Type::LIST_VIEW
                    ? static_cast<const arrow::ListViewArray&>(array).Flatten()
                    : static_cast<const arrow::LargeListViewArray&>(array).Flatten();
    if (!flat.ok()) throw std::bad_alloc();
    return *flat;
  }
  if (first < 0 || first + count * wanted > lists.items->length())
    fail({.code = "E-STORE-004", .message = "lists reach past their items"});
  return lists.items->Slice(first, count * wanted);
}

std::string lengths_text(const std::vector<int64_t>& lengths) { return shape_text(lengths); }

// `[3, 4]` of one row as it was found; a level whose lists differ ends the text.
std::string found_shape(std::shared_ptr<arrow::Array> array, int64_t row) {
  std::string text;
  int64_t begin = row;
  int64_t count = 1;
  while (list_item(*array->type()) && count > 0) {
    const Level lists = level(*array);
    const int64_t length = lists.length(*array, begin);
    bool uniform = true;
    for (int64_t i = 0; i < count; ++i) uniform &= lists.length(*array, begin + i) == length;
    text += (text.empty() ? "" : ", ") + (uniform ? std::to_string(length) : std::string("lists of different lengths"));
    if (!uniform) break;
    begin = lists.begin(*array, begin);
    count *= length;
    array = plain(lists.items);
  }
  return "[" + text + "]";
}

BadRow null_row(int64_t index, int64_t per_row, const char* what) {
  const std::string where = per_row > 1 ? std::string(what) + " " + std::to_string(index % per_row) + " is null"
                                        : std::string("it is null");
  return {index / per_row, "E-DATA-005", where, "remove the rows with nulls, or fill them in"};
}

}  // namespace

std::shared_ptr<arrow::Array> plain(std::shared_ptr<arrow::Array> array) {
  while (true) {
    if (array->type_id() == arrow::Type::EXTENSION) {
      array = static_cast<const arrow::ExtensionArray&>(*array).storage();
    } else if (array->type_id() == arrow::Type::DICTIONARY) {
      const auto& coded = static_cast<const arrow::DictionaryArray&>(*array);
      auto taken = arrow::compute::Take(*coded.dictionary(), *coded.indices());
      if (!taken.ok()) fail({.code = "E-STORE-004", .message = "a dictionary index points nowhere"});
      array = *taken;
    } else {
      return array;
    }
  }
}

int64_t first_null(const arrow::Array& array) {
  if (array.null_count() == 0) return -1;
  for (int64_t i = 0; i < array.length(); ++i)
    if (array.IsNull(i)) return i;
  return -1;
}

Flat flatten(std::shared_ptr<arrow::Array> column, const Field& field, const Form& form) {
  const auto whole = plain(std::move(column));
  Flat flat{whole, whole->length(), std::nullopt};
  int64_t per_row = 1;  // entries of the current level that make one row

  // Keeps the rows before `row`, so that deeper levels look only at rows that are still good.
  const auto refuse = [&](BadRow bad) {
    flat.rows = bad.row;
    flat.values = flat.values->Slice(0, flat.rows * per_row);
    flat.bad = std::move(bad);
  };

  for (const int64_t wanted : form.lengths) {
    if (const int64_t at = first_null(*flat.values); at >= 0) refuse(null_row(at, per_row, "its list"));
    const Level lists = level(*flat.values);
    if (const int64_t at = first_other_length(*flat.values, lists, wanted); at >= 0) {
      const int64_t row = at / per_row;
      const bool is_flat = form.lengths.size() != field.shape.size();
      refuse({row, "E-DATA-003", "it has " + found_shape(whole, row) +
                                     (is_flat ? ", which is not the flat " + lengths_text(form.lengths) : ""),
              ""});
    }
    flat.values = plain(items(*flat.values, lists, wanted));
    per_row *= wanted;
  }
  if (const int64_t at = first_null(*flat.values); at >= 0) refuse(null_row(at, per_row, "value"));
  return flat;
}

}  // namespace sexpgpu::dataio
