// The stand-in driver held to what it promises its users. Runs the test named by its argument;
// stand-in.test.ts sets the environment.
#include "stand_in.h"

int main(int argc, char** argv) {
  p2p::Tests tests = p2p::streamTests();
  tests.merge(p2p::memoryTests());
  const std::string name = argc > 1 ? argv[1] : "";
  return runTest(tests, argc, argv, name == "illegal" || name == "ordered");
}
