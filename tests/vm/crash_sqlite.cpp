// SPDX-License-Identifier: Apache-2.0
//
// SQLite on a filesystem over the tier: transactions that were committed are there, all of each or
// nothing, and the database passes its own integrity check.
//
//   crash_sqlite run DATABASE STATE SEED MS JOURNAL    JOURNAL: wal, delete, truncate, persist
//   crash_sqlite check DATABASE STATE
#include "crash.hpp"

#include <sqlite3.h>

using namespace hintier::test;

namespace {

struct State {
    uint64_t committed, begun; // transactions
};

State* state;
sqlite3* db;

bool sql(const std::string& text) {
    return sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::string answer(const char* text) {
    sqlite3_stmt* query = nullptr;
    std::string got = "no answer";
    if (sqlite3_prepare_v2(db, text, -1, &query, nullptr) == SQLITE_OK &&
        sqlite3_step(query) == SQLITE_ROW)
        got = reinterpret_cast<const char*>(sqlite3_column_text(query, 0));
    else
        got = sqlite3_errmsg(db);
    sqlite3_finalize(query);
    return got;
}

void open_database(const char* path) {
    if (sqlite3_open(path, &db) != SQLITE_OK) violation("cannot open: %s", sqlite3_errmsg(db));
}

// Transaction n adds n % 7 + 1 rows and changes up to three old ones, so that pages of all ages are
// written. The sum of all values is n times 1000, whenever one looks.
bool transaction(uint64_t n, std::mt19937_64& rng) {
    const uint64_t rows = n % 7 + 1;
    bool good = sql("BEGIN IMMEDIATE");
    for (uint64_t i = 0; i < rows && good; i++)
        good = sql("INSERT INTO t(tx, value, noise) VALUES(" + std::to_string(n) + "," +
                   std::to_string(i ? 0 : 1000) + ",randomblob(" + std::to_string(rng() % 3000) +
                   "))");
    for (int i = 0; i < 3 && good; i++) {
        const std::string from = std::to_string(rng() % n + 1), to = std::to_string(rng() % n + 1);
        good = sql("UPDATE t SET value = value - 1 WHERE id = (SELECT min(id) FROM t WHERE tx=" +
                   from + ")") &&
               sql("UPDATE t SET value = value + 1, noise = randomblob(500) WHERE id = "
                   "(SELECT min(id) FROM t WHERE tx=" +
                   to + ")");
    }
    return good && sql("COMMIT");
}

void work(std::mt19937_64 rng) {
    while (!power_off) {
        state->begun = state->committed + 1;
        if (!transaction(state->begun, rng)) {
            if (!power_off) violation("before the cut: %s", sqlite3_errmsg(db));
            return;
        }
        state->committed = state->begun;
    }
}

int check() {
    const std::string whole = answer("PRAGMA integrity_check");
    if (whole != "ok") violation("integrity check: %s", whole.c_str());
    const uint64_t last = number(answer("SELECT ifnull(max(tx), 0) FROM t").c_str());
    if (last < state->committed || last > state->begun)
        violation("the last transaction is %lu, not %lu or %lu", last, state->committed,
                  state->begun);
    const std::string sum = answer("SELECT ifnull(sum(value), 0) FROM t");
    if (sum != std::to_string(last * 1000)) violation("sum is %s after %lu", sum.c_str(), last);
    const std::string partly =
        answer("SELECT count(*) FROM (SELECT tx, count(*) AS n FROM t GROUP BY tx "
               "HAVING n <> tx % 7 + 1)");
    if (partly != "0") violation("%s transactions are there in part", partly.c_str());
    const std::string missing = answer("SELECT count(DISTINCT tx) FROM t");
    if (missing != std::to_string(last)) violation("%s of %lu are there", missing.c_str(), last);
    state->committed = state->begun = last;
    return verdict_of_check();
}

} // namespace

int main(int argc, char** argv) {
    const std::string verb = argc > 1 ? argv[1] : "";
    if (!(verb == "run" && argc == 7) && !(verb == "check" && argc == 4)) {
        printf("usage: crash_sqlite run DATABASE STATE SEED MS JOURNAL | check DATABASE STATE\n");
        return 2;
    }
    state = kept<State>(argv[3]);
    open_database(argv[2]);
    int status;
    if (verb == "check") {
        status = check();
    } else {
        // EXTRA, since FULL does not sync the directory after a commit that unlinks the journal.
        if (!sql(std::string("PRAGMA journal_mode=") + argv[6]) ||
            !sql("PRAGMA synchronous=EXTRA") || !sql("PRAGMA cache_size=50") ||
            !sql("CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, tx, value, noise)") ||
            !sql("CREATE INDEX IF NOT EXISTS by_tx ON t(tx)"))
            violation("cannot begin: %s", sqlite3_errmsg(db));
        status = run_until_cut(1, number(argv[5]), number(argv[4]),
                               [](unsigned, std::mt19937_64 rng) { work(rng); });
    }
    sqlite3_close(db);
    return status;
}
