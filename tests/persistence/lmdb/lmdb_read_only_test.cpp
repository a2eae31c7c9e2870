// The LMDB saver that is opened for reading alone.
#include "tests/persistence/lmdb/lmdb_saver_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string_view>

namespace troupe {

namespace {

using test::require_error;
using test::temporary_directory;

template <class T> void require_refusal(const result<T>& r, errc code, std::string_view words) {
  require_error(r, code);
  BOOST_TEST(r.error().message().find(words) != std::string::npos, r.error().message());
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(persistence_lmdb_read_only, test::lmdb_saver_fixture)

BOOST_AUTO_TEST_CASE(a_store_opened_for_reading_alone_is_read_and_not_changed) {
  temporary_directory dir;
  auto data = dir.path() / "data";
  open(data)->put({"t", "", ""}, nth_put(1)).value();
  std::filesystem::remove(data / "troupe.mdb-lock");
  auto before = file_bytes(data / "troupe.mdb");
  {
    auto s = open(data, {.read_only = true});
    BOOST_TEST(number_of(*s, "t") == 1);
    BOOST_TEST(s->threads().value().size() == 1u);
    BOOST_TEST(s->prune({"t"}, {.keep_latest = 0, .dry_run = true}).value().checkpoints == 1u);
    require_refusal(s->put({"t", "", ""}, nth_put(2)), errc::storage_failed, "opened read-only");
    require_refusal(s->delete_thread("t"), errc::storage_failed, "opened read-only");
    require_refusal(open_lmdb_saver(data), errc::invalid_config, "read-only");
    BOOST_TEST(number_of(*s, "t") == 1);
  }
  BOOST_TEST((file_bytes(data / "troupe.mdb") == before));
  BOOST_TEST(number_of(*open(data), "t") == 1);
}

BOOST_AUTO_TEST_CASE(a_reader_alone_sees_what_a_writer_of_this_process_stores) {
  temporary_directory dir;
  auto writer = open(dir.path());
  auto reader = open(dir.path(), {.read_only = true});
  writer->put({"t", "", ""}, nth_put(1)).value();
  BOOST_TEST(number_of(*reader, "t") == 1);
}

BOOST_AUTO_TEST_CASE(reading_alone_makes_neither_a_directory_nor_a_file) {
  temporary_directory dir;
  require_refusal(open_lmdb_saver(dir.path() / "none", {.read_only = true}), errc::storage_failed,
                  "none");
  require_refusal(open_lmdb_saver(dir.path(), {.read_only = true}), errc::storage_failed,
                  "troupe.mdb");
  BOOST_TEST(std::filesystem::is_empty(dir.path()));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace troupe
