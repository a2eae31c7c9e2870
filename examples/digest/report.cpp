// report: totals, most frequent terms, longest sections, and a table of all files.
#include "report.hpp"

#include "files.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace digest {

namespace {

constexpr std::size_t terms_max = 20;
constexpr std::size_t sections_max = 10;
constexpr std::size_t terms_per_row_max = 5;
constexpr std::size_t excerpt_lines = 12;

using facts_list = std::vector<const file_facts*>;

// Text for a table, escaped so that it can't end the cell or add markup.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '[')
      out += '\\';
    out += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return out;
}

std::string number(std::int64_t n) {
  return std::to_string(n);
}

std::string row(std::initializer_list<std::string> cells) {
  std::string out = "|";
  for (const auto& c : cells)
    out += " " + c + " |";
  return out + "\n";
}

facts_list by_path(const state& s, bool readable) {
  facts_list out;
  for (const auto& facts : s.results)
    if (facts.problem.empty() == readable)
      out.push_back(&facts);
  std::ranges::sort(out, {}, [](const file_facts* f) { return std::string_view{f->file}; });
  return out;
}

std::string totals(const state& s, const facts_list& read, const facts_list& unread) {
  std::int64_t headings = 0;
  for (const auto* f : read)
    headings += f->headings;
  auto size_max = std::to_string(file_size_bytes_max >> 20);
  return "# Digest\n\n| | |\n|---|---:|\n" + row({"Files", number(std::ssize(read))})
         + row({"Words", number(s.words)}) + row({"Headings", number(headings)})
         + row({"Not readable", number(std::ssize(unread))})
         + row({"Left out: binary", number(s.binary)})
         + row({"Left out: over " + size_max + " MiB", number(s.large)});
}

std::string term_table(const state& s) {
  auto terms = most_frequent(s.terms, terms_max);
  if (terms.empty())
    return {};
  auto out = "\n## Most frequent terms\n\nOf the " + number(terms_per_file_max)
             + " most frequent ones of each file.\n\n| Term | Times |\n|---|---:|\n";
  for (const auto& [term, count] : terms)
    out += row({cell(term), number(count)});
  return out;
}

std::string section_table(facts_list read) {
  std::erase_if(read, [](const file_facts* f) { return f->section_words == 0; });
  if (read.empty())
    return {};
  std::ranges::stable_sort(read, std::ranges::greater{}, &file_facts::section_words);
  read.resize(std::min(read.size(), sections_max));
  std::string out = "\n## Longest sections\n\n| Section | File | Words |\n|---|---|---:|\n";
  for (const auto* f : read)
    out += row({cell(f->section), cell(f->file), number(f->section_words)});
  return out;
}

std::string term_words(const file_facts& facts) {
  std::string out;
  for (const auto& [term, count] : most_frequent(facts.terms, terms_per_row_max))
    out += (out.empty() ? "" : ", ") + cell(term);
  return out;
}

std::string file_table(const facts_list& read) {
  if (read.empty())
    return {};
  std::string out = "\n## Files\n\n| File | Words | Headings | Longest section | Terms |\n"
                    "|---|---:|---:|---|---|\n";
  for (const auto* f : read)
    out +=
      row({cell(f->file), number(f->words), number(f->headings), cell(f->section), term_words(*f)});
  return out;
}

std::string problem_list(const facts_list& unread) {
  if (unread.empty())
    return {};
  std::string out = "\n## Not readable\n\n";
  for (const auto* f : unread)
    out += "- " + cell(f->file) + ": " + cell(f->problem) + "\n";
  return out;
}

} // namespace

std::string write_report(const state& s) {
  auto read = by_path(s, true);
  auto unread = by_path(s, false);
  return totals(s, read, unread) + term_table(s) + section_table(read) + file_table(read)
         + problem_list(unread);
}

std::string excerpt_of(const std::string& report) {
  std::size_t end = 0;
  for (std::size_t lines = 0; lines < excerpt_lines && end < report.size(); ++lines)
    end = std::min(report.find('\n', end), report.size() - 1) + 1;
  return report.substr(0, end) + (end < report.size() ? "…\n" : "");
}

} // namespace digest
