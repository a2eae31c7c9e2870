// run_stream: the public classes that read a run without a thread of their own.
#include <troupe/run_stream.hpp>

#include "coordinator/message_book.hpp"
#include "coordinator/part_pump.hpp"
#include "coordinator/stream_front.hpp"

#include <troupe/completion.hpp>

#include <utility>

namespace troupe {

namespace {

stream_options reading_of(std::vector<stream_mode> modes, std::size_t parts_max) {
  stream_options out{std::move(modes)};
  out.queue_parts_max = parts_max;
  return out;
}

} // namespace

run_stream basic_app::stream_events(const run_input& input, const run_config& config,
                                    std::vector<part_transform> transforms) const {
  return run_stream{std::make_shared<stream_front>(
    core_, input, defaults_ ? merge_configs(*defaults_, config) : config, std::move(transforms))};
}

// -- part_reader

part_reader::part_reader(std::shared_ptr<open_reader> reader) noexcept
  : reader_{std::move(reader)} {}
part_reader::part_reader(part_reader&&) noexcept = default;
part_reader& part_reader::operator=(part_reader&&) noexcept = default;
part_reader::~part_reader() = default;

std::optional<stream_part> part_reader::next() {
  return reader_->next().value();
}
result<std::optional<stream_part>> part_reader::try_next() {
  return reader_->next();
}
bool part_reader::ready() const {
  return reader_->ready();
}
void part_reader::when_ready(std::function<void()> then) {
  reader_->when_ready(std::move(then));
}

// The coroutine keeps the reader: the part_reader may be moved meanwhile.
static coro<void> until_ready(std::shared_ptr<open_reader> reader, context& ctx) {
  reader->front().begin();
  while (!reader->ready()) {
    auto more = ctx.completion<void>();
    reader->when_ready([done = more.completer()] { done.set(); });
    co_await more;
  }
}

static coro<std::optional<stream_part>> next_of(std::shared_ptr<open_reader> reader, context& ctx) {
  auto waiting = until_ready(reader, ctx);
  co_await waiting;
  co_return reader->next().value();
}

coro<std::optional<stream_part>> part_reader::next(context& ctx) {
  return next_of(reader_, ctx);
}

void part_reader::on_part(std::function<void(stream_part&)> each,
                          std::function<void(const result<run_result>&)> end) && {
  part_pump::start(std::move(reader_), std::move(each), std::move(end));
}

// -- run_values

std::optional<value> run_values::next() {
  while (auto part = parts_.next())
    if (part->ns.empty())
      return std::move(part->data);
  return std::nullopt;
}

coro<std::optional<value>> run_values::next(context& ctx) {
  while (true) {
    auto reading = parts_.next(ctx);
    auto part = co_await reading;
    if (!part)
      co_return std::nullopt;
    if (part->ns.empty())
      co_return std::move(part->data);
  }
}

// -- run_messages

message_stream::message_stream(std::shared_ptr<message_book> book,
                               std::shared_ptr<message_state> state)
  : book_{std::move(book)},
    state_{std::move(state)} {}

std::optional<message_piece> message_stream::next() {
  while (state_->pieces.empty() && !state_->over())
    book_->take(book_->parts.try_next());
  return state_->take_piece();
}

coro<std::optional<message_piece>> message_stream::next(context& ctx) {
  auto state = state_;
  auto book = book_;
  while (state->pieces.empty() && !state->over()) {
    auto reading = book->take_one(ctx);
    co_await reading;
  }
  co_return state->take_piece();
}

value message_stream::whole() {
  while (!state_->over())
    book_->take(book_->parts.try_next());
  return state_->whole();
}

coro<value> message_stream::whole(context& ctx) {
  auto state = state_;
  auto book = book_;
  while (!state->over()) {
    auto reading = book->take_one(ctx);
    co_await reading;
  }
  co_return state->whole();
}

std::string message_stream::text() {
  whole();
  return state_->text;
}
std::string message_stream::reasoning() {
  whole();
  return state_->reasoning;
}
value message_stream::tool_calls() {
  auto calls = whole().payload()["tool_calls"];
  return calls.is_null() ? value::list() : calls;
}
value message_stream::usage() {
  return whole().payload()["usage"];
}
const std::string& message_stream::id() const noexcept {
  return state_->id;
}
const std::string& message_stream::role() const noexcept {
  return state_->role;
}
const std::string& message_stream::node() const noexcept {
  return state_->node;
}
const std::vector<std::string>& message_stream::ns() const noexcept {
  return state_->ns;
}

run_messages::run_messages(part_reader parts)
  : book_{std::make_shared<message_book>(std::move(parts))} {}

std::optional<message_stream> run_messages::next() {
  while (book_->fresh.empty() && !book_->over())
    book_->take(book_->parts.try_next());
  if (auto state = book_->take_fresh())
    return message_stream{book_, std::move(state)};
  return std::nullopt;
}

coro<std::optional<message_stream>> run_messages::next(context& ctx) {
  auto book = book_;
  while (book->fresh.empty() && !book->over()) {
    auto reading = book->take_one(ctx);
    co_await reading;
  }
  if (auto state = book->take_fresh())
    co_return message_stream{book, std::move(state)};
  co_return std::nullopt;
}

// -- run_stream

part_reader run_stream::read(const stream_options& options) const {
  return part_reader{std::make_shared<open_reader>(front_, options)};
}

run_messages run_stream::messages(std::size_t queue_parts_max) const {
  return run_messages{
    read(reading_of({stream_mode::messages, stream_mode::tasks}, queue_parts_max))};
}

run_values run_stream::values(std::size_t queue_parts_max) const {
  return run_values{read(reading_of({stream_mode::values}, queue_parts_max))};
}

void run_stream::start() const {
  front_->begin();
}

result<run_result> run_stream::get() const {
  open_reader end{front_, std::vector<stream_mode>{}};
  if (auto last = end.next(); !last)
    return last.error();
  return *end.outcome();
}

static coro<run_result> end_of(std::shared_ptr<open_reader> reader, context& ctx) {
  auto waiting = until_ready(reader, ctx);
  co_await waiting;
  co_return reader->outcome()->value();
}

coro<run_result> run_stream::get(context& ctx) const {
  return end_of(std::make_shared<open_reader>(front_, std::vector<stream_mode>{}), ctx);
}

value run_stream::output() const {
  return get().value().value();
}
bool run_stream::interrupted() const {
  return get().value().paused();
}
std::vector<interrupt> run_stream::interrupts() const {
  return get().value().interrupts();
}

void run_stream::when_done(std::function<void(const result<run_result>&)> then) const {
  auto& fan = *front_->fan();
  auto end = fan.add(std::vector<stream_mode>{}).value();
  fan.when_ready(*end, [end, then = std::move(then), weak = std::weak_ptr{front_->fan()}] {
    if (auto ended = weak.lock())
      then(*ended->outcome(*end));
  });
}

run_control run_stream::control() const {
  return front_->control();
}

} // namespace troupe
