// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/learned.hpp"

#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <sqlite3.h>

#include "agent/base/log.hpp"

namespace hintier {

namespace {

constexpr int application = 0x68744c31; // "htL1"
constexpr auto write_every = 1s;
constexpr std::size_t most_pending = 100'000;
constexpr std::size_t most_cells = 1'000'000;
constexpr std::size_t most_sessions = 1'000'000;

constexpr const char* settings = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                                 "PRAGMA page_size=4096; PRAGMA max_page_count=65536;"
                                 "PRAGMA journal_size_limit=16777216; PRAGMA cell_size_check=1;";

// `at` is the order of last use: the highest is the newest.
// What each version added to the one before it: an older file is brought up to date by the rest.
constexpr const char* versions[] = {
    "CREATE TABLE link(object INTEGER PRIMARY KEY, before INTEGER NOT NULL, at INTEGER NOT NULL);"
    "CREATE INDEX link_at ON link(at);"
    "CREATE TABLE hazard(one INTEGER PRIMARY KEY CHECK(one = 1), cells BLOB NOT NULL);",

    "ALTER TABLE hazard ADD COLUMN watched REAL NOT NULL DEFAULT 0;"
    "CREATE TABLE object(id INTEGER PRIMARY KEY, used REAL NOT NULL, made_by INTEGER NOT NULL,"
    " used_by INTEGER NOT NULL, depth INTEGER NOT NULL, successors INTEGER NOT NULL,"
    " grp INTEGER NOT NULL, partial INTEGER NOT NULL, at INTEGER NOT NULL);"
    "CREATE INDEX object_at ON object(at);"
    "CREATE TABLE session(number INTEGER PRIMARY KEY, turns INTEGER NOT NULL,"
    " full INTEGER NOT NULL, ended INTEGER NOT NULL);",
};
constexpr std::uint64_t version = std::size(versions);

// With an errno when the place is at fault, without one when the file's contents are: these are
// put aside, and a full disk costs nothing that is on it.
Failure db_failure(sqlite3* db) {
    int code = 0;
    switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_FULL:
        code = ENOSPC;
        break;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
        code = EIO;
        break;
    default:
        break;
    }
    return failure(sqlite3_errmsg(db), code);
}

Result<void> execute(sqlite3* db, const char* sql) {
    if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
    return db_failure(db);
}

class Statement {
public:
    Statement(sqlite3* db, const std::string& sql) : db_(db) {
        ok_ = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr) == SQLITE_OK;
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    void bind(int at, std::uint64_t value) {
        sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(value));
    }
    void bind(int at, double value) { sqlite3_bind_double(statement_, at, value); }
    void bind(int at, const std::vector<double>& cells) {
        sqlite3_bind_blob64(statement_, at, cells.data(), cells.size() * sizeof(double),
                            SQLITE_TRANSIENT);
    }
    std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
    }
    // Too large for 32 bits: the largest, which nobody takes for his own.
    std::uint32_t small(int column) const {
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        return static_cast<std::uint32_t>(std::min(number(column), most));
    }
    double real(int column) const { return sqlite3_column_double(statement_, column); }
    std::string_view text(int column) const {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
        return text ? text : "";
    }
    std::vector<double> cells(int column) const {
        const auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
        std::vector<double> cells(std::min(bytes / sizeof(double), most_cells));
        if (!cells.empty()) {
            std::memcpy(cells.data(), sqlite3_column_blob(statement_, column),
                        cells.size() * sizeof(double));
        }
        return cells;
    }
    // Is there a row? None is no failure.
    Result<bool> step() {
        const int code = ok_ ? sqlite3_step(statement_) : SQLITE_ERROR;
        if (code == SQLITE_ROW) return true;
        if (code != SQLITE_DONE) return db_failure(db_);
        sqlite3_reset(statement_);
        return false;
    }

private:
    sqlite3* db_;
    sqlite3_stmt* statement_ = nullptr;
    bool ok_ = false;
};

Result<std::uint64_t> number_of(sqlite3* db, const std::string& sql) {
    Statement ask(db, sql);
    const auto row = ask.step();
    if (!row) return Failure(row.error());
    return *row ? ask.number(0) : 0;
}

// Beyond `most`, the rows used longest ago go.
Result<void> trim(sqlite3* db, const char* table, const char* key, std::uint64_t most) {
    const auto rows = number_of(db, fmt::format("SELECT count(*) FROM {}", table));
    if (!rows) return Failure(rows.error());
    if (*rows <= most) return {};
    return execute(db, fmt::format("DELETE FROM {0} WHERE {1} IN "
                                   "(SELECT {1} FROM {0} ORDER BY at LIMIT {2})",
                                   table, key, *rows - most)
                           .c_str());
}

void put_aside(const std::string& file) {
    std::error_code ignored;
    std::filesystem::rename(file, file + ".damaged", ignored);
    for (const char* part : {"-wal", "-shm"})
        std::filesystem::remove(file + part, ignored);
}

} // namespace

void Learned::Close::operator()(sqlite3* db) const {
    sqlite3_close(db);
}

Result<std::unique_ptr<Learned>> Learned::open(const Config& config) {
    std::unique_ptr<Learned> learned(new Learned(config));
    auto opened = learned->open_db();
    if (opened) opened = learned->read();
    if (!opened && !opened.error().code && std::filesystem::exists(config.file)) {
        log::warning("{}: {}; put aside as {}.damaged, learning begins anew", config.file,
                     opened.error().text, config.file);
        learned->db_.reset();
        learned->forget_read();
        put_aside(config.file);
        opened = learned->open_db();
    }
    if (!opened) return Failure(std::move(opened.error()).within(config.file));
    learned->writer_ = std::thread([&self = *learned] { self.run(); });
    return learned;
}

Learned::~Learned() {
    if (!writer_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_one();
    writer_.join();
}

Result<void> Learned::open_db() {
    sqlite3* db = nullptr;
    const int code = sqlite3_open_v2(config_.file.c_str(), &db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    db_.reset(db);
    if (code != SQLITE_OK) return db_failure(db);
    sqlite3_busy_timeout(db, 1000);
    if (auto set = execute(db, settings); !set) return set;
    const auto tables = number_of(db, "SELECT count(*) FROM sqlite_master");
    if (!tables) return Failure(tables.error());
    if (*tables == 0) return update(0);
    const auto whose = number_of(db, "PRAGMA application_id");
    const auto which = number_of(db, "PRAGMA user_version");
    if (!whose || !which || *whose != application) return failure("not hintierd's");
    if (*which < 1 || *which > version)
        return failure(fmt::format("of version {}, not {}", *which, version));
    Statement check(db, "PRAGMA quick_check(1)");
    const auto row = check.step();
    if (!row) return Failure(row.error());
    if (!*row || check.text(0) != "ok") return failure("damaged");
    if (*which == version) return {};
    if (auto done = update(*which); !done) return done;
    log::info("{}: version {} brought up to {}", config_.file, *which, version);
    return {};
}

// All of it or nothing.
Result<void> Learned::update(std::uint64_t from) {
    std::string sql = "BEGIN;";
    for (std::uint64_t i = from; i < version; ++i)
        sql += versions[i];
    sql += fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; COMMIT", application,
                       version);
    auto done = execute(db_.get(), sql.c_str());
    if (!done) (void)execute(db_.get(), "ROLLBACK");
    return done;
}

Result<void> Learned::read() {
    Statement links(db_.get(), fmt::format("SELECT object, before FROM link ORDER BY at DESC "
                                           "LIMIT {}",
                                           config_.max_links));
    for (;;) {
        const auto row = links.step();
        if (!row) return Failure(row.error());
        if (!*row) break;
        links_[links.number(0)] = links.number(1);
    }
    Statement hazard(db_.get(), "SELECT cells, watched FROM hazard");
    const auto row = hazard.step();
    if (!row) return Failure(row.error());
    if (*row) {
        hazard_ = hazard.cells(0);
        watched_s_ = hazard.real(1);
    }
    return read_memories();
}

Result<void> Learned::read_memories() {
    Statement objects(db_.get(), fmt::format("SELECT id, used, made_by, used_by, depth, successors,"
                                             " grp, partial FROM object ORDER BY at DESC LIMIT {}",
                                             config_.max_objects));
    for (;;) {
        const auto row = objects.step();
        if (!row) return Failure(row.error());
        if (!*row) break;
        memories_.objects.push_back(
            {.id = objects.number(0),
             .used_s = objects.real(1),
             .made_by = objects.small(2),
             .used_by = objects.small(3),
             .depth = objects.small(4),
             .successors = objects.small(5),
             .group = static_cast<std::uint8_t>(std::min(objects.number(6), std::uint64_t{255})),
             .partial = objects.number(7) != 0});
    }
    Statement sessions(db_.get(), fmt::format("SELECT number, turns, full, ended FROM session"
                                              " ORDER BY number DESC LIMIT {}",
                                              most_sessions));
    for (;;) {
        const auto row = sessions.step();
        if (!row) return Failure(row.error());
        if (!*row) return {};
        memories_.sessions.push_back(
            {sessions.small(0), sessions.small(1), sessions.small(2), sessions.number(3) != 0});
    }
}

void Learned::forget_read() {
    links_ = {};
    hazard_ = {};
    watched_s_ = 0;
    memories_ = {};
}

void Learned::link(std::uint64_t object, std::uint64_t before) {
    const std::lock_guard lock(mutex_);
    if (pending_.links.size() >= most_pending) {
        ++lost_.links;
        return;
    }
    pending_.links.emplace_back(object, before);
}

void Learned::hazard(std::vector<double> cells, double watched_s) {
    const std::lock_guard lock(mutex_);
    pending_.hazard = std::move(cells);
    pending_.watched_s = watched_s;
}

void Learned::remember(Memories memories) {
    const std::lock_guard lock(mutex_);
    Memories& pending = pending_.memories;
    if (pending.objects.size() + memories.objects.size() > most_pending) {
        lost_.objects += memories.objects.size();
        return;
    }
    pending.objects.insert(pending.objects.end(), memories.objects.begin(), memories.objects.end());
    pending.sessions.insert(pending.sessions.end(), memories.sessions.begin(),
                            memories.sessions.end());
}

Learned::Counts Learned::written() const {
    const std::lock_guard lock(mutex_);
    return written_;
}

Learned::Counts Learned::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

void Learned::run() {
    bool complained = false;
    std::unique_lock lock(mutex_);
    for (bool last = false; !last;) {
        wake_.wait_for(lock, write_every, [this] { return ending_; });
        last = ending_;
        Batch batch = std::move(pending_);
        pending_ = {};
        if (batch.empty()) continue;
        lock.unlock();
        const auto done = write(batch);
        if (!done && !complained) {
            log::warning("{}: {}; what is learned now is lost", config_.file, done.error().text);
        }
        complained = !done;
        lock.lock();
        Counts& counts = done ? written_ : lost_;
        counts.links += batch.links.size();
        counts.objects += batch.memories.objects.size();
    }
}

Result<void> Learned::write(const Batch& batch) {
    sqlite3* db = db_.get();
    if (auto begun = execute(db, "BEGIN IMMEDIATE"); !begun) return begun;
    const auto all = [&]() -> Result<void> {
        if (auto done = write_links(batch); !done) return done;
        if (!batch.hazard.empty()) {
            Statement hazard(db, "INSERT OR REPLACE INTO hazard VALUES(1, ?, ?)");
            hazard.bind(1, batch.hazard);
            hazard.bind(2, batch.watched_s);
            if (auto row = hazard.step(); !row) return Failure(row.error());
        }
        if (auto done = write_memories(batch.memories); !done) return done;
        return execute(db, "COMMIT");
    };
    auto done = all();
    if (!done) (void)execute(db, "ROLLBACK");
    return done;
}

Result<void> Learned::write_links(const Batch& batch) {
    if (batch.links.empty()) return {};
    const auto newest = number_of(db_.get(), "SELECT max(at) FROM link");
    if (!newest) return Failure(newest.error());
    std::uint64_t at = *newest;
    Statement link(db_.get(), "INSERT OR REPLACE INTO link VALUES(?, ?, ?)");
    for (const auto& [object, before] : batch.links) {
        link.bind(1, object);
        link.bind(2, before);
        link.bind(3, ++at);
        if (auto row = link.step(); !row) return Failure(row.error());
    }
    return trim(db_.get(), "link", "object", config_.max_links);
}

Result<void> Learned::write_memories(const Memories& memories) {
    if (memories.empty()) return {};
    const auto newest = number_of(db_.get(), "SELECT max(at) FROM object");
    if (!newest) return Failure(newest.error());
    std::uint64_t at = *newest;
    Statement object(db_.get(), "INSERT OR REPLACE INTO object VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (const ObjectMemory& one : memories.objects) {
        object.bind(1, one.id);
        object.bind(2, one.used_s);
        int column = 3;
        for (const std::uint64_t value :
             {std::uint64_t{one.made_by}, std::uint64_t{one.used_by}, std::uint64_t{one.depth},
              std::uint64_t{one.successors}, std::uint64_t{one.group}, std::uint64_t{one.partial},
              ++at})
            object.bind(column++, value);
        if (auto row = object.step(); !row) return Failure(row.error());
    }
    Statement session(db_.get(), "INSERT OR REPLACE INTO session VALUES(?, ?, ?, ?)");
    for (const SessionMemory& one : memories.sessions) {
        session.bind(1, std::uint64_t{one.number});
        session.bind(2, std::uint64_t{one.turns});
        session.bind(3, std::uint64_t{one.full});
        session.bind(4, std::uint64_t{one.ended});
        if (auto row = session.step(); !row) return Failure(row.error());
    }
    const auto last = number_of(db_.get(), "SELECT max(number) FROM session");
    if (!last) return Failure(last.error());
    if (*last >= most_sessions) {
        Statement old(db_.get(), "DELETE FROM session WHERE number <= ?");
        old.bind(1, *last - most_sessions);
        if (auto row = old.step(); !row) return Failure(row.error());
    }
    return trim(db_.get(), "object", "id", config_.max_objects);
}

} // namespace hintier
