// lmdb_pages: reads pages with the layout of LMDB 0.9 (MDB_page, MDB_meta, MDB_db, MDB_node in its
// mdb.c).
#include "persistence/lmdb/lmdb_pages.hpp"

#include "persistence/lmdb/lmdb_env.hpp"
#include "persistence/record/record.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

namespace {

using page_number = std::uint64_t;

constexpr std::size_t page_head = 16;
constexpr std::size_t node_head = 8;
constexpr std::size_t key_size_max = 511;
constexpr std::uint16_t depth_max = 32; // as LMDB's cursors
constexpr page_number first_page = 2;   // after the two meta pages
constexpr page_number no_page = ~page_number{0};

enum page_flags : std::uint16_t { branch = 1, leaf = 2, overflow = 4, meta = 8, flags_known = 15 };
constexpr std::uint16_t node_is_big = 1;  // its data is on pages of its own
constexpr std::uint16_t node_is_tree = 2; // its data is a tree, its key the name

// MDB_db: one tree.
struct tree {
  std::uint32_t page_size; // of the first tree: the file's
  std::uint16_t flags;
  std::uint16_t depth;
  std::uint64_t branch_pages;
  std::uint64_t leaf_pages;
  std::uint64_t overflow_pages;
  std::uint64_t entries;
  page_number root;
};
static_assert(sizeof(tree) == 48);

// MDB_meta, after a page's head.
struct meta_page {
  std::uint32_t magic;
  std::uint32_t format;
  std::uint64_t address;
  std::uint64_t map_size;
  tree free_pages; // by transaction: lists of page numbers
  tree records;
  page_number last_page;
  std::uint64_t transaction;
};
static_assert(sizeof(meta_page) == 136);

template <class T> T load(const char* at) {
  T x;
  std::memcpy(&x, at, sizeof x);
  return x;
}

// Ends a walk over pages. Thrown here, caught in check_store_file.
struct damage {
  page_number page;
  const char* what;
};

// The bytes of a file, mapped for the lifetime of the object.
class mapped_file {
public:
  explicit mapped_file(const std::filesystem::path& file) {
    fd_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat is {};
    if (fd_ < 0 || fstat(fd_, &is) != 0) {
      failed_ = errno;
      return;
    }
    size_ = static_cast<std::size_t>(is.st_size);
    if (size_ == 0)
      return;
    auto* map = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
    failed_ = map == MAP_FAILED ? errno : 0;
    bytes_ = failed_ ? nullptr : static_cast<const char*>(map);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() {
    if (bytes_)
      munmap(const_cast<char*>(bytes_), size_);
    if (fd_ >= 0)
      close(fd_);
  }
  int failed() const noexcept { return failed_; }
  std::string_view bytes() const noexcept { return {bytes_, bytes_ ? size_ : 0}; }

private:
  int fd_ = -1;
  int failed_ = 0;
  std::size_t size_ = 0;
  const char* bytes_ = nullptr;
};

meta_page newest_meta(std::string_view file) {
  std::optional<meta_page> newest;
  std::size_t page_size = 0;
  for (page_number n = 0; n < first_page; ++n) {
    auto at = n * page_size;
    if (file.size() < at + page_head + sizeof(meta_page))
      throw damage{n, "the file ends within it"};
    if ((load<std::uint16_t>(&file[at + 10]) & flags_known) != page_flags::meta)
      throw damage{n, "not a meta page"};
    auto m = load<meta_page>(&file[at + page_head]);
    page_size = m.free_pages.page_size;
    if (m.magic != 0xbeefc0de || m.format != 1 || page_size < 256 || page_size > 0x8000
        || (page_size & (page_size - 1)) != 0)
      throw damage{n, "not a meta page of LMDB 0.9"};
    if (newest && newest->free_pages.page_size != page_size)
      throw damage{n, "the metas have different sizes of pages"};
    if (!newest || newest->transaction < m.transaction)
      newest = m;
  }
  return *newest;
}

struct node {
  std::string_view key;
  std::string_view data; // of a leaf
  page_number child = 0; // of a branch
  bool is_tree = false;  // of a leaf: a named tree
};

class checker {
public:
  checker(std::string_view file, const meta_page& m)
    : file_{file},
      page_size_{m.free_pages.page_size},
      pages_{m.last_page + 1} {
    if (m.last_page < first_page - 1 || pages_ > file.size() / page_size_)
      throw damage{m.last_page, "the file ends before it"};
    seen_.resize(pages_);
  }

  template <class Visit> void check(const tree& of, bool keys_are_numbers, Visit visit) {
    counted_ = {};
    last_key_.reset();
    keys_are_numbers_ = keys_are_numbers;
    // The flags of the first tree are those of the file, too.
    auto flags = keys_are_numbers ? MDB_INTEGERKEY | MDB_NOSUBDIR : 0;
    if (of.flags != flags || of.depth > depth_max)
      throw damage{0, "a tree of another kind"};
    if ((of.root == no_page) != (of.depth == 0))
      throw damage{0, "a tree without a root"};
    if (of.root != no_page)
      walk(of.root, of.depth, visit);
    if (counted_.entries != of.entries || counted_.branch_pages != of.branch_pages
        || counted_.leaf_pages != of.leaf_pages || counted_.overflow_pages != of.overflow_pages)
      throw damage{of.root, "the tree below it has lost or gained pages or entries"};
  }

  /// Marks a page as used. Each page may be used once.
  void take(page_number n) {
    if (n < first_page || n >= pages_)
      throw damage{n, "beyond the end of the file"};
    if (seen_[n])
      throw damage{n, "used twice"};
    seen_[n] = true;
  }

  /// The named trees that were found since the last call.
  std::vector<tree> take_named() { return std::exchange(named_, {}); }

private:
  const char* page(page_number n) const { return &file_[n * page_size_]; }

  const char* take_page(page_number n, unsigned kind) {
    take(n);
    const auto* p = page(n);
    if (load<page_number>(p) != n || load<std::uint16_t>(p + 10) != kind)
      throw damage{n, "a page of another place or kind"};
    return p;
  }

  bool is_before(std::string_view a, std::string_view b) const {
    return keys_are_numbers_ ? load<std::uint64_t>(a.data()) < load<std::uint64_t>(b.data())
                             : a < b;
  }

  template <class Visit> void walk(page_number n, unsigned depth, Visit& visit) {
    const auto* p = take_page(n, depth > 1 ? branch : leaf);
    auto lower = load<std::uint16_t>(p + 12), upper = load<std::uint16_t>(p + 14);
    if (lower < page_head || lower > upper || upper > page_size_ || lower % 2 != 0)
      throw damage{n, "its bounds are not valid"};
    std::size_t count = (lower - page_head) / 2;
    if (count < (depth > 1 ? 2u : 1u))
      throw damage{n, "it has too few entries"};
    ++(depth > 1 ? counted_.branch_pages : counted_.leaf_pages);
    for (std::size_t i = 0; i < count; ++i) {
      auto entry = node_at(n, p, i, upper, depth > 1);
      if (depth > 1) {
        if (i > 0) { // LMDB ignores the first key of a branch
          pass(n, entry.key);
          last_key_is_bound_ = true;
        }
        walk(entry.child, depth - 1, visit);
      } else {
        pass(n, entry.key);
        ++counted_.entries;
        if (!entry.is_tree)
          visit(n, entry.key, entry.data);
      }
    }
  }

  // Keys rise. Only the first key below a branch's key may be equal to that key.
  void pass(page_number n, std::string_view key) {
    if (keys_are_numbers_ && key.size() != sizeof(std::uint64_t))
      throw damage{n, "a key that is not a number"};
    auto rises = !last_key_ || is_before(*last_key_, key)
                 || (last_key_is_bound_ && !is_before(key, *last_key_));
    if (!rises)
      throw damage{n, "its keys are out of order"};
    last_key_ = key;
    last_key_is_bound_ = false;
  }

  node node_at(page_number n, const char* p, std::size_t i, std::size_t upper, bool in_branch) {
    std::size_t at = load<std::uint16_t>(p + page_head + 2 * i);
    if (at < upper || at + node_head > page_size_ || at % 2 != 0)
      throw damage{n, "an entry is outside of it"};
    std::uint64_t low = load<std::uint16_t>(p + at), high = load<std::uint16_t>(p + at + 2);
    std::uint64_t flags = load<std::uint16_t>(p + at + 4);
    std::size_t key_size = load<std::uint16_t>(p + at + 6);
    auto left = page_size_ - at - node_head;
    if (key_size > left || key_size > key_size_max || (key_size == 0 && !(in_branch && i == 0)))
      throw damage{n, "a key is too long"};
    node out{.key = {p + at + node_head, key_size}, .data = {}};
    if (in_branch) {
      out.child = low | high << 16 | flags << 32;
      return out;
    }
    auto size = static_cast<std::size_t>(low | high << 16);
    left -= key_size;
    const auto* data = p + at + node_head + key_size;
    if (flags == 0 && size <= left) {
      out.data = {data, size};
    } else if (flags == node_is_tree && size == sizeof(tree) && size <= left) {
      named_.push_back(load<tree>(data));
      out.is_tree = true;
    } else if (flags == node_is_big && left >= sizeof(page_number)) {
      out.data = big_data(load<page_number>(data), size);
    } else {
      throw damage{n, "data is outside of it"};
    }
    return out;
  }

  std::string_view big_data(page_number first, std::size_t size) {
    const auto* p = take_page(first, overflow);
    std::uint64_t count = load<std::uint32_t>(p + 12);
    if (count == 0 || count > pages_ - first || size > count * page_size_ - page_head)
      throw damage{first, "data is longer than its pages"};
    for (auto n = first + 1; n < first + count; ++n)
      take(n);
    counted_.overflow_pages += count;
    return {p + page_head, size};
  }

  std::string_view file_;
  std::size_t page_size_;
  page_number pages_;
  std::vector<bool> seen_;
  tree counted_{};
  bool keys_are_numbers_ = false;
  std::vector<tree> named_; // trees found in the tree that was walked
  std::optional<std::string_view> last_key_;
  bool last_key_is_bound_ = false;
};

store_extent check_pages(std::string_view file, bool records_too) {
  auto m = newest_meta(file);
  checker pages{file, m};
  store_extent extent;
  auto record = [&](page_number n, std::string_view key, std::string_view data) {
    if (records_too && !open_flagged_record(data, key, kind_of(data)))
      throw damage{n, "a record does not match its checksum"};
    ++extent.records;
  };
  auto check_records = [&](const tree& of) {
    pages.check(of, false, record);
    extent.pages += of.branch_pages + of.leaf_pages + of.overflow_pages;
    return pages.take_named();
  };
  for (const auto& named : check_records(m.records))
    if (!check_records(named).empty())
      throw damage{named.root, "a tree within a named tree"};
  pages.check(m.free_pages, true, [&](page_number n, std::string_view, std::string_view data) {
    constexpr auto word = sizeof(page_number);
    auto count = data.size() < word ? 0 : load<std::uint64_t>(data.data());
    if (data.size() < word || count > data.size() / word - 1)
      throw damage{n, "a list of free pages is malformed"};
    auto above = no_page; // page numbers fall
    for (std::size_t i = 1; i <= count; ++i) {
      auto free = load<page_number>(&data[i * word]);
      if (free >= above)
        throw damage{n, "a list of free pages is out of order"};
      pages.take(above = free);
    }
  });
  if (newest_meta(file).transaction != m.transaction)
    throw troupe::error{errc::storage_locked,
                        "check the store: the file was written to during the check"};
  return extent;
}

} // namespace

result<store_extent> check_store_file(const std::filesystem::path& file, bool records_too) {
  mapped_file mapped{file};
  if (mapped.failed())
    return lmdb_error(mapped.failed(), "check the store", file);
  if (mapped.bytes().empty())
    return empty_file_error("check the store", file);
  try {
    return check_pages(mapped.bytes(), records_too);
  } catch (const damage& found) {
    return troupe::error{errc::checkpoint_corrupt,
                         "check the store: page " + std::to_string(found.page) + ": " + found.what
                           + ": " + file.string() + ": it is damaged: restore a copy"};
  } catch (const troupe::error& err) {
    return troupe::error{err.code(), err.message() + ": " + file.string() + ": try again"};
  }
}

} // namespace troupe
