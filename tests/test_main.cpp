// The only file that defines the Boost.Test module.

#define BOOST_TEST_MODULE troupe
#include <boost/test/unit_test.hpp>
