// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/module.hpp"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace hintier::cli {

bool module_loaded() {
    return access("/sys/module/hintier", F_OK) == 0;
}

int run_program(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    int error = posix_spawnp(&child, arguments[0], &quiet, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (error != 0) return 127;
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

Result<void> load_module() {
    if (module_loaded()) return {};
    if (geteuid() != 0)
        return fail(EPERM, "the module is not loaded and loading it needs root: sudo modprobe "
                           "hintier");
    int status = run_program({"modprobe", "-q", "hintier"});
    if (module_loaded()) return {};
    if (status == 127)
        return fail(ENOENT, "the module is not loaded and modprobe is missing: insmod hintier.ko");
    return fail(ENOENT, "the module is not loaded and modprobe does not find it: run `make "
                        "install`, or see `hintierctl doctor`");
}

KernelLog::KernelLog() : fd_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (fd_) (void)lseek(fd_.get(), 0, SEEK_END);
}

std::vector<std::string> KernelLog::added() const {
    std::vector<std::string> lines;
    if (!fd_) return lines;
    char record[8192];
    for (;;) {
        ssize_t got = read(fd_.get(), record, sizeof record);
        if (got < 0 && (errno == EPIPE || errno == EINTR)) // overwritten: go on with the next
            continue;
        if (got <= 0) return lines;
        std::string reason = log_reason(std::string(record, static_cast<std::size_t>(got)));
        if (!reason.empty()) lines.push_back(std::move(reason));
    }
}

std::string KernelLog::reason() const {
    std::string text;
    for (const std::string& line : added())
        if (line.find("error adding target") == std::string::npos) // says no more than errno
            text = line;
    return text.empty() ? text : " (" + text + ")";
}

std::string log_reason(const std::string& record) {
    std::size_t start = record.find(';');
    if (start == std::string::npos) return {};
    std::string line = record.substr(start + 1, record.find('\n', start) - start - 1);
    static constexpr std::string_view marks[] = {
        "hintier: ", "device-mapper: table: ", "device-mapper: ioctl: "};
    for (std::string_view mark : marks) {
        std::size_t at = line.find(mark);
        if (at != std::string::npos) return line.substr(at + mark.size());
    }
    return {};
}

} // namespace hintier::cli
