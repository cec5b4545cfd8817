// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/dm.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <libdevmapper.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace hintier::cli {

namespace {

struct TaskDeleter {
    void operator()(dm_task* task) const { dm_task_destroy(task); }
};
using Task = std::unique_ptr<dm_task, TaskDeleter>;

// libdevmapper reports through a callback; keep the last complaint for our own one line.
std::string last_complaint;

__attribute__((format(printf, 5, 6))) void listen(int level, const char*, int, int,
                                                  const char* form, ...) {
    if ((level & 7) > 4) // below warning: its own tracing
        return;
    char text[512];
    va_list arguments;
    va_start(arguments, form);
    std::vsnprintf(text, sizeof text, form, arguments);
    va_end(arguments);
    last_complaint = text;
}

Task new_task(int type, const std::string& name) {
    last_complaint.clear();
    Task task(dm_task_create(type));
    if (task && !name.empty() && !dm_task_set_name(task.get(), name.c_str())) task.reset();
    return task;
}

Failure task_failed(dm_task* task, const std::string& what) {
    int code = task ? dm_task_get_errno(task) : 0;
    if (!device_mapper_present())
        return fail(ENOENT, "{}: device-mapper is not available: modprobe dm-mod", what);
    if (code == EPERM || code == EACCES || (code == 0 && geteuid() != 0))
        return fail(EPERM, "{}: needs root", what);
    if (code == 0)
        return fail(EIO, "{}: {}", what, last_complaint.empty() ? "failed" : last_complaint);
    return fail(code, "{}: {}", what, std::strerror(code));
}

Result<void> run(Task& task, const std::string& what) {
    if (!task || !dm_task_run(task.get())) return task_failed(task.get(), what);
    return {};
}

// Runs a task that makes or removes a node, and waits until udev has dealt with it.
Result<void> run_and_settle(Task& task, const std::string& what) {
    std::uint32_t cookie = 0;
    if (!task || !dm_task_set_cookie(task.get(), &cookie, 0)) return task_failed(nullptr, what);
    Result<void> outcome = run(task, what);
    dm_udev_wait(cookie); // also after a failure: the cookie is a semaphore that must go
    dm_task_update_nodes();
    return outcome;
}

} // namespace

Dm::Dm() {
    dm_log_with_errno_init(listen);
    dm_udev_set_sync_support(1);
}

Dm::~Dm() {
    dm_lib_release();
}

Result<std::vector<std::string>> Dm::names() {
    Task task = new_task(DM_DEVICE_LIST, "");
    if (auto done = run(task, "list devices"); !done) return Failure(done.error());
    std::vector<std::string> found;
    dm_names* entry = dm_task_get_names(task.get());
    if (!entry || entry->dev == 0) return found;
    for (;;) {
        found.emplace_back(entry->name);
        if (entry->next == 0) return found;
        entry = reinterpret_cast<dm_names*>(reinterpret_cast<char*>(entry) + entry->next);
    }
}

Result<DmDevice> Dm::ask(const std::string& name, DmAsk what) {
    Task task = new_task(what == DmAsk::table ? DM_DEVICE_TABLE : DM_DEVICE_STATUS, name);
    if (task) dm_task_no_flush(task.get());
    auto done = run(task, name);
    if (!done && done.error().code != ENXIO) return Failure(done.error());
    dm_info info{};
    if (!done || !dm_task_get_info(task.get(), &info) || !info.exists)
        return fail(ENXIO, "{}: no such device: `hintierctl list` shows the tiers", name);

    DmDevice device;
    device.name = name;
    if (const char* uuid = dm_task_get_uuid(task.get())) device.uuid = uuid;
    device.id = makedev(info.major, info.minor);
    device.open_count = info.open_count;
    device.suspended = info.suspended;
    void* next = nullptr;
    do {
        char* type = nullptr;
        char* params = nullptr;
        DmTarget target;
        next = dm_get_next_target(task.get(), next, &target.start, &target.length, &type, &params);
        if (!type) continue;
        target.type = type;
        target.params = params ? params : "";
        device.targets.push_back(std::move(target));
    } while (next);
    return device;
}

Result<std::vector<DmDevice>> Dm::devices_of(const std::string& target_type, DmAsk what) {
    auto all = names();
    if (!all) return Failure(all.error());
    std::vector<DmDevice> found;
    for (const std::string& name : *all) {
        auto device = ask(name, what);
        if (!device) // removed since it was listed
            continue;
        for (const DmTarget& target : device->targets) {
            if (target.type == target_type) {
                found.push_back(std::move(*device));
                break;
            }
        }
    }
    return found;
}

Result<void> Dm::create(const std::string& name, const std::string& uuid, const DmTarget& target) {
    Task task = new_task(DM_DEVICE_CREATE, name);
    if (!task || !dm_task_set_uuid(task.get(), uuid.c_str()) ||
        !dm_task_add_target(task.get(), target.start, target.length, target.type.c_str(),
                            target.params.c_str()))
        return task_failed(nullptr, fmt::format("create {}", name));
    return run_and_settle(task, fmt::format("create {}", name));
}

Result<void> Dm::remove(const std::string& name) {
    Task task = new_task(DM_DEVICE_REMOVE, name);
    if (task) dm_task_retry_remove(task.get()); // udev may still have it open for a moment
    return run_and_settle(task, fmt::format("remove {}", name));
}

Result<void> Dm::message(const std::string& name, const std::string& text) {
    Task task = new_task(DM_DEVICE_TARGET_MSG, name);
    if (!task || !dm_task_set_sector(task.get(), 0) ||
        !dm_task_set_message(task.get(), text.c_str()))
        return task_failed(nullptr, fmt::format("message {}", name));
    return run(task, fmt::format("message '{}' to {}", text, name));
}

Result<bool> Dm::has_target(const std::string& type) {
    Task task = new_task(DM_DEVICE_LIST_VERSIONS, "");
    if (auto done = run(task, "list targets"); !done) return Failure(done.error());
    dm_versions* entry = dm_task_get_versions(task.get());
    while (entry) {
        if (type == entry->name) return true;
        if (entry->next == 0) break;
        entry = reinterpret_cast<dm_versions*>(reinterpret_cast<char*>(entry) + entry->next);
    }
    return false;
}

bool device_mapper_present() {
    std::ifstream misc("/proc/misc");
    for (std::string word; misc >> word;)
        if (word == "device-mapper") return true;
    return false;
}

std::string dm_node(const DmDevice& device) {
    std::string mapper = fmt::format("/dev/mapper/{}", device.name);
    if (access(mapper.c_str(), F_OK) == 0) return mapper;
    return fmt::format("/dev/dm-{}", minor(device.id));
}

} // namespace hintier::cli
