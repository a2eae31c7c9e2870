// model_wrappers: models around models: one that limits the rate of requests, and one that falls
// back on others.
#include "agents/messages/failure.hpp"

#include <troupe/agents/model_providers.hpp>

#include <algorithm>

namespace troupe {
namespace {

chat_model_ptr around(const chat_model& model,
                      const std::function<chat_model_ptr(chat_model_ptr)>& wrap) {
  auto inner = model.unbound();
  return inner ? wrap(std::move(inner)) : nullptr;
}

class limited_model final : public chat_model {
public:
  limited_model(chat_model_ptr model, std::shared_ptr<rate_limiter> limiter)
    : model_{std::move(model)},
      limiter_{std::move(limiter)} {}

  std::string name() const override { return model_->name(); }
  value profile() const override { return model_->profile(); }
  value bound_tools() const override { return model_->bound_tools(); }
  std::shared_ptr<chat_model> unbound() const override {
    return around(*model_, [this](chat_model_ptr inner) {
      return with_rate_limit(std::move(inner), limiter_);
    });
  }
  coro<value> invoke(model_request request, context& ctx) override {
    if (auto wait = limiter_->take_turn(); wait.count() > 0) {
      auto pause = ctx.sleep_for(wait);
      co_await pause;
    }
    auto asked = model_->invoke(std::move(request), ctx);
    auto answer = co_await asked;
    co_return answer;
  }

private:
  chat_model_ptr model_;
  std::shared_ptr<rate_limiter> limiter_;
};

class fallback_models final : public chat_model {
public:
  explicit fallback_models(std::vector<chat_model_ptr> models) : models_{std::move(models)} {}

  std::string name() const override { return models_[0]->name(); }
  value profile() const override { return models_[0]->profile(); }
  value bound_tools() const override { return models_[0]->bound_tools(); }
  std::shared_ptr<chat_model> unbound() const override {
    return around(*models_[0], [this](chat_model_ptr inner) {
      return with_fallbacks(std::move(inner), {models_.begin() + 1, models_.end()});
    });
  }
  coro<value> invoke(model_request request, context& ctx) override {
    auto given = std::make_shared<bool>(false);
    if (request.on_part) {
      auto give = std::move(request.on_part);
      request.on_part = [given, give](const value& part) {
        *given = true;
        give(part);
      };
    }
    for (std::size_t next = 0;; ++next) {
      std::exception_ptr thrown;
      bool is_final = next + 1 == models_.size();
      try {
        auto asked = models_[next]->invoke(request, ctx);
        auto answer = co_await asked;
        co_return answer;
      } catch (const std::exception& failure) {
        thrown = std::current_exception();
        is_final = is_final || *given || ends_the_run(failure_of(failure));
      }
      if (is_final)
        std::rethrow_exception(thrown);
    }
  }

private:
  std::vector<chat_model_ptr> models_;
};

} // namespace

rate_limiter::rate_limiter(double requests_per_second, double burst)
  : seconds_each_{1.0 / requests_per_second},
    burst_{burst} {
  constexpr double seconds_max = 1e6; // to fill the bucket; sums of such times do not overflow
  if (!(requests_per_second > 0) || !(burst >= 1) || !(seconds_each_ * burst <= seconds_max))
    throw error{errc::invalid_config,
                "make a rate limiter: requests_per_second must be above 0, "
                "burst at least 1, and the bucket must fill within a million seconds"};
}

// The bucket's state is one point in time: when it is full again. Each turn moves it forward.
rate_limiter::clock::duration rate_limiter::take_turn(clock::time_point now) {
  auto seconds = [](double s) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(s));
  };
  std::lock_guard lock{mutex_};
  auto full_at = std::max(full_at_.value_or(now), now) + seconds(seconds_each_);
  full_at_ = full_at;
  auto wait = full_at - now - seconds(seconds_each_ * burst_);
  return std::max(wait, clock::duration::zero());
}

chat_model_ptr with_rate_limit(chat_model_ptr model, std::shared_ptr<rate_limiter> limiter) {
  if (!model || !limiter)
    throw error{errc::invalid_config, "limit a chat model: the model or the limiter is missing"};
  return std::make_shared<limited_model>(std::move(model), std::move(limiter));
}

chat_model_ptr with_fallbacks(chat_model_ptr model, std::vector<chat_model_ptr> others) {
  others.insert(others.begin(), std::move(model));
  if (std::ranges::find(others, nullptr) != others.end()
      || others.size() > limits::model_fallbacks_max + 1)
    throw error{errc::invalid_config,
                "give a chat model fallbacks: a model is missing, or there are more than "
                  + std::to_string(limits::model_fallbacks_max)};
  return std::make_shared<fallback_models>(std::move(others));
}

} // namespace troupe
