// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/models.hpp"

#include <algorithm>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/base/log.hpp"
#include "hintier/trace.h"

namespace hintier {

namespace {

Result<FileId> id_of(const std::string& path) {
    struct stat st;
    if (stat(path.c_str(), &st)) return system_failure(path);
    return FileId{HINTIER_TRACE_DEV(major(st.st_dev), minor(st.st_dev)), 0, st.st_ino};
}

ModelPart part_of(const Tensor& tensor) {
    ModelPart part;
    part.role = tensor.parts.role;
    part.layer = tensor.parts.layer.value_or(0);
    part.expert = tensor.parts.expert.value_or(0);
    part.file = tensor.file;
    part.offset = tensor.offset;
    part.bytes = tensor.bytes;
    return part;
}

} // namespace

std::vector<ModelPart> parts_of(const ModelFiles& model) {
    std::vector<ModelPart> parts;
    for (const Tensor& tensor : model.tensors) {
        ModelPart part = part_of(tensor);
        if (!tensor.experts) {
            parts.push_back(part);
            continue;
        }
        for (std::uint32_t expert = 0; expert < tensor.experts; ++expert) {
            const auto slice = tensor.slice(expert);
            part.expert = expert;
            part.offset = slice->offset;
            part.bytes = slice->length;
            parts.push_back(part);
        }
    }
    return parts;
}

void fill(std::vector<ModelPart>& parts, std::uint32_t file, std::uint64_t offset,
          std::uint64_t region, std::uint64_t bytes) {
    const auto ends_before = [&](const ModelPart& part, std::uint64_t at) {
        return part.file != file ? part.file < file : part.offset + part.bytes <= at;
    };
    auto part = std::lower_bound(parts.begin(), parts.end(), offset, ends_before);
    const auto first = part;
    std::uint64_t covered = 0;
    const auto overlap = [&](const ModelPart& one) {
        const std::uint64_t begin = std::max(one.offset, offset);
        const std::uint64_t end = std::min(one.offset + one.bytes, offset + region);
        return end > begin ? end - begin : 0;
    };
    for (; part != parts.end() && part->file == file && part->offset < offset + region; ++part) {
        covered += overlap(*part);
    }
    if (!covered) return; // the file's head, or a gap
    for (auto one = first; one != part; ++one) {
        one->filled += static_cast<std::uint64_t>(static_cast<double>(bytes) *
                                                  static_cast<double>(overlap(*one)) /
                                                  static_cast<double>(covered));
    }
}

Models::Models(const std::vector<std::string>& paths, FillSource* fills) : fills_(fills) {
    for (const std::string& path : paths) {
        models_.emplace_back().path = path;
    }
}

void Models::check() {
    for (std::size_t i = 0; i < models_.size(); ++i) {
        Model& model = models_[i];
        if (model.known && unchanged(model)) continue;
        forget(model);
        const auto learned = learn(model, i);
        if (learned) {
            log::info("model {}: {}, {} layers, {} experts", model.path, model.files.format,
                      model.files.layers, model.files.experts);
            continue;
        }
        forget(model);
        if (model.wrong != learned.error().text) {
            model.wrong = learned.error().text;
            log::warning("model: {}; waiting for it", model.wrong);
        }
    }
}

bool Models::unchanged(const Model& model) const {
    for (std::size_t i = 0; i < model.ids.size(); ++i) {
        const auto id = id_of(model.files.files[i].path);
        if (!id || *id != model.ids[i]) return false;
    }
    return true;
}

void Models::forget(Model& model) {
    for (const FileId& id : model.ids) {
        owners_.erase(id);
        if (fills_) fills_->unwatch(id);
    }
    Model fresh;
    fresh.path = model.path;
    fresh.wrong = model.wrong;
    model = std::move(fresh);
}

Result<void> Models::learn(Model& model, std::size_t index) {
    auto read = read_model(model.path);
    if (!read) return Failure(std::move(read.error()));
    for (std::uint32_t file = 0; file < read->files.size(); ++file) {
        const auto id = id_of(read->files[file].path);
        if (!id) return Failure(id.error());
        if (fills_) {
            if (auto watched = fills_->watch(*id); !watched) return watched;
        }
        owners_[*id] = {index, file};
        model.ids.push_back(*id);
    }
    model.parts = parts_of(*read);
    read->tensors.clear();
    read->tensors.shrink_to_fit();
    model.files = std::move(*read);
    model.known = true;
    model.wrong.clear();
    return {};
}

void Models::apply(const Event& event) {
    const auto owner = owners_.find(FileId{event.file.device, 0, event.file.inode});
    if (owner == owners_.end()) return;
    Model& model = models_[owner->second.model];
    model.filled += event.bytes;
    fill(model.parts, owner->second.file, event.offset, 1ULL << HINTIER_FILL_SHIFT, event.bytes);
}

} // namespace hintier
