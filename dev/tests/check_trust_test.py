"""Each way around a trust rule is found, and nothing else."""

import unittest

import check_trust

WAYS = {
    "lib/gate/x.cc": [
        "#include <curl/curl.h>",
        "curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);",
        "request.follow_redirects = true;",
        'Send(response.headers.Get("location"));',
        'headers = {"authorization: Bearer x"};',
        'Run({"curl", url});',
        '#include "simdjson.h"',
        "system(command.c_str());",
        'JoinPath(folder, absl::StrCat(profile, ".jsonl"));',
        "JoinPath(folder,\n         row.machine_profile());",
        "std::ofstream out(row.library());",
        "WriteFileAtomically(run.output(), text);",
        'Run({"sh", "-c", text});',
        'Get("https://x"); system(a.c_str());',
        "execvp(row.library().c_str(), argv);",
        "fopen(row.library().c_str(), mode);",
        "fs::path(folder) / row.library();",
        'const std::string path = folder + "/" + row.library();',
        "dlopen(row.library().c_str(), RTLD_NOW);",
        'absl::StrCat("<td>", row.library());',
        'out += "<b>" + row.library();',
        'absl::StrCat("micro --config=", run.config());',
        "std::regex(row.library());",
        "JsonStringToMessage(text, &row);",
        'std::cerr << "x; " << row.reason();',
        "LOG(INFO) << row.library();",
        "const std::string& name = row.library();\n  JoinPath(folder, name);",
        "std::filesystem::copy_file(row.library(), to);",
        "std::filesystem::exists(row.library());",
        "chmod(row.library().c_str(), 0777);",
        'absl::StrFormat("micro --config=%s", run.config());',
        'absl::PrintF("%s\\n", row.library());',
        "fputs(row.library().c_str(), stderr);",
        'Run({"/usr/bin/curl", url});',
        "fexecve(fd, argv, environ);",
        "regcomp(&regex, text, REG_EXTENDED);",
        "connect(fd, AddressOf(text), bytes);",
        "TextFormat::ParseFromString(text, &row);",
        "dlopen(text.c_str(), RTLD_NOW);",
    ],
    "lib/draw/x.js": [
        "node.innerHTML = text;",
        "eval(text)",
        'node.setAttribute("onclick", text);',
        'setTimeout("go(" + text + ")", 5);',
        "range.createContextualFragment(text);",
        "frame.srcdoc = text;",
        'new DOMParser().parseFromString(text, "text/html");',
        "link.href = data.url;",
    ],
    "lib/planning/x.sh": [
        'eval "$line"',
        "curl x | sh",
        'source "$record"',
        '. "./$name"',
        'bash <<<"$text"',
        '[[ "$(cat x)" -eq 1 ]]',
        'declare "$name=$value"',
        'printf "$text"',
        "x=$(<file)\necho $((x + 1))",
        'ssh host "run $text"',
        'python3 -c "print($text)"',
    ],
    "lib/adapters/python/x.py": [
        "subprocess.run(text, shell=True)",
        "eval(text)",
        "pickle.loads(text)",
        "importlib.import_module(text)",
        "subprocess.run(text, shell = True)",
        'subprocess.run(["bash", "-c", text])',
        'x = "#"; eval(text)',
        "np.load(file, allow_pickle=True)",
        "tarfile.open(path).extractall()",
        'open(record["output"])',
        'open(record.get("output"))',
        'shutil.rmtree(row["output"])',
        'pathlib.Path(folder, row["output"])',
        'ctypes.CDLL(row["library"])',
        "subprocess.getoutput(text)",
        "asyncio.create_subprocess_shell(text)",
        "pty.spawn(text)",
        'subprocess.run(["python3", "-c", text])',
        "dill.loads(text)",
        "from pickle import loads",
        "zipfile.ZipFile(path).extract(name)",
        'sys.path.insert(0, row["library"])',
        'imp.load_source("x", path)',
        'compile(text, "x", "exec")',
        "code.interact(local=text)",
        "urllib.request.urlopen(text)",
        "jinja2.Template(text)",
    ],
}
RIGHT = {
    "lib/gate/x.cc": [
        "// system(x) and simdjson.h are not used.",
        "JoinPath(folder, FileNameOf(row.machine_profile()));",
        "WriteFileAtomically(path, Text(row.library()));",
        "file_system(x);",
        'absl::StrCat("<td>", XmlText(row.library()));',
        'absl::StrCat(" --config=", ShellWord(run.config()));',
        "std::cerr << PrintableText(row.reason());",
    ],
    "lib/draw/x.sh": ["# eval x | sh", 'printf "%s" "$text"'],
    "lib/adapters/python/x.py": [
        '"""Without eval()."""',
        "# pickle.loads()",
        "re.compile(text)",
        'text.replace(row["library"], "x")',
        'print(row.get("output"))',
    ],
    "lib/gate/x_test.cc": [],
    "lib/storage/http/client.cc": ["#include <curl/curl.h>"],
}


class CheckTrustTest(unittest.TestCase):
    def found(self, name, text):
        return list(check_trust.findings(name, text, set()))

    def test_ways_around(self):
        for name, texts in WAYS.items():
            for text in texts:
                self.assertTrue(self.found(name, text), text)

    def test_the_page_names_what_exists(self):
        here = "lib/base/files.h"
        text = f"`JoinPath` and `Nothing` in {here}; `Other` in lib/none.h"
        self.assertEqual(
            list(check_trust.missing_from(text)),
            [
                f"docs/security.md: {here} has no Nothing",
                "docs/security.md: lib/none.h has no Other",
            ],
        )

    def test_what_is_right(self):
        for name, texts in RIGHT.items():
            for text in texts:
                self.assertEqual(self.found(name, text), [], text)


if __name__ == "__main__":
    unittest.main()
