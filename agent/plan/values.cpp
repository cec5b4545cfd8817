// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/values.hpp"

namespace hintier {

namespace {

// The best rate, over all m, at which keeping an object from bin k to bin m pays:
//   G[k] = max over m of (V[k] - S V[m+1] + hit * reads(k..m)) / seconds(k..m)
// with S the share still unread after m, and V the loss in letting go.
float index(const Hazard::Curve& h, unsigned k, const std::array<double, age_bins + 1>& v,
            double hit) {
    double best = 0;
    double left = 1;
    double reads = 0;
    double seconds = 0;
    for (unsigned m = k; m < age_bins; ++m) {
        const double read = left * h[m];
        reads += read;
        seconds += (left - read / 2) * age_width(m);
        left -= read;
        best = std::max(best, (v[k] - left * v[m + 1] + hit * reads) / seconds);
    }
    return static_cast<float>(best);
}

bool may_drop(unsigned kind, Keep keep) {
    switch (keep) {
    case Keep::all:
        return false;
    case Keep::forked:
        return kind != GroupKey::forked && kind != GroupKey::shared;
    case Keep::shared:
        return kind != GroupKey::shared;
    case Keep::nothing:
        break;
    }
    return true;
}

// A billion for each read a second; what is read within a quarter of a second is worth all there
// is.
std::uint32_t whole(double worth) {
    return static_cast<std::uint32_t>(std::clamp(worth * 1e9, 0.0, 4294967295.0));
}

} // namespace

static_assert(Hazard::groups < HINTIER_GROUPS && age_bins == HINTIER_AGE_BINS);

std::vector<hintier_value_row> tier_rows(const ValueTable& table) {
    std::vector<hintier_value_row> rows(table.rows.size() + 1);
    for (unsigned k = 0; k < age_bins; ++k) {
        double clean = 0;
        double dirty = 0;
        for (std::size_t g = 0; g < table.rows.size(); ++g) {
            const ValueTable::Row& row = table.rows[g];
            rows[g + 1].clean[k] = whole(row.clean[k]);
            rows[g + 1].dirty[k] = whole(row.dirty[k]);
            clean += row.clean[k];
            dirty += row.dirty[k];
        }
        const auto groups = static_cast<double>(std::max<std::size_t>(table.rows.size(), 1));
        rows[0].clean[k] = whole(clean / groups);
        rows[0].dirty[k] = whole(dirty / groups);
    }
    return rows;
}

Result<void> ValueConfig::validate() const {
    if (!(price >= 0 && price <= 1)) return failure("price is a chance, from 0 to 1");
    if (!(hit > 0 && hit <= 1)) return failure("hit is more than 0 and at most 1");
    return {};
}

ValueTable make_values(const Hazard& hazard, const ValueConfig& config) {
    const auto curves = hazard.curves();
    ValueTable table;
    table.rows.resize(Hazard::groups);
    const bool wear = config.mode == ValueConfig::Mode::wear;
    const double hit = wear ? config.hit : 1;
    constexpr std::array<double, age_bins + 1> nothing{};

    for (unsigned g = 0; g < Hazard::groups; ++g) {
        const Hazard::Curve& h = curves[g];
        ValueTable::Row& row = table.rows[g];
        const bool droppable =
            wear && may_drop(Hazard::key(static_cast<Hazard::Group>(g)).kind, config.keep);
        std::array<double, age_bins + 1> v{};
        double unread = 1;
        for (unsigned k = age_bins; k-- > 0;) {
            unread *= 1 - h[k];
            row.promise[k] = static_cast<float>(1 - unread);
            v[k] = wear ? std::min(config.price, 1 - unread) : 0;
            row.drop[k] = droppable && 1 - unread < config.price;
        }
        for (unsigned k = 0; k < age_bins; ++k) {
            row.clean[k] = index(h, k, nothing, hit);
            row.dirty[k] = wear ? index(h, k, v, hit) : row.clean[k];
        }
    }
    return table;
}

} // namespace hintier
