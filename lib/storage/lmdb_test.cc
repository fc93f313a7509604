#include "lib/storage/lmdb.h"

#include <lmdb.h>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

using Entries = std::vector<std::pair<std::string, std::string>>;

// Entries with keys of `key_bytes`, short and long values among each other.
Entries SomeEntries(int count, int key_bytes) {
  Entries entries;
  for (int i = 0; i < count; ++i) {
    entries.emplace_back(absl::StrFormat("%0*d", key_bytes, i),
                         std::string(i % 7 == 3 ? 9000 + i : 17 * i % 2100,
                                     static_cast<char>('a' + i % 26)));
  }
  return entries;
}

std::string Written(const Entries& entries) {
  const std::string path = testing::TempDir() + "/written.mdb";
  auto file = NewFile::Create(path);
  EXPECT_TRUE(file.ok()) << file.status();
  LmdbWriter writer((*file)->fd(), path);
  for (const auto& [key, value] : entries) {
    EXPECT_TRUE(writer.Add(key, value).ok());
  }
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_TRUE((*file)->Commit().ok());
  return path;
}

Entries Read(const std::string& bytes) {
  const auto read = ReadLmdb(bytes);
  EXPECT_TRUE(read.ok()) << read.status();
  Entries entries;
  for (const LmdbEntry& entry : *read) {
    entries.emplace_back(std::string(entry.key), std::string(entry.value));
  }
  return entries;
}

// liblmdb, with one transaction.
class Liblmdb {
 public:
  Liblmdb(const std::string& path, unsigned flags) {
    EXPECT_EQ(mdb_env_create(&environment_), 0);
    EXPECT_EQ(mdb_env_set_mapsize(environment_, size_t{1} << 28), 0);
    EXPECT_EQ(mdb_env_set_maxdbs(environment_, 2), 0);
    EXPECT_EQ(mdb_env_open(environment_, path.c_str(),
                           MDB_NOSUBDIR | MDB_NOLOCK | flags, 0600),
              0);
    EXPECT_EQ(mdb_txn_begin(environment_, nullptr, flags, &transaction_), 0);
  }
  ~Liblmdb() {
    EXPECT_EQ(mdb_txn_commit(transaction_), 0);
    mdb_env_close(environment_);
  }

  MDB_dbi Tree(const char* name = nullptr, unsigned flags = 0) {
    MDB_dbi tree = 0;
    EXPECT_EQ(mdb_dbi_open(transaction_, name, flags, &tree), 0);
    return tree;
  }
  void Put(MDB_dbi tree, std::string key, std::string value) {
    MDB_val k = {key.size(), key.data()};
    MDB_val v = {value.size(), value.data()};
    EXPECT_EQ(mdb_put(transaction_, tree, &k, &v, 0), 0);
  }
  void Delete(MDB_dbi tree, std::string key) {
    MDB_val k = {key.size(), key.data()};
    EXPECT_EQ(mdb_del(transaction_, tree, &k, nullptr), 0);
  }
  Entries All() {
    Entries entries;
    MDB_cursor* cursor = nullptr;
    EXPECT_EQ(mdb_cursor_open(transaction_, Tree(), &cursor), 0);
    MDB_val k, v;
    while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
      entries.emplace_back(
          std::string(static_cast<char*>(k.mv_data), k.mv_size),
          std::string(static_cast<char*>(v.mv_data), v.mv_size));
    }
    mdb_cursor_close(cursor);
    for (const auto& [key, value] : entries) {
      MDB_val wanted = {key.size(), const_cast<char*>(key.data())};
      EXPECT_EQ(mdb_get(transaction_, Tree(), &wanted, &v), 0) << key;
    }
    return entries;
  }

 private:
  MDB_env* environment_ = nullptr;
  MDB_txn* transaction_ = nullptr;
};

std::string NewPath(const std::string& name) {
  std::string path = testing::TempDir() + "/" + name;
  unlink(path.c_str());
  return path;
}

TEST(LmdbTest, LiblmdbReadsWhatWeWrite) {
  for (const int count : {0, 1, 2, 9, 300, 2000}) {
    for (const int key_bytes : {8, 511}) {
      const Entries entries = SomeEntries(count, key_bytes);
      const std::string path = Written(entries);
      EXPECT_EQ(Liblmdb(path, MDB_RDONLY).All(), entries) << count;
      EXPECT_EQ(Read(*ReadFile(path)), entries) << count;
    }
  }
}

// The last branch would get one child, which liblmdb asserts never to be.
TEST(LmdbTest, NoBranchHasOneChild) {
  for (int count = 2; count < 40; ++count) {
    Entries entries;
    for (int i = 0; i < count; ++i) {
      entries.emplace_back(absl::StrFormat("%0*d", 511, i),
                           std::string(1500, 'v'));
    }
    EXPECT_EQ(Liblmdb(Written(entries), MDB_RDONLY).All(), entries) << count;
  }
}

TEST(LmdbTest, LiblmdbGoesOnWithWhatWeWrote) {
  Entries entries = SomeEntries(300, 8);
  const std::string path = Written(entries);
  {
    Liblmdb file(path, 0);
    file.Put(file.Tree(), "0zzz", "new");
    file.Delete(file.Tree(), entries[0].first);
  }
  entries.erase(entries.begin());
  entries.emplace_back("0zzz", "new");
  EXPECT_EQ(Read(*ReadFile(path)), entries);
}

TEST(LmdbTest, ReadsWhatLiblmdbWrites) {
  const std::string path = NewPath("liblmdb.mdb");
  const Entries entries = SomeEntries(1000, 12);
  // In two transactions: each describes the file in another page.
  for (const size_t half : {0, 500}) {
    Liblmdb file(path, 0);
    for (size_t i = half; i < half + 500; ++i) {
      file.Put(file.Tree(), entries[i].first, entries[i].second);
    }
    if (half > 0) file.Delete(file.Tree(), entries[7].first);
  }
  Entries wanted = entries;
  wanted.erase(wanted.begin() + 7);
  EXPECT_EQ(Read(*ReadFile(path)), wanted);
}

TEST(LmdbTest, SaysWhatIsNotSupported) {
  const std::string named = NewPath("named.mdb");
  {
    Liblmdb file(named, 0);
    file.Put(file.Tree("images", MDB_CREATE), "a", "b");
  }
  EXPECT_THAT(ReadLmdb(*ReadFile(named)).status().message(),
              HasSubstr("named databases"));
  const std::string several = NewPath("several.mdb");
  {
    Liblmdb file(several, 0);
    const MDB_dbi tree = file.Tree(nullptr, MDB_DUPSORT | MDB_CREATE);
    file.Put(tree, "a", "b");
    file.Put(tree, "a", "c");
  }
  EXPECT_THAT(ReadLmdb(*ReadFile(several)).status().message(),
              HasSubstr("several values per key"));
}

TEST(LmdbTest, SaysWhatIsDamaged) {
  const std::string good = *ReadFile(Written(SomeEntries(300, 8)));
  const auto error = [](const std::string& bytes) {
    return std::string(ReadLmdb(bytes).status().message());
  };
  EXPECT_THAT(error(""), HasSubstr("is no LMDB file"));
  EXPECT_THAT(error(std::string(9000, 'x')), HasSubstr("is no LMDB file"));
  EXPECT_THAT(error(good.substr(0, good.size() / 2)),
              HasSubstr("behind the end of the file"));
  std::string changed = good;
  changed[40 + 1] = 3;  // 768 bytes.
  EXPECT_THAT(error(changed), HasSubstr("pages of 768 bytes"));
  // The only node is at the end of the last page, and begins with its size.
  changed = *ReadFile(Written({{"12345678", std::string(9000, 'v')}}));
  changed[changed.size() - 24 + 2] = 1;
  EXPECT_THAT(error(changed), HasSubstr("has a cut off value"));
  // The root's first child is the root.
  changed = good;
  const size_t root = good.size() - 4096;
  const size_t node = static_cast<uint8_t>(good[root + 16]) |
                      static_cast<uint8_t>(good[root + 17]) << 8;
  changed[root + node] = static_cast<char>(root / 4096);
  changed[root + node + 1] = static_cast<char>(root / 4096 >> 8);
  EXPECT_THAT(error(changed), HasSubstr("is in a loop"));
}

}  // namespace
}  // namespace feedrate
