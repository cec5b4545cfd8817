// SPDX-License-Identifier: Apache-2.0
// What the daemon answers servers on its control socket; see control.hpp.
#include <sys/stat.h>

#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "agent/base/log.hpp"
#include "agent/daemon/agent.hpp"

namespace hintier {

namespace {

using Json = nlohmann::json;

// A look at each file takes some 10 us, and the loop has other things to do.
constexpr std::size_t most_asked = 1024;

std::string_view last_component(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// You may hint what you can open: O_PATH descriptors open nothing.
Result<void> is_readable(int fd) {
    const int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return system_failure("descriptor");
    if (flags & O_PATH || (flags & O_ACCMODE) == O_WRONLY) {
        return failure("the descriptor is not open for reading", EPERM);
    }
    return {};
}

} // namespace

Result<std::uint32_t> Agent::root_named(const std::string& path) const {
    const auto& roots = world_.roots();
    if (path.empty()) {
        if (roots.size() == 1) return 0U;
        return failure("root is missing: there is more than one");
    }
    std::string_view wanted = path;
    while (wanted.size() > 1 && wanted.ends_with('/')) {
        wanted.remove_suffix(1);
    }
    for (std::uint32_t i = 0; i < roots.size(); ++i) {
        if (roots[i].path == wanted) return i;
    }
    return failure("no watched root " + path);
}

// What becomes of a file is its owner's word: of the directory's owner, or root's.
Result<void> Agent::may_speak(const Peer& peer, std::uint32_t root) const {
    if (peer.uid == 0) return {};
    const std::string& path = world_.roots()[root].path;
    struct stat st;
    if (stat(path.c_str(), &st)) return system_failure(path);
    if (st.st_uid == peer.uid) return {};
    log::warning("pid {} uid {} may not speak of sessions of {}", peer.pid, peer.uid, path);
    return failure("only root and the owner of the watched directory may speak of its sessions",
                   EPERM);
}

Result<std::uint32_t> Agent::root_for(const Peer& peer, const std::string& path) const {
    auto root = root_named(path);
    if (!root) return root;
    if (auto may = may_speak(peer, *root); !may) return Failure(std::move(may.error()));
    return root;
}

std::vector<std::uint64_t> Agent::objects_of(std::uint32_t root,
                                             const std::vector<std::string_view>& names) const {
    std::vector<std::uint64_t> objects;
    objects.reserve(names.size());
    for (const std::string_view name : names) {
        const auto parsed = world_.roots()[root].adapter->parse(last_component(name));
        if (parsed && !parsed->temporary) {
            objects.push_back(parsed->name.object());
        }
    }
    return objects;
}

// Names mean blocks of a root that the peer may speak of; without names the session is its own.
Result<Words> Agent::words_of(const Peer& peer, Words::Kind kind, const Spoken& spoken) const {
    Words words;
    words.kind = kind;
    words.named = spoken.named || kind == Words::Kind::started || kind == Words::Kind::queued;
    words.teller = peer.uid;
    words.in_ms = spoken.in_ms;
    words.time = clock_.now();
    words.session = spoken.session;
    if (!words.named) return words;
    const auto root = root_for(peer, spoken.root);
    if (!root) return Failure(root.error());
    words.root = *root;
    words.objects = objects_of(*root, spoken.names);
    return words;
}

Result<Speech::Outcome> Agent::hear(const Peer& peer, Words::Kind kind, const Spoken& spoken) {
    auto words = words_of(peer, kind, spoken);
    if (!words) return Failure(std::move(words.error()));
    recorder_.write(*words);
    auto outcome = speech_.hear(*words);
    executor_.carry_out(words->time);
    if (outcome && spoken.named) {
        outcome->named = spoken.names.size(); // names that mean no block are unknown too
    }
    return outcome;
}

ControlService::Answer Agent::announced(const Peer& peer, Words::Kind kind, const Spoken& spoken) {
    const auto heard = hear(peer, kind, spoken);
    if (!heard) return Failure(heard.error());
    return Json{{"fetched", heard->left ? 0 : heard->done},
                {"left", heard->left ? heard->done : 0},
                {"unknown", heard->named - heard->done}};
}

ControlService::Answer Agent::session_started(const Peer& peer, const Spoken& spoken) {
    const auto heard = hear(peer, Words::Kind::started, spoken);
    if (!heard) return Failure(heard.error());
    return Json{{"known", heard->done}};
}

ControlService::Answer Agent::session_resumes(const Peer& peer, const Spoken& spoken) {
    return announced(peer, Words::Kind::resumes, spoken);
}

ControlService::Answer Agent::request_queued(const Peer& peer, const Spoken& spoken) {
    return announced(peer, Words::Kind::queued, spoken);
}

ControlService::Answer Agent::session_ended(const Peer& peer, const Spoken& spoken) {
    const auto heard = hear(peer, Words::Kind::ended, spoken);
    if (!heard) return Failure(heard.error());
    log::debug("session {} has ended (told by pid {}): {} of {} names wait to be unlinked",
               spoken.session, peer.pid, heard->done, heard->named);
    return Json{{"files", heard->done}, {"unknown", heard->named - heard->done}};
}

ControlService::Answer Agent::record(const Peer& peer, Fd file, std::uint64_t most) {
    if (peer.uid != 0) return failure("only root may record", EPERM);
    if (recorder_.on()) return failure("a recording is being made already", EBUSY);
    const int flags = fcntl(file.get(), F_GETFL);
    struct stat st;
    if (flags < 0 || fstat(file.get(), &st)) return system_failure("descriptor");
    if (!S_ISREG(st.st_mode) || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY) {
        return failure("record to a regular file that is open for writing", EINVAL);
    }
    log::info("pid {} has events recorded, at most {} bytes", peer.pid, most);
    recorder_.start(std::move(file), most, world_.roots());
    return Json::object();
}

ControlService::Answer Agent::record_stop(const Peer& peer) {
    if (peer.uid != 0) return failure("only root may record", EPERM);
    const Recorder::Counts counts = recorder_.stop();
    Json answer = {{"lines", counts.lines}, {"bytes", counts.bytes}};
    if (!counts.ended.empty()) answer["ended"] = counts.ended;
    return answer;
}

ControlService::Answer Agent::load(const Peer& peer, const Load& load) {
    if (auto fine = is_readable(load.file.get()); !fine) return Failure(std::move(fine.error()));
    const auto file = layout_.find_open(load.file.get());
    if (!file) return Failure(file.error());
    const std::uint64_t bytes = executor_.load(*file, load.klass, load.in_ms, clock_.now());
    log::info("pid {} uid {} will read a file of {} bytes in {} ms", peer.pid, peer.uid, bytes,
              load.in_ms);
    return Json{{"bytes", bytes}};
}

ControlService::Answer Agent::advise(const Peer& peer, const Question& question) {
    std::uint64_t bytes = question.bytes;
    if (!bytes) {
        if (question.names.size() > most_asked) {
            return failure("more than 1024 names: give their bytes instead", E2BIG);
        }
        const auto root = root_for(peer, question.root);
        if (!root) return Failure(root.error());
        for (const std::uint64_t id : objects_of(*root, question.names)) {
            const ObjectIndex index = world_.find(id);
            if (index == no_object) continue;
            for (const Place& place : world_.object(index).places) {
                const auto file = place.root == *root ? layout_.find(place.file, place.root)
                                                      : Result<const FileRanges*>(nullptr);
                if (!file || !*file) continue;
                for (const Range& range : (*file)->ranges) {
                    bytes += range.length;
                }
            }
        }
        dirs_.close_all();
    }
    const Nanos now = clock_.now();
    if (const auto root = root_for(peer, question.root)) {
        planner_.restore.told(*root, bytes, std::chrono::milliseconds(question.recompute_ms), now);
    }
    const RestoreRate& rate = planner_.restore.rate();
    const Nanos restore = rate.time_for(bytes);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(restore).count();
    return Json{{"restore", bytes > 0 && static_cast<std::uint64_t>(ms) < question.recompute_ms},
                {"restore_ms", ms},
                {"bytes", bytes},
                {"bytes_per_s", static_cast<std::uint64_t>(rate.bytes_per_second())}};
}

} // namespace hintier
