// SPDX-License-Identifier: Apache-2.0
// simulate: from a recording, how many seconds of KV writes the fast drive has to hold.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "agent/cli/command.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/units.hpp"
#include "agent/model/residency.hpp"
#include "agent/model/world.hpp"
#include "agent/source/recording_file.hpp"

namespace hintier::cli {

namespace {

struct Simulation {
    std::string file;
    std::string block = "0";
};

const std::vector<Nanos> times = {10s, 30s, 1min, 2min, 5min, 10min, 30min, 1h, 2h, 6h, 24h};

struct Outcome {
    Residency residency{times};
    Nanos first{}, last{};
    double seconds() const { return std::chrono::duration<double>(last - first).count(); }
};

Result<Outcome> simulate(const std::string& path) {
    auto file = RecordingFile::open(path);
    if (!file) return Failure(file.error());
    World world({}, file->roots());
    Outcome outcome;
    const auto read = file->each([&](const Recorded& recorded) {
        const auto* one = std::get_if<RecordedEvent>(&recorded);
        if (!one) return;
        const Event event = one->get();
        const Change change = world.apply(event);
        // Files from before the recording: nobody knows when they were written.
        if (change.object == no_object || event.kind == EventKind::seen) return;
        if (outcome.first == 0ns) outcome.first = event.time;
        outcome.last = std::max(outcome.last, event.time);
        const Object& object = world.object(change.object);
        switch (change.kind) {
        case Change::Kind::appeared:
            outcome.residency.wrote(object.id, event.time);
            break;
        case Change::Kind::opened:
            outcome.residency.read(object.id, event.time);
            break;
        case Change::Kind::gone:
            if (object.places.empty()) outcome.residency.removed(object.id, event.time);
            break;
        default:
            break;
        }
    });
    if (!read) return Failure(read.error());
    return outcome;
}

// Times that the recording is long enough for.
bool tells(const Outcome& outcome, const Residency::Row& row) {
    return std::chrono::duration<double>(row.kept).count() <= outcome.seconds();
}

Json to_json(const Outcome& outcome, std::uint64_t block) {
    Json answer = {{"seconds", outcome.seconds()},
                   {"writes", outcome.residency.writes()},
                   {"reads", outcome.residency.reads()},
                   {"reads_of_unknown_age", outcome.residency.unknown()},
                   {"kept", Json::array()}};
    for (const Residency::Row& row : outcome.residency.rows()) {
        if (!tells(outcome, row)) continue;
        Json one = {{"seconds", std::chrono::duration<double>(row.kept).count()},
                    {"reads_served", row.served},
                    {"blocks_at_once", row.most},
                    {"blocks_written_to_fast", row.written}};
        if (block) one["bytes_at_once"] = row.most * block;
        answer["kept"].push_back(one);
    }
    return answer;
}

std::string to_text(const Outcome& outcome, std::uint64_t block) {
    const Residency& residency = outcome.residency;
    std::string text = fmt::format(
        "{} blocks written and {} read in {:.0f} s; {} more reads of blocks from before.\n"
        "A block kept in fast for so long after its last use:\n",
        human_count(residency.writes()), human_count(residency.reads()), outcome.seconds(),
        human_count(residency.unknown()));
    Grid grid({">kept", ">reads served", ">blocks at once", ">size", ">written to fast"});
    for (const Residency::Row& row : residency.rows()) {
        if (!tells(outcome, row)) continue;
        grid.row({fmt::format("{} s",
                              std::chrono::duration_cast<std::chrono::seconds>(row.kept).count()),
                  percent(row.served, residency.reads()), human_count(row.most),
                  block ? human_size(row.most * block) : "-", human_count(row.written)});
    }
    if (grid.empty()) return text + "the recording is shorter than 10 s\n";
    return text + grid.text();
}

Result<Exit> run(const Simulation& options, bool json) {
    const auto block = parse_size(options.block);
    if (!block) return Failure(block.error());
    const auto outcome = simulate(options.file);
    if (!outcome) return Failure(outcome.error());
    json ? print_json(to_json(*outcome, *block)) : print(to_text(*outcome, *block));
    return Exit::ok;
}

} // namespace

void add_simulate(CLI::App& app, Command& command) {
    auto options = std::make_shared<Simulation>();
    Verb(app, command, "simulate", "how many seconds of KV writes the fast drive has to hold",
         "  hintierctl simulate monday.jsonl --block 36M\n")
        .argument("FILE", options->file, "made by `hintierctl record`")
        .text("--block", "SIZE", options->block, "of one KV file, to tell sizes in bytes",
              must_parse(parse_size))
        .action([options, &command] { return run(*options, command.json); });
}

} // namespace hintier::cli
