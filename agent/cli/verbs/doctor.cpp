// SPDX-License-Identifier: Apache-2.0
// doctor: what is missing on this machine and how to get it. Exit status 1 if something needed is.
#include <memory>
#include <string>
#include <vector>

#include "agent/cli/command.hpp"
#include "agent/cli/disk.hpp"
#include "agent/cli/dm.hpp"
#include "agent/cli/doctor/machine.hpp"
#include "agent/cli/module.hpp"
#include "agent/cli/tiers.hpp"

namespace hintier::cli {

namespace {

constexpr const char* config_path = "/etc/hintier/hintierd.toml";

// The daemon itself judges its configuration.
Finding check_config_with_daemon(const Machine& machine) {
    if (!machine.exists(config_path))
        return odd("configuration", std::string(config_path) + " is missing: defaults are used",
                   "man hintierd.toml");
    int status = run_program({"hintierd", "--check-config", "--config", config_path});
    if (status == 127)
        return odd("configuration", "hintierd is not on PATH: not checked", "make install");
    if (status != 0)
        return bad("configuration", std::string(config_path) + " is wrong",
                   "hintierd --check-config says where");
    return good("configuration", config_path);
}

void append(Findings& all, Findings more) {
    all.insert(all.end(), more.begin(), more.end());
}

void look_at_tiers(const Machine& machine, Findings& all) {
    if (!device_mapper_present() || !module_loaded()) return;
    Dm dm;
    auto tiers = dm.devices_of(target_type, DmAsk::table);
    if (!tiers) {
        all.push_back(odd("tiers", tiers.error().text, "run as root"));
        return;
    }
    for (const DmDevice& tier : *tiers) {
        TierTable table = parse_tier_table(tier.targets.front().params);
        append(all, check_device(machine, table.fast, tier.name + " fast"));
        append(all, check_device(machine, table.bulk, tier.name + " bulk"));
        append(all, check_mounts(machine, dev_text(tier.id), tier.name));
    }
}

Findings look(const std::vector<std::string>& devices) {
    Machine machine = Machine::here();
    Findings all;
    for (auto check :
         {check_kernel, check_headers, check_device_mapper, check_module, check_control, check_btf,
          check_tracing, check_privileges, check_unit, check_config_with_daemon, check_containers})
        all.push_back(check(machine));
    look_at_tiers(machine, all);
    for (const std::string& path : devices) {
        auto disk = open_disk(path, Open::read);
        if (!disk)
            all.push_back(bad(path, disk.error().text, "name a block device"));
        else
            append(all, check_device(machine, dev_text(disk->id), path));
    }
    return all;
}

std::string mark(Verdict verdict) {
    bool colour = stdout_is_terminal();
    switch (verdict) {
    case Verdict::ok:
        return colour ? "\033[32mok\033[0m  " : "ok  ";
    case Verdict::warn:
        return colour ? "\033[33mwarn\033[0m" : "warn";
    case Verdict::fail:
        return colour ? "\033[31mfail\033[0m" : "fail";
    }
    return "?";
}

const char* word(Verdict verdict) {
    return verdict == Verdict::ok ? "ok" : verdict == Verdict::warn ? "warn" : "fail";
}

void show(const Findings& all) {
    std::size_t width = 0;
    for (const Finding& one : all)
        width = std::max(width, one.check.size());
    for (const Finding& one : all) {
        print(fmt::format("{}  {:<{}}  {}\n", mark(one.verdict), one.check, width, one.text));
        if (!one.fix.empty()) print(fmt::format("{:>{}}  → {}\n", "", width + 6, one.fix));
    }
}

Json as_json(const Findings& all) {
    Json list = Json::array();
    for (const Finding& one : all)
        list.push_back({{"check", one.check},
                        {"verdict", word(one.verdict)},
                        {"text", one.text},
                        {"fix", one.fix}});
    return list;
}

Result<Exit> doctor(const std::vector<std::string>& devices, bool json) {
    Findings all = look(devices);
    std::size_t failed = 0;
    std::size_t warned = 0;
    for (const Finding& one : all) {
        failed += one.verdict == Verdict::fail;
        warned += one.verdict == Verdict::warn;
    }
    if (json) {
        print_json({{"ok", failed == 0},
                    {"failed", failed},
                    {"warned", warned},
                    {"checks", as_json(all)}});
    } else {
        show(all);
        print(fmt::format("\n{} checks: {} failed, {} to look at\n", all.size(), failed, warned));
    }
    return failed ? Exit::failure : Exit::ok;
}

} // namespace

void add_doctor(CLI::App& app, Command& command) {
    auto devices = std::make_shared<std::vector<std::string>>();
    Verb(app, command, "doctor", "what is missing on this machine",
         "  hintierctl doctor\n"
         "  hintierctl doctor /dev/nvme0n1 /dev/nvme1n1   # before format\n")
        .more_arguments("DEVICE", *devices, "devices that are to become a tier")
        .action([devices, &command] { return doctor(*devices, command.json); });
}

} // namespace hintier::cli
