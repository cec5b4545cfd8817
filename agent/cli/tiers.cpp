// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/tiers.hpp"

#include <filesystem>
#include <sstream>

namespace hintier::cli {

std::string table_params(const TierTable& table) {
    std::string text = fmt::format("{} {} {}", table.fast, table.bulk, table.extent_sectors);
    std::size_t words = 0;
    std::string options;
    for (const auto& [key, value] : table.options) {
        words += value.empty() ? 1 : 2;
        options += " " + key + (value.empty() ? "" : " " + value);
    }
    return words ? text + fmt::format(" {}", words) + options : text;
}

TierTable parse_tier_table(const std::string& params) {
    TierTable table;
    std::size_t words = 0;
    std::istringstream in(params);
    in >> table.fast >> table.bulk >> table.extent_sectors >> words;
    std::string key;
    std::string value;
    for (std::size_t i = 0; i < words && in >> key; i++) {
        value.clear();
        if (key != discard_dirty && (i++, !(in >> value))) break;
        table.options.emplace_back(key, value);
    }
    return table;
}

Result<DmDevice> find_tier(Dm& dm, const std::string& name) {
    std::string plain = name.starts_with("/dev/mapper/") ? name.substr(12) : name;
    auto device = dm.ask(plain, DmAsk::table);
    if (!device) return device;
    if (device->targets.empty())
        return fail(ENXIO, "{} has no table loaded: remove it with `dmsetup remove {}`", plain,
                    plain);
    if (device->targets.front().type != target_type)
        return fail(ENXIO,
                    "{} is a '{}' device, not a hintier tier: `hintierctl list` shows the "
                    "tiers",
                    plain, device->targets.front().type);
    return device;
}

std::string device_name(const std::string& text) {
    std::error_code missing;
    std::filesystem::path sys = std::filesystem::canonical("/sys/dev/block/" + text, missing);
    return missing ? text : "/dev/" + sys.filename().string();
}

} // namespace hintier::cli
