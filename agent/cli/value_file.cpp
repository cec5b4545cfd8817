// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/value_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

namespace hintier::cli {

namespace {

using Json = nlohmann::json;

Result<void> numbers(const Json& object, const char* name, __u32 (&to)[HINTIER_AGE_BINS]) {
    const Json* list = object.contains(name) ? &object[name] : nullptr;
    if (!list || !list->is_array() || list->size() != HINTIER_AGE_BINS)
        return fail(EINVAL, "'{}' must be a list of {} numbers", name, HINTIER_AGE_BINS);
    for (std::size_t i = 0; i < list->size(); i++) {
        if (!(*list)[i].is_number_unsigned() || (*list)[i].get<std::uint64_t>() > UINT32_MAX)
            return fail(EINVAL, "'{}': entry {} is no number from 0 to 4294967295", name, i);
        to[i] = (*list)[i].get<__u32>();
    }
    return {};
}

Result<void> drop_bits(const Json& group, hintier_value_row& row) {
    if (!group.contains("drop")) return {};
    const Json& list = group["drop"];
    if (!list.is_array() || list.size() != HINTIER_AGE_BINS)
        return fail(EINVAL, "'drop' must be a list of {}", HINTIER_AGE_BINS);
    for (std::size_t i = 0; i < list.size(); i++) {
        if (!list[i].is_boolean()) return fail(EINVAL, "'drop': entry {} is not true or false", i);
        row.drop |= __u64{list[i].get<bool>()} << i;
    }
    return {};
}

Result<hintier_value_row> parse_row(const Json& group) {
    hintier_value_row row{};
    if (!group.is_object()) return fail(EINVAL, "not an object");
    if (auto good = numbers(group, "clean", row.clean); !good) return Failure(good.error());
    if (auto good = numbers(group, "dirty", row.dirty); !good) return Failure(good.error());
    if (auto good = drop_bits(group, row); !good) return Failure(good.error());
    return row;
}

} // namespace

Result<ValueFile> parse_values(const std::string& text) {
    const Json file = Json::parse(text, nullptr, false);
    if (!file.is_object()) return fail(EINVAL, "no JSON object");
    ValueFile values;
    const Json* ttl = file.contains("ttl_ms") ? &file["ttl_ms"] : nullptr;
    if (!ttl || !ttl->is_number_unsigned() || *ttl == 0 ||
        ttl->get<std::uint64_t>() > HINTIER_VALUES_MAX_MS)
        return fail(EINVAL, "'ttl_ms' must be from 1 to {}", HINTIER_VALUES_MAX_MS);
    values.head.ttl_ms = ttl->get<__u32>();
    if (auto good = numbers(file, "edges_ms", values.head.edges_ms); !good)
        return Failure(good.error());
    const Json* groups = file.contains("groups") ? &file["groups"] : nullptr;
    if (!groups || !groups->is_array() || groups->empty() || groups->size() > HINTIER_GROUPS)
        return fail(EINVAL, "'groups' must be a list of 1 to {}", HINTIER_GROUPS);
    for (std::size_t i = 0; i < groups->size(); i++) {
        auto row = parse_row((*groups)[i]);
        if (!row) return fail(EINVAL, "group {}: {}", i, row.error().text);
        values.rows.push_back(*row);
    }
    values.head.groups = static_cast<__u32>(values.rows.size());
    return values;
}

Result<ValueFile> read_values(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    if (!file || !(text << file.rdbuf()))
        return fail(errno ? errno : EIO, "{}: {}", path, std::strerror(errno ? errno : EIO));
    auto values = parse_values(text.str());
    if (!values) return fail(EINVAL, "{}: {}", path, values.error().text);
    return values;
}

} // namespace hintier::cli
