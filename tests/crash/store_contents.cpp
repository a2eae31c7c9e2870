#include "tests/crash/store_contents.hpp"

#include <lmdb.h>

#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace crash {

namespace {

constexpr unsigned trees_max = 16;

void check(int code) {
  if (code != MDB_SUCCESS)
    throw std::runtime_error{std::string{"read the contents: "} + mdb_strerror(code)};
}

std::string_view view(const MDB_val& bytes) {
  return {static_cast<const char*>(bytes.mv_data), bytes.mv_size};
}

class reader {
public:
  // Without a lock file: nobody else has the store open.
  explicit reader(const std::string& file) {
    MDB_env* env = nullptr;
    check(mdb_env_create(&env));
    env_.reset(env);
    check(mdb_env_set_maxdbs(env, trees_max));
    check(mdb_env_open(env, file.c_str(), MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK, 0600));
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn));
    txn_.reset(txn);
  }

  std::string contents() {
    std::string out;
    std::vector<std::string> names;
    MDB_dbi main = 0;
    check(mdb_dbi_open(txn_.get(), nullptr, 0, &main));
    read(main, out, &names);
    for (const auto& name : names) {
      MDB_dbi tree = 0;
      auto code = mdb_dbi_open(txn_.get(), name.c_str(), 0, &tree);
      if (code == MDB_INCOMPATIBLE) // a record, not a tree
        continue;
      check(code);
      read(tree, out, nullptr);
    }
    return out;
  }

private:
  static void add(std::string& to, std::string_view bytes) {
    to.append(std::to_string(bytes.size())).append(1, ':').append(bytes);
  }

  // `names`: the keys of the tree, some of which may name trees.
  void read(MDB_dbi tree, std::string& out, std::vector<std::string>* names) {
    MDB_cursor* opened = nullptr;
    check(mdb_cursor_open(txn_.get(), tree, &opened));
    std::unique_ptr<MDB_cursor, decltype(&mdb_cursor_close)> cursor{opened, mdb_cursor_close};
    MDB_val key{};
    MDB_val data{};
    int code = 0;
    while ((code = mdb_cursor_get(opened, &key, &data, MDB_NEXT)) == MDB_SUCCESS) {
      add(out, view(key));
      add(out, view(data));
      if (names && view(key).find('\0') == std::string_view::npos)
        names->emplace_back(view(key));
    }
    check(code == MDB_NOTFOUND ? MDB_SUCCESS : code);
  }

  std::unique_ptr<MDB_env, decltype(&mdb_env_close)> env_{nullptr, mdb_env_close};
  std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> txn_{nullptr, mdb_txn_abort};
};

} // namespace

std::string store_contents(const std::string& file) {
  return reader{file}.contents();
}

} // namespace crash
