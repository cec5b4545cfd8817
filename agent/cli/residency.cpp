// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/residency.hpp"

#include <algorithm>
#include <utility>

namespace hintier::cli {

namespace {

Piece piece_of(const FilePart& part, std::uint64_t start, const hintier_residency& run) {
    // The file system's blocks may be smaller than a unit: the first and last unit are shared.
    std::uint64_t begin = std::max<std::uint64_t>(run.offset, start + part.physical);
    std::uint64_t end =
        std::min<std::uint64_t>(run.offset + run.length, start + part.physical + part.length);
    return {part.logical + (begin - start - part.physical),
            begin,
            end - begin,
            run.state,
            run.klass,
            run.group,
            run.object,
            {}};
}

} // namespace

void Sums::add(const Piece& piece) {
    if (!piece.nowhere.empty())
        nowhere += piece.length;
    else if (piece.state & HINTIER_IS_LOST)
        lost += piece.length;
    else if (piece.state & HINTIER_IS_FAST)
        fast += piece.length;
    else
        bulk += piece.length;
    if (piece.state & HINTIER_IS_DIRTY) dirty += piece.length;
    if (piece.state & HINTIER_IS_MOVING) moving += piece.length;
}

Sums sum_of(const std::vector<Piece>& pieces) {
    Sums sums;
    for (const Piece& piece : pieces)
        sums.add(piece);
    return sums;
}

std::string state_text(const Piece& piece) {
    if (!piece.nowhere.empty()) return piece.nowhere;
    std::string text = piece.state & HINTIER_IS_LOST    ? "lost"
                       : piece.state & HINTIER_IS_DIRTY ? "fast, dirty"
                       : piece.state & HINTIER_IS_FAST  ? "fast"
                                                        : "bulk";
    return piece.state & HINTIER_IS_MOVING ? text + ", moving" : text;
}

Result<std::vector<Piece>> look_at(const FileMap& map, ControlDevice& control,
                                   std::uint64_t start) {
    constexpr std::uint64_t unit = HINTIER_UNIT_BYTES;
    std::vector<Piece> pieces;
    for (const FilePart& part : map.parts) {
        if (!part.placed) {
            Piece piece;
            piece.logical = part.logical;
            piece.length = part.length;
            piece.nowhere = unplaced_why(part.flags);
            pieces.push_back(std::move(piece));
            continue;
        }
        std::uint64_t from = (start + part.physical) / unit * unit;
        std::uint64_t to = (start + part.physical + part.length + unit - 1) / unit * unit;
        auto done = control.query(from, to - from, [&](const hintier_residency& run) {
            pieces.push_back(piece_of(part, start, run));
        });
        if (!done) return Failure(done.error());
    }
    return pieces;
}

} // namespace hintier::cli
