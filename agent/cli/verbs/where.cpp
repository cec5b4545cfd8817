// SPDX-License-Identifier: Apache-2.0
// where: which parts of a file are in fast, dirty, or on bulk only.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agent/cli/command.hpp"
#include "agent/cli/control_device.hpp"
#include "agent/cli/file_map.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/residency.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string file;
    bool map = false;
    bool sync = false;
};

std::string map_text(const std::vector<Piece>& pieces) {
    Grid grid({">FILE OFFSET", ">TIER OFFSET", ">LENGTH", "WHERE", "CLASS", ">GROUP", ">OBJECT"});
    for (const Piece& piece : pieces) {
        bool known = piece.nowhere.empty();
        grid.row({std::to_string(piece.logical), known ? std::to_string(piece.offset) : "-",
                  std::to_string(piece.length), state_text(piece),
                  known ? class_name(piece.klass) : "-", known ? std::to_string(piece.group) : "-",
                  known ? fmt::format("{:x}", piece.object) : "-"});
    }
    return grid.text();
}

Json map_json(const std::vector<Piece>& pieces) {
    Json parts = Json::array();
    for (const Piece& piece : pieces) {
        Json part = {
            {"file_offset", piece.logical}, {"length", piece.length}, {"where", state_text(piece)}};
        if (piece.nowhere.empty())
            part.update({{"tier_offset", piece.offset},
                         {"fast", (piece.state & HINTIER_IS_FAST) != 0},
                         {"dirty", (piece.state & HINTIER_IS_DIRTY) != 0},
                         {"lost", (piece.state & HINTIER_IS_LOST) != 0},
                         {"moving", (piece.state & HINTIER_IS_MOVING) != 0},
                         {"class", class_name(piece.klass)},
                         {"group", piece.group},
                         {"object", piece.object}});
        parts.push_back(std::move(part));
    }
    return parts;
}

std::string summary_text(const Options& options, const FileMap& map, const TierBelow& below,
                         const Sums& sums, std::size_t pieces) {
    Facts facts;
    facts.add("file", fmt::format("{}  {}", options.file, human_size(map.size)));
    facts.add("tier",
              fmt::format("{}, {} piece{}{}", below.tier.name, map.parts.size(),
                          map.parts.size() == 1 ? "" : "s",
                          below.offset ? ", device starts at " + human_size(below.offset) : ""));
    auto line = [&](const char* name, std::uint64_t bytes) {
        facts.add(name,
                  fmt::format("{:>10}  {:>7}", human_size(bytes), percent(bytes, sums.all())));
    };
    line("fast", sums.fast);
    line("  of it dirty", sums.dirty);
    line("bulk", sums.bulk);
    if (sums.lost) line("lost", sums.lost);
    if (sums.moving) line("moving", sums.moving);
    if (sums.nowhere) line("nowhere yet", sums.nowhere);
    std::string text = facts.text();
    if (pieces == 0) text += "no data: the file is empty, sparse, or kept in its inode\n";
    return text;
}

Result<Exit> where(const Options& options, bool json) {
    Dm dm;
    auto file = find_file(dm, options.file, options.sync);
    if (!file) return Failure(file.error());
    const auto& [below, map] = *file;
    auto control = ControlDevice::bind(dm_node(below.tier), ControlDevice::Access::advise);
    if (!control) return Failure(control.error());
    auto pieces = look_at(map, *control, below.offset);
    if (!pieces) return Failure(pieces.error());
    const Sums sums = sum_of(*pieces);

    if (json) {
        Json answer = {{"file", options.file},
                       {"tier", below.tier.name},
                       {"size", map.size},
                       {"tier_offset", below.offset},
                       {"fast_bytes", sums.fast},
                       {"dirty_bytes", sums.dirty},
                       {"bulk_bytes", sums.bulk},
                       {"lost_bytes", sums.lost},
                       {"moving_bytes", sums.moving},
                       {"nowhere_bytes", sums.nowhere}};
        if (options.map) answer["parts"] = map_json(*pieces);
        print_json(answer);
        return Exit::ok;
    }
    print(summary_text(options, map, below, sums, pieces->size()));
    if (options.map && !pieces->empty()) print("\n" + map_text(*pieces));
    return Exit::ok;
}

} // namespace

void add_where(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "where", "which parts of a file are fast, dirty or on bulk",
         "  hintierctl where /srv/kv/1f/1f3a\n"
         "  hintierctl where --map --sync model.gguf\n")
        .argument("FILE", options->file, "a regular file on a tier")
        .flag("--map", options->map, "list every piece")
        .flag("--sync", options->sync, "write the file to the device first")
        .action([options, &command] { return where(*options, command.json); });
}

} // namespace hintier::cli
