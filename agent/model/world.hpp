// SPDX-License-Identifier: Apache-2.0
// Everything the agent knows about KV objects, advanced by apply(Event) alone: no clock, no I/O.
//
// An object is a name (a block's hash). Its places are the files called so, one for each rank or
// directory; an object without a place is a name that somebody asked for, or one that is gone:
// it keeps its chain, in case it is written (again).
//
// Chains. A block's hash covers all blocks before it, so an object has one predecessor and may
// have many successors; `after` is the one used last, which is the best guess of what comes next.
// Links are learned from lookups, which one thread does in chain order up to the first miss
// (firm: the newest holds), and from the order in which a process creates its files (loose: writers
// run in parallel, so the first holds, and only until a firm one is known). Whoever uses an object
// uses all before it, so a request that starts in the middle of a chain, since the server's memory
// has its head, makes that head lead here; and one that skips objects which memory has does not
// unlink them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"
#include "agent/model/event.hpp"
#include "agent/model/kv_name.hpp"
#include "agent/model/phase.hpp"

namespace hintier {

// A watched directory; events name it by its place in the list.
struct Root {
    std::string path;
    const Adapter* adapter = nullptr;
    std::uint16_t group = 1;
    bool reap = false;           // files below may be unlinked
    std::uint64_t recompute = 0; // bytes of KV a second that its server computes; 0: not given
};

struct Place {
    FileId file{};
    FileId directory{};
    std::uint32_t root = 0;
};

using ObjectIndex = std::uint32_t;
inline constexpr ObjectIndex no_object = ~ObjectIndex{0};

struct Object {
    std::uint64_t id = 0;
    KvName name;
    std::vector<Place> places;
    std::uint64_t before = 0; // ids of its neighbours in the chain, 0: not known
    std::uint64_t after = 0;
    std::uint32_t depth = 0;
    ObjectIndex after_at = 0;      // where the one after it was when the link was made
    bool firm = false;             // `before` comes from lookups, or it is known that there is none
    Nanos touched{};               // last created, opened or looked up
    ObjectIndex older = no_object; // neighbours in order of `touched`
    ObjectIndex newer = no_object;
};

// What an event meant, for the rules.
struct Change {
    enum class Kind : std::uint8_t {
        none,
        appeared,  // `file` has got its final name: content is complete
        started,   // `file` is being written under its final name
        rewritten, // `file` is open for writing again: what was known of its layout may be wrong
        opened,    // for reading
        asked,     // looked up, and there
        missed,    // looked up, and not there
        gone,      // `file` is no place of the object any more
        exited,    // process `pid`, which has used many files
    };
    Kind kind = Kind::none;
    ObjectIndex object = no_object;
    std::uint32_t pid = 0;
    std::uint32_t run = 0; // asked: how many objects in a row went along a known chain
    FileId file{};
};

class World {
public:
    struct Config {
        std::uint32_t max_objects = 1'000'000; // beyond, the coldest are forgotten
        std::uint32_t max_names = 65'536;      // names without a file
        Nanos chain_gap = 20ms; // lookups or creations further apart belong to different requests

        Result<void> validate() const;
    };

    World(const Config& config, std::vector<Root> roots);

    Change apply(const Event& event);

    const std::vector<Root>& roots() const { return roots_; }
    const Object& object(ObjectIndex index) const { return objects_[index]; }
    ObjectIndex find(std::uint64_t id) const;
    ObjectIndex find(const FileId& file) const;
    // The likely successor, if it is known.
    ObjectIndex after(ObjectIndex index) const {
        const Object& object = objects_[index];
        if (!object.after) return no_object;
        const ObjectIndex at = object.after_at; // it may have been forgotten, and is another's then
        return objects_[at].id == object.after ? at : find(object.after);
    }
    // Of the objects that have a file, the one touched longest ago.
    ObjectIndex coldest() const { return present_.oldest; }
    ObjectIndex next_coldest(ObjectIndex index) const { return objects_[index].newer; }

    std::size_t objects() const { return present_.size; }
    std::size_t names() const { return absent_.size; }
    std::size_t files() const { return by_file_.size(); }

    // What each process that uses files below the roots, or a watched library, is at.
    const Phases& phases() const { return phases_; }

    // How many threads of a process have opened files for reading since `since`: its depth.
    unsigned readers(std::uint32_t pid, Nanos since) const;

private:
    struct List { // in order of last touch
        ObjectIndex oldest = no_object;
        ObjectIndex newest = no_object;
        std::size_t size = 0;
    };

    struct Walk { // lookups of one thread
        std::uint64_t last = 0;
        Nanos at{};
        std::uint32_t run = 0;
    };

    struct Process {
        static constexpr std::size_t remembered = 64;
        struct Reader { // a thread
            std::uint32_t tid = 0;
            Nanos at{}; // of its last open
        };
        std::uint64_t last_created = 0;
        Nanos created_at{};
        std::array<Reader, remembered> readers{}; // the latest of them
        std::size_t known = 0;
        Nanos opened_at{};
        Nanos used_at() const { return std::max(opened_at, created_at); }
        std::uint64_t files = 0; // created or opened
    };

    bool of_process(const Event& event);
    Change on_opened(const Event& event, const ParsedName& parsed);
    Change on_lookup(const Event& event, const ParsedName& parsed);
    Change on_renamed(const Event& event);
    Change on_unlinked(const FileId& file);
    Change on_exited(const Event& event);
    Change on_stored(const Event& event);
    Change on_seen(const Event& event, const ParsedName& parsed);

    ObjectIndex ensure(const KvName& name, Nanos now);
    void settle(ObjectIndex index, const Event& event);
    void unsettle(ObjectIndex index, const FileId& file);
    void touch(ObjectIndex index, Nanos now);
    void forget(ObjectIndex index);
    void trim();
    void created(const Event& event, ObjectIndex index);
    std::uint32_t walk(const Event& event, ObjectIndex index);
    bool link(std::uint64_t before, ObjectIndex index, bool firm);
    bool follows(ObjectIndex index, ObjectIndex ancestor) const;
    void lead_to(ObjectIndex index, ObjectIndex from);
    void lead(ObjectIndex before, ObjectIndex index);
    Process& process(std::uint32_t pid, Nanos now);
    static void reads(Process& by, std::uint32_t tid, Nanos now);

    List& list_of(const Object& object) { return object.places.empty() ? absent_ : present_; }
    void push(List& list, ObjectIndex index);
    void remove(List& list, ObjectIndex index);

    Config config_;
    std::vector<Root> roots_;
    std::vector<Object> objects_;
    std::vector<ObjectIndex> free_;
    std::unordered_map<std::uint64_t, ObjectIndex> by_name_;
    std::unordered_map<FileId, ObjectIndex, FileIdHash> by_file_;
    std::unordered_map<std::uint64_t, Walk> walks_; // pid << 32 | tid
    std::unordered_map<std::uint32_t, Process> processes_;
    Phases phases_;
    std::uint64_t stored_ = 0; // the object last stored: the next one often follows it
    List present_;
    List absent_;
};

} // namespace hintier
