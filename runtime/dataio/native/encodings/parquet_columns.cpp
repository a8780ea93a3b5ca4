#include "encodings/parquet_columns.h"

#include <arrow/type.h>

#include <algorithm>

#include "fault.h"

namespace sexpgpu::dataio {
namespace {

using Members = std::vector<parquet::arrow::SchemaField>;
using Path = std::vector<const parquet::arrow::SchemaField*>;

bool is_struct(const parquet::arrow::SchemaField& member) {
  return storage_type(member.field->type())->id() == arrow::Type::STRUCT;
}

// All ways to read `name` from here: the whole name first, then a struct's member after each dot.
void resolve(const Members& members, const std::string& name, Path& path, std::vector<Path>& found) {
  for (const auto& member : members) {
    const std::string& own = member.field->name();
    if (own == name) {
      path.push_back(&member);
      found.push_back(path);
      path.pop_back();
    }
  }
  if (!found.empty()) return;
  for (const auto& member : members) {
    const std::string& own = member.field->name();
    if (!is_struct(member) || name.size() <= own.size() + 1) continue;
    if (name.compare(0, own.size(), own) != 0 || name[own.size()] != '.') continue;
    path.push_back(&member);
    resolve(member.children, name.substr(own.size() + 1), path, found);
    path.pop_back();
  }
}

void collect_leaves(const parquet::arrow::SchemaField& member, std::vector<int>& leaves) {
  if (member.is_leaf()) leaves.push_back(member.column_index);
  for (const auto& child : member.children) collect_leaves(child, leaves);
}

void collect_names(const Members& members, const std::string& prefix, std::vector<std::string>& names) {
  for (const auto& member : members) {
    const std::string name = prefix + member.field->name();
    if (is_struct(member))
      collect_names(member.children, name + ".", names);
    else
      names.push_back(name);
  }
}

}  // namespace

std::vector<ColumnPlan> plan_columns(const parquet::arrow::SchemaManifest& manifest, const std::vector<Field>& fields,
                                     const std::string& file) {
  std::vector<ColumnPlan> plans;
  for (const auto& field : fields) {
    std::vector<Path> found;
    Path path;
    resolve(manifest.schema_fields, field.column, path, found);
    if (found.empty()) {
      std::vector<std::string> names;
      collect_names(manifest.schema_fields, "", names);
      fail({.code = "E-DATA-001",
            .message = quoted(file) + " has no column " + quoted(field.column) + ", from which the field " +
                       quoted(":" + field.name) + " is read",
            .word = field.column,
            .choices = std::move(names)});
    }
    if (found.size() > 1)
      fail({.code = "E-DATA-006",
            .message = quoted(file) + " has " + std::to_string(found.size()) + " columns named " +
                       quoted(field.column) + ", from which the field " + quoted(":" + field.name) + " is read",
            .advice = "rename one of the columns"});
    const auto& column = *found[0].back();
    ColumnPlan plan;
    for (const auto* step : found[0]) plan.path.push_back(step->field->name());
    collect_leaves(column, plan.leaves);
    plan.type = column.field->type()->ToString();
    plan.form = form_of(field, column.field->type(), "column " + quoted(field.column) + " of " + quoted(file));
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace sexpgpu::dataio
