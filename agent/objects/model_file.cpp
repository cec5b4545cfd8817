// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/model_file.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "agent/objects/gguf.hpp"
#include "agent/objects/safetensors.hpp"

namespace hintier {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_name = "model.safetensors.index.json";
constexpr std::string_view single_name = "model.safetensors";

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// Takes a file's tensors into the model. The limit is on all files together.
Result<void> add(ModelFiles& model, const std::string& path, std::uint64_t bytes,
                 std::vector<Tensor> tensors) {
    if (tensors.size() > max_tensors - model.tensors.size()) {
        return failure(path + ": too many tensors", EINVAL);
    }
    const auto file = static_cast<std::uint32_t>(model.files.size());
    model.files.push_back({path, bytes});
    for (Tensor& tensor : tensors) {
        tensor.file = file;
        model.tensors.push_back(std::move(tensor));
    }
    return {};
}

// What no header says is counted.
void count_parts(ModelFiles& model) {
    std::uint64_t layers = 0;
    std::uint64_t experts = 0;
    for (const Tensor& tensor : model.tensors) {
        layers =
            std::max<std::uint64_t>(layers, tensor.parts.layer ? *tensor.parts.layer + 1ULL : 0);
        experts = std::max<std::uint64_t>(
            {experts, tensor.experts, tensor.parts.expert ? *tensor.parts.expert + 1ULL : 0});
    }
    model.layers = model.layers ? model.layers : layers;
    model.experts = model.experts ? model.experts : experts;
    std::stable_sort(model.tensors.begin(), model.tensors.end(),
                     [](const Tensor& a, const Tensor& b) {
                         return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
                     });
}

Result<Gguf> open_gguf(const std::string& path, std::uint64_t& bytes) {
    auto file = FileBytes::open(path);
    if (!file) return Failure(std::move(file.error()));
    bytes = file->size();
    auto gguf = read_gguf(*file);
    if (!gguf) return Failure(std::move(gguf.error()).within(path));
    return gguf;
}

Result<ModelFiles> read_gguf_files(const std::string& path) {
    const SplitName split = parse_split_name(path);
    if (split.count > max_files) return failure(path + ": too many files", EINVAL);
    ModelFiles model;
    std::uint64_t promised = 0;
    for (unsigned number = 1; number <= std::max(split.count, 1U); ++number) {
        const std::string one = split.count ? split_name(split, number) : path;
        std::uint64_t bytes = 0;
        auto gguf = open_gguf(one, bytes);
        if (!gguf) return Failure(std::move(gguf.error()));
        if (gguf->split_count > 1 && !split.count) {
            return failure(fmt::format("{}: one of {} files, and its name does not tell which", one,
                                       gguf->split_count),
                           EINVAL);
        }
        if (split.count && (gguf->split_count != split.count || gguf->split_no != number - 1)) {
            return failure(fmt::format("{}: says that it is file {} of {}", one, gguf->split_no + 1,
                                       gguf->split_count),
                           EINVAL);
        }
        if (number == 1) { // the first file has the keys
            model.format = fmt::format("GGUF {}", gguf->version);
            model.architecture = gguf->architecture;
            model.name = gguf->name;
            model.layers = gguf->layers;
            model.experts = gguf->experts;
            model.experts_used = gguf->experts_used;
            promised = gguf->split_tensors;
        }
        if (auto added = add(model, one, bytes, std::move(gguf->tensors)); !added) {
            return Failure(std::move(added.error()));
        }
    }
    if (split.count && promised && promised != model.tensors.size()) {
        return failure(fmt::format("{}: {} tensors in all files, {} were promised", path,
                                   model.tensors.size(), promised),
                       EINVAL);
    }
    return model;
}

Result<void> add_safetensors(ModelFiles& model, const std::string& path) {
    auto file = FileBytes::open(path);
    if (!file) return Failure(std::move(file.error()));
    auto tensors = read_safetensors(*file);
    if (!tensors) return Failure(std::move(tensors.error()).within(path));
    return add(model, path, file->size(), std::move(*tensors));
}

Result<ModelFiles> read_shards(const std::string& index) {
    auto file = FileBytes::open(index);
    if (!file) return Failure(std::move(file.error()));
    auto map = read_shard_map(*file);
    if (!map) return Failure(std::move(map.error()).within(index));
    std::set<std::string> names;
    for (const auto& [tensor, shard] : *map) {
        names.insert(shard);
    }
    if (names.size() > max_files) return failure(index + ": too many files", EINVAL);

    ModelFiles model;
    model.format = "safetensors";
    for (const std::string& name : names) {
        auto added = add_safetensors(model, (fs::path(index).parent_path() / name).string());
        if (!added) return Failure(std::move(added.error()));
    }
    for (const Tensor& tensor : model.tensors) {
        const auto it = map->find(tensor.name);
        if (it != map->end() && file_name(model.files[tensor.file].path) == it->second) {
            map->erase(it);
        }
    }
    if (map->empty()) return model;
    return failure(
        fmt::format("{}: tensor {} is not in {}", index, map->begin()->first, map->begin()->second),
        EINVAL);
}

Result<ModelFiles> read_file(const std::string& path) {
    if (path.ends_with(".index.json")) return read_shards(path);
    bool gguf = false;
    {
        auto file = FileBytes::open(path);
        if (!file) return Failure(std::move(file.error()));
        gguf = is_gguf(*file);
    }
    if (gguf) return read_gguf_files(path);
    ModelFiles model;
    model.format = "safetensors";
    if (auto added = add_safetensors(model, path); !added) return Failure(std::move(added.error()));
    return model;
}

} // namespace

SplitName parse_split_name(std::string_view path) {
    constexpr std::string_view pattern = "-00000-of-00000.gguf"; // 0: any digit
    if (path.size() <= pattern.size()) return {};
    const std::string_view tail = path.substr(path.size() - pattern.size());
    const auto number_at = [&](std::size_t at) {
        unsigned number = 0;
        for (std::size_t i = at; i < at + 5; ++i) {
            number = number * 10 + static_cast<unsigned>(tail[i] - '0');
        }
        return number;
    };
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const bool fits =
            pattern[i] == '0' ? tail[i] >= '0' && tail[i] <= '9' : tail[i] == pattern[i];
        if (!fits) return {};
    }
    SplitName split{std::string(path.substr(0, path.size() - pattern.size())), number_at(1),
                    number_at(10)};
    if (split.number < 1 || split.number > split.count) return {};
    return split;
}

std::string split_name(const SplitName& split, unsigned number) {
    return fmt::format("{}-{:05}-of-{:05}.gguf", split.prefix, number, split.count);
}

Result<ModelFiles> read_model(const std::string& path) {
    std::error_code ignored;
    std::string file = path;
    if (fs::is_directory(path, ignored)) {
        const fs::path index = fs::path(path) / index_name;
        const fs::path single = fs::path(path) / single_name;
        if (!fs::exists(index, ignored) && !fs::exists(single, ignored)) {
            return failure(fmt::format("{}: neither {} nor {} is there; name a file", path,
                                       index_name, single_name),
                           ENOENT);
        }
        file = (fs::exists(index, ignored) ? index : single).string();
    }
    auto model = read_file(file);
    if (model) count_parts(*model);
    return model;
}

} // namespace hintier
