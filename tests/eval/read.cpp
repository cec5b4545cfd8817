// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "tests/eval/load.hpp"

namespace hintier::eval {

namespace {

std::string unpack(const std::string& path) {
    std::string quoted = "'";
    for (const char c : path)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    quoted += "'";
    const std::string command = (path.ends_with(".zst") ? "zstd -dcq " : "cat ") + quoted;
    std::string text;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (!pipe) throw std::runtime_error("cannot run " + command);
    char chunk[1 << 16];
    while (const std::size_t n = std::fread(chunk, 1, sizeof(chunk), pipe))
        text.append(chunk, n);
    if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
    return text;
}

// The regular files of a tar archive, by name.
std::vector<std::pair<std::string, std::string_view>> tar_files(std::string_view tar) {
    std::vector<std::pair<std::string, std::string_view>> files;
    constexpr std::size_t sector = 512;
    for (std::size_t at = 0; at + sector <= tar.size() && tar[at];) {
        const std::string name(tar.substr(at, 100).data(), strnlen(tar.data() + at, 100));
        const auto size = std::stoull(std::string(tar.substr(at + 124, 11)), nullptr, 8);
        const char type = tar[at + 156];
        at += sector;
        if (at + size > tar.size()) throw std::runtime_error("the archive is cut short");
        if (type == '0' || type == '\0') files.emplace_back(name, tar.substr(at, size));
        at += (size + sector - 1) / sector * sector;
    }
    std::sort(files.begin(), files.end());
    return files;
}

} // namespace

replay::Trace read_chat_trace(const std::string& path) {
    std::istringstream in(unpack(path));
    return replay::read_trace(in);
}

Load read_chat(const std::string& path, std::uint32_t memory_tokens) {
    Load load = chat_load(read_chat_trace(path), memory_tokens, path);
    load.real = true;
    return load;
}

// Sessions of one user each, started a minute apart; 8 of their blocks of 64 tokens make one.
Load read_agents(const std::string& path, std::uint32_t memory_tokens) {
    constexpr double spacing = 60;
    constexpr std::size_t group = 8;
    struct Item {
        double at;
        std::size_t session;
        std::vector<std::uint64_t> ids;
    };
    std::vector<Item> items;
    const std::string tar = unpack(path);
    const auto files = tar_files(tar);
    std::uint64_t base = 0;
    std::size_t k = 0;
    for (const auto& [name, text] : files) {
        if (!name.ends_with(".json")) continue;
        const auto json = nlohmann::json::parse(text);
        std::uint64_t most = 0;
        std::vector<std::pair<double, const nlohmann::json*>> requests;
        for (const auto& request : json.at("requests")) {
            const double t = request.at("t").get<double>();
            if (request.at("type") == "subagent") {
                for (const auto& inner : request.at("requests"))
                    requests.emplace_back(t + inner.at("t").get<double>(), &inner);
            } else {
                requests.emplace_back(t, &request);
            }
        }
        std::stable_sort(requests.begin(), requests.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [t, request] : requests) {
            const auto ids = request->at("hash_ids").get<std::vector<std::uint64_t>>();
            Item item{double(k) * spacing + t, k, {}};
            for (const auto id : ids)
                most = std::max(most, id);
            for (std::size_t i = group - 1; i < ids.size(); i += group)
                item.ids.push_back(base + ids[i]);
            items.push_back(std::move(item));
        }
        base += most + 1;
        k++;
    }
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.at < b.at; });
    LoadBuilder builder;
    for (const Item& item : items)
        builder.add(item.at, item.ids, static_cast<std::uint32_t>(item.ids.size()));
    Load load = builder.finish(memory_tokens);
    load.name = "agents";
    load.source = path;
    load.real = true;
    // Half of the sessions have begun by then; half of the time has almost no writes. As in the
    // study whose figures are the floor.
    load.tune_until = 11'000;
    return load;
}

} // namespace hintier::eval
