//! What decides the code that a compiler makes, changed behind its back: the next run's report has
//! to be that of a run without a cache, and where nothing changed, no compiler may start.

#![cfg(target_arch = "x86_64")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use litmake_needs::{here, need};

use crate::scratch::{SB, Scratch};

/// Store buffering, sequentially consistent.
pub const PIPELINE: &str = "name: stale
stages:
  - { name: tests, generate: { files: sb.litmus } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: code, compile: { from: tests, profile: mine } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target, investigate: 0 } }
";

/// Makes every order relaxed, which is a bug in `sb`.
pub const BAD: &str = "#undef __ATOMIC_SEQ_CST\n#define __ATOMIC_SEQ_CST 0\n";

/// For C++, whose header has orders of its own.
const BAD_CPP: &str = "#define memory_order_seq_cst memory_order_relaxed\n";

/// A folder in which files are replaced as package managers do it.
pub struct Place(pub Scratch);

impl Place {
    /// A pipeline, and a profile of these lines, where `%` is the folder.
    pub fn new(profile: &str) -> Place {
        let place = Place(Scratch::with(&[]));
        place.write("p.yaml", PIPELINE);
        place.write("sb.litmus", SB);
        let at = place.0.dir().display().to_string();
        let text = format!("name: mine\narch: X86_64\n{}", profile.replace('%', &at));
        place.write("profiles/mine.yaml", &text);
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    /// Writes a file, `%` being the folder; what begins like a script can be run.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // A new file in its place, as package managers do it.
        let beside = path.with_extension("new");
        std::fs::write(&beside, text.replace('%', &self.0.dir().display().to_string())).unwrap();
        if text.starts_with("#!") {
            std::fs::set_permissions(&beside, PermissionsExt::from_mode(0o755)).unwrap();
        }
        std::fs::rename(&beside, path).unwrap();
    }

    pub fn link(&self, name: &str, to: &Path) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    pub fn command(&self, cache: &str, more: &[&str]) -> Command {
        let args = ["run", "p.yaml", "--stable", "--report", "report.json", "--cache", cache];
        self.0.command(&[&args[..], more].concat())
    }

    pub fn run(&self, cache: &str) -> Told {
        let out = self.command(cache, &[]).output().unwrap();
        let report = std::fs::read_to_string(self.path("report.json")).unwrap_or_default();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        Told { status: out.status.code().unwrap_or(-1), report, said }
    }

    /// The processes that a run starts.
    pub fn processes(&self, cache: &str) -> Vec<String> {
        let log = self.path("strace.log");
        let inner = self.command(cache, &[]);
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-e", "trace=execve", "-o"]).arg(&log);
        command.arg(inner.get_program()).args(inner.get_args()).current_dir(self.0.dir());
        let status = command.stdin(Stdio::null()).output().unwrap().status;
        assert!(status.code().is_some_and(|c| c < 2), "{status}");
        let text = std::fs::read_to_string(log).unwrap();
        // The first is litmake.
        text.lines().skip(1).map(str::to_string).collect()
    }
}

#[derive(Debug)]
pub struct Told {
    pub status: i32,
    pub report: String,
    pub said: String,
}

/// Whether a profile's compiler is here; one with a `/` in its name is written by the test.
fn has_compiler(profile: &str) -> bool {
    let name = profile.lines().find_map(|l| l.strip_prefix("compiler: ")).unwrap();
    name.contains('/') || here(name)
}

/// Runs before and after a change: the second report must be another, and that of a fresh cache.
pub fn is_seen(what: &str, profile: &str, before: &dyn Fn(&Place), change: &dyn Fn(&Place)) {
    if !has_compiler(profile) {
        return;
    }
    let place = Place::new(profile);
    before(&place);
    let first = place.run("cache");
    assert_eq!(first.status, 0, "{what}: {}\n{}", first.said, first.report);
    let again = place.run("cache");
    assert_eq!(again.report, first.report, "{what}: nothing changed");
    change(&place);
    let cached = place.run("cache");
    let fresh = place.run("fresh");
    assert_ne!(fresh.status, 0, "{what}: the change changes nothing: {}", fresh.said);
    assert_eq!(cached.status, fresh.status, "{what}: {}", cached.said);
    assert_eq!(cached.report, fresh.report, "{what}");
}

/// The program behind a command, past links.
fn real(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|d| d.join(command)).find(|p| p.is_file());
    need(command, found.ok_or("it is not here")).map(|path| path.canonicalize().unwrap())
}

pub const WRAPPED: &str = "compiler: '%/cc.sh'\nargs: [-O2]\n";

#[test]
fn wrappers_and_what_they_start() {
    let wrapper = "#!/bin/sh\nexec %/real.sh \"$@\"\n";
    let sound = "#!/bin/sh\nexec gcc \"$@\"\n";
    let buggy = "#!/bin/sh\nexec gcc -include %/bad.h \"$@\"\n";
    is_seen(
        "a script that starts a script",
        WRAPPED,
        &|p| {
            p.write("bad.h", BAD);
            p.write("cc.sh", wrapper);
            p.write("real.sh", sound);
        },
        &|p| p.write("real.sh", buggy),
    );
    is_seen(
        "a link that leads elsewhere",
        WRAPPED,
        &|p| {
            p.write("bad.h", BAD);
            p.write("a.sh", sound);
            p.write("b.sh", buggy);
            p.link("cc.sh", &p.path("a.sh"));
        },
        &|p| p.link("cc.sh", &p.path("b.sh")),
    );
    is_seen(
        "a program that PATH finds sooner",
        "compiler: '%/cc.sh'\nargs: [-O2]\nenv: { PATH: '%/first:/usr/bin:/bin' }\n",
        &|p| {
            p.write("bad.h", BAD);
            p.write("cc.sh", sound);
            std::fs::create_dir(p.path("first")).unwrap();
        },
        &|p| p.write("first/gcc", "#!/bin/sh\nexec /usr/bin/gcc -include %/bad.h \"$@\"\n"),
    );
    is_seen(
        "a file that a wrapper reads",
        WRAPPED,
        &|p| {
            p.write("bad.h", BAD);
            p.write("flags", "");
            p.write("cc.sh", "#!/bin/sh\nexec gcc $(cat %/flags) \"$@\"\n");
        },
        &|p| p.write("flags", "-include %/bad.h"),
    );
    is_seen(
        "a file that a wrapper looks for",
        WRAPPED,
        &|p| {
            p.write("bad.h", BAD);
            let script = "#!/bin/sh\nif test -e %/on; then set -- -include %/bad.h \"$@\"; fi\nexec gcc \"$@\"\n";
            p.write("cc.sh", script);
        },
        &|p| p.write("on", ""),
    );
    is_seen(
        "a folder that a wrapper lists",
        WRAPPED,
        &|p| {
            p.write("all/good.h", "");
            let script = "#!/bin/sh\nfor h in %/all/*.h; do set -- -include $h \"$@\"; done\nexec gcc \"$@\"\n";
            p.write("cc.sh", script);
        },
        &|p| p.write("all/worse.h", BAD),
    );
    if here("python3") {
        is_seen(
            "a module of a wrapper in Python",
            WRAPPED,
            &|p| {
                p.write("bad.h", BAD);
                p.write("more.py", "FLAGS = []\n");
                let script = "#!/usr/bin/env python3\nimport os, sys\nsys.path.insert(0, '%')\nimport more\nos.execvp('gcc', ['gcc'] + more.FLAGS + sys.argv[1:])\n";
                p.write("cc.sh", script);
            },
            &|p| p.write("more.py", "FLAGS = ['-include', '%/bad.h']\n"),
        );
    }
}

#[test]
fn files_that_arguments_and_the_environment_name() {
    for tool in ["gcc-12", "clang-16"] {
        is_seen(
            &format!("{tool}: an included file"),
            &format!("compiler: {tool}\nargs: [-O2, -include, '%/some.h']\n"),
            &|p| p.write("some.h", ""),
            &|p| p.write("some.h", BAD),
        );
        is_seen(
            &format!("{tool}: a file that is included by one"),
            &format!("compiler: {tool}\nargs: [-O2, '-I%/inc', -include, '%/some.h']\n"),
            &|p| {
                p.write("some.h", "#include <deep.h>\n");
                p.write("inc/deep.h", "");
            },
            &|p| p.write("inc/deep.h", BAD),
        );
        is_seen(
            &format!("{tool}: a folder that comes sooner"),
            &format!("compiler: {tool}\nargs: [-O2, '-I%/one', '-I%/two', -include, '%/some.h']\n"),
            &|p| {
                p.write("some.h", "#include <deep.h>\n");
                p.write("one/other.h", "");
                p.write("two/deep.h", "");
            },
            &|p| p.write("one/deep.h", BAD),
        );
        is_seen(
            &format!("{tool}: two headers exchanged"),
            &format!("compiler: {tool}\nargs: [-O2, '-I%', -include, '%/some.h']\n"),
            &|p| {
                p.write("some.h", "#include <a/h.h>\n#ifdef SECOND\n#include <b/h.h>\n#endif\n");
                p.write("a/h.h", "#undef SECOND\n");
                p.write("b/h.h", BAD);
            },
            &|p| {
                std::fs::rename(p.path("a"), p.path("c")).unwrap();
                std::fs::rename(p.path("b"), p.path("a")).unwrap();
                std::fs::rename(p.path("c"), p.path("b")).unwrap();
            },
        );
        is_seen(
            &format!("{tool}: a response file"),
            &format!("compiler: {tool}\nargs: ['@%/args']\n"),
            &|p| {
                p.write("bad.h", BAD);
                p.write("args", "-O2");
            },
            &|p| p.write("args", "-O2 -include %/bad.h"),
        );
        is_seen(
            &format!("{tool}: a folder of the environment"),
            &format!("compiler: {tool}\nargs: [-O2]\nenv: {{ CPATH: '%/inc' }}\n"),
            &|p| p.write("inc/other.h", ""),
            &|p| p.write("inc/stdatomic.h", &format!("{BAD}#include_next <stdatomic.h>\n")),
        );
    }
    is_seen(
        "clang: a configuration file",
        "compiler: clang-16\nargs: ['--config=%/my.cfg']\n",
        &|p| {
            p.write("bad.h", BAD);
            p.write("my.cfg", "-O2\n");
        },
        &|p| p.write("my.cfg", "-O2 -include %/bad.h\n"),
    );
    is_seen(
        "gcc: a specs file",
        "compiler: gcc-12\nargs: [-O2, '-specs=%/my.specs']\n",
        &|p| {
            p.write("bad.h", BAD);
            p.write("my.specs", "*cc1_options:\n+ -O2\n\n");
        },
        &|p| p.write("my.specs", "*cc1_options:\n+ -O2 -include %/bad.h\n\n"),
    );
    is_seen(
        "gcc: a compiler proper under -B",
        "compiler: gcc-12\nargs: [-O2, '-B%/bin']\n",
        &|p| {
            p.write("bad.h", BAD);
            p.write("bin/other", "");
        },
        &|p| {
            let out = Command::new("gcc-12").arg("-print-prog-name=cc1").output().unwrap();
            let cc1 = String::from_utf8(out.stdout).unwrap();
            p.write(
                "bin/cc1",
                &format!("#!/bin/sh\nexec {} \"$@\" -include %/bad.h\n", cc1.trim()),
            );
        },
    );
    is_seen(
        "gcc: a library that is loaded first",
        "compiler: gcc-12\nargs: [-O2]\nenv: { LD_PRELOAD: '%/own.so' }\n",
        &|p| shared_library(p, ""),
        &|p| {
            p.write("inc/stdatomic.h", &format!("{BAD}#include_next <stdatomic.h>\n"));
            shared_library(p, "setenv(\"CPATH\", \"%/inc\", 1);");
        },
    );
}

/// A library that does something before the program that loads it begins.
fn shared_library(place: &Place, what: &str) {
    let text = format!(
        "#include <stdlib.h>\n__attribute__((constructor)) static void f(void) {{ {what} }}\n"
    );
    place.write("own.c", &text);
    let (to, from) = (place.path("own.so.new"), place.path("own.c"));
    let made = Command::new("gcc").args(["-shared", "-fPIC", "-o"]).arg(&to).arg(from).status();
    assert!(made.unwrap().success());
    std::fs::rename(to, place.path("own.so")).unwrap();
}

#[test]
fn the_compilers_own_headers_and_parts() {
    is_seen(
        "clang: its own header",
        "compiler: clang-16\nargs: [-O2, '-resource-dir=%/res', -nostdlibinc, -ffreestanding]\n",
        &|p| {
            let out = Command::new("clang-16").arg("-print-resource-dir").output().unwrap();
            let resources = String::from_utf8(out.stdout).unwrap();
            let from = Path::new(resources.trim()).canonicalize().unwrap().join("include");
            let made = Command::new("cp").arg("-rL").arg(from).arg(p.path("include")).status();
            assert!(made.unwrap().success());
            std::fs::create_dir(p.path("res")).unwrap();
            std::fs::rename(p.path("include"), p.path("res/include")).unwrap();
        },
        &|p| {
            let header = p.path("res/include/stdatomic.h");
            let text = std::fs::read_to_string(&header).unwrap();
            p.write("res/include/stdatomic.h", &format!("{BAD}{text}"));
        },
    );
    is_seen(
        "g++: a header of the library",
        "compiler: g++-12\nlanguage: c++\nargs: [-O2, -std=c++11, -isystem, '%/inc']\n",
        &|p| p.write("inc/other", ""),
        &|p| p.write("inc/atomic", &format!("#include_next <atomic>\n{BAD_CPP}")),
    );
    is_seen(
        "g++: cc1plus",
        "compiler: g++-12\nlanguage: c++\nargs: [-O2, -std=c++11, '-B%/bin']\n",
        &|p| {
            let out = Command::new("g++-12").arg("-print-prog-name=cc1plus").output().unwrap();
            let cc1 = String::from_utf8(out.stdout).unwrap();
            p.write("bin/cc1plus", &format!("#!/bin/sh\nexec {} \"$@\"\n", cc1.trim()));
        },
        &|p| {
            p.write("bad.h", &format!("#include <atomic>\n{BAD_CPP}"));
            let text = std::fs::read_to_string(p.path("bin/cc1plus")).unwrap();
            p.write("bin/cc1plus", &format!("{} -include %/bad.h\n", text.trim_end()));
        },
    );
}

#[test]
fn a_cache_between_us_and_the_compiler() {
    let Some(ccache) = real("ccache") else { return };
    let profile = format!(
        "compiler: '{}'\nargs: ['%/real.sh', -O2]\nenv: {{ CCACHE_DIR: '%/ccache', HOME: '%' }}\n",
        ccache.display()
    );
    is_seen(
        "ccache: the compiler behind it",
        &profile,
        &|p| {
            p.write("bad.h", BAD);
            p.write("real.sh", "#!/bin/sh\nexec gcc \"$@\"\n");
        },
        &|p| p.write("real.sh", "#!/bin/sh\nexec gcc -include %/bad.h \"$@\"\n"),
    );
    is_seen(
        "ccache under the compiler's name",
        "compiler: '%/bin/gcc'\nargs: [-O2]\nenv: { PATH: '%/bin:%/real:/usr/bin:/bin', CCACHE_DIR: '%/ccache' }\n",
        &|p| {
            p.write("bad.h", BAD);
            p.link("bin/gcc", &ccache);
            p.write("real/gcc", "#!/bin/sh\nexec /usr/bin/gcc \"$@\"\n");
        },
        &|p| p.write("real/gcc", "#!/bin/sh\nexec /usr/bin/gcc -include %/bad.h \"$@\"\n"),
    );
}

/// A wrapper that turns the cache on itself succeeds, and what it keeps there is no input: it is said,
/// and nothing is done again for it.
#[test]
fn a_wrapper_with_a_cache_of_its_own() {
    if real("ccache").is_none() {
        return;
    }
    let place = Place::new(WRAPPED);
    let script =
        "#!/bin/sh\nunset CCACHE_DISABLE\nexport CCACHE_DIR=%/kept\nexec ccache gcc \"$@\"\n";
    place.write("cc.sh", script);
    let said = format!("what it keeps itself in {}", place.path("kept").display());
    for _ in 0..2 {
        let told = place.run("cache");
        assert_eq!(told.status, 0, "{}", told.said);
        assert_eq!(told.said.matches(&said).count(), 1, "{}", told.said);
    }
    // Another test, and what ccache knows of the first one.
    place.write("sb.litmus", &SB.replace("x, 1", "x, 2"));
    assert_eq!(place.run("cache").status, 0);
    // What ccache kept before litmake looked at it the first time is refused, or right.
    let told = place.run("other");
    assert!(told.status == 0 || told.report.contains("changes again and again"), "{}", told.said);
    if here("strace") {
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(place.run("cache").status, 0);
        assert_eq!(place.processes("cache"), Vec::<String>::new());
    }
}

#[test]
fn other_languages() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    let sysroot = String::from_utf8(sysroot.stdout).unwrap().trim().to_string();
    let rustc = format!("{sysroot}/bin/rustc");
    let lib = "lib/rustlib/x86_64-unknown-linux-gnu/lib";
    is_seen(
        "rustc: its libraries",
        &format!(
            "compiler: '{rustc}'\nlanguage: rust\nargs: ['--sysroot=%/sys', '--target=x86_64-unknown-linux-gnu', -Copt-level=2]\n"
        ),
        &|p| {
            std::fs::create_dir_all(p.path("sys").join(lib)).unwrap();
            for entry in std::fs::read_dir(Path::new(&sysroot).join(lib)).unwrap() {
                let path = entry.unwrap().path();
                let name = format!("sys/{lib}/{}", path.file_name().unwrap().to_string_lossy());
                p.link(&name, &path);
            }
        },
        &|p| {
            for entry in std::fs::read_dir(p.path("sys").join(lib)).unwrap() {
                let path = entry.unwrap().path();
                if path.to_string_lossy().contains("/libcore-") {
                    std::fs::remove_file(&path).unwrap();
                    std::fs::write(&path, "no library").unwrap();
                }
            }
        },
    );
    is_seen(
        "rustc: a wrapper",
        "compiler: '%/rustc.sh'\nlanguage: rust\nargs: ['--target=x86_64-unknown-linux-gnu', -Copt-level=2]\n",
        &|p| p.write("rustc.sh", &format!("#!/bin/sh\nexec {rustc} \"$@\"\n")),
        &|p| {
            let script = format!(
                "#!/bin/sh\ntest -f test.rs && sed -i 's/SeqCst/Relaxed/g' test.rs\nexec {rustc} \"$@\"\n"
            );
            p.write("rustc.sh", &script);
        },
    );
}

/// The commands after the compiler are looked up as it is: the first of a name on the way counts.
#[test]
fn a_later_command_that_appears_earlier_on_the_way() {
    if !here("gcc-12") {
        return;
    }
    let place = Place::new("compiler: gcc-12\nargs: [-O2]\nthen: 'litmake-copies {in} {out}'\n");
    place.write("two/litmake-copies", "#!/bin/sh\nexec cp \"$1\" \"$2\"\n");
    let path = std::env::var("PATH").unwrap();
    let way = format!("{}:{}:{path}", place.path("one").display(), place.path("two").display());
    let status = |cache: &str| {
        let out = place.command(cache, &[]).env("PATH", &way).output().unwrap();
        out.status.code()
    };
    assert_eq!(status("cache"), Some(0));
    place.write("one/litmake-copies", "#!/bin/sh\nexit 1\n");
    assert_eq!((status("cache"), status("fresh")), (Some(3), Some(3)));
}

#[test]
fn inputs_that_a_profile_names() {
    if !here("gcc-12") {
        return;
    }
    let place = Place::new("compiler: gcc-12\nargs: [-O2]\ninputs: [../server, ../version]\n");
    place.write("server/a", "1");
    place.write("version", "1");
    let ran = |place: &Place| {
        let out = place.command("cache", &["--dry-run"]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{text}");
        assert_eq!(place.run("cache").status, 0);
        !text.contains("nothing to run")
    };
    assert!(ran(&place));
    assert!(!ran(&place));
    place.write("version", "2");
    assert!(ran(&place), "a file");
    place.write("server/deep/b", "1");
    assert!(ran(&place), "a file in a folder");
    assert!(!ran(&place));
    std::fs::remove_file(place.path("version")).unwrap();
    let told = place.run("cache");
    assert_eq!(told.status, 3);
    assert!(told.report.contains("the profile mine names the input"), "{}", told.report);
}

#[test]
fn who_cannot_be_seen_is_named_once() {
    if !here("python3") {
        return;
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "#!/usr/bin/env python3\nimport os, socket, sys\nsocket.create_connection(('127.0.0.1', {port}))\nos.execvp('gcc', ['gcc'] + sys.argv[1:])\n"
    );
    let place = Place::new(WRAPPED);
    place.write("cc.sh", &script);
    let told = place.run("cache");
    let line = format!("another program, at 127.0.0.1 port {port}");
    assert_eq!(told.said.matches(&line).count(), 1, "{}", told.said);
    assert!(told.said.contains("`inputs`"), "{}", told.said);
    assert_eq!(place.run("cache").said.matches(&line).count(), 1, "from what is remembered too");
    let named = Place::new(&format!("{WRAPPED}inputs: ['%/cc.sh']\n"));
    named.write("cc.sh", &script);
    assert!(!named.run("cache").said.contains(&line), "whoever names inputs answers for them");
}

/// A compiler that exchanges itself or makes links to its files whenever it is used is another one each
/// time. The results of the others count.
#[test]
fn a_compiler_that_never_stays_the_same_is_one_error() {
    let exchanges = "echo '#' >> %/new; cp %/new %/newer; mv %/newer %/flags";
    let links = "ln -f %/flags %/link";
    for change in [exchanges, links] {
        let place = Place::new(WRAPPED);
        let both = PIPELINE.replace(
            "- { name: code, compile: { from: tests, profile: mine } }",
            "- { name: code, matrix: { p: [mine, other] }, compile: { from: tests, profile: '${p}' } }",
        );
        place.write("p.yaml", &both);
        place.write(
            "profiles/other.yaml",
            "name: other\narch: X86_64\ncompiler: gcc\nargs: [-O2]\n",
        );
        place.write("flags", "");
        place.write("new", "");
        let script = format!(
            "#!/bin/sh
if grep -q 'store.*seq_cst' test.c 2>/dev/null; then {change}; fi
cat %/flags > /dev/null
exec gcc \"$@\"
"
        );
        place.write("cc.sh", &script);
        let told = place.run("cache");
        assert_eq!(told.status, 3, "{}", told.said);
        let report: serde_json::Value = serde_json::from_str(&told.report).unwrap();
        assert_eq!(report["verdict"]["judged"], 1, "{}", told.report);
        let errors = report["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{}", told.report);
        let message = errors[0]["message"].as_str().unwrap();
        assert!(message.contains("flags changes again and again while the run is on"), "{message}");
    }
}

/// Commands that make a pipeline of their own go on where a compiler looks further for some tests, or does not work in
/// namespaces of its own.
#[test]
fn a_compiler_that_looks_further_is_asked_again_by_commands_too() {
    for script in [
        "if grep -q -e seq_cst -e SEQ_CST test.c 2>/dev/null; then cat %/flags > /dev/null; fi",
        "case $(cat /proc/self/uid_map) in *4294967295*) ;; *) exit 1;; esac",
    ] {
        let place = Place::new(WRAPPED);
        place.write("flags", "");
        place.write("cc.sh", &format!("#!/bin/sh\n{script}\nexec gcc \"$@\"\n"));
        let args = ["check", "--cache", "cache", "--profile", "profiles/mine.yaml", "sb.litmus"];
        for round in 0..2 {
            let (status, said) = place.0.litmake(&args);
            assert_eq!(status, 0, "{script} {round}: {said}");
            let further = said.matches("looks further").count();
            assert!(further <= 1 - round, "{script} {round}: {said}");
        }
        place.write("flags", "other");
        assert_eq!(place.0.litmake(&args).0, 0);
    }
}

#[test]
fn what_did_not_change_starts_nothing() {
    if !here("strace") {
        return;
    }
    for profile in [
        "compiler: gcc-12\nargs: [-O2]\n",
        "compiler: clang-16\nargs: [-O2]\n",
        "compiler: g++-12\nlanguage: c++\nargs: [-O2, -std=c++11]\n",
        "compiler: rustc\nlanguage: rust\nargs: ['--target=x86_64-unknown-linux-gnu', -Copt-level=2]\n",
        WRAPPED,
    ] {
        if !has_compiler(profile) {
            continue;
        }
        let place = Place::new(profile);
        place.write("cc.sh", "#!/bin/sh\nexec gcc \"$@\"\n");
        // What was written a moment ago is not remembered.
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert_eq!(place.run("cache").status, 0, "{profile}");
        let started = place.processes("cache");
        assert!(started.is_empty(), "{profile}: {started:#?}");
        // Another inode and other times, the same content.
        let copy = place.path("copy");
        std::fs::copy(place.path("cc.sh"), &copy).unwrap();
        std::fs::rename(&copy, place.path("cc.sh")).unwrap();
        let started = place.processes("cache");
        assert!(started.is_empty(), "{profile}, touched: {started:#?}");
    }
}
