#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bcsc/any_matrix.hpp"
#include "bcsc/container.hpp"
#include "bcsc/files.hpp"
#include "bcsc_config.h"
#include "test/support/lapack.hpp"
#include "test/unit/cli_process.hpp"

// What the program must not do: lose output, leave half-written files behind, write other numbers than it read.
namespace {

using namespace bcsc::test::cli;
using nlohmann::json;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// --- A full device --------------------------------------------------------------------------------------------------

/// The commands that the program itself lists.
std::vector<std::string> commands() {
  std::istringstream help(bcsc_run("--help").out);
  std::vector<std::string> names;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    std::string first;
    std::istringstream(line) >> first;
    if (listed && line.starts_with("  ") && !line.starts_with("   ") && !first.empty()) names.push_back(first);
    if (line.starts_with("Subcommands:") || line.starts_with("SUBCOMMANDS:")) listed = true;
    if (listed && line.empty() && !names.empty()) break;
  }
  return names;
}

/// A command line that each can run here; a command that is not among them fails its test.
const std::map<std::string, std::string> something_to_do{
    {"info", "info stencil5:6,6"},
    {"spmm", "spmm stencil5:6,6 --cols 4 --device cpu --repeat 1"},
    {"solve", "solve stencil5:6,6 --device cpu"},
    {"eigs", "eigs stencil5:6,6 -k 2 --device cpu"},
    {"convert", "convert stencil5:6,6 @full.mtx"},
    {"formats", "formats"},
    {"generate", "generate stencil5:6,6 @full.mtx"},
    {"fetch", "fetch --list HB/bcsstk16 --cache @cache"},
    {"tune", "tune stencil5:6,6 --cols 2 --device cpu --effort check --cache off"},
    {"cache", "cache show --cache @tuning.txt"},
    {"calibrate", "calibrate --quick --device cpu --cache off"},
    {"devices", "devices"},
    {"kernels", "kernels"},
    {"completion", "completion bash"},
    {"man", "man"},
    {"bench", "bench stencil5:6,6 --device cpu --cols 2 --warm-only --seconds 0.001 --samples 1"}};

std::string in_place(std::string arguments) {
  for (std::size_t at; (at = arguments.find('@')) != std::string::npos;) arguments.replace(at, 1, in_scratch(""));
  return arguments;
}

class full_device : public testing::TestWithParam<std::string> {};

TEST_P(full_device, is_an_error_that_says_why) {
  const auto found = something_to_do.find(GetParam());
  ASSERT_NE(found, something_to_do.end()) << "a new command: what can it do here?";
  if (GetParam() == "eigs") BCSC_SKIP_WITHOUT_LAPACK();
  const std::string arguments = in_place(found->second);
  ASSERT_EQ(bcsc_run(arguments).code, 0) << arguments;
  for (const std::string& form : {arguments, arguments + " --json", GetParam() + " --help"}) {
    const outcome full = bcsc_run(form + " >/dev/full");
    EXPECT_EQ(full.code, 1) << form;
    EXPECT_NE(full.err.find("standard output: cannot be written: No space left on device"), std::string::npos)
        << form << "\n"
        << full.err;
    EXPECT_EQ(bcsc_run(form + " >&-").code, 1) << form << ", closed";
  }
}

INSTANTIATE_TEST_SUITE_P(commands, full_device, testing::ValuesIn(commands()),
                         [](const auto& info) { return info.param; });

TEST(full_device_of, the_program_itself) {
  EXPECT_GE(commands().size(), 9u);
  for (const char* const form : {"--help", "--version"}) {
    const outcome full = bcsc_run(std::string(form) + " >/dev/full");
    EXPECT_EQ(full.code, 1) << form;
    EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  }
}

TEST(full_device_of, a_matrix_that_is_written_there) {
  for (const char* const form :
       {"convert stencil5:60,60 - --to mtx >/dev/full", "convert stencil5:60,60 /dev/full --to rb"}) {
    const outcome full = bcsc_run(form);
    EXPECT_EQ(full.code, 1) << form;
    EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  }
}

TEST(closed_stream, takes_nothing_of_a_file) {
  const std::string out = in_scratch("closed.mtx");
  EXPECT_EQ(bcsc_run("convert stencil5:20,20 " + out + " >&-").code, 1) << "what it says cannot be said";
  EXPECT_EQ(contents(out).rfind("%%MatrixMarket", 0), 0u);
  EXPECT_EQ(bcsc::read_csr<double>(out).rows(), 400);
}

// --- Signals --------------------------------------------------------------------------------------------------------

/// From here on file systems seem to have no unnamed files (O_TMPFILE) to this process.
void refuse_unnamed_files() {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  constexpr unsigned flags = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t);  // of openat, the lower half
#else
  constexpr unsigned flags = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t) + 4;
#endif
  constexpr unsigned unnamed = O_TMPFILE & ~O_DIRECTORY;
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, unnamed, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(rules), rules};
  const bool works =
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  if (!works) _exit(99);
}

/// The program at work, with files for its streams.
class running {
 public:
  running(
      const std::vector<std::string>& arguments, const std::function<void()>& before = [] {}, int input = -1) {
    // The output of an earlier program must not be taken for this one's.
    for (const std::string& path : {out_path(), err_path()}) std::filesystem::remove(path);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ > 0) return;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_DFL);
    dup2(input >= 0 ? input : open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(open(out_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    dup2(open(err_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    before();
    std::vector<char*> argv{const_cast<char*>(BCSC_CLI)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(BCSC_CLI, argv.data());
    _exit(98);
  }
  ~running() {
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
  }
  running(const running&) = delete;
  running& operator=(const running&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const { kill(pid_, signal); }
  /// Its exit code, or minus the signal that killed it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  bool has_ended() const {
    siginfo_t state{};
    return waitid(P_PID, static_cast<id_t>(pid_), &state, WEXITED | WNOHANG | WNOWAIT) == 0 && state.si_pid == pid_;
  }
  static std::string out_path() { return in_scratch("running.out"); }
  static std::string err_path() { return in_scratch("running.err"); }

 private:
  pid_t pid_ = -1;
};

/// Asks again and again, for a minute at most, while the program runs.
bool soon(const running& program, const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    if (is_so()) return true;
    if (program.has_ended()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// Bytes of a file that the process is writing below `folder`, with a name or without.
std::uintmax_t bytes_being_written(pid_t pid, const std::filesystem::path& folder) {
  std::error_code gone;
  const std::filesystem::path open_files = "/proc/" + std::to_string(pid) + "/fd";
  for (std::filesystem::directory_iterator at(open_files, gone), end; !gone && at != end; at.increment(gone)) {
    const std::string target = std::filesystem::read_symlink(at->path(), gone).string();
    struct stat status {};
    if (!gone && target.starts_with(folder.string()) && stat(at->path().c_str(), &status) == 0 &&
        S_ISREG(status.st_mode)) {
      return static_cast<std::uintmax_t>(status.st_size);
    }
  }
  return 0;
}

bool has_unnamed_files(const std::filesystem::path& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

struct signal_case {
  int signal;
  bool unnamed;  ///< the file system has files without names
};
void PrintTo(const signal_case& c, std::ostream* out) {
  *out << strsignal(c.signal) << (c.unnamed ? ", unnamed files" : ", named files");
}

class ended_while_writing : public testing::TestWithParam<signal_case> {
 protected:
  /// Ends the program when it has written some of a file; returns its exit code.
  int end_writing(const std::vector<std::string>& arguments) {
    running program(arguments, GetParam().unnamed ? [] {} : refuse_unnamed_files);
    const bool is_writing = soon(program, [&] { return bytes_being_written(program.pid(), folder_) > 200'000; });
    EXPECT_TRUE(is_writing) << contents(running::err_path());
    program.send(GetParam().signal);
    return program.wait();
  }
  std::set<std::string> left() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }
  void SetUp() override {
    folder_ = scratch() / "writing";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
    if (GetParam().unnamed && !has_unnamed_files(folder_)) GTEST_SKIP() << "no O_TMPFILE here";
  }
  /// A matrix of some hundred megabytes of text.
  const std::string large = "banded:300000,30";
  std::filesystem::path folder_;
};

TEST_P(ended_while_writing, leaves_nothing) {
  const std::string out = folder_ / "large.mtx.gz";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"generate", large, out}, {"convert", large, out}}) {
    EXPECT_EQ(end_writing(arguments), 128 + GetParam().signal) << arguments.front();
    EXPECT_EQ(left(), std::set<std::string>()) << arguments.front();
  }
}

TEST_P(ended_while_writing, leaves_the_old_file) {
  std::ofstream(folder_ / "large.mtx") << "old";
  EXPECT_EQ(end_writing({"generate", large, folder_ / "large.mtx"}), 128 + GetParam().signal);
  EXPECT_EQ(left(), std::set<std::string>{"large.mtx"});
  EXPECT_EQ(contents(folder_ / "large.mtx"), "old");
}

TEST_P(ended_while_writing, is_not_reached_by_a_signal_that_was_ignored) {
  const std::string out = folder_ / "small.mtx";
  const int signal = GetParam().signal;
  const bool unnamed = GetParam().unnamed;
  running program({"generate", "banded:30000,30", out}, [=] {
    std::signal(signal, SIG_IGN);
    if (!unnamed) refuse_unnamed_files();
  });
  EXPECT_TRUE(soon(program, [&] { return bytes_being_written(program.pid(), folder_) > 0; }));
  program.send(signal);
  EXPECT_EQ(program.wait(), 0) << contents(running::err_path());
  EXPECT_EQ(left(), std::set<std::string>{"small.mtx"});
  EXPECT_EQ(bcsc::read_csr<double>(out).rows(), 30000);
}

TEST_P(ended_while_writing, a_file_that_may_not_grow_is_an_error_that_leaves_nothing) {
  const bool unnamed = GetParam().unnamed;
  running program({"generate", "banded:30000,30", folder_ / "small.mtx"}, [=] {
    const rlimit limit{300'000, 300'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    if (!unnamed) refuse_unnamed_files();
  });
  EXPECT_EQ(program.wait(), 1);
  EXPECT_NE(contents(running::err_path()).find("File too large"), std::string::npos) << contents(running::err_path());
  EXPECT_EQ(left(), std::set<std::string>());
}

INSTANTIATE_TEST_SUITE_P(signals, ended_while_writing,
                         testing::Values(signal_case{SIGINT, true}, signal_case{SIGTERM, true},
                                         signal_case{SIGHUP, true}, signal_case{SIGINT, false},
                                         signal_case{SIGTERM, false}, signal_case{SIGHUP, false}));

TEST(killed_while_writing, leaves_nothing_where_files_need_no_names) {
  const std::filesystem::path folder = scratch() / "killed";
  std::filesystem::create_directory(folder);
  if (!has_unnamed_files(folder)) GTEST_SKIP() << "no O_TMPFILE here";
  running program({"generate", "banded:300000,30", folder / "large.mtx"});
  EXPECT_TRUE(soon(program, [&] { return bytes_being_written(program.pid(), folder) > 200'000; }));
  program.send(SIGKILL);
  EXPECT_EQ(program.wait(), -SIGKILL);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

class ended : public testing::TestWithParam<int> {};

TEST_P(ended, while_it_waits_answers_128_and_the_signal) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  running program(
      {"info", "-"}, [] {}, ends[0]);
  ASSERT_EQ(write(ends[1], "%", 1), 1);
  int unread = 1;
  EXPECT_TRUE(soon(program, [&] { return ioctl(ends[0], FIONREAD, &unread) == 0 && unread == 0; }));
  program.send(GetParam());
  EXPECT_EQ(program.wait(), 128 + GetParam());
  close(ends[0]);
  close(ends[1]);
}

TEST_P(ended, while_it_solves_reports_and_writes_the_iterate) {
  const std::string x = in_scratch("iterate.mtx");
  std::filesystem::remove(x);
  running program({"solve", "stencil5:1200,1200", "--device", "cpu", "--tolerance", "1e-13", "--solution", x, "--json",
                   "--progress"});
  EXPECT_TRUE(soon(program, [&] { return contents(running::err_path()).find("iteration ") != std::string::npos; }))
      << contents(running::err_path());
  program.send(GetParam());
  EXPECT_EQ(program.wait(), 128 + GetParam());
  const json found = json::parse(contents(running::out_path()), nullptr, false);
  ASSERT_TRUE(found.is_object()) << contents(running::out_path());
  EXPECT_EQ(found.at("reason"), "cancelled");
  EXPECT_EQ(found.at("converged"), false);
  EXPECT_GE(found.at("iterations"), 1);
  EXPECT_LT(found.at("true_residual").at(0), 1.0);
  const auto solution = bcsc::read_dense<double>(x);
  ASSERT_EQ(solution.rows(), 1'440'000);
  EXPECT_TRUE(std::any_of(solution.data(), solution.data() + solution.rows(), [](double v) { return v != 0; }));
}

TEST_P(ended, while_it_finds_eigenvalues_reports_and_writes_them) {
  BCSC_SKIP_WITHOUT_LAPACK();
  const std::string v = in_scratch("vectors.npy");
  std::filesystem::remove(v);
  running program({"eigs", "stencil5:400,400", "-k", "2", "--device", "cpu", "--tolerance", "1e-13", "--max-iterations",
                   "100000", "--vectors", v, "--json", "--progress"});
  EXPECT_TRUE(soon(program, [&] { return contents(running::err_path()).find("iteration ") != std::string::npos; }))
      << contents(running::err_path());
  program.send(GetParam());
  EXPECT_EQ(program.wait(), 128 + GetParam());
  const json found = json::parse(contents(running::out_path()), nullptr, false);
  ASSERT_TRUE(found.is_object()) << contents(running::out_path());
  EXPECT_EQ(found.at("reason"), "cancelled");
  EXPECT_EQ(found.at("values").size(), 2u);
  EXPECT_LT(found.at("residual").at(0), 1.0);
  const auto vectors = bcsc::read_dense<double>(v);
  ASSERT_EQ(vectors.rows(), 160'000);
  EXPECT_TRUE(std::any_of(vectors.data(), vectors.data() + vectors.rows(), [](double x) { return x != 0; }));
}

INSTANTIATE_TEST_SUITE_P(signals, ended, testing::Values(SIGINT, SIGTERM, SIGHUP));

// --- Values that do not fit -----------------------------------------------------------------------------------------

struct range_case {
  const char* type;
  const char* value;
  double clamped;
};
void PrintTo(const range_case& c, std::ostream* out) { *out << c.value << " as " << c.type; }

class beyond_the_range : public testing::TestWithParam<range_case> {
 protected:
  const std::string in = write_file("beyond.mtx", std::string("%%MatrixMarket matrix coordinate real general\n3 4 3\n"
                                                              "1 1 1\n2 3 ") +
                                                      GetParam().value + "\n3 4 1e-70\n");
  const std::string out = write_file("beyond.bcsc", "old");
  const std::string arguments = "convert " + in + " " + out + " --type " + GetParam().type;
};

TEST_P(beyond_the_range, is_refused_before_anything_is_written) {
  const outcome result = bcsc_run(arguments);
  EXPECT_EQ(result.code, 1);
  for (const std::string word : {"(2, 3)", GetParam().type, "range", "--overflow"}) {
    EXPECT_NE(result.err.find(word), std::string::npos) << word << "\n" << result.err;
  }
  EXPECT_EQ(contents(out), "old");
  const json structured = bcsc_json_of_failure(arguments);
  EXPECT_EQ(structured.at("error").at("code"), "value_out_of_range");
}

TEST_P(beyond_the_range, becomes_what_is_asked_for_and_is_counted) {
  for (const std::string policy : {"inf", "clamp"}) {
    const json told = bcsc_json(arguments + " --overflow " + policy);
    EXPECT_EQ(told.at("narrowed").at("overflowed"), 1);
    EXPECT_EQ(told.at("narrowed").at("underflowed"), 1);
    const auto a = bcsc::read_csr<double>(out);
    const double sign = GetParam().value[0] == '-' ? -1 : 1;
    EXPECT_EQ(a.view().values[1], sign * (policy == "inf" ? infinity : GetParam().clamped));
    EXPECT_EQ(a.view().values[2], 0);
    const std::string text = bcsc_run(arguments + " --overflow " + policy).out;
    EXPECT_NE(text.find(std::string("values beyond the range of ") + GetParam().type + ": 1, now "), std::string::npos)
        << text;
    EXPECT_NE(text.find(std::string("values too small for ") + GetParam().type + ": 1, now 0"), std::string::npos)
        << text;
  }
}

TEST_P(beyond_the_range, is_told_by_info) {
  const json values = bcsc_json("info " + in + " --no-picture --type fp32").at("values");
  EXPECT_EQ(values.at("overflowed"), std::string(GetParam().type) == "fp32" ? 1 : 0);
  EXPECT_EQ(values.at("underflowed"), 1);
  EXPECT_EQ(values.at("min_magnitude"), 1e-70);
  EXPECT_EQ(std::max(values.at("greatest").get<double>(), -values.at("least").get<double>()),
            std::abs(std::stod(GetParam().value)));
}

INSTANTIATE_TEST_SUITE_P(types, beyond_the_range,
                         testing::Values(range_case{"fp16", "70000", 65504}, range_case{"fp16", "-1e9", 65504},
                                         range_case{"bf16", "3.4e38", 0x1.fep127},
                                         range_case{"fp32", "1e39", std::numeric_limits<float>::max()},
                                         range_case{"fp32", "-1e300", std::numeric_limits<float>::max()}));

TEST(within_the_range, nothing_is_said_of_it) {
  const json told = bcsc_json("convert stencil5:5,5 " + in_scratch("fits.bcsc") + " --type fp16");
  EXPECT_EQ(told.at("narrowed").at("overflowed"), 0);
  EXPECT_EQ(bcsc_run("convert stencil5:5,5 " + in_scratch("fits.bcsc") + " --type fp16").out.find(", now "),
            std::string::npos);
}

/// 6 x 6 with one of each kind, and rows that stay finite. The last row is empty.
std::string not_finite(double third = infinity) {
  const bcsc::csr_matrix<double> a(6, 6, {0, 2, 3, 5, 6, 8, 8}, {0, 1, 1, 2, 3, 3, 0, 4},
                                   {1, 2, third, -infinity, 4, nan, infinity, -infinity});
  const std::string path = in_scratch("not_finite.bcsc");
  bcsc::write_container(path, a);
  return path;
}

TEST(not_finite_values, are_counted_by_info) {
  const json values = bcsc_json("info " + not_finite()).at("values");
  EXPECT_EQ(values.at("nan"), 1);
  EXPECT_EQ(values.at("plus_infinity"), 2);
  EXPECT_EQ(values.at("minus_infinity"), 2);
  EXPECT_EQ(values.at("greatest"), 4);
  EXPECT_EQ(values.at("type"), "fp64");
  const std::string text = bcsc_run("info " + not_finite()).out;
  EXPECT_NE(text.find("not finite: 1 NaN, 2 +Inf, 2 -Inf"), std::string::npos) << text;
}

class not_finite_products : public testing::TestWithParam<const char*> {};

TEST_P(not_finite_products, are_compared_by_class) {
  const json found =
      bcsc_json("spmm " + not_finite() + " --device cpu --kernel each --repeat 1 --cols 5 " + GetParam());
  EXPECT_TRUE(found.contains("not_finite"));
  EXPECT_EQ(found.at("not_finite").at("nan"), 1);
  EXPECT_EQ(found.at("passed"), true) << found.dump(1);
  for (const json& r : found.at("results")) EXPECT_GT(r.at("by_class"), 0) << r.dump();
}

INSTANTIATE_TEST_SUITE_P(options, not_finite_products,
                         testing::Values("--type fp32", "--type fp64", "--type fp16", "--type bf16",
                                         "--type fp64 --layout col --beta 2", "--transpose", "--batch 2",
                                         "--alpha -1.5 --beta 0.5"));

class not_finite_factors : public testing::TestWithParam<const char*> {};

TEST_P(not_finite_factors, are_compared_by_class) {
  const json found =
      bcsc_json(std::string("spmm stencil5:7,7 --device cpu --kernel each --repeat 1 --cols 5 ") + GetParam());
  EXPECT_TRUE(found.contains("not_finite"));
  EXPECT_EQ(found.at("passed"), true) << found.dump(1);
}

INSTANTIATE_TEST_SUITE_P(options, not_finite_factors,
                         testing::Values("--alpha inf", "--alpha -inf --type fp64", "--alpha nan", "--beta inf",
                                         "--alpha inf --type fp16", "--alpha inf --beta nan"));

TEST(not_finite_values, make_no_difference_where_there_are_none) {
  EXPECT_FALSE(bcsc_json("spmm stencil5:7,7 --device cpu --repeat 1").contains("not_finite"));
}

#if BCSC_WITH_BENCHMARK
TEST(not_finite_values, are_benchmarked_and_told) {
  const std::string arguments =
      "bench " + not_finite() + " --device cpu --cols 3 --type fp32,fp64 --warm-only --seconds 0.001 --samples 1";
  const json found = bcsc_json(arguments);
  EXPECT_EQ(found.at("matrices").at(0).at("not_finite"), 5);
  EXPECT_EQ(found.at("cases").size(), 2u);
  std::int64_t by_class = 0;
  for (const json& entry : found.at("cases").at(0).at("entries")) {
    EXPECT_EQ(entry.at("status"), "ok") << entry.dump();
    by_class += entry.at("by_class").get<std::int64_t>();
  }
  EXPECT_GT(by_class, 0);
  const std::string text = bcsc_run(arguments).out;
  EXPECT_NE(text.find("not finite: "), std::string::npos) << text;
}
#endif

// --- Symmetry -------------------------------------------------------------------------------------------------------

struct symmetry_case {
  const char* symmetry;
  const char* field;
  const char* extension;
};
void PrintTo(const symmetry_case& c, std::ostream* out) {
  *out << c.symmetry << " " << c.field << " to " << c.extension;
}

class symmetric_file : public testing::TestWithParam<symmetry_case> {
 protected:
  std::string write_half() const {
    const std::string value = GetParam().field == std::string("pattern") ? "" : " 7";
    const std::string diagonal = GetParam().symmetry == std::string("skew-symmetric") ? "4 3" : "2 2";
    return write_file("half.mtx", std::string("%%MatrixMarket matrix coordinate ") + GetParam().field + " " +
                                      GetParam().symmetry + "\n4 4 3\n2 1" + value + "\n" + diagonal + value + "\n4 1" +
                                      value + "\n");
  }
};

TEST_P(symmetric_file, stays_so_where_the_format_can_hold_it) {
  const std::string in = write_half(), out = in_scratch(std::string("kept.") + GetParam().extension);
  const json told = bcsc_json("convert " + in + " " + out).at("written");
  EXPECT_EQ(told.at("symmetry"), GetParam().symmetry);
  EXPECT_EQ(told.at("field"), GetParam().field);
  EXPECT_EQ(told.at("stored_entries"), 3);
  const auto a = bcsc::read_csr<double>(in), b = bcsc::read_csr<double>(out);
  EXPECT_TRUE(std::ranges::equal(a.view().values, b.view().values));
  EXPECT_TRUE(std::ranges::equal(a.view().col_ind, b.view().col_ind));

  const json expanded = bcsc_json("convert " + in + " " + out + " --general").at("written");
  EXPECT_EQ(expanded.at("symmetry"), "general");
  EXPECT_EQ(expanded.at("stored_entries"), a.nnz());
}

TEST_P(symmetric_file, stays_so_through_a_container_which_says_so_in_both_places) {
  const std::string in = write_half(), stored = in_scratch("symmetric.bcsc"),
                    out = in_scratch(std::string("back.") + GetParam().extension);
  const auto says = [&](const std::string& symmetry) {
    const json info = bcsc_json("info " + stored);
    EXPECT_EQ(info.at("matrix").at("file").at("symmetry"), symmetry);
    EXPECT_EQ(info.at("container").at("metadata").at("symmetry"), symmetry);
  };
  bcsc_json("convert " + in + " " + stored);
  says(GetParam().symmetry);
  const json back = bcsc_json("convert " + stored + " " + out).at("written");
  EXPECT_EQ(back.at("symmetry"), GetParam().symmetry);
  EXPECT_EQ(back.at("stored_entries"), 3);
  bcsc_json("convert " + in + " " + stored + " --general");
  says("general");
}

INSTANTIATE_TEST_SUITE_P(
    files, symmetric_file,
    testing::Values(symmetry_case{"symmetric", "real", "mtx"}, symmetry_case{"symmetric", "integer", "mtx.gz"},
                    symmetry_case{"symmetric", "pattern", "mtx"}, symmetry_case{"skew-symmetric", "real", "mtx"},
                    symmetry_case{"symmetric", "real", "rb"}, symmetry_case{"symmetric", "pattern", "rb"},
                    symmetry_case{"skew-symmetric", "integer", "rb"}));

TEST(symmetry, of_another_field_is_what_is_left_of_it) {
  const std::string skew =
      write_file("skew.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 4\n3 2 -1\n");
  const std::string hermitian =
      write_file("hermitian.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 4 -5\n");
  const std::string out = in_scratch("left.mtx");
  EXPECT_EQ(bcsc_json("convert " + skew + " " + out + " --field pattern").at("written").at("symmetry"), "symmetric");
  EXPECT_EQ(bcsc_json("convert " + hermitian + " " + out + " --real-part").at("written").at("symmetry"), "symmetric");
  EXPECT_EQ(bcsc_json("convert " + skew + " " + in_scratch("left.el")).at("written").at("stored_entries"), 4);
}

TEST(symmetry, that_a_container_only_claims_is_an_error) {
  const std::string stored = in_scratch("claims.bcsc"), out = in_scratch("claims.mtx");
  bcsc_json("convert uniform:9,9,0.5 " + stored + " --meta symmetry=symmetric");
  EXPECT_EQ(bcsc_run("convert " + stored + " " + out).code, 1);
  EXPECT_EQ(bcsc_run("convert " + stored + " " + out + " --general").code, 0);
  bcsc_json("convert uniform:9,9,0.5 " + stored + " --meta symmetry=round");
  EXPECT_EQ(bcsc_run("convert " + stored + " " + out).code, 0);
}

// --- Pipes ----------------------------------------------------------------------------------------------------------

/// Small integers; no empty row or column at the edge, so that every file holds it.
const char* const small_text =
    "%%MatrixMarket matrix coordinate integer general\n5 4 8\n1 1 3\n1 4 -2\n2 2 7\n3 1 1\n3 2 4\n4 3 -5\n5 1 6\n5 4 "
    "8\n";

std::vector<std::string> written_formats() {
  std::vector<std::string> names;
  for (const bcsc::file_format_info& format : bcsc::file_formats()) {
    if (format.can_write) names.emplace_back(format.name);
  }
  return names;
}

class pipe_of : public testing::TestWithParam<std::string> {};

TEST_P(pipe_of, carries_a_format_both_ways) {
#if !BCSC_WITH_ARCHIVE
  if (GetParam() == "npz") GTEST_SKIP() << "built without libarchive";
#endif
  const std::string in = write_file("small.mtx", small_text), out = in_scratch("piped"), back = in_scratch("back.mtx");
  const std::string program = BCSC_CLI;
  const outcome result =
      shell_run("cat " + in + " | " + program + " convert - - --to " + GetParam() + " | cat >" + out);
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string straight = in_scratch("straight");
  EXPECT_EQ(bcsc_run("convert " + in + " " + straight + " --to " + GetParam()).code, 0);
  if (GetParam() == "bcsc") {
    EXPECT_EQ(bcsc::read_csr<double>(out).nnz(), 8) << "its words name the file it came from";
  } else if (GetParam() != "rutherford-boeing") {  // whose key is the file's name
    EXPECT_EQ(contents(out), contents(straight));
  }
  const outcome returned =
      shell_run("cat " + out + " | gzip -c | " + program + " convert - " + back + " --from " + GetParam());
  EXPECT_EQ(returned.code, 0) << returned.err;
  const auto a = bcsc::read_csr<double>(in), b = bcsc::read_csr<double>(back);
  EXPECT_TRUE(std::ranges::equal(a.view().row_ptr, b.view().row_ptr));
  EXPECT_TRUE(std::ranges::equal(a.view().col_ind, b.view().col_ind));
  const bool has_values = GetParam() != "smtx";
  EXPECT_TRUE(!has_values || std::ranges::equal(a.view().values, b.view().values));
}

INSTANTIATE_TEST_SUITE_P(formats, pipe_of, testing::ValuesIn(written_formats()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

struct stream_case {
  const char* what;
  std::string command;  ///< "%" the program, "@" the folder
};
void PrintTo(const stream_case& c, std::ostream* out) { *out << c.what; }

std::string shown(std::string command) {
  for (std::size_t at; (at = command.find('%')) != std::string::npos;) command.replace(at, 1, BCSC_CLI);
  return in_place(command);
}

class input_stream : public testing::TestWithParam<stream_case> {};

TEST_P(input_stream, is_read_like_a_file) {
#if !BCSC_WITH_ARCHIVE
  if (std::string_view(GetParam().what) == "archive") GTEST_SKIP() << "a build without libarchive";
#endif
  write_file("small.mtx", small_text);
  const outcome result = shell_run(shown(GetParam().command));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("5 x 4, 8 non-zeros"), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(
    streams, input_stream,
    testing::Values(
        stream_case{"pipe", "cat @small.mtx | % info -"}, stream_case{"gzip", "gzip -c @small.mtx | % info -"},
        stream_case{"by its path", "cat @small.mtx | % info /dev/stdin"},
        stream_case{"by its number", "cat @small.mtx | % info /dev/fd/0"}, stream_case{"file", "% info - <@small.mtx"},
        stream_case{"rest of a file", "{ read first; % info - --from mtx; } <<E\nfirst\n$(cat @small.mtx)\nE"},
        stream_case{"substitution", "bash -c '% info <(cat @small.mtx)'"},
        stream_case{"named pipe", "rm -f @fifo; mkfifo @fifo; cat @small.mtx >@fifo & % info @fifo"},
        stream_case{"container", "% convert @small.mtx - --to bcsc | % info -"},
        stream_case{"edge list", "% convert @small.mtx - --to el | % info - --from edge-list"},
        stream_case{"product", "cat @small.mtx | % spmm - --device cpu"},
        stream_case{"archive",
                    "cd @ && mkdir -p a && cp small.mtx a/a.mtx && cp small.mtx a/b.mtx && tar c a/b.mtx "
                    "a/a.mtx | % info -"}));

class output_stream : public testing::TestWithParam<stream_case> {};

TEST_P(output_stream, holds_the_matrix_and_nothing_else) {
  write_file("small.mtx", small_text);
  std::filesystem::remove(in_scratch("out"));
  const outcome result = shell_run(shown(GetParam().command));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(contents(in_scratch("out")), contents(in_scratch("small.mtx")));
}

INSTANTIATE_TEST_SUITE_P(
    streams, output_stream,
    testing::Values(stream_case{"pipe", "% convert @small.mtx - --to matrix-market | cat >@out"},
                    stream_case{"alias", "% convert @small.mtx - --to mtx | cat >@out"},
                    stream_case{"file", "% convert @small.mtx - --to mtx >@out"},
                    stream_case{"by its path", "% convert @small.mtx /dev/stdout --to mtx >@out"},
                    stream_case{"by its number", "% convert @small.mtx /dev/fd/3 --to mtx 3>@out >/dev/null"},
                    stream_case{"named pipe",
                                "rm -f @fifo; mkfifo @fifo; cat @fifo >@out & % convert @small.mtx @fifo --to mtx "
                                ">/dev/null; wait"}));

/// Something that writes a file: "^" stands for its path.
struct written_file {
  const char* what;
  std::string command;
  const char* extension;
  const char* beginning;  ///< of what the file holds
};
void PrintTo(const written_file& c, std::ostream* out) { *out << c.what; }

std::vector<written_file> written_files() {
  std::vector<written_file> all {
    {"matrix", "% convert stencil5:6,6 ^", ".mtx", "%%MatrixMarket"},
        {"generated", "% generate stencil5:6,6 ^", ".bcsc", "BCSC"},
        {"solution", "% solve stencil5:6,6 --device cpu --solution ^", ".npy", "\x93NUMPY"},
        {"product", "% spmm stencil5:6,6 --cols 2 --device cpu --repeat 1 --c ^", ".npz", "PK"},
        {"plot", "% solve stencil5:6,6 --device cpu --plot ^", ".svg", "<svg"},
#if BCSC_WITH_PNG
        {"picture", "% info stencil5:6,6 --no-picture --png ^", ".png", "\x89PNG"},
#endif
#if BCSC_WITH_BENCHMARK
        {"results", "% bench stencil5:6,6 --device cpu --cols 2 --warm-only --seconds 0.001 --samples 1 --out ^",
         ".json", "{"},
#endif
  };
#if !BCSC_WITH_ARCHIVE
  std::erase_if(all, [](const written_file& c) { return c.extension == std::string(".npz"); });
#endif
  return all;
}

class written : public testing::TestWithParam<written_file> {
 protected:
  written() {
    for (const std::string& used : {path, link}) std::filesystem::remove(used);
  }
  static std::string command(const std::string& file) {
    const std::string form = shown(GetParam().command);
    return std::string(form).replace(form.find('^'), 1, file);
  }

  const std::string path = in_scratch(std::string("target") + GetParam().extension),
                    link = in_scratch(std::string("link") + GetParam().extension);
};

TEST_P(written, goes_through_a_pipe_that_stays_one) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  // Held open, so that nothing waits for a reader; all of these files are smaller than what a pipe holds.
  const int end = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(end, 0);
  const outcome result = shell_run(command(path) + " >/dev/null");
  char taken[16] = {};
  EXPECT_GE(read(end, taken, sizeof taken - 1), 0);
  close(end);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::is_fifo(path)) << "it was replaced";
  EXPECT_TRUE(std::string_view(taken).starts_with(GetParam().beginning)) << taken;
}

TEST_P(written, goes_where_a_link_points) {
  for (const bool is_there : {false, true}) {
    std::filesystem::remove(link);
    std::filesystem::create_symlink(std::filesystem::path(path).filename(), link);
    EXPECT_EQ(std::filesystem::exists(path), is_there);
    const outcome result = shell_run(command(link));
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(std::filesystem::is_symlink(link)) << "it was replaced";
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path)));
    EXPECT_EQ(contents(path).substr(0, std::strlen(GetParam().beginning)), GetParam().beginning);
  }
}

TEST_P(written, says_why_it_cannot_be) {
  // Through a link of the test's own, so that whoever removes what cannot be written removes no device.
  std::filesystem::create_symlink("/proc/self/fd/1", link);
  const outcome full = shell_run(command(link) + " >/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_NE(full.err.find(link + ": cannot be written: No space left on device"), std::string::npos) << full.err;
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

INSTANTIATE_TEST_SUITE_P(files, written, testing::ValuesIn(written_files()),
                         [](const auto& info) { return info.param.what; });

TEST(output_stream_of, a_file_that_is_appended_to_keeps_what_it_held) {
  const std::string in = write_file("small.mtx", small_text), out = write_file("appended", "first\n");
  EXPECT_EQ(bcsc_run("convert " + in + " - --to mtx >>" + out).code, 0);
  EXPECT_EQ(contents(out), "first\n" + contents(in));
}

TEST(output_stream_of, a_generator_is_a_matrix) {
  const std::string out = in_scratch("generated");
  EXPECT_EQ(bcsc_run("generate stencil5:5,5 - --to mtx --symmetric >" + out).code, 0);
  EXPECT_EQ(bcsc::read_csr<double>(out).rows(), 25);
  EXPECT_EQ(bcsc::read_file_info(out).symmetry, bcsc::file_symmetry::symmetric);
}

#if BCSC_WITH_PNG
TEST(output_stream_of, a_picture_is_the_picture_alone) {
  const std::string file = in_scratch("alone.png"), piped = in_scratch("piped.png");
  const std::string arguments = "info stencil5:6,6 --no-picture --png ";
  EXPECT_EQ(bcsc_run(arguments + file).code, 0);
  for (const char* const name : {"-", "/dev/stdout"}) {
    const outcome result = bcsc_run(arguments + name + " | cat >" + piped);
    EXPECT_EQ(contents(piped), contents(file)) << name;
    EXPECT_NE(result.err.find("36 x 36"), std::string::npos) << "what it says goes elsewhere: " << result.err;
  }
}
#endif

TEST(output_stream_of, a_matrix_has_no_room_for_json) {
  const outcome result = bcsc_run("convert stencil5:5,5 - --to mtx --json");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("--json"), std::string::npos) << result.err;
  EXPECT_EQ(json::parse(result.out).at("error").at("code"), "invalid_argument");
}

class operand_stream : public testing::TestWithParam<stream_case> {};

TEST_P(operand_stream, is_read_like_a_file) {
  write_file("small.mtx", small_text);
  const std::string product = "% spmm @small.mtx --device cpu --repeat 1 ";
  ASSERT_EQ(shell_run(shown("% convert uniform:4,2,0.5 @b.mtx --format dense && " + product +
                            "--b @b.mtx --c @b.npy && " + product + "--transpose --b @b.npy --c @expected.npy"))
                .code,
            0);
  std::filesystem::remove(in_scratch("got.npy"));
  const outcome result = shell_run(shown(GetParam().command));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(contents(in_scratch("got.npy")), contents(in_scratch("expected.npy")));
}

#define BCSC_PRODUCT "% spmm @small.mtx --device cpu --repeat 1 --transpose --c @got.npy --b "
INSTANTIATE_TEST_SUITE_P(
    streams, operand_stream,
    testing::Values(
        stream_case{"pipe", "cat @b.npy | " BCSC_PRODUCT "-"},
        stream_case{"by its path", "cat @b.npy | " BCSC_PRODUCT "/dev/stdin"},
        stream_case{"file", BCSC_PRODUCT "- <@b.npy"},
        stream_case{"substitution", "bash -c '" BCSC_PRODUCT "<(cat @b.npy)'"},
        stream_case{"named pipe", "rm -f @fifo; mkfifo @fifo; cat @b.npy >@fifo & timeout 60 " BCSC_PRODUCT "@fifo"},
        stream_case{"beside the matrix",
                    "cat @b.npy | bash -c '% spmm <(cat @small.mtx) --device cpu --repeat 1 --transpose --c @got.npy "
                    "--b -'"}));
#undef BCSC_PRODUCT

TEST(operand_stream_of, a_right_hand_side_is_one) {
  const outcome result = shell_run(
      shown("% convert uniform:36,1,0 - --to mtx --format dense | % solve stencil5:6,6 --device cpu --b - --json"));
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST(operand_stream_of, standard_input_is_not_two_operands) {
  for (const char* const command :
       {"spmm - --b -", "spmm stencil5:6,6 --beta 1 --b /dev/stdin --c0 -", "solve - --b ones --x0 -",
        "solve stencil5:6,6 --b - --x0 /dev/fd/0", "eigs - --b -", "solve - --precondition amg --coordinates -"}) {
    const outcome result = bcsc_run(command);
    EXPECT_EQ(result.code, 1) << command;
    EXPECT_NE(result.err.find("are the same stream"), std::string::npos) << result.err;
  }
}

TEST(input_stream_of, text_of_an_unknown_format_says_how_to_name_it) {
  const std::string edges = "printf '0 1\n1 2\n' | " + std::string(BCSC_CLI) + " info -";
  const outcome untold = shell_run(edges);
  EXPECT_EQ(untold.code, 1);
  EXPECT_NE(untold.err.find("--from edge-list"), std::string::npos) << untold.err;
  EXPECT_EQ(shell_run(edges + " --from edge-list").code, 0);
  EXPECT_EQ(bcsc_run("info -").err.find("--from"), std::string::npos) << "an empty file is no other format";
}

TEST(input_stream_of, a_broken_matrix_is_named) {
  const outcome result = shell_run("printf '%%%%MatrixMarket matrix coordinate real general\\n2 2 1\\n1 9 1\\n' | " +
                                   std::string(BCSC_CLI) + " info -");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("/dev/stdin:3: "), std::string::npos) << result.err;
}

}  // namespace
