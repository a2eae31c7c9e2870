// Labels: they stand in a transcript for identifiers, which differ from run to run.
//
// The maker of an answer marks the identifiers in it; the book turns the marks into labels.
#pragma once

#include "tests/conformance/documents.hpp"

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::conformance {

/// The values are the letters the labels begin with.
enum class label_kind : char { checkpoint = 'c', task = 't', interrupt = 'i', message = 'm' };

/// An identifier as it stands in an answer that has no labels yet.
std::string marked(label_kind kind, std::string_view id);
/// A namespace, or a path of them joined by `|`: the part after each colon is a task's id. Also
/// for keys of objects.
std::string marked_ns(std::string_view ns);

/// A call names a label that stands for nothing.
struct unknown_label : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The labels of one case.
class label_book {
public:
  /// Shape:  `given`: text that holds every identifier the case itself gives: a message id in it is
  ///         not a generated one and stays as it is.
  explicit label_book(std::string given) : given_{std::move(given)} {}

  /// The answer with labels in place of marks.
  /// Order:  new labels are given as the answer is walked, object members sorted by key.
  answer_json apply(const answer_json& marked_answer);

  /// The identifier a label stands for. Errors: throws unknown_label.
  const std::string& id(std::string_view label) const;
  /// A namespace with the ids its labels stand for. Errors: as id().
  std::string ns(std::string_view labelled) const;

private:
  std::string label(label_kind kind, const std::string& id);
  std::string labelled_ns(std::string_view ns);
  std::string unmarked(const std::string& text);
  bool generated(const std::string& message_id) const;

  std::string given_;
  std::map<std::string, std::string, std::less<>> labels_; // letter and id → label
  std::map<std::string, std::string, std::less<>> ids_;    // label → id
  std::map<label_kind, std::size_t> counts_;
};

} // namespace troupe::conformance
