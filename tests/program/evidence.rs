//! All ways in which a compiler can look at its machine, in a table: for each, a change that leaves
//! the content of all files that are read as it was. A kept cache has to report what a fresh one
//! does. And changes in the middle of a run, which has to end as if they had been there before.

#![cfg(target_arch = "x86_64")]

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use litmake::engine::store::{Store, StoreOptions};
use litmake::profile::Profiles;
use litmake::profile::files::Disk;
use litmake::stage::compilers::Compilers;
use litmake::toolchain::kind::Kind;
use litmake::toolchain::runtime::Runtime;
use litmake_needs::here;

use crate::scratch::{SB, Scratch};
use crate::stale::{BAD, PIPELINE, Place, WRAPPED, is_seen};

/// Arguments that make every order relaxed.
const WRONG: &str = "-U__ATOMIC_SEQ_CST -D__ATOMIC_SEQ_CST=0";

/// A wrapper that compiles wrongly if a command of the shell succeeds.
fn wrong_if(condition: &str) -> String {
    format!("#!/bin/sh\nif {condition}; then set -- {WRONG} \"$@\"; fi\nexec gcc \"$@\"\n")
}

/// The same for tests that are unlike the one with which compilers are identified. The compiler looks
/// at nothing for that one.
fn wrong_later_if(condition: &str) -> String {
    wrong_if(&format!("{LATER} && {{ {condition}; }}"))
}

/// Whether a test is compiled, and not what identifies a compiler.
const LATER: &str = "grep -q 'store.*seq_cst' test.c 2> /dev/null";

fn mode(place: &Place, name: &str, mode: u32) {
    std::fs::set_permissions(place.path(name), PermissionsExt::from_mode(mode)).unwrap();
}

fn folder(place: &Place, name: &str) {
    std::fs::create_dir_all(place.path(name)).unwrap();
}

fn remove(place: &Place, name: &str) {
    std::fs::remove_file(place.path(name)).unwrap();
}

/// A name that nobody else has in `/dev/shm`; the file is gone with the value.
struct Shared(PathBuf);

impl Shared {
    fn new(what: &str) -> Shared {
        Shared(PathBuf::from(format!("/dev/shm/litmake-test-{}-{what}", std::process::id())))
    }

    fn named(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

type Change = fn(&Place);

/// A name, the condition in the wrapper, what is there before, and the change.
const LOOKS: &[(&str, &str, Change, Change)] = &[
    ("a file that appears", "[ -e %/on ]", |_| {}, |p| p.write("on", "")),
    ("a file that goes", "[ ! -e %/on ]", |p| p.write("on", ""), |p| remove(p, "on")),
    ("a folder that appears", "[ -d %/on ]", |_| {}, |p| folder(p, "on")),
    (
        "a folder in the place of a file",
        "[ -d %/on ]",
        |p| p.write("on", ""),
        |p| {
            remove(p, "on");
            folder(p, "on");
        },
    ),
    (
        "a link in the place of an equal file",
        "[ -L %/on ]",
        |p| {
            p.write("on", "x");
            p.write("same", "x");
        },
        |p| p.link("on", &p.path("same")),
    ),
    (
        "a link that turns to an equal file",
        "[ \"$(readlink %/on)\" = %/two ]",
        |p| {
            p.write("one", "x");
            p.write("two", "x");
            p.link("on", &p.path("one"));
        },
        |p| p.link("on", &p.path("two")),
    ),
    (
        "a working folder behind a link that turns",
        "(cd %/at && [ -e ./on ])",
        |p| {
            folder(p, "one");
            p.write("two/on", "");
            p.link("at", &p.path("one"));
        },
        |p| p.link("at", &p.path("two")),
    ),
    ("a file that gets content", "[ -s %/on ]", |p| p.write("on", ""), |p| p.write("on", "x")),
    (
        "a file of another size",
        "[ \"$(stat -t %/on | cut -d' ' -f2)\" = 2 ]",
        |p| p.write("on", "x"),
        |p| p.write("on", "xx"),
    ),
    ("a file that may be run", "[ -x %/on ]", |p| p.write("on", "x"), |p| mode(p, "on", 0o755)),
    (
        "a file with other permissions",
        "[ \"$(stat -t %/on | cut -d' ' -f4)\" = 8124 ]",
        |p| p.write("on", "x"),
        |p| mode(p, "on", 0o444),
    ),
    (
        "a folder with one file more",
        "[ \"$(ls %/all | wc -l)\" = 2 ]",
        |p| p.write("all/one", ""),
        |p| p.write("all/two", ""),
    ),
    (
        "a file that is renamed in a listed folder",
        "[ \"$(ls %/all)\" = two ]",
        |p| p.write("all/one", ""),
        |p| std::fs::rename(p.path("all/one"), p.path("all/two")).unwrap(),
    ),
    (
        "a link in the place of a file, in a listed folder",
        "[ \"$(find %/all -type l)\" ]",
        |p| p.write("all/one", "x"),
        |p| p.link("all/one", std::path::Path::new("/etc/passwd")),
    ),
    (
        "the way through the root of the process",
        "[ -e /proc/self/root%/on ]",
        |_| {},
        |p| p.write("on", ""),
    ),
    (
        "the way through an open folder",
        "(exec 5< %/; [ -e /dev/fd/5/on ])",
        |_| {},
        |p| p.write("on", ""),
    ),
    (
        "a pipe in the place of a file",
        "[ -p %/on ]",
        |p| p.write("on", ""),
        |p| {
            remove(p, "on");
            pipe(p, "on");
        },
    ),
    (
        "a file that is opened for writing after it was read",
        "[ \"$(cat %/on; : >> %/on)\" = bad ]",
        |p| p.write("on", "good"),
        |p| p.write("on", "bad"),
    ),
    (
        "a file that is read by a program that may write it",
        "read -r word <> %/on; [ \"$word\" = bad ]",
        |p| p.write("on", "good\n"),
        |p| p.write("on", "bad\n"),
    ),
    ("a file that can be made", "touch %/on/file 2> /dev/null", |_| {}, |p| folder(p, "on")),
];

/// The same for what tells equal files apart.
const MARKS: &[(&str, &str, Change, Change)] = &[
    (
        "the time of a file",
        "[ \"$(stat -t %/on | cut -d' ' -f13)\" = 1 ]",
        |p| {
            p.write("on", "x");
            touch(p, "on", 0);
        },
        |p| touch(p, "on", 1),
    ),
    (
        "a file that is newer than another",
        "[ %/on -nt %/old ]",
        |p| {
            p.write("on", "x");
            p.write("old", "x");
            touch(p, "on", 0);
            touch(p, "old", 1);
        },
        |p| touch(p, "on", 2),
    ),
    (
        "the links to a file",
        "[ \"$(ls -l %/on | cut -d' ' -f2)\" = 2 ]",
        |p| p.write("on", "x"),
        |p| std::fs::hard_link(p.path("on"), p.path("more")).unwrap(),
    ),
    (
        "the inode of a file, in Python",
        "! python3 -c 'import os; os._exit(os.stat(\"%/on\").st_ino != os.path.getsize(\"%/is\"))'",
        |p| {
            p.write("on", "x");
            touch(p, "on", 0);
            let inode = std::fs::metadata(p.path("on")).unwrap().ino();
            std::fs::File::create(p.path("is")).unwrap().set_len(inode).unwrap();
        },
        |p| {
            p.write("on", "x");
            touch(p, "on", 0);
        },
    ),
];

/// Sets the time of a file to some seconds after the beginning of time.
fn touch(place: &Place, name: &str, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    std::fs::File::options()
        .append(true)
        .open(place.path(name))
        .unwrap()
        .set_modified(time)
        .unwrap();
}

fn pipe(place: &Place, name: &str) {
    let made = Command::new("mkfifo").arg(place.path(name)).status().unwrap();
    assert!(made.success());
}

#[test]
fn whatever_a_wrapper_looks_at() {
    for (what, condition, before, change) in LOOKS {
        for script in [wrong_if(condition), wrong_later_if(condition)] {
            let before = |p: &Place| {
                before(p);
                p.write("cc.sh", &script);
            };
            is_seen(what, WRAPPED, &before, change);
        }
    }
}

#[test]
fn times_and_links_and_inodes_that_are_asked_for() {
    for (what, condition, before, change) in MARKS {
        let before = |p: &Place| {
            before(p);
            p.write("cc.sh", &wrong_later_if(condition));
        };
        is_seen(what, WRAPPED, &before, change);
    }
}

/// Each of them reads a file in a way of its own, for some tests alone.
#[test]
fn ways_to_read_a_file() {
    for condition in [
        "grep -q bad %/on",
        "[ \"$(sed 1q %/on)\" = bad ]",
        "[ \"$(awk '{ print }' %/on)\" = bad ]",
        "[ \"$(dd if=%/on 2> /dev/null)\" = bad ]",
        "[ \"$(find %/ -maxdepth 1 -name on -size -6c)\" ]",
        "(. %/on 2> /dev/null; [ \"$?\" = 127 ])",
        "{ cp %/on copy && grep -q bad copy; }",
        "(exec 3< %/on; read -r word <&3; [ \"$word\" = bad ])",
        "tar -cf - -C %/ on | grep -aq bad",
        "! cmp -s %/on %/good",
        "(cd %/ && cat ./on | grep -q bad)",
        "sh -c 'timeout 9 sh -c \"cat %/on & wait\"' | grep -q bad",
    ] {
        let before = |p: &Place| {
            p.write("on", "true # ok\n");
            p.write("good", "true # ok\n");
            p.write("cc.sh", &wrong_later_if(condition));
        };
        is_seen(condition, WRAPPED, &before, &|p| p.write("on", "bad\n"));
    }
}

/// The name of the own folder is another one each time, and everything can be reached from it.
#[test]
fn a_path_that_leads_out_of_the_own_folder() {
    let is_there = "[ -e ../../../../../../../../%/on ]";
    for script in [wrong_if(is_there), wrong_later_if(is_there)] {
        let before = |p: &Place| p.write("cc.sh", &script);
        is_seen("a way out", WRAPPED, &before, &|p| p.write("on", ""));
    }
}

/// Whether the system grants namespaces, so that compilers run in cages.
fn has_cages() -> bool {
    let granted = Command::new("unshare").args(["-Urmn", "true"]).output();
    granted.is_ok_and(|out| out.status.success())
}

/// In the cage of a compiler the host has another name, nothing is there that was not looked at, and
/// nothing can be written outside of its own folder. What fails for that is made outside, and
/// said to be.
#[test]
fn compilers_run_in_cages() {
    if !has_cages() {
        return;
    }
    let inside = "[ \"$(uname -n)\" = litmake ]";
    let place = Place::new(WRAPPED);
    // Some compilers look for their files in the folders around.
    let around = "[ -e ../lib ] || true; ";
    place.write("cc.sh", &wrong_if(&format!("{around} {inside}")));
    let told = place.run("cache");
    assert_eq!(told.status, 1, "it runs in a cage: {}", told.said);
    assert!(!told.said.contains("namespaces"), "{}", told.said);
    // It may look at other files there than outside.
    place.write("cc.sh", &wrong_if(&format!("{around} [ -e %/on.$(uname -n) ] || {inside}")));
    let told = place.run("cache");
    assert_eq!(told.status, 1, "it still runs in a cage: {}", told.said);
    assert!(!told.said.contains("may depend on"), "{}", told.said);
    // All folders have the same permissions there, which are no evidence.
    folder(&place, "all");
    mode(&place, "all", 0o700);
    let usual = "[ \"$(stat -t %/all | cut -d' ' -f4)\" = 41ed ]";
    place.write("cc.sh", &wrong_if(&format!("{around} {usual}")));
    assert_eq!(place.run("cache").status, 1);
    place.write("cc.sh", &wrong_if(&format!("{around} {inside}")));
    // Where none are granted, the same compiler gives something else, under another key.
    let denied = |cache: &str| {
        let inner = place.command(cache, &[]);
        let mut command = Command::new("unshare");
        let script = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
        command.args(["-Ur", "sh", "-c", script, "sh"]).arg(inner.get_program());
        command.args(inner.get_args()).current_dir(place.0.dir());
        let out = command.output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    for _ in 0..2 {
        let (status, said) = denied("cache");
        assert_eq!(status, Some(0), "{said}");
        assert_eq!(said.matches("grants no namespaces").count(), 1, "{said}");
    }
    assert_eq!(place.run("cache").status, 1);
    // A compiler that writes elsewhere does not work there.
    place.write("cc.sh", "#!/bin/sh\necho > %/log.$$ && rm %/log.$$ && exec gcc \"$@\"\n");
    for _ in 0..2 {
        let told = place.run("cache");
        assert_eq!(told.status, 0, "{}", told.said);
        assert!(told.said.contains("may depend on"), "{}", told.said);
    }
}

/// Each test has a file of its own, of which the others know nothing.
#[test]
fn a_file_for_each_test() {
    let place = Place::new(WRAPPED);
    let other = SB.replace("C sb", "C other").replace("x, 1", "x, 2");
    place.write("other.litmus", &other);
    place.write("p.yaml", &PIPELINE.replace("sb.litmus", "[sb.litmus, other.litmus]"));
    let script = format!(
        "#!/bin/sh\nfor v in 1 2; do\nif grep -q \"store.*, $v.*seq_cst\" test.c 2> /dev/null && [ -e %/on$v ]; \
         then set -- {WRONG} \"$@\"; fi\ndone\nexec gcc \"$@\"\n"
    );
    place.write("cc.sh", &script);
    assert_eq!(place.run("cache").status, 0);
    assert_eq!(place.run("cache").status, 0);
    place.write("on2", "");
    let (cached, fresh) = (place.run("cache"), place.run("fresh"));
    assert_eq!((cached.status, cached.report), (1, fresh.report));
    remove(&place, "on2");
    assert_eq!(place.run("cache").status, 0, "{}", cached.said);
}

/// What another program says is no evidence, so a compiler that asks one is asked again in each run.
#[test]
fn another_program_that_says_something_else() {
    if !here("python3") {
        return;
    }
    let place = Place::new(WRAPPED);
    let answer = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('%/line'); print(s.recv(9).decode())";
    place.write("cc.sh", &wrong_later_if(&format!("[ $(python3 -c \"{answer}\") = bad ]")));
    let line = UnixListener::bind(place.path("line")).unwrap();
    let is_bad = Arc::new(AtomicBool::new(false));
    let says_bad = is_bad.clone();
    std::thread::spawn(move || {
        for asked in line.incoming() {
            let word: &[u8] = if says_bad.load(Ordering::Relaxed) { b"bad" } else { b"good" };
            let _ = asked.unwrap().write_all(word);
        }
    });
    let told = place.run("cache");
    assert_eq!(told.status, 0, "{}", told.said);
    assert!(told.said.contains("it is asked again in each run"), "{}", told.said);
    is_bad.store(true, Ordering::Relaxed);
    assert_eq!(place.run("cache").status, 1);
}

/// What a compiler looks at once is looked at from then on, and costs nothing any more.
#[test]
fn looks_of_some_tests_are_told_once() {
    let place = Place::new(WRAPPED);
    place.write("cc.sh", &wrong_later_if("[ -e %/on ]"));
    let told = "a compiler looks further than for others, first at";
    assert_eq!(place.run("cache").said.matches(told).count(), 1);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!place.run("cache").said.contains(told));
    if here("strace") {
        assert_eq!(place.processes("cache"), Vec::<String>::new());
    }
}

/// A compiler that looks at other paths each time is said to, and gives results all the same.
#[test]
fn a_compiler_that_looks_elsewhere_each_time() {
    let place = Place::new(WRAPPED);
    place.write("cc.sh", &wrong_later_if("[ -e %/on.$$ ]"));
    for _ in 0..2 {
        let told = place.run("cache");
        assert_eq!(told.status, 0, "{}", told.said);
        assert_eq!(
            told.said.matches("paths that are others each time").count(),
            1,
            "{}",
            told.said
        );
    }
}

#[test]
fn what_lies_below_dev() {
    let shared = Shared::new("on");
    let script = wrong_if(&format!("[ -e {} ]", shared.named()));
    is_seen("a file that appears in /dev/shm", WRAPPED, &|p| p.write("cc.sh", &script), &|_| {
        std::fs::write(&shared.0, "").unwrap();
    });
    let header = Shared::new("header");
    std::fs::write(&header.0, "").unwrap();
    let profile = format!("compiler: gcc-12\nargs: [-O2, -include, '{}']\n", header.named());
    is_seen("a header in /dev/shm", &profile, &|_| {}, &|_| {
        std::fs::write(&header.0, BAD).unwrap();
    });
}

#[test]
fn what_python_asks_of_files() {
    if !here("python3") {
        return;
    }
    let script = |condition: &str| {
        format!(
            "#!/usr/bin/env python3\nimport os, sys\nwrong = '{WRONG}'.split() if {condition} else []\n\
             os.execvp('gcc', ['gcc'] + wrong + sys.argv[1:])\n"
        )
    };
    let exists = script("os.path.exists('%/on')");
    is_seen("os.path.exists", WRAPPED, &|p| p.write("cc.sh", &exists), &|p| p.write("on", ""));
    let real = script("os.path.realpath('%/on').endswith('two')");
    is_seen(
        "os.path.realpath",
        WRAPPED,
        &|p| {
            p.write("cc.sh", &real);
            p.write("one", "");
            p.write("two", "");
            p.link("on", &p.path("one"));
        },
        &|p| p.link("on", &p.path("two")),
    );
    const LIBRARY: &str = "__import__('ctypes').CDLL(None)";
    let call = |call: &str| script(&format!("{LIBRARY}.{call}"));
    for (what, script) in [
        ("chmod", call("chmod(b'%/on', 0o644) == 0")),
        ("truncate", call("truncate(b'%/on', 0) == 0")),
        ("inotify", call(&format!("inotify_add_watch({LIBRARY}.inotify_init(), b'%/on', 2) >= 0"))),
    ] {
        let before = |p: &Place| p.write("cc.sh", &script);
        is_seen(what, WRAPPED, &before, &|p| p.write("on", ""));
    }
    let server = script("__import__('socket').socket(1).connect_ex('%/line') == 0");
    let line = OnceLock::new();
    is_seen("a server that appears", WRAPPED, &|p| p.write("cc.sh", &server), &|p| {
        line.set(UnixListener::bind(p.path("line")).unwrap()).unwrap();
    });
    let attribute = script("'user.on' in os.listxattr('%/on')");
    let give = |p: &Place| {
        let set = "import os, sys; os.setxattr(sys.argv[1], 'user.on', b'1')";
        let done = Command::new("python3").args(["-c", set]).arg(p.path("on")).output().unwrap();
        done.status.success()
    };
    let trial = Place::new(WRAPPED);
    trial.write("on", "");
    let works = give(&trial);
    if litmake_needs::need("user.*", works.then_some(()).ok_or("no extended attributes here"))
        .is_some()
    {
        is_seen(
            "an extended attribute",
            WRAPPED,
            &|p| {
                p.write("cc.sh", &attribute);
                p.write("on", "");
            },
            &|p| assert!(give(p)),
        );
    }
}

/// Both headers are read before and after, so the contents that are read stay the same.
#[test]
fn headers_that_change_places() {
    let first = format!("{BAD}#define SECOND\n");
    let good = "#undef __ATOMIC_SEQ_CST\n#define __ATOMIC_SEQ_CST 5\n";
    for tool in ["gcc-12", "clang-16"] {
        let profile = format!("compiler: {tool}\nargs: [-O2, -include, '%/some.h']\n");
        let both = |p: &Place| {
            p.write("x/h.h", &first);
            p.write("y/h.h", good);
        };
        is_seen(
            &format!("{tool}: links to two headers change places"),
            &profile,
            &|p| {
                both(p);
                p.write("some.h", "#include \"a.h\"\n#include \"b.h\"\n");
                p.link("a.h", &p.path("x/h.h"));
                p.link("b.h", &p.path("y/h.h"));
            },
            &|p| {
                p.link("a.h", &p.path("y/h.h"));
                p.link("b.h", &p.path("x/h.h"));
            },
        );
        is_seen(
            &format!("{tool}: links to two folders change places"),
            &profile,
            &|p| {
                both(p);
                p.write("some.h", "#include \"a/h.h\"\n#include \"b/h.h\"\n");
                p.link("a", &p.path("x"));
                p.link("b", &p.path("y"));
            },
            &|p| {
                p.link("a", &p.path("y"));
                p.link("b", &p.path("x"));
            },
        );
        is_seen(
            &format!("{tool}: the compiler looks whether there is a header"),
            &profile,
            &|p| {
                p.write("some.h", "#if __has_include(\"%/on.h\")\n#undef __ATOMIC_SEQ_CST\n#define __ATOMIC_SEQ_CST 0\n#endif\n");
            },
            &|p| p.write("on.h", ""),
        );
    }
}

/// A run under a condition that only the process knows: a command in front, and the cache.
fn under(place: &Place, front: &[&str], cache: &str) -> (i32, String) {
    let inner = place.command(cache, &[]);
    let mut command = Command::new(front[0]);
    command.args(&front[1..]).arg(inner.get_program()).args(inner.get_args());
    let out = command.current_dir(place.0.dir()).output().unwrap();
    let report = std::fs::read_to_string(place.path("report.json")).unwrap_or_default();
    (out.status.code().unwrap_or(-1), report)
}

#[test]
fn properties_of_the_process() {
    let cpuinfo = "cat /proc/cpuinfo /proc/cpuinfo > all; chmod 444 all; mount --bind all /proc/cpuinfo; exec \"$@\"";
    for (n, (what, condition, front)) in [
        ("processors", "[ \"$(nproc)\" = 1 ]", vec!["taskset", "-c", "0"]),
        (
            "processors, from a file about the process",
            "grep -q '^Cpus_allowed_list:.0$' /proc/self/status",
            vec!["taskset", "-c", "0"],
        ),
        (
            "processors, from a file about the machine",
            "[ \"$(grep -c ^processor /proc/cpuinfo)\" -gt \"$(nproc)\" ]",
            vec!["unshare", "-m", "sh", "-c", cpuinfo, "sh"],
        ),
        ("priority", "[ \"$(nice)\" = 10 ]", vec!["nice", "-n", "10"]),
        ("an open file", "(: <&3) 2> /dev/null", vec!["sh", "-c", "exec \"$@\" 3< p.yaml", "sh"]),
        (
            "an ignored signal",
            "[ \"$(bash -c trap)\" ]",
            vec!["sh", "-c", "trap '' USR1; exec \"$@\"", "sh"],
        ),
        (
            "a limit that cannot be raised",
            "[ \"$(ulimit -Hs)\" = 16384 ]",
            vec!["sh", "-c", "ulimit -Ss 8192; ulimit -Hs 16384; exec \"$@\"", "sh"],
        ),
        (
            "a limit of memory",
            "[ \"$(ulimit -v)\" = 3000000 ]",
            vec!["sh", "-c", "ulimit -v 3000000; exec \"$@\"", "sh"],
        ),
        (
            "limit of signals, from a file about the process",
            "grep -q '^Max pending signals  *77 ' /proc/self/limits",
            vec!["bash", "-c", "ulimit -i 77; exec \"$@\"", "sh"],
        ),
        ("umask", "[ \"$(umask)\" = 0077 ]", vec!["sh", "-c", "umask 077; exec \"$@\"", "sh"]),
        (
            "limit",
            "[ \"$(ulimit -Sn)\" = 500 ]",
            vec!["sh", "-c", "ulimit -Sn 500; exec \"$@\"", "sh"],
        ),
        (
            "limit of the stack",
            "[ \"$(ulimit -Ss)\" = 4096 ]",
            vec!["sh", "-c", "ulimit -Ss 4096; exec \"$@\"", "sh"],
        ),
        (
            "limit of processes",
            "[ \"$(bash -c 'ulimit -Su')\" = 5000 ]",
            vec!["bash", "-c", "ulimit -Su 5000; exec \"$@\"", "sh"],
        ),
        (
            "name",
            "[ \"$(uname -n)\" = other ]",
            vec!["unshare", "-u", "sh", "-c", "hostname other; exec \"$@\"", "sh"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        if !here(front[0]) {
            continue;
        }
        // One half is asked for where the compiler is identified, the other for a test alone.
        let place = Place::new(WRAPPED);
        place.write(
            "cc.sh",
            &if n % 2 == 0 { wrong_if(condition) } else { wrong_later_if(condition) },
        );
        let plain = ["env"];
        let first = under(&place, &plain, "cache");
        assert_eq!(first.0, 0, "{what}: {}", first.1);
        assert_eq!(under(&place, &plain, "cache"), first, "{what}");
        let cached = under(&place, &front, "cache");
        assert_eq!(cached, under(&place, &front, "fresh"), "{what}");
    }
}

/// As many processors, and others.
#[test]
fn the_processors_that_may_be_used() {
    let are_two = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    let two = are_two.then_some(()).ok_or("there is one");
    if !here("taskset") || litmake_needs::need("two processors", two).is_none() {
        return;
    }
    let place = Place::new(WRAPPED);
    place.write("cc.sh", &wrong_if("taskset -p $$ | grep -q ' 2$'"));
    let (first, second) = (["taskset", "-c", "0"], ["taskset", "-c", "1"]);
    assert_eq!(under(&place, &first, "cache").0, 0);
    assert_eq!(under(&place, &second, "cache").0, 1);
    assert_eq!(under(&place, &first, "cache").0, 0);
}

/// The kind of the processor is in the key of a compiler that makes code for it, wherever it is told to.
#[test]
fn the_kind_of_the_processor_where_code_is_made_for_it() {
    for (compiler, is_asked) in [
        ("gcc -O2", false),
        ("/usr/bin/gcc -march=native", true),
        ("gcc -march=native", true),
        ("gcc @%/more", true),
        ("clang-16 --config=%/my.cfg", true),
    ] {
        if !here(compiler.split(' ').next().unwrap()) {
            continue;
        }
        let place = Place::new(WRAPPED);
        place.write("my.cfg", "-mtune=native\n");
        place.write("more", "-mtune=native\n");
        place.write("cc.sh", &format!("#!/bin/sh\nexec {compiler} \"$@\"\n"));
        assert_eq!(place.run("cache").status, 0);
        let other = "sed 's/^flags.*/& other/' /proc/cpuinfo > all; chmod 444 all; mount --bind all /proc/cpuinfo; exec \"$@\"";
        let inner = place.command("cache", &["--dry-run"]);
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", other, "sh"]).arg(inner.get_program());
        let out = command.args(inner.get_args()).current_dir(place.0.dir()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success(), "{compiler}: {out:?}");
        assert_eq!(!said.contains("nothing to run"), is_asked, "{compiler}: {said}");
    }
}

#[test]
fn what_cannot_be_followed_is_said_once() {
    for (command, expected) in [
        ("date > /dev/null", "the time of day"),
        (
            "python3 -c 'import socket; socket.socket(2, 2).sendto(b\"?\", (\"127.0.0.1\", 9))'",
            "another program, at 127.0.0.1 port 9",
        ),
        ("unshare -m true", "files in a mount namespace of its own"),
        ("bwrap --dev-bind / / true", "files in a mount namespace of its own"),
        ("chroot / true", "files below a root of its own"),
        ("timeout 10 sh -c 'exec 3<>%/pipe'", "another program, through the named pipe %/pipe"),
    ] {
        let place = Place::new(WRAPPED);
        pipe(&place, "pipe");
        place.write("try.sh", &format!("#!/bin/sh\n{command}\n"));
        let works = Command::new(place.path("try.sh")).output().unwrap().status.success();
        let program = command.split(' ').next().unwrap();
        let works = works.then_some(()).ok_or("it fails here");
        if litmake_needs::need(program, works).is_none() {
            continue;
        }
        place.write("cc.sh", &format!("#!/bin/sh\n{command}\nexec gcc \"$@\"\n"));
        let expected = expected.replace('%', &place.0.dir().display().to_string());
        for _ in 0..2 {
            let said = place.run("cache").said;
            assert_eq!(said.matches(&expected).count(), 1, "{command}: {said}");
        }
    }
}

/// Does something whenever a compiler waits at the pipe `go`, the times counted.
fn whenever_it_waits(place: &Place, mut act: impl FnMut(usize) + Send + 'static) {
    pipe(place, "go");
    let go = place.path("go");
    // It ends with the test's process.
    std::thread::spawn(move || {
        for n in 0.. {
            // Opening it takes until the compiler has opened it, too.
            let Ok(mut pipe) = std::fs::File::options().write(true).open(&go) else { return };
            act(n);
            // Until it has closed the pipe, it would be met twice.
            while pipe.write_all(b"go\n").is_ok() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    });
}

/// Waits at the pipe, if the test is there; this is no look at what the probe compiles.
const WAIT: &str = "if grep -q 'store.*seq_cst' test.c 2> /dev/null; then read -r word < %/go; fi";

/// What a change in the middle of a run comes to: the status and the report, which a fresh run has,
/// too.
fn midway(what: &str, script: &str, act: impl FnMut(&Scratch, usize) + Send + 'static) -> i32 {
    let place = std::sync::Arc::new(Place::new(WRAPPED));
    place.write("bad.h", BAD);
    place.write("flags", "");
    place.write("all/one", "");
    place.write("all/h/h.h", "");
    place.write("all/bad/h.h", BAD);
    place.write("cc.sh", script);
    let (inner, mut act) = (place.clone(), act);
    whenever_it_waits(&place, move |n| act(&inner.0, n));
    let during = place.run("cache");
    let after = place.run("cache");
    let fresh = place.run("fresh");
    assert_eq!(during.report, fresh.report, "{what}: {}", during.said);
    assert_eq!((after.status, after.report), (fresh.status, fresh.report), "{what}: afterwards");
    assert_eq!(during.status, fresh.status, "{what}: {}", during.said);
    during.status
}

/// The second compiler is identified after the change, and so is the same when the first one is
/// identified again.
#[test]
fn a_change_while_compilers_are_identified() {
    let place = std::sync::Arc::new(Place::new(WRAPPED));
    let stages = "name: p
stages:
  - { name: tests, generate: { files: sb.litmus } }
  - { name: source, simulate: { from: tests, model: rc11 } }
  - { name: code, matrix: { p: [mine, other] }, compile: { from: tests, profile: '${p}' } }
  - { name: target, simulate: { from: code } }
  - { name: compare, compare: { source: source, target: target, investigate: 0 } }
";
    place.write("p.yaml", stages);
    let other = "name: other\narch: X86_64\ncompiler: '%/other.sh'\nargs: [-O2]\n";
    place.write("profiles/other.yaml", other);
    place.write("flags", "");
    place.write("cc.sh", "#!/bin/sh\nexec gcc $(cat %/flags) \"$@\"\n");
    let waits = "#!/bin/sh\nread -r word < %/go\nexec gcc $(cat %/flags) \"$@\"\n";
    place.write("other.sh", waits);
    let inner = place.clone();
    whenever_it_waits(&place, move |n| {
        if n == 0 {
            // Long enough for the first to be identified; if it is not, there is nothing to see.
            std::thread::sleep(std::time::Duration::from_secs(2));
            inner.write("flags", "-g");
        }
    });
    let during = place.run("cache");
    let fresh = place.run("fresh");
    assert_eq!((during.status, during.report), (fresh.status, fresh.report), "{}", during.said);
    assert_eq!(fresh.status, 0, "{}", fresh.said);
}

#[test]
fn changes_in_the_middle_of_a_run() {
    let script =
        format!("#!/bin/sh\nls %/all > /dev/null\n{WAIT}\nexec gcc $(cat %/flags) \"$@\"\n");
    let status = midway("a listed folder gets a file", &script, |s, n| {
        if n == 0 {
            s.write("all/two", "");
        }
    });
    assert_eq!(status, 0);
    let status = midway("a file is written again as it was", &script, |s, n| {
        if n == 0 {
            s.write("flags.new", "");
            std::fs::rename(s.path("flags.new"), s.path("flags")).unwrap();
        }
    });
    assert_eq!(status, 0);
    let wrong = |s: &Scratch| s.write("flags", &format!("-include {}", s.path("bad.h").display()));
    let status = midway("another compiler from here on", &script, move |s, n| {
        if n == 0 {
            wrong(s);
        }
    });
    assert_eq!(status, 1);
    // It waits before and after compiling.
    let script =
        format!("#!/bin/sh\n{WAIT}\ngcc $(cat %/flags) \"$@\"\nstatus=$?\n{WAIT}\nexit $status\n");
    let status =
        midway("another compiler, and the first one again", &script, move |s, n| match n {
            0 => wrong(s),
            1 => s.write("flags", ""),
            _ => {}
        });
    assert_eq!(status, 0);
    // Folders that change places, and back.
    let script = format!(
        "#!/bin/sh\n{WAIT}\ngcc -include %/all/h/h.h \"$@\"\nstatus=$?\n{WAIT}\nexit $status\n"
    );
    let status = midway("a folder exchanged and put back", &script, move |s, n| {
        let to = |from: &str, to: &str| std::fs::rename(s.path(from), s.path(to)).unwrap();
        match n {
            0 => {
                to("all/h", "all/kept");
                to("all/bad", "all/h");
            }
            1 => {
                to("all/h", "all/bad");
                to("all/kept", "all/h");
            }
            _ => {}
        }
    });
    assert_eq!(status, 0);
}

/// What a compiler makes of the test that identifies it tells its kind, as its preprocessor does.
#[test]
fn the_kind_of_a_compiler_is_told_by_what_it_makes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let all = Profiles::load(&Disk, &[], &[]);
    for (name, kind) in [
        ("gcc-12-x86_64-O2", Kind::Other),
        ("gcc-12-riscv64-O2", Kind::Other),
        ("g++-12-x86_64-O2", Kind::Other),
        ("clang-16-x86_64-O0", Kind::Clang),
        ("clang++-16-aarch64-O2", Kind::Clang),
        ("clang-22-bpf-O2", Kind::Clang),
        ("clang-22-nvptx-O2", Kind::Clang),
    ] {
        let profile = all.find(&Disk, Path::new("."), name).unwrap();
        if !here(&profile.compiler) {
            continue;
        }
        let tool = Compilers::default().tool(&profile, &store);
        let asked = Runtime::of(&profile, &tool.program.unwrap()).kind();
        assert_eq!((tool.runtime.kind(), asked), (kind, kind), "{name}");
    }
}
