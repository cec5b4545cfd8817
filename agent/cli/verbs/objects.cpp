// SPDX-License-Identifier: Apache-2.0
// objects: what a model file holds, and where on the file and on the tier each part lies.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agent/cli/command.hpp"
#include "agent/cli/file_map.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/units.hpp"
#include "agent/model/kv_name.hpp"
#include "agent/objects/model_file.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string file;
    bool list = false;
    bool map = false;
};

// What hints can name: a tensor, or one expert's part of it.
struct Object {
    const Tensor* tensor = nullptr;
    std::optional<std::uint32_t> expert;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

std::vector<Object> objects_of(const ModelFiles& model) {
    std::vector<Object> objects;
    for (const Tensor& tensor : model.tensors) {
        if (!tensor.experts) {
            objects.push_back({&tensor, tensor.parts.expert, tensor.offset, tensor.bytes});
            continue;
        }
        for (std::uint32_t expert = 0; expert < tensor.experts; ++expert) {
            const auto slice = tensor.slice(expert);
            objects.push_back({&tensor, expert, slice->offset, slice->length});
        }
    }
    return objects;
}

struct Sum {
    std::uint64_t tensors = 0;
    std::uint64_t bytes = 0;
};

using Sums = std::array<Sum, roles>;

Sums sum_up(const ModelFiles& model) {
    Sums sums{};
    for (const Tensor& tensor : model.tensors) {
        Sum& sum = sums[static_cast<std::size_t>(tensor.parts.role)];
        ++sum.tensors;
        sum.bytes += tensor.bytes;
    }
    return sums;
}

std::uint64_t bytes_of(const ModelFiles& model) {
    std::uint64_t bytes = 0;
    for (const ModelFiles::File& file : model.files) {
        bytes += file.bytes;
    }
    return bytes;
}

std::string number_or_dash(const std::optional<std::uint32_t>& number) {
    return number ? std::to_string(*number) : "-";
}

std::string experts_text(const ModelFiles& model) {
    std::string text = std::to_string(model.layers);
    if (!model.experts) return text;
    text += fmt::format(", {} experts", model.experts);
    if (model.experts_used) text += fmt::format(" of which {} are used", model.experts_used);
    return text;
}

std::string summary_text(const Options& options, const ModelFiles& model) {
    Facts facts;
    facts.add(
        "model",
        fmt::format("{}  {}{}", options.file, human_size(bytes_of(model)),
                    model.files.size() > 1 ? fmt::format(" in {} files", model.files.size()) : ""));
    facts.add("format", model.format + (model.architecture.empty() ? "" : ", ") +
                            model.architecture + (model.name.empty() ? "" : ", ") + model.name);
    facts.add("layers", experts_text(model));

    Grid grid({"ROLE", ">TENSORS", ">BYTES", ">SHARE"});
    const Sums sums = sum_up(model);
    std::uint64_t all = 0;
    for (const Sum& sum : sums)
        all += sum.bytes;
    for (std::size_t role = 0; role < roles; ++role) {
        if (!sums[role].tensors) continue;
        grid.row({std::string(role_name(static_cast<Role>(role))), human_count(sums[role].tensors),
                  human_size(sums[role].bytes), percent(sums[role].bytes, all)});
    }
    return facts.text() + "\n" + grid.text();
}

Json summary_json(const Options& options, const ModelFiles& model) {
    Json answer = {{"model", options.file},
                   {"format", model.format},
                   {"name", model.name},
                   {"architecture", model.architecture},
                   {"layers", model.layers},
                   {"experts", model.experts},
                   {"experts_used", model.experts_used}};
    for (const ModelFiles::File& file : model.files)
        answer["files"].push_back({{"path", file.path}, {"bytes", file.bytes}});
    const Sums sums = sum_up(model);
    for (std::size_t role = 0; role < roles; ++role) {
        if (!sums[role].tensors) continue;
        answer["roles"][std::string(role_name(static_cast<Role>(role)))] = {
            {"tensors", sums[role].tensors}, {"bytes", sums[role].bytes}};
    }
    return answer;
}

// One a file of the model; empty unless --map.
Result<std::vector<FileOnTier>> map_files(const ModelFiles& model) {
    std::vector<FileOnTier> maps;
    Dm dm;
    for (const ModelFiles::File& file : model.files) {
        auto map = find_file(dm, file.path, false);
        if (!map) return Failure(map.error());
        maps.push_back(std::move(*map));
    }
    return maps;
}

std::vector<Range> ranges_of(const Object& object, const std::vector<FileOnTier>& maps) {
    if (maps.empty()) return {};
    const auto& [below, map] = maps[object.tensor->file];
    return ranges_on_tier(map, below.offset, {object.offset, object.length}, false).ranges;
}

std::string list_text(const std::vector<Object>& objects, const std::vector<FileOnTier>& maps) {
    std::vector<std::string> heads = {"TENSOR",  "TYPE",  "ROLE",    ">LAYER",
                                      ">EXPERT", ">FILE", ">OFFSET", ">LENGTH"};
    if (!maps.empty()) heads.emplace_back("TIER RANGES");
    Grid grid(heads);
    for (const Object& object : objects) {
        const Tensor& tensor = *object.tensor;
        std::vector<std::string> row = {tensor.name,
                                        tensor.type,
                                        std::string(role_name(tensor.parts.role)),
                                        number_or_dash(tensor.parts.layer),
                                        number_or_dash(object.expert),
                                        std::to_string(tensor.file),
                                        std::to_string(object.offset),
                                        std::to_string(object.length)};
        if (!maps.empty()) {
            std::string text;
            for (const Range& range : ranges_of(object, maps))
                text += fmt::format("{}{}:{}", text.empty() ? "" : " ", range.offset, range.length);
            row.push_back(text.empty() ? "-" : text);
        }
        grid.row(row);
    }
    return grid.text();
}

Json list_json(const std::vector<Object>& objects, const std::vector<FileOnTier>& maps) {
    Json list = Json::array();
    for (const Object& object : objects) {
        const Tensor& tensor = *object.tensor;
        Json one = {{"tensor", tensor.name},  {"type", tensor.type},
                    {"shape", tensor.shape},  {"role", std::string(role_name(tensor.parts.role))},
                    {"file", tensor.file},    {"offset", object.offset},
                    {"length", object.length}};
        if (tensor.parts.layer) one["layer"] = *tensor.parts.layer;
        if (object.expert) one["expert"] = *object.expert;
        if (!maps.empty()) {
            one["ranges"] = Json::array();
            for (const Range& range : ranges_of(object, maps))
                one["ranges"].push_back({{"offset", range.offset}, {"length", range.length}});
        }
        list.push_back(std::move(one));
    }
    return list;
}

// A KV block's file: all there is to know is in its path.
void show_kv(const Options& options, const ParsedName& parsed, bool json) {
    Json answer = {{"file", options.file},
                   {"framework", std::string(parsed.adapter->name)},
                   {"block", parsed.name.hex()},
                   {"object", fmt::format("{:016x}", parsed.name.object())}};
    if (parsed.temporary) answer["temporary"] = true;
    const std::pair<const char*, std::string_view> texts[] = {{"model", parsed.model},
                                                              {"pool", parsed.pool}};
    for (const auto& [name, text] : texts)
        if (!text.empty()) answer[name] = std::string(text);
    const std::pair<const char*, std::optional<std::uint32_t>> numbers[] = {
        {"rank", parsed.rank},
        {"ranks", parsed.ranks},
        {"layer", parsed.layer},
        {"group", parsed.group}};
    for (const auto& [name, number] : numbers)
        if (number) answer[name] = *number;
    if (json) return print_json(answer);
    Facts facts;
    for (const auto& [name, value] : answer.items())
        facts.add(name, value.is_string() ? value.get<std::string>() : value.dump());
    print(facts.text());
}

Result<Exit> show(const Options& options, bool json) {
    if (const auto parsed = parse_kv_path(options.file)) {
        if (options.list || options.map)
            return fail(EINVAL, "{} is one KV block, not a model: see `hintierctl where`",
                        options.file);
        show_kv(options, *parsed, json);
        return Exit::ok;
    }
    auto model = read_model(options.file);
    if (!model) return Failure(model.error());
    std::vector<FileOnTier> maps;
    if (options.map) {
        auto mapped = map_files(*model);
        if (!mapped) return Failure(mapped.error());
        maps = std::move(*mapped);
    }
    const bool list = options.list || options.map;
    const std::vector<Object> objects = list ? objects_of(*model) : std::vector<Object>();
    if (json) {
        Json answer = summary_json(options, *model);
        if (options.map) {
            for (std::size_t i = 0; i < maps.size(); ++i)
                answer["files"][i]["tier"] = maps[i].below.tier.name;
        }
        if (list) answer["objects"] = list_json(objects, maps);
        print_json(answer);
        return Exit::ok;
    }
    print(list ? list_text(objects, maps) : summary_text(options, *model));
    return Exit::ok;
}

} // namespace

void add_objects(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "objects", "what a model's or a KV block's file holds",
         "  hintierctl objects mixtral-00001-of-00003.gguf\n"
         "  hintierctl objects --list --json /srv/models/qwen3-moe\n"
         "  hintierctl objects --map model.safetensors\n"
         "  hintierctl objects /srv/kv/llama_r0/1f3/a0_g0/1f3a0b7c9d2e4f60.bin\n")
        .argument("FILE", options->file,
                  "GGUF, safetensors, an index of shards, their directory, or a KV block")
        .flag("--list", options->list, "list every tensor and expert")
        .flag("--map", options->map, "list them with their ranges of the tier")
        .action([options, &command] { return show(*options, command.json); });
}

} // namespace hintier::cli
