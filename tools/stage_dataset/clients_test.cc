// Sources on other machines: real curl against a real server, and stand-ins for
// the clients of clouds that no test can reach, which record their arguments.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "lib/tar/builder.h"
#include "tools/stage_dataset/http_server.h"
#include "tools/stage_dataset/run_tool.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;

std::string SmallTar(const std::string& text) {
  return tar::Builder().File("a", text).File("b", "2").Finish();
}

class ClientsTest : public testing::Test {
 protected:
  ToolRun Stage(const std::string& source, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"--source=" + source,
                                          "--dest=" + dest_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunTool(arguments, -1, {{"PATH", path_}});
  }
  bool HasSentinel() const {
    return fs::exists(dest_ + "/.stage_dataset.done");
  }
  bool HaveCurl() const {
    return RunProgram({"sh", "-c", "command -v curl"}).exit_code == 0;
  }

  // A client that writes each of its arguments as a line, answers `describe`
  // when one of them is `asked`, and else sends the archive.
  void StandIn(const std::string& name, const std::string& asked,
               const std::string& describe) {
    WriteFile(folder_ / "set.tar", SmallTar("cloud"));
    WriteFile(folder_ / "describe", describe);
    WriteFile(folder_ / ("bin/" + name),
              "#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\" >>" + (folder_ / "log") +
                  "\nfor a; do [ \"$a\" = " + asked + " ] && exec cat " +
                  (folder_ / "describe") + "; done\nexec cat " +
                  (folder_ / "set.tar") + "\n");
    chmod((folder_ / ("bin/" + name)).c_str(), 0755);
    path_ = (folder_ / "bin") + ":/usr/bin:/bin";
  }
  std::string Log() { return ReadFile(folder_ / "log"); }

  TempFolder folder_;
  const std::string dest_ = folder_ / "dest";
  std::string path_ = getenv("PATH");
};

TEST_F(ClientsTest, FetchesByCurl) {
  if (!HaveCurl()) GTEST_SKIP() << "curl is not installed";
  HttpServer server(SmallTar("web"));
  const ToolRun run = Stage(server.Url("/set.tar"), {"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(ReadFile(dest_ + "/a"), "web");
  EXPECT_EQ(server.gets(), 1);
  EXPECT_NE(Stage(server.Url("/set.tar")).err.find("already"),
            std::string::npos);
  EXPECT_EQ(server.gets(), 1) << "the same size and ETag: not fetched again";
  server.SetBody(SmallTar("new"), "\"two\"");
  ASSERT_EQ(Stage(server.Url("/set.tar")).exit_code, 0);
  EXPECT_EQ(ReadFile(dest_ + "/a"), "new");
}

TEST_F(ClientsTest, FollowsRedirections) {
  if (!HaveCurl()) GTEST_SKIP() << "curl is not installed";
  HttpServer server(SmallTar("web"));
  ASSERT_EQ(Stage(server.Url("/moved"), {"--expected-bytes=3072"}).exit_code,
            0);
  EXPECT_NE(Stage(server.Url("/moved")).err.find("already"), std::string::npos);
}

TEST_F(ClientsTest, UnpacksWhatItFetches) {
  if (!HaveCurl()) GTEST_SKIP() << "curl is not installed";
  WriteFile(folder_ / "x.tar", SmallTar("packed"));
  HttpServer server(RunProgram({"gzip", "-c", folder_ / "x.tar"}).out);
  ASSERT_EQ(Stage(server.Url("/set.tar"), {"--sha256=compute"}).exit_code, 0);
  EXPECT_EQ(ReadFile(dest_ + "/a"), "packed");
}

TEST_F(ClientsTest, SaysWhatCurlSaid) {
  if (!HaveCurl()) GTEST_SKIP() << "curl is not installed";
  HttpServer server(SmallTar(std::string(500000, 'x')));
  const ToolRun missing = Stage(server.Url("/nothing"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_NE(missing.err.find("404"), std::string::npos) << missing.err;
  const ToolRun broken = Stage(server.Url("/broken"));
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_NE(broken.err.find("curl failed"), std::string::npos) << broken.err;
  EXPECT_FALSE(HasSentinel());
  const ToolRun size = Stage(server.Url("/set.tar"), {"--expected-bytes=1"});
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_EQ(server.gets(), 1) << "checked before fetching";
}

TEST_F(ClientsTest, GivesTheUrlToNoShell) {
  StandIn("curl", "--head", "HTTP/1.1 200 OK\r\nContent-Length: 3072\r\n\r\n");
  const std::string url = "https://h/a b;touch${IFS}" + (folder_ / "pwned") +
                          ";$(touch " + (folder_ / "pwned") + ")'\"[1-9]";
  ASSERT_EQ(Stage(url).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "pwned"));
  EXPECT_NE(Log().find("\n" + url + "\n"), std::string::npos) << Log();
  EXPECT_NE(Log().find("\n--globoff\n"), std::string::npos) << Log();
}

TEST_F(ClientsTest, FetchesByAws) {
  StandIn("aws", "head-object",
          "{\"ContentLength\": 3072, \"ETag\": \"\\\"e1\\\"\"}");
  ASSERT_EQ(Stage("s3://bucket/some/key.tar").exit_code, 0);
  EXPECT_EQ(ReadFile(dest_ + "/a"), "cloud");
  EXPECT_NE(Log().find("s3api\nhead-object\n--bucket\nbucket\n--key\n"
                       "some/key.tar\n"),
            std::string::npos)
      << Log();
  EXPECT_NE(Log().find("s3\ncp\n--only-show-errors\n"
                       "s3://bucket/some/key.tar\n-\n"),
            std::string::npos)
      << Log();
  EXPECT_NE(Stage("s3://bucket/some/key.tar").err.find("already"),
            std::string::npos);
  EXPECT_EQ(Stage("s3://bucket").exit_code, 1);
}

TEST_F(ClientsTest, FetchesByGcloud) {
  StandIn("gcloud", "describe",
          "{\"etag\": \"x\", \"generation\": \"17\", \"size\": 3072}");
  ASSERT_EQ(Stage("gs://bucket/set.tar").exit_code, 0);
  EXPECT_NE(Log().find("storage\ncat\ngs://bucket/set.tar\n"),
            std::string::npos)
      << Log();
  EXPECT_NE(ReadFile(dest_ + "/.stage_dataset.done").find("version 17"),
            std::string::npos);
}

TEST_F(ClientsTest, FetchesByGsutilWithoutGcloud) {
  StandIn("gsutil", "stat",
          "gs://b/o:\n  Content-Length: 3072\n  Generation: 18\n");
  path_ = (folder_ / "bin") + ":/bin";
  if (fs::exists("/bin/gcloud")) GTEST_SKIP() << "gcloud is in /bin";
  ASSERT_EQ(Stage("gs://b/o").exit_code, 0);
  EXPECT_NE(Log().find("-q\ncat\ngs://b/o\n"), std::string::npos) << Log();
}

TEST_F(ClientsTest, NamesTheClientThatIsMissing) {
  path_ = folder_ / "nowhere";
  for (const auto& [url, client] :
       {std::pair("https://h/x", "curl"), std::pair("gs://b/o", "gcloud"),
        std::pair("s3://b/k", "aws")}) {
    const ToolRun run = Stage(url);
    EXPECT_EQ(run.exit_code, 2) << url;
    EXPECT_NE(run.err.find(std::string("program ") + client), std::string::npos)
        << run.err;
  }
}

TEST_F(ClientsTest, NoticesAnObjectThatChangedInBetween) {
  StandIn("aws", "head-object", "{\"ContentLength\": 99, \"ETag\": \"e\"}");
  const ToolRun run = Stage("s3://bucket/key");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("3072 bytes instead of 99"), std::string::npos)
      << run.err;
  EXPECT_FALSE(HasSentinel());
}

}  // namespace
}  // namespace feedrate
