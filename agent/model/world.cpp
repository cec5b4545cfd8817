// SPDX-License-Identifier: Apache-2.0
#include "agent/model/world.hpp"

#include <algorithm>

namespace hintier {

namespace {

// Threads and processes remembered; a framework has a few hundred.
constexpr std::size_t max_walks = 4096;
constexpr std::size_t max_processes = 256;

// Objects of a chain that one event looks back over: a prefix of 128 k tokens in blocks of 512.
constexpr std::uint32_t max_back = 256;

// A process that has used so many files is a server, not somebody with a shell.
constexpr std::uint64_t server_files = 16;

} // namespace

Result<void> World::Config::validate() const {
    if (max_objects < 1 || max_objects > 16'000'000) {
        return failure("max_objects is from 1 to 16000000");
    }
    if (max_names < 1 || max_names > 16'000'000) {
        return failure("max_names is from 1 to 16000000");
    }
    if (chain_gap <= 0ns) {
        return failure("chain_gap must be more than 0");
    }
    return {};
}

World::World(const Config& config, std::vector<Root> roots)
    : config_(config), roots_(std::move(roots)) {}

Change World::apply(const Event& event) {
    if (event.kind == EventKind::exited) return on_exited(event);
    if (event.kind == EventKind::unlinked) return on_unlinked(event.file);
    if (event.kind == EventKind::stored) return on_stored(event);
    if (of_process(event)) return {};
    if (event.root >= roots_.size()) return {};
    if (event.kind == EventKind::renamed) return on_renamed(event);

    const auto parsed = roots_[event.root].adapter->parse(event.name);
    if (!parsed) return {};
    switch (event.kind) {
    case EventKind::opened:
        return on_opened(event, *parsed);
    case EventKind::lookup:
        return on_lookup(event, *parsed);
    case EventKind::seen:
        return on_seen(event, *parsed);
    default:
        return {};
    }
}

ObjectIndex World::find(std::uint64_t id) const {
    const auto it = by_name_.find(id);
    return it == by_name_.end() ? no_object : it->second;
}

ObjectIndex World::find(const FileId& file) const {
    const auto it = by_file_.find(file);
    return it == by_file_.end() ? no_object : it->second;
}

unsigned World::readers(std::uint32_t pid, Nanos since) const {
    const auto it = processes_.find(pid);
    if (it == processes_.end()) return 0;
    const auto& readers = it->second.readers;
    return static_cast<unsigned>(
        std::count_if(readers.begin(), readers.begin() + it->second.known,
                      [&](const Process::Reader& reader) { return reader.at >= since; }));
}

// What tells of a process or a model, and of no KV object.
bool World::of_process(const Event& event) {
    switch (event.kind) {
    case EventKind::called:
        phases_.called(event.pid, event.call, event.tokens, event.time);
        return true;
    case EventKind::returned:
        phases_.returned(event.pid, event.time);
        return true;
    case EventKind::filled:
        phases_.filled(event.pid, event.time);
        return true;
    default:
        return false;
    }
}

Change World::on_opened(const Event& event, const ParsedName& parsed) {
    const ObjectIndex index = ensure(parsed.name, event.time);
    Change change{.object = index, .pid = event.pid, .file = event.file};
    touch(index, event.time);
    if (event.created) {
        created(event, index);
        phases_.begun(event.pid, objects_[index].id, event.file.inode, event.time);
    }
    if (parsed.temporary) return {};

    settle(index, event);
    if (event.created) {
        change.kind = Change::Kind::started;
    } else if (event.writing) {
        change.kind = Change::Kind::rewritten;
    } else {
        change.kind = Change::Kind::opened;
        phases_.opened(event.pid, event.tid, objects_[index].id, event.time);
        Process& by = process(event.pid, event.time);
        ++by.files;
        reads(by, event.tid, event.time);
    }
    trim();
    return change;
}

Change World::on_lookup(const Event& event, const ParsedName& parsed) {
    if (parsed.temporary) return {};
    const ObjectIndex index = ensure(parsed.name, event.time);
    touch(index, event.time);
    phases_.asked(event.pid, objects_[index].id, event.found, event.time);
    Change change{.kind = event.found ? Change::Kind::asked : Change::Kind::missed,
                  .object = index,
                  .pid = event.pid};
    change.run = walk(event, index);
    trim();
    return change;
}

Change World::on_renamed(const Event& event) {
    phases_.named(event.pid, event.file.inode, event.time);
    const auto parsed = roots_[event.root].adapter->parse(event.name);
    const ObjectIndex known = find(event.file);
    if (event.outside || !parsed || parsed->temporary) return on_unlinked(event.file);

    const ObjectIndex index = ensure(parsed->name, event.time);
    if (known != no_object && known != index) {
        unsettle(known, event.file);
    }
    if (event.replaced) {
        // The generation of the inode that loses its name is not told: look for it by number.
        const auto& places = objects_[index].places;
        const auto lost = std::find_if(places.begin(), places.end(), [&](const Place& place) {
            return place.file.inode == event.replaced && place.file.device == event.file.device;
        });
        if (lost != places.end() && lost->file != event.file) {
            unsettle(index, FileId(lost->file));
        }
    }
    settle(index, event);
    touch(index, event.time);
    trim();
    return {.kind = Change::Kind::appeared, .object = index, .pid = event.pid, .file = event.file};
}

Change World::on_unlinked(const FileId& file) {
    const ObjectIndex index = find(file);
    if (index == no_object) return {};
    unsettle(index, file);
    trim();
    return {.kind = Change::Kind::gone, .object = index, .file = file};
}

Change World::on_exited(const Event& event) {
    phases_.exited(event.pid);
    std::erase_if(walks_, [&](const auto& walk) { return walk.first >> 32 == event.pid; });
    const auto it = processes_.find(event.pid);
    if (it == processes_.end()) return {};
    const bool server = it->second.files >= server_files;
    processes_.erase(it);
    return {.kind = server ? Change::Kind::exited : Change::Kind::none, .pid = event.pid};
}

Change World::on_seen(const Event& event, const ParsedName& parsed) {
    if (parsed.temporary || find(event.file) != no_object) return {};
    const ObjectIndex index = ensure(parsed.name, event.time);
    settle(index, event);
    trim();
    return {.kind = Change::Kind::appeared, .object = index, .file = event.file};
}

// The server's own word on the order of blocks: nothing is firmer. What it computes may never get
// a file.
Change World::on_stored(const Event& event) {
    const auto name = KvName::from_hex(event.name);
    if (!name) return {};
    const ObjectIndex index = ensure(*name, event.time);
    touch(index, event.time);
    if (event.before) {
        if (find(event.before) == no_object) {
            (void)ensure(KvName::from_number(event.before), event.time);
        }
        (void)link(event.before, index, true);
        if (event.before != stored_) lead_to(index, no_object);
    } else if (!objects_[index].before) {
        objects_[index].firm = true; // the head of its chain
    }
    stored_ = objects_[index].id;
    trim();
    return {};
}

// ---- objects and their places ---------------------------------------------------------------

ObjectIndex World::ensure(const KvName& name, Nanos now) {
    const std::uint64_t id = name.object();
    const auto [it, inserted] = by_name_.try_emplace(id, no_object);
    if (!inserted) {
        // A block that was known by its number gets its whole digest when its file comes.
        KvName& known = objects_[it->second].name;
        if (name.digits() > known.digits()) {
            known = name;
        }
        return it->second;
    }

    ObjectIndex index = static_cast<ObjectIndex>(objects_.size());
    if (free_.empty()) {
        objects_.emplace_back();
    } else {
        index = free_.back();
        free_.pop_back();
        objects_[index] = Object();
    }
    Object& object = objects_[index];
    object.id = id;
    object.name = name;
    object.touched = now;
    it->second = index;
    push(absent_, index);
    return index;
}

// The event's file is a place of the object from now on.
void World::settle(ObjectIndex index, const Event& event) {
    const auto [it, inserted] = by_file_.try_emplace(event.file, index);
    if (!inserted) {
        if (it->second != index) {
            unsettle(it->second, event.file);
            by_file_[event.file] = index;
        } else {
            for (Place& place : objects_[index].places) {
                if (place.file == event.file) {
                    place = {event.file, event.parent, event.root};
                }
            }
            return;
        }
    }
    Object& object = objects_[index];
    if (object.places.empty()) {
        remove(absent_, index);
        object.places.push_back({event.file, event.parent, event.root});
        push(present_, index);
    } else {
        object.places.push_back({event.file, event.parent, event.root});
    }
}

void World::unsettle(ObjectIndex index, const FileId& file) {
    Object& object = objects_[index];
    const bool removed =
        std::erase_if(object.places, [&](const Place& place) { return place.file == file; }) > 0;
    by_file_.erase(file);
    if (removed && object.places.empty()) {
        remove(present_, index);
        push(absent_, index);
    }
}

void World::touch(ObjectIndex index, Nanos now) {
    Object& object = objects_[index];
    object.touched = std::max(object.touched, now);
    List& list = list_of(object);
    if (list.newest == index) return;
    remove(list, index);
    push(list, index);
}

void World::forget(ObjectIndex index) {
    Object& object = objects_[index];
    for (const Place& place : object.places) {
        by_file_.erase(place.file);
    }
    remove(list_of(object), index);
    by_name_.erase(object.id);
    object = Object();
    free_.push_back(index);
}

void World::trim() {
    while (present_.size > config_.max_objects) {
        forget(present_.oldest);
    }
    while (absent_.size > config_.max_names) {
        forget(absent_.oldest);
    }
}

void World::push(List& list, ObjectIndex index) {
    Object& object = objects_[index];
    object.older = list.newest;
    object.newer = no_object;
    (list.newest == no_object ? list.oldest : objects_[list.newest].newer) = index;
    list.newest = index;
    ++list.size;
}

void World::remove(List& list, ObjectIndex index) {
    const Object& object = objects_[index];
    (object.older == no_object ? list.oldest : objects_[object.older].newer) = object.newer;
    (object.newer == no_object ? list.newest : objects_[object.newer].older) = object.older;
    --list.size;
}

// ---- chains -----------------------------------------------------------------------------------

// The object comes after the one with id `before`. False if better is known.
bool World::link(std::uint64_t before, ObjectIndex index, bool firm) {
    const ObjectIndex previous = find(before);
    Object& object = objects_[index];
    if (previous == no_object || previous == index) return false;
    if (object.before != before) {
        if (!firm && (object.firm || object.before)) return false;
        if (follows(index, previous)) {
            lead_to(index, previous);
            return true;
        }
        const ObjectIndex mistaken = find(object.before);
        if (mistaken != no_object && objects_[mistaken].after == object.id) {
            objects_[mistaken].after = 0;
        }
        object.before = before;
    }
    object.firm = object.firm || firm;
    object.depth = objects_[previous].depth + 1;
    lead(previous, index);
    return true;
}

// Is `ancestor` before it in its chain, by firm links alone? Loose ones may run in a circle.
bool World::follows(ObjectIndex index, ObjectIndex ancestor) const {
    for (std::uint32_t step = 0; step < max_back && index != no_object; ++step) {
        if (index == ancestor) return true;
        if (!objects_[index].firm) return false;
        index = find(objects_[index].before);
    }
    return false;
}

// It is what its chain goes on with now, from that object on, or from its head.
void World::lead_to(ObjectIndex index, ObjectIndex from) {
    for (std::uint32_t step = 0; step < max_back && index != from; ++step) {
        const ObjectIndex before = find(objects_[index].before);
        if (before == no_object) return;
        lead(before, index);
        index = before;
    }
}

void World::lead(ObjectIndex before, ObjectIndex index) {
    objects_[before].after = objects_[index].id;
    objects_[before].after_at = index;
}

// A process has begun to write the object: it follows what the process wrote just before.
void World::created(const Event& event, ObjectIndex index) {
    Process& by = process(event.pid, event.time);
    if (by.last_created && event.time - by.created_at <= config_.chain_gap) {
        (void)link(by.last_created, index, false);
    }
    ++by.files;
    by.last_created = objects_[index].id;
    by.created_at = event.time;
}

// A thread looks the object up: one step further, or the first of a new request. Answers how
// many steps in a row have followed links that were known before.
std::uint32_t World::walk(const Event& event, ObjectIndex index) {
    if (walks_.size() >= max_walks) {
        std::erase_if(walks_, [&](const auto& walk) {
            return event.time - walk.second.at > config_.chain_gap;
        });
    }
    if (walks_.size() >= max_walks) return 1;

    Walk& walk = walks_[std::uint64_t{event.pid} << 32 | event.tid];
    Object& object = objects_[index];
    const bool going = walk.last && event.time - walk.at <= config_.chain_gap;
    const bool known = going && object.before && follows(index, find(walk.last));
    if (going && link(walk.last, index, true)) {
        walk.run = known ? walk.run + 1 : 1;
    } else {
        walk.run = 1;
        lead_to(index, no_object);
        if (!object.before) {
            object.firm = true; // the head of its chain, as far as anyone can tell
        }
    }
    walk.last = event.found ? object.id : 0; // what is looked up after a miss is another request
    walk.at = event.time;
    return walk.run;
}

void World::reads(Process& by, std::uint32_t tid, Nanos now) {
    by.opened_at = now;
    if (!tid) return;
    const auto end = by.readers.begin() + by.known;
    auto at = std::find_if(by.readers.begin(), end,
                           [&](const Process::Reader& reader) { return reader.tid == tid; });
    if (at == end && by.known < Process::remembered)
        ++by.known;
    else if (at == end)
        at = std::min_element(by.readers.begin(), end,
                              [](const auto& a, const auto& b) { return a.at < b.at; });
    *at = {tid, now};
}

World::Process& World::process(std::uint32_t pid, Nanos now) {
    if (processes_.size() >= max_processes && !processes_.contains(pid)) {
        const auto idlest = std::min_element(
            processes_.begin(), processes_.end(),
            [](const auto& a, const auto& b) { return a.second.used_at() < b.second.used_at(); });
        processes_.erase(idlest);
    }
    Process& by = processes_[pid];
    by.created_at = by.last_created ? by.created_at : now;
    return by;
}

} // namespace hintier
