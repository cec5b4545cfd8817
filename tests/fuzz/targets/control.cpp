// SPDX-License-Identifier: Apache-2.0
// The control socket: any line gets one line of JSON with "ok". And hintierctl's side of it: any
// answer is taken or refused.
#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "agent/cli/agent_socket.hpp"
#include "agent/daemon/control.hpp"
#include "hintier/types.h"
#include "tests/fuzz/target.hpp"

namespace {

using Json = nlohmann::json;
using hintier::fuzz::require;

constexpr std::size_t most_names = 65'536;

class Service final : public hintier::ControlService {
public:
    Answer session_started(const hintier::Peer&, const hintier::Spoken& said) override {
        return heard(said);
    }
    Answer session_resumes(const hintier::Peer&, const hintier::Spoken& said) override {
        return heard(said);
    }
    Answer session_ended(const hintier::Peer&, const hintier::Spoken& said) override {
        return heard(said);
    }
    Answer request_queued(const hintier::Peer&, const hintier::Spoken& said) override {
        return heard(said);
    }
    Answer load(const hintier::Peer&, const hintier::Load& load) override {
        require(load.file.get() >= 0, "what is loaded has come with the line");
        require(load.klass < HINTIER_CLASSES, "of a class that there is");
        return Json{{"bytes", 1}};
    }
    Answer advise(const hintier::Peer&, const hintier::Question& question) override {
        return Json{{"bytes", question.bytes + bytes_of(question.names)}};
    }
    Answer record(const hintier::Peer&, hintier::Fd file, std::uint64_t) override {
        require(file.get() >= 0, "what is recorded to has come with the line");
        return Json::object();
    }
    Answer record_stop(const hintier::Peer&) override { return hintier::failure("none runs"); }
    Answer status() override { return Json::object(); }
    Answer explain(std::string_view file) override { return Json{{"file", std::string(file)}}; }
    Answer heat(std::size_t most) override {
        require(most <= 1000, "heat is bounded");
        return Json{{"most", most}};
    }
    Answer models(std::size_t most) override {
        require(most <= 1000, "models is bounded");
        return Json{{"most", most}};
    }
    Answer stop_reaping(const hintier::Peer&) override { return hintier::failure("not you"); }

private:
    static std::size_t bytes_of(const std::vector<std::string_view>& names) {
        require(names.size() <= most_names, "names are bounded");
        std::size_t bytes = 0;
        for (std::string_view name : names)
            for (char c : name) // they must still be there
                bytes += c != 0;
        return bytes;
    }
    static Answer heard(const hintier::Spoken& said) {
        require(said.named || said.names.empty(), "no names without names");
        return Json{{"bytes", said.root.size() + bytes_of(said.names)}, {"session", said.session}};
    }
};

} // namespace

FUZZ_TARGET(control, hintier::fuzz::no_seeds) {
    static const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    Service service;
    const std::string line(input.begin(), input.end());
    hintier::Descriptors passed;
    passed.emplace_back(fcntl(null, F_DUPFD_CLOEXEC, 0));
    const std::string said = hintier::answer(service, {}, line, passed);
    require(said.find('\n') == said.npos, "an answer is one line");
    const Json answer = Json::parse(said, nullptr, false);
    require(answer.is_object() && answer["ok"].is_boolean(), "an answer says ok");
    if (answer["ok"] == false) require(answer["error"].is_string(), "a refusal says why");
    (void)hintier::cli::parse_answer(line);
}
