// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/learned.hpp"

#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <sqlite3.h>

#include "agent/base/log.hpp"

namespace hintier {

namespace {

constexpr int application = 0x68744c31; // "htL1"
constexpr int version = 1;
constexpr auto write_every = 1s;
constexpr std::size_t most_pending = 100'000;
constexpr std::size_t most_cells = 1'000'000;

constexpr const char* settings = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                                 "PRAGMA page_size=4096; PRAGMA max_page_count=65536;"
                                 "PRAGMA journal_size_limit=16777216; PRAGMA cell_size_check=1;";

// `at` is the order of last use: the highest is the newest.
constexpr const char* schema =
    "CREATE TABLE link(object INTEGER PRIMARY KEY, before INTEGER NOT NULL, at INTEGER NOT NULL);"
    "CREATE INDEX link_at ON link(at);"
    "CREATE TABLE hazard(one INTEGER PRIMARY KEY CHECK(one = 1), cells BLOB NOT NULL);";

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
    void bind(int at, const std::vector<double>& cells) {
        sqlite3_bind_blob64(statement_, at, cells.data(), cells.size() * sizeof(double),
                            SQLITE_TRANSIENT);
    }
    std::uint64_t number(int column) const {
        return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
    }
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
    if (*tables == 0) {
        return execute(db, fmt::format("BEGIN; {} PRAGMA application_id={}; PRAGMA user_version={};"
                                       "COMMIT",
                                       schema, application, version)
                               .c_str());
    }
    const auto whose = number_of(db, "PRAGMA application_id");
    const auto which = number_of(db, "PRAGMA user_version");
    if (!whose || !which || *whose != application) return failure("not hintierd's");
    if (*which != version) return failure(fmt::format("of version {}, not {}", *which, version));
    Statement check(db, "PRAGMA quick_check(1)");
    const auto row = check.step();
    if (!row) return Failure(row.error());
    if (!*row || check.text(0) != "ok") return failure("damaged");
    return {};
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
    Statement hazard(db_.get(), "SELECT cells FROM hazard");
    const auto row = hazard.step();
    if (!row) return Failure(row.error());
    if (*row) hazard_ = hazard.cells(0);
    return {};
}

void Learned::forget_read() {
    links_ = {};
    hazard_ = {};
}

void Learned::link(std::uint64_t object, std::uint64_t before) {
    const std::lock_guard lock(mutex_);
    if (pending_.links.size() >= most_pending) {
        ++lost_;
        return;
    }
    pending_.links.emplace_back(object, before);
}

void Learned::hazard(std::vector<double> cells) {
    const std::lock_guard lock(mutex_);
    pending_.hazard = std::move(cells);
}

std::uint64_t Learned::written() const {
    const std::lock_guard lock(mutex_);
    return written_;
}

std::uint64_t Learned::lost() const {
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
        (done ? written_ : lost_) += batch.links.size();
    }
}

Result<void> Learned::write(const Batch& batch) {
    sqlite3* db = db_.get();
    if (auto begun = execute(db, "BEGIN IMMEDIATE"); !begun) return begun;
    const auto all = [&]() -> Result<void> {
        const auto newest = number_of(db, "SELECT max(at) FROM link");
        if (!newest) return Failure(newest.error());
        std::uint64_t at = *newest;
        Statement link(db, "INSERT OR REPLACE INTO link VALUES(?, ?, ?)");
        for (const auto& [object, before] : batch.links) {
            link.bind(1, object);
            link.bind(2, before);
            link.bind(3, ++at);
            if (auto row = link.step(); !row) return Failure(row.error());
        }
        if (!batch.hazard.empty()) {
            Statement hazard(db, "INSERT OR REPLACE INTO hazard VALUES(1, ?)");
            hazard.bind(1, batch.hazard);
            if (auto row = hazard.step(); !row) return Failure(row.error());
        }
        const auto links = number_of(db, "SELECT count(*) FROM link");
        if (!links) return Failure(links.error());
        if (*links > config_.max_links) {
            const std::string surplus =
                fmt::format("DELETE FROM link WHERE object IN "
                            "(SELECT object FROM link ORDER BY at LIMIT {})",
                            *links - config_.max_links);
            if (auto done = execute(db, surplus.c_str()); !done) return done;
        }
        return execute(db, "COMMIT");
    };
    auto done = all();
    if (!done) (void)execute(db, "ROLLBACK");
    return done;
}

} // namespace hintier
