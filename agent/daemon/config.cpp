// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/config.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>
#include <toml++/toml.h>

#include "agent/base/units.hpp"
#include "hintier/trace.h"
#include "hintier/types.h"

namespace hintier {

namespace {

// One table of the file: hands out its keys and in the end objects to those nobody wanted. The
// first error is kept; what is asked for afterwards leaves the defaults as they are.
class Table {
public:
    Table(const toml::table* table, std::string path, std::string file, std::optional<Error>& error)
        : table_(table), path_(std::move(path)), file_(std::move(file)), error_(error) {}

    ~Table() = default;

    void text(const char* key, std::string& ret) {
        if (const auto* node = want(key)) {
            const auto value = node->value_exact<std::string>();
            value ? void(ret = *value) : fail(*node, key, "must be a string");
        }
    }

    void flag(const char* key, bool& ret) {
        if (const auto* node = want(key)) {
            const auto value = node->value_exact<bool>();
            value ? void(ret = *value) : fail(*node, key, "must be true or false");
        }
    }

    template <class T>
    void number(const char* key, T& ret) {
        if (const auto* node = want(key)) {
            const auto value = node->value_exact<std::int64_t>();
            if (!value) {
                fail(*node, key, "must be a whole number");
            } else if (!std::in_range<T>(*value)) {
                fail(*node, key, "is out of range");
            } else {
                ret = static_cast<T>(*value);
            }
        }
    }

    void share(const char* key, double& ret) {
        if (const auto* node = want(key)) {
            const auto value = node->value<double>();
            value&& std::isfinite(*value) ? void(ret = *value)
                                          : fail(*node, key, "must be a number");
        }
    }

    void duration(const char* key, Nanos& ret) {
        if (const auto* node = want(key)) {
            const auto value = node->value_exact<std::string>();
            const auto nanos = value ? parse_duration(*value) : std::nullopt;
            nanos ? void(ret = *nanos)
                  : fail(*node, key, R"(must be a time such as "500us", "30s" or "5min")");
        }
    }

    template <class T>
    void bytes(const char* key, T& ret) {
        if (const auto* node = want(key)) {
            const auto value = node->value_exact<std::string>();
            const auto size = value ? parse_bytes(*value) : std::nullopt;
            size&& std::in_range<T>(*size)
                ? void(ret = static_cast<T>(*size))
                : fail(*node, key, R"(must be a size such as "64KiB" or "1MiB")");
        }
    }

    Table table(const char* key) {
        const toml::table* inner = nullptr;
        if (const auto* node = want(key)) {
            inner = node->as_table();
            if (!inner) fail(*node, key, "must be a table");
        }
        return {inner, path_ + key + ".", file_, error_};
    }

    std::vector<Table> tables(const char* key) {
        std::vector<Table> all;
        const auto* node = want(key);
        if (!node) return all;
        const toml::array* array = node->as_array();
        if (!array || !array->is_array_of_tables()) {
            fail(*node, key, fmt::format("must be written as [[{}]]", key));
            return all;
        }
        for (const auto& one : *array) {
            all.emplace_back(one.as_table(), path_ + key + ".", file_, error_);
        }
        return all;
    }

    // Everything asked for: the rest is unknown.
    void done() {
        if (!table_) return;
        for (const auto& [key, node] : *table_) {
            if (!wanted_.contains(std::string(key.str()))) {
                fail(node, std::string(key.str()).c_str(), "is no key that hintierd knows");
            }
        }
    }

    void check(const Result<void>& valid) {
        if (!valid && table_) fail(*table_, "", valid.error().text);
    }

    void fail(const toml::node& node, const char* key, std::string_view why) {
        fail_at(node.source().begin.line, key, why);
    }

    void fail(const char* key, std::string_view why) {
        const toml::node* node = table_ ? table_->get(key) : nullptr;
        fail_at(node     ? node->source().begin.line
                : table_ ? table_->source().begin.line
                         : 1,
                key, why);
    }

private:
    const toml::node* want(const char* key) {
        wanted_.insert(key);
        return table_ ? table_->get(key) : nullptr;
    }

    void fail_at(unsigned line, std::string_view key, std::string_view why) {
        if (error_) return;
        std::string name = path_ + std::string(key);
        if (name.ends_with('.')) name.pop_back();
        error_ = Error{
            EINVAL, fmt::format("{}:{}: {}{}{}", file_, line, name, key.empty() ? ": " : " ", why)};
    }

    const toml::table* table_;
    std::string path_;
    std::string file_;
    std::optional<Error>& error_;
    std::set<std::string> wanted_;
};

void read_control(Table in, Config::Control& ret) {
    std::string mode;
    in.text("socket", ret.socket);
    in.text("mode", mode);
    in.text("group", ret.group);
    in.number("max_connections", ret.max_connections);
    in.bytes("max_line", ret.max_line);
    in.number("max_requests", ret.max_requests);
    if (!mode.empty()) {
        const auto [end, error] =
            std::from_chars(mode.data(), mode.data() + mode.size(), ret.mode, 8);
        if (error != std::errc{} || end != mode.data() + mode.size() || ret.mode > 0777) {
            in.fail("mode", R"(must be octal in quotes, such as "0660")");
        }
    }
    if (!ret.socket.starts_with('/') || ret.socket.size() > 100) {
        in.fail("socket", "must be an absolute path of at most 100 characters");
    }
    if (ret.max_connections < 1 || ret.max_connections > 4096) {
        in.fail("max_connections", "is from 1 to 4096");
    }
    if (ret.max_line < 4096 || ret.max_line > 64 << 20) {
        in.fail("max_line", "is from 4KiB to 64MiB");
    }
    if (ret.max_requests < 1) in.fail("max_requests", "must be more than 0");
    in.done();
}

void read_agent(Table in, Config::Agent& ret) {
    std::string level = "info";
    in.text("log", level);
    in.duration("coalesce", ret.coalesce);
    in.duration("tick", ret.tick);
    in.duration("recheck", ret.recheck);
    in.number("scan_rate", ret.scan_rate);
    if (level == "error")
        ret.level = log::Level::error;
    else if (level == "warning")
        ret.level = log::Level::warning;
    else if (level == "info")
        ret.level = log::Level::info;
    else if (level == "debug")
        ret.level = log::Level::debug;
    else
        in.fail("log", "is error, warning, info or debug");
    if (ret.coalesce > 1s) in.fail("coalesce", "is at most 1s");
    if (ret.tick < 1ms || ret.tick > 10s) in.fail("tick", "is from 1ms to 10s");
    if (ret.recheck < 10ms) in.fail("recheck", "is at least 10ms");
    if (ret.scan_rate < 10) in.fail("scan_rate", "is at least 10");
    in.done();
}

void read_trace(Table in, Config::Trace& ret) {
    in.flag("files", ret.files);
    in.flag("io", ret.io);
    in.bytes("ring", ret.ring_bytes);
    if (!std::has_single_bit(ret.ring_bytes) || ret.ring_bytes < 64 << 10 ||
        ret.ring_bytes > 256 << 20) {
        in.fail("ring", "is a power of two from 64KiB to 256MiB");
    }
    in.done();
}

void read_metrics(Table in, MetricsConfig& ret) {
    in.text("listen", ret.listen);
    in.number("max_connections", ret.max_connections);
    in.check(ret.validate());
    in.done();
}

void read_learned(Table in, Learned::Config& ret) {
    in.text("file", ret.file);
    in.number("max_links", ret.max_links);
    in.number("max_objects", ret.max_objects);
    in.check(ret.validate());
    in.done();
}

void read_world(Table in, World::Config& ret) {
    in.number("max_objects", ret.max_objects);
    in.number("max_names", ret.max_names);
    in.duration("chain_gap", ret.chain_gap);
    in.check(ret.validate());
    in.done();
}

void read_classify(Table in, ClassifyRule::Config& ret) {
    in.flag("enabled", ret.enabled);
    in.duration("remap_after", ret.remap_after);
    in.number("remap_tries", ret.remap_tries);
    in.number("max_waiting", ret.max_waiting);
    in.number("catch_up", ret.catch_up);
    in.check(ret.validate());
    in.done();
}

void read_reaper(Table in, ReaperRule::Config& ret) {
    in.flag("enabled", ret.enabled);
    in.duration("quiet", ret.quiet);
    in.duration("silent_after", ret.silent_after);
    in.number("rate", ret.rate);
    in.number("max_waiting", ret.max_waiting);
    in.check(ret.validate());
    in.done();
}

void read_chain(Table in, ChainRule::Config& ret) {
    std::string to = ret.to_fast ? "fast" : "stage";
    in.flag("enabled", ret.enabled);
    in.text("to", to);
    ret.to_fast = to == "fast";
    if (to != "fast" && to != "stage") in.check(failure(R"(to is "stage" or "fast")"));
    in.number("trigger", ret.trigger);
    in.number("window", ret.window);
    in.number("deep_readers", ret.deep_readers);
    in.duration("readers_within", ret.readers_within);
    in.duration("forget_after", ret.forget_after);
    in.number("min_useful", ret.min_useful);
    in.duration("pause", ret.pause);
    in.check(ret.validate());
    in.done();
}

void read_announce(Table in, AnnounceRule::Config& ret) {
    in.flag("enabled", ret.enabled);
    in.number("most", ret.most);
    in.check(ret.validate());
    in.done();
}

void read_worth(Table in, WorthRule::Config& ret, bool reaper) {
    LivenessRule::Config& liveness = ret.liveness;
    in.flag("enabled", ret.enabled);
    in.flag("drop", ret.drop);
    in.flag("values", ret.values);
    in.share("price", liveness.values.price);
    in.duration("until", ret.until);
    in.duration("pause", ret.pause);
    in.number("sweep", ret.sweep);
    in.duration("table_every", liveness.table_every);
    in.share("tolerance", liveness.guard.tolerance);
    in.number("ghosts", liveness.guard.ghosts);
    in.duration("guard_pause", liveness.guard.pause);
    in.number("max_requests", liveness.model.max_requests);
    in.check(ret.validate());
    if (ret.drop && !reaper) in.fail("drop", "has no effect without rules.reaper.enabled = true");
    in.done();
}

void read_restore(Table in, RestoreConfig& ret) {
    in.bytes("rate", ret.rate);
    in.duration("half_life", ret.half_life);
    in.flag("skip", ret.skip);
    in.check(ret.validate());
    in.done();
}

KvEventConfig read_kv_events(Table in) {
    KvEventConfig ret;
    in.text("endpoint", ret.endpoint);
    in.text("replay", ret.replay);
    in.text("topic", ret.topic);
    in.number("ranks", ret.ranks);
    in.check(ret.validate());
    in.done();
    return ret;
}

std::string read_path(Table in) {
    std::string path;
    in.text("path", path);
    if (!path.starts_with('/')) in.fail("path", "must be an absolute path");
    in.done();
    return path;
}

Root read_root(Table in, bool reaper) {
    Root root;
    std::string adapter = "auto";
    in.text("path", root.path);
    in.text("adapter", adapter);
    in.number("group", root.group);
    in.flag("reap", root.reap);
    in.bytes("recompute", root.recompute);
    root.adapter = find_adapter(adapter);
    if (!root.path.starts_with('/')) in.fail("path", "must be an absolute path");
    if (!root.adapter) {
        in.fail("adapter", fmt::format("must be one of {}, not '{}'", adapter_names(), adapter));
    }
    if (root.group >= HINTIER_GROUPS) {
        in.fail("group", fmt::format("is from 0 to {}", HINTIER_GROUPS - 1));
    }
    if (root.reap && root.adapter && !root.adapter->may_reap) {
        in.fail("reap", fmt::format("cannot be true with {}: {}", adapter, root.adapter->caution));
    }
    if (root.reap && !reaper) in.fail("reap", "has no effect without rules.reaper.enabled = true");
    in.done();
    return root;
}

} // namespace

Result<Config> parse_config(std::string_view text, const std::string& file_name) {
    toml::table file;
    try {
        file = toml::parse(text);
    } catch (const toml::parse_error& error) {
        return failure(
            fmt::format("{}:{}: {}", file_name, error.source().begin.line, error.description()),
            EINVAL);
    }

    Config config;
    std::optional<Error> error;
    Table top(&file, "", file_name, error);
    read_control(top.table("control"), config.control);
    read_agent(top.table("agent"), config.agent);
    read_trace(top.table("trace"), config.trace);
    read_metrics(top.table("metrics"), config.metrics);
    read_learned(top.table("learned"), config.learned);
    read_world(top.table("world"), config.world);
    Table rules = top.table("rules");
    read_classify(rules.table("classify"), config.rules.classify);
    read_reaper(rules.table("reaper"), config.rules.reaper);
    read_chain(rules.table("chain"), config.rules.chain);
    read_announce(rules.table("announce"), config.rules.announce);
    read_worth(rules.table("worth"), config.rules.worth, config.rules.reaper.enabled);
    read_restore(rules.table("restore"), config.rules.restore);
    rules.done();

    for (Table& one : top.tables("kv_events")) {
        config.kv_events.push_back(read_kv_events(one));
        if (config.kv_events.size() > 64) one.fail("endpoint", "is one too many");
    }

    constexpr std::size_t most_paths = 64;
    for (const auto& [key, list] :
         {std::pair("probe", &config.probes), std::pair("model", &config.models)}) {
        for (Table& one : top.tables(key)) {
            list->push_back(read_path(one));
            if (list->size() > most_paths) one.fail("path", "is one too many");
        }
    }

    std::set<std::string> paths;
    for (Table& one : top.tables("root")) {
        Root root = read_root(one, config.rules.reaper.enabled);
        if (!paths.insert(root.path).second) one.fail("path", "is there twice");
        if (config.roots.size() == HINTIER_TRACE_ROOTS) one.fail("path", "is one root too many");
        if (error) break;
        config.roots.push_back(std::move(root));
    }
    top.done();
    if (error) return Failure(std::move(*error));
    return config;
}

Result<Config> load_config(const std::string& path) {
    errno = 0;
    std::ifstream in(path);
    std::string text;
    char chunk[4096];
    while (in.read(chunk, sizeof(chunk)) || in.gcount()) {
        text.append(chunk, static_cast<std::size_t>(in.gcount()));
    }
    if (!in.is_open() || in.bad()) return system_failure(path, errno ? errno : EIO);
    return parse_config(text, path);
}

} // namespace hintier
