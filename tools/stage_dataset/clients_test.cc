// Sources on other machines: real curl with a real server, and fake clients for
// clouds that tests cannot reach, which record their arguments.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "lib/tar/builder.h"
#include "tools/stage_dataset/tool_testing.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;
using tar::Builder;

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

  // A client that writes each of its arguments as a line, prints `describe` if
  // one of them is `asked`, and otherwise sends the archive.
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
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
  HttpServer server(SmallTar("web"));
  const ToolRun run = Stage(server.Url("/set.tar"), {"--format=jsonl"});
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

std::string ManyFiles(char text) {
  Builder builder;
  // Far more than waits to be written at once.
  for (int i = 0; i < 300; ++i) {
    builder.File(std::to_string(i), std::string(200000, text));
  }
  return builder.Finish();
}

// A weak ETag stands for bytes that only mean the same: nothing continues with
// it, so that no folder has files of two versions.
TEST_F(ClientsTest, AWeakEtagIsNoVersion) {
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
  HttpServer server(ManyFiles('x'));
  for (const std::string etag : {"W/\"one\"", "\"one\""}) {
    const bool is_weak = etag[0] == 'W';
    server.SetBody(ManyFiles('x'), etag);
    server.Be("/broken");
    EXPECT_EQ(Stage(server.Url("/set.tar")).exit_code, 2);
    server.Be("/set.tar");
    if (is_weak) server.SetBody(ManyFiles('y'), etag);
    const ToolRun run = Stage(server.Url("/set.tar"));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err.find("going on") == std::string::npos, is_weak);
    for (const auto& [name, text] : ReadTree(dest_)) {
      EXPECT_EQ(text[0], is_weak ? 'y' : 'x') << name;
    }
    EXPECT_EQ(
        Stage(server.Url("/set.tar")).err.find("already") == std::string::npos,
        is_weak);
  }
}

TEST_F(ClientsTest, AnObjectThatChangesIsNotStaged) {
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
  // A client between us and the server shows what we ask for.
  HttpServer server(SmallTar("web"));
  WriteFile(folder_ / "bin/curl", "#!/bin/sh\nprintf '%s\\n' \"$@\" >>" +
                                      (folder_ / "log") +
                                      "\nexec /usr/bin/curl \"$@\"\n");
  chmod((folder_ / "bin/curl").c_str(), 0755);
  path_ = (folder_ / "bin") + ":/usr/bin:/bin";
  ASSERT_EQ(Stage(server.Url("/set.tar")).exit_code, 0);
  EXPECT_NE(Log().find("--header\nIf-Match: \"one\"\n"), std::string::npos)
      << Log();
  // A server that does not look at it has another object afterwards.
  StandIn("curl", "--head", "");
  WriteFile(folder_ / "bin/curl",
            "#!/bin/sh\nfor a; do [ \"$a\" = --head ] && exec printf "
            "'HTTP/1.1 200\\r\\nContent-Length: 3072\\r\\nETag: \"%s\"\\r\\n' "
            "\"$(date +%N)\"; done\nexec cat " +
                (folder_ / "set.tar") + "\n");
  const ToolRun run = Stage("https://h/set.tar");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("changed while it was staged"), std::string::npos)
      << run.err;
  EXPECT_FALSE(HasSentinel());
}

TEST_F(ClientsTest, ASilentServerIsGivenUp) {
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
  HttpServer server(ManyFiles('x'));
  const ToolRun mute = Stage(server.Url("/mute"), {"--timeout=1"});
  EXPECT_EQ(mute.exit_code, 2);
  EXPECT_NE(mute.err.find("curl did not end in 1 s"), std::string::npos)
      << mute.err;
  const ToolRun silent = Stage(server.Url("/silent"), {"--timeout=1"});
  EXPECT_EQ(silent.exit_code, 2);
  EXPECT_NE(silent.err.find("bytes came in 1 s; run again to go on"),
            std::string::npos)
      << silent.err;
  WriteFile(folder_ / "x.tar", ManyFiles('x'));
  server.SetBody(RunProgram({"gzip", "-c", folder_ / "x.tar"}).out, "\"gz\"");
  const ToolRun packed = Stage(server.Url("/silent"), {"--timeout=1"});
  EXPECT_NE(packed.err.find("bytes came in 1 s"), std::string::npos)
      << packed.err;
  EXPECT_FALSE(HasSentinel());
}

TEST_F(ClientsTest, WritesNoSecretAnywhere) {
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
  HttpServer server(SmallTar("web"));
  const auto signed_url = [&](const std::string& path,
                              const std::string& signature) {
    std::string url = server.Url(path) +
                      "?id=object7&X-Amz-Signature=" + signature +
                      "&token=" + signature;
    return url.insert(url.find("//") + 2, "me:hunter2" + signature + "@");
  };
  std::string all;
  const auto stage = [&](const std::string& url,
                         std::vector<std::string> more = {}) {
    more.push_back("--format=jsonl");
    const ToolRun run = Stage(url, more);
    all += run.out + run.err;
    for (const char* name :
         {"/.stage_dataset.done", "/.stage_dataset.journal"}) {
      all += ReadFile(dest_ + name);
    }
    return run;
  };
  ASSERT_EQ(stage(signed_url("/set.tar", "sesame1")).exit_code, 0) << all;
  EXPECT_NE(all.find("?id=***&X-Amz-Signature=***"), std::string::npos) << all;
  // Signed again, it is still the same object; another id is another one.
  EXPECT_NE(stage(signed_url("/set.tar", "sesame2")).err.find("already"),
            std::string::npos);
  std::string other = signed_url("/set.tar", "sesame1");
  other.replace(other.find("object7"), 7, "object8");
  EXPECT_EQ(stage(other).err.find("already"), std::string::npos);
  // Failures: no such object, a transfer that breaks off, a wrong size, a
  // wrong checksum, a mistake in the flags.
  for (const char* path : {"/none.tar", "/broken"}) {
    EXPECT_NE(stage(signed_url(path, "sesame3")).exit_code, 0) << path;
  }
  const std::string good = signed_url("/set.tar", "sesame4");
  EXPECT_EQ(stage(good, {"--expected-bytes=1"}).exit_code, 2);
  EXPECT_EQ(stage(good, {"--sha256=" + std::string(64, '0')}).exit_code, 2);
  all += RunTool({"--sorce=" + good, "--dest=" + dest_}).err;
  all += RunTool({good, "--dest=" + dest_}).err;
  all += RunTool({"--source=ftp" + good.substr(4), "--dest=" + dest_}).err;
  EXPECT_EQ(all.find("hunter2"), std::string::npos) << all;
  EXPECT_EQ(all.find("sesame"), std::string::npos) << all;
  EXPECT_EQ(all.find("object7"), std::string::npos) << all;
}

// A client may repeat its arguments.
TEST_F(ClientsTest, HidesSecretsInAClientsWords) {
  StandIn("curl", "--nothing", "");
  WriteFile(folder_ / "bin/curl",
            "#!/bin/sh\necho \"cannot get $*\" >&2\nexit 22\n");
  const ToolRun run = Stage("https://me:hunter2@h/x.tar?sig=sesame");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("cannot get"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("hunter2"), std::string::npos) << run.err;
  EXPECT_EQ(run.err.find("sesame"), std::string::npos) << run.err;
}

// Everybody on the way could read and change what comes over http.
TEST_F(ClientsTest, FollowsNoRedirectionFromHttpsToHttp) {
  StandIn("curl", "--head", "HTTP/1.1 200\r\nContent-Length: 3072\r\n\r\n");
  ASSERT_EQ(Stage("https://h/set.tar").exit_code, 0);
  EXPECT_NE(Log().find("--proto-redir\n=https\n"), std::string::npos) << Log();
}

TEST_F(ClientsTest, FollowsRedirections) {
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
  HttpServer server(SmallTar("web"));
  ASSERT_EQ(Stage(server.Url("/moved"), {"--expected-bytes=3072"}).exit_code,
            0);
  EXPECT_NE(Stage(server.Url("/moved")).err.find("already"), std::string::npos);
}

TEST_F(ClientsTest, UnpacksWhatItFetches) {
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
  WriteFile(folder_ / "x.tar", SmallTar("packed"));
  HttpServer server(RunProgram({"gzip", "-c", folder_ / "x.tar"}).out);
  ASSERT_EQ(Stage(server.Url("/set.tar"), {"--sha256=compute"}).exit_code, 0);
  EXPECT_EQ(ReadFile(dest_ + "/a"), "packed");
}

TEST_F(ClientsTest, SaysWhatCurlSaid) {
  if (!Have("curl")) GTEST_SKIP() << "curl is not installed";
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

// Who writes an object names its metadata, also like what GCS calls a version.
TEST_F(ClientsTest, MetadataIsNoVersion) {
  for (const char* etag : {"e1", "e2"}) {
    StandIn("aws", "head-object",
            std::string("{\"ContentLength\": 3072, \"ETag\": \"") + etag +
                "\", \"Metadata\": {\"generation\": \"7\"}}");
    const ToolRun run = Stage("s3://bucket/key.tar");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err.find("already"), std::string::npos) << run.err;
  }
}

TEST_F(ClientsTest, FetchesByGcloud) {
  StandIn("gcloud", "describe",
          "{\"etag\": \"x\", \"generation\": \"17\", \"size\": 3072}");
  ASSERT_EQ(Stage("gs://bucket/set.tar").exit_code, 0);
  EXPECT_NE(Log().find("storage\ncat\ngs://bucket/set.tar#17\n"),
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
  EXPECT_NE(Log().find("-q\ncat\ngs://b/o#18\n"), std::string::npos) << Log();
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
