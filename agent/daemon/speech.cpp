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

ControlService::Answer Agent::announce(std::uint32_t root,
                                       const std::vector<std::uint64_t>& objects,
                                       std::uint32_t in_ms) {
    const std::size_t there =
        planner_.announce.announced(world_, root, objects, in_ms, planner_.plan);
    executor_.carry_out(clock_.now());
    return Json{{"fetched", there}, {"unknown", objects.size() - there}};
}

ControlService::Answer Agent::session_started(const Peer& peer, const Spoken& spoken) {
    const auto root = root_for(peer, spoken.root);
    if (!root) return Failure(root.error());
    const auto objects = objects_of(*root, spoken.names);
    if (auto told = sessions_.tell(spoken.session, peer.uid, *root, objects); !told) {
        return Failure(std::move(told.error()));
    }
    std::size_t known = 0;
    for (const std::uint64_t object : objects) {
        const ObjectIndex index = world_.find(object);
        known += index != no_object && !world_.object(index).places.empty() ? 1 : 0;
    }
    return Json{{"known", known}};
}

ControlService::Answer Agent::session_resumes(const Peer& peer, const Spoken& spoken) {
    if (spoken.named) {
        const auto root = root_for(peer, spoken.root);
        if (!root) return Failure(root.error());
        const auto objects = objects_of(*root, spoken.names);
        if (auto told = sessions_.tell(spoken.session, peer.uid, *root, objects); !told) {
            return Failure(std::move(told.error()));
        }
        return announce(*root, objects, spoken.in_ms);
    }
    const auto session = sessions_.find(spoken.session, peer.uid);
    if (!session) return Failure(session.error());
    return announce((*session)->root, (*session)->objects, spoken.in_ms);
}

ControlService::Answer Agent::request_queued(const Peer& peer, const Spoken& spoken) {
    const auto root = root_for(peer, spoken.root);
    if (!root) return Failure(root.error());
    const auto objects = objects_of(*root, spoken.names);
    if (!spoken.session.empty()) {
        if (auto told = sessions_.tell(spoken.session, peer.uid, *root, objects); !told) {
            return Failure(std::move(told.error()));
        }
    }
    return announce(*root, objects, spoken.in_ms);
}

ControlService::Answer Agent::session_ended(const Peer& peer, const Spoken& spoken) {
    std::uint32_t root = 0;
    std::vector<std::uint64_t> objects;
    std::size_t told = 0;
    if (spoken.named) {
        const auto named = root_for(peer, spoken.root);
        if (!named) return Failure(named.error());
        root = *named;
        objects = objects_of(root, spoken.names);
        told = spoken.names.size();
    } else {
        const auto session = sessions_.find(spoken.session, peer.uid);
        if (!session) return Failure(session.error());
        root = (*session)->root;
        objects = (*session)->objects;
        told = objects.size();
    }
    const auto files = planner_.reaper.session_ended(world_, root, objects, clock_.now());
    if (!files) return Failure(files.error());
    if (sessions_.find(spoken.session, peer.uid)) {
        sessions_.forget(spoken.session);
    }
    log::debug("session {} has ended (told by pid {}): {} of {} names wait to be unlinked",
               spoken.session, peer.pid, *files, told);
    return Json{{"files", *files}, {"unknown", told - *files}};
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
    const Nanos restore = restore_.time_for(bytes);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(restore).count();
    return Json{{"restore", bytes > 0 && static_cast<std::uint64_t>(ms) < question.recompute_ms},
                {"restore_ms", ms},
                {"bytes", bytes},
                {"bytes_per_s", static_cast<std::uint64_t>(restore_.bytes_per_second())}};
}

} // namespace hintier
