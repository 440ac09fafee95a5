// Bootstraps a clone before anything is installed; plain JavaScript without dependencies, like the files in setup/.
//   node kernel/setup.mjs setup                            sets up what is missing
//   node kernel/setup.mjs start [--machine M] [options]    the same, then JupyterLab on notebooks/ (options go to JupyterLab)
//   node kernel/setup.mjs start --headless [--machine M]   instead runs chapter 01 and writes its report; needs no Python
//   node kernel/setup.mjs test [filter…]                   sets up what is missing, then runs the test suites
//   node kernel/setup.mjs test:gpu [filter…]               the same with the suites of test/gpu/, which need a GPU
//   node kernel/setup.mjs bench NAME [options]             the same, then a benchmark of test/bench/
//   node kernel/setup.mjs site [CHAPTER…] [options]       the same, then the course as static pages in reports/site
//   node kernel/setup.mjs build                            only TypeScript and the figures' library
// This first file stays readable for old versions of Node.js, so that they can say what is wrong.
const NEEDED = [20, 19];
const [major, minor] = process.versions.node.split(".").map(Number);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `p2plab needs Node.js ${NEEDED.join(".")} or later; this is ${process.versions.node} (${process.execPath}).\n` +
      "  → Install a newer one: https://nodejs.org, or conda install -c conda-forge nodejs.\n",
  );
  process.exitCode = 1;
} else {
  import("./setup/commands.mjs").then((commands) => commands.main(process.argv.slice(2)));
}
