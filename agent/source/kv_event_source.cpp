// SPDX-License-Identifier: Apache-2.0
#include "agent/source/kv_event_source.hpp"

#include <charconv>
#include <optional>
#include <utility>

#include <zmq.h>

#include "agent/source/kv_events.hpp"

namespace hintier {

namespace {

constexpr int queued = 100'000; // messages, as many as the publisher keeps
constexpr std::size_t drained_at_once = 10'000;
constexpr Nanos replay_patience = 5s;
constexpr std::uint64_t end_of_replay = ~std::uint64_t{0};

// One for the process: it owns the library's thread, and lives as long as any socket does.
std::shared_ptr<void> context() {
    static std::weak_ptr<void> shared;
    auto one = shared.lock();
    if (!one) {
        one = std::shared_ptr<void>(zmq_ctx_new(), [](void* context) {
            if (context) zmq_ctx_term(context);
        });
        shared = one;
    }
    return one;
}

class Socket {
public:
    Socket() = default;
    Socket(void* context, int type) : socket_(zmq_socket(context, type)) {
        set(ZMQ_LINGER, 0);
        set(ZMQ_RCVHWM, queued);
        set(ZMQ_SNDHWM, 16);
    }
    Socket(Socket&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(socket_, other.socket_);
        return *this;
    }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket() { close(); }

    explicit operator bool() const { return socket_; }
    void* get() const { return socket_; }
    void close() {
        if (socket_) zmq_close(std::exchange(socket_, nullptr));
    }
    void set(int option, int value) const {
        (void)zmq_setsockopt(socket_, option, &value, sizeof(value));
    }
    int fd() const {
        int fd = -1;
        std::size_t size = sizeof(fd);
        return socket_ && zmq_getsockopt(socket_, ZMQ_FD, &fd, &size) == 0 ? fd : -1;
    }

private:
    void* socket_ = nullptr;
};

class Frame {
public:
    Frame() { zmq_msg_init(&message_); }
    Frame(Frame&& other) noexcept {
        zmq_msg_init(&message_);
        zmq_msg_move(&message_, &other.message_);
    }
    Frame& operator=(Frame&&) = delete;
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() { zmq_msg_close(&message_); }

    bool receive(void* socket) { return zmq_msg_recv(&message_, socket, ZMQ_DONTWAIT) >= 0; }
    bool more() const { return zmq_msg_more(&message_); }
    std::span<const std::byte> bytes() {
        return {static_cast<const std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
    }

private:
    zmq_msg_t message_;
};

// All frames of the next message; none when none is there. Of a message of too many only the
// first few are kept.
std::vector<Frame> receive(const Socket& socket) {
    constexpr std::size_t most = 8;
    std::vector<Frame> frames;
    for (bool more = true; more;) {
        Frame frame;
        if (!frame.receive(socket.get())) break;
        more = frame.more();
        if (frames.size() < most) frames.push_back(std::move(frame));
    }
    return frames;
}

std::optional<std::uint64_t> number_in(std::span<const std::byte> frame) {
    if (frame.size() != sizeof(std::uint64_t)) return {};
    std::uint64_t number = 0;
    for (const std::byte byte : frame) {
        number = number << 8U | std::to_integer<std::uint8_t>(byte);
    }
    return number;
}

} // namespace

Result<void> KvEventConfig::validate() const {
    if (endpoint.empty()) return failure("endpoint is missing");
    if (ranks < 1 || ranks > 1024) return failure("ranks is from 1 to 1024");
    for (const std::string& one : {endpoint, replay}) {
        if (one.empty()) continue;
        if (auto last = endpoint_of(one, ranks - 1); !last) return Failure(last.error());
        if (one.find('*') != one.npos) return failure(one + ": must name a host, * is for servers");
    }
    return {};
}

Result<std::string> endpoint_of(const std::string& endpoint, std::uint32_t rank) {
    if (endpoint.starts_with("ipc://") || endpoint.starts_with("inproc://")) {
        return rank ? endpoint + "_dp" + std::to_string(rank) : endpoint;
    }
    const std::size_t colon = endpoint.rfind(':');
    std::uint32_t port = 0;
    const char* end = endpoint.data() + endpoint.size();
    if (!endpoint.starts_with("tcp://") || colon < 6) {
        return failure(endpoint + ": must be like tcp://localhost:5557 or ipc:///run/x");
    }
    const auto [rest, error] = std::from_chars(endpoint.data() + colon + 1, end, port);
    if (error != std::errc{} || rest != end || port < 1 || port + rank > 65'535) {
        return failure(endpoint + ": no port for rank " + std::to_string(rank));
    }
    return endpoint.substr(0, colon + 1) + std::to_string(port + rank);
}

struct KvEventSource::Impl {
    explicit Impl(const Clock& on) : clock(on) {}

    std::shared_ptr<void> zmq = context(); // outlives the sockets
    Socket live;
    Socket replay;
    std::string endpoint;
    std::string replay_endpoint;
    const Clock& clock;
    KvSequence sequence;
    std::optional<Nanos> asked_at; // for the replay that is under way
    Counts counts;

    Result<void> connect_replay();
    void ask();
    bool on_live(std::vector<Frame>& frames, EventSink& sink);
    bool on_replay(std::vector<Frame>& frames, EventSink& sink);
    void end_replay();
    void take(std::span<const std::byte> payload, EventSink& sink);
    void tell(const KvEvent& event, Nanos now, EventSink& sink);
};

Result<void> KvEventSource::Impl::connect_replay() {
    if (replay_endpoint.empty()) return {};
    replay = Socket(zmq.get(), ZMQ_DEALER);
    if (!replay || zmq_connect(replay.get(), replay_endpoint.c_str())) {
        return failure(replay_endpoint + ": " + zmq_strerror(zmq_errno()), zmq_errno());
    }
    return {};
}

// From the first that is missing; the answer brings all that come after it.
void KvEventSource::Impl::ask() {
    if (!replay) return;
    std::byte start[sizeof(std::uint64_t)];
    for (std::size_t i = 0; i < sizeof(start); ++i) {
        start[i] = static_cast<std::byte>(sequence.missing_from() >> (8 * (7 - i)));
    }
    // A ROUTER wants what a REQ would send: an empty frame first.
    if (zmq_send(replay.get(), nullptr, 0, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
        zmq_send(replay.get(), start, sizeof(start), ZMQ_DONTWAIT) < 0) {
        return; // tried again with the next tick
    }
    asked_at = clock.now();
}

bool KvEventSource::Impl::on_live(std::vector<Frame>& frames, EventSink& sink) {
    if (frames.empty()) return false;
    const auto number = frames.size() == 3 ? number_in(frames[1].bytes()) : std::nullopt;
    if (!number) {
        ++counts.wrong;
        return true;
    }
    switch (sequence.live(*number)) {
    case KvSequence::Verdict::duplicate:
        return true;
    case KvSequence::Verdict::restart:
        ++counts.restarts;
        asked_at.reset();
        break;
    case KvSequence::Verdict::gap:
        ++counts.gaps;
        break;
    case KvSequence::Verdict::take:
        break;
    }
    take(frames[2].bytes(), sink);
    return true;
}

// [empty] | sequence number | payload; the last with a number that is none and no payload.
bool KvEventSource::Impl::on_replay(std::vector<Frame>& frames, EventSink& sink) {
    if (frames.empty()) return false;
    const std::size_t first = frames.front().bytes().empty() ? 1 : 0;
    const auto number =
        frames.size() >= first + 2 ? number_in(frames[first].bytes()) : std::nullopt;
    if (!number) {
        ++counts.wrong;
    } else if (*number == end_of_replay) {
        end_replay();
    } else if (sequence.replayed(*number)) {
        ++counts.replayed;
        take(frames[first + 1].bytes(), sink);
    }
    return true;
}

void KvEventSource::Impl::end_replay() {
    counts.lost += sequence.replay_ended();
    asked_at.reset();
}

void KvEventSource::Impl::take(std::span<const std::byte> payload, EventSink& sink) {
    const auto batch = decode_kv_batch(payload);
    if (!batch) {
        ++counts.wrong;
        return;
    }
    ++counts.batches;
    counts.wrong += batch->unknown;
    const Nanos now = clock.now();
    for (const KvEvent& event : batch->events) {
        tell(event, now, sink);
    }
}

// Blocks of one event follow each other.
void KvEventSource::Impl::tell(const KvEvent& event, Nanos now, EventSink& sink) {
    switch (event.kind) {
    case KvEvent::Kind::stored:
        counts.stored += event.blocks.size();
        break;
    case KvEvent::Kind::removed:
        counts.removed += event.blocks.size();
        return;
    case KvEvent::Kind::cleared:
        ++counts.cleared;
        return;
    }
    std::uint64_t before = event.parent ? event.parent->object() : 0;
    for (const KvName& block : event.blocks) {
        const std::string digits = block.hex();
        Event one;
        one.kind = EventKind::stored;
        one.time = now;
        one.name = digits;
        one.before = before;
        sink.event(one);
        before = block.object();
    }
}

KvEventSource::KvEventSource() = default;
KvEventSource::~KvEventSource() = default;

Result<std::unique_ptr<KvEventSource>> KvEventSource::open(const KvEventConfig& config,
                                                           std::uint32_t rank, const Clock& clock) {
    auto endpoint = endpoint_of(config.endpoint, rank);
    if (!endpoint) return Failure(std::move(endpoint.error()));
    std::unique_ptr<KvEventSource> source(new KvEventSource);
    source->impl_ = std::make_unique<Impl>(clock);
    Impl& impl = *source->impl_;
    impl.endpoint = std::move(*endpoint);
    impl.live = Socket(impl.zmq.get(), ZMQ_SUB);
    if (!impl.live ||
        zmq_setsockopt(impl.live.get(), ZMQ_SUBSCRIBE, config.topic.data(), config.topic.size()) ||
        zmq_connect(impl.live.get(), impl.endpoint.c_str())) {
        return failure(impl.endpoint + ": " + zmq_strerror(zmq_errno()), zmq_errno());
    }
    if (!config.replay.empty()) {
        auto replay = endpoint_of(config.replay, rank);
        if (!replay) return Failure(std::move(replay.error()));
        impl.replay_endpoint = std::move(*replay);
        if (auto connected = impl.connect_replay(); !connected) return Failure(connected.error());
    }
    return source;
}

int KvEventSource::fd() const {
    return impl_->live.fd();
}

int KvEventSource::replay_fd() const {
    return impl_->replay.fd();
}

const KvEventSource::Counts& KvEventSource::counts() const {
    return impl_->counts;
}

const std::string& KvEventSource::endpoint() const {
    return impl_->endpoint;
}

std::size_t KvEventSource::drain(EventSink& sink) {
    Impl& impl = *impl_;
    std::size_t messages = 0;
    for (bool more = true; more && messages < drained_at_once;) {
        auto live = receive(impl.live);
        more = impl.on_live(live, sink);
        if (impl.replay) {
            auto replay = receive(impl.replay);
            more = impl.on_replay(replay, sink) || more;
        }
        messages += more ? 1 : 0;
    }
    if (!impl.sequence.missing()) return messages;
    const bool too_late = impl.asked_at && impl.clock.now() - *impl.asked_at > replay_patience;
    if (!impl.replay || too_late) {
        impl.end_replay(); // what still comes of it is too late
    } else if (!impl.asked_at) {
        impl.ask();
    }
    return messages;
}

} // namespace hintier
